# SPDX-License-Identifier: Apache-2.0
"""Does some test see each of these faults? Applies one mutation of tools/mutants.toml at a time to a copy of the tree
and runs the test that must fail.

`mutants.py [name ...]` runs only those; a name is that of a mutant or of a test (all its mutants).
`mutants.py --since COMMIT [name ...]`: those whose file has changed since, or a file that the commands of their test
name.
`mutants.py --tests` lists the tests that have mutants. The same test must pass on the unchanged tree. What becomes of a
mutant, with its seconds:

killed    it builds and its test fails
SURVIVED  its test passes
timeout   its test takes more than LIMIT times the processor time of the unchanged run, and LEAST_S more, or rests for
          STILL_S: nobody has seen anything wrong.
          It counts as killed only when the mutant says `ends = "never"` and `why`: to hang is what it does
WRONG     it cannot be applied or does not build

Exit code 1 when one is not killed, 2 for wrong arguments. Runs side by side have a copy of the tree each, which is kept
and brought up to date.
"""

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

from tools import fault_text

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "build/mutants"
SHARED = [".venv"]  # linked, not copied
KEPT = ["build/spinal/classpath", "build/.setup"]
LIMIT, LEAST_S = 4, 90  # processor time of a mutant's run: this times the unchanged one's and so many seconds more
STILL_S = 300  # without a second of processor time
BUILD_S = 3_600  # of a processor, for a build
TICKS = os.sysconf("SC_CLK_TCK")


class Tree:
    """A copy of what git knows or would add, and the geometry of preset tiny.

    What was built in it before is kept: a file that is not what it was gets a new time stamp.
    """

    def __init__(self):
        PLACE.mkdir(parents=True, exist_ok=True)
        for n in range(100):
            self.lock = (PLACE / f"tree{n or ''}.lock").open("w")
            try:
                fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            self.path, self.logs = PLACE / f"tree{n or ''}", PLACE / f"logs{n or ''}"
            break
        self.path.mkdir(exist_ok=True)
        self.logs.mkdir(exist_ok=True)
        listed = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.split("\n")
        names = {name for name in listed if name and (ROOT / name).is_file()}
        for old in [
            p
            for p in self.path.rglob("*")
            if p.is_file() and not p.is_symlink() and p.relative_to(self.path).parts[0] not in ("build", ".venv")
        ]:
            if str(old.relative_to(self.path)) not in names and "__pycache__" not in old.parts:
                old.unlink()
        for name in names:
            here, there = ROOT / name, self.path / name
            if not there.exists() or there.read_bytes() != here.read_bytes():
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(here, there)
                shutil.copymode(here, there)
        for name in SHARED:
            if not (self.path / name).is_symlink():
                (self.path / name).symlink_to(ROOT / name)
        for name in KEPT:
            if (ROOT / name).exists() and not (self.path / name).exists():
                (self.path / name).parent.mkdir(parents=True, exist_ok=True)
                (shutil.copytree if (ROOT / name).is_dir() else shutil.copy2)(ROOT / name, self.path / name)
        # its own modules, not those of this tree
        own = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        subprocess.run([sys.executable, "soc/geometry.py", "tiny", "build/tiny"], cwd=self.path, env=own, check=True)

    def run(self, command, log, limit):
        """("passed", "failed" or "timeout", processor seconds) of a command in the copy; its output goes to
        logs/<log>.log. A simulation stops at its first failed test.
        """
        env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "OTX_TIMES", "LONG")} | {
            "COCOTB_MAX_FAILURES": "1"
        }
        with (self.logs / f"{log}.log").open("w") as out:
            run = subprocess.Popen(
                ["bash", "-c", f". tools/env.sh && {command}"],
                cwd=self.path,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=env,
                start_new_session=True,
            )
            used = moved = 0
            since = time.time()
            try:
                while run.poll() is None:
                    time.sleep(0.2)
                    used = max(used, processor_seconds(run.pid))
                    if used > moved + 1:
                        moved, since = used, time.time()
                    if used > limit or time.time() - since > STILL_S:
                        return "timeout", used
                return ("failed" if run.returncode else "passed"), used
            finally:
                if run.returncode is None:  # it and what it started
                    os.killpg(run.pid, signal.SIGKILL)
                    run.wait()


def processor_seconds(session):
    """Of all processes of a session, with what they have waited for."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        if int(fields[3]) == session:
            ticks += sum(map(int, fields[11:15]))
    return ticks / TICKS


def verdict(tree, mutant, test, limit):
    """What becomes of one mutant, a word or a complaint in words; and whether that is right."""
    path = tree.path / mutant["file"]
    text = path.read_text()
    if (times := fault_text.count(text, mutant["old"])) != 1:
        return f"WRONG, its text is {times} times in {mutant['file']} and must be there once:", False
    path.write_text(fault_text.put(text, mutant["old"], mutant["new"]))
    try:
        if tree.run(test["build"], "build", BUILD_S)[0] != "passed":
            return f"WRONG, does not build ({tree.logs.relative_to(ROOT)}/build.log):", False
        ended = tree.run(test["run"], "run", limit)[0]
    finally:
        path.write_text(text)
    if ended == "timeout":
        never = mutant.get("ends") == "never"
        return f"timeout (never ends: {mutant['why']})" if never else "timeout", never
    return ("killed", True) if ended == "failed" else ("SURVIVED", False)


def complaints(config):
    """What is wrong with the list itself."""
    for m in config["mutant"]:
        if m.get("ends", "never") != "never" or ("ends" in m) != ("why" in m):
            yield f"mutant '{m['name']}': `ends` can only be \"never\", and then `why` says what hangs"


def changed(since):
    """Paths that differ from commit `since`, new ones too; None when there is no such commit."""
    if (
        since.startswith("-")
        or subprocess.run(
            ["git", "rev-parse", "-q", "--verify", f"{since}^{{commit}}"], cwd=ROOT, capture_output=True
        ).returncode
    ):
        return None
    lists = (["diff", "--name-only", since], ["ls-files", "-o", "--exclude-standard"])
    return {
        name
        for words in lists
        for name in subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
            "\n"
        )
        if name
    }


def touched(mutant, test, files):
    """Whether one of `files` is the mutant's, or stands in the commands of its test."""
    return mutant["file"] in files or any(
        name in files for name in re.split(r"[\s;&]+", f"{test['build']} {test['run']}")
    )


def main(names):
    config = tomllib.loads((ROOT / "tools/mutants.toml").read_text())
    if names == ["--tests"]:
        print("\n".join(dict.fromkeys(m["test"] for m in config["mutant"])))
        return 0
    files = None
    if names[:1] == ["--since"]:
        files = changed(names[1]) if len(names) > 1 else None
        if files is None:
            print(
                f"mutants: no commit {names[1]}"
                if len(names) > 1
                else "mutants: usage: mutants.py --since COMMIT [name ...]",
                file=sys.stderr,
            )
            return 2
        names = names[2:]
    unknown = set(names) - {m["name"] for m in config["mutant"]} - set(config["test"])
    if wrong := [f"no mutant or test {', '.join(sorted(unknown))}"] * bool(unknown) + list(complaints(config)):
        print(f"mutants: {wrong[0]}", file=sys.stderr)
        return 2
    mutants = [m for m in config["mutant"] if not names or m["name"] in names or m["test"] in names]
    if files is not None:
        mutants = [m for m in mutants if touched(m, config["test"][m["test"]], files)]
        if not mutants:
            print("no file of a mutant has changed\n0 passed, 0 failed")
            return 0
    tree = Tree()
    killed = wrong = 0
    for name in dict.fromkeys(m["test"] for m in mutants):
        test, mine, begin = config["test"][name], [m for m in mutants if m["test"] == name], time.time()
        ended, used = tree.run(test["build"], "build", BUILD_S)[0], 0
        if ended == "passed":
            ended, used = tree.run(test["run"], "run", BUILD_S)
        if ended != "passed":
            print(
                f"test {name} fails without any mutation; see {tree.logs.relative_to(ROOT)}/build.log and run.log",
                flush=True,
            )
            wrong += len(mine)
            continue
        limit = LIMIT * used + LEAST_S
        print(
            f"test {name} passes, {time.time() - begin:.0f} s, its run {used:.0f} s of a processor; limit "
            f"{limit:.0f} s",
            flush=True,
        )
        for mutant in mine:
            begin = time.time()
            what, right = verdict(tree, mutant, test, limit)
            killed, wrong = killed + right, wrong + (not right)
            print(f"{what} {mutant['name']}, {time.time() - begin:.0f} s", flush=True)
    print(f"{killed} passed, {wrong} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
