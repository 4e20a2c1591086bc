# SPDX-License-Identifier: Apache-2.0
"""A page as it must be on the die (docs/interfaces.md, "NAND channel"), with parity made by bchlib: nothing is shared with the RTL."""

from operator import xor

import bchlib
from models.nand_host import oob

DATA, CHUNK, CHUNKS, PARITY, COVERED_SPARE = 4096, 512, 8, 13, 24
CODE = bchlib.BCH(8, prim_poly=0x201B)


def inverse(data):
    return bytes(b ^ 0xFF for b in data)


def parity(data):
    """Parity of the inverted data, inverted."""
    return inverse(CODE.encode(inverse(data)))


def keys(row):
    """What the data of a page is XORed with when it is scrambled: low bytes of a CRC-32 register over zeroes, from {row, 4Bh}, 16 bytes on."""
    state, found = row << 8 | 0x4B, bytearray()
    for _ in range(16 + DATA):
        found.append(state & 0xFF)
        for _ in range(8):
            state = state >> 1 ^ (0xEDB88320 if state & 1 else 0)
    return bytes(found[16:])


def scrambled(data, row):
    return bytes(map(xor, data, keys(row)))


def stored(data, row=None, **fields):
    """All 4,224 bytes of a page with this data and these fields of its OOB; of a scrambled one with its row."""
    covered = (data if row is None else scrambled(data, row)) + oob(data, **fields).ljust(COVERED_SPARE, b"\xff")
    ends = [*range(CHUNK, DATA, CHUNK), len(covered)]
    return covered + b"".join(parity(covered[CHUNK * i : end]) for i, end in enumerate(ends))


def bits(chunk):
    """The numbers of all stored bits of a chunk in its page: data, for chunk 7 spare bytes 0 to 23, parity."""
    first = DATA + COVERED_SPARE + PARITY * chunk
    places = [*range(CHUNK * chunk, CHUNK * (chunk + 1)), *(range(DATA, DATA + COVERED_SPARE) if chunk == CHUNKS - 1 else ()), *range(first, first + PARITY)]
    return [8 * byte + bit for byte in places for bit in range(8)]
