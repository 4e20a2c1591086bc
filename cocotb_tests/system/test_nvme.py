# SPDX-License-Identifier: Apache-2.0
"""The whole drive behind its NVMe front end, with the real firmware, driven by opentxssd.nvme.NvmeHost."""

import struct

import pytest

from opentxssd import Drive
from opentxssd.facts import NvmeOpcode, NvmeStatus, Query
from opentxssd.nvme import Admin, NvmeHost
from soc import geometry

pytestmark = pytest.mark.forked
LBAS = geometry.preset("nvme").lbas


@pytest.fixture(scope="module")
def host():
    """A host with two pairs of queues."""
    host = NvmeHost(Drive("nvme"))
    host.enable()
    host.create_queues(2)
    return host


def again(host):
    """The host's side of a start."""
    host.enable()
    host.create_queues(2)


def test_identify_says_what_the_drive_is(host):
    controller, namespace = host.identify(1), host.identify(0, 1)
    assert controller[24:64].decode().strip() == "OpenTxSSD nvme" and controller[77] == 5
    assert struct.unpack_from("<Q", namespace)[0] == LBAS and namespace[130] == 12
    assert controller[3072:3080] == b"OTXTXSSD" and struct.unpack_from("<I", controller, 3088)[0] == 511
    assert struct.unpack_from("<2I", host.identify(2)) == (1, 0)
    assert host.admin(Admin.IDENTIFY, nsid=2, prp1=host.buffer, dw10=0).status == NvmeStatus.INVALID_NAMESPACE
    assert host.lib.otx_host_faults() == 0


def test_each_queue_has_its_completions_and_its_vector(host):
    before = dict(host.interrupts)
    for queue in (1, 2, 2):
        assert host.command(NvmeOpcode.QUERY, queue, nsid=1, dw15=Query.CAPACITY).dw0 == LBAS
    assert host.interrupts[1] - before.get(1, 0) == 1 and host.interrupts[2] - before.get(2, 0) == 2


def test_queues_wrap(host):
    for _ in range(3):
        keys = [host.submit(NvmeOpcode.QUERY, nsid=1, dw15=Query.CAPACITY) for _ in range(50)]
        assert all(host.wait(key).dw0 == LBAS for key in keys)


def test_wrong_commands_have_their_status_and_the_drive_goes_on(host):
    assert host.command(0x7F, nsid=1).status == NvmeStatus.INVALID_OPCODE
    assert host.command(NvmeOpcode.FLUSH, nsid=2).status == NvmeStatus.INVALID_NAMESPACE
    assert host.command(NvmeOpcode.TX_COMMIT, nsid=1, dw2=9).status == NvmeStatus.TX_INVALID
    assert host.admin(0x7F).status == NvmeStatus.INVALID_OPCODE
    errors = host.log(1, 256)
    found = [struct.unpack_from("<QHHH", errors, 64 * i) for i in range(4)]
    assert [(queue, status >> 1 & 0x7FF) for _, queue, _, status in found] == [
        (0, NvmeStatus.INVALID_OPCODE),
        (1, NvmeStatus.TX_INVALID),
        (1, NvmeStatus.INVALID_NAMESPACE),
        (1, NvmeStatus.INVALID_OPCODE),
    ]
    host.flush()


def test_a_reset_leaves_a_controller_as_after_power_on(host):
    host.submit(NvmeOpcode.FLUSH, nsid=1)
    again(host)
    host.flush()
    assert host.lib.otx_host_faults() == 0


def test_queues_come_and_go(host):
    host.check("delete SQ", host.admin(Admin.DELETE_SQ, dw10=2))
    host.check("delete CQ", host.admin(Admin.DELETE_CQ, dw10=2))
    assert host.admin(Admin.DELETE_SQ, dw10=2).status == NvmeStatus.QID_INVALID
    host.flush()


def test_a_start_after_a_shutdown_has_nothing_to_replay(host):
    host.check("begin", host.command(NvmeOpcode.TX_BEGIN, nsid=1, dw2=3))
    host.shutdown()
    host.drive.power_cut(1)
    host.drive.power_on()
    assert "0 log pages, 0 entries" in host.drive.uart and "power cut" not in host.drive.uart
    again(host)
    said = host.log(0xC0, 64)
    assert said[:8] == b"OTXDRIVE" and struct.unpack_from("<3I", said, 12) == (1, 2, 0)


def test_a_start_after_a_power_cut_says_so(host):
    host.flush()
    host.drive.power_cut(1)
    host.drive.power_on()
    again(host)
    assert struct.unpack_from("<3I", host.log(0xC0, 64), 12) == (0, 2, 1)
    assert struct.unpack_from("<Q", host.log(2), 144)[0] == 1


def test_format_completes(host):
    host.check("format", host.admin(Admin.FORMAT_NVM, nsid=1))
    host.flush()
