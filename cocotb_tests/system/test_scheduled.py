# SPDX-License-Identifier: Apache-2.0
"""otx-sched before the whole drive (preset quick4): an application puts writes of epochs and orderless ones into the
scheduler, what leaves it goes to the drive, up to 32 at once, and the power fails. What the application saw is judged
against the contract with its own barriers, not with where the scheduler put them. `SEED=` moves it.

The judge must also see a scheduler that loses barriers, and one that lets the next epoch in too early.
"""

import os
import random

import pytest

from cocotb_tests.bench.amount import LONG
from cocotb_tests.bench.epoch_queue import Queue
from judge import judge_lines
from opentxssd import BLOCK, Drive, Opcode
from opentxssd.record import block_of, stamp_of

pytestmark = pytest.mark.forked
SEED = int(os.environ.get("SEED", "1"))
LBAS, LIVES = 40, 100 if LONG else 6


class Application:
    """Writes through a scheduler; `events` is its history."""

    def __init__(self, drive, rng, queue, barriers=True):
        self.drive, self.rng, self.queue, self.barriers = drive, rng, queue, barriers
        self.events = [{"history": 1, "lbas": drive.lbas, "preset": "quick4"}]
        self.ids = self.stamps = 0
        self.data = {}  # of a request that waits: its blocks
        self.flight = {}  # tag -> ids of the parts
        self.merged = 0

    def put(self):
        """One more write, unless the queue does not take it now."""
        self.ids += 1
        n, kind = self.rng.randint(1, 3), self.rng.random()
        words = {"lba": self.rng.randrange(LBAS - n), "count": n, "ordered": kind < 0.7, "barrier": kind < 0.25}
        if self.queue.put(self.ids, **words) != "TAKEN":
            return
        stamps = [*range(self.stamps + 1, self.stamps + n + 1)]
        self.stamps += n
        self.data[self.ids] = b"".join(map(block_of, stamps))
        event = {"e": "submit", "id": self.ids, "op": "WRITE", "lba": words["lba"], "n": n, "data": stamps}
        if words["barrier"]:
            event["barrier"] = 1
        elif not words["ordered"]:
            event["orderless"] = 1
        self.events.append(event)

    def dispatch(self):
        left = self.queue.take() if len(self.flight) < 31 else None
        if left is None:
            return
        d, names = left
        data = b"".join(self.data.pop(name) for name in names)
        tag = self.drive.submit(
            Opcode.WRITE, d.lba, d.count, data, barrier=int(d.barrier and self.barriers), orderless=int(not d.ordered)
        )
        self.flight[tag] = names
        self.merged += len(names) > 1

    def hurry(self):
        """A FUA write beside the scheduler: the log is written, and tells of pages that are under way."""
        if len(self.flight) == 32:
            return
        self.ids += 1
        self.stamps += 1
        lba = LBAS + self.rng.randrange(4)
        event = {"op": "WRITE", "lba": lba, "n": 1, "fua": 1, "orderless": 1, "data": [self.stamps]}
        self.events.append({"e": "submit", "id": self.ids} | event)
        tag = self.drive.submit(Opcode.WRITE, lba, 1, block_of(self.stamps), fua=1, orderless=1)
        self.flight[tag] = [self.ids]

    def step(self, clocks):
        self.drive.step(clocks)
        while (done := self.drive.poll()) is not None:
            assert done.status == 0
            self.events += ({"e": "done", "id": name, "status": "SUCCESS"} for name in self.flight.pop(done.tag))

    def life(self):
        """Some writes, a cut, and a look at all blocks. Those that the scheduler still had are gone."""
        for _ in range(self.rng.randint(10, 60)):
            for _ in range(self.rng.randint(0, 4)):
                self.put()
            for _ in range(self.rng.randint(0, 4)):
                self.dispatch()
            if self.rng.random() < 0.2:
                self.hurry()
            self.step(self.rng.choice((0, 300, 2000)))
        self.drive.power_cut(seed=self.rng.randrange(1 << 16))
        self.flight, self.data = {}, {}
        self.events.append({"e": "cut"})
        self.drive.power_on()
        self.events.append({"e": "up", **self.drive.mounted()})
        self.look(0, 22)
        self.look(22, 22)

    def look(self, lba, n):
        self.ids += 1
        self.events.append({"e": "submit", "id": self.ids, "op": "READ", "lba": lba, "n": n})
        data = self.drive.read(lba, n)
        stamps = [stamp_of(data[k * BLOCK :][:BLOCK]) for k in range(n)]
        self.events.append({"e": "done", "id": self.ids, "status": "SUCCESS", "data": stamps})


def lives(queue, barriers=True, most=LIVES):
    """The verdict on so many lives of a drive, or on as many as it took to see that one is wrong."""
    drive, rng = Drive("quick4"), random.Random(SEED)
    app = Application(drive, rng, queue(), barriers)
    for _ in range(most):
        app.life()
        app.queue = queue()  # the scheduler's memory is gone too
        verdict = judge_lines(app.events)
        if not verdict.good:
            return app, verdict
    return app, verdict


@pytest.mark.parametrize("elevator", [False, True])
def test_what_an_application_put_in_order_survives_cuts_in_order(elevator):
    app, verdict = lives(lambda: Queue(room=32, elevator=elevator, patience=8))
    assert verdict.good, verdict.violations
    ops = [event for event in app.events if event.get("op") == "WRITE"]
    assert sum("barrier" in event for event in ops) > LIVES and (app.merged > LIVES) == elevator
    assert sum("orderless" in event for event in ops) > LIVES


def test_a_scheduler_that_loses_barriers_is_seen():
    _, verdict = lives(lambda: Queue(room=32, elevator=True, patience=8), barriers=False, most=40)
    assert not verdict.good and verdict.violations[0].guarantees[0] == 9, verdict.violations


class Hasty(Queue):
    """Takes order-preserving requests of the next epoch while one is closed, as orderless ones."""

    def put(self, name, lba, count, ordered, barrier):
        result = super().put(name, lba, count, ordered=ordered, barrier=barrier)
        return super().put(name, lba, count) if result == "BLOCKED" else result


def test_a_scheduler_that_lets_the_next_epoch_in_too_early_is_seen():
    _, verdict = lives(lambda: Hasty(room=32, elevator=True, patience=8), most=40)
    assert not verdict.good and verdict.violations[0].guarantees[0] == 9, verdict.violations
