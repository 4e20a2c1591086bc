# SPDX-License-Identifier: Apache-2.0
"""Commands of an NVMe host for random tests: any opcode, any shape of its PRPs, right and wrong fields."""

import struct

from cocotb_tests.bench.nvme_host import LBAS
from cocotb_tests.models.nvme_commands import Sqe
from opentxssd.facts import BLOCK, NvmeOpcode

ZEROES, RANGES, COMPARE = NvmeOpcode.WRITE_ZEROES, NvmeOpcode.DATASET_MANAGEMENT, NvmeOpcode.COMPARE
DEALLOCATE = 1 << 34


def deallocate(h, ranges, offset=0):
    """`ranges`: (lba, blocks)."""
    raw = b"".join(struct.pack("<IIQ", h.rng.getrandbits(32), blocks, lba) for lba, blocks in ranges)
    prp1, prp2 = h.buffer(len(raw), offset, raw)
    return Sqe(RANGES, slba=len(ranges) - 1 | DEALLOCATE | h.rng.getrandbits(2) << 32, prp1=prp1, prp2=prp2)


def anything(h, rng, pairs):
    taken = {r.sqe.slba & 0x3FF for p in pairs for r in p.under_way.values()}
    free = [n for n in range(0, LBAS, 64) if n not in taken]
    if not free:
        return Sqe(NvmeOpcode.FLUSH, slba=rng.getrandbits(20))
    lba = rng.choice(free)
    op = rng.choice([*NvmeOpcode, NvmeOpcode.READ, NvmeOpcode.WRITE, ZEROES, RANGES, COMPARE, 0x44, 0x89])
    offset = rng.choice([0, 4, 4092, 4 * rng.randrange(1024)])
    if op == RANGES:
        count = rng.choice([1, 2, 5])
        sqe = deallocate(h, [(lba + rng.randrange(20), rng.randrange(45)) for _ in range(count)], offset)
        sqe.cdw2 = lba
        return sqe
    if op == ZEROES:
        return Sqe(op, slba=lba, cdw12=rng.randrange(64))
    if op in (1, 2, 5, 0x81, 0x82):
        fields = dict(cdw12=rng.randrange(2) << 30) if op < 0x80 else dict(cdw2=rng.randrange(40))
        raw = None
        count = rng.choice([1, 1, 2, 4])
        if op == COMPARE and rng.random() < 0.6:
            raw = b"".join(h.core.blocks.get(lba + i, bytes(BLOCK)) for i in range(count))
        return h.move(op, lba, count, offset, raw=raw, **fields)
    attributes = rng.choice([0, 0, 1, 2, 1 << 4, 1 << 6, 1 << 2, 1 << 9])
    return Sqe(op, slba=lba, nsid=rng.choice([1] * 9 + [2]), cdw2=rng.randrange(40), cdw14=attributes, cdw15=lba % 2)
