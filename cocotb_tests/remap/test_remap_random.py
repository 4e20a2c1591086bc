# SPDX-License-Identifier: Apache-2.0
"""Remap engine: random ops, groups and transactions against RemapModel, few hot blocks, so that chains get long and
everything meets everything.
"""

import os
import random

import cocotb
from cocotb.triggers import FallingEdge

from cocotb_tests.bench.amount import LONG, amount
from cocotb_tests.bench.remap_bench import SOURCES, G, bench
from cocotb_tests.bench.remap_traffic import RemapTraffic
from cocotb_tests.bench.runner import run
from cocotb_tests.models.remap_model import Op

simulated = cocotb.test(timeout_time=100, timeout_unit="ms")
HOT, WARM = [0, 1], [2, 3, 4, 5, 511, G.lbas - 1, *range(64, 80)]
SEED = int(os.environ.get("SEED", "1"))
OPS = int(os.environ.get("OPS", "1"))  # times as many


async def random_run(dut, ops, latency, stall, seed, txids, pause=0.02, watched=()):
    b = await bench(dut, latency=latency, stall=stall, seed=seed)
    b.watched = watched
    rng, longest, m = random.Random(seed), 0, b.model
    traffic = RemapTraffic(rng, m, txids, HOT, WARM)
    for n in range(ops):
        while len(b.ops) > 2:
            await FallingEdge(dut.clk)
        if rng.random() < pause:
            await b.clocks(rng.randrange(200))
        b.send_fields(traffic.op())
        if rng.random() < 0.5 and len(b.txs) < 3 and (request := traffic.request()):
            b.send_tx(*request)
        if n % 8 == 0:
            longest = max(longest, *(b.chain_length(lpn) for lpn in HOT))
    b.send(Op.LOOKUP, 0)
    await b.drain()
    for lpn in HOT + WARM:
        for reader in (None, *txids):
            b.send(Op.LOOKUP, lpn, reader)
    await b.drain()
    seen = b.seen | m.seen | {"read overtakes": b.table.overtaken}
    dut._log.info(
        f"seed {seed}: {traffic.tally}, {m.commits} commits, {m.released} released, longest chain {longest}, {seen}, "
        f"{b.clock} clocks"
    )
    assert m.commits > ops // 100 and m.released > ops // 12 and int(dut.memoryErrors.value) == 0
    return longest, seen


@simulated
async def random_ops_agree_with_the_model_at_a_short_latency(dut):
    longest, seen = await random_run(dut, amount(4000, 9000) * OPS, (1, 6), 0.1, SEED, [*range(32)], watched=range(32))
    assert longest >= amount(4, 8) and (not LONG or all(v for k, v in seen.items() if k != "16 jobs")), seen


@simulated
async def random_ops_agree_with_the_model_at_a_long_latency(dut):
    longest, seen = await random_run(dut, amount(800, 3000) * OPS, (1, 60), 0.3, 1000 + SEED, [*range(32)])
    assert longest >= amount(3, 6) and (
        not LONG or all(v for k, v in seen.items() if k not in ("own after its commit", "most before", "inside a walk"))
    ), seen


@simulated
async def random_ops_agree_with_the_model_at_a_memory_of_one_clock(dut):
    await random_run(dut, amount(4000, 8000) * OPS, (1, 1), 0.0, 2000 + SEED, [0, 1, 2, 17, 31], pause=0.2)


def test_remap_random():
    run("otx_remap_engine", SOURCES, __name__, depth=2)
