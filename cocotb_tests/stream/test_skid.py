# SPDX-License-Identifier: Apache-2.0
"""Stream register: order, content and count of beats under random stalls, full throughput, no path from ready to
ready."""

import os
import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge, ReadOnly, Timer, with_timeout

from cocotb_tests.bench.streams import Sink, Source, start


async def pass_beats(dut, count, up_stall, down_stall):
    """Sends the numbers 0 ... count - 1 and returns how many clocks they took and how often the register was full."""
    rng = random.Random(int(os.environ.get("SEED", "1")))
    await start(dut)
    got, full = [], 0
    source = Source(dut, "up", stall=up_stall, rng=rng)
    sink = Sink(dut, "down", got=lambda beat, _: got.append(beat), stall=down_stall, rng=random.Random(rng.random()))
    cocotb.start_soon(sink.run())

    async def send():
        for n in range(count):
            await source.send(payload=n % 2 ** len(dut.up_payload))

    sender, clocks = cocotb.start_soon(send()), 0
    while len(got) < count and clocks < 40 * count:
        await FallingEdge(dut.clk)
        clocks += 1
        full += not int(dut.up_ready.value)
    await with_timeout(sender, 1, "us")
    assert [b["payload"] for b in got] == [n % 2 ** len(dut.up_payload) for n in range(count)]
    return clocks, full


@cocotb.test()
async def numbered_beats_come_out_in_order_under_random_stalls(dut):
    _, full = await pass_beats(dut, 2000, 0.4, 0.5)
    assert full > 100, "the second place was hardly used"


@cocotb.test()
async def a_free_way_out_takes_a_beat_in_every_clock(dut):
    clocks, full = await pass_beats(dut, 1000, 0.0, 0.0)
    assert clocks <= 1003 and full == 0


@cocotb.test()
async def ready_and_valid_do_not_depend_on_inputs_of_the_same_clock(dut):
    await start(dut)
    dut.up_valid.value, dut.down_ready.value, dut.up_payload.value = 1, 0, 1
    for _ in range(3):
        await FallingEdge(dut.clk)
    before = []
    for up, down in ((0, 0), (0, 1), (1, 0), (1, 1)):
        dut.up_valid.value, dut.down_ready.value = up, down
        await Timer(1, "ns")
        await ReadOnly()
        before.append((int(dut.up_ready.value), int(dut.down_valid.value)))
        await Timer(100, "ps")
    assert before == [(0, 1)] * 4, "full, and so not ready, whatever the inputs are"


@cocotb.test()
async def reset_drops_what_it_holds(dut):
    await start(dut)
    dut.up_valid.value, dut.down_ready.value, dut.up_payload.value = 1, 0, 1
    for _ in range(3):
        await FallingEdge(dut.clk)
    assert int(dut.up_ready.value) == 0
    dut.up_valid.value, dut.reset.value = 0, 1
    await FallingEdge(dut.clk)
    assert int(dut.up_ready.value) == 1 and int(dut.down_valid.value) == 0


@pytest.mark.parametrize("width", [1, 8, 65])
def test_skid(width):
    from cocotb_tests.bench.runner import run

    run("otx_skid", ["rtl/stream/otx_skid.sv"], __name__, parameters={"Width": width})
