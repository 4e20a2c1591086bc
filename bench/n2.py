# SPDX-License-Identifier: Apache-2.0
"""How long random host reads take at the flash back end beside all the programs and erases it can do: without
priorities, with them, and on a part that suspends (sim/flash).

One channel, 4 ways of K9F8G08U0M (tR 25 us, tPROG 200 us, tBERS 1.5 ms, 30 ns per byte at 100 MHz), so that programs
alone fill the bus. The load: `write` has 16 programs under way, page by page over the dies; for each block of 64 pages
firmware erases one; a log page comes a millisecond after the one before is done. Reads come from `depth` readers, each
with one read under way, of any page of one written block per die. `turns`: flash_priorities=0, log pages first, then
reads and the rest in turn. `suspend`: the priorities, and the part suspends a program or erase within 20 us (a K9F8G08
cannot; the time is assumed). No rule of the chips is broken.
"""

import math
import random
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

from bench.result import Check, Result
from cocotb_tests.system import flash as flashes
from cocotb_tests.system.flash import FW, LOG, READ, WRITE, Flash
from opentxssd.facts import NandOp
from soc import geometry as geometries

ROOT = Path(__file__).resolve().parent.parent

TITLE = "read latency beside a full program and erase load"
MHZ, WAYS, PAGES, BLOCKS = 100, 4, 64, 16
DATA_BLOCKS, LOG_BLOCKS = range(1, 12), range(12, 16)  # block 0 is read
PROGRAMS, LOG_PAUSE = 16, 100_000
READS = {1: 1_000, 4: 2_000, 16: 2_000}  # by depth; a quarter of them without load
LOADS = ["none", "turns", "priorities", "suspend"]
CASES = [(load, depth) for depth in READS for load in LOADS]
SUSPEND_NS = 20_000
AVERAGE, P99, ALONE, SHARE, LOG_US, SUSPENDED = 65.0, 65.0, 100.0, 9.0, 4_000.0, 85.0
OP_RESET, OP_READ, OP_PROGRAM, OP_ERASE = NandOp.RESET, NandOp.READ, NandOp.PROGRAM, NandOp.ERASE


def drive(load):
    name = "priorities" if load == "none" else load
    timing = replace(geometries.K9F8G08, t_susp=SUSPEND_NS if load == "suspend" else 0)
    return geometries.Geometry(
        f"n2_{name}",
        1,
        WAYS,
        BLOCKS,
        PAGES,
        64,
        write_frames=64,
        read_frames=32,
        flash_priorities=int(load != "turns"),
        clock_mhz=MHZ,
        timing=timing,
    )


class Load:
    """Programs, erases and log pages as the head says; `reads` are what is measured."""

    def __init__(self, flash, seed, depth, load):
        self.flash, self.rng, self.depth, self.load = flash, random.Random(seed), depth, load
        self.die, self.page = 0, [0] * WAYS  # of the next program
        self.erased = [set(DATA_BLOCKS) for _ in range(WAYS)]
        self.programs = self.logs = 0
        self.log_due = LOG_PAUSE
        self.free = list(range(PROGRAMS))  # frames
        self.latency = {READ: [], LOG: [], WRITE: [], FW: []}

    def start(self):
        f = self.flash
        for die in range(WAYS):
            f.op(FW, OP_RESET, f.ppn(die, 0))
        self.wait(WAYS)
        for n in range(WAYS * PAGES):
            f.words(0)[0] = n
            f.op(WRITE, OP_PROGRAM, f.ppn(n % WAYS, 0, n // WAYS), 0, n)
            self.wait(1)
        self.latency = {client: [] for client in self.latency}
        self.begin = f.clock()

    def wait(self, count):
        for _ in range(count):
            beat, _ = self.flash.done()
            assert beat.status == 0, f"status {beat.status}"

    def program(self):
        """The next page of the next die; no more while its block is not erased."""
        f, die = self.flash, self.die
        at, page = divmod(self.page[die], PAGES)
        block = DATA_BLOCKS[at % len(DATA_BLOCKS)]
        if not self.free or (page == 0 and block not in self.erased[die]):
            return False
        if page == 0:
            self.erased[die].discard(block)
            ahead = DATA_BLOCKS[(at + 2) % len(DATA_BLOCKS)]
            self.erased[die].discard(ahead)
            f.op(FW, OP_ERASE, f.ppn(die, ahead), what=(die, ahead))
        frame = self.free.pop()
        f.op(WRITE, OP_PROGRAM, f.ppn(die, block, page), frame, self.programs, what=frame)
        self.page[die] += 1
        self.die = (die + 1) % WAYS
        return True

    def log(self):
        n = self.logs
        block, page = divmod(n % (WAYS * len(LOG_BLOCKS) * PAGES), PAGES)
        assert n < WAYS * len(LOG_BLOCKS) * PAGES, "no more blocks for the log"
        self.flash.op(LOG, OP_PROGRAM, self.flash.ppn(block % WAYS, LOG_BLOCKS[block // WAYS], page), 60, n)
        self.logs, self.log_due = n + 1, None

    def read(self, reader):
        at = self.rng.randrange(WAYS * PAGES)
        self.flash.op(READ, OP_READ, self.flash.ppn(at % WAYS, 0, at // WAYS), 64 + reader, what=(reader, at))

    def run(self, reads):
        for reader in range(self.depth):
            self.read(reader)
        while len(self.latency[READ]) < reads:
            if self.load:
                while self.program():
                    pass
                if self.log_due is not None and self.flash.clock() >= self.log_due:
                    self.log()
            beat, what = self.flash.done()
            assert beat.status == 0, f"status {beat.status}"
            self.latency[beat.client].append(beat.clock - beat.handed)
            if beat.client == READ:
                reader, at = what
                self.read(reader)
            elif beat.client == WRITE:
                self.programs += 1
                self.free.append(what)
            elif beat.client == LOG:
                self.log_due = beat.clock + LOG_PAUSE
            else:
                self.erased[what[0]].add(what[1])


def share(values, part):
    """The smallest value that `part` of them do not exceed."""
    return sorted(values)[math.ceil(len(values) * part) - 1]


def measure(case):
    load, depth = case
    run = Load(Flash(drive(load)), 1, depth, load != "none")
    run.start()
    run.run(READS[depth] // 4 if load == "none" else READS[depth])
    clocks = run.flash.clock() - run.begin
    seen, log = run.latency[READ], run.latency[LOG]

    def us(clocks):
        return round(clocks / MHZ, 1)

    return {
        "load": load,
        "depth": depth,
        "reads": len(seen),
        "average_us": us(sum(seen) / len(seen)),
        "p50_us": us(share(seen, 0.5)),
        "p99_us": us(share(seen, 0.99)),
        "p99_9_us": us(share(seen, 0.999)),
        "max_us": us(max(seen)),
        "max_clocks": max(seen),
        "reads_per_s": round(len(seen) / clocks * MHZ * 1e6),
        "programs_per_s": round(len(run.latency[WRITE]) / clocks * MHZ * 1e6),
        "erases": len(run.latency[FW]),
        "log_average_us": us(sum(log) / len(log)) if log else None,
        "log_max_us": us(max(log)) if log else None,
    }


def run():
    for load in LOADS[1:]:
        flashes.build(drive(load))
    # a process has one drive
    with ProcessPoolExecutor(2, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        rows = list(pool.map(measure, CASES))
    at = {(r["load"], r["depth"]): r for r in rows}

    def percent(depth, key):
        return round(100 * at["priorities", depth][key] / at["turns", depth][key], 1)

    average, p99, alone = percent(16, "average_us"), percent(16, "p99_us"), percent(1, "average_us")
    programs, log = (
        100 * at["priorities", 16]["programs_per_s"] / at["priorities", 16]["reads_per_s"],
        max(r["log_max_us"] for r in rows if r["load"] in ("priorities", "suspend")),
    )
    suspended = round(100 * at["suspend", 1]["average_us"] / at["priorities", 1]["average_us"], 1)
    checks = [
        Check(
            f"average read with priorities, percent of that with turns, 16 readers (at most {AVERAGE:g})",
            average,
            average <= AVERAGE,
        ),
        Check(f"p99 of the same (at most {P99:g})", p99, p99 <= P99),
        Check(
            f"average read with priorities, percent of that with turns, one reader (at most {ALONE:g})",
            alone,
            alone <= ALONE,
        ),
        Check(
            f"programs beside 16 readers, percent of the reads (at least {SHARE:g}: no more than 9 go before one)",
            round(programs, 1),
            programs >= SHARE,
        ),
        Check(
            f"average read on a part that suspends, percent of that without, one reader (at most {SUSPENDED:g})",
            suspended,
            suspended <= SUSPENDED,
        ),
        Check(
            f"us that a log page takes, most, with priorities (at most {LOG_US:g}: an erase, an op and itself)",
            log,
            log <= LOG_US,
        ),
    ]
    return Result(
        clock_mhz=MHZ,
        clock_from="the clock of the target",
        unit="percent",
        rows=rows,
        ours=p99,
        paper=None,
        target=P99,
        checks=checks,
    )


def plot(figure, result):
    axes = figure.subplots()
    rows = result["rows"]
    at = range(len(rows))
    for shift, key in ((-0.3, "average_us"), (-0.1, "p50_us"), (0.1, "p99_us"), (0.3, "p99_9_us")):
        axes.bar(
            [x + shift for x in at], [r[key] for r in rows], 0.2, label=key.removesuffix("_us").replace("_", ".", 1)
        )
    axes.set_yscale("log")
    axes.set_xticks(list(at), [f"{r['load']}\n{r['depth']}" for r in rows])
    axes.set_xlabel("load, readers")
    axes.set_ylabel("us per read")
    axes.legend()
