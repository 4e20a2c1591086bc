# SPDX-License-Identifier: Apache-2.0
"""Bits of the map's pages that may have changed (MapChanged.scala) against two sets: pages that a question must name,
and those that it may name.
"""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from cocotb_tests.bench.amount import amount
from cocotb_tests.bench.runner import ROOT, run
from cocotb_tests.bench.streams import Pin, Stepper, reader

PAGES = 64  # bits that there are: two groups at least
WAYS = "written", "applied", "set"

simulated = cocotb.test(timeout_time=5, timeout_unit="ms")


class Bench(Stepper):
    """`must`: set, and named by no take since. `may`: those, and pages that were set beside the take that named them:
    before their turn or after it. `beside`: set since the question that is under way."""

    def __init__(self, dut, seed=1):
        super().__init__(dut)
        self.rng = random.Random(seed)
        self.pins = {
            f"{way}_{part}": Pin(getattr(dut, f"{way}_{part}")) for way in WAYS for part in ("valid", "payload")
        }
        self.pins |= {n: Pin(getattr(dut, n)) for n in ("ask_valid", "ask_payload", "take")}
        self.valid, self.mask = reader(dut.answer_valid), reader(dut.answer_payload)
        self.must, self.may, self.beside = set(), set(range(PAGES)), set()  # nobody knows what the memory holds

    async def begin(self):
        cocotb.start_soon(Clock(self.dut.clk, 10, "ns").start())
        for pin in self.pins.values():
            pin.set(0)
        self.dut.reset.value = 1
        for _ in range(4):
            await FallingEdge(self.dut.clk)
        self.dut.reset.value = 0
        for group in range(PAGES // 32):
            await self.ask(group, take=True)
        assert not self.may
        return self

    async def tick(self, page=None, way="written"):
        """One clock, in which that page is set."""
        if page is None:
            return await self.step()
        lpn = page << 10 | self.rng.randrange(1024)
        self.pins[f"{way}_payload"].set(lpn if way == "written" else page)
        self.pins[f"{way}_valid"].set(1)
        await self.step()
        self.pins[f"{way}_valid"].set(0)
        self.beside.add(page)

    async def put(self, page, way="written"):
        await self.tick(page, way)
        self.must.add(page)
        self.may.add(page)

    async def begin_question(self, group, take):
        for name, value in (("ask_payload", group), ("take", int(take)), ("ask_valid", 1)):
            self.pins[name].set(value)
        await self.step()
        self.pins["ask_valid"].set(0)
        assert not self.valid(), "an old answer"
        self.beside = set()

    def judge(self, group, take):
        """The pages that the answer names."""
        named = {group * 32 + n for n in range(32) if self.mask() >> n & 1}
        mine = set(range(group * 32, group * 32 + 32))
        assert self.must & mine <= named, f"not named: {self.must & mine - named}"
        assert named <= self.may | self.beside, f"nobody has set {named - self.may - self.beside}"
        if take:
            self.must -= named
            self.may -= mine
            self.must |= self.beside - named
        else:
            self.must |= self.beside
        self.may |= self.beside
        return named

    async def ask(self, group, take, beside=lambda clock: None):
        """`beside`: the page that is set in a clock of the question, or None."""
        await self.begin_question(group, take)
        clock = sets = 0
        while not self.valid():
            page = beside(clock)
            sets += page is not None
            await self.tick(page)
            clock += 1
            assert clock <= 64 + sets, "too many clocks"
        return self.judge(group, take)


@simulated
async def pages_are_named_until_they_are_taken(dut):
    b = await Bench(dut).begin()
    for way in WAYS:
        for page in (0, 1, 31, 32, 63):
            await b.put(page, way)
        assert await b.ask(0, take=False) == {0, 1, 31}
        assert await b.ask(1, take=True) == {32, 63}
        assert await b.ask(0, take=True) == {0, 1, 31}
        assert await b.ask(0, take=True) == set() and await b.ask(1, take=False) == set()


@simulated
async def last_question_counts(dut):
    b = await Bench(dut).begin()
    for page in (*range(16), 40):
        await b.put(page)
    for clocks in (20, 21, 22):  # in the first clock of a page, and in its second
        await b.begin_question(0, False)
        await b.clocks(clocks)
        assert await b.ask(1, take=False) == {40}
    assert await b.ask(0, take=True) == set(range(16))


@simulated
async def page_that_is_set_beside_a_take_is_named_by_it_or_by_the_next_one(dut):
    """In each clock of it, of a page that was set before and of one that was not, with another one behind it or not."""
    b = await Bench(dut).begin()
    now = later = 0
    for page in (0, 5, 31, 37):
        for clock in range(64):
            for before in (False, True):
                if before:
                    await b.put(page)
                other = {clock: page, clock + 1: 12 if clock % 2 else None}
                now += page in await b.ask(0, take=True, beside=other.get)
                later += page in await b.ask(page // 32, take=True)
                await b.ask(0, take=True)
    assert now > 100 and later > 100


async def random_questions(dut, seed, count, rate):
    b = await Bench(dut, seed).begin()
    rng, named, sets = b.rng, 0, 0

    def beside(clock):
        near = group * 32 + min(31, clock // 2)
        return rng.choice([near, rng.randrange(PAGES)]) if rng.random() < rate else None

    for _ in range(count):
        for _ in range(rng.randrange(4)):
            await b.put(rng.randrange(PAGES))
        group = rng.randrange(PAGES // 32)
        named += len(await b.ask(group, rng.random() < 0.7, beside))
        sets += len(b.beside)
    assert named > count / 2 and (sets > count or not rate)


@simulated
async def random_questions_agree_with_the_sets(dut):
    await random_questions(dut, int(os.environ.get("SEED", "1")), amount(150, 1500), 0.0)


@simulated
async def random_questions_agree_with_the_sets_while_pages_are_set(dut):
    await random_questions(dut, 1000 + int(os.environ.get("SEED", "1")), amount(150, 1500), 0.4)


def test_map_changed():
    verilog = ROOT / "build/tiny/verilog/otx_map_changed.v"
    run("otx_map_changed", [verilog.relative_to(ROOT)], __name__)
