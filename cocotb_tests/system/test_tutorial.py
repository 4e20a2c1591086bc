# SPDX-License-Identifier: Apache-2.0
"""docs/tutorial.md works as it stands: each command in a code block is run, in the order of the page, or stands in
EXEMPT with the reason and is checked in another way. What needs the library that records signals is run with LONG=1
only, as campaigns have it: `make test` does not build it."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from cocotb_tests.bench.amount import LONG
from tools import test_all

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs/tutorial.md"
BLOCK, BUILD, SESSION = "make block T=test_skid WAVES=1", "make drive-build PRESET=quick", ". tools/env.sh\npython"
REPORT = "python tools/wave_report.py build/my_commit.fst"
RUN = {BLOCK, BUILD, *SESSION.split("\n"), REPORT}
EXEMPT = {
    "make setup": "installs packages; every target of make begins with it, so the tests would not run without",
    "make test T=firmware": "a group of `make test` beside this one",
    "gtkwave build/cocotb/otx_skid-.../dump.fst": "needs a screen; that the file is there is checked",
    "gtkwave build/my_commit.fst": "needs a screen; that the file is there is checked",
    "make wave": "builds preset sim, minutes; what it prints is made by tools/wave_report.py, which is run",
}


def blocks(text):
    """(language, text) of each code block."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)


def commands(text):
    return [line for language, block in blocks(text) if not language for line in block.splitlines()]


def unknown(text):
    return set(commands(text)) ^ (RUN | set(EXEMPT))


def shell(command, stdin=""):
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("OTX_TIMES", "OTX_PHASES", "SEED", "WAVES", "LONG", "MAKEFLAGS", "MAKELEVEL")
    }
    run = subprocess.run(
        ["bash", "-ec", command], cwd=ROOT, input=stdin, capture_output=True, text=True, timeout=900, env=environment
    )
    assert run.returncode == 0, f"{command}: exit code {run.returncode}\n{run.stdout[-2000:]}{run.stderr[-2000:]}"
    return run.stdout


def test_every_command_is_run_or_has_a_reason():
    assert unknown(PAGE.read_text()) == set()


@pytest.mark.parametrize(
    ("old", "new"), [("make wave\n", "make wave\nmake nothing\n"), (f"{REPORT}\n", ""), ("PRESET=quick", "PRESET=tiny")]
)
def test_another_command_is_seen(old, new):
    text = PAGE.read_text()
    assert old in text and unknown(text.replace(old, new))


def test_targets_that_are_not_run_are_there():
    """As is the group of tests, and what the page says of its last line."""
    assert "firmware" in {group.name for group in test_all.GROUPS}
    for command in EXEMPT:
        if command.startswith("make "):
            assert shell(command.replace("make", "make -n", 1))


def test_a_block_leaves_waveforms_and_says_how_to_see_them():
    out = shell(BLOCK)
    waves = re.findall(r"^  gtkwave (build/cocotb/otx_skid-\w+/dump\.fst)$", out, re.M)
    assert len(waves) == 3 and all((ROOT / wave).stat().st_size for wave in waves), out
    assert "SEED=2" in out


def session():
    (program,) = [block for language, block in blocks(PAGE.read_text()) if language == "python"]
    return program


def test_a_commit_is_made_and_outlives_the_power():
    """The page's session on the library that `make test` has built, which does not record signals."""
    program = "".join(line for line in session().splitlines(keepends=True) if "drive.trace(" not in line)
    assert program.count(", trace=True") == 1
    shell(SESSION, program.replace(", trace=True", ""))


@pytest.mark.skipif(not LONG, reason="builds the library that records: LONG=1")
def test_a_commit_is_recorded_and_read_back():
    """Taken to visible is one clock, which is what the page is about."""
    shell(BUILD)
    wave = ROOT / "build/my_commit.fst"
    wave.unlink(missing_ok=True)
    shell(SESSION, session())
    assert wave.stat().st_size
    assert "taken to" in shell(f". tools/env.sh\n{REPORT} --json build/my_commit.json")
    (row,) = json.loads((ROOT / "build/my_commit.json").read_text())
    assert (row["entries"], row["txid"], row["taken_to_visible"]) == (2, 3, 1) and row["accepted_to_durable"] > 10, row
