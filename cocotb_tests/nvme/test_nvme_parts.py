# SPDX-License-Identifier: Apache-2.0
"""Commands that the core knows no one command for: Write Zeroes of many blocks, Dataset Management, Compare, Read with
FUA; and commands with an order beside them."""

import os

import cocotb

from cocotb_tests.bench.amount import amount
from cocotb_tests.bench.nvme_host import LBAS, Host
from cocotb_tests.bench.nvme_random import COMPARE, RANGES, ZEROES, anything, deallocate
from cocotb_tests.bench.runner import run
from cocotb_tests.models.nvme_commands import DO_NOT_RETRY, Sqe
from opentxssd.facts import BLOCK, TAGS, NvmeOpcode, NvmeStatus, Opcode, Order, Status

VERILOG = os.environ.get("OTX_VERILOG_DIR", "build/tiny/verilog")
SEED = int(os.environ.get("SEED", "1"))
simulated = cocotb.test(timeout_time=20, timeout_unit="ms")
PAST = NvmeStatus.LBA_RANGE | DO_NOT_RETRY
DIFFERS = NvmeStatus.COMPARE_FAILURE | DO_NOT_RETRY


async def ready(dut, depth=64, **how):
    h = await Host(dut, SEED, **how).begin()
    await h.start()
    return h, await h.create(1, depth)


async def do(h, pair, *sqes):
    records = [h.submit(pair, sqe) for sqe in sqes]
    h.ring(pair)
    await h.drain()
    return [r.done for r in records]


@simulated
async def zeroes_of_any_length_are_trims_of_at_most_32_blocks(dut):
    h, pair = await ready(dut, pace=0.7)
    h.core.blocks = {lba: b"x" * BLOCK for lba in range(LBAS)}
    for lba, count in ((0, 1), (5, 32), (40, 33), (100, 64), (200, 65), (300, 500)):
        assert await do(h, pair, Sqe(ZEROES, slba=lba, cdw12=count - 1 | (count % 2) << 30)) == [0]
        assert not any(lba <= at < lba + count for at in h.core.blocks)
    assert await do(h, pair, Sqe(ZEROES, slba=LBAS - 499, cdw12=499)) == [PAST]
    assert await do(h, pair, Sqe(ZEROES, slba=0, cdw12=0xFFFF)) == [PAST]
    assert len(h.core.blocks) == LBAS - 695 and not h.core.under_way


@simulated
async def ranges_are_deallocated_in_turn_whatever_their_alignment(dut):
    h, pair = await ready(dut, pace=0.7)
    h.core.blocks = {lba: b"x" * BLOCK for lba in range(LBAS)}
    for n, offset in enumerate((0, 4, 4080, 4084, 4088, 4092, 16)):
        base = 140 * n
        ranges = [(base, 1), (base + 3, 0), (base + 10, 33), (base + 50, 64), (base + 120, 5)][: 5 - n % 3]
        assert await do(h, pair, deallocate(h, ranges, offset)) == [0]
        for lba, blocks in ranges:
            assert not any(at in h.core.blocks for at in range(lba, lba + blocks))
        assert base + 1 in h.core.blocks and base + 43 in h.core.blocks
    gone = [(7 * n, 2) for n in range(130)] + [(980, 0)]
    assert await do(h, pair, deallocate(h, gone, 2052)) == [0]
    assert await do(h, pair, deallocate(h, [(0, 0)]), deallocate(h, [(0, 0), (4, 0)], 4092)) == [0, 0]
    assert await do(h, pair, Sqe(RANGES, slba=255 | 3 << 32, prp1=3)) == [0], "without deallocate nothing is read"


@simulated
async def the_first_range_past_the_end_ends_the_command(dut):
    h, pair = await ready(dut)
    h.core.blocks = {lba: b"x" * BLOCK for lba in range(LBAS)}
    for wrong in ((LBAS, 1), (LBAS - 3, 4), (0, 0xFFFF_FFFF), (1 << 32, 1), ((1 << 64) - 1, 2), (LBAS + 1, 0)):
        assert await do(h, pair, deallocate(h, [(10, 2), wrong, (500, 2)])) == [PAST]
    assert 500 in h.core.blocks and 11 not in h.core.blocks
    assert await do(h, pair, deallocate(h, [(LBAS - 1, 1), (LBAS, 0), (0, 1)])) == [0]


@simulated
async def the_first_range_that_cannot_be_read_ends_the_command(dut):
    """One in the first page, on the border, in the second page."""
    h, pair = await ready(dut)
    h.core.blocks = {lba: b"x" * BLOCK for lba in range(LBAS)}
    for n, (offset, page, gone) in enumerate(((0, 0, 0), (4064, 1, 2), (4072, 0, 0), (4072, 1, 1))):
        sqe = deallocate(h, [(200 * n + 10 * i, 2) for i in range(4)], offset)
        h.memory.failing = {(sqe.prp1, sqe.prp2)[page] >> 12}
        assert await do(h, pair, sqe) == [NvmeStatus.TRANSFER_ERROR]
        assert [200 * n + 10 * i not in h.core.blocks for i in range(4)] == [i < gone for i in range(4)]
    assert await do(h, pair, deallocate(h, [(0, LBAS)])) == [0]


@simulated
async def a_part_that_fails_ends_the_command(dut):
    h, pair = await ready(dut)
    h.core.answer = lambda c: (Status.READ_ONLY if c["lba"] >= 96 else Status.SUCCESS, 0)
    status = NvmeStatus.READ_ONLY | DO_NOT_RETRY
    assert await do(h, pair, Sqe(ZEROES, slba=0, cdw12=200), deallocate(h, [(3, 90), (80, 50), (0, 5)])) == [status] * 2
    h.core.answer = lambda c: (Status.SUCCESS, 0)
    assert await do(h, pair, Sqe(ZEROES, slba=0, cdw12=200), deallocate(h, [(3, 90), (80, 50), (0, 5)])) == [0, 0]


@simulated
async def what_is_compared_is_data_of_the_drive_with_that_of_the_host(dut):
    h, pair = await ready(dut, pace=0.7)
    for n, offset in enumerate((0, 4, 4092)):
        count = 1 + n
        raw = h.rng.randbytes(count * BLOCK)
        h.core.blocks |= {40 + i: raw[i * BLOCK : (i + 1) * BLOCK] for i in range(count)}
        other = []
        for at in {0, len(raw) - 1, h.rng.randrange(len(raw))}:
            wrong = bytearray(raw)
            wrong[at] ^= 1 << h.rng.randrange(8)
            other.append(bytes(wrong))
        for there, status in ((raw, 0), *((wrong, DIFFERS) for wrong in other), (raw, 0)):
            assert await do(h, pair, h.move(COMPARE, 40, count, offset, raw=there)) == [status]
    h.core.answer = lambda c: (Status.MEDIA_ERROR, 0)
    assert await do(h, pair, h.move(COMPARE, 40, 4)) == [NvmeStatus.READ_ERROR | DO_NOT_RETRY]
    h.core.answer = lambda c: (Status.SUCCESS, 0)
    assert await do(h, pair, h.move(COMPARE, 40, 3, raw=raw), h.move(COMPARE, 40, 3, raw=other[0])) == [0, DIFFERS]
    same = [h.move(COMPARE, 40, 1, raw=raw[:BLOCK]) for _ in range(TAGS)]
    assert set(await do(h, pair, *same)) == {0}, "each slot forgets the one before"


@simulated
async def a_compare_with_memory_that_cannot_be_read_says_so(dut):
    """Whichever of its pages; a core's error comes first, and each slot forgets the one before."""
    h, pair = await ready(dut, pace=0.7)
    raw = h.rng.randbytes(3 * BLOCK)
    h.core.blocks = {40 + i: raw[i * BLOCK : (i + 1) * BLOCK] for i in range(3)}
    for n, offset in ((0, 0), (2, 0), (0, 4), (3, 4), (1, 4092)):
        sqe = h.move(COMPARE, 40, 3, offset, raw=raw)
        same = [h.move(COMPARE, 40, 3, offset, raw=raw) for _ in range(2)]
        record = h.submit(pair, sqe)
        h.memory.failing = {record.pieces[n][0] >> 12}
        assert await do(h, pair, *same) == [0, 0] and record.done == NvmeStatus.TRANSFER_ERROR
    h.core.answer = lambda c: (Status.MEDIA_ERROR, 0)
    record = h.submit(pair, h.move(COMPARE, 40, 3))
    h.memory.failing = {address >> 12 for address, _ in record.pieces}
    assert await do(h, pair) == [] and record.done == NvmeStatus.READ_ERROR | DO_NOT_RETRY
    h.core.answer = lambda c: (Status.SUCCESS, 0)
    assert set(await do(h, pair, *(h.move(COMPARE, 40, 1, raw=raw[:BLOCK]) for _ in range(TAGS)))) == {0}


@simulated
async def compares_end_beside_others_whose_data_waits_for_completions(dut):
    """A core that begins no beat of rdata while a completion of its has not been taken."""
    h, pair = await ready(dut, pace=1.0, latency=60, jitter=100)
    h.core.blocks = {lba: h.rng.randbytes(BLOCK) for lba in range(64)}
    rdata, cpl = h.core.rdata, h.core.cpl
    drive = rdata.drive

    def waits():
        if cpl.queue and not rdata.offered:
            rdata.valid.set(0)
        else:
            drive()

    h.drives[h.drives.index(drive)] = waits
    for n in range(24):
        raw = h.core.blocks[2 * n] + h.core.blocks[2 * n + 1]
        if n % 5 == 4:
            raw = raw[:-1] + bytes([raw[-1] ^ 1])
        h.submit(pair, h.move(COMPARE if n % 3 else NvmeOpcode.READ, 2 * n, 2, 4 * (n % 2), raw=raw))
    h.ring(pair)
    await h.drain()


@simulated
async def a_read_with_fua_is_behind_a_flush_of_its_blocks(dut):
    h, pair = await ready(dut)
    seen = []
    accepts = h.core.accepts
    h.core.accepts = lambda c: (seen.append((c["opcode"], c["lba"], c["count"])), accepts(c))
    assert await do(h, pair, h.move(NvmeOpcode.READ, 30, 3, 4, cdw12=1 << 30)) == [0]
    assert seen == [(Opcode.RFLUSH, 30, 3), (Opcode.READ, 30, 3)]


@simulated
async def what_has_an_order_waits_for_parts_before_it(dut):
    """The bench sees that no part of a command before it comes behind it; others go meanwhile."""
    h, pair = await ready(dut, pace=0.3)
    for n in range(4):
        long = h.submit(pair, Sqe(ZEROES, slba=300, cdw12=400))
        many = h.submit(pair, deallocate(h, [(100 + 40 * i, 40) for i in range(4)]))
        free = h.submit(pair, Sqe(NvmeOpcode.QUERY, cdw15=1, slba=n))
        kind = (
            dict(cdw14=Order.ORDERED),
            dict(opcode=NvmeOpcode.BARRIER),
            dict(opcode=NvmeOpcode.TX_COMMIT, cdw14=1 << 4),
            dict(cdw14=Order.HEAD_OF_QUEUE),
        )[n]
        first = h.submit(pair, Sqe(kind.pop("opcode", NvmeOpcode.QUERY), **kind))
        h.ring(pair)
        await h.drain()
        assert free.began < long.ended and first.began > max(long.began, many.began)
        assert first.began > long.last_part and first.began > many.last_part


@simulated
async def a_controller_that_is_disabled_begins_no_more_parts(dut):
    h, pair = await ready(dut)
    h.core.blocks = {lba: b"x" * BLOCK for lba in range(LBAS)}
    h.submit(pair, Sqe(ZEROES, slba=0, cdw12=LBAS - 1))
    h.submit(pair, deallocate(h, [(1, LBAS - 1)] * 3))
    h.submit(pair, h.move(NvmeOpcode.WRITE, 5, 4, 4))
    h.ring(pair)
    await h.until(lambda: len(h.core.blocks) < 900)
    await h.stop()
    assert len(h.core.blocks) > 700
    await h.start()
    pair = await h.create(1, 8)
    assert await do(h, pair, Sqe(ZEROES, slba=0, cdw12=LBAS - 1), deallocate(h, [(1, LBAS - 1)])) == [0, 0]
    assert not h.core.blocks


@simulated
async def commits_are_counted_by_their_clocks(dut):
    h, pair = await ready(dut, depth=64, pace=0.7)
    h.core.answer = lambda c: (Status.TX_INVALID * (c["txid"] % 5 == 4), 0)
    found, seen = [0] * 32, 0
    for pace in (1.0, 0.3, 0.03, 0.003):
        h.core.pace = pace
        sqes = [Sqe(NvmeOpcode.TX_COMMIT, cdw2=n % 32) for n in range(20)] + [Sqe(NvmeOpcode.TX_ABORT)] * 3
        records = [h.submit(pair, sqe) for sqe in sqes]
        h.ring(pair)
        await h.drain()
        for record in records[:20]:
            if record.done == 0:
                found[max(record.dw0, 1).bit_length() - 1] += 1
                seen += 1
    await h.clocks(4)
    for bucket, commits in enumerate(found):
        h.firmware.dut.latency_index.value = bucket
        await h.clocks(2)
        assert h.firmware.value("latency_count") == commits, f"bucket {bucket}"
    assert seen == 64 and sum(n > 0 for n in found) > 3


@simulated
@cocotb.parametrize(stall=[0.0, 0.25])
async def random_commands_of_all_kinds(dut, stall):
    """All opcodes, resets in between; ranges of blocks do not overlap while they are under way."""
    h = await Host(dut, SEED, stall, latency=10, jitter=40, pace=0.7).begin()
    rng = h.rng
    numbers, bad = (Opcode.QUERY, Opcode.CHECKPOINT), Status.MEDIA_ERROR
    h.core.answer = lambda c: (bad * (c["lba"] % 9 == 5), c["lba"] * (c["opcode"] in numbers))
    ended, h.unreadable = 0, 0.04
    for _ in range(amount(3, 12)):
        await h.start(weighted=rng.random() < 0.5)
        pairs = [await h.create(q, rng.choice([4, 9, 20]), priority=q % 4) for q in (1, 2, 7)]
        left = amount(60, 250)
        while left:
            pair = rng.choice(pairs)
            if pair.room():
                left -= 1
                h.submit(pair, anything(h, rng, pairs))
            if rng.random() < 0.7:
                h.ring(pair)
            await h.clocks(rng.choice([0, 30, 100, 300]))
            for ring in h.rings.values():
                if ring.head != ring.tail:
                    h.consume(ring)
        for pair in pairs:
            h.ring(pair)
        if rng.random() < 0.5:
            await h.drain()
            h.interrupts_follow()
        await h.stop()
        ended += h.ended
    assert ended > 40 and len(h.statuses) > 4 and h.statuses[NvmeStatus.TRANSFER_ERROR]


def test_nvme_parts():
    run("otx_nvme", [f"{VERILOG}/otx_nvme.v"], __name__)
