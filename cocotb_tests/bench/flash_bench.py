# SPDX-License-Identifier: Apache-2.0
"""Geometries of the flash tests, the Verilog generated for them, and a bench around the flash scheduler: channels,
frame memory and the four clients.
"""

import os
import random
from functools import partial
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from cocotb_tests.bench.flash_channel import ChannelModel
from cocotb_tests.bench.frame_memory import FrameMemory
from cocotb_tests.bench.spinal import generated
from cocotb_tests.bench.streams import Sink, Source, Stepper
from cocotb_tests.models.flash_model import Op
from cocotb_tests.models.retry_model import RetryModel
from cocotb_tests.models.way_order import WayOrder
from cocotb_tests.models.weak_model import WeakModel
from opentxssd.facts import Priority, ports
from soc import geometry

ROOT = Path(__file__).resolve().parent.parent.parent

BLOCKS, PAGES = 32, 16
OP, DONE = ports("FlashOp"), ports("FlashDone")
CLIENTS = "write read log firmware".split()


def flash_geometry(channels, ways, priorities=True, planes=1, retries=0, cache=0):
    """A small drive of that many dies."""
    name = (
        f"flash{channels}x{ways}"
        + ("" if priorities else "turns")
        + (f"planes{planes}" if planes > 1 else "")
        + (f"retries{retries}" if retries else "")
        + "cache" * cache
    )
    small = dict(
        write_frames=40,
        read_frames=16,
        firmware_frames=16,
        flash_priorities=int(priorities),
        planes=planes,
        read_retries=retries,
        cache_ops=cache,
        timing=geometry.QUICK,
    )
    return geometry.Geometry(name, channels, ways, BLOCKS, PAGES, 64, **small)


RETRIES = dict(retries=3)
# What the tests ask for, generated all at once.
TESTED = {
    "otx_page_allocator": [((n, n), {}) for n in (1, 2, 3)] + [((1, 1), dict(planes=2)), ((2, 2), dict(planes=4))],
    "otx_flash_scheduler": [
        ((2, 2, False), {}),
        *((shape, more) for shape in ((2, 2), (1, 3), (3, 1)) for more in ({}, RETRIES)),
    ],
    "otx_flash_backend": [((2, 2), {}), ((2, 2), dict(planes=2, cache=1, **RETRIES))],
}


def verilog(component, channels, ways, priorities=True, **part):
    """Path of the component's Verilog for that geometry (`part` as for flash_geometry); OTX_FLASH_VERILOG_DIR names a
    folder with `<channels>x<ways>` folders of other.
    """
    given = os.environ.get("OTX_FLASH_VERILOG_DIR")
    if given:
        return f"{given}/{channels}x{ways}/{component}.v"
    others = [(flash_geometry(*shape, **more), name) for name, shapes in TESTED.items() for shape, more in shapes]
    return generated(flash_geometry(channels, ways, priorities, **part), component, others=others)


def shape():
    """Channels, ways and priorities of the design under test, as for flash_geometry."""
    return int(os.environ["OTX_CHANNELS"]), int(os.environ["OTX_WAYS"]), os.environ.get("OTX_PRIORITIES", "1") == "1"


def page(number):
    """The 512 words of page `number`: each word names itself."""
    return [number << 32 | i for i in range(512)]


class FlashBench(Stepper):
    """`op(client, ...)` queues ops; `done[cookie]` is the done beat and its clock. Every done is checked for client and
    cookie. `channels` False: the design has its own.

    Without stalls each command that a channel gets is checked against `orders[channel][way]` (models/way_order.py).
    Reports of pages with many corrected bits are checked against `weak` (models/weak_model.py); `weak_sink` takes them.
    What is read again at other levels is checked against `retries` (models/retry_model.py). So that a channel knows the
    client of an op, `sequence` of all but PROGRAM is its number.
    """

    def __init__(self, dut, seed=1, stall=0.0, channels=True, retries=0, **channel):
        super().__init__(dut)
        self.geometry = g = flash_geometry(*shape())
        self.rng = random.Random(seed)
        self.frame = self.add(FrameMemory(dut, "frame", g.frame_base, g.frames, self.rng, stall))
        self.channels = [
            self.add(ChannelModel(dut, c, g.ways, PAGES, self.rng, stall, **channel))
            for c in range(g.channels)
            if channels
        ]
        for channel in self.channels:
            channel.on_complete = partial(self.completes, channel.channel)
        exact = channels and not stall
        self.orders = [[WayOrder(shape()[2]) for _ in range(g.ways)] for _ in range(g.channels)] if exact else None
        for channel in self.channels:
            channel.on_command = partial(self.command, channel.channel)
        self.retries = [RetryModel(retries) for _ in self.channels]
        self.clients = {
            c: self.add(Source(dut, c, OP, stall, self.rng, self.enters(c) if exact else None)) for c in CLIENTS
        }
        self.dones = {c: self.add(Sink(dut, c + "Done", DONE, self.finish(c), stall, self.rng)) for c in CLIENTS}
        self.alloc = Sink(dut, "alloc", [], lambda beat, clock: self.pages.append(beat["payload"]), changes=True)
        self.free = self.add(Source(dut, "freeBlock", []))
        self.weak = WeakModel(0)
        self.weak_sink = self.add(Sink(dut, "weak", [], self.reported, stall, self.rng))
        self.pages, self.ops, self.done, self.cookie = [], {}, {}, 0
        self.on_done = lambda cookie, op, beat: None

    async def begin(self, generation=7, refresh_at=5):
        self.dut.generation.value = generation
        self.dut.refreshAt.value = refresh_at
        self.dut.idleDies.value = 1
        self.dut.rounds.value = self.dut.only.value = 0
        if hasattr(self.dut, "retries"):
            self.dut.retries.value = self.retries[0].levels
        self.weak = WeakModel(refresh_at)
        self.dut.alloc_ready.value = 0
        if self.clock == 0:
            cocotb.start_soon(Clock(self.dut.clk, 10, "ns").start())
        self.dut.reset.value = 1
        for _ in range(4):
            await FallingEdge(self.dut.clk)
        self.dut.reset.value = 0
        return self

    def ppn(self, channel, way, block, page=0):
        g = self.geometry
        die = channel << g._bits(g.ways) | way
        return (die * BLOCKS + block) * PAGES + page

    def command(self, channel, command, clock):
        if not self.retries[channel].goes(command) and self.orders:
            self.orders[channel][command["way"]].goes(command, clock)

    def completes(self, channel, command, cpl):
        command, cpl = self.retries[channel].completes(command, cpl)
        if command is None:
            return
        if command["op"] == Op.VERIFY or (command["op"] != Op.PROGRAM and command["sequence"] == CLIENTS.index("read")):
            self.weak.completed(channel, self.ppn(channel, command["way"], *divmod(command["row"], PAGES)), cpl)

    def reported(self, beat, clock):
        self.weak.reported(
            beat["payload"] // (BLOCKS * PAGES) >> self.geometry._bits(self.geometry.ways), beat["payload"]
        )

    def enters(self, client):
        g = self.geometry

        def passed(op, clock):
            die, row = divmod(op["ppn"], BLOCKS * PAGES)
            way = die & (1 << g._bits(g.ways)) - 1
            self.orders[die >> g._bits(g.ways)][way].comes(client, op | {"row": row}, clock)

        return passed

    def finish(self, client):
        def got(beat, clock):
            cookie = beat["cookie"]
            assert cookie in self.ops, f"done of unknown cookie {cookie}"
            assert cookie not in self.done, f"second done of cookie {cookie}"
            assert self.ops[cookie]["client"] == client, (
                f"cookie {cookie} of {self.ops[cookie]['client']} came to {client}"
            )
            self.done[cookie] = beat | {"clock": clock}
            self.on_done(cookie, self.ops[cookie], beat)

        return got

    def op(self, client, op, ppn, frame=0, kind=1, lpn=0, sequence=0, priority=Priority.MEDIUM):
        """Queues an op; returns its cookie."""
        self.cookie = cookie = self.cookie + 1
        if op != Op.PROGRAM:
            sequence = CLIENTS.index(client)
        beat = {
            "op": int(op),
            "ppn": ppn,
            "frame": frame,
            "kind": kind,
            "lpn": lpn,
            "sequence": sequence,
            "cookie": cookie,
            "priority": int(priority),
        }
        self.ops[cookie] = beat | {"client": client}
        self.clients[client].queue.append(beat)
        return cookie

    async def finished(self, *cookies, limit=200_000):
        """Until these ops (or all) are done; returns their done beats."""
        await self.until(lambda: all(c in self.done for c in cookies or self.ops), limit)
        return [self.done[c] for c in cookies]
