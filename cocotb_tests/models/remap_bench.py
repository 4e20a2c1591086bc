# SPDX-License-Identifier: Apache-2.0
"""Test bench of otx_remap_engine: drives `op` and `tx`, serves table memory, and compares every answer and release with RemapModel.

One loop does everything once per clock: inputs change at the falling edge, outputs are sampled before the rising edge, so a beat is
counted in the clock in which it passes. A `tx` request that passes in the clock of an op comes first, as the engine promises.
"""

import random
from collections import deque

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Event, FallingEdge, ReadOnly, RisingEdge
from models.remap_model import NONE, RemapModel, State


class Table:
    """AXI4 slave memory. Latency: from the address beat to the first data beat, from the last write beat to the response."""

    def __init__(self, dut, rng, latency=(8, 8), stall=0.0):
        self.dut, self.rng, self.latency, self.stall = dut, rng, latency, stall
        self.words = {}  # byte address of a 64-bit word -> value
        self.bad = lambda address, write: False  # which accesses answer SLVERR
        self.reads, self.writes = deque(), deque()
        self.beats, self.answers = [], deque()
        self.accesses = 0
        for name in ["ar_ready", "aw_ready", "w_ready", "r_valid", "b_valid", "r_payload_id", "b_payload_id", "r_payload_last"]:
            getattr(dut, "table_" + name).value = 0

    def get32(self, address):
        return self.words.get(address & ~7, 0) >> (32 if address & 4 else 0) & 0xFFFFFFFF

    def put32(self, address, value):
        shift = 32 if address & 4 else 0
        self.words[address & ~7] = self.words.get(address & ~7, 0) & ~(0xFFFFFFFF << shift) | value << shift

    def due(self, now):
        return now + self.rng.randint(*self.latency)

    def drive(self, now):
        d = self.dut
        ready = int(self.rng.random() >= self.stall)
        d.table_ar_ready.value = d.table_aw_ready.value = d.table_w_ready.value = ready
        send = bool(self.reads) and self.reads[0][0] <= now
        d.table_r_valid.value = int(send)
        if send:
            _, address, left, bad = self.reads[0]
            d.table_r_payload_data.value = self.words.get(address, 0)
            d.table_r_payload_last.value = int(left == 1)
            d.table_r_payload_resp.value = 2 if bad else 0
        self.answering = bool(self.answers) and self.answers[0][0] <= now
        d.table_b_valid.value = int(self.answering)
        if self.answering:
            d.table_b_payload_resp.value = 2 if self.answers[0][1] else 0
        self.ready, self.sending = ready, send

    def sample(self, now):
        d = self.dut
        if self.sending:
            _, address, left, bad = self.reads.popleft()
            if left > 1:
                self.reads.appendleft((now + 1, address + 8, left - 1, bad))
        if self.answering:
            self.answers.popleft()
        if not self.ready:
            return
        if int(d.table_ar_valid.value):
            address, count = int(d.table_ar_payload_addr.value), int(d.table_ar_payload_len.value) + 1
            self.accesses += 1
            self.reads.append((self.due(now), address, count, self.bad(address, False)))
        if int(d.table_aw_valid.value):
            self.accesses += 1
            self.writes.append((int(d.table_aw_payload_addr.value), int(d.table_aw_payload_len.value) + 1))
        if int(d.table_w_valid.value):
            self.beats.append((int(d.table_w_payload_data.value), int(d.table_w_payload_strb.value), int(d.table_w_payload_last.value)))
        if self.writes and len(self.beats) == self.writes[0][1]:
            address, count = self.writes.popleft()
            bad = self.bad(address, True)
            assert [last for _, _, last in self.beats] == [0] * (count - 1) + [1], "w_last is wrong"
            for i, (data, strobe, _) in enumerate(self.beats):
                mask = sum(0xFF << 8 * b for b in range(8) if strobe >> b & 1)
                if not bad:
                    at = address + 8 * i
                    self.words[at] = self.words.get(at, 0) & ~mask | data & mask
            self.beats = []
            self.answers.append((self.due(now), bad))


class Call:
    """One op or tx request: `taken` and `answered` are clock numbers, `rsp` the response."""

    def __init__(self, **fields):
        self.fields, self.done, self.taken, self.answered, self.rsp, self.expect = fields, Event(), None, None, None, None


class Bench:
    def __init__(self, dut, g, latency=(8, 8), stall=0.0, check=True, seed=1):
        self.dut, self.g, self.check, self.stall = dut, g, check, stall
        self.rng = random.Random(seed)
        self.table = Table(dut, self.rng, latency, stall)
        self.model = RemapModel(g.lbas, g.tx_entries)
        self.ops, self.txs, self.waiting = deque(), deque(), deque()
        self.clock, self.group_open, self.released = 0, False, []
        self.release_ready = True
        self.seen = {"tx in an open group": 0, "tx beside op": 0, "op beside walk": 0}
        self.held = []  # callbacks once per clock, before the rising edge

    async def start(self):
        d = self.dut
        for name in ["op_valid", "tx_valid", "rsp_ready", "released_ready", "useTxid"]:
            getattr(d, name).value = 0
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
        d, rng = self.dut, self.rng
        for name, queue, fields in (("op", self.ops, OP_FIELDS), ("tx", self.txs, TX_FIELDS)):
            call = queue[0] if queue else None
            if call and call.taken is None and (getattr(call, "offered", False) or rng.random() >= self.stall):
                if not getattr(call, "offered", False):
                    call.offered = True
                    for field in fields:
                        getattr(d, f"{name}_payload_{field}").value = call.fields.get(field, 0)
                getattr(d, name + "_valid").value = 1
            else:
                getattr(d, name + "_valid").value = 0
        d.rsp_ready.value = self.rsp_ready = int(rng.random() >= self.stall)
        d.released_ready.value = self.rel_ready = int(self.release_ready and rng.random() >= self.stall)
        self.table.drive(self.clock)

    def sample(self):
        d = self.dut
        self.table.sample(self.clock)
        for callback in self.held:
            callback()
        if self.rel_ready and int(d.released_valid.value):
            location = int(d.released_payload_kind.value) << 30 | int(d.released_payload_value.value)
            self.released.append(location)
            if self.check:
                self.model.release(location)
        if self.rsp_ready and int(d.rsp_valid.value):
            self.answer(self.waiting.popleft())
        tx_taken = False
        if self.txs and getattr(self.txs[0], "offered", False) and int(d.tx_ready.value):
            self.take_tx(self.txs.popleft())
            tx_taken = True
        if self.ops and getattr(self.ops[0], "offered", False) and int(d.op_ready.value):
            self.seen["tx beside op"] += tx_taken
            self.seen["op beside walk"] += int(d.walking.value)
            self.take_op(self.ops.popleft())

    def take_op(self, call):
        call.taken = self.clock
        self.waiting.append(call)
        f = call.fields
        self.group_open = not f["last"]
        if self.check:
            location, new = (f["location_kind"] << 30 | f["location_value"]), (f["newLocation_kind"] << 30 | f["newLocation_value"])
            call.expect = self.model.apply(f["op"], f["lpn"], f["txid"] if f["hasTx"] else None, location, new)
            call.swap = (f["lpn"], location, new)

    def answer(self, call):
        d = self.dut
        call.answered = self.clock
        call.rsp = {n: bool(int(getattr(d, "rsp_payload_" + n).value)) for n in ("own", "committing", "hit", "error")}
        call.rsp["location"] = int(d.rsp_payload_location_kind.value) << 30 | int(d.rsp_payload_location_value.value)
        if self.check:
            expect = call.expect
            if expect["hit"] is None:
                lpn, old, new = call.swap
                if call.rsp["hit"]:
                    self.model.swapped_dead(lpn, old, new)
                else:
                    assert old not in self.model.debts, f"clock {self.clock}: SWAP does not find {old:#x}, which is not released"
                expect["hit"] = call.rsp["hit"]
            if expect["error"]:
                expect = call.rsp | dict(error=True)
            assert call.rsp == expect, f"clock {self.clock}: {call.fields} answered {call.rsp}, must be {expect}"
            self.model.settled()
        call.done.set()

    def state(self, txid):
        return int(getattr(self.dut, f"txState_{txid}").value)

    def count(self, txid):
        return int(getattr(self.dut, f"txCount_{txid}").value)

    def take_tx(self, call):
        call.taken = self.clock
        op, txid = call.fields["op"], call.fields["txid"]
        self.seen["tx in an open group"] += self.group_open
        if self.check:
            self.sync(txid)
            assert not (op == 2 and self.group_open), "COMMIT inside a group"
            call.legal = self.model.tx(op, txid)
        call.done.set()

    def sync(self, txid):
        """The model learns that a walk is over; state and count must agree."""
        tx, state = self.model.txs[txid], self.state(txid)
        if tx.state in (State.COMMITTED, State.ABORTED) and state == State.FREE:
            self.model.freed(txid)
        assert state == tx.state, f"clock {self.clock}: txid {txid} is {State(state).name}, must be {tx.state.name}"
        busy = any(c.fields["op"] == 1 for c in self.waiting)
        assert busy or self.count(txid) == tx.count, f"txid {txid} has count {self.count(txid)}, must be {tx.count}"

    def send(self, op, lpn, txid=None, location=NONE, new=NONE, last=True):
        words = {"location_kind": location >> 30, "location_value": location & 0x3FFFFFFF}
        words |= {"newLocation_kind": new >> 30, "newLocation_value": new & 0x3FFFFFFF}
        call = Call(op=int(op), lpn=lpn, hasTx=int(txid is not None), txid=txid or 0, last=int(last), **words)
        self.ops.append(call)
        return call

    async def op(self, op, lpn, txid=None, location=NONE, new=NONE, last=True):
        call = self.send(op, lpn, txid, location, new, last)
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


OP_FIELDS = ["op", "lpn", "hasTx", "txid", "location_kind", "location_value", "newLocation_kind", "newLocation_value", "last"]
TX_FIELDS = ["op", "txid"]
