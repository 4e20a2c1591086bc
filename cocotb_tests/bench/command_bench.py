# SPDX-License-Identifier: Apache-2.0
"""Host and data path around the command queue, and a model of it written from docs/interfaces.md, sections "Host port"
and "Command queue to data path"."""

import os
import random

import cocotb
from cocotb.triggers import FallingEdge

from cocotb_tests.bench.streams import Sink, Source, start
from cocotb_tests.models.class_order import rank, turns
from opentxssd.facts import MAX_BLOCKS, TXIDS, Opcode, Order, Query, Status, has_answer, ports

VERILOG = os.environ.get("OTX_VERILOG_DIR", "build/tiny/verilog")
LBAS = 1024
# log pages above which commands that need some go out: preset tiny has one lane, blocks of 16 pages
LOG_OPEN = 45 + 16 + 6
FLUSH, WRITE, READ, ZEROES, TRIM, BEGIN, COMMIT, ABORT, RFLUSH, BARRIER, RECOVER, QUERY, PREPARE, CHECKPOINT = Opcode
SUCCESS, INVALID_OPCODE, INVALID_FIELD, LBA_RANGE, TX_INVALID, *_, NOT_READY = Status
SIMPLE, ORDERED, HEAD = Order
OF_A_TXID = (Query.TX, Query.TX_WALK)
WRITES, RANGED, NAMES = (WRITE, ZEROES, TRIM), (WRITE, ZEROES, TRIM, READ), (BEGIN, COMMIT, ABORT, PREPARE)
FIELDS = ports("HostCmd")


def command(opcode, tag, **fields):
    return {f: 0 for f in FIELDS} | dict(opcode=opcode, tag=tag) | fields


def names_tx(c):
    return c["opcode"] in NAMES or c["opcode"] == QUERY and c["arg"] in OF_A_TXID


def expected_status(c, enabled=True):
    op, ranged = c["opcode"], c["opcode"] in RANGED
    if not enabled:
        return NOT_READY
    if op not in (FLUSH, RFLUSH, *RANGED, *NAMES, BARRIER, RECOVER, QUERY, CHECKPOINT):
        return INVALID_OPCODE
    if ranged and not 1 <= c["count"] <= MAX_BLOCKS:
        return INVALID_FIELD
    if (
        c["order"] > HEAD
        or (c["barrier"] and op not in (*WRITES, COMMIT))
        or (c["orderless"] and (op not in WRITES or c["hasTx"]))
        or (c["fua"] and op not in WRITES)
        or (c["commit"] and not (op == WRITE and c["hasTx"]))
    ):
        return INVALID_FIELD
    if c["relaxed"] and (c["fua"] or op != COMMIT and not c["commit"]):
        return INVALID_FIELD
    if c["hasTx"] != names_tx(c) and not ranged or (op == QUERY and not has_answer(c["arg"])):
        return INVALID_FIELD
    if op in (CHECKPOINT, RFLUSH) and c["arg"] > 1:
        return INVALID_FIELD
    of_range = op == RFLUSH and not c["arg"]
    if of_range and not c["count"]:
        return INVALID_FIELD
    if (ranged or of_range) and c["lba"] + c["count"] > LBAS:
        return LBA_RANGE
    if c["hasTx"] and c["txid"] >= TXIDS:
        return TX_INVALID
    return SUCCESS


def closes_epoch(c):
    return c["opcode"] == BARRIER or c["barrier"]


def keeps_order(c):
    """Order-preserving: recovery drops it when it drops one of an earlier epoch."""
    commits = c["opcode"] == COMMIT or c["commit"]
    return commits or c["opcode"] in WRITES and not c["hasTx"] and not c["orderless"]


def behind(a, b):
    """Must `a` go out after `b`, which was accepted before it? Nobody waits for its completion."""
    return closes_epoch(b) and (keeps_order(a) or closes_epoch(a)) or closes_epoch(a) and keeps_order(b)


def waits_for(a, b):
    """Must `a` wait for the end of `b`, which was accepted before it?"""
    return conflicts(a, b) or a["order"] == ORDERED or b["order"] == ORDERED and a["order"] != HEAD


def conflicts(a, b):
    def in_tx(c):
        return names_tx(c) or (c["opcode"] in RANGED and c["hasTx"])

    def controls(c):
        return names_tx(c) or (c["opcode"] == WRITE and c["commit"])

    both_ranged = a["opcode"] in RANGED and b["opcode"] in RANGED
    overlap = both_ranged and a["lba"] < b["lba"] + b["count"] and b["lba"] < a["lba"] + a["count"]
    same = in_tx(a) and in_tx(b) and a["txid"] == b["txid"]
    recovers = (
        (a["opcode"] == RECOVER and in_tx(b))
        or (b["opcode"] == RECOVER and in_tx(a))
        or a["opcode"] == b["opcode"] == RECOVER
    )
    return (
        (overlap and (a["opcode"] in WRITES or b["opcode"] in WRITES))
        or (same and (controls(a) or controls(b)))
        or recovers
    )


class Bench:
    """Host and data path around the queue; every beat is checked against the model as it passes."""

    def __init__(self, dut, seed=1, stall=0.0, hold=False):
        self.dut, self.rng, self.hold = dut, random.Random(seed), hold
        self.order, self.under_way, self.sent, self.statuses = [], {}, [], {}
        self.classes = {}  # of each tag, that with which it went out
        self.empty = []  # WRITEs that have gone out and have not got their data
        self.keeps = False  # the host sends no data
        self.most = self.counted = 0
        self.cmd = Source(dut, "cmd", stall=stall, rng=self.rng)
        self.done = Source(dut, "dpDone", stall=stall, rng=self.rng)
        self.out = Sink(dut, "dpCmd", got=self.dispatched, stall=stall, rng=self.rng)
        self.cpl = Sink(dut, "cpl", got=self.completed, stall=stall, rng=self.rng)
        dut.enable.value = 1
        self.states([0] * 32)
        self.room = dict(
            takes=1,
            takesWrites=1,
            takesReads=1,
            allocLeft=2000,
            logLeft=1000,
            framesFree=2000,
            framesKept=0,
            full=0,
            logFull=0,
            fault=0,
        )
        for name, value in self.room.items():
            getattr(dut, name).value = value
        dut.pageClocks.value = 0
        dut.classTurns.value = turns(8, 4, 2, 32)
        dut.fetched_valid.value = dut.settled_valid.value = 0

    def set(self, **room):
        for name, value in room.items():
            getattr(self.dut, name).value = value

    async def settled(self, blocks):
        """The data path: so many blocks take no further page."""
        self.dut.settled_valid.value, self.dut.settled_payload.value = 1, blocks
        await FallingEdge(self.dut.clk)
        self.dut.settled_valid.value = 0

    async def fetch(self, *tags):
        """The data path: these WRITEs have their data, and all their frames."""
        for tag in tags:
            c = next(c for c in self.empty if c["tag"] == tag)
            self.dut.fetched_valid.value = 1
            self.dut.fetched_payload_tag.value, self.dut.fetched_payload_blocks.value = tag, c["count"]
            await FallingEdge(self.dut.clk)
            self.dut.fetched_valid.value = 0
            self.empty.remove(c)

    async def host(self):
        """Data comes some clocks after its WRITE has gone out."""
        while True:
            await FallingEdge(self.dut.clk)
            if self.empty and not self.keeps and self.rng.random() < 0.3:
                await self.fetch(self.rng.choice(self.empty)["tag"])

    async def goes(self, *tags, clocks=60):
        """Those commands, and no others, have gone out since the last call when so many clocks have passed."""
        for _ in range(clocks):
            await FallingEdge(self.dut.clk)
        went = [c["tag"] for c in self.sent[self.counted :]]
        assert sorted(went) == sorted(tags), f"{went} went out, not {tags}"
        self.counted = len(self.sent)

    def states(self, states):
        for i, s in enumerate(states):
            getattr(self.dut, f"txState_{i}").value = s

    async def begin(self):
        await start(self.dut)
        for task in (self.out.run(), self.cpl.run(), self.host()):
            cocotb.start_soon(task)
        if not self.hold:
            cocotb.start_soon(self.answer())

    async def submit(self, c):
        while c["tag"] in self.under_way:
            await FallingEdge(self.dut.clk)
        self.under_way[c["tag"]] = c
        self.order.append(c)
        await self.cmd.send(**c)

    def dispatched(self, beat, clock):
        c = self.under_way[beat["tag"]]
        assert all(beat[f] == c[f] for f in FIELDS if f != "priority"), f"{beat} is not {c}"
        assert rank(beat["priority"]) >= rank(c["priority"]), f"{c} goes with class {beat['priority']}"
        lifters = [x for x in self.order if self.under_way.get(x["tag"]) is x and not any(x is s for s in self.sent)]
        lifted = beat["priority"] == c["priority"] or any(x["priority"] == beat["priority"] for x in lifters)
        assert lifted, f"{c} goes with class {beat['priority']}, of which nobody waits"
        self.classes[beat["tag"]] = beat["priority"]
        assert expected_status(c) == SUCCESS, f"malformed {c} went out"
        older = self.order[: next(i for i, x in enumerate(self.order) if x is c)]
        waits = [x for x in older if self.under_way.get(x["tag"]) is x and waits_for(c, x)]
        assert not waits, f"{c} overtook {waits}"
        unsent = [x for x in older if not any(x is s for s in self.sent) and self.under_way.get(x["tag"]) is x]
        empty = [x for x in older if any(x is e for e in self.empty)]
        passed = [x for x in unsent if expected_status(x) == SUCCESS and x["order"] == HEAD]
        passed += [x for x in (*unsent, *empty) if expected_status(x) == SUCCESS and behind(c, x)]
        assert not passed, f"{c} went out before {passed}"
        self.sent.append(c)
        if c["opcode"] == WRITE:
            self.empty.append(c)
        self.most = max(self.most, sum(1 for x in self.sent if self.under_way.get(x["tag"]) is x))

    async def answer(self):
        """The data path: completes what it has in any order."""
        finished = set()
        while True:
            waiting = [c for c in self.sent if id(c) not in finished and not any(c is x for x in self.empty)]
            if waiting and self.rng.random() < 0.06:
                c = self.rng.choice(waiting)
                finished.add(id(c))
                if c["opcode"] == WRITE:
                    await self.settled(c["count"])
                await self.done.send(tag=c["tag"], status=SUCCESS, result=c["lba"])
            else:
                await FallingEdge(self.dut.clk)

    def completed(self, beat, clock):
        c = self.under_way.pop(beat["tag"], None)
        assert c is not None, f"completion of tag {beat['tag']}, which is not under way"
        want = expected_status(c, bool(self.dut.enable.value))
        assert beat["status"] == want, f"{c}: status {beat['status']}, not {want}"
        self.statuses[want] = self.statuses.get(want, 0) + 1

    async def drain(self):
        while self.under_way:
            await FallingEdge(self.dut.clk)
