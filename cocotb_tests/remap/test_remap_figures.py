# SPDX-License-Identifier: Apache-2.0
"""Remap engine: clocks, of single ops, many of them, walks beside them, and commits."""

import cocotb
from cocotb.triggers import FallingEdge

from cocotb_tests.bench.remap_bench import SOURCES, bench, buf, nand
from cocotb_tests.bench.runner import run
from cocotb_tests.models.remap_model import Op, State, TxOp

LOOKUP, APPEND, PLAIN, SWAP, TRIM = Op
BEGIN, COMMITTING, COMMIT, ABORT, PREPARE, RECOVER = TxOp
simulated = cocotb.test(timeout_time=20, timeout_unit="ms")


@simulated
async def lookups_at_a_memory_that_answers_in_the_next_clock(dut):
    b = await bench(dut, latency=(1, 1))
    f = {"never written": (await b.op(LOOKUP, 0))["clocks"]}
    await b.op(PLAIN, 1, location=nand(1))
    f["in NAND"] = (await b.op(LOOKUP, 1))["clocks"]
    for length in (1, 2, 3, 8):
        for txid in range(b.chain_length(1), length):
            await b.tx(BEGIN, txid)
            await b.op(APPEND, 1, txid, nand(10 + txid))
        f[f"chain of {length}"] = (await b.op(LOOKUP, 1))["clocks"]
    for name, clocks in f.items():
        dut._log.info(f"LOOKUP, {name}: {clocks} clocks from op to rsp")
    assert f["never written"] <= 4 and f["in NAND"] <= 4 and f["chain of 1"] <= f["in NAND"] + 2
    assert [f[f"chain of {n}"] for n in (1, 2, 3, 8)] == [4 + 2 * n for n in (1, 2, 3, 8)]


@simulated
async def a_thousand_lookups_pass_at_one_per_clock(dut):
    b = await bench(dut, latency=(1, 1))
    await b.op(PLAIN, 5, location=nand(5))
    calls = [b.send(LOOKUP, n % 40) for n in range(1000)]
    await b.done(calls[-1])
    clocks = calls[-1].taken - calls[0].taken + 1
    dut._log.info(f"1,000 lookups: taken in {clocks} clocks, {calls[-1].answered - calls[0].taken} to the last answer")
    assert clocks <= 1002 and max(c.answered - c.taken for c in calls) <= 4


@simulated
async def sixteen_lookups_are_outstanding_all_the_time_at_the_latency_of_a_dram(dut):
    b, outstanding = await bench(dut), []
    b.held.append(lambda: outstanding.append(len(b.waiting)))
    for latency in (27, 40, 60):
        b.table.latency, b.table.most = (latency, latency), 0
        outstanding.clear()
        calls = [b.send(LOOKUP, n) for n in range(320)]
        await b.done(calls[-1])
        busy = outstanding[latency : -latency - 10]
        clocks = calls[-1].taken - calls[0].taken + 1
        dut._log.info(
            f"320 lookups at a memory latency of {latency}: {clocks / 320:.2f} clocks each, {min(busy)} to "
            f"{max(outstanding)} outstanding"
        )
        assert (
            b.table.most == 16
            and max(outstanding) >= 16
            and sum(busy) >= 15.5 * len(busy)
            and clocks <= 320 / 16 * (latency + 4)
        )


@simulated
async def a_merge_takes_at_most_4_clocks_per_entry(dut):
    b = await bench(dut, latency=(1, 1))
    for base in (False, True):
        await b.tx(BEGIN, 3)
        for lpn in range(200):
            b.send(APPEND, 100 + lpn, 3, nand(1000 * base + lpn + 1))
        while b.ops or b.waiting:
            await b.clocks(10)
        flip = await b.commit(3)
        while b.state(3) != State.FREE:
            await b.clocks(1)
        clocks = (b.clock - flip.taken) / 200
        dut._log.info(f"merge, {'over a base' if base else 'no base'}: {clocks:.2f} clocks per entry")
        assert clocks <= 4
        await b.drain()
    await b.tx(BEGIN, 4)
    for lpn in range(200):
        b.send(APPEND, 100 + lpn, 4, nand(5000 + lpn))
    while b.ops or b.waiting:
        await b.clocks(10)
    start = await b.tx(ABORT, 4)
    await b.drain()
    clocks = (b.clock - start.taken) / 200
    dut._log.info(f"abort: {clocks:.2f} clocks per entry")
    assert clocks <= 4


@simulated
async def a_range_takes_two_clocks_per_block_and_one_under_way_holds_up_no_lookup_for_long(dut):
    b = await bench(dut, latency=(1, 1))
    for lpn in range(32):
        await b.op(PLAIN, lpn, location=nand(lpn + 1))
    await b.tx(BEGIN, 1)
    for name, args in {"plain": (None,), "in a transaction": (1,)}.items():
        for blocks in (1, 32):
            call, behind = b.send(TRIM, 0, *args, blocks=blocks), b.send(LOOKUP, 100)
            await b.done(behind)
            await b.done(call)
            dut._log.info(
                f"TRIM of {blocks}, {name}: {call.answered - call.taken} clocks; the next op is taken "
                f"{behind.taken - call.taken} clocks after it"
            )
            assert not args[0] or b.model.txs[1].count == blocks
            assert args[0] or (
                call.answered - call.taken <= 2 * blocks + 12 and behind.taken - call.taken <= 2 * blocks + 6
            )


@simulated
async def figures_at_a_memory_latency_of_8(dut):
    b = await bench(dut)
    f = {}
    for txid in (1, 2):
        await b.tx(BEGIN, txid)
    f["LOOKUP, no chain"] = (await b.op(LOOKUP, 0))["clocks"]
    f["PLAIN, no chain"] = (await b.op(PLAIN, 0, location=buf(1)))["clocks"]
    f["PLAIN over a location"] = (await b.op(PLAIN, 0, location=buf(2)))["clocks"]
    f["SWAP, no chain"] = (await b.op(SWAP, 0, location=buf(2), new=nand(2)))["clocks"]
    f["APPEND, first version"] = (await b.op(APPEND, 0, 1, buf(3)))["clocks"]
    f["LOOKUP, chain of 1"] = (await b.op(LOOKUP, 0))["clocks"]
    f["APPEND, chain of 1 of another"] = (await b.op(APPEND, 0, 2, buf(4)))["clocks"]
    f["APPEND, hit"] = (await b.op(APPEND, 0, 2, buf(5)))["clocks"]
    f["SWAP in the first entry"] = (await b.op(SWAP, 0, location=buf(5), new=nand(5)))["clocks"]
    f["PLAIN under a chain of 2"] = (await b.op(PLAIN, 0, location=nand(6)))["clocks"]
    await b.tx(BEGIN, 3)
    for lpn in range(64):
        await b.op(APPEND, 100 + lpn, 3, nand(100 + lpn))
    flip = await b.commit(3)
    await b.drain()
    f["merge, per entry without a base to release"] = round((b.clock - flip.taken) / 64, 1)
    for name, clocks in f.items():
        dut._log.info(f"{name}: {clocks} clocks")
    assert f["LOOKUP, no chain"] <= 12


@simulated
async def walks_go_on_while_ops_come_without_a_pause(dut):
    b = await bench(dut, latency=(2, 2))
    await b.tx(BEGIN, 1)
    for lpn in range(10):
        await b.op(APPEND, lpn, 1, nand(lpn + 1))
    await b.commit(1)
    sent = [b.send(LOOKUP, 50) for _ in range(800)]
    for _ in range(100_000):
        await FallingEdge(dut.clk)
        if b.state(1) == State.FREE:
            break
    passed = sum(c.taken is not None for c in sent)
    assert 10 * 60 <= passed <= 11 * 64 + 2, f"10 entries were merged while {passed} ops passed"
    b.ops.clear()
    await b.drain()


@simulated
async def a_commit_of_1000_entries_takes_as_long_as_of_one(dut):
    b = await bench(dut, latency=(1, 2))
    waits, seen = {}, []
    b.held.append(
        lambda: seen.append(
            (b.clock, int(dut.evCommitTaken.value), int(dut.evCommitVisible.value), int(dut.evTxid.value))
        )
    )
    for size in (1, 1000):
        await b.tx(BEGIN, 1)
        for lpn in range(size):
            b.send(APPEND, lpn, 1, nand(5000 * size + lpn))
        while b.ops or b.waiting:
            await b.clocks(10)
        await b.tx(COMMITTING, 1)
        await b.clocks(5)
        seen.clear()
        offered = b.clock + 1
        flip = await b.tx(COMMIT, 1)
        await b.clocks(3)
        taken = [clock for clock, now, _, _ in seen if now]
        visible = [clock for clock, _, now, txid in seen if now and txid == 1]
        assert taken == [flip.taken] and len(visible) == 1
        waits[size] = (flip.taken - offered, visible[0] - flip.taken)
        assert await b.location(size - 1) == nand(5000 * size + size - 1)
        start = b.clock
        await b.drain()
        wait, flip_time = waits[size]
        dut._log.info(
            f"commit of {size}: taken {wait} clocks after it was offered, visible {flip_time} later, merged in "
            f"{b.clock - start}"
        )
    assert waits[1] == waits[1000] == (0, 1)


def test_remap_figures():
    run("otx_remap_engine", SOURCES, __name__, depth=2)
