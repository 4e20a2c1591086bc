# SPDX-License-Identifier: Apache-2.0
"""Random SQEs for the whole drive: each has its completion, and nothing changes that they do not name; 1,000 of them,
with LONG=1 so many and all blocks. 100,000 are `make campaign C=nvme_random`."""

import os

import pytest

from cocotb_tests.system.nvme_random import SLOT, TARGET, RandomHost, Wrong
from opentxssd import BLOCK, Drive

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
