# SPDX-License-Identifier: Apache-2.0
"""Pages of the whole drive's NAND: where a block's page is, what it holds, and bits of it changed."""

import ctypes
import random

from cocotb_tests.models.nand_page import Layout
from opentxssd import BLOCK
from opentxssd.facts import PageKind
from soc import geometry

DATA, LOG = PageKind.DATA, PageKind.LOG
LAYOUTS = {t: Layout(t) for t in (8, 24)}


def data(n):
    return random.Random(n).randbytes(BLOCK)


def shape(drive):
    return geometry.preset(drive.lib.otx_preset().decode())


def layout(drive):
    """How a page of this drive is divided into chunks."""
    return LAYOUTS[shape(drive).ecc_t]


def rows(drive):
    """All rows, die after die."""
    return range(shape(drive).raw_pages)


def place(drive, row):
    """(die, block, page)"""
    block, page = divmod(row, shape(drive).pages_per_block)
    return *divmod(block, shape(drive).blocks_per_way), page


def peek(drive, row, page):
    die, block, at = place(drive, row)
    drive.lib.otx_nand_peek(die, block * shape(drive).pages_per_block + at, page)


def pages(drive, kind):
    """{row: the page's bytes} of the programmed pages of that kind."""
    found, page = {}, ctypes.create_string_buffer(4096 + shape(drive).spare_bytes)
    for row in rows(drive):
        peek(drive, row, page)
        if page.raw[4097] == kind:
            found[row] = page.raw
    return found


def rows_of(drive, lba):
    """Rows in which this block was put, by the OOB."""
    return [row for row, page in pages(drive, DATA).items() if int.from_bytes(page[4102:4106], "little") == lba]


def flip(drive, row, counts, seed=1):
    """Wrong bits in each chunk of a page."""
    rng = random.Random(seed)
    die, block, page = place(drive, row)
    for chunk, count in enumerate(counts):
        for bit in rng.sample(layout(drive).bits(chunk), count):
            drive.lib.otx_nand_flip(die, block * shape(drive).pages_per_block + page, bit)


def put(drive, row, page):
    """All bytes of a page, as nobody's program leaves them."""
    was = ctypes.create_string_buffer(len(page))
    peek(drive, row, was)
    die, block, at = place(drive, row)
    for bit in range(8 * len(page)):
        if (was.raw[bit // 8] ^ page[bit // 8]) >> bit % 8 & 1:
            drive.lib.otx_nand_flip(die, block * shape(drive).pages_per_block + at, bit)
