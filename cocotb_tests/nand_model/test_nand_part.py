# SPDX-License-Identifier: Apache-2.0
"""What kind of part the NAND model is: identification, parameter page and its faults, timing modes by SET FEATURES.

Pins are moved by this file; needs no simulator.
"""

import pytest

from cocotb_tests.bench.nand_bus import ALE, CLE, FULL, PAGES, RE, SMALL, Bus, broken_by, pattern
from cocotb_tests.bench.nand_part import at, bus_of, copies, crc, get_mode, parameters, set_mode
from cocotb_tests.bench.nand_pins import MODES, Nand, Part, library
from opentxssd.faults import Faults, PartFaults


@pytest.fixture
def nand():
    model = Nand(library())
    yield model
    model.close()


def majority(page):
    a, b, c = copies(page)
    return bytes(x & y | x & z | y & z for x, y, z in zip(a, b, c, strict=True))


def test_onfi_part_says_so_and_its_parameter_page_states_what_it_is(nand):
    bus = bus_of(nand, part=Part(modes=0x17))
    bus.command(0x90, 0x20)
    assert bus.read(4) == b"ONFI"
    page = parameters(bus)
    one = page[:256]
    assert one[:4] == b"ONFI" and page == one * 3 and crc(one)
    fields = {80: 256, 92: PAGES, 96: SMALL["blocks"], 129: 0x17, 8: 4, 6: 0}
    assert {at: int.from_bytes(one[at : at + (4 if at in (80, 92, 96) else 2)], "little") for at in fields} == fields
    assert nand.broken() == []


def test_part_that_is_not_onfi_has_no_such_commands(nand):
    assert nand.open(**SMALL) is None
    bus = Bus(nand).reset()
    bus.command(0x90, 0x20)
    assert bus.read(4) != b"ONFI"
    for command in (0xEC, 0xEE, 0xEF):
        broken_by(nand, lambda command=command: bus.command(command), f"unknown command {command:02X}h")
    assert nand.mode(0) == -1


@pytest.mark.parametrize("wrong", range(8))
def test_wrong_copies_of_the_parameter_page_are_wrong_and_the_majority_is_right(nand, wrong):
    bus = bus_of(nand)
    right = parameters(bus)[:256]
    nand.set_part_faults(PartFaults(copies=wrong))
    page = parameters(bus)
    assert [crc(c) for c in copies(page)] == [not wrong >> c & 1 for c in range(3)]
    assert majority(page) == right
    nand.set_part_faults(PartFaults(copies=wrong, same_place=1))
    assert crc(majority(parameters(bus))) == (bin(wrong).count("1") < 2)


def test_set_features_changes_the_mode_and_a_reset_makes_it_0(nand):
    bus = bus_of(nand)
    assert get_mode(bus) == bytes(4) and nand.mode(0) == 0
    for mode in (5, 1, 4, 2, 3):
        set_mode(bus, mode)
        assert nand.mode(0) == mode and get_mode(at(bus, mode)) == bytes([mode, 0, 0, 0])
    at(bus, 0).command(0xFF)
    bus.ready()
    assert nand.mode(0) == 0 and nand.broken() == []


@pytest.mark.parametrize("mode", range(6))
def test_die_checks_the_times_of_its_mode(nand, mode):
    bus = bus_of(nand)
    set_mode(bus, mode)
    at(bus, mode)
    bus.program(0, pattern(1))
    bus.load(0)
    assert bus.read(FULL) == pattern(1) and nand.broken() == []
    for name in ("wp", "wc", "rp", "rc", "whr"):
        faster = MODES[name][mode] - 1
        bus = at(bus_of(nand), 0)
        set_mode(bus, mode)
        at(bus, mode).t[name] = faster
        bus.program(0, pattern(1))
        bus.load(0)
        after = bus.now + bus.t["wp"] + max(0, max(bus.t["ds"], bus.t["cls"]) - bus.t["wp"])  # WE# rises
        bus.command(0x70)
        bus.move(off=CLE | ALE)
        bus.now = after + bus.t["whr"]
        for _ in range(2):
            bus.move(off=RE)
            bus.wait(bus.t["rp"])
            bus.move(on=RE)
            bus.wait(max(bus.t["reh"], bus.t["rc"] - bus.t["rp"]))
        bus.wait(bus.t["rhw"])
        bus.command(0x70)
        told = {line.split(": ", 1)[1].split(",")[0] for line in nand.broken()}
        assert told == {"t" + name.upper()}, (name, told)


def test_reset_or_power_cut_forgets_the_mode(nand):
    bus = bus_of(nand)
    set_mode(bus, 5)
    nand.power_cut(1)
    assert nand.mode(0) == 0


def test_mode_that_the_part_has_not_is_named(nand):
    bus = bus_of(nand, part=Part(modes=0x0F))
    broken_by(nand, lambda: set_mode(bus, 4), "timing mode that the part has not")
    broken_by(nand, lambda: bus.command(0xEE, 0x10), "feature 10h")


def test_part_without_set_features_holds_the_times_of_its_highest_mode(nand):
    bus = bus_of(nand, part=Part(features=0, modes=0x1F))
    assert nand.mode(0) == 4 and parameters(bus)[8] == 0
    broken_by(nand, lambda: bus.command(0xEF), "unknown command EFh")


def test_faults_of_a_part_show(nand):
    bus = bus_of(nand)
    nand.set_part_faults(PartFaults(refuses=1))
    set_mode(bus, 5)
    assert nand.mode(0) == 0 and get_mode(bus) == bytes(4)
    nand.set_part_faults(PartFaults(noisy_from=4))
    set_mode(bus, 3)
    assert get_mode(at(bus, 3)) == b"\x03\0\0\0"
    set_mode(bus, 4)
    assert get_mode(at(bus, 4)) == b"\x14\x10\x10\x10"
    nand.set_part_faults(PartFaults(odd_die=1, pages=128, page_bytes=2048))
    page = at(bus, 0) and parameters(bus)
    nand.set_part_faults(None)
    assert page[80:84] != parameters(bus)[80:84] and nand.broken() == []


def test_parameter_page_says_how_often_a_page_may_be_programmed(nand):
    for faults, times in ((None, 1), (Faults(nop=4), 4)):
        assert parameters(bus_of(nand, faults=faults))[110] == times
