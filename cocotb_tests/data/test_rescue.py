# SPDX-License-Identifier: Apache-2.0
"""The data path beside failing programs: rescue of pages, copies that firmware hands over, and what happens when pages
run out (docs/decisions/011-failing-nand.md; surroundings: bench/datapath_bench.py)."""

import os
import random
from functools import partial

import cocotb

from cocotb_tests.bench.amount import amount
from cocotb_tests.bench.datapath_bench import (
    ABORT,
    BEGIN,
    COMMIT,
    FLUSH,
    GEOMETRY,
    MAP,
    NAND,
    READ,
    READ_ONLY,
    RELOCATE,
    SUCCESS,
    TRIM,
    WRITE,
    WRITE_FAULT,
    DataPathBench,
)
from cocotb_tests.bench.datapath_engine import OPEN, SWAP
from cocotb_tests.bench.datapath_traffic import may_go, verilog
from cocotb_tests.bench.runner import run

simulated = cocotb.test(timeout_time=6, timeout_unit="ms")


@simulated
async def data_whose_program_fails_goes_to_another_page_and_all_waits_hold(dut):
    b = await DataPathBench(dut).begin()
    b.failing = {1, 3, 4, 9, 12}
    assert await b.run(WRITE, 0, 8) == SUCCESS and await b.run(WRITE, 20, 6, txid=3) == SUCCESS
    flush = b.submit(FLUSH)
    assert await b.run(COMMIT, txid=3) == SUCCESS and await b.run(READ, 0, 8) == SUCCESS
    await b.until(lambda: flush in b.results)
    assert b.results[flush]["status"] == SUCCESS
    await b.quiet()
    assert await b.run(READ, 0, 8) == SUCCESS and await b.run(READ, 20, 6) == SUCCESS
    first = [e["location_value"] for e in b.log if e["kind"] == MAP and e["location_value"] in b.failing]
    assert sorted(b.reported) == [1, 3, 4, 9, 12] and [e["arg"] for e in b.log if e["kind"] == RELOCATE] == sorted(
        first, key=b.reported.index
    )
    assert all(w >> 30 == 1 for w, _ in b.map.values())
    await b.all_frames_are_free()


@simulated
async def page_that_fails_again_is_logged_once(dut):
    b = await DataPathBench(dut).begin()
    b.failing = {0, 1, 2, 3, 4}
    assert await b.run(WRITE, 5) == SUCCESS and await b.run(FLUSH) == SUCCESS
    await b.quiet()
    assert b.reported == [0, 1, 2, 3, 4]
    assert [(e["arg"], e["location_value"]) for e in b.log if e["kind"] == RELOCATE] == [(0, 5)]


@simulated
async def block_that_is_overwritten_during_its_rescue_is_released_once(dut):
    b = await DataPathBench(dut).begin()
    b.failing, b.event_sink.open = {0}, False
    assert await b.run(WRITE, 5) == SUCCESS
    await b.until(lambda: "failed" in b.busy_frames.values())
    assert await b.run(READ, 5) == SUCCESS, "read from the frame"
    assert await b.run(WRITE, 5) == SUCCESS
    b.event_sink.open = True
    assert await b.run(FLUSH) == SUCCESS
    await b.quiet()
    await b.all_frames_are_free()


@simulated
async def copies_of_firmware_take_the_place_of_what_they_copy(dut):
    b = await DataPathBench(dut).begin()
    assert await b.run(WRITE, 0, 4) == SUCCESS and await b.run(FLUSH) == SUCCESS
    await b.quiet()
    for lpn in range(4):
        b.copy(lpn, 900 + lpn)
    await b.until(lambda: sum(e["kind"] == RELOCATE for e in b.log) == 4)
    await b.quiet()
    assert [b.map[lpn][0] for lpn in range(4)] == [NAND | 900 + lpn for lpn in range(4)] and int(
        dut.releasedPages.value
    ) == 4
    assert await b.run(READ, 0, 4) == SUCCESS


@simulated
async def copy_of_a_block_that_changed_meanwhile_comes_to_nothing(dut):
    b = await DataPathBench(dut).begin()
    assert await b.run(WRITE, 7) == SUCCESS and await b.run(FLUSH) == SUCCESS
    await b.quiet()
    source, target = b.map[7][0] & 0xFFFF, 900
    assert await b.run(WRITE, 7) == SUCCESS
    b.pages[target], b.moving[source] = b.pages[source], (7, target, 7)
    b.move.queue.append(dict(lpn=7, source=source, target=target, sequence=7))
    await b.until(lambda: any(e["kind"] == RELOCATE for e in b.log))
    await b.quiet()
    assert b.map[7][0] != NAND | target
    assert await b.run(READ, 7) == SUCCESS


@simulated
async def write_that_no_page_takes_makes_the_drive_read_only_and_stays_readable(dut):
    b = await DataPathBench(dut).begin()
    b.failing = set(range(2, 2000))
    assert await b.run(WRITE, 0, 2) == SUCCESS
    assert await b.run(WRITE, 10, 4, txid=1) == SUCCESS
    waits = [b.submit(FLUSH), b.submit(WRITE, 20, 32), b.submit(WRITE, 60, 32)]
    await b.until(lambda: all(t in b.results for t in waits), 100_000)
    assert b.results[waits[0]]["status"] == WRITE_FAULT and b.results[waits[2]]["status"] in (READ_ONLY, WRITE_FAULT)
    assert [await b.run(op, 300, 2) for op in (WRITE, TRIM)] == [READ_ONLY] * 2 and await b.run(FLUSH) == WRITE_FAULT
    assert await b.run(BEGIN, txid=5) == READ_ONLY and await b.run(COMMIT, txid=1) == READ_ONLY
    assert await b.run(READ, 10, 4, txid=1) == SUCCESS and await b.run(READ, 0, 2) == SUCCESS
    assert await b.run(ABORT, txid=1) == SUCCESS
    for _ in range(amount(2, 4)):  # two need more frames than there are
        assert await b.run(WRITE, 100, 32) == READ_ONLY, "no frames are lost to refused writes"


@simulated
async def rescue_that_finds_no_page_gives_up_only_when_no_event_waits_for_firmware(dut):
    b = await DataPathBench(dut).begin(pages=4)
    b.failing = {2}
    b.pin["eventWaits"].set(1)
    b.pin["full"].set(1)
    assert await b.run(WRITE, 0, 4) == SUCCESS
    await b.until(lambda: b.reported)
    await b.clocks(2000)
    assert not b.failed, "firmware has not seen the event"
    b.alloc.queue.append({"payload": 40})
    assert await b.run(FLUSH) == SUCCESS
    b.failing |= {50}
    b.alloc.queue.append({"payload": 50})
    b.pin["full"].set(0)
    assert await b.run(WRITE, 9) == SUCCESS
    b.pin["full"].set(1)
    b.pin["eventWaits"].set(0)
    await b.until(lambda: b.failed)
    assert await b.run(FLUSH) == WRITE_FAULT and await b.run(READ, 9) == SUCCESS


async def cut_off(b):
    """A WRITE of blocks 0 to 7 of which three are in the log when a block is retired: no page comes for the others."""
    b.hold_programs = True
    b.append_sink.open = False
    write = b.submit(WRITE, 0, 8)
    await b.clocks(9000)
    del b.alloc.queue[3:]
    b.pin["full"].set(1)
    b.append_sink.open = True
    await b.until(lambda: b.failed)
    assert b.results[write]["status"] == SUCCESS and b.open_group is not None and len(b.log) == 3
    assert await b.run(FLUSH) == WRITE_FAULT and len(b.log) == 3


@simulated
async def group_that_a_failing_block_left_without_pages_ends(dut):
    b = await DataPathBench(dut).begin(pages=8)
    await cut_off(b)
    read = b.submit(READ, 0, 8)
    await b.until(lambda: read in b.results)
    assert all(b.blocks[read][k] for k in range(8)), "the blocks that no page takes are seen with the others"
    b.let_programs_end()
    for _ in range(amount(2, 4)):  # two need more frames than there are
        assert await b.run(WRITE, 100, 32) == READ_ONLY, "no frames are lost"


@simulated
async def group_that_a_fault_has_cut_off_does_not_hold_up_the_executor(dut):
    """ABORT has a record, too."""
    b = await DataPathBench(dut).begin(pages=8)
    assert await b.run(BEGIN, txid=1) == SUCCESS
    await cut_off(b)
    assert await b.run(COMMIT, txid=1) == READ_ONLY
    b.open_group = None  # after a fault the log takes and drops what comes
    assert await b.run(ABORT, txid=1) == SUCCESS


@simulated
async def page_that_fails_while_a_copy_waits_for_the_end_of_a_group_does_not_stop_the_group(dut):
    """The copy's RELOCATE waits for the end of the group, the group for flash to take its programs, flash for its done
    beats to be taken.
    """
    b = await DataPathBench(dut).begin()
    assert await b.run(WRITE, 0) == SUCCESS and await b.run(FLUSH) == SUCCESS
    await b.quiet()
    b.flash_depth = 4
    w = b.submit(WRITE, 100, 12)
    await b.until(lambda: b.open_group is not None)
    b.failing = {b.last_page + 1}
    b.copy(0, 900)
    await b.until(lambda: not b.move.queue, 40)
    assert b.open_group is not None and not b.reported, "the copy comes first"
    end = b.clock + 12 * (400 + 50)
    await b.until(lambda: w in b.results or b.clock == end)
    swaps = sum(e["op"] == SWAP for e in b.ops)
    assert w in b.results, (
        f"a WRITE stands still after {len(b.pages)} programs and {swaps} SWAPs: done beats wait behind a page that "
        "failed, that for the copy of another"
    )
    assert b.results[w]["status"] == SUCCESS and await b.run(FLUSH) == SUCCESS
    await b.quiet()
    assert b.map[0][0] == NAND | 900 and set(b.reported) == b.failing
    assert [e["arg"] for e in b.log if e["kind"] == RELOCATE] == [0, *b.failing], (
        "the copy's entry, then that of the page that failed"
    )
    assert await b.run(READ, 0) == SUCCESS and await b.run(READ, 100, 12) == SUCCESS


@simulated
async def page_that_failed_is_rescued_before_a_copy_of_it_is_taken(dut):
    """A page whose program failed may read well, so firmware may have copied it while it waits for its rescue. The last
    RELOCATE of it that recovery follows must be the one whose SWAP hits.
    """
    b = await DataPathBench(dut).begin()
    b.failing, b.event_sink.open = {0, 1}, False
    assert await b.run(WRITE, 5) == SUCCESS and await b.run(WRITE, 6) == SUCCESS
    await b.until(lambda: sum(state == "failed" for state in b.busy_frames.values()) == 2)
    await b.clocks(200)
    source, target = 1, 900
    b.pages[target], b.moving[source] = (b.map[6][1], 6), (6, target, 1)
    b.move.queue.append(dict(lpn=6, source=source, target=target, sequence=1))
    b.event_sink.open = True
    assert await b.run(FLUSH) == SUCCESS
    await b.quiet()
    relocates = [e["location_value"] for e in b.log if e["kind"] == RELOCATE and e["arg"] == source]
    assert relocates[0] == b.map[6][0] & 0xFFFF != target, f"log: {relocates}, map: {b.map[6][0]:x}"


async def random_failures(dut, count, stall, seed):
    rng = random.Random(seed)
    b = await DataPathBench(dut, seed, stall).begin(pages=3000)
    b.failing = {n for n in range(3000) if rng.random() < 0.15}
    sent, copies = 0, 5000
    while sent < count:
        op = rng.choice([WRITE] * 8 + [READ] * 6 + [TRIM, FLUSH, BEGIN, COMMIT, COMMIT, ABORT])
        ranged = op in (WRITE, READ, TRIM)
        txid = rng.choice([0, 1, 31]) if op in (BEGIN, COMMIT, ABORT) or ranged and rng.random() < 0.5 else None
        lba, blocks = rng.randrange(14), rng.choice([1, 1, 1, 2, 3]) if ranged else 1
        more = (
            dict(fua=int(rng.random() < 0.1), commit=int(txid is not None and rng.random() < 0.2))
            if op == WRITE
            else {}
        )
        cmd = dict(opcode=op, lba=lba, count=blocks, hasTx=txid is not None, txid=txid, commit=more.get("commit", 0))
        await b.until(partial(may_go, b, cmd, txid is not None and op in (WRITE, TRIM, BEGIN)), 100_000)
        b.submit(op, lba, blocks, txid, **more)
        sent += 1
        still = [
            lpn
            for lpn, (word, _) in b.map.items()
            if word >> 30 == 1 and word & 0xFFFF not in b.moving and (word & 0xFFFF) in b.pages
        ]
        if still and rng.random() < 0.3 and len(b.move.queue) < 3:
            b.copy(rng.choice(still), copies)
            copies += 1
        await b.clocks(rng.choice([0, 0, 5, 200]))
    await b.until(lambda: not b.active and not b.move.queue, 200_000)
    for t in (0, 1, 31):
        if b.state[t] == OPEN:
            assert await b.run(ABORT, txid=t) == SUCCESS
    assert await b.run(FLUSH) == SUCCESS
    await b.quiet()
    for lpn in range(0, 16, 4):
        assert await b.run(READ, lpn, 4) == SUCCESS
    moved = sum(e["kind"] == RELOCATE for e in b.log)
    dut._log.info(
        "seed %d: %d clocks, %d log entries, %d of them RELOCATE, %d pages failed, %d copies",
        seed,
        b.clock,
        len(b.log),
        moved,
        len(b.reported),
        copies - 5000,
    )
    assert len(b.reported) > count / 15 and moved > count / 8 and copies > 5000 + count / 15
    await b.all_frames_are_free()


@simulated
async def random_commands_with_failing_programs_and_copies_agree_with_the_model(dut):
    await random_failures(dut, amount(100, 300), 0.0, int(os.environ.get("SEED", "1")))


@simulated
async def random_commands_with_failing_programs_agree_with_the_model_under_stalls(dut):
    await random_failures(dut, amount(50, 200), 0.3, 1000 + int(os.environ.get("SEED", "1")))


def test_rescue():
    assert GEOMETRY.write_frames >= 32
    run("otx_data_path", [verilog()], __name__)
