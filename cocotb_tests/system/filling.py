# SPDX-License-Identifier: Apache-2.0
"""A drive that is filled until its NAND has failed too often."""

import random

from opentxssd import BLOCK, Drive, Status
from opentxssd.faults import Faults
from soc import geometry


def data(lba, version):
    return random.Random(lba << 20 | version).randbytes(16) * (BLOCK // 16)


class Filling:
    """A drive and what it must hold: version of each block, 0 while never written."""

    def __init__(self, preset, seed, blocks=None, image=None, **faults):
        self.rng, self.blocks = random.Random(seed), blocks or geometry.preset(preset).lbas
        self.drive = Drive(preset, image, faults=Faults(seed=seed, **faults))
        self.version = [0] * self.blocks

    def write(self, lba, count, **how):
        new = [self.version[lba + n] + 1 for n in range(count)]
        done = self.drive.write(lba, b"".join(data(lba + n, v) for n, v in enumerate(new)), check=False, **how)
        return done.status, dict(zip(range(lba, lba + count), new, strict=True))

    def fill(self):
        """All blocks in random order, plain and in transactions, until all are written or the drive is full.

        Returns how many.
        """
        written, starts = 0, list(range(0, self.blocks, 8))
        self.rng.shuffle(starts)
        for n, lba in enumerate(starts):
            count, tx = min(8, self.blocks - lba), n % 3 == 0
            status, new = self.write(lba, count, **({"txid": n % 32} if tx else {}))
            if tx and status == Status.SUCCESS:
                self.drive.commit(n % 32)
            if status == Status.CAPACITY:
                break
            assert status == Status.SUCCESS, Status(status)
            for at, version in new.items():
                self.version[at] = version
            written += count
        self.drive.flush()
        return written

    def verify(self):
        for lba in range(0, self.blocks, 32):
            count = min(32, self.blocks - lba)
            want = [data(n, self.version[n]) if self.version[n] else bytes(BLOCK) for n in range(lba, lba + count)]
            got = self.drive.read(lba, count)
            wrong = [lba + n for n in range(count) if got[n * BLOCK : n * BLOCK + BLOCK] != want[n]]
            assert not wrong, f"blocks {wrong} are lost"

    def restart(self, cut):
        if not cut:
            assert self.drive.idle()
        self.drive.power_cut(self.rng.getrandbits(32))
        self.drive.power_on()
