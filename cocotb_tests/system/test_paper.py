# SPDX-License-Identifier: Apache-2.0
"""Preset paper, 32 GiB on 64 dies with its processor: it is formatted, serves, and starts after a power cut (LONG=1).

A first format reads the factory marks of 163,840 blocks, which nobody has waited for. So the NAND is what a first
format leaves that is cut when it has done that: the bad-block table of no bad blocks, in both copies, and nothing else.
"""

import ctypes
import os

import pytest

from cocotb_tests.models.nand_page import stored
from opentxssd import BLOCK, Drive
from opentxssd.facts import PageKind
from soc import geometry

PRESET, TABLE_BLOCK = "paper", 2  # FTL_FIRST_TABLE_BLOCK: of the first die and of the last one
MOST_CLOCKS = 30_000_000  # of a start after a power cut
pytestmark = pytest.mark.skipif(os.environ.get("LONG") != "1", reason="minutes; LONG=1 runs it")


def put(drive, die, row, page):
    """All bytes of a page that is blank."""
    for bit in range(8 * len(page)):
        if not page[bit // 8] >> bit % 8 & 1:
            drive.lib.otx_nand_flip(ctypes.c_uint32(die), ctypes.c_uint32(row), ctypes.c_uint32(bit))


def put_table(drive):
    """No block is bad."""
    g = geometry.preset(PRESET)
    for die in (0, g.dies - 1):
        for part in range(-(-g.dies * -(-g.blocks_per_way // 32) * 4 // BLOCK)):
            page = stored(bytes(BLOCK), kind=PageKind.BBT, generation=1, lpn=part, sequence=1)
            put(drive, die, TABLE_BLOCK * g.pages_per_block + part, page)


def block(n):
    return n.to_bytes(8, "little") * (BLOCK // 8)


def test_a_drive_of_preset_paper_is_formatted_serves_and_starts_after_a_power_cut():
    drive = Drive(PRESET, boot=False)
    put_table(drive)
    drive.boot()
    print(drive.clock, drive.uart)
    assert "otx: formatted" in drive.uart and " bad" not in drive.uart
    last = drive.lbas - 1
    drive.write(5, block(1) + block(2), fua=1)
    drive.write(last, block(3), txid=4)
    drive.write(last // 2, block(4), txid=4)
    assert drive.read(last) == bytes(BLOCK)
    drive.commit(4)
    assert drive.read(last) == block(3) and drive.read(last // 2) == block(4)
    assert drive.read(5, 2) == block(1) + block(2)
    drive.write(last - 9, block(5), txid=4)
    drive.power_cut(seed=1)
    drive.power_on()
    print(drive.clock, drive.uart)
    assert "otx: mounted generation 2" in drive.uart and drive.clock < MOST_CLOCKS
    assert drive.read(last) == block(3) and drive.read(last // 2) == block(4)
    assert drive.read(5, 2) == block(1) + block(2)
    assert drive.read(last - 9) == bytes(BLOCK)
