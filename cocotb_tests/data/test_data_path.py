# SPDX-License-Identifier: Apache-2.0
"""The data path between models of host, remap engine, flash scheduler, commit log and frame memory
(bench/datapath_bench.py).
"""

import os

import cocotb

from cocotb_tests.bench.amount import amount
from cocotb_tests.bench.datapath_bench import (
    ABORT,
    BARRIER,
    BEGIN,
    CAPACITY,
    CHECKPOINT,
    COMMIT,
    FLUSH,
    GEOMETRY,
    INVALID_FIELD,
    MEDIA_ERROR,
    PREPARE,
    QUERY,
    READ,
    READ_ONLY,
    RECOVER,
    RFLUSH,
    SUCCESS,
    TRIM,
    TX_BUSY,
    TX_FULL,
    TX_INVALID,
    WRITE,
    WRITE_FAULT,
    ZEROES,
    DataPathBench,
)
from cocotb_tests.bench.datapath_engine import ABORTED, COMMITTED, FREE, OPEN, PREPARED
from cocotb_tests.bench.datapath_traffic import RESERVE, verilog
from cocotb_tests.bench.runner import run
from cocotb_tests.data.random_commands import random_run
from opentxssd.facts import BEATS, LogKind, Query, RemapOpcode, WordKind

simulated = cocotb.test(timeout_time=20, timeout_unit="ms")


def nand(b, lpn):
    return b.map[lpn][0] >> 30 == WordKind.NAND


@simulated
async def a_block_reads_back_from_its_frame_while_it_is_programmed_and_from_flash(dut):
    b = await DataPathBench(dut).begin()
    b.hold_programs = True
    start = b.clock
    assert await b.run(WRITE, 7) == SUCCESS
    dut._log.info("WRITE of one block: %d clocks from command to completion", b.clock - start)
    assert b.map[7][0] >> 30 == 2
    assert await b.run(READ, 7) == SUCCESS and b.blocks[b.last] == {0: 1}
    b.let_programs_end()
    await b.quiet()
    assert nand(b, 7)
    start = b.clock
    assert await b.run(READ, 7) == SUCCESS and b.blocks[b.last] == {0: 1}
    dut._log.info("READ of one block from flash: %d clocks", b.clock - start)
    await b.quiet()


@simulated
async def blocks_never_written_or_trimmed_read_as_zeroes(dut):
    b = await DataPathBench(dut).begin()
    assert await b.run(READ, 100, 2) == SUCCESS and b.blocks[b.last] == {0: 0, 1: 0}
    assert (
        await b.run(WRITE, 100, 3) == SUCCESS
        and await b.run(TRIM, 101) == SUCCESS
        and await b.run(ZEROES, 102) == SUCCESS
    )
    assert await b.run(READ, 100, 3) == SUCCESS and b.blocks[b.last] == {0: 1, 1: 0, 2: 0}
    assert [(e["lpn"], e["arg"], e["n"]) for e in b.log if e["kind"] == LogKind.TRIM] == [(101, 1, 1), (102, 1, 1)]
    assert await b.run(TRIM, 100, 32) == SUCCESS and b.log[-1]["arg"] == 32 and not b.replay()
    assert await b.run(TRIM, 200, 5, txid=1) == SUCCESS and await b.run(ABORT, txid=1) == SUCCESS
    assert [(e["lpn"], e["arg"], e["inTx"]) for e in b.log[-6:-1]] == [(n, 1, 1) for n in range(200, 205)]
    assert [(o["lpn"], o["blocks"], o["hasTx"]) for o in b.ops if o["op"] == RemapOpcode.TRIM] == [
        (101, 1, 0),
        (102, 1, 0),
        (100, 32, 0),
        (200, 5, 1),
    ], "one op per range"
    await b.quiet()
    await b.all_frames_are_free()


@simulated
async def a_pinned_frame_is_not_used_again_before_it_is_delivered(dut):
    b = await DataPathBench(dut).begin()
    b.hold_programs = True
    assert await b.run(WRITE, 5, 8) == SUCCESS
    b.rdata_sink.open = False
    tag = b.submit(READ, 5, 8)
    await b.until(lambda: sum(o["op"] == RemapOpcode.LOOKUP for o in b.ops) == 8)
    await b.clocks(40)
    b.let_programs_end()
    await b.until(lambda: all(nand(b, n) for n in range(5, 13)))
    await b.clocks(50)
    more = [b.submit(WRITE, 200, 32), b.submit(WRITE, 240, 32)]
    await b.until(lambda: more[0] in b.results, 100_000)
    assert not b.blocks[tag]
    b.rdata_sink.open = True
    await b.until(lambda: tag in b.results and more[1] in b.results, 100_000)
    assert b.blocks[tag] == {n: n + 1 for n in range(8)}
    await b.quiet()
    await b.all_frames_are_free(taken=True)


@simulated
async def a_plain_command_is_one_group_of_the_log(dut):
    b = await DataPathBench(dut).begin()
    assert await b.run(WRITE, 40, 5, fua=1) == SUCCESS
    assert [(e["n"], e["i"], e["room"], e["last"], e["lpn"], e["sequence"]) for e in b.log] == [
        (5, i, 5 - i, int(i == 4), 40 + i, i) for i in range(5)
    ]
    assert b.complete >= set(range(5)), "FUA ended before its pages"
    assert await b.run(FLUSH) == SUCCESS
    await b.quiet()


@simulated
async def barriers_count_epochs_and_an_empty_epoch_is_not_counted(dut):
    b = await DataPathBench(dut).begin()
    assert await b.run(BARRIER) == SUCCESS and await b.run(WRITE, 0, barrier=1, orderless=1) == SUCCESS
    assert await b.run(WRITE, 1, 2, barrier=1) == SUCCESS
    assert await b.run(WRITE, 3) == SUCCESS and await b.run(BARRIER) == SUCCESS and await b.run(BARRIER) == SUCCESS
    assert await b.run(TRIM, 4, 2, barrier=1) == SUCCESS and await b.run(ZEROES, 6, orderless=1) == SUCCESS
    assert await b.run(WRITE, 7, txid=3, barrier=1) == SUCCESS
    assert await b.run(WRITE, 8, txid=3, commit=1, barrier=1) == SUCCESS
    assert await b.run(BEGIN, txid=4) == SUCCESS and await b.run(PREPARE, txid=4) == SUCCESS
    assert await b.run(COMMIT, txid=4, relaxed=1, barrier=1) == SUCCESS and await b.run(WRITE, 9) == SUCCESS
    want = [
        ("MAP", 0, 0),
        *[("MAP", 1, 0)] * 2,
        ("MAP", 1, 1),
        ("TRIM", 1, 2),
        ("TRIM", 0, 3),
        *[("MAP", 0, 3)] * 2,
        ("COMMIT", 1, 3),
        ("PREPARE", 0, 4),
        ("COMMIT", 1, 4),
        ("MAP", 1, 5),
    ]
    await b.until(lambda: not b.dirty)
    assert [(LogKind(e["kind"]).name, e["ordered"], e["epoch"]) for e in b.log] == want
    await b.quiet()


@simulated
async def the_barrier_of_a_command_that_fails_closes_its_epoch(dut):
    b = await DataPathBench(dut).begin()
    assert await b.run(WRITE, 0) == SUCCESS
    assert await b.run(COMMIT, txid=3, barrier=1) == TX_INVALID and await b.run(WRITE, 1) == SUCCESS
    b.memory.bad = set(range(GEOMETRY.write_frames))
    assert await b.run(WRITE, 2, barrier=1) == WRITE_FAULT
    b.memory.bad = set()
    assert await b.run(WRITE, 3) == SUCCESS
    await b.until(lambda: not b.dirty)
    assert [(e["lpn"], e["epoch"]) for e in b.log] == [(0, 0), (1, 1), (3, 2)]
    await b.quiet()


@simulated
async def transactions_are_seen_by_their_readers_until_commit(dut):
    b = await DataPathBench(dut).begin()
    assert await b.run(WRITE, 10, 2) == SUCCESS
    assert await b.run(BEGIN, txid=3) == SUCCESS and await b.run(BEGIN, txid=3) == TX_BUSY
    assert (
        await b.run(WRITE, 10, 2, txid=3) == SUCCESS
        and await b.run(WRITE, 11, 1, txid=3) == SUCCESS
        and await b.run(TRIM, 20, 2, txid=3) == SUCCESS
    )
    assert await b.run(READ, 10, 2, txid=3) == SUCCESS and b.blocks[b.last] == {0: 3, 1: 5}
    assert await b.run(READ, 10, 2) == SUCCESS and b.blocks[b.last] == {0: 1, 1: 2}
    assert await b.run(QUERY, arg=Query.TX, txid=3) == SUCCESS and b.results[b.last]["result"] == 4 << 16 | OPEN
    assert await b.run(COMMIT, txid=3) == SUCCESS and b.log[-1]["arg"] == 5 and b.state[3] == COMMITTED
    assert await b.run(READ, 10, 2) == SUCCESS and b.blocks[b.last] == {0: 3, 1: 5}
    assert await b.run(COMMIT, txid=3) == TX_INVALID and await b.run(ABORT, txid=4) == TX_INVALID
    assert await b.run(WRITE, 10, 1, txid=6, commit=1) == SUCCESS and b.log[-1]["arg"] == 1
    assert await b.run(WRITE, 10, 1, txid=7) == SUCCESS and await b.run(ABORT, txid=7) == SUCCESS
    assert (
        await b.run(WRITE, 10, 1, txid=8) == SUCCESS
        and await b.run(WRITE, 10, 1, txid=31) == SUCCESS
        and await b.run(RECOVER) == SUCCESS
    )
    assert [e["serial"] & 31 for e in b.log if e["kind"] == LogKind.ABORT] == [7, 8, 31] and b.state[8] in (
        ABORTED,
        FREE,
    )
    assert await b.run(READ, 10) == SUCCESS and b.blocks[b.last] == {0: 6}
    await b.quiet()
    assert (
        await b.run(WRITE, 12, 1, txid=3) == SUCCESS
        and b.use[3] == 2
        and await b.run(COMMIT, txid=3) == SUCCESS
        and b.log[-1]["arg"] == 1
    )
    assert int(dut.commits.value) == 3
    await b.quiet()
    await b.all_frames_are_free()


@simulated
async def a_transaction_that_is_not_open_takes_no_write(dut):
    b = await DataPathBench(dut).begin()
    b.hold_waits = True
    assert await b.run(WRITE, 1, 1, txid=2) == SUCCESS
    commit = b.submit(COMMIT, txid=2)
    await b.until(lambda: b.waits)
    assert [await b.run(op, 50, 2, txid=2) for op in (WRITE, TRIM, ZEROES)] == [TX_INVALID] * 3 and await b.run(
        BEGIN, txid=2
    ) == TX_BUSY
    b.hold_waits = False
    await b.until(lambda: commit in b.results)
    await b.quiet()
    await b.all_frames_are_free()


@simulated
async def a_prepared_transaction_is_durable_takes_no_write_and_waits_for_its_end(dut):
    b = await DataPathBench(dut).begin()
    assert await b.run(WRITE, 10, 2) == SUCCESS
    for end in (COMMIT, ABORT):
        assert await b.run(PREPARE, txid=3) == TX_INVALID
        assert await b.run(WRITE, 10, 2, txid=3) == SUCCESS and await b.run(TRIM, 20, 2, txid=3) == SUCCESS
        b.hold_programs = True
        assert await b.run(WRITE, 11, 1, txid=3) == SUCCESS
        tag = b.submit(PREPARE, txid=3)
        await b.clocks(1000)
        assert tag not in b.results and b.log[-1]["kind"] == LogKind.PREPARE and b.log[-1]["arg"] == 5
        b.let_programs_end()
        await b.until(lambda tag=tag: tag in b.results)
        assert b.results[tag]["status"] == SUCCESS and b.state[3] == PREPARED
        entries = len(b.log)
        assert [await b.run(op, 50, 2, txid=3) for op in (WRITE, TRIM, ZEROES)] == [TX_INVALID] * 3
        assert await b.run(WRITE, 50, 1, txid=3, commit=1) == TX_INVALID
        assert [await b.run(op, txid=3) for op in (BEGIN, PREPARE)] == [TX_BUSY, TX_INVALID]
        assert await b.run(RECOVER) == SUCCESS and len(b.log) == entries and b.state[3] == PREPARED
        assert await b.run(QUERY, arg=Query.TX, txid=3) == SUCCESS
        assert b.results[b.last]["result"] == 4 << 16 | PREPARED
        assert await b.run(READ, 10, 2, txid=3) == SUCCESS and await b.run(READ, 10, 2) == SUCCESS
        b.hold_waits = end == ABORT
        tag = b.submit(end, txid=3)
        await b.clocks(1000)
        assert (tag in b.results) == (end == COMMIT), "the ABORT of a prepared one waits until it is durable"
        b.hold_waits = False
        await b.until(lambda tag=tag: tag in b.results)
        assert b.results[tag]["status"] == SUCCESS and b.log[-1]["arg"] == 0
        await b.until(lambda: b.state[3] == FREE)
    assert await b.run(READ, 10, 2) == SUCCESS
    await b.quiet()
    await b.all_frames_are_free()


@simulated
async def prepared_transactions_have_room_for_as_many_entries_as_one_may_have(dut):
    b = await DataPathBench(dut).begin()
    full = GEOMETRY.tx_entries
    for t, (lba, n) in enumerate(((0, full - 20), (0, 18), (100, 3), (200, 2), (300, 1))):
        for start in range(lba, lba + n, 32):
            assert await b.run(TRIM, start, min(32, lba + n - start), txid=t) == SUCCESS
    assert [await b.run(PREPARE, txid=t) for t in (0, 1, 2, 3, 4)] == [SUCCESS, SUCCESS, CAPACITY, SUCCESS, CAPACITY]
    assert [b.state[t] for t in range(5)] == [PREPARED, PREPARED, OPEN, PREPARED, OPEN]
    assert await b.run(ABORT, txid=3) == SUCCESS and await b.run(PREPARE, txid=4) == SUCCESS
    assert await b.run(PREPARE, txid=2) == CAPACITY
    assert await b.run(COMMIT, txid=1) == SUCCESS and await b.run(PREPARE, txid=2) == SUCCESS
    assert [await b.run(COMMIT, txid=t) for t in (0, 2, 4)] == [SUCCESS] * 3
    await b.until(lambda: b.state[0] == FREE)
    assert await b.run(TRIM, 0, 32, txid=0) == SUCCESS and await b.run(TRIM, 32, full - 32, txid=0) == SUCCESS
    assert await b.run(PREPARE, txid=0) == SUCCESS and await b.run(ABORT, txid=0) == SUCCESS
    await b.quiet()


@simulated
async def what_a_mount_brought_back_counts_as_prepared(dut):
    b = await DataPathBench(dut).begin()
    await b.prepared(7, GEOMETRY.tx_entries - 2)
    await b.prepared(31, 1)
    assert await b.run(TRIM, 0, 2, txid=1) == SUCCESS and await b.run(PREPARE, txid=1) == CAPACITY
    assert await b.run(WRITE, 900, 1, txid=7) == TX_INVALID and await b.run(RECOVER) == SUCCESS
    await b.until(lambda: b.state[1] == FREE)
    assert await b.run(COMMIT, txid=7) == SUCCESS
    commit = b.log[-1]
    assert (commit["kind"], commit["arg"], commit["serial"]) == (LogKind.COMMIT, 0, 1 << 5 | 7)
    assert await b.run(TRIM, 0, 2, txid=1) == SUCCESS and await b.run(PREPARE, txid=1) == SUCCESS
    assert await b.run(ABORT, txid=31) == SUCCESS and await b.run(ABORT, txid=1) == SUCCESS
    await b.until(lambda: b.state[7] == FREE)
    assert await b.run(WRITE, 5, 1, txid=7, commit=1) == SUCCESS and b.log[-1]["serial"] == 2 << 5 | 7
    await b.quiet()


@simulated
async def after_a_fault_nothing_of_a_prepared_transaction_changes(dut):
    b = await DataPathBench(dut).begin()
    await b.prepared(7, 3)
    assert await b.run(WRITE, 5, 1, txid=1) == SUCCESS and await b.run(FLUSH) == SUCCESS
    b.failed = 1
    assert [await b.run(op, txid=7) for op in (COMMIT, ABORT)] == [READ_ONLY] * 2 and b.state[7] == PREPARED
    assert await b.run(PREPARE, txid=1) == READ_ONLY and b.state[1] == OPEN


@simulated
async def tx_full_comes_at_the_exact_entry_and_changes_nothing(dut):
    b = await DataPathBench(dut).begin()
    full = GEOMETRY.tx_entries
    assert (
        await b.run(TRIM, 0, 32, txid=1) == SUCCESS
        and await b.run(TRIM, 32, full - 33, txid=1) == SUCCESS
        and b.count[1] == full - 1
    )
    before = len(b.log)
    assert (
        await b.run(WRITE, full - 2, 3, txid=1) == TX_FULL
        and await b.run(TRIM, full - 2, 3, txid=1) == TX_FULL
        and len(b.log) == before
    )
    assert await b.run(WRITE, full - 3, 3, txid=1) == SUCCESS and b.count[1] == full, "two own blocks and one new fit"
    assert await b.run(WRITE, 500, 1, txid=1) == TX_FULL and await b.run(WRITE, 8, 2, txid=1) == SUCCESS
    assert await b.run(COMMIT, txid=1) == SUCCESS
    await b.quiet()
    await b.all_frames_are_free()


@simulated
async def a_plain_write_waits_for_a_committing_transaction_of_its_blocks_only(dut):
    b = await DataPathBench(dut).begin()
    assert await b.run(WRITE, 60, 2, txid=9) == SUCCESS
    b.hold_waits = True
    commit = b.submit(COMMIT, txid=9)
    await b.until(lambda: b.waits)
    assert await b.run(WRITE, 70, 2) == SUCCESS and await b.run(TRIM, 80) == SUCCESS
    held = b.submit(WRITE, 59, 2)
    entries = len(b.log)
    await b.clocks(4000)
    assert held not in b.results and len(b.log) == entries
    assert await b.run(READ, 61) == SUCCESS and b.blocks[b.last] == {0: 0}, "reads go on"
    b.hold_waits = False
    await b.until(lambda: held in b.results and commit in b.results)
    assert await b.run(READ, 59, 3) == SUCCESS and b.blocks[b.last] == {0: 5, 1: 6, 2: 2}
    await b.quiet()


@simulated
async def without_pages_a_write_waits_or_ends_with_capacity_and_its_frames_come_back(dut):
    b = await DataPathBench(dut).begin(pages=5)
    held = b.submit(WRITE, 0, 6)
    await b.clocks(6000)
    assert held not in b.results and not b.log
    b.alloc.queue += [{"payload": n} for n in range(5, 16)]
    await b.until(lambda: held in b.results)
    assert b.results[held]["status"] == SUCCESS
    b.pin["full"].set(1)
    assert await b.run(WRITE, 0, 32) == CAPACITY and await b.run(WRITE, 0, 20, txid=4) == CAPACITY
    assert len(b.log) == 6 and b.state[4] == FREE
    assert await b.run(TRIM, 0, 32) == SUCCESS and await b.run(BEGIN, txid=5) == SUCCESS, "these need no page of data"
    await b.quiet()
    b.pin["full"].set(0)
    b.alloc.queue += [{"payload": n} for n in range(16, 200)]
    await b.all_frames_are_free()


@simulated
@cocotb.parametrize(
    command=[(WRITE, None), (TRIM, None), (ZEROES, None), (WRITE, 4), (TRIM, 4), (BEGIN, 9), (WRITE, 9)]
)
async def at_the_reserve_of_the_log_a_write_waits_until_pages_come_or_none_will(dut, command):
    op, txid = command
    b = await DataPathBench(dut).begin(log_left=RESERVE + 1)
    assert await b.run(TRIM, 40, txid=4) == SUCCESS, "one page more is enough"
    b.pin["logLeft"].set(RESERVE)
    b.pin["full"].set(1)  # of data: says nothing about the log
    held = b.submit(op, 0, txid=txid)
    await b.clocks(3000)
    assert held not in b.results and len(b.log) == 1 and b.state[9] == FREE
    b.pin["logLeft"].set(RESERVE + 1)
    await b.until(lambda: held in b.results)
    assert b.results[held]["status"] == SUCCESS
    await b.until(lambda: not b.dirty)
    b.pin["logLeft"].set(RESERVE)
    held, entries = b.submit(op, 0, txid=txid if op != BEGIN else 10), len(b.log)
    await b.clocks(3000)
    assert held not in b.results
    b.pin["logFull"].set(1)
    await b.until(lambda: held in b.results)
    assert b.results[held]["status"] == CAPACITY and len(b.log) == entries and b.state[10] == FREE
    await b.quiet()


@simulated
async def the_reserve_of_the_log_is_there_for_the_end_of_all_transactions(dut):
    b = await DataPathBench(dut).begin()
    assert [await b.run(WRITE if t % 2 else BEGIN, t, txid=t) for t in range(32)] == [SUCCESS] * 32
    b.pin["logFull"].set(1)
    b.pin["logLeft"].set(1)
    assert [await b.run(op, 0, txid=t) for op, t in ((WRITE, None), (TRIM, 1), (ZEROES, None), (WRITE, 31))] == [
        CAPACITY
    ] * 4
    assert [await b.run(COMMIT, txid=t, relaxed=t % 2) for t in range(12)] == [SUCCESS] * 12
    assert [await b.run(ABORT, txid=t) for t in range(12, 24)] == [SUCCESS] * 12
    assert [await b.run(op) for op in (FLUSH, QUERY, READ, RECOVER)] == [SUCCESS] * 4
    b.pin["logLeft"].set(0)
    assert [await b.run(op) for op in (FLUSH, QUERY, READ, RECOVER)] == [SUCCESS] * 4, "nothing new: no page"
    await b.until(lambda: set(b.state) == {FREE})
    assert await b.run(BEGIN, txid=3) == CAPACITY and b.state[3] == FREE
    await b.quiet()


@simulated
async def a_prepare_leaves_the_reserve_of_the_log_alone(dut):
    b = await DataPathBench(dut).begin()
    assert [await b.run(WRITE, t, txid=t) for t in range(3)] == [SUCCESS] * 3 and await b.run(
        PREPARE, txid=0
    ) == SUCCESS
    b.pin["logFull"].set(1)
    b.pin["logLeft"].set(RESERVE)
    assert await b.run(PREPARE, txid=1) == CAPACITY and b.state[1] == OPEN
    assert [await b.run(COMMIT, txid=t) for t in (0, 1)] == [SUCCESS] * 2 and await b.run(ABORT, txid=2) == SUCCESS
    await b.quiet()


@simulated
async def without_pages_of_data_the_end_of_the_log_says_nothing(dut):
    b = await DataPathBench(dut).begin(pages=3)
    b.pin["logFull"].set(1)
    held = b.submit(WRITE, 0, 4)
    await b.clocks(4000)
    assert held not in b.results
    b.alloc.queue += [{"payload": 3}]
    await b.until(lambda: held in b.results)
    assert b.results[held]["status"] == SUCCESS
    await b.quiet()


@simulated
async def a_page_that_firmware_moved_waits_for_a_log_that_is_above_its_reserve(dut):
    b = await DataPathBench(dut).begin(log_left=RESERVE + 1)
    assert await b.run(WRITE, 7) == SUCCESS
    await b.quiet()
    b.pin["logLeft"].set(RESERVE)
    await b.clocks(10)
    b.copy(7, 900)
    await b.clocks(1000)
    assert len(b.log) == 1
    b.pin["logLeft"].set(RESERVE + 1)
    await b.until(lambda: len(b.log) == 2)
    assert await b.run(READ, 7) == SUCCESS and b.blocks[b.last] == {0: 1}
    await b.quiet()


@simulated
async def the_queue_hears_when_a_write_has_its_frames_and_of_each_block_that_is_issued_or_will_not_be(dut):
    b = await DataPathBench(dut).begin(pages=9)
    fetched, settled = (b.flows[n][2] for n in ("fetched", "settled"))
    free = GEOMETRY.write_frames
    assert int(dut.framesFree.value) == free and int(dut.takes.value) == 1
    b.hold_programs = True
    assert await b.run(WRITE, 0, 5) == SUCCESS
    await b.until(lambda: not b.dirty)
    await b.clocks(4)
    assert (fetched, settled) == ([5], [1] * 5) and int(dut.framesFree.value) == free - 5
    b.let_programs_end()
    await b.quiet()
    assert await b.run(WRITE, 0, 3, txid=2, commit=1) == SUCCESS and (fetched, settled) == ([5, 3], [1] * 8)
    b.hold_waits = True
    assert await b.run(WRITE, 60, 1, txid=9) == SUCCESS
    commit = b.submit(COMMIT, txid=9)
    await b.until(lambda: b.waits)
    assert await b.run(WRITE, 0, 7, txid=9) == TX_INVALID
    b.hold_waits = False
    await b.until(lambda: commit in b.results)
    b.pin["full"].set(1)
    assert await b.run(WRITE, 0, 9) == CAPACITY
    for op in (TRIM, ZEROES, FLUSH, READ):
        assert await b.run(op, 0, 2) == SUCCESS
    assert (fetched, settled) == ([5, 3, 1, 7, 9], [1] * 9 + [7, 9])
    b.pin["full"].set(0)
    # one is with the command executor, the others have their data; six wait in front of it
    waits = [b.submit(WRITE, 8 * n, 2) for n in range(6)]
    await b.clocks(8000)
    assert int(dut.takes.value) == 1 and len(fetched) == 11
    waits.append(b.submit(WRITE, 60, 2))
    await b.clocks(2000)
    assert int(dut.takes.value) == 0 and len(fetched) == 12 and not any(t in b.results for t in waits)
    b.alloc.queue = [{"payload": n} for n in range(100, 200)]
    await b.until(lambda: all(t in b.results for t in waits))
    assert int(dut.takes.value) == 1
    await b.quiet()
    assert int(dut.framesFree.value) == free


@simulated
async def a_command_that_is_refused_does_not_open_its_transaction(dut):
    b = await DataPathBench(dut).begin()
    b.count[3] = GEOMETRY.tx_entries - 9  # stands for a table of nine entries
    await b.clocks(10)
    assert await b.run(WRITE, 0, 10, txid=3) == TX_FULL and await b.run(TRIM, 0, 10, txid=3) == TX_FULL
    b.count[3] = 0
    assert await b.run(WRITE, 0, 10, txid=3) == SUCCESS and b.state[3] == OPEN
    b.memory.bad = set(range(GEOMETRY.write_frames))
    assert await b.run(WRITE, 0, 2, txid=4) == WRITE_FAULT
    b.memory.bad = set()
    assert b.state[4] == FREE and [e["serial"] & 31 for e in b.log] == [3] * 10
    await b.quiet()


@simulated
async def values_that_a_command_does_not_take_change_nothing(dut):
    b = await DataPathBench(dut).begin(pages=20)
    assert await b.run(WRITE, 5, 2, txid=1) == SUCCESS
    odd = dict(lba=2**32 - 1, count=65535, stream=0xFFFF)
    ignored = (
        (FLUSH, dict(arg=7)),
        (BEGIN, dict(txid=2, arg=9)),
        (QUERY, dict(arg=Query.CAPACITY)),
        (COMMIT, dict(txid=1, arg=3)),
        (ABORT, dict(txid=2)),
        (RECOVER, dict(arg=1)),
    )
    for op, more in ignored:
        assert await b.run(op, **odd, **more) == SUCCESS, op
    assert b.replay() == {5: 0, 6: 1} and [e["kind"] for e in b.log] == [1, 1, 2, 3]
    await b.quiet()


@simulated
async def a_commit_in_the_middle_of_a_read_is_not_seen_by_it(dut):
    b = await DataPathBench(dut).begin()
    assert await b.run(WRITE, 0, 16) == SUCCESS
    await b.quiet()
    old = [b.visible(lpn)[1] for lpn in range(16)]
    assert await b.run(WRITE, 0, 16, txid=1) == SUCCESS
    b.hold_waits = True
    commit = b.submit(COMMIT, txid=1)
    ready = lambda w: w["due"] <= b.clock and all(i in b.complete for i in range(w["index"]))  # noqa: E731
    await b.until(lambda: b.waits and ready(b.waits[0]))
    read = b.submit(READ, 0, 16)
    await b.until(lambda: len(b.group) > 5)
    b.hold_waits = False
    await b.until(lambda: commit in b.results and read in b.results)
    assert b.commits_in_groups == 1 and b.overtaken > 0
    assert [b.blocks[read][n] for n in range(16)] == old, "a part of the transaction was seen"
    assert await b.run(READ, 0, 16) == SUCCESS and not set(b.blocks[b.last].values()) & set(old)
    await b.quiet()


@simulated
async def a_page_that_cannot_be_read_costs_its_block_only(dut):
    b = await DataPathBench(dut).begin()
    assert await b.run(WRITE, 30, 5) == SUCCESS
    await b.quiet()
    b.bad_pages.add(1)
    b.wrong_lpn.add(3)
    assert await b.run(READ, 30, 5) == MEDIA_ERROR and b.blocks[b.last] == {0: 1, 2: 3, 4: 5}
    b.bad_lookups.add(34)
    assert await b.run(READ, 33, 2) == MEDIA_ERROR and b.blocks[b.last] == {}
    b.bad_lookups.clear()
    b.bad_pages.clear()
    b.wrong_lpn.clear()
    assert await b.run(READ, 30, 5) == SUCCESS
    await b.quiet()


@simulated
async def a_write_that_waits_for_a_commit_ends_when_the_commit_cannot(dut):
    b = await DataPathBench(dut).begin()
    assert await b.run(WRITE, 60, 2, txid=9) == SUCCESS
    b.hold_waits = True
    commit = b.submit(COMMIT, txid=9)
    await b.until(lambda: b.waits)
    held = b.submit(TRIM, 60)
    await b.clocks(300)
    b.failed = 1
    b.hold_waits = False
    await b.until(lambda: held in b.results and commit in b.results)
    assert (
        b.results[held]["status"] == READ_ONLY
        and b.results[commit]["status"] == WRITE_FAULT
        and int(dut.commits.value) == 0
    )


@simulated
async def an_error_of_the_map_is_said_by_a_write_whichever_block_meets_it(dut):
    b = await buffering(dut)
    for blocks in (1, 3):
        for bad in range(blocks):
            b.bad_links = {50 + bad}
            assert await b.run(WRITE, 50, blocks) == MEDIA_ERROR
    b.bad_links = set()
    assert await b.run(WRITE, 50, 3) == SUCCESS
    await b.quiet()


@simulated
async def failing_frame_memory_costs_the_command_only(dut):
    b = await DataPathBench(dut).begin()
    b.memory.bad = set(range(3, 5))
    assert await b.run(WRITE, 0, 2) == SUCCESS and await b.run(WRITE, 2, 3) == WRITE_FAULT and len(b.log) == 2
    b.memory.bad = set()
    assert await b.run(WRITE, 2, 3) == SUCCESS
    await b.quiet()
    b.memory.bad = set(range(GEOMETRY.write_frames, GEOMETRY.write_frames + GEOMETRY.read_frames))
    assert await b.run(READ, 2) == MEDIA_ERROR
    b.memory.bad = set()
    assert await b.run(READ, 2) == SUCCESS


@simulated
async def relaxed_commit_is_visible_and_done_while_its_pages_are_under_way(dut):
    b = await DataPathBench(dut).begin()
    b.hold_programs = True
    assert await b.run(WRITE, 0, 3, txid=4) == SUCCESS
    assert await b.run(COMMIT, txid=4, relaxed=1) == SUCCESS
    assert await b.run(WRITE, 3, 2, txid=5, commit=1, relaxed=1) == SUCCESS
    assert await b.run(READ, 0, 5) == SUCCESS and 0 not in b.blocks[b.last].values()
    assert await b.run(WRITE, 2, 1) == SUCCESS, "a plain write does not wait for a relaxed commit's pages"
    flush = b.submit(FLUSH)
    await b.clocks(3000)
    assert flush not in b.results and b.held_programs
    b.hold_programs = False
    for end in b.held_programs:
        b.later((5, 50), end)
    await b.until(lambda: flush in b.results)
    await b.quiet()


@simulated
async def frames_wait_in_the_buffer_until_there_are_too_many_and_one_takes_the_place_of_another(dut):
    b = await DataPathBench(dut).begin()
    b.pin["bufferLimit"].set(10)
    for n in range(9):
        assert await b.run(WRITE, n) == SUCCESS
    for n in range(9):
        assert await b.run(WRITE, n) == SUCCESS
    await b.clocks(100)
    assert not b.log and len(b.dirty) == 18 and sum(b.replaced.values()) == 9
    assert int(dut.framesFree.value) == GEOMETRY.write_frames - 9
    assert await b.run(READ, 0, 9) == SUCCESS and b.blocks[b.last] == {n: n + 10 for n in range(9)}
    assert await b.run(WRITE, 20, 5) == SUCCESS
    await b.clocks(100)
    assert [e["lpn"] for e in b.log] == [0, 1, 2, 3], "the oldest go"
    assert await b.run(FLUSH) == SUCCESS
    assert [e["lpn"] for e in b.log] == [*range(9), *range(20, 25)]
    await b.quiet()


async def buffering(dut, limit=30):
    b = await DataPathBench(dut).begin()
    b.pin["bufferLimit"].set(limit)
    return b


def logged(b):
    """LPNs of the pages in the log, in order, and the kinds of what else is there."""
    return [e["lpn"] if e["kind"] == LogKind.MAP else LogKind(e["kind"]).name for e in b.log]


@simulated
async def a_frame_of_another_epoch_order_stream_or_size_is_written_and_not_replaced(dut):
    b = await buffering(dut)
    pairs = (
        (dict(barrier=1), {}),
        ({}, dict(orderless=1)),
        (dict(orderless=1), {}),
        (dict(stream=1), dict(stream=2)),
        (dict(count=2), {}),
        ({}, dict(count=2)),
        (dict(count=2), dict(count=2)),
    )
    for n, (first, second) in enumerate(pairs):
        lba, entries = 10 * n, len(b.log)
        assert await b.run(WRITE, lba, **first) == SUCCESS and await b.run(WRITE, lba, **second) == SUCCESS
        await b.until(lambda entries=entries: len(b.log) > entries)
        await b.clocks(50)
        assert logged(b)[entries:] == [lba + k for k in range(first.get("count", 1))], f"{first}, {second}"
    assert not any(b.replaced.values())
    for lba, first, second in (
        (90, {}, {}),
        (91, dict(orderless=1), dict(orderless=1)),
        (92, dict(txid=3), dict(txid=3)),
    ):
        assert await b.run(WRITE, lba, **first) == SUCCESS and await b.run(WRITE, lba, **second) == SUCCESS
    assert sum(b.replaced.values()) == 3
    b.pin["bufferLimit"].set(0)
    await b.quiet()


@simulated
@cocotb.parametrize(how=["stream", "range", "long range"])
async def rflush_issues_what_it_names_with_its_group_and_nothing_else(dut, how):
    b = await buffering(dut)
    for n in range(12):  # streams 1 and 65 share a list
        assert await b.run(WRITE, 2 * n, 2 if n == 4 else 1, stream=(1, 65, 3)[n % 3]) == SUCCESS
    assert not b.log
    if how == "stream":
        assert await b.run(RFLUSH, arg=1, stream=65) == SUCCESS
        want = [2, 8, 9, 14, 20]
    else:
        assert await b.run(RFLUSH, 9, 4 if how == "range" else 600) == SUCCESS
        want = [8, 9, 10, 12] if how == "range" else [8, 9, *range(10, 24, 2)]
    assert sorted(logged(b)) == want and b.complete >= set(range(len(want)))
    assert await b.run(RFLUSH, arg=1, stream=7) == SUCCESS and await b.run(RFLUSH, 700, 3) == SUCCESS
    assert len(b.log) == len(want)
    assert await b.run(FLUSH) == SUCCESS and sorted(logged(b)) == sorted([*range(0, 24, 2), 9])
    await b.quiet()


@simulated
async def an_rflush_that_cannot_look_a_block_up_issues_all(dut):
    b = await buffering(dut)
    for n in range(6):
        assert await b.run(WRITE, n) == SUCCESS
    b.bad_lookups = {3}
    assert await b.run(RFLUSH, 2, 3) == SUCCESS and sorted(logged(b)) == list(range(6))
    b.bad_lookups = set()
    await b.quiet()


@simulated
async def after_a_fault_what_waits_is_read_and_nobody_waits_for_it(dut):
    b = await buffering(dut)
    assert await b.run(WRITE, 4, 3) == SUCCESS and await b.run(WRITE, 8, 1, txid=2) == SUCCESS
    b.failed = 1
    await b.clocks(10)
    ends = [(FLUSH, None), (RFLUSH, None), (COMMIT, 2), (ABORT, 2), (RECOVER, None)]
    found = [await b.run(op, 4, 2, txid=t) for op, t in ends]
    assert found == [WRITE_FAULT, WRITE_FAULT, READ_ONLY, SUCCESS, SUCCESS]
    assert await b.run(WRITE, 5) == READ_ONLY and await b.run(TRIM, 5) == READ_ONLY
    assert await b.run(READ, 4, 3) == SUCCESS and b.blocks[b.last] == {0: 1, 1: 2, 2: 3}
    await b.strobe("note")
    await b.until(lambda: not b.answers["noting"](), 1000)
    assert not [e for e in b.log if e["kind"] == LogKind.MAP]


@simulated
@cocotb.parametrize(how=["RFLUSH", "FUA", "COMMIT", "TRIM"])
async def what_keeps_order_takes_earlier_epochs_along_and_no_orderless_write(dut, how):
    b = await buffering(dut)
    assert await b.run(WRITE, 0) == SUCCESS and await b.run(WRITE, 1, orderless=1) == SUCCESS
    assert await b.run(WRITE, 2, barrier=1) == SUCCESS
    assert await b.run(WRITE, 3) == SUCCESS and await b.run(WRITE, 4, 2) == SUCCESS and await b.run(BARRIER) == SUCCESS
    assert await b.run(WRITE, 6) == SUCCESS and await b.run(WRITE, 7, 1, txid=2) == SUCCESS
    if how == "RFLUSH":
        assert await b.run(RFLUSH, 6) == SUCCESS
        want = [0, 2, 3, 4, 5, 6]
    elif how == "FUA":
        assert await b.run(WRITE, 8, fua=1) == SUCCESS
        want = [0, 2, 3, 4, 5, 8]
    elif how == "COMMIT":
        assert await b.run(COMMIT, txid=2, relaxed=1) == SUCCESS
        want = [7, 0, 2, 3, 4, 5, "COMMIT"]
    else:
        assert await b.run(TRIM, 900) == SUCCESS
        want = [0, 2, 3, 4, 5, "TRIM"]
    assert logged(b) == want
    b.pin["bufferLimit"].set(0)
    await b.until(lambda: not b.dirty)
    if how != "COMMIT":
        assert await b.run(ABORT, txid=2) == SUCCESS
    await b.quiet()


@simulated
async def a_barrier_waits_for_commits_before_it_that_wait_for_their_pages(dut):
    b = await buffering(dut)
    assert await b.run(WRITE, 0, 3, txid=2) == SUCCESS
    b.write_sink.open = False
    commit = b.submit(COMMIT, txid=2, relaxed=1)
    await b.clocks(100)
    barrier, write = b.submit(BARRIER), b.submit(WRITE, 9)
    await b.until(lambda: barrier in b.results)
    await b.clocks(2000)
    assert write not in b.results and commit not in b.results
    b.write_sink.open = True
    await b.until(lambda: write in b.results)
    b.pin["bufferLimit"].set(0)
    await b.until(lambda: not b.dirty)
    assert [(e["kind"], e["epoch"]) for e in b.log][-2:] == [(LogKind.COMMIT, 0), (LogKind.MAP, 1)]
    await b.quiet()


@simulated
@cocotb.parametrize(first=["plain", "tx"])
async def a_commit_comes_behind_plain_frames_below_its_blocks(dut, first):
    b = await buffering(dut)
    if first == "plain":
        assert await b.run(WRITE, 4, 2) == SUCCESS and await b.run(WRITE, 5, 1, txid=2) == SUCCESS
    else:
        assert await b.run(WRITE, 5, 1, txid=2) == SUCCESS and await b.run(WRITE, 4, 2) == SUCCESS
    assert await b.run(WRITE, 20) == SUCCESS
    await b.until(lambda: len(b.log) == 2)
    assert logged(b) == [4, 5]
    assert await b.run(COMMIT, txid=2) == SUCCESS and logged(b) == [4, 5, 5, "COMMIT"]
    await b.clocks(100)
    assert len(b.log) == 4, "no other frame"
    b.pin["bufferLimit"].set(0)
    await b.quiet()


@simulated
async def a_plain_write_below_a_commit_that_stands_aside_is_in_the_log_before_it(dut):
    b = await buffering(dut)
    assert await b.run(WRITE, 5, 1, txid=2) == SUCCESS
    b.write_sink.open = False
    commit = b.submit(COMMIT, txid=2)
    await b.until(lambda: b.log)
    assert await b.run(WRITE, 5) == SUCCESS
    b.pin["places"].set(0)
    await b.clocks(5)
    b.write_sink.open = True
    await b.clocks(500)
    assert logged(b) == [5], "the COMMIT waits for the plain one, which finds no place"
    b.pin["places"].set(1)
    await b.until(lambda: commit in b.results)
    assert logged(b) == [5, 5, "COMMIT"] and not b.log[1]["inTx"]
    await b.quiet()


@simulated
@cocotb.parametrize(below=[0, 1, 2])
async def a_group_of_which_one_block_is_below_a_commit_that_stands_aside_is_in_the_log_before_it(dut, below):
    b = await buffering(dut)
    assert await b.run(WRITE, 5, 1, txid=2) == SUCCESS
    b.write_sink.open = False
    commit = b.submit(COMMIT, txid=2)
    await b.until(lambda: b.log)
    assert await b.run(WRITE, 5 - below, 3) == SUCCESS
    b.pin["places"].set(0)
    await b.clocks(5)
    b.write_sink.open = True
    await b.clocks(500)
    assert logged(b) == [5]
    b.pin["places"].set(1)
    await b.until(lambda: commit in b.results)
    assert logged(b) == [5, *range(5 - below, 8 - below), "COMMIT"]
    await b.quiet()


@simulated
async def trims_that_find_no_log_let_the_end_of_a_transaction_pass(dut):
    b = await buffering(dut)
    for n in range(4):
        assert await b.run(WRITE, n) == SUCCESS
    assert await b.run(WRITE, 50, 1, txid=2) == SUCCESS
    b.pin["places"].set(0)
    trims = [b.submit(TRIM, n) for n in range(4)]
    commit, flush = b.submit(COMMIT, txid=2), b.submit(FLUSH)
    await b.clocks(500)
    b.pin["logLeft"].set(RESERVE)
    b.pin["places"].set(1)
    await b.until(lambda: commit in b.results and flush in b.results)
    assert not any(t in b.results for t in trims)
    b.pin["logLeft"].set(1000)
    await b.until(lambda: all(t in b.results for t in trims))
    await b.quiet()


@simulated
async def a_turn_does_not_begin_before_the_frame_that_the_map_names_is_in_one(dut):
    """A group that is being issued keeps a frame out of the buffer that takes the place of one on its way to NAND."""
    b = await buffering(dut, 38)
    for n in range(4):  # two pairs wait for the durable watermark
        assert await b.run(WRITE, 100 + n) == SUCCESS and await b.run(FLUSH) == SUCCESS
    assert await b.run(WRITE, 40) == SUCCESS and await b.run(WRITE, 0, 8) == SUCCESS
    b.flash_depth, b.hold_programs = 2, True
    flush = b.submit(FLUSH)
    await b.clocks(200)
    write = b.submit(WRITE, 40)
    await b.clocks(1000)
    behind = b.submit(BARRIER)
    await b.clocks(500)
    assert write in b.results and behind not in b.results and int(dut.buffered.value)
    b.held_programs.pop(0)()  # the older one is on NAND, and already dead
    await b.clocks(300)
    fence = len(b.log) + 1
    b.held_programs.pop(0)()
    await b.clocks(300)
    b.durable = 4
    await b.clocks(50)
    b.flash_depth = 1000
    b.let_programs_end()
    await b.until(lambda: flush in b.results and write in b.results)
    for _ in range(5):
        b.durable = len(b.log)
        await b.clocks(50)
    assert any(d["lpn"] == 40 for d in b.dirty.values()) and int(dut.held.value) < fence
    b.pin["bufferLimit"].set(0)
    await b.quiet()


@simulated
async def a_commit_waits_for_its_frame_that_is_handed_out_and_finds_no_place(dut):
    b = await buffering(dut, 0)
    b.pin["places"].set(0)
    await b.clocks(5)
    assert await b.run(WRITE, 5, 1, txid=2) == SUCCESS
    await b.clocks(50)
    commit = b.submit(COMMIT, txid=2)
    await b.clocks(500)
    assert not b.log
    b.pin["places"].set(1)
    await b.until(lambda: commit in b.results)
    assert logged(b) == [5, "COMMIT"]
    await b.quiet()


@simulated
async def a_flush_and_an_rflush_wait_for_the_last_frame_that_the_log_has_not_taken(dut):
    """It is in no list of the buffer any more, and has no entry."""
    b = await buffering(dut)
    for lba, opcode in ((4, FLUSH), (5, RFLUSH)):
        assert await b.run(WRITE, lba) == SUCCESS
        b.append_sink.open = False
        b.pin["starved"].set(1)
        await b.clocks(100)
        flush = b.submit(opcode, lba)
        await b.clocks(100)
        assert flush not in b.results
        b.append_sink.open = True
        b.pin["starved"].set(0)
        await b.until(lambda flush=flush: flush in b.results)
        assert logged(b)[-1] == lba and b.results[flush]["status"] == SUCCESS
    await b.quiet()


@simulated
async def no_other_entry_comes_between_those_of_a_group_behind_a_flush(dut):
    b = await buffering(dut)
    assert await b.run(WRITE, 10, 8) == SUCCESS
    b.append_sink.open = False
    flush = b.submit(FLUSH)
    await b.clocks(200)
    trim = b.submit(TRIM, 900)
    await b.clocks(200)
    b.append_sink.open = True
    await b.until(lambda: trim in b.results and flush in b.results)
    assert logged(b) in ([*range(10, 18), "TRIM"], ["TRIM", *range(10, 18)])
    await b.quiet()


@simulated
async def a_block_that_waits_is_in_the_log_before_its_trim(dut):
    b = await buffering(dut)
    assert await b.run(WRITE, 4, 2) == SUCCESS and await b.run(WRITE, 8) == SUCCESS
    assert await b.run(WRITE, 9, 1, txid=2) == SUCCESS
    assert await b.run(TRIM, 5, 3) == SUCCESS and logged(b) == [4, 5, "TRIM"]
    assert await b.run(TRIM, 9, 1, txid=2) == SUCCESS and logged(b)[3:] == [9, "TRIM"]
    assert await b.run(TRIM, 8, 1, txid=2) == SUCCESS and logged(b)[5:] == [8, "TRIM"]
    assert await b.run(COMMIT, txid=2) == SUCCESS
    await b.quiet()


@simulated
async def what_waits_is_issued_when_nobody_writes_when_a_write_finds_no_room_and_when_the_log_is_short(dut):
    b = await buffering(dut)
    assert await b.run(WRITE, 0) == SUCCESS
    start = b.clock
    await b.until(lambda: b.log, 40_000)
    assert 1 << 14 <= b.clock - start < (1 << 14) + 200
    assert await b.run(WRITE, 1) == SUCCESS
    await b.clocks(500)
    assert len(b.log) == 1
    b.pin["starved"].set(1)
    await b.until(lambda: len(b.log) == 2, 100)
    b.pin["starved"].set(0)
    assert await b.run(WRITE, 2) == SUCCESS
    b.pin["logLeft"].set(RESERVE + 6 + 4)
    await b.clocks(500)
    assert len(b.log) == 2
    b.pin["logLeft"].set(RESERVE + 6 + 3)
    await b.until(lambda: len(b.log) == 3, 100)
    await b.quiet()


@simulated
async def while_all_dies_are_busy_only_what_somebody_needs_is_issued(dut):
    b = await buffering(dut, 3)
    b.pin["dieIdle"].set(0)
    for n in range(6):
        assert await b.run(WRITE, n) == SUCCESS
    await b.clocks(500)
    assert not b.log
    assert await b.run(RFLUSH, 4) == SUCCESS and logged(b)[-1] == 4
    b.pin["dieIdle"].set(1)
    await b.until(lambda: len(b.log) == 3)
    b.pin["bufferLimit"].set(0)
    b.pin["dieIdle"].set(0)  # nothing may wait
    await b.quiet()


@simulated
async def dies_that_are_never_idle_keep_no_write_waiting_for_ever(dut):
    """What somebody else needs before does not put off what waits."""
    b = await buffering(dut)
    b.pin["dieIdle"].set(0)
    for n in range(7):
        assert await b.run(WRITE, n) == SUCCESS
    b.pin["starved"].set(1)
    start = b.clock
    await b.clocks(2000)
    assert await b.run(RFLUSH, 6) == SUCCESS and logged(b) == [6]
    for n in (2, 3):
        await b.until(lambda n=n: len(b.log) == n, 4400)
        assert (n - 1) * 4096 <= b.clock - start < (n - 1) * 4096 + 300
    b.pin["starved"].set(0)
    await b.clocks(4500)
    assert len(b.log) == 3, "nobody waits any more"
    b.pin["dieIdle"].set(1)
    await b.quiet()


@simulated
async def an_rflush_leaves_nothing_behind_when_the_log_is_short(dut):
    """Each page of the log that closes then is one of few: so they close when all frames are in them."""
    b = await buffering(dut)
    b.pin["places"].set(0)
    for n in range(6):
        assert await b.run(WRITE, n) == SUCCESS
    before = b.submit(RFLUSH, 5)
    await b.clocks(100)
    b.pin["logLeft"].set(RESERVE + 6)
    await b.clocks(20)
    b.pin["places"].set(1)
    await b.until(lambda: b.waits)
    assert sorted(logged(b)) == list(range(6)), "the one from before the log was short waits for all, too"
    await b.until(lambda: before in b.results)
    await b.quiet()


@simulated
async def query_answers_each_question(dut):
    b = await DataPathBench(dut).begin(pages=300)
    b.pin["dropped"].set(77)
    b.pin["lostLogPages"].set(2**32 - 2)
    b.pin["doubtful"].set(99)
    b.pin["memoryErrors"].set(65535)
    assert await b.run(WRITE, 0, 2) == SUCCESS and await b.run(WRITE, 0, 2, txid=0, commit=1) == SUCCESS
    await b.quiet()
    answers = {
        Query.TX: FREE,
        Query.CAPACITY: GEOMETRY.lbas,
        Query.PAGES_LEFT: 296,
        Query.DROPPED: 77,
        Query.RELEASED: 2,
        Query.COMMITS: 1,
    }
    for arg, result in (
        answers | {Query.MEMORY_ERRORS: 65535, Query.LOST_LOG_PAGES: 2**32 - 2, Query.DOUBTFUL: 99}
    ).items():
        assert await b.run(QUERY, arg=arg) == SUCCESS and b.results[b.last]["result"] == result, arg
    b.hold_walks = True
    for t, blocks, end in ((2, 9, COMMIT), (5, 7, COMMIT), (30, 6, ABORT), (31, 3, BEGIN)):
        assert await b.run(TRIM, 100, blocks, txid=t) == SUCCESS
        if end != BEGIN:
            assert await b.run(end, txid=t) == SUCCESS
    b.reached[5], b.reached[30], b.reached[31] = 4, 6, 1
    ended = {2: (9, 2, COMMITTED), 5: (3, 1, COMMITTED), 30: (0, 0, ABORTED), 31: (0, 0, OPEN), 3: (0, 0, FREE)}
    for t, (waiting, before, state) in ended.items():
        assert (
            await b.run(QUERY, arg=Query.TX_WALK, txid=t) == SUCCESS
            and b.results[b.last]["result"] == waiting << 16 | before << 8 | state
        ), t
    b.reached[30] = 1
    assert await b.run(QUERY, arg=Query.WAITING) == SUCCESS and b.results[b.last]["result"] == 9 + 3 + 5
    b.hold_walks = False
    for arg in (Query.DOUBTFUL + 1, Query.HEALTH - 1, Query.HEALTH + 32, 2**31 + Query.HEALTH):
        assert await b.run(QUERY, arg=arg) == INVALID_FIELD
    words = {}
    for n in (0, 0, *range(32), 5):
        words[n] = b.rng.randrange(2**32)
        b.health[0].set(n)
        b.health[1].set(words[n])
        b.health[2].set(1)
        await b.clocks(1)
        b.health[2].set(0)
        b.health[1].set(0)
    for n, word in words.items():
        assert await b.run(QUERY, arg=Query.HEALTH + n) == SUCCESS and b.results[b.last]["result"] == word, n
    await b.until(lambda: b.state[2] == b.state[5] == b.state[30] == FREE)
    assert await b.run(QUERY, arg=Query.WAITING) == SUCCESS and b.results[b.last]["result"] == 0


@simulated
async def checkpoints_are_asked_for(dut):
    b = await DataPathBench(dut).begin()
    assert int(dut.asked.value) == 0
    for n, off in enumerate((1, 0, 0, 1), 1):
        assert await b.run(CHECKPOINT, arg=off) == SUCCESS and b.results[b.last]["result"] == n
        assert int(dut.asked.value) == off << 8 | n
    b.failed = True
    await b.clocks(4)
    assert await b.run(CHECKPOINT, arg=0) == READ_ONLY and int(dut.asked.value) == 1 << 8 | 4
    assert not b.log


@simulated
async def pages_are_read_side_by_side(dut):
    b = await DataPathBench(dut).begin()
    assert await b.run(WRITE, 0, 12) == SUCCESS
    await b.quiet()
    b.hold_reads = True
    reads = [b.submit(READ, 4 * n, 4) for n in range(3)]
    await b.until(lambda: len(b.held_reads) == GEOMETRY.read_frames)
    b.hold_reads = False
    start = b.clock
    for end in b.held_reads[::-1]:
        b.later((5, 5), end)
    await b.until(lambda: all(t in b.results for t in reads))
    dut._log.info("12 blocks of 512 beats in %d clocks", b.clock - start)
    assert b.clock - start < 12 * 520 + 200
    await b.quiet()


@simulated
async def a_block_that_has_begun_is_sent_to_its_end_though_no_completion_is_taken(dut):
    """A host may have to give the block away before it can take one, as the NVMe front end has."""
    b = await DataPathBench(dut).begin()
    assert await b.run(WRITE, 0, 12) == SUCCESS
    b.done_sink.open = False
    reads = [b.submit(READ, n) for n in range(12)]
    await b.clocks(12 * BEATS + 2000)
    sent = sum(len(b.blocks[t]) for t in reads)
    assert not b.part, "a block waits for a completion in its middle"
    assert 2 < sent < 12, f"{sent} blocks: none waits for a completion"
    b.done_sink.open = True
    await b.until(lambda: all(t in b.results for t in reads))
    await b.quiet()


@simulated
async def a_lookup_that_is_answered_last_keeps_its_place(dut):
    """There are 64 places; the blocks that overtake it are in error, so they cost no transfer."""
    b = await DataPathBench(dut).begin()
    assert await b.run(WRITE, 7) == SUCCESS
    b.slow[7], b.bad_lookups = 3000, set(range(100, 196))
    slow = b.submit(READ, 7)
    others = [b.submit(READ, lba, 32) for lba in (100, 132, 164)]
    await b.until(lambda: all(t in b.results for t in others))
    assert slow not in b.results
    await b.until(lambda: slow in b.results)
    assert [b.results[t]["status"] for t in (slow, *others)] == [SUCCESS] + [MEDIA_ERROR] * 3
    await b.quiet()


@simulated
async def each_of_some_hundred_random_commands_completes_once_and_agrees_with_the_model(dut):
    await random_run(dut, amount(120, 300), 0.0, int(os.environ.get("SEED", "1")))


@simulated
async def random_commands_agree_with_the_model_under_stalls(dut):
    await random_run(dut, amount(50, 120), 0.3, 1000 + int(os.environ.get("SEED", "1")))


@simulated
@cocotb.parametrize(limit=[3, 12, 30])
async def random_commands_agree_with_the_model_while_frames_wait_in_the_buffer(dut, limit):
    await random_run(dut, amount(180, 600), 0.0, 2000 + limit + int(os.environ.get("SEED", "1")), limit)


def test_data_path():
    run("otx_data_path", [verilog()], __name__)
