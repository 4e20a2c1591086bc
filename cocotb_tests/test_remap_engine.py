# SPDX-License-Identifier: Apache-2.0
"""Remap engine: each operation alone, what transactions do to each other, walks, errors, figures, and a random run against RemapModel."""

import os
import random
import sys
from pathlib import Path

import cocotb
from cocotb.triggers import FallingEdge
from models.remap_bench import Bench
from models.remap_model import BUF, NAND, NONE, VER, Op, State, TxOp, word
from runner import run

sys.path.append(str(Path(__file__).resolve().parent.parent / "soc"))
import geometry

VERILOG = os.environ.get("OTX_VERILOG_DIR", "build/tiny/verilog")
G = geometry.preset("tiny")
LOOKUP, APPEND, PLAIN, SWAP = Op
BEGIN, COMMITTING, COMMIT, ABORT = TxOp
simulated = cocotb.test(timeout_time=20, timeout_unit="ms")


def nand(n):
    return word(NAND, n)


def buf(n):
    return word(BUF, n)


async def bench(dut, **options):
    return await Bench(dut, G, **options).start()


async def commit(b, txid):
    await b.tx(COMMITTING, txid)
    return await b.tx(COMMIT, txid)


async def location(b, lpn, txid=None):
    return (await b.op(LOOKUP, lpn, txid))["location"]


@simulated
async def a_block_that_was_never_written_is_none(dut):
    b = await bench(dut)
    assert await location(b, 0) == NONE and await location(b, G.lbas - 1) == NONE


@simulated
async def a_plain_write_is_read_by_everyone_and_releases_what_it_replaces(dut):
    b = await bench(dut)
    await b.op(PLAIN, 5, location=buf(1))
    await b.op(PLAIN, 4, location=buf(2))  # the other half of the same 64-bit beat
    assert [await location(b, lpn) for lpn in (4, 5)] == [buf(2), buf(1)]
    await b.op(PLAIN, 5, location=nand(3))
    await b.op(PLAIN, 5)  # trim
    assert await location(b, 5) == NONE and b.released == [buf(1), nand(3)]


@simulated
async def a_version_is_seen_by_its_own_transaction_and_by_nobody_else(dut):
    b = await bench(dut)
    await b.op(PLAIN, 7, location=nand(1))
    await b.tx(BEGIN, 31)
    await b.tx(BEGIN, 2)
    assert not (await b.op(APPEND, 7, 31, buf(2)))["hit"]
    assert [await location(b, 7, t) for t in (None, 2, 31)] == [nand(1), nand(1), buf(2)]
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
    assert [await location(b, 9, t) for t in (None, 3, 4)] == [NONE, buf(6), NONE]
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
    await commit(b, 1)
    assert [await location(b, lpn) for lpn in range(6)] == [buf(n) for n in range(1, 7)]
    await b.drain()
    assert sorted(b.released) == [nand(n) for n in range(1, 7)]
    assert (b.state(1), b.count(1)) == (State.FREE, 0)
    assert [b.table.get32(G.table_base + 4 * lpn) for lpn in range(6)] == [buf(n) for n in range(1, 7)], "the map still has chains"
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
        await commit(b, 29)
        await b.tx(COMMIT, first)
        assert await location(b, lpn) == nand(100 * lpn + first)
        await b.tx(COMMIT, second)
        assert await location(b, lpn) == nand(100 * lpn + second) and b.state(first) == b.state(second) == State.COMMITTED
        await b.drain()
        assert await location(b, lpn) == nand(100 * lpn + second) and b.released.pop() == nand(100 * lpn + first)


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
    await commit(b, 29)
    await commit(b, 1)
    await commit(b, 5)
    before = b.released.copy()
    await b.op(PLAIN, 3, location=nand(50))
    assert before == [] and sorted(b.released) == [nand(1), nand(11), nand(15)] and b.state(1) == State.COMMITTED
    assert await location(b, 3) == nand(50)
    await b.tx(COMMIT, 2)
    assert await location(b, 3) == nand(12)
    await b.drain()
    assert await location(b, 3) == nand(12) and sorted(b.released) == [nand(1), nand(11), nand(15), nand(50)]


@simulated
async def an_aborted_transaction_leaves_nothing(dut):
    b = await bench(dut)
    await b.op(PLAIN, 1, location=nand(1))
    for txid in (6, 7, 8):
        await b.tx(BEGIN, txid)
        for lpn in (1, 2):
            await b.op(APPEND, lpn, txid, buf(10 * txid + lpn))
    await b.tx(ABORT, 7)  # in the middle of both chains
    assert [await location(b, 1, t) for t in (None, 6, 7, 8)] == [nand(1), buf(61), nand(1), buf(81)]
    await b.drain()
    assert sorted(b.released) == [buf(71), buf(72)] and b.state(7) == State.FREE
    await b.tx(ABORT, 8)
    await b.tx(ABORT, 6)
    await b.drain()
    assert [await location(b, lpn) for lpn in (1, 2)] == [nand(1), NONE] and len(b.released) == 6
    assert b.table.get32(G.table_base + 4) == nand(1)
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
    await commit(b, 29)
    await commit(b, 2)
    assert (await b.op(SWAP, 2, location=buf(12), new=nand(12)))["hit"] and b.state(2) == State.COMMITTED
    assert [await location(b, 2, t) for t in (None, 1)] == [nand(12), nand(11)]
    await b.drain()
    assert (await b.op(SWAP, 2, location=nand(12), new=nand(13)))["hit"], "the base under an open entry"
    assert await location(b, 2) == nand(13) and b.released == [nand(1)]


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
async def a_commit_waits_for_the_end_of_a_group_and_other_requests_do_not(dut):
    b = await bench(dut)
    await b.tx(BEGIN, 1)
    for lpn in range(3):
        await b.op(APPEND, lpn, 1, buf(lpn + 1))
    await b.tx(COMMITTING, 1)
    await b.op(LOOKUP, 0, last=False)
    begin, flip = b.send_tx(BEGIN, 2), b.send_tx(COMMIT, 1)
    await begin.done.wait()
    await FallingEdge(dut.clk)
    await b.clocks(50)
    assert flip.taken is None, "COMMIT was taken inside a group"
    seen = [await b.op(LOOKUP, lpn, last=lpn == 2) for lpn in (1, 2)]
    assert [r["location"] for r in seen] == [NONE, NONE]
    await flip.done.wait()
    await FallingEdge(dut.clk)
    assert await location(b, 0) == buf(1)


@simulated
async def what_may_not_be_done_is_refused_and_changes_nothing(dut):
    b = await bench(dut)
    await b.tx(BEGIN, 1)
    await b.op(APPEND, 8, 1, buf(1))
    ver = word(VER, 65536)
    refused = [(LOOKUP, G.lbas), (PLAIN, G.lbas, None, buf(9)), (APPEND, 1 << 30, 1, buf(9)), (SWAP, 0xFFFFFFFF, None, buf(1), buf(9))]
    refused += [(APPEND, 8, None, buf(9)), (APPEND, 8, 2, buf(9)), (APPEND, 8, 1, ver), (PLAIN, 8, None, ver)]
    refused += [(SWAP, 8, None, buf(1), ver), (7, 8)]
    for args in refused:
        assert (await b.op(*args))["error"], args
    dut.status.counts_1.value = G.tx_entries
    b.model.txs[1].count = G.tx_entries
    words = b.table.words.copy()
    assert (await b.op(APPEND, 9, 1, buf(9)))["error"] and b.table.words == words, "an entry was added to a full table"
    assert not (await b.op(APPEND, 8, 1, buf(2)))["error"], "an entry of a full table is updated"
    assert int(dut.memoryErrors.value) == 0 and b.released == [buf(1)]


@simulated
async def a_chain_may_have_an_entry_of_every_transaction(dut):
    b = await bench(dut)
    for txid in range(32):
        await b.tx(BEGIN, txid)
        await b.op(APPEND, 77, txid, nand(1000 + txid))
    assert await location(b, 77) == NONE
    assert [await location(b, 77, t) for t in (0, 15, 31)] == [nand(1000), nand(1015), nand(1031)]
    order = random.Random(5).sample(range(32), 32)
    for txid in order:
        await b.tx(COMMITTING, txid)
    for txid in order:
        await b.tx(COMMIT, txid)
        assert await location(b, 77) == nand(1000 + txid)
    await b.drain()
    assert len(b.released) == 31 and b.table.get32(G.table_base + 4 * 77) == nand(1000 + order[-1])


@simulated
async def a_broken_chain_is_an_error_and_not_the_end(dut):
    b = await bench(dut, check=False)
    await b.tx(BEGIN, 1)
    await b.op(APPEND, 5, 1, buf(1))
    await b.op(APPEND, 6, 1, buf(2))
    t, good = b.table, b.table.get32(G.table_base + 20)
    own = G.tx_base + 16 * 65536
    broken = {
        "a loop": lambda: t.put32(own + 8, good),
        "an entry of another LPN": lambda: t.put32(G.table_base + 20, good + 1),
        "an entry that was never added": lambda: t.put32(G.table_base + 20, good + 2),
        "an entry of a FREE transaction": lambda: t.put32(G.table_base + 20, word(VER, 2 * 65536)),
        "an index past the tables": lambda: t.put32(G.table_base + 20, good | 1 << 21),
        "a location that is a version": lambda: t.put32(own + 4, good),
    }
    errors = 0
    for what, damage in broken.items():
        saved = t.words.copy()
        damage()
        for args in ((LOOKUP, 5), (PLAIN, 5, None, buf(7)), (SWAP, 5, None, buf(8), buf(9))):
            assert (await b.op(*args))["error"], f"{what}: {Op(args[0]).name}"
            errors += 1
        t.words = saved
        assert await location(b, 5, 1) == buf(1), what
    assert int(dut.memoryErrors.value) == errors and b.released == []


@simulated
async def a_memory_error_is_answered_and_the_engine_goes_on(dut):
    b = await bench(dut, check=False, latency=(2, 4))
    scenes = {LOOKUP: (), APPEND: (4, buf(9)), PLAIN: (None, buf(9)), SWAP: (None, buf(1), buf(9))}
    hits = 0
    for op, args in scenes.items():
        for nth in range(8):
            await b.tx(BEGIN, 3)
            await b.tx(BEGIN, 4)
            await b.op(PLAIN, 20, location=buf(1))
            await b.op(APPEND, 20, 3, buf(2))
            start = b.table.accesses
            b.table.bad = lambda address, write, at=start + nth: b.table.accesses == at + 1
            error = (await b.op(op, 20, *args))["error"]
            used = b.table.accesses - start
            b.table.bad = lambda address, write: False
            assert error == (nth < used), f"{op.name}: {used} accesses, error in number {nth}"
            hits += error
            for txid in (3, 4):
                await b.tx(ABORT, txid)
            await b.drain()
            b.table.words.clear()
    for nth in range(4):  # walks
        await b.op(PLAIN, 21, location=nand(1))
        await b.tx(BEGIN, 5)
        await b.op(APPEND, 21, 5, nand(2))
        start = b.table.accesses
        b.table.bad = lambda address, write, at=start + nth: b.table.accesses == at + 1
        await commit(b, 5)
        await b.drain()
        assert b.state(5) == State.FREE
        hits += nth < 3
        b.table.words.clear()
    assert hits >= 12 and int(dut.memoryErrors.value) == hits
    b.table.bad = lambda address, write: False
    await b.op(PLAIN, 22, location=nand(5))
    assert await location(b, 22) == nand(5)


@simulated
async def walks_go_on_while_ops_come_without_a_pause(dut):
    b = await bench(dut, latency=(2, 2))
    await b.tx(BEGIN, 1)
    for lpn in range(10):
        await b.op(APPEND, lpn, 1, nand(lpn + 1))
    await commit(b, 1)
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
    b.held.append(lambda: seen.append((b.clock, int(dut.evCommitTaken.value), int(dut.evCommitVisible.value), int(dut.evTxid.value))))
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
        assert await location(b, size - 1) == nand(5000 * size + size - 1)
        start = b.clock
        await b.drain()
        wait, flip_time = waits[size]
        dut._log.info(f"commit of {size}: taken {wait} clocks after it was offered, visible {flip_time} later, merged in {b.clock - start}")
    assert waits[1] == waits[1000] == (0, 1)


@simulated
async def reset_frees_every_transaction(dut):
    b = await bench(dut, check=False)
    for txid in range(32):
        await b.tx(BEGIN, txid)
    await commit(b, 8)
    dut.reset.value = 1
    await b.clocks(2)
    dut.reset.value = 0
    await b.clocks(40)
    assert [(b.state(t), b.count(t)) for t in range(32)] == [(0, 0)] * 32 and int(dut.walking.value) == 0


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
    flip = await commit(b, 3)
    await b.drain()
    f["merge, per entry without a base to release"] = round((b.clock - flip.taken) / 64, 1)
    for name, clocks in f.items():
        dut._log.info(f"{name}: {clocks} clocks")
    assert f["LOOKUP, no chain"] <= 12


async def random_run(dut, ops, latency, stall, seed):
    b = await bench(dut, latency=latency, stall=stall, seed=seed)
    rng, fresh, left = random.Random(seed), 0, 0
    lpns, txids = [0, 1, 2, 511, G.lbas - 1], [0, 1, 17, 31]
    tally = {}
    for _ in range(ops):
        while len(b.ops) > 2 or (len(b.txs) > 1 and not left):
            await FallingEdge(dut.clk)
        if rng.random() < 0.05:
            await b.clocks(rng.randrange(400))
        lpn, txid, r, fresh = rng.choice(lpns), rng.choice(txids), rng.random(), fresh + 1
        left = left - 1 if left else rng.choice([0, 0, 0, 0, 4])  # ops left in this group
        new = rng.choice([nand, buf])(fresh) if rng.random() < 0.9 else NONE
        m = b.model
        if r < 0.35:
            call = b.send(LOOKUP, lpn, rng.choice([None, txid]), last=left == 0)
        elif r < 0.65:
            call = b.send(APPEND, lpn, txid, new, last=left == 0)
        elif r < 0.8:
            call = b.send(PLAIN, lpn, None, new, last=left == 0)
        else:
            held = [(v, k) for t in m.txs for k, v in t.versions.items()] + [(v, k) for k, v in m.committed.items()]
            held += [(v, k) for v, (k, _) in m.debts.items()]
            old, lpn = rng.choice(held or [(NONE, lpn)])
            call = b.send(SWAP, lpn, None, old, nand(fresh), last=left == 0)
        tally[call.fields["op"]] = tally.get(call.fields["op"], 0) + 1
        if rng.random() < 0.35:
            state = m.txs[txid].state
            usual = {State.OPEN: rng.choice([COMMITTING] * 3 + [ABORT]), State.COMMITTING: COMMIT}.get(state, BEGIN)
            b.send_tx(usual if rng.random() < 0.9 else rng.choice(list(TxOp)), txid)
    b.send(LOOKUP, 0)
    await b.drain()
    for lpn in lpns:
        for reader in (None, *txids):
            await b.op(LOOKUP, lpn, reader)
    dut._log.info(f"seed {seed}: {tally}, {m.commits} commits, {m.released} released, {b.seen | m.seen}, {b.clock} clocks")
    assert m.commits > ops // 50 and m.released > ops // 8 and all((b.seen | m.seen).values()) and int(dut.memoryErrors.value) == 0


@simulated
async def random_ops_agree_with_the_model_at_a_short_latency(dut):
    await random_run(dut, 5000, (2, 10), 0.2, int(os.environ.get("SEED", "1")))


@simulated
async def random_ops_agree_with_the_model_at_a_long_latency(dut):
    await random_run(dut, 1500, (2, 60), 0.4, 1000 + int(os.environ.get("SEED", "1")))


def test_remap_engine():
    run("otx_remap_engine", [f"{VERILOG}/otx_remap_engine.v"], "test_remap_engine")
