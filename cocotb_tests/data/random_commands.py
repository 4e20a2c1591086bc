# SPDX-License-Identifier: Apache-2.0
"""Random commands for the data path; all that happens is checked by its bench (bench/datapath_bench.py)."""

import random
from functools import partial

from cocotb_tests.bench.datapath_bench import (
    ABORT,
    BARRIER,
    BEGIN,
    COMMIT,
    FLUSH,
    PREPARE,
    QUERY,
    READ,
    RECOVER,
    RFLUSH,
    SUCCESS,
    TRIM,
    TX_BUSY,
    TX_INVALID,
    WRITE,
    ZEROES,
    DataPathBench,
)
from cocotb_tests.bench.datapath_engine import OPEN, PREPARED
from cocotb_tests.bench.datapath_traffic import may_go
from opentxssd.facts import BEATS, LogKind


async def random_run(dut, count, stall, seed, buffered=0, stops=0.0, mixed=0.0):
    """`stops`: share of the WRITEs whose host stops. `mixed`: as of WriteData. The bench, when it is quiet."""
    rng, classes = random.Random(seed), random.Random(seed)
    b = await DataPathBench(dut, seed, stall).begin(in_order=buffered == 12, plp=buffered == 30)
    if buffered:
        b.pin["bufferLimit"].set(buffered)
        b.moods = True
    if stops:
        b.pin["hostTimeout"].set(4)
        b.host.mixed, b.host.late = mixed, 0.02
    sent = 0
    while sent < count:
        op = rng.choice(
            [WRITE] * (16 if buffered else 8)
            + [READ] * 8
            + [TRIM, ZEROES, FLUSH, BEGIN, COMMIT, COMMIT, COMMIT, ABORT, PREPARE, QUERY, BARRIER]
            + [RECOVER] * (rng.random() < 0.2)
            + [RFLUSH] * 2 * bool(buffered)
        )
        ranged = op in (WRITE, READ, TRIM, ZEROES)
        txid = (
            rng.choice([0, 1, 31]) if op in (BEGIN, PREPARE, COMMIT, ABORT) or ranged and rng.random() < 0.5 else None
        )
        lba, blocks = rng.randrange(14), rng.choice([1, 1, 1, 2, 3]) if ranged else 1
        if buffered and rng.random() < 0.7:
            lba, blocks = lba % 4, 1
        more = (
            dict(fua=int(rng.random() < 0.1), commit=int(txid is not None and rng.random() < 0.2))
            if op == WRITE
            else {}
        )
        if op == WRITE and buffered:
            more["stream"] = rng.choice([0] * 5 + [1, 1 << 10 | 1])
        if op == RFLUSH:
            more = dict(arg=rng.randrange(2), stream=rng.choice([0, 1, 1 << 10 | 1, 9]))
            blocks = rng.choice([1, 3, 900])
        if op == COMMIT or more.get("commit") and not more["fua"]:
            more["relaxed"] = rng.randrange(2)
        if op in (WRITE, TRIM, ZEROES, COMMIT):
            more["barrier"] = int(rng.random() < 0.15)
            more["orderless"] = int(txid is None and rng.random() < 0.3)
        more["priority"] = classes.randrange(4)
        cmd = dict(opcode=op, lba=lba, count=blocks, hasTx=txid is not None, txid=txid, commit=more.get("commit", 0))
        opens = txid is not None and op in (WRITE, TRIM, ZEROES, BEGIN)
        await b.until(partial(may_go, b, cmd, opens), 100_000)
        tag = b.submit(op, lba, blocks, txid, **more)
        if stops and op == WRITE and rng.random() < stops:
            b.host.stopped[tag] = rng.randrange(BEATS * blocks)
        sent += 1
        await b.clocks(rng.choice([0, 0, 5, 200]))
    await b.until(lambda: not b.active, 100_000)
    for t in (0, 1, 31):
        if b.state[t] in (OPEN, PREPARED):
            assert await b.run(ABORT, txid=t) == SUCCESS
    b.pin["bufferLimit"].set(0)
    await b.quiet()
    for lpn in range(0, 16, 4):
        assert await b.run(READ, lpn, 4) == SUCCESS
    dut._log.info(
        "seed %d: %d clocks, %d log entries, %d pages, %s", seed, b.clock, len(b.log), len(b.pages), sorted(b.seen)
    )
    absorbed = b.absorbed + len(b.replaced)
    dut._log.info("%d frames were absorbed", absorbed)
    assert buffered or not absorbed
    assert {
        (WRITE, SUCCESS),
        (COMMIT, SUCCESS),
        (READ, SUCCESS),
        (ABORT, SUCCESS),
        (BEGIN, TX_BUSY),
        (COMMIT, TX_INVALID),
    } <= b.seen
    assert {(True, LogKind.MAP, False), (True, LogKind.MAP, True), (True, LogKind.COMMIT, True)} <= b.epochs.seen
    b.host.late = 0.0
    await b.all_frames_are_free()
    return b
