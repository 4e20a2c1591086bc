# SPDX-License-Identifier: Apache-2.0
"""Traffic of many tags on the simulated drive (preset quick), with power cuts, an orderly end and a page made
unreadable, recorded and judged against the contract.
`SEED=` moves it.

The judge must also see what this drive does not do: one stamp of the recorded history is exchanged, and it is refused.
"""

import copy
import os
import random
from pathlib import Path

import pytest

from cocotb_tests.system.pages import rows_of
from cocotb_tests.system.weak_pages import spoil
from judge import judge_lines
from opentxssd import Drive
from opentxssd.record import Recorder

ROOT = Path(__file__).resolve().parent.parent.parent

pytestmark = pytest.mark.forked
SEED = int(os.environ.get("SEED", "1"))
AREA, CUTS, COMMANDS = 24, 2, 100


def traffic(recorder, rng, commands):
    """Commands of 1 to 4 blocks in a few LBAs, half of them in transactions; a transaction ends when its commands are
    complete.
    """
    for _ in range(commands):
        while len(recorder.flight) >= 24:
            recorder.step(100_000)
        tx = rng.randrange(6)
        busy = any(s.get("tx") == tx for s in recorder.flight.values())
        n = rng.randint(1, 4)
        area = {"lba": rng.randint(0, AREA - n), "n": n}
        within = (
            {"tx": tx}
            if rng.random() < 0.5
            and not any(s.get("tx") == tx and (s["op"] in ("COMMIT", "ABORT")) for s in recorder.flight.values())
            else {}
        )
        kind = rng.random()
        order = {"barrier": int(rng.random() < 0.1), "orderless": int(not within and rng.random() < 0.2)}
        if kind < 0.35:
            recorder.submit("READ", **area, **within)
        elif kind < 0.65:
            recorder.submit("WRITE", **area, **within, **order)
        elif kind < 0.73:
            recorder.submit(rng.choice(("TRIM", "WRITE_ZEROES")), **area, **within, **order)
        elif kind < 0.75:
            recorder.submit("BARRIER")
        elif kind < 0.8:
            recorder.submit("FLUSH")
        elif not busy:
            recorder.submit("ABORT", tx=tx) if kind > 0.95 else recorder.submit(
                "COMMIT", tx=tx, relaxed=int(rng.random() < 0.6)
            )
        recorder.step(rng.choice((0, 200, 3000)))


def damage(recorder, lba):
    """No page of block `lba` can be read any more (a mount may have copied it)."""
    for row in rows_of(recorder.drive, lba):
        spoil(recorder.drive, row)
    recorder.damaged("data", lba)


def test_recorded_traffic_with_cuts_keeps_the_contract(tmp_path):
    rng = random.Random(SEED)
    recorder = Recorder(Drive("quick"), preset="quick", seed=SEED)
    for cut in range(CUTS):
        traffic(recorder, rng, COMMANDS)
        recorder.power_cut(seed=SEED + cut)
        recorder.power_on()
        for _ in range(2):
            for lba in range(0, AREA, 8):
                recorder.do("READ", lba=lba, n=8)
    spare = recorder.drive.lbas - 1  # no other write goes there
    assert recorder.do("WRITE", lba=spare, n=1) == "SUCCESS"
    recorder.off()
    recorder.power_on()  # its map names the page, so the error is said
    damage(recorder, spare)
    recorder.look()
    assert recorder.drain()
    recorder.save(tmp_path / "history.jsonl")
    verdict = judge_lines(recorder.events)
    print(f"recorded: {verdict.counts}")
    assert verdict.good, verdict.violations
    assert verdict.counts["cuts"] == CUTS and verdict.counts["reads"] > 30

    assert "MEDIA_ERROR" in {e.get("status") for e in recorder.events}
    assert not judge_lines([e for e in recorder.events if e.get("e") != "damage"]).good, (
        "an error of a page that nobody damaged"
    )

    wrong = copy.deepcopy(recorder.events)
    read = next(e for e in reversed(wrong) if e["e"] == "done" and any(e.get("data", ())))
    at = next(k for k, stamp in enumerate(read["data"]) if stamp)
    read["data"][at] += 10**6
    assert not judge_lines(wrong).good
