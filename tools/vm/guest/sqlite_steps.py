# SPDX-License-Identifier: Apache-2.0
"""`sqlite_steps.py WHAT PATH`: SQLite on PATH, a device (our VFS) or a file (SQLite's own).

raw, delete, wal: inserts, with that journal mode; figures of one transaction into /tmp/figures: what the block layer
and the drive count. new: an empty table; insert: transactions for ever; check COMMITTED: what must be there then.
"""

import subprocess
import sys
import time
from pathlib import Path

from opentxssd.sqlite import Database

TRANSACTIONS, TABLE = 40, "CREATE TABLE t(n INTEGER PRIMARY KEY, k, body)"


def opened(path):
    device = path.startswith("/dev/")
    return Database(None, "otx" if device else "unix", path)


def insert(db, k):
    """Three rows, so that half a transaction would be seen."""
    db.run(f"INSERT INTO t(k, body) VALUES({k}, zeroblob(100)), ({k}, zeroblob(2000)), ({k}, zeroblob(100))")


def counted(db, raw):
    """(writes, blocks, flushes) so far, pages that the drive has programmed."""
    log = subprocess.run(
        "nvme get-log /dev/nvme0 --log-id=0xc0 --log-len=512 --raw-binary".split(), capture_output=True, check=True
    ).stdout
    pages = int.from_bytes(log[136:144], "little")
    if raw:
        words = db.run("PRAGMA otx_status")[0][0].split(";")[0].split()
        said = dict(zip(words[::2], map(int, words[1::2]), strict=True))
        return said["writes"], said["blocks"], said["flushes"], pages
    stat = list(map(int, Path("/sys/block/nvme0n1/stat").read_text().split()))
    return stat[4], stat[6] // 8, stat[15], pages


def measure(what, path):
    db, raw = opened(path), what == "raw"
    if not raw:
        db.run(f"PRAGMA journal_mode={what}")
    db.run(f"PRAGMA synchronous=FULL; {TABLE}")
    insert(db, 0)
    subprocess.run(["sync"], check=True)
    time.sleep(1)
    before, began = counted(db, raw), time.monotonic()
    for k in range(1, TRANSACTIONS + 1):
        insert(db, k)
    took = time.monotonic() - began
    subprocess.run(["nvme", "flush", "/dev/nvme0", "-n", "1"], check=True, capture_output=True)
    time.sleep(1)
    each = [(after - b) / TRANSACTIONS for after, b in zip(counted(db, raw), before, strict=True)]
    assert db.run("SELECT count(*) FROM t") == [(str(3 * (TRANSACTIONS + 1)),)]
    assert db.run("PRAGMA integrity_check") == [("ok",)]
    db.close()
    writes, blocks, flushes, pages = each
    Path("/tmp/figures").write_text(
        f"{what}: of a transaction {writes:.2f} writes, {blocks:.2f} blocks, {flushes:.2f} flushes, "
        f"{pages:.2f} NAND pages; "
        f"{TRANSACTIONS / took:.1f} transactions per second of the guest's clock\n"
    )


def main(what, path, *committed):
    if what == "new":
        opened(path).run(TABLE)
    elif what == "insert":
        db = opened(path)
        for k in range(100_000):
            insert(db, k)
            print(f"@synced {k} -", flush=True)
    elif what == "check":
        db, least = opened(path), int(committed[0])
        assert db.run("PRAGMA integrity_check") == [("ok",)]
        rows = [int(k) for (k,) in db.run("SELECT k FROM t ORDER BY n")]
        found = len(rows) // 3
        assert rows == [k for k in range(found) for _ in range(3)] and found in (least, least + 1), (least, rows)
        insert(db, found)
    else:
        measure(what, path)


main(*sys.argv[1:])
