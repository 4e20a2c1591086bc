# SPDX-License-Identifier: Apache-2.0
"""FrameFill between models of the command queue, the host, the frame pool, frame memory and the command executor.

What is checked as it happens: commands without data keep their order; each command comes once; a WRITE that succeeds
has its frames, in order, with its data; one that is ABORTED had a host that stopped, and for as long as `timeout` says,
or a block that the host could not give, and then no block is owed any more;
a frame that was given back is written by nobody who had it before.
"""

import random

from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from cocotb_tests.bench.datapath_engine import words
from cocotb_tests.bench.frame_memory import FrameMemory
from cocotb_tests.bench.streams import Pin, Sink, Source, Stepper, reader
from cocotb_tests.bench.write_data import WriteData
from opentxssd.facts import TAGS, Opcode, Status, ports
from soc import geometry

GEOMETRY = geometry.Geometry(
    "framefill", 1, 1, 112, 16, 1024, write_frames=64, read_frames=8, firmware_frames=16, timing=geometry.QUICK
)
WRITE, FLUSH = Opcode.WRITE, Opcode.FLUSH
UNIT = 256  # clocks


class FrameFillBench(Stepper):
    def __init__(self, dut, seed=1, stall=0.0):
        super().__init__(dut)
        self.rng = rng = random.Random(seed)
        g = GEOMETRY
        self.memory = self.add(FrameMemory(dut, "axi", g.frame_base, g.frames, rng, stall, reads=False))
        self.free = self.add(Source(dut, "free", [], stall, rng, self.frame_taken))
        self.wdata = self.add(Source(dut, "wdata", ports("WriteBeat"), stall, rng, self.beat))
        self.host = self.add(WriteData(self.wdata, rng))
        self.cmd = self.add(Source(dut, "cmd", ports("HostCmd"), stall, rng, self.entered))
        fields = [f"cmd_{f}" for f in ports("HostCmd")] + ["frames", "status"]
        self.filled = self.add(Sink(dut, "filled", fields, lambda b, c: self.ended.append((b, c)), stall, rng))
        self.frames = self.add(Sink(dut, "frames", [], lambda b, c: self.given.append(b["payload"]), stall, rng))
        self.requests = self.add(Sink(dut, "wdataReq", ports("BlockRef"), self.wanted, stall, rng))
        self.timeout, self.fault = Pin(dut.timeout), Pin(dut.fault)
        self.fetched = [reader(getattr(dut, f"fetched_{n}")) for n in ("valid", "payload_tag", "payload_blocks")]
        self.takes, self.takes_writes = reader(dut.takes), reader(dut.takesWrites)
        self.free.queue = [dict(payload=n) for n in range(g.write_frames)]
        self.add(self)
        self.tags, self.active, self.results, self.others = list(range(TAGS)), {}, {}, []
        self.in_last_clock = False  # a beat may come when its WRITE is aborted
        self.given, self.stamp, self.last = [], 0, {}  # frames that wait; clock of the last sign of a tag
        self.ended = []  # commands that wait for their frames
        self.fetches, self.taken, self.freed = [], 0, {}
        self.asked = {}  # request -> tag
        self.errors = {}  # tag -> clock of a beat that said that the host cannot give it

    async def begin(self, timeout=1):
        import cocotb

        self.timeout.set(timeout)
        cocotb.start_soon(Clock(self.dut.clk, 10, "ns").start())
        self.dut.reset.value = 1
        for _ in range(4):
            await FallingEdge(self.dut.clk)
        self.dut.reset.value = 0
        await self.clocks(2)
        return self

    def drive(self):
        pass

    def sample(self, clock):
        if self.fetched[0]():
            self.fetches.append((self.fetched[1](), self.fetched[2]()))
        while self.ended and len(self.given) >= self.ended[0][0]["frames"]:
            self.got(*self.ended.pop(0))

    # -- the command queue and the host
    def submit(self, opcode=WRITE, count=1, **more):
        tag = self.tags.pop(0)
        cmd = dict.fromkeys(ports("HostCmd"), 0) | dict(opcode=opcode, count=count, tag=tag) | more
        self.active[tag] = cmd | dict(unread=(), stamps=[self.stamp + 1 + n for n in range(count)], stopped=False)
        self.stamp += count
        self.cmd.queue.append(cmd)
        self.results.pop(tag, None)
        return tag

    def write(self, count=1, stop=None, unread=(), **more):
        """`stop`: after so many beats no more come; `unread`: blocks that the host cannot give."""
        tag = self.submit(WRITE, count, **more)
        self.active[tag]["unread"] = unread
        if stop is not None:
            self.host.stopped[tag] = stop
            self.active[tag]["stopped"] = True
        return tag

    def entered(self, cmd, clock):
        if cmd["opcode"] != WRITE:
            self.others.append(cmd["tag"])

    def wanted(self, beat, clock):
        tag, c = beat["tag"], self.active.get(beat["tag"])
        if c is None or beat["block"] >= c["count"] or c["opcode"] != WRITE:
            return  # of one that has ended meanwhile
        self.asked[beat["request"]] = tag
        self.last[tag] = clock
        late = clock - self.errors.get(tag, clock)
        assert late < 20 or self.requests.stall, (
            f"a block is asked for {late} clocks behind one that could not be given"
        )
        self.host.wanted(tag, beat["request"], words(c["stamps"][beat["block"]]), beat["block"] in c["unread"])

    def beat(self, beat, clock):
        self.last[self.asked.get(beat["request"])] = clock
        if beat["error"]:
            self.errors[self.asked.get(beat["request"])] = clock

    # -- frames
    def frame_taken(self, beat, clock):
        self.taken += 1
        self.freed.pop(beat["payload"], None)

    def give_back(self, frames):
        for frame in frames:
            self.freed[frame] = self.memory.page(frame)
        self.free.queue += [dict(payload=frame) for frame in frames]
        self.taken -= len(frames)

    # -- the command executor
    def got(self, beat, clock):
        c = self.active.pop(beat["cmd_tag"])
        assert all(beat[f"cmd_{f}"] == c[f] for f in ports("HostCmd"))
        frames, self.given = self.given[: beat["frames"]], self.given[beat["frames"] :]
        status, tag = beat["status"], c["tag"]
        if c["opcode"] != WRITE:
            assert self.others.pop(0) == tag and not frames and status == Status.SUCCESS
        else:
            assert self.fetches.pop(0) == (tag, c["count"])
            if status == Status.SUCCESS:
                assert not c["unread"], f"{c} has a block that the host could not give"
                got = [self.memory.page(f) for f in frames]
                assert got == [words(s) for s in c["stamps"]], f"the data of {c} is not whole"
            elif status == Status.ABORTED:
                assert c["unread"] or c["stopped"] and self.timeout.value
                since = clock - self.last.get(tag, 0)
                owed = [r for r in self.host.open if r["tag"] == tag]
                if tag not in self.errors or owed and c["stopped"]:
                    sure = not self.host.mixed and not self.in_last_clock
                    assert not sure or since > self.timeout.value * UNIT, f"{c} aborted after {since} clocks"
                else:
                    assert not owed, "a block that was asked for has not come"
            else:
                bad = any(f in self.memory.bad for f in frames)
                assert status == (Status.WRITE_FAULT if bad else Status.READ_ONLY), c
        self.give_back(frames)
        self.results[tag] = (status, clock)
        self.host.completed(tag)
        self.errors.pop(tag, None)
        self.asked = {request: t for request, t in self.asked.items() if t != tag}
        self.tags.append(tag)

    async def ends(self, *tags, limit=20_000):
        await self.until(lambda: all(t in self.results for t in tags), limit)
        return [self.results[t][0] for t in tags]

    async def quiet(self, limit=100_000):
        """Nothing is left, and all frames are here, unchanged since they came back."""
        await self.until(lambda: not self.active, limit)
        await self.clocks(50)
        assert self.taken == 0 and not self.given and self.takes() and self.takes_writes()
        assert sorted(f["payload"] for f in self.free.queue) == list(range(GEOMETRY.write_frames)), "frames are lost"
        for frame, data in self.freed.items():
            assert self.memory.page(frame) == data, f"frame {frame} was written after it came back"
        assert not self.memory.writes and not self.memory.answers

    def room(self, count):
        """The command queue: there is a place, and frames for all."""
        waiting = sum(c["count"] for c in self.active.values() if c["opcode"] == WRITE)
        return self.tags and not self.cmd.queue and self.takes_writes() and waiting + count <= GEOMETRY.write_frames
