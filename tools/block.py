# SPDX-License-Identifier: Apache-2.0
"""`make block T=test_skid [WAVES=1]`: the tests of one block, and with WAVES=1 their waveforms.

    block.py NAME [PYTEST ARGUMENT ...]

NAME is a file of cocotb_tests without `.py`, with or without `test_` before it. SEED=n and LONG=1 in the environment
are those of the tests. The first run builds, which is kept; a later one takes seconds. With WAVES=1 the path of each
waveform is printed and the `gtkwave` line that shows it. Exit code: that of pytest, 2 for a name that there is not.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "cocotb_tests"


def blocks():
    """{name without `test_`: path} of the block tests; those of the whole drive are not among them."""
    return {
        path.stem.removeprefix("test_"): path for path in sorted(TESTS.rglob("test_*.py")) if "system" not in path.parts
    }


def main(args):
    known = blocks()
    path = known.get(args[0].removeprefix("test_")) if args else None
    if path is None:
        what = (
            f"no test {args[0]}; there are: {', '.join(known)}"
            if args
            else f"usage: make block T=NAME; there are: {', '.join(known)}"
        )
        print(f"block: {what}", file=sys.stderr)
        return 2
    begin = time.time()
    for preset in ["tiny", *["sim"] * ('"sim"' in path.read_text())]:
        if subprocess.run(["tools/verilog.sh", preset], cwd=ROOT).returncode:
            return 1
    code = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", str(path.relative_to(ROOT)), *args[1:]], cwd=ROOT
    ).returncode
    more = "" if waves() else "; with a waveform: WAVES=1"
    print(f"block: {time.time() - begin:.1f} s; again with another seed: make block T={path.stem} SEED=2{more}")
    for wave in sorted((ROOT / "build/cocotb").glob("*/dump.fst")):
        if waves() and wave.stat().st_mtime >= begin:
            print(f"waveform: {wave.relative_to(ROOT)}\n  gtkwave {wave.relative_to(ROOT)}")
    return code


def waves():
    return os.environ.get("WAVES", "0") != "0"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
