# SPDX-License-Identifier: Apache-2.0
"""Random SQEs for the whole drive: each has its completion, and nothing changes that they do not name; 1,000 of them,
with LONG=1 so many and all blocks. 100,000 are `make campaign C=nvme_random`."""

import os

import pytest

from cocotb_tests.system.nvme_random import SLOT, TARGET, RandomHost, Wrong, pack
from opentxssd import BLOCK, Drive
from opentxssd.facts import NvmeOpcode
from opentxssd.nvme import NvmeHost

pytestmark = pytest.mark.forked


def test_random_sqes_do_only_what_they_say():
    r = RandomHost(Drive("nvme"), int(os.environ.get("SEED", "1")))
    r.sqes(1000)
    r.end(os.environ.get("LONG") == "1")
    assert len(r.counts) > 8, "few statuses were seen"


def test_what_must_not_be_is_seen():
    r = RandomHost(Drive("nvme"), 7)
    r.sqes(20)
    batch = r.random.getstate()
    r.host.put(TARGET + 13 * SLOT, b"1")
    with pytest.raises(Wrong, match="host memory at"):
        r.batch(3)
    r.random.setstate(batch)
    r.host.put(TARGET + 13 * SLOT, b"\0")
    lba = next(lba for lba in range(r.drive.lbas) if lba not in r.values)
    r.host.write(lba, b"no one asked".ljust(BLOCK))
    with pytest.raises(Wrong, match=f"block {lba} is"):
        r.look([lba])


@pytest.mark.parametrize("opcode", [NvmeOpcode.WRITE, NvmeOpcode.WRITE_ZEROES, NvmeOpcode.COMPARE])
def test_a_command_that_does_nothing_is_seen(monkeypatch, opcode):
    """What goes to the drive in its place says that it has succeeded."""
    submit = NvmeHost.submit_bytes

    def turned(self, sqe, queue=1):
        sqe = bytes(sqe)
        is_one = queue and sqe[0] == opcode and sqe[1] & 0xC3 == 0 and sqe[4:8] == b"\1\0\0\0"
        return submit(self, pack(NvmeOpcode.BARRIER) if is_one else sqe, queue)

    r = RandomHost(Drive("nvme"), 1)
    monkeypatch.setattr(NvmeHost, "submit_bytes", turned)
    with pytest.raises(Wrong):
        r.sqes(1000)
