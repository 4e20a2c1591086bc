# SPDX-License-Identifier: Apache-2.0
"""What an epoch-based scheduler may do, from its rules (section 3.4 of "Barrier-Enabled IO Stack for Flash Storage" and
the head of sw/host/sched/otx_sched.h), and which request each discipline must choose.

It is told what was put and what left, and raises AssertionError when a rule is broken. It knows nothing of how the
scheduler keeps its requests.
"""

from dataclasses import dataclass

MAX_BLOCKS = 32


@dataclass(eq=False)
class Request:
    name: int  # the caller's cookie
    lba: int
    count: int
    write: bool = True
    ordered: bool = False
    epoch: int = 0
    passed: int = 0

    def blocks(self):
        return range(self.lba, self.lba + self.count)

    def conflicts(self, other):
        return (self.write or other.write) and self.lba < other.lba + other.count and other.lba < self.lba + self.count


class EpochModel:
    def __init__(self, room, elevator=False, block_all=False, patience=0):
        self.room, self.elevator, self.block_all, self.patience = room, elevator, block_all, patience
        self.queue = []  # the oldest first
        self.epoch = 0  # that a request put now would belong to
        self.closing = False  # it has its barrier
        self.head = 0
        self.left = []  # (dispatch's names, ordered, barrier, epoch of its ordered ones)

    def put(self, name, lba, count, write, ordered, barrier):
        """What the scheduler must answer."""
        if not 1 <= count <= MAX_BLOCKS or lba + count > 2**32 - 1 or (not write and (ordered or barrier)):
            return "WRONG"
        ordered = ordered or barrier
        if self.closing and (ordered or self.block_all):
            return "BLOCKED"
        if len(self.queue) == self.room:
            return "FULL"
        self.queue.append(Request(name, lba, count, write, ordered, self.epoch))
        self.closing = self.closing or barrier
        return "TAKEN"

    def may_go(self, request):
        older = self.queue[: self.queue.index(request)]
        return not any(request.conflicts(o) for o in older)

    def starved(self, request):
        """Whether somebody who came before it must go first."""
        older = self.queue[: self.queue.index(request)]
        return self.patience > 0 and any(o.passed >= self.patience for o in older)

    def choice(self):
        """The request that must be part of the next dispatch."""
        if not self.elevator:
            return self.queue[0]
        best = min((r for r in self.queue if self.may_go(r)), key=lambda r: (r.lba - self.head) % 2**32)
        return self.queue[0] if self.starved(best) else best

    def get(self, names, lba, count, write, ordered, barrier):
        """Takes what left, part by part in the order of lba."""
        of = {r.name: r for r in self.queue}
        assert len(set(names)) == len(names) and set(names) <= set(of), "each leaves once, and was put"
        parts = [of[name] for name in names]
        assert self.choice() in parts, "the discipline's choice"
        assert self.elevator or len(parts) == 1, "nothing is merged"
        # rule 4
        blocks = [b for p in parts for b in p.blocks()]
        assert blocks == [*range(lba, lba + count)] and count <= MAX_BLOCKS, "the parts are the range, in its order"
        assert all(p.write == write for p in parts)
        assert ordered == any(p.ordered for p in parts), "order-preserving if one part is"
        # rules 5 and 6, whichever of the parts was taken first
        for p in parts:
            for o in self.queue[: self.queue.index(p)]:
                assert o in parts or not p.conflicts(o), "an older request of a block stays behind"
        for p in parts:
            for o in self.queue[: self.queue.index(p)]:
                o.passed += o not in parts
        assert self.patience == 0 or all(o.passed <= self.patience for o in self.queue if o not in parts)
        self.queue = [r for r in self.queue if r not in parts]
        # rules 1 and 2
        assert all(p.epoch == self.epoch for p in parts if p.ordered), "of the epoch that is open"
        last = self.closing and ordered and not any(r.ordered for r in self.queue)
        assert barrier == last, "the barrier is on the last order-preserving one of its epoch, and on no other"
        self.left.append((tuple(names), ordered, barrier, self.epoch))
        if last:
            self.epoch += 1
            self.closing = False
        self.head = lba + count

    def merge_is_whole(self, lba, count, write):
        """After `get`: nobody stays who could have been merged."""
        for r in self.queue:
            beside = r.lba == lba + count or r.lba + r.count == lba
            if beside and r.write == write and count + r.count <= MAX_BLOCKS and self.may_go(r):
                return self.starved(r)
        return True
