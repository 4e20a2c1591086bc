# SPDX-License-Identifier: Apache-2.0
"""Counts of the pages in use (LiveCounts.scala) against a dictionary, with all that may come in the same clocks.

Surroundings of the counts: test_data_path_live.py.
"""

import os
import random
from collections import deque

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from cocotb_tests.bench.amount import amount
from cocotb_tests.bench.runner import ROOT, run
from cocotb_tests.bench.streams import Pin, Source, Stepper, reader
from soc import geometry

G = geometry.preset("tiny")
PAGES, BLOCKS = G.pages_per_block, 1 << G._bits(G.blocks_per_way) + G._bits(G.dies)
NEAR = 6  # clocks by which an answer may be behind what was offered
REST = 40  # clocks from a page's begin to its end, at least: in the drive many more

simulated = cocotb.test(timeout_time=3, timeout_unit="ms")


class Bench(Stepper):
    """`counts`: what was picked, taken by `up` and not taken by a `down`.

    `history`: the counts of the block that is asked for, in the last clocks.
    """

    def __init__(self, dut, seed=1, stall=0.0):
        super().__init__(dut)
        self.rng = random.Random(seed)
        self.counts, self.pages, self.asked, self.history = dict.fromkeys(range(BLOCKS), 0), {}, 0, deque(maxlen=NEAR)
        self.pins = {
            n: Pin(getattr(dut, n))
            for n in (
                "picked_valid picked_payload ask_valid ask_payload set_valid set_payload scan_valid scan_payload clear"
            ).split()
        }
        self.word, self.live = Pin(dut.word), reader(dut.pages)
        self.in_use = {block: set() for block in range(BLOCKS)}  # pages of it
        self.valid, self.count = reader(dut.count_valid), reader(dut.count_payload)
        self.mask_valid, self.mask, self.clearing = (
            reader(getattr(dut, n)) for n in ("mask_valid", "mask_payload", "clearing")
        )
        self.ups = self.add(Source(dut, "up", [], stall, self.rng, lambda b, c: self.begins(b["payload"])))
        self.loads = self.add(Source(dut, "load", [], stall, self.rng, lambda b, c: self.loaded(b["payload"])))
        self.downs = [
            self.add(Source(dut, f"down_{n}", [], stall, self.rng, lambda b, c: self.ends(b["payload"])))
            for n in range(3)
        ]
        self.add(self)
        self.pick = None
        self.longest = 0  # clocks in which a beat waited

    async def begin(self):
        cocotb.start_soon(Clock(self.dut.clk, 10, "ns").start())
        self.dut.reset.value = 1
        for _ in range(4):
            await FallingEdge(self.dut.clk)
        self.dut.reset.value = 0
        for block in range(BLOCKS):
            await self.set(block, 0)
        return self

    def begins(self, page):
        self.counts[page // PAGES] += 1
        self.in_use[page // PAGES].add(page % PAGES)
        self.pages[page] = self.clock

    def loaded(self, page):
        self.counts[page // PAGES] = min(self.counts[page // PAGES] + 1, PAGES)
        self.in_use[page // PAGES].add(page % PAGES)

    def ends(self, page):
        self.counts[page // PAGES] -= 1
        self.in_use[page // PAGES].discard(page % PAGES)

    def drive(self):
        self.pins["picked_valid"].set(int(self.pick is not None))
        if self.pick is not None:
            self.pins["picked_payload"].set(self.pick)

    def sample(self, clock):
        if self.pick is not None:
            self.begins(self.pick)
            self.pick = None
        self.history.append(self.counts[self.asked])

    async def strobe(self, name, payload):
        self.pins[f"{name}_payload"].set(payload)
        self.pins[f"{name}_valid"].set(1)
        await self.step()
        self.pins[f"{name}_valid"].set(0)

    async def set(self, block, count):
        await self.strobe("ask", block)
        await self.strobe("set", count)
        await self.clocks(4)
        self.counts[block] = count
        self.in_use[block] = set(range(PAGES))

    async def ask(self, block, limit=400):
        """The answer, when it is there; it was the truth in one of the last clocks."""
        self.asked = block
        self.history.clear()
        await self.strobe("ask", block)
        assert not self.valid(), "an old answer"
        await self.until(self.valid, limit)
        answer = self.count()
        assert answer in self.history, f"block {block}: {answer}, was {list(self.history)}"
        return answer

    async def all(self):
        await self.until(lambda: not any(s.queue for s in (self.ups, self.loads, *self.downs)))
        await self.clocks(NEAR)
        for block in range(BLOCKS):
            assert await self.ask(block) == self.counts[block]
            want = sum(1 << page for page in self.in_use[block])
            assert self.live() == want, f"block {block}: pages {self.live():016b}, want {want:016b}"

    async def clear(self):
        self.pins["clear"].set(1)
        await self.step()
        self.pins["clear"].set(0)
        assert self.clearing()
        await self.until(lambda: not self.clearing(), BLOCKS + 4)
        self.counts = dict.fromkeys(self.counts, 0)
        self.in_use = {block: set() for block in range(BLOCKS)}

    async def scan(self, block, limit=72):
        """What it says of 32 blocks, when nothing is under way."""
        await self.strobe("scan", block)
        assert not self.mask_valid(), "an old answer"
        await self.until(self.mask_valid, limit)
        want = sum((self.counts[(block + n) % BLOCKS] != 0) << n for n in range(32))
        assert self.mask() == want, f"blocks from {block} on: {self.mask():032b}, want {want:032b}"

    def free_page(self):
        while True:
            page = self.rng.randrange(BLOCKS * PAGES)
            if page not in self.pages:
                self.pages[page] = None  # its begin is on its way
                return page


@simulated
async def counts_are_set_and_each_event_counts_once_in_its_block(dut):
    b = await Bench(dut).begin()
    for block in (0, 1, BLOCKS - 1):
        await b.set(block, block % PAGES + 1)
        assert await b.ask(block) == block % PAGES + 1
    b.pick = PAGES + 3
    await b.clocks(12)
    assert await b.ask(1) == 3
    b.ups.queue.append({"payload": PAGES + 4})
    await b.clocks(12)
    assert await b.ask(1) == 4
    for n, down in enumerate(b.downs):
        down.queue.append({"payload": PAGES + n})
        await b.clocks(12)
        assert await b.ask(1) == 3 - n
    await b.all()


@simulated
async def block_goes_from_none_to_all_of_its_pages_and_back(dut):
    b = await Bench(dut).begin()
    for page in range(PAGES):
        b.pick = 5 * PAGES + page
        await b.clocks(2)
    assert await b.ask(5) == PAGES
    for page in range(PAGES):
        b.downs[page % 3].queue.append({"payload": 5 * PAGES + page})
    await b.all()
    assert b.counts[5] == 0


@simulated
async def all_at_once_on_one_block_loses_nothing(dut):
    """Four beats in one clock, and a page is picked beside them: each of them reads and writes the same count."""
    b = await Bench(dut).begin()
    await b.set(7, 6)
    for turn in range(amount(8, 40)):
        b.ups.queue.append({"payload": 7 * PAGES})
        for down in b.downs[: 2 if turn % 2 else 1]:
            down.queue.append({"payload": 7 * PAGES + 1})
        b.pick = 7 * PAGES + 2 if turn % 2 else None
        await b.clocks(turn % 5)
        await b.all()
    assert b.counts[7] == 6


@simulated
async def five_picks_as_fast_as_they_come_wait_for_nobody(dut):
    """Of the allocator after it was empty: each second clock one, while everything else is busy."""
    b = await Bench(dut).begin()
    for block in range(BLOCKS):
        await b.set(block, 8)
    for n in range(6):
        b.ups.queue.append({"payload": 9 * PAGES + n})
        for down in b.downs:
            down.queue += [{"payload": (10 + n) * PAGES}, {"payload": (20 + n) * PAGES}]
    for n in range(5):
        b.pick = 30 * PAGES + n
        await b.clocks(2)
    await b.all()


@simulated
async def answer_is_of_the_last_question_and_none_stays_when_a_block_is_set(dut):
    b = await Bench(dut).begin()
    await b.set(3, 2)
    await b.set(4, 9)
    assert [await b.ask(block) for block in (3, 4, 4, 3)] == [2, 9, 9, 2]
    await b.strobe("set", 7)
    await b.clocks(12)
    b.counts[3] = 7
    assert not b.valid(), "an answer from before the block was set"
    assert await b.ask(3) == 7 and await b.ask(4) == 9


@simulated
async def pages_of_the_map_count_up_to_all_of_a_block(dut):
    b = await Bench(dut).begin()
    for n in range(PAGES + 3):
        b.loads.queue += [{"payload": 11 * PAGES + n % PAGES}, {"payload": 12 * PAGES}]
        await b.clocks(4)
        if n in (1, PAGES - 1, PAGES):
            await b.all()
    await b.all()
    assert b.counts[11] == b.counts[12] == PAGES
    start = b.clock
    b.loads.queue += [{"payload": (20 + n % 50) * PAGES} for n in range(200)]
    await b.until(lambda: not b.loads.queue)
    assert b.clock - start < 410, "not one in every second clock"
    await b.all()


@simulated
async def clear_makes_all_counts_zero(dut):
    b = await Bench(dut).begin()
    for block in range(BLOCKS):
        await b.set(block, block % PAGES + 1)
    await b.clear()
    await b.all()


@simulated
async def answer_says_which_pages_are_in_use(dut):
    b = await Bench(dut).begin()
    assert await b.ask(6) == 0 and b.live() == (1 << PAGES) - 1, "of a count that was set it is not known"
    await b.clear()
    b.loads.queue += [{"payload": 6 * PAGES + page} for page in (0, 5, PAGES - 1)]
    b.ups.queue.append({"payload": 6 * PAGES + 7})
    b.pick = 6 * PAGES + 8
    await b.all()
    assert await b.ask(6) == 5 and b.live() == 1 << 0 | 1 << 5 | 1 << PAGES - 1 | 1 << 7 | 1 << 8
    for n, down in enumerate(b.downs):
        down.queue.append({"payload": 6 * PAGES + (0, 5, 8)[n]})
    await b.all()
    assert await b.ask(6) == 2 and b.live() == 1 << PAGES - 1 | 1 << 7
    assert await b.ask(7) == 0 and b.live() == 0
    await b.ask(6)
    b.word.set(1)
    await b.clocks(1)
    assert b.live() == 0, "this block has no pages from 32 on"
    b.word.set(0)


@simulated
async def scan_says_which_of_32_blocks_are_in_use(dut):
    b = await Bench(dut).begin()
    for block in (0, 1, 31, 33, 63, 64, BLOCKS - 1):
        await b.set(block, 1 + block % PAGES)
    for block in (0, 1, 2, 32, 33, 64, BLOCKS - 32, BLOCKS - 31):
        await b.scan(block)
    await b.strobe("scan", 0)
    await b.clocks(20)
    await b.scan(32)  # the last question counts
    await b.set(40, 1)
    await b.strobe("scan", 64)  # events of a block in use beside a scan of blocks of which only the first is
    for _ in range(8):
        b.loads.queue.append({"payload": 40 * PAGES})
        await b.clocks(9)
    await b.until(b.mask_valid, 80)
    assert b.mask() == 1
    b.loads.queue += [{"payload": (40 + n) * PAGES} for n in range(20)]
    assert await b.ask(33) == b.counts[33]
    await b.all()
    await b.strobe("scan", 31)
    assert await b.ask(63) == 1 + 63 % PAGES, "a question beside it"
    await b.until(b.mask_valid, 80)
    assert b.mask() == sum((b.counts[31 + n] != 0) << n for n in range(32))


async def random_events(dut, seed, count, stall):
    b = await Bench(dut, seed, stall).begin()
    rng, answers = b.rng, 0
    for _ in range(count):
        room = BLOCKS * PAGES // 2 - len(b.pages)
        if room > 0 and rng.random() < 0.25 and b.pick is None:
            b.pick = b.free_page()
        if room > 0 and rng.random() < 0.1 and len(b.ups.queue) < 3:
            b.ups.queue.append({"payload": b.free_page()})
        over = [p for p, at in b.pages.items() if at is not None and b.clock - at > REST]
        if over and rng.random() < 0.35:
            page = rng.choice(over[:8])  # the oldest: their blocks come to 0
            del b.pages[page]
            rng.choice(b.downs).queue.append({"payload": page})
        await b.clocks(rng.choice([2, 2, 2, 3, 9]))
        if rng.random() < 0.1:
            await b.ask(rng.randrange(BLOCKS), 2000)
            answers += 1
        waiting = max(len(s.queue) for s in b.downs)
        b.longest = max(b.longest, waiting)
    await b.all()
    dut._log.info(
        "seed %d: %d clocks, %d pages in use, %d answers, at most %d beats waited at a port",
        seed,
        b.clock,
        sum(b.counts.values()),
        answers,
        b.longest,
    )
    assert answers > count / 30 and sum(b.counts.values()) == len(b.pages)


@simulated
async def random_events_agree_with_the_model(dut):
    await random_events(dut, int(os.environ.get("SEED", "1")), amount(400, 3000), 0.0)


@simulated
async def random_events_agree_with_the_model_under_stalls(dut):
    await random_events(dut, 1000 + int(os.environ.get("SEED", "1")), amount(300, 2000), 0.4)


def test_live_counts():
    verilog = ROOT / "build/tiny/verilog/otx_live_counts.v"
    run("otx_live_counts", [verilog.relative_to(ROOT)], __name__)
