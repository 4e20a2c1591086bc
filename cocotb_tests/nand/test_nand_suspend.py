# SPDX-License-Identifier: Apache-2.0
"""READs beside a program or erase of their way: the NAND channel with a part that can suspend, against the pin-level
NAND model.
"""

import os
import random

from cocotb_tests.bench.amount import amount
from cocotb_tests.bench.nand_channel import CLK_PS, FIELDS, PAGES, SEED, page, same, sentence, simulate
from cocotb_tests.bench.nand_host import Host, Op, Status
from cocotb_tests.bench.nand_pins import FAIL_ERASE, FAIL_PROGRAM, HANG, QUICK, Nand, Part
from cocotb_tests.models.nand_page import stored

SUSPEND_NS, READS = 1_000, 4  # `SuspendReads` of the channel
LONG = QUICK | {"prog": 60_000, "bers": 100_000}
OLD = 5 * PAGES  # the pages that are read


async def drive(dut, stall=0.0, old=READS + 1, **times):
    """The part and the host; `old` pages from OLD on are written on each way."""
    nand = Nand()
    assert nand.open(pages=PAGES, times=LONG | times, seed=SEED, part=Part(onfi=0, suspend=SUSPEND_NS)) is None
    host = Host(dut, stall, SEED)
    await host.start(CLK_PS)
    for way in range(2):
        same(await host.run(way, Op.RESET), Status.OK)
        for number in range(old):
            same(await host.run(way, Op.PROGRAM, OLD + number, data=page(number), **FIELDS), Status.OK)
    return nand, host


def us(host, begin):
    return (host.clocks() - begin) * CLK_PS / 1e6


@sentence
async def a_read_does_not_wait_for_the_end_of_an_erase(dut):
    nand, host = await drive(dut)
    erase, begin = await host.issue(0, Op.ERASE, PAGES), host.clocks()
    read = await host.issue(0, Op.READ, OLD, beside=True)
    await read.wait()
    came = us(host, begin)
    assert not erase.is_set(), "the erase was over before the read"
    same(read.cpl, Status.OK, data=page(0), read=1, **FIELDS)
    await erase.wait()
    same(erase.cpl, Status.OK, read=0)
    whole = us(host, begin)
    transfer = 4224 * 30 / 1000
    dut._log.info(f"FIGURE read beside an erase: {came:.1f} us of {LONG['bers'] / 1000:g}, the erase {whole:.1f} us")
    assert came < 2 + 2 * SUSPEND_NS / 1000 + LONG["r"] / 1000 + transfer + 5
    assert whole < LONG["bers"] / 1000 + came + 5
    assert nand.peek(0, PAGES) == b"\xff" * 4224


@sentence
async def a_program_goes_on_after_a_read_and_is_whole(dut):
    nand, host = await drive(dut)
    data, fields = page(99), dict(kind=3, generation=7, lpn=11, sequence=13)
    program = await host.issue(1, Op.PROGRAM, 2 * PAGES, data=data, **fields)
    read = await host.issue(1, Op.READ, OLD + 3, beside=True)
    await read.wait()
    assert not program.is_set()
    same(read.cpl, Status.OK, data=page(3), read=1, **FIELDS)
    await program.wait()
    same(program.cpl, Status.OK, data=None, read=0, **fields)
    assert nand.peek(1, 2 * PAGES) == stored(data, **fields)


@sentence
async def so_many_reads_go_beside_one_operation_and_the_next_waits(dut):
    _, host = await drive(dut)
    erase = await host.issue(0, Op.ERASE, PAGES)
    for number in range(READS):
        read = await host.issue(0, Op.READ, OLD + number, beside=True)
        await read.wait()
        assert not erase.is_set()
        same(read.cpl, Status.OK, data=page(number))
    read = await host.issue(0, Op.READ, OLD + READS, beside=True)
    assert erase.is_set(), "one more read was taken"
    await read.wait()
    same(read.cpl, Status.OK, data=page(READS))


@sentence
async def the_next_read_needs_no_other_suspension(dut):
    """It comes within the gap that the way leaves."""
    _, host = await drive(dut)
    await host.issue(0, Op.ERASE, PAGES)
    took = []
    for number in range(2):
        begin = host.clocks()
        await (await host.issue(0, Op.READ, OLD + number, beside=True)).wait()
        took.append(us(host, begin))
    assert took[1] < took[0] - SUSPEND_NS / 1000, f"{took} us"


@sentence
async def a_read_that_comes_as_the_operation_ends_goes_on_alone(dut):
    """At each of many instants around the end of a program: both complete, each with its own."""
    nand, host = await drive(dut, old=PAGES, prog=5_000)
    alone = beside = 0
    instants = range(0, 24, amount(2, 1))
    for n, step in enumerate(instants):
        row = (6 + n // PAGES) * PAGES + n % PAGES
        data = page(200 + step)
        program = await host.issue(0, Op.PROGRAM, row, data=data, **FIELDS)
        while not int(dut.way_accepts_read.value) & 1:
            await host.clock()
        await host.rest(step * 40)
        read = await host.issue(0, Op.READ, OLD + step % PAGES, beside=True)
        await read.wait()
        beside += not program.is_set()
        alone += program.is_set()
        same(read.cpl, Status.OK, data=page(step % PAGES))
        await program.wait()
        same(program.cpl, Status.OK)
        assert nand.peek(0, row) == stored(data, **FIELDS)
    dut._log.info(f"FIGURE reads beside a program: {beside}, after it: {alone}")
    assert min(beside, alone) >= len(instants) // 5


@sentence
async def failures_of_a_suspended_operation_are_its_own(dut):
    nand, host = await drive(dut)
    nand.fail(0, FAIL_PROGRAM)
    nand.fail(1, FAIL_ERASE)
    for way, op, row in ((0, Op.PROGRAM, PAGES), (1, Op.ERASE, 2 * PAGES)):
        run = await host.issue(way, op, row, data=page(1))
        read = await host.issue(way, Op.READ, OLD + 2, beside=True)
        await read.wait()
        same(read.cpl, Status.OK, data=page(2))
        assert not run.is_set()
        await run.wait()
        same(run.cpl, Status.FAIL)


@sentence
async def a_hung_array_gives_two_timeouts_and_the_other_way_goes_on(dut):
    nand, host = await drive(dut)
    nand.fail(0, HANG)
    run = await host.issue(0, Op.ERASE, PAGES)
    read = await host.issue(0, Op.READ, OLD, beside=True)
    same(await host.run(1, Op.READ, OLD + 1), Status.OK, data=page(1))
    await run.wait()
    same(run.cpl, Status.TIMEOUT, read=0)
    await read.wait()
    same(read.cpl, Status.TIMEOUT, read=1, data=None)


@sentence
async def other_commands_wait_for_the_end(dut):
    _, host = await drive(dut)
    erase = await host.issue(0, Op.ERASE, PAGES)
    for op in (Op.VERIFY, Op.READ_OOB, Op.STATUS):
        dut.cmd_way.value, dut.cmd_op.value, dut.cmd_valid.value = 0, int(op), 1
        for _ in range(50):
            await host.clock()
            assert not int(dut.cmd_ready.value), f"{op.name} is taken by a way that erases"
        dut.cmd_valid.value = 0
    await erase.wait()
    same(await host.run(0, Op.VERIFY, OLD), Status.OK)


async def random_work(dut, stall, steps):
    """Programs and erases of both ways one after the other, reads beside them whenever one is taken."""
    nand, host = await drive(dut, stall, PAGES)
    over, counts = [], [0, 0]

    async def change(way, rng):
        for step in range(steps):
            block = 6 + step % 8
            same(await host.run(way, Op.ERASE, block * PAGES), Status.OK, read=0)
            for number in range(rng.randrange(3)):
                data, row = page(1000 * way + 10 * step + number), block * PAGES + number
                same(await host.run(way, Op.PROGRAM, row, data=data, **FIELDS), Status.OK, read=0)
                assert nand.peek(way, row) == stored(data, **FIELDS)
        over.append(way)

    async def read(way, rng):
        while way not in over:
            await host.rest(rng.choice((0, 10, 1_000, 5_000)))
            number = rng.randrange(PAGES)
            event = await host.issue(way, Op.READ, OLD + number, beside=True)
            await event.wait()
            counts[way] += 1
            same(event.cpl, Status.OK, data=page(number), read=1, **FIELDS)

    await host.together([work(way, random.Random(10 * SEED + way)) for way in range(2) for work in (change, read)])
    dut._log.info(f"{counts} reads")
    assert min(counts) > steps / 2


@sentence
async def random_operations_agree_with_the_golden_pages(dut):
    await random_work(dut, 0.0, amount(2, 8))


@sentence
async def random_operations_with_stalls_agree_too(dut):
    await random_work(dut, 0.1, amount(1, 4))


def test_nand_suspend():
    simulate(
        __name__, int(os.environ.get("CLK_PS", "10000")), TSuspNs=SUSPEND_NS, TProgMaxNs=200_000, TBersMaxNs=500_000
    )
