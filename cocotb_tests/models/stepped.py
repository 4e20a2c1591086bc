# SPDX-License-Identifier: Apache-2.0
"""Stream ends that one loop steps clock by clock: far faster than a coroutine per stream when pages of 512 beats move.

Per clock the loop calls `drive()` of every part after the falling edge, waits until the values have settled, and calls `sample()`: what is valid and ready there passes at
the next rising edge. Sinks enforce the stream rule: valid stays, with an unchanged payload, until the beat has passed.
"""

import random

from cocotb.triggers import FallingEdge, ReadOnly


def reader(handle):
    """A function that gives the handle's value as a number: far faster than `int(handle.value)`, which makes an object of each bit. Verilator knows no X and no Z."""
    if len(handle) < 32:
        return handle._handle.get_signal_val_long
    bits = handle._handle.get_signal_val_binstr
    return lambda: int(bits(), 2)


class Pin:
    """A handle that is written only when its value changes, and then at once (COCOTB_TRUST_INERTIAL_WRITES). Never set it in the read-only phase."""

    def __init__(self, handle, value=0):
        self.value, self.bits = value, len(handle)
        self.put, self.text = handle._handle.set_signal_val_int, handle._handle.set_signal_val_binstr
        handle.value = value

    def set(self, value):
        if value != self.value:
            assert 0 <= value < 1 << self.bits
            if self.bits <= 32:
                self.put(0, value)
            else:
                self.text(0, f"{value:0{self.bits}b}")
            self.value = value


def pins(dut, name, fields):
    """Handles of a stream's payload: `<name>_payload_<field>`, or `<name>_payload` when there are no fields."""
    return {f: getattr(dut, f"{name}_payload_{f}") for f in fields} if fields else {"payload": getattr(dut, f"{name}_payload")}


class Source:
    """Sends the beats of `queue` (dicts) in order; `passed(beat)` is called for each. `stall`: share of clocks in which a waiting beat is not yet offered."""

    def __init__(self, dut, name, fields, stall=0.0, rng=None, passed=None):
        self.name, self.queue, self.stall, self.rng, self.passed = name, [], stall, rng or random.Random(1), passed
        self.valid, self.ready = Pin(getattr(dut, name + "_valid")), reader(getattr(dut, name + "_ready"))
        self.fields = {f: Pin(h) for f, h in pins(dut, name, fields).items()}
        self.offered = False

    def drive(self):
        if not self.offered and self.queue and not (self.stall and self.rng.random() < self.stall):
            for f, pin in self.fields.items():
                pin.set(self.queue[0][f])
            self.offered = True
        if self.offered != self.valid.value:
            self.valid.set(int(self.offered))

    def sample(self, clock):
        if self.offered and self.ready():
            self.offered = False
            beat = self.queue.pop(0)
            if self.passed:
                self.passed(beat, clock)


class Sink:
    """Takes beats while `open`; each goes to `got(beat, clock)`. `stall`: share of clocks without ready. `changes`: a beat may become another one until it is taken."""

    def __init__(self, dut, name, fields, got, stall=0.0, rng=None, changes=False):
        self.changes = changes
        self.name, self.got, self.stall, self.rng, self.open, self.waiting = name, got, stall, rng or random.Random(2), True, None
        self.valid, self.ready = reader(getattr(dut, name + "_valid")), Pin(getattr(dut, name + "_ready"))
        self.fields = {f: reader(h) for f, h in pins(dut, name, fields).items()}

    def drive(self):
        ready = self.open and not (self.stall and self.rng.random() < self.stall)
        if ready != self.ready.value:
            self.ready.set(int(ready))

    def sample(self, clock):
        if self.valid():
            beat = {f: value() for f, value in self.fields.items()}
            assert self.changes or self.waiting in (None, beat), f"{self.name}: {self.waiting} became {beat} before it was taken"
            self.waiting = None if self.ready.value else beat
            if self.ready.value:
                self.got(beat, clock)
        else:
            assert self.waiting is None, f"{self.name}: valid fell before {self.waiting} was taken"


class Stepper:
    """The loop. Parts are stepped in the order in which they are added."""

    def __init__(self, dut):
        self.dut, self.clock = dut, 0
        self.drives, self.samples = [], []  # the methods of all parts
        self.read_only, self.falling = ReadOnly(), FallingEdge(dut.clk)

    def add(self, part, first=False):
        at = 0 if first else len(self.drives)
        self.drives.insert(at, part.drive)
        self.samples.insert(at, part.sample)
        return part

    async def clocks(self, n):
        for _ in range(n):
            await self.step()

    async def step(self):
        for drive in self.drives:
            drive()
        await self.read_only
        self.clock = clock = self.clock + 1
        for sample in self.samples:
            sample(clock)
        await self.falling

    async def until(self, condition, limit=20_000):
        """Steps until `condition()`; an AssertionError after `limit` clocks."""
        end = self.clock + limit
        while not condition():
            assert self.clock < end, f"not so after {limit} clocks"
            await self.step()
