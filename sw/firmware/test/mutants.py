# SPDX-License-Identifier: Apache-2.0
"""Puts each fault of mutants.txt into a copy of the firmware; a fault that no host test finds is a failure.

`mutants.py BUILD_DIR [WORDS ...]`; WORDS: only faults whose rule begins with one of them. RUNS: random histories per
fault. What becomes of a fault:

killed    a test fails
SURVIVED  all tests pass
timeout   the tests take more than LIMIT_S seconds of a processor: nobody has seen anything wrong. Right only when the
          rule says `(hangs)`
WRONG     it cannot be applied or does not compile
"""

import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

try:
    from tools import fault_text
except ImportError as e:
    sys.exit(f"mutants: {e}; source tools/env.sh first")

FIRMWARE = Path(__file__).resolve().parent.parent
FACTS = FIRMWARE.parent.parent / "build/facts"
LIMIT_S = 100  # of a processor; the firmware without a fault takes 15


def faults(text):
    for line in text.splitlines():
        if line and not line.startswith("#"):
            yield [p.strip().replace("\0", "|").replace("\\n", "\n") for p in line.replace("\\|", "\0").split(" |")]


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S + 5))


def run_tests(work):
    """What becomes of the fault that is in the copy, and why."""
    env = os.environ | {"RUNS": os.environ.get("RUNS", "300"), "FIRST": "1"}
    command = [
        "make",
        "-s",
        "-C",
        str(work),
        "test-build",
        f"TEST_DIR={work / 'out'}",
        f"FACTS={FACTS}",
        "WARN=-std=c11",
    ]
    build = subprocess.run(command, capture_output=True, text=True, check=False)
    if build.returncode:
        return "WRONG", "does not compile"
    run = subprocess.run(
        [str(work / "out/ftl_test")], capture_output=True, text=True, env=env, preexec_fn=limit, check=False
    )
    if run.returncode == -signal.SIGXCPU:
        return "timeout", f"more than {LIMIT_S} s of a processor"
    if run.returncode == 0:
        return "SURVIVED", "all tests passed"
    return "killed", next(
        (line for line in run.stdout.splitlines() if line.startswith("FAILED")), f"ended with {run.returncode}"
    )


def verdict(work, file, old, new):
    source = Path(file).read_text()
    if (times := fault_text.count(source, old)) != 1:
        return "WRONG", f"'{old}' is there {times} times"
    (work / file).write_text(fault_text.put(source, old, new))
    try:
        return run_tests(work)
    finally:
        (work / file).write_text(source)


def main(build=None, *words):
    rules = [rule for *_, rule in faults((FIRMWARE / "test/mutants.txt").read_text())]
    unknown = [w for w in words if not any(rule.startswith(w) for rule in rules)]
    if build is None or unknown:
        what = f"no rule begins with {unknown[0]}" if unknown else "usage: mutants.py BUILD_DIR [WORDS ...]"
        print(f"mutants: {what}", file=sys.stderr)
        return 2
    work = Path(build).resolve() / "mutant"
    os.chdir(FIRMWARE)
    shutil.rmtree(work, ignore_errors=True)
    for folder in ("ftl", "include", "hal", "test", "app", "dram"):
        shutil.copytree(folder, work / folder)
    shutil.copy("Makefile", work)
    failed = passed = 0
    for file, old, new, rule in faults(Path("test/mutants.txt").read_text()):
        if words and not rule.startswith(words):
            continue
        what, why = verdict(work, file, old, new)
        print(f"{what:8} {rule} ({file}): {why}", flush=True)
        if what == ("timeout" if "(hangs)" in rule else "killed"):
            passed += 1
        else:
            failed += 1
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
