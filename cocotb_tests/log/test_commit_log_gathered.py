# SPDX-License-Identifier: Apache-2.0
"""Tests of otx_commit_log: which COMMITs share a log page (decision 030). `busy`: each die has an operation under way.

OTX_VERILOG_DIR (may hold `{preset}`) says where the generated Verilog is.
"""

import cocotb
import pytest

from cocotb_tests.bench.log_bench import bench, commit, plain, write
from cocotb_tests.models.log_model import WRITE_FAULT

IDLE, BUSY = 0, 1
PATIENCE = 4096  # clocks (LogHold)


def dies(b, state, but=()):
    for die in range(b.g["dies"]):
        getattr(b.dut, f"dieNow_{die}").value = IDLE if die in but else state


async def busy(dut, **how):
    """A bench whose dies are busy and whose data pages end when they are told to."""
    b = await bench(dut, **how)
    b.auto_data = False
    dies(b, BUSY)
    await b.clocks(20)
    return b


def transaction(b, txid, pages=1):
    """A transaction of so many pages, and the wait of its COMMIT."""
    for i in range(pages):
        b.group(write(txid, i))
    b.wait(0, b.group(commit(txid, pages)), txid)


@cocotb.test()
async def commits_whose_pages_are_on_their_way_share_a_log_page(dut):
    b = await busy(dut)
    for txid in range(20):
        transaction(b, txid)
        await b.clocks(60)
    assert b.model.head == 40 and not b.model.pages, "a page was closed for COMMITs that wait for their data"
    b.finish_data(0)
    await b.until(lambda: b.committed == [0])
    assert [len(p.entries) for p in b.model.pages] == [40]
    for _ in range(19):
        b.finish_data(0)
    await b.until(lambda: len(b.ended) == 20)
    assert b.committed == list(range(20)) and len(b.model.pages) == 1
    await b.clocks(200)
    b.whole()


@cocotb.test()
async def page_is_closed_when_the_first_commit_has_its_data_not_when_a_later_one_has(dut):
    b = await busy(dut)
    transaction(b, 3, pages=2)
    transaction(b, 4)
    await b.until(lambda: b.model.head == 5)
    b.finish_data(2)
    b.finish_data(0)
    await b.clocks(100)
    assert not b.model.pages
    b.finish_data(0)
    await b.until(lambda: b.committed == [3, 4])
    assert len(b.model.pages) == 1


@cocotb.test()
async def commit_without_data_closes_its_page_on_busy_dies(dut):
    b = await busy(dut)
    b.group(*plain())
    transaction(b, 5, pages=0)
    await b.until(lambda: b.committed == [5])


@cocotb.test()
async def flush_closes_a_page_that_gathers(dut):
    b = await busy(dut)
    transaction(b, 1)
    b.wait(1, 1)
    await b.until(lambda: b.model.durable == 2)
    assert not b.committed


@cocotb.test()
async def rescue_closes_a_page_that_gathers(dut):
    b = await busy(dut)
    transaction(b, 1)
    b.relocate(lpn=1)
    await b.until(lambda: b.model.head == 3)
    dut.rescueTo.value = 3
    b.model.waits.append(3)
    await b.until(lambda: b.model.durable == 3)


def move(b, lpn):
    """A page that has moved: its entry, and who wants that durable."""
    b.relocate(lpn=lpn)

    async def wanted():
        head = b.model.head
        await b.until(lambda: b.model.head > head)
        b.dut.rescueTo.value = b.model.head
        b.model.waits.append(b.model.head)

    return wanted()


@cocotb.test()
async def a_move_waits_for_the_next_commit_of_a_host_that_waits_for_each(dut):
    b = await busy(dut)
    transaction(b, 1, pages=0)
    await b.until(lambda: b.committed == [1])
    await move(b, 7)
    await b.clocks(PATIENCE - 200)
    assert len(b.model.pages) == 1, "the move has closed a page: a COMMIT that comes now would need the one after it"
    transaction(b, 2, pages=0)
    await b.until(lambda: b.committed == [1, 2])
    assert len(b.model.pages) == 2 and b.model.durable == 3
    await b.clocks(200)
    b.whole()


@cocotb.test()
async def a_move_does_not_wait_for_a_commit_that_does_not_come(dut):
    b = await busy(dut)
    b.auto_program = False
    transaction(b, 1, pages=0)
    await b.until(lambda: len(b.flying) > 0)
    await move(b, 7)
    await b.clocks(2 * PATIENCE)
    assert b.model.head == 2 and len(b.model.pages) == 1, "the COMMIT is not durable, its host waits"
    b.auto_program = True
    await b.until(lambda: b.model.durable == 2, PATIENCE + 300)
    await move(b, 8)  # no COMMIT came: the next one closes its page at once
    await b.until(lambda: b.model.durable == 3, 300)
    await b.clocks(200)
    b.whole()


@cocotb.test()
async def idle_dies_get_the_page_at_once(dut):
    b = await busy(dut, blocks=0)
    ways, lanes = b.g["ways"], b.g["lanes"]
    for n in range(3 * lanes):  # each lane has a die of its own
        lane = n % lanes
        b.block_in.queue.append(dict(lane=lane, block=lane * ways * b.g["blocksPerWay"] + n // lanes))
    transaction(b, 1)
    await b.until(lambda: b.model.head == 2)
    if lanes > 1:
        dies(b, BUSY, but=[0])
        await b.clocks(100)
        assert not b.model.pages, "its second copy would wait"
    dies(b, IDLE)
    await b.until(lambda: b.model.durable == 2)
    assert not b.committed


@cocotb.test()
async def flushes_and_commits_that_come_while_pages_are_under_way_share_the_next_one(dut):
    b = await bench(dut)
    b.auto_program = False
    window = (b.g["lanes"] + 1) // 2
    for i in range(20):
        if i % 2:
            transaction(b, i)
        else:
            b.wait(1, b.group(*plain(2)))
        await b.clocks(60)
    assert len(b.model.pages) == window and b.model.head == 40, "so many are under way, the rest waits in the open one"
    b.auto_program = True
    await b.until(lambda: len(b.ended) == 20)
    assert len(b.model.pages) == window + 1 and b.committed == list(range(1, 20, 2))
    await b.clocks(200)
    b.whole()


@cocotb.test()
async def commits_that_are_gathered_end_with_the_fault(dut):
    b = await busy(dut)
    for txid in range(5):
        transaction(b, txid)
    await b.until(lambda: b.model.head == 10)
    dut.giveUp.value = 1
    b.model.fault = True
    await b.until(lambda: len(b.ended) == 5)
    assert {e[2] for e in b.ended} == {WRITE_FAULT} and not b.committed


@pytest.mark.parametrize("preset", ["tiny", "sim"])
def test_commit_log_gathered(preset):
    from cocotb_tests.bench.log_start import start

    start(preset, __name__)
