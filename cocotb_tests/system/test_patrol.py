# SPDX-License-Identifier: Apache-2.0
"""The whole drive of preset quick with firmware that looks at a page every 200 us (`patrol_us` in soc/geometry.py): one
that nobody reads and that has many wrong bits moves before it is lost, but only while the drive is idle. Without the
patrol it stays: test_refresh.py. Decision 012."""

from pathlib import Path

import pytest

from cocotb_tests.system import variant
from cocotb_tests.system.pages import data, flip, rows_of
from cocotb_tests.system.weak_pages import one_chunk, rest, spoil, unread
from opentxssd import Drive, Opcode

ROOT = Path(__file__).resolve().parent.parent.parent

BLOCKS = 12
ROUND = 20_000 * (BLOCKS + 2) + 100_000  # clocks in which each page is looked at once, and one moves
pytestmark = pytest.mark.forked


@pytest.fixture(scope="module")
def firmware():
    return variant.firmware("quick", patrol_us=200)


@pytest.fixture(scope="module")
def drive(firmware):
    d = Drive("quick", firmware=firmware)
    d.write(0, b"".join(data(lba) for lba in range(BLOCKS)))
    d.flush()
    return d


def all_there(drive):
    assert drive.read(0, BLOCKS) == b"".join(data(lba) for lba in range(BLOCKS))


def test_a_page_that_nobody_reads_moves_before_it_is_lost(drive):
    old = {lba: rows_of(drive, lba)[0] for lba in (2, 3, 7, 11)}
    flip(drive, old[2], one_chunk(4))  # few
    spoil(drive, old[3])  # lost already: it stays, and the walk goes on
    flip(drive, old[7], one_chunk(5))
    flip(drive, old[11], one_chunk(8, chunk=7))
    rest(drive, ROUND + ROUND // 2)
    assert [len(rows_of(drive, lba)) for lba in (2, 7, 11)] == [1, 2, 2]
    assert unread(drive, 3)
    drive.write(3, data(3))
    drive.flush()  # until the log says so, the old pages count after a power cut
    for lba in (7, 11):
        spoil(drive, old[lba])
    all_there(drive)
    drive.power_cut(3)
    drive.power_on()
    all_there(drive)


def test_while_the_host_is_at_work_nothing_is_looked_at(drive):
    (old,) = rows_of(drive, 7)
    flip(drive, old, one_chunk(6))
    end, lba, reads = drive.clock + ROUND, 0, drive.lib.otx_nand_count(0)
    while drive.clock < end:
        while len(drive.pending) < 4:
            drive.submit(Opcode.READ, lba % 6, 1)
            lba += 1
        if drive.step(10_000):
            assert drive.poll().data is not None
    assert rows_of(drive, 7) == [old] and 100 < drive.lib.otx_nand_count(0) - reads <= lba + 1, (
        "pages were read that the host has not asked for"
    )
    while drive.pending:
        if drive.step(10_000):
            drive.poll()
    rest(drive, ROUND)
    assert len(rows_of(drive, 7)) == 2
