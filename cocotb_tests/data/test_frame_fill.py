# SPDX-License-Identifier: Apache-2.0
"""FrameFill: WRITEs side by side, and a host that stops (bench/frame_fill_bench.py)."""

import os
import random

import cocotb

from cocotb_tests.bench.amount import amount
from cocotb_tests.bench.frame_fill_bench import FLUSH, GEOMETRY, UNIT, FrameFillBench
from cocotb_tests.bench.runner import run
from cocotb_tests.bench.spinal import generated
from opentxssd.facts import BEATS, Opcode, Status

SUCCESS, ABORTED, READ_ONLY, WRITE_FAULT = Status.SUCCESS, Status.ABORTED, Status.READ_ONLY, Status.WRITE_FAULT
simulated = cocotb.test(timeout_time=60, timeout_unit="ms")


@simulated
async def a_write_has_its_data_and_its_frames_in_order(dut):
    b = await FrameFillBench(dut).begin()
    tag = b.write(1)
    assert await b.ends(tag) == [SUCCESS]
    behind = b.results[tag][1] - b.last[tag]
    dut._log.info("one block: %d clocks behind its last beat", behind)
    assert behind <= 12 + b.memory.write_latency + 6, behind
    start = b.clock
    assert await b.ends(b.write(32)) == [SUCCESS]
    dut._log.info("32 blocks: %d clocks", b.clock - start)
    assert b.clock - start < 32 * BEATS + 100
    await b.quiet()


@simulated
@cocotb.parametrize(beats=[0, 1, 31, 32, 33, BEATS - 1, BEATS, BEATS + 40, 2 * BEATS - 1])
@cocotb.parametrize(timeout=[1, 3])
async def a_write_whose_data_stops_is_aborted_in_time(dut, beats, timeout):
    b = await FrameFillBench(dut).begin(timeout)
    tag = b.write(2, stop=beats)
    await b.until(lambda: tag in b.results)
    since = b.results[tag][1] - b.last[tag]
    assert b.results[tag][0] == ABORTED and timeout * UNIT < since <= (timeout + 1) * UNIT + 60, since
    b.host.late = 1.0
    await b.clocks(2 * BEATS + 100)
    assert not b.host.old and await b.ends(b.write(3)) == [SUCCESS], "late beats"
    await b.quiet()


@simulated
async def a_block_that_the_host_cannot_give_ends_its_write_alone(dut):
    """Also without a timeout, in whatever order they come, and no further block of it is asked for."""
    b = await FrameFillBench(dut).begin(0)
    for mixed in (0.0, 0.05):
        b.host.mixed = mixed
        for unread in range(4):
            tags = [b.write(4), b.write(4, unread=[unread]), b.write(1, unread=[0]), b.write(3)]
            assert await b.ends(*tags) == [SUCCESS, ABORTED, ABORTED, SUCCESS]
    b.host.mixed, start = 0.0, b.clock
    assert await b.ends(b.write(32, unread=[0])) == [ABORTED]
    assert b.clock - start < 3 * BEATS, "the rest of it is fetched"
    assert await b.ends(b.write(2, unread=[0, 1])) == [ABORTED]
    assert await b.ends(b.write(3)) == [SUCCESS]
    await b.quiet()


@simulated
async def one_that_stops_behind_a_block_that_it_cannot_give_ends_in_time(dut):
    b = await FrameFillBench(dut).begin(2)
    assert await b.ends(b.write(3, stop=BEATS + 9, unread=[0]), b.write(2)) == [ABORTED, SUCCESS]
    await b.quiet()


@simulated
async def without_a_timeout_a_write_waits_for_ever(dut):
    b = await FrameFillBench(dut).begin(0)
    tag = b.write(1, stop=7)
    await b.clocks(20 * UNIT)
    assert tag not in b.results
    del b.host.stopped[tag]
    assert await b.ends(tag) == [SUCCESS]
    await b.quiet()


@simulated
async def others_go_on_beside_writes_that_have_stopped(dut):
    b = await FrameFillBench(dut).begin(40)
    b.host.mixed = 0.01
    stopped = [b.write(9, stop=n) for n in (0, 100, 2000)]
    await b.until(lambda: not b.cmd.queue)
    for _ in range(6):
        assert await b.ends(b.write(2), b.submit(FLUSH), b.submit(Opcode.COMMIT, hasTx=1)) == [SUCCESS] * 3
    assert not any(t in b.results for t in stopped)
    assert await b.ends(*stopped, limit=50_000) == [ABORTED] * 3
    await b.quiet()


@simulated
async def four_that_have_stopped_end_one_after_the_other_and_commands_without_data_pass_them(dut):
    b = await FrameFillBench(dut).begin(4)
    b.host.mixed = 0.01
    start = b.clock
    stopped = [b.write(2, stop=5 * n) for n in range(4)]
    await b.until(lambda: not b.cmd.queue)
    assert b.takes() and not b.takes_writes()
    for _ in range(5):
        assert await b.ends(b.submit(FLUSH), limit=100) == [SUCCESS]
    fifth = b.write(1)
    assert await b.ends(*stopped, fifth) == [ABORTED] * 4 + [SUCCESS]
    assert 4 * 4 * UNIT < b.clock - start < 4 * 5 * UNIT + 2000
    await b.quiet()


@simulated
async def the_last_beat_in_the_last_clock_of_its_time_takes_nothing_from_the_next_one(dut):
    """The oldest request is over in any of the clocks around its deadline: the one behind it has a time of its own."""
    b = await FrameFillBench(dut).begin(1)
    b.in_last_clock, aborted = True, 0
    for k in range(4 * UNIT - 44, 4 * UNIT + 16):
        first, second = b.write(1, stop=BEATS - 1), b.write(1)
        await b.until(lambda: len(b.host.open) == 2)
        await b.clocks(k)
        b.host.stopped.clear()
        ends = await b.ends(first, second)
        assert ends[1] == SUCCESS, k
        aborted += ends[0] == ABORTED
        await b.clocks(700)
    assert 0 < aborted < 60


@simulated
async def a_host_that_answers_in_order_loses_only_the_write_that_it_stopped(dut):
    """Those behind it wait as long as it does, and must not be aborted for that."""
    b = await FrameFillBench(dut).begin(2)
    for turn in range(amount(8, 40)):
        tags = [b.write(b.rng.randint(1, 4), stop=b.rng.randrange(500) if n == turn % 4 else None) for n in range(4)]
        statuses = await b.ends(*tags)
        assert [s == ABORTED for s in statuses] == [n == turn % 4 for n in range(4)], statuses
    await b.quiet()


@simulated
async def a_slow_host_is_no_host_that_stops(dut):
    """A beat comes shortly before the time is over, again and again; those behind it wait much longer."""
    b = await FrameFillBench(dut).begin(1)
    tags = [b.write(1), b.write(2)]
    while tags[0] not in b.results:
        b.wdata.stall = 1.0
        await b.clocks(UNIT - 10)
        b.wdata.stall = 0.0
        await b.clocks(12)
    b.wdata.stall = 0.0
    assert await b.ends(*tags) == [SUCCESS] * 2
    await b.quiet()


@simulated
async def a_request_that_the_host_does_not_take_is_data_that_does_not_come(dut):
    b = await FrameFillBench(dut).begin(1)
    b.requests.open = False
    b.active[b.write(2, stop=0)]["stopped"] = True
    await b.until(lambda: not b.active)
    tag = b.write(2)
    b.requests.open = True  # the first request is for a WRITE that has ended
    assert await b.ends(tag) == [SUCCESS]
    await b.quiet()


@simulated
async def slow_memory_is_no_host_that_stops(dut):
    b = await FrameFillBench(dut).begin(1)
    tag = b.write(2)
    await b.clocks(200)
    for sink in b.memory.sinks:
        sink.open = False
    await b.clocks(10 * UNIT)
    for sink in b.memory.sinks:
        sink.open = True
    assert await b.ends(tag) == [SUCCESS]
    await b.quiet()


@simulated
async def slow_memory_that_takes_no_beat_of_one_write_costs_another_none_of_its_time(dut):
    b = await FrameFillBench(dut).begin(1)
    b.host.mixed = 0.1
    for sink in b.memory.sinks:
        sink.open = False
    oldest = b.write(1)
    b.host.stopped[oldest] = 0  # its beats would come behind those that wait for memory
    other = b.write(1)
    await b.clocks(10 * UNIT)
    b.host.stopped.clear()
    for sink in b.memory.sinks:
        sink.open = True
    assert await b.ends(oldest, other) == [SUCCESS] * 2
    await b.quiet()


@simulated
async def slow_memory_keeps_the_frames_of_a_write_that_has_stopped(dut):
    b = await FrameFillBench(dut).begin(1)
    for sink in b.memory.sinks:
        sink.open = False
    tag = b.write(2, stop=40)  # a burst has begun, and nothing waits at the port
    await b.clocks(5 * UNIT)
    assert tag not in b.results
    for sink in b.memory.sinks:
        sink.open = True
    assert await b.ends(tag) == [ABORTED]
    assert await b.ends(b.write(8), b.write(8)) == [SUCCESS] * 2
    await b.quiet()


@simulated
async def commands_without_data_find_a_place_whatever_has_its_data(dut):
    """Nobody takes `filled`: with four WRITEs in their places two others find room, and then all wait in line."""
    b = await FrameFillBench(dut).begin()
    b.filled.open = False
    tags = [b.write(1) for _ in range(4)]
    await b.until(lambda: len(b.fetches) == 4)
    for _ in range(2):
        assert b.takes() and b.takes_writes()
        tags.append(b.submit(FLUSH))
        await b.clocks(5)
    assert not b.takes() and not b.takes_writes()
    b.filled.open = True
    assert await b.ends(*tags) == [SUCCESS] * 6
    await b.quiet()


@simulated
async def a_write_in_its_place_keeps_one_in_line(dut):
    b = await FrameFillBench(dut).begin(0)
    b.filled.open = False
    tags = [b.write(1, stop=0) for _ in range(4)]
    await b.until(lambda: not b.cmd.queue)
    for _ in range(2):
        assert b.takes()
        tags.append(b.submit(FLUSH))
        await b.clocks(5)
    assert not b.takes()
    b.host.stopped.clear()
    await b.until(lambda: len(b.fetches) == 4)
    b.filled.open = True
    assert await b.ends(*tags) == [SUCCESS] * 6
    await b.quiet()


@simulated
async def after_a_fault_a_write_without_frames_goes_on_and_one_that_stops_too(dut):
    b = await FrameFillBench(dut).begin(2)
    kept = [b.free.queue.pop() for _ in range(GEOMETRY.write_frames - 4)]
    tags = [b.write(9), b.write(1, stop=3)]
    await b.clocks(10)
    b.fault.set(1)
    assert sorted(await b.ends(*tags)) == [READ_ONLY, ABORTED]
    b.free.queue += kept
    b.fault.set(0)
    assert await b.ends(b.write(9)) == [SUCCESS]
    await b.quiet()


@simulated
async def an_error_of_frame_memory_is_that_of_its_write_alone(dut):
    b = await FrameFillBench(dut).begin()
    b.memory.bad = {0, 1, 2}
    tags = [b.write(3), b.write(3)]
    statuses = await b.ends(*tags)
    assert WRITE_FAULT in statuses
    b.memory.bad = set()
    assert await b.ends(b.write(4)) == [SUCCESS]
    await b.quiet()


async def random_run(dut, count, stall, seed, mixed, timeout):
    b = await FrameFillBench(dut, seed, stall).begin(timeout)
    rng = random.Random(seed)
    b.host.mixed, b.host.late = mixed, 0.02
    ends = {SUCCESS: 0, ABORTED: 0}
    for _ in range(count):
        if rng.random() < 0.4:
            await b.until(lambda: b.tags and b.takes() and not b.cmd.queue, 100_000)
            b.submit(rng.choice([FLUSH, Opcode.TRIM, Opcode.BARRIER]))
        else:
            blocks = rng.choice([1, 1, 1, 2, 3, 8])
            await b.until(lambda blocks=blocks: b.room(blocks), 100_000)
            stop = rng.choice([0, 1, 31, 32, 511, rng.randrange(BEATS * blocks)]) if rng.random() < 0.5 else None
            unread = [rng.randrange(blocks)] if rng.random() < 0.2 else []
            b.write(blocks, stop if stop is None or stop < BEATS * blocks else 0, unread)
        if rng.random() < 0.02:
            await b.quiet()
        for status, _ in b.results.values():
            ends[status] += 1
        b.results.clear()
    await b.quiet()
    dut._log.info("seed %d: %d clocks, %d WRITEs aborted", seed, b.clock, ends[ABORTED])
    assert ends[ABORTED] > count // 8
    b.host.late = 0.0
    assert await b.ends(b.write(32), b.write(GEOMETRY.write_frames - 32), limit=60_000) == [SUCCESS] * 2


@simulated
@cocotb.parametrize((("mixed", "timeout"), [(0.0, 1), (0.01, 6), (0.3, 2)]))
async def random_writes_end_with_their_data_or_aborted_and_no_frame_is_lost(dut, mixed, timeout):
    await random_run(dut, amount(150, 4000), 0.0, int(os.environ.get("SEED", "1")), mixed, timeout)


@simulated
async def random_writes_with_stalls_on_all_sides(dut):
    await random_run(dut, amount(80, 1000), 0.3, 100 + int(os.environ.get("SEED", "1")), 0.1, 6)


def test_frame_fill():
    given = os.environ.get("OTX_DATAPATH_VERILOG_DIR")
    run("otx_frame_fill", [f"{given}/otx_frame_fill.v" if given else generated(GEOMETRY, "otx_frame_fill")], __name__)
