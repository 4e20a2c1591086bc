# SPDX-License-Identifier: Apache-2.0
"""Rules of recovery on the whole drive, preset quick, where random cuts rarely ask for them: commit-prefix, group
and epochs, with a page whose program failed and whose rescue a cut prevents. Each fails with the firmware that lacks
its rule:
OTX_FIRMWARE=$(python tools/broken_firmware.py quick commit-prefix)."""

import ctypes
from pathlib import Path

import pytest

from opentxssd import BLOCK, Drive, Opcode, Torn
from opentxssd.faults import Fault, Faults, Place
from soc import geometry

ROOT = Path(__file__).resolve().parent.parent.parent

PAGES = 16  # of a block
DATA = 1  # kind of a page, the second byte behind its data
OLD, NEW = 1, 2


def data(lba, version):
    return (1_000 * version + lba + 1).to_bytes(8, "little") * (BLOCK // 8)


def blocks(first, count, version):
    return b"".join(data(lba, version) for lba in range(first, first + count))


def last_row(drive):
    """The row of the DATA page that was programmed last, in the block that is being filled."""
    page = ctypes.create_string_buffer(8192)
    held = []
    for row in range(geometry.preset("quick").blocks_per_way * PAGES):
        drive.lib.otx_nand_peek(0, row, page)
        if page.raw[4097] == DATA:
            held.append(row)
    at = [row for row in held if row + 1 not in held and row % PAGES != PAGES - 1]
    assert len(at) == 1, at
    return at[0]


def whole(drive, row, content):
    page = ctypes.create_string_buffer(8192)
    drive.lib.otx_nand_peek(0, row, page)
    return page.raw[:BLOCK] == content


@pytest.fixture
def drive():
    d = Drive("quick", faults=Faults(seed=1))
    d.write(8, blocks(8, 8, OLD))
    d.flush()
    assert d.idle()
    completed(d, 60_000)  # until firmware has erased blocks ahead
    yield d
    d.power_cut()


def fail_at(drive, behind):
    """The page so many behind the last one will fail; returns the row of the last one."""
    row = last_row(drive)
    bad = row + behind
    assert bad // PAGES == row // PAGES
    drive.set_faults(Faults(seed=1, places=[Place(Fault.PROGRAM_FAILS, 0, bad // PAGES, bad % PAGES)]))
    return row


def completed(drive, clocks):
    """Lets clocks pass; how many commands completed meanwhile."""
    end, n = drive.clock + clocks, 0
    while drive.clock < end:
        drive.step(end - drive.clock)
        while drive.poll():
            n += 1
    return n


def linked(drive, commands):
    """Waits until so many commands are answered: their entries are in the log's open page, and a rescue needs a program
    more before its own is.
    """
    while commands > 0:
        commands -= completed(drive, 5)


def cut_when(drive, there):
    """Power fails as soon as the log and the page that `there` looks at are whole; the rescue of the failed page, which
    needs two programs more, has not ended.
    """
    logs, before = 0, Torn.NOTHING
    for _ in range(4_000):
        completed(drive, 5)
        now = drive.under_way()[0]
        logs += before == Torn.LOG and now != Torn.LOG
        before = now
        if logs and now != Torn.LOG and there():
            break
    assert 1 <= logs <= 2 and there(), "the log page with all that was asked for comes before the rescue's"
    drive.power_cut(1)
    drive.power_on()
    assert drive.faults_seen()["program_fails"] == 1


def test_a_commit_without_its_page_takes_the_later_ones_along(drive):
    row = fail_at(drive, 1)
    for txid, lba in ((1, 8), (2, 9)):
        drive.submit(Opcode.WRITE, lba, 1, data(lba, NEW), txid=txid)
        drive.submit(Opcode.COMMIT, txid=txid, relaxed=1)
    linked(drive, 4)
    drive.submit(Opcode.FLUSH)
    cut_when(drive, lambda: whole(drive, row + 2, data(9, NEW)))
    assert [drive.read(lba) for lba in (8, 9)] == [data(8, OLD), data(9, OLD)], (
        "the second commit survived and the first did not (guarantee 9)"
    )


@pytest.mark.parametrize("orderless", [0, 1])
@pytest.mark.parametrize("barrier", ["flag", "command", "orderless"])
def test_behind_a_barrier_nothing_survives_that_keeps_order_without_a_page_before_it(drive, barrier, orderless):
    """The page of block 8 is missing, that of 9, in the next epoch, is whole."""
    row = fail_at(drive, 1)
    drive.submit(Opcode.WRITE, 8, 1, data(8, NEW), barrier=int(barrier == "flag"))
    drive.submit(Opcode.TRIM, 13, 1, orderless=1, barrier=int(barrier == "orderless"))
    if barrier == "command":
        drive.submit(Opcode.BARRIER)
    drive.submit(Opcode.TRIM, 14, 1, orderless=orderless)
    drive.submit(Opcode.WRITE, 9, 1, data(9, NEW), orderless=orderless)
    linked(drive, 4 + (barrier == "command"))
    drive.submit(Opcode.FLUSH)
    cut_when(drive, lambda: whole(drive, row + 2, data(9, NEW)))
    want = [data(9, NEW), bytes(BLOCK)] if orderless else [data(9, OLD), data(14, OLD)]
    for _ in range(2):
        assert [drive.read(lba) for lba in (8, 13)] == [data(8, OLD), bytes(BLOCK)]
        assert [drive.read(lba) for lba in (9, 14)] == want, "guarantee 9"
        drive.write(40, data(40, NEW), barrier=1)  # epochs begin again
        drive.write(41, data(41, NEW), fua=1)
        drive.power_cut(2)
        drive.power_on()
        assert drive.read(40, 2) == blocks(40, 2, NEW)


def test_behind_a_barrier_no_commit_survives_without_a_page_before_it(drive):
    row = fail_at(drive, 1)
    drive.submit(Opcode.WRITE, 8, 1, data(8, NEW), barrier=1)
    drive.submit(Opcode.WRITE, 9, 1, data(9, NEW), txid=1)
    drive.submit(Opcode.COMMIT, txid=1, relaxed=1)
    linked(drive, 3)
    drive.submit(Opcode.FLUSH)
    cut_when(drive, lambda: whole(drive, row + 2, data(9, NEW)))
    assert [drive.read(lba) for lba in (8, 9)] == [data(8, OLD), data(9, OLD)], "the commit survived (guarantee 9)"


def test_a_commit_behind_a_barrier_is_not_acknowledged_before_the_pages_in_front_of_it(drive):
    """Recovery would drop it with them; without a barrier it waits for its own pages only."""
    row = fail_at(drive, 1)
    drive.submit(Opcode.WRITE, 8, 1, data(8, NEW), barrier=1)
    drive.submit(Opcode.WRITE, 9, 1, data(9, NEW), txid=1)
    linked(drive, 2)
    drive.submit(Opcode.COMMIT, txid=1)
    logs, before = 0, Torn.NOTHING
    for _ in range(4_000):
        assert not completed(drive, 5), "acknowledged, and a power cut would take it (guarantee 7)"
        now = drive.under_way()[0]
        logs += before == Torn.LOG and now != Torn.LOG
        before = now
        if logs == 2 and whole(drive, row + 2, data(9, NEW)):
            break
    assert logs == 2, "the record is durable, and so is the transaction's page"
    drive.power_cut(1)
    drive.power_on()
    assert [drive.read(lba) for lba in (8, 9)] == [data(8, OLD), data(9, OLD)]


def test_a_plain_write_without_one_of_its_pages_is_not_there(drive):
    row = fail_at(drive, 2)
    drive.submit(Opcode.WRITE, 8, 3, blocks(8, 3, NEW))
    linked(drive, 1)
    drive.submit(Opcode.FLUSH)
    cut_when(drive, lambda: whole(drive, row + 3, data(10, NEW)))
    assert drive.read(8, 3) == blocks(8, 3, OLD), "a part of a WRITE survived (guarantee 10)"
