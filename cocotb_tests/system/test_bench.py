# SPDX-License-Identifier: Apache-2.0
"""The benchmarks' frame (tools/bench.py), the remap engine alone (sim/engine), and quick forms of e1, e3, e6 and of
the loads of s1 on presets tiny and quick.
"""

import importlib
import io
import json
import random
import subprocess
import sys
import types
from pathlib import Path

import pytest
from rich.console import Console

from bench import e1, e3, e6, e7, firmware_remap, greedy, q1, simulation_speed
from bench.result import Check, Result
from cocotb_tests.models.remap_model import RemapModel
from cocotb_tests.system import engine as engines
from cocotb_tests.system.engine import BUF, NAND, Engine, EngineError, Op, State, TxOp, op, word
from opentxssd import Opcode

ROOT = Path(__file__).resolve().parent.parent.parent

PAGE = 512  # beats, preset quick
FIELDS = ["id", "clock_mhz", "unit", "rows", "ours", "paper", "target", "pass"]


@pytest.fixture(scope="module")
def frame():
    return importlib.import_module("tools.bench")


@pytest.fixture(scope="module")
def engine_library():
    engines.build("tiny")


def finished(frame, folder, module, name="t1"):
    """(JSON, text) of a benchmark run in the frame; the plot is there."""
    text = io.StringIO()
    frame.execute(name, module, folder, Console(file=text, width=200))
    assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    return json.loads((folder / f"{name}.json").read_text()), text.getvalue()


def benchmark(checks, paper=250.0):
    rows = [{"size": 1, "time_us": 2.5}, {"size": 1000, "time_us": None}]
    result = Result(
        clock_mhz=50, clock_from="a test", unit="us", rows=rows, ours=2.5, paper=paper, target=5.0, checks=checks
    )
    return types.SimpleNamespace(
        TITLE="a title",
        run=lambda: result,
        plot=lambda figure, doc: figure.subplots().plot([r["size"] for r in doc["rows"]]),
    )


def test_an_unknown_benchmark_is_one_line_and_exit_code_2():
    names = sorted((p.stem for p in (ROOT / "bench").glob("[a-z][0-9]*.py")), key=lambda n: (n[0], int(n[1:])))
    done = subprocess.run([sys.executable, ROOT / "tools/bench.py", "e1", "x9"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"bench: no benchmark x9; there are: {', '.join(names)}\n"


def test_json_plot_and_table_show_our_figure_beside_the_papers(frame, tmp_path):
    doc, text = finished(frame, tmp_path, benchmark([Check("a bound (at most 5)", 2.5, True)]))
    assert set(FIELDS) <= set(doc) and doc["pass"] is True
    assert [doc[k] for k in ("id", "clock_mhz", "unit", "ours", "paper", "target")] == ["t1", 50, "us", 2.5, 250.0, 5.0]
    assert doc["rows"] == [{"size": 1, "time_us": 2.5}, {"size": 1000, "time_us": None}]
    assert "ours 2.5 us; the paper 250; target 5" in text and "50 MHz (a test)" in text and "1,000" in text


def test_one_check_that_does_not_hold_or_no_check_at_all_is_not_a_pass(frame, tmp_path):
    doc, text = finished(frame, tmp_path, benchmark([Check("good", 1, True), Check("bad", [2, 3], False)], paper=None))
    assert doc["pass"] is False and "FAIL bad: 2, 3" in text and "the paper -" in text
    assert finished(frame, tmp_path, benchmark([]))[0]["pass"] is False


def test_the_faster_build_of_the_firmware_loop_counts():
    # cut off
    text = (
        "remap O2 10 369\nremap unrolled 10 371\nremap O2 1,000 36,009\nremap unrolled 1,000 34,271\nremap O2 10,000 3"
    )
    assert firmware_remap.parse(text + "60,") == {10: (369, "-O2"), 1000: (34_271, "-O3 -funroll-loops")}


def test_quick_e1_takes_the_same_clocks_for_1_and_10_entries_and_passes(frame, tmp_path, engine_library):
    module = types.SimpleNamespace(TITLE=e1.TITLE, plot=e1.plot, run=lambda: e1.run("tiny", (1, 10)))
    doc, _ = finished(frame, tmp_path, module, "e1")
    assert (
        doc["pass"] is True
        and doc["unit"] == "us"
        and doc["paper"] == 2474.0
        and [r["entries"] for r in doc["rows"]] == [1, 10]
    )
    visible = {r[k] for r in doc["rows"] for k in ("visible_clocks_idle", "visible_clocks_loaded")}
    assert (
        len(visible) == 1 and 1 <= min(visible) <= 16 and doc["ours"] == pytest.approx(min(visible) / doc["clock_mhz"])
    )
    one, ten = (r["firmware_clocks"] for r in doc["rows"])
    assert 3 * 8 < one < ten and 8 * one < 2 * ten  # an entry is three accesses of a memory that takes 8 clocks


# clocks of a write in the engine, plain and in a transaction: alone, without a pause; two memories
ENGINE_PART = [(9, 15), (2.01, 14.0), (23, 36), (2.03, 35.0)]


def test_quick_e3_finds_nothing_that_a_transaction_adds_but_a_read_of_table_memory(
    frame, tmp_path, engine_library, monkeypatch
):
    monkeypatch.setattr(e3, "WARM_UP", 12)
    monkeypatch.setattr(simulation_speed, "SETTLE_CLOCKS", 30_000)
    module = types.SimpleNamespace(TITLE=e3.TITLE, plot=e3.plot, run=lambda: e3.run("tiny", 64, 24, 24, drive="quick"))
    doc, _ = finished(frame, tmp_path, module, "e3")
    lookups, engine, drive = doc["rows"][:2], doc["rows"][2:6], doc["rows"][6:]
    assert [(r["plain_clocks"], r["in_tx_clocks"]) for r in lookups] == [(4, 6), (11, 20)]
    assert [(r["plain_clocks"], r["in_tx_clocks"]) for r in engine] == ENGINE_PART
    assert doc["ours"] == 2 and len(drive) == 2 and all(r["plain_clocks"] > PAGE for r in drive)


@pytest.fixture
def engine_only(monkeypatch, engine_library):
    """e1 and e3 with figures in place of what takes more than the engine."""
    monkeypatch.setattr(firmware_remap, "measure", lambda preset, entries: {n: (1000 * n, "-O2") for n in entries})
    monkeypatch.setattr(e3, "drive_clocks", lambda *args: [4400.0, 4600.0])
    monkeypatch.setattr(subprocess, "run", lambda *args, **options: None)  # nothing to build


QUICK = {"e1": lambda: e1.run("tiny", (1, 10)), "e3": lambda: e3.run("tiny")}


def failed(frame, folder, name):
    """The conditions of a quick run that do not hold; the verdict agrees with them."""
    module = importlib.import_module(f"bench.{name}")
    doc, text = finished(
        frame, folder, types.SimpleNamespace(TITLE=module.TITLE, plot=module.plot, run=QUICK[name]), name
    )
    wrong = [c["what"] for c in doc["checks"] if not c["ok"]]
    assert doc["pass"] is (not wrong) and text.count("FAIL") == len(wrong)
    return wrong


def test_the_verdicts_of_e1_and_e3_on_the_engine_as_it_is(frame, tmp_path, engine_only):
    assert failed(frame, tmp_path, "e1") == [] and failed(frame, tmp_path, "e3") == []


@pytest.mark.parametrize(
    "worse,conditions",
    [
        (lambda n, loaded, latency: 16, ["most of all rows"]),
        (lambda n, loaded, latency: n // 5, ["the same in every row"]),
        (lambda n, loaded, latency: int(loaded), ["the same in every row"]),
        (lambda n, loaded, latency: latency // 60, ["table latency of 2 and 60"]),
    ],
    ids=["slow", "slower for more entries", "slower under load", "slower in a slow memory"],
)
def test_e1_does_not_pass_on_a_worse_engine(frame, tmp_path, engine_only, monkeypatch, worse, conditions):
    measure = e1.measure
    monkeypatch.setattr(
        e1,
        "measure",
        lambda preset, n, loaded, latency: (measure(preset, n, loaded, latency)[0] + worse(n, loaded, latency), 1),
    )
    wrong = failed(frame, tmp_path, "e1")
    assert len(wrong) == len(conditions) and all(c in w for c, w in zip(conditions, wrong, strict=True))


def test_e3_does_not_pass_on_a_worse_engine_or_drive(frame, tmp_path, engine_only, monkeypatch):
    clocks = {None: [4400.0, 4600.0], e3.TXID: [4400.0 * 1.009, 4600.0 * 0.95]}
    monkeypatch.setattr(e3, "drive_clocks", lambda *args: clocks[args[-1]])
    assert failed(frame, tmp_path, "e3") == []
    clocks[e3.TXID][1] = 4600.0 * 1.011
    assert [w.startswith("percent that a transaction adds") for w in failed(frame, tmp_path, "e3")] == [True]
    lookup_clocks = e3.lookup_clocks
    monkeypatch.setattr(
        e3,
        "lookup_clocks",
        lambda preset, latency: [lookup_clocks(preset, latency)[0], lookup_clocks(preset, latency)[1] + 1],
    )
    assert len(failed(frame, tmp_path, "e3")) == 2


def test_e1_sees_a_commit_that_does_not_show(engine_library, monkeypatch):
    check = e1.check_lookups

    def another_version(*args):
        monkeypatch.setattr(e1, "location", lambda txid, i: word(NAND, 99))
        check(*args)

    monkeypatch.setattr(e1, "check_lookups", another_version)
    with pytest.raises(e1.WrongAnswer):
        e1.measure("tiny", 10, False, 8)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_engine_alone_agrees_with_the_model_in_a_memory_without_order(engine_library, seed):
    rng, serial, released, commits = random.Random(seed), 0, 0, 0
    with Engine("tiny", latency=(2, 60), stall_percent=20, adversary=True, seed=seed) as engine:
        model = RemapModel(engine.lbas, engine.tx_entries)
        for _ in range(1500):
            lpn, txid, serial = rng.choice([0, 1, 2, engine.lbas - 1]), rng.choice([0, 5, 31]), serial + 1
            kind, reader, new = (
                rng.choice([Op.LOOKUP, Op.APPEND, Op.PLAIN]),
                rng.choice([None, txid]),
                word(rng.choice([NAND, BUF]), serial),
            )
            if rng.random() < 0.3:
                usual = {
                    State.FREE: TxOp.BEGIN,
                    State.OPEN: rng.choice([TxOp.COMMITTING, TxOp.COMMITTING, TxOp.ABORT]),
                    State.COMMITTING: TxOp.COMMIT,
                }
                what = usual[model.txs[txid].state]
                engine.tx(what, txid)
                assert model.tx(what, txid)
                commits += what == TxOp.COMMIT
                engine.settle(walked=True)
                if what in (TxOp.COMMIT, TxOp.ABORT):
                    engine.step(1000)  # the state is FREE a few clocks after the walk
            else:
                txid = {Op.LOOKUP: reader, Op.APPEND: txid, Op.PLAIN: None}[kind]
                engine.ops([op(kind, lpn, txid, 0 if kind == Op.LOOKUP else new)])
                expect = model.apply(kind, lpn, txid, 0 if kind == Op.LOOKUP else new, 0, model.commits, ("op", serial))
                engine.settle()
                (r,) = engine.responses()
                assert r.error == expect["error"] and r.answered > r.taken
                if not r.error:
                    places = {expect["location"]} if kind == Op.LOOKUP else model.places
                    assert r.location in places and (r.own, r.hit) == (expect["own"], expect["hit"])
            for release in engine.releases():
                model.release(release.location, None)
                released += 1
            for t, tx in enumerate(model.txs):
                if tx.state in (State.COMMITTED, State.ABORTED) and engine.state(t) == State.FREE:
                    model.freed(t)
                assert (engine.state(t), engine.count(t)) == (tx.state, tx.count)
        assert commits > 50 and released > 300


def test_an_engine_that_cannot_be_built_is_refused_in_words(engine_library):
    for wrong in (dict(latency=(0, 2)), dict(latency=(9, 8)), dict(outstanding=0), dict(stall_percent=100)):
        with pytest.raises(EngineError, match="no engine with latency"):
            Engine("tiny", **wrong)


def test_ideal_collection_is_what_the_formula_says_and_grows_as_spare_shrinks():
    assert abs(greedy.bound(1.3, 10**6) - 2.36) < 0.01  # arXiv 1110.4245, 0.3 of overprovisioning
    rng, found = random.Random(1), []
    for alpha in (1.28, 1.1):
        lpns = int(300 * 16 / alpha)
        found.append(greedy.ideal(300, 16, lpns, lambda lpns=lpns: rng.randrange(lpns), 6))
        assert abs(found[-1] / greedy.bound(alpha, 16) - 1) < 0.1
    assert found[1] > 1.5 * found[0]


def test_a_quick_e6_costs_nothing_for_barriers_and_much_for_flushes(monkeypatch):
    monkeypatch.setattr(e6, "PRESET", "quick")
    monkeypatch.setattr(e6, "SKIP", 40)
    clocks = {way: e6.measure(way, 80, fast=True) for way in ("orderless", "barrier", "transfer and flush")}
    took = {way: n for way, (n, _) in clocks.items()}
    assert took["barrier"] * e6.TARGET <= took["orderless"] and took["transfer and flush"] > 1.5 * took["barrier"]
    assert e6.average(clocks["barrier"][1]) > 31 and e6.average(clocks["transfer and flush"][1]) <= 1


def test_a_quick_q1_is_faster_for_urgent_than_for_low_and_within_its_bounds(monkeypatch):
    monkeypatch.setattr(q1, "CLASSES", (q1.URGENT, q1.LOW))
    rows = q1.measure(40, 16)
    took = {(r["class"], r["command"]): r for r in rows}
    assert 1.5 * took["URGENT", "READ"]["p50"] < took["LOW", "READ"]["p50"]
    assert all(r["commands"] == 20 and r["p50"] <= r["longest"] <= r["bound"] for r in rows)


@pytest.mark.parametrize("name", ["e6", "e7"])
@pytest.mark.parametrize("slower", [1, 1.1])
def test_e6_and_e7_pass_only_when_barriers_cost_nothing(frame, tmp_path, monkeypatch, name, slower):
    def measured(way, writes, fast=False, **settings):
        clocks = {"orderless": 100_000, "barrier": int(100_000 * slower)}.get(way, 400_000)
        return clocks, [(0, 32 if way == "orderless" or slower == 1 else 30), (clocks, 32)]

    module = {"e6": e6, "e7": e7}[name]
    monkeypatch.setattr(module, "measure", measured)
    monkeypatch.setattr(module, "build_drive", lambda preset: None)
    doc, _ = finished(frame, tmp_path, module, name)
    assert doc["pass"] is (slower == 1)


def test_the_loads_of_s1_take_the_same_clocks_in_every_run(monkeypatch):
    firmware_remap.build("quick")
    monkeypatch.setattr(simulation_speed, "STEPS", 100_000)
    monkeypatch.setattr(simulation_speed, "IDLE_CLOCKS", 1_000)
    loads = [
        ("writes", Opcode.WRITE, 1, 8, 4),
        ("writes", Opcode.WRITE, 16, 24, 8),
        ("reads", Opcode.READ, 1, 4, 1),
        ("reads", Opcode.READ, 16, 17, 2),
    ]
    first, second = (simulation_speed.run("quick", 32, loads, 10_000) for _ in range(2))
    assert [r["clocks"] for r in first["rows"]] == [r["clocks"] for r in second["rows"]]
    assert [(r["load"], r["depth"], r["blocks"]) for r in first["rows"][1:]] == [
        ("writes", 1, 4),
        ("writes", 16, 16),
        ("reads", 1, 3),
        ("reads", 16, 15),
        ("nothing", 0, 0),
    ]
    fill, w1, w16, r1, r16, nothing = first["rows"]
    assert fill["blocks"] == 32 and nothing["clocks"] == 1_000
    assert all(r["clocks"] > PAGE * r["blocks"] for r in (w1, w16, r1, r16))
    assert (
        all(r["cpu_s"] > 0 and r["loop_steps_per_s"] > 0 for r in first["rows"])
        and 1 << 20 < first["peak_rss_bytes"] < 2 << 30
    )
