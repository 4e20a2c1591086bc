# SPDX-License-Identifier: Apache-2.0
"""The whole drive on pages whose cells have drifted: they can be read only at another read level of the part (preset
rich, which has all else that a part can do beside).
"""

import random
from pathlib import Path

import pytest

from cocotb_tests.bench.amount import amount
from cocotb_tests.system.overlap import filled, holds
from cocotb_tests.system.pages import data, place, rows_of
from cocotb_tests.system.weak_pages import rest, spoil, unread
from opentxssd import Drive, Opcode, Status, TxState
from opentxssd.faults import Cut, Fault, Faults, Place

ROOT = Path(__file__).resolve().parent.parent.parent

AREA = amount(32, 96)
WRONG = 2 * 10**10  # 2e-2 per bit at a wrong level: some 170 bits in a chunk of which 24 can be corrected
pytestmark = pytest.mark.forked


def again(drive):
    """Reads at a level other than 0."""
    return drive.lib.otx_nand_count(7)


@pytest.fixture(scope="module")
def written():
    """A drive with eight blocks."""
    drive = Drive("rich")
    for lba in range(8):
        drive.write(lba, data(lba))
    drive.flush()
    assert drive.idle()
    return drive


def with_levels(drive, levels):
    """The page of block `lba` has level `levels[lba]`; the rows of the blocks."""
    at = [rows_of(drive, lba)[0] for lba in range(8)]
    places = [Place(Fault.DRIFTED, *place(drive, at[lba]), level) for lba, level in levels.items()]
    drive.set_faults(Faults(seed=1, ber_drift=WRONG, places=places))
    return at


def test_a_third_of_the_pages_drifted_and_nothing_is_lost_over_power_cuts():
    drive = Drive("rich", faults=Faults(seed=3, drift_ppm=330_000, ber_drift=WRONG, ber=10**8))
    rng = random.Random(3)
    for round, cut in enumerate(amount((Cut.SUBSET, Cut.ANY), (Cut.SUBSET, Cut.UNREADABLE, Cut.ANY))):
        filled(drive, round + 1, AREA)
        drive.write(0, data(10**6), txid=3)  # not committed
        before = again(drive)
        holds(drive, round + 1, AREA)
        assert again(drive) > before + AREA // 4, "few pages were read again"
        drive.power_cut(rng.getrandbits(32), program=cut)
        drive.power_on()
        assert drive.tx(3)[0] == TxState.FREE
        holds(drive, round + 1, AREA)
    print(f"FIGURE {again(drive)} reads at another level, {drive.faults_seen()['drifted']} at the wrong one")
    drive.power_cut()


def test_without_read_retry_they_are_lost():
    drive = Drive("tiny")
    for lba in range(16):
        drive.write(lba, data(lba))
    assert drive.idle()
    drive.set_faults(Faults(seed=3, drift_ppm=330_000, ber_drift=WRONG))
    failed = [lba for lba in range(16) if drive.command(Opcode.READ, lba, 1, check=False).status == Status.MEDIA_ERROR]
    assert 1 < len(failed) < 12
    drive.power_cut()


def test_every_level_is_tried_and_a_page_that_none_reads_is_an_error_of_its_block_only(written):
    drive = written
    with_levels(drive, {1: 1, 2: 2, 3: 3, 4: 4})
    for lba, reads in enumerate((0, 1, 2, 3, 3, 0, 0, 0)):
        before, begin = again(drive), drive.clock
        completion = drive.command(Opcode.READ, lba, 1, check=False)
        print(
            f"FIGURE a block of a page that {reads} more reads are for: {completion.clock - begin} clocks, "
            f"{completion.status.name}"
        )
        assert completion.status == (Status.MEDIA_ERROR if lba == 4 else Status.SUCCESS)
        assert again(drive) - before >= reads, f"block {lba}"  # more when firmware moves the one before
        if lba != 4:
            assert completion.data == data(lba)
    completion = drive.command(Opcode.READ, 0, 8, check=False)
    assert completion.status == Status.MEDIA_ERROR and completion.blocks == 0xEF
    drive.power_cut()


def test_a_page_that_was_read_at_another_level_is_written_again(written):
    drive = written
    old = with_levels(drive, {1: 2, 2: 3})
    assert drive.read(0, 4) == b"".join(map(data, range(4)))
    rest(drive)
    drive.set_faults(None)
    for lba in range(4):
        spoil(drive, old[lba])
        assert unread(drive, lba) == (lba not in (1, 2)), f"block {lba}"
    drive.power_cut()


def test_a_cut_while_a_page_is_read_again_leaves_the_dies_at_level_0(written):
    drive = written
    with_levels(drive, {0: 3})
    drive.submit(Opcode.READ, 0, 1)
    before = again(drive)
    while again(drive) == before:
        drive.step(500)
    drive.power_cut()
    drive.power_on()
    before = again(drive)
    assert drive.read(1) == data(1) and again(drive) == before
    assert drive.read(0) == data(0)
    drive.power_cut()
