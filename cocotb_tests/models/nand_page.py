# SPDX-License-Identifier: Apache-2.0
"""A page as it must be on the die (docs/interfaces.md, "NAND channel"), with parity made by bchlib: nothing is shared with the RTL."""

import bchlib
from models.nand_host import oob

DATA, CHUNK, CHUNKS, PARITY, COVERED_SPARE = 4096, 512, 8, 13, 24
CODE = bchlib.BCH(8, prim_poly=0x201B)


def inverse(data):
    return bytes(b ^ 0xFF for b in data)


def parity(data):
    """Parity of the inverted data, inverted."""
    return inverse(CODE.encode(inverse(data)))


def stored(data, **fields):
    """All 4,224 bytes of a page with this data and these fields of its OOB."""
    covered = data + oob(data, **fields).ljust(COVERED_SPARE, b"\xff")
    ends = [*range(CHUNK, DATA, CHUNK), len(covered)]
    return covered + b"".join(parity(covered[CHUNK * i : end]) for i, end in enumerate(ends))


def bits(chunk):
    """The numbers of all stored bits of a chunk in its page: data, for chunk 7 spare bytes 0 to 23, parity."""
    first = DATA + COVERED_SPARE + PARITY * chunk
    places = [*range(CHUNK * chunk, CHUNK * (chunk + 1)), *(range(DATA, DATA + COVERED_SPARE) if chunk == CHUNKS - 1 else ()), *range(first, first + PARITY)]
    return [8 * byte + bit for byte in places for bit in range(8)]
