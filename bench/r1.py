# SPDX-License-Identifier: Apache-2.0
"""r1, merge rate: how fast the entries of a committed transaction go into the map when table memory is the board's
DDR3.

The whole drive of preset tiny over LiteDRAM and its model of the DDR3 part, initialised by the board's firmware
(tools/dram.py). A transaction of TRIMs, which cost no NAND page: a merge walk reads and writes the same words for them
as for writes. Counted from the completion of COMMIT to the first QUERY that finds the txid FREE; once with nothing else
under way, once with 4 KiB READs of blocks that were never written at queue depth 4, as fast as the host port takes
them. NAND programs: what the ECPIX-5's dies can program in the same time, channels x ways / tPROG pages; below the
table the same for other presets.

Share of the port: every page of that rate, or of what the channels can carry if that is less, is written in a
transaction and read once, and each access of table memory takes as long as a random one through one port of LiteDRAM,
in a mix of reads and writes, with 24 under way (cocotb_tests/soc/test_dram_ports.py measures it).
"""

from bench.result import Check, Result
from opentxssd import MAX_BLOCKS, Opcode, TxState
from soc import geometry
from tools import dram

TITLE = "merge of a committed transaction from LiteDRAM"
ENTRIES, TXID, DEPTH = 992, 3, 4  # the last block of preset tiny is 1,023
LEAST_PER_S = 1_000_000
PRESETS = ("ecpix5", "sim", "paper")
LEAST_TIMES, MOST_PERCENT = 10, 50  # of the board
ACCESS_CLOCKS = 17
# of a page: map word, entry, writes; the merge also reads the LPN ahead
ACCESSES = {"APPEND": 3, "SWAP": 3, "merge": 4, "LOOKUP": 2}


def entries_of(drive, count):
    """Opens a transaction of that many entries."""
    drive.begin(TXID)
    for lba in range(0, count, MAX_BLOCKS):
        drive.trim(lba, MAX_BLOCKS, txid=TXID)
    if drive.tx(TXID) != (TxState.OPEN, count):
        raise SystemExit(f"the transaction is {drive.tx(TXID)}, not open with {count} entries")


def merge(drive, count, reads):
    """(clocks until the txid is FREE, blocks looked up meanwhile)."""
    entries_of(drive, count)
    under_way, looked = [], 0
    committed = drive.commit(TXID).clock
    while drive.tx(TXID)[0] != TxState.FREE:
        for tag in [t for t in under_way if t in drive.done]:
            drive.wait(tag)
            under_way.remove(tag)
            looked += 1
        while reads and len(under_way) < DEPTH:
            under_way.append(drive.submit(Opcode.READ, 1000 + len(under_way), 1))
        if drive.clock > committed + 10_000_000:
            raise SystemExit("the merge does not end")
    free = drive.clock
    for tag in under_way:
        drive.wait(tag)
    return free - committed, looked


def programs(g):
    """Pages per second that the dies can program."""
    return g.dies / (g.timing.t_prog * 1e-9)


def port_percent(g, mhz):
    """How much of the port's time the drive's full rate takes."""
    pages = min(programs(g), g.channels / (g.page_bytes * g.timing.t_wc * 1e-9))
    return 100 * pages * sum(ACCESSES.values()) * ACCESS_CLOCKS / (mhz * 1e6)


def run(entries=ENTRIES):
    if failed := dram.build():
        raise SystemExit(f"'{failed}' failed; see build/dram/build.log")
    board = geometry.preset("ecpix5")
    mhz, where = float(board.clock_mhz), "ECPIX-5's system clock, with which its DDR3 is simulated"
    drive = dram.powered(0)
    dram.boot(drive, "otx: ready\n")
    rows = []
    for name, reads in (("nothing else", False), (f"4 KiB READs of unwritten blocks, depth {DEPTH}", True)):
        clocks, looked = merge(drive, entries, reads)
        per_s = entries * mhz * 1e6 / clocks
        row = {"beside": name, "entries": entries, "clocks_per_entry": round(clocks / entries, 1), "looked_up": looked}
        rows.append(row | {"entries_per_s": round(per_s), "times_nand_programs": round(per_s / programs(board))})
    least = min(r["entries_per_s"] for r in rows)
    times = [round(least / programs(geometry.preset(p)), 1) for p in PRESETS]
    shares = [round(port_percent(geometry.preset(p), mhz), 1) for p in PRESETS]
    of = f"presets {', '.join(PRESETS)}; {PRESETS[0]} at"
    checks = [
        Check(f"entries per second, the least of the rows (at least {LEAST_PER_S:,})", least, least >= LEAST_PER_S),
        Check(
            f"times the pages per second that the dies program ({of} least {LEAST_TIMES})",
            times,
            times[0] >= LEAST_TIMES,
        ),
        Check(
            f"percent of one port's time at the drive's full rate ({of} most {MOST_PERCENT})",
            shares,
            shares[0] <= MOST_PERCENT,
        ),
    ]
    return Result(
        clock_mhz=mhz,
        clock_from=where,
        unit="entries per second",
        rows=rows,
        ours=least,
        paper=None,
        target=LEAST_PER_S,
        checks=checks,
    )


def plot(figure, result):
    axes = figure.subplots()
    axes.bar([r["beside"] for r in result["rows"]], [r["entries_per_s"] for r in result["rows"]])
    axes.axhline(result["target"], color="tab:red", linestyle="--", label="target")
    axes.set(ylabel=f"entries merged per second at {result['clock_mhz']:g} MHz")
    axes.legend()
