# SPDX-License-Identifier: Apache-2.0
"""The microsecond of the NAND channels: its distance at several clocks, and behind a reset."""

import cocotb
import pytest
from cocotb.triggers import FallingEdge

from cocotb_tests.bench.streams import start

CLOCKS = {10_000: 100, 13_334: 75, 6_000: 167, 1_000_000: 1}  # period in ps: clocks of a microsecond, rounded up


async def distances(dut, count):
    """Clocks to the first tick, and from each to the next."""
    found, clocks = [], 0
    while len(found) < count:
        clocks += 1
        await FallingEdge(dut.clk)
        if int(dut.tick.value):
            found.append(clocks)
            clocks = 0
        assert clocks <= 1000, "no tick"
    return found


@cocotb.test()
async def a_tick_comes_in_every_microsecond_and_is_one_clock_long(dut):
    await start(dut)
    clocks = CLOCKS[int(dut.ClkPs.value)]
    assert await distances(dut, 5) == [clocks] * 5


@cocotb.test()
async def reset_begins_anew_and_has_none(dut):
    await start(dut)
    clocks = CLOCKS[int(dut.ClkPs.value)]
    for _ in range(clocks // 2):
        await FallingEdge(dut.clk)
    dut.reset.value = 1
    for _ in range(2 * clocks):
        await FallingEdge(dut.clk)
        assert not int(dut.tick.value)
    dut.reset.value = 0
    assert await distances(dut, 2) == [clocks] * 2


@pytest.mark.parametrize("period", CLOCKS)
def test_nand_tick(period):
    from cocotb_tests.bench.runner import run

    run("otx_nand_tick", ["rtl/nand/otx_nand_tick.sv"], __name__, parameters={"ClkPs": period})
