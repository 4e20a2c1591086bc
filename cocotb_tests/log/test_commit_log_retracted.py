# SPDX-License-Identifier: Apache-2.0
"""Tests of otx_commit_log: offers that are taken back before the log has taken them, others in their place.

OTX_VERILOG_DIR (may hold `{preset}`) says where the generated Verilog is.
"""

import random

import cocotb
import pytest

from cocotb_tests.bench.log_bench import bench, plain
from cocotb_tests.bench.log_start import start

MOST = 32  # entries of a group


class Fickle:
    """`drive` of the append stream: an offer that is not taken is taken back in one of eight clocks; between groups the
    next group may come in its place."""

    def __init__(self, b, rng):
        self.b, self.rng, self.pause, self.retracted, self.exchanged = b, rng, 0, 0, 0
        self.source, self.drive_on = b.append_in, b.append_in.drive
        b.append_in.drive = self.drive

    def drive(self, go):
        if self.source.shown and self.rng.random() < 0.12:
            self.source.shown = False
            self.source.valid.set(0)
            self.retracted += 1
            self.pause = self.rng.randrange(2)
            self.exchange()
        elif self.pause:
            self.pause -= 1
        else:
            self.drive_on(go)

    def exchange(self):
        plan, head, queue = self.b.model.plan, self.b.model.head, self.source.queue
        if head and not plan[head - 1].last or len(queue) <= 2 * MOST or self.rng.random() < 0.4:
            return
        first = plan[head].n
        end = head + first + plan[head + first].n
        plan[head:end] = plan[head + first : end] + plan[head : head + first]
        beats = [queue.popleft() for _ in range(end - head)]
        queue.extendleft(reversed(beats[first:] + beats[:first]))
        self.exchanged += 1


@cocotb.test()
async def no_group_is_torn_and_no_entry_taken_twice_when_offers_are_taken_back(dut):
    rng = random.Random(1)
    b = await bench(dut, stall=0.1)
    b.auto_blocks = b.model.retracts = True
    fickle, moves = Fickle(b, rng), 0
    for _ in range(250):
        b.group(*plain(rng.choice([1, 1, 2, 5, 31, MOST]), rng.randrange(1000), sequence=rng.getrandbits(48)))
        while len(b.append_in.queue) >= 150:
            if rng.random() < 0.03 and len(b.tags) > 2:
                b.wait(1, b.model.head + rng.randrange(60), after=0)
            if rng.random() < 0.05 and not b.relocates.queue:
                moves += 1
                b.relocate(lpn=rng.randrange(1000), sequence=rng.getrandbits(30), location=1 << 30 | 5)
            b.slow_memory = rng.choice([0, 2, 5, 5])
            await b.clocks(rng.randrange(60))
    await b.until(lambda: not b.append_in.queue, 20000)
    await b.until(lambda: b.model.watermark == len(b.model.plan), 20000)
    await b.flushed()
    await b.clocks(20)
    b.whole()
    for page in b.model.pages:
        places = [(entry.i, entry.n) for entry in page.entries]
        whole = [(i, n) for at, n in places if at == 0 for i in range(n)]
        assert places == whole, "a page does not hold whole groups"
    dut._log.info("%d offers taken back, %d exchanged, %d moves", fickle.retracted, fickle.exchanged, moves)
    assert fickle.retracted > 500 and fickle.exchanged > 30 and moves > 10


@pytest.mark.parametrize("preset", ["tiny"])
def test_commit_log_retracted(preset):
    start(preset, __name__)
