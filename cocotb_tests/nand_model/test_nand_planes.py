# SPDX-License-Identifier: Apache-2.0
"""Programs and erases of several planes (11h, D1h) of the NAND model, status of a plane (78h): order, times, failures
of one plane, power cuts, rules in words.
"""

import pytest

from cocotb_tests.bench.nand_bus import FULL, PAGE, PAGES, SMALL, WP, broken_by, pattern, subset
from cocotb_tests.bench.nand_cache import BLANK, DBSY, TIMES, start, waits_for_ever
from cocotb_tests.bench.nand_faulty import child
from cocotb_tests.bench.nand_pins import (
    CACHE_PROGRAMS,
    ERASES,
    FAIL_ERASE,
    FAIL_PROGRAM,
    HANG,
    PROGRAMS,
    SHARED,
    SUSPENSIONS,
    Nand,
    library,
)
from opentxssd.faults import Cut, CutErase, Dead, Fault, Faults, Place


@pytest.fixture
def nand():
    model = Nand(library())
    yield model
    model.set_faults(None)
    model.close()


def row_of(block, page=0):
    return block * PAGES + page


def queue_erase(bus, block, end=0xD1):
    row = row_of(block)
    bus.command(0x60, row & 255, row >> 8, 0)
    bus.command(end)


def program(bus, *rows):
    """All at once; when R/B# rises."""
    for row in rows[:-1]:
        bus.give(row, pattern(row), 0x11)
        assert bus.rises() == bus.falls() + DBSY
    bus.give(rows[-1], pattern(rows[-1]), 0x10)
    return bus.rises()


def erase(bus, *blocks):
    for block in blocks[:-1]:
        queue_erase(bus, block)
        assert bus.rises() == bus.falls() + DBSY
    queue_erase(bus, blocks[-1], 0xD0)
    return bus.rises()


def fill(bus, *blocks):
    for block in blocks:
        for page in range(PAGES):
            assert bus.program(row_of(block, page), pattern(row_of(block, page))) & 1 == 0


def whole(nand, row):
    return nand.peek(0, row) == pattern(row)


def blank(nand, block):
    return all(nand.peek(0, row_of(block, page)) == BLANK for page in range(PAGES))


@pytest.mark.parametrize("planes, blocks", [(2, (0, 1)), (2, (5, 2)), (4, (3, 0)), (4, (4, 1, 6, 7))])
def test_pages_of_several_planes_are_programmed_and_erased_in_one_array_time(nand, planes, blocks):
    bus = start(nand, part={"planes": planes})
    for page in range(PAGES):
        rows = [row_of(block, page) for block in blocks]
        assert program(bus, *rows) == bus.falls() + TIMES["prog"] and bus.status() == 0xE0
        assert all(whole(nand, row) for row in rows)
    assert nand.count(PROGRAMS) == nand.count(SHARED) == PAGES * len(blocks)
    assert erase(bus, *blocks) == bus.falls() + TIMES["bers"] and bus.status() == 0xE0
    assert all(blank(nand, block) and nand.c.otx_nand_erases(0, block) == 1 for block in blocks)
    assert nand.count(ERASES) == len(blocks) and nand.count(SHARED) == (PAGES + 1) * len(blocks)
    assert program(bus, row_of(blocks[0])) == bus.falls() + TIMES["prog"] and nand.count(SHARED) == (PAGES + 1) * len(
        blocks
    )
    assert nand.broken() == []


def test_a_part_has_1_2_or_4_planes():
    for planes in (3, 8):
        done = child(
            f"from cocotb_tests.nand_model.test_nand_planes import *\nstart(Nand(library()), part={{'planes': "
            f"{planes}}})"
        )
        assert done.returncode == 70 and f"a part of {planes} planes" in done.stderr


def test_nothing_is_written_before_the_last_plane_is_given(nand):
    bus = start(nand)
    bus.give(0, pattern(0), 0x11)
    bus.ready()
    assert bus.status() == bus.status(0) == 0xE0
    bus.wait(10 * TIMES["prog"])
    assert nand.peek(0, 0) == BLANK and nand.c.otx_nand_under_way(0) == 0
    bus.command(0x80, 0, 0, 4, 0, 0)
    bus.write(1)
    bus.command(0x85, PAGE + 1 & 255, PAGE >> 8)
    bus.write(2)
    bus.command(0x10)
    assert nand.peek(0, 0) != BLANK and nand.c.otx_nand_under_way(0) == pattern(0)[PAGE + 1]
    bus.ready()
    assert whole(nand, 0) and nand.peek(0, 4) == b"\x01" + b"\xff" * PAGE + b"\x02" + b"\xff" * (FULL - PAGE - 2)
    bus.give(1, pattern(1), 0x11)
    bus.ready()
    bus.on_reset()
    assert nand.peek(0, 1) == BLANK and program(bus, 1) and whole(nand, 1) and nand.peek(0, 5) == BLANK
    queue_erase(bus, 0)
    bus.ready()
    bus.on_reset()
    assert bus.erase(4) and whole(nand, 0) and blank(nand, 1) and nand.broken() == []


@pytest.mark.parametrize("fails", range(1, 5))
def test_each_plane_fails_by_itself_and_says_so(nand, fails):
    bus = start(nand, part={"planes": 4})
    blocks = (4, 1, 6, 3)
    nand.fail(0, FAIL_PROGRAM, fails)
    program(bus, *(row_of(block) for block in blocks))
    assert bus.status() == 0xE1
    assert [bus.status(row_of(block)) for block in blocks] == [0xE0 + (n == fails) for n in range(1, 5)]
    # of its plane
    assert [bus.status(row_of(block, 2)) for block in range(4)] == [bus.status(row_of(block)) for block in (4, 1, 6, 3)]
    assert [whole(nand, row_of(block)) for block in blocks] == [n != fails for n in range(1, 5)]
    nand.fail(0, FAIL_ERASE, fails)
    erase(bus, *blocks)
    assert bus.status() == 0xE1 and [bus.status(row_of(block)) & 1 for block in blocks] == [
        n == fails for n in range(1, 5)
    ]
    again = [block for n, block in enumerate(blocks, 1) if n == fails]
    broken_by(nand, lambda: program(bus, row_of(again[0])), "erase was not finished")
    assert bus.program(row_of((set(blocks) - set(again)).pop()), pattern(0)) == 0xE0
    assert [bus.status(row_of(block)) for block in blocks] == [0xE0] * 4


def test_results_of_a_cache_sequence_are_those_of_its_plane(nand):
    bus = start(nand)
    nand.fail(0, FAIL_PROGRAM, 1)
    bus.cache_program(4, pattern(4))
    bus.cache_program(5, pattern(5))
    assert (bus.status(), bus.status(0), bus.status(4)) == (0xC2, 0xC0, 0xC2)
    bus.give(6, pattern(6), 0x10)
    bus.ready()
    assert [bus.status(row) for row in (0, 4)] == [0xE0, 0xE0]
    nand.fail(0, FAIL_PROGRAM, 1)
    bus.program(7, pattern(7))
    assert [bus.status(row) for row in (0, 4)] == [0xE0, 0xE1] and nand.broken() == []
    program(bus, 8, 12)
    assert bus.status() == 0xE0


def test_status_of_a_plane_comes_while_the_die_is_busy_and_takes_its_addresses(nand):
    bus = start(nand)
    bus.start_program(0, pattern(0))
    bus.wait(200)
    assert bus.status(4) == bus.status(0) == 0x80 and nand.broken() == []
    broken_by(nand, lambda: bus.command(0x78, 0, 0, 0, 0), "an address while busy")
    broken_by(nand, lambda: (bus.command(0x78, 0), bus.read()), "data out in the middle of command 78h")
    bus.command(0xFF)
    bus.ready()
    broken_by(nand, lambda: bus.status(SMALL["blocks"] * PAGES), "row 32 is out of range")
    assert bus.status() == 0xE0
    bus.load(1)
    assert bus.status(0) == 0xE0
    bus.command(0x00)
    assert bus.read(FULL) == BLANK


def test_status_of_a_plane_is_allowed_while_something_is_suspended(nand):
    bus = start(nand, part={"suspend": 1_000})
    queue_erase(bus, 0, 0xD0)
    bus.wait(1_000)
    bus.command(0x61)
    bus.ready()
    assert bus.status(0) == bus.status() == 0xE4
    bus.command(0xD2)
    bus.ready()
    assert bus.status(0) == 0xE0 and nand.broken() == [] and nand.count(SUSPENSIONS) == 1


def test_rules_of_several_planes_are_named(nand):
    bus = start(nand, part={"suspend": 1_000})

    def given(*rows):
        bus.on_reset()
        for row in rows:
            bus.give(row, pattern(row), 0x11)
            bus.ready()

    broken_by(nand, lambda: bus.command(0x11), "11h without 80h")
    broken_by(nand, lambda: bus.give(0, pattern(0)[:-1], 0x11), "program of 287 bytes", "288")
    bus.ready()
    for row, words in (
        (8, "program of plane 0, which has one already"),
        (0, "plane 0"),
        (5, "program of page 1, that of the other plane is 0"),
        (1, "plane 0"),
    ):
        for end in (0x10, 0x11):
            given(0)
            broken_by(nand, lambda row=row, end=end: bus.give(row, pattern(row), end), words)
            bus.ready()
    given(0)
    broken_by(nand, lambda: bus.give(4, pattern(4), 0x15), "command 15h after 11h")
    given(0)
    for command in (0x00, 0x05, 0x30, 0x31, 0x3F, 0x60, 0x61, 0x84, 0x90, 0xD0, 0xD1, 0xE0):
        broken_by(
            nand,
            lambda command=command: bus.command(command),
            f"command {command:02X}h between the planes of a program",
        )
    broken_by(nand, lambda: bus.command(0x85), "85h without 80h")
    broken_by(nand, lambda: bus.command(0x10), "10h without 80h")
    bus.give(4, pattern(4), 0x10)
    for command in (0x84, 0x61):
        broken_by(nand, lambda command=command: bus.command(command), f"command {command:02X}h", "cannot be suspended")
    broken_by(nand, lambda: bus.command(0x80), "80h while busy")
    bus.ready()
    assert whole(nand, 0) and whole(nand, 4) and nand.count(SUSPENSIONS) == 0
    bus.give(1, pattern(1), 0x11)
    broken_by(nand, lambda: bus.command(0x80), "80h while busy")
    broken_by(nand, lambda: bus.command(0x84), "84h", "cannot be suspended")
    bus.on_reset()
    for block in (2, 0):
        queue_erase(bus, 2)
        bus.ready()
        broken_by(nand, lambda block=block: queue_erase(bus, block, 0xD0), "erase of plane 0, which has one already")
        broken_by(nand, lambda block=block: queue_erase(bus, block, 0xD1), "erase of plane 0, which has one already")
        bus.on_reset()
    broken_by(nand, lambda: bus.command(0xD1), "command D1h needs 60h and 3 address cycles")
    broken_by(nand, lambda: (bus.command(0x60, 0, 0), bus.command(0xD1)), "command D1h needs 60h and 3", "60h and 2")
    queue_erase(bus, 2)
    bus.ready()
    for command in (0x00, 0x10, 0x11, 0x15, 0x30, 0x31, 0x3F, 0x80, 0x85, 0x84, 0x61, 0x90):
        broken_by(
            nand, lambda command=command: bus.command(command), f"command {command:02X}h between the planes of an erase"
        )
    broken_by(nand, lambda: bus.command(0xD0), "command D0h needs 60h and 3")
    queue_erase(bus, 3, 0xD0)
    broken_by(nand, lambda: bus.command(0x61), "61h", "cannot be suspended")
    bus.ready()
    assert nand.count(ERASES) == 2 and nand.count(CACHE_PROGRAMS) == 0


def test_rules_of_the_cells_hold_in_each_plane(nand):
    bus = start(nand)
    program(bus, row_of(1, 2))
    broken_by(nand, lambda: program(bus, row_of(0, 2), row_of(1, 2)), "page 2 of block 1, which is programmed already")
    broken_by(nand, lambda: program(bus, row_of(1, 1), row_of(2, 1)), "page 1 of block 1 after page 2")
    bus = start(nand, Faults(places=[Place(Fault.BAD_BLOCK, 0, 3)], rule_marks=1))
    broken_by(nand, lambda: program(bus, row_of(0), row_of(3)), "program of page 0 of block 3", "factory mark")
    broken_by(nand, lambda: erase(bus, 3, 0), "erase of block 3", "factory mark")


def test_write_protect_holds_for_all_planes(nand):
    bus = start(nand)
    bus.move(off=WP)
    program(bus, 0, 4)
    assert (
        bus.status() == 0x61 and bus.status(0) == bus.status(4) == 0x61 and nand.peek(0, 0) == nand.peek(0, 4) == BLANK
    )
    erase(bus, 0, 1)
    assert (
        bus.status(0) == bus.status(4) == 0x61 and nand.count(SHARED) == nand.count(ERASES) == 0 and nand.broken() == []
    )


@pytest.mark.parametrize("faults", [None, Faults(seed=3)])
def test_power_cut_treats_each_page_and_each_block_by_itself(nand, faults):
    seen = set()
    for seed in range(24):
        bus = start(nand, faults, seed=seed)
        bus.give(0, pattern(0), 0x11)
        bus.ready()
        bus.give(4, pattern(4), 0x10)
        nand.power_cut(seed)
        assert all(subset(nand.peek(0, row), pattern(row)) and nand.c.otx_nand_programs(0, row) == 1 for row in (0, 4))
        seen.add((whole(nand, 0), whole(nand, 4)))
    assert seen == {(a, b) for a in (False, True) for b in (False, True)}
    seen = set()
    for seed in range(24):
        bus = start(nand, faults, seed=seed)
        fill(bus, 2, 5)
        queue_erase(bus, 2)
        bus.ready()
        queue_erase(bus, 5, 0xD0)
        assert nand.c.otx_nand_under_way(0) == 256
        nand.power_cut(seed)
        ended = [nand.c.otx_nand_programs(0, row_of(block)) != 255 for block in (2, 5)]
        for block, end in zip((2, 5), ended, strict=True):
            assert (
                blank(nand, block)
                if end
                else all(
                    subset(nand.peek(0, row_of(block, page)), pattern(row_of(block, page))) for page in range(PAGES)
                )
            )
        seen.add(tuple(ended))
    assert len(seen) == 4 and nand.broken() == []


def test_chosen_cut_is_of_all_planes(nand):
    bus = start(nand, Faults(seed=3))
    bus.give(0, pattern(0), 0x11)
    bus.ready()
    bus.give(4, pattern(4), 0x10)
    nand.power_cut(1, program=Cut.UNREADABLE)
    assert not any(subset(nand.peek(0, row), pattern(row)) for row in (0, 4))
    bus = start(nand, Faults(seed=3))
    fill(bus, 0, 1)
    queue_erase(bus, 0)
    bus.ready()
    queue_erase(bus, 1, 0xD0)
    nand.power_cut(1, erase=CutErase.LOOKS_ERASED)
    assert (
        all(blank(nand, block) and nand.c.otx_nand_programs(0, row_of(block)) == 255 for block in (0, 1))
        and nand.broken() == []
    )


def test_reset_leaves_all_planes_torn(nand):
    for faults in (None, Faults(seed=4)):
        bus = start(nand, faults)
        bus.give(0, pattern(0), 0x11)
        bus.ready()
        bus.give(4, pattern(4), 0x10)
        bus.on_reset()
        bus.wait(10 * TIMES["prog"])
        assert bus.status() == 0xE0 and not whole(nand, 0) and not whole(nand, 4)
        assert bus.program(1, pattern(1)) == 0xE0 and nand.broken() == []


def test_array_that_hangs_or_die_that_dies_leaves_all_planes_torn(nand):
    bus = start(nand)
    nand.fail(0, HANG)
    bus.give(0, pattern(0), 0x11)
    bus.ready()
    bus.give(4, pattern(4), 0x10)
    assert waits_for_ever(bus)
    nand.power_cut(3)
    assert not whole(nand, 0) and not whole(nand, 4)
    for kind in Dead:  # each page is an operation of the die
        bus = start(nand, Faults(seed=2, dead_dies=1, dead_after=2, dead_kind=kind))
        bus.give(0, pattern(0), 0x11)
        bus.ready()
        bus.give(4, pattern(4), 0x10)
        bus.wait(10 * TIMES["prog"])
        bus.move()
        assert bus.answer >> 9 == (kind == Dead.READY) and not whole(nand, 0) and not whole(nand, 4)
        assert nand.c.otx_nand_under_way(0) == 0 and nand.broken() == []


def test_faults_of_programs_and_erases_are_those_of_each_plane(nand):
    bus = start(nand, Faults(places=[Place(Fault.PROGRAM_FAILS, 0, 3, page=1), Place(Fault.ERASE_FAILS, 0, 2)]))
    program(bus, row_of(2, 1), row_of(3, 1))
    assert (bus.status(), bus.status(row_of(2)), bus.status(row_of(3))) == (0xE1, 0xE0, 0xE1) and whole(
        nand, row_of(2, 1)
    )
    erase(bus, 3, 2)
    assert (bus.status(), bus.status(row_of(2)), bus.status(row_of(3))) == (0xE1, 0xE1, 0xE0) and blank(nand, 3)
    assert nand.seen()["program_fails"] == nand.seen()["erase_fails"] == 1 and nand.broken() == []
