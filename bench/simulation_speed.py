# SPDX-License-Identifier: Apache-2.0
"""`simulation_speed.py PRESET AREA [FOLDER]`, a process of its own: loads on AREA blocks of the simulated drive, as
JSON on standard output. FOLDER: where its library is, build/PRESET without.

{"rows": [{"load", "depth", "blocks", "clocks", "cpu_s", "loop_steps_per_s"}], "peak_rss_bytes"}. CPU seconds are those
of this process; `loop_steps_per_s` is the speed of a fixed C loop (calibration.c), measured right before and after the
load. All loads go on with the drive the one before has left; a read that returns anything but what was written last
ends the process. Clocks are the same in every run. Not traced.
"""

import ctypes
import json
import random
import resource
import subprocess
import sys
import time
from pathlib import Path

try:
    from opentxssd import BLOCK, MAX_BLOCKS, Drive, Opcode, Status
except ImportError as e:
    sys.exit(f"simulation_speed: {e}; source tools/env.sh first")

ROOT = Path(__file__).resolve().parent.parent

STEPS = 10_000_000  # of the loop, each time
IDLE_CLOCKS, SETTLE_CLOCKS = 500_000, 2_500_000
# load, opcode, depth, blocks, of which the first are a warm-up that is not counted: it fills the write frames
LOADS = [
    ("4 KiB random writes", Opcode.WRITE, 1, 400, 160),
    ("4 KiB random writes", Opcode.WRITE, 16, 760, 160),
    ("4 KiB random reads", Opcode.READ, 1, 84, 4),
    ("4 KiB random reads", Opcode.READ, 16, 520, 40),
]


def calibration():
    """The C loop as a function of steps."""
    out = ROOT / "build/bench/calibration.so"
    out.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [
            "gcc",
            "-O2",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-shared",
            "-fPIC",
            "-o",
            str(out),
            str(ROOT / "bench/calibration.c"),
        ],
        check=True,
    )
    loop = ctypes.CDLL(str(out)).otx_calibrate
    loop.argtypes, loop.restype = [ctypes.c_uint64], ctypes.c_uint64
    return loop


class Meter:
    """Measures one load: clocks of the drive, CPU seconds, and the loop around it."""

    def __init__(self, drive):
        self.drive, self.loop, self.rows = drive, calibration(), []

    def loop_seconds(self):
        started = time.process_time()
        self.loop(STEPS)
        return time.process_time() - started

    def measure(self, load, depth, blocks, work):
        loop = self.loop_seconds()
        clock, started = self.drive.clock, time.process_time()
        work()
        cpu, clocks = time.process_time() - started, self.drive.clock - clock
        loop += self.loop_seconds()
        self.rows.append(
            {
                "load": load,
                "depth": depth,
                "blocks": blocks,
                "clocks": clocks,
                "cpu_s": cpu,
                "loop_steps_per_s": 2 * STEPS / loop,
            }
        )


class Load:
    """Random commands on `area` blocks, which have been written; remembers what is in them.

    `txid`: of the transaction they belong to.
    """

    def __init__(self, drive, area, seed=1):
        self.drive, self.area, self.rng, self.stamp, self.held, self.txid = (
            drive,
            area,
            random.Random(seed),
            0,
            {},
            None,
        )

    def fresh(self, lba):
        self.stamp += 1
        self.held[lba] = (self.stamp << 32 | lba).to_bytes(8, "little") * (BLOCK // 8)
        return self.held[lba]

    def go(self, commands, depth):
        """(opcode, lba, count) in order, at most `depth` under way; a block is under way once."""
        commands, under_way = list(reversed(commands)), {}
        while commands or under_way:
            while commands and len(under_way) < depth:
                opcode, lba, count = commands.pop()
                data = b"".join(self.fresh(lba + i) for i in range(count)) if opcode == Opcode.WRITE else None
                under_way[self.drive.submit(opcode, lba, count, data, txid=self.txid)] = (opcode, lba)
            if not self.drive.step(20_000_000):
                raise SystemExit("a command has no completion after 20,000,000 clocks")
            done = self.drive.poll()
            opcode, lba = under_way.pop(done.tag)
            if done.status != Status.SUCCESS or opcode == Opcode.READ and done.data != self.held[lba]:
                raise SystemExit(f"{opcode.name} of block {lba}: {done.status.name}, or wrong data")

    def fill(self):
        self.go([(Opcode.WRITE, lba, MAX_BLOCKS) for lba in range(0, self.area, MAX_BLOCKS)], 4)

    def commands(self, opcode, count):
        """Commands on random blocks; none comes again within 64."""
        lbas = []
        while len(lbas) < count:
            lba = self.rng.randrange(self.area)
            if lba not in lbas[-64:]:
                lbas.append(lba)
        return [(opcode, lba, 1) for lba in lbas]


def run(preset, area, loads, settle, folder=None):
    drive = Drive(preset, folder=folder)
    drive.step(settle)  # the firmware has erased the first blocks
    meter, load = Meter(drive), Load(drive, area)
    meter.measure("128 KiB sequential writes", 4, area, load.fill)
    for name, opcode, depth, count, warm_up in loads:
        commands = load.commands(opcode, count)
        load.go(commands[:warm_up], depth)
        meter.measure(
            name, depth, count - warm_up, lambda depth=depth, commands=commands[warm_up:]: load.go(commands, depth)
        )
        if not drive.idle():
            raise SystemExit("the drive does not come to rest")
    meter.measure("nothing", 0, 0, lambda: drive.step(IDLE_CLOCKS))
    drive.power_cut()
    return {"rows": meter.rows, "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], int(sys.argv[2]), LOADS, SETTLE_CLOCKS, *sys.argv[3:])))
