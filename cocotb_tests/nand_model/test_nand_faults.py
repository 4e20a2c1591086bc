# SPDX-License-Identifier: Apache-2.0
"""Faults of the NAND model by seed (sim/nand_faults.h): each at its place or rate, the same again in any process, none
when off. Cuts: test_nand_cuts.py. Needs no simulator.
"""

import pytest

from cocotb_tests.bench.nand_bus import ALE, CLE, FULL, PAGE, PAGES, RE, SMALL, Bus, broken_by, pattern
from cocotb_tests.bench.nand_faulty import BITS, BLANK, child, erase, read, start, wrong_bits
from cocotb_tests.bench.nand_pins import K9F8G08, Nand, library
from opentxssd.faults import SEEN, Dead, Fault, Faults, Mark, Place


@pytest.fixture
def nand():
    model = Nand(library())
    yield model
    model.set_faults(None)
    model.close()


def marks(nand, block):
    """Pages of a block whose first spare byte is not FFh."""
    return [page for page in range(PAGES) if nand.peek(0, block * PAGES + page)[PAGE] != 0xFF]


def session(bus, nand, rows=range(4, 16)):
    """Some of everything; all that came back."""
    got = []
    for block in sorted({row // PAGES for row in rows}):
        got.append(erase(bus, block))
    for row in rows:
        got.append(bus.program(row, pattern(row)) & 1)
        got += [read(bus, row), read(bus, row)]
    return got + [nand.peek(0, row) for row in rows]


LOUD = dict(
    bad_ppm=200_000,
    erase_fail_ppm=300_000,
    program_fail_ppm=200_000,
    ber=10**8,
    ber_erase=10**8,
    ber_read=10**7,
    ber_age=10**6,
)
LOUD |= dict(stuck_page_ppm=200_000, stuck_bits_ppm=300_000, stuck_bits=5)


# ---- off, and the same again


def test_without_faults_and_with_none_of_them_the_answers_are_the_same(nand):
    bus = start(nand)
    plain = session(bus, nand)
    assert plain[3:6] == [0, pattern(4), pattern(4)] and nand.broken() == [] and nand.seen() == dict.fromkeys(SEEN, 0)
    assert (
        session(start(nand, Faults(seed=5)), nand) == plain
        and nand.broken() == []
        and nand.seen() == dict.fromkeys(SEEN, 0)
    )
    start(nand, Faults(seed=5, **LOUD))
    nand.set_faults(None)
    assert session(Bus(nand).reset(), nand, range(16, 20)) == session(start(nand), nand, range(16, 20))


CHILD = """
import sys
from cocotb_tests.nand_model.test_nand_faults import *
nand = Nand(library())
print(repr(session(start(nand, Faults(seed=int(sys.argv[1]), **LOUD), path=sys.argv[2] or None), nand)))
"""


def test_a_seed_gives_the_same_faults_in_any_process_and_another_seed_others(nand, tmp_path):
    faults = Faults(seed=7, **LOUD)
    first = session(start(nand, faults, seed=1), nand)
    assert all(nand.seen()[kind] for kind in ("flips", "stuck_reads", "program_fails", "erase_fails"))
    assert session(start(nand, faults, seed=99), nand) == first
    assert child(CHILD, 7, "").stdout.strip() == repr(first)
    assert session(start(nand, Faults(seed=8, **LOUD)), nand) != first


def test_faults_go_on_from_the_image(nand, tmp_path):
    path, faults = tmp_path / "image", Faults(seed=7, **LOUD)
    bus = start(nand, faults)
    whole = session(bus, nand) + session(bus, nand)
    first = child(CHILD, 7, path).stdout.strip()
    second = session(start(nand, faults, path=path), nand)
    assert [first, repr(second)] == [
        repr(whole[: len(whole) // 2]),
        repr(whole[len(whole) // 2 :]),
    ] and second != whole[: len(second)]


# ---- factory bad blocks

MANY = dict(blocks=512)


@pytest.mark.parametrize("mark", list(Mark))
def test_share_of_blocks_is_bad_from_the_factory_and_marked_where_the_vendor_does(nand, mark):
    start(nand, Faults(seed=3, bad_ppm=100_000, mark=mark), **MANY)
    bad = {block: marks(nand, block) for block in range(MANY["blocks"]) if marks(nand, block)}
    assert 25 < len(bad) < 80 and 0 not in bad
    assert all(nand.is_bad(0, block) == (block in bad) for block in range(MANY["blocks"]))
    pages = {Mark.FIRST: {0}, Mark.SECOND: {1}, Mark.LAST: {PAGES - 1}, Mark.EITHER: {0, 1}}[mark]
    assert {page for where in bad.values() for page in where} == pages and all(
        len(where) == 1 for where in bad.values()
    )


def test_block_0_is_good_even_if_all_others_are_bad(nand):
    bus = start(nand, Faults(bad_ppm=1_000_000))
    assert [bool(marks(nand, block)) for block in range(8)] == [False] + [True] * 7
    assert erase(bus, 0) == 0 and bus.program(0, pattern(0)) == 0xE0 and read(bus, 0) == pattern(0)


def test_erase_of_a_bad_block_fails_or_appears_to_work_and_may_lose_the_mark(nand, tmp_path):
    faults, path = Faults(seed=1, bad_ppm=1_000_000, mark=Mark.LAST), tmp_path / "image"
    bus = start(nand, faults, blocks=40, path=path)
    outcomes = {block: (erase(bus, block), bool(marks(nand, block))) for block in range(1, 40)}
    assert set(outcomes.values()) == {(1, True), (1, False), (0, False)}
    bus = start(nand, faults, blocks=40, path=path)
    assert {block: bool(marks(nand, block)) for block in outcomes} == {
        block: marked for block, (_, marked) in outcomes.items()
    }
    assert nand.is_bad(0, 5)
    worked = [block for block, (failed, _) in outcomes.items() if not failed]
    programs = [
        (bus.program(b * PAGES + p, pattern(p)) & 1, wrong_bits(nand.peek(0, b * PAGES + p), pattern(p)))
        for b in worked
        for p in range(PAGES)
    ]
    assert {failed for failed, _ in programs} == {0, 1} and all(wrong for failed, wrong in programs if not failed)


def test_listed_block_is_bad_and_a_rule_may_forbid_to_touch_it(nand):
    place = Place(Fault.BAD_BLOCK, die=0, block=3)
    bus = start(nand, Faults(places=[place]))
    assert [block for block in range(8) if marks(nand, block)] == [3]
    erase(bus, 3)
    assert nand.broken() == []
    bus = start(nand, Faults(places=[place], rule_marks=1))
    erase(bus, 2)
    bus.program(8, pattern(1))
    assert nand.broken() == []
    broken_by(nand, lambda: bus.program(12, pattern(1)), "program of page 0 of block 3", "factory mark")
    broken_by(nand, lambda: bus.erase(12), "erase of block 3", "factory mark")


# ---- wear


def test_erase_fails_after_so_many_that_worked(nand):
    bus = start(nand, Faults(places=[Place(Fault.ERASE_FAILS, 0, 2, n=3)]))
    assert [erase(bus, 2) for _ in range(5)] == [0, 0, 0, 1, 1] and [erase(bus, 3) for _ in range(5)] == [0] * 5
    broken_by(nand, lambda: bus.program(8, pattern(0)), "erase was not finished")
    bus = start(nand, Faults(seed=2, erase_fail_ppm=250_000, erase_fail_after=1), blocks=200)
    assert not any([erase(bus, b) for b in range(200)])
    assert 25 < sum(erase(bus, b) for b in range(200)) < 80


def test_program_fails_after_so_many_cycles_of_its_block(nand):
    bus = start(nand, Faults(places=[Place(Fault.PROGRAM_FAILS, 0, 2, page=1, n=2)]))
    got = []
    for _ in range(4):
        got.append([bus.program(8 + page, pattern(page)) for page in range(PAGES)])
        assert all(read(bus, 8 + page) == pattern(page) for page in (0, 2, 3)) and (read(bus, 9) == pattern(1)) == (
            got[-1][1] == 0xE0
        )
        assert erase(bus, 2) == 0
    assert got == [[0xE0] * 4] * 2 + [[0xE0, 0xE1, 0xE0, 0xE0]] * 2 and nand.broken() == []
    bus = start(nand, Faults(seed=2, program_fail_ppm=200_000), blocks=50)
    assert 20 < sum(bus.program(row, pattern(row)) & 1 for row in range(200)) < 62


# ---- bits of a read


def mean_wrong(bus, rows, times, written=pattern):
    return sum(wrong_bits(read(bus, row), written(row)) for row in rows for _ in range(times)) / len(rows) / times


def test_bits_flip_at_the_stated_rate_and_only_in_what_is_read(nand):
    bus = start(nand, Faults(seed=1, ber=10**9))  # 10^-3: 2.3 bits of a page
    for row in range(8):
        bus.program(row, pattern(row))
    reads = [read(bus, 3) for _ in range(20)]
    assert len(set(reads)) > 10 and nand.peek(0, 3) == pattern(3)
    mean, expected = mean_wrong(bus, range(8), 25), BITS / 1000
    assert abs(mean - expected) < 5 * (expected / 200) ** 0.5, (mean, expected)
    assert nand.seen()["flips"] == pytest.approx(expected * 220, rel=0.2)
    assert sum(wrong_bits(read(bus, 20), BLANK) for _ in range(50)) > 50  # blank pages too


def test_more_bits_flip_with_wear_with_reads_and_with_age(nand):
    rows = range(4, 8)

    def programmed(bus):
        for row in rows:
            bus.program(row, pattern(row))

    bus = start(nand, Faults(seed=1, ber_erase=10**8))
    programmed(bus)
    assert mean_wrong(bus, rows, 5) == 0
    for _ in range(20):
        erase(bus, 1)
    programmed(bus)
    assert mean_wrong(bus, rows, 20) == pytest.approx(BITS * 20e-4, rel=0.25)

    bus = start(nand, Faults(seed=1, ber_read=10**7))
    programmed(bus)
    early = mean_wrong(bus, rows, 5)
    for _ in range(180):
        bus.load(4)
    late = mean_wrong(bus, rows, 10)
    assert early < 1 and late == pytest.approx(BITS * 220e-5, rel=0.3)
    erase(bus, 1)
    programmed(bus)
    assert mean_wrong(bus, rows, 5) < 1  # an erase ends the disturbance

    bus = start(nand, Faults(seed=1, ber_age=10**7))
    programmed(bus)
    assert mean_wrong(bus, rows, 5) < 1
    for _ in range(200):
        bus.load(20)
    assert mean_wrong(bus, rows, 10) == pytest.approx(BITS * 244e-5, rel=0.3)


def test_stuck_bits_stay_for_ever(nand):
    bus = start(nand, Faults(seed=1, places=[Place(Fault.STUCK_BITS, 0, 1, page=2, n=40)]))
    blank = read(bus, 6)
    assert (
        10 < wrong_bits(blank, BLANK) < 30 and blank[PAGE] == 0xFF and read(bus, 6) == blank and read(bus, 5) == BLANK
    )
    bus.program(6, bytes(FULL))
    black = read(bus, 6)
    assert 10 < wrong_bits(black, bytes(FULL)) < 30 and nand.peek(0, 6) == bytes(FULL)
    zeros, ones = [i for i in range(FULL) if blank[i] != 0xFF], [i for i in range(FULL) if black[i]]
    erase(bus, 1)
    assert read(bus, 6) == blank and zeros and ones
    bus = start(nand, Faults(seed=1, stuck_bits_ppm=250_000, stuck_bits=8), blocks=50)
    assert 25 < sum(read(bus, row) != BLANK for row in range(200)) < 80


def test_stuck_page_reads_the_same_wrong_content_until_it_is_erased(nand):
    bus = start(nand, Faults(seed=1, places=[Place(Fault.STUCK_PAGE, 0, 1, page=1, n=1)]))
    assert bus.program(5, pattern(5)) == 0xE0 and read(bus, 5) == pattern(5)
    erase(bus, 1)
    assert read(bus, 5) == BLANK and bus.program(5, pattern(5)) == 0xE0
    wrong = read(bus, 5)
    assert (
        wrong_bits(wrong, pattern(5)) > BITS // 4
        and [read(bus, 5) for _ in range(5)] == [wrong] * 5
        and nand.peek(0, 5) == pattern(5)
    )
    erase(bus, 1)
    bus.program(5, pattern(5))
    assert read(bus, 5) == pattern(5)
    bus = start(nand, Faults(seed=1, stuck_page_ppm=250_000), blocks=50)
    for row in range(200):
        bus.program(row, pattern(row))
    assert 25 < sum(read(bus, row) != pattern(row) for row in range(200)) < 80


# ---- dead dies


def lines(bus):
    """(R/B#, data lines) while RE# is low."""
    bus.move(off=CLE | ALE)
    bus.wait(100)
    bus.move(off=RE)
    bus.wait(K9F8G08["rea"])
    bus.move()
    got = bus.answer >> 9, bus.answer & 0xFF
    bus.move(on=RE)
    bus.wait(100)
    return got


@pytest.mark.parametrize("kind", list(Dead))
def test_dead_die_answers_nothing(nand, kind):
    assert nand.open(**SMALL | {"ways": 2}, faults=Faults(dead_dies=0b10, dead_kind=kind)) is None
    assert Bus(nand, die=0).reset().program(0, pattern(0)) == 0xE0
    bus = Bus(nand, die=1)
    bus.select()
    for command in ((0xFF,), (0x70,), (0x90, 0), (0x60, 0, 0, 0), (0xD0,), (0x80, 0, 0, 0, 0, 0)):
        bus.command(*command)
        bus.wait(10_000_000)
        assert lines(bus) == (kind == Dead.READY, 0xFF)
    bus.write(0x55)
    bus.release()
    nand.power_cut(1)
    assert lines(Bus(nand, die=1))[0] == (kind == Dead.READY)
    assert nand.broken() == [] and nand.peek(1, 0) == BLANK


def test_die_dies_after_so_many_operations_and_stays_dead(nand, tmp_path):
    faults, path = Faults(dead_dies=1, dead_after=3), tmp_path / "image"
    bus = start(nand, faults, path=path)
    assert bus.program(0, pattern(0)) == 0xE0 and read(bus, 0) == pattern(0)
    bus.erase(4)
    for command in ((), (0x70,), (0xFF,), (0x70,), (0x00, 0, 0, 0, 0, 0), (0x30,)):
        if command:
            bus.command(*command)
        assert lines(bus) == (True, 0xFF)
    assert nand.broken() == []
    assert nand.open(**SMALL, faults=faults, path=path) is None
    bus = Bus(nand)
    bus.select()
    assert lines(bus) == (True, 0xFF) and nand.peek(0, 0) == pattern(0)


# ---- settings


def test_faults_that_cannot_be_are_refused_in_words(nand):
    start(nand)
    for words, faults in [
        ("block 0 of a die is never bad", Faults(places=[Place(Fault.BAD_BLOCK, 0, 0)])),
        ("place 1 is not in the drive", Faults(places=[Place(Fault.STUCK_PAGE, 0, 1), Place(Fault.STUCK_PAGE, 0, 8)])),
        ("no kind of fault", Faults(places=[Place(9, 0, 1)])),
        ("no such kind", Faults(mark=4)),
        ("at most 100", Faults(nop=200)),
    ]:
        with pytest.raises(ValueError, match=words):
            nand.set_faults(faults)
    faults = Faults(places=[Place(Fault.STUCK_PAGE, die=3, block=1)])
    assert "place 0 is not in the drive" in nand.open(**SMALL, faults=faults)
    assert nand.open(**SMALL | {"ways": 4}, faults=faults) is None
