# SPDX-License-Identifier: Apache-2.0
"""The examples do what they say."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
POINT = r'<use xlink:href="#\w+" x="([\d.]+)" y="([\d.]+)"'


def test_commit_latency_is_flat_and_the_picture_is_there(tmp_path):
    picture = tmp_path / "latency.png"
    command = [sys.executable, "examples/commit_latency.py", "quick", picture]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    clocks = [int(n.replace(",", "")) for n in re.findall(r"after ([\d,]+) clocks", run.stdout)]
    assert len(clocks) == 6 and max(clocks) < 2 * min(clocks), run.stdout
    assert "nothing of the open one" in run.stdout and picture.stat().st_size > 5_000


def test_the_picture_of_the_results_is_what_the_drive_does(tmp_path):
    """docs/commit-latency.svg: its points, to a pixel and a half (half a percent of the height, less than one sees);
    the text of the file may differ between versions of matplotlib."""
    picture = tmp_path / "latency.svg"
    subprocess.run(
        [sys.executable, "examples/commit_latency.py", "quick", picture],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=300,
    )
    now, kept = (
        [float(n) for point in re.findall(POINT, path.read_text()) for n in point]
        for path in (picture, ROOT / "docs/commit-latency.svg")
    )
    assert len(now) > 12 and now == pytest.approx(kept, abs=1.5), (
        "python examples/commit_latency.py quick docs/commit-latency.svg"
    )


def test_a_preset_that_is_not_built_is_named():
    command = [sys.executable, "examples/commit_latency.py", "nope"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert run.returncode == 2 and "nope" in run.stderr and len(run.stderr.splitlines()) == 1, run.stderr


def test_a_transaction_over_two_drives_survives_cuts_of_all_three():
    command = [sys.executable, "examples/two_drives.py", "quick"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0 and "prepared, after the cut: [[], [3]]\nbalances: [70, 50]" in run.stdout, run.stderr
