# SPDX-License-Identifier: Apache-2.0
"""Cache programs (15h) and cache reads (31h, 3Fh) of the NAND model: order, times, status, what a power cut or reset
leaves, each rule in words. Needs no simulator.
"""

import pytest

from cocotb_tests.bench.nand_bus import FULL, PAGE, PAGES, SMALL, WP, Bus, broken_by, pattern, subset
from cocotb_tests.bench.nand_cache import BLANK, CBSY, RCBSY, TIMES, Pins, start, waits_for_ever
from cocotb_tests.bench.nand_part import parameters
from cocotb_tests.bench.nand_pins import (
    CACHE_PROGRAMS,
    CACHE_READS,
    FAIL_PROGRAM,
    HANG,
    PROGRAMS,
    READS,
    SHARED,
    SUSPENSIONS,
    Nand,
    Part,
    library,
)
from opentxssd.faults import Cut, Dead, Fault, Faults, Place


@pytest.fixture
def nand():
    model = Nand(library())
    yield model
    model.set_faults(None)
    model.close()


def pages(nand, count):
    return [nand.peek(0, row) for row in range(count)]


# ---- what the part says of itself


@pytest.mark.parametrize(
    "cache, planes, status_enhanced", [(0, 1, 0), (1, 1, 0), (0, 2, 0), (0, 4, 1), (1, 2, 1), (0, 0, 0)]
)
def test_parameter_page_lists_what_the_part_can(nand, cache, planes, status_enhanced):
    assert (
        nand.open(**SMALL, part=Part(features=0, cache=cache, planes=planes, status_enhanced=status_enhanced)) is None
    )
    page = parameters(Bus(nand).reset())
    several = planes > 1
    assert page[6:8] == bytes([8 * several, 0]) and page[8:10] == bytes([3 * cache | 8 * status_enhanced, 0])
    assert page[113] == {0: 0, 1: 0, 2: 1, 4: 2}[planes] and page[114] == 2 * several
    assert page[:256] == page[256:512]


def test_commands_that_the_part_has_not_are_unknown(nand):
    for lacks, commands in (
        ({"cache": 0}, (0x15, 0x31, 0x3F)),
        ({"planes": 1}, (0x11, 0xD1)),
        ({"status_enhanced": 0}, (0x78,)),
    ):
        for command in commands:
            bus = start(nand, part=lacks)
            broken_by(nand, lambda bus=bus, command=command: bus.command(command), f"unknown command {command:02X}h")
            bus = start(nand)
            bus.command(command)
            assert not any("unknown" in line for line in nand.broken())


# ---- cache programs


def test_cache_programs_are_written_behind_the_next_page(nand):
    bus = start(nand)
    first = bus.cache_program(0, pattern(0))
    assert first == bus.falls() + CBSY and bus.status() == 0xC0
    second = bus.cache_program(1, pattern(1))
    assert second == first + TIMES["prog"] + CBSY and nand.peek(0, 0) == pattern(0) and bus.status() == 0xC0
    bus.give(2, pattern(2), 0x10)
    assert nand.peek(0, 1) != pattern(1) and nand.peek(0, 2) == BLANK
    bus.wait(bus.t["wb"])
    assert bus.status() == 0x80
    assert bus.rises() == second + 2 * TIMES["prog"] and bus.status() == 0xE0
    assert pages(nand, 4) == [pattern(0), pattern(1), pattern(2), BLANK] and nand.broken() == []
    assert [nand.count(n) for n in (READS, PROGRAMS, CACHE_PROGRAMS, SHARED)] == [0, 3, 2, 0]
    bus.load(1)
    assert bus.read(FULL) == pattern(1) and bus.program(4, pattern(4)) == 0xE0 and nand.broken() == []


def test_cache_sequence_may_end_with_its_last_15h_and_any_command_comes_then(nand):
    bus = start(nand)
    began = bus.cache_program(4, pattern(4))
    while bus.status() == 0xC0:
        pass
    assert bus.status() == 0xE0 and began + TIMES["prog"] <= bus.now <= began + TIMES["prog"] + 1_000
    assert nand.peek(0, 4) == pattern(4)
    bus.erase(8)
    began = bus.cache_program(5, pattern(5))
    assert began == bus.falls() + CBSY
    bus.wait(TIMES["prog"])
    assert bus.cache_program(0, pattern(0)) == bus.falls() + CBSY  # the array is idle, so another block may be next
    bus.wait(TIMES["prog"])
    bus.give(1, pattern(1), 0x10)
    assert bus.rises() == bus.falls() + TIMES["prog"]
    assert pages(nand, 2) == [pattern(0), pattern(1)] and nand.peek(0, 5) == pattern(5) and nand.broken() == []


def test_data_of_the_next_page_may_come_in_pieces_while_the_array_is_at_work(nand):
    bus = start(nand)
    bus.cache_program(0, pattern(0))
    bus.command(0x80, 0, 0, 1, 0, 0)
    bus.write(1)
    bus.command(0x85, PAGE & 255, PAGE >> 8)
    bus.write(2)
    bus.command(0x15)
    bus.ready()
    bus.wait(TIMES["prog"])
    assert bus.status() == 0xE0 and nand.broken() == []
    assert pages(nand, 2) == [pattern(0), b"\x01" + b"\xff" * (PAGE - 1) + b"\x02" + b"\xff" * (FULL - PAGE - 1)]


def test_results_of_the_last_page_and_of_the_one_before(nand):
    """FAIL when the array is idle, FAILC when the die is ready; FAILC is 0 after the first page of a sequence and after
    a program that is of none.
    """
    for fails in range(1, 4):
        bus = start(nand)
        assert bus.program(4, pattern(4)) == 0xE0
        nand.fail(0, FAIL_PROGRAM, fails)
        got = []
        for row in range(2):
            bus.cache_program(row, pattern(row))
            got.append(bus.status() & 3)
        bus.give(2, pattern(2), 0x10)
        bus.ready()
        got.append(bus.status() & 3)
        assert got == {1: [0, 2, 0], 2: [0, 0, 2], 3: [0, 0, 1]}[fails]
        assert [nand.peek(0, row) == pattern(row) for row in range(3)] == [row != fails - 1 for row in range(3)]
        assert bus.program(5, pattern(5)) == 0xE0 and nand.broken() == []
    bus = start(nand)
    nand.fail(0, FAIL_PROGRAM, 1)
    bus.cache_program(0, pattern(0))
    bus.wait(TIMES["prog"])
    assert bus.status() == 0xE1  # it ends with no other waiting
    nand.fail(0, FAIL_PROGRAM, 1)
    bus.cache_program(1, pattern(1))
    assert bus.status() == 0xC2
    bus.wait(TIMES["prog"])
    assert bus.status() == 0xE3
    assert bus.program(4, pattern(4)) == 0xE2  # ends the sequence
    assert bus.program(5, pattern(5)) == 0xE0
    nand.fail(0, FAIL_PROGRAM, 1)
    assert bus.program(6, pattern(6)) == 0xE1
    bus.cache_program(8, pattern(8))
    assert bus.status() == 0xC0  # the page before is of no sequence
    bus.wait(TIMES["prog"])
    nand.fail(0, FAIL_PROGRAM, 1)
    bus.cache_program(9, pattern(9))
    bus.wait(TIMES["prog"])
    assert bus.status() == 0xE1
    bus.load(8)
    assert bus.status() == 0xE1
    assert bus.program(10, pattern(10)) == 0xE0  # a read ended the sequence
    bus.on_reset()
    assert bus.status() == 0xE0 and nand.broken() == []


def test_rules_of_cache_programs_are_named(nand):
    bus = start(nand, part={"suspend": 1_000})
    broken_by(nand, lambda: bus.give(3, pattern(3), 0x15), "command 15h of page 3, the last of block 0")
    assert nand.count(CACHE_PROGRAMS) == 0 and nand.peek(0, 3) == BLANK
    broken_by(nand, lambda: bus.command(0x15), "15h without 80h")
    broken_by(nand, lambda: bus.give(0, pattern(0)[:-1], 0x15), "program of 287 bytes", "288")
    bus.wait(TIMES["prog"] + 2_000)
    bus.move()
    bus.cache_program(1, pattern(1))
    for command in (0x00, 0x05, 0x11, 0x30, 0x31, 0x3F, 0x60, 0x90, 0xD0, 0xD1, 0xE0, 0x13, 0xD2):
        broken_by(
            nand, lambda command=command: bus.command(command), f"command {command:02X}h while the array is at work"
        )
    for command in (0x84, 0x61):
        broken_by(nand, lambda command=command: bus.command(command), f"command {command:02X}h", "cannot be suspended")
    broken_by(nand, lambda: bus.command(0x85), "85h without 80h")
    bus.command(0xFF)
    bus.ready()
    bus.cache_program(4, pattern(4))
    broken_by(nand, lambda: bus.give(8, pattern(8), 0x15), "command 80h of another block while the array is at work")
    broken_by(nand, lambda: bus.command(0x60), "command 60h while busy")
    bus.on_reset()
    broken_by(
        nand,
        lambda: (bus.cache_program(4, pattern(4)), bus.on_reset()),
        "page 0 of block 1, which is programmed already",
    )
    bus.cache_program(6, pattern(6))
    broken_by(nand, lambda: (bus.cache_program(5, pattern(5)), bus.on_reset()), "page 1 of block 1 after page 2")
    bus.cache_program(12, pattern(0))
    bus.give(13, pattern(1), 0x10)
    broken_by(nand, lambda: bus.command(0x84), "84h", "cannot be suspended")
    bus.wait(200)
    broken_by(nand, lambda: bus.command(0x60), "command 60h while busy")
    bus.ready()
    assert nand.count(SUSPENSIONS) == 0 and nand.peek(0, 13) == pattern(1)


def test_cache_program_of_a_block_with_a_factory_mark_or_unfinished_erase_is_named(nand):
    bus = start(nand, Faults(places=[Place(Fault.BAD_BLOCK, 0, 3)], rule_marks=1))
    broken_by(nand, lambda: bus.cache_program(12, pattern(1)), "program of page 0 of block 3", "factory mark")
    bus = start(nand)
    bus.command(0x60, 0, 0, 0)
    bus.command(0xD0)
    bus.on_reset()
    broken_by(nand, lambda: bus.cache_program(0, pattern(0)), "page 0 of block 0, whose erase was not finished")


def test_write_protected_cache_program_fails(nand):
    bus = start(nand)
    bus.move(off=WP)
    bus.cache_program(0, pattern(0))
    assert bus.status() == 0x61
    bus.give(1, pattern(1), 0x10)
    bus.ready()
    assert bus.status() == 0x63 and pages(nand, 2) == [BLANK] * 2 and nand.count(PROGRAMS) == 0 and nand.broken() == []


@pytest.mark.parametrize("faults", [None, Faults(seed=3)])
def test_power_cut_tears_the_page_in_the_array_and_loses_the_one_behind_it(nand, faults):
    """At instants over a sequence of three: what is over is whole, the page in the array is whole or torn, the others
    are blank.
    """
    seen = set()
    for at in range(0, 140_000, 2_900):
        bus = start(nand, faults, seed=at + 1)
        end, began, waits = bus.now + at, [], []
        while len(began) < 3 and bus.now < end:
            row = len(began)
            if waits:  # in the cache register
                bus.ready() if bus.now + TIMES["prog"] < end else bus.wait(max(0, end - bus.now))
                bus.move()
                if not bus.answer >> 9:
                    break
                began.append(bus.now)
                waits = []
            elif bus.now + 12_000 < end:
                bus.give(row, pattern(row), 0x10 if row == 2 else 0x15)
                waits = [row]
                if row == 2:
                    bus.wait(max(200, end - bus.now))
                    bus.move()
                    break
            else:
                bus.wait(max(0, end - bus.now))
                bus.move()
        kind = nand.c.otx_nand_under_way(0)
        before = [nand.c.otx_nand_programs(0, row) for row in range(3)]
        nand.power_cut(at + 1)
        got = pages(nand, 3)
        begun = sum(before)
        assert before == sorted(before, reverse=True)
        torn = begun - 1 if kind else None
        assert kind == (pattern(torn)[PAGE + 1] if kind else 0)
        for row in range(3):
            assert subset(got[row], pattern(row))
            if row >= begun:
                assert got[row] == BLANK
            elif row != torn:
                assert got[row] == pattern(row)
        seen.add((begun, kind != 0, torn is not None and got[torn] == pattern(torn)))
        assert nand.broken() == []
    assert {(0, False, False), (1, True, False), (1, True, True), (2, True, False), (3, True, False)} <= seen, seen


def test_chosen_cut_is_of_the_page_in_the_array_only(nand):
    for way in (Cut.UNREADABLE, Cut.FADES, Cut.PREFIX):
        bus = start(nand, Faults(seed=1))
        bus.cache_program(0, pattern(0))
        bus.cache_program(1, pattern(1))
        bus.give(2, pattern(2), 0x15)
        nand.power_cut(5, program=way)
        assert nand.peek(0, 0) == pattern(0) and nand.peek(0, 2) == BLANK
        assert (nand.peek(0, 1) == pattern(1)) == (way == Cut.FADES) and nand.c.otx_nand_programs(0, 2) == 0


def test_reset_ends_both_and_the_page_in_the_array_stays_torn(nand):
    bus = start(nand)
    bus.cache_program(0, pattern(0))
    bus.cache_program(1, pattern(1))
    bus.give(2, pattern(2), 0x15)
    bus.on_reset()
    assert bus.status() == 0xE0 and nand.c.otx_nand_under_way(0) == 0
    got = pages(nand, 3)
    assert got[0] == pattern(0) and got[1] != pattern(1) and subset(got[1], pattern(1)) and got[2] == BLANK
    bus.wait(2 * TIMES["prog"])
    bus.move()
    assert pages(nand, 3) == got
    assert bus.program(2, pattern(2)) == 0xE0 and nand.broken() == []


def test_array_that_hangs_in_the_background_is_never_idle_and_the_next_page_waits_for_ever(nand):
    bus = start(nand)
    nand.fail(0, HANG)
    bus.cache_program(0, pattern(0))
    bus.wait(100_000_000)
    assert bus.status() == 0xC0
    bus.give(1, pattern(1), 0x15)
    assert waits_for_ever(bus)
    nand.power_cut(1)
    assert nand.peek(0, 0) != pattern(0) and nand.peek(0, 1) == BLANK and nand.broken() == []
    bus = start(nand)
    nand.fail(0, HANG)
    bus.command(0x00, 0, 0, 0, 0, 0)
    bus.command(0x30)
    assert waits_for_ever(bus)


def test_die_may_die_with_a_page_in_the_background(nand):
    for kind in Dead:
        bus = start(nand, Faults(seed=2, dead_dies=1, dead_after=2, dead_kind=kind))
        bus.cache_program(0, pattern(0))
        bus.give(1, pattern(1), 0x15)
        bus.wait(10 * TIMES["prog"])
        bus.move()
        assert bus.answer >> 9 == (kind == Dead.READY) and nand.peek(0, 0) == pattern(0) != nand.peek(0, 1)
        bus.command(0x70)
        assert bus.read() == b"\xff" and nand.broken() == [] and nand.c.otx_nand_under_way(0) == 0


# ---- cache reads


def filled(nand, **settings):
    bus = start(nand, **settings)
    for row in range(8):
        bus.program(row, pattern(row))
    return bus


def test_cache_reads_give_the_page_before_while_the_next_is_read(nand):
    bus = filled(nand)
    bus.load(1, 17)
    first = bus.cache_read(6)
    assert first == bus.falls() + RCBSY and bus.status() == 0xC0
    bus.command(0x00)
    assert bus.read(FULL) == pattern(1)
    second = bus.cache_read(0)
    assert second == first + TIMES["r"] + RCBSY and bus.read(3) == pattern(6)[:3]
    bus.command(0x05, 99, 0)
    bus.command(0xE0)
    assert bus.read(2) == pattern(6)[99:101]
    assert bus.end_read() == second + TIMES["r"] + RCBSY
    assert bus.read(FULL) == pattern(0) and bus.status() == 0xE0
    assert nand.broken() == [] and [nand.count(n) for n in (READS, CACHE_READS)] == [3, 2]


def test_a_page_that_has_been_read_ahead_for_long_comes_at_once(nand):
    bus = filled(nand)
    bus.load(3)
    bus.cache_read(5)
    assert bus.status() == 0xC0
    bus.wait(TIMES["r"])
    assert bus.status() == 0xE0
    bus.command(0x00)
    assert bus.read(FULL) == pattern(3)
    assert bus.cache_read(3) == bus.falls() + RCBSY and bus.read(FULL) == pattern(5)
    bus.wait(TIMES["r"])
    assert bus.end_read() == bus.falls() + RCBSY and bus.read(FULL) == pattern(3) and nand.broken() == []
    bus.load(0)
    bus.cache_read(2)
    bus.wait(TIMES["r"])
    # it is not called for
    assert bus.program(8, pattern(8)) == 0xE0 and nand.peek(0, 8) == pattern(8) and nand.broken() == []
    broken_by(nand, lambda: bus.command(0x3F), "3Fh without a page that is read ahead")


def test_rules_of_cache_reads_are_named(nand):
    bus = filled(nand, part={"suspend": 1_000})

    def again(row):
        bus.command(0x00, 0, 0, row, 0, 0)
        bus.command(0x31)

    broken_by(nand, lambda: again(0), "command 31h without a page read before it")
    broken_by(nand, lambda: bus.command(0x3F), "command 3Fh without a page that is read ahead")
    bus.load(0)
    broken_by(nand, lambda: bus.command(0x31), "command 31h needs 00h and 5 address cycles")
    broken_by(nand, lambda: (bus.command(0x00, 0, 0, 1), bus.command(0x31)), "command 31h needs 00h and 5", "00h and 3")
    broken_by(nand, lambda: bus.command(0x3F), "command 3Fh without")
    broken_by(nand, lambda: again(BLOCKS_END), "row 32 is out of range")
    bus.ready()
    for command in (0x30, 0x60, 0x80, 0x85, 0x10, 0x11, 0x15, 0x90, 0xD0, 0xD1, 0x84, 0x61, 0x13, 0xD2):
        broken_by(
            nand, lambda command=command: bus.command(command), f"command {command:02X}h while the array is at work"
        )
    again(2)
    broken_by(nand, lambda: bus.command(0x3F), "command 3Fh while busy")
    bus.ready()
    bus.end_read()
    broken_by(nand, lambda: again(3), "command 31h without a page read before it")
    for between in ((0x90, 0), (0x60, 0, 0, 0), (0x80, 0, 0, 20, 0, 0)):
        bus.on_reset()
        bus.load(0)
        bus.command(*between)
        if between[0] != 0x90:
            bus.command(0xFF)
            bus.ready()
        broken_by(nand, lambda: again(3), "command 31h without a page read before it")
    bus.on_reset()
    bus.command(0x60, 16, 0, 0)
    bus.command(0xD0)
    bus.wait(1_000)
    bus.command(0x61)
    bus.ready()
    bus.load(0)
    broken_by(nand, lambda: bus.command(0x31), "31h while a program or erase is suspended")


BLOCKS_END = SMALL["blocks"] * PAGES


def test_reset_ends_a_read_ahead(nand):
    bus = filled(nand)
    bus.load(0)
    bus.cache_read(1)
    bus.on_reset()
    assert bus.status() == 0xE0
    broken_by(nand, lambda: bus.command(0x3F), "3Fh without")
    bus.load(4)
    assert bus.read(FULL) == pattern(4)


def test_faults_of_a_read_apply_once_to_each_page(nand):
    bus = start(nand, Faults(seed=1, ber=10**9), blocks=8)
    for row in range(4):
        bus.program(row, pattern(row))
    bus.load(0)
    plain = [bus.read(FULL)]
    for row in (1, 2, 3):
        bus.load(row)
        plain.append(bus.read(FULL))
    flips = nand.seen()["flips"]
    assert flips == sum(
        (a ^ b).bit_count() for n, page in enumerate(plain) for a, b in zip(page, pattern(n), strict=True)
    )
    bus = start(nand, Faults(seed=1, ber=10**9), blocks=8)
    for row in range(4):
        bus.program(row, pattern(row))
    bus.load(0)
    bus.cache_read(1)
    ahead = [bus.read(FULL)]
    for row in (2, 3):
        bus.cache_read(row)
        ahead.append(bus.read(FULL))
    bus.end_read()
    assert ahead + [bus.read(FULL)] == plain and nand.seen()["flips"] == flips and nand.count(READS) == 4


def test_background_read_that_hangs_never_comes(nand):
    bus = filled(nand)
    bus.load(0)
    nand.fail(0, HANG)
    bus.cache_read(1)
    bus.wait(100_000_000)
    assert bus.status() == 0xC0
    bus.command(0x00)
    assert bus.read(FULL) == pattern(0)
    bus.command(0x3F)
    assert waits_for_ever(bus) and nand.broken() == []


def test_power_cut_during_a_read_ahead_leaves_the_cells(nand):
    bus = filled(nand)
    bus.load(0)
    bus.cache_read(1)
    assert nand.c.otx_nand_under_way(0) == 0
    nand.power_cut(1)
    assert pages(nand, 8) == [pattern(row) for row in range(8)]
    bus = Pins(nand).reset()
    broken_by(nand, lambda: bus.command(0x3F), "3Fh without")
