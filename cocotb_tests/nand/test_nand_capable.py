# SPDX-License-Identifier: Apache-2.0
"""A part that suspends and has cache operations and planes: the NAND channel against the pin-level model, which refuses
to suspend a part of a sequence or of several planes.
"""

import os
import random

from cocotb_tests.bench.amount import amount
from cocotb_tests.bench.nand_channel import CLK_PS, FIELDS, PAGES, SEED, page, same, sentence, simulate
from cocotb_tests.bench.nand_host import CACHE_PROGRAM, CACHE_READ, SEVERAL_PLANES, STATUS_ENHANCED, Host, Op, Status
from cocotb_tests.bench.nand_pins import (
    CACHE_PROGRAMS,
    CACHE_READS,
    FAIL_PROGRAM,
    QUICK,
    SHARED,
    SUSPENSIONS,
    Nand,
    Part,
)
from cocotb_tests.models.nand_page import stored

SUSPEND_NS = 1_000
LONG = QUICK | {"prog": 60_000, "bers": 80_000, "r": 10_000}
ALL = CACHE_PROGRAM | CACHE_READ | SEVERAL_PLANES | STATUS_ENHANCED
OLD = 5 * PAGES  # the pages that are read


async def drive(dut, stall=0.0):
    """The part and the host; the pages of a block from OLD on are written on each way."""
    nand = Nand()
    part = Part(onfi=0, suspend=SUSPEND_NS, cache=1, planes=2, status_enhanced=1)
    assert nand.open(pages=PAGES, times=LONG, seed=SEED, part=part) is None
    host = Host(dut, stall, SEED)
    await host.start(CLK_PS)
    dut.capabilities.value = ALL
    for way in range(2):
        same(await host.run(way, Op.RESET), Status.OK)
        for number in range(PAGES):
            same(await host.run(way, Op.PROGRAM, OLD + number, data=page(number), **FIELDS), Status.OK)
    return nand, host


async def read_beside(nand, host, run):
    """A read that is given as soon as the way takes one; True when it was over before the operation."""
    before = nand.count(SUSPENSIONS)
    read = await host.issue(0, Op.READ, OLD + 1, beside=True)
    await read.wait()
    first = not run.is_set()
    same(read.cpl, Status.OK, data=page(1), **FIELDS)
    await run.wait()
    same(run.cpl, Status.OK)
    assert nand.count(SUSPENSIONS) - before == first
    return first


@sentence
async def the_end_of_a_cache_sequence_is_not_suspended(dut):
    """The program behind a cache program that is over is the end of the sequence for the chip; so is another command
    between them, but for a status.
    """
    nand, host = await drive(dut)
    for turn, (between, suspends) in enumerate(
        ((None, False), (Op.STATUS, False), (Op.READ_OOB, True), (Op.ERASE, True))
    ):
        row = (7 + turn) * PAGES
        same(await host.run(0, Op.PROGRAM, row, data=page(7), allow_cache=1, **FIELDS), Status.OK)
        if between is not None:
            same(await host.run(0, between, OLD + PAGES if between == Op.ERASE else OLD), Status.OK)
        run = await host.issue(0, Op.PROGRAM, row + 1, data=page(8), **FIELDS)
        assert await read_beside(nand, host, run) == suspends, f"a read beside the program after {between}"
        run = await host.issue(0, Op.PROGRAM, row + 2, data=page(9), **FIELDS)
        assert await read_beside(nand, host, run), "the sequence goes on behind its end"
        for number in range(3):
            assert nand.peek(0, row + number) == stored(page(7 + number), **FIELDS)


@sentence
async def what_goes_together_is_not_suspended(dut):
    """Two planes, and cache programs: a read given beside them comes when they are over."""
    nand, host = await drive(dut)
    for op, rows, allow_cache in (
        (Op.ERASE, (8 * PAGES, 9 * PAGES), 0),
        (Op.PROGRAM, (8 * PAGES, 9 * PAGES), 0),
        (Op.PROGRAM, (10 * PAGES, 10 * PAGES + 1), 1),
    ):
        events = [
            await host.issue(0, op, row, data=page(3), allow_cache=allow_cache, beside=True, **FIELDS) for row in rows
        ]
        read = await host.issue(0, Op.READ, OLD, beside=True)
        await read.wait()
        assert all(event.is_set() for event in events), f"{op.name}: the read was first"
        same(read.cpl, Status.OK, data=page(0))
        for event in events:
            await event.wait()
            same(event.cpl, Status.OK)
    assert nand.count(SUSPENSIONS) == 0 and nand.count(SHARED) == 4 and nand.count(CACHE_PROGRAMS) == 2


@sentence
async def reads_beside_reads_suspend_nothing(dut):
    nand, host = await drive(dut)
    events = [await host.issue(1, Op.READ, OLD + number, beside=True) for number in range(4)]
    for number, event in enumerate(events):
        await event.wait()
        same(event.cpl, Status.OK, data=page(number), **FIELDS)
    assert nand.count(CACHE_READS) == 3 and nand.count(SUSPENSIONS) == 0


async def random_work(dut, stall, steps):
    """Both ways: blocks erased and filled as fast as the way takes it, in pairs or alone, with failures, and reads of
    other blocks beside it all whenever one is taken.
    """
    nand, host = await drive(dut, stall)
    over, reads = [], [0, 0]

    async def change(way, rng):
        for step in range(steps):
            blocks = [6 + 2 * rng.randrange(4)]
            blocks.append(blocks[0] + rng.choice((1, 2)) if blocks[0] < 12 else blocks[0] + 1)
            for event in [await host.issue(way, Op.ERASE, b * PAGES, beside=True) for b in blocks]:
                await event.wait()
                same(event.cpl, Status.OK)
            rows = [b * PAGES + n for n in range(rng.randrange(1, PAGES + 1)) for b in blocks]
            if rng.random() < 0.5:
                rows.sort()
            cached = rng.choice((0, 0.5, 1))
            failing = rng.randrange(1, len(rows) + 1) if rng.random() < 0.3 else 0
            if failing:
                nand.fail(way, FAIL_PROGRAM, failing)
            data, events = {row: page(1000 * way + 100 * step + row) for row in rows}, []
            for row in rows:
                events.append(
                    await host.issue(
                        way,
                        Op.PROGRAM,
                        row,
                        data=data[row],
                        allow_cache=int(rng.random() < cached),
                        beside=rng.random() < 0.5,
                        **FIELDS,
                    )
                )
            bad = set()
            for row, event in zip(rows, events, strict=True):
                await event.wait()
                assert event.cpl["status"] in (Status.OK, Status.FAIL)
                if event.cpl["status"] == Status.FAIL:
                    bad.add(row)
            assert len(bad) == bool(failing), f"{len(bad)} of {len(rows)} failed, {failing} should"
            for row in rows:
                assert (nand.peek(way, row) == stored(data[row], **FIELDS)) == (row not in bad)
        over.append(way)

    async def read(way, rng):
        while way not in over:
            await host.rest(rng.choice((0, 10, 1_000, 5_000, 20_000)))
            asked = [rng.randrange(PAGES) for _ in range(rng.randrange(1, 4))]
            events = [await host.issue(way, Op.READ, OLD + number, beside=True) for number in asked]
            for number, event in zip(asked, events, strict=True):
                await event.wait()
                reads[way] += 1
                same(event.cpl, Status.OK, data=page(number), read=1, **FIELDS)

    await host.together(
        [work(way, random.Random(10 * SEED + 2 * way + n)) for way in range(2) for n, work in enumerate((change, read))]
    )
    used = [nand.count(n) for n in (SUSPENSIONS, CACHE_READS, CACHE_PROGRAMS, SHARED)]
    dut._log.info(f"{reads} reads; suspensions, cache reads, cache programs, shared array times: {used}")
    assert steps == 1 or min(reads) > 3 and min(used) > 3


@sentence
async def random_operations_agree_with_the_golden_pages(dut):
    await random_work(dut, 0.0, amount(2, 8))


@sentence
async def random_operations_with_stalls_agree_too(dut):
    await random_work(dut, 0.1, amount(1, 4))


def test_nand_capable():
    simulate(
        __name__,
        int(os.environ.get("CLK_PS", "10000")),
        TSuspNs=SUSPEND_NS,
        Cache=1,
        Planes=2,
        PageBits=PAGES.bit_length() - 1,
        TRMaxNs=60_000,
    )
