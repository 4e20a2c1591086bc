# SPDX-License-Identifier: Apache-2.0
"""Runs all tests, group after group, and counts them. The last line is `N passed, M failed`; exit code 1 when M is not
0.

`test_all.py [group ...]` runs only those. A group is a command that either prints its own last line `N passed, M
failed`, or leaves JUnit files, or is one test.
Beside what passed stands the processor time of each group and its budget: that of a first run, with nothing built and
an empty ccache, in all 32 minutes; what is over its budget is marked.
Times are told, not judged. Below are the slowest tests of all groups: a command adds lines "seconds<TAB>test" to the
file that OTX_TIMES names.
"""

import os
import re
import resource
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
    """`budget` in seconds of a processor; `results` is where JUnit results are, a glob below build/, or "" when the
    command prints its count or is one test; `after` are groups whose output it needs."""

    name: str
    budget: int
    command: str
    results: str = ""
    after: tuple = ()


PRESETS = (
    "tiny library",
    "quick untrained",
    "quick4 untrained",
    "rich library",
    "small library",
    "nvme untrained",
)
# Two at a time, each the first in this order whose `after` have ended: the long ones early. What one writes below
# build/ no other touches that may run beside it.
GROUPS = [
    Group("verilog", 40, "tools/verilog.sh tiny && tools/verilog.sh sim"),
    Group("build", 310, " && ".join(f"tools/drive_build.sh {preset}" for preset in PRESETS), after=("verilog",)),
    Group(
        "system",
        375,
        "python -m pytest -q --junitxml=build/system.xml cocotb_tests/system",
        "system.xml",
        after=("build",),
    ),
    Group("formal", 240, "tools/formal.sh", after=("verilog",)),
    Group(
        "blocks",
        485,
        "python -m pytest -q --ignore=cocotb_tests/system cocotb_tests",
        "cocotb/**/test_*.xml",
        after=("verilog",),
    ),
    Group(
        "power cuts quick",
        40,
        "python cocotb_tests/system/power_cut.py --preset quick --cuts 60 --seed 1 --jobs 1 --ways",
        after=("build",),
    ),
    Group(
        "power cuts in turn",
        30,
        "python cocotb_tests/system/enumerated_cuts.py --preset quick --part 9/180 --jobs 1",
        after=("build",),
    ),
    Group(
        "power cuts quick4",
        20,
        "python cocotb_tests/system/power_cut.py --preset quick4 --cuts 20 --seed 1 --jobs 1 --ways",
        after=("build",),
    ),
    Group("vm", 180, "python -m tools.vm short", after=("build",)),
    Group("synthesis", 70, "python tools/synth_smoke.py --quick", after=("verilog",)),
    Group("firmware", 40, "make -s -C sw/firmware test"),
    Group("firmware nvme", 20, "make -s -C sw/firmware nvme-test"),
    Group("host", 10, "make -s -C sw/host test OUT=$PWD/build/host_test"),
    Group("host sqlite", 50, "make -s -C sw/host sqlite-test OUT=$PWD/build/host_sqlite_test"),
    Group("lint", 30, "tools/lint.sh", after=("verilog",)),
]

BUILDS, SLOWEST = ("verilog", "build"), 10


@dataclass(frozen=True)
class Result:
    """What became of a group: counts, processor time, [(seconds, test)]."""

    group: Group
    passed: int
    failed: int
    seconds: float
    tests: list


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
    started, times = time.time(), log.with_suffix(".times")
    times.unlink(missing_ok=True)
    with log.open("w") as out:
        process = subprocess.Popen(
            ["bash", "-c", group.command],
            cwd=ROOT,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=os.environ | {"OTX_TIMES": str(times)},
        )
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
    used = usage.ru_utime + usage.ru_stime
    print(
        f"{group.name}: {passed} passed, {failed} failed, {time.time() - started:.0f} s, {used:.0f} s of a processor",
        flush=True,
    )
    return Result(group, passed, failed, used, slow(times))


def slow(times):
    """[(seconds, test)] of a file of times."""
    lines = times.read_text().splitlines() if times.exists() else []
    return [(float(seconds), test) for seconds, test in (line.split("\t", 1) for line in lines)]


def report(results):
    """The table of times: groups beside their budgets, then the slowest tests.

    A group that says nothing of its tests is one of them, unless it only builds.
    """
    print(f"{'group':20}{'passed':>8}{'failed':>8}{'processor s':>13}{'budget s':>10}")
    for r in sorted(results, key=lambda r: GROUPS.index(r.group)):
        over = "  over" if r.seconds > r.group.budget else ""
        print(f"{r.group.name:20}{r.passed:8}{r.failed:8}{r.seconds:13.0f}{r.group.budget:10}{over}")
    print(
        f"{'all':20}{sum(r.passed for r in results):8}{sum(r.failed for r in results):8}"
        f"{sum(r.seconds for r in results):13.0f}{sum(r.group.budget for r in results):10}"
    )
    tests = [t for r in results for t in r.tests or [(r.seconds, r.group.name)] if r.group.name not in BUILDS]
    print(f"the {min(SLOWEST, len(tests))} slowest tests, seconds of a processor:")
    for seconds, test in sorted(tests, reverse=True)[:SLOWEST]:
        print(f"{seconds:8.1f}  {test}")


def run_all(groups, workers=2):
    """Runs the groups, some side by side; returns the Result of each.

    One that is needed and not among `groups` is taken for done.
    """
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
        print(
            f"test_all: no group {', '.join(sorted(unknown))}; there are: {', '.join(g.name for g in GROUPS)}",
            file=sys.stderr,
        )
        return 2
    started = time.time()
    results = run_all([g for g in GROUPS if not names or g.name in names])
    passed, failed = sum(r.passed for r in results), sum(r.failed for r in results)
    report(results)
    own = resource.getrusage(resource.RUSAGE_SELF)
    used = sum(r.seconds for r in results) + own.ru_utime + own.ru_stime
    print(f"all groups: {time.time() - started:.0f} s, {used / 60:.1f} minutes of a processor")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
