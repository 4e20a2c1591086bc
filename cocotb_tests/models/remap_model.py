# SPDX-License-Identifier: Apache-2.0
"""What the remap engine must do, without its chains: a committed word per LPN, versions per transaction, and who owes which release.

From docs/contract.md (visibility) and docs/interfaces.md, "Remap engine". An answer or a release that the contract does not allow is an
assertion. Words are 32-bit numbers, `kind << 30 | value`; 0 is NONE.

A location falls out of use at one moment but its release may come later: `debts` holds each such location with the one who has to release
it, `NOW` (before the operation answers) or the txid whose walk does it (before that txid is FREE).
"""

from enum import IntEnum

NONE = 0
NOW = "now"
NAND, BUF, VER = 1, 2, 3


def word(kind, value):
    return kind << 30 | value


class State(IntEnum):
    FREE = 0
    OPEN = 1
    PREPARED = 2
    COMMITTING = 3
    COMMITTED = 4
    ABORTED = 5


UNCOMMITTED = (State.OPEN, State.PREPARED, State.COMMITTING)


class TxOp(IntEnum):
    BEGIN = 0
    COMMITTING = 1
    COMMIT = 2
    ABORT = 3


class Op(IntEnum):
    LOOKUP = 0
    APPEND = 1
    PLAIN = 2
    SWAP = 3


class Transaction:
    def __init__(self):
        self.state, self.count, self.use, self.versions = State.FREE, 0, 0, {}


class RemapModel:
    def __init__(self, lbas, tx_entries):
        self.lbas, self.tx_entries = lbas, tx_entries
        self.committed = {}
        self.txs = [Transaction() for _ in range(32)]
        self.debts = {}  # location -> (lpn, who owes its release)
        self.released = 0
        self.commits = 0
        self.seen = {"plain over committed": 0, "swap of unread": 0}

    def out_of_use(self, location, lpn, debtor):
        if location != NONE:
            assert location not in self.debts, f"{location:#x} is out of use twice"
            self.debts[location] = (lpn, debtor)

    def replace(self, old, location, lpn):
        if old != location:
            self.out_of_use(old, lpn, NOW)

    def lookup(self, lpn, reader):
        versions = self.txs[reader].versions if reader is not None and self.txs[reader].state in UNCOMMITTED else {}
        return {
            "location": versions.get(lpn, self.committed.get(lpn, NONE)),
            "own": lpn in versions,
            "committing": any(t.state == State.COMMITTING and lpn in t.versions for t in self.txs),
            "hit": False,
            "error": False,
        }

    def apply(self, op, lpn, txid, location, new):
        """One operation; returns the response there must be, with `hit` None when both are right. txid None: hasTx is low."""
        answer = dict(location=NONE, own=False, committing=False, hit=False, error=False)
        bad_word = (op in (Op.APPEND, Op.PLAIN, Op.SWAP) and location >> 30 == VER) or (op == Op.SWAP and new >> 30 == VER)
        if lpn >= self.lbas or bad_word or op not in list(Op):
            return answer | dict(error=True)
        if op == Op.LOOKUP:
            return self.lookup(lpn, txid)
        if op == Op.APPEND:
            tx = None if txid is None else self.txs[txid]
            if tx is None or tx.state != State.OPEN or (lpn not in tx.versions and tx.count == self.tx_entries):
                return answer | dict(error=True)
            answer["hit"] = lpn in tx.versions
            self.replace(tx.versions.get(lpn, NONE), location, lpn)
            tx.count += not answer["hit"]
            tx.versions[lpn] = location
        if op == Op.PLAIN:
            for old, (where, debtor) in list(self.debts.items()):
                if where == lpn and debtor != NOW and self.txs[debtor].state == State.COMMITTED:
                    self.debts[old] = (lpn, NOW)  # a dead entry, or the base that goes with it
                    self.seen["plain over committed"] += 1
            self.replace(self.committed.get(lpn, NONE), location, lpn)
            self.committed[lpn] = location
        if op == Op.SWAP and location != NONE:
            holders = [self.committed] + [t.versions for t in self.txs]
            for versions in holders:
                if versions.get(lpn) == location:
                    versions[lpn], answer["hit"] = new, True
                    break
            else:
                answer["hit"] = None if self.debts.get(location, (None, None))[0] == lpn else False
        return answer

    def swapped_dead(self, lpn, old, new):
        """A SWAP has hit a location that nobody can read any more: its release is now that of `new`."""
        owed = self.debts.pop(old)
        self.seen["swap of unread"] += 1
        if new != NONE:
            self.debts[new] = owed

    def tx(self, op, txid):
        """True if the request was legal in this state."""
        tx = self.txs[txid]
        start = {TxOp.BEGIN: State.FREE, TxOp.COMMITTING: State.OPEN, TxOp.COMMIT: State.COMMITTING, TxOp.ABORT: State.OPEN}[op]
        if tx.state != start:
            return False
        if op == TxOp.BEGIN:
            tx.state, tx.use = State.OPEN, tx.use + 1
        elif op == TxOp.COMMITTING:
            tx.state = State.COMMITTING
        elif op == TxOp.COMMIT:
            tx.state = State.COMMITTED
            self.commits += 1
            for lpn, location in tx.versions.items():
                self.out_of_use(self.committed.get(lpn, NONE), lpn, txid)
                self.committed[lpn] = location
            tx.versions = {}
        else:
            tx.state = State.ABORTED
            for lpn, location in tx.versions.items():
                self.out_of_use(location, lpn, txid)
            tx.versions = {}
        return True

    def freed(self, txid):
        """The engine says FREE: the walk is done, nothing is owed any more."""
        tx = self.txs[txid]
        assert tx.state in (State.COMMITTED, State.ABORTED), f"txid {txid} became FREE from {tx.state.name}"
        owed = [hex(loc) for loc, (_, who) in self.debts.items() if who == txid]
        assert not owed, f"txid {txid} is FREE but {owed} were not released"
        tx.state, tx.count = State.FREE, 0

    def release(self, location):
        assert location in self.debts, f"{location:#x} released early, twice, or never given"
        del self.debts[location]
        self.released += 1

    def settled(self):
        """An operation has answered: what it put out of use is released."""
        owed = [hex(loc) for loc, (_, who) in self.debts.items() if who == NOW]
        assert not owed, f"{owed} should have been released before the answer"
