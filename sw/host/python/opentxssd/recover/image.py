# SPDX-License-Identifier: Apache-2.0
"""The image file of a simulated drive (docs/interfaces/image-file.md), opened to read only, and its pages as a NAND
channel would answer with them (docs/interfaces/nand-channel.md).

ImageError: the file is none that this program understands. FileError: there is no such file, it is none that can be
read, or a drive that runs has it.
"""

import fcntl
import os
import stat
import zlib
from collections import namedtuple

from opentxssd.facts import BLOCK, Format, PageStatus, layout, magic, unpack
from opentxssd.recover.code import FIELDS, PageCode

HEAD = sum(bits for _, bits in layout("ImageHeader")) // 8
BLOCK_BYTES = sum(bits for _, bits in layout("ImageBlock")) // 8
OOB_BYTES = sum(bits for _, bits in layout("Oob")) // 8
CRC_AT = [field for field, _ in layout("Oob")].index("crc")
CRC_AT = sum(bits for _, bits in layout("Oob")[:CRC_AT]) // 8
INVERTED = bytes(255 - n for n in range(256))
CRC_STEPS = [zlib.crc32(bytes([n])) ^ zlib.crc32(b"\0") for n in range(256)]  # of a register over zeroes


class FileError(Exception):
    """One line of words."""


class ImageError(Exception):
    """One line of words."""


# Where a page is.
Place = namedtuple("Place", "die block page")
# A page that was read: a PageStatus, the fields of its OOB, its data. Of a BLANK one the fields mean nothing.
Page = namedtuple("Page", "status kind generation lpn sequence data")


def aligned(n):
    """Each part of the file begins at a multiple of the head's size."""
    return -(-n // HEAD) * HEAD


def keys(row):
    """What the data of a scrambled page is stored XOR (rtl/nand/otx_nand_scrambler.sv)."""
    state, found = row << 8 | 0x4B, bytearray()
    for _ in range(16 + BLOCK):
        found.append(state & 0xFF)
        state = state >> 8 ^ CRC_STEPS[state & 0xFF]
    return bytes(found[16:])


class Image:
    """`code` and `scrambled` say how pages are stored: who knows the drive sets them before `read`."""

    def __init__(self, path):
        self.path, self.file = path, -1
        self.code, self.scrambled = None, False
        try:
            self.file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            fcntl.flock(self.file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FileError(f"{path}: in use by a drive that runs") from None
        except OSError as e:
            raise FileError(f"{path}: {e.strerror}") from None
        found = os.fstat(self.file)
        if not stat.S_ISREG(found.st_mode):
            raise FileError(f"{path}: not a regular file")
        self._head(found.st_size)

    def close(self):
        if self.file >= 0:
            os.close(self.file)
        self.file = -1

    def _head(self, size):
        raw = os.pread(self.file, HEAD, 0)
        begin = raw[: len(magic("ImageHeader"))]
        if not begin or not magic("ImageHeader").startswith(begin):
            raise ImageError(f"{self.path}: not an image of a drive")
        if len(raw) < HEAD:
            raise ImageError(f"{self.path}: image is cut short: {size} bytes, its head alone has {HEAD}")
        head = unpack("ImageHeader", raw)
        if head["version"] != Format.IMAGE:
            raise ImageError(
                f"{self.path}: image has version {head['version']}, this program reads version {Format.IMAGE}"
            )
        self.channels, self.ways, self.blocks, self.pages, page_bytes, self.spare = (
            head[n] for n in ("channels", "ways", "blocks", "pages", "page_bytes", "spare_bytes")
        )
        self.dies = self.channels * self.ways
        if not self.dies * self.blocks * self.pages or page_bytes != BLOCK or self.spare < FIELDS:
            raise ImageError(
                f"{self.path}: no geometry of a drive: {self.channels} channels x {self.ways} ways x {self.blocks} "
                f"blocks x {self.pages} pages of {page_bytes}+{self.spare} bytes"
            )
        self.way_bits, self.block_bits, self.page_bits = (
            (n - 1).bit_length() for n in (self.ways, self.blocks, self.pages)
        )
        self.row_bytes, blocks = BLOCK + self.spare, self.dies * self.blocks
        self.cells_at = HEAD + aligned(4 * self.dies) + aligned(BLOCK_BYTES * blocks) + 2 * aligned(blocks * self.pages)
        right = self.cells_at + aligned(blocks * self.pages * self.row_bytes)
        if size != right:
            what = "cut short" if size < right else "too long"
            raise ImageError(f"{self.path}: image is {what}: {size} bytes, should be {right}")

    # Numbers of blocks and pages (docs/interfaces/geometry.md)

    def block_id(self, die, block):
        channel, way = divmod(die, self.ways)
        return (channel << self.way_bits | way) << self.block_bits | block

    def ppn(self, place):
        return self.block_id(place.die, place.block) << self.page_bits | place.page

    def place(self, ppn):
        """None: there is no such page."""
        page, block = ppn & self.pages - 1, ppn >> self.page_bits & (1 << self.block_bits) - 1
        die = ppn >> self.page_bits >> self.block_bits
        channel, way = die >> self.way_bits, die & (1 << self.way_bits) - 1
        if channel >= self.channels or way >= self.ways or block >= self.blocks:
            return None
        return Place(channel * self.ways + way, block, page)

    def places(self, block_id):
        """All pages of a block that there is."""
        first = self.place(block_id << self.page_bits)
        return [first._replace(page=n) for n in range(self.pages)] if first else []

    # Pages

    def at(self, place):
        """Where in the file a page begins."""
        number = (place.die * self.blocks + place.block) * self.pages + place.page
        return self.cells_at + number * self.row_bytes

    def cells(self, place):
        """The stored bytes of a page."""
        return os.pread(self.file, self.row_bytes, self.at(place)).translate(INVERTED)

    def raw_kinds(self, die, block):
        """The kinds of a block's pages as they are stored, wrong bits and all; none of a block that nobody wrote."""
        begin, size = self.at(Place(die, block, 0)), self.pages * self.row_bytes
        try:
            if os.lseek(self.file, begin, os.SEEK_DATA) >= begin + size:
                return []
        except OSError:  # a hole to the end
            return []
        raw = os.pread(self.file, size, begin)
        return [255 - kind for kind in raw[BLOCK + 1 :: self.row_bytes]]

    def read(self, place, oob=False):
        """The page; with `oob` as READ_OOB: only its last chunk counts, and there is no data."""
        raw = self.cells(place)
        first = self.code.chunks - 1 if oob else 0
        if all(self.code.zeroes(raw, chunk) <= self.code.t for chunk in range(first, self.code.chunks)):
            return Page(PageStatus.BLANK, 0, 0, 0, 0, b"")
        page = bytearray(raw)
        whole = all(self.code.correct(page, chunk) is not None for chunk in range(first, self.code.chunks))
        data, spare = b"" if oob else bytes(page[:BLOCK]), bytes(page[BLOCK : BLOCK + OOB_BYTES])
        if self.scrambled and data:
            row = place.block << self.page_bits | place.page
            data = (int.from_bytes(data) ^ int.from_bytes(keys(row))).to_bytes(BLOCK)
        fields = unpack("Oob", spare)
        if not oob:
            whole = whole and zlib.crc32(spare[1:CRC_AT], zlib.crc32(data)) == fields["crc"]
        status = PageStatus.OK if whole else PageStatus.CRC
        return Page(status, *(fields[n] for n in ("kind", "generation", "lpn", "sequence")), data)


def ways_to_store(image):
    """(PageCode, scrambled) of every kind of drive that such a part can be in."""
    codes = [code for code in map(PageCode, (8, 24)) if code.spare <= image.spare]
    return [(code, scrambled) for code in codes for scrambled in (False, True)]
