# SPDX-License-Identifier: Apache-2.0
"""The durable watermark that firmware is shown (BufferTurn.scala), against who asks for it: whenever it has come to an
index that was read at some clock, all that was logged or linked at that clock is behind the real one.
"""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from cocotb_tests.bench.amount import amount
from cocotb_tests.bench.runner import ROOT, run

simulated = cocotb.test(timeout_time=8, timeout_unit="ms")


class Bench:
    """A log in which entry i is complete when `done[i]`, a durable watermark somewhere below, and frames that are
    linked: each with the turn that it was linked in."""

    def __init__(self, dut, seed):
        self.dut, self.rng, self.clock = dut, random.Random(seed), 0
        self.done, self.durable, self.frames, self.fences, self.last = [], 0, [], [], 0
        self.passed = 0

    async def begin(self):
        cocotb.start_soon(Clock(self.dut.clk, 10, "ns").start())
        for name in ("head", "durableMark", "old", "restart", "linking"):
            getattr(self.dut, name).value = 0
        self.dut.enable.value = 1
        self.dut.reset.value = 1
        for _ in range(3):
            await FallingEdge(self.dut.clk)
        self.dut.reset.value = 0
        return self

    async def step(self, restart=False):
        dut = self.dut
        dut.head.value, dut.durableMark.value, dut.restart.value = len(self.done), self.durable, int(restart)
        turn = int(dut.turn.value)
        dut.old.value = int(any(f["turn"] != turn for f in self.frames))
        await FallingEdge(dut.clk)
        self.clock += 1
        dut.old.value = int(any(f["turn"] != int(dut.turn.value) for f in self.frames))
        held = int(dut.held.value)
        assert self.last <= held <= self.durable
        self.last = held
        for fence in [f for f in self.fences if f["index"] <= held]:
            self.fences.remove(fence)
            self.passed += 1
            late = [f for f in fence["frames"] if f["entry"] is None or f["entry"] >= self.durable]
            assert not late and fence["head"] <= self.durable, f"{fence} at {held}"

    def link(self):
        self.frames.append(dict(turn=int(self.dut.turn.value), entry=None))

    async def link_slowly(self, clocks):
        """The map names the frame for some clocks before it is in a turn: no turn begins meanwhile."""
        self.dut.linking.value = 1
        turn, frame = int(self.dut.turn.value), dict(turn=int(self.dut.turn.value), entry=None)
        self.frames.append(frame)
        for _ in range(clocks):
            if self.rng.random() < 0.3:
                self.fence()
            if self.rng.random() < 0.3:
                self.done.append(True)
            await self.step()
            assert int(self.dut.turn.value) == turn
        self.dut.linking.value = 0

    def issue(self, n):
        frame = self.frames.pop(n)
        frame["entry"] = len(self.done)
        self.done.append(False)

    def fence(self):
        """As hal_log_fence() makes it."""
        head = len(self.done)
        self.fences.append(dict(index=head + bool(self.frames), head=head, frames=list(self.frames)))

    def complete(self, n):
        self.done[n] = True

    def mark(self):
        n = self.durable
        while n < len(self.done) and self.done[n]:
            n += 1
        return n

    async def settle(self):
        """All is issued, complete and durable, a note behind it as well."""
        while self.frames:
            self.issue(0)
        for _ in range(2):
            while not int(self.dut.ready.value):
                await self.step()
            await self.step(restart=True)
            for _ in range(20):
                await self.step()
            self.done = [True] * len(self.done)
            self.durable = len(self.done)
            for _ in range(20):
                await self.step()


@simulated
async def whoever_reads_an_index_may_trust_the_watermark_that_comes_to_it(dut):
    b = await Bench(dut, int(os.environ.get("SEED", "1"))).begin()
    for _ in range(amount(4_000, 40_000)):
        r = b.rng.random()
        if r < 0.1 and len(b.frames) < 8:
            b.link()
        elif r < 0.11 and len(b.frames) < 8:
            await b.link_slowly(b.rng.randint(1, 30))
        elif r < 0.2 and b.frames:
            b.issue(b.rng.randrange(len(b.frames)))
        elif r < 0.24:
            b.done.append(True)  # a record
        elif r < 0.44 and not all(b.done):
            b.complete(b.rng.choice([n for n, d in enumerate(b.done) if not d]))
        elif r < 0.5:
            b.durable = b.rng.randint(b.durable, b.mark())
        elif r < 0.53:
            b.fence()
        await b.step(restart=r > 0.99 and int(dut.ready.value))
    assert b.passed > 20
    b.fence()
    await b.settle()
    assert not b.fences and b.last == len(b.done), "it comes to the end"


@simulated
async def a_restart_is_ready_when_what_was_linked_is_issued_and_not_before(dut):
    b = await Bench(dut, 3).begin()
    for _ in range(10):
        await b.step()
    assert int(dut.ready.value)
    b.link()
    b.link()
    b.fence()
    await b.step(restart=True)
    for _ in range(50):
        await b.step()
        assert not int(dut.ready.value)
    b.issue(1)
    b.link()  # later: it is not waited for
    for _ in range(50):
        await b.step()
        assert not int(dut.ready.value)
    b.issue(0)
    for _ in range(10):
        await b.step()
    assert int(dut.ready.value)
    b.complete(0)
    b.durable = 1
    for _ in range(20):
        await b.step()
    assert b.fences, "one of the two is not complete"
    b.complete(1)
    b.durable = 2
    for _ in range(20):
        await b.step()
    assert b.fences and b.last == 0, "in the clock of the restart the head was 0: nothing below it"
    b.done.append(True)
    b.issue(0)
    b.done = [True] * 4
    for _ in range(20):
        await b.step()
    b.durable = 4
    for _ in range(40):
        await b.step()
    assert not b.fences and b.last == 4


@simulated
async def what_restarts_do_not_end_counts(dut):
    """Notes come again and again: a watermark that comes in between is shown for what was before them."""
    b = await Bench(dut, 3).begin()
    b.done = [True] * 2
    for _ in range(20):
        await b.step()
    for _ in range(3):
        b.done.append(False)
        await b.step(restart=True)
        for _ in range(20):
            await b.step()
    assert b.last == 0
    b.durable = 2
    for _ in range(5):
        await b.step()
    assert b.last == 2


@simulated
async def without_enable_it_is_0(dut):
    b = await Bench(dut, 3).begin()
    b.done = [True] * 9
    b.durable = 9
    for _ in range(20):
        await b.step()
    assert b.last == 9
    dut.enable.value = 0
    b.last = 0
    for _ in range(5):
        await FallingEdge(dut.clk)
    assert int(dut.held.value) == 0
    dut.enable.value = 1
    for _ in range(20):
        await b.step()
    assert b.last == 9, "of a log that begins where the one before has ended"


def test_buffer_turn():
    run("otx_buffer_turn", [ROOT / "build/tiny/verilog/otx_buffer_turn.v"], __name__)
