# SPDX-License-Identifier: Apache-2.0
"""Registers of the firmware port and words of table memory, as a test sees them on a preset whose processor is a model
(soc/geometry.py, cpu_model).

The test asks in the firmware's place, which stands still meanwhile (sim/cpu/otx_sim_cpu.cpp); so the drive should be
quiet, or the firmware may be about to ask the same."""

import contextlib
import ctypes
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
REGISTER = re.compile(r"#define CSR_OTX_(\w+)_ADDR \(CSR_BASE \+ (\w+?)L?\)")
BASE = re.compile(r"#define CSR_BASE (\w+?)L?$", re.M)


class Registers:
    def __init__(self, drive):
        self.drive, self.lib, self.stands = drive, drive.lib, False
        text = (ROOT / f"build/{drive.preset}/software/include/generated/csr.h").read_text()
        base = int(BASE.search(text)[1], 16)
        self.at = {name.lower(): base + int(offset, 16) for name, offset in REGISTER.findall(text)}

    @contextlib.contextmanager
    def held(self):
        """The firmware stands still."""
        self.lib.otx_sim_bus_hold(1)
        self.stands = True
        try:
            yield self
        finally:
            self.lib.otx_sim_bus_hold(0)
            self.stands = False

    def _access(self, name, data=0, write=0):
        assert self.stands, "the firmware goes on; see held"
        word = ctypes.c_uint32()
        self.lib.otx_sim_bus_ask(ctypes.c_uint32(self.at[name]), ctypes.c_uint32(data), write)
        for _ in range(100):
            if self.lib.otx_sim_bus_done(ctypes.byref(word)):
                return word.value
            if self.drive.step(1):  # no clock passes while a completion waits
                done = self.drive.poll()
                self.drive.done[done.tag] = done
        raise AssertionError(f"no answer of register {name}")

    def read(self, name):
        return self._access(name)

    def write(self, name, data):
        self._access(name, data, 1)

    def wide(self, name):
        return self.read(f"{name}_hi") << 32 | self.read(f"{name}_lo")


def word(drive, address):
    """A word of table or frame memory."""
    value = ctypes.c_uint32()
    drive.lib.otx_mem_get32.restype = ctypes.c_bool
    assert drive.lib.otx_mem_get32(ctypes.c_uint32(address), ctypes.byref(value)), f"no memory at {address:#x}"
    return value.value
