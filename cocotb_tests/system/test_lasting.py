# SPDX-License-Identifier: Apache-2.0
"""The whole drive is written many times over: blocks come back while it runs, checkpoints keep the log short, and a
power cut at the end takes nothing (docs/decisions/021 to 023)."""

import os
import random

import pytest

from opentxssd import BLOCK, Drive, Opcode, Query, Status
from soc import geometry

pytestmark = pytest.mark.forked
ERASES = 2  # of otx_nand_count


LONG = int(os.environ.get("LONG", "0"))


def data(lba, version):
    return (lba << 32 | version).to_bytes(8, "little") * (BLOCK // 8)


@pytest.mark.parametrize("preset", ["quick", "quick4"] if LONG else ["quick"])
def test_a_drive_takes_many_times_what_its_nand_holds(preset):
    g, rng, want = geometry.preset(preset), random.Random(4), {}
    drive = Drive(preset)
    writes, clock = (10 if LONG else 3) * g.raw_pages, drive.clock
    longest = 0
    for n in range(writes):
        lba, begin = rng.randrange(g.lbas), drive.clock
        kind = rng.randrange(40)
        if kind == 0:
            assert Status(drive.wait(drive.submit(Opcode.TRIM, lba, 1)).status) == Status.SUCCESS
            want[lba] = bytes(BLOCK)
        else:
            drive.write(lba, data(lba, n), txid=n % 32 if kind < 10 else None, fua=int(kind == 20))
            if kind < 10:
                drive.commit(n % 32)
            want[lba] = data(lba, n)
        longest = max(longest, drive.clock - begin)
    print(
        f"{preset}: {writes} writes of {g.raw_pages} pages, {(drive.clock - clock) // writes} clocks a write, "
        f"{longest} the longest; {drive.lib.otx_nand_count(ERASES)} erases"
    )
    assert drive.lib.otx_nand_count(ERASES) > 0.9 * writes / g.pages_per_block
    drive.flush()
    for lba, block in want.items():
        assert drive.read(lba) == block
    drive.power_cut(seed=7)
    begin = drive.clock
    drive.power_on()
    print(f"{preset}: ready {drive.clock - begin} clocks after the cut")
    assert drive.query(Query.DROPPED) == 0
    for lba, block in want.items():
        assert drive.read(lba) == block
