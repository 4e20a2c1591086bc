# SPDX-License-Identifier: Apache-2.0
"""The whole drive is written many times over: blocks come back while it runs, checkpoints keep the log short, and a
power cut at the end takes nothing (docs/decisions/021 to 023)."""

import os
import random

import pytest

from opentxssd import BLOCK, Drive, Opcode, Query, Status
from soc import geometry

pytestmark = pytest.mark.forked
PROGRAMS, ERASES = 1, 2  # of otx_nand_count


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
    drive.step(100_000)
    health = drive.health()
    print(f"{preset}: {health}, write amplification {health.write_amplification:.3f}")
    assert health.starts == 1 and health.lost_counts == 0 and health.bad_blocks == 0 and health.spare_blocks > 0
    assert writes * 0.9 <= health.host_pages <= writes and health.checkpoints > 1
    assert health.nand_pages <= drive.lib.otx_nand_count(PROGRAMS) <= health.nand_pages + 8
    assert health.moved_pages <= health.nand_pages - health.host_pages
    assert 0 <= health.least_erases <= health.mean_erases <= health.most_erases < 3 * health.mean_erases
    blocks = g.dies * g.blocks_per_way
    assert health.mean_erases * (blocks - 12) <= drive.lib.otx_nand_count(ERASES) < (health.mean_erases + 2) * blocks
    for lba, block in want.items():
        assert drive.read(lba) == block
    drive.power_cut(seed=7)
    begin = drive.clock
    drive.power_on()
    print(f"{preset}: ready {drive.clock - begin} clocks after the cut")
    assert drive.query(Query.DROPPED) == 0
    for lba, block in want.items():
        assert drive.read(lba) == block
    again = drive.health()
    assert (
        again.starts == 2 and 0 < again.host_pages <= health.host_pages and again.mean_erases >= health.mean_erases - 1
    )
    assert f"hosts wrote {again.host_pages // 256} MiB" in drive.uart and again.recovery_clocks > 1000
