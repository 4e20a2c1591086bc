# SPDX-License-Identifier: Apache-2.0
"""The whole drive of preset quick: while the entries of a WRITE come into the log, firmware is told of an end of the
log behind all of them, never of one between two: recovery keeps or drops them as a whole. Around the log alone:
test_commit_log.py; what firmware does with it: test_groups.c."""

import pytest

from cocotb_tests.system.registers import Registers
from opentxssd import BLOCK, Drive, Opcode, Status

pytestmark = pytest.mark.forked
MOST = 32


def test_no_end_of_the_log_is_inside_a_write():
    drive = Drive("quick")
    registers = Registers(drive)
    drive.write(0, bytes(BLOCK))
    drive.flush()
    drive.step(100_000)  # firmware gives blocks
    with registers.held():
        assert registers.read("alloc_left") >= MOST
        before = registers.wide("log_head")
        tag = drive.submit(Opcode.WRITE, 8, MOST, bytes(BLOCK * MOST))
        ends, marks = [], []
        while tag not in drive.done or marks[-1] <= before:  # its entries come when it is done
            ends.append(registers.wide("log_head"))
            marks.append(registers.wide("log_mark"))
    assert drive.wait(tag).status == Status.SUCCESS
    assert set(ends) == {before, before + MOST}
    amid = [mark for end, mark in zip(ends, marks, strict=True) if before < mark < end]
    assert amid, "no program of it ended before the last entry"
    drive.close()
