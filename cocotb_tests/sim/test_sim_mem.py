# SPDX-License-Identifier: Apache-2.0
"""The simulated memory: latency, bursts, byte strobes, the processor's port, addresses outside.

Inputs change at falling edges.
"""

import cocotb
from cocotb.triggers import FallingEdge, ReadOnly

from cocotb_tests.bench.runner import ROOT, run
from cocotb_tests.bench.sim_memory import (
    BASE,
    BYTES,
    LATENCY,
    OKAY,
    OUTSTANDING,
    SLVERR,
    address,
    beats,
    processor,
    read,
    setup,
    write,
)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def what_is_written_is_read_and_power_up_contents_are_not_zero(dut):
    await setup(dut)
    assert 0 not in await read(dut, BASE, 16)
    words = [0x1111_2222_3333_0000 + i for i in range(16)]
    assert await write(dut, BASE + 256, words, ident=5) == OKAY
    assert await read(dut, BASE + 256, 16) == words


@cocotb.test(timeout_time=100, timeout_unit="us")
async def the_first_beat_comes_after_the_latency_and_then_one_per_clock(dut):
    await setup(dut)
    await address(dut, "ar", BASE, 16, 3)
    got, times = await beats(dut, 16)
    assert times[0] == LATENCY and times == list(range(LATENCY, LATENCY + 16))
    assert [g[1] for g in got] == [3] * 16 and [g[3] for g in got] == [0] * 15 + [1]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def eight_reads_are_outstanding_and_answered_in_order(dut):
    await setup(dut)
    dut.axi_r_ready.value = 0
    for i in range(OUTSTANDING):
        await address(dut, "ar", BASE + 8 * i, 1, i)
    await ReadOnly()
    assert int(dut.axi_ar_ready.value) in (0, 1)
    await FallingEdge(dut.clk)
    dut.axi_r_ready.value = 1
    got, times = await beats(dut, OUTSTANDING)
    assert [g[1] for g in got] == list(range(OUTSTANDING))
    assert times == list(range(times[0], times[0] + OUTSTANDING)), "their latencies overlap"


@cocotb.test(timeout_time=100, timeout_unit="us")
async def strobes_change_only_their_bytes(dut):
    await setup(dut)
    await write(dut, BASE, [0x0123_4567_89AB_CDEF])
    await write(dut, BASE, [0xFFFF_FFFF_FFFF_FFFF], strobes=0b1000_0001)
    assert await read(dut, BASE) == [0xFF23_4567_89AB_CDFF]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def processor_and_core_see_the_same_words(dut):
    await setup(dut)
    await write(dut, BASE + 64, [0xAAAA_BBBB_CCCC_DDDD])
    assert (await processor(dut, BASE + 64))[0] == 0xCCCC_DDDD
    word, clocks = await processor(dut, BASE + 68)
    assert word == 0xAAAA_BBBB and clocks == LATENCY + 2
    await processor(dut, BASE + 68, 0x1234_5678, sel=0b0011)
    assert await read(dut, BASE + 64) == [0xAAAA_5678_CCCC_DDDD]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def an_address_outside_gets_an_error_and_changes_nothing(dut):
    await setup(dut)
    await write(dut, BASE + BYTES - 8, [7])
    assert await write(dut, BASE + BYTES, [9]) == SLVERR
    await address(dut, "ar", BASE - 4096, 1)
    got, _ = await beats(dut, 1)
    assert got[0][2] == SLVERR
    assert await read(dut, BASE + BYTES - 8) == [7]


def test_sim_mem():
    cpp = str(ROOT / "sim/otx_sim_mem.cpp")
    parameters = {"Base": BASE, "Bytes": BYTES, "Latency": LATENCY, "Outstanding": OUTSTANDING}
    run("otx_sim_mem", ["sim/otx_sim_mem.sv"], __name__, parameters=parameters, extra_args=[cpp])
