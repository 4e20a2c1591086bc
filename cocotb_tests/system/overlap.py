# SPDX-License-Identifier: Apache-2.0
"""Operations of a die that overlap: filled areas and what they hold."""

from cocotb_tests.system.load import block
from opentxssd import BLOCK, Opcode

CACHE_READS, CACHE_PROGRAMS, PLANE_OPERATIONS = 4, 5, 6  # `otx_nand_count`


def counts(drive):
    return [drive.lib.otx_nand_count(n) for n in (CACHE_READS, CACHE_PROGRAMS, PLANE_OPERATIONS)]


def filled(drive, stamp, count):
    """Writes so many blocks, 32 a command; they are durable."""
    for lba in range(0, count, 32):
        drive.write(lba, b"".join(block(lba + n, stamp) for n in range(32)))
    drive.flush()


def uncommitted(drive, count):
    """A transaction over the first blocks: its entries are in the log for good, a COMMIT is not.

    Behind it a WRITE is under way.
    """
    drive.write(0, bytes(BLOCK) * count, txid=3)
    drive.flush()
    drive.submit(Opcode.WRITE, drive.lbas - 32, 32, bytes(BLOCK) * 32)
    drive.step(10_000)


def holds(drive, stamp, count):
    for lba in range(0, count, 32):
        assert drive.read(lba, 32) == b"".join(block(lba + n, stamp) for n in range(32)), f"blocks {lba} to {lba + 31}"
