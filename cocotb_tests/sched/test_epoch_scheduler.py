# SPDX-License-Identifier: Apache-2.0
"""The C library otx-sched against cocotb_tests/models/epoch_model.py: the paper's example, and random puts
and gets (hypothesis; the same ones in each run)."""

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from cocotb_tests.bench.amount import LONG
from cocotb_tests.bench.epoch_queue import Queue
from cocotb_tests.models.epoch_model import EpochModel

ROOT = Path(__file__).resolve().parent.parent.parent

# w1, w2 and w4 are order-preserving, w4 with the barrier, w3, w5 and w6 orderless; places as the paper's queue leaves
PAPER = {1: 50, 2: 10, 3: 20, 4: 30, 5: 40, 6: 60}


def fill(queue):
    for name in (1, 2, 3, 5):
        assert queue.put(name, PAPER[name], ordered=name < 3) == "TAKEN"
    assert queue.put(4, PAPER[4], barrier=True) == "TAKEN"


def test_the_example_of_the_paper():
    queue = Queue(elevator=True, block_all=True)
    fill(queue)
    assert queue.put(6, PAPER[6]) == "BLOCKED"
    assert queue.rest() == [([2], False), ([3], False), ([4], False), ([5], False), ([1], True)]
    assert queue.put(6, PAPER[6]) == "TAKEN"


def test_orderless_requests_pass_between_epochs():
    queue = Queue(elevator=True)
    fill(queue)
    assert queue.put(6, 5) == "TAKEN"
    assert queue.put(7, 70, ordered=True) == "BLOCKED" and queue.put(8, 80, barrier=True) == "BLOCKED"
    assert queue.rest() == [([6], False), ([2], False), ([3], False), ([4], False), ([5], False), ([1], True)]
    queue = Queue()
    fill(queue)
    queue.put(6, 60)
    assert queue.rest() == [([1], False), ([2], False), ([3], False), ([5], False), ([4], True), ([6], False)]


def test_a_barrier_alone_keeps_its_barrier_and_one_that_is_merged_gives_it_to_the_whole():
    queue = Queue(elevator=True)
    queue.put(1, 7, barrier=True)
    assert queue.rest() == [([1], True)]
    queue.put(2, 9, ordered=True)
    queue.put(3, 8, 1)
    queue.put(4, 10, 2, barrier=True)
    assert queue.rest() == [([3, 2, 4], True)]


def test_no_more_than_32_blocks_are_merged():
    queue = Queue(elevator=True)
    for name in range(1, 8):
        queue.put(name, 6 * name, 6)
    assert [names for names, _ in queue.rest()] == [[1, 2, 3, 4, 5], [6, 7]]
    for name in range(1, 34):
        queue.put(name, name)
    assert [len(names) for names, _ in queue.rest()] == [32, 1]


def test_versions_of_a_block_leave_in_their_order():
    queue = Queue(elevator=True)
    for name, lba in enumerate((9, 8, 9, 8, 9), 1):
        queue.put(name, lba)
    queue.put(6, 8, 2, write=False)
    assert [names for names, _ in queue.rest()] == [[2, 1], [4, 3], [5], [6]]


def test_a_full_queue_says_so_and_a_wrong_request_changes_nothing():
    queue = Queue(room=2)
    for lba, count, write, ordered in ((0, 0, True, False), (0, 33, True, False), (2**32 - 2, 3, True, False)):
        assert queue.put(9, lba, count, write, ordered) == "WRONG"
    assert queue.put(9, 0, 1, False, True) == "WRONG" and queue.put(9, 0, 1, False, False, True) == "WRONG"
    assert [queue.put(n, n, barrier=n == 2) for n in (1, 2)] == ["TAKEN", "TAKEN"]
    assert queue.put(3, 3) == "FULL" and queue.put(3, 3, ordered=True) == "BLOCKED"
    assert queue.get() == ([1], False) and queue.put(3, 3) == "TAKEN"
    assert queue.rest() == [([2], True), ([3], False)]


def test_nobody_is_passed_for_ever():
    for patience, most in ((0, None), (3, 3)):
        queue = Queue(elevator=True, patience=patience)
        queue.put(1, 5, ordered=True)
        queue.put(2, 1000)
        queue.get()
        queue.put(3, 0, barrier=True)  # behind the head, so it comes last
        passed = 0
        for name in range(4, 60):
            queue.put(name, 1000 + 3 * name)
            names, _ = queue.get()
            if 3 in names:
                break
            passed += 1
        assert (passed == 56) if most is None else passed <= most + 1


COUNTS = {"puts": 0, "BLOCKED": 0, "FULL": 0, "merged": 0, "barriers": 0, "passed": 0, "waits": 0}


class Machine(RuleBasedStateMachine):
    @initialize(
        room=st.sampled_from([1, 3, 8, 16, 32]),
        elevator=st.booleans(),
        block_all=st.booleans(),
        patience=st.sampled_from([0, 2, 5]),
    )
    def start(self, room, elevator, block_all, patience):
        self.queue, self.name = Queue(room, elevator, block_all, patience), 1

    def put_one(self, **words):
        result = self.queue.put(self.name, **words)
        self.name += 1
        COUNTS["puts"] += 1
        if result in COUNTS:
            COUNTS[result] += 1

    @rule(lba=st.integers(0, 20), count=st.integers(1, 4))
    def put_orderless(self, lba, count):
        self.put_one(lba=lba, count=count)

    @rule(lba=st.integers(0, 20), count=st.integers(1, 4))
    def put_read(self, lba, count):
        self.put_one(lba=lba, count=count, write=False)

    @rule(which=st.integers(0, 31), count=st.integers(1, 12), ordered=st.booleans())
    def put_beside(self, which, count, ordered):
        """Behind one that is in the queue."""
        waiting = self.queue.model.queue
        if waiting:
            other = waiting[which % len(waiting)]
            self.put_one(lba=other.lba + other.count, count=count, write=other.write, ordered=ordered and other.write)

    @rule(lba=st.integers(0, 20), count=st.integers(1, 20))
    def put_ordered(self, lba, count):
        self.put_one(lba=lba, count=count, ordered=True)

    @rule(lba=st.integers(0, 20), count=st.integers(1, 4))
    def put_barrier(self, lba, count):
        self.put_one(lba=lba, count=count, barrier=True)

    @rule(times=st.integers(1, 4))
    def get(self, times):
        for _ in range(times):
            self.note(self.queue.get())

    def note(self, left):
        if left:
            COUNTS["merged"] += len(left[0]) > 1
            COUNTS["barriers"] += left[1]
            COUNTS["passed"] += any(r.passed for r in self.queue.model.queue)
            COUNTS["waits"] += any(not self.queue.model.may_go(r) for r in self.queue.model.queue)

    def teardown(self):
        if hasattr(self, "queue"):
            for left in self.queue.rest():
                self.note(left)
            assert not self.queue.model.queue and self.queue.get() is None
            epochs = [epoch for _, ordered, _, epoch in self.queue.model.left if ordered]
            assert epochs == sorted(epochs)


def test_random_puts_and_gets_keep_the_rules():
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=20_000 if LONG else 300,
            stateful_step_count=60,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert min(COUNTS.values()) > 100, COUNTS


def test_the_program_of_the_guide(tmp_path):
    """Its lines in a main; `send` prints."""
    text = (ROOT / "docs/guides/use-the-scheduler.md").read_text()
    (block,) = re.findall(r"^```c\n(.*?)^```$", text, re.M | re.S)
    source, program = tmp_path / "guide.c", tmp_path / "guide"
    source.write_text(
        block.replace(
            "static struct",
            "#include <stdio.h>\nstatic void send(struct otx_sched_dispatch *d) "
            '{ printf("%u %d ", d->lba, d->barrier); }\nint main(void) { void *first = 0, *second = 0;\nstatic struct',
        )
        + "return 0; }\n"
    )
    sched = ROOT / "sw/host/sched"
    subprocess.run(
        ["gcc", "-std=c11", "-Wall", "-Werror", f"-I{sched}", source, sched / "otx_sched.c", "-o", program], check=True
    )
    assert subprocess.run([program], capture_output=True, text=True, check=True).stdout == "9 0 40 1 "


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (dict(barrier=False), "the barrier is on the last"),
        (dict(ordered=False), "order-preserving if"),
        (dict(names=[9]), "was put"),
        (dict(lba=31), "are the range"),
    ],
)
def test_the_model_sees_what_is_wrong(broken, why):
    model = EpochModel(4)
    assert model.put(1, 30, 1, True, True, True) == "TAKEN"
    with pytest.raises(AssertionError, match=why):
        model.get(**(dict(names=[1], lba=30, count=1, write=True, ordered=True, barrier=True) | broken))
