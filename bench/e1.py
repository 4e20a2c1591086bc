# SPDX-License-Identifier: Apache-2.0
"""e1, commit-remap: clocks from the remap engine's acceptance of COMMIT to visible, for 1 to 60,000 entries, beside the
same remap as a loop in firmware.

Engine: otx_remap_engine alone behind a table memory of the preset's latency (sim/engine). `idle`: nothing else happens.
`loaded`: the 31 other transactions are being merged, aborted, open and committing, on the same LPNs where they can be,
and a lookup is offered in every clock. Each commit is checked by lookups: one taken before the commit returns the old
version, one taken in the clock in which it is visible, or later, the new one.

Firmware: sw/firmware/bench on the SoC's VexRiscv over the same table memory, nobody else using it; the faster of its
two builds. TxSSD commits this way (section III).
"""

from bench import firmware_remap
from bench.result import Check, Result
from cocotb_tests.system import engine as engines
from cocotb_tests.system.engine import (
    EVENT_TAKEN,
    EVENT_TX,
    EVENT_VISIBLE,
    NAND,
    UNTIL_VISIBLE,
    Engine,
    Op,
    TxOp,
    op,
    word,
)
from soc import geometry
from tools.wave_commits import clock

TITLE = "commit-remap: accepted to visible"
PRESET = "sim"
ENTRIES = (1, 10, 100, 1000, 10_000, 60_000)
PAPER_US = 2474.0  # TxSSD, text to Fig. 13: the remap function in its firmware; for how many entries is not said
MOST_CLOCKS, LEAST_RATIO = 16, 10_000
LATENCIES = (2, 60)  # of table memory; the rows have the preset's
OTHERS, SCATTER, LOOKUPS, LOAD_CLOCKS = 40, 40_503, 6_000, 5_000
MERGING, ABORTING, OPEN = range(1, 9), range(9, 17), range(17, 25)  # txids; those behind are COMMITTING, 0 is measured
COMMITTING = range(25, 32)


class WrongAnswer(Exception):
    """A lookup has returned another version than it must; the text says which."""


def location(txid, i):
    return word(NAND, txid << 16 | i)


def append(engine, txid, entries):
    """Opens a transaction with that many entries, on scattered LPNs that do not repeat."""
    engine.tx(TxOp.BEGIN, txid)
    engine.settle()
    engine.ops(op(Op.APPEND, i * SCATTER % engine.lbas, txid, location(txid, i)) for i in range(entries))
    engine.settle()
    if any(r.error for r in engine.responses()) or engine.count(txid) != entries:
        raise WrongAnswer(f"transaction {txid} has {engine.count(txid)} of {entries} entries")


def request(engine, what, txids):
    for txid in txids:
        engine.tx(what, txid)
    engine.settle()


def load(engine):
    """The 31 other transactions; when this returns, walks are under way and stay so, with lookups waiting in every
    clock.
    """
    for txid in range(1, 32):
        append(engine, txid, min(OTHERS, engine.lbas))
    request(engine, TxOp.COMMITTING, [*MERGING, *COMMITTING])
    engine.ops(op(Op.LOOKUP, i % OTHERS * SCATTER % engine.lbas, tag=i % OTHERS) for i in range(LOOKUPS))
    for txid in MERGING:
        engine.tx(TxOp.COMMIT, txid)
    for txid in ABORTING:
        engine.tx(TxOp.ABORT, txid)
    engine.events()
    taken = 0
    while taken < len(MERGING) + len(ABORTING):
        engine.step(LOAD_CLOCKS)
        taken += sum(e.kind == EVENT_TX for e in engine.events())


def commit(engine, txid):
    """COMMIT of one transaction: (clocks accepted to visible, clocks offered to visible, clock of visible)."""
    engine.events()
    engine.tx(TxOp.COMMIT, txid)
    if not engine.step(1_000_000, UNTIL_VISIBLE):
        raise WrongAnswer(f"the commit of transaction {txid} does not become visible")
    events = engine.events()
    (offered,) = [e.offered for e in events if e.kind == EVENT_TX]
    (taken,) = [e.clock for e in events if e.kind == EVENT_TAKEN and e.txid == txid]
    (visible,) = [e.clock for e in events if e.kind == EVENT_VISIBLE and e.txid == txid]
    return visible - taken, visible - offered, visible


def check_lookups(engine, entries, visible, loaded):
    """Lookups of the first entries around the commit of transaction 0: the old versions before, the new ones from
    `visible` on.
    """
    if not loaded:
        engine.ops(op(Op.LOOKUP, i * SCATTER % engine.lbas, tag=i) for i in [0, entries // 2, entries - 1])
    engine.step(LOAD_CLOCKS)
    before = after = 0
    for r in engine.responses():
        new = r.location == location(0, r.tag)
        if r.taken >= visible and r.tag < entries and not new or r.taken < visible - 1 and new:
            raise WrongAnswer(
                f"a lookup taken {r.taken - visible} clocks after visible returned {r.location:#010x} for entry "
                f"{r.tag} of {entries}"
            )
        before, after = before + (r.taken < visible - 1), after + (r.taken >= visible)
    if not after or loaded and not before:
        raise WrongAnswer(f"{before} lookups before and {after} after the commit is not a check")


def measure(preset, entries, loaded, latency):
    """(accepted to visible, most of offered to visible) in clocks; loaded: over eight commits at different moments."""
    with Engine(preset, latency=(latency, latency)) as engine:
        append(engine, 0, entries)
        request(engine, TxOp.COMMITTING, [0])
        if loaded:
            load(engine)
        flips = [commit(engine, 0)]
        check_lookups(engine, entries, flips[0][2], loaded)
        if loaded:
            for txid in COMMITTING:
                engine.step(37 * txid)  # another moment of the ops and walks under way
                if not engine.walking:
                    raise WrongAnswer("nothing is merged any more: the engine is not loaded")
                flips.append(commit(engine, txid))
        if len({taken for taken, _, _ in flips}) != 1:
            raise WrongAnswer(f"commits of one run took {[taken for taken, _, _ in flips]} clocks")
        return flips[0][0], max(offered for _, offered, _ in flips)


def run(preset=PRESET, entries=ENTRIES):
    """With fewer `entries` a quick run; the ratio to the firmware is a condition at 60,000 only."""
    engines.build(preset)
    latency = geometry.preset(preset).table_latency
    mhz, where = clock()
    firmware = firmware_remap.measure(preset, entries)
    rows = []
    for n in entries:
        idle, _ = measure(preset, n, False, latency)
        loaded, offered = measure(preset, n, True, latency)
        clocks, build = firmware[n]
        rows.append(
            {
                "entries": n,
                "visible_clocks_idle": idle,
                "visible_clocks_loaded": loaded,
                "offered_to_visible_loaded": offered,
                "firmware_clocks": clocks,
                "firmware_build": build,
                "ratio": round(clocks / max(idle, loaded), 1),
                "visible_us": round(max(idle, loaded) / mhz, 4),
                "firmware_us": round(clocks / mhz, 2),
                "paper_us": PAPER_US,
            }
        )
    seen = {row[key] for row in rows for key in ("visible_clocks_idle", "visible_clocks_loaded")}
    others = {at: measure(preset, min(1000, max(entries)), True, at)[0] for at in LATENCIES}
    checks = [
        Check(f"clocks to visible, most of all rows (at most {MOST_CLOCKS})", max(seen), max(seen) <= MOST_CLOCKS),
        Check("clocks to visible are the same in every row, idle and loaded", sorted(seen), len(seen) == 1),
        Check(
            f"the same at a table latency of {LATENCIES[0]} and {LATENCIES[1]} clocks",
            sorted(set(others.values())),
            set(others.values()) <= seen,
        ),
    ]
    if rows[-1]["entries"] == ENTRIES[-1]:
        ratio = rows[-1]["ratio"]
        checks.append(
            Check(
                f"times faster than the firmware loop at {ENTRIES[-1]:,} entries (at least {LEAST_RATIO:,})",
                ratio,
                ratio >= LEAST_RATIO,
            )
        )
    return Result(
        clock_mhz=mhz,
        clock_from=where,
        unit="us",
        rows=rows,
        ours=max(seen) / mhz,
        paper=PAPER_US,
        target=MOST_CLOCKS / mhz,
        checks=checks,
    )


def plot(figure, result):
    axes = figure.subplots()
    x = [row["entries"] for row in result["rows"]]
    axes.loglog(x, [row["firmware_us"] for row in result["rows"]], "s-", label="remap loop in firmware, this SoC")
    axes.axhline(result["paper"], color="black", linestyle=":", label="the paper's firmware (TxSSD, Fig. 13)")
    axes.axhline(result["target"], color="tab:red", linestyle="--", label="target: 16 clocks")
    for key, mark in (("visible_clocks_idle", "o-"), ("visible_clocks_loaded", "x")):
        axes.loglog(
            x,
            [row[key] / result["clock_mhz"] for row in result["rows"]],
            mark,
            label=f"remap engine, {key.rpartition('_')[2]}",
        )
    axes.set(xlabel="entries of the transaction", ylabel=f"us at {result['clock_mhz']:g} MHz")
    axes.legend(fontsize=8)
