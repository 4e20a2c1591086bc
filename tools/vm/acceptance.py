# SPDX-License-Identifier: Apache-2.0
"""The acceptance of the drive by software that is not ours: Debian's kernel with its nvme driver, nvme-cli, mkfs, fsck
and fio, in one virtual machine after the other on the same drive; SQLite by passthrough, and on ext4; also power cuts.

Two drives, each with its machines, go side by side. A line for each step as it ends. VmError at the first that does not
hold; what the other drive's machine is doing is brought to its end.
"""

import random
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from tools.vm.machine import Machine
from tools.vm.packages import ROOT, WORK, VmError

# of each drive, in order
SCRIPTS = {
    "a": "admin blocks files others resets kept rebooted sqlite uefi".split(),
    "b": "overwrites crash:1 sqlite_crash:1 crash:2 sqlite_crash:2 crash:3 sqlite_crash:3".split(),
}
THEN = {"short": "recovered", "crash": "recovered", "sqlite_crash": "sqlite_recovered"}  # after a power cut
LIMIT_S = 1500  # of a script


class Steps:
    """What the lines of a guest say of its steps."""

    def __init__(self, script):
        self.script, self.done, self.failed, self.synced = script, 0, None, []
        self.begun, self.other = time.time(), []
        self.changed = threading.Condition()

    def line(self, text):
        kind, _, rest = text.partition(" ")
        with self.changed:
            if kind == "@begin":
                self.begun, self.other = time.time(), []
            elif kind == "@ok":
                self.done += 1
                print(f"vm: {self.script}: {rest}: ok, {time.time() - self.begun:.1f} s", flush=True)
            elif kind == "@failed":
                self.failed = rest
                print("\n".join(self.other), flush=True)
            elif kind == "@synced":
                self.synced.append(tuple(rest.split()))
            elif kind == "@figures":
                print(f"vm: {self.script}: {rest}", flush=True)
            else:
                self.other.append(text)
            self.changed.notify_all()

    def wait_synced(self, count, seconds):
        with self.changed:
            if not self.changed.wait_for(lambda: self.failed or len(self.synced) >= count, seconds):
                raise VmError(f"only {len(self.synced)} files were synced in {seconds} s")
            if self.failed:
                raise VmError(f"{self.script}: {self.failed} failed")
            return list(self.synced)


class Drive:
    """A drive, new, on which scripts run one after the other. `place`: a folder of its own."""

    def __init__(self, place):
        self.place, self.image = place, place / "acceptance.nand"
        for old in (self.image, place / "console.log", place / "bridge.log"):
            old.unlink(missing_ok=True)

    def machine(self, script, on_line, **kw):
        return Machine(script, self.image, on_line=on_line, place=self.place, **kw)

    def run(self, script, **kw):
        """One script, to its end."""
        steps = Steps(script)
        code = self.machine(script, steps.line, **kw).wait(LIMIT_S)
        if code or steps.failed or not steps.done:
            raise VmError(f"{script}: {steps.failed or f'ended with {code}'}; see {self.place}/console.log")
        return steps.done

    def uefi(self):
        """Another driver: that of UEFI's firmware (EDK II), which lists the drive."""
        listed, started = threading.Event(), time.time()

        def line(text):
            if "UEFI OpenTxSSD" in text:
                listed.set()

        guest = self.machine(None, line)
        try:
            if not listed.wait(LIMIT_S):
                raise VmError(f"UEFI's firmware does not list the drive; see {self.place}/console.log")
        finally:
            guest.power_cut()
        print(f"vm: uefi: the drive is listed: ok, {time.time() - started:.1f} s", flush=True)
        return 1

    def crash(self, script, seed, then):
        """A power cut in the middle of what the script writes; the next start, and what must be there."""
        count, steps = random.Random(seed).randrange(5, 30), Steps(script)
        guest = self.machine(script, steps.line, seed=seed)
        try:
            steps.wait_synced(count, LIMIT_S)
        finally:
            guest.power_cut()
        synced = steps.synced
        print(f"vm: {script}: power cut {seed}, {len(synced)} times it was said that something is durable", flush=True)
        names = "".join(f"{name} {digest}\n" for name, digest in synced)
        return steps.done + 1 + self.run(then, files={"synced": names})


def all_of(place, scripts, stopped):
    """On one drive; the number of steps."""
    drive, done = Drive(place), 0
    for script in scripts:
        name, _, seed = script.partition(":")
        if stopped.is_set():
            break
        try:
            if seed:
                done += drive.crash(name, int(seed), THEN[name])
            else:
                done += drive.uefi() if name == "uefi" else drive.run(name)
        except BaseException:
            stopped.set()
            raise
    return done


def acceptance(short=False):
    """All of it, or one machine and a power cut; prints the number of steps."""
    started, stopped = time.time(), threading.Event()
    if short:
        done = all_of(WORK / "short", ["short:1"], stopped)
    else:
        subprocess.run(["make", "-s", "-C", ROOT / "sw/host", "sqlite"], check=True)
        with ThreadPoolExecutor() as side_by_side:
            drives = [side_by_side.submit(all_of, WORK / name, scripts, stopped) for name, scripts in SCRIPTS.items()]
        done = sum(drive.result() for drive in drives)
    print(f"vm: {done} passed, 0 failed, in {time.time() - started:.0f} s", flush=True)
