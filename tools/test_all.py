# SPDX-License-Identifier: Apache-2.0
"""Runs all tests, group after group, and counts them. The last line is `N passed, M failed`; exit code 1 when M is not 0.

`test_all.py [group ...]` runs only those. A group is a command that either prints its own last line `N passed, M failed`, or leaves JUnit files, or is one test.
"""

import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# name, command, where JUnit results are (a glob below build/), or "" when the command prints its count or is one test.
# The first list runs alone; then the others side by side, each in its order: two cores, and what one builds the other does not touch.
FIRST = [("verilog", "tools/verilog.sh tiny && tools/verilog.sh sim", "")]
LANES = [
    [
        ("lint", "tools/lint.sh", ""),
        ("firmware", "make -s -C sw/firmware test", ""),
        ("blocks", "python -m pytest -q --ignore=cocotb_tests/system cocotb_tests", "cocotb/**/test_*.xml"),
        ("formal", "tools/formal.sh", ""),
        ("synthesis", "python tools/synth_smoke.py", ""),
    ],
    [
        ("build", "tools/drive_build.sh tiny && tools/drive_build.sh sim && tools/drive_build.sh small library && tools/drive_build.sh tiny24 library", ""),
        ("system", "python -m pytest -q --junitxml=build/system.xml cocotb_tests/system", "system.xml"),
        ("power cuts tiny", "python cocotb_tests/system/power_cut.py --preset tiny --cuts 200 --gap 45000 --seed 1 --jobs 1", ""),
        ("power cuts small", "python cocotb_tests/system/power_cut.py --preset small --cuts 40 --seed 1 --jobs 1", ""),
    ],
]


def junit(pattern, since):
    """(passed, failed) of the JUnit files written after `since`."""
    passed = failed = 0
    for path in (ROOT / "build").glob(pattern):
        if path.stat().st_mtime < since:
            continue
        for case in ET.parse(path).getroot().iter("testcase"):
            bad = any(child.tag in ("failure", "error") for child in case)
            failed, passed = failed + bad, passed + (not bad)
    return passed, failed


def run(name, command, results):
    """Runs one group; its output goes to build/test/<name>.log and, when it fails, its end to the terminal."""
    log = ROOT / "build/test" / f"{name.replace(' ', '_')}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    print(f"{name}: started", flush=True)
    started = time.time()
    with log.open("w") as out:
        code = subprocess.run(["bash", "-c", command], cwd=ROOT, stdout=out, stderr=subprocess.STDOUT).returncode
    text = log.read_text(errors="replace")
    counted = re.findall(r"(\d+) passed, (\d+) failed", text)
    if results:
        passed, failed = junit(results, started)
    elif counted:
        passed, failed = map(int, counted[-1])
    else:
        passed, failed = (0, 1) if code else (1, 0)
    if code and not failed:
        failed = 1
    if not code and not passed:
        failed += 1  # a group that ran nothing has not passed
    if failed:
        print(text[-6000:])
    print(f"{name}: {passed} passed, {failed} failed, {time.time() - started:.0f} s", flush=True)
    return passed, failed


def main(names):
    groups = [g for lane in [FIRST, *LANES] for g in lane]
    unknown = set(names) - {g[0] for g in groups}
    if unknown:
        print(f"test_all: no group {', '.join(sorted(unknown))}; there are: {', '.join(g[0] for g in groups)}", file=sys.stderr)
        return 2

    def lane(groups):
        return [run(*g) for g in groups if not names or g[0] in names]

    totals = lane(FIRST)
    with ThreadPoolExecutor(len(LANES)) as pool:
        for results in pool.map(lane, LANES):
            totals += results
    passed, failed = (sum(column) for column in zip(*totals, strict=True))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
