# SPDX-License-Identifier: Apache-2.0
"""Priority classes in the command queue, against the model of whose turn it is (models/class_order.py)."""

import os
import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge, with_timeout

from cocotb_tests.bench.amount import amount
from cocotb_tests.bench.command_bench import (
    BARRIER,
    FLUSH,
    LOG_OPEN,
    ORDERED,
    READ,
    TRIM,
    VERILOG,
    WRITE,
    Bench,
    command,
)
from cocotb_tests.models.class_order import ClassOrder, most_passed, rank, turns
from opentxssd.facts import Priority

MEDIUM, LOW, HIGH, URGENT = Priority


class ClassBench(Bench):
    def setting(self, high=8, medium=4, low=2, patience=32):
        self.dut.classTurns.value = turns(high, medium, low, patience)
        self.model = ClassOrder((low, medium, high), patience)

    async def all_at_once(self, commands):
        """They enter behind an ORDERED one that has gone. It ends when all are there, and lifted: all may go then."""
        await self.submit(command(FLUSH, 31, order=ORDERED))
        for _ in range(30):
            await FallingEdge(self.dut.clk)
        for c in commands:
            await self.submit(c)
        for _ in range(120):
            await FallingEdge(self.dut.clk)
        self.counted = len(self.sent)
        own = [rank(self.classes[31])]
        self.model.goes(*own, own, own)
        await self.done.send(tag=31)

    async def reset(self):
        """All has completed; turns and ages begin again."""
        self.dut.reset.value = 1
        for _ in range(2):
            await FallingEdge(self.dut.clk)
        self.dut.reset.value = 0
        await FallingEdge(self.dut.clk)


def expected(model, ranks):
    """The order in which commands of these ranks go that all may go and have no room to wait for."""
    left, order = list(ranks), []
    while left:
        wants = sorted(set(left))
        order.append(model.choice(wants))
        model.goes(order[-1], wants, wants)
        left.remove(order[-1])
    return order


@cocotb.test()
async def classes_go_in_the_order_of_the_model(dut):
    seed = int(os.environ.get("SEED", "1"))
    dut._log.info("SEED=%d", seed)
    rng = random.Random(seed)
    b = ClassBench(dut, seed, hold=True)
    b.setting()
    await b.begin()
    for n in range(amount(12, 60)):
        if n:
            b.setting(rng.randint(1, 16), rng.randint(1, 9), rng.randint(1, 4), rng.choice([3, 4, 7, 12, 66]))
        await b.reset()
        some = rng.sample(list(Priority), rng.randint(2, 4))
        classes = [rng.choice(some) for _ in range(31)]
        await b.all_at_once([command(READ, t, lba=t * 20, count=1, priority=p) for t, p in enumerate(classes)])
        await b.goes(*range(31), clocks=400)
        went = [rank(c["priority"]) for c in b.sent[-31:]]
        assert went == expected(b.model, map(rank, classes)), went
        for tag in range(31):
            await b.done.send(tag=tag)
        await with_timeout(b.drain(), 10, "us")


@cocotb.test()
async def kinds_of_a_class_have_turns_whatever_other_classes_do(dut):
    """URGENT has READs and FLUSHes, LOW too, and each goes in turn: with weights of 1 a class has no two in a row."""
    b = ClassBench(dut, hold=True)
    b.setting(1, 1, 1, 3)
    await b.begin()
    ops, tags = (READ, FLUSH), iter(range(31))
    commands = [
        command(op, next(tags), lba=20 * n, count=1, priority=p) for n in range(5) for op in ops for p in (HIGH, LOW)
    ]
    await b.all_at_once(commands)
    await b.goes(*[c["tag"] for c in commands], clocks=400)
    for p in (HIGH, LOW):
        kinds = [c["opcode"] for c in b.sent[1:] if c["priority"] == p]
        assert all(x != y for x, y in zip(kinds, kinds[1:], strict=False)), f"class {p}: {kinds}"


@cocotb.test()
async def no_class_is_passed_over_more_often_than_its_bound(dut):
    """The queue is full all the time. A command that was accepted 30 clocks ago may go: none conflicts."""
    seed = int(os.environ.get("SEED", "1"))
    rng, worst = random.Random(seed), [-9] * 4
    b = ClassBench(dut, seed)
    b.setting()
    await b.begin()
    for _ in range(amount(4, 20)):
        patience = rng.choice([3, 5, 9])
        b.setting(rng.randint(1, 16), rng.randint(1, 6), rng.randint(1, 3), patience)
        await b.reset()
        accepted, passed = {}, [0] * 4
        bound = [patience, patience + 1, patience + 2, 3]
        share = [rng.choice([0.02, 0.1, 1]) for _ in range(4)]

        def goes(beat, clock, accepted=accepted, passed=passed, bound=bound):
            Bench.dispatched(b, beat, clock)
            gone = rank(b.under_way[beat["tag"]]["priority"])
            accepted[beat["tag"]][1] = True
            waiting = (t for t in b.under_way if not accepted[t][1] and accepted[t][0] + 30 < b.clock)
            waits = {rank(b.under_way[t]["priority"]) for t in waiting} - {gone}
            for r in range(4):
                passed[r] = passed[r] + 1 if r in waits else 0
                worst[r] = max(worst[r], passed[r] - bound[r])
                assert passed[r] <= bound[r], f"rank {r} was passed over {passed[r]} times"

        b.out.got, b.clock = goes, 0

        async def count():
            while True:
                await FallingEdge(dut.clk)
                b.clock += 1

        counter = cocotb.start_soon(count())
        for n in range(amount(300, 600)):
            while not (free := [t for t in range(32) if t not in b.under_way]):
                await FallingEdge(dut.clk)
            c = command(READ, rng.choice(free), lba=n, count=1, priority=rng.choices(list(Priority), share)[0])
            accepted[c["tag"]] = [b.clock + 10_000, False]
            await b.submit(c)
            accepted[c["tag"]][0] = b.clock
        await with_timeout(b.drain(), 100, "us")
        counter.cancel()
    dut._log.info("nearest to the bounds, LOW to URGENT: %s", worst)
    assert max(worst[:3]) >= -2, "the bounds were hardly tried"


@cocotb.test()
@cocotb.parametrize(short=[{"allocLeft": 0}, {"logLeft": LOG_OPEN}, {"takes": 0}])
async def a_class_without_room_is_not_passed_over_for_ever(dut, short):
    """Room comes for one command at a time, and there is always an URGENT one that needs it, too."""
    b = ClassBench(dut, hold=True)
    b.setting(patience=6)
    await b.begin()
    op = TRIM if "logLeft" in short else WRITE
    b.set(**short)
    went = []
    for n in range(12):
        for tag in (0, 1, 2):
            if tag not in b.under_way:
                await b.submit(command(op, tag, lba=tag * 20, count=1, priority=URGENT))
        if not n:
            await b.submit(command(op, 30, lba=600, count=1, priority=LOW))
        await b.submit(command(READ, 3 + n, lba=700, count=1, priority=URGENT))
        for _ in range(50):
            await FallingEdge(dut.clk)
        seen = len(b.sent)
        b.set(**{k: v + 1 for k, v in short.items()})
        while not any(c["opcode"] == op for c in b.sent[seen:]):
            await FallingEdge(dut.clk)
        b.set(**short)
        for _ in range(40):
            await FallingEdge(dut.clk)
        for c in b.sent[seen:]:
            if c["opcode"] == op:
                went.append(c["tag"])
                if op == WRITE:
                    await b.settled(1)
                await b.done.send(tag=c["tag"])
        for _ in range(10):
            await FallingEdge(dut.clk)
        if 30 in went:
            break
    assert 30 in went and 0 in went, f"{went} went"


@cocotb.test()
async def who_waits_for_a_command_lifts_it_and_those_that_it_waits_for(dut):
    b = ClassBench(dut, hold=True)
    b.setting(patience=66)
    await b.begin()
    chain = [
        command(TRIM, 20, lba=0, count=2, priority=LOW),
        command(TRIM, 5, lba=1, count=2, priority=LOW),
        command(READ, 9, lba=2, count=1, priority=URGENT),
    ]
    other = command(TRIM, 21, lba=900, count=1, priority=LOW)
    high = [command(READ, 10 + n, lba=100 + n, count=1, priority=HIGH) for n in range(8)]
    await b.all_at_once([other, *chain, *high])
    done = 0
    for _ in range(300):
        await FallingEdge(dut.clk)
        for c in b.sent[b.counted + done :]:
            done += 1
            await b.done.send(tag=c["tag"])
    went = [c["tag"] for c in b.sent[1:]]
    places = [went.index(c["tag"]) for c in chain]
    dut._log.info("%s went", went)
    assert places == sorted(places) and went[0] == 20 and went.index(5) <= 4 and went[-1] == 21, went
    assert [b.classes[t] for t in (20, 5, 9, 21)] == [URGENT, URGENT, URGENT, LOW]


@cocotb.test()
@cocotb.parametrize(closes=[command(BARRIER, 6, priority=LOW), command(TRIM, 6, lba=40, count=1, barrier=1)])
async def what_a_barrier_keeps_waiting_lifts_the_epochs_before_it(dut, closes):
    b = ClassBench(dut, hold=True)
    b.setting(patience=66)
    await b.begin()
    low = [command(TRIM, n, lba=20 * n, count=1, priority=LOW) for n in range(2)]
    loose = command(TRIM, 7, lba=200, count=1, orderless=1, priority=LOW)
    behind = command(TRIM, 8, lba=300, count=1, priority=URGENT)
    high = [command(READ, 10 + n, lba=400 + n, count=1, priority=HIGH) for n in range(8)]
    await b.all_at_once([loose, *low, closes | dict(priority=LOW), behind, *high])
    await b.goes(0, 1, 6, 7, 8, *range(10, 18), clocks=300)
    went = [c["tag"] for c in b.sent[1:]]
    places = [went.index(t) for t in (0, 1, 6, 8)]  # a READ goes while one of them is on its way
    assert all(n <= 2 * i + 2 for i, n in enumerate(places)) and went[-1] == 7, went


@cocotb.test()
async def an_urgent_write_waits_behind_one_other_that_waits_for_room(dut):
    b = ClassBench(dut, hold=True)
    b.setting(patience=66)
    await b.begin()
    b.set(allocLeft=0)
    for tag in range(6):
        await b.submit(command(WRITE, tag, lba=tag * 40, count=1, priority=LOW))
    await b.submit(command(WRITE, 30, lba=900, count=1, priority=URGENT))
    await b.goes()
    b.set(allocLeft=2000)
    await b.goes(*range(6), 30, clocks=300)
    assert [c["tag"] for c in b.sent].index(30) == 1, [c["tag"] for c in b.sent]


@cocotb.test()
async def reads_wait_for_the_read_path_and_nobody_else_does(dut):
    b = ClassBench(dut, hold=True)
    b.setting()
    await b.begin()
    b.set(takesReads=0)
    for tag, op in enumerate([READ, FLUSH, READ, TRIM]):
        await b.submit(command(op, tag, lba=20 * tag, count=1, priority=URGENT if tag == 2 else LOW))
    await b.goes(1, 3)
    b.set(takesReads=1)
    await b.goes(0, 2)
    assert [c["tag"] for c in b.sent][2:] == [2, 0]


def test_command_classes():
    from cocotb_tests.bench.runner import run

    run("otx_command_queue", [f"{VERILOG}/otx_command_queue.v"], __name__)


@pytest.mark.parametrize("weights, patience", [((1, 1, 1), 3), ((1, 2, 3), 4), ((1, 1, 2), 6)])
def test_bounds_are_those_of_the_model(weights, patience):
    assert most_passed(weights, patience) == [patience, patience + 1, patience + 2, 3]
