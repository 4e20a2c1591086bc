# SPDX-License-Identifier: Apache-2.0
"""DRAM start of the board's firmware on the host: LiteX' liblitedram with the ECPIX-5's own headers over a model of PHY
and DDR3 (sw/firmware/dram/test/model.c).
"""

import re
import subprocess
import sys

from cocotb_tests.bench.runner import BUILD, ROOT


def test_levelling_finds_the_window_or_says_that_there_is_none():
    folder = BUILD / "board_dram"
    subprocess.run([sys.executable, ROOT / "cocotb_tests/tb/board_headers.py", folder], check=True)
    command = ["make", "-s", "-C", ROOT / "sw/firmware", "dram-test", f"BUILD_DIR={folder}", f"TEST_DIR={folder}"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0 and re.search(r"^[1-9]\d* passed, 0 failed$", run.stdout, re.M), run.stdout + run.stderr
