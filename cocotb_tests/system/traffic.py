# SPDX-License-Identifier: Apache-2.0
"""Random traffic on a simulated drive (sim/traffic/traffic.h) with its history, judged as it grows.

    traffic = Traffic(Drive("quick"), preset="quick", seed=1)
    traffic.begin(seed, Flavour.MIXED, 0, 40); traffic.run(5_000); traffic.cut(7); traffic.boot(); traffic.read(0, 40);
    traffic.judge_now()

`lines`: the history so far, one JSON object each. While traffic runs, nobody else submits commands. os.fork() copies
drive, history and judge.
"""

import ctypes
import json
import re
from enum import IntEnum

from judge import Judge, Violation
from opentxssd import BOOT_CLOCKS
from opentxssd import faults as nand_faults

MOUNTED = re.compile(r"mounted generation [\d,]+: ([\d,]+) log pages?, ([\d,]+) entr(?:y|ies), ([\d,]+) dropped")


class Flavour(IntEnum):
    MIXED, PLAIN, TX, RELAXED, LONG_LOG, FILL, REWRITE = range(7)


class Until(IntEnum):
    CLOCKS, SENT, KEPT, TORN, WALK, CHANGE = range(6)


BOOT_CHANGE = 0xFFFFFFFF  # of otx_traffic_boot: until a program or erase begins or ends


class Stuck(Exception):
    """Commands are under way and nothing completes."""


class Closed(Exception):
    """The drive does not come back after a power cut, or not writable."""


def mask(*kinds, dies=1):
    """The argument of Until.TORN: one of these (drive.Torn) on so many dies."""
    return sum(1 << (15 if k == 256 else k) for k in set(kinds)) | dies << 16


def declare(lib):
    lib.otx_traffic_begin.argtypes = [
        ctypes.c_uint64,
        ctypes.c_uint32,
        ctypes.c_uint32,
        ctypes.c_uint32,
        ctypes.c_char_p,
    ]
    lib.otx_traffic_run.argtypes = [ctypes.c_uint64, ctypes.c_int, ctypes.c_uint32]
    lib.otx_traffic_boot.argtypes = [ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint32]
    lib.otx_traffic_finish.argtypes = [ctypes.c_uint32]
    lib.otx_traffic_read.argtypes = [ctypes.c_uint32] * 3
    lib.otx_traffic_cut.argtypes = [ctypes.c_uint64, ctypes.c_int, ctypes.c_int64]
    lib.otx_traffic_off.argtypes = [ctypes.c_uint64]
    lib.otx_traffic_up.argtypes = [ctypes.c_char_p]
    lib.otx_traffic_take.argtypes = [ctypes.POINTER(ctypes.c_size_t)]
    lib.otx_traffic_take.restype = lib.otx_traffic_counter_name.restype = ctypes.c_char_p
    lib.otx_traffic_counter.restype = ctypes.c_uint64


class Traffic:
    def __init__(self, drive, **fields):
        self.drive, self.lib = drive, drive.lib
        self.judge, self.lines, self.fed = Judge(), [], 0
        self.fields = json.dumps(fields)[1:-1].encode()
        self.energy = None  # of a drive with PLP: clocks that it has after each failure of power
        self.mounted = (0, 0, 0)  # of the last boot: log pages, entries, dropped
        declare(self.lib)

    # Commands

    def begin(self, seed, flavour, first, blocks):
        self.lib.otx_traffic_begin(seed, flavour, first, blocks, self.fields)

    def run(self, clocks, until=Until.CLOCKS, arg=0):
        """Whether `until` has come."""
        return self._good(self.lib.otx_traffic_run(clocks, until, arg)) == 1

    def finish(self, commands=0):
        self._good(self.lib.otx_traffic_finish(commands))

    def read(self, first, blocks, times=1):
        self._good(self.lib.otx_traffic_read(first, blocks, times))

    def _good(self, result):
        if result < 0:
            raise Stuck(
                f"commands are under way at clock {self.drive.clock} and nothing completes any more (guarantee 12)"
            )
        return result

    # Power

    def cut(self, seed, in_recovery=False, program=None, erase=None):
        nand_faults.next_cut(self.lib, program, erase)
        self.lib.otx_traffic_cut(seed, in_recovery, -1 if self.energy is None else self.energy)

    def off(self, seed):
        """Orderly: all has completed, nothing is unflushed."""
        self.lib.otx_traffic_off(seed)

    def boot_until(self, clocks, arg=0, times=1):
        """Lets a part of the boot pass; whether what was waited for is there (or the clocks are over)."""
        return self.lib.otx_traffic_boot(clocks, arg, times) != 0

    def boot(self):
        """The rest of the boot, and what the drive says of it; Closed if it cannot be written now."""
        drive = self.drive
        self.lib.otx_traffic_boot(BOOT_CLOCKS, 0, 1)
        up = drive.mounted()
        self.lib.otx_traffic_up(json.dumps(up)[1:-1].encode())
        found = MOUNTED.search(drive.uart)
        self.mounted = tuple(int(n.replace(",", "")) for n in found.groups()) if found else (0, 0, 0)
        if up["mode"] != "open":
            raise Closed(f"after the power cut the drive is {up['mode']}: {up['said']!r} (guarantee 11)")

    # History

    def collect(self):
        """New lines of the history."""
        length = ctypes.c_size_t()
        self.lines += self.lib.otx_traffic_take(ctypes.byref(length)).decode().splitlines()

    def judge_now(self, end=False):
        """Judges what is new; at the `end` also that every command was answered."""
        self.collect()
        for line in self.lines[self.fed :]:
            self.judge.feed(json.loads(line))
        self.fed = len(self.lines)
        if self.judge.violation is None and end:
            self.judge.finish()
        if self.judge.violation is not None:
            raise self.judge.violation

    def counters(self):
        """{name: how often}, of sim/traffic/recorder.h."""
        out, number = {}, 0
        while name := self.lib.otx_traffic_counter_name(number):
            out[name.decode()] = self.lib.otx_traffic_counter(number)
            number += 1
        return out


__all__ = ["Closed", "Flavour", "Stuck", "Traffic", "Until", "Violation", "mask"]
