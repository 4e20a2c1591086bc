# SPDX-License-Identifier: Apache-2.0
"""Commands, statuses and fields of a NAND channel as docs/interfaces/nand-channel.md has them, and what its part
answers.
"""

from opentxssd.facts import BEATS, NandFeature, PageStatus
from opentxssd.facts import NandOp as Op

PAGE_READS = (Op.READ, Op.READ_OOB, Op.VERIFY)
READ_RETRY = NandFeature.READ_RETRY
OK, FAIL, CRC, BLANK, TIMEOUT = PageStatus
OOB = "kind generation lpn sequence".split()
CMD = ["way", "op", "row", *OOB, "allowCache"]
ERASED = {"kind": 0xFF, "generation": 0xFFFF_FFFF, "lpn": 0xFFFF_FFFF, "sequence": 0xFFFF_FFFF_FFFF}
CHUNK = 512


def most_wrong(fixes):
    """The most wrong bits of a chunk, at most the 8 that can be corrected."""
    chunks = {}
    for byte, mask in fixes:
        chunks[byte // CHUNK] = chunks.get(byte // CHUNK, 0) + mask.bit_count()
    return min(8, max(chunks.values(), default=0))


PARAMETERS = [0x4649_4E4F + i for i in range(96)] + [0] * (BEATS - 96)
ID = 0x64A6_10D3_EC
