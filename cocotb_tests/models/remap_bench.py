# SPDX-License-Identifier: Apache-2.0
"""Test bench of otx_remap_engine: drives `op` and `tx`, serves table memory, and compares every answer and release with RemapModel.

One loop does everything once per clock: inputs change at the falling edge, outputs are sampled before the rising edge, so a beat is
counted in the clock in which it passes. Of a `tx` request and an op that pass in one clock a COMMIT comes second, all others first, as the engine promises.
"""

import os
import random
import sys
from collections import deque
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Event, FallingEdge, ReadOnly, RisingEdge
from models.remap_model import BUF, NAND, NONE, VER, Op, RemapModel, State, TxOp, word
from models.stepped import Pin
from models.table_memory import TableMemory

sys.path.append(str(Path(__file__).resolve().parent.parent.parent / "soc"))
import geometry  # noqa: E402

VERILOG = os.environ.get("OTX_VERILOG_DIR", "build/tiny/verilog")
SOURCES = [f"{VERILOG}/otx_remap_engine.v"]
G = geometry.preset("tiny")
SLACK = 24  # clocks with `released` ready that a release may be late
WORDS = ["location_kind", "location_value", "newLocation_kind", "newLocation_value"]
OP_FIELDS = ["op", "lpn", "hasTx", "txid", *WORDS, "tag", "last"]
TX_FIELDS = ["op", "txid"]
RSP_FIELDS = ["tag", "own", "committing", "hit", "error", "location_kind", "location_value"]


class Call:
    """One op or tx request: `taken` and `answered` are clock numbers, `rsp` the response."""

    def __init__(self, **fields):
        self.fields, self.done, self.taken, self.answered, self.rsp, self.expect, self.offered = fields, Event(), None, None, None, None, None
        self.may_abort = self.may_commit = None  # other right answers of a LOOKUP, after a change of its transaction or of another


class Bench:
    def __init__(self, dut, latency=(8, 8), stall=0.0, check=True, seed=1):
        self.dut, self.check, self.stall = dut, check, stall
        self.rng = random.Random(seed)
        self.table = TableMemory(dut, self.rng, latency, stall)
        self.model = RemapModel(G.lbas, G.tx_entries)
        self.ops, self.txs, self.waiting = deque(), deque(), {}
        self.clock, self.group_limit, self.released = 0, None, []
        self.release_ready = self.answer_ready = True
        self.tag = self.ready_clocks = 0
        self.deadline = {}
        self.seen = {"tx beside op": 0, "op beside walk": 0, "commit inside a group": 0, "commit beside an op": 0, "answer overtakes": 0, "16 jobs": 0}
        self.held = []  # callbacks once per clock, before the rising edge

    async def start(self):
        d = self.dut
        self.pins = {f"{s}_{f}": Pin(getattr(d, f"{s}_payload_{f}")) for s, fs in (("op", OP_FIELDS), ("tx", TX_FIELDS)) for f in fs}
        self.pins |= {n: Pin(getattr(d, n)) for n in ["op_valid", "tx_valid", "rsp_ready", "released_ready", "useTxid"]}
        self.rsp_pins = [getattr(d, "rsp_payload_" + f) for f in RSP_FIELDS]
        self.states, self.counts = ([getattr(d, f"{n}_{t}") for t in range(32)] for n in ("txState", "txCount"))
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
                    self.pins[f"{name}_{field}"].set(call.fields.get(field, 0))
            self.pins[name + "_valid"].set(int(call is not None and call.offered is not None))
        self.rsp_ready = int(self.answer_ready and (not stall or rng.random() >= stall))
        self.rel_ready = int(self.release_ready and (not stall or rng.random() >= stall))
        self.pins["rsp_ready"].set(self.rsp_ready)
        self.pins["released_ready"].set(self.rel_ready)
        self.table.drive(self.clock)

    def sample(self):
        d = self.dut
        self.table.sample(self.clock)
        for callback in self.held:
            callback()
        if self.rel_ready:
            self.release()
        if self.rsp_ready and d.rsp_valid.value:
            self.answer()
        tx = self.txs[0] if self.txs and self.txs[0].offered and d.tx_ready.value else None
        op = self.ops[0] if self.ops and self.ops[0].offered and d.op_ready.value else None
        if self.txs and self.txs[0].offered and self.txs[0].fields["op"] == TxOp.COMMIT:
            assert tx or self.clock - self.txs[0].offered < 2, "a COMMIT waits"
        self.seen["tx beside op"] += bool(tx and op)
        if tx and tx.fields["op"] != TxOp.COMMIT:
            self.take_tx(tx)
        if op:
            self.take_op(op)
        if tx and tx.fields["op"] == TxOp.COMMIT:
            self.take_tx(tx)

    def release(self):
        self.ready_clocks += 1
        d = self.dut
        if d.released_valid.value:
            location = int(d.released_payload_kind.value) << 30 | int(d.released_payload_value.value)
            self.released.append(location)
            if self.check:
                lpn = self.model.debts.get(location, (None,))[0]
                for call in self.waiting.values():
                    sent = call.fields["op"] == Op.LOOKUP and call.fields["lpn"] == lpn and location in (call.expect["location"], call.may_abort)
                    assert not sent, f"clock {self.clock}: {location:#x} is released before the lookup that names it is answered"
                self.model.release(location, self.group_limit)
        for location in self.model.overdue:
            late = self.deadline.setdefault(location, self.ready_clocks + SLACK) < self.ready_clocks
            assert not late, f"clock {self.clock}: {location:#x} should have been released"
        if len(self.deadline) > len(self.model.overdue):
            self.deadline = {k: v for k, v in self.deadline.items() if k in self.model.overdue}

    def take_op(self, call):
        self.ops.popleft()
        call.taken = self.clock
        f = call.fields
        assert f["tag"] not in self.waiting
        self.waiting[f["tag"]] = call
        self.seen["op beside walk"] += int(self.dut.walking.value)
        self.seen["16 jobs"] += len(self.waiting) >= 16
        call.limit = self.model.commits if self.group_limit is None else self.group_limit
        self.group_limit = None if f["last"] else call.limit
        if self.check:
            location, new = (f["location_kind"] << 30 | f["location_value"]), (f["newLocation_kind"] << 30 | f["newLocation_value"])
            call.expect = self.model.apply(f["op"], f["lpn"], f["txid"] if f["hasTx"] else None, location, new, call.limit, call)
            call.swap = (f["lpn"], location, new)

    def answer(self):
        rsp = dict(zip(RSP_FIELDS, [int(p.value) for p in self.rsp_pins], strict=True))
        assert rsp["tag"] in self.waiting, f"clock {self.clock}: an answer to tag {rsp['tag']}, which nobody asked"
        call = self.waiting.pop(rsp.pop("tag"))
        call.answered = self.clock
        call.rsp = {n: bool(rsp[n]) for n in ("own", "committing", "hit", "error")} | {"location": rsp["location_kind"] << 30 | rsp["location_value"]}
        older = [c for c in self.waiting.values() if c.taken < call.taken]
        self.seen["answer overtakes"] += bool(older)
        if self.check:
            self.judge(call, older)
        call.done.set()

    def judge(self, call, older):
        expect, m = call.expect, self.model
        for c in older:
            both = c.fields["lpn"] == call.fields["lpn"] and Op.LOOKUP != max(c.fields["op"], call.fields["op"])
            assert not both or c.expect["error"] or expect["error"], f"clock {self.clock}: {call.fields} overtakes {c.fields}"
        if expect["hit"] is None:
            expect["hit"] = call.rsp["hit"]
            m.swapped_unread(*call.swap, call.rsp["hit"])
            _, old, new = call.swap
            for c in self.waiting.values():  # lookups of an older instant that come behind it
                if call.rsp["hit"] and c.fields["lpn"] == call.fields["lpn"] and c.expect["location"] == old:
                    c.expect["location"] = new
        if expect["error"]:
            expect = call.rsp | dict(error=True)
        right = [expect]
        if call.may_abort is not None:
            right.append(expect | dict(own=False, location=call.may_abort))
        if call.may_commit:
            right += [r | dict(committing=True) for r in right]
        assert call.rsp in right, f"clock {self.clock}: {call.fields} answered {call.rsp}, must be {right}"
        m.answered(call)

    def state(self, txid):
        return int(self.states[txid].value)

    def count(self, txid):
        return int(self.counts[txid].value)

    def take_tx(self, call):
        self.txs.popleft()
        call.taken = self.clock
        op, txid, m = call.fields["op"], call.fields["txid"], self.model
        if self.check:
            self.sync(txid)
            legal = m.txs[txid].state
            lookups = [c for c in self.waiting.values() if c.fields["op"] == Op.LOOKUP and not c.expect["error"]]
            if (op, legal) == (TxOp.COMMITTING, State.OPEN) or (op, legal) == (TxOp.COMMITTING, State.PREPARED):
                for c in lookups:
                    c.may_commit = c.may_commit or c.fields["lpn"] in m.txs[txid].versions
            if op == TxOp.ABORT and legal in (State.OPEN, State.PREPARED):
                for c in lookups:
                    if c.expect["own"] and c.fields["txid"] == txid:
                        c.may_abort = m.lookup(c.fields["lpn"], None, c.limit)["location"]
            call.legal = m.tx(op, txid)
            if op == TxOp.COMMIT and call.legal:
                self.seen["commit inside a group"] += self.group_limit is not None
                self.seen["commit beside an op"] += bool(self.waiting)
        call.done.set()

    def sync(self, txid):
        """The model learns that a walk is over; state and count must agree."""
        tx, state = self.model.txs[txid], self.state(txid)
        if tx.state in (State.COMMITTED, State.ABORTED) and state == State.FREE:
            self.model.freed(txid)
        assert state == tx.state, f"clock {self.clock}: txid {txid} is {State(state).name}, must be {tx.state.name}"
        busy = any(c.fields["op"] == Op.APPEND for c in self.waiting.values())
        assert busy or self.count(txid) == tx.count, f"txid {txid} has count {self.count(txid)}, must be {tx.count}"

    def send(self, op, lpn, txid=None, location=NONE, new=NONE, last=True):
        words = {"location_kind": location >> 30, "location_value": location & 0x3FFFFFFF}
        words |= {"newLocation_kind": new >> 30, "newLocation_value": new & 0x3FFFFFFF}
        self.tag = (self.tag + 1) % 256
        call = Call(op=int(op), lpn=lpn, hasTx=int(txid is not None), txid=txid or 0, last=int(last), tag=self.tag, **words)
        self.ops.append(call)
        return call

    async def op(self, op, lpn, txid=None, location=NONE, new=NONE, last=True):
        return await self.done(self.send(op, lpn, txid, location, new, last))

    async def done(self, call):
        await call.done.wait()
        await RisingEdge(self.dut.clk)
        return call.rsp | dict(clocks=call.answered - call.taken)

    def send_tx(self, op, txid):
        call = Call(op=int(op), txid=txid)
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
            if not (self.ops or self.txs or self.waiting or int(self.dut.walking.value)):
                break
        else:
            raise AssertionError(f"not drained after {limit} clocks")
        await self.clocks(2)
        if self.check:
            for txid in range(32):
                self.sync(txid)
            assert not self.model.debts, f"never released: {[hex(x) for x in self.model.debts]}"


async def bench(dut, **options):
    return await Bench(dut, **options).start()


def nand(n):
    return word(NAND, n)


def buf(n):
    return word(BUF, n)
