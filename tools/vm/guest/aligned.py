# SPDX-License-Identifier: Apache-2.0
"""Writes from and reads to buffers at every kind of multiple of 4, over one to 32 blocks."""

import os
import sys

from nvme_ioctl import BLOCK, send
from nvme_opcodes import READ, WRITE

disk = os.open(sys.argv[1], os.O_RDWR)
for blocks in (1, 2, 3, 31):
    for offset in (0, 4, 8, 512, 2052, 4092):
        data = os.urandom(blocks * BLOCK)
        fields = dict(cdw10=600, cdw12=blocks - 1)
        status, *_ = send(disk, WRITE, data, offset=offset, **fields)
        assert status == 0, f"write of {blocks} from {offset}: status {status:#x}"
        for other in (0, 4, 1028, 4092):
            status, _, back = send(disk, READ, size=len(data), offset=other, **fields)
            assert status == 0 and back == data, f"read of {blocks} to {other}: status {status:#x}"
