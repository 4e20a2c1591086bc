# SPDX-License-Identifier: Apache-2.0
"""The data path and a host that stops in the middle of a WRITE: ABORTED, nothing has changed, others go on
(bench/datapath_bench.py). What FrameFill does alone is in test_frame_fill.py."""

import os

import cocotb

from cocotb_tests.bench.amount import amount
from cocotb_tests.bench.datapath_bench import (
    ABORT,
    BARRIER,
    COMMIT,
    FLUSH,
    QUERY,
    READ,
    RFLUSH,
    SUCCESS,
    TRIM,
    WRITE,
    DataPathBench,
)
from cocotb_tests.bench.datapath_engine import COMMITTED, FREE, OPEN
from cocotb_tests.bench.datapath_traffic import verilog
from cocotb_tests.bench.runner import run
from cocotb_tests.data.random_commands import random_run
from opentxssd.facts import BEATS, LogKind, Query, Status

ABORTED = Status.ABORTED
simulated = cocotb.test(timeout_time=60, timeout_unit="ms")


async def begin(dut, timeout=1):
    b = await DataPathBench(dut).begin()
    b.pin["hostTimeout"].set(timeout)
    return b


def stopped(b, lba, count, beats, txid=None, **more):
    tag = b.submit(WRITE, lba, count, txid, **more)
    b.host.stopped[tag] = beats
    return tag


async def status(b, tag):
    await b.until(lambda: tag in b.results)
    return b.results[tag]["status"]


@simulated
@cocotb.parametrize(beats=[0, 1, 33, BEATS - 1, BEATS, 3 * BEATS - 1])
async def nothing_of_it_is_linked_or_logged_and_its_frames_and_pages_come_back(dut, beats):
    b = await begin(dut)
    assert await b.run(WRITE, 5, 3) == SUCCESS
    await b.until(lambda: not b.dirty)
    before = len(b.log), len(b.ops)
    assert await status(b, stopped(b, 5, 3, beats)) == ABORTED
    b.host.late = 0.5
    assert await b.run(WRITE, 20, 4) == SUCCESS
    await b.until(lambda: not b.dirty)
    assert [e["lpn"] for e in b.log[before[0] :]] == [20, 21, 22, 23]
    assert not any(o["lpn"] < 20 for o in b.ops[before[1] :] if o["op"] != 3)
    fetched, settled = (b.flows[n][2] for n in ("fetched", "settled"))
    await b.clocks(5)
    assert sum(fetched) == sum(settled) == 10
    assert await b.run(READ, 5, 3) == SUCCESS and b.blocks[b.last] == {0: 1, 1: 2, 2: 3}
    await b.quiet()
    await b.all_frames_are_free(taken=True)


@simulated
@cocotb.parametrize(
    flags=[dict(fua=1), dict(barrier=1), dict(txid=3), dict(txid=3, commit=1), dict(txid=3, commit=1, fua=1)]
)
async def of_any_kind(dut, flags):
    b = await begin(dut)
    assert await status(b, stopped(b, 5, 2, 700, **flags)) == ABORTED
    assert not b.log and not b.waits and b.state[3] == FREE and b.use[3] == 0
    if "txid" in flags:
        assert await b.run(WRITE, 6, 1, txid=3) == SUCCESS and await b.run(WRITE, 7, 1, txid=3) == SUCCESS
        assert await status(b, stopped(b, 5, 2, 1, **flags)) == ABORTED
        assert b.state[3] == OPEN and b.count[3] == 2
        assert await b.run(COMMIT, txid=3) == SUCCESS and b.log[-1]["arg"] == 2 and b.state[3] == COMMITTED
    else:
        assert await b.run(WRITE, 6) == SUCCESS
        await b.until(lambda: not b.dirty)
    assert await b.run(READ, 5, 2) == SUCCESS and b.blocks[b.last] == {0: 0, 1: 3}
    await b.quiet()
    await b.all_frames_are_free()


@simulated
async def all_that_depends_on_no_data_goes_on_meanwhile(dut):
    b = await begin(dut, 200)
    b.host.mixed = 0.01
    stops = [stopped(b, 10 * n, 2, 300 * n) for n in range(3)]
    await b.clocks(50)
    assert await b.run(WRITE, 100, 2) == SUCCESS and await b.run(READ, 100, 2) == SUCCESS
    assert await b.run(WRITE, 110, 1, txid=4) == SUCCESS and await b.run(COMMIT, txid=4) == SUCCESS
    assert await b.run(TRIM, 100) == SUCCESS and await b.run(FLUSH) == SUCCESS
    assert await b.run(RFLUSH, 0, 200) == SUCCESS and await b.run(QUERY, arg=Query.CAPACITY) == SUCCESS
    assert not any(t in b.results for t in stops)
    b.pin["hostTimeout"].set(1)
    assert [await status(b, t) for t in stops] == [ABORTED] * 3
    b.host.mixed = 0.0
    await b.quiet()
    await b.all_frames_are_free()


@simulated
async def a_barrier_behind_it_closes_its_epoch_when_it_has_ended(dut):
    b = await begin(dut)
    assert await b.run(WRITE, 0) == SUCCESS
    stop = stopped(b, 5, 2, 600)
    barrier, behind = b.submit(BARRIER), b.submit(WRITE, 9)
    loose = b.submit(TRIM, 20, orderless=1)
    await b.until(lambda: loose in b.results)
    assert not {stop, barrier, behind} & set(b.results)
    assert [await status(b, t) for t in (stop, barrier, behind)] == [ABORTED, SUCCESS, SUCCESS]
    assert await b.run(WRITE, 10) == SUCCESS and await b.run(ABORT, txid=2) != SUCCESS
    await b.until(lambda: not b.dirty)
    assert [(e["lpn"], e["epoch"]) for e in b.log if e["kind"] == LogKind.MAP] == [(0, 0), (9, 1), (10, 1)]
    await b.quiet()


@simulated
@cocotb.parametrize(mixed=[0.0, 0.05])
async def random_commands_of_a_host_that_stops_now_and_then(dut, mixed):
    seed = 3000 + int(os.environ.get("SEED", "1"))
    b = await random_run(dut, amount(150, 900), 0.0, seed, stops=0.3, mixed=mixed)
    assert (WRITE, ABORTED) in b.seen


def test_stopped_host():
    run("otx_data_path", [verilog()], __name__)
