# SPDX-License-Identifier: Apache-2.0
"""Reads beside writes, and how long they take."""

import random

from opentxssd import BLOCK, Opcode, Status

LIMIT = 4_000_000  # clocks
AREA, SUSPENSIONS = 64, 3  # `otx_nand_count`: programs and erases that were suspended


def block(lba, stamp):
    return (stamp << 32 | lba).to_bytes(8, "little") * (BLOCK // 8)


def suspensions(drive):
    return drive.lib.otx_nand_count(SUSPENSIONS)


class Load:
    """Writes and reads of random blocks, `depth` under way, a block once at a time; knows what a block may hold after a
    power cut.
    """

    def __init__(self, drive, seed, depth=16):
        self.drive, self.rng, self.depth, self.stamp, self.under_way = drive, random.Random(seed), depth, 0, {}
        self.now = {lba: block(lba, 0) for lba in range(AREA)}
        self.may = {lba: {data} for lba, data in self.now.items()}
        for lba in range(0, AREA, 32):
            drive.write(lba, b"".join(self.now[lba + i] for i in range(32)))
        drive.flush()

    def submit(self):
        lba = self.rng.choice(sorted(set(self.now) - {lba for _, lba in self.under_way.values()}))
        if self.rng.random() < 0.5:
            self.under_way[self.drive.submit(Opcode.READ, lba, 1)] = (None, lba)
            return
        self.stamp += 1
        data = block(lba, self.stamp)
        self.may[lba].add(data)
        self.under_way[self.drive.submit(Opcode.WRITE, lba, 1, data)] = (data, lba)

    def take(self):
        done = self.drive.poll()
        data, lba = self.under_way.pop(done.tag)
        assert done.status == Status.SUCCESS
        if data is None:
            assert done.data == self.now[lba], f"block {lba} is not what was written last"
        else:
            self.now[lba] = data

    def lost(self):
        """Blocks that are neither what was flushed nor what was written since."""
        read = b"".join(self.drive.read(lba, 32) for lba in range(0, AREA, 32))
        return [lba for lba in range(AREA) if read[BLOCK * lba : BLOCK * (lba + 1)] not in self.may[lba]]

    def run(self, until):
        """Until that is true, looked at every 50 clocks."""
        end = self.drive.clock + LIMIT
        while not until():
            assert self.drive.clock < end, "too few suspensions, or a command that does not complete"
            while len(self.under_way) < self.depth:
                self.submit()
            if self.drive.step(50):
                self.take()
