# SPDX-License-Identifier: Apache-2.0
"""The whole drive on NAND that fails: blocks bad from the factory, wrong bits in every page, programs and erases that
fail; filled again and again, with power cuts.
Nothing that was acknowledged is lost, and blocks that failed are known after a restart. What hardware and firmware do
about it: docs/decisions/011-failing-nand.md."""

import re
from pathlib import Path

import pytest

from cocotb_tests.bench.amount import amount
from cocotb_tests.system.filling import Filling, data
from opentxssd import BLOCK, Opcode, Status
from opentxssd.faults import Fault, Faults, Mark, Place

ROOT = Path(__file__).resolve().parent.parent.parent

pytestmark = pytest.mark.forked
BER = 10**8  # 1e-4 per bit and read


def bad_blocks(drive):
    """What the last mount reported."""
    found = re.findall(r"otx: (\d+) blocks? (?:is|are) bad", drive.uart)
    return int(found[-1]) if found else 0


def test_fillings_of_a_drive_with_every_fault_lose_nothing():
    f = Filling(
        "quick",
        5,
        bad_ppm=20_000,
        mark=Mark.EITHER,
        rule_marks=1,
        ber=BER,
        program_fail_ppm=5_000,
        program_fail_after=1,
        erase_fail_ppm=30_000,
        erase_fail_after=2,
    )
    at_start, bad = bad_blocks(f.drive), []
    for cycle in range(amount(4, 6)):
        written = sum(f.fill() for _ in range(16))  # what the NAND holds, once a cycle
        assert written == 16 * f.blocks
        f.restart(cut=cycle % 2)
        bad.append(bad_blocks(f.drive))
        f.verify()
    seen = f.drive.faults_seen()
    print(f"bad blocks {at_start} from the factory, then {bad}; {seen}")
    assert seen["program_fails"] > 2 and seen["flips"] > 2_000 and bad[-1] > at_start and bad == sorted(bad)


# die and block of the anchors, in their order (docs/interfaces.md, "Anchors")
ANCHORS = {"quick": [(0, b) for b in (0, 1, 8, 9, 10, 11)], "quick4": [(die, b) for b in (0, 1, 5) for die in (0, 3)]}


@pytest.mark.parametrize("preset", ANCHORS)
def test_anchors_that_fail_are_replaced_until_one_is_left_and_the_drive_is_read_only(preset):
    anchors = ANCHORS[preset]
    places = [Place(Fault.ERASE_FAILS, *anchors[1]), Place(Fault.ERASE_FAILS, *anchors[3])] + [
        Place(Fault.PROGRAM_FAILS, *anchors[2], page) for page in range(3)
    ]
    f = Filling(preset, 7, blocks=16, places=places)
    for n in range(5):  # the roots are in anchors 0, 4 and 5
        assert f.fill() == 16
        f.restart(cut=n % 2)
        f.verify()
        assert bad_blocks(f.drive) == 3
    assert f.drive.faults_seen()["erase_fails"] == 2 and f.drive.faults_seen()["program_fails"] == 3
    f.drive.set_faults(Faults(seed=7, places=[Place(Fault.ERASE_FAILS, *at) for at in anchors]))
    assert f.fill() == 16
    f.drive.write(3, data(3, 99), txid=5)  # stays open
    for cut in range(2):  # the second time the table knows it
        f.drive.power_cut(cut)
        f.drive.power_on()
        assert f.drive.uart.endswith(
            "\notx: read-only: no block for a new root is left that can be erased and written; the old root still "
            "counts\notx: ready\n"
        )
        f.verify()
        programs = f.drive.lib.otx_nand_count(1)
        refused = [
            f.drive.write(3, data(3, 9), check=False, fua=1),
            f.drive.write(4, data(4, 9), txid=1, check=False),
            f.drive.trim(5, check=False),
        ]
        refused += [f.drive.write_zeroes(5, check=False), f.drive.begin(2, check=False)]
        assert [done.status for done in refused] == [Status.READ_ONLY] * 5
        assert [f.drive.commit(n, check=False).status for n in (2, 5)] == [Status.TX_INVALID] * 2
        f.drive.flush()
        f.drive.recover()
        for _ in range(3):  # more writes than there are frames
            assert f.drive.write(0, bytes(32 * BLOCK), check=False).status == Status.READ_ONLY
        f.verify()
        assert f.drive.idle() and f.drive.lib.otx_nand_count(1) == programs


def test_data_of_a_failing_program_is_there_and_its_block_is_left():
    """All pages of some blocks fail: writes go on, the blocks' live pages move, and a restart knows the blocks."""
    places = [
        Place(Fault.PROGRAM_FAILS, 0, block, page)
        for block, page in [(18, 3), (19, 0), (23, 15), (24, 7), (37, 1), (37, 2), (38, 5), (41, 9), (42, 4)]
    ]
    f = Filling("quick", 3, places=places)
    assert [f.fill() for _ in range(3)] == [f.blocks] * 3
    assert f.drive.idle()
    f.drive.step(20_000)  # firmware writes the last one into its table
    fails = f.drive.faults_seen()["program_fails"]
    f.restart(cut=True)
    f.verify()
    assert fails >= 4 and bad_blocks(f.drive) >= 4
    assert [f.fill() for _ in range(3)] == [f.blocks] * 3
    assert f.drive.faults_seen()["program_fails"] <= len(places), "a bad block was used again: a page failed twice"
    f.verify()


def test_commit_and_flush_hold_what_they_promise_over_failing_programs():
    f = Filling("quick", 9, program_fail_ppm=60_000)
    for round_ in range(12):
        status, new = f.write(round_ * 8 % 40, 8, txid=2)
        assert status == Status.SUCCESS and f.drive.commit(2).status == Status.SUCCESS
        for at, version in new.items():
            f.version[at] = version
        status, new = f.write(40 + round_, 1, fua=1)
        assert status == Status.SUCCESS
        f.version[40 + round_] = new[40 + round_]
        f.write(56, 8, txid=3)
        f.drive.flush()
        f.restart(cut=True)
        f.verify()
    assert f.drive.faults_seen()["program_fails"] > 10


def test_a_drive_whose_every_page_fails_says_so_and_goes_on_reading():
    f = Filling("quick", 1)
    status, new = f.write(5, 3, fua=1)
    assert status == Status.SUCCESS
    f.drive.set_faults(Faults(seed=1, program_fail_ppm=1_000_000))
    assert f.drive.write(9, data(9, 1), check=False, fua=1).status == Status.WRITE_FAULT
    assert f.drive.write(9, data(9, 1), check=False).status == Status.READ_ONLY
    assert f.drive.read(5, 3) == b"".join(data(n, 1) for n in (5, 6, 7))
    assert f.drive.command(Opcode.FLUSH, check=False).status == Status.WRITE_FAULT
    f.drive.set_faults(None)
    f.drive.power_cut(1)
    f.drive.power_on()
    assert f.drive.read(5, 3) == b"".join(data(n, 1) for n in (5, 6, 7))
    assert f.drive.write(9, data(9, 2), check=False, fua=1).status == Status.SUCCESS
