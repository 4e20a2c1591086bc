# SPDX-License-Identifier: Apache-2.0
"""The whole drive of preset quick, pages with wrong bits: one that the host reads with many corrected bits is at
another place some time later, and the drive lives without the old one, also after a restart. With fewer it stays, and
so does one that nobody reads (docs/ecc.md)."""

import random
from pathlib import Path

import pytest

from cocotb_tests.system.pages import DATA, data, flip, pages, rows_of
from cocotb_tests.system.weak_pages import one_chunk, rest, spoil, unread
from opentxssd import BLOCK, Drive

ROOT = Path(__file__).resolve().parent.parent.parent

AT = 5  # refresh_at of soc/geometry.py
pytestmark = pytest.mark.forked


@pytest.fixture(scope="module")
def drive():
    d = Drive("quick")
    for lba in range(12):
        d.write(lba, data(lba))
    d.flush()
    assert d.idle()
    return d


def test_a_page_read_with_many_corrected_bits_moves_and_the_old_one_is_not_needed(drive):
    (old,) = rows_of(drive, 7)
    flip(drive, old, one_chunk(6))
    rest(drive)
    assert rows_of(drive, 7) == [old], "nobody has read it"
    assert drive.read(7) == data(7)
    rest(drive)
    new = [row for row in rows_of(drive, 7) if row != old]
    assert len(new) == 1, "it was not written again, or more than once"
    spoil(drive, old)
    assert drive.read(0, 12) == b"".join(data(lba) for lba in range(12)), "the map names the old page"
    before = len(pages(drive, DATA))
    rest(drive)
    assert len(pages(drive, DATA)) == before, "the new page was moved once more"
    drive.flush()
    drive.power_cut(3)
    drive.power_on()
    assert drive.read(0, 12) == b"".join(data(lba) for lba in range(12))
    spoil(drive, new[0])
    assert unread(drive, 7), "another page than the new one holds the block"


def test_the_old_page_counts_when_power_fails_before_the_move_is_durable(drive):
    (old,) = rows_of(drive, 7)
    flip(drive, old, one_chunk(6))
    for clocks in range(0, 16_000, 2_000):
        assert drive.read(7) == data(7)
        rest(drive, clocks)
        drive.power_cut(clocks)
        drive.power_on()
        assert drive.read(0, 12) == b"".join(data(lba) for lba in range(12))


def test_pages_with_few_corrected_bits_stay_and_all_with_many_move(drive):
    old, counts = {}, {}
    for lba in range(12):
        (old[lba],), counts[lba] = rows_of(drive, lba), [0, 1, 4, 5, 6, 8][lba % 6]
        flip(drive, old[lba], one_chunk(counts[lba], lba % 8), lba)
    flip(drive, old[1], [0 if n == 1 else 4 for n in range(8)], 77)  # many in all, few in each chunk
    for _ in range(3):  # what does not fit in the list of reports is reported by the next read
        assert drive.read(0, 12) == b"".join(data(lba) for lba in range(12))
        rest(drive)
    for lba in range(12):
        spoil(drive, old[lba])
        assert unread(drive, lba) == (counts[lba] < AT), f"block {lba} with {counts[lba]} wrong bits"


def test_a_block_written_over_after_the_report_keeps_the_new_data(drive):
    for n in range(6):
        flip(drive, rows_of(drive, n)[0], one_chunk(8, n), n)
    assert drive.read(0, 6) == b"".join(data(lba) for lba in range(6))
    for n in range(6):  # beside the moves
        drive.write(n, random.Random(100 + n).randbytes(BLOCK))
    rest(drive)
    want = b"".join(random.Random(100 + n).randbytes(BLOCK) for n in range(6))
    assert drive.read(0, 6) == want
    drive.flush()
    drive.power_cut(9)
    drive.power_on()
    assert drive.read(0, 12) == want + b"".join(data(lba) for lba in range(6, 12))
