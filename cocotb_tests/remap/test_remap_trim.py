# SPDX-License-Identifier: Apache-2.0
"""Remap engine: TRIM of a range, plain and in a transaction, as one op with one answer."""

import cocotb

from cocotb_tests.bench.remap_bench import SOURCES, G, bench, buf, nand
from cocotb_tests.bench.runner import run
from cocotb_tests.models.remap_model import NONE, VER, Op, State, TxOp, word

LOOKUP, APPEND, PLAIN, SWAP, TRIM = Op
BEGIN, COMMITTING, COMMIT, ABORT, PREPARE, RECOVER = TxOp
simulated = cocotb.test(timeout_time=2, timeout_unit="ms")


async def fill(b, first, blocks, base=1):
    """Blocks that have been written: NAND `base + LPN`."""
    for lpn in range(first, first + blocks):
        b.send(PLAIN, lpn, location=nand(base + lpn))
    await b.drain()


async def locations(b, lpns, txid=None):
    """Of all blocks at one instant."""
    lpns = list(lpns)
    calls = [b.send(LOOKUP, lpn, txid, last=n == len(lpns) - 1) for n, lpn in enumerate(lpns)]
    return [(await b.done(c))["location"] for c in calls]


@simulated
async def a_plain_range_reads_as_none_and_its_neighbours_stay(dut):
    b = await bench(dut)
    await fill(b, 10, 40)
    for first, blocks in ((20, 1), (30, 7), (12, 2)):
        before = b.released.copy()
        answer = await b.op(TRIM, first, location=word(VER, 5), blocks=blocks)  # a location is ignored
        assert not answer["error"] and not answer["hit"] and answer["location"] == NONE
        assert sorted(b.released[len(before) :]) == [nand(1 + lpn) for lpn in range(first, first + blocks)]
    gone = {20, 12, 13, *range(30, 37)}
    assert await locations(b, range(10, 50)) == [NONE if lpn in gone else nand(1 + lpn) for lpn in range(10, 50)]
    await b.op(TRIM, 10, blocks=32)
    assert await locations(b, range(10, 50)) == [NONE] * 32 + [nand(1 + lpn) for lpn in range(42, 50)]
    assert len(b.released) == len(set(b.released)) == 32


@simulated
async def a_range_may_end_with_the_last_block(dut):
    b = await bench(dut)
    for blocks in (1, 5, 32):
        await fill(b, G.lbas - 33, 33, 10_000 * blocks)
        assert not (await b.op(TRIM, G.lbas - blocks, blocks=blocks))["error"]
        assert (
            await locations(b, range(G.lbas - blocks, G.lbas)) == [NONE] * blocks
            and await b.location(G.lbas - 33) != NONE
        )


@simulated
async def a_range_in_a_transaction_is_seen_by_it_alone_until_it_commits(dut):
    b = await bench(dut)
    await fill(b, 100, 12)
    for txid in (1, 2, 3):
        await b.tx(BEGIN, txid)
    for lpn in (102, 105):  # own versions, and chains with other transactions
        await b.op(APPEND, lpn, 2, buf(lpn))
        await b.op(APPEND, lpn, 3, buf(1000 + lpn))
    await b.op(APPEND, 103, 1, buf(103))
    assert not (await b.op(TRIM, 101, 2, blocks=8))["error"]
    assert b.count(2) == 8 and b.count(3) == 2 and sorted(b.released) == [buf(102), buf(105)], (
        "blocks that have an entry keep it"
    )
    old = [nand(1 + lpn) for lpn in range(100, 112)]
    assert await locations(b, range(100, 112)) == old
    assert await locations(b, range(100, 112), 2) == [nand(101), *[NONE] * 8, *old[9:]]
    assert await b.location(105, 3) == buf(1105) and await b.location(103, 1) == buf(103)
    await b.commit(2)
    assert await locations(b, range(100, 112)) == [nand(101), *[NONE] * 8, *old[9:]]
    await b.commit(1)
    await b.tx(ABORT, 3)
    await b.drain()
    assert b.map_word(103) == buf(103) and {b.map_word(lpn) for lpn in range(101, 109) if lpn != 103} == {NONE}


@simulated
async def an_aborted_range_leaves_nothing(dut):
    b = await bench(dut)
    await fill(b, 0, 32)
    await b.tx(BEGIN, 31)
    await b.op(TRIM, 0, 31, blocks=32)
    await b.op(TRIM, 16, 31, blocks=20)
    assert b.count(31) == 36
    await b.tx(ABORT, 31)
    await b.drain()
    assert await locations(b, range(40)) == [nand(1 + lpn) for lpn in range(32)] + [NONE] * 8 and b.released == []


@simulated
async def a_range_that_may_not_be_done_is_refused_and_changes_nothing(dut):
    b = await bench(dut)
    await fill(b, 0, 4)
    await fill(b, G.lbas - 4, 4)
    for txid in (1, 2, 3):
        await b.tx(BEGIN, txid)
    await b.op(APPEND, 1, 1, buf(1))
    await b.tx(PREPARE, 2)
    await b.tx(COMMITTING, 3)
    words, released = b.table.beats.copy(), b.released.copy()
    refused = [(0, None, 0), (0, None, 33), (0, None, 63), (0, 1, 0), (0, 1, 33)]
    refused += [(0, 2, 4), (0, 3, 4), (0, 4, 1)]  # PREPARED, COMMITTING, FREE
    refused += [
        (G.lbas - 3, None, 4),
        (G.lbas - 3, 1, 4),
        (G.lbas, None, 1),
        (G.lbas - 1, None, 32),
        (0xFFFFFFFF, None, 2),
        (1 << 31, 1, 1),
        (0xFFFFFFFF, None, 1),
    ]
    for lpn, txid, blocks in refused:
        calls = [b.send(TRIM, lpn, txid, blocks=blocks), b.send(LOOKUP, 0)]  # what comes next is not held up
        assert (await b.done(calls[0]))["error"], (lpn, txid, blocks)
        assert (await b.done(calls[1]))["location"] == nand(1)
    assert b.table.beats == words and b.released == released and b.count(1) == 1 and int(dut.memoryErrors.value) == 0
    assert not (await b.op(TRIM, 0, 1, blocks=4))["error"] and b.count(1) == 4
    await b.tx(COMMIT, 3)
    await b.drain()


@simulated
async def blocks_that_do_not_fit_into_the_table_are_left_out(dut):
    b = await bench(dut)
    await fill(b, 50, 6)
    await b.tx(BEGIN, 1)
    await b.op(APPEND, 54, 1, buf(1))
    b.set_count(1, G.tx_entries - 2)
    assert (await b.op(TRIM, 50, 1, blocks=6))["error"] and b.count(1) == G.tx_entries
    assert await locations(b, range(50, 56), 1) == [NONE, NONE, nand(53), nand(54), NONE, nand(56)], (
        "two new entries fit, one was there"
    )
    assert not (await b.op(TRIM, 50, 1, blocks=2))["error"] and b.released == [buf(1)]


@simulated
async def a_commit_in_the_middle_of_a_range_comes_after_all_of_it(dut):
    b = await bench(dut, latency=(6, 12))
    for delay in range(0, 80, 4):
        await b.tx(BEGIN, 1)
        for lpn in range(60, 70):
            await b.op(APPEND, lpn, 1, nand(1000 * delay + lpn))
        await b.tx(COMMITTING, 1)
        write = b.send(TRIM, 58, blocks=14)
        while write.taken is None:
            await b.clocks(1)
        await b.clocks(delay)
        flip = await b.tx(COMMIT, 1)
        assert flip.taken - flip.offered < 2
        assert await locations(b, range(60, 70)) == [nand(1000 * delay + lpn) for lpn in range(60, 70)]
        await b.done(write)
        await b.drain()
    assert b.seen["commit beside an op"] > 15


@simulated
async def a_range_in_an_older_group_sees_that_groups_instant(dut):
    b = await bench(dut)
    await fill(b, 60, 6)
    await b.tx(BEGIN, 1)
    for lpn in (61, 63):
        await b.op(APPEND, lpn, 1, buf(lpn))
    await b.tx(COMMITTING, 1)
    await b.op(LOOKUP, 200, last=False)
    await b.tx(COMMIT, 1)
    await b.op(TRIM, 60, blocks=6, last=False)
    assert await b.location(61) == NONE, "the same group: before the commit, after the range"
    assert await locations(b, range(60, 66)) == [NONE, buf(61), NONE, buf(63), NONE, NONE]
    await b.drain()
    assert b.map_word(61) == buf(61)


@simulated
async def a_transaction_does_not_end_inside_a_range(dut):
    b = await bench(dut, latency=(3, 9))
    for txid, end in ((1, ABORT), (2, COMMITTING), (3, PREPARE)):
        await b.tx(BEGIN, txid)
        write = b.send(TRIM, 300, txid, blocks=20)
        while write.taken is None:
            await b.clocks(1)
        request = await b.tx(end, txid)
        begin = await b.tx(BEGIN, 10 + txid)
        assert not (await b.done(write))["error"] and b.model.txs[txid].count == 20
        assert min(request.taken, begin.taken) - write.taken > 20 * 3, "it did not wait for all blocks"
    await b.tx(COMMIT, 2)
    await b.drain()
    assert b.state(1) == b.state(2) == State.FREE and b.count(3) == 20


@simulated
async def ranges_keep_their_order_and_other_blocks_overtake(dut):
    b = await bench(dut, latency=(2, 20))
    await fill(b, 0, 64)
    b.answer_ready = False
    read = b.send(LOOKUP, 9)
    write, behind = b.send(TRIM, 0, blocks=10), b.send(LOOKUP, 40)
    await b.clocks(200)
    assert write.taken and behind.taken is None and [b.map_word(lpn) for lpn in (8, 9)] == [NONE, nand(10)], (
        "the part of a block waits for the lookup's answer"
    )
    b.answer_ready = True
    await b.done(read)
    assert read.rsp["location"] == nand(10)
    await b.done(write)
    calls = [
        b.send(TRIM, 10, blocks=10),
        b.send(LOOKUP, 12),
        b.send(PLAIN, 12, location=buf(12)),
        b.send(TRIM, 15, blocks=20),
        b.send(LOOKUP, 50),
        b.send(TRIM, 33, blocks=1),
    ]
    for c in calls:
        await b.done(c)
    trims = [c.answered for c in calls if c.fields["op"] == TRIM]
    assert trims == sorted(trims) and calls[1].rsp["location"] == NONE and await b.location(12) == buf(12)
    await b.drain()


@simulated
async def a_memory_error_in_a_part_is_the_answer_of_the_range_and_the_other_blocks_are_done(dut):
    b = await bench(dut, check=False, latency=(2, 4))
    hits = 0
    for txid in (None, 3):
        for nth in range(0, 26, 3):
            await b.tx(BEGIN, 3)
            for lpn in range(20, 26):
                await b.op(PLAIN, lpn, location=nand(lpn))
            start, before = b.table.accesses, int(dut.memoryErrors.value)
            b.table.bad = lambda address, write, at=start + nth + 1: b.table.accesses == at
            error = (await b.op(TRIM, 20, txid, blocks=6))["error"]
            await b.clocks(3)
            b.table.bad = lambda address, write: False
            assert error == (nth < b.table.accesses - start) and int(dut.memoryErrors.value) - before == error
            seen = [await b.location(20 + n, txid) for n in range(6)]
            hurt = [n for n in range(6) if seen[n] != NONE]
            assert len(hurt) == error and all(seen[n] == nand(20 + n) for n in hurt), f"{seen}, error in access {nth}"
            assert txid is None or b.count(3) == 6 - len(hurt)
            assert not (await b.op(TRIM, 20, txid, blocks=6))["error"], "the next range has no error of this one"
            hits += error
            await b.tx(ABORT, 3)
            await b.drain()
            b.table.beats.clear()
    assert hits >= 10


def test_remap_trim():
    run("otx_remap_engine", SOURCES, __name__, depth=2)
