# SPDX-License-Identifier: Apache-2.0
"""The examples do what they say."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def test_commit_latency_is_flat_and_the_picture_is_there(tmp_path):
    picture = tmp_path / "latency.png"
    command = [sys.executable, "examples/commit_latency.py", "quick", picture]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    clocks = [int(n.replace(",", "")) for n in re.findall(r"after ([\d,]+) clocks", run.stdout)]
    assert len(clocks) == 6 and max(clocks) < 2 * min(clocks), run.stdout
    assert "nothing of the open one" in run.stdout and picture.stat().st_size > 5_000


def test_a_preset_that_is_not_built_is_named():
    command = [sys.executable, "examples/commit_latency.py", "nope"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert run.returncode == 2 and "nope" in run.stderr and len(run.stderr.splitlines()) == 1, run.stderr
