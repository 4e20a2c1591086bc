# SPDX-License-Identifier: Apache-2.0
"""Page allocator against a model written from docs/interfaces.md ("Flash scheduler"): which die's page comes next,
which one it is, how many are left, which blocks fit.
"""

import os
import random
from collections import deque

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from cocotb_tests.bench.flash_bench import BLOCKS, PAGES, flash_geometry, shape, verilog
from cocotb_tests.bench.streams import Sink, Source, Stepper

PER_DIE = 5  # blocks: one open, four behind it
DEPTH = 8  # programs that a die's queue holds
PERIOD, WINDOW = 7, 13  # clocks from page to page; in which a die must have had the least to do
PLANES = int(os.environ.get("OTX_PLANES", "1"))


class Bench(Stepper):
    def __init__(self, dut, stall=0.0, seed=1):
        super().__init__(dut)
        self.c, self.w, _ = shape()
        self.way_bits = flash_geometry(self.c, self.w)._bits(self.w)
        rng = random.Random(seed)
        self.alloc = self.add(Sink(dut, "alloc", [], self.given, stall, rng, changes=True))
        self.free = self.add(Source(dut, "freeBlock", [], stall, rng, self.freed))
        self.alloc.open = False
        self.blocks = {(c, w): [] for w in range(self.w) for c in range(self.c)}  # in the order of allocation
        self.next = dict.fromkeys(self.blocks, 0)  # page in the open block
        # two blocks are open; None: the second came with the first page, so the next page says it
        self.pair = dict.fromkeys(self.blocks, False)
        self.turn = dict.fromkeys(self.blocks, False)  # the second one's page is next
        self.came = {}  # block: clock
        self.pairs = self.broken = 0  # pairs that were used up, that lost one
        self.pages, self.left, self.seen = [], 0, set()
        self.picks = []  # pages that were taken
        self.given_to = dict.fromkeys(self.blocks, False)  # a page was taken, its program has not entered
        self.seen_loads = deque(maxlen=WINDOW)  # clock by clock: load of each die that has a page
        self.preferred = 0  # pages of a die with less to do than another one with pages
        self.lefts = [0, 0]  # a clock ago and now: `allocLeft` is a clock late

    async def begin(self):
        cocotb.start_soon(Clock(self.dut.clk, 10, "ns").start())
        self.dut.reset.value, self.dut.retire_valid.value = 1, 0
        self.set_loads({}, enters=True)
        self.dut.idleDies.value = 1
        self.dut.rounds.value = 0
        for _ in range(3):
            await FallingEdge(self.dut.clk)
        self.dut.reset.value = 0
        return self

    def set_loads(self, loads, enters, room=None):
        """What the dies have to do, 0 if it is not said; whether programs enter their queues at once; how many more
        fit, all if it is not said.
        """
        self.loads = {die: loads.get(die, 0) for die in self.blocks}
        self.room = {die: (room or {}).get(die, DEPTH) for die in self.blocks}
        for (c, w), load in self.loads.items():
            getattr(self.dut, f"load_{c * self.w + w}").value = load
            getattr(self.dut, f"room_{c * self.w + w}").value = self.room[c, w]
        self.enters = enters
        self.dut.entered.value = (1 << self.c * self.w) - 1 if enters else 0

    def weight(self, die):
        """A die without room has more to do than any with room."""
        full = self.room[die] <= self.given_to[die]
        return 8 * full + self.loads[die] + (self.given_to[die] and self.loads[die] < 6)

    def block_id(self, die, block):
        return (die[0] << self.way_bits | die[1]) * BLOCKS + block

    def give(self, die, block):
        self.free.queue.append({"payload": self.block_id(die, block)})

    def die_of(self, block):
        return (block // BLOCKS >> self.way_bits, block // BLOCKS & (1 << self.way_bits) - 1)

    def freed(self, beat, clock):
        die = self.die_of(beat["payload"])
        self.blocks[die].append(beat["payload"])
        self.came[beat["payload"]] = clock
        self.left += PAGES

    def given(self, beat, clock):
        """A page must be the next of the oldest block of its die, or of the two oldest when they are of different
        planes.
        """
        page = beat["payload"]
        die = self.die_of(page // PAGES)
        self.left -= 1
        assert self.picks.pop(0) == page, "a page is given that was not picked, or another one"
        second = self.turn[die] or (self.pair[die] is None and page % PAGES == 0)
        if int(self.dut.idleDies.value) and not second:
            least = [loads.get(die) == min(loads.values()) for loads in self.seen_loads if loads]
            assert any(least), f"page of die {die}, which never had the least to do: {list(self.seen_loads)}"
            self.preferred += max(self.seen_loads[-1].values()) > self.seen_loads[-1][die]
        self.given_to[die] = True
        assert self.blocks[die], f"page {page:#x} of die {die}, which has no block"
        assert self.passes(die, page), f"page {page:#x} is not the next of die {die}"
        self.pages.append((die, page))

    def passes(self, die, page):
        """The die gives this page: what is open then. False: it is not the next one."""
        blocks = self.blocks[die]
        if self.pair[die] is None:
            self.pair[die] = self.turn[die] = page == blocks[1] * PAGES
            self.next[die] = int(not self.pair[die])
        number = self.next[die]
        if page != blocks[self.turn[die]] * PAGES + number:
            return False
        if number == 0 and not self.turn[die]:
            self.pair[die] = len(blocks) > 1 and (blocks[0] ^ blocks[1]) % PLANES != 0
            if self.pair[die] and self.came[blocks[1]] > self.clock - WINDOW:
                self.pair[die] = None
                return True
        if self.pair[die] and not self.turn[die]:
            self.turn[die] = True
            return True
        self.next[die] = (number + 1) % PAGES
        self.turn[die] = False
        if self.next[die] == 0:
            self.pairs += self.pair[die]
            del blocks[: 2 if self.pair[die] else 1]
            self.pair[die] = False
        return True

    async def retire(self, block):
        """A program failed in `block`: if it is open, its die goes on with the next one, or with the other of its pair.

        Returns whether it was open. All blocks came long ago."""
        die = self.die_of(block)
        blocks = self.blocks[die]
        assert not self.alloc.open and self.left == self.lefts[0] == self.lefts[1]
        self.dut.retire_valid.value, self.dut.retire_payload.value = 1, block
        await FallingEdge(self.dut.clk)
        self.dut.retire_valid.value = 0
        for _ in range(3):
            await FallingEdge(self.dut.clk)
        self.seen_loads.clear()
        if block not in blocks[: 2 if self.pair[die] else 1]:
            return False
        place, turn = blocks.index(block), self.turn[die]
        self.left -= PAGES - self.next[die] - (place == 0 and turn)
        blocks.pop(place)
        if not self.pair[die]:
            self.next[die] = 0
        elif place and turn:
            self.next[die] = (self.next[die] + 1) % PAGES
            if self.next[die] == 0:
                blocks.pop(0)
        self.broken += self.pair[die]
        self.pair[die] = self.turn[die] = False
        self.lefts = [self.left] * 2
        return True

    async def step(self):
        left = self.lefts.pop(0)
        await super().step()
        self.lefts.append(self.left)
        assert left == self.read_left, f"allocLeft is {self.read_left}, not {left}"

    def watch(self):
        """The values before the edge, after everything has settled."""
        bench = self

        class Watch:
            def drive(self):
                pass

            def sample(self, clock):
                bench.read_left = int(bench.dut.allocLeft.value)
                if int(bench.dut.picked_valid.value):
                    bench.picks.append(int(bench.dut.picked_payload.value))
                room = int(bench.dut.freeBlockRoom.value)
                bench.seen_loads.append({die: bench.weight(die) for die, blocks in bench.blocks.items() if blocks})
                if bench.enters:
                    bench.given_to = dict.fromkeys(bench.blocks, False)
                for (c, w), blocks in bench.blocks.items():
                    fits = room >> (c * bench.w + w) & 1
                    assert not fits or len(blocks) < PER_DIE, f"die {c, w} shows room with {len(blocks)} blocks"
                    if not fits:
                        bench.seen.add("full")

        self.add(Watch(), first=True)
        return self


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def pages_come_from_all_channels_before_the_next_way_and_rise_within_a_block(dut):
    b = await Bench(dut).watch().begin()
    for die in b.blocks:
        b.give(die, 3)
    await b.until(lambda: not b.free.queue)
    b.alloc.open = True
    await b.until(lambda: len(b.pages) == PAGES * len(b.blocks))
    dies = list(b.blocks)
    assert [die for die, _ in b.pages] == dies * PAGES
    await b.clocks(20)
    assert len(b.pages) == PAGES * len(dies) and b.left == 0, "a page was given twice"


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_page_is_given_in_every_seventh_clock(dut):
    b = await Bench(dut).watch().begin()
    for die in b.blocks:
        b.give(die, 1)
    await b.until(lambda: not b.free.queue)
    await b.clocks(PERIOD)
    b.alloc.open = True
    await b.clocks(PERIOD * PAGES * len(b.blocks))
    assert len(b.pages) == PAGES * len(b.blocks)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def dies_without_blocks_are_skipped(dut):
    b = await Bench(dut).watch().begin()
    last = list(b.blocks)[-1]
    b.give(last, 13)
    b.give(last, 5)  # of the same plane
    b.alloc.open = True
    await b.until(lambda: len(b.pages) == 2 * PAGES)
    base = [b.block_id(last, block) * PAGES for block in (13, 5)]
    assert [page for _, page in b.pages] == [start + i for start in base for i in range(PAGES)], (
        "blocks are used in the order they came"
    )


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_die_takes_five_blocks_and_says_when_one_more_fits(dut):
    b = await Bench(dut).watch().begin()
    die = next(iter(b.blocks))
    for block in range(PER_DIE + 1):
        b.give(die, block)
    await b.clocks(20)
    # one page lies ready at the port, so the open block is still in use
    assert len(b.free.queue) == 1 and len(b.blocks[die]) == PER_DIE
    assert not int(dut.freeBlockRoom.value) & 1
    assert int(dut.freeBlockRoom.value) == (1 << b.c * b.w) - 2, "the other dies have room"
    b.alloc.open = True
    await b.until(lambda: not b.free.queue)
    await b.until(lambda: b.left == 0)
    assert len(b.pages) == (PER_DIE + 1) * PAGES


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_block_that_comes_in_the_clock_in_which_another_ends_is_not_lost_or_doubled(dut):
    b = await Bench(dut).watch().begin()
    die = next(iter(b.blocks))
    b.alloc.open = True
    for delay in range(PAGES + 6):
        b.give(die, 2 * delay % BLOCKS)
        await b.clocks(delay)
        b.give(die, (2 * delay + 1) % BLOCKS)
        await b.until(lambda: not b.free.queue and b.left == 0)
        await b.clocks(4)
    assert len(b.pages) == 2 * (PAGES + 6) * PAGES


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def reset_forgets_all_blocks(dut):
    b = await Bench(dut).watch().begin()
    for die in b.blocks:
        b.give(die, 9)
    b.alloc.open = True
    await b.until(lambda: len(b.pages) == 3)
    again = Bench(dut).watch()
    again.set_loads({}, enters=True)
    dut.reset.value = 1
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.reset.value = 0
    again.alloc.open = True
    await again.clocks(20)
    assert not again.pages
    for die in again.blocks:
        again.give(die, 4)
    await again.until(lambda: len(again.pages) == PAGES * len(again.blocks))
    assert again.pages[0][1] % PAGES == 0


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_failing_block_is_left_for_the_next_one_and_other_blocks_are_not(dut):
    b = await Bench(dut).watch().begin()
    rng = random.Random(5)
    hits = 0
    for die in b.blocks:
        for block in range(3):
            b.give(die, block)
    await b.until(lambda: not b.free.queue)
    for _ in range(60):
        b.alloc.open = True
        await b.clocks(rng.randrange(PERIOD * PAGES))
        b.alloc.open = False
        await b.clocks(4)
        die = rng.choice(list(b.blocks))
        hits += await b.retire(b.block_id(die, rng.randrange(3)))
    b.alloc.open = True
    await b.until(lambda: b.left == 0)
    await b.clocks(20)
    assert hits >= min(3, len(b.blocks)) and int(dut.alloc_valid.value) == 0
    die = next(iter(b.blocks))
    b.give(die, 9)
    await b.until(lambda: b.left == PAGES - 1)
    assert b.pages[-1][1] == b.block_id(die, 9) * PAGES


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def random_blocks_and_stalls_agree_with_the_model(dut):
    seed = int(os.environ.get("SEED", "1"))
    dut._log.info("SEED=%d", seed)
    b = await Bench(dut, 0.3, seed).watch().begin()
    rng = random.Random(seed)
    given = 0
    for _ in range(120):
        b.alloc.open = rng.random() < 0.6
        if rng.random() < 0.5:
            die = rng.choice(list(b.blocks))
            for _ in range(rng.randrange(1, 4)):
                b.give(die, rng.randrange(BLOCKS))
                given += 1
        await b.clocks(rng.randrange(30))
    b.alloc.open = True
    await b.until(lambda: not b.free.queue and b.left == 0)
    assert len(b.pages) == given * PAGES and given > 50
    assert "full" in b.seen, "no die was ever full"


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def random_loads_agree_with_the_model(dut):
    seed = int(os.environ.get("SEED", "1"))
    b = await Bench(dut, 0.3, seed).watch().begin()
    rng = random.Random(seed)
    b.alloc.open = True
    for _ in range(300):
        if rng.random() < 0.3:
            b.give(rng.choice(list(b.blocks)), rng.randrange(BLOCKS))
        if rng.random() < 0.5:
            loads = {die: rng.randrange(8) for die in b.blocks if rng.random() < 0.7}
            b.set_loads(loads, rng.random() < 0.8, {die: rng.randrange(3) for die in b.blocks if rng.random() < 0.5})
        await b.clocks(rng.randrange(40))
    assert len(b.pages) > 100 and (len(b.blocks) == 1 or b.preferred > 20)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def pages_are_those_of_idle_dies(dut):
    b = await Bench(dut).watch().begin()
    for die in b.blocks:
        for block in (3, 7, 11, 15):
            b.give(die, block)
    await b.until(lambda: not b.free.queue)
    b.alloc.open = True
    for idle in b.blocks:
        for busy in (2, 3, 6, 7):  # a page that was taken counts as one for a clock at least
            b.set_loads({die: busy for die in b.blocks if die != idle}, True)
            await b.clocks(2 * WINDOW)
            count = len(b.pages)
            await b.clocks(4 * PERIOD)
            assert {die for die, _ in b.pages[count:]} <= {idle} and len(b.pages) >= count + 2


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def an_erase_is_more_than_a_long_queue(dut):
    b = await Bench(dut).watch().begin()
    for die in b.blocks:
        b.give(die, 3)
    long = list(b.blocks)[-1]
    b.set_loads({die: 6 if die == long else 7 for die in b.blocks}, True)
    await b.until(lambda: not b.free.queue)
    await b.clocks(WINDOW)
    b.alloc.open = True
    await b.until(lambda: len(b.pages) == PAGES // 2)
    assert {die for die, _ in b.pages} == {long}


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_full_queue_is_more_than_an_erase_and_is_no_end(dut):
    b = await Bench(dut).watch().begin()
    dies = list(b.blocks)
    for die in dies:
        b.give(die, 3)
    erased = dies[-1]
    b.set_loads({die: 7 if die == erased else 5 for die in dies}, True, {die: 2 * (die == erased) for die in dies})
    await b.until(lambda: not b.free.queue)
    await b.clocks(2 * WINDOW)
    b.alloc.open = True
    await b.until(lambda: len(b.pages) == PAGES)
    assert {die for die, _ in b.pages} == {erased}
    await b.until(lambda: len(b.pages) == PAGES * len(dies))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def places_are_those_of_the_dies_with_pages(dut):
    b = await Bench(dut).watch().begin()
    rng = random.Random(3)
    for n, die in enumerate(b.blocks):
        await b.clocks(12)
        room = {die: rng.randrange(DEPTH + 1) for die in b.blocks}
        b.set_loads({}, True, room)
        await b.clocks(11)
        assert int(dut.places.value) == sum(room[d] for d in list(b.blocks)[:n])
        b.give(die, 3)
        await b.until(lambda: not b.free.queue)
        await b.clocks(11)
        assert int(dut.places.value) == sum(room[d] for d in list(b.blocks)[: n + 1])
    b.alloc.open = True
    await b.until(lambda: b.left == 0)
    await b.clocks(11)
    assert int(dut.places.value) == 0


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def reach_is_what_some_rounds_of_programs_can_save(dut):
    """The sum of the pages of each die, but at most so many of each."""
    b = await Bench(dut).watch().begin()
    rng = random.Random(4)
    walk = 2 * len(b.blocks) + 6

    def gives(die):
        blocks = b.blocks[die]
        pair, second = bool(b.pair[die]), bool(b.turn[die])
        return len(blocks) * PAGES - b.next[die] - pair * (b.next[die] + second)

    for _ in range(40):
        b.alloc.open = False
        dut.rounds.value = rounds = rng.choice([0, 1, rng.randrange(PAGES), PAGES + 3, 5 * PAGES, 60_000])
        die = rng.choice(list(b.blocks))
        for _ in range(min(3, PER_DIE - 1 - len(b.blocks[die]))):
            b.give(die, rng.randrange(BLOCKS))
        await b.until(lambda: not b.free.queue)
        await b.clocks(walk)
        want = sum(min(gives(die), rounds) for die in b.blocks)
        assert sum(map(gives, b.blocks)) == b.left and int(dut.reach.value) == want, f"{rounds} rounds"
        b.alloc.open = True
        await b.clocks(rng.randrange(PERIOD * PAGES))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_page_on_offer_is_another_one_when_its_die_gets_work(dut):
    b = await Bench(dut).watch().begin()
    for die in b.blocks:
        b.give(die, 3)
    await b.until(lambda: not b.free.queue)
    await b.clocks(2 * WINDOW)
    offered = b.die_of(int(dut.alloc_payload.value) // PAGES)
    b.set_loads({offered: 7}, True)
    await b.clocks(2 * WINDOW)
    b.alloc.open = True
    await b.until(lambda: b.pages)
    assert len(b.blocks) == 1 or b.pages[0][0] != offered


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_page_that_was_taken_counts_until_its_program_enters(dut):
    b = await Bench(dut).watch().begin()
    dies = list(b.blocks)
    for die in dies:
        b.give(die, 3)
    b.set_loads(dict.fromkeys(dies[1:], 1), enters=False)
    await b.until(lambda: not b.free.queue)
    await b.clocks(2 * WINDOW)
    b.alloc.open = True
    await b.until(lambda: len(b.pages) == len(dies))
    assert {die for die, _ in b.pages} == set(dies)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def with_the_rule_off_dies_are_in_turn_whatever_they_have_to_do(dut):
    b = await Bench(dut).watch().begin()
    dut.idleDies.value = 0
    dies = list(b.blocks)
    for die in dies:
        b.give(die, 3)
    b.set_loads({die: i % 8 for i, die in enumerate(dies)}, True)
    await b.until(lambda: not b.free.queue)
    b.alloc.open = True
    await b.until(lambda: len(b.pages) == PAGES * len(dies))
    assert [die for die, _ in b.pages] == dies * PAGES


@cocotb.test(timeout_time=1, timeout_unit="ms", skip=PLANES == 1)
async def two_blocks_of_different_planes_are_used_together(dut):
    b = await Bench(dut).watch().begin()
    die = next(iter(b.blocks))
    # 1 and 3, which come first, are of different planes if there are four, 5 and 8 too if there are two
    for block in (1, 3, 4, 5, 8, 12):
        b.give(die, block)
    await b.clocks(2 * WINDOW)
    b.alloc.open = True
    await b.until(lambda: not b.free.queue and b.left == 0)
    open_together = [(1,), (3, 4), (5, 8), (12,)] if PLANES == 2 else [(1, 3), (4, 5), (8,), (12,)]
    wanted = [b.block_id(die, block) * PAGES + n for blocks in open_together for n in range(PAGES) for block in blocks]
    assert [page for _, page in b.pages] == wanted


@cocotb.test(timeout_time=1, timeout_unit="ms", skip=PLANES == 1)
async def a_late_pair_is_one(dut):
    """The second block comes when the first page of the other one is on offer, alone."""
    b = await Bench(dut).watch().begin()
    die = next(iter(b.blocks))
    b.give(die, 4)
    await b.clocks(100)
    b.give(die, 5)
    await b.clocks(2 * WINDOW)
    b.alloc.open = True
    await b.until(lambda: not b.free.queue and b.left == 0)
    assert [page for _, page in b.pages] == [
        b.block_id(die, block) * PAGES + n for n in range(PAGES) for block in (4, 5)
    ]


@cocotb.test(timeout_time=2, timeout_unit="ms", skip=PLANES == 1)
async def a_pair_that_loses_one_goes_on_with_the_other(dut):
    """Either one, after any number of its pages, the last ones too."""
    b = await Bench(dut).watch().begin()
    die = next(iter(b.blocks))
    for lost in range(2):
        for after in range(2 * PAGES + 1):
            b.alloc.open = False
            for block in range(4):
                b.give(die, block)
            await b.until(lambda: not b.free.queue)
            await b.clocks(2 * WINDOW)
            count = len(b.pages) + after
            b.alloc.open = after > 0
            while len(b.pages) < count:
                await b.step()
                b.alloc.open = len(b.pages) < count
            await b.clocks(6)
            await b.retire(b.block_id(die, lost))
            if after == 2 * PAGES:  # the next pair is not open yet
                assert not await b.retire(b.block_id(die, 3))
            b.alloc.open = True
            await b.until(lambda: b.left == 0)
            await b.clocks(4)
            assert int(dut.alloc_valid.value) == 0
    assert b.broken > 2 * PAGES


@pytest.mark.parametrize("channels,ways,planes", [(2, 2, 1), (3, 3, 1), (1, 1, 1), (1, 1, 2), (2, 2, 4)])
def test_page_allocator(channels, ways, planes):
    from cocotb_tests.bench.runner import run

    env = {"OTX_CHANNELS": str(channels), "OTX_WAYS": str(ways), "OTX_PLANES": str(planes)}
    run("otx_page_allocator", [verilog("otx_page_allocator", channels, ways, planes=planes)], __name__, env=env)
