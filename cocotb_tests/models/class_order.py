# SPDX-License-Identifier: Apache-2.0
"""Golden model of which class of commands has its turn (spinal/src/main/scala/opentxssd/host/ClassTurn.scala), and the
most that others may go before one.

Classes are ranks here: LOW 0, MEDIUM 1, HIGH 2, URGENT 3.
"""

from opentxssd.facts import Priority

RANKS = [Priority.LOW, Priority.MEDIUM, Priority.HIGH, Priority.URGENT]
URGENT = 3


def rank(priority):
    return RANKS.index(priority)


def turns(high, medium, low, patience):
    """The setting as the hardware has it."""
    return low - 1 | medium - 1 << 4 | high - 1 << 8 | patience - 3 << 12


class ClassOrder:
    """`weights` of LOW, MEDIUM, HIGH."""

    def __init__(self, weights=(1, 1, 1), patience=3):
        self.weights, self.patience = weights, patience
        self.used, self.passed = (0, 0, 0), (0, 0, 0)

    def choice(self, wants):
        """The rank among `wants` whose turn it is."""
        old = [r for r in range(3) if r in wants and self.passed[r] >= self.patience]
        if old:
            return old[0]
        if URGENT in wants:
            return URGENT
        return max([r for r in wants if self.used[r] < self.weights[r]] or wants)

    def goes(self, gone, wants, waits):
        """One of rank `gone` goes; `waits`: ranks of which one may go but for room."""
        if gone != URGENT:
            again = not any(self.used[r] < self.weights[r] for r in wants if r != URGENT)
            used = (0, 0, 0) if again else self.used
            self.used = tuple(min(n + (r == gone), w) for r, (n, w) in enumerate(zip(used, self.weights, strict=True)))
        self.passed = tuple(
            0 if r == gone or r not in waits else min(n + 1, self.patience) for r, n in enumerate(self.passed)
        )


def most_passed(weights, patience):
    """How many commands of other classes go before one of each rank at most, found by looking at every state: turns
    that are used, how often each has been passed over, and any classes that want between two goes.
    """
    order = ClassOrder(weights, patience)
    sets = [[r for r in range(4) if wish >> r & 1] for wish in range(1, 16)]
    start = (order.used, order.passed)
    seen, todo = {start}, [start]
    edges = {}  # state -> [(who wants, who goes, next state)]
    while todo:
        state = todo.pop()
        edges[state] = []
        for wants in sets:
            order.used, order.passed = state
            if any(n and r not in wants for r, n in enumerate(order.passed)):
                continue  # a class that was passed over still waits
            gone = order.choice(wants)
            order.goes(gone, wants, wants)
            after = order.used, order.passed
            edges[state].append((wants, gone, after))
            if after not in seen:
                seen.add(after)
                todo.append(after)
    return [longest(edges, r) for r in range(4)]


def longest(edges, r):
    """The longest way through states on which `r` wants and another one goes; every such way must end."""
    found, path = {}, set()

    def ways(state):
        return (after for wants, gone, after in edges[state] if r in wants and gone != r)

    for first in edges:
        stack = [] if first in found else [(first, ways(first))]
        path = {first}
        while stack:
            state, rest = stack[-1]
            after = next((a for a in rest if a not in found), None)
            if after is None:
                found[state] = max((found[a] + 1 for a in ways(state)), default=0)
                path.discard(state)
                stack.pop()
            else:
                assert after not in path, f"rank {r} can wait for ever"
                path.add(after)
                stack.append((after, ways(after)))
    return max(found.values())
