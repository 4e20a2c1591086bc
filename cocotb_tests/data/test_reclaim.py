# SPDX-License-Identifier: Apache-2.0
"""The data path beside firmware that collects blocks and makes checkpoints
(docs/decisions/021-counts-turns-tickets.md).

That counts of pages are those of the map is checked by `quiet` in all tests of the data path; here are the cases in
which a page falls out of use on its own way, turns of reads, notes, beginnings of transactions and committed versions.
"""

import os
import random

import cocotb

from cocotb_tests.bench.amount import amount
from cocotb_tests.bench.datapath_bench import (
    ABORT,
    BEGIN,
    BUF,
    COMMIT,
    FLUSH,
    L_PREPARE,
    L_TRIM,
    MAP,
    NAND,
    NOTE,
    PREPARE,
    READ,
    RELOCATE,
    SUCCESS,
    TRIM,
    WRITE,
    DataPathBench,
)
from cocotb_tests.bench.datapath_engine import FREE, OPEN, PREPARED
from cocotb_tests.bench.datapath_traffic import RESERVE, verilog
from cocotb_tests.bench.runner import run

simulated = cocotb.test(timeout_time=6, timeout_unit="ms")


def firsts(b, txid):
    """Index of the first MAP, TRIM or PREPARE entry of a transaction's present use."""
    serial = b.use[txid] << 5 | txid
    kinds = (MAP, L_TRIM, L_PREPARE)
    return next((n for n, e in enumerate(b.log) if e["inTx"] and e["serial"] == serial and e["kind"] in kinds), None)


async def first_of(b, txid):
    await b.strobe("txAsk", txid)
    await b.clocks(6)
    return b.answers["txFirst"]() if b.answers["txOpen"]() else None


@simulated
async def each_way_out_of_use_counts_once(dut):
    b = await DataPathBench(dut).begin()
    assert await b.run(WRITE, 0, 20) == SUCCESS
    await b.quiet()
    assert await b.run(WRITE, 0, 3) == SUCCESS and await b.run(TRIM, 5, 4) == SUCCESS
    await b.quiet()
    assert (
        await b.run(WRITE, 10, 4, txid=3) == SUCCESS
        and await b.run(WRITE, 11, 1, txid=3) == SUCCESS
        and await b.run(TRIM, 12, 1, txid=3) == SUCCESS
    )
    await b.quiet()
    assert await b.run(WRITE, 14, 4, txid=4) == SUCCESS and await b.run(ABORT, txid=4) == SUCCESS
    await b.quiet()
    assert await b.run(COMMIT, txid=3) == SUCCESS
    await b.quiet()


@simulated
async def page_that_is_overwritten_while_it_is_programmed_is_out_of_use(dut):
    b = await DataPathBench(dut).begin()
    b.hold_programs = True
    for _ in range(3):
        assert await b.run(WRITE, 6, 2) == SUCCESS
    assert await b.run(WRITE, 6, 1, txid=1) == SUCCESS and await b.run(ABORT, txid=1) == SUCCESS
    b.let_programs_end()
    await b.quiet()
    assert [w >> 30 for w, _ in (b.map[6], b.map[7])] == [1, 1]


@simulated
async def failed_pages_are_out_of_use_and_that_which_took_the_data_is_not(dut):
    b = await DataPathBench(dut).begin()
    b.failing = {0, 1, 4, 17, 18, 19, 20}
    assert await b.run(WRITE, 0, 24) == SUCCESS and await b.run(FLUSH) == SUCCESS
    await b.quiet()
    assert set(b.reported) == b.failing


@simulated
async def move_counts_its_copy_only_when_it_hits(dut):
    b = await DataPathBench(dut).begin()
    assert await b.run(WRITE, 0, 4) == SUCCESS and await b.run(FLUSH) == SUCCESS
    await b.quiet()
    b.copy(1, 1600)
    await b.until(lambda: b.log[-1]["kind"] == RELOCATE)
    await b.clocks(60)
    await b.quiet()
    assert await b.answer("liveAsk", "liveCount", 100) == 1
    source, target = b.map[2][0] & 0xFFFF, 1616
    assert await b.run(WRITE, 2) == SUCCESS
    b.pages[target], b.moving[source] = b.pages[source], (2, target, 7)
    b.move.queue.append(dict(lpn=2, source=source, target=target, sequence=7))
    await b.until(lambda: b.log[-1]["kind"] == RELOCATE)
    await b.clocks(60)
    await b.quiet()
    assert await b.answer("liveAsk", "liveCount", 101) == 0


@simulated
async def turn_of_reads_ends_with_the_last_that_began_before_it(dut):
    b = await DataPathBench(dut).begin()
    old = b.answers["readsOld"]
    assert await b.run(WRITE, 0, 8) == SUCCESS and await b.run(FLUSH) == SUCCESS
    await b.quiet()
    b.hold_reads = True
    for _ in range(3):
        first = [b.submit(READ, lba, 1) for lba in (0, 3)]
        await b.until(lambda: len(b.held_reads) == 2)
        assert not old(), "no read is of the turn before"
        await b.strobe("readsTurn")
        await b.step()
        assert old(), "two reads began before the turn"
        second = b.submit(READ, 5, 1)
        await b.until(lambda: len(b.held_reads) == 3)
        ends = b.held_reads
        b.held_reads = []
        ends[0]()
        await b.until(lambda first=first: any(tag in b.results for tag in first))
        await b.clocks(50)
        assert old() and second not in b.results
        ends[1]()
        await b.until(lambda first=first: all(tag in b.results for tag in first))
        await b.clocks(4)
        assert not old(), "a read that began after the turn is taken for an old one"
        ends[2]()
        await b.until(lambda second=second: second in b.results)


@simulated
async def read_is_old_from_its_lookup_on_whatever_becomes_of_it(dut):
    """Its answer comes late, and is nothing, a frame, an error or a page."""
    b = await DataPathBench(dut).begin()
    old = b.answers["readsOld"]
    assert await b.run(WRITE, 0, 4) == SUCCESS
    await b.quiet()
    b.hold_programs = True
    assert await b.run(WRITE, 4, 4) == SUCCESS
    b.bad_lookups = {1}
    for lba in (20, 4, 1, 0):
        b.delay = (300, 300)
        tag = b.submit(READ, lba, 1)
        await b.until(lambda lba=lba: any(o["lpns"][0] == lba for o in b.under))
        await b.strobe("readsTurn")
        await b.step()
        assert old(), f"a read of block {lba} whose lookup is under way is not seen"
        await b.clocks(200)
        assert old()
        await b.until(lambda tag=tag: tag in b.results)
        await b.clocks(4)
        assert not old(), f"a read of block {lba} is over and still old"
        b.delay = (2, 12)
    b.bad_lookups = set()
    b.let_programs_end()
    await b.quiet()


@simulated
async def note_goes_between_groups_and_the_log_is_wanted_past_it(dut):
    b = await DataPathBench(dut).begin()
    b.append_sink.open = False
    w = b.submit(WRITE, 0, 8)
    await b.clocks(9000)
    b.append_sink.open = True
    await b.until(lambda: b.open_group is not None)
    await b.strobe("note")
    wanted = len(b.log)
    await b.until(lambda: b.rescue_to() >= wanted)  # the log is wanted up to the note's place first
    assert b.answers["noting"]() and not b.notes
    await b.until(lambda: b.notes)
    assert b.open_group is None and b.notes == [8]
    await b.clocks(2)
    assert not b.answers["noting"]() and b.rescue_to() == 9
    await b.until(lambda: b.durable >= 9)
    await b.until(lambda: w in b.results)
    for _ in range(2):  # of an idle drive
        await b.strobe("note")
        await b.until(lambda: not b.answers["noting"](), 3000)
        await b.clocks(2)
        assert b.rescue_to() == len(b.log) and b.log[-1]["kind"] == NOTE
    await b.quiet()


@simulated
async def note_leaves_alone_what_is_kept_of_the_log_and_stands_when_it_is_offered(dut):
    b = await DataPathBench(dut).begin(log_left=RESERVE)
    await b.strobe("note")
    await b.clocks(100)
    assert b.answers["noting"]() and not b.notes, "it took of what is kept"
    b.relocate_sink.open = False
    b.pin["logLeft"].set(RESERVE + 1)
    await b.clocks(10)
    b.pin["logLeft"].set(RESERVE)  # a sink that sees it go away says so
    await b.clocks(10)
    b.relocate_sink.open = True
    await b.until(lambda: b.notes, 100)


@simulated
async def page_that_fails_is_rescued_though_a_note_finds_the_log_short(dut):
    """The note is offered, and waits; then the log becomes short, and the RELOCATE behind the note must get what is
    kept for it.
    """
    b = await DataPathBench(dut).begin()
    b.hold_programs, b.failing = True, {0}
    assert await b.run(WRITE, 3) == SUCCESS
    b.relocate_sink.open = False
    await b.strobe("note")
    await b.clocks(10)
    b.pin["logLeft"].set(RESERVE)
    b.let_programs_end()
    await b.until(lambda: b.reported)
    await b.clocks(600)
    b.relocate_sink.open = True
    await b.until(lambda: any(e["kind"] == RELOCATE for e in b.log), 5000)
    await b.quiet()


@simulated
async def lookup_tells_the_committed_version(dut):
    b = await DataPathBench(dut).begin()
    word = lambda lpn: b.answer("lookup", "found", lpn)  # noqa: E731
    assert await word(9) == 0
    assert await b.run(WRITE, 0, 3) == SUCCESS
    await b.quiet()
    b.hold_programs = True
    assert await b.run(WRITE, 2, 2) == SUCCESS and await b.run(WRITE, 0, 1, txid=0) == SUCCESS
    assert [await word(n) for n in range(4)] == [b.map[n][0] for n in range(4)] and [
        b.map[n][0] & NAND | b.map[n][0] & BUF for n in range(4)
    ] == [NAND, NAND, BUF, BUF]
    b.bad_lookups = {1}
    assert await word(1) == 0
    b.bad_lookups = set()
    b.let_programs_end()
    assert await b.run(COMMIT, txid=0) == SUCCESS
    await b.quiet()
    assert await word(0) == b.map[0][0] and await word(1) == b.map[1][0]


@simulated
async def transaction_begins_with_its_first_entry_until_its_walk_has_ended(dut):
    b = await DataPathBench(dut).begin()
    assert await first_of(b, 5) is None
    assert await b.run(WRITE, 0, 3) == SUCCESS
    for use, how in enumerate((COMMIT, ABORT, COMMIT)):
        first = (TRIM, WRITE, WRITE)[use]
        assert (
            await b.run(first, 10, 2, txid=5) == SUCCESS
            and await b.run(WRITE, 4) == SUCCESS
            and await b.run(WRITE, 14, 2, txid=5) == SUCCESS
        )
        assert await b.run(WRITE, 30, 1, txid=6) == SUCCESS
        await b.until(lambda: not b.dirty)
        begin = firsts(b, 5)
        assert await first_of(b, 5) == begin and await first_of(b, 6) == firsts(b, 6)
        b.hold_walks = True
        assert await b.run(how, txid=5) == SUCCESS
        await b.clocks(500)
        assert await first_of(b, 5) == begin, "its walk has not ended"
        b.hold_walks = False
        await b.until(lambda: b.state[5] == FREE)
        assert await first_of(b, 5) is None and await first_of(b, 6) == firsts(b, 6)
    assert await b.run(ABORT, txid=6) == SUCCESS
    await b.quiet()


@simulated
async def prepared_transaction_without_entries_begins_with_its_prepare(dut):
    b = await DataPathBench(dut).begin()
    assert await b.run(WRITE, 0, 3) == SUCCESS and await b.run(BEGIN, txid=5) == SUCCESS
    await b.until(lambda: not b.dirty)
    assert await first_of(b, 5) is None
    assert await b.run(PREPARE, txid=5) == SUCCESS and b.state[5] == PREPARED
    assert await first_of(b, 5) == firsts(b, 5) == 3
    assert await b.run(COMMIT, txid=5) == SUCCESS
    await b.quiet()


@simulated
async def transaction_that_a_mount_brought_back_begins_at_index_0(dut):
    b = await DataPathBench(dut).begin()
    await b.prepared(5, 3)
    await b.prepared(30, 0)
    assert await b.run(WRITE, 0, 3) == SUCCESS and await b.run(WRITE, 7, 1, txid=6) == SUCCESS
    await b.until(lambda: not b.dirty)
    assert [await first_of(b, t) for t in (5, 30, 6, 4)] == [0, 0, 3, None]
    b.hold_walks = True
    assert await b.run(COMMIT, txid=5) == SUCCESS and await first_of(b, 5) == 0
    b.hold_walks = False
    await b.until(lambda: b.state[5] == FREE)
    assert await first_of(b, 5) is None and await first_of(b, 30) == 0
    begin = len(b.log)
    assert await b.run(WRITE, 9, 1, txid=5) == SUCCESS
    await b.until(lambda: not b.dirty)
    assert await first_of(b, 5) == begin
    assert [await b.run(ABORT, txid=t) for t in (5, 6, 30)] == [SUCCESS] * 3
    await b.quiet()


@simulated
async def page_of_the_map_that_the_engine_or_firmware_names_has_changed(dut):
    b = await DataPathBench(dut).begin()
    for take in (1, 0):  # what the memory held; nothing
        b.asks["changedTake"].set(take)
        mask = await b.answer("changedAsk", "changedPages", 0)
    assert mask == 0
    for name, payload in (("changed", 1023), ("changedSet", 5)):
        await b.strobe(name, payload)
        await b.clocks(4)
        b.asks["changedTake"].set(0)
        assert await b.answer("changedAsk", "changedPages", 1) == 0
        b.asks["changedTake"].set(1)
        assert await b.answer("changedAsk", "changedPages", 0) == 1 << payload % 1023
        b.asks["changedTake"].set(0)
        assert await b.answer("changedAsk", "changedPages", 0) == 0


async def random_traffic(dut, count, stall, seed):
    """Commands, failing programs and moves; what firmware asks in between is the truth, and in the end every count is
    that of the map.
    """
    rng = random.Random(seed)
    b = await DataPathBench(dut, seed, stall).begin(pages=1500)
    b.failing = {n for n in range(1500) if rng.random() < 0.1}
    copies, asked = 5000, 0
    for _ in range(count):
        txid = rng.choice([None, 0, 1, 31])
        lba, blocks = rng.randrange(14), rng.choice([1, 1, 2, 3])
        op = rng.choice([WRITE] * 6 + [READ] * 2 + [TRIM, FLUSH, COMMIT, ABORT])
        if op in (COMMIT, ABORT):
            txid = next((t for t in (0, 1, 31) if b.state[t] == OPEN), None)
            op = FLUSH if txid is None else op
        if op == FLUSH:
            txid = None
        await b.until(lambda: not b.active, 100_000)
        if txid is not None and op not in (COMMIT, ABORT) and b.state[txid] not in (FREE, OPEN):
            await b.until(lambda txid=txid: b.state[txid] == FREE)
        b.submit(op, lba, blocks if op in (WRITE, READ, TRIM) else 1, txid)
        still = [
            lpn
            for lpn, (word, _) in b.map.items()
            if word >> 30 == 1 and word & 0xFFFF not in b.moving and (word & 0xFFFF) in b.pages
        ]
        if still and rng.random() < 0.4 and len(b.move.queue) < 3:
            b.copy(rng.choice(still), copies)
            copies += 1
        if rng.random() < 0.2 and not b.answers["noting"]():
            await b.strobe("note")
        if rng.random() < 0.3:
            txid = rng.choice([0, 1, 31])
            want = firsts(b, txid) if b.state[txid] != FREE else None
            got = await first_of(b, txid)
            assert want is None or got is not None and got <= want, (
                f"txid {txid} begins at {got}, has entries from {want} on"
            )
            asked += want is not None and got == want
        if rng.random() < 0.1:
            await b.until(lambda: not b.active and not b.move.queue, 200_000)
            await b.quiet()
    await b.until(lambda: not b.active and not b.move.queue, 200_000)
    await b.quiet()
    done = b.clock, len(b.log), len(b.reported), copies - 5000, len(b.notes), asked
    dut._log.info(
        "seed %d: %d clocks, %d log entries, %d pages failed, %d copies, %d notes, %d beginnings", seed, *done
    )
    assert len(b.reported) > count / 20 and copies > 5000 + count / 20 and len(b.notes) > count / 20 and asked


@simulated
async def random_traffic_agrees_with_the_model(dut):
    await random_traffic(dut, amount(80, 400), 0.0, int(os.environ.get("SEED", "1")))


@simulated
async def random_traffic_agrees_with_the_model_under_stalls(dut):
    await random_traffic(dut, amount(40, 200), 0.3, 1000 + int(os.environ.get("SEED", "1")))


def test_reclaim():
    run("otx_data_path", [verilog()], __name__)
