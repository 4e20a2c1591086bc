# SPDX-License-Identifier: Apache-2.0
"""Full transaction tables and all 32 transactions at once. A table of preset quick has 48 entries.
With LONG=1 also one of preset sim, with 60,000, and the 32 on its eight dies."""

import pytest

from cocotb_tests.bench.amount import amount
from opentxssd import BLOCK, Drive, Opcode, Query, Status, TxState

pytestmark = pytest.mark.forked
ENTRIES = {"quick": 48, "sim": 60_000}


def block(n):
    return n.to_bytes(8, "little") * (BLOCK // 8)


@pytest.mark.parametrize("preset", amount(["quick"], list(ENTRIES)))
def test_the_entry_past_the_last_is_tx_full_and_the_transaction_commits_all_the_same(preset):
    d, full = Drive(preset), ENTRIES[preset]
    assert d.tx_entries == full < d.lbas
    d.write(0, block(1))
    d.write(full - 1, block(2))
    for lba in range(0, full, 32):  # a trim inside a transaction is an entry like a write, without a page
        d.trim(lba, min(32, full - lba), txid=5)
    assert d.tx(5) == (TxState.OPEN, full)
    assert d.write(full, block(3), txid=5, check=False).status == Status.TX_FULL
    assert d.trim(full - 1, 2, txid=5, check=False).status == Status.TX_FULL
    assert d.tx(5) == (TxState.OPEN, full)
    d.write(7, block(4), txid=5)  # an entry it has already
    assert d.tx(5) == (TxState.OPEN, full)
    assert d.read(0) == block(1) and d.read(full - 1) == block(2)
    d.commit(5)
    assert d.read(0) == bytes(BLOCK) == d.read(full - 1) and d.read(7) == block(4)
    d.write(9, block(5), fua=1)
    d.power_cut(1)
    d.power_on()
    assert d.read(0) == bytes(BLOCK) == d.read(full - 1) and d.read(7) == block(4) and d.read(9) == block(5)


@pytest.mark.parametrize(("preset", "each"), amount([("quick", 1)], [("quick", 1), ("quick4", 4), ("sim", 4)]))
def test_thirty_two_transactions_are_open_at_once_and_commit_in_any_order(preset, each):
    """So many blocks of its own has each, and one that all of them write."""
    d, shared = Drive(preset), 32 * each
    lba = {(n, t): 32 * n + (t * 7) % 32 for n in range(each) for t in range(32)}
    order = [(t * 11) % 32 for t in range(32)]
    for n in range(each):
        for t in range(32):
            d.write(lba[n, t], block(100 * t + n + 1), txid=t)
            d.write(shared, block(t + 1), txid=t)
    assert d.write(0, block(0), txid=32, check=False).status == Status.TX_INVALID
    tags = {}
    for t in order:
        if t % 3:
            tags[t] = d.submit(Opcode.COMMIT, txid=t)
        else:
            d.abort(t)
    assert all(d.wait(tag).status == Status.SUCCESS for tag in tags.values())

    def verify():
        for (n, t), at in lba.items():
            assert d.read(at) == (block(100 * t + n + 1) if t % 3 else bytes(BLOCK))
        assert d.read(shared) == block(list(tags)[-1] + 1)

    verify()
    assert d.query(Query.COMMITS) == len(tags)
    d.power_cut(2)
    d.power_on()
    verify()
