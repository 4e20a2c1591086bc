# SPDX-License-Identifier: Apache-2.0
"""otx_commit_log of several lanes when no program succeeds in a block of a lane: the copy leaves the lane
(docs/decisions/011-failing-nand.md).
The judge is models/log_model.py."""

import cocotb

from cocotb_tests.bench.log_bench import GEOMETRY, bench, die_states, geometry, on_dies
from cocotb_tests.models.log_model import PLACES, TRIM, WRITE_FAULT, Entry


async def next_page(b):
    """Both copies of the next log page are under way, and end when the test says so; its number."""
    number = len(b.model.pages)
    b.auto_program = False
    b.group(Entry(kind=TRIM))
    b.wait(1, len(b.model.plan))
    await b.until(lambda: (number, 1) in b.flying)
    return number


async def fails_in_its_lane(b, number, copy):
    """At all places that it has there; the other copy's program is not under way."""
    for n in range(PLACES):
        b.finish_copy(number, copy, status=1)
        if n + 1 < PLACES:
            await b.until(lambda: (number, copy) in b.flying)


@cocotb.test()
async def a_copy_whose_block_is_wholly_bad_goes_to_another_lane_and_the_log_goes_on_in_both(dut):
    b = await bench(dut)
    b.auto_blocks = True
    for copy in (0, 1):
        for page in (0, 3, 5):
            while b.model.at[0][1] != page:
                b.group(Entry(kind=TRIM))
                await b.flushed()
            n = len(b.ended)
            number = await next_page(b)
            b.finish_copy(number, 1 - copy)
            lane = b.model.lane[number, copy]
            await fails_in_its_lane(b, number, copy)
            await b.until(lambda which=(number, copy): which in b.flying)
            assert b.model.moved[-1][:2] == ((number, copy), lane) and b.model.lane[number, copy] != lane
            assert len(b.ended) == n and not b.model.bad
            b.finish_copy(number, copy)
            b.auto_program = True
            await b.until(lambda n=n: len(b.ended) > n)
            for _ in range(b.g["lanes"]):
                b.group(Entry(kind=TRIM))
                await b.flushed()
            assert lane in [b.model.lane[m, c] for m in range(number + 1, len(b.model.pages)) for c in (0, 1)]
    b.whole()
    assert not int(dut.fault.value) and len(b.model.moved) == 6


@cocotb.test()
async def a_copy_leaves_its_lane_though_the_die_there_is_the_only_idle_one(dut):
    g = geometry(GEOMETRY)
    die_of = [lane * g["dies"] // g["lanes"] for lane in range(g["lanes"])]
    b = await on_dies(dut, die_of)
    await next_page(b)
    b.finish_copy(0, 1)
    lane = b.model.lane[0, 0]
    await die_states(b, [int(die != die_of[lane]) for die in range(g["dies"])])
    await fails_in_its_lane(b, 0, 0)
    await b.until(lambda: b.flying)
    assert b.model.lane[0, 0] != lane
    b.finish_copy(0, 0)
    await b.until(lambda: b.ended)
    b.whole()


@cocotb.test()
async def a_copy_moves_only_behind_the_copy_that_names_the_block_it_leaves(dut):
    b = await bench(dut)
    await next_page(b)
    b.finish_copy(0, 1, status=1)
    await fails_in_its_lane(b, 0, 0)
    for _ in range(2):
        await b.until(lambda: b.flying)
        await b.clocks(100)
        assert b.flying == [(0, 1)] and not b.model.moved, "its frame is written for the other copy"
        b.finish_copy(0, 1, status=1)
    await b.until(lambda: b.flying)
    b.finish_copy(0, 1)
    await b.until(lambda: b.flying)
    assert b.flying == [(0, 0)] and b.model.moved
    b.finish_copy(0, 0)
    await b.until(lambda: b.ended)
    b.whole()


@cocotb.test()
async def a_copy_leaves_one_lane_only(dut):
    b = await bench(dut)
    await next_page(b)
    await b.fails(0)
    await b.until(lambda: b.ended)
    assert b.ended[0][2] == WRITE_FAULT and int(dut.fault.value) and len(b.model.moved) == 1


@cocotb.test()
async def two_copies_that_leave_their_lanes_are_a_fault(dut):
    b = await bench(dut)
    await next_page(b)
    while not b.model.fault:
        for copy in (0, 1):
            if (0, copy) in b.flying:
                b.finish_copy(0, copy, status=1)
        await b.clocks(1)
    await b.until(lambda: b.ended)
    assert b.ended[0][2] == WRITE_FAULT and int(dut.fault.value) and not b.model.moved


def test_log_lane_left():
    from cocotb_tests.bench.log_start import start

    start("sim", __name__)
