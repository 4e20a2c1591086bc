# SPDX-License-Identifier: Apache-2.0
"""The NAND channel against the pin-level NAND model: every operation, errors, interleaving, random work with stalls; at
50 to 200 MHz.
"""

import random

import cocotb
import pytest

from cocotb_tests.bench.amount import LONG, amount
from cocotb_tests.bench.nand_channel import CLK_PS, FIELDS, PAGES, SEED, drive, page, same, sentence, simulate
from cocotb_tests.bench.nand_host import Op, Status
from cocotb_tests.bench.nand_pins import FAIL_ERASE, FAIL_PROGRAM, HANG, QUICK
from cocotb_tests.models.nand_page import stored

# of one byte
WRITE_CLOCKS, READ_CLOCKS = {5000: (5, 5), 8000: (4, 5), 10000: (3, 3), 13333: (2, 2), 20000: (2, 3)}[CLK_PS]


@sentence
async def reset_identification_and_status_answer(dut):
    _, host = await drive(dut, reset=False)
    for way in range(2):
        same(await host.run(way, Op.RESET), Status.OK, data=None)
        same(await host.run(way, Op.READ_ID), Status.OK, sequence=int.from_bytes(bytes.fromhex("ecd310a664"), "little"))
        same(await host.run(way, Op.STATUS), Status.OK, kind=0xE0)


@sentence
async def programmed_page_reads_back_with_its_oob(dut):
    nand, host = await drive(dut)
    data, row = page(1), 3 * PAGES
    same(await host.run(0, Op.PROGRAM, row, data=data, **FIELDS), Status.OK, data=None, **FIELDS)
    assert nand.peek(0, row) == stored(data, **FIELDS)
    assert nand.peek(1, row) == b"\xff" * 4224
    same(await host.run(0, Op.READ, row), Status.OK, data=data, **FIELDS)
    same(await host.run(0, Op.VERIFY, row), Status.OK, data=None, **FIELDS)
    same(await host.run(0, Op.READ_OOB, row), Status.OK, data=None, **FIELDS)


@sentence
async def page_of_code_words_with_a_wrong_checksum_is_not_whole(dut):
    nand, host = await drive(dut)
    data, other = page(2), page(3)
    await host.run(1, Op.PROGRAM, 0, data=data, **FIELDS)
    right, wrong = stored(data, **FIELDS), stored(other, **FIELDS)
    # chunk 3 with its parity from another page: all eight chunks are code words, only the checksum tells
    for byte in (*range(3 * 512, 4 * 512), *range(4120 + 39, 4120 + 52)):
        for bit in range(8):
            if (right[byte] ^ wrong[byte]) >> bit & 1:
                nand.flip(1, 0, 8 * byte + bit)
    same(await host.run(1, Op.VERIFY, 0), Status.CRC, corrected=0, **FIELDS)
    cpl = await host.run(1, Op.READ, 0)
    same(cpl, Status.CRC, data=data[: 3 * 512] + other[3 * 512 : 4 * 512] + data[4 * 512 :], corrected=0, **FIELDS)
    same(await host.run(1, Op.READ_OOB, 0), Status.OK, corrected=0, **FIELDS)


@sentence
async def erased_page_is_blank_and_a_page_of_ff_is_not(dut):
    _, host = await drive(dut)
    same(await host.run(0, Op.READ, 5), Status.BLANK, data=b"\xff" * 4096)
    same(await host.run(0, Op.VERIFY, 5), Status.BLANK, data=None)
    same(await host.run(0, Op.READ_OOB, 5), Status.BLANK)
    await host.run(0, Op.PROGRAM, 5, data=b"\xff" * 4096, **FIELDS)
    same(await host.run(0, Op.READ, 5), Status.OK, data=b"\xff" * 4096, **FIELDS)


@sentence
async def mark_of_a_page_is_its_first_spare_byte_uncorrected(dut):
    nand, host = await drive(dut)
    data = page(6)
    await host.run(0, Op.PROGRAM, 0, data=data, **FIELDS)
    same(await host.run(0, Op.READ_MARK, 0, **FIELDS), Status.OK, **FIELDS | {"kind": 0xFF}, data=None, corrected=0)
    same(await host.run(0, Op.READ_MARK, PAGES + 1), Status.OK, kind=0xFF)
    for row, bits, mark in ((0, (2,), 0xFB), (PAGES + 1, range(8), 0x00)):
        for bit in bits:
            nand.flip(0, row, 8 * 4096 + bit)
        same(await host.run(0, Op.READ_MARK, row), Status.OK, kind=mark, data=None, corrected=0)
    same(await host.run(0, Op.READ, 0), Status.OK, data=data, corrected=1, **FIELDS)
    nand.fail(1, HANG)
    same(await host.run(1, Op.READ_MARK, 0, kind=5), Status.TIMEOUT, kind=5, data=None)


@sentence
async def mark_takes_tr_and_few_clocks(dut):
    _, host = await drive(dut)
    begin = host.clocks()
    await host.run(0, Op.READ_MARK, PAGES)
    clocks = host.clocks() - begin - QUICK["r"] * 1000 // CLK_PS
    dut._log.info(f"FIGURE mark: {clocks} clocks over tR")
    assert clocks < 110


@sentence
async def erase_makes_a_block_blank_and_leaves_the_others(dut):
    nand, host = await drive(dut)
    for row in (PAGES, PAGES + 1, 2 * PAGES):
        await host.run(0, Op.PROGRAM, row, data=page(row), **FIELDS)
    same(await host.run(0, Op.ERASE, PAGES + 3), Status.OK)
    for row, status in ((PAGES, Status.BLANK), (PAGES + 1, Status.BLANK), (2 * PAGES, Status.OK)):
        assert (await host.run(0, Op.VERIFY, row))["status"] == status
    same(await host.run(0, Op.PROGRAM, PAGES, data=page(9), **FIELDS), Status.OK)
    assert nand.count(2) == 1


@sentence
async def failed_program_and_erase_answer_fail_with_the_command_echoed(dut):
    nand, host = await drive(dut)
    nand.fail(1, FAIL_PROGRAM, 2)
    same(await host.run(1, Op.PROGRAM, 0, data=page(1), **FIELDS), Status.OK)
    same(await host.run(1, Op.PROGRAM, 1, data=page(2), **FIELDS), Status.FAIL, **FIELDS)
    same(await host.run(1, Op.PROGRAM, 2, data=page(3), **FIELDS), Status.OK)
    same(await host.run(1, Op.VERIFY, 0), Status.OK)
    nand.fail(1, FAIL_ERASE)
    same(await host.run(1, Op.ERASE, 0), Status.FAIL)
    same(await host.run(1, Op.ERASE, 0), Status.OK)
    same(await host.run(1, 15), Status.FAIL)


@sentence
async def chip_that_stays_busy_gives_timeout_and_the_other_way_goes_on(dut):
    nand, host = await drive(dut)
    nand.fail(0, HANG)
    begin = host.clocks()
    read = await host.issue(0, Op.READ, 0)
    same(await host.run(1, Op.STATUS), Status.OK, kind=0xE0)
    await read.wait()
    same(read.cpl, Status.TIMEOUT, data=None)
    assert 50_000 <= (host.clocks() - begin) * CLK_PS / 1000 <= 56_000, "twice tR is 50 us"
    same(await host.run(0, Op.STATUS), Status.OK, kind=0x80)
    same(await host.run(1, Op.VERIFY, 0), Status.BLANK)
    same(await host.run(1, Op.PROGRAM, 0, data=page(4), **FIELDS), Status.OK)
    for op, least in ((Op.RESET, 1_000_000), (Op.PROGRAM, 4_000_000))[: 2 if LONG or CLK_PS == 10_000 else 1]:
        begin = host.clocks()
        same(await host.run(0, op, 0, data=page(5), **FIELDS), Status.TIMEOUT, **FIELDS)
        assert least <= (host.clocks() - begin) * CLK_PS / 1000 <= least * 1.02 + 6_000
    assert nand.count(1) == 1


@sentence
async def two_ways_program_at_the_same_time(dut):
    _, host = await drive(dut, prog=200_000)
    begin = host.clocks()
    await host.run(0, Op.PROGRAM, 0, data=page(1), **FIELDS)
    one = host.clocks() - begin
    begin = host.clocks()
    both = [await host.issue(way, Op.PROGRAM, 1 - way, data=page(way), **FIELDS) for way in range(2)]
    for event in both:
        await event.wait()
        same(event.cpl, Status.OK)
    two = host.clocks() - begin
    transfer = 4224 * WRITE_CLOCKS
    dut._log.info(f"FIGURE program: one {one} clocks, two on two ways {two}, transfer of a page {transfer}")
    assert two < one + transfer + 300


@sentence
async def read_takes_tr_and_one_cycle_per_byte(dut):
    _, host = await drive(dut)
    begin = host.clocks()
    await host.run(0, Op.READ, 0)
    clocks = host.clocks() - begin
    least = QUICK["r"] * 1000 // CLK_PS + 4224 * READ_CLOCKS
    dut._log.info(f"FIGURE read: {clocks} clocks, {clocks - least} over tR and 4,224 bytes of {READ_CLOCKS} clocks")
    assert clocks - least < 100


@sentence
async def completion_waits_until_the_last_beat_of_its_page_is_taken(dut):
    _, host = await drive(dut)
    host.late = 400
    for way in range(2):
        same(await host.run(way, Op.READ, way), Status.BLANK, data=b"\xff" * 4096)
        same(await host.run(way, Op.STATUS), Status.OK, data=None)


async def random_work(dut, stall, steps):
    """Both ways at the same time, each with its own golden pages: {row: (data, fields)}."""
    nand, host = await drive(dut, stall=stall)
    done = dict.fromkeys(Op, 0)

    async def work(way):
        rng, golden, following = random.Random(SEED * 2 + way), {}, [0] * 4
        for _ in range(steps):
            op = rng.choice(
                [Op.PROGRAM] * 3
                + [Op.READ] * 2
                + [Op.READ_OOB, Op.VERIFY, Op.ERASE, Op.STATUS, Op.READ_ID, Op.READ_MARK]
            )
            block, row = rng.randrange(4), rng.randrange(4 * PAGES)
            done[op] += 1
            if op == Op.ERASE or (op == Op.PROGRAM and following[block] == PAGES):
                same(await host.run(way, Op.ERASE, block * PAGES), Status.OK)
                following[block] = 0
                golden = {r: p for r, p in golden.items() if r // PAGES != block}
            elif op == Op.PROGRAM:
                row = block * PAGES + following[block]
                fields = dict(
                    kind=rng.randrange(1, 6),
                    generation=rng.getrandbits(32),
                    lpn=rng.getrandbits(32),
                    sequence=rng.getrandbits(48),
                )
                golden[row] = rng.randbytes(4096), fields
                following[block] += 1
                same(await host.run(way, op, row, data=golden[row][0], **fields), Status.OK)
            elif op in (Op.READ, Op.VERIFY, Op.READ_OOB):
                if rng.random() < 0.8 and golden:
                    row = rng.choice(sorted(golden))
                data, fields = golden.get(row, (b"\xff" * 4096, {}))
                same(
                    await host.run(way, op, row),
                    Status.OK if row in golden else Status.BLANK,
                    data=data if op == Op.READ else None,
                    **fields,
                )
            else:
                same(await host.run(way, op, row), Status.OK, **({"kind": 0xFF} if op == Op.READ_MARK else {}))

    tasks = [cocotb.start_soon(work(way)) for way in range(2)]
    for task in tasks:
        await task
    dut._log.info(
        f"SEED={SEED}, done: { {op.name: n for op, n in done.items()} }, programs {nand.count(1)}, erases "
        f"{nand.count(2)}"
    )
    assert all(done[op] for op in (Op.PROGRAM, Op.READ, Op.READ_OOB, Op.VERIFY, Op.ERASE, Op.READ_MARK))


@sentence
async def random_operations_on_two_ways_agree_with_the_golden_pages(dut):
    await random_work(dut, 0.0, amount(24 if CLK_PS == 10_000 else 14, 30))


@sentence
async def random_operations_with_stalls_on_every_stream_agree_too(dut):
    await random_work(dut, 0.1, amount(14, 20))


@pytest.mark.parametrize("clk_ps", amount([5000, 10000, 20000], [5000, 8000, 10000, 13333, 20000]))
def test_nand_channel(clk_ps):
    simulate(__name__, clk_ps)
