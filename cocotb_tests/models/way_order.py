# SPDX-License-Identifier: Apache-2.0
"""Golden model of the order of ops at one die (spinal/src/main/scala/opentxssd/flash/WayQueue.scala): which client's op
goes next, and the most that others may go before.

`comes` with every op that passes the scheduler's port, `goes` with every command that the channel takes, which must be
at once. An op can be chosen for a command 3 clocks after its beat, and counts as passed over from 2 clocks after it.
"""

from collections import deque

CLIENTS = "read log write firmware".split()
PATIENCE = {"log": 1, "write": 8, "firmware": 16, "erase": 24}
# ops of other clients that go before one that is its client's first
MOST_PASSED = {"log": 1, "write": 9, "firmware": 19, "erase": 27, "read": 5}
ERASE = 7
SEEN = ["op", "row", "kind", "lpn", "sequence"]  # of an op in its command


class WayOrder:
    def __init__(self, priorities=True):
        self.priorities = priorities
        self.waiting = {c: deque() for c in CLIENTS}  # (op, clock)
        self.passed = dict.fromkeys(CLIENTS, 0)
        self.worst = dict.fromkeys(MOST_PASSED, 0)  # of `passed`, by kind
        self.write_next = False  # without priorities

    def comes(self, client, op, clock):
        queue = client if self.priorities or client != "firmware" else "write"
        self.waiting[queue].append((op, clock))

    def kind(self, client):
        """`erase` for firmware whose next op is an ERASE, else the client."""
        return "erase" if client == "firmware" and self.waiting["firmware"][0][0]["op"] == ERASE else client

    def choice(self, there):
        """The client among `there` (their ops wait) whose turn it is."""
        if not self.priorities:
            turn = ["log", "write", "read"] if self.write_next else ["log", "read", "write"]
            return next(c for c in turn if c in there)
        old = [c for c in ("log", "write", "firmware") if c in there and self.passed[c] >= PATIENCE[self.kind(c)]]
        return (old + [c for c in CLIENTS if c in there])[0]

    def goes(self, command, clock):
        there = [c for c in CLIENTS if self.waiting[c] and self.waiting[c][0][1] <= clock - 3]
        assert there, f"command {command} for a way without ops"
        client = self.choice(there)
        kind = self.kind(client)
        op, _ = self.waiting[client].popleft()
        assert all(command[f] == op[f] for f in SEEN), f"{client} is next with {op}, the channel gets {command}"
        self.worst[kind] = max(self.worst[kind], self.passed[client])
        assert not self.priorities or self.passed[client] <= MOST_PASSED[kind], (
            f"{kind} was passed over {self.passed[client]} times"
        )
        for c in CLIENTS:
            if c != client and self.waiting[c] and self.waiting[c][0][1] <= clock - 2:
                self.passed[c] += 1
        self.passed[client] = 0
        if client != "log":
            self.write_next = client == "read"


def most_passed():
    """`MOST_PASSED` found by looking at every state: `passed` of all clients, whether firmware's next op is an ERASE,
    and any clients joining between two picks.
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
                client = order.choice(there)
                kind = order.kind(client)
                found[kind] = max(found[kind], order.passed[client])
                after = tuple(0 if c == client or c not in there else order.passed[c] + 1 for c in CLIENTS), is_erase
                if max(after[0]) < 64 and after not in seen:
                    seen.add(after)
                    todo.append(after)
    return found
