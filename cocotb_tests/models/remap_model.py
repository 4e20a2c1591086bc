# SPDX-License-Identifier: Apache-2.0
"""What the remap engine must do, without its chains: per LPN the committed versions that a reader may still see,
versions per transaction, and who owes which release.

From docs/contract.md (visibility) and docs/interfaces.md, "Remap engine". An answer or a release that the contract does
not allow is an assertion. Words are 32-bit numbers, `kind << 30 | value`; 0 is NONE.

An op takes effect when it is taken. Its `limit` is the number of commits its group sees: a version whose commit has a
number of `limit` or more is not there for it.
A location falls out of use at one moment but its release may come later: `debts` holds each such location with the one
who has to release it, an op (before a few clocks after its answer) or the txid whose walk does it (before a few clocks
after that txid is FREE): then it is in `overdue`.
"""

from opentxssd.facts import MAX_BLOCKS, TXIDS, WordKind, word  # noqa: F401 (for tests)
from opentxssd.facts import RemapOpcode as Op
from opentxssd.facts import TxOpcode as TxOp
from opentxssd.facts import TxState as State

NONE, NAND, BUF, VER = WordKind
GONE = None  # a location that was released: nobody may be sent to it

UNCOMMITTED = (State.OPEN, State.PREPARED, State.COMMITTING)

MOVES = {
    (State.FREE, TxOp.BEGIN): State.OPEN,
    (State.OPEN, TxOp.PREPARE): State.PREPARED,
    (State.OPEN, TxOp.COMMITTING): State.COMMITTING,
    (State.PREPARED, TxOp.COMMITTING): State.COMMITTING,
    (State.COMMITTING, TxOp.COMMIT): State.COMMITTED,
    (State.OPEN, TxOp.ABORT): State.ABORTED,
    (State.PREPARED, TxOp.ABORT): State.ABORTED,
    (State.OPEN, TxOp.RECOVER): State.ABORTED,
}


class Transaction:
    def __init__(self):
        self.state, self.count, self.use, self.versions, self.order, self.lpns = State.FREE, 0, 0, {}, None, set()


class Version:
    """A committed version of an LPN: `order` of its commit (-1: the base), `txid` whose commit it is."""

    def __init__(self, order, location, txid=None):
        self.order, self.location, self.txid = order, location, txid


class RemapModel:
    def __init__(self, lbas, tx_entries):
        self.lbas, self.tx_entries = lbas, tx_entries
        self.chains = {}  # LPN -> Versions, oldest first
        self.txs = [Transaction() for _ in range(TXIDS)]
        self.debts = {}  # location -> (lpn, who owes its release: an op or a txid)
        self.overdue = set()
        self.released = self.commits = 0
        self.places, self.over, self.late = set(), set(), False  # `finds`
        self.seen = {
            "plain over committed": 0,
            "plain under a later commit": 0,
            "swap of unread": 0,
            "lookup before a commit": 0,
            "own after its commit": 0,
        }

    def chain(self, lpn):
        return self.chains.setdefault(lpn, [Version(-1, NONE)])

    def top(self, lpn):
        return self.chain(lpn)[-1].location

    def owe(self, location, lpn, debtor):
        if location not in (NONE, GONE):
            assert location not in self.debts, f"{location:#x} is out of use twice"
            self.debts[location] = (lpn, debtor)

    def lookup(self, lpn, reader, limit):
        chain, tx = self.chain(lpn), None if reader is None else self.txs[reader]
        late = [v for v in chain if v.order >= limit]
        mine = [v.location for v in late if v.txid == reader and tx]
        if tx and tx.state in UNCOMMITTED and lpn in tx.versions:
            mine.append(tx.versions[lpn])
        location = mine[-1] if mine else next(v.location for v in reversed(chain) if v.order < limit)
        assert location is not GONE, f"LPN {lpn}: the reader with limit {limit} is sent to a location that was released"
        self.seen["lookup before a commit"] += bool(late)
        self.seen["own after its commit"] += any(v.txid == reader for v in late)
        committing = bool(late) or any(t.state == State.COMMITTING and lpn in t.versions for t in self.txs)
        return {"location": location, "own": bool(mine), "committing": committing, "hit": False, "error": False}

    def apply(self, op, lpn, txid, location, new, limit, call, blocks=0):
        """One operation; returns the response there must be, with `hit` None when both are right. txid None: hasTx is
        low. `call`: who owes what it puts out of use.
        `blocks`: of a TRIM."""
        answer = dict(location=NONE, own=False, committing=False, hit=False, error=False)
        bad_word = (op in (Op.APPEND, Op.PLAIN, Op.SWAP) and location >> 30 == VER) or (
            op == Op.SWAP and new >> 30 == VER
        )
        if lpn >= self.lbas or bad_word or op not in list(Op):
            return answer | dict(error=True)
        if op == Op.TRIM:
            return self.trim(lpn, txid, limit, call, blocks)
        if op == Op.LOOKUP:
            return self.lookup(lpn, txid, limit)
        if op == Op.APPEND:
            tx = None if txid is None else self.txs[txid]
            if tx is None or tx.state != State.OPEN or (lpn not in tx.versions and tx.count == self.tx_entries):
                return answer | dict(error=True)
            answer["hit"] = lpn in tx.versions
            self.finds(lpn, limit, tx if answer["hit"] else None)
            self.over, self.late = set(), False
            if tx.versions.get(lpn, NONE) != location:
                self.owe(tx.versions.get(lpn, NONE), lpn, call)
            tx.count += not answer["hit"]
            tx.versions[lpn] = location
        if op == Op.PLAIN:
            self.finds(lpn, limit)
            self.plain(lpn, location, limit, call)
        if op == Op.SWAP and location != NONE:
            answer["hit"] = self.swap(lpn, location, new)
        return answer

    def finds(self, lpn, limit, tx=None):
        """Of an APPEND or PLAIN: `places`, the words that it may find there (its transaction's own version, else the
        base, which is one of the committed ones); `over`, whose uncommitted versions a PLAIN is below, and `late`,
        whether those of a later commit may be among them.
        """
        chain = self.chain(lpn)
        self.places = {tx.versions[lpn]} if tx else {v.location for v in chain}
        self.over = {n for n, t in enumerate(self.txs) if t.state in UNCOMMITTED and lpn in t.versions}
        self.late = any(v.order >= limit for v in chain)

    def trim(self, lpn, txid, limit, call, blocks):
        """Refused as a whole when the range or the transaction is wrong; blocks that find no room in the transaction's
        table are left out.
        """
        answer = dict(location=NONE, own=False, committing=False, hit=False, error=False)
        if (
            not 1 <= blocks <= MAX_BLOCKS
            or lpn + blocks > self.lbas
            or txid is not None
            and self.txs[txid].state != State.OPEN
        ):
            return answer | dict(error=True)
        what = Op.PLAIN if txid is None else Op.APPEND
        return answer | dict(
            error=any([self.apply(what, n, txid, NONE, NONE, limit, call)["error"] for n in range(lpn, lpn + blocks)])
        )

    def plain(self, lpn, location, limit, call):
        chain = self.chain(lpn)
        below, above = [v for v in chain if v.order < limit], [v for v in chain if v.order >= limit]
        for v in below:
            if v.location in self.debts:
                del self.debts[v.location]
                self.seen["plain over committed"] += 1
            if v.location != location:
                self.owe(v.location, lpn, call)
        if above:
            self.seen["plain under a later commit"] += 1
            self.owe(location, lpn, above[0].txid)
        self.chains[lpn] = [Version(-1, location), *above]

    def swap(self, lpn, location, new):
        if self.top(lpn) == location:
            self.chain(lpn)[-1].location = new
            return True
        for t in self.txs:
            if t.versions.get(lpn) == location:
                t.versions[lpn] = new
                return True
        where, debtor = self.debts.get(location, (None, None))
        return None if where == lpn and isinstance(debtor, int) else False

    def swapped_unread(self, lpn, old, new, hit):
        """The answer to a SWAP of a location that only a walk or an old reader may still meet.

        Missed: its release is on its way.
        """
        if not hit:
            if old in self.debts:
                self.overdue.add(old)
            return
        assert old in self.debts, f"SWAP has hit {old:#x}, which was released"
        self.seen["swap of unread"] += 1
        owed = self.debts.pop(old)
        if new != NONE:
            self.debts[new] = owed
        for v in self.chain(lpn):
            if v.location == old:
                v.location = new

    def tx(self, op, txid):
        """True if the request was legal in this state; RECOVER: if it aborted somebody."""
        if op == TxOp.RECOVER:
            return any([self.tx(TxOp.ABORT, t) for t in range(TXIDS) if self.txs[t].state == State.OPEN])
        tx = self.txs[txid]
        end = MOVES.get((tx.state, op))
        if end is None:
            return False
        tx.state = end
        tx.use += op == TxOp.BEGIN
        if op == TxOp.COMMIT:
            tx.order, tx.lpns = self.commits, set(tx.versions)
            self.commits += 1
            for lpn, location in tx.versions.items():
                self.owe(self.top(lpn), lpn, txid)
                self.chain(lpn).append(Version(tx.order, location, txid))
            tx.versions = {}
        elif op == TxOp.ABORT:
            for lpn, location in tx.versions.items():
                self.owe(location, lpn, txid)
            tx.versions = {}
        return True

    def freed(self, txid):
        """The engine says FREE: the walk is done; what it still owes passes in the next clocks."""
        tx = self.txs[txid]
        assert tx.state in (State.COMMITTED, State.ABORTED), f"txid {txid} became FREE from {tx.state.name}"
        self.overdue |= {loc for loc, (_, who) in self.debts.items() if who == txid}
        for lpn in tx.lpns:
            chain = self.chain(lpn)
            at = next((n for n, v in enumerate(chain) if v.txid == txid), None)
            if at is not None:
                assert all(v.order < tx.order for v in chain[:at])
                self.chains[lpn] = [Version(-1, chain[at].location), *chain[at + 1 :]]
        tx.state, tx.count, tx.lpns = State.FREE, 0, set()

    def release(self, location, group_limit):
        """A location is released. `group_limit`: that of the open group, or None."""
        assert location in self.debts, f"{location:#x} released early, twice, or never given"
        lpn, debtor = self.debts.pop(location)
        if isinstance(debtor, int) and self.txs[debtor].state == State.COMMITTED:
            order = self.txs[debtor].order
            assert group_limit is None or group_limit > order, (
                f"{location:#x} is released, but the open group sees {group_limit} commits and commit {order} takes "
                "it away"
            )
        self.overdue.discard(location)
        self.released += 1
        for v in self.chain(lpn):
            if v.location == location:
                v.location = GONE

    def answered(self, call):
        """What an op put out of use passes at the latest in the next clocks."""
        self.overdue |= {loc for loc, (_, who) in self.debts.items() if who is call}
