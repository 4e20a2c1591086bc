# SPDX-License-Identifier: Apache-2.0
"""valid/ready streams of the blocks as cocotb sees them: `<port>_valid/_ready/_payload_<field>`, or `<port>_payload` for a plain word."""

import random

from cocotb.triggers import FallingEdge, ReadOnly, RisingEdge


async def start(dut, clocks=4):
    """Clock of 10 ns, reset for some clocks; returns just after the last reset edge."""
    import cocotb
    from cocotb.clock import Clock

    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    dut.reset.value = 1
    for _ in range(clocks):
        await RisingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.reset.value = 0


class Stream:
    """Handles of one stream port, found by name."""

    def __init__(self, dut, name):
        self.clk, self.name = dut.clk, name
        self.valid, self.ready = getattr(dut, name + "_valid"), getattr(dut, name + "_ready")
        prefix = name + "_payload"
        whole = [h for h in dut if h._name == prefix]
        self.fields = {"payload": whole[0]} if whole else {h._name[len(prefix) + 1 :]: h for h in dut if h._name.startswith(prefix + "_")}


class Source(Stream):
    """Sends beats; values change at the falling edge, so a beat passes at each rising edge with valid and ready high."""

    def __init__(self, dut, name, stall=0.0, rng=None):
        super().__init__(dut, name)
        self.stall, self.rng = stall, rng or random.Random(1)
        self.valid.value = 0
        for h in self.fields.values():
            h.value = 0

    async def send(self, **fields):
        """Returns after the rising edge at which the beat passed."""
        assert set(fields) <= set(self.fields), f"{self.name}: no field {set(fields) - set(self.fields)}"
        while self.rng.random() < self.stall:
            await FallingEdge(self.clk)
        for name, handle in self.fields.items():
            handle.value = int(fields.get(name, 0))
        self.valid.value = 1
        while True:
            await ReadOnly()
            taken = int(self.ready.value)
            await FallingEdge(self.clk)
            if taken:
                break
        self.valid.value = 0


class Sink(Stream):
    """Takes beats and hands each to `got(beat)`, a dict; `stall` is the share of clocks without ready."""

    def __init__(self, dut, name, got, stall=0.0, rng=None):
        super().__init__(dut, name)
        self.got, self.stall, self.rng = got, stall, rng or random.Random(2)
        self.ready.value = 0

    async def run(self):
        while True:
            await FallingEdge(self.clk)
            ready = self.rng.random() >= self.stall
            self.ready.value = int(ready)
            await ReadOnly()
            if ready and int(self.valid.value):
                beat = {name: int(h.value) for name, h in self.fields.items()}
                await RisingEdge(self.clk)
                self.got(beat)
