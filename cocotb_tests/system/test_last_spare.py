# SPDX-License-Identifier: Apache-2.0
"""Guarantee 14, the whole drive of preset quick: when its last spare block has gone the drive is read-only, says so,
and everything that was durable reads as it was.
"""

import pytest

from opentxssd import BLOCK, Drive, Opcode, Status
from opentxssd.faults import Faults

LBAS, BOOT = 64, 5_000_000
WORDS = "otx: read-only: no free block for map and log"


def data(lba, version):
    return (1_000 * version + lba + 1).to_bytes(8, "little") * (BLOCK // 8)


def blocks(first, count, version):
    return b"".join(data(lba, version) for lba in range(first, first + count))


def boot(drive):
    """Lets the drive start; its last line but `ready`."""
    while not drive.boot_some(20_000) and "not ready" not in drive.uart:
        assert drive.clock < BOOT
    return drive.uart.strip().splitlines()[-2]


@pytest.mark.parametrize("seed", [3])
def test_a_drive_without_a_spare_block_is_read_only_and_says_so(seed):
    drive = Drive("quick", faults=Faults(seed=seed))
    drive.write(40, data(40, 2), txid=3)
    drive.write(5, data(5, 1), fua=1)
    version = 2
    for first in (0, 32):
        drive.write(first, blocks(first, 32, version))
    full = (
        drive.write(n % 3 * 16, blocks(n % 3 * 16, 16, 7), txid=4 + n // 3, check=False).status == Status.CAPACITY
        for n in range(84)
    )
    assert any(full)  # open transactions hold all that is free
    drive.flush()
    held = [drive.read(lba) for lba in range(LBAS)]
    assert set(held) <= {data(lba, v) for lba in range(LBAS) for v in (version, version + 1)}
    # from now on most blocks cannot be erased: no new log, no new map
    drive.set_faults(Faults(seed=seed, erase_fail_ppm=850_000))
    for cut in range(2):
        drive.power_cut(cut)
        drive.power_on(boot=False)
        assert boot(drive).startswith(WORDS), drive.uart
        for lba in range(LBAS):
            assert drive.read(lba) == held[lba], f"block {lba}"
        refused = [
            drive.write(1, data(1, 9), check=False),
            drive.trim(1, check=False),
            drive.begin(1, check=False),
            drive.write(2, data(2, 9), txid=1, check=False),
        ]
        assert [done.status for done in refused] == [Status.READ_ONLY] * 4
        assert drive.command(Opcode.COMMIT, txid=3, check=False).status == Status.TX_INVALID
        drive.flush()
        assert [drive.read(lba) for lba in (1, 2)] == held[1:3]
    drive.power_cut()
