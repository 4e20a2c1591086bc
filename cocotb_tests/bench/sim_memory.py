# SPDX-License-Identifier: Apache-2.0
"""The ports of the simulated memory as tests use them."""

from cocotb.triggers import FallingEdge, ReadOnly

from cocotb_tests.bench.streams import start

BASE, BYTES, LATENCY, OUTSTANDING = 0x4000_0000, 65536, 8, 8
OKAY, SLVERR = 0, 2
SIZE = 3  # of a beat, as on AXI; test_sim_mem_wide.py sets 4


async def setup(dut):
    for port in ("aw_valid", "w_valid", "ar_valid"):
        getattr(dut, f"axi_{port}").value = 0
    for port in ("b_ready", "r_ready"):
        getattr(dut, f"axi_{port}").value = 1
    for port in ("cyc", "stb", "we"):
        getattr(dut, f"wb_{port}").value = 0
    await start(dut)


async def until(dut, signal):
    """Clocks until `signal` is high in front of a rising edge; returns behind that edge."""
    for clocks in range(1, 200):
        await ReadOnly()
        high = int(signal.value)
        await FallingEdge(dut.clk)
        if high:
            return clocks
    raise AssertionError(f"{signal._name} stays low")


async def address(dut, channel, addr, beats, ident=0):
    for name, value in (("addr", addr), ("len", beats - 1), ("id", ident), ("size", SIZE), ("burst", 1), ("valid", 1)):
        getattr(dut, f"axi_{channel}_{name}").value = value
    await until(dut, getattr(dut, f"axi_{channel}_ready"))
    getattr(dut, f"axi_{channel}_valid").value = 0


async def beats(dut, count):
    """`count` beats of read data as (data, id, resp, last), and the clocks from now to each."""
    got, times, clock = [], [], 0
    while len(got) < count:
        clock += 1
        assert clock < 500, f"only {len(got)} of {count} beats came"
        await ReadOnly()
        if int(dut.axi_r_valid.value) and int(dut.axi_r_ready.value):
            got.append(tuple(int(getattr(dut, f"axi_r_{n}").value) for n in ("data", "id", "resp", "last")))
            times.append(clock)
        await FallingEdge(dut.clk)
    return got, times


async def write(dut, addr, words, strobes=None, ident=0):
    strobes = (1 << (1 << SIZE)) - 1 if strobes is None else strobes
    await address(dut, "aw", addr, len(words), ident)
    for i, word in enumerate(words):
        dut.axi_w_data.value, dut.axi_w_strb.value, dut.axi_w_last.value, dut.axi_w_valid.value = (
            word,
            strobes,
            int(i == len(words) - 1),
            1,
        )
        await until(dut, dut.axi_w_ready)
    dut.axi_w_valid.value = 0
    while True:
        await ReadOnly()
        valid, resp, got = int(dut.axi_b_valid.value), int(dut.axi_b_resp.value), int(dut.axi_b_id.value)
        await FallingEdge(dut.clk)
        if valid:
            assert got == ident
            return resp


async def read(dut, addr, count=1, ident=0):
    await address(dut, "ar", addr, count, ident)
    got, _ = await beats(dut, count)
    return [g[0] for g in got]


async def processor(dut, addr, value=None, sel=0xF):
    """One Wishbone access; returns (what was read, clocks)."""
    dut.wb_adr.value, dut.wb_sel.value, dut.wb_we.value, dut.wb_dat_w.value = (
        addr >> 2,
        sel,
        int(value is not None),
        value or 0,
    )
    dut.wb_cyc.value = dut.wb_stb.value = 1
    clocks = await until(dut, dut.wb_ack)
    dut.wb_cyc.value = dut.wb_stb.value = 0
    return int(dut.wb_dat_r.value), clocks
