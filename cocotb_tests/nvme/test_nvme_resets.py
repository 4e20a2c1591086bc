# SPDX-License-Identifier: Apache-2.0
"""otx_nvme that is disabled or reset at random, with everything under way: host memory and core that stop, masks,
coalescing, admin commands, memory that cannot be read, queues of SQEs among it. Nothing is left: no slot, no admin
command, no interrupt, no access to host memory.

Source of what a disable must do: NVMe 1.4, 7.3.2; docs/interfaces/nvme.md.
"""

import os

import cocotb

from cocotb_tests.bench.amount import amount
from cocotb_tests.bench.nvme_bar import CC, CSTS, PENDING
from cocotb_tests.bench.nvme_host import ENABLED, Host
from cocotb_tests.bench.nvme_random import anything
from cocotb_tests.bench.runner import run
from cocotb_tests.models.nvme_commands import Sqe
from opentxssd.facts import NvmeEvent, NvmeOpcode, Opcode, Status

VERILOG = os.environ.get("OTX_VERILOG_DIR", "build/tiny/verilog")
SEED = int(os.environ.get("SEED", "1"))
simulated = cocotb.test(timeout_time=60, timeout_unit="ms")


@simulated
@cocotb.parametrize(stall=[0.0, 0.2])
async def resets_at_random_with_everything_under_way_leave_nothing(dut, stall):
    h = await Host(dut, SEED, stall, latency=10, jitter=60, pace=0.6).begin()
    rng = h.rng
    numbers, bad = (Opcode.QUERY, Opcode.CHECKPOINT), Status.MEDIA_ERROR
    h.core.answer = lambda c: (bad * (c["lba"] % 9 == 5), c["lba"] * (c["opcode"] in numbers))
    h.unreadable, stuck = 0.02, 0
    for turn in range(amount(12, 60)):
        h.pins["msix_mask"].set(0)
        await h.start(size=rng.choice([2, 3, 16]), weighted=False)
        h.firmware.set(coalesce_above=rng.choice([0, 1, 200]), coalesce_time=rng.choice([0, 1]))
        pairs = [await h.create(q, rng.choice([4, 9, 20]), priority=q % 4) for q in (1, 2, 7)]
        h.core.keeps = False
        for _ in range(rng.randrange(1, 60)):
            pair = rng.choice(pairs)
            if pair.room():
                h.submit(pair, anything(h, rng, pairs))
            if rng.random() < 0.7:
                h.ring(pair)
            if rng.random() < 0.15 and h.pairs[0].room():
                h.submit(h.pairs[0], Sqe(6), admin=True)
                h.ring(h.pairs[0])
            if rng.random() < 0.1 and h.firmware.value("admin_valid"):
                words = await h.firmware.take()
                h.firmware.end(words[0] >> 16)
            if turn % 3 == 1 and rng.random() < 0.1:
                h.memory.failing.add(rng.choice(list(h.pairs.values())).base >> 12)
            if rng.random() < 0.1:
                h.memory.reads.open = not h.memory.reads.open
            if rng.random() < 0.1:
                h.memory.done_data.open = not h.memory.done_data.open
            if rng.random() < 0.1:
                h.memory.done.open = not h.memory.done.open
            if rng.random() < 0.1:
                h.core.cmd.open = not h.core.cmd.open
            if rng.random() < 0.1:
                h.pins["msix_mask"].set(1 - h.pins["msix_mask"].value)
            await h.clocks(rng.choice([0, 3, 30, 100, 300]))
            for ring in h.rings.values():
                if ring.head != ring.tail and rng.random() < 0.6:
                    h.consume(ring)
        stuck += NvmeEvent.SQE_UNREAD in h.firmware.events()
        if turn % 2:
            await h.bar.write(CC, ENABLED & ~1)
        else:
            await h.until(lambda: not h.bar.requests.queue)
            h.pins["function_reset"].set(1)
            await h.step()
            h.pins["function_reset"].set(0)
        await h.clocks(rng.choice([0, 5, 50]))
        h.memory.reads.open = h.memory.done.open = h.memory.done_data.open = h.core.cmd.open = True
        for _ in range(rng.randrange(4)):
            await h.bar.read(CSTS)
        await h.firmware.disable()
        assert not h.core.under_way
        assert not h.firmware.admin_cpl.queue
        h.pairs, h.rings, h.open_parts = {}, {}, []
        h.memory.readable.clear()
        h.memory.writable.clear()
        before = len(h.events)
        h.pins["msix_mask"].set(0)
        await h.clocks(rng.choice([100, 100, 12_000]))
        assert len(h.events) == before, h.events[before:]
        assert not h.firmware.value("admin_valid")
        assert await h.bar.read(PENDING) == 0
        await h.firmware.clear(*NvmeEvent)
    assert stuck > 1, stuck
    h.unreadable = 0.0
    await h.start()
    pair = await h.create(1, 64)
    h.core.answer = lambda c: (0, 0)
    for n in range(40):
        h.submit(pair, h.move(NvmeOpcode.READ, n, 1))
    h.ring(pair)
    await h.drain()


@simulated
@cocotb.parametrize(queue=[0, 1])
async def a_sqe_that_cannot_be_read_stops_all_until_a_reset(dut, queue):
    """It and what comes behind it are never done and have no CQE; what was done before it ends; it is said once."""
    h = await Host(dut, SEED, pace=0.2).begin()
    for turn in range(2):
        await h.start()
        pair = await h.create(1, 64)
        before = [h.submit(pair, h.move(NvmeOpcode.WRITE, 3 * n, 2, 4)) for n in range(3)]
        h.ring(pair)
        await h.until(lambda before=before: before[2].command)
        bad = h.pairs[queue]
        h.memory.failing = {bad.base >> 12}
        lost = [h.submit(pair, h.move(NvmeOpcode.WRITE, 100, 1)) for _ in range(20)]
        if queue == 0:
            h.submit(bad, Sqe(6), admin=True)
            h.ring(bad)
            await h.until(lambda: NvmeEvent.SQE_UNREAD in h.firmware.events())
        h.ring(pair)
        await h.until(lambda: NvmeEvent.SQE_UNREAD in h.firmware.events())
        await h.firmware.clear(NvmeEvent.SQE_UNREAD)
        await h.until(lambda before=before: all(r.done == 0 for r in before), 50_000)
        await h.clocks(500)
        assert not any(r.command or r.done for r in lost) and not h.firmware.value("admin_valid")
        assert NvmeEvent.SQE_UNREAD not in h.firmware.events() and not h.core.under_way
        assert await h.bar.read(CSTS) & 1
        if turn:
            h.pins["function_reset"].set(1)
            await h.step()
            h.pins["function_reset"].set(0)
            await h.firmware.disable()
            h.pairs, h.rings, h.open_parts = {}, {}, []
        else:
            await h.stop()
        h.memory.failing = set()
    await h.start()
    pair = await h.create(1, 64)
    for n in range(40):
        h.submit(pair, h.move(NvmeOpcode.READ, n, 1))
    h.ring(pair)
    await h.drain()
    assert 100 not in h.core.blocks


def test_nvme_resets():
    run("otx_nvme", [f"{VERILOG}/otx_nvme.v"], __name__)
