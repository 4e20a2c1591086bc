# SPDX-License-Identifier: Apache-2.0
"""Read retry of the NAND model: levels by feature 89h, what the parameter page says of them, pages whose cells have
drifted. Pins are moved by this file; needs no simulator.
"""

import pytest

from cocotb_tests.bench.nand_bus import FULL, PAGES, SMALL, broken_by, pattern
from cocotb_tests.bench.nand_cache import BLANK, TIMES, Pins, start
from cocotb_tests.bench.nand_faulty import child, read, wrong_bits
from cocotb_tests.bench.nand_part import at, bus_of, copies, crc, get_mode, parameters, set_mode
from cocotb_tests.bench.nand_pins import RETRIED, Nand, Part, library
from opentxssd.facts import NandFeature
from opentxssd.faults import Fault, Faults, PartFaults, Place

LEVEL, MODE = NandFeature.READ_RETRY, NandFeature.TIMING_MODE
MANY = 10**10  # one wrong bit in a hundred
RETRY = {"retries": 3}


@pytest.fixture
def nand():
    model = Nand(library())
    yield model
    model.set_part_faults(None)
    model.set_faults(None)
    model.close()


def set_feature(bus, level, *more, feature=LEVEL):
    bus.command(0xEF, feature)
    for byte in (level, *more, *(0,) * (3 - len(more))):
        bus.write(byte)
    bus.ready()


def get_feature(bus, feature=LEVEL):
    bus.command(0xEE, feature)
    bus.ready()
    return bus.read(4)


def drifting(nand, *places, part=RETRY, **settings):
    """A die with pages that read badly at a level that is not their own."""
    return start(nand, Faults(**{"seed": 3, "ber_drift": MANY, "places": places} | settings), part)


def drifted(row, level):
    return Place(Fault.DRIFTED, 0, row // PAGES, row % PAGES, level)


def program(bus, *rows):
    for row in rows:
        assert bus.program(row, pattern(row)) == 0xE0


def well(bus, row):
    """The page comes back as it was written; if not, with about as many wrong bits as it should have."""
    wrong = wrong_bits(read(bus, row), pattern(row))
    assert wrong == 0 or FULL * 8 / 250 < wrong < FULL * 8 / 40, wrong
    return wrong == 0


def levels_of(bus, row, levels=4):
    """Those at which it reads well."""
    good = []
    for level in range(levels):
        set_feature(bus, level)
        good += [level] * well(bus, row)
    return good


# ---- what the part says of itself, and takes


@pytest.mark.parametrize("retries", [0, 1, 7])
def test_parameter_page_says_how_many_levels_there_are_in_the_vendors_block(nand, retries):
    page = parameters(bus_of(nand, part=Part(retries=retries)))
    one = page[:256]
    assert page == one * 3 and crc(one)
    if retries:
        assert (one[64], one[164:166], one[180]) == (0x2C, b"\x01\0", retries + 1)
    else:
        assert (one[64], one[164:166], one[180]) == (0xEC, b"\0\0", 0)


def test_only_the_vendors_fields_differ_from_a_part_without(nand):
    with_levels, without = (copies(parameters(bus_of(nand, part=Part(retries=n))))[0] for n in (3, 0))
    assert [i for i in range(254) if with_levels[i] != without[i]] == [64, 164, 180]


def test_a_part_has_at_most_7_levels_beyond_0(nand):
    done = child("from cocotb_tests.nand_model.test_nand_retry import *\nstart(Nand(library()), part={'retries': 8})")
    assert done.returncode == 70 and "a part of 8 read retry levels" in done.stderr
    assert get_feature(start(nand, part={"retries": 7})) == bytes(4)


def test_part_without_levels_has_no_such_feature(nand):
    for command in (0xEE, 0xEF):
        bus = bus_of(nand)
        broken_by(nand, lambda bus=bus, command=command: bus.command(command, LEVEL), "feature 89h", "has not")
        bus = start(nand)
        broken_by(nand, lambda bus=bus, command=command: bus.command(command), f"unknown command {command:02X}h")


def test_part_that_is_not_onfi_takes_levels_but_no_timing_mode(nand):
    for command in (0xEE, 0xEF):
        bus = start(nand, part=RETRY)
        set_feature(bus, 2)
        assert get_feature(bus) == b"\x02\0\0\0" and nand.broken() == [] and nand.mode(0) == -1
        broken_by(nand, lambda bus=bus, command=command: bus.command(command, MODE), "feature 01h", "has not")
    bus = start(nand, part=RETRY)
    broken_by(nand, lambda: bus.command(0xEC), "unknown command ECh")


def test_get_features_returns_the_level_that_was_set(nand):
    bus = start(nand, part=RETRY)
    assert get_feature(bus) == bytes(4)
    for level in (3, 1, 2, 0, 3):
        set_feature(bus, level)
        assert [get_feature(bus) for _ in range(2)] == [bytes([level, 0, 0, 0])] * 2
    assert nand.broken() == []


def test_features_and_the_parameter_page_come_after_a_status_too(nand):
    bus = bus_of(nand, part=Part(retries=3))
    for get in get_feature, get_mode, parameters:
        plain = get(bus)
        bus.command(0x70)
        assert bus.read() == b"\xe0" and get(bus) == plain
    assert nand.broken() == []


def test_level_that_the_part_has_not_breaks_a_rule_and_changes_nothing(nand):
    bus = start(nand, part=RETRY)
    set_feature(bus, 1)
    for values in (4,), (0xFF,), (2, 1), (2, 0, 1), (2, 0, 0, 1):
        broken_by(nand, lambda values=values: set_feature(bus, *values), "read retry level that the part has not")
        assert get_feature(bus) == b"\x01\0\0\0"


def test_part_that_refuses_features_keeps_its_level(nand):
    bus = start(nand, part=RETRY)
    nand.set_part_faults(PartFaults(refuses=1))
    set_feature(bus, 2)
    assert get_feature(bus) == bytes(4) and nand.broken() == []


# ---- how long a level stays


def test_reset_command_leaves_the_level_and_a_power_cut_does_not(nand):
    bus = start(nand, part=RETRY)
    set_feature(bus, 2)
    bus.on_reset()
    assert get_feature(bus) == b"\x02\0\0\0"
    nand.power_cut(1)
    assert get_feature(Pins(nand).reset()) == bytes(4) and nand.broken() == []


def test_reset_while_a_level_is_set_leaves_the_one_before(nand):
    bus = start(nand, part=RETRY)
    bus.command(0xEF, LEVEL)
    for byte in (2, 0, 0, 0):
        bus.write(byte)
    bus.on_reset()
    assert get_feature(bus) == bytes(4) and nand.broken() == []


def test_timing_mode_and_level_do_not_touch_each_other(nand):
    bus = bus_of(nand, part=Part(retries=3))
    set_feature(bus, 2)
    assert nand.mode(0) == 0 and get_mode(bus) == bytes(4)
    set_mode(bus, 5)
    assert nand.mode(0) == 5 and get_feature(at(bus, 5)) == b"\x02\0\0\0" and get_mode(bus) == b"\x05\0\0\0"
    set_feature(bus, 3)
    assert nand.mode(0) == 5 and get_feature(bus) == b"\x03\0\0\0" and nand.broken() == []
    broken_by(nand, lambda: set_mode(bus, 6), "timing mode that the part has not")
    at(bus, 0).command(0xFF)
    bus.ready()
    assert nand.mode(0) == 0 and get_feature(bus) == b"\x03\0\0\0"


# ---- pages that have drifted


def test_drifted_page_reads_well_at_its_level_only(nand):
    bus = drifting(nand, *(drifted(row, 1 + row % 3) for row in range(6)))
    program(bus, *range(6))
    assert [levels_of(bus, row) for row in range(6)] == [[1 + row % 3] for row in range(6)]
    assert [nand.peek(0, row) for row in range(6)] == [pattern(row) for row in range(6)]
    assert nand.seen()["drifted"] == 6 * 3 and nand.seen()["flips"] > 0 and nand.broken() == []


def test_page_that_has_not_drifted_reads_well_at_level_0_only(nand):
    bus = drifting(nand, drifted(4, 2))
    program(bus, 0, 4)
    assert levels_of(bus, 0) == [0]
    set_feature(bus, 2)
    assert well(bus, 4) and not well(bus, 0)
    set_feature(bus, 0)
    assert not well(bus, 4) and well(bus, 0)


def test_page_with_a_level_that_the_part_has_not_never_reads_well(nand):
    bus = drifting(nand, drifted(0, 4))
    program(bus, 0)
    assert levels_of(bus, 0) == []
    bus = drifting(nand, part={"retries": 0}, drift_ppm=1_000_000)
    program(bus, 0)
    assert not well(bus, 0)


def test_place_is_drifted_after_any_erases_and_one_of_level_0_never(nand):
    bus = drifting(nand, drifted(0, 2), drifted(1, 0), drift_ppm=1_000_000)
    for _ in range(3):
        program(bus, 0, 1)
        assert (levels_of(bus, 0), levels_of(bus, 1)) == ([2], [0])
        bus.erase(0)


def test_wrong_bits_come_on_top_of_those_of_other_rates_and_are_others_in_each_read(nand):
    rows = range(4)
    counts = {}
    for ber, drift in (10**10, 0), (0, 10**10), (10**10, 10**10):
        bus = drifting(nand, ber=ber, ber_drift=drift)
        program(bus, *rows)
        set_feature(bus, 1)
        got = [read(bus, row) for row in rows for _ in range(10)]
        assert len(set(got)) == len(got)
        counts[ber, drift] = nand.seen()["flips"]
    one, other, both = counts.values()
    expected = 40 * FULL * 8 / 100
    assert (
        one == pytest.approx(expected, rel=0.15)
        and other == pytest.approx(expected, rel=0.15)
        and both == pytest.approx(2 * expected, rel=0.15)
    )


def test_without_a_rate_a_level_changes_nothing_but_what_is_counted(nand):
    bus = drifting(nand, drifted(0, 2), ber_drift=0)
    program(bus, 0)
    assert levels_of(bus, 0) == [0, 1, 2, 3] and nand.seen()["drifted"] == 3 and nand.seen()["flips"] == 0


def test_same_seed_gives_the_same_other_faults_whether_pages_drift_or_not(nand):
    kept = dict(
        seed=5, ber=10**9, stuck_page_ppm=200_000, stuck_bits_ppm=300_000, stuck_bits=5, program_fail_ppm=200_000
    )
    got = []
    for more in {}, dict(drift_ppm=1_000_000), dict(ber_drift=MANY):
        bus = start(nand, Faults(**kept | more), RETRY)
        got.append([(bus.program(row, pattern(row)), read(bus, row)) for row in range(16)])
    assert got[0] == got[1] == got[2]


def test_reads_at_a_level_that_is_not_0_are_counted(nand):
    bus = start(nand, part=RETRY)
    for level, reads in (0, 3), (1, 2), (3, 1), (0, 2):
        set_feature(bus, level)
        for _ in range(reads):
            bus.load(0)
    assert nand.count(RETRIED) == 3 and nand.seen()["drifted"] == 0
    set_feature(bus, 2)
    bus.load(0)
    for row in 1, 2:
        bus.cache_read(row)
    bus.end_read()
    assert nand.count(RETRIED) == 6 and nand.broken() == []


def test_blank_pages_read_blank_at_any_level(nand):
    bus = drifting(nand, drifted(0, 2), drift_ppm=1_000_000)
    program(bus, 0)
    bus.erase(0)
    for level in range(4):
        set_feature(bus, level)
        assert [read(bus, row) for row in range(8)] == [BLANK] * 8
    assert nand.seen()["drifted"] == 0


def test_each_die_has_its_own_level(nand):
    faults = Faults(ber_drift=MANY, places=[Place(Fault.DRIFTED, 1, 0, 0, 2)])
    assert nand.open(**SMALL | {"ways": 2, "times": TIMES}, faults=faults, part=Part(onfi=0, retries=3)) is None
    buses = [Pins(nand, die=die).reset() for die in range(2)]
    for bus in buses:
        bus.release()

    def at_die(die, action, *values):
        buses[die].now = max(bus.now for bus in buses)
        buses[die].select()
        got = action(buses[die], *values)
        buses[die].release()
        return got

    for die in range(2):
        at_die(die, program, 0)
    at_die(1, set_feature, 2)
    assert [at_die(die, get_feature)[0] for die in range(2)] == [0, 2]
    assert [at_die(die, well, 0) for die in range(2)] == [True, True]
    at_die(0, set_feature, 2)
    at_die(1, set_feature, 0)
    assert [at_die(die, well, 0) for die in range(2)] == [False, False] and nand.broken() == []


# ---- a share by seed

ROWS = range(30 * PAGES)


def levels(nand, seed=3, share=300_000, erases=1, **opened):
    """Of each page, after so many erases of all blocks: the level at which it reads well, by then."""
    bus = start(nand, Faults(seed=seed, drift_ppm=share, ber_drift=MANY), RETRY, blocks=30, **opened)
    for _ in range(erases):
        for row in ROWS[::PAGES]:
            bus.erase(row)
    own = dict.fromkeys(ROWS)
    program(bus, *ROWS)
    for level in range(4):
        set_feature(bus, level)
        for row in ROWS:
            if well(bus, row):
                assert own[row] is None
                own[row] = level
    assert nand.broken() == []
    return list(own.values())


def test_share_of_pages_drifts_to_any_of_the_levels(nand):
    own = levels(nand)
    assert len(ROWS) * 0.2 < sum(level > 0 for level in own) < len(ROWS) * 0.4 and set(own) == {0, 1, 2, 3}


def test_all_or_no_pages_drift(nand):
    assert set(levels(nand, share=0)) == {0} and set(levels(nand, share=1_000_000)) == {1, 2, 3}


def test_pages_that_drift_are_drawn_anew_at_each_erase_and_by_seed(nand):
    first = levels(nand)
    assert levels(nand, erases=2) != first and levels(nand, seed=4) != first


def test_a_seed_gives_the_same_levels_in_any_process(nand, tmp_path):
    code = (
        "from cocotb_tests.nand_model.test_nand_retry import *\nimport sys\nprint(levels(Nand(library()), "
        "path=sys.argv[1]))"
    )
    assert child(code, tmp_path / "image").stdout.strip() == str(levels(nand))


# ---- when the level counts


def test_level_is_that_of_when_the_array_read_began(nand):
    bus = drifting(nand, *(drifted(row, 2) for row in range(4)))
    program(bus, *range(4))
    set_feature(bus, 2)
    bus.load(0)
    set_feature(bus, 0)  # the page has been read
    bus.command(0x00)
    assert bus.read(FULL) == pattern(0) and nand.broken() == []


def test_cache_read_takes_the_level_of_when_its_array_read_began(nand):
    bus = drifting(nand, *(drifted(row, 2) for row in range(4)))
    program(bus, *range(4))
    set_feature(bus, 2)
    bus.load(0)
    bus.cache_read(1)
    assert bus.read(FULL) == pattern(0)
    broken_by(nand, lambda: bus.command(0xEF), "while the array is at work")
    bus.cache_read(2)
    assert bus.read(FULL) == pattern(1)
    bus.end_read()
    assert bus.read(FULL) == pattern(2)
    set_feature(bus, 0)
    bus.load(0)
    bus.cache_read(1)
    bus.end_read()
    assert wrong_bits(bus.read(FULL), pattern(1)) > 0
    assert nand.seen()["drifted"] == 2


def test_level_may_not_be_set_while_the_die_is_busy(nand):
    bus = start(nand, part=RETRY)
    bus.command(0x00, 0, 0, 0, 0, 0)
    bus.command(0x30)
    broken_by(nand, lambda: bus.command(0xEF), "while busy")
    bus.ready()
    assert bus.read(FULL) == BLANK
