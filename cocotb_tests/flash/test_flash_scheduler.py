# SPDX-License-Identifier: Apache-2.0
"""Flash scheduler between its clients, frame memory and model channels (bench/flash_channel.py).

Written from docs/interfaces.md, "Flash scheduler" and "NAND channel".
"""

import os

import cocotb
import pytest

from cocotb_tests.bench.amount import LONG, amount
from cocotb_tests.bench.flash_bench import BLOCKS, CLIENTS, PAGES, FlashBench, page, verilog
from cocotb_tests.bench.flash_workload import Workload, dies, sent
from cocotb_tests.models.flash_model import BLANK, CHUNK, CRC, ERASED, FAIL, ID, OK, OOB, PARAMETERS, TIMEOUT, Op
from cocotb_tests.models.way_order import MOST_PASSED, MOST_PASSED_FIRST, most_passed

PRIORITIES = os.environ.get("OTX_PRIORITIES", "1") == "1"
ARRAY = {op: (100, 100) for op in Op} | {Op.PROGRAM: (3000, 3000)}


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_page_moves_from_a_frame_to_its_die_and_back_into_another_frame(dut):
    b = await FlashBench(dut).begin(generation=0xCAFE_0001)
    for n, (c, w) in enumerate(dies(b)):
        b.frame.fill(n, page(n + 1))
        lpn, sequence = 0xFFFF_FF00 + n, 0xABCD_0000_0000 + n
        ppn = b.ppn(c, w, 31, 0)
        (done,) = await b.finished(b.op("write", Op.PROGRAM, ppn, n, 1, lpn, sequence))
        assert done["status"] == OK
        words, oob = b.channels[c].pages[w, 31 * PAGES]
        assert words == page(n + 1), "other data is programmed"
        assert oob == {"kind": 1, "generation": 0xCAFE_0001, "lpn": lpn, "sequence": sequence}
        (done,) = await b.finished(b.op("read", Op.READ, ppn, 40 + n))
        assert {f: done[f] for f in OOB} == oob and done["status"] == OK
        assert b.frame.page(40 + n) == page(n + 1), "other data is read"
    assert all(b.frame.page(f) == [0] * 512 for f in range(len(dies(b)), 40)), "another frame was written"


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def an_idle_scheduler_adds_few_clocks(dut):
    b = await FlashBench(dut, times={op: (50, 50) for op in Op}).begin()
    cookie = b.op("firmware", Op.STATUS, b.ppn(0, 0, 0))
    start = b.clock + 1
    (done,) = await b.finished(cookie)
    to_channel = b.channels[0].log[0]["clock"] - start
    after_array = done["clock"] - b.channels[0].log[0]["clock"] - 50
    dut._log.info("op to cmd %d clocks, cmd to done %d clocks more than the array", to_channel, after_array)
    assert to_channel == 3 and after_array <= 6
    start = b.clock
    (done,) = await b.finished(b.op("read", Op.READ, b.ppn(0, 0, 0), 50))
    dut._log.info("a page of 512 beats: done %d clocks after the op, array 50, bus 512", done["clock"] - start)
    assert done["clock"] - start < 50 + 512 + 80


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def the_bus_gets_a_beat_per_clock_in_both_directions(dut):
    b = await FlashBench(dut, times={op: (10, 10) for op in Op}).begin()
    start = b.clock
    (done,) = await b.finished(b.op("write", Op.PROGRAM, b.ppn(0, 0, 1), 3))
    program = done["clock"] - start
    start = b.clock
    (done,) = await b.finished(b.op("read", Op.READ, b.ppn(0, 0, 1), 41))
    read = done["clock"] - start
    dut._log.info("page program %d clocks, page read %d clocks", program, read)
    assert program < 512 + 100 and read < 512 + 100


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def all_dies_work_at_the_same_time(dut):
    b = await FlashBench(dut, times=ARRAY).begin()
    for n, (c, w) in enumerate(dies(b)):
        b.op("write", Op.PROGRAM, b.ppn(c, w, 2), n)
    await b.finished()
    assert all(channel.most == b.geometry.ways for channel in b.channels)
    dut._log.info("%d programs of 3000 clocks took %d clocks", len(dies(b)), b.clock)
    assert b.clock < 3000 + len(dies(b)) * 540  # the pages pass frame memory's one port in turn


def clients_in_order(b, channel, way):
    """Whose ops the channel got for that way: the tests below put a letter of the client into `kind`."""
    return "".join(chr(c["kind"]) for c in sent(b, channel, way))


async def all_classes_wait_at_one_die(b, **count):
    """So many ops of each client wait at die (0, 1) behind an op that is at work; `erase`: ERASEs of firmware behind
    its other ops.
    """
    b.op("firmware", Op.RESET, b.ppn(0, 1, 0), kind=ord("0"))
    await b.until(lambda: b.channels[0].log)
    for client, n in count.items():
        op = Op.ERASE if client == "erase" else Op.STATUS
        for i in range(n):
            b.op("firmware" if client == "erase" else client, op, b.ppn(0, 1, 7, i % PAGES), kind=ord(client[0]))
    await b.clocks(12)


@cocotb.test(timeout_time=1, timeout_unit="ms", skip=not PRIORITIES)
async def reads_go_first_then_log_pages_then_programs_then_firmware(dut):
    b = await FlashBench(dut, times={op: (200, 200) for op in Op}).begin()
    await all_classes_wait_at_one_die(b, firmware=2, write=2, log=2, read=4)
    await b.finished()
    assert clients_in_order(b, 0, 1) == "0" + "rlrl" + "rr" + "wwff", clients_in_order(b, 0, 1)


@cocotb.test(timeout_time=1, timeout_unit="ms", skip=not PRIORITIES)
async def an_erase_waits_longer_than_other_operations_of_firmware(dut):
    for first, second in (("firmware", "erase"), ("erase", "firmware")):
        b = await FlashBench(dut, times={op: (20, 20) for op in Op}).begin()
        b.clock = 0
        await all_classes_wait_at_one_die(b, **{first: 1})
        for _ in range(80):  # reads come as fast as they go
            b.op("read", Op.STATUS, b.ppn(0, 1, 8), kind=ord("r"))
        b.op("firmware", Op.ERASE if second == "erase" else Op.STATUS, b.ppn(0, 1, 9), kind=ord(second[0]))
        await b.finished()
        order = clients_in_order(b, 0, 1)
        at, then = order.index(first[0]), order.index(second[0])
        after = {"firmware": 16, "erase": 24}
        assert abs(at - 1 - after[first]) <= 1 and then - at - 1 == after[second], order


@cocotb.test(timeout_time=1, timeout_unit="ms", skip=not PRIORITIES)
async def the_log_hears_of_an_erase_that_waits(dut):
    b = await FlashBench(dut, times={op: (200, 200) for op in Op}).begin()
    die = 1  # channel 0, way 1

    def now():
        return int(getattr(dut, f"dieNow_{die}").value)

    assert now() == 0
    b.op("write", Op.PROGRAM, b.ppn(0, 1, 4), 1)
    await b.until(lambda: now() == 1)
    b.op("firmware", Op.ERASE, b.ppn(0, 1, 9))
    await b.until(lambda: now() == 3, 8)
    assert len(b.channels[0].log) == 1, "the erase has begun"
    await b.until(lambda: len(b.channels[0].log) == 2)
    while any(source.queue for source in b.clients.values()) or now() & 1:
        assert now() & 2, "the log takes the die for one that is not erased"
        await b.step()
    await b.finished()
    await b.until(lambda: now() == 0)


@cocotb.test(timeout_time=1, timeout_unit="ms", skip=not PRIORITIES)
async def no_class_is_passed_over_more_often_than_its_bound(dut):
    worst = dict.fromkeys(MOST_PASSED, 0)
    for seed in range(1, 9):
        b = await FlashBench(dut, seed, times={op: (8, 8) for op in Op}).begin()
        b.clock = 0
        share = {c: b.rng.choice([0.3, 1, 1]) for c in ("write", "log", "firmware")} | {"read": 1}
        for n in range(200):
            for client, part in share.items():
                if b.rng.random() < part:
                    op = Op.ERASE if client == "firmware" and b.rng.random() < 0.5 else Op.STATUS
                    b.op(client, op, b.ppn(0, 1, 1 + n % 20), kind=ord(client[0]))
        await b.until(lambda b=b: not all(source.queue for source in b.clients.values()), 20_000)
        for client in CLIENTS:
            b.clients[client].queue.clear()
            b.clients[client].offered = False
        for kind, n in b.orders[0][1].worst.items():
            worst[kind] = max(worst[kind], n)
    dut._log.info("passed over at most %s of %s", worst, MOST_PASSED)
    bound = MOST_PASSED | {"read": MOST_PASSED_FIRST}  # all have one class
    assert all(bound[kind] - 1 <= n <= bound[kind] for kind, n in worst.items()), "the bound was hardly tried"


@cocotb.test(timeout_time=1, timeout_unit="ms", skip=PRIORITIES)
async def log_pages_overtake_what_waits_at_their_die(dut):
    b = await FlashBench(dut).begin()
    for n in range(4):
        b.op("write", Op.PROGRAM, b.ppn(1, 1, 4, n), n, lpn=n)
    for n in range(3):
        b.op("read", Op.READ, b.ppn(1, 1, 5, n), 41 + n)
    await b.until(lambda: len(b.channels[1].log) == 1 and not b.clients["write"].queue and not b.clients["read"].queue)
    for n in range(2):
        b.op("log", Op.PROGRAM, b.ppn(1, 1, 6, n), 56 + n, kind=2)
    await b.finished()
    assert [c["kind"] for c in sent(b, 1, 1)][:4].count(2) == 2 and [c["kind"] for c in sent(b, 1, 1)][1:3] == [2, 2]


@cocotb.test(timeout_time=1, timeout_unit="ms", skip=PRIORITIES)
async def reads_and_the_rest_take_turns_and_each_keeps_its_order(dut):
    b = await FlashBench(dut, times={op: (20, 20) for op in Op}).begin()
    b.op("firmware", Op.RESET, b.ppn(0, 1, 0))
    await b.until(lambda: b.channels[0].log)
    for n in range(6):
        b.op("read", Op.VERIFY, b.ppn(0, 1, 7, n))
        b.op("write" if n % 2 else "firmware", Op.STATUS, b.ppn(0, 1, 8, n))
        await b.clocks(1)
    await b.finished()
    rows = [c["row"] for c in sent(b, 0, 1)][1:]
    blocks = [row // PAGES for row in rows]
    assert blocks[:2] in ([7, 8], [8, 7]) and all(x != y for x, y in zip(blocks, blocks[1:], strict=False)), (
        f"no turns: {blocks}"
    )
    for block in (7, 8):
        assert [row % PAGES for row in rows if row // PAGES == block] == list(range(6)), "order within a class is lost"


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_full_queue_holds_its_client_and_nobody_else(dut):
    b = await FlashBench(dut, times={op: (200, 200) for op in Op}).begin()
    for n in range(12):
        b.op("write", Op.STATUS, b.ppn(0, 0, 1, n % PAGES))
    await b.clocks(40)
    assert len(b.clients["write"].queue) == 3, "one at work and eight in the queue"
    others = [
        b.op("read", Op.STATUS, b.ppn(0, 0, 1)),
        b.op("log", Op.STATUS, b.ppn(0, 0, 1)),
        b.op("firmware", Op.STATUS, b.ppn(0, 1, 1)),
        b.op("firmware", Op.STATUS, b.ppn(1, 0, 1)),
    ]
    await b.until(lambda: not any(b.clients[c].queue for c in ("read", "log", "firmware")), 20)
    await b.finished(*others[2:], limit=300)
    assert dut.busy.value == 1
    await b.finished()
    await b.clocks(3)
    assert dut.busy.value == 0


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def firmware_gets_the_answers_of_every_operation(dut):
    b = await FlashBench(dut).begin(generation=9)
    at = b.ppn(1, 0, 3, 0)
    b.frame.fill(60, page(77))
    ops = [
        Op.RESET,
        Op.READ_ID,
        Op.PARAM,
        Op.ERASE,
        Op.PROGRAM,
        Op.READ_OOB,
        Op.VERIFY,
        Op.READ,
        Op.ERASE,
        Op.READ_OOB,
        Op.STATUS,
    ]
    cookies = [
        b.op("firmware", op, at, {Op.PARAM: 61, Op.PROGRAM: 60, Op.READ: 62}.get(op, 0), 5, 1234, 5678) for op in ops
    ]
    dones = await b.finished(*cookies)
    assert [c["op"] for c in sent(b, 1, 0)] == ops, "operations of firmware changed order"
    mine = {"kind": 5, "generation": 9, "lpn": 1234, "sequence": 5678}
    found = {op: {f: d[f] for f in OOB} | {"status": d["status"]} for op, d in zip(ops[:8], dones, strict=False)}
    assert found[Op.READ_ID]["sequence"] == ID
    assert b.frame.page(61) == PARAMETERS and b.frame.page(62) == page(77)
    assert found[Op.READ_OOB] == found[Op.READ] == found[Op.VERIFY] == mine | {"status": OK}
    assert dones[9]["status"] == BLANK and {f: dones[9][f] for f in OOB} == ERASED
    assert dones[10]["kind"] == 0xE0
    assert [d["clock"] for d in dones] == sorted(d["clock"] for d in dones)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def failures_reach_the_client_that_asked(dut):
    b = await FlashBench(dut).begin()
    b.channels[0].failing.add((0, 2 * PAGES))
    b.channels[0].timing_out.add((1, 2 * PAGES + 1))
    fail, slow = b.op("log", Op.PROGRAM, b.ppn(0, 0, 2, 0), 56), b.op("read", Op.READ, b.ppn(0, 1, 2, 1), 45)
    blank = b.op("read", Op.READ, b.ppn(0, 1, 9, 0), 46)
    dones = await b.finished(fail, slow, blank)
    assert [d["status"] for d in dones] == [FAIL, TIMEOUT, BLANK]
    assert b.frame.page(46) == [(1 << 64) - 1] * 512 and b.frame.page(45) == [0] * 512


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_read_is_done_only_when_its_data_is_in_the_frame(dut):
    b = await FlashBench(dut).begin()
    b.frame.write_latency = 300
    b.frame.fill(0, page(5))
    await b.finished(b.op("write", Op.PROGRAM, b.ppn(0, 0, 1, 0), 0))
    seen = []
    b.on_done = lambda cookie, op, beat: seen.append(b.frame.page(op["frame"]) == page(5))
    for n in range(3):
        b.op("read", Op.READ, b.ppn(0, 0, 1, 0), 41 + n)
    await b.finished()
    assert seen == [True] * 3


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def corrections_are_in_the_frame_before_the_read_is_done(dut):
    b = await FlashBench(dut, wrong=1.0).begin()
    b.frame.write_latency = 300
    for w in range(b.geometry.ways):
        b.frame.fill(w, page(5 + w))
        await b.finished(b.op("write", Op.PROGRAM, b.ppn(0, w, 1, 0), w))
    seen = []
    b.on_done = lambda cookie, op, beat: seen.append(
        op["op"] != Op.READ or b.frame.page(op["frame"]) == page(5 + op["frame"] % 2)
    )
    for n in range(6):
        way = n % b.geometry.ways
        b.op("read", Op.READ, b.ppn(0, way, 1, 0), 40 + n)
        b.op("write", Op.PROGRAM, b.ppn(0, way, 1, 1 + n // b.geometry.ways), 20 + n)
    await b.finished()
    assert seen == [True] * 12 and b.channels[0].told >= 6


async def pages_with_wrong_bits(b, counts, block=1):
    """PPNs of pages that have `counts` wrong bits in one chunk and fewer in the others, spread over all dies."""
    pages = []
    for n, count in enumerate(counts):
        (c, w), at = dies(b)[n % len(dies(b))], n // len(dies(b))
        await b.finished(b.op("write", Op.PROGRAM, b.ppn(c, w, block, at), n % 40))
        few = [(CHUNK * ((n + 1) % 8), 1)] if count > 1 else []
        b.channels[c].bad[w, block * PAGES + at] = [
            (CHUNK * (n % 8) + 7 * byte, 1 << byte) for byte in range(count)
        ] + few
        pages.append(b.ppn(c, w, block, at))
    return pages


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def host_reads_and_verifies_with_many_corrected_bits_are_reported_and_nothing_else(dut):
    for at in amount((5, 8, 0), (5, 1, 8, 0, 9, 15)):
        b = await FlashBench(dut, times={op: (20, 20) for op in Op}).begin(refresh_at=at)
        b.clock = 0
        counts = [*range(9), 5, 4, 8]
        pages = await pages_with_wrong_bits(b, counts)
        blank = b.ppn(0, 0, 9)
        b.channels[0].bad[0, 9 * PAGES] = b.channels[0].bad[0, PAGES]
        b.channels[1].timing_out.add((1, 10 * PAGES))
        b.channels[1].bad[1, 10 * PAGES] = [(0, 0xFF)]
        for n, ppn in enumerate([*pages, blank, b.ppn(1, 1, 10)]):
            for client, op in [
                ("firmware", Op.READ),
                ("firmware", Op.VERIFY),
                ("firmware", Op.READ_OOB),
                ("log", Op.READ),
                ("write", Op.READ),
                ("read", Op.READ),
            ]:
                await b.finished(b.op(client, op, ppn, 40 + n))
        await b.clocks(10)
        want = [ppn for ppn, count in zip(pages, counts, strict=True) if at and count >= at for _ in range(2)]
        assert b.weak.reports == want and b.weak.dropped == 0, f"at {at}: {b.weak.reports} instead of {want}"
        assert (
            (dut.weakReads.value, dut.correctedReads.value)
            == (len(want), 2 * len(counts) - 2)
            == (b.weak.weak_reads, b.weak.corrected_reads)
        )


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def reports_that_do_not_fit_are_dropped_and_no_read_waits_for_them(dut):
    b = await FlashBench(dut, times={op: (20, 20) for op in Op}).begin()
    pages = await pages_with_wrong_bits(b, [6] * 20)

    async def read_all():
        start = b.clock
        for n, ppn in enumerate(pages):
            b.op("read", Op.READ, ppn, 40 + n)
        await b.finished()
        await b.clocks(10)
        return b.clock - start

    taken = await read_all()
    assert sorted(b.weak.reports) == sorted(pages) and b.weak.dropped == 0
    b.weak_sink.open, b.weak.reports = False, []
    assert await read_all() == taken and dut.weak_valid.value == 1, "reads waited"
    b.weak_sink.open = True
    await b.clocks(30)
    assert len(b.weak.reports) == 8 and b.weak.dropped == 0 and dut.weak_valid.value == 0
    for due in b.weak.due.values():
        due.clear()
    await read_all()
    assert sorted(b.weak.reports[8:]) == sorted(pages) and dut.weakReads.value == 60


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def an_error_of_frame_memory_is_a_crc_status_of_that_operation_only(dut):
    b = await FlashBench(dut).begin()
    b.frame.bad = {3, 43}
    bad = [b.op("write", Op.PROGRAM, b.ppn(0, 0, 1, 0), 3), b.op("read", Op.READ, b.ppn(1, 0, 1, 0), 43)]
    good = [b.op("write", Op.PROGRAM, b.ppn(0, 1, 1, 0), 4), b.op("read", Op.READ, b.ppn(1, 1, 1, 0), 44)]
    dones = await b.finished(*bad, *good)
    assert [d["status"] for d in dones] == [CRC, CRC, OK, BLANK]
    next_ones = [b.op("write", Op.PROGRAM, b.ppn(0, 0, 1, 1), 5), b.op("read", Op.READ, b.ppn(1, 0, 1, 0), 45)]
    assert [d["status"] for d in await b.finished(*next_ones)] == [OK, BLANK]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_client_that_is_slow_to_take_dones_does_not_stop_the_dies(dut):
    b = await FlashBench(dut, times={op: (50, 50) for op in Op}).begin()
    b.dones["read"].open = False
    b.op("read", Op.STATUS, b.ppn(0, 0, 1))
    await b.clocks(100)
    assert not b.done and dut.readDone_valid.value == 1
    elsewhere = b.op("write", Op.STATUS, b.ppn(1, 0, 1))
    same = [b.op("write", Op.STATUS, b.ppn(0, w, 1)) for w in (0, 1)]
    await b.finished(elsewhere, limit=100)
    await b.clocks(100)
    assert len(b.channels[0].log) == 3, "the dies of the channel stand still"
    b.dones["read"].open = True
    await b.finished(*same, limit=20)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def pages_are_allocated_over_all_channels_first(dut):
    b = await FlashBench(dut).begin()
    for c, w in dies(b):
        b.free.queue.append({"payload": b.ppn(c, w, 6) // PAGES})
    await b.until(lambda: not b.free.queue)
    b.add(b.alloc)
    await b.until(lambda: len(b.pages) == 4 * PAGES)
    assert b.pages == [b.ppn(c, w, 6, n) for n in range(PAGES) for c, w in dies(b)]
    await b.clocks(1)
    assert dut.allocLeft.value == 0


async def pages_of_all_dies(b):
    for c, w in dies(b):
        for block in (6, 7):
            b.free.queue.append({"payload": b.ppn(c, w, block) // PAGES})
    await b.until(lambda: not b.free.queue)
    b.add(b.alloc)
    b.alloc.open = False


async def dies_of_next_pages(b, count):
    """Taken a long time after the dies have got what they have to do."""
    await b.clocks(30)
    b.pages.clear()
    b.alloc.open = True
    await b.until(lambda: len(b.pages) == count)
    b.alloc.open = False
    return {next(d for d in dies(b) if b.ppn(*d, 0) == page // (BLOCKS * PAGES) * BLOCKS * PAGES) for page in b.pages}


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def pages_are_those_of_the_dies_with_the_least_to_do(dut):
    """A die with one op more than the others gets none, whatever the op; the programs of pages enter one by one."""
    b = await FlashBench(dut, times=dict.fromkeys(Op, (3000, 3000))).begin()
    await pages_of_all_dies(b)
    for n, (client, op) in enumerate(
        [("read", Op.READ), ("log", Op.PROGRAM), ("firmware", Op.VERIFY), ("write", Op.PROGRAM)]
    ):
        busy = b.rng.choice(list(dies(b)))
        b.op(client, op, b.ppn(*busy, 1 + n, 0), 3)
        others = await dies_of_next_pages(b, 2)
        assert busy not in others, f"{client} is no load"
        await b.finished()
        assert busy in await dies_of_next_pages(b, len(dies(b))), "its end is not seen"
        for die in dies(b):  # what a taken page stands for
            b.op("write", Op.PROGRAM, b.ppn(*die, 5, n), 4)
        await b.finished()


@cocotb.test(timeout_time=1, timeout_unit="ms", skip=not PRIORITIES)
async def a_die_that_is_erased_gets_no_page_while_others_have_queues(dut):
    """Neither while the ERASE waits nor while it is under way."""
    b = await FlashBench(dut, times=dict.fromkeys(Op, (3000, 3000))).begin()
    await pages_of_all_dies(b)
    erased = list(dies(b))[1]
    for die in dies(b):
        for n in range(4):
            b.op("write", Op.PROGRAM, b.ppn(*die, 2, n), 4)
    erase = b.op("firmware", Op.ERASE, b.ppn(*erased, 3))
    assert erased not in await dies_of_next_pages(b, 4), "an erase waits"
    for die in dies(b):
        for n in range(2) if die != erased else ():
            b.op("write", Op.PROGRAM, b.ppn(*die, 2, 4 + n), 4)
    commands = next(channel for channel in b.channels if channel.channel == erased[0])
    await b.until(lambda: any(c["op"] == Op.ERASE for c in commands.log))
    assert erase not in b.done
    assert erased not in await dies_of_next_pages(b, 4), "an erase is under way"
    assert erase not in b.done
    await b.finished()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_die_with_a_full_queue_gets_no_page_while_another_has_room(dut):
    b = await FlashBench(dut, times=dict.fromkeys(Op, (3000, 3000))).begin()
    await pages_of_all_dies(b)
    full = list(dies(b))[1]
    for die in dies(b):
        if die != full:
            b.op("firmware", Op.ERASE, b.ppn(*die, 3))
    for n in range(9):  # one is under way, eight wait
        b.op("write", Op.PROGRAM, b.ppn(*full, 2, n), 4)
    await b.clocks(100)
    assert int(dut.places.value) == 8 * (len(list(dies(b))) - 1)
    assert full not in await dies_of_next_pages(b, 3)
    await b.finished()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def reset_drops_everything_and_the_next_operation_works(dut):
    b = await FlashBench(dut).begin()
    for c, w in dies(b):
        b.op("firmware", Op.STATUS, b.ppn(c, w, 1))
    await b.clocks(12)
    assert dut.busy.value == 1
    b = await FlashBench(dut).begin()
    b.clock = 0
    await b.clocks(5)
    assert dut.busy.value == 0
    b.frame.fill(1, page(8))
    await b.finished(b.op("write", Op.PROGRAM, b.ppn(0, 1, 1, 0), 1))
    assert b.channels[0].pages[1, PAGES][0] == page(8)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def random_operations_with_random_stalls_agree_with_the_model(dut):
    seed = int(os.environ.get("SEED", "1"))
    dut._log.info("SEED=%d", seed)
    b = await FlashBench(dut, seed, stall=0.15, wrong=0.3).begin()
    load = Workload(b, b.rng)
    count = amount(24, 90) * len(dies(b))
    for _ in range(count):
        await b.until(lambda: len(load.frames) > 30)
        load.submit()
        await b.clocks(b.rng.randrange(20))
    await b.finished()
    await b.clocks(20)
    assert dut.busy.value == 0 and len(b.done) == count
    for ppn, (words, oob) in load.written.items():
        die, row = divmod(ppn, BLOCKS * PAGES)
        channel, way = next(d for d in dies(b) if b.ppn(*d, 0) == die * BLOCKS * PAGES)
        assert b.channels[channel].pages[way, row] == (words, oob)
    assert {client for client, _ in load.counts} == set(CLIENTS) and all(
        channel.most == b.geometry.ways for channel in b.channels
    )
    told = sum(channel.told for channel in b.channels)
    assert told and b.frame.singles == 2 * told
    assert (b.weak.reports or not LONG) and not any(b.weak.due.values()) and b.weak.dropped == 0
    assert (dut.weakReads.value, dut.correctedReads.value) == (b.weak.weak_reads, b.weak.corrected_reads)
    dut._log.info("%d clocks, %d bursts, %d corrected bytes, %s", b.clock, b.frame.bursts, told, load.counts)


def run_on(channels, ways, testcase=None, priorities=True):
    from cocotb_tests.bench.runner import run

    env = {"OTX_CHANNELS": str(channels), "OTX_WAYS": str(ways), "OTX_PRIORITIES": str(int(priorities))}
    run(
        "otx_flash_scheduler",
        [verilog("otx_flash_scheduler", channels, ways, priorities)],
        __name__,
        env=env,
        testcase=testcase,
    )


def test_flash_scheduler():
    run_on(2, 2)


def test_without_priorities():
    names = (
        "log_pages_overtake_what_waits_at_their_die reads_and_the_rest_take_turns_and_each_keeps_its_order "
        "all_dies_work_at_the_same_time"
    )
    run_on(2, 2, [*names.split(), "random_operations_with_random_stalls_agree_with_the_model"], priorities=False)


def test_bounds_are_those_of_the_model():
    assert most_passed() == MOST_PASSED


@pytest.mark.parametrize("channels,ways", [(1, 3), (3, 1)])
def test_other_geometries(channels, ways):
    run_on(
        channels,
        ways,
        [
            "a_page_moves_from_a_frame_to_its_die_and_back_into_another_frame",
            "random_operations_with_random_stalls_agree_with_the_model",
        ],
    )
