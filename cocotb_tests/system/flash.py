# SPDX-License-Identifier: Apache-2.0
"""The flash back end with its dies as a Python object, over the C library of sim/flash (sim/flash/otx_flash.h says what
it does). One per process.
"""

import ctypes as c
import fcntl
import subprocess
from pathlib import Path

from cocotb_tests.bench.spinal import generated

ROOT = Path(__file__).resolve().parent.parent.parent

WRITE, READ, LOG, FW = range(4)


class Done(c.Structure):
    _fields_ = [
        ("client", c.c_uint32),
        ("cookie", c.c_uint32),
        ("status", c.c_uint32),
        ("reserved", c.c_uint32),
        ("handed", c.c_uint64),
        ("clock", c.c_uint64),
    ]


def build(geometry):
    """Brings build/<preset>/flash/libotx_flash.so of this geometry up to date; CalledProcessError if that fails."""
    out = ROOT / "build" / geometry.preset
    (out / "flash").mkdir(parents=True, exist_ok=True)
    with open(out / "flash/lock", "w") as lock, open(out / "flash/build.log", "w") as log:
        fcntl.flock(lock, fcntl.LOCK_EX)
        generated(geometry, "otx_flash_backend", log)
        shape = f"-GChannels={geometry.channels} -GWays={geometry.ways} -GClkPs={geometry.clock_ps}"
        command = ["make", "-f", "sim/flash/Makefile", f"DRIVE={geometry.preset}", f"SHAPE={shape}"]
        subprocess.run(command, cwd=ROOT, check=True, stdout=log, stderr=log)


class Flash:
    """`op` hands an op over, `done` waits for the next done beat."""

    def __init__(self, geometry, seed=1):
        self.geometry, self.cookie, self.waiting = geometry, 0, {}
        self.lib = c.CDLL(str(ROOT / "build" / geometry.preset / "flash/libotx_flash.so"))
        self.lib.otx_flash_op.argtypes = [c.c_uint32] * 6
        self.lib.otx_flash_step.argtypes = [c.c_uint64, c.POINTER(Done)]
        self.lib.otx_flash_frame.restype = c.POINTER(c.c_uint64)
        self.lib.otx_flash_frame.argtypes = [c.c_uint32]
        self.lib.otx_flash_clock.restype = c.c_uint64
        self.lib.otx_flash_open(c.c_uint64(seed))

    def ppn(self, die, block, page=0):
        return (die * self.geometry.blocks_per_way + block) * self.geometry.pages_per_block + page

    def op(self, client, op, ppn, frame=0, lpn=0, what=None):
        """`what` comes back with the done beat."""
        self.cookie = self.cookie + 1 & 0xFFFF
        assert self.cookie not in self.waiting
        self.waiting[self.cookie] = what
        self.lib.otx_flash_op(client, op, ppn, frame, lpn, self.cookie)

    def done(self, limit=20_000_000):
        """(done beat, `what` of its op); AssertionError when none comes within `limit` clocks."""
        beat = Done()
        assert self.lib.otx_flash_step(self.clock() + limit, c.byref(beat)), f"no op is done within {limit} clocks"
        return beat, self.waiting.pop(beat.cookie)

    def clock(self):
        return self.lib.otx_flash_clock()

    def words(self, frame):
        return self.lib.otx_flash_frame(frame)
