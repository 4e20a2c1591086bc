# SPDX-License-Identifier: Apache-2.0
"""The whole drive behind its NVMe front end, with the real firmware, driven by opentxssd.nvme.NvmeHost."""

import random
import struct

import pytest

from cocotb_tests.bench.amount import amount
from cocotb_tests.system.variant import firmware
from opentxssd import BLOCK, Drive
from opentxssd.facts import NvmeOpcode, NvmeStatus, Query
from opentxssd.nvme import BASE, Admin, NvmeHost
from soc import geometry

pytestmark = pytest.mark.forked
LBAS = geometry.preset("nvme").lbas
TIMEOUT_US = 200  # of a host that sends no data
NOWHERE = BASE + (1 << 40)  # nobody has that


@pytest.fixture(scope="module")
def host():
    """A host with two pairs of queues."""
    host = NvmeHost(Drive("nvme", firmware=firmware("nvme", host_timeout_us=TIMEOUT_US)))
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


def data(lba, version=0, blocks=1):
    return b"".join((lba + n << 32 | version).to_bytes(8, "little") * (BLOCK // 8) for n in range(blocks))


def test_blocks_are_read_as_they_were_written(host):
    for lba, blocks in ((5, 1), (8, 2), (16, 3), (32, 32)):
        host.write(lba, data(lba, 1, blocks))
    for lba, blocks in ((5, 1), (8, 2), (16, 3), (32, 32)):
        assert host.read(lba, blocks, queue=2) == data(lba, 1, blocks)
    assert host.read(7) == bytes(BLOCK)
    assert host.lib.otx_host_faults() == 0


def test_compares_go_beside_reads_and_other_compares(host):
    host.write(32, data(32, 3, 32))
    host.put(host.buffer, data(32, 3, 32))
    into = host.buffer + 40 * BLOCK
    keys = []
    for n in range(40):
        at, lba = (into, 32) if n % 3 == 0 else (host.buffer + n % 4 * BLOCK, 32 + n % 4)
        opcode = NvmeOpcode.READ if n % 3 == 0 else NvmeOpcode.COMPARE
        keys.append(host.submit(opcode, 1 + n % 2, nsid=1, dw10=lba, dw12=1, **host.pages(2 * BLOCK, at)))
    assert not any(host.wait(key).status for key in keys)


def unread(host, opcode, lba, blocks, **fields):
    """That command ends with a transfer error, which may be another one the next time."""
    size = blocks * BLOCK
    result = host.command(opcode, nsid=1, dw10=lba, dw12=blocks - 1, **host.pages(size) | fields)
    assert (result.status, result.again) == (NvmeStatus.TRANSFER_ERROR, True)


def test_memory_that_nobody_has_ends_its_command_and_changes_nothing(host):
    old, new = data(96, 7, 8), data(96, 8, 8)
    host.write(96, old)
    host.put(host.buffer, new)
    before = host.lib.otx_host_faults()
    lists = host.pages(8 * BLOCK)["prp2"]
    for entry in (0, 3, 6):  # a page of data
        host.pages(8 * BLOCK)
        host.put(lists + 8 * entry, NOWHERE.to_bytes(8, "little"))
        fields = dict(prp1=host.buffer, prp2=lists)
        for opcode in (NvmeOpcode.WRITE, NvmeOpcode.TX_WRITE, NvmeOpcode.COMPARE):
            result = host.command(opcode, nsid=1, dw2=11 * (opcode >= 0x80), dw10=96, dw12=7, **fields)
            assert (result.status, result.again) == (NvmeStatus.TRANSFER_ERROR, True), opcode
    for opcode in (NvmeOpcode.WRITE, NvmeOpcode.READ, NvmeOpcode.COMPARE):
        unread(host, opcode, 96, 8, prp2=NOWHERE)  # the list
    for opcode in (NvmeOpcode.WRITE, NvmeOpcode.COMPARE):
        unread(host, opcode, 96, 1, prp1=NOWHERE)
        unread(host, opcode, 96, 2, prp2=NOWHERE)
    fields = dict(nsid=1, dw10=1, dw11=4, prp1=NOWHERE)
    assert host.command(NvmeOpcode.DATASET_MANAGEMENT, **fields).status == NvmeStatus.TRANSFER_ERROR
    assert host.command(NvmeOpcode.TX_COMMIT, nsid=1, dw2=11).status == NvmeStatus.TX_INVALID, "it was never opened"
    many = dict(nsid=0xFFFFFFFF, prp1=host.buffer, dw10=(3 * 1024 - 1) << 16 | 2)
    assert host.admin(Admin.GET_LOG_PAGE, prp2=NOWHERE, **many).status == NvmeStatus.TRANSFER_ERROR
    assert host.lib.otx_host_faults() - before == 9 + 3 + 4 + 1 + 1
    errors = host.log(1, 256)
    assert [struct.unpack_from("<H", errors, 64 * i + 12)[0] for i in (0, 2)] == [2 * NvmeStatus.TRANSFER_ERROR] * 2
    assert host.read(96, 8) == old
    host.write(104, new, fua=True)
    host.drive.power_cut(1)
    host.drive.power_on()
    again(host)
    assert host.read(96, 8) == old and host.read(104, 8) == new


def test_a_queue_that_cannot_be_read_is_fatal_until_a_reset(host):
    host.write(96, data(96, 9))
    host.check("delete SQ", host.admin(Admin.DELETE_SQ, dw10=2))
    host.check("create SQ", host.admin(Admin.CREATE_SQ, prp1=NOWHERE, dw10=63 << 16 | 2, dw11=2 << 16 | 1))
    event = host.submit(Admin.ASYNC_EVENT, 0)
    host.write32(0x1000 + 8 * 2, 1)
    assert host.wait_csts(2, 2) & 1
    assert host.wait(event).dw0 == 0x01_03_00
    again(host)
    assert host.read(96) == data(96, 9)
    assert struct.unpack_from("<HHH", host.log(1, 64), 8) == (0xFFFF, 0xFFFF, 2 * NvmeStatus.TRANSFER_ERROR)


def test_reads_and_writes_at_depth_32_all_end(host):
    """Completions wait for data of READs that stand before them on the way to the host, and READs for completions."""
    rng, left = random.Random(1), []
    host.create_queue(3, 256)
    host.write(64, bytes(32 * BLOCK))
    for n in range(amount(1000, 10_000)):
        opcode, at = rng.choice((NvmeOpcode.READ, NvmeOpcode.WRITE)), host.buffer + n % 64 * BLOCK
        left.append(host.submit(opcode, 3, nsid=1, dw10=64 + rng.randrange(32), prp1=at))
        begin = host.drive.clock
        while len(left) == 32:
            assert host.drive.clock - begin < 1_000_000, f"after {n} commands none ends"
            host.step(50)
            host.poll(3)
            ended = [key for key in left if key in host.done]
            assert not any(host.done.pop(key).status for key in ended)
            left = [key for key in left if key not in ended]
    assert not any(host.wait(key).status for key in left)


@pytest.mark.parametrize("page", [0, 5, 31])
def test_of_a_host_that_stops_only_that_write_ends(host, page):
    """The host does not answer reads of one page of data, nor what is asked for behind them."""
    for lba in range(160, 200, 8):
        host.write(lba, data(lba, page, 8))
    host.put(host.buffer, data(0, 99, 32))
    host.lib.otx_host_hold(host.buffer + page * BLOCK, BLOCK)
    stopped = host.submit(NvmeOpcode.WRITE, nsid=1, dw10=160, dw12=31, **host.pages(32 * BLOCK))
    others = [host.submit(opcode, 2, nsid=1) for opcode in (NvmeOpcode.QUERY, NvmeOpcode.QUERY)]
    assert not any(host.wait(key).status for key in others), "commands that were fetched go on"
    assert stopped not in host.done
    ended = host.wait(stopped, 1_000_000)
    assert (ended.status, ended.again) == (NvmeStatus.TRANSFER_ERROR, True)
    host.lib.otx_host_hold(0, 0)
    for lba in range(160, 200, 8):
        assert host.read(lba, 8) == data(lba, page, 8)
    host.write(160, data(160, 1000, 32))
    assert host.read(160, 32) == data(160, 1000, 32)


@pytest.mark.parametrize("offset", [0, 4, 2048, 4092])
def test_data_is_at_any_multiple_of_4(host, offset):
    for blocks in (1, 2, 31):
        at, size = host.buffer + offset, blocks * BLOCK
        host.put(host.buffer, bytes(size + 2 * BLOCK))
        host.put(at, data(64, offset, blocks))
        fields = dict(nsid=1, dw10=64, dw12=blocks - 1)
        host.check("write", host.command(NvmeOpcode.WRITE, **host.pages(size, at), **fields))
        host.put(host.buffer, b"\xa5" * (size + 2 * BLOCK))
        host.check("read", host.command(NvmeOpcode.READ, **host.pages(size, at), **fields))
        around = host.get(host.buffer, size + 2 * BLOCK)
        assert around[offset:][:size] == data(64, offset, blocks)
        assert set(around[:offset] + around[offset + size :]) == {0xA5}


def test_a_transaction_is_hidden_before_its_commit(host):
    host.write(100, data(100, 1))
    host.check("begin", host.command(NvmeOpcode.TX_BEGIN, nsid=1, dw2=3))
    host.write(100, data(100, 2), txid=3)
    assert host.read(100) == data(100, 1) and host.read(100, txid=3) == data(100, 2)
    assert host.commit(3).dw0 > 0
    assert host.read(100) == data(100, 2)


def test_log_page_c0_has_the_latencies_of_commits(host):
    def latencies():
        page = host.log(0xC0, 1024)
        assert struct.unpack_from("<I", page, 512) == (32,)
        return struct.unpack_from("<32I", page, 516)

    before, took = latencies(), []
    for n in range(6):
        host.check("begin", host.command(NvmeOpcode.TX_BEGIN, nsid=1, dw2=n))
        host.write(110 + n, data(110 + n, n), txid=n)
        took.append(host.commit(n).dw0)
    assert host.command(NvmeOpcode.TX_COMMIT, nsid=1, dw2=9).status == NvmeStatus.TX_INVALID
    buckets = [clocks.bit_length() - 1 for clocks in took]
    assert [now - was for was, now in zip(before, latencies(), strict=True)] == [buckets.count(b) for b in range(32)]


def test_what_was_flushed_or_committed_survives_a_power_cut(host):
    host.write(200, data(200, 1, 4))
    host.write(300, data(300, 1))
    host.flush()
    host.check("begin", host.command(NvmeOpcode.TX_BEGIN, nsid=1, dw2=4))
    host.write(300, data(300, 2), txid=4)
    host.check("begin", host.command(NvmeOpcode.TX_BEGIN, nsid=1, dw2=5))
    host.write(301, data(301, 2), txid=5)
    host.commit(5)
    host.write(400, data(400, 1), fua=True)
    host.drive.power_cut(7)
    host.drive.power_on()
    again(host)
    assert host.read(200, 4) == data(200, 1, 4)
    assert host.read(300) == data(300, 1) and host.read(301) == data(301, 2)
    assert host.read(400) == data(400, 1)


def test_format_leaves_zeroes(host):
    host.write(500, data(500, 1, 8))
    host.check("format", host.admin(Admin.FORMAT_NVM, nsid=1))
    assert host.read(500, 8) == bytes(8 * BLOCK)
    host.drive.power_cut(1)
    host.drive.power_on()
    again(host)
    assert host.read(500, 8) == bytes(8 * BLOCK)


def test_format_ends_what_is_prepared_too(host):
    host.write(510, data(510, 1), txid=3)
    host.check("prepare", host.command(NvmeOpcode.TX_PREPARE, nsid=1, dw2=3))
    host.check("format", host.admin(Admin.FORMAT_NVM, nsid=1))
    assert host.command(NvmeOpcode.TX_COMMIT, nsid=1, dw2=3).status == NvmeStatus.TX_INVALID
    assert host.read(510) == bytes(BLOCK)


def messages(host, vector, queries):
    """Interrupts of that vector for so many QUERYs, one after the other, and some time."""
    before = host.interrupts.get(vector, 0)
    for _ in range(queries):
        host.check("query", host.command(NvmeOpcode.QUERY, vector, nsid=1, dw15=Query.CAPACITY))
    host.step(2000)
    return host.interrupts.get(vector, 0) - before


def test_interrupts_are_coalesced_but_for_a_vector_that_is_left_out(host):
    host.check("coalescing", host.admin(Admin.SET_FEATURES, dw10=8, dw11=250 << 8 | 3))  # of four CQEs, or after 25 ms
    assert messages(host, 1, 8) == 2
    host.check("vector", host.admin(Admin.SET_FEATURES, dw10=9, dw11=1 << 16 | 1))
    assert messages(host, 1, 8) == 8 and messages(host, 2, 8) == 2
    again(host)
    assert messages(host, 1, 8) == 8, "a reset has the defaults"


def test_queues_have_the_shares_of_their_priorities(host):
    """Queues 1 to 4 are urgent, high, medium and low, with the default weights."""
    each = 100
    host.enable(weighted=True)
    for number in range(1, 5):
        host.create_queue(number, 256, number - 1)
    for queue in list(host.queues.values())[1:]:
        for cid in range(each):
            query = struct.pack("<HHI", NvmeOpcode.QUERY, cid, 1) + bytes(52) + struct.pack("<I", Query.CAPACITY)
            host.put(queue.sq + 64 * cid, query)
        queue.tail = each
    for number in (4, 3, 2, 1):
        host.write32(0x1000 + 8 * number, each)
    while len(host.done) < 4 * each:
        host.step(10)
        for number in range(1, 5):
            host.poll(number)
    ends = {number: [host.done.pop((number, cid)).clock for cid in range(each)] for number in range(1, 5)}
    before = {n: sum(end < max(ends[1]) for end in ends[n]) for n in (2, 3, 4)}
    assert sum(before.values()) < each // 2, f"{before} before the last urgent one"
    medium, low = (sum(end <= max(ends[2]) for end in ends[n]) for n in (3, 4))
    assert 40 <= medium <= 65 and 18 <= low <= 40, f"{medium} and {low} beside {each} of the high queue"
    again(host)


def test_without_the_write_cache_a_write_is_durable(host):
    host.check("set feature", host.admin(Admin.SET_FEATURES, dw10=6, dw11=0))
    host.write(600, data(600, 1))
    host.drive.power_cut(1)
    host.drive.power_on()
    again(host)
    assert host.read(600) == data(600, 1)
    assert host.admin(Admin.GET_FEATURES, dw10=6).dw0 == 1, "a start brings the default"


def test_smart_counts_what_hosts_do(host):
    for _ in range(4):
        host.write(0, data(0, 1, 32))
        host.read(0, 32)
    smart = host.log(2)
    read, written, reads, writes = (struct.unpack_from("<Q", smart, at)[0] for at in (32, 48, 64, 80))
    assert (read, written) == (2, 2) and (reads, writes) == (4, 4)


def test_streams_are_flushed_one_by_one_when_they_are_on(host):
    def write(lba, stream):
        host.put(host.buffer, data(lba, 1))
        fields = dict(dw10=lba, dw12=1 << 20, dw13=stream << 16)
        return host.command(NvmeOpcode.WRITE, nsid=1, **host.pages(BLOCK), **fields).status

    assert write(700, 7) == NvmeStatus.INVALID_FIELD
    host.check("directive", host.admin(Admin.DIRECTIVE_SEND, nsid=1, dw11=1, dw12=0x101))
    assert write(700, 7) == write(701, 8) == NvmeStatus.SUCCESS
    host.check("flush", host.command(NvmeOpcode.FLUSH_RANGE, nsid=1, dw13=7 << 16, dw15=1))
    host.drive.power_cut(1)
    host.drive.power_on()
    again(host)
    assert host.read(700) == data(700, 1)
    assert host.read(701) == bytes(BLOCK), "the other stream was flushed, too"
    assert write(702, 7) == NvmeStatus.INVALID_FIELD
