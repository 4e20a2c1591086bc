# SPDX-License-Identifier: Apache-2.0
"""Command queue against its model (bench/command_bench.py)."""

import os
import random

import cocotb
from cocotb.triggers import FallingEdge, with_timeout

from cocotb_tests.bench.amount import amount
from cocotb_tests.bench.command_bench import (
    ABORT,
    BARRIER,
    BEGIN,
    CHECKPOINT,
    COMMIT,
    FLUSH,
    HEAD,
    INVALID_FIELD,
    INVALID_OPCODE,
    LBA_RANGE,
    LBAS,
    LOG_OPEN,
    NAMES,
    NOT_READY,
    OF_A_TXID,
    ORDERED,
    PREPARE,
    QUERY,
    RANGED,
    READ,
    RECOVER,
    RFLUSH,
    SIMPLE,
    SUCCESS,
    TRIM,
    TX_INVALID,
    VERILOG,
    WRITE,
    WRITES,
    ZEROES,
    Bench,
    closes_epoch,
    command,
    expected_status,
    names_tx,
)
from opentxssd.facts import TXIDS, Query


def random_command(rng, tag):
    op = rng.choice(
        [
            READ,
            READ,
            WRITE,
            WRITE,
            TRIM,
            ZEROES,
            FLUSH,
            BEGIN,
            COMMIT,
            ABORT,
            PREPARE,
            BARRIER,
            RECOVER,
            QUERY,
            CHECKPOINT,
            rng.randrange(256),
        ]
    )
    c = command(
        op,
        tag,
        lba=rng.randrange(40),
        count=rng.choice([1, 1, 2, 3, 32]),
        txid=rng.randrange(4),
        hasTx=rng.random() < 0.4 and op in RANGED,
    )
    if op == QUERY:
        c["arg"] = rng.choice([0, 0, 1, 6, 10])
    if op == CHECKPOINT:
        c["arg"] = rng.choice([0, 1, 2, 2**31])
    if op in RANGED:
        c["fua"] = int(op != READ and rng.random() < 0.2)
    else:
        c["hasTx"], c["lba"], c["count"] = int(names_tx(c)), rng.getrandbits(32), rng.getrandbits(16)
    c["stream"] = rng.getrandbits(16)
    c["priority"] = rng.randrange(4)
    c["order"] = rng.choice([SIMPLE] * 12 + [ORDERED, HEAD, HEAD])
    c["commit"] = int(op == WRITE and c["hasTx"] and rng.random() < 0.2)
    if op in (*WRITES, COMMIT):
        c["barrier"] = int(rng.random() < 0.15)
        c["orderless"] = int(op != COMMIT and not c["hasTx"] and rng.random() < 0.4)
    c["relaxed"] = int((op == COMMIT or c["commit"]) and rng.random() < 0.5 and not c["fua"])
    if rng.random() < 0.15:
        wrong = dict(
            lba=rng.choice([LBAS - 1, LBAS, 2**32 - 1]),
            count=rng.choice([0, 33, 65535]),
            txid=rng.choice([32, 255]),
            arg=rng.choice([rng.randrange(14), rng.randrange(30, 66)]),
        )
        wrong |= dict(barrier=1, orderless=1, order=3, fua=1, relaxed=1, commit=1, hasTx=int(not c["hasTx"]))
        field = rng.choice(sorted(wrong))
        c[field] = wrong[field]
    return c


@cocotb.test()
async def bad_commands_get_their_own_status_and_never_go_out(dut):
    b = Bench(dut)
    await b.begin()
    cases = [
        (command(0x55, 0), INVALID_OPCODE),
        (command(0x8E, 0), INVALID_OPCODE),
        (command(READ, 0, lba=0, count=0), INVALID_FIELD),
        (command(WRITE, 0, lba=0, count=33), INVALID_FIELD),
        (command(READ, 0, lba=LBAS, count=1), LBA_RANGE),
        (command(READ, 0, lba=LBAS - 1, count=2), LBA_RANGE),
        (command(WRITE, 0, lba=2**32 - 1, count=1), LBA_RANGE),
        (command(WRITE, 0, lba=0, count=1, hasTx=1, txid=32), TX_INVALID),
        (command(COMMIT, 0, hasTx=1, txid=32), TX_INVALID),
        (command(QUERY, 0, arg=Query.HEALTH + 32), INVALID_FIELD),
        (command(QUERY, 0, arg=Query.TX_WALK, hasTx=1, txid=TXIDS), TX_INVALID),
        *[
            (command(op, 0, hasTx=has), INVALID_FIELD)
            for op, has in ((BEGIN, 0), (COMMIT, 0), (ABORT, 0), (PREPARE, 0), (FLUSH, 1), (RECOVER, 1))
        ],
        *[(command(QUERY, 0, arg=arg, hasTx=int(arg not in OF_A_TXID)), INVALID_FIELD) for arg in Query],
        (command(WRITE, 0, count=1, commit=1), INVALID_FIELD),
        (command(WRITE, 0, count=1, hasTx=1, relaxed=1), INVALID_FIELD),
        (command(WRITE, 0, count=1, hasTx=1, commit=1, relaxed=1, fua=1), INVALID_FIELD),
        *[(command(op, 0, hasTx=1, relaxed=1), INVALID_FIELD) for op in (ABORT, PREPARE)],
        (command(PREPARE, 0, hasTx=1, txid=32), TX_INVALID),
        (command(RFLUSH, 0, lba=5), INVALID_FIELD),
        (command(RFLUSH, 0, lba=5, count=1, arg=2), INVALID_FIELD),
        (command(RFLUSH, 0, lba=5, count=1, hasTx=1), INVALID_FIELD),
        (command(RFLUSH, 0, lba=5, count=1, fua=1), INVALID_FIELD),
        (command(RFLUSH, 0, lba=LBAS - 5, count=6), LBA_RANGE),
        (command(RFLUSH, 0, lba=0, count=65535), LBA_RANGE),
        (command(FLUSH, 0, relaxed=1), INVALID_FIELD),
        *[(command(op, 0, count=1, order=3), INVALID_FIELD) for op in (READ, WRITE, TRIM, ZEROES, FLUSH, BARRIER)],
        *[(command(op, 0, count=1, barrier=1), INVALID_FIELD) for op in (READ, FLUSH, BARRIER, RECOVER, QUERY)],
        *[(command(op, 0, count=1, hasTx=1, barrier=1), INVALID_FIELD) for op in (BEGIN, ABORT, PREPARE)],
        *[(command(op, 0, count=1, orderless=1), INVALID_FIELD) for op in (READ, FLUSH, BARRIER)],
        *[(command(op, 0, count=1, hasTx=1, orderless=1), INVALID_FIELD) for op in (WRITE, TRIM, ZEROES, COMMIT)],
        (command(BARRIER, 0, hasTx=1), INVALID_FIELD),
        *[
            (command(op, 0, count=1, commit=1, hasTx=1), INVALID_FIELD)
            for op in (READ, TRIM, ZEROES, BEGIN, COMMIT, ABORT, PREPARE)
        ],
        *[
            (command(op, 0, count=1, fua=1, hasTx=int(op in NAMES)), INVALID_FIELD)
            for op in (READ, FLUSH, BEGIN, COMMIT, ABORT, PREPARE, RECOVER)
        ],
    ]
    for c, status in cases:
        assert expected_status(c) == status, f"model: {c}"
        await b.submit(c)
        await b.drain()
    assert not b.sent
    await b.submit(command(READ, 0, lba=LBAS - 1, count=1))
    await b.drain()
    assert len(b.sent) == 1, "the queue goes on after errors"


@cocotb.test()
async def every_command_is_not_ready_before_the_drive_is_enabled(dut):
    b = Bench(dut)
    await b.begin()
    dut.enable.value = 0
    for op in (READ, WRITE, FLUSH, 0x55):
        await b.submit(command(op, 3, count=1))
        await b.drain()
    assert b.statuses == {NOT_READY: 4}


@cocotb.test()
async def thirty_two_independent_commands_are_under_way_at_once(dut):
    b = Bench(dut, hold=True)
    await b.begin()
    for tag in range(32):
        await b.submit(command(WRITE, tag, lba=tag * 32, count=32))
    await b.goes(*range(32), clocks=400)
    for tag in reversed(range(32)):
        await b.done.send(tag=tag)
    await with_timeout(b.drain(), 10, "us")


@cocotb.test()
async def commands_on_one_block_go_out_one_after_the_other_in_their_order(dut):
    b = Bench(dut, hold=True)
    await b.begin()
    for tag in (5, 2, 9, 0):
        await b.submit(command(WRITE, tag, lba=7, count=1))
    for n, tag in enumerate((5, 2, 9, 0)):
        for _ in range(20):
            await FallingEdge(dut.clk)
        assert [c["tag"] for c in b.sent] == [5, 2, 9, 0][: n + 1]
        await b.done.send(tag=tag)


@cocotb.test()
async def a_write_to_a_txid_whose_walk_is_under_way_waits_and_others_do_not(dut):
    b = Bench(dut)
    b.states([0, 4] + [0] * 30)
    await b.begin()
    await b.submit(command(WRITE, 0, lba=0, count=1, hasTx=1, txid=1))
    await b.submit(command(WRITE, 1, lba=8, count=1, hasTx=1, txid=2))
    for _ in range(60):
        await FallingEdge(dut.clk)
    assert [c["tag"] for c in b.sent] == [1]
    b.states([0] * 32)
    await with_timeout(b.drain(), 10, "us")
    assert [c["tag"] for c in b.sent] == [1, 0]


OTHERS = [
    command(BEGIN, 10, hasTx=1, txid=1),
    command(TRIM, 11, lba=900, count=3),
    command(ZEROES, 12, lba=910, count=3, hasTx=1, txid=2),
    command(PREPARE, 13, hasTx=1, txid=3),
]
FREE = [
    command(COMMIT, 20, hasTx=1, txid=5),
    command(ABORT, 21, hasTx=1, txid=6),
    command(FLUSH, 22),
    command(QUERY, 23, arg=2),
    command(READ, 24, lba=800, count=32),
]


@cocotb.test()
@cocotb.parametrize(what=["allocLeft", "framesFree"])
async def a_write_without_room_waits_and_only_writes_wait_behind_it(dut, what):
    b = Bench(dut, hold=True)
    b.keeps = True
    await b.begin()
    b.set(**{what: 31})
    for c in (command(WRITE, 0, lba=0, count=32), command(WRITE, 1, lba=40, count=1), *OTHERS, *FREE):
        await b.submit(c)
    await b.goes(*[c["tag"] for c in (*OTHERS, *FREE)], clocks=100)
    b.set(**{what: 32})
    await b.goes(0)  # the small one did not take what the large one waits for
    b.set(**{what: 1})  # the first one's are gone, but it is not known that it takes no more
    await b.goes()
    for blocks in (32,) if what == "framesFree" else (1, 30):
        await b.goes()
        await (b.fetch(0) if what == "framesFree" else b.settled(blocks))
    if what != "framesFree":
        await b.goes()
        await b.settled(1)
    await b.goes(1)


@cocotb.test()
async def a_write_that_finds_no_pages_or_frames_says_so(dut):
    """So that what waits in the write buffer is written, which gives frames back."""
    b = Bench(dut, hold=True)
    b.keeps = True
    await b.begin()
    for n, short in enumerate(("allocLeft", "framesFree")):
        b.set(**{short: 3})
        await b.submit(command(WRITE, 2 * n, lba=100 * n, count=3))
        await b.goes(2 * n)
        assert not int(dut.starved.value)
        await b.submit(command(WRITE, 2 * n + 1, lba=100 * n + 40, count=1))
        await b.goes()
        assert int(dut.starved.value)
        await b.fetch(2 * n)
        await b.settled(3)
        await b.goes(2 * n + 1)
        await b.fetch(2 * n + 1)
        await b.settled(1)
        assert not int(dut.starved.value)
        b.set(**{short: 2000})


@cocotb.test()
async def a_write_leaves_as_many_frames_as_are_to_be_kept(dut):
    """There is no energy to save what would be in them."""
    b = Bench(dut, hold=True)
    await b.begin()
    b.set(framesFree=40, framesKept=33)
    await b.submit(command(WRITE, 0, lba=0, count=8))
    await b.goes()
    assert int(dut.starved.value)
    b.set(framesKept=32)
    await b.goes(0)


@cocotb.test()
async def a_write_that_a_full_drive_refuses_waits_for_no_energy(dut):
    """Nothing of it is saved: it goes, and gets CAPACITY, when there are frames for its data."""
    b = Bench(dut, hold=True)
    await b.begin()
    b.set(framesFree=7, framesKept=40, allocLeft=7)
    await b.submit(command(WRITE, 0, lba=0, count=8))
    await b.goes()
    b.set(full=1)
    await b.goes()
    b.set(framesFree=40, allocLeft=8)
    await b.goes()
    b.set(allocLeft=7)
    await b.goes(0)


@cocotb.test()
async def a_write_waits_for_the_clocks_of_the_one_before_and_only_writes_wait_behind_it(dut):
    b = Bench(dut, hold=True)
    await b.begin()
    dut.pageClocks.value = 100
    await b.submit(command(WRITE, 0, lba=0, count=4))
    await b.goes(0)
    for c in (command(WRITE, 1, lba=40, count=1), *OTHERS, *FREE):
        await b.submit(c)
    await b.goes(*[c["tag"] for c in (*OTHERS, *FREE)], clocks=250)
    await b.goes(1, clocks=120)
    for known, tag in (("full", 2), ("fault", 3)):
        await b.submit(command(WRITE, tag, lba=60 + tag, count=1))
        b.set(**{known: 1})
        await b.goes(tag)
        b.set(**{known: 0})


@cocotb.test()
async def without_log_pages_what_needs_some_waits_and_nothing_else_does(dut):
    b = Bench(dut, hold=True)
    await b.begin()
    b.set(logLeft=LOG_OPEN)
    needs = (command(WRITE, 0, lba=0, count=1), *OTHERS)
    for c in (*needs, *FREE):
        await b.submit(c)
    await b.goes(*[c["tag"] for c in FREE], clocks=100)
    b.set(logLeft=LOG_OPEN + 1)
    await b.goes(*[c["tag"] for c in needs])


@cocotb.test()
@cocotb.parametrize(short=[{"allocLeft": 0}, {"framesFree": 0}, {"logLeft": LOG_OPEN}, {"takes": 0}])
async def nobody_is_overtaken_for_ever_while_room_comes_and_goes(dut, short):
    """Commands that need no room come all the time, room for one that needs some now and then.

    Tags 0 to 2 are used again at once, and 20 and 30 have their turn too.
    """
    b = Bench(dut, hold=True)
    await b.begin()
    b.set(**short)
    op, other = (TRIM if "logLeft" in short else WRITE), (READ if "takes" in short else FLUSH)
    went = []
    for tag in (0, 1, 2, 20, 30):
        await b.submit(command(op, tag, lba=tag * 20, count=1))
    for _ in range(12):
        n = len(b.sent)
        for tag in (25, 5):
            await b.submit(command(other, tag, lba=900, count=1))
        for _ in range(60):
            await FallingEdge(dut.clk)
        assert [c["tag"] for c in b.sent[n:]] in ([5, 25], [25, 5])
        b.set(**{k: v + 1 for k, v in short.items()})
        while len(b.sent) < n + 3:
            await FallingEdge(dut.clk)
        b.set(**short)
        for _ in range(40):
            await FallingEdge(dut.clk)
        for c in b.sent[n:]:
            if c["opcode"] == WRITE:
                await b.settled(1)
            await b.done.send(tag=c["tag"])
        went += [c["tag"] for c in b.sent[n:] if c["opcode"] == op]
        for _ in range(10):
            await FallingEdge(dut.clk)
        for tag in (0, 1, 2):
            if tag not in b.under_way:
                await b.submit(command(op, tag, lba=tag * 20, count=1))
    dut._log.info("%s went", went)
    assert {20, 30} <= set(went), f"{went} went"


@cocotb.test()
@cocotb.parametrize(
    (
        ("known", "short"),
        [
            ("full", "allocLeft"),
            ("logFull", "logLeft"),
            ("fault", "framesFree"),
            ("fault", "logLeft"),
            ("fault", "allocLeft"),
        ],
    )
)
async def where_no_room_will_come_commands_go_out_to_hear_it(dut, known, short):
    b = Bench(dut, hold=True)
    await b.begin()
    b.set(**{short: 0})
    await b.submit(command(WRITE, 0, lba=0, count=2))
    await b.goes()
    b.set(**{known: 1})
    await b.goes(0)


@cocotb.test()
async def reads_go_out_while_the_data_path_takes_nothing_else(dut):
    b = Bench(dut, hold=True)
    await b.begin()
    b.set(takes=0)
    for c in (command(WRITE, 0, lba=0, count=32), *OTHERS, *FREE, command(READ, 25, lba=700, count=1)):
        await b.submit(c)
    await b.goes(24, 25, clocks=100)
    b.set(takes=1)
    b.out.stall = 1.0  # a command is on its way: nobody else goes before it is taken
    await b.goes()
    await b.submit(command(READ, 26, lba=600, count=1))
    await b.goes()
    b.out.stall = 0.0
    await b.goes(0, 26, *[c["tag"] for c in (*OTHERS, *FREE) if c["tag"] != 24], clocks=200)


KEEP = [  # order-preserving, and free of each other
    command(WRITE, 0, lba=0, count=1),
    command(TRIM, 1, lba=40, count=1),
    command(ZEROES, 2, lba=80, count=1),
    command(COMMIT, 3, hasTx=1, txid=1),
    command(COMMIT, 4, hasTx=1, txid=2, relaxed=1),
    command(WRITE, 5, lba=120, count=1, hasTx=1, txid=3, commit=1),
]
LOOSE = [
    command(WRITE, 10, lba=160, count=1, orderless=1),
    command(TRIM, 11, lba=200, count=1, orderless=1),
    command(WRITE, 12, lba=240, count=1, hasTx=1, txid=4),
    command(PREPARE, 13, hasTx=1, txid=5),
    command(ABORT, 14, hasTx=1, txid=6),
    command(FLUSH, 15),
    command(READ, 16, lba=0, count=32),
    command(BEGIN, 17, hasTx=1, txid=7),
]


@cocotb.test()
@cocotb.parametrize(closes=[command(BARRIER, 31), command(WRITE, 31, lba=300, count=1, orderless=1, barrier=1)])
async def a_barrier_keeps_its_place_among_what_keeps_order_and_concerns_nobody_else(dut, closes):
    """Nothing completes; the WRITE before the barrier waits for room, so the barrier and what keeps order wait too."""
    b = Bench(dut, hold=True)
    await b.begin()
    b.set(allocLeft=0)
    again = [c | dict(tag=c["tag"] + 20, lba=c["lba"] + 500, txid=c["txid"] + 10) for c in KEEP]
    for c in (*KEEP, closes, *again, *LOOSE):
        await b.submit(c)
    no_room = {c["tag"] for c in (*KEEP, closes, *again, *LOOSE) if c["opcode"] == WRITE}
    await b.goes(*[c["tag"] for c in (*KEEP, *LOOSE) if c["tag"] not in no_room and c["tag"] != 16], clocks=300)
    b.set(allocLeft=2000)
    await b.goes(*no_room | {31} | {c["tag"] for c in again}, clocks=500)
    order = [c["tag"] for c in b.sent]
    assert max(order.index(c["tag"]) for c in KEEP) < order.index(31) < min(order.index(c["tag"]) for c in again)


@cocotb.test()
async def a_barrier_waits_for_a_write_that_waits_for_room(dut):
    b = Bench(dut, hold=True)
    await b.begin()
    b.set(allocLeft=0)
    await b.submit(command(WRITE, 1, lba=0, count=1))
    await b.submit(command(BARRIER, 0))
    await b.goes()
    b.set(allocLeft=2000)
    await b.goes(0, 1)
    assert [c["tag"] for c in b.sent] == [1, 0]


@cocotb.test()
@cocotb.parametrize(closes=[command(BARRIER, 31), command(WRITE, 31, lba=300, count=1, orderless=1, barrier=1)])
async def behind_a_write_without_its_data_only_barriers_and_what_keeps_order_behind_them_wait(dut, closes):
    b = Bench(dut, hold=True)
    b.keeps = True
    await b.begin()
    again = [c | dict(tag=c["tag"] + 20, lba=c["lba"] + 500, txid=c["txid"] + 10) for c in KEEP]
    for c in (*KEEP, closes, *again, *LOOSE):
        await b.submit(c)
    await b.goes(*[c["tag"] for c in (*KEEP, *LOOSE) if c["tag"] != 16], clocks=300)  # 16 reads what 0 writes
    await b.fetch(0)
    await b.goes()
    await b.fetch(5)
    await b.goes(31, *[c["tag"] for c in again if closes["opcode"] == BARRIER], clocks=200)
    if closes["opcode"] != BARRIER:
        await b.fetch(31)
        await b.goes(*[c["tag"] for c in again], clocks=200)
    assert [c["tag"] for c in b.empty if c["orderless"] and not c["barrier"]] == [10]


@cocotb.test()
async def while_no_write_has_a_place_all_others_go_on(dut):
    b = Bench(dut, hold=True)
    b.keeps = True
    await b.begin()
    b.set(takesWrites=0)
    for c in (command(WRITE, 0, lba=0, count=32), command(WRITE, 1, lba=40, count=1), *OTHERS, *FREE):
        await b.submit(c)
    await b.goes(*[c["tag"] for c in (*OTHERS, *FREE)], clocks=150)
    b.set(takesWrites=1)
    await b.goes(0, 1)


@cocotb.test()
async def a_barrier_of_each_command_that_takes_one_waits_for_what_is_before_it(dut):
    b = Bench(dut, hold=True)
    await b.begin()
    b.set(allocLeft=0)
    await b.submit(command(WRITE, 0, lba=0, count=1))
    for n, c in enumerate(KEEP):
        await b.submit(c | dict(tag=n + 1, lba=300 + 20 * n, barrier=1))
    await b.goes()
    b.set(allocLeft=2000)
    await b.goes(*range(len(KEEP) + 1), clocks=300)
    assert [c["tag"] for c in b.sent] == list(range(len(KEEP) + 1)), "epochs went out in another order"


@cocotb.test()
async def barriers_in_a_full_queue_go_out_in_order_with_nothing_completed(dut):
    """32 tags, and more barriers than an epoch's number has values."""
    b = Bench(dut, hold=True)
    await b.begin()
    order, ended = [5, *range(31, 5, -1), *range(5)], 0
    for turn in range(4):
        for n, tag in enumerate(order):
            what = [dict(opcode=WRITE, barrier=1), dict(opcode=TRIM), dict(opcode=BARRIER, count=0)][(n + turn) % 3]
            await b.submit(command(tag=tag, **dict(lba=tag * 20, count=1) | what))
        await b.goes(*order, clocks=500)
        assert [c["tag"] for c in b.sent[-32:] if closes_epoch(c)] == [
            c["tag"] for c in b.order[-32:] if closes_epoch(c)
        ]
        for c in b.sent[ended:]:
            if c["opcode"] == WRITE:
                await b.settled(1)
            await b.done.send(tag=c["tag"])
        ended = len(b.sent)
        await with_timeout(b.drain(), 10, "us")


@cocotb.test()
async def an_ordered_command_runs_alone_and_in_its_place(dut):
    b = Bench(dut, hold=True)
    await b.begin()
    for tag, order in enumerate([SIMPLE, SIMPLE, ORDERED, SIMPLE, ORDERED, ORDERED, SIMPLE, SIMPLE]):
        await b.submit(command(READ if tag % 2 else FLUSH, tag, lba=tag * 20, count=1, order=order))
    for ends, goes in (
        ((), (0, 1)),
        ((1,), ()),
        ((0,), (2,)),
        ((2,), (3,)),
        ((3,), (4,)),
        ((4,), (5,)),
        ((5,), (6, 7)),
    ):
        for tag in ends:
            await b.done.send(tag=tag)
        await b.goes(*goes)


@cocotb.test()
@cocotb.parametrize(op=[READ, WRITE, FLUSH, TRIM])
async def a_head_of_queue_goes_next_and_what_comes_later_goes_after_it(dut, op):
    """The port is taken only for a while: all wait, the head of the queue too."""
    b = Bench(dut, hold=True)
    await b.begin()
    b.out.stall = 1.0
    simple = [command((READ, TRIM, FLUSH)[tag % 3], tag, lba=tag * 20, count=1) for tag in range(20)]
    for c in simple[:10]:
        await b.submit(c)
    for tag in (31, 30):
        await b.submit(command(op, tag, lba=tag * 20, count=1, order=HEAD))
    for c in simple[10:]:
        await b.submit(c)
    for _ in range(60):
        await FallingEdge(dut.clk)
    b.out.stall = 0.0
    await b.goes(*range(20), 30, 31, clocks=400)
    went = [c["tag"] for c in b.sent]
    assert went.index(31) < went.index(30) <= 4, f"{went}: two may have been on their way"


@cocotb.test()
async def a_head_of_queue_keeps_its_place_behind_what_it_depends_on(dut):
    """Its block, its txid, a barrier; not behind an ORDERED one that waits."""
    b = Bench(dut, hold=True)
    await b.begin()
    await b.submit(command(READ, 0, lba=0, count=1))
    await b.submit(command(WRITE, 1, lba=0, count=1))
    await b.submit(command(READ, 2, lba=900, count=1, order=ORDERED))
    await b.submit(command(READ, 3, lba=800, count=1, order=HEAD))
    await b.submit(command(READ, 4, lba=0, count=1, order=HEAD))
    await b.submit(command(READ, 5, lba=700, count=1, order=HEAD))
    await b.submit(command(READ, 6, lba=600, count=1))
    await b.goes(0, 3)  # 5 is behind 4, which is behind 1
    for ends, goes in (((0,), (1,)), ((3,), ()), ((1,), (4, 5, 2)), ((4, 5), ()), ((2,), (6,))):
        for tag in ends:
            await b.done.send(tag=tag)
        await b.goes(*goes)
    await b.done.send(tag=6)
    await with_timeout(b.drain(), 10, "us")
    b.set(allocLeft=0)
    for c in (command(WRITE, 7, lba=0, count=1), command(BARRIER, 8), command(TRIM, 9, lba=40, count=1, order=HEAD)):
        await b.submit(c)
    await b.submit(command(TRIM, 10, lba=80, count=1, order=HEAD, orderless=1))
    await b.submit(command(READ, 11, lba=80, count=1))
    await b.goes()
    b.set(allocLeft=2000)
    await b.goes(7, 8, 9, 10)


@cocotb.test()
@cocotb.parametrize((("op", "short"), [(WRITE, {"framesFree": 0}), (TRIM, {"logLeft": LOG_OPEN})]))
async def commands_wait_for_a_head_of_queue_without_room_and_others_before_it_do_not(dut, op, short):
    b = Bench(dut, hold=True)
    await b.begin()
    b.set(takes=0, **short)
    for tag in (0, 1):
        await b.submit(command(FLUSH, tag))
    await b.submit(command(op, 2, lba=0, count=1, order=HEAD))
    await b.submit(command(READ, 3, lba=100, count=1))
    await b.goes()
    b.set(takes=1)
    await b.goes(0, 1)
    b.set(framesFree=10, logLeft=LOG_OPEN + 10)
    await b.goes(2, 3)


@cocotb.test()
async def heads_of_the_queue_are_told_apart_over_many_of_them(dut):
    """A command waits for room while 150 of them go by: their number is modulo 64."""
    b = Bench(dut, hold=True)
    await b.begin()
    b.set(allocLeft=0)
    await b.submit(command(READ, 9, lba=0, count=1, order=HEAD))
    await b.submit(command(WRITE, 0, lba=20, count=1))
    await b.goes(9)
    for n in range(150):
        tag = 1 + n % 8
        await b.submit(command(READ, tag, lba=100, count=1, order=HEAD))
        await b.goes(tag, clocks=25)
        await b.done.send(tag=tag)
        if n % 50 == 40:
            b.set(allocLeft=2000)
            await b.goes(0 if n < 60 else 9 + n // 50)
            b.set(allocLeft=0)
            await b.settled(1)
            await b.submit(command(WRITE, 10 + n // 50, lba=200 + n, count=1))


@cocotb.test()
@cocotb.parametrize(arg=[0, 6])
async def a_query_of_a_txid_keeps_its_place_among_the_commands_of_that_txid(dut, arg):
    b = Bench(dut, hold=True)
    await b.begin()
    asks = [command(QUERY, tag, arg=arg, hasTx=1, txid=7) for tag in (1, 3)]
    order = [command(WRITE, 0, count=1, hasTx=1, txid=7), asks[0], command(COMMIT, 2, hasTx=1, txid=7), asks[1]]
    for c in (*order, command(RECOVER, 4), command(QUERY, 5, arg=arg, hasTx=1, txid=8), command(QUERY, 6, arg=1)):
        await b.submit(c)
    await b.goes(0, 6, clocks=100)
    for done in range(5):
        await b.done.send(tag=done)
        await b.goes(done + 1)


@cocotb.test()
async def fields_that_an_opcode_does_not_take_change_nothing(dut):
    """LBA and count of a command without a range, the number of a txid that is not named, `stream`, `arg`."""
    b = Bench(dut, hold=True)
    await b.begin()
    await b.submit(command(WRITE, 0, lba=0, count=32, stream=0xFFFF, arg=2**32 - 1, txid=255))
    odd = dict(lba=2**32 - 1, count=65535, stream=1, arg=0)
    over = dict(lba=0, count=32, stream=1)  # as the WRITE's
    for c in (
        command(FLUSH, 1, txid=255, **odd),
        command(QUERY, 2, txid=99, **odd | dict(arg=1)),
        command(BEGIN, 3, hasTx=1, **over, arg=7),
        command(QUERY, 4, **over, arg=2),
    ):
        await b.submit(c)
    await b.goes(0, 1, 2, 3, 4, clocks=100)


@cocotb.test()
async def random_commands_agree_with_the_model(dut):
    seed = int(os.environ.get("SEED", "1"))
    dut._log.info("SEED=%d", seed)
    b = Bench(dut, seed, stall=0.3)
    await b.begin()
    rng = random.Random(seed)
    for _ in range(amount(700, 1500)):
        free = [t for t in range(32) if t not in b.under_way]
        tag = rng.choice(free) if free else rng.randrange(32)
        await b.submit(random_command(rng, tag))
    await with_timeout(b.drain(), 200, "us")
    assert b.most >= 8, "no overlap was seen"
    assert set(b.statuses) >= {SUCCESS, INVALID_OPCODE, INVALID_FIELD, LBA_RANGE, TX_INVALID}
    assert int(dut.busy.value) == 0


def test_command_queue():
    from cocotb_tests.bench.runner import run

    run("otx_command_queue", [f"{VERILOG}/otx_command_queue.v"], __name__)
