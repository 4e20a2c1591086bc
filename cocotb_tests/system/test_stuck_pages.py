# SPDX-License-Identifier: Apache-2.0
"""The whole drive of preset quick with pages of map, roots, bad-block table and log that were programmed well and read
wrong from some day on. The drive stays closed and says why, or lives on another copy, or can only be read and says what
it lacks."""

from pathlib import Path

import pytest

from cocotb_tests.models.nand_page import stored
from cocotb_tests.system.pages import data, pages, place, put
from opentxssd import BLOCK, Drive, Opcode, Query, Status, Torn
from opentxssd.facts import PageKind, layout, pack, unpack
from opentxssd.faults import Fault, Faults, Place

ROOT = Path(__file__).resolve().parent.parent.parent

OLD, ALL = 8, 16  # blocks in the map, and with those in the log, a page for each
BOOT = 3_000_000  # clocks
HEADER = sum(bits for _, bits in layout("LogHeader")) // 8  # bytes of a log page
pytestmark = pytest.mark.forked


@pytest.fixture(scope="module")
def drive():
    d = Drive("quick")
    d.write(0, b"".join(map(data, range(OLD))))
    d.flush()
    d.power_cut(1)
    d.power_on()
    for lba in range(OLD, ALL):
        d.write(lba, data(lba), fua=1)
    assert d.idle()
    return d


def generation(page):
    return int.from_bytes(page[4098:4102], "little")


def rows(drive, kind):
    """Those of the newest generation, in their order, and the others."""
    found = pages(drive, kind)
    newest = max(map(generation, found.values()))
    return [[row for row, page in found.items() if (generation(page) == newest) == new] for new in (True, False)]


def stick(drive, stuck):
    """These pages read wrong from now on; the power is cut, and firmware has said what it makes of it.

    Whether the drive is enabled.
    """
    # until its block is erased once more
    places = [place(drive, row) for row in stuck]
    faults = [Place(Fault.STUCK_PAGE, *at, drive.lib.otx_nand_erases(*at[:2])) for at in places]
    drive.set_faults(Faults(places=faults))
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
    return [lba for lba in range(ALL) if read[lba] == data(lba)], [
        lba for lba in range(ALL) if read[lba] == bytes(BLOCK)
    ]


WORDS = {
    Torn.MAP: "a map page that the root names cannot be read; nothing was changed",
    Torn.DIRECTORY: "a map page that the root names cannot be read; nothing was changed",
    Torn.ROOT: "no valid root, and the drive is not blank; nothing was changed",
}


@pytest.mark.parametrize("kind", WORDS)
def test_a_stuck_page_of_root_or_map_is_refused_in_words_and_nothing_changes(drive, kind):
    """All pages of a kind: both copies."""
    programs = drive.lib.otx_nand_count(1)
    assert not stick(drive, rows(drive, kind)[0])
    assert drive.uart == f"otx: not ready: {WORDS[kind]}\n"
    assert drive.lib.otx_nand_count(1) == programs
    drive.set_faults(None)  # it was the reading: all is there
    drive.power_cut(3)
    drive.power_on()
    assert held(drive) == (list(range(ALL)), [])


@pytest.mark.parametrize("kind", [Torn.MAP, Torn.DIRECTORY])
def test_one_stuck_page_of_the_map_changes_nothing(drive, kind):
    """The first copy; the second one is read only when the first one cannot be."""
    for seed in range(3):  # and one of the map after it
        copies = rows(drive, kind)[0]
        assert len(copies) == 2 and len({place(drive, row)[1] for row in copies}) == 2
        assert stick(drive, copies[:1])
        assert " 0 dropped" in drive.uart
        assert held(drive) == (list(range(ALL)), [])
        drive.set_faults(None)
        drive.power_cut(seed)
        drive.power_on()
        drive.write(1, data(1), fua=1)
    drive.write(1, data(99), fua=1)
    assert drive.read(1) == data(99)


def test_a_stuck_page_of_the_bad_block_table_has_a_copy(drive):
    assert stick(drive, rows(drive, Torn.BBT)[0][:1])
    assert held(drive) == (list(range(ALL)), [])
    drive.write(1, data(99), fua=1)
    assert drive.read(1) == data(99)


def test_there_is_one_root_and_it_stands_twice_while_the_drive_is_open(drive):
    assert [len(part) for part in rows(drive, Torn.ROOT)] == [2, 0]
    assert [len(part) for part in rows(drive, Torn.SEAL)] == [2, 0]


@pytest.mark.parametrize("kind", [Torn.ROOT, Torn.SEAL])
@pytest.mark.parametrize("copy", range(2))
def test_one_stuck_page_of_a_root_changes_nothing(drive, kind, copy):
    for seed in range(3):  # and one of the root after it
        assert stick(drive, rows(drive, kind)[0][copy : copy + 1])
        assert "dropped" in drive.uart and " 0 dropped" in drive.uart
        assert held(drive) == (list(range(ALL)), [])
        assert [len(part) for part in rows(drive, Torn.ROOT)] == [2, 0]
        drive.set_faults(None)
        drive.power_cut(seed)
        drive.power_on()
    drive.write(1, data(99), fua=1)
    assert drive.read(1) == data(99)


def log_pages(drive):
    """Both places of each page of the log."""
    found = {}
    for row in rows(drive, Torn.LOG)[0]:
        number = unpack("LogHeader", pages(drive, Torn.LOG)[row][:HEADER])["number"]
        found.setdefault(number, []).append(row)
    return [found[number] for number in sorted(found)]


@pytest.mark.parametrize("copy", range(2))
def test_one_stuck_copy_of_each_log_page_changes_nothing(drive, copy):
    """One error in each page, all at once."""
    assert stick(drive, [both[(n + copy) % 2] for n, both in enumerate(log_pages(drive))])
    assert "begun" not in drive.uart and " 0 dropped" in drive.uart and drive.query(Query.LOST_LOG_PAGES) == 0
    assert held(drive) == (list(range(ALL)), [])
    drive.set_faults(None)
    drive.power_cut(3)
    drive.power_on()
    assert held(drive) == (list(range(ALL)), [])


@pytest.mark.parametrize("at", range(ALL - OLD - 1))
def test_a_stuck_page_inside_the_log_is_a_gap_that_is_said_and_nothing_changes(drive, at):
    log, programs = log_pages(drive), drive.lib.otx_nand_count(1)
    assert len(log) == ALL - OLD and all(len(both) == 2 for both in log)
    assert stick(drive, log[at])
    assert drive.uart.splitlines()[-3:] == [
        "otx: 1 log page was begun and cannot be read",
        "otx: read-only: a log page that was complete cannot be read, and what is behind it is left out; nothing was "
        "changed",
        "otx: ready",
    ]
    assert drive.query(Query.LOST_LOG_PAGES) == 1
    assert held(drive) == (list(range(OLD + at)), list(range(OLD + at, ALL)))
    assert drive.write(ALL - 1, data(ALL - 1), check=False).status == Status.READ_ONLY
    assert drive.lib.otx_nand_count(1) == programs
    drive.set_faults(None)  # it was the reading: all is there
    drive.power_cut(3)
    drive.power_on()
    assert held(drive) == (list(range(ALL)), [])
    assert drive.query(Query.LOST_LOG_PAGES) == 0


def of_another_drive(page, generations):
    """That log page of a drive with another drive id, of a generation so many later, and with a good CRC."""
    header = unpack("LogHeader", page[:HEADER])
    header |= {"drive_id": header["drive_id"] + 5, "generation": header["generation"] + generations}
    words = pack("LogHeader", **header) + page[HEADER:BLOCK]
    return stored(words, kind=PageKind.LOG, generation=header["generation"], lpn=header["number"], sequence=0)


@pytest.mark.parametrize("generations", range(2))
def test_a_log_page_of_another_drive_is_never_taken_and_is_said(drive, generations):
    both = log_pages(drive)[3]
    own = [pages(drive, Torn.LOG)[row] for row in both]
    for row, page in zip(both, own, strict=True):
        assert page == stored(page[:BLOCK], kind=PageKind.LOG, generation=generation(page), lpn=3, sequence=0)
        put(drive, row, of_another_drive(page, generations))
    drive.power_cut(2)
    drive.power_on()
    assert drive.uart.splitlines()[-3:] == [
        "otx: 1 log page is of another drive and is left out",
        "otx: read-only: a log page that was complete cannot be read, and what is behind it is left out; nothing was "
        "changed",
        "otx: ready",
    ]
    assert drive.query(Query.LOST_LOG_PAGES) == 1
    assert held(drive) == (list(range(OLD + 3)), list(range(OLD + 3, ALL)))
    for row, page in zip(both, own, strict=True):
        put(drive, row, page)
    drive.power_cut(3)
    drive.power_on()
    assert held(drive) == (list(range(ALL)), []) and "another drive" not in drive.uart


def test_a_stuck_last_page_of_the_log_is_said_until_the_log_goes_on(drive):
    """Both copies: they may have been cut in their programs or gone bad, nobody can tell."""
    assert stick(drive, log_pages(drive)[-1])
    for seed in range(2):
        assert drive.query(Query.LOST_LOG_PAGES) == 1
        assert held(drive) == (list(range(ALL - 1)), [ALL - 1])
        drive.set_faults(None)
        drive.power_cut(seed)
        drive.power_on()
    drive.write(ALL - 1, data(ALL - 1), fua=1)
    drive.power_cut(3)
    drive.power_on()
    assert drive.query(Query.LOST_LOG_PAGES) == 0
    assert held(drive) == (list(range(ALL)), [])
