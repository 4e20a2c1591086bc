# SPDX-License-Identifier: Apache-2.0
"""The whole drive of presets tiny and rich (the longer code, scrambled pages) with wrong bits in stored pages: up to T
a chunk (8, 24) nobody sees them, with more the block is a MEDIA_ERROR and its neighbours are not; the log of a drive
that lost power is corrected too."""

import random
from pathlib import Path

import pytest

from cocotb_tests.system.pages import LOG, data, flip, layout, pages, rows, rows_of
from opentxssd import BLOCK, Drive, Opcode, Status

ROOT = Path(__file__).resolve().parent.parent.parent


pytestmark = pytest.mark.forked


@pytest.fixture(params=["tiny", "rich"], scope="module")
def drive(request):
    d = Drive(request.param)
    for lba in range(12):
        d.write(lba, data(lba))
    d.flush()
    assert d.idle()
    return d


def test_pages_with_up_to_t_wrong_bits_a_chunk_read_right(drive):
    t, chunks = layout(drive).t, layout(drive).chunks
    # all before the first flip, which may be in an LPN
    for lba, row in enumerate([rows_of(drive, lba)[0] for lba in range(12)]):
        flip(drive, row, [(t - lba - chunk) % (t + 1) for chunk in range(chunks)], lba)
    assert drive.read(0, 12) == b"".join(data(lba) for lba in range(12))


def test_t_and_one_wrong_bits_are_a_media_error_of_that_block_only(drive):
    t, chunks = layout(drive).t, layout(drive).chunks
    (five, *_), (six, *_) = rows_of(drive, 5), rows_of(drive, 6)
    flip(drive, five, [t + (chunk == 3) for chunk in range(chunks)])
    flip(drive, six, [t] * chunks)
    alone = drive.command(Opcode.READ, 5, 1, check=False)
    assert (alone.status, alone.blocks) == (Status.MEDIA_ERROR, 0)
    across = drive.command(Opcode.READ, 2, 8, check=False)
    assert across.status == Status.MEDIA_ERROR and across.blocks == 0b11110111
    assert all(across.data[BLOCK * n : BLOCK * (n + 1)] == data(2 + n) for n in range(8) if n != 3)
    drive.write(5, data(50))
    assert drive.read(5) == data(50)


def test_wrong_bits_in_every_page_before_a_power_cut_lose_nothing(drive):
    drive.write(20, data(20), txid=3)
    drive.write(21, data(21), txid=3)
    drive.commit(3)
    drive.write(22, data(22), txid=4)
    assert pages(drive, LOG)
    for row in rows(drive):  # written or erased, of every kind
        flip(
            drive,
            row,
            [random.Random(row + chunk).randrange(layout(drive).t + 1) for chunk in range(layout(drive).chunks)],
            row,
        )
    drive.power_cut(7)
    drive.power_on()
    assert drive.read(0, 12) == b"".join(data(lba) for lba in range(12))
    assert drive.read(20, 3) == data(20) + data(21) + bytes(BLOCK)
