# SPDX-License-Identifier: Apache-2.0
"""Not a test: what tools/wave_nand.py draws. A page program, a page read and a program that is suspended for a read, at
the pins of die 0 of one NAND channel with a part that can suspend; into build/nand_waves.json as {scene: {"clocks": n,
signal: [[clock, value], ...]}}, the clocks in which a value changes."""

import json

import cocotb
from cocotb.triggers import FallingEdge, ReadOnly

from cocotb_tests.bench.nand_channel import CLK_PS, FIELDS, PAGES, page, same
from cocotb_tests.bench.nand_host import Host, Op, Status
from cocotb_tests.bench.nand_pins import QUICK, Nand, Part
from cocotb_tests.bench.runner import BUILD
from cocotb_tests.bench.streams import reader

OUT = BUILD / "nand_waves.json"
PINS = ["ce_n", "cle", "ale", "we_n", "re_n", "rb_n", "dq"]
# those of test_nand_suspend.py, so that the build is the same
PARAMETERS = {"TSuspNs": 1_000, "TProgMaxNs": 200_000, "TBersMaxNs": 500_000}


class Recorder:
    """The pins of die 0, seen in each clock in front of its rising edge."""

    def __init__(self, dut):
        self.dut, self.values, self.scene, self.clock = dut, {pin: reader(getattr(dut, pin)) for pin in PINS}, None, 0
        cocotb.start_soon(self.run())

    def begin(self):
        self.scene, self.clock = {pin: [] for pin in PINS}, 0

    def end(self):
        scene, self.scene = {"clocks": self.clock, **self.scene}, None
        return scene

    async def run(self):
        while True:
            await FallingEdge(self.dut.clk)
            await ReadOnly()
            if self.scene is None:
                continue
            for pin, changes in self.scene.items():
                value = self.values[pin]()
                value = value & 1 if pin in ("ce_n", "rb_n") else value
                if not changes or changes[-1][1] != value:
                    changes.append([self.clock, value])
            self.clock += 1


async def rest(dut, clocks=20):
    for _ in range(clocks):
        await FallingEdge(dut.clk)


@cocotb.test()
async def pictures(dut):
    nand, host, scenes = Nand(), Host(dut), {}
    assert (
        nand.open(pages=PAGES, times=QUICK | {"prog": 60_000}, seed=1, part=Part(onfi=0, suspend=PARAMETERS["TSuspNs"]))
        is None
    )
    await host.start(CLK_PS)
    same(await host.run(0, Op.RESET), Status.OK)
    recorder = Recorder(dut)

    async def drawn(name, work):
        await rest(dut)
        recorder.begin()
        await work()
        await rest(dut)
        scenes[name] = recorder.end()

    async def program():
        same(await host.run(0, Op.PROGRAM, 0, data=page(0), **FIELDS), Status.OK)

    async def read():
        same(await host.run(0, Op.READ, 0), Status.OK, data=page(0), **FIELDS)

    async def suspended():
        program = await host.issue(0, Op.PROGRAM, PAGES, data=page(1), **FIELDS)
        beside = await host.issue(0, Op.READ, 0, beside=True)
        await beside.wait()
        assert not program.is_set(), "the read came after the program"
        same(beside.cpl, Status.OK, data=page(0))
        await program.wait()
        same(program.cpl, Status.OK)

    for name, work in (("program", program), ("read", read), ("suspended", suspended)):
        await drawn(name, work)
    assert nand.broken() == []
    OUT.write_text(json.dumps(scenes))
