# SPDX-License-Identifier: Apache-2.0
"""Priority classes on their way through the data path: with which class a page is read or programmed."""

import cocotb

from cocotb_tests.bench.datapath_bench import COMMIT, FLUSH, READ, RFLUSH, SUCCESS, WRITE, DataPathBench
from cocotb_tests.bench.datapath_traffic import verilog
from cocotb_tests.bench.runner import run
from opentxssd.facts import Priority

MEDIUM, LOW, HIGH, URGENT = Priority
simulated = cocotb.test(timeout_time=20, timeout_unit="ms")


async def begin(dut, limit=0):
    b = await DataPathBench(dut).begin()
    b.pin["bufferLimit"].set(limit)
    return b


@simulated
async def a_page_is_read_with_the_class_of_its_command(dut):
    """The bench looks at each page read: its class is that of a READ of this block."""
    b = await begin(dut)
    assert await b.run(WRITE, 0, 12) == SUCCESS
    await b.quiet()
    reads = [b.submit(READ, 3 * n, 3, priority=p) for n, p in enumerate(Priority)]
    await b.until(lambda: all(t in b.results for t in reads))
    await b.quiet()


@simulated
async def a_program_has_the_class_of_who_waits_for_it(dut):
    b = await begin(dut)
    for n, (fields, want) in enumerate(
        [
            (dict(priority=URGENT), LOW),
            (dict(priority=URGENT, fua=1), URGENT),
            (dict(priority=HIGH, fua=1), HIGH),
            (dict(fua=1), MEDIUM),
            (dict(priority=LOW, fua=1), LOW),
            (dict(priority=HIGH, txid=3, commit=1), HIGH),
        ]
    ):
        assert await b.run(WRITE, n, **fields) == SUCCESS
        await b.until(lambda n=n: len(b.classes) > n)
        assert b.classes[-1] == (n, want), f"{fields}: {b.classes[-1]}"
        await b.quiet()


@simulated
async def frames_that_were_made_early_have_the_class_of_the_most_urgent_that_asked(dut):
    b = await begin(dut, 30)
    for n in range(4):
        assert await b.run(WRITE, n, stream=n, priority=URGENT) == SUCCESS
    assert await b.run(WRITE, 4, txid=1) == SUCCESS
    assert not b.classes
    assert await b.run(RFLUSH, 0, 1, priority=HIGH) == SUCCESS
    assert b.classes == [(0, HIGH)]
    assert await b.run(COMMIT, txid=1, priority=URGENT) == SUCCESS
    assert (4, URGENT) in b.classes
    b.classes.clear()
    for n in range(5, 8):
        assert await b.run(WRITE, n) == SUCCESS
    assert await b.run(FLUSH) == SUCCESS, "the class of the early list ends with it"
    assert {p for _, p in b.classes} == {MEDIUM}
    b.classes.clear()
    for n in range(8, 11):
        assert await b.run(WRITE, n, priority=URGENT) == SUCCESS
    b.pin["bufferLimit"].set(0)
    await b.until(lambda: len(b.classes) == 3)
    assert {p for _, p in b.classes} == {LOW}
    await b.quiet()


@simulated
async def the_read_path_says_when_few_blocks_wait(dut):
    b = await begin(dut)
    assert await b.run(WRITE, 0, 32) == SUCCESS and await b.run(WRITE, 32, 32) == SUCCESS
    await b.quiet()
    b.hold_reads = True
    assert int(dut.takesReads.value)
    tags = [b.submit(READ, 0, 32)]
    await b.until(lambda: len(b.held_reads) and not int(dut.takesReads.value))
    await b.clocks(300)
    assert not int(dut.takesReads.value), "32 blocks, and fewer read frames"
    b.hold_reads = False
    for end in b.held_reads:
        b.later((5, 5), end)
    await b.until(lambda: int(dut.takesReads.value))
    await b.until(lambda: all(t in b.results for t in tags))
    await b.quiet()


def test_data_classes():
    run("otx_data_path", [verilog()], __name__)
