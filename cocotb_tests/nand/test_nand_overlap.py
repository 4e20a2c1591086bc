# SPDX-License-Identifier: Apache-2.0
"""Cache reads, cache programs, operations on several planes and status by 78h: the NAND channel with a part that has
them, against the pin-level NAND model.
"""

import os
import random

from cocotb_tests.bench.amount import amount
from cocotb_tests.bench.nand_channel import CLK_PS, FIELDS, PAGES, SEED, page, same, sentence, simulate
from cocotb_tests.bench.nand_host import CACHE_PROGRAM, CACHE_READ, SEVERAL_PLANES, STATUS_ENHANCED, Host, Op, Status
from cocotb_tests.bench.nand_pins import FAIL_ERASE, FAIL_PROGRAM, HANG, QUICK, Nand, Part
from cocotb_tests.models.nand_page import stored

PLANES = int(os.environ.get("PLANES", "2"))
CACHE_READS, CACHE_PROGRAMS, PLANE_OPERATIONS = 4, 5, 6  # of Nand.count
LONG = QUICK | {"prog": 140_000, "bers": 160_000, "r": 60_000}
CACHE = CACHE_PROGRAM | CACHE_READ
TRANSFER = 4224 * 30 / 1000  # us of a page on the bus


async def drive(dut, capabilities, stall=0.0, **times):
    nand = Nand()
    assert (
        nand.open(
            pages=PAGES, times=LONG | times, seed=SEED, part=Part(onfi=0, cache=1, planes=PLANES, status_enhanced=1)
        )
        is None
    )
    host = Host(dut, stall, SEED)
    await host.start(CLK_PS)
    dut.capabilities.value = capabilities
    for way in range(2):
        same(await host.run(way, Op.RESET), Status.OK)
    return nand, host


def us(host, begin):
    return (host.clocks() - begin) * CLK_PS / 1e6


async def programs(host, way, rows, **fields):
    """Gives all of them as the way takes them; returns their events."""
    return [
        await host.issue(way, Op.PROGRAM, row, data=page(row), allow_cache=1, beside=True, **FIELDS | fields)
        for row in rows
    ]


async def ended(events, status=Status.OK):
    for event in events:
        await event.wait()
        same(event.cpl, status)


@sentence
async def programs_of_a_block_follow_one_another_without_a_pause_of_the_array(dut):
    nand, host = await drive(dut, CACHE)
    begin = host.clocks()
    await ended(await programs(host, 0, range(PAGES)))
    took, prog = us(host, begin), LONG["prog"] / 1000
    dut._log.info(f"FIGURE {PAGES} programs of one way: {took:.1f} us, {PAGES * prog:g} us of them tPROG")
    assert TRANSFER + PAGES * prog < took < TRANSFER + PAGES * (prog + 3)
    assert nand.count(CACHE_PROGRAMS) == PAGES - 1  # not the last one of the block
    for row in range(PAGES):
        assert nand.peek(0, row) == stored(page(row), **FIELDS)


@sentence
async def a_program_that_nothing_follows_is_asked_for_its_end(dut):
    nand, host = await drive(dut, CACHE)
    begin = host.clocks()
    await ended(await programs(host, 1, [0]))
    assert nand.count(CACHE_PROGRAMS) == 1
    assert us(host, begin) < TRANSFER + LONG["prog"] / 1000 + 1 + 9
    assert nand.peek(1, 0) == stored(page(0), **FIELDS)
    same(await host.run(1, Op.READ, 0), Status.OK, data=page(0))
    await ended(await programs(host, 1, [PAGES - 1]))
    assert nand.count(CACHE_PROGRAMS) == 1, "the last page of a block went out as a cache program"


@sentence
async def a_program_that_may_not_be_one_is_none(dut):
    nand, host = await drive(dut, CACHE)
    for row in range(2):
        same(await host.run(0, Op.PROGRAM, row, data=page(row), **FIELDS), Status.OK)
    assert nand.count(CACHE_PROGRAMS) == 0


@sentence
async def a_program_of_another_block_waits_for_the_end(dut):
    nand, host = await drive(dut, CACHE)
    await ended(await programs(host, 0, [0, PAGES, 1]))
    assert host.order == [(0, Op.RESET), (1, Op.RESET), *[(0, Op.PROGRAM)] * 3]
    for row in (0, PAGES, 1):
        assert nand.peek(0, row) == stored(page(row), **FIELDS)


@sentence
async def each_program_has_its_own_status(dut):
    """The page before the last fails, the last of a sequence, one in the middle, the last page of the block."""
    for first, failing in ((0, 1), (PAGES, 3), (2 * PAGES, 2), (3 * PAGES, PAGES)):
        nand, host = await drive(dut, CACHE, prog=20_000)
        nand.fail(0, FAIL_PROGRAM, failing)
        count = max(3, failing)
        events = await programs(host, 0, range(first, first + count))
        for n, event in enumerate(events):
            await event.wait()
            same(event.cpl, Status.FAIL if n + 1 == failing else Status.OK)
            assert (nand.peek(0, first + n) == stored(page(first + n), **FIELDS)) == (n + 1 != failing)
        host.stop()


@sentence
async def reads_overlap_the_array_with_the_bus(dut):
    nand, host = await drive(dut, CACHE, prog=5_000)
    rows = [3, 0, PAGES + 1, 5, 1, PAGES]
    await ended(await programs(host, 0, [*range(PAGES), PAGES, PAGES + 1]))
    begin = host.clocks()
    events = [await host.issue(0, Op.READ, row, beside=True) for row in rows]
    for row, event in zip(rows, events, strict=True):
        await event.wait()
        same(event.cpl, Status.OK, data=page(row), **FIELDS)
    took, r = us(host, begin), LONG["r"] / 1000
    dut._log.info(
        f"FIGURE {len(rows)} reads of one way: {took:.1f} us, {len(rows) * TRANSFER:.1f} us of them on the bus, tR "
        f"{r:g} us"
    )
    assert took < r + len(rows) * (TRANSFER + 3)
    assert nand.count(CACHE_READS) == len(rows) - 1


@sentence
async def a_read_that_comes_late_is_read_alone(dut):
    """At many instants after the first: both come whole, chained or not."""
    nand, host = await drive(dut, CACHE, prog=5_000, r=20_000)
    await ended(await programs(host, 0, range(PAGES)))
    for step in range(16):
        first = await host.issue(0, Op.READ, step % PAGES)
        await host.rest(step * 200)
        second = await host.issue(0, Op.READ, (step + 3) % PAGES, beside=True)
        for event, row in ((first, step % PAGES), (second, (step + 3) % PAGES)):
            await event.wait()
            same(event.cpl, Status.OK, data=page(row))
    chained = nand.count(CACHE_READS)
    dut._log.info(f"FIGURE {chained} of 16 were chained")
    assert 3 <= chained <= 13


@sentence
async def other_reads_wait_for_the_end(dut):
    _, host = await drive(dut, CACHE, prog=5_000)
    await ended(await programs(host, 0, range(2)))
    read = await host.issue(0, Op.READ, 0)
    for op in (Op.VERIFY, Op.READ_OOB, Op.PROGRAM, Op.ERASE):
        dut.cmd_way.value, dut.cmd_op.value, dut.cmd_valid.value = 0, int(op), 1
        for _ in range(50):
            await host.clock()
            assert not int(dut.cmd_ready.value), f"{op.name} is taken by a way that reads"
        dut.cmd_valid.value = 0
    await read.wait()
    same(await host.run(0, Op.VERIFY, 1), Status.OK)


@sentence
async def planes_program_together_and_fail_alone(dut):
    for capabilities in (SEVERAL_PLANES | STATUS_ENHANCED, SEVERAL_PLANES, SEVERAL_PLANES | STATUS_ENHANCED | CACHE):
        for failing in (0, 1, 2):
            nand, host = await drive(dut, capabilities)
            if failing:
                nand.fail(0, FAIL_PROGRAM, failing)
            begin = host.clocks()
            rows = [2 * PAGES, 3 * PAGES]
            events = await programs(host, 0, rows)
            for n, (row, event) in enumerate(zip(rows, events, strict=True)):
                await event.wait()
                # 70h tells of both at once
                wrong = failing == n + 1 or (failing and not capabilities & STATUS_ENHANCED)
                same(event.cpl, Status.FAIL if wrong else Status.OK)
                assert (nand.peek(0, row) == stored(page(row), **FIELDS)) == (failing != n + 1)
            assert us(host, begin) < 2 * TRANSFER + LONG["prog"] / 1000 + 6
            assert nand.count(PLANE_OPERATIONS) == 2
            host.stop()


@sentence
async def a_second_plane_comes_in_any_clock_of_the_first_ones_end(dut):
    """What went to the chip counts, 11h or 10h: together or one after the other, the first one's failure is its own."""
    nand, host = await drive(dut, SEVERAL_PLANES | STATUS_ENHANCED, prog=5_000)
    first = await host.issue(0, Op.PROGRAM, 0, data=page(0), **FIELDS)
    length = 0
    while int(dut.way_idle.value) & 1 == 0 and not first.is_set():
        await host.clock()
        length += 1
    together = 0
    for step in range(24):
        rows = [2 * (1 + step // PAGES) * PAGES + step % PAGES, (2 * (1 + step // PAGES) + 1) * PAGES + step % PAGES]
        before = nand.count(PLANE_OPERATIONS)
        nand.fail(0, FAIL_PROGRAM, 1)
        events = [await host.issue(0, Op.PROGRAM, rows[0], data=page(1), **FIELDS)]
        await host.rest(length - 568 + step)
        events.append(await host.issue(0, Op.PROGRAM, rows[1], data=page(2), beside=True, **FIELDS))
        await ended(events[:1], Status.FAIL)
        await ended(events[1:])
        together += nand.count(PLANE_OPERATIONS) > before
        assert nand.peek(0, rows[1]) == stored(page(2), **FIELDS)
    dut._log.info(f"FIGURE {together} of 24 went together, the first alone takes {length} clocks")
    assert 3 <= together <= 21


@sentence
async def planes_erase_together_and_fail_alone(dut):
    for failing in (0, 1, 2):
        nand, host = await drive(dut, SEVERAL_PLANES | STATUS_ENHANCED)
        for row in (0, PAGES):
            same(await host.run(0, Op.PROGRAM, row, data=page(row), **FIELDS), Status.OK)
        if failing:
            nand.fail(0, FAIL_ERASE, failing)
        begin = host.clocks()
        events = [await host.issue(0, Op.ERASE, row, beside=True) for row in (0, PAGES)]
        for n, event in enumerate(events):
            await event.wait()
            same(event.cpl, Status.FAIL if failing == n + 1 else Status.OK)
            assert nand.c.otx_nand_programs(0, n * PAGES) == (255 if failing == n + 1 else 0)  # 255: not erased
        assert us(host, begin) < LONG["bers"] / 1000 + 6
        assert nand.count(PLANE_OPERATIONS) == 2
        host.stop()


@sentence
async def what_does_not_fit_together_goes_alone(dut):
    """Two pages of one plane, of other numbers, a program and an erase: one after the other."""
    nand, host = await drive(dut, SEVERAL_PLANES | STATUS_ENHANCED, prog=20_000, bers=20_000)
    await ended(await programs(host, 0, [0, PLANES * PAGES]))
    await ended(await programs(host, 0, [1, PAGES]))
    await ended([await host.issue(0, Op.ERASE, row, beside=True) for row in (4 * PAGES, (4 + PLANES) * PAGES)])
    assert nand.count(PLANE_OPERATIONS) == 0
    for row in (0, 1, PAGES, PLANES * PAGES):
        assert nand.peek(0, row) == stored(page(row), **FIELDS)


@sentence
async def a_lone_operation_does_not_wait_for_another_plane(dut):
    nand, host = await drive(dut, SEVERAL_PLANES)
    begin = host.clocks()
    same(await host.run(0, Op.ERASE, PAGES), Status.OK)
    assert us(host, begin) < LONG["bers"] / 1000 + 3


@sentence
async def what_the_part_cannot_is_not_used(dut):
    nand, host = await drive(dut, 0, prog=20_000, bers=20_000, r=5_000)
    await ended(await programs(host, 0, [0, 1, PAGES]))
    await ended([await host.issue(0, Op.READ, row, beside=True) for row in (0, 1)])
    await ended([await host.issue(0, Op.ERASE, row, beside=True) for row in (0, PAGES)])
    assert [nand.count(n) for n in (CACHE_READS, CACHE_PROGRAMS, PLANE_OPERATIONS)] == [0, 0, 0]


@sentence
async def a_hung_array_gives_timeouts_and_the_other_way_goes_on(dut):
    """The second of two cache programs, of two cache reads, of two planes never ends."""
    for capabilities, op, rows in (
        (CACHE, Op.PROGRAM, (1, 2)),
        (CACHE, Op.READ, (0, 1)),
        (SEVERAL_PLANES, Op.PROGRAM, (PAGES, 0)),
    ):
        nand, host = await drive(dut, capabilities, prog=20_000, r=5_000)
        same(await host.run(1, Op.PROGRAM, 0, data=page(0), **FIELDS), Status.OK)
        if op == Op.READ:
            await ended(await programs(host, 0, range(2)))
        elif capabilities & CACHE:
            await ended(await programs(host, 0, [0]))
        nand.fail(0, HANG)
        events = [await host.issue(0, op, row, data=page(row), allow_cache=1, beside=True) for row in rows]
        same(await host.run(1, Op.READ, 0), Status.OK, data=page(0))
        for event in events:
            await event.wait()
            same(event.cpl, Status.TIMEOUT)
        host.stop()


async def random_work(dut, capabilities, stall, steps):
    """Both ways: blocks are erased, filled with pages as fast as the way takes them, and read, with failures now and
    then.
    """
    nand, host = await drive(dut, capabilities, stall, prog=30_000, bers=40_000, r=20_000)

    async def work(way):
        rng = random.Random(10 * SEED + way)
        for step in range(steps):
            blocks = rng.sample(range(8), 2) if step % 3 else [(b := rng.randrange(0, 8, 2)), b + 1]
            await ended([await host.issue(way, Op.ERASE, b * PAGES, beside=True) for b in blocks])
            count = rng.randrange(1, PAGES + 1)
            rows = (
                [b * PAGES + n for n in range(count) for b in blocks]
                if rng.random() < 0.5
                else [b * PAGES + n for b in blocks for n in range(count)]
            )
            data = {row: page(1000 * way + 100 * step + row) for row in rows}
            failing = (
                rng.randrange(1, len(rows) + 1)
                if rng.random() < 0.3 and (capabilities & STATUS_ENHANCED or not capabilities & SEVERAL_PLANES)
                else 0
            )
            if failing:
                nand.fail(way, FAIL_PROGRAM, failing)
            events = []
            for row in rows:
                events.append(
                    await host.issue(
                        way, Op.PROGRAM, row, data=data[row], allow_cache=int(rng.random() < 0.8), beside=True, **FIELDS
                    )
                )
                if rng.random() < 0.2:
                    await host.rest(rng.randrange(8_000))
            bad = set()
            for row, event in zip(rows, events, strict=True):
                await event.wait()
                assert event.cpl["status"] in (Status.OK, Status.FAIL)
                if event.cpl["status"] == Status.FAIL:
                    bad.add(row)
            assert len(bad) == bool(failing), f"{len(bad)} of {len(rows)} failed, {failing} should"
            for row in rows:
                assert (nand.peek(way, row) == stored(data[row], **FIELDS)) == (row not in bad)
            asked = [rng.choice(rows) for _ in range(rng.randrange(6))]
            reads = [(row, await host.issue(way, Op.READ, row, beside=True)) for row in asked if row not in bad]
            for row, event in reads:
                await event.wait()
                same(event.cpl, Status.OK, data=data[row], **FIELDS)

    await host.together([work(way) for way in range(2)])
    used = [nand.count(n) for n in (CACHE_READS, CACHE_PROGRAMS, PLANE_OPERATIONS)]
    dut._log.info(f"cache reads, cache programs, operations of several planes: {used}")
    wanted = [bool(capabilities & CACHE_READ), bool(capabilities & CACHE_PROGRAM), bool(capabilities & SEVERAL_PLANES)]
    assert all(n == 0 or want for n, want in zip(used, wanted, strict=True)) and (
        steps == 1 or all(n > 0 or not want for n, want in zip(used, wanted, strict=True))
    )


@sentence
async def random_operations_agree_with_the_golden_pages(dut):
    await random_work(dut, CACHE | SEVERAL_PLANES | STATUS_ENHANCED, 0.0, amount(2, 5))


@sentence
async def random_operations_with_stalls_agree_too(dut):
    await random_work(dut, CACHE | SEVERAL_PLANES | STATUS_ENHANCED, 0.1, amount(1, 2))


@sentence
async def random_operations_without_planes_agree_too(dut):
    await random_work(dut, CACHE, 0.0, amount(1, 3))


def test_nand_overlap():
    times = dict(TRMaxNs=60_000, TProgMaxNs=200_000, TBersMaxNs=500_000)
    simulate(
        __name__,
        int(os.environ.get("CLK_PS", "10000")),
        Cache=1,
        Planes=PLANES,
        PageBits=PAGES.bit_length() - 1,
        **times,
    )
