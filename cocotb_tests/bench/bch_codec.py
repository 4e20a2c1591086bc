# SPDX-License-Identifier: Apache-2.0
"""The ECC blocks of rtl/ecc as a Python object, over the C library of sim/ecc (built when needed)."""

import ctypes as c
import fcntl
import os
import subprocess
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
FIRST, LAST, PARITY = 1 << 12, 1 << 13, 1 << 13
CLEAN, FIXED, FAILED = 0, 1, 2


class Result(c.Structure):
    _fields_ = [
        ("status", c.c_uint8),
        ("chunk", c.c_uint8),
        ("erased", c.c_uint8),
        ("hits", c.c_uint8),
        ("count", c.c_uint32),
        ("ended", c.c_uint32),
        ("fixed", c.c_uint32),
        ("byte", c.c_uint16 * 64),
        ("mask", c.c_uint8 * 64),
    ]

    def fixes(self):
        """{byte: mask}, or None when the word cannot be corrected."""
        return None if self.status == FAILED else {self.byte[i]: self.mask[i] for i in range(self.hits)}


def built(name, file, *variables):
    """The library `file` in build/ecc/<name>, made by sim/ecc/Makefile when it is not there."""
    folder = ROOT / "build/ecc" / name
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock, open(folder / "build.log", "w") as log:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = ["make", "-f", "sim/ecc/Makefile", "OPT=-O0", *variables, f"build/ecc/{name}/{file}"]
        if subprocess.run(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT).returncode:
            raise RuntimeError(
                f"build of the ECC blocks failed, see {os.path.relpath(log.name, ROOT)}:\n"
                f"{(folder / 'build.log').read_text()[-2000:]}"
            )
    return c.CDLL(str(folder / file))


def library(m, t, users, inverted):
    lib = built(
        f"m{m}t{t}u{users}i{int(inverted)}",
        "libotx_ecc.so",
        f"M={m}",
        f"T={t}",
        f"USERS={users}",
        f"INVERTED={int(inverted)}",
    )
    lib.otx_ecc_open.restype = c.c_void_p
    lib.otx_ecc_close.argtypes = [c.c_void_p]
    lib.otx_ecc_encode.argtypes = [c.c_void_p, c.c_uint32, c.c_char_p, c.c_size_t, c.c_void_p, c.c_size_t]
    lib.otx_ecc_encode_stream.argtypes = [c.c_void_p, c.c_void_p, c.c_size_t]
    lib.otx_ecc_run.restype = lib.otx_ecc_waited.restype = c.c_uint64
    lib.otx_ecc_run.argtypes = [
        c.c_void_p,
        c.c_void_p * 2,
        c.c_size_t * 2,
        c.c_uint32,
        c.c_uint32,
        c.c_uint64,
        c.c_void_p * 2,
        c.c_size_t * 2,
    ]
    lib.otx_ecc_waited.argtypes = lib.otx_ecc_error.argtypes = [c.c_void_p]
    lib.otx_ecc_error.restype = c.c_char_p
    return lib


def stream(words, chunks=8, first=0):
    """Whole words one after the other, as a stream; each is the next chunk."""
    parts = []
    for i, word in enumerate(words):
        part = np.frombuffer(bytes(word), np.uint8).astype(np.uint16) | ((first + i) % chunks) << 8
        part[0] |= FIRST
        part[-1] |= LAST
        parts.append(part)
    return np.concatenate(parts)


def page(words, parity_bytes):
    """Words as on a page: the data of all of them, then their parity."""
    whole = [stream([w], first=i) for i, w in enumerate(words)]
    return np.concatenate([w[:-parity_bytes] for w in whole] + [w[-parity_bytes:] for w in whole])


class Codec:
    def __init__(self, m=13, t=8, users=1, inverted=True):
        self.parity_bytes = m * t // 8
        self.lib = library(m, t, users, inverted)
        self.ecc = self.lib.otx_ecc_open()
        self.clocks = self.waited = 0

    def encode(self, data, chunk=0):
        parity = c.create_string_buffer(self.parity_bytes)
        self.lib.otx_ecc_encode(self.ecc, chunk, bytes(data), len(data), parity, self.parity_bytes)
        assert not self.lib.otx_ecc_error(self.ecc), self.lib.otx_ecc_error(self.ecc)
        return parity.raw

    def encode_stream(self, stream):
        """The bytes that come out for a stream in which PARITY marks the bytes to make."""
        out = np.array(stream, np.uint16)
        self.lib.otx_ecc_encode_stream(self.ecc, out.ctypes.data, len(out))
        return (out & 0xFF).astype(np.uint8)

    def run(self, *streams, gap=0, stall=0, seed=1):
        """Feeds a stream to each decoder; returns a list of Results for each, in the order of the ends."""
        streams = [np.ascontiguousarray(s, np.uint16) for s in streams]
        counts = [int(np.count_nonzero(s & LAST)) for s in streams]
        results = [(Result * max(1, n))() for n in counts]
        fill = [0] * (2 - len(streams))
        self.clocks = self.lib.otx_ecc_run(
            self.ecc,
            (c.c_void_p * 2)(*[s.ctypes.data for s in streams], *fill),
            (c.c_size_t * 2)(*[len(s) for s in streams], *fill),
            gap,
            stall,
            seed,
            (c.c_void_p * 2)(*[c.addressof(r) for r in results], *fill),
            (c.c_size_t * 2)(*counts, *fill),
        )
        assert self.clocks, self.lib.otx_ecc_error(self.ecc).decode()
        self.waited = self.lib.otx_ecc_waited(self.ecc)
        return [list(r)[:n] for r, n in zip(results, counts, strict=True)]

    def decode(self, words, **options):
        return self.run(stream(words), **options)[0]
