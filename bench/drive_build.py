# SPDX-License-Identifier: Apache-2.0
"""What a benchmark runs on is built by it: a fresh clone has nothing."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def build_drive(preset):
    """The simulated drive of a preset; quick when nothing has changed."""
    subprocess.run(["tools/drive_build.sh", preset, "library"], cwd=ROOT, check=True)
