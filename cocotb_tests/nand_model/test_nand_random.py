# SPDX-License-Identifier: Apache-2.0
"""Random cache sequences, operations of several planes, resets and power cuts on the NAND model against a small model
of a die: contents, results, R/B#.

SEED= makes one other run. Needs no simulator.
"""

import os
import random
from collections import Counter

import pytest

from cocotb_tests.bench.nand_bus import FULL, PAGE, RE, SMALL, subset
from cocotb_tests.bench.nand_cache import BLANK, CBSY, DBSY, RCBSY, TIMES, Pins
from cocotb_tests.bench.nand_pins import (
    CACHE_PROGRAMS,
    CACHE_READS,
    ERASES,
    FAIL_ERASE,
    FAIL_PROGRAM,
    PROGRAMS,
    READS,
    SHARED,
    Nand,
    Part,
    library,
)
from opentxssd.faults import Faults

BLOCKS, PAGES, STEPS = 8, 8, 250
DIE = SMALL | dict(blocks=BLOCKS, pages=PAGES)
ERASE, PROGRAM = "erase", "program"


class Look(Pins):
    """Knows when RE# fell."""

    def move(self, on=0, off=0, dq=None):
        if off & RE:
            self.looked = self.now
        super().move(on, off, dq)


class Golden:
    """What a die must hold and say. Times are those of the bus; what is `behind` goes to the array at its time."""

    def __init__(self, planes):
        self.planes, self.cells, self.next, self.unfinished = planes, {}, [0] * BLOCKS, set()
        self.until, self.jobs, self.behind, self.sequence = 0, [], None, False
        self.failed, self.before, self.fails, self.counts = set(), set(), {PROGRAM: 0, ERASE: 0}, Counter()

    def plane(self, row):
        return row // PAGES % self.planes

    def settle(self, now):
        """Everything until `now`."""
        if self.behind and self.behind[0] <= now:
            start, kind, targets, cached = self.behind
            self.behind = None
            self.settle(start)
            self.begin(kind, targets, start, cached)
        if self.jobs and self.until <= now:
            for kind, row, data, fails in self.jobs:
                if fails:
                    self.failed.add(self.plane(row))
                self.end(kind, row, data, fails)
            self.jobs = []

    def begin(self, kind, targets, start, cached=False):
        self.before = self.failed if self.sequence else set()
        self.failed, self.sequence = set(), cached
        for row, data in targets:
            self.jobs.append((kind, row, data, self.fails[kind] == 1))
            self.fails[kind] = max(0, self.fails[kind] - 1)
        self.counts[kind] += len(targets)
        self.counts[SHARED] += len(targets) if len(targets) > 1 else 0
        self.until = start + TIMES["prog" if kind == PROGRAM else "bers"]
        for row, _ in targets:
            if kind == PROGRAM:
                self.next[row // PAGES] = row % PAGES + 1
            else:
                self.unfinished.add(row // PAGES)

    def end(self, kind, row, data, torn):
        """`torn`: the cells are taken as they are."""
        if kind == PROGRAM:
            self.cells[row] = None if torn else data
        else:
            for r in range(row, row + PAGES):
                self.cells[r] = None if torn else BLANK
            if not torn:
                self.unfinished.discard(row // PAGES)
                self.next[row // PAGES] = 0

    def status(self, now, plane=None):
        """When R/B# is high."""
        self.settle(now)
        own = (lambda s: bool(s)) if plane is None else (lambda s: plane in s)
        return 0xC0 | (0 if self.jobs else 0x20) | 2 * own(self.before) | own(self.failed)


class Run:
    def __init__(self, nand, seed, planes, faults):
        self.nand, self.rng, self.faults = nand, random.Random(seed), faults
        assert (
            nand.open(
                **DIE,
                times=TIMES,
                seed=seed,
                faults=faults,
                part=Part(onfi=0, cache=1, planes=planes, status_enhanced=1),
            )
            is None
        )
        self.die, self.bus, self.met = Golden(planes), Look(nand).reset(), Counter()

    def data(self):
        data = bytearray(self.rng.randbytes(FULL))
        data[PAGE] = 255
        return bytes(data)

    def rests(self):
        """Some time goes by, and maybe somebody asks."""
        for _ in range(self.rng.randrange(3)):
            self.bus.wait(self.rng.choice((0, 500, 5_000, 20_000)))
            row = self.rng.choice((None, self.rng.randrange(BLOCKS * PAGES)))
            said, plane = self.bus.status(row), None if row is None else self.die.plane(row)
            assert said == self.die.status(self.bus.looked, plane), f"{said:02x}, plane {plane}"
            self.met[f"status {said:02x}"] += 1

    def rise(self, expected):
        assert self.bus.rises() == expected
        self.die.settle(self.bus.now)

    def interrupted(self):
        """A reset or power cut of what is under way, sometimes; then the die is looked at."""
        if self.rng.random() > 0.1:
            return False
        bus, die, reset = self.bus, self.die, self.rng.random() < 0.5
        bus.wait(self.rng.choice((150, 900, 3_000, 15_000, 40_000, 70_000)))
        if reset:
            bus.command(0xFF)
            die.settle(bus.rose)
        else:
            bus.move()
            die.settle(bus.now)
            kind, _, data, _ = die.jobs[0] if die.jobs else (None,) * 4
            assert self.nand.c.otx_nand_under_way(0) == (data[PAGE + 1] if kind == PROGRAM else 256 if kind else 0)
            self.nand.power_cut(self.rng.randrange(1 << 30))
            self.bus, die.fails = Look(self.nand).reset(), {PROGRAM: 0, ERASE: 0}
        self.met[
            ("reset" if reset else "cut") + f" of {len(die.jobs)}" + (" and one behind" if die.behind else "")
        ] += 1
        for kind, row, data, _ in die.jobs:
            self.torn(kind, row, data, may_end=not reset)
        die.jobs, die.behind, die.sequence, die.failed, die.before = [], None, False, set(), set()
        if reset:
            bus.ready()
        self.compare()
        return True

    def torn(self, kind, row, data, may_end):
        peek, die = self.nand.peek, self.die
        if kind == PROGRAM:
            got = peek(0, row)
            assert subset(got, data) and (may_end or got != data)
            self.met["whole page"] += got == data
            die.cells[row] = got
            return
        ended = self.nand.c.otx_nand_programs(0, row) != 255
        assert may_end or not ended
        self.met["whole block"] += ended
        for r in range(row, row + PAGES):
            got = peek(0, r)
            assert got == BLANK if ended else subset(got, die.cells.get(r, BLANK))
            die.cells[r] = got
        if ended:
            die.end(ERASE, row, None, False)

    def compare(self):
        """All cells; torn ones are taken as they are."""
        busy = {
            row for kind, first, _, _ in self.die.jobs for row in range(first, first + (PAGES if kind == ERASE else 1))
        }
        for row in set(range(BLOCKS * PAGES)) - busy:
            got, expected = self.nand.peek(0, row), self.die.cells.get(row, BLANK)
            if expected is None:
                self.die.cells[row] = got
            else:
                assert got == expected, f"row {row}"

    def idle(self):
        self.bus.wait(max(0, self.die.until - self.bus.now))
        self.bus.move()
        self.die.settle(self.bus.now)

    def usable(self, pages):
        return [b for b in range(BLOCKS) if b not in self.die.unfinished and self.die.next[b] + pages <= PAGES]

    def harm(self):
        """A program or erase soon will fail, sometimes."""
        if self.rng.random() < 0.3:
            kind = self.rng.choice((PROGRAM, PROGRAM, ERASE))
            self.die.fails[kind] = n = self.rng.randrange(1, 4)
            self.nand.fail(0, FAIL_PROGRAM if kind == PROGRAM else FAIL_ERASE, n)

    def cache_programs(self):
        bus, die, count = self.bus, self.die, self.rng.randrange(1, 6)
        blocks = self.usable(count)
        if not blocks:
            return self.erase()
        block = self.rng.choice(blocks)
        first = block * PAGES + die.next[block]
        for row in range(first, first + count):
            self.harm()
            data, last = self.data(), row == first + count - 1
            ends = last and (row % PAGES == PAGES - 1 or self.rng.random() < 0.6)
            bus.give(row, data, 0x10 if ends else 0x15)
            die.settle(bus.rose)
            if not ends:
                start = max(bus.falls(), die.until) + CBSY
                die.behind, rise = (start, PROGRAM, [(row, data)], True), start
                die.counts[CACHE_PROGRAMS] += 1
            elif die.jobs:
                start = max(bus.falls(), die.until)
                die.behind, rise = (start, PROGRAM, [(row, data)], False), start + TIMES["prog"]
            else:
                die.begin(PROGRAM, [(row, data)], bus.falls())
                rise = bus.falls() + TIMES["prog"]
            if self.interrupted():
                return
            self.rise(rise)
            self.rests()
            if self.interrupted():
                return
        if not ends:
            self.idle()
            self.met["sequence without end"] += 1

    def planes(self, most):
        blocks = {b % self.die.planes: b for b in self.rng.sample(range(BLOCKS), BLOCKS)}
        return self.rng.sample(sorted(blocks.values()), self.rng.randrange(1, most + 1))

    def program(self):
        bus, die, blocks = self.bus, self.die, self.planes(self.die.planes)
        page = max(die.next[b] for b in blocks)
        if page == PAGES or not die.unfinished.isdisjoint(blocks):
            return self.erase()
        die.sequence &= len(blocks) == 1
        targets = [(b * PAGES + page, self.data()) for b in blocks]
        for row, data in targets[:-1]:
            bus.give(row, data, 0x11)
            if self.interrupted():
                return None
            self.rise(bus.falls() + DBSY)
            self.rests()
        bus.give(*targets[-1], 0x10)
        self.ends(PROGRAM, targets)

    def ends(self, kind, targets):
        self.die.settle(self.bus.rose)
        self.die.begin(kind, targets, self.bus.falls())
        if self.interrupted():
            return
        self.rise(self.bus.falls() + TIMES["prog" if kind == PROGRAM else "bers"])
        self.met[f"{kind} of {len(targets)}"] += 1
        self.rests()

    def erase(self):
        blocks, self.die.sequence = self.planes(self.die.planes), False
        for n, block in enumerate(blocks, 1):
            self.bus.command(0x60, block * PAGES, 0, 0)
            self.bus.command(0xD0 if n == len(blocks) else 0xD1)
            if n < len(blocks):
                if self.interrupted():
                    return
                self.rise(self.bus.falls() + DBSY)
        self.ends(ERASE, [(block * PAGES, None) for block in blocks])

    def read(self):
        """A page, or a chain of them."""
        bus, rows = self.bus, [self.rng.randrange(BLOCKS * PAGES) for _ in range(self.rng.randrange(1, 5))]
        self.compare()
        self.die.sequence = False
        bus.load(rows[0])
        until = 0
        for row, before in zip(rows[1:], rows, strict=False):
            bus.command(0x00, 0, 0, row, 0, 0)
            bus.command(0x31)
            at = max(bus.falls(), until) + RCBSY
            assert bus.rises() == at
            until = at + TIMES["r"]
            if self.rng.random() < 0.5:
                assert bus.read(FULL) == self.die.cells.get(before, BLANK)
                bus.wait(self.rng.randrange(30_000))
        if len(rows) > 1:
            bus.command(0x3F)
            assert bus.rises() == max(bus.falls(), until) + RCBSY
        assert bus.read(FULL) == self.die.cells.get(rows[-1], BLANK)
        self.die.counts[READS] += len(rows)
        self.die.counts[CACHE_READS] += len(rows) - 1
        self.met[f"{len(rows)} pages read"] += 1

    def step(self):
        self.harm()
        self.rng.choice((self.cache_programs, self.cache_programs, self.program, self.program, self.erase, self.read))()
        self.idle()
        self.compare()
        assert self.nand.broken() == []


@pytest.fixture
def nand():
    model = Nand(library())
    yield model
    model.set_faults(None)
    model.close()


SEEDS = [int(os.environ["SEED"])] if "SEED" in os.environ else range(6)


def test_random_operations_agree_with_the_model_of_a_die(nand):
    met = Counter()
    for seed in SEEDS:
        print(f"SEED={seed}")
        run = Run(nand, seed, (2, 4)[seed % 2], Faults(seed=seed) if seed % 3 == 0 else None)
        for _ in range(STEPS):
            run.step()
        names = {PROGRAM: PROGRAMS, ERASE: ERASES}
        assert {what: nand.count(names.get(what, what)) for what in run.die.counts} == dict(run.die.counts)
        met += run.met
    wanted = [
        "program of 2",
        "program of 4",
        "erase of 2",
        "erase of 4",
        "4 pages read",
        "sequence without end",
        "whole page",
        "whole block",
    ]
    wanted += [f"status {s}" for s in ("e0", "e1", "e2", "e3", "c0", "c2")]
    wanted += [
        f"{what} of {jobs}"
        for what in ("reset", "cut")
        for jobs in ("0", "1", "2", "1 and one behind", "0 and one behind")
    ]
    assert len(SEEDS) == 1 or [name for name in wanted if not met[name]] == [], dict(met)
