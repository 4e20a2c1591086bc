# SPDX-License-Identifier: Apache-2.0
"""Q1: how long single READs and WRITEs of one block take in each priority class, beside a load of the three other
classes that saturates the drive.

Preset quick: one die, so all meet there, and a write buffer that takes 60 % of the frames. The load keeps 8 commands
of each of the other classes under way, READs and WRITEs of random blocks; the class that is measured has one command
under way, reads and writes in turn. From the submission to the completion, transfer included. WRITEs are done when
their frames are linked.

The bound beside a class, in commands: those of other classes that have gone already, all 24 at most, and those that may
go before it (`models/class_order.py`, over all states). In clocks: so many and its own times the longest time between
two completions that the run has shown; this time is measured, not proved. The load has blocks of its own, so a measured
command never waits for another one of its block.
"""

import random
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from bench.drive_build import build_drive
from bench.result import Check, Result
from cocotb_tests.system.variant import firmware
from opentxssd import BLOCK, Drive, Opcode, Status
from opentxssd.facts import Priority
from soc import geometry

TITLE = "latency of each priority class beside a load of the others"
PRESET = "quick"
EACH, WARM = 8, 40  # of each class under way; commands before the first that counts
LOADED, MEASURED = 48, 16  # blocks of the load, and of the measured class
COMMANDS = 400  # measured, of each class
URGENT, HIGH, MEDIUM, LOW = Priority.URGENT, Priority.HIGH, Priority.MEDIUM, Priority.LOW
CLASSES = (URGENT, HIGH, MEDIUM, LOW)


def before(priority):
    """Commands of other classes that can complete before one of this class at most."""
    patience = geometry.preset(PRESET).class_patience
    return {URGENT: 3, HIGH: patience + 2, MEDIUM: patience + 1, LOW: patience}[priority] + 3 * EACH


class Load:
    def __init__(self, drive, measured, seed):
        self.drive, self.measured, self.rng = drive, measured, random.Random(seed)
        self.under_way = {}  # tag: (class, opcode, clock)
        self.free = list(range(LOADED))
        self.clocks, self.ends, self.number = {Opcode.READ: [], Opcode.WRITE: []}, [], 0

    def submit(self, priority, opcode, lba):
        data = bytes(BLOCK) if opcode == Opcode.WRITE else None
        tag = self.drive.submit(opcode, lba, 1, data, priority=int(priority))
        self.under_way[tag] = priority, opcode, self.drive.clock, lba

    def fill(self):
        classes = [priority for priority, *_ in self.under_way.values()]
        for priority in CLASSES:
            if priority == self.measured:
                if priority not in classes:
                    self.number += 1
                    lba = LOADED + self.rng.randrange(MEASURED)
                    self.submit(priority, (Opcode.READ, Opcode.WRITE)[self.number % 2], lba)
                continue
            for _ in range(EACH - classes.count(priority)):
                lba = self.free.pop(self.rng.randrange(len(self.free)))
                self.submit(priority, self.rng.choice((Opcode.READ, Opcode.WRITE)), lba)

    def run(self, commands, warm):
        count = 0
        while count < warm + commands:
            self.fill()
            if not self.drive.step(1_000_000):
                raise RuntimeError("no command completes")
            while (done := self.drive.poll()) is not None:
                priority, opcode, begin, lba = self.under_way.pop(done.tag)
                if done.status != Status.SUCCESS:
                    raise RuntimeError(f"{opcode.name}: {done.status.name}")
                self.ends.append(done.clock)
                if priority == self.measured:
                    count += 1
                    if count > warm:
                        self.clocks[opcode].append(done.clock - begin)
                else:
                    self.free.append(lba)
        return self

    def step(self):
        """The longest time between two completions."""
        return max(b - a for a, b in zip(self.ends, self.ends[1:], strict=False))


def part(clocks, percent):
    return sorted(clocks)[min(len(clocks) - 1, int(len(clocks) * percent / 100))]


def measured(priority, commands, warm=WARM, seed=1):
    """The two rows of a class. A drive is one for each process."""
    drive = Drive(PRESET, firmware=firmware(PRESET, buffer_percent=60))
    for lba in range(0, LOADED + MEASURED, 32):
        drive.write(lba, bytes(32 * BLOCK))
    drive.flush()
    load = Load(drive, priority, seed).run(commands, warm)
    rows, mhz = [], geometry.preset(PRESET).clock_mhz
    for opcode, clocks in load.clocks.items():
        row = {"class": priority.name, "command": opcode.name, "commands": len(clocks)}
        row |= {f"p{p:g}": part(clocks, p) for p in (50, 99, 99.9)} | {"longest": max(clocks)}
        row |= {"p50_us": row["p50"] / mhz, "p99_us": row["p99"] / mhz, "longest_us": max(clocks) / mhz}
        row |= {"before": before(priority), "step": load.step(), "bound": (before(priority) + 1) * load.step()}
        rows.append(row | {"bound_us": row["bound"] / mhz})
    return rows


def measure(commands, warm=WARM):
    firmware(PRESET, buffer_percent=60)
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as pool:
        return [
            row
            for rows in pool.map(measured, CLASSES, [commands] * len(CLASSES), [warm] * len(CLASSES))
            for row in rows
        ]


def result(rows):
    def of(priority, what, opcode="READ"):
        return next(r[what] for r in rows if r["class"] == priority.name and r["command"] == opcode)

    order = [of(priority, "p50") for priority in CLASSES]
    return Result(
        clock_mhz=geometry.preset(PRESET).clock_mhz,
        clock_from=f"preset {PRESET}",
        unit="clocks of a READ of class URGENT, median",
        rows=rows,
        ours=order[0],
        paper=None,
        target=None,
        checks=[
            *[
                Check(
                    f"{r['class']} {r['command']}, longest (at most {r['bound']} clocks)",
                    r["longest"],
                    r["longest"] <= r["bound"],
                )
                for r in rows
            ],
            Check("median READ of URGENT / that of LOW (below 1)", order[0] / order[3], order[0] < order[3]),
        ],
    )


def run():
    build_drive(PRESET)
    return result(measure(COMMANDS))


def plot(figure, result):
    axes = figure.subplots()
    rows = result["rows"]
    names = [f"{r['class']} {r['command']}" for r in rows]
    for what, mark in (("p50", "o"), ("p99", "s"), ("longest", "^"), ("bound", "|")):
        axes.plot([r[what] for r in rows], names, mark, label=what)
    axes.set(xlabel="clocks", xscale="log")
    axes.invert_yaxis()
    axes.legend()
