# SPDX-License-Identifier: Apache-2.0
"""The whole drive of preset quick on a part with paired pages (`mlc`): power that fails in the program of an upper page
takes the lower page, too, which was durable. The drive does not promise to survive that, and this is how it does not
(docs/verification.md, "Known gaps"); on a part without pairs the same cut loses nothing."""

from pathlib import Path

import pytest

from cocotb_tests.system.pages import data
from opentxssd import BLOCK, Drive, Opcode, Status, Torn
from opentxssd.faults import Cut, CutErase, Faults

ROOT = Path(__file__).resolve().parent.parent.parent

pytestmark = pytest.mark.forked
WRITES = 9  # durable, one after the other, each with a log page


def after_cut(mlc, kind):
    """WRITES after one write, and a cut in the next page of that kind; what each of WRITES then reads as: 'kept',
    'gone' (zeroes) or the status.
    """
    drive = Drive("quick", faults=Faults(seed=1, mlc=mlc))
    drive.write(60, data(60), fua=1)
    for lba in range(WRITES):
        drive.write(lba, data(lba), fua=1)
    drive.submit(Opcode.WRITE, 50, 1, data(50), fua=1)
    for _ in range(4_000):
        if kind in drive.under_way():
            break
        drive.step(20)
    assert kind in drive.under_way()
    drive.power_cut(7, program=Cut.PAIRED, erase=CutErase.ANY)
    drive.power_on()
    found = []
    for lba in range(WRITES):
        done = drive.command(Opcode.READ, lba, 1, check=False)
        known = {data(lba): "kept", bytes(BLOCK): "gone"}
        found.append(known[done.data[:BLOCK]] if done.status == Status.SUCCESS else done.status.name)
    drive.write(0, data(0), fua=1, check=False)
    assert drive.read(0) == data(0)
    uart = drive.uart
    drive.power_cut()
    return found, uart


# its page of data is the third before the one that is cut, an even page of its block
LOWER = WRITES - 3
KEPT = ["kept"] * WRITES


@pytest.mark.parametrize("kind", [Torn.DATA, Torn.LOG])
def test_without_pairs_nothing_durable_is_lost(kind):
    found, uart = after_cut(0, kind)
    assert found == KEPT and "read-only" not in uart


def test_with_pairs_a_cut_in_data_makes_the_lower_page_unreadable_and_says_so():
    found, uart = after_cut(1, Torn.DATA)
    assert found == KEPT[:LOWER] + ["MEDIA_ERROR"] + KEPT[LOWER + 1 :] and "read-only" not in uart


def test_with_pairs_a_cut_in_the_log_takes_one_copy_of_a_page_and_loses_nothing():
    found, uart = after_cut(1, Torn.LOG)
    assert found == KEPT and "read-only" not in uart
