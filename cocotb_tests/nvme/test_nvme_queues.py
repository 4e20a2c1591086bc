# SPDX-License-Identifier: Apache-2.0
"""Queues of the NVMe front end: fetching, completions, interrupts, queues that come and go, a controller that is
disabled; commands without data."""

import os
from itertools import groupby

import cocotb

from cocotb_tests.bench.amount import amount
from cocotb_tests.bench.nvme_bar import CC, DOORBELLS, PENDING, TABLE
from cocotb_tests.bench.nvme_host import ENABLED, LBAS, Host
from cocotb_tests.bench.runner import run
from cocotb_tests.models.nvme_commands import DO_NOT_RETRY, Sqe
from opentxssd.facts import NvmeEvent, NvmeOpcode, NvmeStatus, Query, Status

VERILOG = os.environ.get("OTX_VERILOG_DIR", "build/tiny/verilog")
SEED = int(os.environ.get("SEED", "1"))
simulated = cocotb.test(timeout_time=20, timeout_unit="ms")
IDENTIFY = 0x06


def query(n):
    """A command without data that is like no other."""
    return Sqe(NvmeOpcode.TX_BEGIN, cdw2=n & 0xFF, cdw14=(n >> 8 & 3) << 2)


@simulated
async def an_admin_command_goes_to_firmware_and_its_completion_to_the_host(dut):
    h = await Host(dut).begin()
    await h.start(size=4)
    for n in range(11):
        sqe = Sqe(IDENTIFY, nsid=0xA5A5, cdw2=7 * n, prp1=0x1234_5678_9000 + n, cdw15=n << 28, cdw12=~n & 0xFFFF_FFFF)
        record = h.submit(h.pairs[0], sqe, admin=True)
        h.ring(h.pairs[0])
        words = await h.firmware.take()
        assert b"".join(w.to_bytes(4, "little") for w in words) == sqe.pack()
        h.firmware.end(sqe.cid, status=n << 11 | n, dw0=0xDEAD_0000 + n, dw1=0xBEEF_0000 + n)
        await h.until(lambda record=record: record.done is not None)
        assert (record.done, record.dw0, record.dw1) == (n << 11 | n, 0xDEAD_0000 + n, 0xBEEF_0000 + n)
        h.consume(h.rings[0])
    await h.clocks(40)
    h.interrupts_follow()


@simulated
async def firmware_has_one_admin_command_at_a_time_and_may_end_them_in_any_order(dut):
    h = await Host(dut).begin()
    await h.start(size=8)
    records = [h.submit(h.pairs[0], Sqe(0x0C), admin=True) for _ in range(6)]
    h.ring(h.pairs[0])
    taken = [(await h.firmware.take())[0] >> 16 for _ in range(6)]
    assert taken == [r.sqe.cid for r in records]
    await h.clocks(200)
    assert not h.firmware.value("admin_valid")
    for n in (4, 0, 5, 2, 1, 3):
        h.firmware.end(taken[n], dw0=n)
    await h.until(lambda: all(r.done is not None for r in records))
    assert [r.dw0 for r in records] == list(range(6))


@simulated
async def a_full_admin_completion_queue_holds_back_only_admin_commands(dut):
    h = await Host(dut).begin()
    await h.start(size=8)
    pair = await h.create(1, 8)
    h.consume(h.rings[0])
    await h.clocks(10)
    ring = h.rings[0]
    records = [h.submit(h.pairs[0], Sqe(0x0C), admin=True) for _ in range(7)]
    h.ring(h.pairs[0])
    for _ in range(7):
        h.firmware.end((await h.firmware.take())[0] >> 16)
    await h.until(lambda: all(r.done is not None for r in records))
    more = [h.submit(h.pairs[0], Sqe(0x0C), admin=True) for _ in range(2)]
    h.ring(h.pairs[0])
    for _ in range(2):
        h.firmware.end((await h.firmware.take())[0] >> 16)
    io = [h.submit(pair, query(n)) for n in range(5)]
    h.ring(pair)
    await h.until(lambda: all(r.done is not None for r in io))
    await h.clocks(300)
    assert [r.done for r in more] == [None, None] and len(h.firmware.admin_cpl.queue) == 2
    h.consume(ring, 1)
    await h.until(lambda: more[0].done is not None)
    await h.clocks(100)
    assert more[1].done is None
    h.consume(ring)
    await h.until(lambda: more[1].done is not None)


@simulated
async def a_full_completion_queue_holds_back_its_own_queues_only(dut):
    """Two submission queues share one that has place for three, others go on."""
    h = await Host(dut).begin()
    await h.start()
    first = await h.create(1, 16, cq_size=4)
    second = await h.create(2, 16, cq=1)
    other = await h.create(3, 16)
    for n in range(10):
        h.submit(first, query(n))
        h.submit(second, query(20 + n))
        h.submit(other, query(40 + n))
    for pair in (first, second, other):
        h.ring(pair)
    await h.until(lambda: not other.under_way)
    await h.clocks(400)
    assert len(first.under_way) + len(second.under_way) == 17, "three places"
    h.consume(h.rings[1], 1)
    await h.clocks(400)
    assert len(first.under_way) + len(second.under_way) == 16
    await h.drain()
    h.interrupts_follow()


@simulated
async def commands_of_a_queue_reach_the_core_in_order_and_end_in_any(dut):
    h = await Host(dut, pace=1.0).begin()
    await h.start()
    pair = await h.create(1, 64)
    h.core.keeps = True
    records = [h.submit(pair, query(n)) for n in range(40)]
    h.ring(pair)
    await h.until(lambda: len(h.core.under_way) == 32)
    await h.clocks(300)
    assert len(h.core.under_way) == 32 and not any(r.done is not None for r in records)
    h.core.keeps = False
    await h.drain()
    ends = sorted(range(40), key=lambda n: records[n].ended)
    assert ends != list(range(40)), "the core has ended them in order"


@simulated
async def answers_and_statuses_of_the_core_come_to_the_host(dut):
    h = await Host(dut).begin()
    await h.start()
    pair = await h.create(1, 32)
    h.core.answer = lambda c: (c["arg"] & 0xF, 0x1234_0000 + c["arg"])
    for n in range(14):
        h.submit(pair, Sqe(NvmeOpcode.QUERY, cdw15=Query.HEALTH + n + 16 * (n % 2)))
    h.ring(pair)
    await h.drain()
    assert len(h.statuses) == 14
    failed = [f["status"] for f in h.firmware.failed]
    assert len(failed) == 13 and all(f["queue"] == 1 for f in h.firmware.failed)


@simulated
async def doorbells_that_cannot_be_are_events_and_change_nothing(dut):
    h = await Host(dut).begin()
    await h.start()
    pair = await h.create(2, 8)
    firmware = h.firmware
    for at, value, event in (
        (DOORBELLS + 8 * 1, 1, NvmeEvent.DOORBELL_REGISTER),
        (DOORBELLS + 8 * 1 + 4, 0, NvmeEvent.DOORBELL_REGISTER),
        (DOORBELLS + 8 * 9, 0, NvmeEvent.DOORBELL_REGISTER),
        (DOORBELLS + 8 * 511 + 4, 3, NvmeEvent.DOORBELL_REGISTER),
        (DOORBELLS + 8 * 2, 8, NvmeEvent.DOORBELL_VALUE),
        (DOORBELLS + 8 * 2 + 4, 0xFFFF, NvmeEvent.DOORBELL_VALUE),
    ):
        assert not firmware.events() & {NvmeEvent.DOORBELL_REGISTER, NvmeEvent.DOORBELL_VALUE}
        await h.bar.write(at, value)
        await h.clocks(20)
        assert firmware.events() & {NvmeEvent.DOORBELL_REGISTER, NvmeEvent.DOORBELL_VALUE} == {event}
        await firmware.clear(event)
    for n in range(7):
        h.submit(pair, query(n))
    h.ring(pair)
    h.ring(pair)  # the same once more
    await h.drain()
    await h.bar.write(DOORBELLS + 16, 0, 2)  # half a doorbell is none
    await h.clocks(100)


@simulated
async def fields_that_must_not_be_so_end_with_their_status_and_the_drive_goes_on(dut):
    h = await Host(dut).begin()
    await h.start()
    pair = await h.create(1, 64)
    invalid = NvmeStatus.INVALID_FIELD | DO_NOT_RETRY
    for sqe, status in (
        (Sqe(0x03), NvmeStatus.INVALID_OPCODE | DO_NOT_RETRY),
        (Sqe(0x85), NvmeStatus.INVALID_OPCODE | DO_NOT_RETRY),
        (Sqe(0xFF), NvmeStatus.INVALID_OPCODE | DO_NOT_RETRY),
        (Sqe(0x83, nsid=5), NvmeStatus.INVALID_OPCODE | DO_NOT_RETRY),
        (Sqe(NvmeOpcode.FLUSH, nsid=0), NvmeStatus.INVALID_NAMESPACE | DO_NOT_RETRY),
        (Sqe(NvmeOpcode.FLUSH, nsid=2), NvmeStatus.INVALID_NAMESPACE | DO_NOT_RETRY),
        (Sqe(NvmeOpcode.BARRIER, nsid=0xFFFF_FFFF), NvmeStatus.INVALID_NAMESPACE | DO_NOT_RETRY),
        (Sqe(NvmeOpcode.FLUSH, nsid=0xFFFF_FFFF), NvmeStatus.SUCCESS),
        (Sqe(NvmeOpcode.FLUSH, cdw2=1 << 9, cdw14=1 << 30), NvmeStatus.SUCCESS),
        (Sqe(NvmeOpcode.FLUSH, fuse=1), invalid),
        (Sqe(NvmeOpcode.FLUSH, psdt=2), invalid),
        (Sqe(NvmeOpcode.TX_BEGIN, cdw2=256), invalid),
        (Sqe(NvmeOpcode.TX_BEGIN, cdw14=1 << 9), invalid),
        (Sqe(NvmeOpcode.TX_BEGIN, cdw14=1 << 8), invalid),
        (Sqe(NvmeOpcode.TX_COMMIT, cdw14=1 << 8), invalid),
        (Sqe(NvmeOpcode.BARRIER, cdw14=1 << 8), invalid),
        (Sqe(NvmeOpcode.FLUSH_RANGE, cdw12=0xFFFF), invalid),
        (Sqe(NvmeOpcode.FLUSH_RANGE, slba=1 << 32), NvmeStatus.LBA_RANGE | DO_NOT_RETRY),
        (Sqe(NvmeOpcode.FLUSH_RANGE, slba=1 << 32, cdw15=1, cdw13=9 << 16), NvmeStatus.SUCCESS),
        (Sqe(NvmeOpcode.TX_ZEROES, slba=LBAS - 2, cdw12=2), NvmeStatus.LBA_RANGE | DO_NOT_RETRY),
        (Sqe(NvmeOpcode.TX_ZEROES, slba=(1 << 64) - 1, cdw12=1), NvmeStatus.LBA_RANGE | DO_NOT_RETRY),
        (Sqe(NvmeOpcode.TX_ZEROES, slba=LBAS - 2, cdw12=1), NvmeStatus.SUCCESS),
        (Sqe(NvmeOpcode.TX_ZEROES, cdw12=32), invalid),
        (Sqe(NvmeOpcode.DATASET_MANAGEMENT, slba=7 | 3 << 32), NvmeStatus.SUCCESS),
        (Sqe(NvmeOpcode.BARRIER), NvmeStatus.SUCCESS),
    ):
        record = h.submit(pair, sqe)
        h.ring(pair)
        await h.drain()
        assert record.done == status, f"{sqe}: {record.done:#x}, not {status:#x}"


@simulated
async def a_queue_is_deleted_under_load_when_its_commands_have_ended(dut):
    h = await Host(dut, SEED).begin()
    await h.start()
    other = await h.create(2, 16)
    unfetched = 0
    for n in range(amount(6, 20)):
        pair = await h.create(1, 32, cq_size=8 if n % 2 else 32)
        for i in range(31):
            h.submit(pair, query(i))
            if i < 8 and other.room():
                h.submit(other, query(100 + i))
        h.ring(pair)
        h.ring(other)
        await h.clocks(h.rng.choice([0, 10, 40, 150, 400]))
        unfetched += await h.delete(pair)
        await h.drain()
    assert unfetched


@simulated
async def a_controller_that_is_disabled_ends_what_is_under_way_without_cqes(dut):
    h = await Host(dut, SEED, jitter=30).begin()
    dropped = 0
    for n in range(amount(8, 30)):
        await h.start(size=2 + n % 3)
        pairs = [await h.create(q, 16) for q in (1, 4, 8)]
        h.core.keeps = n % 3 == 2
        for i in range(45):
            h.submit(pairs[i % 3], query(i))
        for pair in pairs:
            h.ring(pair)
        if n % 2:
            h.submit(h.pairs[0], Sqe(IDENTIFY), admin=True)
            h.ring(h.pairs[0])
        await h.clocks(h.rng.choice([0, 5, 30, 60, 120, 300, 600]))
        before = h.ended
        dropped += h.busy()
        if h.core.keeps:
            await h.until(lambda: h.core.under_way)
            await h.bar.write(CC, ENABLED & ~1)
            await h.clocks(300)
            assert h.core.tags and not h.firmware.value("quiet"), "the core has commands"
            h.core.keeps = False
        await h.stop()
        await h.clocks(100)
        assert h.ended - before <= 2, "only the CQE that was being written, and one before CC was"
        assert not h.firmware.value("admin_valid")
    assert dropped
    await h.start()
    pair = await h.create(1, 16)
    h.submit(pair, query(1))
    h.ring(pair)
    await h.drain()


@simulated
async def firmware_moves_bytes_between_its_buffer_and_host_memory(dut):
    h = await Host(dut, SEED).begin()
    await h.start()
    firmware, rng, model = h.firmware, h.rng, bytearray(4096)
    page = h.pages(1)
    h.memory.allow(h.memory.readable, [(page, 4096)])
    h.memory.allow(h.memory.writable, [(page, 4096)])
    h.memory.put(page, rng.randbytes(4096))
    await firmware.transfer(page, 0, 4096, False)
    model[:] = h.memory.get(page, 4096)
    for _ in range(amount(10, 40)):
        words = rng.choice([1, 2, 3, rng.randrange(1, 40)])
        first, at = rng.randrange(1025 - words), 4 * rng.randrange(1025 - words)
        kind = rng.randrange(3)
        if kind == 0:
            raw = rng.randbytes(4 * words)
            await firmware.write_buffer(first, raw)
            model[4 * first : 4 * (first + words)] = raw
        elif kind == 1:
            before = h.memory.get(page, 4096)
            await firmware.transfer(page + at, first, 4 * words, True)
            part = bytes(model[4 * first : 4 * (first + words)])
            await h.until(lambda at=at, p=part: h.memory.get(page + at, len(p)) == p)
            after = before[:at] + part + before[at + len(part) :]
            assert h.memory.get(page, 4096) == after
        else:
            await firmware.transfer(page + at, first, 4 * words, False)
            model[4 * first : 4 * (first + words)] = h.memory.get(page + at, 4 * words)
        assert await firmware.read_buffer(first, words) == model[4 * first : 4 * (first + words)]


@simulated
async def masked_vectors_stay_pending(dut):
    h = await Host(dut).begin()
    await h.start()
    pairs = [await h.create(q, 8, vector=q + 3) for q in (1, 2)]
    await h.clocks(40)
    await h.bar.write(TABLE + 16 * 4 + 12, 1)
    for n in range(3):
        for i, pair in enumerate(pairs):
            h.submit(pair, query(2 * n + i))
            h.ring(pair)
        await h.drain()
    assert ("message", 4) not in h.events and h.events.count(("message", 5)) == 3
    assert await h.bar.read(PENDING) == 1 << 4
    h.pins["msix_mask"].set(1)
    h.submit(pairs[1], query(9))
    h.ring(pairs[1])
    await h.drain()
    assert await h.bar.read(PENDING) == 3 << 4
    await h.bar.write(TABLE + 16 * 4 + 12, 0)
    await h.clocks(40)
    assert h.events.count(("message", 5)) == 3 and ("message", 4) not in h.events
    h.pins["msix_mask"].set(0)
    await h.clocks(60)
    assert h.events.count(("message", 4)) == 1 and h.events.count(("message", 5)) == 4
    assert await h.bar.read(PENDING) == 0


@simulated
async def interrupts_are_gathered_by_number_and_by_time(dut):
    h = await Host(dut, pace=1.0).begin()
    await h.start()
    h.firmware.set(coalesce_above=3, coalesce_time=2, at_once=1 << 2)
    gathered, direct = await h.create(1, 32), await h.create(2, 32)
    await h.clocks(60)

    async def commands(pair, count):
        seen = h.events.count(("message", pair.number))
        for n in range(count):
            h.submit(pair, query(n))
        h.ring(pair)
        await h.drain()
        return h.events.count(("message", pair.number)) - seen

    assert await commands(gathered, 12) == 3
    assert await commands(gathered, 3) == 0
    assert await commands(direct, 1) == 1
    unit = 10_000  # clocks of 100 us of preset tiny
    begin = h.clock
    await h.until(lambda: h.events.count(("message", 1)) == 4, 4 * unit)
    assert unit <= h.clock - begin + 400 and h.clock - begin <= 2 * unit + 100
    assert await commands(gathered, 2) == 0
    h.firmware.set(coalesce_time=0)
    await h.clocks(60)
    h.interrupts_follow()
    assert await commands(gathered, 2) == 2


def order(h):
    """Numbers of the queues whose commands the core has, in the order in which it got them."""
    return [c["record"].pair.number for c in h.core.under_way.values()]


@simulated
async def round_robin_goes_by_bursts(dut):
    h = await Host(dut).begin()
    await h.start()
    pairs = [await h.create(q, 16) for q in (1, 2, 3)]
    for burst in (0, 1, 2, 7):
        h.firmware.set(arbitration=burst)
        h.core.keeps = True
        for i in range(8):
            for pair in pairs:
                h.submit(pair, query(100 * pair.number + i & 0x3FF))
        for pair in pairs:
            h.ring(pair)
        await h.until(lambda: len(h.core.under_way) == 24)
        seen = order(h)
        runs = [len(list(of)) for _, of in groupby(seen[3:])]  # the first doorbells come one after another
        size = min(8, 1 << burst)
        assert max(runs) <= size and runs.count(size) >= len(runs) - 3, f"burst of {size}: {seen}"
        h.core.keeps = False
        await h.drain()


@simulated
async def weighted_round_robin_shares_by_credits_and_urgent_ones_go_first(dut):
    h = await Host(dut, pace=0.0).begin()
    await h.start(weighted=True)
    pairs = [await h.create(q + 1, 16, priority=q) for q in range(4)]
    high, medium, low = 3, 1, 0
    h.firmware.set(arbitration=high << 24 | medium << 16 | low << 8)
    h.core.keeps = True
    for i in range(15):
        for pair in pairs[1:]:
            h.submit(pair, query(i))
    for i in range(4):
        h.submit(pairs[0], query(i))
    for pair in (*pairs[1:], pairs[0]):
        h.ring(pair)
    await h.until(lambda: len(h.core.under_way) == 32)
    seen = order(h)
    at = [i for i, q in enumerate(seen) if q == 1]
    assert at[-1] - at[0] == 3, f"an urgent one waits for others: {seen}"
    rounds = seen[at[-1] + 1 :][:21]  # of 4, 2 and 1
    counts = [rounds.count(q) for q in (2, 3, 4)]
    assert all(abs(n - share) <= 1 for n, share in zip(counts, (12, 6, 3), strict=True)), f"{counts}: {seen}"
    classes = {1: 3, 2: 2, 3: 0, 4: 1}
    assert all(c["priority"] == classes[c["record"].pair.number] for c in h.core.under_way.values())
    h.core.keeps, h.core.pace = False, 0.5
    await h.drain()
    h.firmware.set(arbitration=63 << 24)
    h.core.keeps = True
    for i in range(15):
        h.submit(pairs[1], query(i))
    h.submit(pairs[0], query(20))
    h.ring(pairs[1])
    await h.until(lambda: len(h.core.under_way) == 2)
    h.ring(pairs[0])
    await h.until(lambda: len(h.core.under_way) == 16)
    assert order(h).index(1) <= 12, "those that were on their way go before it"
    h.core.keeps = False
    await h.drain()


@simulated
@cocotb.parametrize(stall=[0.0, 0.3])
async def random_queues_wrap_and_fill_up(dut, stall):
    """Queues of all sizes, doorbells in groups, CQEs taken out late: each command ends once."""
    h = await Host(dut, SEED, stall, latency=12, jitter=40, pace=0.4).begin()
    rng = h.rng
    await h.start(size=3)
    pairs = []
    for q in range(1, 9):
        share = q > 5 and rng.random() < 0.5
        size = rng.choice([2, 3, 5, 8, 17])
        pairs.append(await h.create(q, size, cq=1 if share else None, cq_size=rng.choice([2, 3, 9, 20])))
    await h.clocks(40)
    h.core.answer = lambda c: (Status((c["txid"] + c["arg"]) % 14), c["lba"] * (c["opcode"] == 0x98))
    left, n = amount(500, 4000), 0
    while left:
        pair = rng.choice(pairs)
        for _ in range(rng.randrange(1, 6)):
            if pair.room() and left:
                n, left = n + 1, left - 1
                op = rng.choice([*NvmeOpcode, 0x33, 0xC0]) if rng.random() < 0.2 else NvmeOpcode.TX_BEGIN
                if op in (1, 2, 5, 8, 9, 0x81, 0x82, 0xA4):
                    op = NvmeOpcode.QUERY
                h.submit(pair, Sqe(op, cdw2=n & 0xFF, cdw14=(n >> 8 & 3) << 2, slba=n & 0xFFF, cdw15=n % 2))
        h.ring(pair)
        await h.clocks(rng.choice([0, 0, 5, 20, 100]))
        for ring in h.rings.values():
            if ring.number and rng.random() < 0.3:
                h.consume(ring, rng.choice([1, None]))
    await h.drain()
    h.interrupts_follow()
    assert h.memory.most_open > 2 and len(h.statuses) > 6


@simulated
async def messages_that_wait_behind_data_keep_their_own(dut):
    """Two vectors become pending, and are sent while data is on its way to the host."""
    h = await Host(dut, pace=1.0).begin()
    await h.start()
    pairs = [await h.create(q, 8) for q in (1, 2, 3)]
    await h.clocks(40)
    h.pins["msix_mask"].set(1)
    for n, pair in enumerate(pairs[:2]):
        h.submit(pair, query(n))
        h.ring(pair)
    await h.drain()
    assert await h.bar.read(PENDING) == 1 << 1 | 1 << 2
    h.submit(pairs[2], h.move(NvmeOpcode.READ, 0, 4))
    h.ring(pairs[2])
    await h.until(lambda: any(length > 1000 for _, length, _ in h.memory.writes))
    h.pins["msix_mask"].set(0)
    await h.drain()
    h.interrupts_follow()
    assert [h.events.count(("message", v)) for v in (1, 2, 3)] == [1, 1, 1]


@simulated
async def vectors_whose_time_comes_together_have_a_message_each(dut):
    h = await Host(dut, pace=1.0).begin()
    await h.start()
    pairs = [await h.create(q, 8) for q in (1, 2, 3)]
    await h.clocks(40)
    h.firmware.set(coalesce_above=200, coalesce_time=1)
    for n, pair in enumerate(pairs[:2]):
        h.submit(pair, query(n))
        h.ring(pair)
    await h.drain()
    assert not h.events.count(("message", 1)) and not h.events.count(("message", 2))
    h.submit(pairs[2], h.move(NvmeOpcode.READ, 0, 32))  # longer than a unit of time
    h.ring(pairs[2])
    await h.drain()
    await h.clocks(20_000)
    h.interrupts_follow()


@simulated
async def an_admin_command_that_is_being_fetched_is_gone_with_its_controller(dut):
    """Whenever the controller is disabled, also while the read of its SQE waits."""
    h = await Host(dut).begin()
    for after in range(amount(26, 40)):
        await h.start()
        pair = await h.create(1, 16)
        await h.clocks(40)
        h.memory.reads.open = after % 13 != 0
        h.submit(pair, query(after))
        h.ring(pair)
        h.submit(h.pairs[0], Sqe(IDENTIFY), admin=True)
        h.ring(h.pairs[0])
        await h.clocks(40 if not h.memory.reads.open else after)
        await h.bar.write(CC, ENABLED & ~1)
        await h.clocks(30)
        h.memory.reads.open = True
        await h.stop()
        await h.clocks(60)
        assert not h.firmware.value("admin_valid"), f"after {after} clocks"


@simulated
async def a_controller_that_is_disabled_sends_no_interrupt_afterwards(dut):
    """A CQE is being written whose interrupt is gathered, or masked."""
    h = await Host(dut).begin()
    for masked in (0, 1):
        await h.start()
        pair = await h.create(1, 16)
        await h.clocks(60)
        h.firmware.set(coalesce_above=9 * (not masked), coalesce_time=1)
        h.pins["msix_mask"].set(masked)
        h.memory.done_data.open = False
        h.submit(pair, query(1))
        h.ring(pair)
        await h.until(lambda: h.memory.writes)
        await h.clocks(20)
        await h.bar.write(CC, ENABLED & ~1)
        h.memory.done_data.open = True
        await h.stop()
        assert await h.bar.read(PENDING) == 0
        before = len(h.events)
        h.pins["msix_mask"].set(0)
        await h.clocks(25_000)
        assert len(h.events) == before, f"{h.events[before:]}"


def test_nvme_queues():
    run("otx_nvme", [f"{VERILOG}/otx_nvme.v"], __name__)
