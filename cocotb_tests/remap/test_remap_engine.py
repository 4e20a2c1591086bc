# SPDX-License-Identifier: Apache-2.0
"""Remap engine: each operation alone, and what transactions do to each other."""

import random

import cocotb

from cocotb_tests.bench.remap_bench import SOURCES, G, bench, buf, nand
from cocotb_tests.bench.runner import run
from cocotb_tests.models.remap_model import NONE, Op, State, TxOp

LOOKUP, APPEND, PLAIN, SWAP, TRIM = Op
BEGIN, COMMITTING, COMMIT, ABORT, PREPARE, RECOVER = TxOp
simulated = cocotb.test(timeout_time=20, timeout_unit="ms")


@simulated
async def a_block_that_was_never_written_is_none(dut):
    b = await bench(dut)
    assert await b.location(0) == NONE and await b.location(G.lbas - 1) == NONE


@simulated
async def a_plain_write_is_read_by_everyone_and_releases_what_it_replaces(dut):
    b = await bench(dut)
    await b.op(PLAIN, 5, location=buf(1))
    await b.op(PLAIN, 4, location=buf(2))  # the other half of the same 64-bit beat
    assert [await b.location(lpn) for lpn in (4, 5)] == [buf(2), buf(1)]
    await b.op(PLAIN, 5, location=nand(3))
    await b.op(PLAIN, 5)  # trim
    assert await b.location(5) == NONE and b.released == [buf(1), nand(3)]


@simulated
async def a_version_is_seen_by_its_own_transaction_and_by_nobody_else(dut):
    b = await bench(dut)
    await b.op(PLAIN, 7, location=nand(1))
    await b.tx(BEGIN, 31)
    await b.tx(BEGIN, 2)
    assert not (await b.op(APPEND, 7, 31, buf(2)))["hit"]
    assert [await b.location(7, t) for t in (None, 2, 31)] == [nand(1), nand(1), buf(2)]
    own = await b.op(LOOKUP, 7, 31)
    assert own["own"] and not own["committing"] and b.count(31) == 1 and b.released == []
    await b.tx(COMMITTING, 31)
    assert (await b.op(LOOKUP, 7))["committing"] and (await b.op(LOOKUP, 7, 31))["own"]


@simulated
async def a_second_version_of_a_transaction_updates_the_entry(dut):
    b = await bench(dut)
    for txid in (3, 4):
        await b.tx(BEGIN, txid)
        await b.op(APPEND, 9, txid, buf(txid))
    for n in (5, 6):  # once with the entry of txid 4 before it in the chain
        assert (await b.op(APPEND, 9, 3, buf(n)))["hit"]
    assert b.released == [buf(3), buf(5)] and b.count(3) == 1
    assert (await b.op(APPEND, 9, 4))["hit"] and (await b.op(LOOKUP, 9, 4))["own"]
    assert [await b.location(9, t) for t in (None, 3, 4)] == [NONE, buf(6), NONE]
    await b.op(APPEND, 9, 3, buf(6))
    assert b.released == [buf(3), buf(5), buf(4)], "a location that stays in use was released"


@simulated
async def a_commit_flips_all_blocks_and_the_merge_frees_the_txid(dut):
    b = await bench(dut)
    for lpn in range(6):
        await b.op(PLAIN, lpn, location=nand(lpn + 1))
    await b.tx(BEGIN, 1)
    for lpn in range(6):
        await b.op(APPEND, lpn, 1, buf(lpn + 1))
    await b.commit(1)
    assert [await b.location(lpn) for lpn in range(6)] == [buf(n) for n in range(1, 7)]
    await b.drain()
    assert sorted(b.released) == [nand(n) for n in range(1, 7)]
    assert (b.state(1), b.count(1)) == (State.FREE, 0)
    assert [b.map_word(lpn) for lpn in range(6)] == [buf(n) for n in range(1, 7)], "the map still has chains"
    await b.tx(BEGIN, 1)
    dut.useTxid.value = 1
    await b.clocks(1)
    assert int(dut.useCount.value) == 2


@simulated
async def of_two_transactions_the_one_that_commits_later_remains(dut):
    b = await bench(dut)
    for first, second, lpn in ((1, 2, 10), (2, 1, 11)):
        await b.tx(BEGIN, 29)  # merged first: keeps the walker busy, so that both versions are still in the chain
        for other in range(20 * lpn, 20 * lpn + 20):
            await b.op(APPEND, other, 29, nand(other))
        for txid in (1, 2):
            await b.tx(BEGIN, txid)
            await b.op(APPEND, lpn, txid, nand(100 * lpn + txid))
        await b.tx(COMMITTING, first)
        await b.tx(COMMITTING, second)
        await b.commit(29)
        await b.tx(COMMIT, first)
        assert await b.location(lpn) == nand(100 * lpn + first)
        await b.tx(COMMIT, second)
        assert (
            await b.location(lpn) == nand(100 * lpn + second) and b.state(first) == b.state(second) == State.COMMITTED
        )
        await b.drain()
        assert await b.location(lpn) == nand(100 * lpn + second) and b.released.pop() == nand(100 * lpn + first)


@simulated
async def a_plain_write_replaces_what_is_committed_but_an_open_version_still_wins_later(dut):
    b = await bench(dut)
    await b.op(PLAIN, 3, location=nand(1))
    await b.tx(BEGIN, 29)  # merged first: keeps the walker busy while the rest happens
    for lpn in range(100, 120):
        await b.op(APPEND, lpn, 29, nand(lpn))
    for txid in (1, 2, 5):
        await b.tx(BEGIN, txid)
        await b.op(APPEND, 3, txid, nand(10 + txid))
    await b.tx(COMMITTING, 2)
    await b.commit(29)
    await b.commit(1)
    await b.commit(5)
    before = b.released.copy()
    await b.op(PLAIN, 3, location=nand(50))
    assert before == [] and sorted(b.released) == [nand(1), nand(11), nand(15)] and b.state(1) == State.COMMITTED
    assert await b.location(3) == nand(50)
    await b.tx(COMMIT, 2)
    assert await b.location(3) == nand(12)
    await b.drain()
    assert await b.location(3) == nand(12) and sorted(b.released) == [nand(1), nand(11), nand(15), nand(50)]


@simulated
async def an_aborted_transaction_leaves_nothing(dut):
    b = await bench(dut)
    await b.op(PLAIN, 1, location=nand(1))
    for txid in (6, 7, 8):
        await b.tx(BEGIN, txid)
        for lpn in (1, 2):
            await b.op(APPEND, lpn, txid, buf(10 * txid + lpn))
    await b.tx(ABORT, 7)  # in the middle of both chains
    assert [await b.location(1, t) for t in (None, 6, 7, 8)] == [nand(1), buf(61), nand(1), buf(81)]
    await b.drain()
    assert sorted(b.released) == [buf(71), buf(72)] and b.state(7) == State.FREE
    await b.tx(ABORT, 8)
    await b.tx(ABORT, 6)
    await b.drain()
    assert [await b.location(lpn) for lpn in (1, 2)] == [nand(1), NONE] and len(b.released) == 6
    assert b.map_word(1) == nand(1)
    await b.tx(BEGIN, 9)  # an empty transaction is walked as well
    await b.tx(ABORT, 9)
    await b.drain()
    assert b.state(9) == State.FREE


@simulated
async def a_swap_finds_whoever_holds_the_location(dut):
    b = await bench(dut)
    await b.op(PLAIN, 2, location=buf(1))
    await b.tx(BEGIN, 29)
    for lpn in range(100, 120):
        await b.op(APPEND, lpn, 29, nand(lpn))
    for txid in (1, 2):
        await b.tx(BEGIN, txid)
        await b.op(APPEND, 2, txid, buf(10 + txid))
    assert (await b.op(SWAP, 2, location=buf(1), new=nand(1)))["hit"]
    assert (await b.op(SWAP, 2, location=buf(11), new=nand(11)))["hit"]
    assert not (await b.op(SWAP, 2, location=buf(11), new=nand(99)))["hit"]
    assert not (await b.op(SWAP, 3, location=nand(1), new=nand(99)))["hit"], "LPN 3 does not hold it"
    assert not (await b.op(SWAP, 3, location=NONE, new=nand(99)))["hit"], "NONE is no location"
    await b.commit(29)
    await b.commit(2)
    assert (await b.op(SWAP, 2, location=buf(12), new=nand(12)))["hit"] and b.state(2) == State.COMMITTED
    assert [await b.location(2, t) for t in (None, 1)] == [nand(12), nand(11)]
    await b.drain()
    assert (await b.op(SWAP, 2, location=nand(12), new=nand(13)))["hit"], "the base under an open entry"
    assert await b.location(2) == nand(13) and b.released == [nand(1)]


@simulated
async def a_request_in_the_wrong_state_changes_nothing(dut):
    b = await bench(dut)
    for ops in ([COMMITTING, COMMIT, ABORT], [BEGIN, BEGIN, COMMIT], [COMMITTING, COMMITTING, ABORT, BEGIN], [COMMIT]):
        for op in ops:
            await b.tx(op, 4)
            await b.clocks(1)
            b.sync(4)
    assert b.model.txs[4].use == 1 and b.model.commits == 1
    await b.drain()


@simulated
async def a_chain_may_have_an_entry_of_every_transaction(dut):
    b = await bench(dut)
    for txid in range(32):
        await b.tx(BEGIN, txid)
        await b.op(APPEND, 77, txid, nand(1000 + txid))
    assert await b.location(77) == NONE
    assert [await b.location(77, t) for t in (0, 15, 31)] == [nand(1000), nand(1015), nand(1031)]
    order = random.Random(5).sample(range(32), 32)
    for txid in order:
        await b.tx(COMMITTING, txid)
    for txid in order:
        await b.tx(COMMIT, txid)
        assert await b.location(77) == nand(1000 + txid)
    await b.drain()
    assert len(b.released) == 31 and b.map_word(77) == nand(1000 + order[-1])


@simulated
async def a_walk_says_how_far_it_is_and_who_comes_before(dut):
    b = await bench(dut, latency=(4, 8))
    for lpn in range(60):
        b.send(PLAIN, lpn, location=nand(lpn + 1))
    for txid, lpns in ((7, range(40)), (8, range(40, 60)), (9, range(5)), (10, range(30))):
        await b.tx(BEGIN, txid)
        for lpn in lpns:
            await b.op(APPEND, lpn, txid, buf(100 * txid + lpn))
    for txid in (9, 7, 8):
        await b.tx(COMMITTING, txid)
    for txid in (7, 9, 8):
        await b.tx(COMMIT, txid)
    seen = {7: [], 9: [], 8: []}
    while b.state(8) != State.FREE:
        for txid, values in seen.items():
            dut.useTxid.value = txid
            await b.clocks(1)
            if b.state(txid) == State.COMMITTED:
                values.append((int(dut.older.value), int(dut.reached.value)))
    assert [values[0][0] for values in seen.values()] == [0, 1, 2] and [values[-1] for values in seen.values()] == [
        (0, 40),
        (0, 5),
        (0, 20),
    ]
    assert all(values == sorted(values, key=lambda v: (-v[0], v[1])) for values in seen.values()), seen
    assert len({reached for _, reached in seen[7]}) > 20 and {reached for before, reached in seen[8] if before} == {0}
    await b.drain()
    b.watched = [10]
    await b.tx(ABORT, 10)
    await b.drain()
    assert b.walks[10] == 30 or b.reached[10] == 0
    assert b.seen["inside a walk"] > 20


@simulated
async def reset_frees_every_transaction(dut):
    b = await bench(dut, check=False)
    for txid in range(32):
        await b.tx(BEGIN, txid)
    await b.commit(8)
    dut.reset.value = 1
    await b.clocks(2)
    dut.reset.value = 0
    await b.clocks(40)
    assert [(b.state(t), b.count(t)) for t in range(32)] == [(0, 0)] * 32 and int(dut.walking.value) == 0


@simulated
async def a_prepared_transaction_is_as_invisible_as_an_open_one_and_takes_no_more_versions(dut):
    b = await bench(dut)
    for txid, end in ((1, COMMIT), (2, ABORT)):
        await b.tx(BEGIN, txid)
        await b.op(APPEND, 30 + txid, txid, nand(txid))
        await b.tx(PREPARE, txid)
        await b.clocks(1)
        assert b.state(txid) == State.PREPARED
        own = await b.op(LOOKUP, 30 + txid, txid)
        assert (
            own["own"]
            and own["location"] == nand(txid)
            and not own["committing"]
            and await b.location(30 + txid) == NONE
        )
        assert (await b.op(APPEND, 40, txid, nand(9)))["error"]
        if end == COMMIT:
            await b.tx(COMMITTING, txid)
        await b.tx(end, txid)
        await b.drain()
    assert (await b.location(31), await b.location(32)) == (nand(1), NONE) and b.released == [nand(2)]


@simulated
async def recover_aborts_every_open_transaction_in_one_clock(dut):
    b = await bench(dut)
    for txid in range(6):
        await b.tx(BEGIN, txid)
        for lpn in (60, 61 + txid):
            await b.op(APPEND, lpn, txid, nand(10 * lpn + txid))
    await b.tx(PREPARE, 3)
    await b.tx(COMMITTING, 4)
    await b.commit(5)
    await b.tx(RECOVER, 4)
    await b.clocks(1)
    assert [b.state(t) for t in (3, 4)] == [State.PREPARED, State.COMMITTING] and {b.state(t) for t in range(3)} <= {
        State.ABORTED,
        State.FREE,
    }
    assert [await b.location(lpn) for lpn in (60, 61, 62, 63)] == [nand(605), NONE, NONE, NONE]
    await b.drain()
    assert sorted(b.released) == sorted([nand(600 + t) for t in range(3)] + [nand(10 * (61 + t) + t) for t in range(3)])
    assert b.judge.seen["aborted by RECOVER"] == 3
    assert (await b.op(LOOKUP, 60, 3))["location"] == nand(603) and (await b.op(LOOKUP, 60, 4))["location"] == nand(604)
    for txid in (0, 1, 2):
        assert b.state(txid) == State.FREE
        await b.tx(BEGIN, txid)
        assert not (await b.op(LOOKUP, 60, txid))["own"]
    await b.drain()


def test_remap_engine():
    run("otx_remap_engine", SOURCES, __name__, depth=2)
