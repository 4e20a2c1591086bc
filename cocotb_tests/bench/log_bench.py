# SPDX-License-Identifier: Apache-2.0
"""The commit log's surroundings: frame memory, flash, firmware and data path, driven once per clock, each beat reported
to the LogModel.

Inputs change at the falling edge; a beat passes at each rising edge with valid and ready high.
`stall` is the share of clocks in which a side does not want to.
"""

import os
import random
from collections import deque
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly

from cocotb_tests.bench.streams import Pin, reader
from cocotb_tests.models.log_model import COMMIT, FRAMES, MAP, PAGE, RELOCATE, Entry, LogModel

DRIVE, GENERATION = 0x1A2B3C4D, 0x55667788
ROOT = Path(__file__).resolve().parent.parent.parent
GEOMETRY = os.environ.get("OTX_GEOMETRY", str(ROOT / "build/tiny/geometry.properties"))


async def bench(dut, stall=0.0, blocks=3, **how):
    """A bench on the geometry of the build, begun."""
    b = Bench(dut, geometry(GEOMETRY), int(os.environ.get("SEED", "1")), stall)
    await b.begin(blocks, **how)
    return b


async def on_dies(dut, dies):
    """A bench whose lane `l` is on die `dies[l]`, with the rule of idle dies."""
    b = await bench(dut, blocks=0)
    dut.idleDies.value = 1
    for lane, die in enumerate(dies):
        for n in range(3):
            code = die // b.g["ways"] << (b.g["ways"] - 1).bit_length() | die % b.g["ways"]
            block = code << (b.g["blocksPerWay"] - 1).bit_length() | 1 + 3 * lane + n
            b.block_in.queue.append(dict(lane=lane, block=block))
    await b.until(lambda: not b.block_in.queue)
    await b.clocks(20)
    return b


async def die_states(b, states):
    for die, state in enumerate(states):
        getattr(b.dut, f"dieNow_{die}").value = state
    await b.clocks(10)


def plain(n=1, lpn=0, **fields):
    """The entries of one plain WRITE of n blocks."""
    return [
        Entry(n=n, i=i, lpn=lpn + i, location=1 << 30 | lpn + i + 7, room=n - i, last=int(i == n - 1), **fields)
        for i in range(n)
    ]


def write(txid, lpn=0, use=1):
    return Entry(inTx=1, lpn=lpn, serial=use << 5 | txid, location=1 << 30 | lpn)


def commit(txid, count, use=1):
    return Entry(kind=COMMIT, serial=use << 5 | txid, arg=count)


def geometry(path):
    pairs = (line.split("=", 1) for line in Path(path).read_text().splitlines())
    return {k: int(v) if v.lstrip("-").isdigit() else v for k, v in pairs}


class In:
    """A stream into the log: beats are dicts in `queue`."""

    def __init__(self, dut, name, fired=lambda beat: None):
        self.valid, self.ready = Pin(getattr(dut, name + "_valid")), reader(getattr(dut, name + "_ready"))
        self.fired, self.queue, self.shown = fired, deque(), False
        self.fields = {h._name[len(name) + 9 :]: Pin(h) for h in dut if h._name.startswith(name + "_payload_")}

    def drive(self, go):
        if not self.shown and self.queue and go:
            for k, v in self.queue[0].items():
                self.fields[k].set(int(v))
            self.shown = True
        self.valid.set(int(self.shown))

    def sample(self):
        if self.shown and self.ready():
            self.shown = False
            self.fired(self.queue.popleft())


class Out:
    """A stream out of the log; the payload must not change while it waits."""

    def __init__(self, dut, name, fired):
        self.valid, self.ready = reader(getattr(dut, name + "_valid")), Pin(getattr(dut, name + "_ready"))
        self.name, self.fired, self.on, self.held = name, fired, True, None
        self.fields = {
            h._name[len(name) + 9 :] or "payload": reader(h) for h in dut if h._name.startswith(name + "_payload")
        }

    def drive(self, go):
        self.taking = go and self.on
        self.ready.set(int(self.taking))

    def sample(self):
        if not self.valid():
            assert self.held is None, f"{self.name}: valid went away"
            return
        beat = {k: value() for k, value in self.fields.items()}
        assert self.held in (None, beat), f"{self.name}: payload changed from {self.held} to {beat}"
        self.held = None if self.taking else beat
        if self.taking:
            self.fired(beat)


class Bench:
    def __init__(self, dut, g, seed=1, stall=0.0):
        self.dut, self.g, self.rng, self.stall, self.clock = dut, g, random.Random(seed), stall, 0
        self.model = m = LogModel(g["lanes"], g["pagesPerBlock"], g["writeFrames"] + g["readFrames"], DRIVE, GENERATION)
        self.relocates = In(dut, "relocate", self._relocated)
        self.append_in, self.waits = In(dut, "append", self._appended), In(dut, "waiter", self._waits)
        self.data_done = In(dut, "pageDone", lambda b: m.page_done(**b))
        self.program_done = In(dut, "programDone", self._programmed)
        self.block_in = In(dut, "logBlock", lambda b: m.blocks[b["lane"]].append(b["block"]))
        self.program, self.tx, self.ends = (
            Out(dut, "program", self._program),
            Out(dut, "tx", self._tx),
            Out(dut, "waitDone", self._ended),
        )
        self.bad = Out(dut, "badBlock", lambda b: m.bad_block(b["payload"]))
        self.aw, self.w = Out(dut, "frame_aw", self._address), Out(dut, "frame_w", self._data)
        self.b = In(dut, "frame_b", lambda b: None)
        self.ins = [
            self.append_in,
            self.relocates,
            self.waits,
            self.data_done,
            self.program_done,
            self.block_in,
            self.b,
        ]
        self.outs = [self.program, self.bad, self.tx, self.ends, self.aw, self.w]
        self.memory, self.addresses, self.beats, self.bursts = (
            bytearray(b"\xee" * PAGE * FRAMES),
            deque(),
            deque(),
            deque(),
        )
        self.base = g["frameBase"] + PAGE * self.model.frame_base
        # entries whose data page is under way, log pages under way, frames that the flash reads
        self.outstanding, self.flying, self.held = [], [], set()
        self.auto_data = self.auto_program = self.auto_memory = True
        self.auto_blocks, self.later = False, deque()
        self.finish_rate, self.slow_memory = 1.0, 2
        self.ended, self.committed, self.times, self.tags = [], [], {}, set(range(32))
        self.b_resp, self.fail_rate, self.moved = 0, 0.0, []
        self.durable_mark, self.marked, self.captures, self.chance = reader(dut.durableMark), 0, [], random.Random(seed)

    async def begin(self, blocks=3, enable=True):
        d = self.dut
        for name, value in dict(
            enable=0,
            reset=1,
            generation=GENERATION,
            driveId=DRIVE,
            giveUp=0,
            noMore=0,
            idleDies=0,
            **{f"dieNow_{die}": 0 for die in range(self.g["dies"])},
            rescueTo=0,
            saving=0,
            together=0,
            plp=0,
            drain=0,
            place_capture=0,
            place_lane=0,
        ).items():
            getattr(d, name).value = value
        cocotb.start_soon(Clock(d.clk, 10, "ns").start())
        for _ in range(4):
            await FallingEdge(d.clk)
        d.reset.value, d.enable.value = 0, int(enable)
        self.task = cocotb.start_soon(self._run())
        cocotb.start_soon(self._capture())
        self.blocks(blocks)
        await self.clocks(30)

    def blocks(self, count, lanes=None):
        """Firmware hands `count` more blocks to each lane, or to these."""
        for _ in range(count):
            for lane in range(self.g["lanes"]) if lanes is None else lanes:
                self.given = getattr(self, "given", 0) + 1
                self.block_in.queue.append(
                    dict(lane=lane, block=self.given % (self.g["dies"] * self.g["blocksPerWay"]))
                )

    def group(self, *entries):
        """Plans and offers entries; returns the index after the last."""
        for e in entries:
            self.model.plan.append(e)
            self.append_in.queue.append(e.payload)
        return len(self.model.plan)

    def wait(self, flush, index, txid=0, relaxed=0, after=None):
        """A wait is sent when the entries it needs are appended, as the data path does.

        `after`: of a COMMIT, the index behind the last order-preserving page of an earlier epoch; of a FLUSH, behind
        the last page of a transaction that it waits for: all when it is not given.
        """
        after = (index if flush else 0) if after is None else after
        tag = self.tags.pop()
        self.later.append(dict(tag=tag, flush=flush, relaxed=relaxed, txid=txid, index=index, after=after))
        return tag

    async def clocks(self, n):
        for _ in range(n):
            await FallingEdge(self.dut.clk)
            if self.task.done():
                self.task.result()

    async def until(self, condition, limit=3000):
        for _ in range(limit):
            if condition():
                return
            await self.clocks(1)
        m = self.model
        raise AssertionError(
            f"did not happen in {limit} clocks; head {m.head}, durable {m.durable}, watermark {m.watermark}"
        )

    async def flushed(self):
        """Everything planned is appended, durable and complete."""
        self.wait(1, len(self.model.plan))
        n = len(self.ended)
        await self.until(lambda: len(self.ended) > n)

    def whole(self):
        """Every entry taken is in the retired pages in order, exactly once, as it was appended."""
        entries = [e for page in self.model.pages for e in page.entries]
        assert entries == self.model.plan[: len(entries)] and len(entries) == self.model.head
        assert int(self.dut.pages.value) == len(self.model.pages) and int(self.dut.dirty.value) == 0
        assert self.marked == self.model.durable_mark, "the durable mark is behind the pages"
        if not self.model.repeated:
            later = [c for c in self.captures if c[0] + self.model.lanes <= len(self.model.pages)]
            assert all(self.model.is_place(*c) for c in later), (
                f"places {[c for c in later if not self.model.is_place(*c)][:3]}"
            )

    async def place(self):
        """Where the log goes on: (page, its first entry, [(block, page) of each lane])."""
        d = self.dut
        d.place_capture.value = 1
        await FallingEdge(d.clk)
        d.place_capture.value = 0
        lanes = []
        for lane in range(self.model.lanes):
            d.place_lane.value = lane
            await FallingEdge(d.clk)
            lanes.append((int(d.place_block.value), int(d.place_row.value)))
        return int(d.place_page.value), int(d.place_first.value), lanes

    async def _capture(self):
        """Firmware asks at any moment; `whole` looks at the answers."""
        while True:
            for _ in range(self.chance.randrange(200)):
                await FallingEdge(self.dut.clk)
            lacks = any(len(self.model.blocks[lane]) <= self.model.at[lane][0] for lane in range(self.model.lanes))
            if not self.task.done() and not lacks:
                self.captures.append(await self.place())

    # beats
    # -----------------------------------------------------------------------------------------------------------------
    def _appended(self, beat):
        index, e = self.model.head, self.model.plan[self.model.head]
        assert int(self.dut.head.value) == index
        if e.kind == 2 and not int(self.dut.fault.value):
            assert int(self.dut.evRecord.value) and int(self.dut.evRecordTxid.value) == e.serial & 31
        self.model.taken()
        self.times["append", index] = self.clock
        if e.kind == MAP:
            self.outstanding.append((index, e.inTx, e.serial & 31))

    def relocate(self, **fields):
        """Offers a RELOCATE; its place in the plan is where the log takes it."""
        self.relocates.queue.append(Entry(kind=RELOCATE, **fields).payload)

    def _relocated(self, beat):
        head = self.model.head
        assert not head or self.model.plan[head - 1].last, "a RELOCATE inside a group"
        location = beat["location_kind"] << 30 | beat["location_value"]
        fields = {k: v for k, v in beat.items() if not k.startswith("location_")}
        self.model.plan.insert(head, Entry(location=location, **fields))
        for wait in self.later:  # what they wait for is one place further on
            wait["index"] += wait["index"] > head
            wait["after"] += wait["after"] > head
        self.model.taken()
        self.moved.append(head)

    def finish_data(self, which, ok=1):
        index, has, txid = self.outstanding.pop(which)
        self.data_done.queue.append(dict(index=index, hasTx=has, txid=txid, ok=ok))

    def finish_copy(self, number, copy=0, status=0):
        self.flying.remove((number, copy))
        cookie = copy * FRAMES + number % FRAMES
        self.program_done.queue.append(dict(cookie=cookie, status=status, kind=0, generation=0, lpn=0, sequence=0))

    async def finish_program(self, number):
        """Both copies are programmed; one may not be under way yet."""
        for copy in (0, 1):
            await self.until(lambda copy=copy: (number, copy) in self.flying)
            self.finish_copy(number, copy)

    async def fails(self, number, copy=0):
        """The program of a copy of log page `number`, which is under way, fails at all its places; the other's ends."""
        if self.g["lanes"] > 1:
            await self.until(lambda: (number, 1 - copy) in self.flying)
            self.finish_copy(number, 1 - copy)
        self.finish_copy(number, copy, status=1)
        while True:
            await self.until(lambda: (number, copy) in self.flying or self.model.fault)
            if self.model.fault:
                return
            self.finish_copy(number, copy, status=1)

    def _waits(self, beat):
        self.model.waiter(**beat)
        self.times["wait", beat["tag"]] = self.clock

    def _program(self, op):
        slot = op["cookie"] % FRAMES
        page = self.model.program(op, bytes(self.memory[slot * PAGE : slot * PAGE + PAGE]))
        self.times.setdefault(("program", page.number), self.clock)
        self.flying.append((page.number, op["cookie"] // FRAMES))
        self.held.add(op["cookie"])

    def _programmed(self, beat):
        slot = beat["cookie"] % FRAMES
        number = max(n for n in range(len(self.model.pages)) if n % FRAMES == slot)
        assert self.memory[slot * PAGE :].startswith(self.model.images[number]), (
            f"frame of page {number} changed while it was programmed"
        )
        self.held.discard(beat["cookie"])
        self.model.program_done(beat["cookie"], beat["status"])

    def _tx(self, beat):
        self.model.tx(**beat)
        self.committed.append(beat["txid"])
        self.times["tx", beat["txid"]] = self.clock

    def _ended(self, beat):
        self.ended.append((self.model.wait_done(**beat), beat["tag"], beat["status"]))
        self.times["end", beat["tag"]] = self.clock
        self.tags.add(beat["tag"])

    def _address(self, a):
        at = a["addr"] - self.base
        assert a["len"] == 3 and a["size"] == 3 and a["burst"] == 1 and at % 32 == 0 and 0 <= at < PAGE * FRAMES, a
        self.addresses.append(at)

    def _data(self, w):
        self.beats.append(w["data"].to_bytes(8, "little"))
        assert w["strb"] == 255 and w["last"] == (len(self.beats) % 4 == 0)

    def _memory(self):
        """A burst is in memory only when it is answered, so a page that is programmed too early is seen."""
        if self.addresses and len(self.beats) >= 4 and len(self.bursts) < 16:
            self.bursts.append(
                (
                    self.clock + self.slow_memory,
                    self.addresses.popleft(),
                    b"".join(self.beats.popleft() for _ in range(4)),
                )
            )
        if self.bursts and self.auto_memory and self.bursts[0][0] <= self.clock and not self.b.queue:
            _, at, data = self.bursts.popleft()
            assert not {at // PAGE, at // PAGE + FRAMES} & self.held, (
                f"write into frame {at // PAGE}, which the flash reads"
            )
            self.memory[at : at + 32] = data
            self.b.queue.append(dict(id=0, resp=self.b_resp))

    async def _run(self):
        while True:
            await FallingEdge(self.dut.clk)
            r = self.rng.random
            self._memory()
            if self.auto_data and self.outstanding and r() < self.finish_rate and len(self.data_done.queue) < 4:
                self.finish_data(self.rng.randrange(min(len(self.outstanding), 40)))
            if self.auto_program and self.flying and r() < self.finish_rate and not self.program_done.queue:
                self.finish_copy(*self.rng.choice(self.flying), int(r() < self.fail_rate))
            if self.auto_blocks and r() < 0.02 and not self.block_in.queue:
                self.blocks(
                    1, [lane for lane, at in enumerate(self.model.at) if len(self.model.blocks[lane]) - at[0] < 5]
                )
            while self.later and self.later[0]["index"] <= self.model.head:
                self.waits.queue.append(self.later.popleft())
            for port in self.ins + self.outs:
                port.drive(not self.stall or r() >= self.stall)
            await ReadOnly()
            self.clock += 1
            for port in self.outs + self.ins:
                port.sample()
            mark = self.durable_mark()
            self.marked = self.marked if int(self.dut.enable.value) else 0
            assert self.marked <= mark <= self.model.durable_mark, (
                f"durable mark {mark} after {self.marked}; in durable pages stands {self.model.durable_mark}"
            )
            self.marked = mark
