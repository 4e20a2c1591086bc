# SPDX-License-Identifier: Apache-2.0
"""The two ends of a valid/ready stream, `<port>_valid/_ready/_payload_<field>`, or `<port>_payload` for a plain word.

Per clock `drive()` of a part is called after the falling edge and `sample()` when the values have settled: what is
valid and ready there passes at the next rising edge.
One loop does this for all parts of a bench (`Stepper`), far faster than a coroutine per stream when pages of 512 beats
move; where few ports move, `await source.send(...)` and `cocotb.start_soon(sink.run())` do it for one end. Sinks
enforce the stream rule: valid stays, with an unchanged payload, until the beat has passed.
"""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly, RisingEdge


async def start(dut, clocks=4):
    """Clock of 10 ns, reset for some clocks; returns at the falling edge with which the reset ends."""
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    dut.reset.value = 1
    for _ in range(clocks):
        await RisingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.reset.value = 0


def reader(handle):
    """A function that gives the handle's value as a number: far faster than `int(handle.value)`, which makes an object
    of each bit. Verilator knows no X and no Z.
    """
    if len(handle) < 32:
        return handle._handle.get_signal_val_long
    bits = handle._handle.get_signal_val_binstr
    return lambda: int(bits(), 2)


class Pin:
    """A handle that is written only when its value changes, and then at once (COCOTB_TRUST_INERTIAL_WRITES).

    Never set it in the read-only phase.
    """

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
    """Handles of a stream's payload: `<name>_payload_<field>`, or `<name>_payload` when there are no fields; those that
    are there when `fields` is None.
    """
    if fields is None:
        prefix = f"{name}_payload_"
        fields = [h._name[len(prefix) :] for h in dut if h._name.startswith(prefix)]
    return (
        {f: getattr(dut, f"{name}_payload_{f}") for f in fields}
        if fields
        else {"payload": getattr(dut, f"{name}_payload")}
    )


class Source:
    """Sends the beats of `queue` (dicts) in order; `passed(beat, clock)` is called for each.

    `stall`: share of clocks in which a waiting beat is not yet offered.
    """

    def __init__(self, dut, name, fields=None, stall=0.0, rng=None, passed=None):
        self.name, self.queue, self.stall, self.rng, self.passed = name, [], stall, rng or random.Random(1), passed
        self.valid, self.ready = Pin(getattr(dut, name + "_valid")), reader(getattr(dut, name + "_ready"))
        self.fields = {f: Pin(h) for f, h in pins(dut, name, fields).items()}
        self.clk, self.offered = dut.clk, False

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

    async def send(self, **fields):
        """Without a Stepper: sends one beat, with 0 in the fields that are not named; returns at the falling edge after
        the one at which it passed.
        """
        assert set(fields) <= set(self.fields), f"{self.name}: no field {set(fields) - set(self.fields)}"
        assert not self.queue, f"{self.name}: a beat is on its way"
        self.queue.append(dict.fromkeys(self.fields, 0) | fields)
        if self.clk.value:
            await FallingEdge(self.clk)
        while self.queue:
            self.drive()
            await ReadOnly()
            self.sample(None)
            await FallingEdge(self.clk)
        self.drive()


class Sink:
    """Takes beats while `open`; each goes to `got(beat, clock)`.

    `stall`: share of clocks without ready. `changes`: a beat may become another one, or go, until it is taken.
    """

    def __init__(self, dut, name, fields=None, got=None, stall=0.0, rng=None, changes=False):
        self.clk, self.changes = dut.clk, changes
        self.name, self.got, self.stall, self.rng, self.open, self.waiting = (
            name,
            got,
            stall,
            rng or random.Random(2),
            True,
            None,
        )
        self.valid, self.ready = reader(getattr(dut, name + "_valid")), Pin(getattr(dut, name + "_ready"))
        self.fields = {f: reader(h) for f, h in pins(dut, name, fields).items()}

    def drive(self):
        ready = self.open and not (self.stall and self.rng.random() < self.stall)
        if ready != self.ready.value:
            self.ready.set(int(ready))

    def sample(self, clock):
        if self.valid():
            beat = {f: value() for f, value in self.fields.items()}
            assert self.waiting in (None, beat), f"{self.name}: {self.waiting} became {beat} before it was taken"
            self.waiting = None if self.ready.value or self.changes else beat
            if self.ready.value:
                self.got(beat, clock)
        else:
            assert self.waiting is None, f"{self.name}: valid fell before {self.waiting} was taken"

    async def run(self):
        """Without a Stepper: takes beats for ever; their clock is None."""
        while True:
            await FallingEdge(self.clk)
            self.drive()
            await ReadOnly()
            self.sample(None)


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
