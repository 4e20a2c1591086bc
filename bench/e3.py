# SPDX-License-Identifier: Apache-2.0
"""e3, what a transaction adds to reads and writes.

Engine: otx_remap_engine alone (sim/engine), for table memories that answer in the next clock and in 8: clocks of a
single lookup whose location is in the map word, and of one whose version is the first of the chain; clocks of a write
of one block, alone and one after the other without a pause: PLAIN, and APPEND, which is what a transaction makes of it.
Drive, where the NAND is the bound: the whole drive of preset sim over its host port, 4 KiB writes and reads at random
at queue depth 16, outside of any transaction and inside one (the same commands, the same state before); what COMMIT
adds is e2's.
"""

import opentxssd as drives
from bench import simulation_speed
from bench.drive_build import build_drive
from bench.result import Check, Result
from cocotb_tests.system import engine as engines
from cocotb_tests.system.engine import BUF, NAND, Engine, Op, TxOp, op, word
from tools.wave_commits import clock

TITLE = "what a transaction adds to reads and writes"
PRESET, AREA, DEPTH, TXID = "sim", 1024, 16, 5
WRITES, READS, WARM_UP = 600, 400, 160  # blocks; those of the warm-up fill the write frames first
MOST_CLOCKS, MOST_LOSS = 2, 0.01
LATENCIES = (1, 8)
ENGINE_WRITES = 512


def lookup_clocks(preset, latency):
    """(location in the map word, version first in the chain), of a single lookup."""
    with Engine(preset, latency=(latency, latency)) as engine:
        engine.tx(TxOp.BEGIN, TXID)
        engine.ops([op(Op.PLAIN, 1, location=word(NAND, 1)), op(Op.PLAIN, 2, location=word(NAND, 2))])
        engine.settle()
        engine.ops([op(Op.APPEND, 2, TXID, word(NAND, 3))])
        engine.settle()
        engine.responses()
        clocks = []
        for lpn, wanted in ((1, 1), (2, 3)):
            engine.ops([op(Op.LOOKUP, lpn, TXID)])
            engine.settle()
            (r,) = engine.responses()
            if r.location != word(NAND, wanted):
                raise SystemExit(f"lookup of block {lpn} returned {r.location:#010x}")
            clocks.append(r.answered - r.taken)
        return clocks


def write_clocks(preset, latency, kind):
    """(clocks of one write from its op to its answer, clocks per write of many on different blocks)."""
    txid = TXID if kind == Op.APPEND else None
    with Engine(preset, latency=(latency, latency)) as engine:
        engine.tx(TxOp.BEGIN, TXID)
        engine.ops([op(kind, 5_000 % AREA, txid, word(BUF, 1))])
        engine.settle()
        (alone,) = engine.responses()
        engine.ops([op(kind, lpn, txid, word(BUF, lpn)) for lpn in range(ENGINE_WRITES)])
        engine.settle()
        answers = engine.responses()
        if len(answers) != ENGINE_WRITES or any(r.error for r in [alone, *answers]):
            raise SystemExit(f"{kind.name}: {len(answers)} answers")
        return alone.answered - alone.taken, (
            max(r.answered for r in answers) - min(r.taken for r in answers)
        ) / ENGINE_WRITES


def drive_clocks(preset, area, writes, reads, txid):
    """Clocks per block of random 4 KiB writes and of random 4 KiB reads; `txid` None: outside of any transaction."""
    drive = drives.Drive(preset)
    drive.step(simulation_speed.SETTLE_CLOCKS)
    load = simulation_speed.Load(drive, area)
    load.fill()
    drive.idle()
    if txid is not None:
        drive.begin(txid)
    load.txid, clocks = txid, []
    for opcode, blocks in ((drives.Opcode.WRITE, writes), (drives.Opcode.READ, reads)):
        commands = load.commands(opcode, blocks + WARM_UP)
        load.go(commands[:WARM_UP], DEPTH)
        start = drive.clock
        load.go(commands[WARM_UP:], DEPTH)
        clocks.append((drive.clock - start) / blocks)
        drive.idle()
    if txid is not None:
        drive.commit(txid)
    drive.power_cut()
    return clocks


def run(preset=PRESET, area=AREA, writes=WRITES, reads=READS, drive=None):
    """`drive`: the preset of the drive, when it is another one than that of the engine."""
    drive = drive or preset
    engines.build(preset)
    build_drive(drive)
    mhz, where = clock()
    rows, added = [], {}
    for latency in LATENCIES:
        plain, first = lookup_clocks(preset, latency)
        added[latency] = first - plain
        rows.append(
            {
                "what": f"a lookup, table memory that answers in {latency} clock{'s' * (latency > 1)}",
                "plain_clocks": plain,
                "in_tx_clocks": first,
                "added_percent": None,
            }
        )
    for latency in LATENCIES:
        (plain, plain_many), (tx, tx_many) = (write_clocks(preset, latency, kind) for kind in (Op.PLAIN, Op.APPEND))
        memory = f"table memory that answers in {latency} clock{'s' * (latency > 1)}"
        rows.append(
            {
                "what": f"the engine's part of a write, {memory}",
                "plain_clocks": plain,
                "in_tx_clocks": tx,
                "added_percent": None,
            }
        )
        rows.append(
            {
                "what": f"the same, without a pause, {memory}",
                "plain_clocks": round(plain_many, 2),
                "in_tx_clocks": round(tx_many, 2),
                "added_percent": None,
            }
        )
    losses = []
    plain_run, inside_run = (drive_clocks(drive, area, writes, reads, txid) for txid in (None, TXID))
    for what, plain, inside in zip(("write", "read"), plain_run, inside_run, strict=True):
        losses.append(inside / plain - 1)
        name, percent = f"drive, a 4 KiB {what} at queue depth {DEPTH}", round(100 * losses[-1], 2)
        rows.append(
            {"what": name, "plain_clocks": round(plain, 1), "in_tx_clocks": round(inside, 1), "added_percent": percent}
        )
    checks = [
        Check(
            f"clocks that the first version of a chain adds to a lookup from on-chip RAM (at most {MOST_CLOCKS})",
            added[1],
            added[1] <= MOST_CLOCKS,
        ),
        Check(
            f"percent that a transaction adds to the time of a write, of a read (at most {100 * MOST_LOSS:g})",
            [round(100 * x, 2) for x in losses],
            max(losses) <= MOST_LOSS,
        ),
    ]
    return Result(
        clock_mhz=mhz,
        clock_from=where,
        unit="clocks",
        rows=rows,
        ours=added[1],
        paper=None,
        target=MOST_CLOCKS,
        checks=checks,
    )


def plot(figure, result):
    left, middle, right = figure.subplots(1, 3)
    rows = result["rows"]
    parts = (
        (left, rows[:2], "a lookup, clocks"),
        (middle, rows[2:6], "the engine's part of a write, clocks"),
        (right, rows[6:], "the drive, clocks per 4 KiB block"),
    )
    for axes, rows, title in parts:
        at = range(len(rows))
        axes.bar([x - 0.2 for x in at], [r["plain_clocks"] for r in rows], 0.4, label="plain")
        axes.bar([x + 0.2 for x in at], [r["in_tx_clocks"] for r in rows], 0.4, label="in a transaction")
        axes.set_xticks(list(at), [r["what"].partition(", ")[2] for r in rows], fontsize=7)
        axes.set_title(title)
        axes.legend(fontsize=8)
