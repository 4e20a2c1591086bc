# SPDX-License-Identifier: Apache-2.0
"""The C interface of the NAND model (sim/nand_model.h) for Python: inside a simulation, or as a library of its own."""

import ctypes
import hashlib
import subprocess
from pathlib import Path

from opentxssd.faults import next_cut, seen, set_faults, set_part_faults
from soc import facts

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCES = [f"sim/nand_{n}.cpp" for n in ("model", "die", "jobs", "store", "fault_model", "cut")]
HEADERS = [
    f"sim/nand_{n}.h" for n in ("model", "die", "drive", "jobs", "store", "faults", "fault_model", "cut", "hash")
]
K9F8G08 = {
    "wp": 12,
    "wh": 10,
    "wc": 25,
    "rp": 12,
    "reh": 10,
    "rc": 25,
    "rea": 20,
    "cls": 12,
    "clh": 5,
    "cs": 20,
    "ch": 5,
    "als": 12,
}
K9F8G08 |= {"alh": 5, "ds": 12, "dh": 5, "adl": 100, "whr": 60, "rhw": 100, "wb": 100, "rr": 20}
K9F8G08 |= {"r": 25_000, "prog": 200_000, "bers": 1_500_000, "rst": 5_000}  # names and order of struct otx_nand_times
TIMES = list(K9F8G08)
# Bus times of ONFI SDR timing modes 0 to 5.
MODES = {
    "wp": (50, 25, 17, 15, 12, 10),
    "wh": (30, 15, 15, 10, 10, 7),
    "wc": (100, 45, 35, 30, 25, 20),
    "rp": (50, 25, 17, 15, 12, 10),
    "reh": (30, 15, 15, 10, 10, 7),
    "rc": (100, 50, 35, 30, 25, 20),
    "rea": (40, 30, 25, 20, 20, 16),
    "cls": (50, 25, 15, 10, 10, 10),
    "clh": (20, 10, 10, 5, 5, 5),
    "cs": (70, 35, 25, 25, 20, 15),
    "ch": (20, 10, 10, 5, 5, 5),
    "als": (50, 25, 15, 10, 10, 10),
    "alh": (20, 10, 10, 5, 5, 5),
    "ds": (40, 20, 15, 10, 10, 7),
    "dh": (20, 10, 5, 5, 5, 5),
    "adl": (400,) * 6,
    "whr": (120, 80, 80, 80, 80, 80),
    "rhw": (200, 100, 100, 100, 100, 100),
    "wb": (200, 100, 100, 100, 100, 100),
    "rr": (40, 20, 20, 20, 20, 20),
}
QUICK = K9F8G08 | {"r": 2_000, "prog": 10_000, "bers": 20_000}
READS, PROGRAMS, ERASES, SUSPENSIONS, CACHE_READS, CACHE_PROGRAMS, SHARED, RETRIED = range(8)  # otx_nand_count
FAIL_PROGRAM, FAIL_ERASE, HANG = 0, 1, 2


class Geometry(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint32) for n in ("channels", "ways", "blocks", "pages", "page_bytes", "spare_bytes")]


class Times(ctypes.Structure):
    _fields_ = [("t_" + n, ctypes.c_int) for n in TIMES]


class Part(ctypes.Structure):
    """A part, ONFI or not; `modes` has bit m for timing mode m, `suspend` ns are the longest time to suspend a program
    or erase (0: it cannot).

    `cache`: cache programs and reads; `planes`: 1, 2 or 4, several in one program or erase; `status_enhanced`: status
    of a plane; `retries`: read retry levels beyond 0."""

    _fields_ = [
        (n, ctypes.c_uint32)
        for n in ("onfi", "features", "modes", "suspend", "cache", "planes", "status_enhanced", "retries")
    ]

    def __init__(self, features=1, modes=0x3F, suspend=0, onfi=1, cache=0, planes=1, status_enhanced=0, retries=0):
        super().__init__(onfi, features, modes, suspend, cache, planes, status_enhanced, retries)


def digest():
    return hashlib.sha256(b"".join((ROOT / p).read_bytes() for p in [*SOURCES, *HEADERS, facts.TABLE])).hexdigest()[:12]


def verilator_args():
    """Arguments that put the model into a Verilator build and let Python call it from inside.

    No -O2 for all files: the compiler would spend many minutes on the table of names of a large design. Nothing that
    other builds have not, so that they share what is compiled.
    """
    facts.write()
    return [
        *(str(ROOT / p) for p in SOURCES),
        "-CFLAGS",
        f"-I{ROOT / 'sim'} -I{facts.OUT}",
        "-LDFLAGS",
        "-rdynamic",
    ]


def library():
    """The model without a simulator, built on first use."""
    facts.write()
    path = ROOT / "build" / "nand" / f"libnand-{digest()}.so"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [
                "g++",
                "-std=c++17",
                "-O2",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-shared",
                "-fPIC",
                "-o",
                path,
                f"-I{facts.OUT}",
                *(ROOT / p for p in SOURCES),
            ],
            check=True,
        )
    return path


class Nand:
    """One drive. `lib` None: the functions of the running simulation."""

    def __init__(self, lib=None):
        self.c = ctypes.CDLL(str(lib) if lib else None)
        self.c.otx_nand_violation.restype = ctypes.c_char_p
        self.c.otx_nand_count.restype = ctypes.c_uint64
        self.c.otx_nand_set_seed.argtypes = self.c.otx_nand_power_cut.argtypes = [ctypes.c_uint64]
        self.c.otx_nand_pins.argtypes = [
            ctypes.c_int,
            ctypes.c_longlong,
            ctypes.c_int,
            ctypes.c_int,
            ctypes.POINTER(ctypes.c_longlong),
        ]

    def open(
        self,
        channels=1,
        ways=2,
        blocks=16,
        pages=8,
        page_bytes=4096,
        spare_bytes=128,
        unused=0,
        path=None,
        times=QUICK,
        fatal=False,
        seed=1,
        faults=None,
        part=None,
    ):
        """Opens the cells; returns None or the line that says why not.

        `unused`: spare bytes that programs leave out; `faults`: a Faults; `part`: a Part, or K9F8G08.
        """
        self.geometry = Geometry(channels, ways, blocks, pages, page_bytes, spare_bytes)
        self.times(**times)
        self.c.otx_nand_set_seed(seed)
        self.c.otx_nand_set_unused(unused)
        self.c.otx_nand_set_fatal(int(fatal))
        set_faults(self.c, None)
        set_part_faults(self.c, None)
        self.c.otx_nand_set_part(part and ctypes.byref(part))
        self.c.otx_nand_store_close()
        set_faults(self.c, faults)
        text = ctypes.create_string_buffer(300)
        failed = self.c.otx_nand_store_open(
            str(path).encode() if path else None, ctypes.byref(self.geometry), text, 300
        )
        return text.value.decode() if failed else None

    def close(self):
        self.c.otx_nand_store_close()

    def times(self, **ns):
        self.c.otx_nand_set_times(ctypes.byref(Times(*((QUICK | ns)[n] for n in TIMES))))

    def broken(self):
        """The rules broken since the store was opened, as text."""
        return [self.c.otx_nand_violation(i).decode() for i in range(self.c.otx_nand_violations())]

    def peek(self, die, row):
        page = ctypes.create_string_buffer(self.geometry.page_bytes + self.geometry.spare_bytes)
        self.c.otx_nand_peek(die, row, page)
        return page.raw

    def flip(self, die, row, bit):
        self.c.otx_nand_flip(die, row, bit)

    def fail(self, die, what, n=1):
        self.c.otx_nand_fail(die, what, n)

    def set_faults(self, faults):
        set_faults(self.c, faults)

    def set_part_faults(self, faults):
        set_part_faults(self.c, faults)

    def mode(self, die):
        """The timing mode that the die is in."""
        return self.c.otx_nand_mode(die)

    def seen(self):
        return seen(self.c)

    def is_bad(self, die, block):
        return bool(self.c.otx_nand_is_bad(die, block))

    def power_cut(self, seed, program=None, erase=None):
        """`program`, `erase`: what it leaves of them (Cut, CutErase); faults must be on."""
        next_cut(self.c, program, erase)
        self.c.otx_nand_power_cut(seed)

    def count(self, what):
        return self.c.otx_nand_count(what)
