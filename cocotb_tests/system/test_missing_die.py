# SPDX-License-Identifier: Apache-2.0
"""The whole drive of preset rich with firmware that lets one die be missing (`missing_dies` in soc/geometry.py): it is
made without a die that does not answer, has all of its capacity, and never touches that die again. A die that it was
made with is missed in words, and the cells stay as they are. Decision 014."""

import ctypes
import random
from dataclasses import replace
from pathlib import Path

import pytest

from cocotb_tests.bench.amount import amount
from cocotb_tests.system import variant
from opentxssd import BLOCK, Drive, Query, Status
from opentxssd.faults import Dead, Faults
from soc import geometry

ROOT = Path(__file__).resolve().parent.parent.parent

RICH = geometry.preset("rich")
ROWS = RICH.blocks_per_way * RICH.pages_per_block
PLACES = [f"die at channel {die // 2}, way {die % 2}" for die in range(4)]


@pytest.fixture(scope="module")
def firmware():
    return variant.firmware("rich", missing_dies=1)


def data(lba, version):
    return random.Random(lba << 8 | version).randbytes(16) * (BLOCK // 16)


def dead(*dies, kind=Dead.READY):
    return Faults(dead_dies=sum(1 << die for die in dies), dead_kind=kind)


def write(drive, version, blocks):
    """Sixteen at a time, plain and in transactions; how many of them there was room for."""
    for n, lba in enumerate(range(0, blocks, 16)):
        tx = {"txid": n} if n % 3 == 0 else {}
        if (
            drive.write(lba, b"".join(data(lba + i, version) for i in range(16)), check=False, **tx).status
            == Status.CAPACITY
        ):
            blocks = lba
            break
        if tx:
            drive.commit(n)
    drive.flush()
    return blocks


def holds(drive, versions):
    for lba in range(0, len(versions), 32):
        assert drive.read(lba, 32) == b"".join(data(n, versions[n]) for n in range(lba, lba + 32)), (
            f"blocks from {lba} on"
        )


def restart(drive, seed):
    drive.power_cut(seed)
    drive.power_on()


def cells(drive, *dies):
    """All pages of these dies."""
    page, found = ctypes.create_string_buffer(4096 + RICH.spare_bytes), []
    for die in dies:
        for row in range(ROWS):
            drive.lib.otx_nand_peek(die, row, page)
            found.append(page.raw)
    return found


def is_blank(drive, die):
    return all(page == b"\xff" * len(page) for page in cells(drive, die))


def said(drive, clocks=6_000_000):
    """What a drive that stays closed says."""
    end = drive.clock + clocks
    while not drive.uart.endswith("\n") and drive.clock < end:
        assert not drive.boot_some(20_000)
    return drive.uart


def refused_after_restart(drive, faults):
    """Power fails, then some die is missing. Returns what the drive says; its cells do not change."""
    drive.power_cut(3)
    before = cells(drive, *range(4))
    drive.set_faults(faults)
    drive.power_on(boot=False)
    words = said(drive)
    assert cells(drive, *range(4)) == before
    return words


def test_a_drive_made_without_a_die_never_touches_it_again(firmware):
    drive = Drive("rich", firmware=firmware, faults=dead(0))
    made = f"otx: made without the {PLACES[0]}"
    assert f"otx: formatted\n{made}\notx: mounted" in drive.uart
    write(drive, 1, 32)
    drive.set_faults(None)
    restart(drive, 1)
    assert f"{made}, which answers now and stays unused\notx: mounted" in drive.uart
    holds(drive, [1] * 32)
    write(drive, 2, 32)
    drive.set_faults(dead(0, kind=Dead.BUSY))
    restart(drive, 2)
    assert f"{made}\notx: mounted" in drive.uart and "formatted" not in drive.uart
    holds(drive, [2] * 32)
    assert is_blank(drive, 0) and not is_blank(drive, 1)
    drive.power_cut()


def test_a_drive_made_without_a_die_has_all_of_its_capacity(firmware):
    drive = Drive("rich", firmware=firmware, faults=dead(2, kind=Dead.BUSY))
    assert f"otx: made without the {PLACES[2]}\n" in drive.uart and drive.query(Query.CAPACITY) == RICH.lbas
    assert write(drive, 1, RICH.lbas) == RICH.lbas
    more = write(drive, 2, amount(32, RICH.lbas))
    # and nobody waits for a page of that die
    assert more < RICH.lbas, "without garbage collection a second time is too much"
    assert (
        refused_after_restart(drive, dead(1, 2))
        == f"otx: not ready: {PLACES[1]} does not answer, and the drive was made with it; nothing was changed\n"
    )
    drive.set_faults(dead(2))
    restart(drive, 4)
    holds(drive, [2] * more + [1] * (RICH.lbas - more))
    drive.power_cut()


def test_a_die_that_the_drive_was_made_with_is_missed(firmware):
    drive = Drive("rich", firmware=firmware)
    assert "made without" not in drive.uart
    write(drive, 1, 32)
    assert (
        refused_after_restart(drive, dead(0, kind=Dead.BUSY))
        == f"otx: not ready: {PLACES[0]} does not answer, and the drive was made with it; nothing was changed\n"
    )
    drive.set_faults(None)
    restart(drive, 4)
    holds(drive, [1] * 32)
    drive.power_cut()


def test_more_dies_than_may_be_missing_are_refused(firmware):
    drive = Drive("rich", boot=False, firmware=firmware, faults=dead(1, 3))
    assert said(drive) == f"otx: not ready: {PLACES[3]} does not answer\n"
    assert drive.lib.otx_nand_count(1) == drive.lib.otx_nand_count(2) == 0
    drive.power_cut()


def test_settings_that_cannot_be_are_refused_in_words():
    with pytest.raises(geometry.GeometryError, match="missing_dies is 4, must be 0 to 3"):
        replace(RICH, missing_dies=4)
    assert replace(RICH, lbas=1200).lbas == 1200
    with pytest.raises(
        geometry.GeometryError, match="1200 blocks of capacity leave 144 of 1344 pages spare without 1 of the dies"
    ):
        replace(RICH, lbas=1200, missing_dies=1)
