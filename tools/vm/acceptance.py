# SPDX-License-Identifier: Apache-2.0
"""The acceptance of the drive by software that is not ours: Debian's kernel with its nvme driver, nvme-cli, mkfs, fsck
and fio, in one virtual machine after the other on the same drive; SQLite by passthrough, and on ext4; also power cuts.

A line for each step as it ends. VmError at the first that does not hold.
"""

import random
import subprocess
import threading
import time

from tools.vm.machine import Machine
from tools.vm.packages import ROOT, WORK, VmError

SCRIPTS = "admin blocks files others resets kept rebooted sqlite overwrites".split()
LIMIT_S = 1500  # of a script
CUTS = 3


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


def machine(script, image, steps, files=None, **kw):
    return Machine(script, image, on_line=steps.line, files=files, **kw)


def run(script, image, **kw):
    """One script, to its end."""
    steps = Steps(script)
    code = machine(script, image, steps, **kw).wait(LIMIT_S)
    if code or steps.failed or not steps.done:
        raise VmError(f"{script}: {steps.failed or f'ended with {code}'}; see {WORK}/console.log")
    return steps.done


def uefi(image):
    """Another driver: that of UEFI's firmware (EDK II), which lists the drive."""
    listed, started = threading.Event(), time.time()

    def line(text):
        if "UEFI OpenTxSSD" in text:
            listed.set()

    guest = Machine(None, image, on_line=line)
    try:
        if not listed.wait(LIMIT_S):
            raise VmError(f"UEFI's firmware does not list the drive; see {WORK}/console.log")
    finally:
        guest.power_cut()
    print(f"vm: uefi: the drive is listed: ok, {time.time() - started:.1f} s", flush=True)
    return 1


def crash(image, seed, script="crash", then="recovered"):
    """A power cut in the middle of what the script writes; the next start, and what must be there."""
    count, steps = random.Random(seed).randrange(5, 30), Steps(script)
    guest = machine(script, image, steps, seed=seed)
    try:
        steps.wait_synced(count, LIMIT_S)
    finally:
        guest.power_cut()
    synced = steps.synced
    print(f"vm: {script}: power cut {seed}, {len(synced)} times it was said that something is durable", flush=True)
    names = "".join(f"{name} {digest}\n" for name, digest in synced)
    return steps.done + 1 + run(then, image, files={"synced": names})


def whole(image):
    subprocess.run(["make", "-s", "-C", ROOT / "sw/host", "sqlite"], check=True)
    done = sum(run(script, image) for script in SCRIPTS) + uefi(image)
    for seed in range(1, CUTS + 1):
        done += crash(image, seed) + crash(image, seed, "sqlite_crash", "sqlite_recovered")
    return done


def acceptance(short=False):
    """All of it, or one machine and a power cut; prints the number of steps."""
    started, image = time.time(), WORK / "acceptance.nand"
    for old in (image, WORK / "console.log", WORK / "bridge.log"):
        old.unlink(missing_ok=True)
    done = crash(image, 1, "short") if short else whole(image)
    print(f"vm: {done} passed, 0 failed, in {time.time() - started:.0f} s", flush=True)
