# SPDX-License-Identifier: Apache-2.0
"""The drive's corrector (rtl/nand/otx_nand_corrector.sv, one channel) as a Python object over the C library of sim/ecc,
and words with wrong bits for it.

A chunk of a page is 512 data bytes (the last one: and 24 spare bytes) and 13 of parity, or with t = 24 1,024 and 42.
The code is linear: what the corrector is asked depends on the wrong bits alone, so words are made as places of wrong
bits.
"""

import ctypes as c
import zlib

import numpy as np

from cocotb_tests.bench import bch_codec
from cocotb_tests.models.bch_model import Bch
from opentxssd.facts import BLOCK, NUMBER

PAGE, SPARE = BLOCK, NUMBER["FIELD_BYTES"]
COVERED = PAGE + 19  # bytes of a page that its CRC covers: the data and spare bytes 1 to 19
CODES = {8: (13, 512), 24: (14, 1024)}  # t: m, data bytes of a chunk


class Corrected(c.Structure):
    """One answer; `sized(t)` is that of a corrector of t bits."""

    def fixes(self):
        return {self.byte[i]: self.mask[i] for i in range(self.hits)}


def sized(t):
    fields = [
        ("failed", c.c_uint8),
        ("hits", c.c_uint8),
        ("count", c.c_uint8),
        ("reserved", c.c_uint8),
        ("clocks", c.c_uint32),
        ("sum", c.c_uint32),
    ]
    fields += [("byte", c.c_uint16 * t), ("mask", c.c_uint8 * t)]
    return type(f"Corrected{t}", (Corrected,), {"_fields_": fields})


class Corrector:
    def __init__(self, t=8):
        self.t, (self.m, self.data) = t, CODES[t]
        self.chunks, self.parity = PAGE // self.data, self.m * t // 8
        self.lengths = np.array([self.length(k) for k in range(self.chunks)])
        self.result = sized(t)
        self.lib = bch_codec.built(f"corrector_t{t}", "libotx_corrector.so", f"T={t}")
        self.lib.otx_corrector_run.restype = c.c_size_t
        self.lib.otx_corrector_run.argtypes = [c.c_void_p, c.c_void_p, c.c_size_t, c.c_uint32, c.c_uint64, c.c_void_p]
        model, x, rows = Bch(self.m, t), 1, []
        for _ in range(8 * int(self.lengths[-1])):  # the remainder of x^e, e = 0 is the last bit of the parity
            rows.append(list(x.to_bytes(self.parity, "big")))
            x <<= 1
            if x >> model.bits:
                x ^= model.generator
        self.powers = np.array(rows, np.uint8)

    def length(self, chunk):
        """Bytes of a chunk with its parity."""
        return self.data + self.parity + (SPARE if chunk == self.chunks - 1 else 0)

    def crc_effect(self, chunk, masks):
        """What {byte of the chunk: wrong bits} change in the CRC of the page."""
        page = bytearray(COVERED)
        for byte, mask in masks.items():
            if byte < self.data:
                page[self.data * chunk + byte] = mask
            elif chunk == self.chunks - 1 and self.data < byte < self.data + 20:
                page[PAGE + byte - self.data - 1] = mask
        return zlib.crc32(page) ^ zlib.crc32(bytes(COVERED))

    def remainders(self, chunks, places):
        """The bytes asked for each word: `chunks` (n), `places` (n, k) of wrong bits, counted from the start of the
        chunk.
        """
        ends = (8 * self.lengths - 1)[chunks]
        return np.bitwise_xor.reduce(self.powers[ends[:, None] - places], axis=1)

    def random_places(self, rng, chunks, count):
        """(n, count) different places in each chunk; `rng`: numpy's Generator."""
        bits = (8 * self.lengths)[chunks][:, None]
        places = np.sort((rng.random((len(chunks), count)) * bits).astype(np.int64), axis=1)
        while (twice := np.diff(places, axis=1, prepend=-1) == 0).any():
            places[twice] = (rng.random(places.shape) * bits).astype(np.int64)[twice]
            places.sort(axis=1)
        return places

    def most_clocks(self, chunk):
        """The head of otx_nand_corrector.sv."""
        width = 2 if self.t == 24 else 1  # bytes searched in a clock
        return -(-self.length(chunk) // width) + self.t * (self.t + 11) // 2 + 5

    def run(self, chunks, remainders, stall=0, seed=1):
        chunks, remainders = np.ascontiguousarray(chunks, np.uint8), np.ascontiguousarray(remainders, np.uint8)
        results = (self.result * len(chunks))()
        done = self.lib.otx_corrector_run(
            remainders.ctypes.data, chunks.ctypes.data, len(chunks), stall, seed, c.addressof(results)
        )
        assert done == len(chunks), f"word {done} was not answered as the head of otx_nand_corrector.sv says"
        return results


def masks(places):
    """{byte: wrong bits}; place p is bit 7 - p % 8 of byte p // 8."""
    out = {}
    for p in places:
        out[int(p) // 8] = out.get(int(p) // 8, 0) | 0x80 >> int(p) % 8
    return out
