# SPDX-License-Identifier: Apache-2.0
"""enumerated_cuts.py: its cuts are the same in every run, each place and way is there, one is replayed, and firmware
without a rule does not get through. `make test` makes some of the cuts as a group of its own."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools import broken_firmware

ROOT = Path(__file__).resolve().parent.parent.parent
TOOL = [sys.executable, "cocotb_tests/system/enumerated_cuts.py", "--preset", "quick"]


def run(*args):
    done = subprocess.run([*TOOL, *args], cwd=ROOT, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def listed():
    code, text, _ = run("--list")
    assert code == 0
    return text.splitlines()


def test_every_program_and_erase_is_cut_before_inside_in_each_way_and_after(listed):
    assert [int(line.split()[0]) for line in listed] == list(range(len(listed)))
    places = {}
    for line in listed:
        scene, place, kind, clock = re.fullmatch(r"\d+ (\w+), (.*) the (\w+) of clock (\d+)", line).groups()
        places.setdefault((scene, kind, clock), set()).add(place)
    assert {scene for scene, *_ in places} == {"format", "fresh", "worn"}
    assert {kind for _, kind, _ in places} >= {"DATA", "LOG", "MAP", "DIRECTORY", "ROOT", "SEAL", "BLOCK", "BBT"}
    for (_, kind, _), found in places.items():
        ways = ["PARTLY", "LOOKS_ERASED"] if kind == "BLOCK" else ["PREFIX", "SUBSET", "UNREADABLE", "FADES"]
        assert found == {"before", "inside", "after", *(f"inside, {way}" for way in ways)}


def test_a_cut_is_replayed(listed):
    number = next(n for n, line in enumerate(listed) if "worn, inside, FADES the LOG" in line)
    code, text, _ = run("--only", str(number))
    assert code == 0
    assert text.startswith(f"cut {number}: {listed[number].split(' ', 1)[1]}") and ": passed; firmware:" in text


def test_firmware_without_a_rule_is_found_out():
    firmware = broken_firmware.build("quick", "verify")
    code, text, _ = run("--firmware", str(firmware), "--part", "1/120", "--jobs", "1")
    assert code == 1
    assert re.search(r"guarantee|Violation", text)


@pytest.mark.parametrize(
    "args, words",
    [
        (("--part", "5/5"), "0 <= K < N"),
        (("--part", "x"), "is not K/N"),
        (("--wave",), "--wave needs --only"),
        (("--only", "99999999"), "there are cuts 0 to"),
    ],
)
def test_wrong_arguments_are_answered_in_one_line(args, words):
    code, _, said = run(*args)
    assert code == 2 and words in said and len(said.strip().splitlines()) == 1
