# SPDX-License-Identifier: Apache-2.0
"""Does some test see each of these faults? Applies one mutation of tools/mutants.toml at a time to a copy of the tree and runs the test that must fail.

`mutants.py [name ...]` runs only those. A mutant is killed when its test fails; the same test must pass on the unchanged tree. Exit code 1 when one survives.
"""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TREE = ROOT / "build/mutants/tree"
SHARED = [".venv"]  # linked, not copied
KEPT = ["build/spinal/classpath", "build/.setup"]


def copy_tree():
    """A copy of what git knows or would add, without anything generated."""
    shutil.rmtree(TREE, ignore_errors=True)
    TREE.mkdir(parents=True)
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    for name in filter(None, files):
        if (ROOT / name).is_file():
            (TREE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, TREE / name)
    for name in SHARED:
        (TREE / name).symlink_to(ROOT / name)
    for name in KEPT:
        (TREE / name).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy2)(ROOT / name, TREE / name)


def passes(test):
    """Runs the test in the copy; its output is kept in build/mutants/last.log."""
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH",)}
    with (TREE.parent / "last.log").open("w") as log:
        return subprocess.run(["bash", "-c", f". tools/env.sh && {test}"], cwd=TREE, stdout=log, stderr=subprocess.STDOUT, env=env).returncode == 0


def main(names):
    config = tomllib.loads((ROOT / "tools/mutants.toml").read_text())
    mutants = config["mutant"]
    unknown = set(names) - {m["name"] for m in mutants}
    if unknown:
        print(f"mutants: no mutant {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    mutants = [m for m in mutants if not names or m["name"] in names]
    copy_tree()
    killed, wrong = 0, 0
    for test in sorted({m["test"] for m in mutants}):
        command = config["test"][test]
        if not passes(command):
            print(f"test {test} fails without any mutation; see build/mutants/last.log")
            wrong += sum(m["test"] == test for m in mutants)
            continue
        for m in (m for m in mutants if m["test"] == test):
            path = TREE / m["file"]
            text = path.read_text()
            if text.count(m["old"]) != 1:
                print(f"{m['name']}: its text is {text.count(m['old'])} times in {m['file']}, must be there once")
                wrong += 1
                continue
            path.write_text(text.replace(m["old"], m["new"]))
            survived = passes(command)
            path.write_text(text)
            killed, wrong = killed + (not survived), wrong + survived
            print(f"{'SURVIVED' if survived else 'killed'} {m['name']} ({m['file']}) by {test}", flush=True)
    print(f"{killed} passed, {wrong} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
