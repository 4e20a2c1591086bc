# SPDX-License-Identifier: Apache-2.0
"""50,000 random operations on the remap engine in ten memories; and the campaign itself: it goes on where it was
stopped, sees a broken engine, refuses wrong arguments.
"""

import json
import os
import subprocess
import sys
from collections import Counter

import pytest

from cocotb_tests.system import soak

SEED = int(os.environ.get("SEED", "1"))
PROGRAM = [sys.executable, soak.ROOT / "cocotb_tests/system/soak.py"]


@pytest.fixture(scope="module", autouse=True)
def engine():
    soak.build(soak.PRESET)


def test_50_000_operations_in_ten_memories():
    total = sum((soak.episode(SEED, n, 5_000) for n in range(10)), Counter())
    assert sum(total[op.name] for op in soak.Op) == 50_000
    rare = [
        "plain under a later commit",
        "own after its commit",
        "lookup before a commit",
        "swap of unread",
        "commit inside a group",
        "16 jobs",
    ]
    assert all(total[what] for what in rare) and total["commits"] > 500, total


def test_an_answer_of_another_version_is_seen(monkeypatch):
    honest = soak.RemapJudge.op_answered

    def lies(self, tag, rsp):
        return honest(self, tag, rsp | dict(location=rsp["location"] ^ (tag % 64 == 0)))

    monkeypatch.setattr(soak.RemapJudge, "op_answered", lies)
    number, counts, error = soak.guarded(SEED, 0, 4_000)
    assert counts is None and "must be" in error


def test_a_release_that_does_not_come_is_seen(monkeypatch):
    released = soak.RemapJudge.released
    monkeypatch.setattr(soak.RemapJudge, "released", lambda self, location: location % 64 and released(self, location))
    assert "should have been released" in soak.guarded(SEED, 0, 4_000)[2]


def test_a_stopped_campaign_goes_on(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(soak, "EPISODE", 500)
    progress = soak.ROOT / "build/soak/seed-987654.json"
    progress.parent.mkdir(parents=True, exist_ok=True)
    progress.write_text(json.dumps({n: {"commits": 1000} for n in range(3)}))
    assert soak.main(["--ops", "2000", "--seed", "987654"]) == 0
    said = capfd.readouterr().out
    progress.unlink()
    assert "3 of 4 episodes are done" in said and "'commits': 30" in said, said


@pytest.mark.parametrize("args", [["--ops", "0"], ["--ops", "x"], ["--only", "-1"], ["--colour"]])
def test_wrong_arguments(args):
    done = subprocess.run([*PROGRAM, *args], capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1
