# SPDX-License-Identifier: Apache-2.0
"""The bound of docs/interfaces.md, "Remap engine": with all 32 txids in use and an op offered in every clock, each
ended txid is FREE in time, and the ops go on.

COMMITTED, ABORTED, OPEN, PREPARED and COMMITTING transactions; half way the COMMITTING ones are committed and some OPEN
and PREPARED ones aborted; who is FREE is opened again.
Run with -s it prints how near each scene comes to its bound.
"""

import random

import pytest

from cocotb_tests.bench.amount import amount
from cocotb_tests.system import engine as engines
from cocotb_tests.system.engine import BUF, EVENT_FREE, EVENT_OP, EVENT_TX, NAND, Engine, Op, State, TxOp, op, word

# LATER: COMMITTING, then committed
COMMITTED, ABORTED, LATER = [5, 30, 2, 17, 9, 24, 13], [28, 1, 11, 6, 19, 31, 15, 22], [4, 26, 12, 20]
OPEN, PREPARED = [0, 3, 7, 8, 10, 14, 16], [18, 21, 23, 25, 27, 29]
LATE_ABORTS = [OPEN[0], OPEN[4], PREPARED[1]]
PATIENCE = 64  # ops that go before a walk job
STEP, AHEAD = 40, 100  # clocks between two looks, ops that wait at least


@pytest.fixture(scope="module", autouse=True)
def library():
    engines.build("tiny")


def job(accesses, latency):
    """Most clocks of a job with that many accesses of table memory, one after the other: at most 5 more than the
    latency each.
    """
    return accesses * (latency + 6)


class Scene:
    """`entries`: LPNs of a table; `draw`: the next op.

    `chain`: most versions of an LPN that is walked; `accesses`: most of an op; `wide`: how many ops run side by side.
    """

    def __init__(self, latency, entries, draw, chain, accesses, wide):
        self.engine = Engine("tiny", (latency, latency), outstanding=32)
        self.rng, self.draw, self.latency = random.Random(1), draw, latency
        own, walk = job(accesses, latency), job(max(accesses, chain + 3), latency)
        each = max(accesses, own / wide)  # of an op, when one follows the other: the port takes an access per clock
        self.entry = PATIENCE * each + 2 * walk
        self.table, self.grace = 3 * walk + 16, 2 * (18 * each + walk)
        self.sizes = {}
        for txid in range(32):
            self.request(TxOp.BEGIN, [txid])
            lpns = entries(txid)
            self.engine.ops([op(Op.APPEND, lpn, txid, word(NAND, txid << 16 | i)) for i, lpn in enumerate(lpns)])
            self.engine.settle()
            self.sizes[txid] = len(set(lpns))
        self.request(TxOp.PREPARE, PREPARED)
        self.request(TxOp.COMMITTING, [*COMMITTED, *LATER])
        assert not any(r.error for r in self.engine.responses())
        self.engine.events()
        self.sent = 0
        # clocks of ops; txid -> (clock, what); (clock, txid, what, entries)
        self.taken, self.ended, self.freed = [], {}, []

    def request(self, what, txids):
        for txid in txids:
            self.engine.tx(what, txid)
        self.engine.settle()

    def go(self, clocks):
        """Lets clocks pass, ops always waiting; whoever is FREE is opened again."""
        missing = AHEAD - (self.sent - len(self.taken))
        if missing > 0:
            self.engine.ops([self.draw(self.rng) for _ in range(missing)])
            self.sent += missing
        self.engine.step(clocks)
        self.engine.responses(), self.engine.releases()
        for e in self.engine.events():
            if e.kind == EVENT_OP:
                self.taken.append(e.clock)
            elif e.kind == EVENT_TX and e.op in (TxOp.COMMIT, TxOp.ABORT):
                assert e.state in (State.COMMITTING, State.OPEN, State.PREPARED)
                self.ended[e.txid] = (e.clock, e.op, e.value)
            elif e.kind == EVENT_FREE:
                clock, what, size = self.ended.pop(e.txid)
                self.freed.append((clock, e.clock, e.txid, what, size))
                self.engine.tx(TxOp.BEGIN, e.txid)

    def until(self, done):
        """Until that many txids have become FREE; one that overstays its bound ends the test at once."""
        while len(self.freed) < done:
            self.go(STEP)
            owed = sum(size for _, _, size in self.ended.values())
            for txid, (clock, what, _) in self.ended.items():
                before = [f for f in self.freed if f[1] > clock]
                most = self.bound(what, owed + sum(f[4] for f in before), len(self.ended) + len(before))
                assert self.engine.clock - clock <= most, (
                    f"txid {txid} is not FREE {self.engine.clock - clock} clocks after its end, at most {most:.0f}"
                )

    def bound(self, what, entries, tables):
        return (what == TxOp.COMMIT) * self.grace + entries * self.entry + tables * self.table

    def run(self):
        """(most of all times by their bounds, ops per clock while walks were pending, clocks of an entry, entries)."""
        for _ in range(10):
            self.go(STEP)  # the load stands
        for txids, what in ((COMMITTED, TxOp.COMMIT), (ABORTED, TxOp.ABORT)):
            for txid in txids:
                self.engine.tx(what, txid)
        while len(self.ended) + len(self.freed) < len(COMMITTED) + len(ABORTED):
            self.go(1)
        assert len({self.engine.state(t) for t in range(32)} - {State.FREE}) == 5, "five states at once"
        first = min(clock for clock, *_ in [*self.ended.values(), *self.freed])
        self.until((len(COMMITTED) + len(ABORTED)) // 2)
        for txids, what in ((LATER, TxOp.COMMIT), (LATE_ABORTS, TxOp.ABORT)):
            for txid in txids:
                self.engine.tx(what, txid)
        ends = len(COMMITTED) + len(ABORTED) + len(LATER) + len(LATE_ABORTS)
        self.until(ends)
        last, walked = self.freed[-1][1], sum(f[4] for f in self.freed)
        passed = sum(first <= c < last for c in self.taken)
        self.engine.close()
        worst = 0
        for clock, free, txid, what, _ in self.freed:
            before = [f for f in self.freed if clock < f[1] <= free]
            same, other = (sum((f[3] == what) == kind for f in before) for kind in (True, False))
            assert other <= same + 1, (
                f"txid {txid}: {other} tables of the other kind went before it and {same - 1} of its own"
            )
            most = self.bound(what, sum(f[4] for f in before), len(before))
            assert free - clock <= most, f"txid {txid} was FREE after {free - clock} clocks, at most {most:.0f}"
            worst = max(worst, (free - clock) / most)
        commits = [f[2] for f in self.freed if f[3] == TxOp.COMMIT]
        assert commits == [*COMMITTED, *LATER], "committed ones become FREE oldest first"
        assert passed >= PATIENCE * (walked - 1), f"{passed} ops passed beside {walked} entries"
        return worst, passed / (last - first), (last - first) / walked, walked


def lookups(lpns):
    return lambda rng: op(Op.LOOKUP, rng.choice(lpns), rng.choice([None, 7, 9]))


def mix(lpns):
    """Half of the ops change something; the APPENDs are of seven transactions, so that an LPN of nobody else has seven
    versions.
    """

    def draw(rng):
        kind, lpn, new = (
            rng.choice([Op.LOOKUP, Op.LOOKUP, Op.LOOKUP, Op.PLAIN, Op.APPEND, Op.SWAP]),
            rng.choice(lpns),
            word(BUF, rng.randrange(1 << 20)),
        )
        if kind == Op.LOOKUP:
            return op(kind, lpn)
        return op(
            kind,
            lpn,
            rng.choice(OPEN) if kind == Op.APPEND else None,
            new,
            word(NAND, rng.randrange(1, 1 << 20)) if kind == Op.SWAP else 0,
        )

    return draw


APART = lambda txid: [32 * n + txid for n in range(4 + txid % 7)]  # noqa: E731
SHARED = lambda txid: list(range(2 + txid % 5))  # noqa: E731
HOT = lambda txid: [0] + [100 + txid][: txid % 2]  # noqa: E731
SCENES = {
    # entries of the tables, ops, versions of an LPN that is walked, accesses of an op, ops side by side, least ops per
    # clock by latency
    "lookups of other blocks": (APART, lookups(range(600, 1000)), 1, 1, 16, {1: 0.94, 8: 0.94, 60: 0.23}),
    "lookups of the blocks that are walked": (SHARED, lookups(range(7)), 32, 33, 16, {1: 0.06, 8: 0.05, 60: 0.012}),
    "lookups of one block": (HOT, lookups([0]), 32, 33, 16, {1: 0.035, 8: 0.03, 60: 0.007}),
    "everything on other blocks": (APART, mix(range(600, 1000)), 1, 16, 1, {1: 0.2, 8: 0.11, 60: 0.02}),
    "everything on the blocks that are walked": (SHARED, mix(range(7)), 32, 66, 1, {1: 0.05, 8: 0.018}),
    "everything on one block": (HOT, mix([0]), 32, 66, 1, {1: 0.02, 8: 0.006}),
}


def chosen(name, latency):
    """In `make test` lookups at both ends and everything in the middle."""
    return amount((latency == 8) == name.startswith("everything"), True)


@pytest.mark.parametrize(
    "name,latency", [(name, latency) for name, scene in SCENES.items() for latency in scene[5] if chosen(name, latency)]
)
def test_each_ended_txid_is_free_in_time_and_ops_go_on(name, latency):
    entries, draw, chain, accesses, wide, least = SCENES[name]
    worst, rate, per_entry, walked = Scene(latency, entries, draw, chain, accesses, wide).run()
    print(
        f"{name}, latency {latency}: {rate:.3f} ops per clock beside {walked} entries of {per_entry:.0f} clocks; FREE "
        f"within {100 * worst:.0f} % of the bound"
    )
    assert rate >= least[latency]


def test_an_aborted_txid_is_free_in_time_while_lower_ones_are_aborted_again_and_again():
    size, again = 10, (0, 1, 2)
    with Engine("tiny", (8, 8), outstanding=32) as engine:

        def fill(txid):
            engine.tx(TxOp.BEGIN, txid)
            engine.ops([op(Op.APPEND, 100 + 16 * txid + i, txid, word(NAND, 16 * txid + i + 1)) for i in range(size)])

        for txid in (*again, 31):
            fill(txid)
            engine.settle()
        for txid in (*again, 31):
            engine.tx(TxOp.ABORT, txid)
        opened = set()
        while engine.clock < 50_000:
            engine.step(20)
            for txid in [e.txid for e in engine.events() if e.kind == EVENT_FREE]:
                if txid == 31:
                    return
                fill(txid)
                opened.add(txid)
            for txid in [t for t in opened if engine.count(t) == size]:
                engine.tx(TxOp.ABORT, txid)
                opened.remove(txid)
    raise AssertionError("txid 31 is not FREE after 50,000 clocks")
