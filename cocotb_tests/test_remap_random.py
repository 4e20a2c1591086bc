# SPDX-License-Identifier: Apache-2.0
"""Remap engine: random ops, groups and transactions against RemapModel, few hot blocks, so that chains get long and everything meets everything."""

import os
import random

import cocotb
from cocotb.triggers import FallingEdge
from models.remap_bench import SOURCES, G, bench, buf, nand
from models.remap_model import NONE, Op, State, TxOp
from runner import run

LOOKUP, APPEND, PLAIN, SWAP = Op
BEGIN, COMMITTING, COMMIT, ABORT, PREPARE = TxOp
simulated = cocotb.test(timeout_time=100, timeout_unit="ms")
HOT, WARM = [0, 1], [2, 3, 4, 5, 511, G.lbas - 1, *range(64, 80)]
SEED = int(os.environ.get("SEED", "1"))
OPS = int(os.environ.get("OPS", "1"))  # times as many


def next_request(rng, m, txids):
    """A tx request that is legal most of the time, or None. `txids`: as many as that are to be open."""
    txid = rng.choice(txids)
    state, opened = m.txs[txid].state, sum(m.txs[t].state != State.FREE for t in txids)
    usual = {
        State.FREE: BEGIN,
        State.OPEN: rng.choice([COMMITTING] * 6 + [PREPARE, ABORT]) if opened > len(txids) * 3 // 4 else None,
        State.PREPARED: rng.choice([COMMITTING, COMMITTING, ABORT]),
        State.COMMITTING: COMMIT,
    }.get(state)
    return (rng.choice(list(TxOp)) if rng.random() < 0.04 else usual), txid


async def random_run(dut, ops, latency, stall, seed, txids, pause=0.02):
    b = await bench(dut, latency=latency, stall=stall, seed=seed)
    rng, fresh, left, longest, m = random.Random(seed), 0, 0, 0, b.model
    tally = {}
    for n in range(ops):
        while len(b.ops) > 2:
            await FallingEdge(dut.clk)
        if rng.random() < pause:
            await b.clocks(rng.randrange(200))
        r, fresh, txid = rng.random(), fresh + 1, rng.choice(txids)
        lpn = rng.choice(HOT if rng.random() < 0.6 else WARM)
        left = left - 1 if left else rng.choice([0, 0, 0, 0, 0, 3, 8])  # ops left in this group
        new = rng.choice([nand, buf])(fresh) if rng.random() < 0.9 else NONE
        if r < 0.45:
            ending = [t for t in txids if m.txs[t].state == State.COMMITTING]
            call = b.send(LOOKUP, lpn, rng.choice([None, txid, rng.choice(ending or [txid])]), last=left == 0)
        elif r < 0.75:
            opened = [t for t in txids if m.txs[t].state == State.OPEN]
            call = b.send(APPEND, lpn, rng.choice(opened) if opened and rng.random() < 0.95 else txid, new, last=left == 0)
        elif r < 0.83:
            call = b.send(PLAIN, lpn, None, new, last=left == 0)
        else:
            held = [(v, k) for t in m.txs for k, v in t.versions.items()] + [(v.location, k) for k, c in m.chains.items() for v in c if v.location]
            old, lpn = rng.choice(held or [(NONE, lpn)])
            call = b.send(SWAP, lpn, None, old, nand(fresh), last=left == 0)
        tally[Op(call.fields["op"]).name] = tally.get(Op(call.fields["op"]).name, 0) + 1
        if rng.random() < 0.5 and len(b.txs) < 3:
            request, txid = next_request(rng, m, txids)
            if request is not None:
                b.send_tx(request, txid)
        if n % 8 == 0:
            longest = max(longest, *(b.chain_length(lpn) for lpn in HOT))
    b.send(LOOKUP, 0)
    await b.drain()
    for lpn in HOT + WARM:
        for reader in (None, *txids):
            b.send(LOOKUP, lpn, reader)
    await b.drain()
    seen = b.seen | m.seen | {"read overtakes": b.table.overtaken}
    dut._log.info(f"seed {seed}: {tally}, {m.commits} commits, {m.released} released, longest chain {longest}, {seen}, {b.clock} clocks")
    assert m.commits > ops // 100 and m.released > ops // 10 and int(dut.memoryErrors.value) == 0
    return longest, seen


@simulated
async def random_ops_agree_with_the_model_at_a_short_latency(dut):
    longest, seen = await random_run(dut, 9000 * OPS, (1, 6), 0.1, SEED, [*range(32)])
    assert longest >= 8 and all(v for k, v in seen.items() if k != "16 jobs"), seen


@simulated
async def random_ops_agree_with_the_model_at_a_long_latency(dut):
    longest, seen = await random_run(dut, 3000 * OPS, (1, 60), 0.3, 1000 + SEED, [*range(32)])
    assert longest >= 6 and all(v for k, v in seen.items() if k != "own after its commit"), seen


@simulated
async def random_ops_agree_with_the_model_at_a_memory_of_one_clock(dut):
    await random_run(dut, 8000 * OPS, (1, 1), 0.0, 2000 + SEED, [0, 1, 2, 17, 31], pause=0.2)


def test_remap_random():
    run("otx_remap_engine", SOURCES, "test_remap_random")
