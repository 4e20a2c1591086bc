# SPDX-License-Identifier: Apache-2.0
"""Pages with many wrong bits: made, and left to the firmware."""

from cocotb_tests.system.pages import flip, layout
from opentxssd import Opcode, Status

REST = 120_000  # clocks in which firmware comes to an end with one page, its erase too


def rest(drive, clocks=REST):
    end = drive.clock + clocks
    while drive.clock < end:
        drive.step(end - drive.clock)


def one_chunk(count, chunk=3):
    return [count if n == chunk else 0 for n in range(8)]


def spoil(drive, row):
    """So many wrong bits that nobody can read the page any more."""
    flip(drive, row, [80] * layout(drive).chunks, row)


def unread(drive, lba):
    return drive.command(Opcode.READ, lba, 1, check=False).status == Status.MEDIA_ERROR
