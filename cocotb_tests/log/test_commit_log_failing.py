# SPDX-License-Identifier: Apache-2.0
"""otx_commit_log beside failing NAND: log pages that are written again elsewhere, RELOCATE entries
(docs/decisions/011-failing-nand.md).
The judge is models/log_model.py."""

import os
import random

import cocotb
import pytest

from cocotb_tests.bench.log_bench import bench, commit, plain, write
from cocotb_tests.models.log_model import FIRST_PAGES, MAP, RELOCATE, TRIM, WRITE_FAULT, Entry


async def to_place(b, page):
    """The copy of the next log page that is returned goes to page `page` of a block of lane 0; all before it are
    done.
    """
    first = {page: 0}
    if b.g["lanes"] == 1:
        first[(page - 1) % b.g["pagesPerBlock"]] = 1
    while 2 * len(b.model.pages) % b.g["lanes"] or b.model.at[0][1] not in first:
        b.group(Entry(kind=TRIM))
        await b.flushed()
    return first[b.model.at[0][1]]


async def to_copy(b, number, copy):
    """That copy of page `number` is under way, and the other one is not."""
    await b.until(lambda: (number, 0) in b.flying)
    if copy or b.g["lanes"] > 1:
        await b.until(lambda: (number, 1 - copy) in b.flying)
        b.finish_copy(number, 1 - copy)
    await b.until(lambda: (number, copy) in b.flying)


@cocotb.test()
async def failed_log_page_goes_to_the_place_after_and_says_so(dut):
    b = await bench(dut)
    b.auto_blocks = True
    last = b.g["pagesPerBlock"] - 1
    for page in (0, 1, 2, 3, 5, last - 1, last):
        for failures in (1, 2, 3):
            copy = await to_place(b, page)
            b.auto_program = False
            number, block = len(b.model.pages), b.model.at[0][0] + (copy and not page)
            b.group(Entry(kind=TRIM, lpn=page))
            b.wait(1, len(b.model.plan))
            n = len(b.ended)
            which = number, copy
            await to_copy(b, *which)
            places = [(block, page)]
            for _ in range(failures):
                b.finish_copy(*which, status=1)
                await b.until(lambda which=which: which in b.flying)
                at, q = places[-1]
                places.append((at, q + 1) if q < FIRST_PAGES else (at + 1, 0))
                assert b.model.placed[which] == places[-1]
            assert len(b.ended) == n and not b.model.bad
            b.finish_copy(*which)
            b.auto_program = True
            await b.until(lambda n=n: len(b.ended) > n)
    b.whole()
    assert not int(dut.fault.value)


@cocotb.test()
async def fourth_failure_of_a_log_page_is_a_fault(dut):
    b = await bench(dut)
    b.auto_program = False
    b.group(Entry(kind=TRIM))
    b.wait(1, 1)
    await b.until(lambda: b.flying)
    await b.fails(0)
    await b.until(lambda: b.ended)
    assert b.ended[0][2] == WRITE_FAULT and int(dut.fault.value)
    assert len(b.model.moved) == (b.g["lanes"] > 1)


@cocotb.test()
async def failed_page_waits_for_the_next_block_and_others_go_on(dut):
    b = await bench(dut, blocks=2)
    copy = await to_place(b, 4)
    b.auto_program = False
    number = len(b.model.pages)
    b.group(Entry(kind=TRIM))
    b.wait(1, len(b.model.plan))
    await to_copy(b, number, copy)
    b.finish_copy(number, copy, status=1)
    await b.clocks(200)
    assert not b.flying and (number, copy) in b.model.again
    b.blocks(1)
    await b.until(lambda: (number, copy) in b.flying)
    b.auto_program = True
    await b.flushed()
    b.whole()


@cocotb.test()
async def event_that_is_not_taken_holds_the_page_only(dut):
    b = await bench(dut)
    b.auto_program, b.bad.on = False, False
    b.group(Entry(kind=TRIM))
    b.wait(1, 1)
    await to_copy(b, 0, 0)
    b.finish_copy(0, status=1)
    await b.clocks(100)
    assert not b.flying
    b.group(*plain(5))
    await b.until(lambda: b.model.head == 6)
    b.bad.on, b.auto_program = True, True
    await b.flushed()
    await b.until(lambda: len(b.ended) == 2)
    await b.clocks(20)
    b.whole()


@cocotb.test()
async def a_copy_that_is_placed_late_has_the_watermark_of_the_other(dut):
    """Also when entries have become complete and durable since: both copies are the same but for places."""
    b = await bench(dut)
    b.group(*[Entry(kind=TRIM) for _ in range(4)])
    await b.flushed()
    b.auto_program = b.auto_data = False
    b.group(*plain(2), Entry(kind=TRIM))
    b.wait(1, 5)
    await to_copy(b, 1, 0)
    assert b.model.pages[1].watermark == 4
    b.auto_data = True
    await b.until(lambda: b.model.watermark == 7)
    await b.clocks(60)
    for _ in range(2):
        b.finish_copy(1, status=1)
        await b.until(lambda: (1, 0) in b.flying)
        assert b.model.pages[1].watermark == 4
    b.auto_program = True
    await b.flushed()


@cocotb.test()
async def both_copies_fail_one_after_the_other_and_each_is_placed_again(dut):
    b = await bench(dut)
    b.auto_program = False
    b.group(Entry(kind=TRIM))
    b.wait(1, 1)
    if b.g["lanes"] == 1:
        for copy in (0, 1):
            for _ in range(2):
                await b.until(lambda copy=copy: (0, copy) in b.flying)
                b.finish_copy(0, copy, status=1)
            await b.until(lambda copy=copy: (0, copy) in b.flying)
            b.finish_copy(0, copy)
    else:
        await b.until(lambda: (0, 1) in b.flying)
        b.finish_copy(0, 1, status=1)
        await b.clocks(100)
        assert b.flying == [(0, 0)], "its frame is still read for the other copy"
        b.finish_copy(0, 0, status=1)
        await b.until(lambda: b.flying)
        assert len(b.flying) == 1
    b.auto_program = True
    await b.flushed()
    assert sum(n - 1 for n in b.model.tries.values()) >= 2
    b.whole()


@cocotb.test()
async def a_lane_alone_takes_both_copies_and_later_ones_have_two_lanes_again(dut):
    b = await bench(dut, blocks=2)
    if b.g["lanes"] == 1:
        return
    b.blocks(3, [0])
    while not b.model.alone:
        b.group(Entry(kind=TRIM))
        await b.flushed()
    number = b.model.alone[0]
    assert b.model.lane[number, 0] == b.model.lane[number, 1] == 0
    b.blocks(1)
    await b.clocks(30)
    for _ in range(3):
        b.group(Entry(kind=TRIM))
        await b.flushed()
        number = len(b.model.pages) - 1
        assert b.model.lane[number, 0] != b.model.lane[number, 1]
    b.whole()


@cocotb.test()
async def a_second_copy_waits_for_the_first_though_another_lane_has_blocks_again(dut):
    b = await bench(dut, blocks=0)
    if b.g["lanes"] == 1:
        return
    b.blocks(2, [0])
    await b.clocks(30)
    b.auto_program = False
    b.group(Entry(kind=TRIM))
    b.wait(1, 1)
    await b.until(lambda: (0, 0) in b.flying)
    b.blocks(2, [1])
    await b.clocks(100)
    assert b.model.alone == [0] and b.flying == [(0, 0)], "the frame was changed while it was read"
    b.finish_copy(0, 0)
    await b.until(lambda: (0, 1) in b.flying)
    assert b.model.lane[0, 1] == 1
    b.finish_copy(0, 1)
    await b.until(lambda: b.ended)
    b.whole()


@cocotb.test()
async def relocate_is_complete_as_it_is_appended_and_passes_what_waits_for_the_watermark(dut):
    b = await bench(dut)
    b.auto_data = False
    for i in range(1000):
        b.group(*plain(lpn=i))
    await b.until(lambda: b.model.head == 896, 10000)
    await b.clocks(50)
    for i in range(127):
        b.relocate(lpn=i, location=1 << 30 | 5000 + i, arg=7 + i, sequence=i)
    await b.until(lambda: len(b.moved) == 127, 2000)
    assert b.moved == list(range(896, 896 + 127)) and b.model.watermark == 0
    b.relocate(lpn=0)
    await b.clocks(100)
    assert len(b.moved) == 127, "1,023 entries are above the watermark"
    b.auto_data = True
    await b.until(lambda: b.model.watermark == len(b.model.plan) == 1000 + 128, 20000)
    await b.flushed()
    b.whole()


@cocotb.test()
async def relocate_waits_for_the_end_of_an_open_group(dut):
    b = await bench(dut)
    b.group(Entry(kind=MAP, n=2, i=0, room=2, last=0))
    await b.until(lambda: b.model.head == 1)
    b.relocate(lpn=1)
    await b.clocks(100)
    assert not b.moved
    b.group(Entry(kind=MAP, n=2, i=1, room=1, last=1))
    await b.until(lambda: b.moved)
    assert b.moved == [2]
    await b.flushed()


@cocotb.test()
async def page_closes_when_a_rescue_needs_it(dut):
    b = await bench(dut)
    b.relocate(lpn=3, location=1 << 30 | 9, arg=8, sequence=2)
    await b.until(lambda: b.moved)
    await b.clocks(200)
    assert not b.model.pages
    b.model.waits.append(1)
    dut.rescueTo.value = 1
    await b.until(lambda: b.model.durable == 1)
    await b.clocks(10)
    assert int(dut.durable.value) == 1 and int(dut.mark.value) == 1 and b.model.pages[0].entries[0].kind == RELOCATE


def others(b):
    """`noMore` of all lanes but lane 0."""
    return (1 << b.g["lanes"]) - 2


@cocotb.test()
async def an_entry_without_a_place_waits_for_a_block_and_is_a_fault_when_none_will_come(dut):
    b = await bench(dut, blocks=2)
    for round_ in range(2):
        for n in range(b.g["lanes"] * b.g["pagesPerBlock"] // 2):
            left = b.g["lanes"] * b.g["pagesPerBlock"] // 2 - n
            assert int(dut.logLeft.value) == left, "as many pages as can be placed"
            b.group(Entry(kind=TRIM, lpn=n))
            await b.flushed()
            await b.clocks(10)
        dut.noMore.value = others(b)
        await b.flushed()  # nothing new needs no page
        b.group(Entry(kind=TRIM, lpn=77))
        await b.clocks(300)
        assert int(dut.logLeft.value) == 0 and b.model.head == len(b.model.plan) - 1 and not int(dut.fault.value)
        if round_ == 0:
            b.blocks(1)
            await b.flushed()
            for n in range(b.g["lanes"] * b.g["pagesPerBlock"] // 2 - 1):
                b.group(Entry(kind=TRIM, lpn=n))
                await b.flushed()
            b.blocks(1)
            await b.clocks(30)
    dut.noMore.value = (1 << b.g["lanes"]) - 1
    b.model.fault = True
    await b.until(lambda: int(dut.fault.value) and b.model.head == len(b.model.plan), 40)
    b.wait(1, len(b.model.plan))
    await b.until(lambda: b.ended[-1][2] == WRITE_FAULT)


@cocotb.test()
async def a_page_without_a_place_waits_for_a_block_and_is_a_fault_when_none_will_come(dut):
    b = await bench(dut, blocks=2)
    for lacks in (False, True):
        copy = await to_place(b, 5)
        b.auto_program = False
        number = len(b.model.pages)
        b.group(Entry(kind=TRIM))
        b.wait(1, len(b.model.plan))
        await to_copy(b, number, copy)
        b.finish_copy(number, copy, status=1)  # the block is left, and the next one has none behind it
        dut.noMore.value = others(b)
        await b.clocks(300)
        assert not b.flying and not int(dut.fault.value)
        if not lacks:
            b.blocks(1)
            await b.until(lambda which=(number, copy): which in b.flying)
            b.auto_program = True
            await b.until(lambda: b.model.durable == len(b.model.plan))
            await b.clocks(20)
    dut.noMore.value = 1
    b.model.fault = True
    await b.until(lambda: b.ended and b.ended[-1][2] == WRITE_FAULT, 60)
    assert int(dut.fault.value)


@cocotb.test()
async def random_histories_with_failing_programs_agree_with_the_model(dut):
    seed = int(os.environ.get("SEED", "1"))
    dut._log.info("SEED=%d", seed)
    rng = random.Random(seed)
    b = await bench(dut, stall=0.2)
    b.auto_blocks, b.fail_rate, b.finish_rate = True, 0.2, 0.1
    counts, use, waiting, moves = [0] * 32, [1] * 32, {}, 0
    while len(b.model.plan) < 2000 and not b.model.fault:
        for e in b.ended:
            waiting.pop(e[1], None)
        do, free = rng.random(), [t for t in range(32) if t not in waiting.values()]
        if do < 0.3:
            b.group(*plain(rng.choice([1, 1, 2, 5, 32]), rng.randrange(1000)))
        elif do < 0.6 and free:
            t = rng.choice(free)
            counts[t] += 1
            b.group(write(t, rng.randrange(1000), use[t]))
        elif do < 0.75 and free and len(b.tags) > 2:
            t = rng.choice(free)
            waiting[b.wait(0, b.group(commit(t, counts[t], use[t])), t)] = t
            counts[t], use[t] = 0, use[t] + 1
        elif do < 0.85 and len(b.tags) > 2:
            b.wait(1, len(b.model.plan))
        else:
            b.relocate(
                lpn=rng.randrange(1000),
                location=1 << 30 | rng.randrange(1000),
                arg=rng.randrange(1000),
                sequence=rng.getrandbits(48),
            )
            moves += 1
        await b.until(lambda: len(b.append_in.queue) < 20 and not b.later, 20000)
    b.finish_rate, b.fail_rate, b.stall = 0.5, 0.0, 0.1
    await b.until(lambda: not b.append_in.queue and not b.relocates.queue, 20000)
    if not b.model.fault:
        await b.until(lambda: b.model.watermark == len(b.model.plan), 20000)
        await b.flushed()
        await b.until(lambda: len(b.tags) == 32, 20000)
        await b.clocks(20)
        b.whole()
    again = sum(n - 1 for n in b.model.tries.values())
    dut._log.info(
        "%d entries in %d pages, %d of them RELOCATE, %d places that failed",
        b.model.head,
        len(b.model.pages),
        moves,
        again,
    )
    assert b.model.fault or again > 5 and moves > 50


@pytest.mark.parametrize("preset", ["tiny", "sim"])
def test_commit_log_failing(preset):
    from cocotb_tests.bench.log_start import start

    start(preset, __name__)
