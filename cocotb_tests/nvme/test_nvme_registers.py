# SPDX-License-Identifier: Apache-2.0
"""Registers, MSI-X table and events of the NVMe front end, against what NVMe 1.4 (section 3.1) and PCI say of them."""

import os
import random

import cocotb

from cocotb_tests.bench.nvme_bar import (
    ACQ,
    AQA,
    ASQ,
    CAP,
    CC,
    CSTS,
    INTMC,
    INTMS,
    NSSR,
    PENDING,
    TABLE,
    VECTORS,
    VS,
    Bar,
)
from cocotb_tests.bench.runner import run
from cocotb_tests.bench.streams import Stepper, start
from opentxssd.facts import NvmeEvent

VERILOG = os.environ.get("OTX_VERILOG_DIR", "build/tiny/verilog")
simulated = cocotb.test(timeout_time=2, timeout_unit="ms")
INPUTS = """bar_req_valid dma_read_data_valid dma_read_ready dma_write_ready dma_write_data_ready msix_enable msix_mask
function_reset csts_ready csts_fatal csts_shutdown arbitration coalesce_above coalesce_time at_once write_through
streams events_clear_valid context_valid admin_pop admin_cpl_valid transfer_valid buffer_seek_valid buffer_write_valid
buffer_next failed_ready cmd_ready cpl_valid wdata_req_valid wdata_ready rdata_valid""".split()


class Bench(Stepper):
    def __init__(self, dut, stall=0.0):
        super().__init__(dut)
        self.rng = random.Random(int(os.environ.get("SEED", "1")))
        for name in INPUTS:
            getattr(dut, name).value = 0
        self.bar = Bar(self, dut, stall, self.rng)

    async def begin(self):
        await start(self.dut)
        await self.clocks(40)
        return self

    async def clear(self, events):
        """Firmware: clears these events."""
        self.dut.events_clear_payload.value, self.dut.events_clear_valid.value = events, 1
        await self.step()
        self.dut.events_clear_valid.value = 0
        await self.step()

    def events(self):
        return {e for e in NvmeEvent if int(self.dut.events.value) >> e & 1}


@simulated
async def capabilities_and_version_are_those_of_the_drive(dut):
    b = await Bench(dut).begin()
    cap = await b.bar.read(CAP, 8)
    assert cap & 0xFFFF == 1023 and cap >> 16 & 1 and cap >> 17 & 3 == 1, "queues of 1,024, contiguous, WRR"
    assert cap >> 24 & 0xFF == 240 and cap >> 32 & 0xF == 0 and cap >> 36 & 1 == 0 and cap >> 37 & 0xFF == 1
    assert cap >> 45 == 0, "no boot partition, pages of 4 KiB only"
    assert await b.bar.read(CAP + 4) == cap >> 32 and await b.bar.read(CAP) == cap & 0xFFFF_FFFF
    assert await b.bar.read(VS) == 0x00010400
    for reserved in (0x18, NSSR, 0x38, 0x3C, 0x40, 0xF8, 0xFFC, 0x1000, 0x1FF8, 0x2100, 0x3008, 0x3FF8):
        await b.bar.write(reserved, 0xFFFF_FFFF)
        assert await b.bar.read(reserved) == 0, f"{reserved:#x}"
    for fixed in (CAP, CAP + 4, VS, CSTS):
        before = await b.bar.read(fixed)
        await b.bar.write(fixed, 0xA5A5_A5A5)
        assert await b.bar.read(fixed) == before


@simulated
@cocotb.parametrize(stall=[0.0, 0.4])
async def registers_keep_what_they_have_in_accesses_of_any_size(dut, stall):
    """Random writes of 1 to 8 bytes, against the bytes of the registers; only bits that there are stay."""
    b = await Bench(dut, stall).begin()
    bits = {CC: 0x00FF_FFF1, AQA: 0x0FFF_0FFF, ASQ: ~0xFFF & (1 << 64) - 1, ACQ: ~0xFFF & (1 << 64) - 1}
    model = bytearray(0x38)
    kept = bytearray(0x38)
    for at, mask in bits.items():
        size = 8 if at in (ASQ, ACQ) else 4
        kept[at : at + size] = mask.to_bytes(size, "little")
    for _ in range(150):
        register = b.rng.choice(list(bits))
        size = b.rng.choice([1, 2, 4, 4, 4, 8] if register in (ASQ, ACQ) else [1, 2, 4, 4])
        at = register + b.rng.randrange(0, 8 if register in (ASQ, ACQ) else 4, size)
        value = b.rng.getrandbits(8 * size)
        await b.bar.write(at, value, size)
        for i, byte in enumerate(value.to_bytes(size, "little")):
            model[at + i] = byte & kept[at + i]
        register = b.rng.choice(list(bits))
        size = 8 if register in (ASQ, ACQ) else 4
        assert await b.bar.read(register, size) == int.from_bytes(model[register : register + size], "little")
    for name, at, size in (("cc", CC, 4), ("aqa", AQA, 4), ("asq", ASQ, 8), ("acq", ACQ, 8)):
        assert int(getattr(dut, name).value) == int.from_bytes(model[at : at + size], "little"), f"firmware's {name}"
    await b.bar.write(INTMS, 0xF0F0)
    await b.bar.write(INTMC, 0x00F0)
    await b.bar.write(INTMS, 0x0001)
    assert await b.bar.read(INTMS) == await b.bar.read(INTMC) == 0xF001


@simulated
async def status_is_what_firmware_says(dut):
    b = await Bench(dut).begin()
    for ready, fatal, shutdown in ((1, 0, 0), (0, 1, 2), (1, 1, 1), (0, 0, 3)):
        dut.csts_ready.value, dut.csts_fatal.value, dut.csts_shutdown.value = ready, fatal, shutdown
        assert await b.bar.read(CSTS) == ready | fatal << 1 | shutdown << 2


@simulated
async def events_stay_until_they_are_cleared(dut):
    b = await Bench(dut).begin()
    assert not b.events()
    await b.bar.write(CC, 0x0046_0001)
    assert b.events() == {NvmeEvent.CC_CHANGED}
    await b.clear(1 << NvmeEvent.CC_CHANGED)
    await b.bar.write(CC, 0x0046_0001)
    assert not b.events(), "the same value is no change"
    await b.bar.write(CC, 0x0046_4001)
    await b.bar.write(CC, 0x0046_4000)
    await b.bar.write(CC, 0x0046_0001)
    assert b.events() == {NvmeEvent.CC_CHANGED, NvmeEvent.DISABLED}, "that EN was 0 in between is seen"
    await b.clear(1 << NvmeEvent.CC_CHANGED)
    assert b.events() == {NvmeEvent.DISABLED}
    await b.clear(0x1F)
    await b.bar.write(ASQ, 0x1234_5000)
    dut.function_reset.value = 1
    await b.step()
    dut.function_reset.value = 0
    await b.clocks(3)
    assert b.events() == {NvmeEvent.FUNCTION_RESET, NvmeEvent.DISABLED}
    assert await b.bar.read(CC) == await b.bar.read(ASQ) == 0


@simulated
async def the_table_of_vectors_is_memory_and_masked_after_reset(dut):
    b = await Bench(dut).begin()

    async def after_reset():
        for vector in range(VECTORS):
            assert await b.bar.read(TABLE + 16 * vector, 8) == 0
            assert await b.bar.read(TABLE + 16 * vector + 8, 8) == 1 << 32

    await after_reset()
    model = {}
    for _ in range(200):
        at = TABLE + 4 * b.rng.randrange(4 * VECTORS)
        value = b.rng.getrandbits(32)
        if at % 8 == 0 and b.rng.random() < 0.3:
            value |= b.rng.getrandbits(32) << 32
            await b.bar.write(at, value, 8)
            model[at + 4] = value >> 32
        else:
            await b.bar.write(at, value)
        model[at] = value & 0xFFFF_FFFF
        at = b.rng.choice(list(model))
        assert await b.bar.read(at) == (model[at] & 1 if at % 16 == 12 else model[at]), "of the control only the mask"
    await b.bar.write(TABLE, 0xAA, 1)
    assert await b.bar.read(TABLE) == model.get(TABLE, 0), "a part of a word is no write"
    assert await b.bar.read(PENDING, 8) == 0
    dut.function_reset.value = 1
    await b.step()
    dut.function_reset.value = 0
    await b.clocks(40)
    await after_reset()


def test_nvme_registers():
    run("otx_nvme", [f"{VERILOG}/otx_nvme.v"], __name__)
