# SPDX-License-Identifier: Apache-2.0
"""Faults of the simulated NAND: which there are, how often, where, and what a power cut leaves of a page.

    Faults(seed=1, bad_ppm=20_000, mark=Mark.LAST, ber=10**5, places=[Place(Fault.STUCK_PAGE, die=0, block=3, page=2)])

goes to `Drive(faults=...)` or `drive.set_faults(...)`. They are functions of the seed and of what was done to the
cells: the same calls meet the same faults. They stay over power cuts until others are set. A share (`_ppm`) is of a
million; a place names one block or page beside the shares; rates (`ber`) are in 10^-12 per bit. Names and meaning of
all settings are those of `struct otx_nand_faults` in sim/nand_faults.h.
"""

import ctypes
from collections import namedtuple
from enum import IntEnum

PLACES = 32


class Mark(IntEnum):
    """Which page of a block that is bad from the factory says so."""

    FIRST, SECOND, LAST, EITHER = range(4)


class Fault(IntEnum):
    """What a place has.

    `n` of the place is: -; erases that work; erases after which it fails; erases with which it is stuck; how many bits;
    its read retry level.
    """

    BAD_BLOCK, ERASE_FAILS, PROGRAM_FAILS, STUCK_PAGE, STUCK_BITS, DRIFTED = range(1, 7)


class Dead(IntEnum):
    """What R/B# of a dead die says for ever."""

    READY, BUSY = range(2)


class Cut(IntEnum):
    """What a power cut leaves of a page that is being programmed (OTX_NAND_CUT_* of sim/nand_faults.h)."""

    TORN, PREFIX, SUBSET, UNREADABLE, FADES, PAIRED, ANY = range(7)


class CutErase(IntEnum):
    """What a power cut leaves of a block that is being erased."""

    PARTLY, LOOKS_ERASED, ANY = range(3)


SEEN = ["flips", "stuck_reads", "program_fails", "erase_fails", "faded", "weak_programs", "drifted"]
WIDE = ["seed", "ber", "ber_erase", "ber_read", "ber_age", "ber_drift", "dead_dies"]
NARROW = [
    "dead_kind",
    "dead_after",
    "bad_ppm",
    "mark",
    "erase_fail_ppm",
    "erase_fail_after",
    "program_fail_ppm",
    "program_fail_after",
    "stuck_page_ppm",
]
NARROW += [
    "drift_ppm",
    "stuck_bits_ppm",
    "stuck_bits",
    "cut_program",
    "cut_erase",
    "mlc",
    "rule_marks",
    "nop",
    "unfinished_allowed",
]
Place = namedtuple("Place", "kind die block page n", defaults=(0, 0))


class _Place(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint32) for n in Place._fields]


class Faults(ctypes.Structure):
    """Settings by name, all 0 unless given, and up to 32 places; ValueError for more, TypeError for a setting that
    there is not.
    """

    _fields_ = (
        [(n, ctypes.c_uint64) for n in WIDE]
        + [(n, ctypes.c_uint32) for n in NARROW]
        + [("count", ctypes.c_uint32), ("place", _Place * PLACES)]
    )

    def __init__(self, places=(), **settings):
        super().__init__(**settings)
        if len(places) > PLACES:
            raise ValueError(f"{len(places)} places, at most {PLACES}")
        self.count = len(places)
        for i, p in enumerate(places):
            self.place[i] = _Place(*p)


class PartFaults(ctypes.Structure):
    """What is wrong with the parts, as `struct otx_nand_part_faults` says."""

    _fields_ = [
        (n, ctypes.c_uint32)
        for n in "copies same_place noisy_from refuses odd_die page_bytes pages blank_page spare_bytes".split()
    ]


def set_part_faults(lib, faults):
    """From now on these; None: nothing is wrong with the parts."""
    lib.otx_nand_set_part_faults(faults and ctypes.byref(faults))


def set_faults(lib, faults):
    """Switches them on, or with None off; ValueError in the model's words if there cannot be such faults."""
    text = ctypes.create_string_buffer(200)
    if lib.otx_nand_set_faults(faults and ctypes.byref(faults), text, ctypes.c_size_t(200)):
        raise ValueError(text.value.decode())


def next_cut(lib, program=None, erase=None):
    """What the next power cut leaves of programs (Cut) and erases (CutErase) under way; the first of each kind when
    only the other is given. Faults must be set.
    """
    if program is not None or erase is not None:
        lib.otx_nand_next_cut(ctypes.c_uint32(program or 0), ctypes.c_uint32(erase or 0))


def seen(lib):
    """{kind: how often it was met since the drive was opened}, of SEEN."""
    lib.otx_nand_faults_seen.restype = ctypes.c_uint64
    return {name: lib.otx_nand_faults_seen(i) for i, name in enumerate(SEEN)}
