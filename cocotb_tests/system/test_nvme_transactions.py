# SPDX-License-Identifier: Apache-2.0
"""The drive's own commands behind its NVMe front end: each does what the contract says, also over power cuts and resets
of the controller. With the write buffer on, so that what nobody has asked for is not on NAND."""

import pytest

from cocotb_tests.system.variant import firmware
from opentxssd import BLOCK, Drive
from opentxssd.facts import HealthWord, NvmeOpcode, NvmeStatus, Query, TxState
from opentxssd.nvme import NvmeHost

pytestmark = pytest.mark.forked
OLD, NEW, ZERO = b"o" * BLOCK, b"n" * BLOCK, bytes(BLOCK)
RELAXED, COMMITS, PLAIN, BARRIER, ORDERLESS = 1 << 6, 1 << 7, 1 << 8, 1 << 4, 1 << 5  # of CDW14


def start(host):
    host.enable()
    host.create_queues(2)


@pytest.fixture
def host():
    host = NvmeHost(Drive("nvme", firmware=firmware("nvme", buffer_percent=60)))
    start(host)
    return host


def cut(host, seed=1):
    host.drive.power_cut(seed)
    host.drive.power_on()
    start(host)


def do(host, opcode, **fields):
    """The CQE of a command that must succeed."""
    return host.check(opcode.name, host.command(opcode, nsid=1, **fields))


def state(host, txid):
    return TxState(do(host, NvmeOpcode.QUERY, dw2=txid, dw15=Query.TX).dw0 & 7)


def checkpoint(host):
    number = do(host, NvmeOpcode.CHECKPOINT).dw0
    for _ in range(2000):
        if do(host, NvmeOpcode.QUERY, dw15=Query.HEALTH + HealthWord.ASKED_CHECKPOINT).dw0 & 0xFF == number & 0xFF:
            return
        host.step(2000)
    raise AssertionError("no checkpoint")


def test_a_flush_is_durable_when_it_has_ended(host):
    for lba in range(0, 36, 3):
        host.write(lba, NEW)
    host.flush()
    host.write(40, NEW)
    cut(host)
    assert all(host.read(lba) == NEW for lba in range(0, 36, 3))


def test_what_nobody_has_flushed_may_be_gone(host):
    """Else the test before could not fail."""
    for lba in range(0, 36, 3):
        host.write(lba, NEW)
    cut(host)
    assert any(host.read(lba) == ZERO for lba in range(0, 36, 3))


def test_an_aborted_transaction_was_never_there(host):
    host.write(1, OLD + OLD)
    host.write(1, NEW, txid=3)
    do(host, NvmeOpcode.TX_ZEROES, dw2=3, dw10=2)
    assert host.read(1, 2, txid=3) == NEW + ZERO and host.read(1, 2) == OLD + OLD
    do(host, NvmeOpcode.TX_ABORT, dw2=3)
    assert state(host, 3) == TxState.FREE and host.read(1, 2) == OLD + OLD
    assert host.command(NvmeOpcode.TX_COMMIT, nsid=1, dw2=3).status == NvmeStatus.TX_INVALID


def test_zeroes_are_hidden_until_they_are_committed(host):
    host.write(1, OLD + OLD)
    do(host, NvmeOpcode.TX_ZEROES, dw2=3, dw10=1, dw12=1)
    assert host.read(1, 2) == OLD + OLD
    host.commit(3)
    assert host.read(1, 2) == ZERO + ZERO
    host.write(1, OLD + OLD)
    do(host, NvmeOpcode.WRITE_ZEROES, dw10=2)
    assert host.read(1, 2) == OLD + ZERO


def test_commit_with_the_last_block_is_durable_and_relaxed_is_not_waited_for(host):
    host.write(1, NEW, txid=3)
    assert host.write(2, NEW, txid=3, dw14=COMMITS).dw0 > 0
    assert host.read(1, 2) == NEW + NEW and state(host, 3) in (TxState.COMMITTED, TxState.FREE)
    host.write(5, NEW, txid=4)
    do(host, NvmeOpcode.TX_COMMIT, dw2=4, dw14=RELAXED)
    assert host.read(5) == NEW
    cut(host)
    assert host.read(1, 2) == NEW + NEW


def test_plain_names_no_transaction_and_is_refused_where_one_must_be_named(host):
    host.write(1, NEW, txid=3)
    host.write(2, NEW, txid=3, dw14=PLAIN | ORDERLESS)
    assert host.read(2) == NEW and host.read(1) == ZERO
    assert host.read(1, txid=3, dw14=PLAIN) == ZERO
    names = [o for o in NvmeOpcode if o >= NvmeOpcode.TX_BEGIN]
    for opcode in set(names) - {NvmeOpcode.TX_WRITE, NvmeOpcode.TX_READ, NvmeOpcode.TX_ZEROES}:
        assert host.command(opcode, nsid=1, dw2=3, dw14=PLAIN).status == NvmeStatus.INVALID_FIELD, opcode
    assert state(host, 3) == TxState.OPEN and host.read(1) == ZERO
    host.commit(3)
    assert host.read(1) == NEW


def test_recover_aborts_what_is_open_and_keeps_what_is_prepared(host):
    for txid in (3, 4, 5):
        host.write(txid, NEW, txid=txid)
    do(host, NvmeOpcode.TX_PREPARE, dw2=5)
    do(host, NvmeOpcode.RECOVER)
    assert [state(host, t) for t in (3, 4, 5)] == [TxState.FREE, TxState.FREE, TxState.PREPARED]
    host.commit(5)
    assert host.read(3, 3) == ZERO + ZERO + NEW


@pytest.mark.parametrize("how", ["cut", "checkpoint", "shutdown", "cut, checkpoint", "cut, shutdown"])
def test_prepared_transactions_wait_for_their_end_also_without_a_block(host, how):
    host.write(5, NEW, txid=8)
    for txid in (9, 10):
        do(host, NvmeOpcode.TX_BEGIN, dw2=txid)
    for txid in (8, 9):
        do(host, NvmeOpcode.TX_PREPARE, dw2=txid)
    for step in how.split(", "):
        {"cut": cut, "checkpoint": checkpoint, "shutdown": NvmeHost.shutdown}[step](host)
    cut(host)
    assert [state(host, t) for t in (8, 9, 10)] == [TxState.PREPARED, TxState.PREPARED, TxState.FREE]
    assert host.read(5) == ZERO
    host.commit(9)
    host.commit(8)
    assert host.read(5) == NEW


def test_a_reset_of_the_controller_ends_no_transaction_and_a_shutdown_those_that_are_open(host):
    host.write(5, NEW, txid=8)
    host.write(6, NEW, txid=9)
    do(host, NvmeOpcode.TX_PREPARE, dw2=9)
    start(host)
    assert [state(host, t) for t in (8, 9)] == [TxState.OPEN, TxState.PREPARED]
    host.lib.otx_function_reset()
    start(host)
    assert host.read(5, txid=8) == NEW and host.read(5) == ZERO
    host.shutdown()
    start(host)
    assert [state(host, t) for t in (8, 9)] == [TxState.FREE, TxState.PREPARED]
    host.commit(9)
    assert host.read(5, 2) == ZERO + NEW


def test_barriers_keep_their_sides_apart(host):
    """What is behind a barrier is not on NAND while something before it is not."""
    for seed in range(4):
        host.write(0, OLD * 8)
        host.flush()
        for lba in range(4):
            host.write(lba, NEW)
        do(host, NvmeOpcode.BARRIER)
        for lba in range(4, 8):
            host.write(lba, NEW, txid=0, dw14=PLAIN | (BARRIER if lba == 5 else 0))
        host.step(seed * 9000)
        cut(host, seed)
        new = [host.read(lba) == NEW for lba in range(8)]
        parts = new[:4], new[4:6], new[6:]
        assert all(all(parts[k]) or not any(parts[k + 1]) for k in range(2)), new
