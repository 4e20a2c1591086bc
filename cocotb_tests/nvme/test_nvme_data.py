# SPDX-License-Identifier: Apache-2.0
"""Data of the NVMe front end both ways: PRPs of all shapes, speed, requests that come too late."""

import os

import cocotb

from cocotb_tests.bench.amount import amount
from cocotb_tests.bench.nvme_host import LBAS, PAGE, Host
from cocotb_tests.bench.runner import run
from cocotb_tests.models.nvme_commands import DO_NOT_RETRY, Sqe
from opentxssd.facts import BLOCK, NvmeOpcode, NvmeStatus, Status

VERILOG = os.environ.get("OTX_VERILOG_DIR", "build/tiny/verilog")
SEED = int(os.environ.get("SEED", "1"))
simulated = cocotb.test(timeout_time=20, timeout_unit="ms")
READ, WRITE = NvmeOpcode.READ, NvmeOpcode.WRITE
OFFSETS = (0, 4, 8, 12, 2048, 2052, 4088, 4092)


async def ready(dut, depth=64, **how):
    h = await Host(dut, SEED, **how).begin()
    await h.start()
    return h, await h.create(1, depth)


@simulated
async def a_block_goes_both_ways_at_any_alignment(dut):
    h, pair = await ready(dut, pace=1.0)
    for i, offset in enumerate(OFFSETS):
        h.submit(pair, h.move(WRITE, 3 * i, 1, offset))
    h.ring(pair)
    await h.drain()
    for i, offset in enumerate(OFFSETS[::-1]):
        h.submit(pair, h.move(READ, 3 * i, 1, offset))
    h.ring(pair)
    await h.drain()
    assert h.statuses == {NvmeStatus.SUCCESS: 2 * len(OFFSETS)}
    assert h.firmware.value("host_reads") == h.firmware.value("blocks_read") == len(OFFSETS)


@simulated
async def lists_of_all_lengths_are_read_also_over_the_end_of_a_page(dut):
    """The last place of the list is at the end of its page, or a word before or behind it."""
    h, pair = await ready(dut, pace=1.0)
    for n, count in enumerate((2, 3, 4, 5, 9, 17)[: amount(4, 6)]):
        offset = OFFSETS[n % len(OFFSETS)]
        entries = count - (offset == 0)
        for over in (-1, 0, 1, entries - 1):
            at = PAGE - 8 * (entries - over)
            if 0 <= at < PAGE:
                h.submit(pair, h.move((WRITE, READ)[n % 2], 40 * n, count, offset, list_at=at))
        h.ring(pair)
        await h.drain()
    assert set(h.statuses) == {NvmeStatus.SUCCESS}
    h.submit(pair, h.move(WRITE, 500, 32, 4, list_at=PAGE - 8))
    h.ring(pair)
    await h.drain()
    h.submit(pair, h.move(READ, 500, 32, 4092))
    h.ring(pair)
    await h.drain()


def spoil(h, address, bits):
    """Sets bits of an entry of a list."""
    h.memory.put(address, (h.memory.word(address) | bits).to_bytes(8, "little"))


@simulated
async def prps_with_an_offset_that_must_not_be_are_refused(dut):
    h, pair = await ready(dut)
    wrong = NvmeStatus.PRP_OFFSET | DO_NOT_RETRY
    for op in (WRITE, READ, NvmeOpcode.TX_READ):
        odd = []
        for count, offset in ((1, 8), (2, 0), (3, 0), (8, 16)):
            sqe = h.move(op, 8, count, offset)
            sqe.prp1 |= 1 + count % 3
            odd.append(sqe)
        for bit in (1, 8, 2048):
            sqe = h.move(op, 8, 2)
            sqe.prp2 |= bit
            odd.append(sqe)
        sqe = h.move(op, 8, 3, list_at=64)
        sqe.prp2 |= 4
        odd.append(sqe)
        for entry, bits in ((0, 1), (1, 16), (5, 2048)):
            sqe = h.move(op, 8, 6, 4, list_at=128)
            spoil(h, sqe.prp2 + 8 * entry, bits)
            odd.append(sqe)
        sqe = h.move(op, 8, 6, 4, list_at=PAGE - 16)  # the page where the list goes on
        spoil(h, sqe.prp2 + 8, 8)
        odd.append(sqe)
        records = [h.submit(pair, sqe) for sqe in odd]
        h.ring(pair)
        await h.drain()
        assert all(r.done == wrong for r in records)
    h.submit(pair, h.move(WRITE, 8, 5, 4))
    h.ring(pair)
    await h.drain()
    assert h.statuses == {wrong: 36, NvmeStatus.SUCCESS: 1}


def unreadable(h, *addresses):
    h.memory.failing |= {address >> 12 for address in addresses}


UNREAD = NvmeStatus.TRANSFER_ERROR  # may succeed another time


@simulated
async def a_write_of_which_a_page_cannot_be_read_writes_nothing(dut):
    """Whichever page; its neighbours in the queue are not touched, and what the core has of it is told to be wrong."""
    h, pair = await ready(dut, pace=1.0)
    for offset in (0, 4, 2048, 4092):
        for op in (WRITE, NvmeOpcode.TX_WRITE):
            bad = []
            for n in range(3 + (offset != 0)):
                sqe = h.move(op, 16 * n, 3, offset)
                record = h.submit(pair, sqe)
                unreadable(h, record.pieces[n][0])
                bad.append(record)
                h.submit(pair, h.move(op, 16 * n + 8, 2, offset))
            h.ring(pair)
            await h.drain()
            assert all(r.done == UNREAD for r in bad)
    assert h.statuses == {UNREAD: 30, 0: 30} and h.memory.failed >= 30
    assert all(lba % 16 >= 8 for lba in h.core.blocks)


@simulated
async def a_list_that_cannot_be_read_ends_its_command_before_the_core_has_it(dut):
    h, pair = await ready(dut)
    for op in (WRITE, READ, NvmeOpcode.COMPARE):
        for at, over in ((64, False), (PAGE - 16, False), (PAGE - 16, True)):
            sqe = h.move(op, 8, 6, 4, list_at=at)
            where = h.memory.word(sqe.prp2 + 8) if over else sqe.prp2
            if at == 64:
                spoil(h, sqe.prp2, 8)  # what it says is not looked at
            unreadable(h, where)
            records = [h.submit(pair, s) for s in (sqe, h.move(WRITE, 40, 4, 4), h.move(READ, 40, 4))]
            h.ring(pair)
            await h.drain()
            assert [r.done for r in records] == [UNREAD, 0, 0] and records[0].command is None
    assert 8 not in h.core.blocks


@simulated
async def firmware_hears_that_host_memory_cannot_be_read(dut):
    h, _ = await ready(dut)
    page = h.pages(1)
    h.memory.put(page, bytes(range(256)))
    h.memory.allow(h.memory.readable, [(page, PAGE)])
    for fails in (False, True, False):
        h.memory.failing = {page >> 12} if fails else set()
        await h.firmware.transfer(page, 8, 64, to_host=False)
        assert h.firmware.value("transfer_failed") == fails
        if not fails:
            assert await h.firmware.read_buffer(8, 16) == bytes(range(64))


@simulated
async def fields_of_reads_and_writes_are_checked(dut):
    h, pair = await ready(dut)
    invalid, past = (s | DO_NOT_RETRY for s in (NvmeStatus.INVALID_FIELD, NvmeStatus.LBA_RANGE))
    for op in (READ, WRITE, NvmeOpcode.TX_WRITE):
        for fields, status in (
            (dict(cdw12=32), invalid),
            (dict(cdw12=0xFFFF), invalid),
            (dict(slba=LBAS), past),
            (dict(slba=LBAS - 1, cdw12=1), past),
            (dict(slba=(1 << 64) - 1), past),
            (dict(slba=1 << 32), past),
            (dict(nsid=2), NvmeStatus.INVALID_NAMESPACE | DO_NOT_RETRY),
            (dict(psdt=1), invalid),
        ):
            record = h.submit(pair, Sqe(op, prp1=0x5000, prp2=0x9000, **fields))
            h.ring(pair)
            await h.drain()
            assert record.done == status, f"{record.sqe}: {record.done:#x}"
    for streams in (0, 1):
        h.firmware.set(streams=streams)
        h.drive_.streams = bool(streams)
        for directive in (1, 2):
            record = h.submit(pair, h.move(WRITE, 9, 1, cdw12=directive << 20, cdw13=0xABCD << 16))
            h.ring(pair)
            await h.drain()
            assert (record.done == 0) == (streams == directive == 1)
    h.firmware.set(write_through=1)
    h.drive_.write_through = True
    for op in (WRITE, NvmeOpcode.TX_WRITE, NvmeOpcode.TX_ZEROES):
        h.submit(pair, h.move(op, 20, 1, cdw14=1 << 8 if op == NvmeOpcode.TX_ZEROES else 0))
    h.ring(pair)
    await h.drain()


@simulated
@cocotb.parametrize(offset=[0, 4])
async def blocks_move_at_a_beat_a_clock(dut, offset):
    """32 blocks, with a core that never waits: what is not data is less than a block."""
    h, pair = await ready(dut, pace=1.0, latency=20)
    spare = 400 + 33 * (offset != 0)
    write = h.submit(pair, h.move(WRITE, 0, 32, offset))
    begin = h.clock
    h.ring(pair)
    await h.drain()
    assert write.ended - begin <= 32 * 512 + spare, f"{write.ended - begin} clocks of a WRITE"
    read = h.submit(pair, h.move(READ, 0, 32, offset))
    begin = h.clock
    h.ring(pair)
    await h.drain()
    assert read.ended - begin <= 32 * 512 + spare, f"{read.ended - begin} clocks of a READ"


@simulated
async def a_request_of_a_write_that_has_ended_reads_nothing(dut):
    """The core gives up WRITEs whose data does not come, and asks for blocks of them afterwards."""
    h, pair = await ready(dut, pace=0.5)
    h.core.answer = lambda c: (Status.ABORTED if c["lba"] < 32 else Status.SUCCESS, 0)
    for n in range(6):
        record = h.submit(pair, h.move(WRITE, n, 1 + n))
        h.ring(pair)
        await h.until(lambda record=record: record.done is not None)
        before = h.memory.read_bytes
        for block in (0, n, 31):
            h.core.wanted.queue.append(dict(tag=record.command["tag"], block=block, request=4000 + n))
        await h.clocks(60)
        assert h.memory.read_bytes == before and not h.core.wanted.queue
    again = h.submit(pair, h.move(WRITE, 100, 2))
    h.core.keeps = True
    h.ring(pair)
    await h.until(lambda: again.command is not None)
    before = h.memory.read_bytes
    h.core.wanted.queue.append(dict(tag=again.command["tag"], block=2, request=4090))  # of one that had its slot before
    await h.clocks(60)
    assert h.memory.read_bytes == before
    h.core.keeps = False
    await h.drain()


@simulated
@cocotb.parametrize(stall=[0.0, 0.25])
async def random_reads_and_writes(dut, stall):
    """Each command has blocks of its own while it is under way; some fail, some blocks cannot be read, and some pages
    of the host."""
    h = await Host(dut, SEED, stall, latency=10, jitter=50, pace=0.5).begin()
    rng = h.rng
    await h.start()
    pairs = [await h.create(q, rng.choice([3, 8, 20])) for q in (1, 3, 8)]
    h.unreadable = 0.05
    outcomes = (Status.SUCCESS,) * 6 + (Status.MEDIA_ERROR, Status.WRITE_FAULT, Status.CAPACITY, Status.TX_FULL)
    h.core.answer = lambda c: (outcomes[c["lba"] * 7 % 10] if c["lba"] % 3 == 0 else Status.SUCCESS, 0)
    left = amount(60, 600)
    while left:
        pair = rng.choice(pairs)
        taken = {r.sqe.slba >> 5 for p in pairs for r in p.under_way.values()}
        free = [n << 5 for n in range(LBAS >> 5) if n not in taken]
        if pair.room() and free:
            left -= 1
            lba = rng.choice(free)
            op = rng.choice([READ, READ, WRITE, WRITE, NvmeOpcode.TX_READ, NvmeOpcode.TX_WRITE])
            count = rng.choice([1, 1, 1, 2, 3, rng.randrange(1, 8)])
            more = dict(cdw2=rng.randrange(32), cdw14=rng.choice([0, 1 << 7, 1 << 8, 1 << 4])) if op > 0x80 else {}
            if op == WRITE:
                more = dict(cdw12=rng.randrange(2) << 30, cdw13=rng.randrange(4) << 4)
            sqe = h.move(op, lba, count, 4 * rng.randrange(1024) if rng.random() < 0.6 else 0, **more)
            if rng.random() < 0.08:
                sqe.prp1 |= 2
            h.submit(pair, sqe)
        h.ring(pair)
        await h.clocks(rng.choice([0, 100, 400]))
        for ring in h.rings.values():
            if ring.head != ring.tail:
                h.consume(ring)
    await h.drain()
    h.interrupts_follow()
    assert len(h.statuses) > 2 and h.statuses[UNREAD] and h.memory.written_bytes > 2 * BLOCK


def test_nvme_data():
    run("otx_nvme", [f"{VERILOG}/otx_nvme.v"], __name__)
