# SPDX-License-Identifier: Apache-2.0
"""The whole drive on NAND that wears: bits that stick, that flip with each erase, each read and with age; pages that
read wrong whatever is programmed (preset quick).
What the code corrects nobody sees; what it cannot is a MEDIA_ERROR of that block alone until it is written again."""

import random
from pathlib import Path

import pytest

from cocotb_tests.system.filling import Filling, data
from cocotb_tests.system.pages import DATA, pages, place
from opentxssd import BLOCK, Opcode, Status
from opentxssd.faults import Fault, Faults, Place

ROOT = Path(__file__).resolve().parent.parent.parent

pytestmark = pytest.mark.forked


def test_wear_disturb_age_and_stuck_bits_within_the_code_lose_nothing():
    """The rate grows with each erase, read and operation to some 1e-4; one page in twenty has two bits more that never
    change.
    """
    f = Filling(
        "quick", 11, stuck_bits_ppm=50_000, stuck_bits=2, ber_erase=20_000_000, ber_read=1_000_000, ber_age=10_000
    )
    for cycle in range(3):
        assert f.fill() == f.blocks
        f.verify()
        f.restart(cut=cycle % 2)
        f.verify()
    seen = f.drive.faults_seen()
    print(seen)
    assert seen["flips"] > 500


def test_a_stuck_page_is_a_media_error_of_one_block_until_it_is_written_again():
    f = Filling("quick", 4)
    assert f.fill() == f.blocks and f.drive.idle() and f.drive.checkpoint()  # or they would be doubtful
    rows = random.Random(3).sample(sorted(pages(f.drive, DATA)), 3)
    # of blocks that were erased once
    f.drive.set_faults(Faults(places=[Place(Fault.STUCK_PAGE, *place(f.drive, row), 1) for row in rows]))

    def lost():
        found = []
        for lba in range(f.blocks):
            done = f.drive.command(Opcode.READ, lba, 1, check=False)
            if done.status == Status.MEDIA_ERROR:
                found.append(lba)
            else:
                assert done.status == Status.SUCCESS and done.data[:BLOCK] == data(lba, f.version[lba])
        return found

    before = lost()
    assert len(before) == 3
    f.restart(cut=True)
    assert lost() == before
    for lba in before:
        status, new = f.write(lba, 1, fua=1)
        assert status == Status.SUCCESS
        f.version[lba] = new[lba]
    f.verify()
    f.restart(cut=True)
    f.verify()
