# SPDX-License-Identifier: Apache-2.0
"""The whole drive behind its NVMe front end, with the real firmware, driven by opentxssd.nvme.NvmeHost."""

import pytest

from opentxssd import Drive
from opentxssd.nvme import NvmeHost

pytestmark = pytest.mark.forked


@pytest.fixture(scope="module")
def off():
    """A host before it has done anything."""
    return NvmeHost(Drive("nvme"))


def test_a_controller_is_enabled(off):
    assert off.read64(0) & 0xFFFF == 1023 and off.read32(8) == 0x0001_0400
    off.enable()
    assert off.read32(0x1C) == 1
    assert off.lib.otx_host_faults() == 0


def test_a_start_after_a_shutdown_has_nothing_to_replay(off):
    off.enable()
    off.shutdown()
    off.drive.power_cut(1)
    off.drive.power_on()
    assert "0 log pages, 0 entries" in off.drive.uart and "power cut" not in off.drive.uart
    off.enable()
