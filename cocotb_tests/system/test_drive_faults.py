# SPDX-License-Identifier: Apache-2.0
"""The whole drive, preset quick, and tiny where it is about a code or a bus, on NAND with faults (opentxssd/faults.py):
what its user sees of them today, and that they are off unless asked for."""

import pytest

from opentxssd import BLOCK, Drive, DriveError, Opcode, Query, Status, Torn
from opentxssd.faults import Cut, CutErase, Dead, Faults


def data(n):
    return n.to_bytes(8, "little") * (BLOCK // 8)


pytestmark = pytest.mark.forked


def written(faults, preset="quick"):
    """A drive that has put one block on NAND; (drive, clock)."""
    drive = Drive(preset, faults=faults)
    drive.write(3, data(1))
    assert drive.idle() and drive.read(3) == data(1)
    return drive, drive.clock


def test_a_drive_without_faults_takes_the_same_clocks_as_one_with_none_of_them():
    assert len({written(faults)[1] for faults in (None, Faults(seed=9), None)}) == 1


def test_flipped_bits_are_corrected_and_too_many_are_a_media_error_until_they_are_gone():
    drive, _ = written(Faults(seed=1), "tiny")
    drive.set_faults(Faults(seed=1, ber=10**8))  # 1e-4, about 3 bits of a page
    for _ in range(20):
        assert drive.read(3) == data(1)
    assert drive.faults_seen()["flips"] > 20
    drive.set_faults(Faults(seed=1, ber=10**10))  # about 340 bits of a page
    assert drive.command(Opcode.READ, 3, 1, check=False).status == Status.MEDIA_ERROR
    drive.set_faults(None)
    assert drive.read(3) == data(1)


@pytest.mark.parametrize("kind", list(Dead))
def test_a_dead_die_leaves_the_drive_closed(kind):
    drive = Drive("tiny", boot=False, faults=Faults(dead_dies=1, dead_kind=kind))
    with pytest.raises(DriveError, match="not ready"):
        drive.boot(600_000)


def until(drive, kind):
    """Lets clocks pass until a page of that kind is being programmed."""
    for _ in range(4_000):
        if kind in drive.under_way():
            return
        if drive.step(50):
            drive.poll()
    raise AssertionError(f"no {kind.name} page is programmed")


@pytest.mark.parametrize("way", [Cut.SUBSET, Cut.UNREADABLE])
def test_a_page_that_the_log_names_and_a_cut_tears_does_not_count(way):
    """Eight writes, the fourth with FUA: its log page goes ahead of the data of some of those before it, and names
    them. The cut is in the next data page.
    """
    drive, count = Drive("quick", faults=Faults(seed=4)), 8
    drive.write(0, data(1) * count, fua=1)
    for lba in range(count):
        drive.submit(Opcode.WRITE, lba, 1, data(2), fua=int(lba == 3))
    until(drive, Torn.LOG)
    until(drive, Torn.DATA)
    drive.power_cut(1, program=way, erase=CutErase.ANY)
    drive.power_on()
    found = [drive.command(Opcode.READ, lba, 1, check=False) for lba in range(count)]
    assert {done.status for done in found} == {Status.SUCCESS}, [done.status.name for done in found]
    whole = sum(done.data == data(2) for done in found)
    assert 0 < whole < 4 and [done.data for done in found] == [data(2)] * whole + [data(1)] * (count - whole), (
        "the first were whole, the next was cut, the others were not begun"
    )
    assert drive.query(Query.DROPPED) == 4 - whole, "the log named none of them"
    drive.write(3, data(5), fua=1)
    assert drive.read(3) == data(5)


def test_what_was_flushed_survives_a_cut_whose_page_fades():
    drive, _ = written(Faults(seed=4))
    drive.submit(Opcode.WRITE, 3, 1, data(2))
    until(drive, Torn.DATA)
    drive.power_cut(1, program=Cut.FADES, erase=CutErase.ANY)
    drive.power_on()
    assert drive.read(3) == data(1)
    drive.write(3, data(5), fua=1)
    assert drive.read(3) == data(5)
