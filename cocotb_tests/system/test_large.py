# SPDX-License-Identifier: Apache-2.0
"""What needs the size of preset sim: full transaction tables, all dies. The tests share a drive, for it takes long to start."""

import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).resolve().parent.parent.parent)]

from cocotb_tests.system.drive import BLOCK, Drive, Opcode, Query, Status, TxState  # noqa: E402

FULL = 60_000


def block(n):
    return n.to_bytes(8, "little") * (BLOCK // 8)


@pytest.fixture(scope="module")
def d():
    drive = Drive("sim")
    yield drive
    drive.power_cut()


def test_the_60001st_entry_is_tx_full_and_the_transaction_commits_all_the_same(d):
    d.write(0, block(1))
    d.write(59_999, block(2))
    for lba in range(0, FULL, 32):  # a trim inside a transaction is an entry like a write, without a page
        d.trim(lba, min(32, FULL - lba), txid=5)
    assert d.tx(5) == (TxState.OPEN, FULL)
    assert d.write(FULL, block(3), txid=5, check=False).status == Status.TX_FULL
    assert d.trim(FULL - 1, 2, txid=5, check=False).status == Status.TX_FULL
    assert d.tx(5) == (TxState.OPEN, FULL)
    d.write(7, block(4), txid=5)  # an entry it has already
    assert d.tx(5) == (TxState.OPEN, FULL)
    assert d.read(0) == block(1) and d.read(59_999) == block(2)
    d.commit(5)
    assert d.read(0) == bytes(BLOCK) == d.read(59_999) and d.read(7) == block(4)
    d.write(9, block(5), fua=1)
    d.power_cut(1)
    d.power_on()
    assert d.read(0) == bytes(BLOCK) == d.read(59_999) and d.read(7) == block(4) and d.read(9) == block(5)


def test_thirty_two_transactions_are_open_at_once_and_commit_in_any_order(d):
    for n in range(4):
        for t in range(32):
            d.write(1000 * n + (t * 7) % 32, block(100 * t + n), txid=t)
            d.write(9000, block(t + 1), txid=t)
    assert d.write(0, block(0), txid=32, check=False).status == Status.TX_INVALID
    order = [(t * 11) % 32 for t in range(32)]
    tags = {}
    for t in order:
        if t % 3:
            tags[t] = d.submit(Opcode.COMMIT, txid=t)
        else:
            d.abort(t)
    assert all(d.wait(tag).status == Status.SUCCESS for tag in tags.values())
    for t in range(32):
        want = block(100 * t + 2) if t % 3 else bytes(BLOCK)
        assert d.read(2000 + (t * 7) % 32) == want
    assert d.query(Query.COMMITS) == len(tags)
    d.power_cut(2)
    d.power_on()
    for t in range(32):
        assert d.read(3000 + (t * 7) % 32) == (block(100 * t + 3) if t % 3 else bytes(BLOCK))
