# SPDX-License-Identifier: Apache-2.0
"""Constraints of the board as its build reads them, its reset, and how a placement ends (soc/ecp5.py), with a router of
a few lines in place of nextpnr.
"""

import json
import re
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from soc import ecp5

ROOT = Path(__file__).resolve().parent.parent.parent
WIRING = re.compile(r"([\w/#]+(?: of way \d)?) \| (pmod\d:\d) \| (\w+) ")
PLATFORM = SimpleNamespace(toolchain=SimpleNamespace(_architecture="um5g-85k", _package="CABGA554", _speed_grade="8"))
ROUTER = """#!/usr/bin/env python3
import json, sys
option = lambda name: sys.argv[sys.argv.index(name) + 1]
print("Info:    IterCnt |  w/ripup   wo/ripup |  w/r  wo/r |      arcs| batch(sec) total(sec)|")
for n, left in enumerate({left}, 1):
    counts = f"{{n * 1000:10}} | {{n * 100:8}} {{n * 900:10}} |  100   900 |{{left:10}}"
    print(f"Info: {{counts}}|       1.56      12.72|", flush=True)
print("Info:     0 arcs ripped up due to negative slack WNS=0.00ns TNS=0.00ns.")
{then}
if {code}: sys.exit({code})
mhz = {{"sys": (70.0 + int(option("--seed")), 75.01), "init": (300.0, 25.0)}}
used = {{kind: {{"used": 4, "available": 8}} for kind in {parts}}}
fmax = {{n: {{"achieved": a, "constraint": c}} for n, (a, c) in mhz.items()}}
json.dump({{"fmax": fmax, "utilization": used}}, open(option("--report"), "w"))
open(option("--textcfg"), "w").close()
"""


def constraints(tmp_path, text):
    path = tmp_path / "some.lpf"
    path.write_text(text)
    return ecp5.Constraints(path)


def test_the_pins_are_those_of_the_wiring_table():
    names = {"cle": "CLE", "ale": "ALE", "we_n": "WE#", "re_n": "RE#", "wp_n": "WP#"}
    widths = [("dq", 8), *((name, 1) for name in names), ("ce_n", 2), ("rb_n", 2)]
    ((_, _, *pads),) = ecp5.Constraints(ROOT / "constraints/ecpix5.lpf").pads("nand", widths)
    wired = {label: ball for label, _, ball in WIRING.findall((ROOT / "docs/boards.md").read_text())}
    found = {}
    for pad in pads:
        pins, standard, *misc = pad.constraints
        for bit, ball in enumerate(pins.identifiers):
            label = {"dq": f"I/O{bit}", "ce_n": f"CE# of way {bit}", "rb_n": f"R/B# of way {bit}"}.get(
                pad.name
            ) or names[pad.name]
            found[label] = ball
        assert standard.name == "LVCMOS33"
        assert [m.misc for m in misc] == (["PULLMODE=UP"] if pad.name in ("dq", "rb_n") else [])
    assert found == wired and len(found) == 17


def test_what_is_no_pin_goes_on_as_it_is(tmp_path):
    assert constraints(tmp_path, 'FREQUENCY PORT "clk100" 100.0 MHz; # oscillator\n\n# nothing\n').others == [
        'FREQUENCY PORT "clk100" 100.0 MHz;'
    ]


@pytest.mark.parametrize(
    "text",
    [
        'LOCATE COMP "nand_a[0]" SITE "T1";\nIOBUF PORT "nand_a[0]" IO_TYPE=LVCMOS33;',
        'LOCATE COMP "nand_a[0]" SITE "T1";\nLOCATE COMP "nand_a[1]" SITE "T2";\nIOBUF PORT "nand_a[0]" '
        'IO_TYPE=LVCMOS33;\nIOBUF PORT "nand_a[1]" IO_TYPE=LVCMOS18;',
        'LOCATE COMP "nand_a[0]" SITE "T1";\nLOCATE COMP "nand_a[1]" SITE "T2";',
    ],
    ids=["a bit without a pin", "bits of two kinds", "pins of no kind"],
)
def test_pads_that_are_not_all_said_are_refused(tmp_path, text):
    with pytest.raises(ValueError, match="nand_a: "):
        constraints(tmp_path, text).pads("nand", [("a", 2)])


def test_a_line_without_its_end_is_refused(tmp_path):
    with pytest.raises(ValueError, match="some.lpf:2"):
        constraints(tmp_path, '# a comment\nFREQUENCY PORT "clk100" 100.0 MHz')


CLOCK, RESET, CLEAR, OTHER, TWO, THREE = range(2, 8)
DCCA_PINS = {"CLKI": "input", "CE": "input", "CLKO": "output"}


def memory(read, write, contents="x" * 64):
    return {"type": "TRELLIS_DPR16X4", "parameters": {"INITVAL": contents}, "connections": {"RAD": read, "WAD": write}}


def some_netlist():
    """Two flip-flops and a LUT at the reset, one flip-flop at another net, one at a constant, one without; a memory of
    two places. Bits as Yosys writes them.
    """

    def flop(**pins):
        return {"type": "TRELLIS_FF", "connections": {"CLK": [CLOCK], **{name: [bit] for name, bit in pins.items()}}}

    gate = {"type": "LUT4", "connections": {"A": [RESET], "B": [CLEAR]}}
    cells = {
        "a": flop(LSR=RESET),
        "b": flop(LSR=RESET, CE=RESET),
        "c": flop(LSR=CLEAR),
        "d": flop(LSR="0"),
        "e": flop(),
        "gate": gate,
    }
    cells["memory"] = memory([TWO, "0", "0", "0"], [THREE, "0", "0", "0"])
    return {
        "cells": cells,
        "netnames": {
            "clock": {"bits": [CLOCK]},
            "reset": {"bits": [RESET]},
            "clear": {"bits": [CLEAR]},
            "bus": {"bits": [OTHER, TWO, "x", THREE]},
        },
    }


def test_the_reset_reaches_its_flip_flops_over_a_clock_network():
    module, before = some_netlist(), some_netlist()
    assert ecp5.global_reset(module) == 2
    buffer, net = module["cells"].pop("global_reset"), module["netnames"].pop("global_reset")
    far = THREE + 1  # no net has this number yet
    assert (buffer["type"], buffer["port_directions"], net["bits"]) == ("DCCA", DCCA_PINS, [far])
    assert buffer["connections"] == {"CLKI": [RESET], "CE": ["1"], "CLKO": [far]}
    for name in "ab":
        before["cells"][name]["connections"]["LSR"] = [far]
    assert module == before


def test_without_a_reset_a_netlist_stays_as_it_is():
    module, before = some_netlist(), some_netlist()
    for cells in (module["cells"], before["cells"]):
        for name in "abc":
            del cells[name]
    assert ecp5.global_reset(module) == 0 and module == before


@pytest.mark.parametrize("width", range(1, 5))
def test_a_memory_with_fewer_places_reads_what_was_written(width):
    """Both ports drive the memory's address bits, before and after, with all pairs of places; which address a place has
    may change.
    """
    read, write = list(range(10, 10 + width)), list(range(20, 20 + width))
    pins = memory([*read, *"0000"[width:]], [*write, *"0000"[width:]])
    assert ecp5.short_memories({"cells": {"m": pins}}) == 4 - width

    def address(port, nets, place):
        level = {net: place >> i & 1 for i, net in enumerate(nets)} | {"0": 0}
        return sum(level[bit] << i for i, bit in enumerate(pins["connections"][port]))

    assert "0" not in pins["connections"]["RAD"] + pins["connections"]["WAD"]
    for written in range(1 << width):
        hits = [place for place in range(1 << width) if address("RAD", read, place) == address("WAD", write, written)]
        assert hits == [written]


@pytest.mark.parametrize(
    "pins",
    [
        memory([10, 11, "0", "0"], [20, 21, "0", "0"], "0" * 64),
        memory([10, 11, "0", "1"], [20, 21, 22, "1"]),
        memory(["0", 11, "0", "0"], [20, 21, "0", "0"]),
        memory([10, 11, "0", "0"], ["0", 21, "0", "0"]),
        {"type": "DP16KD", "parameters": {"INITVAL": "x" * 64}, "connections": {"RAD": [10, "0"], "WAD": [11, "0"]}},
    ],
    ids=["has contents", "ports that differ, ones", "no first bit to read", "no first bit to write", "block memory"],
)
def test_other_memories_stay_as_they_are(pins):
    before = json.dumps(pins)
    assert ecp5.short_memories({"cells": {"m": pins}}) == 0 and json.dumps(pins) == before


YOSYS = """#!/usr/bin/env python3
import json, pathlib
pathlib.Path("some.json").write_text(json.dumps({{"modules": {{"some": {netlist}}}}}))
with open("calls", "a") as calls: calls.write("yosys\\n")
"""


def test_what_is_placed_is_the_netlist_with_its_reset_and_made_once(tmp_path, monkeypatch):
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "yosys").write_text(YOSYS.format(netlist=some_netlist()))
    (tools / "yosys").chmod(0o755)
    monkeypatch.setenv("PATH", str(tools), prepend=":")
    (tmp_path / "some.ys").write_text("synth\n")
    (tmp_path / "top.v").write_text("module some; // 1\n")
    platform = SimpleNamespace(sources=[("top.v", "verilog", "work")])
    for _ in range(2):
        ecp5.netlist(platform, "some", tmp_path)
        cells = json.loads((tmp_path / "some.json").read_text())["modules"]["some"]["cells"]
        assert "global_reset" in cells and cells["memory"]["connections"]["RAD"] == [TWO] * 4
    assert (tmp_path / "calls").read_text() == "yosys\n"
    (tmp_path / "top.v").write_text("module some; wire a;\n")
    ecp5.netlist(platform, "some", tmp_path)
    assert (tmp_path / "calls").read_text() == "yosys\n" * 2
    monkeypatch.setattr(ecp5, "__file__", str(tmp_path / "top.v"))  # the netlist is mended in another way
    ecp5.netlist(platform, "some", tmp_path)
    assert (tmp_path / "calls").read_text() == "yosys\n" * 3


@pytest.fixture
def place(tmp_path, monkeypatch):
    """One placement by a router that prints these numbers of arcs without a way, does this, ends with this code."""

    def run(left, then="", code=0, seed=3):
        tools = tmp_path / "bin"
        tools.mkdir(exist_ok=True)
        router = tools / "nextpnr-ecp5"
        router.write_text(ROUTER.format(left=left, then=then, code=code, parts=list(ecp5.PARTS.values())))
        router.chmod(router.stat().st_mode | stat.S_IEXEC)
        monkeypatch.setenv("PATH", str(tools), prepend=":")
        return ecp5.place(PLATFORM, "some", tmp_path, seed, 75)

    return run


def test_a_placement_that_is_routed_has_the_clock_of_the_core(place):
    result = place([500, 20, 0])
    assert (result.routed, result.steps, result.left) == (True, 3000, 0)
    assert (result.mhz, result.clock) == (73.0, "sys")
    assert result.used["lut"] == 4 and result.share["ff"] == 0.5
    assert result.row().split()[:4] == ["3", "yes", "73.00", "3000"]


def test_a_router_that_does_not_end_is_stopped_and_reported(place, monkeypatch):
    monkeypatch.setattr(ecp5, "SECONDS", 1)  # of processor time
    result = place([9, 8], then="while True: pass")
    assert (result.routed, result.steps, result.left) == (False, 2000, 8)
    assert result.row().split()[:2] == ["3", "no"] and result.row().endswith("8 arcs have no way")
    result = place([], then="while True: pass")
    assert not result.routed and result.row().endswith("stopped while it was placed")


def test_a_router_that_fails_is_named_with_its_log(place):
    with pytest.raises(ecp5.Failed, match=r"nextpnr-ecp5 failed, see .*seed_3\.log"):
        place([9], code=1)


def test_the_bitstream_is_that_of_the_fastest(tmp_path, monkeypatch, capsys):
    done = {1: (True, 74.0), 2: (False, 0.0), 4: (True, 76.5)}
    packed = []
    monkeypatch.setattr(ecp5, "netlist", lambda *_: None)
    monkeypatch.setattr(ecp5, "call", lambda folder, log, *command: packed.append(command))
    monkeypatch.setattr(
        ecp5,
        "place",
        lambda _p, _n, _f, seed, _c: ecp5.Placement(
            seed, done[seed][0], 9, 0 if done[seed][0] else 12, 5, done[seed][1], used={"lut": 7}
        ),
    )
    gateware = tmp_path / "gateware"
    gateware.mkdir()
    best, *others = ecp5.bitstream(PLATFORM, "some", gateware, [1, 2, 4], 75)
    assert (best.seed, [p.seed for p in others]) == (4, [1, 2])
    assert "seed_4.config" in packed[0] and len(packed) == 1
    assert [row.split()[0] for row in capsys.readouterr().out.splitlines()] == ["seed", "1", "2", "4"]
    assert [p["mhz"] for p in json.loads((tmp_path / "seeds.json").read_text())] == [74.0, 0.0, 76.5]
