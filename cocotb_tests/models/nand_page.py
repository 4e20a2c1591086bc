# SPDX-License-Identifier: Apache-2.0
"""A page as it must be on the die (docs/interfaces.md, "NAND channel"), with parity made by bchlib: nothing is shared
with the RTL.

`Layout(t)` is that of a drive that corrects t wrong bits in a chunk (8 or 24), on a part with `spare` spare bytes;
`stored` and `bits` are those of Layout(8).
"""

import struct
import zlib
from operator import xor

import bchlib

from opentxssd.facts import BLOCK, NUMBER

DATA, COVERED_SPARE = BLOCK, NUMBER["FIELD_BYTES"]
CHUNK, CHUNKS = 512, 8  # with t = 8


def oob(data, kind, generation, lpn, sequence):
    """The 20 spare bytes of a page, written without looking at the RTL."""
    fields = bytes([kind]) + struct.pack("<II", generation, lpn) + sequence.to_bytes(6, "little")
    return b"\xff" + fields + struct.pack("<I", zlib.crc32(data + fields))


def inverse(data):
    return bytes(b ^ 0xFF for b in data)


def keys(row):
    """What the data of a page is XORed with when it is scrambled: low bytes of a CRC-32 register over zeroes, from
    {row, 4Bh}, 16 bytes on.
    """
    state, found = row << 8 | 0x4B, bytearray()
    for _ in range(16 + DATA):
        found.append(state & 0xFF)
        for _ in range(8):
            state = state >> 1 ^ (0xEDB88320 if state & 1 else 0)
    return bytes(found[16:])


def scrambled(data, row):
    return bytes(map(xor, data, keys(row)))


class Layout:
    def __init__(self, t):
        self.t = t
        self.chunk, self.parity, self.spare, primitive = {8: (512, 13, 128, 0x201B), 24: (1024, 42, 224, 0x402B)}[t]
        self.chunks = DATA // self.chunk
        self.spare_used = COVERED_SPARE + self.chunks * self.parity  # written and read
        self.code = bchlib.BCH(t, prim_poly=primitive)
        assert self.code.ecc_bytes == self.parity

    def parity_of(self, data):
        """Parity of the inverted data, inverted."""
        return inverse(self.code.encode(inverse(data)))

    def stored(self, data, row=None, **fields):
        """All bytes of a page with this data and these fields of its OOB (spare bytes that are not used stay FFh); of a
        scrambled one with its row.
        """
        covered = (data if row is None else scrambled(data, row)) + oob(data, **fields).ljust(COVERED_SPARE, b"\xff")
        ends = [*range(self.chunk, DATA, self.chunk), len(covered)]
        whole = covered + b"".join(self.parity_of(covered[self.chunk * i : end]) for i, end in enumerate(ends))
        assert len(whole) == DATA + self.spare_used
        return whole.ljust(DATA + self.spare, b"\xff")

    def parity_bytes(self, chunk):
        """The numbers of these bytes in the page."""
        first = DATA + COVERED_SPARE + self.parity * chunk
        return range(first, first + self.parity)

    def bits(self, chunk):
        """The numbers of all stored bits of a chunk in its page: data, for the last chunk spare bytes 0 to 23,
        parity."""
        fields = range(DATA, DATA + COVERED_SPARE) if chunk == self.chunks - 1 else ()
        places = [*range(self.chunk * chunk, self.chunk * (chunk + 1)), *fields, *self.parity_bytes(chunk)]
        return [8 * byte + bit for byte in places for bit in range(8)]


SHORT = Layout(8)
stored, bits = SHORT.stored, SHORT.bits
