# SPDX-License-Identifier: Apache-2.0
"""Tests of otx_commit_log: the persist order TOGETHER, and PLP.

OTX_VERILOG_DIR (may hold `{preset}`) says where the generated Verilog is.
"""

import cocotb
import pytest

from cocotb_tests.bench.log_bench import bench, commit, plain, write


async def together(dut, **how):
    b = await bench(dut, **how)
    dut.together.value, b.model.together = 1, True
    b.auto_data = False
    return b


async def protected(dut):
    b = await bench(dut)
    dut.plp.value, b.model.plp = 1, True
    b.auto_data = False
    return b


@cocotb.test()
async def together_a_log_page_waits_for_the_pages_that_it_names(dut):
    b = await together(dut)
    for e in (*plain(lpn=1), *plain(2, lpn=4), write(3), commit(3, 1)):
        b.group(e)
    b.wait(1, 3)
    b.wait(0, 5, 3)
    await b.until(lambda: b.model.head == 5)
    while len(b.outstanding) > 1:
        await b.clocks(200)
        assert not b.flying and not b.model.pages, "a page that it names is not on NAND"
        b.finish_data(-1)
    b.finish_data(0)
    await b.until(lambda: len(b.ended) == 2)
    b.group(*plain(2, lpn=20))
    b.wait(1, 7)
    await b.until(lambda: len(b.outstanding) == 2)
    b.finish_data(0)
    await b.clocks(200)
    assert not b.flying, "the last page that it names is not on NAND"
    b.finish_data(0)
    await b.until(lambda: len(b.ended) == 3)
    await b.clocks(20)
    b.whole()


@cocotb.test()
async def together_a_page_that_failed_lets_the_log_go_on(dut):
    """Its RELOCATE must become durable, before the watermark passes it."""
    b = await together(dut)
    for n in range(3):
        b.group(*plain(lpn=n))
    b.wait(1, 3)
    await b.until(lambda: b.model.head == 3)
    await b.clocks(200)
    assert not b.flying
    dut.saving.value, b.model.saving = 1, True
    b.relocate(lpn=1, arg=8, location=1 << 30 | 99, sequence=1)
    await b.until(lambda: b.moved)
    dut.rescueTo.value = b.model.head
    b.model.waits.append(b.model.head)
    await b.until(lambda: b.model.durable == b.model.head, 6000)  # `LogHold`
    assert len(b.outstanding) == 3
    dut.saving.value, b.model.saving = 0, False
    while b.outstanding:
        b.finish_data(0)
    await b.until(lambda: b.ended)
    await b.clocks(20)
    b.whole()


@cocotb.test()
async def together_pages_at_random(dut):
    b = await together(dut, stall=0.2)
    b.auto_data, b.auto_blocks, b.finish_rate = True, True, 0.15
    for n in range(200):
        b.group(*plain(b.rng.randrange(1, 6), lpn=10 * n))
        if n % 20 == 0:
            b.wait(1, len(b.model.plan))
        await b.clocks(b.rng.choice([0, 20, 100]))
    b.finish_rate = 1.0
    await b.until(lambda: b.model.head == len(b.model.plan), 20_000)
    await b.flushed()
    assert len(b.model.pages) > 6
    b.whole()


@cocotb.test()
async def with_plp_waits_end_at_once_and_close_no_page(dut):
    b = await protected(dut)
    for e in (*plain(lpn=1), write(3), commit(3, 1), write(4), commit(4, 1)):
        b.group(e)
    b.wait(1, 1)
    b.wait(0, 3, 3, after=1)
    b.wait(0, 5, 4, relaxed=1)
    b.wait(1, 5)
    await b.until(lambda: len(b.ended) == 4, 100)
    assert b.committed == [3, 4]
    await b.clocks(500)
    assert not b.flying and not b.model.pages, "a page was written for them"
    while b.outstanding:
        b.finish_data(0)
    await b.clocks(500)
    assert not b.model.pages and int(dut.dirty.value)


@cocotb.test()
async def with_plp_a_fault_ends_waits_with_its_word(dut):
    b = await protected(dut)
    b.group(*plain(lpn=1))
    await b.until(lambda: b.model.head == 1)
    b.model.fault = True
    dut.giveUp.value = 1
    await b.clocks(3)
    b.wait(1, 1)
    await b.until(lambda: b.ended)
    assert b.ended[0][2], "a FLUSH after a fault has succeeded"


@cocotb.test()
async def the_open_page_is_written_when_the_power_fails_and_one_behind_it(dut):
    b = await protected(dut)
    b.auto_data = True
    b.group(*plain(lpn=1))
    await b.clocks(300)
    assert not b.model.pages
    b.model.waits.append(1 << 40)  # whatever is in the log is waited for
    dut.drain.value = 1
    await b.until(lambda: len(b.model.pages) == 1 and not int(dut.dirty.value))
    b.group(*plain(3, lpn=5))
    await b.until(lambda: len(b.model.pages) == 2 and not int(dut.dirty.value))
    await b.clocks(20)
    b.whole()


@pytest.mark.parametrize("preset", ["tiny", "sim"])
def test_commit_log_persist(preset):
    from cocotb_tests.bench.log_start import start

    start(preset, __name__)
