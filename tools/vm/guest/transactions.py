# SPDX-License-Identifier: Apache-2.0
"""Transactions by vendor commands: hidden before their commit, visible after it, gone after an abort."""

import os
import sys

from nvme_ioctl import BLOCK, send
from nvme_opcodes import READ, TX_ABORT, TX_BEGIN, TX_COMMIT, TX_READ, TX_WRITE, WRITE

disk = os.open(sys.argv[1], os.O_RDWR)
LBA, BLOCKS, TXID = 700, 8, 5


def good(opcode, *args, **fields):
    status, dw0, data = send(disk, opcode, *args, **fields)
    assert status == 0, f"opcode {opcode:#x}: status {status:#x}"
    return dw0, data


def read(opcode=READ, **fields):
    return good(opcode, size=BLOCKS * BLOCK, cdw10=LBA, cdw12=BLOCKS - 1, **fields)[1]


def write(data, opcode=WRITE, **fields):
    good(opcode, data, cdw10=LBA, cdw12=BLOCKS - 1, **fields)


old, new = os.urandom(BLOCKS * BLOCK), os.urandom(BLOCKS * BLOCK)
for end in (TX_COMMIT, TX_ABORT):
    write(old)
    good(TX_BEGIN, cdw2=TXID)
    write(new, TX_WRITE, cdw2=TXID)
    assert read() == old, "a write was seen before its commit"
    assert read(TX_READ, cdw2=TXID) == new, "a transaction does not see what it has written"
    clocks, _ = good(end, cdw2=TXID)
    assert read() == (new if end == TX_COMMIT else old)
    if end == TX_COMMIT:
        print(f"committed {BLOCKS} blocks in {clocks} clocks")
status, *_ = send(disk, TX_COMMIT, cdw2=TXID)
assert status & 0x7FF == 0x1C0, f"a commit of what is not open: status {status:#x}"
