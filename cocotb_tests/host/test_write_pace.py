# SPDX-License-Identifier: Apache-2.0
"""How fast WRITEs go (WritePace.scala), against clocks that are owed: a number that each block raises and each clock
lowers."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from cocotb_tests.bench.amount import amount
from cocotb_tests.bench.runner import ROOT, run
from opentxssd.facts import NUMBER as NUMBERS

MOST = NUMBERS["MAX_BLOCKS"]
simulated = cocotb.test(timeout_time=8, timeout_unit="ms")


class Bench:
    def __init__(self, dut):
        self.dut, self.clock = dut, 0

    async def begin(self, interval):
        cocotb.start_soon(Clock(self.dut.clk, 10, "ns").start())
        self.dut.goes_valid.value = 0
        self.dut.interval.value = interval
        self.dut.reset.value = 1
        for _ in range(3):
            await FallingEdge(self.dut.clk)
        self.dut.reset.value = 0
        return self

    async def step(self, clocks=1):
        for _ in range(clocks):
            await FallingEdge(self.dut.clk)
            self.clock += 1

    async def write(self, blocks):
        """A WRITE goes; the clocks that it has waited."""
        begin = self.clock
        while not self.dut.may.value:
            await self.step()
        waited = self.clock - begin
        self.dut.goes_valid.value, self.dut.goes_payload.value = 1, blocks
        await self.step()
        self.dut.goes_valid.value = 0
        return waited


@simulated
async def each_block_costs_its_clocks(dut):
    b = await Bench(dut).begin(100)
    assert await b.write(1) == 0
    assert 97 <= await b.write(1) <= 102
    assert 97 <= await b.write(8) <= 102
    assert 797 <= await b.write(1) <= 802


@simulated
async def without_an_interval_nobody_waits_and_nothing_is_owed(dut):
    b = await Bench(dut).begin(0)
    for _ in range(20):
        assert await b.write(MOST) <= 1
    dut.interval.value = 5000
    await b.write(MOST)
    await b.step(10)
    dut.interval.value = 0
    await b.step()
    assert await b.write(1) <= 1
    dut.interval.value = 50
    assert await b.write(1) <= 1


@simulated
async def most_that_can_be_owed_is_not_lost(dut):
    most = (1 << 20) - 1
    b = await Bench(dut).begin(most)
    await b.write(MOST)
    await b.step(MOST + 1)
    assert MOST * most - MOST - 2 <= int(dut.owed.value) <= MOST * most


@simulated
async def rate_is_that_of_the_interval(dut):
    """Random WRITEs: over any time no more blocks than clocks by interval, and those of one WRITE; never fewer while
    somebody waits."""
    rng = random.Random(1)
    for interval in (7, 40, 333):
        b = await Bench(dut).begin(interval)
        owed, last = 0, 0
        for _ in range(amount(40, 400)):
            blocks = rng.choice([1, 1, 2, 5, MOST if interval < 100 else 4])
            at = b.clock
            waited = await b.write(blocks)
            owed = max(0, owed - (at - last))
            assert abs(waited - owed) <= 3, f"interval {interval}: waited {waited}, owed {owed}"
            last = at + waited
            owed = blocks * interval
            await b.step(rng.choice([0, 0, 3, interval, 6 * interval]))


def test_write_pace():
    verilog = ROOT / "build/tiny/verilog/otx_write_pace.v"
    run("otx_write_pace", [verilog.relative_to(ROOT)], __name__)
