# SPDX-License-Identifier: Apache-2.0
"""Every command that somebody types answers a wrong argument with one line on stderr that names it, and exit code 2."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PYTHON = [sys.executable]
WRONG = [  # command, a word that its line must have
    (["tools/verilog.sh"], "usage"),
    (["tools/verilog.sh", "nope"], "tiny"),
    (["tools/engine_build.sh", "nope"], "tiny"),
    (["tools/drive_build.sh", "nope"], "tiny"),
    (["tools/drive_build.sh", "tiny", "nope"], "usage"),
    (["tools/formal.sh", "nope.sby"], "bch.sby"),
    (["tools/formal.sh", "bch.sby", "nope"], "bmc_short"),
    ([*PYTHON, "tools/area.py", "nope"], "otx_nand_channel"),
    ([*PYTHON, "tools/bench.py", "nope"], "e1"),
    ([*PYTHON, "tools/block.py", "nope"], "skid"),
    ([*PYTHON, "tools/board_host.py", "--port", "x"], "port"),
    ([*PYTHON, "tools/campaign.py", "nope"], "mutants"),
    ([*PYTHON, "tools/campaign.py", "mutants", "--items", "x"], "items"),
    ([*PYTHON, "tools/dram.py", "nope"], "nope"),
    ([*PYTHON, "tools/drive.py", "nope", "build/x"], "tiny"),
    ([*PYTHON, "tools/judge.py"], "usage"),
    ([*PYTHON, "tools/judge.py", "nope"], "nope"),
    ([*PYTHON, "tools/mutants.py", "nope"], "nope"),
    ([*PYTHON, "tools/mutants.py", "--since", "nope"], "nope"),
    ([*PYTHON, "tools/registers.py", "nope"], "nope"),
    ([*PYTHON, "tools/run.py", "nope"], "nope"),
    ([*PYTHON, "tools/synth_smoke.py", "nope"], "nope"),
    ([*PYTHON, "tools/test_all.py", "nope"], "blocks"),
    ([*PYTHON, "tools/wave_commits.py", "nope"], "nope"),
    ([*PYTHON, "tools/wave_engine.py", "nope"], "usage"),
    ([*PYTHON, "tools/wave_report.py", "nope.fst"], "nope.fst"),
    ([*PYTHON, "soc/boards", "nope"], "ecpix5"),
    ([*PYTHON, "soc/boards", "ecpix5", "nope"], "usage"),
    ([*PYTHON, "soc/boards", "acorn", "nope"], "usage"),
    ([*PYTHON, "soc/remap_engine.py", "build/x"], "lpns"),
    ([*PYTHON, "soc/remap_engine.py", "build/x", "lpns=64", "txids=6"], "a power of two"),
    ([*PYTHON, "examples/remap_engine_soc/record_soc.py", "a", "b"], "usage"),
    ([*PYTHON, "-m", "opentxssd.recover"], "IMAGE"),
    ([*PYTHON, "-m", "opentxssd.recover", "soc/facts.toml", "--nope"], "nope"),
    ([*PYTHON, "sw/firmware/test/mutants.py", "build/x", "nope"], "nope"),
    ([*PYTHON, "cocotb_tests/system/power_cut.py", "--preset", "nope"], "nope"),
    ([*PYTHON, "cocotb_tests/system/power_cut.py", "--cuts", "x"], "cuts"),
    ([*PYTHON, "cocotb_tests/system/soak.py", "--ops", "x"], "ops"),
]


@pytest.mark.parametrize(("command", "word"), WRONG, ids=[" ".join(Path(w).name for w in c) for c, _ in WRONG])
def test_a_wrong_argument_is_answered_in_one_line(command, word):
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert run.returncode == 2, run.stderr
    assert len(run.stderr.strip().splitlines()) == 1, run.stderr
    assert word in run.stderr and not run.stdout.strip(), run.stdout
