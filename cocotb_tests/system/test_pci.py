# SPDX-License-Identifier: Apache-2.0
"""build/nvme/otx-pci, the drive as a PCI device, by the protocol of QEMU's proxy device; QEMU itself: `make vm`."""

import signal

import pytest

from cocotb_tests.system.proxy_drive import BAR, ProxyDrive
from cocotb_tests.system.remote_drive import MSIX
from opentxssd import BLOCK
from opentxssd.facts import NvmeOpcode
from opentxssd.nvme import CFS, NvmeHost


@pytest.fixture
def drive(tmp_path):
    drive = ProxyDrive(tmp_path)
    yield drive
    if drive.process.poll() is None:
        drive.end()


def capabilities(drive):
    at, found = drive.config_read(0x34, 1), {}
    while at:
        found[drive.config_read(at, 1)] = at
        at = drive.config_read(at + 1, 1)
    return found


def test_configuration_space_is_that_of_an_nvme_controller(drive):
    assert drive.config_read(8) >> 8 == 0x010802 and drive.config_read(0) == 0x702410EE
    assert drive.config_read(0x0E, 1) == 0
    drive.config_write(0x10, 0xFFFFFFFF)
    assert drive.config_read(0x10) == 0xFFFFC000, "BAR 0 is 16 KiB of 32 bits"
    drive.config_write(0x10, BAR)
    assert drive.config_read(0x10) == BAR and all(drive.config_read(0x14 + 4 * i) == 0 for i in range(5))
    assert capabilities(drive)[0x11] == MSIX
    assert drive.config_read(MSIX + 2, 2) == 15 and drive.config_read(MSIX + 4) == 0x2000
    assert drive.config_read(MSIX + 8) == 0x3000
    drive.config_write(4, 0xFFFF, 2)
    assert drive.config_read(4, 2) == 0x0406
    drive.config_write(0, 0x12345678)
    assert drive.config_read(0) == 0x702410EE


def test_registers_are_read_in_every_width(drive):
    whole = drive.bar_read(0, 8)
    assert whole & 0xFFFF == 1023
    assert [drive.bar_read(at, 4) for at in (0, 4)] == [whole & 0xFFFFFFFF, whole >> 32]
    assert [drive.bar_read(at, 1) for at in range(8)] == list(whole.to_bytes(8, "little"))
    assert drive.bar_read(8, 4) == 0x0001_0400


def test_a_host_reads_what_it_has_written_and_hears_of_it(drive):
    host = NvmeHost(drive, drive.memory)
    host.enable()
    host.create_queues(2)
    data = bytes(range(256)) * (3 * BLOCK // 256)
    host.write(10, data, queue=2)
    assert host.read(10, 3) == data
    host.take_messages()
    assert host.interrupts[0] >= 4 and host.interrupts[1] == 1 and host.interrupts[2] == 1
    code, said = drive.end()
    assert code == 0 and " 0 accesses beyond its memory" in said


def test_without_bus_master_enable_it_reaches_nothing(drive):
    host = NvmeHost(drive, drive.memory)
    host.enable()
    host.create_queues()
    host.write(5, bytes([7]) * BLOCK)
    host.take_messages()
    drive.config_write(4, 2, 2)
    host.submit(NvmeOpcode.READ, nsid=1, dw10=5, prp1=host.buffer)
    before, told = bytes(drive.memory), dict(host.interrupts)
    host.wait_csts(CFS, CFS)  # a SQE that cannot be read
    assert bytes(drive.memory) == before and not drive.messages and host.interrupts == told
    host.enable()
    host.create_queues()
    assert host.read(5) == bytes([7]) * BLOCK


def test_a_masked_vector_is_pending_until_it_is_unmasked(drive):
    host = NvmeHost(drive, drive.memory)
    host.enable()
    host.create_queues()
    host.write32(0x2000 + 16 + 12, 1)
    key = host.submit(NvmeOpcode.FLUSH, nsid=1)
    host.wait(key)
    host.take_messages()
    assert 1 not in host.interrupts and host.read64(0x3000) == 2
    host.write32(0x2000 + 16 + 12, 0)
    for _ in range(200):
        host.step(1)
    assert host.interrupts[1] == 1 and host.read64(0x3000) == 0


def test_a_reset_of_the_device_leaves_a_disabled_controller(drive):
    host = NvmeHost(drive, drive.memory)
    host.enable()
    drive.reset()
    assert drive.config_read(MSIX + 2, 2) == 15 and drive.bar_read(0x14, 4) == 0
    host.enable()
    host.create_queues()
    host.flush()


def test_power_fails_and_the_drive_is_there_again(tmp_path):
    image, data = tmp_path / "drive.nand", b"\x5a" * BLOCK
    drive = ProxyDrive(tmp_path, image, 3)
    host = NvmeHost(drive, drive.memory)
    host.enable()
    host.create_queues()
    host.write(20, data)
    host.flush()
    drive.process.send_signal(signal.SIGTERM)
    assert drive.process.wait(20) == 0
    drive.listener.close()
    (tmp_path / "qtest").unlink()
    drive = ProxyDrive(tmp_path, image)
    host = NvmeHost(drive, drive.memory)
    host.enable()
    host.create_queues()
    assert host.read(20) == data
    assert "1 power cut" in drive.end()[1]
