# SPDX-License-Identifier: Apache-2.0
"""Runs all tests, group after group, and counts them. The last line is `N passed, M failed`; exit code 1 when M is not 0.

`test_all.py [group ...]` runs only those. A group is a command that either prints its own last line `N passed, M failed`, or leaves JUnit files, or is one test.
"""

import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Group:
    """`results` is where JUnit results are, a glob below build/, or "" when the command prints its count or is one test; `after` are groups whose output it needs."""

    name: str
    command: str
    results: str = ""
    after: tuple = ()


# Two at a time, each the first in this order whose `after` have ended: the long ones early. What one writes below build/ no other touches that may run beside it.
GROUPS = [
    Group("verilog", "tools/verilog.sh tiny && tools/verilog.sh sim"),
    Group("build", " && ".join(f"tools/drive_build.sh {preset}" for preset in ("tiny", "small library", "tiny24 library", "rich library", "sim untrained")), after=("verilog",)),
    Group("system", "python -m pytest -q --junitxml=build/system.xml cocotb_tests/system", "system.xml", after=("build",)),
    Group("formal", "tools/formal.sh", after=("verilog",)),
    Group("blocks", "python -m pytest -q --ignore=cocotb_tests/system cocotb_tests", "cocotb/**/test_*.xml", after=("verilog",)),
    Group("power cuts tiny", "python cocotb_tests/system/power_cut.py --preset tiny --cuts 200 --gap 45000 --seed 1 --jobs 1", after=("build",)),
    Group("power cuts small", "python cocotb_tests/system/power_cut.py --preset small --cuts 40 --seed 1 --jobs 1", after=("build",)),
    Group("synthesis", "python tools/synth_smoke.py", after=("verilog",)),
    Group("firmware", "make -s -C sw/firmware test"),
    Group("lint", "tools/lint.sh", after=("verilog",)),
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


def run(group):
    """Runs one group; its output goes to build/test/<name>.log and, when it fails, its end to the terminal."""
    log = ROOT / "build/test" / f"{group.name.replace(' ', '_')}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    print(f"{group.name}: started", flush=True)
    started = time.time()
    with log.open("w") as out:
        process = subprocess.Popen(["bash", "-c", group.command], cwd=ROOT, stdout=out, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)  # with the time of all that it has waited for
        code = process.returncode = os.waitstatus_to_exitcode(status)
    text = log.read_text(errors="replace")
    counted = re.findall(r"(\d+) passed, (\d+) failed", text)
    if group.results:
        passed, failed = junit(group.results, started)
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
    print(f"{group.name}: {passed} passed, {failed} failed, {time.time() - started:.0f} s, {usage.ru_utime + usage.ru_stime:.0f} s of a processor", flush=True)
    return passed, failed


def run_all(groups, workers=2):
    """Runs the groups, some side by side; returns (passed, failed) of each. One that is needed and not among `groups` is taken for done."""
    waiting, running, results = list(groups), {}, []
    with ThreadPoolExecutor(workers) as pool:
        while waiting or running:
            busy = {g.name for g in [*waiting, *running.values()]}
            ready = [g for g in waiting if busy.isdisjoint(g.after)]
            for group in ready[: workers - len(running)]:
                waiting.remove(group)
                running[pool.submit(run, group)] = group
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                del running[future]
                results.append(future.result())
    return results


def main(names):
    unknown = set(names) - {g.name for g in GROUPS}
    if unknown:
        print(f"test_all: no group {', '.join(sorted(unknown))}; there are: {', '.join(g.name for g in GROUPS)}", file=sys.stderr)
        return 2
    started = time.time()
    results = run_all([g for g in GROUPS if not names or g.name in names])
    passed, failed = (sum(column) for column in zip(*results, strict=True))
    print(f"all groups: {time.time() - started:.0f} s")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
