# SPDX-License-Identifier: Apache-2.0
"""CommandIntake between a host with 256 or 32 tags and a model of a command queue with 32 or 8 slots
(docs/interfaces/command-queue.md, "256 commands")."""

import os
import random

import cocotb

from cocotb_tests.bench.amount import amount
from cocotb_tests.bench.runner import run
from cocotb_tests.bench.streams import Sink, Source, Stepper, reader, start
from opentxssd.facts import BEATS, Opcode, Order, ports

VERILOG = os.environ.get("OTX_VERILOG_DIR", "build/tiny/verilog")
TAGS, SLOTS = map(int, os.environ.get("OTX_INTAKE", "256 32").split())
FIELDS = ports("HostCmd")
simulated = cocotb.test(timeout_time=20, timeout_unit="ms")


class Bench(Stepper):
    def __init__(self, dut, seed=1, stall=0.0):
        super().__init__(dut)
        self.rng = rng = random.Random(seed)

        def source(name, fields, passed=None):
            return self.add(Source(dut, name, fields, stall, rng, passed))

        def sink(name, fields, got):
            return self.add(Sink(dut, name, fields, got, stall, rng))

        self.cmd = source("cmd", FIELDS, self.accepted)
        self.queue = sink("queue", FIELDS, self.placed)
        self.done, self.cpl = source("done", ports("Completion")), sink("cpl", ports("Completion"), self.completed)
        self.near_request = source("slotData_wdataReq", ports("BlockRef"))
        self.request = sink("data_wdataReq", ports("BlockRef"), self.wanted)
        self.near_data = sink("slotData_wdata", ports("WriteBeat"), lambda b, c: self.beats.append(b))
        self.data = source("data_wdata", ports("WriteBeat"))
        self.near_read = source("slotData_rdata", ports("ReadBeat"))
        self.read = sink("data_rdata", ports("ReadBeat"), self.delivered)
        self.busy = reader(dut.busy)
        self.under_way, self.line, self.slots, self.beats = {}, [], {}, []  # by tag; accepted; by slot
        self.ended, self.wants, self.reads, self.most = [], [], [], 0

    async def begin(self):
        await start(self.dut)
        return self

    def submit(self, tag, opcode=Opcode.READ, **more):
        c = dict.fromkeys(FIELDS, 0) | dict(opcode=opcode, tag=tag) | more
        self.cmd.queue.append(c)
        return c

    def accepted(self, c, clock):
        assert c["tag"] not in self.under_way, f"tag {c['tag']} is under way and was taken"
        self.under_way[c["tag"]] = c
        self.line.append(c)
        self.most = max(self.most, len(self.under_way))

    def placed(self, beat, clock):
        c, slot = self.line.pop(0), beat["tag"]
        assert slot < SLOTS and slot not in self.slots, f"slot {slot} has a command"
        assert beat | dict(tag=c["tag"]) == c, f"{beat} is not the oldest one, {c}"
        self.slots[slot] = c

    def end(self, slot):
        """The queue: its command has ended."""
        c = self.slots[slot]
        assert c not in self.ended
        self.ended.append(c)
        self.done.queue.append(dict(tag=slot, status=c["tag"] % 13, result=7 * c["tag"]))

    def completed(self, beat, clock):
        c = self.under_way.pop(beat["tag"])
        assert self.ended.pop(0) is c, "completions change places"
        assert (beat["status"], beat["result"]) == (c["tag"] % 13, 7 * c["tag"])
        slot = next(s for s, x in self.slots.items() if x is c)
        del self.slots[slot]

    def ask(self, slot):
        """The data path: wants a block of its WRITE, and delivers one of its READ."""
        tag, block, request = self.slots[slot]["tag"], self.rng.randrange(32), self.rng.getrandbits(12)
        self.near_request.queue.append(dict(tag=slot, block=block, request=request))
        self.wants.append(dict(tag=tag, block=block, request=request))
        self.near_read.queue.append(dict(tag=slot, block=block, data=request, last=request & 1))
        self.reads.append(dict(tag=tag, block=block, data=request, last=request & 1))

    def wanted(self, beat, clock):
        assert beat == self.wants.pop(0)

    def delivered(self, beat, clock):
        assert beat == self.reads.pop(0)

    def asks(self, slot):
        return any(x["tag"] == slot for x in (*self.near_request.queue, *self.near_read.queue))


@simulated
async def the_queue_has_the_oldest_and_the_others_wait_in_order(dut):
    b = await Bench(dut).begin()
    for n in range(TAGS):
        kind = [dict(opcode=Opcode.BARRIER), dict(order=Order.ORDERED), dict(order=Order.HEAD_OF_QUEUE)][n % 3]
        b.submit((n * 37 + 5) % TAGS, **kind)
    await b.until(lambda: not b.cmd.queue)
    await b.clocks(20)
    assert len(b.slots) == SLOTS and len(b.line) == TAGS - SLOTS and b.most == TAGS and b.busy()
    for n in range(TAGS):
        slot = b.rng.choice(list(b.slots))
        b.end(slot)
        await b.clocks(8)
        assert len(b.slots) == min(SLOTS, TAGS - n - 1)
    assert not b.under_way and not b.busy()


@simulated
async def a_tag_that_is_under_way_waits_at_the_port(dut):
    b = await Bench(dut).begin()
    last = TAGS - 1
    for tag in (last, 0, last, 1):
        b.submit(tag)
    await b.clocks(400)
    assert [c["tag"] for c in b.cmd.queue] == [last, 1] and len(b.slots) == 2
    b.end(next(s for s, c in b.slots.items() if c["tag"] == last))
    await b.until(lambda: len(b.slots) == 3)
    assert sorted(c["tag"] for c in b.slots.values()) == [0, 1, last]


@simulated
async def a_completion_that_is_not_taken_keeps_its_tag_and_its_slot(dut):
    b = await Bench(dut).begin()
    first = TAGS - 1 - SLOTS
    for tag in range(first, TAGS):
        b.submit(tag)
    b.submit(first)
    await b.until(lambda: len(b.slots) == SLOTS)
    b.cpl.open = False
    b.end(next(s for s, c in b.slots.items() if c["tag"] == first))
    await b.clocks(50)
    assert len(b.cmd.queue) == 1 and len(b.line) == 1
    b.cpl.open = True
    await b.until(lambda: not b.cmd.queue and [c["tag"] for c in b.line] == [first])


@simulated
async def beats_of_write_data_pass(dut):
    b = await Bench(dut, stall=0.3).begin()
    sent = [dict(request=n, data=n * n, last=int(n == 511), error=n % 2) for n in range(BEATS)]
    b.data.queue += list(sent)
    await b.until(lambda: len(b.beats) == BEATS)
    assert b.beats == sent


@simulated
@cocotb.parametrize(stall=[0.0, 0.4])
async def random_commands_keep_their_order_and_their_tags(dut, stall):
    b = await Bench(dut, int(os.environ.get("SEED", "1")), stall).begin()
    rng, count = b.rng, amount(3000, 20_000)
    sent = 0
    while sent < count or b.under_way:
        busy = rng.random() < 0.5 or sent % 1000 > 700  # at times the queue ends nothing
        while sent < count and len(b.cmd.queue) < 3 and (busy or rng.random() < 0.3):
            known = {*b.under_way, *(c["tag"] for c in b.cmd.queue)}
            unused = [t for t in range(TAGS) if t not in known] or [7]
            tag = rng.choice(unused) if rng.random() < 0.98 else rng.randrange(TAGS)
            b.submit(tag, rng.choice(list(Opcode)), lba=rng.getrandbits(32), order=rng.randrange(3))
            sent += 1
        free = [s for s, c in b.slots.items() if not any(c is e for e in b.ended) and not b.asks(s)]
        if free and rng.random() < 0.2:
            b.ask(rng.choice(free))
        if free and rng.random() < (0.9 if sent % 1000 < 300 or sent == count else 0.1) and len(b.done.queue) < 3:
            slot = rng.choice(free)
            if not b.asks(slot):
                b.end(slot)
        await b.clocks(rng.choice([1, 1, 2]))
    await b.clocks(20)
    assert b.most > min(100, 3 * SLOTS) and not b.wants and not b.reads and not b.busy()


def test_command_intake():
    run("otx_command_intake", [f"{VERILOG}/otx_command_intake.v"], __name__)


def test_32_commands_and_8_slots():
    top = "otx_command_intake_32_8"
    run(top, [f"{VERILOG}/{top}.v"], __name__, env={"OTX_INTAKE": "32 8"})
