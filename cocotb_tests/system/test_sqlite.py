# SPDX-License-Identifier: Apache-2.0
"""SQLite on the raw drive (sw/host/sqlite): power cuts at any clock of many transactions, rollbacks, commits that fail;
with Debian's SQLite, which knows nothing of batches, against the served drive that is killed. Every command of the VFS
against a model: `make -C sw/host sqlite-test`.

Each transaction k adds the rows of `rows(k)`, so the rows that are there say which ones were committed. LONG=1: 150
cuts, 20 kills.
"""

import ast
import os
import random
import signal
import subprocess
import time

import pytest

from cocotb_tests.system.served import ROOT, Served
from opentxssd import Drive, Opcode, Status, TxState
from opentxssd.sqlite import Database, DrivePort, SqliteError

LONG = os.environ.get("LONG") == "1"
SEED = int(os.environ.get("SEED", 1))
CUTS, KILLS = (150, 20) if LONG else (6, 1)
IOERR, FULL = 10, 13


@pytest.fixture(scope="module", autouse=True)
def built():
    subprocess.run(["make", "-s", "-C", ROOT / "sw/host", "sqlite"], check=True)


def rows(k):
    """(n, length of its body) of the rows of a transaction."""
    return [(10 * k + i, (k * 977 + i * 3001) % 6000) for i in range(1 + k % 4)]


def transaction(k):
    values = ", ".join(f"({n}, zeroblob({length}))" for n, length in rows(k))
    if k % 5 == 4:  # beside a rollback
        lately = 10 * (k - 3)  # of more rows the pages would be more than the drive's transactions have entries
        return f"BEGIN; DELETE FROM t WHERE n >= {lately}; ROLLBACK; BEGIN; INSERT INTO t VALUES{values}; COMMIT"
    return f"INSERT INTO t VALUES{values}"


def committed(found, k):
    """How many transactions are there, which must be k, or k and the one under way, whole."""
    for there in (k, k + 1):
        if found == [row for j in range(there) for row in rows(j)]:
            return there
    raise AssertionError(f"after {k} transactions: {found}")


def contents(db):
    assert db.run("PRAGMA integrity_check") == [("ok",)]
    return [(int(n), int(length)) for n, length in db.run("SELECT n, length(body) FROM t ORDER BY n")]


def opened(drive="quick", **parameters):
    port = DrivePort(Drive(drive))
    return port, Database(port, **parameters)


CREATE = "PRAGMA cache_size=3; CREATE TABLE IF NOT EXISTS t(n INTEGER PRIMARY KEY, body)"


def test_a_power_cut_at_any_clock_leaves_the_last_commit_or_the_one_under_way():
    rng, port, whole, dropped = random.Random(SEED), DrivePort(Drive("quick")), 0, 0
    for cut in range(CUTS):
        db = Database(port)
        db.run(f"{CREATE}; DELETE FROM t")
        first, k = port.drive.clock, 0
        port.cut_at, port.cut_seed = first + rng.randrange(90_000), cut
        with pytest.raises(SqliteError):
            while k < 20:
                db.run(transaction(k))
                k += 1
            port.drive.power_cut(cut)
            port.off = True
            db.run("SELECT count(*) FROM t; INSERT INTO t VALUES(-1, 0)")
        with pytest.raises(SqliteError):
            db.run("INSERT INTO t VALUES(-2, 0)")
        db.close()
        port.power_on()
        db = Database(port)
        there = committed(contents(db), k)
        whole, dropped = whole + (there > k), dropped + (there == k)
        db.run(transaction(there))
        assert committed(contents(db), there + 1) == there + 1
        db.close()
    assert dropped and (whole or not LONG), "no cut in a transaction"


def test_a_rollback_and_commits_that_fail_change_nothing():
    port, db = opened()
    db.run(f"{CREATE}; {transaction(0)}")
    before = contents(db)
    db.run("BEGIN; INSERT INTO t VALUES(1, zeroblob(130000)); UPDATE t SET body = 'new' WHERE n = 1")
    assert port.drive.tx(31)[0] == TxState.OPEN  # it did not fit into the cache
    assert db.run("SELECT count(*) FROM t") == [("2",)]
    db.run("ROLLBACK")
    assert contents(db) == before and port.drive.tx(31)[0] != TxState.OPEN
    port.fail = lambda number, opcode: Status.WRITE_FAULT if opcode in (Opcode.WRITE, Opcode.COMMIT) else None
    with pytest.raises(SqliteError) as failed:
        db.run(transaction(1))
    port.fail = lambda number, opcode: None
    assert failed.value.code & 0xFF == IOERR and contents(db) == before
    with pytest.raises(SqliteError) as failed:  # quick's transactions have 48 entries
        db.run("INSERT INTO t VALUES(1, zeroblob(210000))")
    assert failed.value.code == FULL and contents(db) == before
    db.run(transaction(1))
    assert committed(contents(db), 2) == 2
    port.drive.power_cut(3)
    port.off = True
    db.close()
    port.power_on()
    assert committed(contents(Database(port)), 2) == 2


def test_relaxed_commits_are_a_prefix_after_a_power_cut_and_cost_less():
    port, db = opened(relaxed=1)
    db.run(f"{CREATE}; PRAGMA otx_flush")
    port.counts.clear()
    for k in range(6):
        db.run(transaction(k))
    assert port.counts["FLUSH"] == 0 and port.counts["WRITE"] >= 6
    port.drive.power_cut(5)
    port.off = True
    db.close()
    port.power_on()
    found = contents(Database(port))
    assert found in [[row for j in range(k) for row in rows(j)] for k in range(7)]


# SQL from standard input, a line each; of each its rows
CLIENT = """
import sqlite3, sys
loader = sqlite3.connect(":memory:")
loader.enable_load_extension(True)
loader.load_extension(sys.argv[1])
db = sqlite3.connect(f"file:{sys.argv[2]}?vfs=otx", uri=True, isolation_level=None)
assert ("ENABLE_BATCH_ATOMIC_WRITE",) not in db.execute("PRAGMA compile_options").fetchall()
for sql in sys.stdin:
    rows = [db.execute(part).fetchall() for part in sql.split(";")]
    print(rows[-1], flush=True)
"""


class Client:
    """Debian's Python with Debian's SQLite and our extension, on a served drive."""

    def __init__(self, served):
        self.process = subprocess.Popen(
            ["/usr/bin/python3", "-c", CLIENT, ROOT / "build/host/otx_sqlite.so", served.commands],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ask(self, sql):
        self.process.stdin.write(sql + "\n")
        self.process.stdin.flush()

    def answer(self):
        """What the next SQL returns; None if the client has ended."""
        line = self.process.stdout.readline()
        return ast.literal_eval(line) if line else None

    def run(self, sql):
        self.ask(sql)
        return self.answer()


def test_a_killed_drive_loses_nothing_that_debians_sqlite_has_committed(tmp_path):
    rng, k = random.Random(SEED), 0
    for kill in range(KILLS + 1):
        served = Served(tmp_path, tmp_path / "drive.nand", "quick4")
        client = Client(served)
        client.run(CREATE)
        assert client.run("PRAGMA integrity_check") == [("ok",)], client.process.stderr.read()
        k = committed(client.run("SELECT n, length(body) FROM t ORDER BY n"), k)
        if kill == KILLS:
            served.end(signal.SIGTERM)
            client.process.kill()
            client.process.wait()
            break
        last = k + rng.randrange(3, 9)
        while k < last:
            assert client.run(transaction(k)) == []
            k += 1
        client.ask(transaction(k))
        time.sleep(rng.random() * 0.05)
        served.end(signal.SIGKILL)
        k += client.answer() is not None
        client.process.stdin.close()
        assert "disk I/O error" in client.process.stderr.read() or not client.process.wait()
    assert k >= 3 * KILLS
