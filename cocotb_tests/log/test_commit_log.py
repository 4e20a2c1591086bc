# SPDX-License-Identifier: Apache-2.0
"""Tests of otx_commit_log: entries, pages, lanes and watermark one thing at a time, then everything at random.
The judge is models/log_model.py, which sees every beat. Waits and faults are in test_commit_log_waits.py.

OTX_VERILOG_DIR (may hold `{preset}`) says where the generated Verilog is; SEED=n repeats a random run.
"""

import os
import random

import cocotb
import pytest

from cocotb_tests.bench.log_bench import GEOMETRY, bench, commit, die_states, geometry, on_dies, plain, write
from cocotb_tests.bench.log_start import start
from cocotb_tests.models.log_model import ABORT, COMMIT, MAP, MOST, RELOCATE, TRIM, WRITE_FAULT, Entry


@cocotb.test()
async def page_image_is_byte_exact_with_every_field_at_its_place(dut):
    b = await bench(dut)
    full = dict(
        lpn=0x89ABCDEF,
        location=0xE7654321,
        serial=0xFEDCBA98,
        sequence=0xF0E1D2C3B4A5,
        epoch=0x13579BDF,
        arg=0x2468ACE0,
    )
    other = {k: v ^ 0x55555555 for k, v in full.items()}
    b.group(Entry(kind=RELOCATE, ordered=1, n=2, i=0, room=2, last=0, **full), Entry(kind=TRIM, n=2, i=1, **other))
    b.group(Entry(kind=0xA5, n=255, i=254, inTx=1, **full))
    await b.until(lambda: b.model.watermark == 3)
    await b.clocks(10)
    await b.flushed()
    b.group(*plain())
    await b.flushed()
    assert [p.watermark for p in b.model.pages] == [0, 3]
    b.whole()


@cocotb.test()
async def page_closes_when_a_waiter_needs_it_and_not_before(dut):
    b = await bench(dut)
    for i in range(10):
        b.group(*plain(lpn=i))
    await b.clocks(200)
    assert b.model.head == 10 and not b.model.pages
    await b.flushed()
    assert len(b.model.pages) == 1
    b.group(*plain(lpn=10))
    b.wait(1, 10)
    await b.clocks(100)
    assert len(b.model.pages) == 1 and len(b.ended) == 2, "a flush of what is durable wrote a page or did not end"


@cocotb.test()
async def full_page_closes_without_a_waiter_and_a_wait_for_nothing_ends(dut):
    b = await bench(dut)
    b.wait(1, 0)
    await b.until(lambda: len(b.ended) == 1)
    for i in range(2 * MOST + 1):
        b.group(*plain(lpn=i))
    await b.until(lambda: b.model.durable == 2 * MOST)
    await b.until(lambda: b.model.head == 2 * MOST + 1)
    assert [len(p.entries) for p in b.model.pages] == [MOST, MOST]


@cocotb.test()
async def group_never_straddles_two_pages(dut):
    b = await bench(dut)
    for n in (32, 32, 32, 31, 30, 32, 32, 32, 1, 32):  # 127 do not fit, then 126 fit exactly
        b.group(*plain(n))
    await b.flushed()
    assert [len(p.entries) for p in b.model.pages] == [96, 125, 65]
    b.whole()


@cocotb.test()
async def a_group_that_comes_after_a_pause_never_straddles_two_pages(dut):
    """The log is idle then, and could take its first entry at once."""
    b, head = await bench(dut), 0
    for n in (32, 32, 32, 31, 5):
        b.group(*plain(n))
        head += n
        await b.until(lambda head=head: int(dut.head.value) == head)
        await b.clocks(40)
    await b.flushed()
    assert [len(p.entries) for p in b.model.pages] == [96, 36]
    b.whole()


@cocotb.test()
async def page_is_not_closed_inside_an_open_group(dut):
    b = await bench(dut)
    start = plain(4)
    b.group(*start[:3])
    b.wait(1, 2)
    await b.clocks(200)
    assert b.model.head == 3 and not b.model.pages
    assert (int(dut.head.value), int(dut.groupEnd.value)) == (3, 4), "recovery keeps or drops the group as a whole"
    b.group(start[3])
    await b.until(lambda: len(b.ended) == 1)
    assert len(b.model.pages[0].entries) == 4
    assert int(dut.head.value) == int(dut.groupEnd.value) == 4


@cocotb.test()
async def pages_take_the_lanes_in_turn_and_name_the_next_blocks_over_block_changes(dut):
    b = await bench(dut, blocks=4)
    lanes = b.g["lanes"]
    count = b.g["pagesPerBlock"] * lanes + lanes + 1
    for i in range(count):
        b.group(Entry(kind=TRIM, lpn=i))
        await b.flushed()
        if i % 7 == 0:
            await b.clocks(5)
            assert int(dut.logLeft.value) == b.model.left
    copies = [(n, c) for n in range(count) for c in (0, 1)]
    assert len(b.model.pages) == count
    assert len({b.model.pages[n].names[c][0] for n, c in copies if b.model.lane[n, c] == 0}) == 3
    assert all(b.model.lane[n, c] == (2 * n + c) % lanes for n, c in copies)
    assert not b.model.alone or lanes == 1, "a second copy waited though two lanes were usable"


async def lanes_of_next_page(b):
    b.group(Entry(kind=TRIM))
    await b.flushed()
    return [b.model.lane[len(b.model.pages) - 1, c] for c in (0, 1)]


@cocotb.test()
async def pages_go_to_lanes_whose_die_is_idle_or_near_to_it(dut):
    g = geometry(GEOMETRY)
    if g["lanes"] < 2:
        return
    lanes, dies = range(g["lanes"]), g["dies"]
    b = await on_dies(dut, [lane * dies // g["lanes"] for lane in lanes])
    for best, other in ((0, 1), (0, 3), (1, 3), (0, 2), (1, 2)):
        for lane in lanes:
            states = [other] * dies
            states[lane * dies // g["lanes"]] = best
            await die_states(b, states)
            for _ in range(3):
                first, second = await lanes_of_next_page(b)
                assert first == lane != second, f"states {states}"
            pair = {lane, (lane + 1) % g["lanes"]}
            states = [best if n * g["lanes"] // dies in pair else other for n in range(dies)]
            await die_states(b, states)
            for _ in range(3):
                assert set(await lanes_of_next_page(b)) == pair, f"states {states}"
    for state in range(4):  # all alike: in turn
        await die_states(b, [state] * dies)
        last = b.model.lane[len(b.model.pages) - 1, 1]
        got = [lane for _ in lanes for lane in await lanes_of_next_page(b)]
        assert got == [(last + 1 + n) % g["lanes"] for n in range(2 * g["lanes"])]
    b.whole()


@cocotb.test()
async def both_copies_are_on_one_die_only_when_all_others_are_erased(dut):
    g = geometry(GEOMETRY)
    if g["lanes"] < 4:
        return
    b = await on_dies(dut, [0, 0, 2, 4])
    for state, pairs in ((0, 8), (1, 8)):
        await die_states(b, [0] + [state] * (g["dies"] - 1))
        for _ in range(pairs):
            copies = await lanes_of_next_page(b)
            assert set(copies) != {0, 1}, f"both on die 0, the others {state}"
    await die_states(b, [1, 1, 1, 1, 3] + [3] * (g["dies"] - 5))
    for _ in range(8):
        assert set(await lanes_of_next_page(b)) in ({0, 2}, {1, 2})
    await die_states(b, [1] + [3] * (g["dies"] - 1))
    assert set(await lanes_of_next_page(b)) == {0, 1}
    await die_states(b, [0] * g["dies"])
    b.dut.idleDies.value = 0
    pairs = [await lanes_of_next_page(b) for _ in range(8)]
    assert [0, 1] in pairs, "lanes are not taken in turn"
    b.whole()


@cocotb.test()
async def a_page_waits_for_a_lane_that_is_not_erased(dut):
    """For the one that has a page under way; when all dies are erased it does not wait."""
    g = geometry(GEOMETRY)
    if g["lanes"] < 2:
        return
    lanes, dies = range(g["lanes"]), g["dies"]
    b = await on_dies(dut, [lane * dies // g["lanes"] for lane in lanes])
    await die_states(b, [0] + [3] * (dies - 1))
    b.auto_program = False
    for n in range(2):
        b.group(Entry(kind=TRIM))
        b.wait(1, n + 1)
    await b.until(lambda: (0, 1) in b.flying)
    b.group(Entry(kind=TRIM))
    b.wait(1, 3)
    await b.clocks(200)
    assert len(b.model.pages) == 1 and b.model.lane[0, 0] == 0
    b.finish_copy(0, 0)
    if g["lanes"] > 2:
        await b.until(lambda: len(b.model.pages) == 2)
        b.finish_copy(0, 1)
    else:
        await b.clocks(100)
        assert len(b.model.pages) == 1, "a page was placed before the one before it was programmed twice"
        b.finish_copy(0, 1)
        await b.until(lambda: len(b.model.pages) == 2)
    assert b.model.lane[1, 0] == 0
    if g["lanes"] > 2:
        b.group(Entry(kind=TRIM))
        b.wait(1, 4)
        await die_states(b, [3] * dies)
        await b.until(lambda: len(b.model.pages) == 3)
        assert b.model.lane[2, 0] != 0
    b.auto_program = True
    await b.flushed()


@cocotb.test()
async def append_stalls_without_a_next_block_and_goes_on_when_one_comes(dut):
    b = await bench(dut, blocks=2)
    count = b.g["pagesPerBlock"] * b.g["lanes"] // 2
    for i in range(count):
        b.group(Entry(kind=TRIM, lpn=i))
        await b.flushed()
    await b.clocks(5)
    assert b.model.left == int(dut.logLeft.value) == 0
    b.group(*plain())
    b.wait(1, count + 1)
    await b.clocks(200)
    assert b.model.head == count
    b.blocks(1)
    await b.until(lambda: b.model.durable == count + 1)
    await b.clocks(10)
    assert int(dut.logLeft.value) == b.model.left


@cocotb.test()
async def lane_takes_its_number_of_blocks_and_says_when_it_has_room(dut):
    most = geometry(GEOMETRY)["laneBlocks"]
    b = await bench(dut, blocks=most - 1)
    assert int(dut.logBlockRoom.value) == (1 << b.g["lanes"]) - 1
    b.blocks(2)
    await b.clocks(30)
    assert int(dut.logBlockRoom.value) == 0 and [len(x) for x in b.model.blocks] == [most] * b.g["lanes"]
    assert int(dut.logLeft.value) == b.model.left


@cocotb.test()
async def fifth_page_is_not_begun_while_four_are_under_way(dut):
    b = await bench(dut)
    b.auto_program = False
    for i in range(4 * MOST + 50):
        b.group(*plain(lpn=i))
    await b.until(lambda: b.model.head == 4 * MOST, 5000)
    await b.clocks(200)
    assert b.model.head == 4 * MOST and len(b.model.pages) == (b.g["lanes"] + 1) // 2, "one copy per lane"
    if b.g["lanes"] > 2:
        await b.finish_program(1)
        await b.clocks(200)
        assert b.model.head == 4 * MOST
    await b.finish_program(0)
    await b.until(lambda: b.model.head == 4 * MOST + 50)


@cocotb.test()
async def durable_is_a_prefix_when_programs_finish_out_of_order(dut):
    b = await bench(dut)
    if b.g["lanes"] < 3:
        return  # one copy per lane is under way
    b.auto_program = False
    for page in range(2):
        b.group(*plain(lpn=page))
        b.wait(1, page + 1)
        await b.until(lambda page=page: len(b.model.pages) == page + 1)
    await b.clocks(20)
    for number, copy in ((1, 1), (0, 1), (1, 0)):
        await b.until(lambda number=number, copy=copy: (number, copy) in b.flying)
        b.finish_copy(number, copy)
        await b.clocks(30)
        assert not b.ended and int(dut.pages.value) == 0
    b.finish_copy(0, 0)
    await b.until(lambda: len(b.ended) == 2)
    assert [e[0] for e in b.ended] == ["FLUSH"] * 2


@cocotb.test()
async def watermark_moves_over_complete_entries_only_in_whatever_order_they_finish(dut):
    b = await bench(dut)
    b.auto_data = False
    for kind in (TRIM, MAP, MAP, ABORT, RELOCATE, COMMIT, MAP):
        b.group(Entry(kind=kind))
    await b.until(lambda: b.model.head == 7)
    marks = []
    for which, mark in ((2, 1), (1, 1), (0, 9)):  # outstanding are 1 2 6: finish 6, 2, 1; a TRIM is added each time
        b.finish_data(which)
        await b.clocks(20)
        assert b.model.watermark == mark
        b.group(Entry(kind=TRIM))
        b.wait(0, len(b.model.plan))
        n = len(b.model.pages)
        await b.until(lambda n=n: len(b.model.pages) > n)
        marks.append(b.model.pages[-1].watermark)
        await b.until(lambda n=n: len(b.ended) == n + 1)
    assert marks == [0, 1, 9], "complete, and in pages that stand twice"


@cocotb.test()
async def append_waits_while_more_than_895_entries_are_above_the_watermark(dut):
    b = await bench(dut)
    b.auto_data = False
    for i in range(1100):
        b.group(*plain(lpn=i))
    await b.until(lambda: b.model.head == 896, 10000)
    await b.clocks(100)
    assert b.model.head == 896
    b.finish_data(1)
    await b.clocks(100)
    assert b.model.head == 896
    b.finish_data(0)
    await b.until(lambda: b.model.head == 898)
    await b.clocks(100)
    assert b.model.head == 898
    b.auto_data = True
    await b.until(lambda: b.model.watermark == 1100, 10000)
    await b.flushed()
    b.whole()


@cocotb.test()
async def page_that_the_memory_refused_is_never_programmed(dut):
    b = await bench(dut)
    b.b_resp, b.model.fault = 2, True
    b.group(*plain())
    b.wait(1, 1)
    await b.until(lambda: b.ended)
    await b.clocks(100)
    assert b.ended[0][2] == WRITE_FAULT and not b.model.pages


@cocotb.test()
async def page_is_programmed_only_after_the_memory_answered_every_burst(dut):
    b = await bench(dut)
    for i in range(9):
        b.group(*plain(lpn=i))
    b.wait(1, 9)
    b.auto_memory = False
    await b.clocks(100)
    assert not b.model.pages
    b.auto_memory = True
    await b.until(lambda: b.ended)


@cocotb.test()
async def nothing_is_taken_before_enable_and_enable_low_forgets_everything(dut):
    b = await bench(dut, enable=False)
    b.group(*plain())
    b.wait(1, 1)
    await b.clocks(100)
    assert b.model.head == 0 and b.model.blocks[0] == [] and int(dut.logBlockRoom.value) == 0
    dut.enable.value = 1
    await b.until(lambda: b.ended)
    b.auto_data = False
    b.group(write(9), write(9))
    await b.until(lambda: b.model.head == 3)
    dut.enable.value = 0
    await b.clocks(2)
    assert [int(h.value) for h in (dut.head, dut.pages, dut.dirty, dut.logLeft, dut.fault)] == [0] * 5
    b.task.cancel()
    b = await bench(dut)
    assert int(dut.head.value) == 0
    b.group(commit(9, 0))
    b.wait(0, 1, 9)
    await b.until(lambda: b.committed == [9])


@cocotb.test()
async def latencies_are_as_stated(dut):
    b = await bench(dut)
    b.slow_memory = 0
    for i in range(60):
        b.group(*plain(lpn=i))
    await b.until(lambda: b.model.head == 60)
    await b.clocks(20)
    per = (b.times["append", 59] - b.times["append", 9]) / 50
    tag = b.wait(1, 60)
    await b.until(lambda: b.ended)
    to_program, to_end = b.times["program", 0] - b.times["wait", tag], b.times["end", tag] - b.times["program", 0]
    b.group(commit(2, 0))
    tag = b.wait(0, 61, 2)
    await b.until(lambda: len(b.ended) == 2)
    to_done = b.times["end", tag] - b.times["tx", 2]
    text = "clocks per append %.1f, waiter to program %d, program to waitDone %d, tx to waitDone %d"
    dut._log.info(text, per, to_program, to_end, to_done)
    one_lane = b.g["lanes"] == 1  # the second copy begins when the first has ended
    assert per == 5 and to_program <= 24 and to_end <= (24 if one_lane else 8)


@cocotb.test()
async def random_histories_agree_with_the_model(dut):
    seed = int(os.environ.get("SEED", "1"))
    dut._log.info("SEED=%d", seed)
    rng = random.Random(seed)
    b = await bench(dut, stall=0.25)
    b.auto_blocks = True
    counts, use, waiting = [0] * 32, [1] * 32, {}
    while len(b.model.plan) < 2600:
        phase = len(b.model.plan) // 260
        b.finish_rate, b.stall, b.slow_memory = (
            (0.3, 0.02, 0.004)[phase % 3],
            (0.3, 0.05, 0.6)[phase % 3],
            (5, 40)[phase % 2],
        )
        for e in b.ended:
            waiting.pop(e[1], None)
        do, free = rng.random(), [t for t in range(32) if t not in waiting.values()]
        if do < 0.35:
            b.group(
                *plain(
                    rng.choice([1, 1, 2, 5, 32]),
                    rng.randrange(1000),
                    ordered=rng.randrange(2),
                    sequence=rng.getrandbits(48),
                )
            )
        elif do < 0.75 and free:
            t = rng.choice(free)
            counts[t] += 1
            b.group(write(t, rng.randrange(1000), use[t]))
        elif do < 0.85 and free and len(b.tags) > 2:
            t = rng.choice(free)
            after = max(0, len(b.model.plan) - rng.choice([1, 10, 100, 1000]))
            waiting[b.wait(0, b.group(commit(t, counts[t], use[t])), t, int(rng.random() < 0.3), after)] = t
            counts[t], use[t] = 0, use[t] + 1
        elif do < 0.9 and len(b.tags) > 2:
            at = max(0, len(b.model.plan) - rng.choice([0, 0, 0, 1, 5, 200]))
            b.wait(1, at, after=rng.choice([0, at]))
        elif do < 0.95:
            b.group(Entry(kind=rng.choice([TRIM, ABORT, RELOCATE]), lpn=rng.randrange(1000), arg=rng.randrange(1000)))
        await b.until(lambda: len(b.append_in.queue) < 40 and not b.later, 20000)
        if rng.random() < 0.02:
            await b.clocks(rng.randrange(400))
    b.finish_rate, b.stall = 0.5, 0.1
    await b.until(lambda: not b.append_in.queue, 20000)
    await b.until(lambda: b.model.watermark == len(b.model.plan), 20000)
    await b.flushed()
    await b.until(lambda: len(b.tags) == 32, 20000)
    await b.clocks(20)
    b.whole()
    sizes = [len(p.entries) for p in b.model.pages]
    kinds = [e[0] for e in b.ended]
    commits, flushes = kinds.count("COMMIT"), kinds.count("FLUSH")
    text = "%d entries in %d pages of %d to %d, %d commits, %d flushes"
    dut._log.info(text, b.model.head, len(sizes), min(sizes), max(sizes), commits, flushes)
    assert len(sizes) > 20 and min(sizes) < 10 and max(sizes) > 90 and commits > 30 and flushes > 15


@cocotb.test()
async def a_relocate_does_not_wait_for_a_group_that_a_fault_has_cut_off(dut):
    b = await bench(dut)
    b.group(*plain(2)[:1])
    await b.until(lambda: b.model.head == 1)
    dut.giveUp.value = 1
    b.model.fault = True
    await b.clocks(20)
    assert int(dut.fault.value)
    taken = []
    b.relocates.fired = taken.append
    b.relocates.queue.append(Entry(kind=RELOCATE).payload)
    await b.until(lambda: taken, 100)


@pytest.mark.parametrize("preset", ["tiny", "sim"])
def test_commit_log(preset):
    start(preset, __name__)
