# SPDX-License-Identifier: Apache-2.0
"""How fast WRITEs get pages (WritePace.scala), against clocks that are owed: a number that each page raises and each
clock lowers."""

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
        self.dut, self.clock, self.taken = dut, 0, []

    async def begin(self, interval):
        cocotb.start_soon(Clock(self.dut.clk, 10, "ns").start())
        for name in ("taken", "first", "fault"):
            getattr(self.dut, name).value = 0
        self.dut.interval.value = interval
        self.dut.reset.value = 1
        for _ in range(3):
            await FallingEdge(self.dut.clk)
        self.dut.reset.value = 0
        return self

    async def step(self):
        await FallingEdge(self.dut.clk)
        self.clock += 1

    async def write(self, pages):
        """A WRITE that takes a page in every second clock; the clocks that its first one has waited."""
        begin, waited = self.clock, None
        for page in range(pages):
            self.dut.first.value = int(page == 0)
            await FallingEdge(self.dut.clk)
            self.clock += 1
            while not self.dut.may.value:
                assert page == 0, "a WRITE that has begun is held up"
                await self.step()
            waited = self.clock - begin if waited is None else waited
            self.taken.append(self.clock)
            self.dut.taken.value = 1
            await self.step()
            self.dut.taken.value = 0
        return waited


@simulated
async def each_page_costs_its_clocks(dut):
    b = await Bench(dut).begin(100)
    assert await b.write(1) <= 1
    assert 95 <= await b.write(1) <= 100
    assert 95 <= await b.write(8) <= 100
    waited = await b.write(1)
    assert 8 * 100 - 20 <= waited <= 8 * 100, waited


@simulated
async def without_an_interval_nobody_waits_and_nothing_is_owed(dut):
    b = await Bench(dut).begin(0)
    for _ in range(20):
        assert await b.write(3) <= 1
    dut.interval.value = 5000
    await b.write(MOST)
    dut.interval.value = 0
    await b.step()
    assert await b.write(1) <= 1
    dut.interval.value = 50
    assert await b.write(1) <= 1


@simulated
async def nothing_waits_after_a_fault(dut):
    b = await Bench(dut).begin(10_000)
    await b.write(MOST)
    dut.fault.value = 1
    for _ in range(5):
        assert await b.write(2) <= 1


@simulated
async def most_that_can_be_owed_is_not_lost(dut):
    b = await Bench(dut).begin((1 << 20) - 1)
    await b.write(MOST)
    assert int(dut.owed.value) > (MOST - 1) * ((1 << 20) - 1)


@simulated
async def rate_is_that_of_the_interval(dut):
    """Random WRITEs: over any time no more pages than clocks by interval, and those of one WRITE; never fewer while
    somebody waits."""
    rng = random.Random(1)
    for interval in (7, 40, 333):
        b = await Bench(dut).begin(interval)
        owed, last = 0, 0
        for _ in range(amount(40, 400)):
            pages = rng.choice([1, 1, 2, 5, MOST if interval < 100 else 4])
            at = b.clock
            waited = await b.write(pages)
            owed = max(0, owed - (at - last))
            assert abs(waited - owed) <= 2, f"interval {interval}: waited {waited}, owed {owed}"
            last = at + waited
            owed = max(0, pages * interval)
            for _ in range(rng.choice([0, 0, 3, interval, 6 * interval])):
                await b.step()


def test_write_pace():
    verilog = ROOT / "build/tiny/verilog/otx_write_pace.v"
    run("otx_write_pace", [verilog.relative_to(ROOT)], __name__)
