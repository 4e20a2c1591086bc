# SPDX-License-Identifier: Apache-2.0
"""e13: SQLite inserts: our VFS on the raw drive (sw/host/sqlite), and beside it SQLite's rollback journal and WAL on
the same drive, by a VFS that is a file system without cost (bench/sqlite_areas.c): a lower bound for ext4, whose own
journal comes on top. Preset quick4 (4 dies) with the array times of K9F8G08, the write buffer on.

Each way has a drive of its own, new; then `transactions` of `rows` inserts of 100 bytes.
`order only` commits relaxed: what survives a power cut is all transactions up to one of them. No clock passes between
two commands: the host takes no time. `pages`: all programs of NAND, with log and whatever firmware writes.
"""

import ctypes
import subprocess

from bench.committers import MHZ, PRESET, opened
from bench.drive_build import ROOT, build_drive
from bench.e6 import DRIVES
from bench.result import Check, Result
from opentxssd.sqlite import OPEN, Database, DrivePort, library

TITLE = "SQLite inserts: transactions of the drive against a journal"
SETTLE = 8_000_000  # clocks after the boot: all blocks that are erased ahead are, two dies at a time, 1.5 ms each
PAPER, TARGET = 2.75, 2.75  # barrier-enabled stack over ext4, durable, server SSD; order only 73
PAPER_ORDER = 73
OURS, DELETE, TRUNCATE, WAL = "our VFS", "journal, DELETE", "journal, TRUNCATE", "WAL"
# way: (VFS is ours, order only, pragmas)
WAYS = {
    OURS: (True, False, ""),
    DELETE: (False, False, "PRAGMA journal_mode=DELETE; PRAGMA synchronous=FULL"),
    TRUNCATE: (False, False, "PRAGMA journal_mode=TRUNCATE; PRAGMA synchronous=FULL"),
    WAL: (False, False, "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=200; PRAGMA synchronous=FULL"),
    f"{OURS}, order only": (True, True, ""),
}
AREAS = ROOT / "build/bench/sqlite_areas.so"


def build():
    build_drive(PRESET)
    subprocess.run(["make", "-s", "-C", ROOT / "sw/host", "sqlite"], check=True)
    AREAS.parent.mkdir(parents=True, exist_ok=True)
    include = [f"-I{ROOT}/{path}" for path in ("build/facts", "sw/host/lib", "sw/host/sqlite", "build/sqlite")]
    source = ROOT / "bench/sqlite_areas.c"
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, *include, source, "-o", AREAS], check=True)


def database(drive, ours, relaxed, pragmas):
    """(port, database) of a blank drive, with the table."""
    lib = library()
    port = DrivePort(drive, lib)
    if ours:
        vfs, parameters = port.name, {"relaxed": int(relaxed)}
    else:
        register = ctypes.CDLL(str(AREAS)).sqlite_areas_register
        register.argtypes = [OPEN]
        assert register(port.open) == 0
        vfs, parameters = "areas", {}
    db = Database(port, vfs, **parameters)
    db.run("CREATE TABLE t(n INTEGER PRIMARY KEY, body)")
    if ours:  # without the journal in memory that the first transaction of an empty database has
        db.close()
        db = Database(port, vfs, **parameters)
    db.run(f"PRAGMA locking_mode=EXCLUSIVE; {pragmas}; PRAGMA cache_spill=OFF")
    return port, db


def insert(db, rows):
    values = ", ".join(["(zeroblob(100))"] * rows)
    db.run(f"INSERT INTO t(body) VALUES{values}")


def measure(way, sizes):
    """The rows of the table of a way; `sizes`: (rows, transactions) of each."""
    drive, total = opened(**DRIVES["buffer"]), 0
    drive.step(SETTLE)
    port, db = database(drive, *WAYS[way])
    for rows, transactions in sizes:
        for _ in range(2):
            insert(db, rows)
        drive.idle()
        before, pages, clock = port.counts.copy(), drive.health().nand_pages, drive.clock
        for _ in range(transactions):
            insert(db, rows)
        clocks, counts = drive.clock - clock, port.counts - before
        drive.idle()
        pages, total = drive.health().nand_pages - pages, total + (transactions + 2) * rows
        assert db.run("SELECT count(*) FROM t") == [(str(total),)]
        yield {
            "way": way,
            "rows": rows,
            "transactions": transactions,
            "transactions_per_second": transactions / (clocks / MHZ / 1e6),
            "us": clocks / MHZ / transactions,
            "commands": sum(n for name, n in counts.items() if name != "blocks") / transactions,
            "blocks": counts["blocks"] / transactions,
            "flushes": counts["FLUSH"] / transactions,
            "nand_pages": pages / transactions,
        }
    assert db.run("PRAGMA integrity_check") == [("ok",)]
    db.close()


def run(sizes=((1, 32), (100, 8))):
    build()
    rows = [row for way in WAYS for row in measure(way, sizes)]
    one = {r["way"]: r["transactions_per_second"] for r in rows if r["rows"] == 1}
    best = max(one[way] for way in (DELETE, TRUNCATE))
    ours, order = one[OURS] / best, one[f"{OURS}, order only"] / best
    return Result(
        clock_mhz=MHZ,
        clock_from=f"preset {PRESET}, array times of K9F8G08",
        unit="times the transactions of the better rollback journal",
        rows=rows,
        ours=ours,
        paper=PAPER,
        target=TARGET,
        checks=[
            Check(f"durable, over the better rollback journal (at least {TARGET})", ours, ours >= TARGET),
            Check("durable, over WAL (at least 1)", one[OURS] / one[WAL], one[OURS] >= one[WAL]),
            Check(
                f"order only, over the better rollback journal (at least {PAPER_ORDER})", order, order >= PAPER_ORDER
            ),
        ],
    )


def plot(figure, result):
    sizes = sorted({r["rows"] for r in result["rows"]})
    for axes, n in zip(figure.subplots(1, len(sizes), squeeze=False)[0], sizes, strict=True):
        rows = [r for r in result["rows"] if r["rows"] == n]
        axes.barh([r["way"] for r in rows], [r["transactions_per_second"] for r in rows])
        axes.set(xlabel="transactions per second", title=f"{n} rows each", xscale="log")
        axes.invert_yaxis()
