# SPDX-License-Identifier: Apache-2.0
"""MapPages.scala, each task against the model, over memories with latencies, stalls and errors."""

import os
import random
from collections import Counter

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from cocotb_tests.bench.amount import amount
from cocotb_tests.bench.frame_memory import FrameMemory
from cocotb_tests.bench.runner import run
from cocotb_tests.bench.spinal import generated
from cocotb_tests.bench.streams import Pin, Sink, Stepper, reader
from cocotb_tests.bench.table_memory import TableMemory
from cocotb_tests.models.map_model import ENTRY, HEADER, NO_VALUE, WORDS, Map
from opentxssd.facts import LogFlag, LogKind, MapOpcode, WordKind, word
from soc import geometry

# no count is a power of two, the last map page is a part of one
G = geometry.Geometry(
    "map_pages",
    3,
    3,
    20,
    16,
    2349,
    write_frames=40,
    read_frames=8,
    firmware_frames=16,
    tx_entries=40,
    timing=geometry.QUICK,
)
PAGES = -(-G.lbas // WORDS)
ENTRIES = (WORDS - HEADER) // ENTRY

simulated = cocotb.test(timeout_time=6, timeout_unit="ms")


class Bench(Stepper):
    def __init__(self, dut, seed=1, stall=0.0, latency=(8, 8), load_stall=0.0):
        super().__init__(dut)
        self.rng, self.model, self.seen = random.Random(seed), Map(G), Counter()
        self.frames = self.add(FrameMemory(dut, "frame", G.frame_base, G.frames, self.rng, stall))
        self.table = TableMemory(dut, self.rng, latency, stall, in_order=True)
        self.drives.append(lambda: self.table.drive(self.clock))
        self.samples.append(self.table.sample)
        self.add(Sink(dut, "load", [], self.named, load_stall, self.rng))
        self.applied, self.applies = Counter(), [reader(getattr(dut, f"applied_{n}")) for n in ("valid", "payload")]
        self.samples.append(self.apply)
        fields = "op frame page first end".split()
        self.pins = {f: Pin(getattr(dut, f"begin_payload_{f}")) for f in fields} | {"valid": Pin(dut.begin_valid)}
        self.busy, self.bad, self.any, self.stop = (
            reader(getattr(dut, f"state_{n}")) for n in "busy bad any stop".split()
        )

    def named(self, beat, _):
        assert self.busy(), "a page is named when the task is over"
        self.seen[beat["payload"]] += 1

    def apply(self, _):
        if self.applies[0]():
            self.applied[self.applies[1]()] += 1

    async def begin(self):
        cocotb.start_soon(Clock(self.dut.clk, 10, "ns").start())
        self.dut.reset.value = 1
        for _ in range(4):
            await FallingEdge(self.dut.clk)
        self.dut.reset.value = 0
        return self

    def put_frame(self, frame, words):
        self.model.frames[frame] = words
        self.frames.fill(frame, [low | high << 32 for low, high in zip(words[::2], words[1::2], strict=True)])

    def put_word(self, lpn, w):
        self.model.words[lpn] = w
        self.table.put32(G.table_base + 4 * lpn, w)

    async def task(self, op, frame=0, page=0, first=0, end=0):
        """One task, and what it left behind; its clocks."""
        for name, value in dict(op=op, frame=frame, page=page, first=first, end=end, valid=1).items():
            self.pins[name].set(value)
        assert not self.busy()
        start = self.clock
        await self.step()
        self.pins["valid"].set(0)
        await self.until(lambda: not self.busy(), 60_000)
        clocks = self.clock - start
        bad, some, stop = self.model.run(op, frame, page, first, end)
        assert self.bad() == bad
        if op == MapOpcode.APPLY:
            assert self.stop() == stop
        elif not bad:
            assert self.any() == some
        self.compare()
        return clocks

    def compare(self):
        assert self.seen == self.model.loads and self.applied == self.model.applied
        for lpn, w in self.model.words.items():
            assert self.table.get32(G.table_base + 4 * lpn) == w, f"LPN {lpn}"
        for frame, words in self.model.frames.items():
            page = self.frames.page(frame)
            assert [page[i // 2] >> 32 * (i % 2) & 0xFFFFFFFF for i in range(WORDS)] == words, f"frame {frame}"

    def ppn(self):
        """Of a block that there is."""
        rng = self.rng
        die = rng.randrange(G.channels) << G._bits(G.ways) | rng.randrange(G.ways)
        return (die << G.block_bits | rng.randrange(G.blocks_per_way)) << G.page_bits | rng.randrange(16)

    def page(self, share=1.0):
        return [word(WordKind.NAND, self.ppn()) if self.rng.random() < share else 0 for _ in range(WORDS)]

    def entry(self, kind=LogKind.MAP, flags=0, lpn=None, location=None):
        lpn = self.rng.randrange(G.lbas) if lpn is None else lpn
        location = word(WordKind.NAND, self.ppn()) if location is None else location
        return [kind | flags << 8 | 0x0101 << 16, lpn, location, *(self.rng.getrandbits(32) for _ in range(5))]

    def log_page(self, entries):
        page = [self.rng.getrandbits(32) for _ in range(WORDS)]
        for n, entry in enumerate(entries):
            page[HEADER + ENTRY * n :][:0] = []
            page[HEADER + ENTRY * n : HEADER + ENTRY * (n + 1)] = entry
        return page


def beyond():
    """PPNs of blocks that are not there: block, way, channel too high, and bits above all."""
    way, block = G.block_bits + G.page_bits, G.page_bits
    channel = way + G._bits(G.ways)
    return [20 << block, 31 << block, 3 << way, 3 << channel, 1 << G.ppn_bits, 1 << 29]


@simulated
async def fill_makes_a_page_none_and_no_other(dut):
    b = await Bench(dut).begin()
    for lpn in range(3 * WORDS):
        b.put_word(lpn, word(WordKind.BUF, lpn))
    clocks = await b.task(MapOpcode.FILL, page=1)
    assert clocks < 280
    await b.task(MapOpcode.FILL, page=2)  # those past the last LPN too


@simulated
async def fill_goes_on_with_the_pages_behind(dut):
    b = await Bench(dut, stall=0.2, latency=(1, 60)).begin()
    for more in (1, 2):
        for lpn in range(3 * WORDS):
            b.put_word(lpn, word(WordKind.BUF, lpn))
        await b.task(MapOpcode.FILL, page=2 - more, frame=more)
    await b.task(MapOpcode.FILL, page=0)  # and with none when none is asked for


@simulated
async def load_moves_and_counts_a_page_in_some_clocks_for_each_word(dut):
    b = await Bench(dut, load_stall=0.5).begin()
    b.put_frame(3, b.page())
    clocks = await b.task(MapOpcode.LOAD, frame=3, page=1)
    assert clocks < 3000
    b.put_frame(4, b.page(0.02))
    b.put_frame(67, [0] * WORDS)
    for frame, page in ((4, 0), (67, 1), (3, 0)):
        await b.task(MapOpcode.LOAD, frame=frame, page=page)


@simulated
async def words_past_the_last_lpn_are_none_and_not_looked_at(dut):
    b = await Bench(dut).begin()
    page = b.page()
    page[G.lbas % WORDS :] = [word(WordKind.VER, 5)] * (WORDS - G.lbas % WORDS)
    b.put_frame(1, page)
    await b.task(MapOpcode.LOAD, frame=1, page=2)
    b.put_word(G.lbas - 1, word(WordKind.BUF, 7))
    for lpn in range(G.lbas, PAGES * WORDS):
        b.put_word(lpn, word(WordKind.NAND, 7))
    await b.task(MapOpcode.STORE, frame=2, page=2)
    assert sum(b.model.loads.values()) == 2 * (G.lbas % WORDS)


@simulated
async def each_word_that_no_page_may_hold_makes_it_bad_and_is_not_counted(dut):
    b = await Bench(dut).begin()
    wrong = [word(WordKind.NAND, ppn) for ppn in beyond()]
    wrong += [word(WordKind.BUF, 3), word(WordKind.VER, 3), 5]
    for n, w in enumerate(wrong):
        page = b.page(0.1)
        page[(0, 1, 2, 3, 511, 1023)[n % 6]] = w
        b.put_frame(1, page)
        await b.task(MapOpcode.LOAD, frame=1, page=n % 2)
        assert b.bad()
    b.put_frame(1, b.page())
    await b.task(MapOpcode.LOAD, frame=1, page=0)
    assert not b.bad()


@simulated
async def store_makes_words_of_the_log_plain_on_both_sides(dut):
    b = await Bench(dut, load_stall=0.5).begin()
    for lpn in range(WORDS):
        kind = b.rng.choice([WordKind.BUF, WordKind.NAND])
        b.put_word(lpn, word(kind, b.ppn()) if lpn % 7 else (0, word(WordKind.BUF, NO_VALUE))[lpn % 2])
    await b.task(MapOpcode.STORE, frame=9, page=0)
    await b.task(MapOpcode.FILL, page=1)
    await b.task(MapOpcode.STORE, frame=9, page=1)
    assert not b.any()
    for lpn in range(WORDS, 2 * WORDS):
        b.put_word(lpn, word(WordKind.BUF, NO_VALUE))
    await b.task(MapOpcode.STORE, frame=9, page=1)
    assert not b.any()
    b.put_word(2 * WORDS - 1, word(WordKind.BUF, 16))
    await b.task(MapOpcode.STORE, frame=9, page=1)
    assert b.any()


@simulated
async def apply_stops_at_the_first_entry_that_is_not_its_own(dut):
    b = await Bench(dut, load_stall=0.5).begin()
    b.put_frame(5, b.log_page([b.entry() for _ in range(ENTRIES)]))
    clocks = await b.task(MapOpcode.APPLY, frame=5, end=ENTRIES)
    assert clocks < 1400
    for first, end in ((0, 0), (3, 4), (40, 100), (125, 126), (126, 126)):
        await b.task(MapOpcode.APPLY, frame=5, first=first, end=end)
    others = [dict(kind=kind) for kind in LogKind if kind != LogKind.MAP]
    others += [dict(flags=LogFlag.IN_TX), dict(flags=LogFlag.IN_TX | LogFlag.ORDERED), dict(kind=0)]
    others += [dict(lpn=G.lbas), dict(lpn=1 << 31), dict(location=0), dict(location=word(WordKind.BUF, 3))]
    others += [dict(location=word(WordKind.NAND, ppn)) for ppn in beyond()]
    for n, other in enumerate(others):
        entries = [b.entry(flags=b.rng.choice([0, LogFlag.ORDERED])) for _ in range(ENTRIES)]
        at = b.rng.randrange(ENTRIES)
        entries[at] = b.entry(**other)
        b.put_frame(6, b.log_page(entries))
        first = b.rng.randrange(at + 1)
        await b.task(MapOpcode.APPLY, frame=6, first=first, end=ENTRIES)
        assert b.stop() == at, n
        await b.task(MapOpcode.APPLY, frame=6, first=at + 1, end=ENTRIES)


@simulated
async def last_entry_of_a_block_wins(dut):
    b = await Bench(dut, latency=(1, 30)).begin()
    b.put_frame(5, b.log_page([b.entry(lpn=n % 5 + 3) for n in range(ENTRIES)]))
    await b.task(MapOpcode.APPLY, frame=5, end=ENTRIES)


@simulated
async def error_of_a_memory_makes_the_task_bad(dut):
    b = await Bench(dut).begin()
    b.put_frame(1, b.page())
    b.frames.bad = {1}
    for op, bad_frame, bad_table in (
        (MapOpcode.LOAD, True, None),
        (MapOpcode.LOAD, False, True),
        (MapOpcode.STORE, True, None),
        (MapOpcode.STORE, False, False),
        (MapOpcode.FILL, False, True),
        (MapOpcode.APPLY, True, None),
    ):
        b.frames.bad = {1} if bad_frame else set()
        at = G.table_base + 16 * b.rng.randrange(256)
        b.table.bad = lambda address, write, at=at, which=bad_table: which is write and address == at
        b.pins["op"].set(op)
        b.pins["frame"].set(1)
        b.pins["end"].set(3)
        b.pins["valid"].set(1)
        await b.step()
        b.pins["valid"].set(0)
        await b.until(lambda: not b.busy())
        assert b.bad(), op


async def random_tasks(dut, seed, count, stall, latency, load_stall):
    b = await Bench(dut, seed, stall, latency, load_stall).begin()
    rng = b.rng
    for lpn in range(PAGES * WORDS):
        b.put_word(lpn, 0)
    for _ in range(count):
        op = rng.choice([o for o in MapOpcode if o != MapOpcode.CLEAR])
        frame, page = rng.randrange(G.frames), rng.randrange(PAGES)
        if op == MapOpcode.LOAD:
            b.put_frame(frame, b.page(rng.choice([0, 0.01, 0.5, 1])))
            if rng.random() < 0.1:
                b.model.frames[frame][5] = word(WordKind.NAND, rng.choice(beyond()))
                b.put_frame(frame, b.model.frames[frame])
        if op == MapOpcode.APPLY:
            entries = [b.entry(lpn=rng.randrange(40)) for _ in range(ENTRIES)]
            for _ in range(rng.randrange(3)):
                entries[rng.randrange(ENTRIES)] = b.entry(kind=LogKind.TRIM)
            b.put_frame(frame, b.log_page(entries))
        first = rng.randrange(ENTRIES)
        await b.task(op, frame, page, first, rng.randrange(first, ENTRIES + 1))
        b.model.frames = {}
        await b.clocks(rng.randrange(4))


@simulated
async def random_tasks_agree_with_the_model(dut):
    await random_tasks(dut, int(os.environ.get("SEED", "1")), amount(12, 200), 0.0, (1, 12), 0.5)


@simulated
async def random_tasks_agree_with_the_model_under_stalls(dut):
    await random_tasks(dut, 1000 + int(os.environ.get("SEED", "1")), amount(10, 150), 0.3, (1, 40), 0.8)


def test_map_pages():
    run("otx_map_pages", [generated(G, "otx_map_pages")], __name__)
