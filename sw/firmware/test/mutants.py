# SPDX-License-Identifier: Apache-2.0
"""Puts each fault of mutants.txt into a copy of the firmware; a fault that no host test finds is a failure.

`mutants.py BUILD_DIR [WORDS]`, run in sw/firmware; WORDS: only faults whose rule begins with them. RUNS: random histories per fault.
A test that does not end has not found the fault, unless the rule says `(hangs)`.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

LIMIT_S = 600


def faults(text):
    for line in text.splitlines():
        if line and not line.startswith("#"):
            yield [p.strip().replace("\0", "|").replace("\\n", "\n") for p in line.replace("\\|", "\0").split(" |")]


def survives(work, file, old, new, rule):
    source = Path(file).read_text()
    if source.count(old) != 1:
        return f"'{old}' is there {source.count(old)} times"
    (work / file).write_text(source.replace(old, new))
    env = os.environ | {"RUNS": os.environ.get("RUNS", "300"), "FIRST": "1"}
    command = ["make", "-s", "-C", str(work), "test", f"TEST_DIR={work / 'out'}", "WARN=-std=c11"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, env=env, check=False)
        killed, note = run.returncode != 0, next((line for line in run.stdout.splitlines() if line.startswith("FAILED")), "stopped")
    except subprocess.TimeoutExpired:
        killed, note = "(hangs)" in rule, "did not end"
    (work / file).write_text(source)
    if note == "stopped" and "error:" in run.stderr:
        return "does not compile"
    print(f"       {note}" if killed else "       all tests passed", flush=True)
    return "" if killed else f"survived ({note})" if note == "did not end" else "survived"


def main(build, words=""):
    work = Path(build).resolve() / "mutant"
    shutil.rmtree(work, ignore_errors=True)
    for folder in ("ftl", "include", "hal", "test", "app", "dram"):
        shutil.copytree(folder, work / folder)
    shutil.copy("Makefile", work)
    failed = passed = 0
    for file, old, new, rule in faults(Path("test/mutants.txt").read_text()):
        if not rule.startswith(words):
            continue
        print(f"{rule} ({file})", flush=True)
        if why := survives(work, file, old, new, rule):
            print(f"FAILED {rule}: {why}", flush=True)
            failed += 1
        else:
            passed += 1
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
