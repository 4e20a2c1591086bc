# SPDX-License-Identifier: Apache-2.0
"""The NAND channel with its scrambler: what is in the cells, what comes back, that wrong bits are still corrected where
they are.
"""

import random

import pytest

from cocotb_tests.bench.amount import amount
from cocotb_tests.bench.nand_channel import CLK_PS, FIELDS, PAGES, drive, page, same, sentence, simulate
from cocotb_tests.bench.nand_host import Host, Op, Status
from cocotb_tests.bench.nand_pins import QUICK, Nand, Part
from cocotb_tests.models.nand_page import keys, stored


def ones(data):
    return sum(map(int.bit_count, data))


@sentence
async def cells_hold_the_data_xor_the_key_of_its_row_and_the_oob_as_it_is(dut):
    nand, host = await drive(dut)
    for row, data in ((0, page(1)), (3 * PAGES, bytes(4096)), (PAGES, b"\xff" * 4096)):
        same(await host.run(1, Op.PROGRAM, row, data=data, **FIELDS), Status.OK, **FIELDS)
        assert nand.peek(1, row) == stored(data, row=row, **FIELDS)
        same(await host.run(1, Op.READ, row), Status.OK, data=data, corrected=0, **FIELDS)
        same(await host.run(1, Op.VERIFY, row), Status.OK, data=None, **FIELDS)
        same(await host.run(1, Op.READ_OOB, row), Status.OK, data=None, **FIELDS)
        assert abs(ones(nand.peek(1, row)[:4096]) - 16384) < 600, "as many ones as zeroes, but for chance"


@sentence
async def wrong_bits_are_corrected_and_too_many_are_told(dut):
    nand, host = await drive(dut)
    rng = random.Random(4)
    for row in range(3):
        await host.run(0, Op.PROGRAM, row, data=page(row), **FIELDS)
        for bit in rng.sample(range(8 * 512), (1, 8, 9)[row]):
            nand.flip(0, row, 8 * 512 * row + bit)
    same(await host.run(0, Op.READ, 0), Status.OK, data=page(0), corrected=1, **FIELDS)
    same(await host.run(0, Op.READ, 1), Status.OK, data=page(1), corrected=8, **FIELDS)
    same(await host.run(0, Op.VERIFY, 1), Status.OK, corrected=8, **FIELDS)
    same(await host.run(0, Op.READ, 2), Status.CRC)


@sentence
async def the_same_data_at_two_rows_is_unlike_in_the_cells(dut):
    nand, host = await drive(dut)
    for row in (0, 1):
        await host.run(0, Op.PROGRAM, row, data=page(7), **FIELDS)
    differ = ones(bytes(a ^ b for a, b in zip(nand.peek(0, 0)[:4096], nand.peek(0, 1)[:4096], strict=True)))
    assert abs(differ - 16384) < 600, f"{differ} of 32,768 bits differ"


@sentence
async def erased_pages_are_blank_and_identification_is_not_scrambled(dut):
    _, host = await drive(dut)
    for op in (Op.READ, Op.VERIFY, Op.READ_OOB):
        same(await host.run(0, op, 9), Status.BLANK)
    same(await host.run(0, Op.READ_MARK, 9), Status.OK, kind=0xFF)
    same(await host.run(0, Op.READ_ID), Status.OK, sequence=int.from_bytes(bytes.fromhex("ecd310a664"), "little"))
    await host.run(0, Op.PROGRAM, 9, data=page(3), **FIELDS)
    same(await host.run(0, Op.READ, 9), Status.OK, data=page(3), **FIELDS)


@sentence
async def a_parameter_page_is_not_scrambled(dut):
    nand, host = Nand(), Host(dut)
    assert nand.open(pages=PAGES, times=QUICK, part=Part()) is None
    dut.mode.value = 0
    await host.start(CLK_PS)
    await host.run(0, Op.RESET)
    cpl = await host.run(0, Op.PARAM)
    assert cpl["status"] == Status.OK and cpl["data"][:4] == cpl["data"][256:260] == b"ONFI"


@sentence
async def random_pages_of_two_ways_under_stalls_read_back(dut):
    _, host = await drive(dut, stall=0.05)
    rng, written = random.Random(9), {}
    for n in range(10):
        way, row = n % 2, n // 2
        written[way, row] = rng.choice([rng.randbytes(4096), bytes(4096), bytes([rng.randrange(256)]) * 4096])
        same(await host.run(way, Op.PROGRAM, row, data=written[way, row], **FIELDS), Status.OK)
    for (way, row), data in rng.sample(sorted(written.items()), 10):
        same(await host.run(way, Op.READ, row), Status.OK, data=data, **FIELDS)


def test_keys_of_rows_differ_like_random_bytes():
    made = [keys(row) for row in (0, 1, 2, 3, 64, 1 << 16, (1 << 24) - 1)]
    for n, one in enumerate(made):
        assert abs(ones(one) - 16384) < 600
        for other in made[:n]:
            assert abs(ones(bytes(a ^ b for a, b in zip(one, other, strict=True))) - 16384) < 600
            assert one[:16] != other[:16]


@pytest.mark.parametrize("clk_ps", amount([10000], [5000, 10000]))
def test_nand_scramble(clk_ps):
    simulate(__name__, clk_ps, Scramble=1)
