# SPDX-License-Identifier: Apache-2.0
"""Golden model of the order of ops at one die (spinal/src/main/scala/opentxssd/flash/WayQueue.scala): which client's op
goes next, and the most that others may go before.

`comes` with every op that passes the scheduler's port, `goes` with every command that the channel takes, which must be
at once. An op can be chosen for a command 3 clocks after its beat, and counts as passed over from 2 clocks after it.
"""

from collections import deque
from itertools import product

from cocotb_tests.models.class_order import rank

CLIENTS = "read log write firmware".split()
PATIENCE = {"log": 1, "read": 4, "write": 8, "firmware": 16, "erase": 24}
# ops of other clients that go before one that is its client's first
MOST_PASSED = {"log": 1, "write": 9, "firmware": 19, "erase": 27, "read": 8}
MOST_PASSED_FIRST = 5  # of reads while these are before log and write
# reads of other classes that go before one that is the first of its class, by rank
MOST_READS = [15, 7, 3, 1]
LOW, MEDIUM = 0, 1
ERASE = 7
SEEN = ["op", "row", "kind", "lpn", "sequence"]  # of an op in its command


def read_rank(turn, there):
    """Which of the ranks `there` of reads goes: of 16 that go some are of a certain one first."""
    first = 2 if turn % 4 == 2 else 1 if turn % 8 == 4 else 0 if turn == 0 else None
    return first if first in there else max(there)


class WayOrder:
    def __init__(self, priorities=True):
        self.priorities = priorities
        self.waiting = {c: deque() for c in CLIENTS}  # (op, clock)
        self.passed = dict.fromkeys(CLIENTS, 0)
        self.worst = dict.fromkeys(MOST_PASSED, 0)  # of `passed`, by kind
        self.turn = 1  # of the reads
        self.reads_passed, self.worst_reads = [0] * 4, [0] * 4
        self.write_next = False  # without priorities
        self.only = False  # the power has failed

    def comes(self, client, op, clock):
        queue = client if self.priorities or client != "firmware" else "write"
        self.waiting[queue].append((op, clock))

    def kind(self, client):
        """`erase` for firmware whose next op is an ERASE, else the client."""
        return "erase" if client == "firmware" and self.waiting["firmware"][0][0]["op"] == ERASE else client

    def choice(self, there, best=MEDIUM, lifted=None):
        """The client among `there` (their ops wait) whose turn it is. `best`: rank of the best read; `lifted`: of the
        best write, if nobody waits for it LOW.
        """
        if not self.priorities:
            turn = ["log", "write", "read"] if self.write_next else ["log", "read", "write"]
            return next(c for c in turn if c in there)
        lifts = "write" in there and (lifted or LOW) > LOW
        reads = "read" in there and best > LOW and not (lifts and lifted > best)
        old = [
            c for c in ("log", "write", "firmware", "read") if c in there and self.passed[c] >= PATIENCE[self.kind(c)]
        ]
        wishes = ["read"] * reads + ["log"] + ["write"] * lifts + ["read", "write", "firmware"]
        return (old + [c for c in wishes if c in there])[0]

    def ranks(self, client, clock):
        return {rank(op["priority"]) for op, since in self.waiting[client] if since <= clock}

    def goes(self, command, clock):
        there = [c for c in CLIENTS if self.waiting[c] and min(since for _, since in self.waiting[c]) <= clock - 3]
        if self.only:
            there = [c for c in there if c in ("log", "write")]
        assert there, f"command {command} for a way without ops that may go"
        reads = self.ranks("read", clock - 3)
        client = self.choice(there, max(reads, default=None), max(self.ranks("write", clock - 3), default=None))
        kind = self.kind(client)
        if client == "read" and self.priorities:
            wanted = read_rank(self.turn, reads)
            entry = next(e for e in self.waiting["read"] if rank(e[0]["priority"]) == wanted)
            self.waiting["read"].remove(entry)
            op = entry[0]
        else:
            op, _ = self.waiting[client].popleft()
        assert all(command[f] == op[f] for f in SEEN), f"{client} is next with {op}, the channel gets {command}"
        if client == "read" and self.priorities:
            self.read_goes(wanted, self.ranks("read", clock - 2))
        self.worst[kind] = max(self.worst[kind], self.passed[client])
        assert not self.priorities or self.passed[client] <= MOST_PASSED[kind], (
            f"{kind} was passed over {self.passed[client]} times"
        )
        for c in CLIENTS:
            if c != client and any(since <= clock - 2 for _, since in self.waiting[c]):
                self.passed[c] += 1
        self.passed[client] = 0
        if client != "log":
            self.write_next = client == "read"

    def read_goes(self, wanted, waiting):
        self.turn = (self.turn + 1) % 16
        self.worst_reads[wanted] = max(self.worst_reads[wanted], self.reads_passed[wanted])
        for r in range(4):
            self.reads_passed[r] = self.reads_passed[r] + 1 if r in waiting and r != wanted else 0
            assert self.reads_passed[r] <= MOST_READS[r], (
                f"rank {r} of reads was passed over {self.reads_passed[r]} times"
            )


ANY = list(product((LOW, MEDIUM), (LOW, MEDIUM, 2)))  # ranks of the best read and the best write


def most_passed(ranks=ANY):
    """`MOST_PASSED` found by looking at every state: `passed` of all clients, whether firmware's next op is an ERASE,
    and any clients joining between two picks; `ranks`: of the best read and the best write, any of these.
    """
    found, order = dict.fromkeys(MOST_PASSED, 0), WayOrder()
    todo, seen = [((0, 0, 0, 0), False)], set()
    while todo:
        state, erase = todo.pop()
        for wish in range(1, 16):
            there = [c for i, c in enumerate(CLIENTS) if wish >> i & 1]
            if any(n and c not in there for c, n in zip(CLIENTS, state, strict=True)):
                continue  # a client that was passed over still waits
            for is_erase in {erase} if state[3] else {False, True}:
                order.waiting["firmware"] = [({"op": ERASE if is_erase else 0}, 0)]
                order.passed = dict(zip(CLIENTS, state, strict=True))
                for client in {order.choice(there, *best) for best in ranks}:
                    kind = order.kind(client)
                    found[kind] = max(found[kind], order.passed[client])
                    passed = (0 if c == client or c not in there else order.passed[c] + 1 for c in CLIENTS)
                    after = tuple(passed), is_erase
                    if max(after[0]) < 64 and after not in seen:
                        seen.add(after)
                        todo.append(after)
    return found


def most_reads():
    """`MOST_READS` found by looking at every turn and all classes that wait in all ways."""
    found = [0] * 4
    for r in range(4):
        for start in range(16):
            turn, passed = start, 0
            while any(read_rank(turn, there) != r for there in sets_with(r)):
                turn, passed = (turn + 1) % 16, passed + 1
                assert passed < 64, f"rank {r} can wait for ever"
            found[r] = max(found[r], passed)
    return found


def sets_with(r):
    return [{q for q in range(4) if wish >> q & 1} for wish in range(16) if wish >> r & 1]
