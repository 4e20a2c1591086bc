# SPDX-License-Identifier: Apache-2.0
"""The drive's corrector (rtl/nand/otx_nand_corrector.sv, one channel) as a Python object over the C library of sim/ecc, and words with wrong bits for it.

A chunk of a page is 512 data bytes (chunk 7: and 24 spare bytes) and 13 of parity. The code is linear: what the corrector is asked depends on the wrong bits alone,
so words are made as places of wrong bits.
"""

import ctypes as c
import zlib

import bch_codec
import numpy as np
from models.bch_model import Bch

T, PARITY, DATA, SPARE = 8, 13, 512, 24
COVERED = 8 * DATA + 19  # bytes of a page that its CRC covers: the data and spare bytes 1 to 19


class Corrected(c.Structure):
    _fields_ = [
        ("failed", c.c_uint8),
        ("hits", c.c_uint8),
        ("count", c.c_uint8),
        ("reserved", c.c_uint8),
        ("clocks", c.c_uint32),
        ("sum", c.c_uint32),
        ("byte", c.c_uint16 * T),
        ("mask", c.c_uint8 * T),
    ]

    def fixes(self):
        return {self.byte[i]: self.mask[i] for i in range(self.hits)}


def length(chunk):
    """Bytes of a chunk with its parity."""
    return DATA + PARITY + (SPARE if chunk == 7 else 0)


def crc_effect(chunk, masks):
    """What {byte of the chunk: wrong bits} change in the CRC of the page."""
    page = bytearray(COVERED)
    for byte, mask in masks.items():
        if byte < DATA:
            page[DATA * chunk + byte] = mask
        elif chunk == 7 and DATA < byte < DATA + 20:
            page[8 * DATA + byte - DATA - 1] = mask
    return zlib.crc32(page) ^ zlib.crc32(bytes(COVERED))


class Corrector:
    def __init__(self):
        self.lib = bch_codec.built("corrector", "libotx_corrector.so")
        self.lib.otx_corrector_run.restype = c.c_size_t
        self.lib.otx_corrector_run.argtypes = [c.c_void_p, c.c_void_p, c.c_size_t, c.c_uint32, c.c_uint64, c.c_void_p]
        model, x, rows = Bch(13, T), 1, []
        for _ in range(8 * length(7)):  # the remainder of x^e, e = 0 is the last bit of the parity
            rows.append(list(x.to_bytes(PARITY, "big")))
            x <<= 1
            if x >> model.bits:
                x ^= model.generator
        self.powers = np.array(rows, np.uint8)

    def remainders(self, chunks, places):
        """13 bytes for each word: `chunks` (n), `places` (n, k) of wrong bits, counted from the start of the chunk."""
        ends = np.array([8 * length(k) - 1 for k in range(8)])[chunks]
        return np.bitwise_xor.reduce(self.powers[ends[:, None] - places], axis=1)

    def run(self, chunks, remainders, stall=0, seed=1):
        chunks, remainders = np.ascontiguousarray(chunks, np.uint8), np.ascontiguousarray(remainders, np.uint8)
        results = (Corrected * len(chunks))()
        done = self.lib.otx_corrector_run(remainders.ctypes.data, chunks.ctypes.data, len(chunks), stall, seed, c.addressof(results))
        assert done == len(chunks), f"word {done} was not answered as the head of otx_nand_corrector.sv says"
        return results


def random_places(rng, chunks, count):
    """(n, count) different places in each chunk; `rng`: numpy's Generator."""
    bits = np.array([8 * length(k) for k in range(8)])[chunks][:, None]
    places = np.sort((rng.random((len(chunks), count)) * bits).astype(np.int64), axis=1)
    while (twice := np.diff(places, axis=1, prepend=-1) == 0).any():
        places[twice] = (rng.random(places.shape) * bits).astype(np.int64)[twice]
        places.sort(axis=1)
    return places


def masks(places):
    """{byte: wrong bits}; place p is bit 7 - p % 8 of byte p // 8."""
    out = {}
    for p in places:
        out[int(p) // 8] = out.get(int(p) // 8, 0) | 0x80 >> int(p) % 8
    return out
