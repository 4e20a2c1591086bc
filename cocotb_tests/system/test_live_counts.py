# SPDX-License-Identifier: Apache-2.0
"""The whole drive of preset quick: the count of pages in use of every block is what map and transaction tables name, at
every quiet moment of random traffic (docs/decisions/021-counts-turns-tickets.md). Around the data path alone:
test_reclaim.py."""

import random
from collections import Counter

import pytest

from cocotb_tests.bench.amount import amount
from cocotb_tests.system.registers import Registers, word
from opentxssd import BLOCK, Drive, Opcode, Status, TxState
from opentxssd.faults import Faults, seen
from soc import geometry

pytestmark = pytest.mark.forked
G = geometry.preset("quick")
NAND, VER = 1, 3


def count_of(registers, block):
    registers.write("live_block", block)
    while not registers.read("live_valid"):
        pass
    return registers.read("live_answer")


def counts(registers):
    """{block: pages in use}, as firmware would ask."""
    found = {}
    with registers.held():
        for block in range(G.dies * G.blocks_per_way):
            found[block] = count_of(registers, block)
    return found


def named(drive):
    """{block: pages of it that a map word, or a version behind one, names}, and how many entries were passed."""
    found, entries = Counter(), 0
    for lpn in range(G.lbas):
        location = word(drive, G.table_base + 4 * lpn)
        while location >> 30 == VER:
            entry = G.tx_base + 16 * (location & 0x3FFF_FFFF)
            assert word(drive, entry) == lpn
            entries += 1
            version, location = word(drive, entry + 4), word(drive, entry + 8)
            found[(version & 0x3FFF_FFFF) // G.pages_per_block] += version >> 30 == NAND
        found[(location & 0x3FFF_FFFF) // G.pages_per_block] += location >> 30 == NAND
    return found, entries


def check(drive, registers):
    """All counts are the truth, with the one page on offer. Returns how many entries of transactions there are."""
    for _ in range(20):  # what firmware is moving comes to its place
        assert drive.idle(300_000)
        with registers.held():
            before = registers.wide("log_head")
        drive.step(3_000)
        with registers.held():
            if registers.wide("log_head") == before and not registers.read("busy"):
                break
    want, entries = named(drive)
    have = counts(registers)
    more = {block: have[block] - want[block] for block in have if have[block] != want[block]}
    assert all(n > 0 for n in more.values()), f"counts below the truth, or above: {more}"
    assert not sum(more.values()), f"pages that nobody names count: {more}"
    return entries


def data(rng):
    return rng.randbytes(8) * (BLOCK // 8)


def one(drive, rng, open_txids):
    """A random command, handed over; its tag."""
    op = rng.choice([Opcode.WRITE] * 8 + [Opcode.TRIM, Opcode.READ, Opcode.COMMIT, Opcode.ABORT])
    txid = rng.choice([None, None, 0, 1, 2, 31])
    if op in (Opcode.COMMIT, Opcode.ABORT):
        if not open_txids:
            return drive.submit(Opcode.FLUSH)
        txid = open_txids.pop(rng.randrange(len(open_txids)))
        return drive.submit(op, txid=txid)
    lba = rng.randrange(G.lbas - 8)
    count = rng.choice([1, 1, 1, 2, 8])
    if op != Opcode.READ and txid is not None and txid not in open_txids:
        open_txids.append(txid)
    return drive.submit(op, lba, count, data(rng) * count if op == Opcode.WRITE else None, txid=txid)


def traffic(drive, registers, rng, moments, commands, capacity=()):
    """`moments` quiet moments after `commands` commands each, up to eight side by side.

    Returns how many entries of open transactions were met.
    """
    met, bad = 0, 0
    open_txids = [t for t in (0, 1, 2, 31) if drive.tx(t)[0] == TxState.OPEN]
    for _ in range(moments):
        tags = []
        for _ in range(commands):
            tags.append(one(drive, rng, open_txids))
            if len(tags) > 7 or rng.random() < 0.2:
                for tag in tags:
                    bad += drive.wait(tag).status not in (
                        Status.SUCCESS,
                        Status.TX_FULL,
                        Status.TX_INVALID,
                        Status.TX_BUSY,
                        *capacity,
                    )
                tags = []
        for tag in tags:
            drive.wait(tag)
        met += check(drive, registers)
    assert bad == 0
    return met


def test_counts_are_those_of_map_and_transactions(seed=1):
    drive, rng = Drive("quick"), random.Random(seed)
    registers = Registers(drive)
    check(drive, registers)
    met = traffic(drive, registers, rng, amount(12, 60), 60)
    assert met > 20, "transactions were open at few moments"


def test_counts_stay_true_when_programs_fail_and_pages_move(seed=2):
    drive, rng = Drive("quick", faults=Faults(seed=seed, program_fail_ppm=20_000)), random.Random(seed)
    registers = Registers(drive)
    traffic(drive, registers, rng, amount(10, 40), 50, capacity=[Status.CAPACITY])  # failing blocks take free ones
    assert seen(drive.lib)["program_fails"] > 3


def test_mount_sets_the_counts(seed=3):
    drive, rng = Drive("quick"), random.Random(seed)
    for cut in range(3):
        registers = Registers(drive)
        check(drive, registers)
        traffic(drive, registers, rng, 2, 60)
        drive.power_cut(seed=cut)
        drive.power_on()
    check(drive, Registers(drive))


@pytest.mark.parametrize("wrong", [-1, 2])
def test_a_wrong_count_would_be_seen(wrong):
    drive, rng = Drive("quick"), random.Random(4)
    registers = Registers(drive)
    drive.write(0, data(rng) * 8)
    check(drive, registers)
    with registers.held():
        block = word(drive, G.table_base) % (1 << 30) // G.pages_per_block
        registers.write("live_block", block)
        registers.write("live_count", count_of(registers, block) + wrong)
    with pytest.raises(AssertionError, match="below the truth|nobody names"):
        check(drive, registers)
