# SPDX-License-Identifier: Apache-2.0
"""The remap engine as `soc/remap_engine.py` gives it to a LiteX SoC, over that SoC's own memory: its streams at random
against the golden model, and clocks.
"""

import os
import random
import subprocess
import sys
from collections import deque

import cocotb
import pytest
from cocotb.triggers import FallingEdge, ReadOnly

from cocotb_tests.bench.amount import LONG, amount
from cocotb_tests.bench.remap_traffic import RemapTraffic
from cocotb_tests.bench.streams import Pin, reader, start
from cocotb_tests.examples.wishbone_host import WishboneHost
from cocotb_tests.models.remap_judge import WALKED, Call, RemapJudge, op_fields
from cocotb_tests.models.remap_model import NAND, NONE, Op, State, TxOp, word
from opentxssd.facts import layout

CONFIGS = {  # all but the first, which is the example's, only with LONG=1
    "small": dict(lpns=64, txids=8, tx_entries=31, slots=4),
    "least": dict(lpns=64, txids=2, tx_entries=3, slots=2),
    "odd": dict(lpns=77, txids=16, tx_entries=5, slots=8),
    "most": dict(lpns=1000, txids=32, tx_entries=40, slots=16),
}
KEYS, TXIDS, ENTRIES, SLOTS = CONFIGS[os.environ.get("CONFIG", "small")].values()
SEED = int(os.environ.get("SEED", "1"))
SLACK = 200  # clocks in which a release may be late: a few accesses of this memory
OP = {
    "op": "op",
    "lpn": "lpn",
    "hasTx": "hasTx",
    "txid": "txid",
    "location": "location",
    "newLocation": "new",
    "blocks": "blocks",
    "tag": "tag",
    "last": "last",
}
RSP = [field for field, _ in layout("RemapRsp")]
LOOKUP, APPEND, PLAIN, SWAP, TRIM = Op
simulated = cocotb.test(timeout_time=20, timeout_unit="ms")


class Bench:
    """Offers `ops` (fields) and `txs` (op, txid), takes answers and releases, with pauses, and has all of it judged.

    Inputs change at the falling edge.
    """

    def __init__(self, dut, stall=0.0):
        self.dut, self.rng, self.stall = dut, random.Random(SEED), stall
        self.judge = RemapJudge(KEYS, ENTRIES, SLACK)
        self.model, self.waiting = self.judge.model, self.judge.waiting
        self.ops, self.txs, self.op, self.tx = deque(), deque(), None, None  # waiting, and offered
        # clock; (txid, clocks until it was taken, clock) of a COMMIT that is not visible yet
        self.offered = self.flip = None
        self.flips = []  # clocks until a COMMIT was taken and from then on until it was visible
        self.calls, self.clock, self.tag = [], 0, 0
        self.seen = {"all slots": 0, "op beside walk": 0, "released": 0}

    async def start(self):
        d = self.dut
        self.pins = {
            n: Pin(getattr(d, n))
            for n in ["op_valid", "tx_valid", "rsp_ready", "released_ready", "tx_payload_op", "tx_payload_txid"]
        }
        self.pins |= {f"op_payload_{f}": Pin(getattr(d, f"op_payload_{f}")) for f in OP}
        self.out = {
            n: reader(getattr(d, n))
            for n in [
                "op_ready",
                "tx_ready",
                "rsp_valid",
                "released_valid",
                "released_payload_location",
                "states",
                "counts",
                "walking",
            ]
        }
        self.rsp = {f: reader(getattr(d, f"rsp_payload_{f}")) for f in RSP}
        host = WishboneHost(d, os.environ["CSR"])
        await start(d)
        base = host.map["memories"]["table"]["base"]
        await host.fill(base, [0] * KEYS)
        cocotb.start_soon(self.loop())
        return self

    async def loop(self):
        while True:
            await FallingEdge(self.dut.clk)
            self.clock += 1
            self.judge.clock = self.clock
            self.drive()
            await ReadOnly()
            self.sample()

    def pause(self):
        return self.stall and self.rng.random() < self.stall

    def drive(self):
        pins = self.pins
        if self.op is None and self.ops and not self.pause():
            self.tag = (self.tag + 1) % 256
            self.op = Call(**self.ops.popleft() | dict(tag=self.tag))
            for field, name in OP.items():
                pins[f"op_payload_{field}"].set(self.op.fields[name])
        if self.tx is None and self.txs and not self.pause():
            self.tx, self.offered = self.txs[0], self.clock  # until it is taken `RemapTraffic` counts with it
            pins["tx_payload_op"].set(int(self.tx[0]))
            pins["tx_payload_txid"].set(self.tx[1])
        pins["op_valid"].set(int(self.op is not None))
        pins["tx_valid"].set(int(self.tx is not None))
        for name in ("rsp_ready", "released_ready"):
            pins[name].set(int(not self.pause()))

    def sample(self):
        out, pins, judge = self.out, self.pins, self.judge
        if self.flip and self.state(self.flip[0]) == State.COMMITTED:
            self.flips.append((self.flip[1], self.clock - self.flip[2]))
            self.flip = None
        if pins["released_ready"].value:
            judge.ready_clocks += 1
            if out["released_valid"]():
                judge.released(out["released_payload_location"]())
                self.seen["released"] += 1
            judge.nothing_late()
        if pins["rsp_ready"].value and out["rsp_valid"]():
            rsp = {f: value() for f, value in self.rsp.items()}
            judge.op_answered(rsp.pop("tag"), {f: v if f == "location" else bool(v) for f, v in rsp.items()})
        tx = self.tx is not None and out["tx_ready"]()
        commit = tx and self.tx[0] == TxOp.COMMIT
        if tx and not commit:
            self.take_tx()
        if self.op is not None and out["op_ready"]():
            judge.op_taken(self.op)
            self.calls.append(self.op)
            self.op = None
            self.seen["all slots"] += len(self.waiting) >= SLOTS
            self.seen["op beside walk"] += out["walking"]()
        if commit:
            self.take_tx()

    def take_tx(self):
        op, txid = self.txs.popleft()
        self.tx = None
        self.sync(txid)
        legal = self.judge.tx_taken(op, txid, self.state(txid), self.count(txid))
        if legal and op == TxOp.COMMIT:
            self.flip = txid, self.clock - self.offered, self.clock

    def state(self, txid):
        return self.out["states"]() >> 3 * txid & 7

    def count(self, txid):
        return self.out["counts"]() >> 16 * txid & 0xFFFF

    def sync(self, txid):
        if self.model.txs[txid].state in WALKED and self.state(txid) == State.FREE:
            self.judge.freed(txid)
        self.judge.agrees(txid, self.state(txid), self.count(txid))

    async def drain(self):
        while self.ops or self.op or self.txs or self.waiting or self.out["walking"]():
            await FallingEdge(self.dut.clk)
        for _ in range(SLACK):
            await FallingEdge(self.dut.clk)
        for txid in range(TXIDS):
            self.sync(txid)
        self.judge.nothing_owed()

    async def until(self, done):
        while not done():
            await FallingEdge(self.dut.clk)

    async def do(self, op, lpn, txid=None, location=NONE, new=NONE, blocks=0):
        """One op and its Call when it is answered."""
        self.ops.append(op_fields(op, lpn, txid, location, new, blocks=blocks))
        n = len(self.calls)
        await self.until(lambda: len(self.calls) > n and self.calls[n].answered)
        return self.calls[n]

    async def request(self, *ops, txid):
        """tx requests, one after the other, until they are taken."""
        self.txs.extend((op, txid) for op in ops)
        await self.until(lambda: not self.txs)


def nand(n):
    return word(NAND, n)


@simulated
async def streams_at_random_are_what_the_golden_model_says(dut):
    b = await Bench(dut, stall=0.2).start()
    rng, most = random.Random(SEED + 1), amount(1_000, 4_000)
    traffic = RemapTraffic(rng, b.model, range(TXIDS), rng.sample(range(KEYS), 4), range(KEYS), b.txs)
    while len(b.calls) < most:
        for txid in range(TXIDS):
            b.sync(txid)
        if len(b.ops) < 2:
            b.ops.append(traffic.op())
        if len(b.txs) < 2 and rng.random() < 0.1 and (request := traffic.request()):
            b.txs.append(request)
        await FallingEdge(dut.clk)
    while traffic.left:
        b.ops.append(traffic.op())
    for txid in range(TXIDS):
        b.txs.append((TxOp.ABORT, txid))
    await b.drain()
    seen = b.seen | b.judge.seen | {"commits": b.model.commits}
    dut._log.info(f"{b.clock} clocks, ops {traffic.tally}, {seen}")
    assert seen["all slots"] or SLOTS > 4, seen  # more than this memory keeps busy
    assert all(
        seen[what]
        for what in (
            "op beside walk",
            "released",
            "commit inside a group",
            "commit beside an op",
            "answer overtakes",
            "commits",
        )
    ), seen


@simulated
async def what_a_memory_of_one_access_at_a_time_makes_of_the_clocks(dut):
    b = await Bench(dut).start()
    clocks = {}

    async def timed(name, *args, **more):
        call = await b.do(*args, **more)
        clocks[name] = call.answered - call.taken

    await timed("LOOKUP, no version", LOOKUP, 1)
    await timed("PLAIN", PLAIN, 1, location=nand(1))
    await b.request(TxOp.BEGIN, txid=1)
    await timed("APPEND", APPEND, 1, 1, nand(2))
    await timed("LOOKUP, one version", LOOKUP, 1)
    await timed("TRIM of 8", TRIM, 8, blocks=8)
    for lpn in range(10, 10 + ENTRIES - 1):
        await b.do(APPEND, lpn, 1, nand(lpn))
    await b.request(TxOp.BEGIN, txid=0)
    await b.do(APPEND, 2, 0, nand(100))
    for txid in (0, 1):
        await b.request(TxOp.COMMITTING, TxOp.COMMIT, txid=txid)
    begin = b.clock
    await b.until(lambda: b.state(1) == State.FREE)
    clocks["merge, per entry"] = round((b.clock - begin) / (ENTRIES + 1))
    await b.drain()
    for name, n in clocks.items():
        dut._log.info(f"{name}: {n} clocks")
    dut._log.info(f"COMMIT of 1 and of {ENTRIES} entries, clocks until taken and from then on until visible: {b.flips}")
    assert b.flips == [(0, 1), (0, 1)]
    assert clocks["LOOKUP, no version"] < 25 and clocks["merge, per entry"] < 80


@pytest.mark.parametrize("config", CONFIGS if LONG else ["small"])
def test_remap_soc(config):
    from cocotb_tests.bench.runner import BUILD, ROOT, run

    folder = BUILD / "remap_soc" / config
    own = [f"{name}={n}" for name, n in CONFIGS[config].items()]
    made = subprocess.run(
        [sys.executable, ROOT / "cocotb_tests/tb/remap_soc_top.py", folder, *own],
        check=True,
        capture_output=True,
        text=True,
    )
    run(
        "remap_soc_top",
        [os.path.relpath(source, ROOT) for source in made.stdout.split()],
        __name__,
        env={"CSR": str(folder / "csr.json"), "CONFIG": config},
    )
