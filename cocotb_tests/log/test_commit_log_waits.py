# SPDX-License-Identifier: Apache-2.0
"""Tests of otx_commit_log: who waits for what. Each condition of FLUSH and COMMIT is withheld alone, and each kind of
fault ends all waits.

OTX_VERILOG_DIR (may hold `{preset}`) says where the generated Verilog is.
"""

import cocotb
import pytest

from cocotb_tests.bench.log_bench import bench, commit, plain, write
from cocotb_tests.models.log_model import SUCCESS, WRITE_FAULT


@cocotb.test()
async def flush_waits_for_its_log_page(dut):
    b = await bench(dut)
    b.auto_program = False
    b.group(*plain())
    b.wait(1, 1)
    await b.until(lambda: b.model.watermark == 1 and b.flying)
    await b.clocks(200)
    assert not b.ended
    await b.finish_program(0)
    await b.until(lambda: b.ended)


async def one_copy_is_not_enough(dut, first):
    b = await bench(dut)
    b.auto_program = False
    b.group(*plain())
    b.wait(1, 1)
    if b.g["lanes"] == 1:
        first = 0  # the second copy begins when the first has ended
    await b.until(lambda: b.model.watermark == 1 and (0, first) in b.flying)
    b.finish_copy(0, first)
    await b.clocks(200)
    assert not b.ended and int(dut.durable.value) == int(dut.pages.value) == 0, "one copy was enough"
    await b.until(lambda: (0, 1 - first) in b.flying)
    b.finish_copy(0, 1 - first)
    await b.until(lambda: b.ended)
    b.task.cancel()


@cocotb.test()
async def flush_waits_for_both_copies_of_its_log_page(dut):
    await one_copy_is_not_enough(dut, 0)
    await one_copy_is_not_enough(dut, 1)


@cocotb.test()
async def flush_waits_for_every_data_page_before_it_but_for_none_after(dut):
    b = await bench(dut)
    b.auto_data = False
    for i in range(4):
        b.group(*plain(lpn=i))
    b.wait(1, 3)
    await b.until(lambda: b.model.durable == 3)
    b.finish_data(2)
    b.finish_data(1)
    await b.clocks(100)
    assert not b.ended
    b.finish_data(0)
    await b.until(lambda: b.ended, 20)
    assert int(dut.dirty.value) == 1


async def flush_behind_a_commit(b, relaxed):
    def ends(index):
        b.finish_data([which for which, *_ in b.outstanding].index(index))

    use = 2 + relaxed
    start = len(b.model.plan)
    for e in (write(5, 5, use), write(6, 6, use), commit(5, 1, use), write(7, 7, use), *plain(lpn=8)):
        b.group(e)
    b.wait(0, start + 3, 5, relaxed=relaxed)
    n = len(b.ended)
    flush = b.wait(1, start + 5, after=0)
    await b.until(lambda: b.model.head == start + 5)
    ends(start + 4)
    await b.until(lambda: b.model.durable == start + 5)
    await b.clocks(100)
    assert flush not in [e[1] for e in b.ended[n:]], "the COMMIT before it could be dropped, and its epoch with it"
    ends(start)
    await b.clocks(100)
    for index in {2, start + 1} & {which for which, *_ in b.outstanding}:
        ends(index)
    await b.until(lambda: flush in [e[1] for e in b.ended[n:]], 40)
    assert start + 3 in [which for which, *_ in b.outstanding], "the page of the open transaction"
    ends(start + 3)
    await b.until(lambda: b.model.watermark == start + 5)


@cocotb.test()
async def flush_waits_for_no_page_of_an_open_transaction_but_for_those_before_a_commit(dut):
    b = await bench(dut)
    b.auto_data = False

    def ends(index):
        b.finish_data([which for which, *_ in b.outstanding].index(index))

    for e in (write(3, 1), *plain(lpn=2), write(4, 3), *plain(lpn=4)):
        b.group(e)
    b.wait(1, 4, after=0)
    await b.until(lambda: b.model.durable == 4)
    ends(1)
    await b.clocks(100)
    assert not b.ended, "a plain page is outstanding"
    ends(3)
    await b.until(lambda: b.ended, 20)
    assert b.model.watermark == 0 and int(dut.mark.value) == 0
    b.wait(1, 4, after=1)  # as PREPARE, or FUA in a transaction
    await b.clocks(100)
    assert len(b.ended) == 1, "a page that it names is outstanding"
    ends(0)
    await b.until(lambda: len(b.ended) == 2, 20)
    for relaxed in (1, 0):
        await flush_behind_a_commit(b, relaxed)


@cocotb.test()
async def commit_waits_for_its_log_page_and_for_its_own_data_pages_only(dut):
    b = await bench(dut)
    b.auto_data = b.auto_program = False
    for e in (write(3, 1), write(4, 2), *plain(lpn=9), write(3, 3), commit(3, 2)):
        b.group(e)
    b.wait(0, 5, 3)
    await b.until(lambda: b.flying)
    b.finish_data(3)
    await b.finish_program(0)
    await b.clocks(100)
    assert not b.committed
    b.finish_data(0)
    await b.until(lambda: b.committed == [3] and b.ended, 20)  # the pages of 4 and of nobody are still outstanding
    b.group(write(5, 1), commit(5, 1))
    b.wait(0, 7, 5)
    await b.until(lambda: b.flying)
    while b.outstanding:
        b.finish_data(0)
    await b.clocks(100)
    assert b.committed == [3], "a COMMIT record that is not durable became visible"
    await b.finish_program(1)
    await b.until(lambda: b.committed == [3, 5], 20)


@cocotb.test()
async def commit_behind_a_barrier_waits_for_the_pages_before_the_barrier(dut):
    """A RELAXED one does not."""
    b = await bench(dut)
    b.auto_data = False
    for e in (*plain(lpn=1), *plain(lpn=2), *plain(lpn=3), write(3, 4), commit(3, 1), commit(4, 0)):
        b.group(e)
    b.wait(0, 5, 3, after=2)
    await b.until(lambda: len(b.outstanding) == 4)
    b.finish_data(3)
    b.finish_data(1)
    await b.clocks(200)
    assert not b.committed and b.model.durable == 5, "the page before the barrier is outstanding"
    b.finish_data(0)
    await b.until(lambda: b.committed == [3])
    b.wait(0, 6, 4, relaxed=1, after=3)
    await b.until(lambda: b.committed == [3, 4], 40)


@cocotb.test()
async def commit_that_is_complete_waits_for_the_one_before_it(dut):
    b = await bench(dut)
    b.auto_data = False
    for e in (write(1), write(2), commit(1, 1), commit(2, 1)):
        b.group(e)
    flush = b.wait(1, 2, after=0)
    b.wait(0, 3, 1)
    b.wait(0, 4, 2)
    await b.until(lambda: b.model.durable == 4)
    b.finish_data(1)
    await b.clocks(100)
    assert not b.committed and [e[1] for e in b.ended] == [flush], "a flush need not wait for commits behind it"
    b.finish_data(0)
    await b.until(lambda: len(b.ended) == 3)
    assert b.committed == [1, 2]


@cocotb.test()
async def relaxed_commit_needs_neither_page_nor_record_on_nand_and_closes_no_page(dut):
    b = await bench(dut)
    b.auto_data = False
    b.group(write(1), commit(1, 1))
    b.wait(0, 2, 1, relaxed=1)
    await b.until(lambda: b.committed == [1] and b.ended, 40)
    await b.clocks(300)
    assert b.model.head == 2 and not b.model.pages


@cocotb.test()
async def relaxed_commit_has_its_turn(dut):
    b = await bench(dut)
    b.auto_data = False
    for e in (write(1), commit(1, 1), commit(2, 0)):
        b.group(e)
    b.wait(0, 2, 1)
    b.wait(0, 3, 2, relaxed=1)
    await b.until(lambda: b.model.durable >= 2 and b.model.head == 3)
    await b.clocks(100)
    assert not b.committed, "a commit overtook the one before it"
    b.finish_data(0)
    await b.until(lambda: len(b.ended) == 2)
    assert b.committed == [1, 2]


@cocotb.test()
async def commit_and_flush_promise_for_the_relaxed_commits_before_them(dut):
    b = await bench(dut)
    b.auto_data = False
    for e in (write(1), commit(1, 1), write(2), commit(2, 1)):
        b.group(e)
    b.wait(0, 2, 1, relaxed=1)
    b.wait(0, 4, 2)
    flush = b.wait(1, 2)
    await b.until(lambda: b.model.durable == 4 and b.committed == [1])
    b.finish_data(1)
    await b.clocks(100)
    assert b.committed == [1] and len(b.ended) == 1, "the page of the relaxed commit is still outstanding"
    b.finish_data(0)
    await b.until(lambda: len(b.ended) == 3)
    assert b.committed == [1, 2] and flush in [e[1] for e in b.ended]


@cocotb.test()
async def commit_ends_only_when_it_has_been_made_visible(dut):
    b = await bench(dut)
    b.tx.on = False
    b.group(commit(7, 0))
    b.wait(0, 1, 7)
    await b.until(lambda: int(dut.tx_valid.value) == 1)
    await b.clocks(50)
    assert not b.ended
    b.tx.on = True
    await b.until(lambda: b.ended == [("COMMIT", b.ended and b.ended[0][1], SUCCESS)])


@cocotb.test()
async def failed_log_page_ends_all_waits_and_makes_nothing_visible(dut):
    b = await bench(dut)
    b.auto_program = False
    b.group(write(1), commit(1, 1))
    b.wait(0, 2, 1)
    await b.until(lambda: b.flying)
    for i in range(5):
        b.group(*plain(lpn=i))
    b.wait(1, 4)
    await b.fails(0)
    await b.until(lambda: len(b.ended) == 2)
    assert {e[2] for e in b.ended} == {WRITE_FAULT} and not b.committed and int(dut.fault.value) == 1
    for i in range(600):
        b.group(*plain(lpn=i))
    for i in range(32):
        b.wait(i & 1, 500, i)
    await b.until(lambda: len(b.ended) == 34 and not b.append_in.queue)
    assert not b.committed and all(e[2] == WRITE_FAULT for e in b.ended)
    dut.enable.value = 0
    await b.clocks(2)
    assert int(dut.fault.value) == 0


@cocotb.test()
async def header_that_was_begun_before_the_fault_is_still_written_right(dut):
    b = await bench(dut)
    b.auto_program = False
    b.group(*plain())
    b.wait(1, 1)
    await b.until(lambda: b.flying)
    await b.finish_program(0)
    await b.until(lambda: b.ended)
    b.group(*plain(), *plain())
    await b.until(lambda: b.model.head == 3)
    await b.clocks(20)
    b.aw.on = False
    b.group(*plain())
    await b.until(lambda: b.model.head == 4)
    b.wait(1, 4)
    await b.clocks(20)
    dut.giveUp.value = 1
    b.model.fault = True
    for i in range(20):
        b.group(*plain(lpn=i))
    await b.until(lambda: len(b.ended) == 2)
    await b.clocks(20)
    assert b.model.head == 4, "an entry was taken while a page was being closed"
    b.aw.on = b.auto_program = True
    await b.until(lambda: len(b.model.pages) == 2 and b.model.head == 24)


@cocotb.test()
async def failed_data_page_ends_all_waits(dut):
    b = await bench(dut)
    b.auto_data = False
    b.group(write(1), commit(1, 1))
    b.wait(0, 2, 1)
    b.wait(1, 2)
    b.wait(0, 2, 1, relaxed=1)
    await b.until(lambda: b.model.durable == 2)
    b.finish_data(0, ok=0)
    await b.until(lambda: len(b.ended) == 3)
    assert {e[2] for e in b.ended} == {WRITE_FAULT} and not b.committed and int(dut.fault.value) == 1


@pytest.mark.parametrize("preset", ["tiny", "sim"])
def test_commit_log_waits(preset):
    from cocotb_tests.bench.log_start import start

    start(preset, __name__)
