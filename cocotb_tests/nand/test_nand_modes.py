# SPDX-License-Identifier: Apache-2.0
"""One NAND channel and ONFI parts in every SDR timing mode, at 75, 100 and 125 MHz: the model checks the times of the
mode that each die is in.
"""

import os

import cocotb
import pytest
from cocotb.triggers import with_timeout

from cocotb_tests.bench.amount import amount
from cocotb_tests.bench.nand_channel import FIELDS, page, same, simulate
from cocotb_tests.bench.nand_host import OWN, Host, Op, Status
from cocotb_tests.bench.nand_pins import K9F8G08, MODES, QUICK, Nand, Part
from cocotb_tests.models.nand_page import stored

CLK_PS = int(os.environ.get("CLK_PS", "10000"))
PAGES = 8
READ = int.from_bytes(b"ONFI", "little")
# Clocks of a byte in modes 0 to 5: programs, reads. In modes 4 and 5 a byte is sampled at the end of its cycle (EDO),
# else as RE# rises. 5 ns are for pads and board.
BYTE = {
    8000: ((13, 6, 5, 4, 4, 3), (13, 7, 6, 6, 5, 3)),
    10000: ((10, 5, 4, 3, 3, 2), (10, 6, 5, 4, 3, 3)),
    13333: ((8, 4, 4, 3, 2, 2), (8, 5, 5, 3, 2, 2)),
}


def sentence(function):
    async def checked(dut):
        await with_timeout(function(dut), 60, "ms")
        assert Nand().broken() == []

    checked.__name__, checked.__qualname__ = function.__name__, function.__name__
    return cocotb.test()(checked)


async def drive(dut, part=None, mode=0, times=QUICK, **opened):
    nand = Nand()
    assert nand.open(pages=PAGES, times=times, part=part or Part(), **opened) is None
    host = Host(dut)
    dut.mode.value = mode
    await host.start(CLK_PS)
    for way in range(2):
        assert (await host.run(way, Op.RESET))["status"] == Status.OK
    return nand, host


async def clocks_of(host, way, op, **fields):
    begin = host.clocks()
    same(await host.run(way, op, **fields), Status.OK)
    return host.clocks() - begin


async def to_mode(host, nand, mode):
    """As the firmware does: first the dies, then the bus."""
    for way in range(2):
        same(await host.run(way, Op.SET_FEATURES, kind=1, lpn=mode), Status.OK, data=None, lpn=mode)
        assert nand.mode(way) == mode
    host.dut.mode.value = mode


@sentence
async def onfi_part_is_identified_in_mode_0(dut):
    _, host = await drive(dut)
    for way in range(2):
        cpl = await host.run(way, Op.READ_ID, kind=0x20)
        assert cpl["sequence"] & 0xFFFFFFFF == READ
        same(await host.run(way, Op.READ_ID), Status.OK, sequence=int.from_bytes(bytes.fromhex("ecd310a664"), "little"))
        cpl = await host.run(way, Op.PARAM)
        same(cpl, Status.OK)
        one = cpl["data"][:256]
        assert one[:4] == b"ONFI" and cpl["data"] == one * 3 + bytes(4096 - 768)


@sentence
async def features_are_set_and_read_back(dut):
    nand, host = await drive(dut)
    for way, mode in ((0, 3), (1, 5), (0, 1)):
        same(await host.run(way, Op.SET_FEATURES, kind=1, lpn=mode), Status.OK)
        same(await host.run(way, Op.GET_FEATURES, kind=1), Status.OK, lpn=mode, data=None)
    assert (nand.mode(0), nand.mode(1)) == (1, 5)
    same(await host.run(0, Op.STATUS), Status.OK, kind=0xE0)
    same(await host.run(0, Op.RESET), Status.OK)
    same(await host.run(0, Op.GET_FEATURES, kind=1), Status.OK, lpn=0)


@sentence
async def every_operation_works_in_every_mode_at_the_clocks_that_its_times_take(dut):
    nand, host = await drive(dut)
    took = ([], [])
    for mode in (0, 5, 1, 4, 2, 3):
        await to_mode(host, nand, mode)
        row = mode * PAGES
        data = page(mode)
        same(await host.run(0, Op.ERASE, row), Status.OK)
        program = await clocks_of(host, 0, Op.PROGRAM, row=row, data=data, **FIELDS)
        assert nand.peek(0, row) == stored(data, **FIELDS)
        read = await clocks_of(host, 0, Op.READ, row=row)
        same(await host.run(0, Op.READ, row), Status.OK, data=data, **FIELDS)
        same(await host.run(0, Op.READ_OOB, row), Status.OK, data=None, **FIELDS)
        same(await host.run(1, Op.READ_ID, kind=0x20), Status.OK)
        same(await host.run(1, Op.STATUS), Status.OK, kind=0xE0)
        for what, clocks, array in ((0, program, "prog"), (1, read, "r")):
            byte = BYTE[CLK_PS][what][mode]
            over = clocks - QUICK[array] * 1000 // CLK_PS - 4224 * byte
            assert 0 <= over < 300, (
                f"mode {mode}: {'read' if what else 'program'} took {over} clocks over 4,224 bytes of {byte}"
            )
            took[what].append(byte)
    dut._log.info(f"FIGURE clocks of a byte in modes 0, 5, 1, 4, 2, 3: programs {took[0]}, reads {took[1]}")


@sentence
async def mode_that_changes_in_a_turn_counts_for_the_next_one(dut):
    nand, host = await drive(dut)
    for way in range(2):
        same(await host.run(way, Op.SET_FEATURES, kind=1, lpn=5), Status.OK)
    data = page(7)
    slow, fast = (BYTE[CLK_PS][0][m] for m in (0, 5))
    begin = host.clocks()
    event = await host.issue(0, Op.PROGRAM, 0, data=data, **FIELDS)
    for _ in range(400):
        await cocotb.triggers.FallingEdge(dut.clk)
    dut.mode.value = 5
    await event.wait()
    same(event.cpl, Status.OK)
    assert host.clocks() - begin > 4224 * slow, "the page began in mode 0 and stays in it"
    begin = host.clocks()
    same(await host.run(0, Op.PROGRAM, 1, data=data, **FIELDS), Status.OK)
    assert host.clocks() - begin < 4224 * fast + QUICK["prog"] * 1000 // CLK_PS + 400
    same(await host.run(0, Op.READ, 0), Status.OK, data=data, **FIELDS)
    same(await host.run(0, Op.READ, 1), Status.OK, data=data, **FIELDS)


@sentence
async def part_with_its_own_times_works_in_them_and_in_every_slower_mode(dut):
    nand = Nand()
    host = Host(dut)
    assert nand.open(pages=PAGES, times=K9F8G08 | {k: QUICK[k] for k in ("r", "prog", "bers")}) is None
    dut.mode.value = 0
    await host.start(CLK_PS)
    for mode in (0, OWN, 2, 1):
        dut.mode.value = mode
        for way in range(2):
            same(await host.run(way, Op.RESET), Status.OK)
            same(
                await host.run(way, Op.READ_ID),
                Status.OK,
                sequence=int.from_bytes(bytes.fromhex("ecd310a664"), "little"),
            )
        row = mode * PAGES
        same(await host.run(1, Op.PROGRAM, row, data=page(mode), **FIELDS), Status.OK)
        same(await host.run(1, Op.READ, row), Status.OK, data=page(mode), **FIELDS)


@cocotb.test()
async def bus_that_is_faster_than_the_part_is_found(dut):
    nand, host = await drive(dut)
    await to_mode(host, nand, 2)
    for mode in (3, 4, 5):
        before = len(nand.broken())
        dut.mode.value = mode
        for way in range(2):
            await host.run(way, Op.READ_ID)
            await host.run(way, Op.STATUS)
        told = {line.split(": ", 1)[1].split(",")[0] for line in nand.broken()[before:]}
        exact = [m for m in MODES if -(-MODES[m][2] * 1000 // CLK_PS) != -(-MODES[m][mode] * 1000 // CLK_PS)]
        assert told and told <= {"t" + m.upper() for m in exact}, (mode, told)


@pytest.mark.parametrize("clk_ps", amount([10000, 13333], [8000, 10000, 13333]))
def test_nand_modes(clk_ps):
    simulate(__name__, clk_ps)
