# SPDX-License-Identifier: Apache-2.0
"""The NVMe front end behind LitePCIe, over a PHY of 64 and one of 128 bits: TLPs in, TLPs out, with firmware and core
beside it (bench/pcie_root.py says what is checked of each TLP).

Sources of what is expected: PCI Express Base Specification 3.0, 2.2 and 2.3.1; docs/interfaces/nvme.md.
"""

import os
import subprocess
import sys

import cocotb
import pytest
from cocotbext.pcie.core.tlp import CplStatus

from cocotb_tests.bench.amount import amount
from cocotb_tests.bench.nvme_bar import ACQ, ASQ, CAP, CSTS, PENDING, TABLE, VS
from cocotb_tests.bench.nvme_host import MESSAGES
from cocotb_tests.bench.nvme_random import anything
from cocotb_tests.bench.pcie_root import BASE, WRITES, PcieHost
from cocotb_tests.bench.runner import BUILD, ROOT, run
from cocotb_tests.tb.nvme_pcie_top import TIMEOUT
from opentxssd.facts import BLOCK, NvmeEvent, NvmeOpcode, NvmeStatus

VERILOG = os.environ.get("OTX_VERILOG_DIR", "build/tiny/verilog")
SEED = int(os.environ.get("SEED", "1"))
simulated = cocotb.test(timeout_time=20, timeout_unit="ms")
READ, WRITE = NvmeOpcode.READ, NvmeOpcode.WRITE


async def ready(dut, depth=64, payload=128, request=512, **how):
    h = await PcieHost(dut, SEED, **how).begin(payload, request)
    await h.start()
    return h, await h.create(1, depth)


@simulated
@cocotb.parametrize(stall=[0.0, 0.3])
async def registers_are_read_and_written_in_bytes_words_and_pairs_of_words(dut, stall):
    h = await PcieHost(dut, SEED, stall).begin()
    bar, rng = h.bar, h.rng
    cap = await bar.read(CAP, 8)
    assert cap & 0xFFFF == 1023 and await bar.read(VS) == 0x1_0400
    assert [await bar.read(CAP + at) for at in (0, 4)] == [cap & 0xFFFF_FFFF, cap >> 32]
    keeps = {ASQ: ~0xFFF, ACQ: ~0xFFF, TABLE: ~0, TABLE + 8: 0x1_FFFF_FFFF, TABLE + 16 * 15: ~0}
    words = {ASQ: 0, ACQ: 0, TABLE: 0, TABLE + 8: 1 << 32, TABLE + 16 * 15: 0}
    for _ in range(amount(60, 300)):
        at = rng.choice(list(words))
        size = rng.choice((8, 8, 4, 4, 2, 1))
        first = rng.randrange(0, 8, size)
        value = rng.getrandbits(8 * size)
        await bar.write(at + first, value, size)
        mask = ((1 << 8 * size) - 1) << 8 * first if at < TABLE or size >= 4 else 0  # the table is written in words
        words[at] = (words[at] & ~mask | value << 8 * first & mask) & keeps[at]
        size = rng.choice((8, 4, 2, 1))
        first = rng.randrange(0, 8, size)
        want = words[at] >> 8 * first & (1 << 8 * size) - 1
        got = await bar.read(at + first, size)
        assert got == want, f"{size} bytes at {at + first:#x}: {got:#x}, not {want:#x}"


@simulated
async def reads_are_answered_in_order_and_several_at_once(dut):
    h = await PcieHost(dut, SEED).begin()
    for at in range(16):
        h.bar.post(TABLE + 16 * at, 16 * at + 4, 8)
    for _ in range(amount(10, 40)):
        vectors = [h.rng.randrange(16) for _ in range(9)]
        tags = [(v, h.bar.ask(TABLE + 16 * v, 8)) for v in vectors]
        for vector, tag in tags:
            cpl = await h.bar.answer(tag)
            assert int.from_bytes(cpl.data, "little") == 16 * vector + 4


@simulated
async def requests_of_other_lengths_are_refused_and_change_nothing(dut):
    h = await PcieHost(dut, SEED).begin()
    bar, rng = h.bar, h.rng
    at, want = TABLE + 16 * 4, 0x1234_5678_9ABC_DEF0
    await bar.write(at, want, 8)
    await bar.write(at + 8, 0x77, 4)
    for length in (1, 2, 3, 4, 5, 16, 31, 1024, 2):
        address = at + (4 if length <= 2 else 0) - (8 if length == 2 else 0)  # a pair must be aligned
        if length > 1:
            tlp = bar._request(WRITES[0], address, 8)
            tlp.address, tlp.first_be, tlp.last_be = BASE + address, 15, 15
            tlp.set_data(rng.randbytes(4 * length))
            h.memory.requests.append(tlp)
            tag = bar.ask(address, 8)
            asked = h.memory.answers[tag]
            asked.length = length
            cpl = await bar.answer(tag)
            assert cpl.status == CplStatus.UR and not cpl.has_data() and cpl.byte_count == 4 * length
        assert await bar.read(at, 8) == want and await bar.read(at + 8) == 0x77
    tag = bar.ask(at)
    h.memory.answers[tag].first_be = 0  # a read of no bytes: its answer says that writes have arrived
    assert (await bar.answer(tag)).status == CplStatus.SC


@simulated
@cocotb.parametrize(
    (("payload", "request", "stall"), [(128, 128, 0.0), (128, 512, 0.2), (256, 256, 0.2), (512, 512, 0)])
)
async def blocks_go_both_ways_at_any_alignment(dut, payload, request, stall):
    h, pair = await ready(dut, 64, payload, request, stall=stall, jitter=80, pace=1.0)
    tag = None
    for turn, op in enumerate((WRITE, READ) * amount(1, 3)):
        for i, offset in enumerate((0, 4, 8, 60, 2052, 4088, 4092)):
            h.submit(pair, h.move(op, 3 * i, 1 + (turn + i) % 3, offset))
        h.ring(pair)
        while h.busy():  # the host looks at registers meanwhile
            if tag is None or h.memory.answers[tag].is_completion():
                assert tag is None or h.memory.answers.pop(tag).status == CplStatus.SC
                tag = h.bar.ask(*h.rng.choice(((CSTS, 4), (CAP, 8), (PENDING, 8), (TABLE + 16, 8))))
            await h.clocks(20)
            for ring in h.rings.values():
                if ring.head != ring.tail:
                    h.consume(ring)
        await h.drain()
    assert (await h.bar.answer(tag)).status == CplStatus.SC
    h.interrupts_follow()
    assert set(h.statuses) == {NvmeStatus.SUCCESS}
    wanted = ["wide", "narrow", "odd", "beside", "messages", "mixed_tags", "fences"] + ["split"] * (request > 128)
    assert all(h.memory.seen[what] for what in wanted), h.memory.seen
    assert not h.memory.open and h.memory.begun == h.memory.written


@simulated
async def reads_that_the_host_answers_with_an_error_fail_and_no_others(dut):
    """Requests of one read, of reads beside it, all ways to fail; the bench judges each command."""
    h, pair = await ready(dut, 64, 128, 256, stall=0.1, jitter=80, pace=1.0)
    for turn in range(amount(3, 12)):
        h.unreadable = 0.15
        for n, offset in enumerate((0, 4, 8, 2052, 4092)):
            h.submit(pair, h.move(WRITE, 32 * n, 1 + n % 3, offset))
            h.submit(
                pair, h.move((NvmeOpcode.COMPARE, WRITE)[turn % 2], 32 * n + 8, 4, offset, list_at=8 * 504 + 8 * n)
            )
        h.unreadable = 0.0
        h.submit(pair, h.move(WRITE, 500, 3, 4))
        h.ring(pair)
        await h.drain()
    assert h.statuses[NvmeStatus.TRANSFER_ERROR] > 5 and h.statuses[0] > 5
    assert all(h.memory.seen[what] for what in ("ur", "ca", "late", "poisoned")), h.memory.seen


@simulated
async def reads_that_are_never_answered_fail_in_time_and_late_answers_are_nobodys(dut):
    """Also when the epochs come again, and with answers between those to reads that have their tags now; nor are those
    that answer nothing."""
    h, pair = await ready(dut, 64, 128, 512, stall=0.1, jitter=40, pace=1.0)
    for turn in range(6):
        bad = [
            h.submit(pair, h.move(op, 60 * n, 2, 4 * n))
            for n, op in enumerate((WRITE, NvmeOpcode.COMPARE)[: 1 + turn % 2])
        ]
        for record in bad:
            page = record.pieces[turn % 2][0] >> 12
            h.memory.mute.add(page)
            h.memory.failing.add(page)
        h.ring(pair)
        if turn == 0:
            await h.until(lambda: h.memory.late)
            begin = h.clock
            await h.until(lambda: h.pairs[1].head == 1)
            assert TIMEOUT <= h.clock - begin < 2 * TIMEOUT, h.clock - begin
        await h.drain()
        assert all(r.done == NvmeStatus.TRANSFER_ERROR for r in bad)
        for n in range(3):
            h.submit(pair, h.move(WRITE, 200 + 8 * n, 3, 4))
        h.ring(pair)
        if turn % 3:
            await h.until(lambda: h.memory.open)
        assert h.memory.late
        h.memory.answer_late()
        await h.drain()
        assert all(h.core.blocks[200 + 8 * n + i] != bytes(BLOCK) for n in range(3) for i in range(3))
        assert not h.memory.open
        h.memory.answer_nobody()
    assert set(h.statuses) == {0, NvmeStatus.TRANSFER_ERROR}


@simulated
async def anything_at_random(dut):
    h, pair = await ready(dut, 20, 256, 256, stall=0.1, jitter=120, pace=0.6)
    h.unreadable = 0.1
    pairs = [pair, await h.create(2, 9)]
    for _ in range(amount(60, 300)):
        pair = h.rng.choice(pairs)
        if pair.room():
            h.submit(pair, anything(h, h.rng, pairs))
        if h.rng.random() < 0.5:
            h.ring(pair)
        if h.rng.random() < 0.5:
            await h.bar.read(CSTS)
        await h.clocks(h.rng.choice([0, 30, 200]))
        for ring in h.rings.values():
            if ring.head != ring.tail:
                h.consume(ring)
    for pair in pairs:
        h.ring(pair)
    await h.drain()
    h.interrupts_follow()
    assert len(h.statuses) > 3 and h.statuses[NvmeStatus.TRANSFER_ERROR]


@simulated
async def a_masked_interrupt_waits_and_each_vector_has_its_own_message(dut):
    h, pair = await ready(dut, 16, pace=1.0)
    await h.bar.write(TABLE + 16 + 12, 1)
    h.submit(pair, h.move(WRITE, 5, 1))
    h.ring(pair)
    await h.drain()
    assert await h.bar.read(PENDING) == 2 and ("message", 1) not in h.events
    await h.bar.write(TABLE + 16, MESSAGES + 0x70, 8)  # of vector 7
    await h.bar.write(TABLE + 16 + 8, 7 << 4 | 5, 8)
    await h.clocks(100)
    assert ("message", 7) in h.events and await h.bar.read(PENDING) == 0


@simulated
async def without_bus_master_enable_nothing_leaves_but_completions(dut):
    h, pair = await ready(dut, 16, pace=1.0)
    h.pins["bus_master"].set(0)
    await h.clocks(60)
    h.memory.master = False
    record = h.submit(pair, h.move(WRITE, 5, 1, 4))
    h.ring(pair)
    for _ in range(20):
        assert await h.bar.read(CSTS) & 1
        await h.clocks(20)
    assert record.command is None
    h.memory.master = True
    h.pins["bus_master"].set(1)
    await h.drain()
    assert record.done == NvmeStatus.SUCCESS


@simulated
@cocotb.parametrize(stop=["reads", "writes"])
async def a_hot_reset_with_everything_under_way_leaves_nothing(dut, stop):
    """What the core still has ends, its WRITEs in vain, and none of it is seen by the host that comes next."""
    h, pair = await ready(dut, 64, 256, 256, stall=0.1, jitter=200, pace=0.8)
    cut = 0
    for turn in range(amount(6, 18)):
        h.core.blocks = {n: h.rng.randbytes(BLOCK) for n in range(64)}
        may_be = {n: [raw] for n, raw in h.core.blocks.items()}
        for n in range(12):
            op = READ if n % 2 or stop == "writes" else WRITE
            record = h.submit(pair, h.move(op, 3 * n, 1 + n % 3, 4 * n))
            raw = b"".join(h.memory.get(*piece) for piece in record.pieces)
            for block in range((1 + n % 3) * (op == WRITE)):
                may_be[3 * n + block].append(raw[BLOCK * block :][:BLOCK])
        h.ring(pair)
        h.memory.silent = stop == "reads" and turn % 2
        await h.clocks(300 + h.rng.randrange(900))
        if stop == "writes":
            await h.until(lambda: h.memory.written > BLOCK)
        await link_down(h, (40, 2, 3)[turn // 2 % 3])
        assert NvmeEvent.FUNCTION_RESET in h.firmware.events()
        await h.bar.read(CSTS)
        cut += h.memory.had_open if stop == "reads" else bool(h.core.under_way)
        await h.until(lambda: h.firmware.value("quiet"), 60_000)
        assert not h.core.under_way
        assert all(raw in may_be[n] for n, raw in h.core.blocks.items()), "what nobody wrote has become data"
        await h.clocks(200)
        h.firmware.set(csts_ready=0)
        await h.firmware.clear(*NvmeEvent)
        h.statuses.clear()
        await h.start()
        pair = await h.create(1, 64)
    for n in range(12):
        h.submit(pair, h.move((WRITE, READ)[n % 2], 3 * n, 1 + n % 3, 4 * n))
    h.ring(pair)
    await h.drain()
    assert h.statuses == {NvmeStatus.SUCCESS: 12}
    assert cut > 1


async def link_down(h, clocks):
    """For so many clocks; then the next host has what it looks into."""
    root = h.memory
    root.had_open = root.link = False
    stall, root.tx.stall = root.tx.stall, 0.0  # a TLP that the PHY does not take is lost
    h.pins["link_up"].set(0)
    h.pins["bus_master"].set(0)
    root.reset()
    await h.clocks(clocks)  # in many a TLP that is on its way goes to the core
    h.pairs, h.rings, h.open_parts = {}, {}, []
    root.readable.clear()
    root.writable.clear()
    root.reset()
    root.link, root.tx.stall = True, stall
    h.pins["link_up"].set(1)
    h.pins["bus_master"].set(1)
    await h.clocks(20)


@pytest.mark.parametrize("bits", [64, 128])
def test_nvme_pcie(bits):
    folder = BUILD / "nvme_pcie"
    command = [sys.executable, "-m", "cocotb_tests.tb.nvme_pcie_top", folder, str(bits), ROOT / VERILOG / "otx_nvme.v"]
    subprocess.run(command, check=True, cwd=ROOT)
    files = [folder.relative_to(ROOT) / f"{name}_{bits}.v" for name in ("nvme_pcie_top", "pcie_transport")]
    run(f"nvme_pcie_top_{bits}", [*files, f"{VERILOG}/otx_nvme.v"], __name__)
