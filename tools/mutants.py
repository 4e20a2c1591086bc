# SPDX-License-Identifier: Apache-2.0
"""Does some test see each of these faults? Applies one mutation of tools/mutants.toml at a time to a copy of the tree and runs the test that must fail.

`mutants.py [name ...]` runs only those; a name is that of a mutant or of a test (all its mutants). A mutant is killed when it builds and its test fails (or does not end); the same
test must pass on the unchanged tree. Each verdict comes with its seconds; the time of the unchanged run is on the test's own line. Exit code 1 when one survives.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TREE = ROOT / "build/mutants/tree"
SHARED = [".venv"]  # linked, not copied
KEPT = ["build/spinal/classpath", "build/.setup"]
LIMIT_S = 900  # a test that takes longer does not end


def copy_tree():
    """A copy of what git knows or would add, without anything generated, and the geometry of preset tiny."""
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
    subprocess.run([sys.executable, "soc/geometry.py", "tiny", "build/tiny"], cwd=TREE, check=True)


def works(command, log):
    """Runs a command in the copy; its output goes to build/mutants/<log>.log. A simulation stops at its first failed test."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"COCOTB_MAX_FAILURES": "1"}
    with (TREE.parent / f"{log}.log").open("w") as out:
        run = subprocess.Popen(["bash", "-c", f". tools/env.sh && {command}"], cwd=TREE, stdout=out, stderr=subprocess.STDOUT, env=env, start_new_session=True)
        try:
            return run.wait(LIMIT_S) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            if run.returncode is None:  # it and what it started
                os.killpg(run.pid, signal.SIGKILL)
                run.wait()


def verdict(mutant, test):
    """What becomes of one mutant: killed, or a complaint in words."""
    path = TREE / mutant["file"]
    text = path.read_text()
    if text.count(mutant["old"]) != 1:
        return f"WRONG, its text is {text.count(mutant['old'])} times in {mutant['file']} and must be there once:"
    path.write_text(text.replace(mutant["old"], mutant["new"]))
    try:
        if not works(test["build"], "build"):
            return "WRONG, does not build (build/mutants/build.log):"
        return "SURVIVED" if works(test["run"], "run") else "killed"
    finally:
        path.write_text(text)


def main(names):
    config = tomllib.loads((ROOT / "tools/mutants.toml").read_text())
    unknown = set(names) - {m["name"] for m in config["mutant"]} - set(config["test"])
    if unknown:
        print(f"mutants: no mutant or test {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    mutants = [m for m in config["mutant"] if not names or m["name"] in names or m["test"] in names]
    copy_tree()
    killed = wrong = 0
    for name in dict.fromkeys(m["test"] for m in mutants):
        test, mine, begin = config["test"][name], [m for m in mutants if m["test"] == name], time.time()
        if not (works(test["build"], "build") and works(test["run"], "run")):
            print(f"test {name} fails without any mutation; see build/mutants/build.log and run.log", flush=True)
            wrong += len(mine)
            continue
        print(f"test {name} passes, {time.time() - begin:.0f} s", flush=True)
        for mutant in mine:
            begin = time.time()
            what = verdict(mutant, test)
            killed, wrong = killed + (what == "killed"), wrong + (what != "killed")
            print(f"{what} {mutant['name']}, {time.time() - begin:.0f} s", flush=True)
    print(f"{killed} passed, {wrong} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
