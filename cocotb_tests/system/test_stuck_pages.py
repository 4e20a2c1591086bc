# SPDX-License-Identifier: Apache-2.0
"""The whole drive of preset tiny with pages of map, roots, bad-block table and log that were programmed well and read wrong from some day on. The drive stays closed and says
why, or lives on another copy; a log page or the newest root takes it back to an earlier state (docs/verification.md, "Known gaps")."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "soc"), str(ROOT / "cocotb_tests")]

from cocotb_tests.models.nand_faults import Fault, Faults, Place  # noqa: E402
from cocotb_tests.system.drive import BLOCK, Drive, Opcode, Torn  # noqa: E402
from cocotb_tests.system.test_page_errors import G, data, pages  # noqa: E402

OLD, ALL = 8, 16  # blocks in the map, and with those in the log, a page for each
BOOT = 3_000_000  # clocks


@pytest.fixture
def drive():
    d = Drive("tiny")
    d.write(0, b"".join(map(data, range(OLD))))
    d.flush()
    d.power_cut(1)
    d.power_on()
    for lba in range(OLD, ALL):
        d.write(lba, data(lba), fua=1)
    assert d.idle()
    yield d
    d.power_cut()


def generation(page):
    return int.from_bytes(page[4098:4102], "little")


def rows(drive, kind):
    """Those of the newest generation, in their order, and the others."""
    found = pages(drive, kind)
    newest = max(map(generation, found.values()))
    return [[row for row, page in found.items() if (generation(page) == newest) == new] for new in (True, False)]


def stick(drive, stuck):
    """These pages read wrong from now on; the power is cut, and firmware has said what it makes of it. Whether the drive is enabled."""
    drive.set_faults(Faults(places=[Place(Fault.STUCK_PAGE, 0, *divmod(row, G.pages_per_block), 1) for row in stuck]))  # of blocks that were erased once
    drive.power_cut(2)
    drive.power_on(boot=False)
    up = False
    while not up and "not ready" not in drive.uart:
        assert drive.clock < BOOT
        up = drive.boot_some(50_000)
    drive.boot_some(10_000)  # the rest of the line
    assert drive.faults_seen()["stuck_reads"], "nobody has read them"
    return up


def held(drive):
    """Blocks that read as they were written, and those that read as zeroes."""
    read = [drive.command(Opcode.READ, lba, 1, check=False).data[:BLOCK] for lba in range(ALL)]
    return [lba for lba in range(ALL) if read[lba] == data(lba)], [lba for lba in range(ALL) if read[lba] == bytes(BLOCK)]


@pytest.mark.parametrize("kind", [Torn.MAP, Torn.DIRECTORY])
def test_a_stuck_page_of_the_map_is_refused_in_words_and_nothing_changes(drive, kind):
    programs = drive.lib.otx_nand_count(1)
    assert not stick(drive, rows(drive, kind)[0])
    assert drive.uart == "otx: not ready: a map page that the root names cannot be read; nothing was changed\n"
    assert drive.lib.otx_nand_count(1) == programs
    drive.set_faults(None)  # it was the reading: all is there
    drive.power_cut(3)
    drive.power_on()
    assert held(drive) == (list(range(ALL)), [])


@pytest.mark.parametrize("kind", [Torn.ROOT, Torn.BBT])
def test_stuck_pages_that_another_page_stands_in_for_lose_nothing(drive, kind):
    newest, others = rows(drive, kind)
    assert stick(drive, others if kind == Torn.ROOT else newest[:1])
    assert held(drive) == (list(range(ALL)), [])
    drive.write(1, data(99), fua=1)
    assert drive.read(1) == data(99)


def test_a_stuck_newest_root_takes_the_drive_back_to_the_one_before(drive):
    """A gap: what has been written since was durable."""
    assert stick(drive, rows(drive, Torn.ROOT)[0])
    assert held(drive) == (list(range(OLD)), list(range(OLD, ALL)))


def test_a_stuck_page_of_the_log_ends_it_and_what_was_before_is_whole(drive):
    """A gap: what follows was durable. Recovery takes the page for one that was not finished when power failed."""
    at, log = 3, rows(drive, Torn.LOG)[0]
    assert len(log) == ALL - OLD
    assert stick(drive, [log[at]])
    assert held(drive) == (list(range(OLD + at)), list(range(OLD + at, ALL)))
    drive.write(ALL - 1, data(ALL - 1), fua=1)
    drive.power_cut(3)
    drive.power_on()
    assert held(drive) == ([*range(OLD + at), ALL - 1], list(range(OLD + at, ALL - 1)))
