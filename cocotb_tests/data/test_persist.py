# SPDX-License-Identifier: Apache-2.0
"""The data path with the persist order IN_ORDER, with PLP, and when the power fails: between the models of
bench/datapath_bench.py, which look at each program and each end of a wait."""

import cocotb

from cocotb_tests.bench.datapath_bench import (
    ABORT,
    BARRIER,
    COMMIT,
    FLUSH,
    PREPARE,
    READ,
    RFLUSH,
    SUCCESS,
    TRIM,
    WRITE,
    WRITE_FAULT,
    DataPathBench,
)
from cocotb_tests.bench.datapath_traffic import verilog
from cocotb_tests.bench.runner import run
from opentxssd.facts import LogKind

simulated = cocotb.test(timeout_time=20, timeout_unit="ms")


async def let_go(b, *which):
    """Programs under way end, these (by their place among them) or all."""
    ends = [b.held_programs[n] for n in which] if which else b.held_programs[:]
    for end in ends:
        b.held_programs.remove(end)
        b.later((1, 5), end)
    await b.clocks(100)


@simulated
async def in_order_pages_of_an_epoch_wait_for_those_of_all_before(dut):
    b = await DataPathBench(dut).begin(in_order=True)
    b.hold_programs = True
    for n in range(3):
        assert await b.run(WRITE, n) == SUCCESS
    assert await b.run(BARRIER) == SUCCESS
    for n in range(3, 5):
        assert await b.run(WRITE, n) == SUCCESS
    await b.clocks(300)
    assert [e["lpn"] for e in b.log] == [0, 1, 2] and len(b.held_programs) == 3
    await let_go(b, 1)
    await let_go(b, 0)
    assert len(b.log) == 3, "the last page of the epoch before is under way"
    assert await b.run(WRITE, 9, orderless=1) == SUCCESS
    await b.clocks(100)
    await let_go(b)
    assert sorted(e["lpn"] for e in b.log) == [*range(5), 9] and len(b.held_programs) == 3, (
        "an epoch's pages go together"
    )
    b.hold_programs = False
    await let_go(b)
    await b.quiet()


@simulated
async def in_order_nothing_waits_for_orderless_pages_or_within_an_epoch(dut):
    b = await DataPathBench(dut).begin(in_order=True)
    b.hold_programs = True
    assert await b.run(WRITE, 0, orderless=1) == SUCCESS
    assert await b.run(WRITE, 1, txid=3) == SUCCESS
    assert await b.run(WRITE, 2, orderless=1) == SUCCESS
    assert await b.run(BARRIER) == SUCCESS
    assert await b.run(WRITE, 3) == SUCCESS and await b.run(WRITE, 4) == SUCCESS
    await b.until(lambda: len(b.held_programs) == 5)
    assert await b.run(BARRIER) == SUCCESS
    assert await b.run(WRITE, 5, orderless=1) == SUCCESS and await b.run(WRITE, 6, txid=3) == SUCCESS
    await b.until(lambda: len(b.held_programs) == 7)
    b.hold_programs = False
    await let_go(b)
    await b.quiet()


@simulated
async def in_order_a_group_is_not_torn_and_a_page_that_fails_holds_up_the_next_epoch(dut):
    b = await DataPathBench(dut).begin(in_order=True)
    b.failing.add(1)
    b.hold_programs = True
    assert await b.run(WRITE, 0, 4, barrier=1) == SUCCESS
    assert await b.run(WRITE, 8, 4) == SUCCESS
    await b.until(lambda: len(b.held_programs) == 4)
    await let_go(b)
    await b.until(lambda: len(b.held_programs) == 1)  # the page that failed, elsewhere
    await b.clocks(300)
    assert len([e for e in b.log if e["kind"] == LogKind.MAP]) == 4, "the next epoch began before a rescue had ended"
    b.hold_programs = False
    await let_go(b)
    await b.quiet()


@simulated
async def with_plp_nobody_waits_for_nand(dut):
    b = await DataPathBench(dut).begin(plp=True)
    b.hold_programs = True
    b.pin["bufferLimit"].set(30)
    for n in range(6):
        assert await b.run(WRITE, n) == SUCCESS
    assert await b.run(FLUSH) == SUCCESS and await b.run(RFLUSH, 0, 6) == SUCCESS
    assert await b.run(RFLUSH, arg=1, stream=0) == SUCCESS
    assert not b.log, "a frame was written for them"
    assert await b.run(WRITE, 7, fua=1) == SUCCESS and not b.log
    assert await b.run(WRITE, 8, 3, txid=2) == SUCCESS and await b.run(COMMIT, txid=2) == SUCCESS
    assert await b.run(WRITE, 12, 2, txid=4, commit=1) == SUCCESS
    assert await b.run(WRITE, 15, txid=5) == SUCCESS and await b.run(PREPARE, txid=5) == SUCCESS
    assert await b.run(ABORT, txid=5) == SUCCESS
    assert await b.run(READ, 8, 3) == SUCCESS and 0 not in b.blocks[b.last].values()
    assert await b.run(TRIM, 3, fua=1) == SUCCESS
    assert b.held_programs and not b.pages, "a program has ended"
    b.hold_programs = False
    await let_go(b)
    b.pin["bufferLimit"].set(0)
    await b.quiet()


@simulated
async def with_plp_a_flush_after_a_fault_says_so(dut):
    b = await DataPathBench(dut).begin(plp=True)
    b.pin["bufferLimit"].set(30)
    assert await b.run(WRITE, 0) == SUCCESS
    b.failed = True
    assert await b.run(FLUSH) == WRITE_FAULT
    assert await b.run(RFLUSH, 0, 1) == WRITE_FAULT


@simulated
async def all_frames_are_written_when_the_power_fails_also_behind_a_barrier_and_with_busy_dies(dut):
    b = await DataPathBench(dut).begin(plp=True)
    b.pin["bufferLimit"].set(30)
    b.pin["dieIdle"].set(0)
    for n in range(4):
        assert await b.run(WRITE, n, barrier=1) == SUCCESS
    assert await b.run(WRITE, 5, orderless=1) == SUCCESS and await b.run(WRITE, 6, txid=1) == SUCCESS
    await b.clocks(500)
    assert not b.log and int(dut.waiting.value)
    b.hold_programs = True
    b.pin["inOrder"].set(1)
    b.pin["dumping"].set(1)
    await b.until(lambda: len(b.held_programs) == 6, 400)
    await b.clocks(10)
    assert not int(dut.waiting.value)
    b.hold_programs = False
    await let_go(b)
    await b.quiet()


def test_persist():
    run("otx_data_path", [verilog()], __name__)
