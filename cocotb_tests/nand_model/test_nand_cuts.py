# SPDX-License-Identifier: Apache-2.0
"""What a power cut leaves of programs and erases in each of the ways of sim/nand_faults.h, also in an image opened
again; rules of the part. Needs no simulator.
"""

import os
import signal
from collections import Counter

import pytest

from cocotb_tests.bench.nand_bus import FULL, PAGE, PAGES, Bus, broken_by, pattern, subset
from cocotb_tests.bench.nand_faulty import BITS, BLANK, child, erase, read, start, status, wrong_bits
from cocotb_tests.bench.nand_pins import Nand, library
from opentxssd.faults import Cut, CutErase, Faults


@pytest.fixture
def nand():
    model = Nand(library())
    yield model
    model.set_faults(None)
    model.close()


def prefix(torn, whole):
    """`torn` begins as `whole` and is blank from some byte on."""
    at = len(os.path.commonprefix([torn, whole]))
    return torn[at:] == BLANK[at:]


def cut_program(nand, seed, way, path=None, row=0, before=(), **settings):
    """A program of `row` is cut; the page as it is in the opened again image."""
    faults = Faults(seed=seed, **settings)
    bus = start(nand, faults, path=path)
    for r in before:
        bus.program(r, pattern(r))
    bus.start_program(row, pattern(row))
    nand.power_cut(seed, program=way)
    nand.close()
    bus = start(nand, faults, path=path) if path else None
    return bus


# ---- programs


@pytest.mark.parametrize("way", [Cut.TORN, Cut.PREFIX, Cut.SUBSET, Cut.UNREADABLE])
def test_program_that_is_cut_leaves_a_torn_or_unreadable_page(nand, tmp_path, way):
    seen = Counter()
    for seed in range(8):
        bus = cut_program(nand, seed, way, tmp_path / f"image{seed}", row=3)
        got = read(bus, 3)
        assert got == nand.peek(0, 3) == read(bus, 3) and got != pattern(3) and nand.c.otx_nand_programs(0, 3) == 1
        seen["prefix"] += prefix(got, pattern(3))
        seen["subset"] += not prefix(got, pattern(3)) and subset(got, pattern(3))
        seen["wrong"] += not subset(got, pattern(3)) and BITS // 64 < wrong_bits(got, pattern(3)) < BITS // 4
    assert nand.broken() == [] and sum(seen.values()) == 8
    assert {name for name, n in seen.items() if n} == {
        Cut.PREFIX: {"prefix"},
        Cut.SUBSET: {"subset"},
        Cut.UNREADABLE: {"wrong"},
        Cut.TORN: {"prefix", "subset"},
    }[way]


def test_page_that_fades_reads_well_and_later_no_longer(nand, tmp_path):
    good = set()
    for seed in range(12):
        path = tmp_path / f"image{seed}"
        bus = cut_program(nand, seed, Cut.FADES, path)
        reads = [read(bus, 0) == pattern(0)]
        nand.close()
        bus = start(nand, Faults(seed=seed), path=path)
        reads += [read(bus, 0) == pattern(0) for _ in range(12)]
        assert reads == sorted(reads, reverse=True) and not reads[-1]
        good.add(sum(reads))
        assert wrong_bits(nand.peek(0, 0), pattern(0)) > BITS // 64 and nand.seen()["faded"] == 1
        erase(bus, 0)
        bus.program(0, pattern(0))
        assert all(read(bus, 0) == pattern(0) for _ in range(12))
    assert len(good) > 2 and min(good) >= 1


LOWER = {0: 0, 1: 1, 2: 0, 3: 3, 4: 1, 5: 5, 6: 3, 7: 5}  # of blocks of 8 pages


@pytest.mark.parametrize("page", range(8))
def test_cut_program_of_an_upper_page_also_damages_its_lower_page(nand, tmp_path, page):
    path, other = tmp_path / "image", dict(pages=8, path=tmp_path / "image")
    faults = Faults(seed=page, mlc=1)
    bus = start(nand, faults, **other)
    for row in range(page):
        bus.program(row, pattern(row))
    bus.start_program(page, pattern(page))
    nand.power_cut(1, program=Cut.PAIRED)
    nand.close()
    assert path.exists()
    bus = start(nand, faults, **other)
    lost = [row for row in range(page) if read(bus, row) != pattern(row)]
    assert lost == ([LOWER[page]] if LOWER[page] != page else []) and read(bus, page) != pattern(page)
    assert all(wrong_bits(read(bus, row), pattern(row)) > BITS // 64 for row in lost)


def test_program_that_is_not_cut_leaves_its_page_and_the_lower_one_whole(nand):
    for way in Cut:
        bus = start(nand, Faults(seed=3, mlc=1, cut_program=way))
        assert [bus.program(row, pattern(row)) for row in range(PAGES)] == [0xE0] * PAGES
        assert all(read(bus, row) == pattern(row) for _ in range(10) for row in range(PAGES))


def test_faults_that_are_switched_off_during_a_program_leave_nothing_of_it_torn(nand):
    for way in Cut:
        bus = start(nand, Faults(seed=3, mlc=1, cut_program=way))
        bus.program(0, pattern(0))
        bus.start_program(2, pattern(2))
        nand.set_faults(None)
        bus.ready()
        assert (nand.peek(0, 0), nand.peek(0, 2)) == (pattern(0), pattern(2))


def test_ways_are_drawn_by_the_seed_of_the_cut(nand):
    def page(seed):
        bus = start(nand, Faults(seed=1, mlc=1))
        for row in range(2):
            bus.program(row, pattern(row))
        bus.start_program(2, pattern(2))
        nand.power_cut(seed, program=Cut.ANY)
        bus = Bus(nand).reset()
        return [read(bus, row) for row in (0, 2) for _ in range(9)]

    pages = [page(seed) for seed in range(30)]
    assert pages == [page(seed) for seed in range(30)]
    ways = Counter()
    for got in pages:
        torn = got[9]
        short = "prefix" if prefix(torn, pattern(2)) else "subset" if subset(torn, pattern(2)) else "wrong"
        ways["paired" if got[0] != pattern(0) else "fades" if torn == pattern(2) else short] += 1
    assert set(ways) == {"paired", "fades", "prefix", "subset", "wrong"}, ways


CHILD = """
import os, signal, sys
from cocotb_tests.nand_model.test_nand_cuts import *
nand = Nand(library())
bus = start(nand, Faults(seed=3, mlc=1, cut_program=int(sys.argv[2])), path=sys.argv[1])
bus.program(0, pattern(0))
bus.start_program(2, pattern(2))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("way", list(Cut))
def test_killed_process_leaves_what_the_set_way_leaves(nand, tmp_path, way):
    assert child(CHILD, tmp_path / "image", int(way)).returncode == -signal.SIGKILL
    bus = start(nand, Faults(seed=3), path=tmp_path / "image")
    reads = [read(bus, 2) for _ in range(10)]
    assert reads[-1] != pattern(2) and (way == Cut.ANY or (reads[0] == pattern(2)) == (way == Cut.FADES))
    assert way == Cut.ANY or (read(bus, 0) != pattern(0)) == (way == Cut.PAIRED)


def test_reset_during_program_or_erase_corrupts_the_target(nand):
    for faults in (None, Faults(seed=4), Faults(seed=4, cut_program=Cut.UNREADABLE)):
        bus = start(nand, faults)
        bus.start_program(0, pattern(0))
        bus.command(0xFF)
        bus.ready()
        assert read(bus, 0) not in (pattern(0), BLANK)
        bus.program(1, pattern(1))
        assert read(bus, 1) == pattern(1)
        bus.command(0x60, 0, 0, 0)
        bus.command(0xD0)
        bus.command(0xFF)
        bus.ready()
        assert nand.broken() == []
        broken_by(nand, lambda bus=bus: bus.program(2, pattern(2)), "erase was not finished")


# ---- erases


def cut_erase(nand, seed, way, path, **settings):
    """Block 1, all programmed, is being erased at the cut; the drive on its image afterwards."""
    faults = Faults(seed=seed, **settings)
    bus = start(nand, faults, path=path)
    for row in range(4, 8):
        bus.program(row, pattern(row))
    bus.command(0x60, 4, 0, 0)
    bus.command(0xD0)
    nand.power_cut(seed, erase=way)
    nand.close()
    return start(nand, faults, path=path)


def test_erase_that_is_cut_leaves_old_blank_and_half_erased_pages(nand, tmp_path):
    seen = Counter()
    for seed in range(8):
        bus = cut_erase(nand, seed, CutErase.PARTLY, tmp_path / f"image{seed}")
        for row in range(4, 8):
            got = read(bus, row)
            assert subset(got, pattern(row))
            seen["old" if got == pattern(row) else "blank" if got == BLANK else "half"] += 1
        broken_by(nand, lambda bus=bus: bus.program(4, pattern(4)), "erase was not finished")
    assert all(seen[kind] > 3 for kind in ("old", "blank", "half"))


def test_block_that_looks_erased_gives_pages_with_errors_until_it_is_erased_again(nand, tmp_path):
    for seed in range(4):
        path = tmp_path / f"image{seed}"
        bus = cut_erase(nand, seed, CutErase.LOOKS_ERASED, path, unfinished_allowed=1)
        assert [read(bus, row) for row in range(4, 8)] == [BLANK] * 4
        assert [bus.program(row, pattern(row)) for row in (4, 5)] == [0xE0] * 2
        nand.close()
        bus = start(nand, Faults(seed=seed, unfinished_allowed=1), path=path)
        assert bus.program(6, pattern(6)) == 0xE0 and nand.seen()["weak_programs"] == 1
        errors = [wrong_bits(read(bus, row), pattern(row)) for row in (4, 5, 6)]
        assert all(0 < n < BITS // 16 for n in errors), errors
        assert erase(bus, 1) == 0 and bus.program(4, pattern(4)) == 0xE0 and read(bus, 4) == pattern(4)
        assert nand.broken() == []
        bus = cut_erase(nand, seed, CutErase.LOOKS_ERASED, tmp_path / f"strict{seed}")
        broken_by(nand, lambda bus=bus: bus.program(4, pattern(4)), "erase was not finished")


def test_erase_ways_are_drawn_by_the_seed_of_the_cut(nand, tmp_path):
    looks = []
    for seed in range(16):
        bus = cut_erase(nand, seed, CutErase.ANY, tmp_path / f"image{seed}")
        looks.append([read(bus, row) for row in range(4, 8)] == [BLANK] * 4)
    assert 3 < sum(looks) < 13


def test_mark_survives_an_erase_that_is_cut(nand):
    for way in CutErase:
        bus = start(nand, Faults(seed=1, bad_ppm=1_000_000))
        bus.command(0x60, 4, 0, 0)
        bus.command(0xD0)
        nand.power_cut(1, erase=way)
        assert nand.peek(0, 4)[PAGE] != 0xFF


# ---- rules


def part(bus, row, column, data):
    """Programs a part of a page; the status."""
    bus.command(0x80, column & 255, column >> 8, row & 255, row >> 8, 0)
    for byte in data:
        bus.write(byte)
    bus.command(0x10)
    bus.ready()
    return status(bus)


def test_page_is_programmed_in_parts_as_often_as_nop_says_and_not_over_programmed_cells(nand):
    bus = start(nand, Faults(nop=4))
    assert [part(bus, 1, 40 * i, bytes(range(40))) for i in range(4)] == [0xE0] * 4 and nand.broken() == []
    assert read(bus, 1) == bytes(range(40)) * 4 + b"\xff" * (FULL - 160)
    broken_by(nand, lambda: part(bus, 1, 200, b"\x00"), "page 1 of block 0", "programmed 4 times already")
    part(bus, 2, 7, b"\x0f")
    broken_by(
        nand, lambda: part(bus, 2, 0, b"\xff" * 7 + b"\x7f"), "page 2 of block 0 over programmed cells", "column 7"
    )
    part(bus, 3, 0, b"\x0f")
    broken_by(nand, lambda: part(bus, 2, 9, b"\x00"), "page 2 of block 0 after page 3")
    erase(bus, 0)
    before = len(nand.broken())
    part(bus, 1, 0, b"\x00")
    assert len(nand.broken()) == before
    bus = start(nand)
    broken_by(nand, lambda: part(bus, 0, 0, b"\x00"), "program of 1 bytes")


@pytest.mark.parametrize("command", [0x11, 0x15, 0x31, 0x32, 0x3F, 0x71, 0x78, 0x7B, 0x81, 0xF1, 0xF2])
def test_cache_and_multi_plane_commands_are_unknown_to_the_part(nand, command):
    bus = start(nand)
    bus.load(0)
    if command in (0x11, 0x15):
        bus.command(0x80, 0, 0, 0, 0, 0)
        for byte in pattern(0):
            bus.write(byte)
        broken_by(nand, lambda: bus.command(command), f"{command:02X}h", "in the middle of command 80h")
        assert any("unknown command" in line for line in nand.broken())
    else:
        broken_by(nand, lambda: bus.command(command), f"unknown command {command:02X}h")


def test_busy_die_takes_status_and_reset_only(nand):
    for opening in (0x00, 0x05, 0x10, 0x30, 0x60, 0x80, 0x85, 0x90, 0xD0, 0xE0):
        bus = start(nand, Faults())
        bus.start_program(0, pattern(0))
        bus.wait(200)
        broken_by(nand, lambda bus=bus, opening=opening: bus.command(opening), f"{opening:02X}h while busy")
        assert status(bus) == 0x80
        bus.command(0xFF)
        bus.ready()
        assert status(bus) == 0xE0 and len(nand.broken()) == 1


def test_a_chosen_way_needs_faults(nand):
    code = (
        "from cocotb_tests.nand_model.test_nand_cuts import *\nnand = Nand(library())\nstart(nand)\n"
        "nand.power_cut(1, program=Cut.FADES)"
    )
    done = child(code)
    assert done.returncode == 70 and "chooses a power cut while faults are off" in done.stderr
