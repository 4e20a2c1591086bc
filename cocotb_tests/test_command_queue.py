# SPDX-License-Identifier: Apache-2.0
"""Command queue against a model written from docs/interfaces.md, sections "Host port" and "Command queue to data path"."""

import os
import random

import cocotb
from cocotb.triggers import FallingEdge, with_timeout
from streams import Sink, Source, start

VERILOG = os.environ.get("OTX_VERILOG_DIR", "build/tiny/verilog")
LBAS = 1024
FLUSH, WRITE, READ, ZEROES, TRIM, BEGIN, COMMIT, ABORT, RECOVER, QUERY = 0x00, 0x01, 0x02, 0x08, 0x09, 0x80, 0x84, 0x88, 0x94, 0x98
SUCCESS, INVALID_OPCODE, INVALID_FIELD, LBA_RANGE, TX_INVALID, NOT_READY = 0, 1, 2, 3, 4, 13
WRITES, RANGED, NAMES = (WRITE, ZEROES, TRIM), (WRITE, ZEROES, TRIM, READ), (BEGIN, COMMIT, ABORT)
FIELDS = "opcode lba count txid hasTx fua commit relaxed barrier order stream tag arg".split()


def command(opcode, tag, **fields):
    return {f: 0 for f in FIELDS} | dict(opcode=opcode, tag=tag) | fields


def expected_status(c, enabled=True):
    op, ranged = c["opcode"], c["opcode"] in RANGED
    if not enabled:
        return NOT_READY
    if op not in (FLUSH, *RANGED, *NAMES, RECOVER, QUERY):
        return INVALID_OPCODE
    if ranged and not 1 <= c["count"] <= 32:
        return INVALID_FIELD
    if c["barrier"] or c["order"] or (c["fua"] and op not in WRITES) or (c["commit"] and not (op == WRITE and c["hasTx"])):
        return INVALID_FIELD
    if c["relaxed"] and (c["fua"] or op != COMMIT and not c["commit"]):
        return INVALID_FIELD
    if (c["hasTx"] and op in (FLUSH, RECOVER)) or (op == QUERY and c["arg"] > 10):
        return INVALID_FIELD
    if ranged and c["lba"] + c["count"] > LBAS:
        return LBA_RANGE
    if (op in NAMES or (ranged and c["hasTx"]) or (op == QUERY and c["arg"] in (0, 6))) and c["txid"] > 31:
        return TX_INVALID
    return SUCCESS


def conflicts(a, b):
    def in_tx(c):
        return c["opcode"] in NAMES or (c["opcode"] in RANGED and c["hasTx"])

    def controls(c):
        return c["opcode"] in NAMES or (c["opcode"] == WRITE and c["commit"])

    both_ranged = a["opcode"] in RANGED and b["opcode"] in RANGED
    overlap = both_ranged and a["lba"] < b["lba"] + b["count"] and b["lba"] < a["lba"] + a["count"]
    same = in_tx(a) and in_tx(b) and a["txid"] == b["txid"]
    recovers = (a["opcode"] == RECOVER and in_tx(b)) or (b["opcode"] == RECOVER and in_tx(a)) or a["opcode"] == b["opcode"] == RECOVER
    return (overlap and (a["opcode"] in WRITES or b["opcode"] in WRITES)) or (same and (controls(a) or controls(b))) or recovers


class Bench:
    """Host and data path around the queue; every beat is checked against the model as it passes."""

    def __init__(self, dut, seed=1, stall=0.0, hold=False):
        self.dut, self.rng, self.hold = dut, random.Random(seed), hold
        self.order, self.under_way, self.sent, self.statuses = [], {}, [], {}
        self.most = 0
        self.cmd = Source(dut, "cmd", stall, self.rng)
        self.done = Source(dut, "dpDone", stall, self.rng)
        self.out = Sink(dut, "dpCmd", self.dispatched, stall, self.rng)
        self.cpl = Sink(dut, "cpl", self.completed, stall, self.rng)
        dut.enable.value = 1
        self.states([0] * 32)

    def states(self, states):
        for i, s in enumerate(states):
            getattr(self.dut, f"txState_{i}").value = s

    async def begin(self):
        await start(self.dut)
        for task in (self.out.run(), self.cpl.run()):
            cocotb.start_soon(task)
        if not self.hold:
            cocotb.start_soon(self.answer())

    async def submit(self, c):
        while c["tag"] in self.under_way:
            await FallingEdge(self.dut.clk)
        self.under_way[c["tag"]] = c
        self.order.append(c)
        await self.cmd.send(**c)

    def dispatched(self, beat):
        c = self.under_way[beat["tag"]]
        assert all(beat[f] == c[f] for f in FIELDS), f"{beat} is not {c}"
        assert expected_status(c) == SUCCESS, f"malformed {c} went out"
        older = self.order[: next(i for i, x in enumerate(self.order) if x is c)]
        waits = [x for x in older if self.under_way.get(x["tag"]) is x and conflicts(c, x)]
        assert not waits, f"{c} overtook {waits}"
        self.sent.append(c)
        self.most = max(self.most, sum(1 for x in self.sent if self.under_way.get(x["tag"]) is x))

    async def answer(self):
        """The data path: completes what it has in any order."""
        finished = set()
        while True:
            waiting = [c for c in self.sent if id(c) not in finished]
            if waiting and self.rng.random() < 0.2:
                c = self.rng.choice(waiting)
                finished.add(id(c))
                await self.done.send(tag=c["tag"], status=SUCCESS, result=c["lba"])
            else:
                await FallingEdge(self.dut.clk)

    def completed(self, beat):
        c = self.under_way.pop(beat["tag"], None)
        assert c is not None, f"completion of tag {beat['tag']}, which is not under way"
        want = expected_status(c, bool(self.dut.enable.value))
        assert beat["status"] == want, f"{c}: status {beat['status']}, not {want}"
        self.statuses[want] = self.statuses.get(want, 0) + 1

    async def drain(self):
        while self.under_way:
            await FallingEdge(self.dut.clk)


def random_command(rng, tag):
    op = rng.choice([READ, READ, WRITE, WRITE, TRIM, ZEROES, FLUSH, BEGIN, COMMIT, ABORT, RECOVER, QUERY, rng.randrange(256)])
    c = command(op, tag, lba=rng.randrange(40), count=rng.choice([1, 1, 2, 3, 32]), txid=rng.randrange(4), hasTx=rng.random() < 0.4 and op in RANGED)
    c["commit"] = int(op == WRITE and c["hasTx"] and rng.random() < 0.2)
    c["relaxed"] = int((op == COMMIT or c["commit"]) and rng.random() < 0.5)
    if rng.random() < 0.15:
        wrong = dict(lba=rng.choice([LBAS - 1, LBAS, 2**32 - 1]), count=rng.choice([0, 33, 65535]), txid=rng.choice([32, 255]), arg=rng.randrange(14))
        wrong |= dict(barrier=1, order=1, fua=1, relaxed=1, commit=1)
        field = rng.choice(sorted(wrong))
        c[field] = wrong[field]
    return c


@cocotb.test()
async def bad_commands_get_their_own_status_and_never_go_out(dut):
    b = Bench(dut)
    await b.begin()
    cases = [
        (command(0x55, 0), INVALID_OPCODE),
        (command(0x8C, 0), INVALID_OPCODE),
        (command(READ, 0, lba=0, count=0), INVALID_FIELD),
        (command(WRITE, 0, lba=0, count=33), INVALID_FIELD),
        (command(READ, 0, lba=LBAS, count=1), LBA_RANGE),
        (command(READ, 0, lba=LBAS - 1, count=2), LBA_RANGE),
        (command(WRITE, 0, lba=2**32 - 1, count=1), LBA_RANGE),
        (command(WRITE, 0, lba=0, count=1, hasTx=1, txid=32), TX_INVALID),
        (command(COMMIT, 0, txid=32), TX_INVALID),
        (command(QUERY, 0, arg=11), INVALID_FIELD),
        (command(QUERY, 0, arg=6, txid=32), TX_INVALID),
        (command(WRITE, 0, count=1, commit=1), INVALID_FIELD),
        (command(WRITE, 0, count=1, hasTx=1, relaxed=1), INVALID_FIELD),
        (command(WRITE, 0, count=1, hasTx=1, commit=1, relaxed=1, fua=1), INVALID_FIELD),
        (command(ABORT, 0, relaxed=1), INVALID_FIELD),
        (command(FLUSH, 0, relaxed=1), INVALID_FIELD),
        (command(READ, 0, count=1, order=2), INVALID_FIELD),
    ]
    for c, status in cases:
        assert expected_status(c) == status, f"model: {c}"
        await b.submit(c)
        await b.drain()
    assert not b.sent
    await b.submit(command(READ, 0, lba=LBAS - 1, count=1))
    await b.drain()
    assert len(b.sent) == 1, "the queue goes on after errors"


@cocotb.test()
async def every_command_is_not_ready_before_the_drive_is_enabled(dut):
    b = Bench(dut)
    await b.begin()
    dut.enable.value = 0
    for op in (READ, WRITE, FLUSH, 0x55):
        await b.submit(command(op, 3, count=1))
        await b.drain()
    assert b.statuses == {NOT_READY: 4}


@cocotb.test()
async def thirty_two_independent_commands_are_under_way_at_once(dut):
    b = Bench(dut, hold=True)
    await b.begin()
    for tag in range(32):
        await b.submit(command(WRITE, tag, lba=tag * 32, count=32))
    for _ in range(40):
        await FallingEdge(dut.clk)
    assert len(b.sent) == 32
    for tag in reversed(range(32)):
        await b.done.send(tag=tag)
    await with_timeout(b.drain(), 10, "us")


@cocotb.test()
async def commands_on_one_block_go_out_one_after_the_other_in_their_order(dut):
    b = Bench(dut, hold=True)
    await b.begin()
    for tag in (5, 2, 9, 0):
        await b.submit(command(WRITE, tag, lba=7, count=1))
    for n, tag in enumerate((5, 2, 9, 0)):
        for _ in range(10):
            await FallingEdge(dut.clk)
        assert [c["tag"] for c in b.sent] == [5, 2, 9, 0][: n + 1]
        await b.done.send(tag=tag)


@cocotb.test()
async def a_write_to_a_txid_whose_walk_is_under_way_waits_and_others_do_not(dut):
    b = Bench(dut)
    b.states([0, 4] + [0] * 30)
    await b.begin()
    await b.submit(command(WRITE, 0, lba=0, count=1, hasTx=1, txid=1))
    await b.submit(command(WRITE, 1, lba=8, count=1, hasTx=1, txid=2))
    for _ in range(60):
        await FallingEdge(dut.clk)
    assert [c["tag"] for c in b.sent] == [1]
    b.states([0] * 32)
    await with_timeout(b.drain(), 10, "us")
    assert [c["tag"] for c in b.sent] == [1, 0]


@cocotb.test()
async def random_commands_agree_with_the_model(dut):
    seed = int(os.environ.get("SEED", "1"))
    dut._log.info("SEED=%d", seed)
    b = Bench(dut, seed, stall=0.3)
    await b.begin()
    rng = random.Random(seed)
    for _ in range(1500):
        free = [t for t in range(32) if t not in b.under_way]
        tag = rng.choice(free) if free else rng.randrange(32)
        await b.submit(random_command(rng, tag))
    await with_timeout(b.drain(), 200, "us")
    assert b.most >= 8, "no overlap was seen"
    assert set(b.statuses) >= {SUCCESS, INVALID_OPCODE, INVALID_FIELD, LBA_RANGE, TX_INVALID}
    assert int(dut.busy.value) == 0


def test_command_queue():
    from runner import run

    run("otx_command_queue", [f"{VERILOG}/otx_command_queue.v"], "test_command_queue")
