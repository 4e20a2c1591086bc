# SPDX-License-Identifier: Apache-2.0
"""The simulated memory with beats of 16 bytes, as table memory has them: strobes over the whole beat, many reads under
way, the processor's words.
"""

import cocotb
from cocotb.triggers import FallingEdge

from cocotb_tests.bench import sim_memory as narrow
from cocotb_tests.bench.runner import ROOT, run

BASE, BYTES, LATENCY, OUTSTANDING = narrow.BASE, narrow.BYTES, narrow.LATENCY, 32
BEAT = 0x0F0E_0D0C_0B0A_0908_0706_0504_0302_0100
narrow.SIZE = 4


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_beat_of_16_bytes_is_written_and_read_by_words_and_by_strobes(dut):
    await narrow.setup(dut)
    assert await narrow.write(dut, BASE + 32, [BEAT, BEAT << 1], ident=17) == narrow.OKAY
    assert await narrow.read(dut, BASE + 32, 2) == [BEAT, BEAT << 1]
    assert [(await narrow.processor(dut, BASE + 32 + 4 * n))[0] for n in range(4)] == [
        BEAT >> 32 * n & 0xFFFF_FFFF for n in range(4)
    ]
    for word in range(4):
        await narrow.write(dut, BASE + 32, [0x1111_1111 * (word + 1) << 32 * word], strobes=0xF << 4 * word)
        await narrow.processor(dut, BASE + 48 + 4 * word, 0x5555_0000 + word)
    assert await narrow.read(dut, BASE + 32, 2) == [
        sum(0x1111_1111 * (n + 1) << 32 * n for n in range(4)),
        sum(0x5555_0000 + n << 32 * n for n in range(4)),
    ]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def many_reads_are_under_way_with_their_ids(dut):
    await narrow.setup(dut)
    await narrow.write(dut, BASE, [n << 100 | n for n in range(20)])
    dut.axi_r_ready.value = 0
    for n in range(20):
        await narrow.address(dut, "ar", BASE + 16 * n, 1, n)
    dut.axi_r_ready.value = 1
    got, times = await narrow.beats(dut, 20)
    assert [g[:2] for g in got] == [(n << 100 | n, n) for n in range(20)] and times == list(
        range(times[0], times[0] + 20)
    )


@cocotb.test(timeout_time=100, timeout_unit="us")
async def an_address_outside_gets_an_error(dut):
    await narrow.setup(dut)
    assert (
        await narrow.write(dut, BASE + BYTES - 16, [BEAT]) == narrow.OKAY
        and await narrow.write(dut, BASE + BYTES, [9]) == narrow.SLVERR
    )
    await narrow.address(dut, "ar", BASE + BYTES, 1)
    got, _ = await narrow.beats(dut, 1)
    assert got[0][2] == narrow.SLVERR and await narrow.read(dut, BASE + BYTES - 16) == [BEAT]
    await FallingEdge(dut.clk)


def test_sim_mem_wide():
    cpp = str(ROOT / "sim/otx_sim_mem.cpp")
    parameters = {
        "Base": BASE,
        "Bytes": BYTES,
        "Latency": LATENCY,
        "Outstanding": OUTSTANDING,
        "DataBytes": 16,
        "IdWidth": 5,
    }
    run("otx_sim_mem", ["sim/otx_sim_mem.sv"], __name__, parameters=parameters, extra_args=[cpp])
