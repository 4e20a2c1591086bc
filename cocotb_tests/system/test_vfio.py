# SPDX-License-Identifier: Apache-2.0
"""build/nvme/otx-vfio, the drive as a vfio-user device: the protocol, and an NVMe host over it."""

import errno
import os
import signal
import struct

import pytest

from cocotb_tests.system import vfio_drive as vfio
from cocotb_tests.system.remote_drive import MSIX
from cocotb_tests.system.vfio_drive import CONFIG, EVENTFD, MASK, NONE, TRIGGER, UNMASK, Gone, Refused, Served
from opentxssd import BLOCK
from opentxssd.facts import NvmeOpcode, NvmeStatus
from opentxssd.nvme import BASE, MEMORY, Admin, NvmeHost

PAGE = 4096


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One drive in memory for all clients of this file, one after the other; its last words are looked at, too."""
    server = Served(tmp_path_factory.mktemp("vfio"))
    yield server
    code, said = server.end(signal.SIGTERM)
    assert code == 0 and "otx-vfio: " in said and not server.path.exists()


@pytest.fixture
def client(server):
    client = vfio.VfioDrive(server.path)
    yield client
    client.close()


def started(drive, queues=1):
    host = NvmeHost(drive, drive.memory)
    host.enable()
    host.create_queues(queues)
    return host


def hear(host, *vectors):
    """Waits for an interrupt of each, and for what may come besides; returns the count of each vector."""
    for _ in range(500):
        host.step(1)
        if all(vector in host.interrupts for vector in vectors):
            break
    for _ in range(10):
        host.drive.config_read(0)  # 400 clocks of a drive that has something to do
        host.step(1)
    return host.interrupts


def refused(ask, *arguments, **fields):
    """The errno with which the server refuses that."""
    with pytest.raises(Refused) as why:
        ask(*arguments, **fields)
    return why.value.errno


def goes_on(drive):
    return drive.config_read(0) == 0x702410EE


# The protocol


def test_versions_are_negotiated(server):
    drive = vfio.VfioDrive(server.path, setup=False)
    assert refused(drive.ask, vfio.GET_INFO, struct.pack("<4I", 16, 0, 0, 0)) == errno.EINVAL, "before the version"
    assert refused(drive.negotiate, major=1) == errno.EINVAL
    assert refused(drive.negotiate, data=b"words\0") == errno.EINVAL
    assert refused(drive.negotiate, data=vfio.CAPABILITIES[:-1]) == errno.EINVAL
    major, minor, data = drive.negotiate(minor=7)
    assert (major, minor) == (0, 1) and data.startswith(b'{"capabilities":{') and data.endswith(b"}}\0")
    assert refused(drive.negotiate) == errno.EINVAL, "twice"
    drive.close()
    drive = vfio.VfioDrive(server.path, setup=False)
    assert drive.negotiate(minor=0, data=b"")[:2] == (0, 0)
    drive.close()


def test_the_device_is_a_pci_function_with_bar_0_and_msix(client):
    assert struct.unpack("<4I", client.ask(vfio.GET_INFO, struct.pack("<4I", 16, 0, 0, 0))) == (16, 3, 9, 3)
    sizes = {vfio.BAR0: 16384, CONFIG: 256}
    for index in range(9):
        size = sizes.get(index, 0)
        assert client.region_info(index) == (32, 3 if size else 0, index, 0, size, 0)
    assert [client.irq_info(index)[1:] for index in range(3)] == [(0, 0, 0), (0, 1, 0), (3, 2, 16)]
    assert refused(client.region_info, 9) == refused(client.irq_info, 3) == errno.EINVAL
    assert refused(client.region_info, 0, argsz=31) == errno.EINVAL


def test_configuration_space_is_that_of_an_nvme_controller(client):
    whole = client.read(CONFIG, 0, 256)
    assert struct.unpack_from("<I", whole, 8)[0] >> 8 == 0x010802 and whole[0x3D] == 0, "no INTx"
    assert whole[MSIX] == 0x11 and struct.unpack_from("<HII", whole, MSIX + 2) == (15, 0x2000, 0x3000)
    client.config_write(0x10, 0xFFFFFFFF)
    assert client.config_read(0x10) == 0xFFFFC000
    client.write(CONFIG, 4, bytes(range(6, 20)))
    assert client.config_read(4, 2) == 0x0406 and client.read(CONFIG, 6, 2) == b"\x10\0"


def test_registers_are_read_and_written_in_every_width(client):
    whole = client.read(vfio.BAR0, 0, 64)
    assert struct.unpack_from("<H", whole)[0] == 1023 and struct.unpack_from("<I", whole, 8)[0] == 0x0001_0400
    assert b"".join(client.read(vfio.BAR0, at, 1) for at in range(16)) == whole[:16]
    assert client.read(vfio.BAR0, 1, 14) == whole[1:15]
    client.write(vfio.BAR0, 0x24, struct.pack("<IQQ", 0x001F001F, BASE, BASE + PAGE))  # AQA, ASQ, ACQ
    assert struct.unpack("<IQQ", client.read(vfio.BAR0, 0x24, 20)) == (0x001F001F, BASE, BASE + PAGE)
    client.write(vfio.BAR0, 0x3FFF, b"")
    assert client.read(vfio.BAR0, 0x4000, 0) == b""


BAD = {
    "an unknown command": (99, b"", errno.ENOTSUP),
    "one that this server does not have": (vfio.GET_REGION_IO_FDS, bytes(16), errno.ENOTSUP),
    "one of the server's own": (vfio.DMA_READ, bytes(16), errno.ENOTSUP),
    "a map that is cut short": (vfio.DMA_MAP, bytes(31), errno.EINVAL),
    "a map of nothing": (vfio.DMA_MAP, struct.pack("<IIQQQ", 32, 3, 0, 0, 0), errno.EINVAL),
    "a map past the end": (vfio.DMA_MAP, struct.pack("<IIQQQ", 32, 3, 0, 2**64 - PAGE, 2 * PAGE), errno.EINVAL),
    "a map of what cannot be read": (vfio.DMA_MAP, struct.pack("<IIQQQ", 32, 2, 0, 0, PAGE), errno.EINVAL),
    "a map with an unknown flag": (vfio.DMA_MAP, struct.pack("<IIQQQ", 32, 7, 0, 0, PAGE), errno.EINVAL),
    "a map of what is there": (vfio.DMA_MAP, struct.pack("<IIQQQ", 32, 3, 0, BASE + PAGE, PAGE), errno.EEXIST),
    "a map from before into it": (vfio.DMA_MAP, struct.pack("<IIQQQ", 32, 3, 0, BASE - PAGE, 2 * PAGE), errno.EEXIST),
    "an unmap of a part": (vfio.DMA_UNMAP, struct.pack("<IIQQ", 24, 0, BASE, PAGE), errno.ENOENT),
    "an unmap with an unknown flag": (vfio.DMA_UNMAP, struct.pack("<IIQQ", 24, 1, BASE, MEMORY), errno.EINVAL),
    "an unmap of all with an address": (vfio.DMA_UNMAP, struct.pack("<IIQQ", 24, 2, BASE, MEMORY), errno.EINVAL),
    "a question that is cut short": (vfio.GET_INFO, bytes(12), errno.EINVAL),
    "an interrupt beyond the last": (vfio.SET_IRQS, struct.pack("<5I", 20, 33, 2, 16, 1), errno.EINVAL),
    "interrupts whose sum wraps": (vfio.SET_IRQS, struct.pack("<5I", 20, 33, 2, 2**32 - 1, 2), errno.EINVAL),
    "an interrupt of no index": (vfio.SET_IRQS, struct.pack("<5I", 20, 33, 3, 0, 0), errno.EINVAL),
    "INTx": (vfio.SET_IRQS, struct.pack("<5I", 20, 33, 0, 0, 1), errno.EINVAL),
    "two actions": (vfio.SET_IRQS, struct.pack("<5I", 20, 1 | 8 | 16, 2, 0, 1), errno.EINVAL),
    "no action": (vfio.SET_IRQS, struct.pack("<5I", 20, 1, 2, 0, 1), errno.EINVAL),
    "booleans that are not there": (vfio.SET_IRQS, struct.pack("<5I", 20, 2 | 8, 2, 0, 3) + b"\1\1", errno.EINVAL),
    "an event of a mask": (vfio.SET_IRQS, struct.pack("<5I", 20, 4 | 8, 2, 0, 1), errno.EINVAL),
    "a read past the end": (vfio.REGION_READ, struct.pack("<QII", 0x3FFF, 0, 2), errno.EINVAL),
    "a read whose end wraps": (vfio.REGION_READ, struct.pack("<QII", 2**64 - 4, 7, 8), errno.EINVAL),
    "a read of no region": (vfio.REGION_READ, struct.pack("<QII", 0, 9, 4), errno.EINVAL),
    "a read of an empty region": (vfio.REGION_READ, struct.pack("<QII", 0, 1, 4), errno.EINVAL),
    "a write with too few bytes": (vfio.REGION_WRITE, struct.pack("<QII", 0, 0, 8) + bytes(4), errno.EINVAL),
    "a write with too many": (vfio.REGION_WRITE, struct.pack("<QII", 0, 0, 4) + bytes(8), errno.EINVAL),
}


def test_what_cannot_be_is_refused_and_the_drive_goes_on(client):
    for what, (command, payload, number) in BAD.items():
        assert refused(client.ask, command, payload) == number, what
        assert goes_on(client), what
    spare = [os.memfd_create("two") for _ in range(2)]
    assert refused(client.map, 0, PAGE, fds=spare) == errno.EINVAL, "two descriptors"
    assert refused(client.map, 0, PAGE, fds=spare[:1]) == errno.EINVAL, "past the end of the file"
    os.ftruncate(spare[0], 2 * PAGE)
    assert refused(client.map, 0, 2 * PAGE, PAGE, fds=spare[:1]) == errno.EINVAL
    client.map(0, PAGE, PAGE, fds=spare[:1])
    assert refused(client.set_irqs, EVENTFD | TRIGGER, 0, 3, spare) == errno.EINVAL, "two events for three"
    device = os.open("/dev/zero", os.O_RDWR)
    assert refused(client.map, 8 * PAGE, PAGE, fds=[device]) == errno.EINVAL, "no file"
    assert refused(client.map, 8 * PAGE, PAGE // 2, fds=spare[:1]) == errno.EINVAL, "half a page"
    assert refused(client.map, 3 * PAGE // 2, PAGE, fds=spare[:1]) == errno.EINVAL, "in the middle of a page"
    for fd in (*spare, device):
        os.close(fd)


@pytest.mark.parametrize("size", [0, 15, 2**20 + 2**13])
def test_what_is_no_message_ends_the_connection_only(server, size):
    drive = vfio.VfioDrive(server.path)
    assert refused(drive.ask, vfio.RESET, size=size) == errno.EINVAL
    with pytest.raises((Gone, ConnectionError)):
        drive.config_read(0)
    drive.close()
    drive = vfio.VfioDrive(server.path)
    assert goes_on(drive)
    drive.close()


def test_no_reply_is_sent_to_who_wants_none(client):
    client.send(vfio.REGION_WRITE, struct.pack("<QIII", 0x24, 0, 4, 0x00070007), flags=vfio.NO_REPLY)
    client.send(99, flags=vfio.NO_REPLY)
    assert client.bar_read(0x24, 4) == 0x00070007


# The drive


def test_a_host_reads_what_it_has_written_and_hears_of_it(client):
    host = started(client, 2)
    assert host.identify(1)[24:64].decode().strip() == "OpenTxSSD nvme"
    data = bytes(range(256)) * (3 * BLOCK // 256)
    host.write(10, data, queue=2)
    assert host.read(10, 3) == data
    assert hear(host, 1, 2) == {0: host.interrupts[0], 1: 1, 2: 1} and host.interrupts[0] >= 5


def test_events_alone_turn_interrupts_on_and_no_vector_without_one_has_any(client):
    host = started(client)
    host.lib.otx_msix_control(0, 0)
    host.flush()
    assert hear(host, 1)[1] == 1
    client.set_irqs(EVENTFD | TRIGGER, 1, 1)  # takes it away
    host.flush()
    assert hear(host)[1] == 1
    client.set_irqs(EVENTFD | TRIGGER, 1, 1, [client.events[5]])
    host.interrupts.clear()
    assert hear(host, 5) == {5: 1}, "it was pending"
    client.set_irqs(NONE | TRIGGER, 0, 0)
    host.flush()
    assert hear(host) == {5: 1}


def masked(client, mask, unmask):
    """What a flush does while its vector is masked, and then."""
    host = started(client)
    hear(host, 0)
    mask()
    host.flush()
    assert 1 not in hear(host) and host.read64(0x3000) == 2
    unmask()
    assert hear(host, 1)[1] == 1 and host.read64(0x3000) == 0


def test_a_masked_vector_is_pending_until_it_is_unmasked(client):
    masked(
        client,
        lambda: client.set_irqs(vfio.BOOL | MASK, 0, 3, data=b"\0\1\0"),
        lambda: client.set_irqs(NONE | UNMASK, 0, 16),
    )


def test_the_function_mask_holds_all_vectors(client):
    masked(client, lambda: client.otx_msix_control(1, 1), lambda: client.otx_msix_control(1, 0))


def test_a_client_triggers_its_own_interrupts(client):
    client.fired()
    client.set_irqs(vfio.BOOL | TRIGGER, 3, 3, data=b"\1\0\1")
    client.set_irqs(NONE | TRIGGER, 9, 1)
    assert client.fired() == [3, 5, 9]


def test_the_table_is_not_the_clients(client):
    host = started(client)
    client.bar_write(0x2000 + 16, 0x1234_5678, 8)
    client.bar_write(0x2000 + 24, 1 << 32 | 0x77, 8)
    host.flush()
    assert hear(host, 1)[1] == 1


def test_memory_that_is_given_back_is_not_used_any_more(client):
    host = started(client)
    far = BASE + (1 << 30)
    client.map(far, 2 * PAGE, MEMORY - 2 * PAGE, fds=[client.fd])
    host.put(BASE + MEMORY - 2 * PAGE, b"\x11" * BLOCK)
    fields = dict(nsid=1, dw10=40)
    host.check("write", host.command(NvmeOpcode.WRITE, prp1=far, **fields))
    assert host.read(40) == b"\x11" * BLOCK
    reply = client.unmap(far, 2 * PAGE)
    assert struct.unpack("<IIQQ", reply) == (24, 0, far, 2 * PAGE)
    host.put(BASE + MEMORY - 2 * PAGE, b"\x22" * BLOCK)
    host.command(NvmeOpcode.READ, prp1=far, **fields)
    assert host.get(BASE + MEMORY - 2 * PAGE, BLOCK) == b"\x22" * BLOCK, "read into what was given back"
    assert refused(client.unmap, far, 2 * PAGE) == errno.ENOENT
    client.map(far, 2 * PAGE, MEMORY - 2 * PAGE, fds=[client.fd])
    host.check("read", host.command(NvmeOpcode.READ, prp1=far, **fields))
    assert host.get(BASE + MEMORY - 2 * PAGE, BLOCK) == b"\x11" * BLOCK
    client.unmap(0, 0, flags=2)
    client.map(BASE, MEMORY, fds=[client.fd])
    assert host.read(40) == b"\x11" * BLOCK


def test_memory_to_be_read_only_is_not_written(client):
    host = started(client)
    far, last = BASE + (1 << 30), BASE + MEMORY - PAGE
    client.map(far, PAGE, MEMORY - PAGE, flags=vfio.READABLE, fds=[client.fd])
    host.put(last, b"\x33" * BLOCK)
    host.check("write", host.command(NvmeOpcode.WRITE, prp1=far, nsid=1, dw10=41))
    assert host.read(41) == b"\x33" * BLOCK
    host.put(last, b"\x44" * BLOCK)
    host.command(NvmeOpcode.READ, prp1=far, nsid=1, dw10=41)
    assert host.get(last, BLOCK) == b"\x44" * BLOCK


def unread(host, opcode, lba, blocks, **fields):
    result = host.command(opcode, nsid=1, dw10=lba, dw12=blocks - 1, **host.pages(blocks * BLOCK) | fields)
    return result.status == NvmeStatus.TRANSFER_ERROR and result.again


def memory_that_fails_changes_nothing(host, nowhere):
    """Data and list of commands at addresses of which nothing can be read."""
    old = bytes(range(256)) * (4 * BLOCK // 256)
    host.write(50, old)
    host.put(host.buffer, bytes(4 * BLOCK))
    for opcode in (NvmeOpcode.WRITE, NvmeOpcode.COMPARE):
        assert unread(host, opcode, 50, 1, prp1=nowhere) and unread(host, opcode, 50, 2, prp2=nowhere)
        assert unread(host, opcode, 50, 4, prp2=nowhere), "a list"
    assert host.read(50, 4) == old
    host.write(50, old[::-1])
    assert host.read(50, 4) == old[::-1]


def test_memory_that_is_not_shared_ends_its_command(client):
    memory_that_fails_changes_nothing(started(client), BASE + (1 << 32))


def test_memory_behind_the_end_of_a_region_ends_its_command(client):
    memory_that_fails_changes_nothing(started(client), BASE + MEMORY)


def test_memory_that_the_client_answers_with_an_error_ends_its_command(server):
    drive = unshared(server)
    far = BASE + (1 << 32)
    drive.map(far, 1 << 20)  # which it has not
    memory_that_fails_changes_nothing(started(drive), far)
    drive.close()


def test_a_queue_in_memory_that_is_not_shared_is_fatal_until_a_reset(client):
    host = started(client)
    host.check("create CQ", host.admin(Admin.CREATE_CQ, prp1=host.buffer, dw10=7 << 16 | 2, dw11=1))
    host.check("create SQ", host.admin(Admin.CREATE_SQ, prp1=BASE + (1 << 32), dw10=7 << 16 | 2, dw11=2 << 16 | 1))
    host.write32(0x1000 + 8 * 2, 1)
    assert host.wait_csts(2, 2) & 1
    host = started(client)
    host.flush()


def unshared(server, limit=1 << 20):
    """A client whose memory the drive reaches by messages of at most so many bytes."""
    drive = vfio.VfioDrive(server.path, setup=False)
    drive.limit = limit
    drive.negotiate(data=b'{"capabilities": {"max_data_xfer_size" : %d}}\0' % limit)
    drive.map(BASE, MEMORY)
    drive.set_irqs(EVENTFD | TRIGGER, 0, 16, drive.events)
    return drive


@pytest.mark.parametrize("limit", [1 << 20, 100])
def test_memory_without_a_descriptor_goes_by_messages(server, limit):
    drive = unshared(server, limit)
    host = started(drive)
    data = bytes(range(256)) * (2 * BLOCK // 256)
    host.write(60, data)
    assert host.read(60, 2) == data
    pieces = 2 * -(-BLOCK // limit)
    assert drive.served[vfio.DMA_READ] > pieces and drive.served[vfio.DMA_WRITE] > pieces
    drive.close()


def test_commands_that_come_while_the_drive_waits_for_memory_are_answered_in_turn(server):
    drive = unshared(server)
    host = started(drive)
    before, sent = drive.served[vfio.DMA_READ], []
    drive.write = lambda region, at, data: sent.append(
        drive.send(vfio.REGION_WRITE, struct.pack("<QII", at, region, len(data)) + data)
    )
    key = host.submit(NvmeOpcode.FLUSH, nsid=1)
    del drive.write
    sent += [drive.send(vfio.REGION_READ, struct.pack("<QII", 8, vfio.BAR0, 4)) for _ in range(30)]
    replies = [drive.reply() for _ in sent]
    assert [reply.id for reply in replies] == sent and all(reply.error is None for reply in replies)
    assert {reply.payload[16:] for reply in replies[1:]} == {b"\0\4\1\0"}
    assert drive.served[vfio.DMA_READ] > before, "it has asked meanwhile"
    assert host.wait(key).status == 0
    drive.close()


def test_a_reset_leaves_a_disabled_controller_and_what_was_shared(client):
    host = started(client)
    client.config_write(0x10, 0xFEB0_0000)
    client.reset()
    assert client.bar_read(0x14, 4) == 0 and client.config_read(0x10) == 0 and client.config_read(MSIX + 2, 2) == 15
    host = started(client)
    host.flush()
    assert hear(host, 1)[1] == 1, "events are still there"


def test_the_next_client_finds_the_blocks_and_a_controller_that_is_reset(server):
    drive = vfio.VfioDrive(server.path)
    host = started(drive)
    host.write(70, b"\x77" * BLOCK)
    host.put(host.buffer, b"\x78" * BLOCK)
    host.submit(NvmeOpcode.WRITE, nsid=1, dw10=71, **host.pages(BLOCK))  # under way when it goes
    waits = vfio.VfioDrive(server.path, setup=False)
    drive.close()
    waits.negotiate()
    assert waits.bar_read(0x14, 4) == 0
    waits.map(BASE, MEMORY, fds=[waits.fd])
    waits.set_irqs(EVENTFD | TRIGGER, 0, 16, waits.events)
    host = started(waits)
    assert host.read(70) == b"\x77" * BLOCK
    assert host.read(71) in (bytes(BLOCK), b"\x78" * BLOCK)
    waits.close()


# Power


def test_a_power_cut_and_an_orderly_end(tmp_path):
    """SIGKILL: what was written with FUA is there, and the drive counts a power cut. SIGTERM and SIGINT: no other."""
    image, data = tmp_path / "drive.nand", b"\x5a" * BLOCK
    server = Served(tmp_path, image)
    host = started(vfio.VfioDrive(server.path))
    host.write(20, data, fua=True)
    assert server.end(signal.SIGKILL)[0] == -signal.SIGKILL
    server.path.unlink()
    server = Served(tmp_path, image)
    host = started(vfio.VfioDrive(server.path))
    assert host.read(20) == data
    host.write(21, data)
    code, said = server.end(signal.SIGTERM)
    assert code == 0 and "1 power cut, the last one before this start" in said
    server = Served(tmp_path, image)
    host = started(vfio.VfioDrive(server.path))
    assert host.read(21) == data
    code, said = server.end(signal.SIGINT)
    assert code == 0 and "1 power cut\n" in said and "0 log pages, 0 entries" in said
