# SPDX-License-Identifier: Apache-2.0
"""What e2 and e14 share: who writes to a drive; and the drive of e2, preset quick4 (4 dies, 48 blocks of 16 pages each,
whole pages in place of the bus), whose array takes the times of K9F8G08.
"""

import ctypes
import random
from itertools import count

from cocotb_tests.system.variant import firmware
from opentxssd import BLOCK, Drive, Opcode, Status
from opentxssd.facts import NUMBER as NUMBERS
from opentxssd.facts import magic
from soc import geometry

PRESET, MHZ = "quick4", 100
# with the page on its way there; the two copies of a log page pass the one port of frame memory one after the other
PROGRAM_US = geometry.K9F8G08.t_prog / 1000 + 2 * NUMBERS["BEATS"] / MHZ
ERASE_US = geometry.K9F8G08.t_bers / 1000
TIMES = (
    "t_wp t_wh t_wc t_rp t_reh t_rc t_rea t_cls t_clh t_cs t_ch t_als t_alh t_ds t_dh t_adl t_whr t_rhw t_wb t_rr t_r "
    "t_prog t_bers t_rst"
).split()  # struct otx_nand_times
LIMIT = 400_000_000  # clocks


def opened(**settings):
    """A drive that has booted, with these settings of its firmware; from now on its array is slow."""
    drive = Drive(PRESET, firmware=firmware(PRESET, **settings) if settings else None)
    part = geometry.preset(PRESET).timing
    slow = {"t_r": geometry.K9F8G08.t_r, "t_prog": geometry.K9F8G08.t_prog, "t_bers": geometry.K9F8G08.t_bers}
    values = [slow.get(name, getattr(part, name)) for name in TIMES]
    drive.lib.otx_nand_set_times((ctypes.c_int * len(values))(*values))
    return drive


def block(lba, stamp):
    return (stamp << 32 | lba).to_bytes(8, "little") * (BLOCK // 8)


def us(clocks):
    return clocks / MHZ


class Traffic:
    """Commands under way, each with what is to be done with its completion; `last`: the newest one."""

    def __init__(self, drive, seed):
        self.drive, self.rng, self.then, self.stamps = drive, random.Random(seed), {}, count(1)

    def submit(self, then, opcode, *args, **fields):
        self.then[self.drive.submit(opcode, *args, **fields)] = then

    def write(self, lba, blocks, then, **fields):
        data = b"".join(block(lba + n, next(self.stamps)) for n in range(blocks))
        self.submit(then, Opcode.WRITE, lba, blocks, data, **fields)

    def run(self, until):
        end = self.drive.clock + LIMIT
        while not until():
            assert self.drive.clock < end, "the traffic stands still"
            if self.drive.step(100_000):
                done = self.drive.poll()
                assert done.status == Status.SUCCESS, done
                self.last = done
                self.then.pop(done.tag)(done.clock)


def log_pages(drive, preset):
    """The number of the last log page that stands on NAND."""
    g = geometry.preset(preset)
    raw, numbers = (ctypes.c_uint8 * (BLOCK + g.spare_bytes))(), [0]
    for die in range(g.dies):
        for row in range(g.blocks_per_way * g.pages_per_block):
            if drive.lib.otx_nand_programs(die, row) == 1:
                drive.lib.otx_nand_peek(die, row, raw)
                if bytes(raw[:8]) == magic("LogHeader"):
                    numbers.append(int.from_bytes(bytes(raw[16:20]), "little"))
    return max(numbers)
