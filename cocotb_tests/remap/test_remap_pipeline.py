# SPDX-License-Identifier: Apache-2.0
"""Remap engine: ops side by side, what a commit in the middle of them means, and the grace period before a merge."""

import cocotb

from cocotb_tests.bench.remap_bench import SOURCES, bench, buf, nand
from cocotb_tests.bench.runner import run
from cocotb_tests.models.remap_model import VER, Op, State, TxOp

LOOKUP, APPEND, PLAIN, SWAP, TRIM = Op
BEGIN, COMMITTING, COMMIT, ABORT, PREPARE, RECOVER = TxOp
simulated = cocotb.test(timeout_time=2, timeout_unit="ms")


@simulated
async def two_lookups_of_one_block_run_side_by_side_and_a_change_waits_for_their_answers(dut):
    b = await bench(dut, latency=(1, 1))
    await b.op(PLAIN, 5, location=nand(1))
    b.answer_ready = False
    reads = [b.send(LOOKUP, 5) for _ in range(2)]
    write, last = b.send(PLAIN, 5, location=nand(2)), b.send(LOOKUP, 5)
    await b.clocks(50)
    assert [c.taken is not None for c in (*reads, write, last)] == [True, True, True, False] and b.map_word(5) == nand(
        1
    ), "the change did not wait"
    b.answer_ready = True
    assert (await b.done(last))["location"] == nand(2) and reads[1].answered < write.answered < last.answered
    assert {c.rsp["location"] for c in reads} == {nand(1)}


@simulated
async def answers_of_other_blocks_overtake(dut):
    b = await bench(dut, latency=(6, 6))
    for txid in range(8):
        await b.tx(BEGIN, txid)
        await b.op(APPEND, 3, txid, nand(txid + 1))
    slow, fast = b.send(LOOKUP, 3), [b.send(LOOKUP, 100 + n) for n in range(15)]
    await b.done(slow)
    assert all(c.answered < slow.answered for c in fast)


@simulated
async def sixteen_lookups_are_under_way_at_once(dut):
    b = await bench(dut, latency=(60, 60))
    calls = [b.send(LOOKUP, n) for n in range(64)]
    await b.done(calls[-1])
    clocks = calls[-1].answered - calls[0].taken
    dut._log.info(f"64 lookups at a memory latency of 60: {clocks} clocks, up to {b.table.most} reads under way")
    assert b.table.most == 16 and clocks <= 4 * 60 + 40


@simulated
async def a_group_sees_one_instant_whatever_commits_meanwhile(dut):
    b = await bench(dut)
    for lpn in range(4):
        await b.op(PLAIN, lpn, location=nand(lpn + 1))
    for txid in (1, 2):
        await b.tx(BEGIN, txid)
        for lpn in range(4):
            await b.op(APPEND, lpn, txid, buf(10 * txid + lpn))
        await b.tx(COMMITTING, txid)
    await b.op(LOOKUP, 0, last=False)
    flips = [await b.tx(COMMIT, txid) for txid in (2, 1)]
    assert all(f.taken - f.offered < 2 for f in flips)
    await b.clocks(400)
    seen = [await b.op(LOOKUP, lpn, last=False) for lpn in (1, 2)]
    assert [r["location"] for r in seen] == [nand(2), nand(3)] and all(r["committing"] for r in seen)
    assert b.released == [] and b.state(1) == b.state(2) == State.COMMITTED, "merged under an open group"
    mine = await b.op(LOOKUP, 3, 2)
    assert mine["own"] and mine["location"] == buf(23), (
        "the group's own transaction has committed: still its own version"
    )
    assert await b.location(3) == buf(13), "a new group sees both commits, the later one wins"
    await b.drain()
    assert len(b.released) == 8 and [b.map_word(lpn) for lpn in range(4)] == [buf(10 + lpn) for lpn in range(4)]


@simulated
async def a_plain_write_in_an_older_group_stays_under_what_was_committed_after_its_instant(dut):
    b = await bench(dut)
    for txid in (1, 2):
        await b.tx(BEGIN, txid)
        await b.op(APPEND, 6, txid, nand(txid))
        await b.tx(COMMITTING, txid)
    await b.op(LOOKUP, 9, last=False)
    await b.tx(COMMIT, 2)
    await b.tx(COMMIT, 1)
    await b.op(PLAIN, 6, location=nand(7))
    assert await b.location(6) == nand(1) and b.released in ([], [nand(7)], [nand(7), nand(2)])
    await b.drain()
    assert b.map_word(6) == nand(1) and sorted(b.released) == [nand(2), nand(7)]


@simulated
async def a_plain_write_that_meets_two_commits_on_its_way_marks_neither_dead(dut):
    """The chain is T1, T2, base.

    While the PLAIN is past T2's entry it is open, then T2 and T1 commit: both come after the PLAIN, T1 wins.
    """
    b = await bench(dut, latency=(20, 20))
    for delay in range(0, 90, 3):
        for txid in (2, 1):
            await b.tx(BEGIN, txid)
            await b.op(APPEND, 6, txid, nand(1000 * delay + txid))
            await b.tx(COMMITTING, txid)
        write = b.send(PLAIN, 6, location=nand(1000 * delay + 7))
        await b.clocks(2 + delay)
        for txid in (1, 2) if delay % 2 else (2, 1):
            await b.tx(COMMIT, txid)
        await b.done(write)
        assert await b.location(6) == nand(1000 * delay + (2 if delay % 2 else 1))
        await b.drain()
    assert b.seen["commit beside an op"] > 20


@simulated
async def a_transaction_is_merged_only_when_the_last_reader_that_does_not_see_it_has_its_answer(dut):
    b = await bench(dut, latency=(1, 2))
    await b.op(PLAIN, 3, location=nand(1))
    await b.tx(BEGIN, 1)
    await b.op(APPEND, 3, 1, nand(2))
    await b.tx(COMMITTING, 1)
    b.answer_ready = False
    old = b.send(LOOKUP, 3)  # answered, but not taken
    other = b.send(LOOKUP, 4)
    await b.clocks(10)
    await b.tx(COMMIT, 1)
    await b.clocks(300)
    assert b.state(1) == State.COMMITTED and b.released == [] and b.map_word(3) >> 30 == VER
    b.answer_ready = True
    await b.done(old)
    await b.done(other)
    assert old.rsp["location"] == nand(1) and old.rsp["committing"]
    await b.drain()
    assert b.released == [nand(1)]
    await b.tx(BEGIN, 2)  # an abort needs no grace: nobody but its own readers is sent to its versions
    await b.op(APPEND, 3, 2, nand(5))
    await b.op(LOOKUP, 8, last=False)
    await b.tx(ABORT, 2)
    await b.clocks(100)
    assert b.state(2) == State.FREE
    await b.op(LOOKUP, 9)


@simulated
async def requests_but_commit_wait_for_an_append_and_a_commit_for_nothing(dut):
    b = await bench(dut, latency=(40, 40))
    for txid in (1, 2, 3):
        await b.tx(BEGIN, txid)
    await b.tx(COMMITTING, 1)
    for request in (COMMITTING, ABORT, PREPARE):
        call = b.send(APPEND, 7, {COMMITTING: 2, ABORT: 3}.get(request, 4), nand(int(request) + 1))
        await b.clocks(3)
        wait = b.send_tx(request, 2 if request == COMMITTING else 3)
        await b.done(call)
        await b.clocks(2)
        assert (
            call.rsp["error"] == (request == PREPARE)
            and (wait.taken is not None)
            and (call.rsp["error"] or wait.taken >= call.answered - 2)
        ), request
    await b.tx(BEGIN, 5)
    call = b.send(APPEND, 7, 5, nand(9))
    await b.clocks(3)
    wait = b.send_tx(RECOVER, 1)
    await b.done(call)
    await b.clocks(2)
    assert (
        not call.rsp["error"]
        and wait.taken >= call.answered - 2
        and b.state(5) == State.ABORTED
        and b.state(1) == State.COMMITTING
    )
    slow = b.send(APPEND, 8, 4, nand(8)), b.send(PLAIN, 9, location=nand(9))
    await b.clocks(4)
    flip = await b.tx(COMMIT, 1)
    assert flip.taken - flip.offered < 2 and slow[1].answered is None
    await b.drain()


def test_remap_pipeline():
    run("otx_remap_engine", SOURCES, __name__, depth=2)
