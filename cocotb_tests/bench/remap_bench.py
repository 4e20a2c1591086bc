# SPDX-License-Identifier: Apache-2.0
"""Test bench of otx_remap_engine: drives `op` and `tx`, serves table memory, and has every answer and release judged by
RemapJudge.

One loop does everything once per clock: inputs change at the falling edge, outputs are sampled before the rising edge,
so a beat is counted in the clock in which it passes. Of a `tx` request and an op that pass in one clock a COMMIT comes
second, all others first, as the engine promises.
"""

import os
import random
from collections import deque

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Event, FallingEdge, ReadOnly, RisingEdge

from cocotb_tests.bench.streams import Pin, reader
from cocotb_tests.bench.table_memory import TableMemory
from cocotb_tests.models.remap_judge import WALKED, Call, RemapJudge, op_fields
from cocotb_tests.models.remap_model import BUF, NAND, NONE, VER, Op, State, TxOp, word
from soc import geometry

VERILOG = os.environ.get("OTX_VERILOG_DIR", "build/tiny/verilog")
SOURCES = [f"{VERILOG}/otx_remap_engine.v"]
G = geometry.preset("tiny")
SLACK = 24  # clocks with `released` ready that a release may be late
WORDS = ["location_kind", "location_value", "newLocation_kind", "newLocation_value"]
OP_FIELDS = ["op", "lpn", "hasTx", "txid", *WORDS, "blocks", "tag", "last"]
TX_FIELDS = ["op", "txid"]
RSP_FIELDS = ["tag", "own", "committing", "hit", "error", "location_kind", "location_value"]


class BenchCall(Call):
    """`done` once it is answered, or a tx request taken."""

    def __init__(self, **fields):
        super().__init__(**fields)
        self.done = Event()


class Bench:
    def __init__(self, dut, latency=(8, 8), stall=0.0, check=True, seed=1):
        self.dut, self.check, self.stall = dut, check, stall
        self.rng = random.Random(seed)
        self.table = TableMemory(dut, self.rng, latency, stall)
        self.judge = RemapJudge(G.lbas, G.tx_entries, SLACK)
        self.model, self.waiting, self.seen = self.judge.model, self.judge.waiting, self.judge.seen
        self.seen |= {"tx beside op": 0, "op beside walk": 0, "most before": 0, "inside a walk": 0}
        self.reached = {t: 0 for t in range(32)}  # as last seen
        self.ops, self.txs, self.released = deque(), deque(), []
        self.clock = self.tag = 0
        self.release_ready = self.answer_ready = True
        self.watched = []  # txids whose `older` and `reached` are looked at, one per clock
        self.walks = {t: 0 for t in range(32)}  # releases by the walk of each txid
        self.writes = deque()  # addresses of writes of which `changed` has not said the LPN yet
        self.table.answered = self.writes.append
        self.held = []  # callbacks once per clock, before the rising edge

    async def start(self):
        d = self.dut
        self.pins = {
            f"{s}_{f}": Pin(getattr(d, f"{s}_payload_{f}"))
            for s, fs in (("op", OP_FIELDS), ("tx", TX_FIELDS))
            for f in fs
        }
        self.pins |= {n: Pin(getattr(d, n)) for n in ["op_valid", "tx_valid", "rsp_ready", "released_ready", "useTxid"]}
        self.rsp_pins = [reader(getattr(d, "rsp_payload_" + f)) for f in RSP_FIELDS]
        self.states, self.counts = ([reader(getattr(d, f"{n}_{t}")) for t in range(32)] for n in ("txState", "txCount"))
        outputs = [
            "rsp_valid",
            "op_ready",
            "tx_ready",
            "walking",
            "reached",
            "older",
            "changed_valid",
            "changed_payload",
            "released_valid",
            "released_payload_kind",
            "released_payload_value",
        ]
        self.out = {n: reader(getattr(d, n)) for n in outputs}
        d.reset.value = 1
        cocotb.start_soon(Clock(d.clk, 10, "ns").start())
        for _ in range(4):
            await FallingEdge(d.clk)
        d.reset.value = 0
        cocotb.start_soon(self.loop())
        await self.clocks(40)  # the use counts are cleared
        return self

    async def clocks(self, n):
        for _ in range(n):
            await FallingEdge(self.dut.clk)

    async def loop(self):
        while True:
            await FallingEdge(self.dut.clk)
            self.clock += 1
            self.judge.clock = self.clock
            self.drive()
            await ReadOnly()
            self.sample()

    def drive(self):
        rng, stall = self.rng, self.stall
        for name, queue, fields in (("op", self.ops, OP_FIELDS), ("tx", self.txs, TX_FIELDS)):
            call = queue[0] if queue else None
            if call and call.offered is None and (not stall or rng.random() >= stall):
                call.offered = self.clock
                for field in fields:
                    self.pins[f"{name}_{field}"].set(pin_value(call.fields, field))
            self.pins[name + "_valid"].set(int(call is not None and call.offered is not None))
        self.rsp_ready = int(self.answer_ready and (not stall or rng.random() >= stall))
        self.rel_ready = int(self.release_ready and (not stall or rng.random() >= stall))
        self.pins["rsp_ready"].set(self.rsp_ready)
        self.pins["released_ready"].set(self.rel_ready)
        if self.watched:
            self.pins["useTxid"].set(self.watched[self.clock % len(self.watched)])
        self.table.drive(self.clock)

    def sample(self):
        out = self.out
        if out["changed_valid"]():
            self.changed(out["changed_payload"]())
        self.table.sample(self.clock)
        for callback in self.held:
            callback()
        if self.watched:
            self.look_at_walk(self.watched[self.clock % len(self.watched)])
        if self.rel_ready:
            self.release()
        if self.rsp_ready and out["rsp_valid"]():
            self.answer()
        tx = self.txs[0] if self.txs and self.txs[0].offered and out["tx_ready"]() else None
        op = self.ops[0] if self.ops and self.ops[0].offered and out["op_ready"]() else None
        if self.txs and self.txs[0].offered and self.txs[0].fields["op"] == TxOp.COMMIT:
            assert tx or self.clock - self.txs[0].offered < 2, "a COMMIT waits"
        self.seen["tx beside op"] += bool(tx and op)
        if tx and tx.fields["op"] != TxOp.COMMIT:
            self.take_tx(tx)
        if op:
            self.take_op(op)
        if tx and tx.fields["op"] == TxOp.COMMIT:
            self.take_tx(tx)

    def changed(self, lpn):
        """A write stands in memory: each is told once, in the order of their responses."""
        assert self.writes, f"clock {self.clock}: a change of LPN {lpn} that is no write"
        address = self.writes.popleft()
        if address < G.tx_base:
            assert address == G.table_base + lpn // 4 * 16, (
                f"clock {self.clock}: a write at {address:#x} is not LPN {lpn}"
            )
        else:
            entry = self.table.get32(address)
            assert entry == lpn or not self.check, (
                f"clock {self.clock}: an entry of LPN {entry} was written, changed says {lpn}"
            )

    def look_at_walk(self, txid):
        """`older` and `reached` of a txid that is COMMITTED or ABORTED, against the model's commit order and what its
        walk has released.
        """
        state, count, txs = self.state(txid), self.count(txid), self.model.txs
        if state not in WALKED:
            self.walks[txid], self.reached[txid] = 0, 0
            return
        reached, older = self.out["reached"](), self.out["older"]()
        walked = self.walks[txid]
        assert self.reached[txid] <= reached <= count and walked <= reached, (
            f"clock {self.clock}: txid {txid}: {reached} of {count} entries reached, {walked} released"
        )
        self.reached[txid] = reached
        if state == State.COMMITTED:
            right = sum(self.state(t) == State.COMMITTED and txs[t].order < txs[txid].order for t in range(32))
            assert older == right and not (older and reached), (
                f"clock {self.clock}: txid {txid}: {older} before it, must be {right}; {reached} reached"
            )
            self.seen["most before"] = max(self.seen["most before"], older)
        self.seen["inside a walk"] += 0 < reached < count

    def release(self):
        self.judge.ready_clocks += 1
        if self.out["released_valid"]():
            location = self.out["released_payload_kind"]() << 30 | self.out["released_payload_value"]()
            self.released.append(location)
            if self.check:
                debtor = self.model.debts.get(location, (0, None))[1]
                if isinstance(debtor, int):
                    self.walks[debtor] += 1
                self.judge.released(location)
        self.judge.nothing_late()

    def take_op(self, call):
        self.ops.popleft()
        self.seen["op beside walk"] += self.out["walking"]()
        if self.check:
            self.judge.op_taken(call)
        else:
            call.taken, self.waiting[call.fields["tag"]] = self.clock, call

    def answer(self):
        rsp = dict(zip(RSP_FIELDS, [value() for value in self.rsp_pins], strict=True))
        tag = rsp["tag"]
        rsp = {n: bool(rsp[n]) for n in ("own", "committing", "hit", "error")} | {
            "location": rsp["location_kind"] << 30 | rsp["location_value"]
        }
        if self.check:
            call = self.judge.op_answered(tag, rsp)
        else:
            call = self.waiting.pop(tag)
            call.answered, call.rsp = self.clock, rsp
        call.done.set()

    def state(self, txid):
        return self.states[txid]()

    def count(self, txid):
        return self.counts[txid]()

    def set_count(self, txid, count):
        """As if so many entries had been added."""
        getattr(self.dut.status, f"counts_{txid}").value = self.dut.status.sizes[txid].value = self.model.txs[
            txid
        ].count = count

    def sync(self, txid):
        """The model learns that a walk is over; state and count must agree."""
        state = self.state(txid)
        if self.model.txs[txid].state in WALKED and state == State.FREE:
            self.judge.freed(txid)
        self.judge.agrees(txid, state, self.count(txid))

    def take_tx(self, call):
        self.txs.popleft()
        call.taken = self.clock
        op, txid = call.fields["op"], call.fields["txid"]
        if self.check:
            self.sync(txid)
            call.legal = self.judge.tx_taken(op, txid, self.state(txid), self.count(txid))
        call.done.set()

    def send(self, op, lpn, txid=None, location=NONE, new=NONE, last=True, blocks=0):
        return self.send_fields(op_fields(op, lpn, txid, location, new, last, blocks=blocks))

    def send_fields(self, fields):
        self.tag = (self.tag + 1) % 256
        call = BenchCall(**fields | dict(tag=self.tag))
        self.ops.append(call)
        return call

    async def op(self, op, lpn, txid=None, location=NONE, new=NONE, last=True, blocks=0):
        return await self.done(self.send(op, lpn, txid, location, new, last, blocks))

    async def done(self, call):
        await call.done.wait()
        await RisingEdge(self.dut.clk)
        return call.rsp | dict(clocks=call.answered - call.taken)

    def send_tx(self, op, txid):
        call = BenchCall(op=int(op), txid=txid)
        self.txs.append(call)
        return call

    async def tx(self, op, txid):
        call = self.send_tx(op, txid)
        await call.done.wait()
        await RisingEdge(self.dut.clk)
        return call

    async def commit(self, txid):
        await self.tx(TxOp.COMMITTING, txid)
        return await self.tx(TxOp.COMMIT, txid)

    async def location(self, lpn, txid=None):
        return (await self.op(Op.LOOKUP, lpn, txid))["location"]

    def map_word(self, lpn):
        return self.table.get32(G.table_base + 4 * lpn)

    def chain_length(self, lpn):
        at, n = self.map_word(lpn), 0
        while at >> 30 == VER and n < 33:
            at, n = self.table.get32(G.tx_base + 16 * (at & 0x1FFFFF) + 8), n + 1
        return n

    async def drain(self, limit=200_000):
        """Until all is answered and walked; then nothing is owed and every COMMITTED or ABORTED txid is FREE."""
        for _ in range(limit):
            await FallingEdge(self.dut.clk)
            if not (self.ops or self.txs or self.waiting or self.out["walking"]()):
                break
        else:
            raise AssertionError(f"not drained after {limit} clocks")
        await self.clocks(2)
        assert not self.writes, "writes that nobody was told of"
        if self.check:
            for txid in range(32):
                self.sync(txid)
            self.judge.nothing_owed()


def pin_value(fields, name):
    """What a pin gets: words are split into kind and value."""
    field, _, part = name.partition("_")
    word = fields.get("new" if field == "newLocation" else field, 0)
    return word >> 30 if part == "kind" else word & 0x3FFFFFFF if part == "value" else word


async def bench(dut, **options):
    return await Bench(dut, **options).start()


def nand(n):
    return word(NAND, n)


def buf(n):
    return word(BUF, n)
