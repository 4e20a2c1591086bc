# SPDX-License-Identifier: Apache-2.0
"""The whole drive: who its NAND is, the timing mode it works in, and what it refuses, in words. Preset rich (four dies,
an ONFI part that can do all there is); tiny, for it starts sooner in mode 0; quick, for what is read and not how fast.
"""

import ctypes

import pytest

from cocotb_tests.bench.nand_pins import Part
from opentxssd import BLOCK, Drive
from opentxssd.faults import Dead, Faults, PartFaults

PAGE = 4096 + 192
ABLE = "cache read, cache program, multi-plane, enhanced status, read retry"
pytestmark = pytest.mark.forked
K9F8G08 = bytes.fromhex("ecd310a664")


def data(n):
    return n.to_bytes(8, "little") * (BLOCK // 8)


def works(drive):
    for lba in range(8):
        drive.write(lba, data(lba + 1))
    assert drive.idle()
    for lba in range(8):
        assert drive.read(lba) == data(lba + 1)


def read_clocks(drive):
    begin = drive.clock
    drive.read(3)
    return drive.clock - begin


def named(drive, clocks=3_000_000):
    """Lets it start until it has said in a line what its NAND is."""
    while "\n" not in drive.uart:
        assert drive.clock < clocks
        assert not drive.boot_some(2_000)
    return drive


def refused(words, clocks=3_000_000, change=None, **faults):
    """A drive that stays closed and says so in one line; NAND is not touched."""
    drive = Drive("rich", boot=False, **faults)
    if change:
        change(drive.lib)
    assert named(drive, clocks).uart == f"otx: not ready: {words}\n"
    assert drive.lib.otx_nand_count(1) == drive.lib.otx_nand_count(2) == 0
    return drive


def test_onfi_drive_works_in_mode_5_also_after_a_power_cut():
    drive = Drive("rich")
    assert drive.modes() == [5] * 4
    assert drive.uart.startswith(
        f"otx: nand OPENTXSSD NAND MODEL, timing mode 5; lists set features, {ABLE}\notx: formatted\n"
    )
    works(drive)
    assert read_clocks(drive) < 2 * PAGE + 1_500
    drive.power_cut(1)
    drive.power_on(boot=False)
    assert drive.modes() == [0] * 4
    drive.boot()
    assert drive.modes() == [5] * 4 and drive.read(7) == data(8)


FIRST = "; first copy of the parameter page is wrong"


@pytest.mark.parametrize(("copies", "says"), [(1, FIRST), (3, FIRST), (7, "; parameter page by majority"), (6, "")])
def test_a_parameter_page_with_wrong_copies_is_read_all_the_same(copies, says):
    drive = Drive("quick", part_faults=PartFaults(copies=copies))
    assert drive.uart.startswith(f"otx: nand OPENTXSSD NAND MODEL, timing mode 5; lists set features{says}\n")


LEFT = "timing mode 0 because the dies do not work with timing mode 5"


def test_a_mode_that_does_not_work_is_left_for_mode_0():
    drive = Drive("tiny", part_faults=PartFaults(noisy_from=5))
    assert LEFT in drive.uart and drive.modes() == [0]
    works(drive)
    assert read_clocks(drive) > 10 * PAGE


def test_a_mode_that_a_part_refuses_is_left_for_mode_0():
    drive = Drive("quick", part_faults=PartFaults(refuses=1))
    assert LEFT in drive.uart
    works(drive)


def test_parts_without_set_features_keep_their_mode():
    drive = Drive("tiny", boot=False)
    drive.lib.otx_nand_set_part(ctypes.byref(Part(features=0, modes=0x0F)))
    drive.boot()
    assert drive.uart.startswith("otx: nand OPENTXSSD NAND MODEL, timing mode 3\n") and drive.modes() == [3]
    works(drive)


@pytest.mark.parametrize(
    "faults", [PartFaults(copies=7, same_place=1), PartFaults(blank_page=1)], ids=["wrong", "blank"]
)
def test_an_unreadable_parameter_page_is_refused(faults):
    refused("die at channel 0, way 0: its parameter page is unreadable", part_faults=faults)


def test_a_part_that_the_drive_is_not_built_for_is_refused():
    words = (
        "the drive is built for another part than OPENTXSSD NAND MODEL: pages of {} + 224 bytes, {} in a block, 28 "
        "blocks, 1 LUN"
    )
    refused(words.format("2,048", 16), part_faults=PartFaults(page_bytes=2048))
    refused(words.format("4,096", 128), part_faults=PartFaults(pages=128))

    def other(lib):
        lib.otx_nand_set_part(None)
        lib.otx_nand_set_id(K9F8G08)

    refused(
        "the drive is built for another part than Samsung K9F8G08U0M: pages of 4,096 + 128 bytes, 64 in a block, "
        "4,096 blocks, 1 LUN",
        change=other,
    )


def test_an_unknown_part_is_refused():
    refused("die at channel 0, way 0: unknown part, ID 4f 54 58 4e 31", change=lambda lib: lib.otx_nand_set_part(None))


def test_dies_of_different_parts_are_refused():
    refused("die at channel 1, way 0 is another part than die 0", part_faults=PartFaults(odd_die=3))


@pytest.mark.parametrize("kind", list(Dead))
@pytest.mark.parametrize(("die", "place"), [(0, "channel 0, way 0"), (3, "channel 1, way 1")])
def test_a_die_that_does_not_answer_is_named(kind, die, place):
    refused(f"die at {place} does not answer", faults=Faults(dead_dies=1 << die, dead_kind=kind))
