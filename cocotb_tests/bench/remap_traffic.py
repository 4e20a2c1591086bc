# SPDX-License-Identifier: Apache-2.0
"""Random requests for a remap engine: few hot blocks, so that chains get long and everything meets everything; mostly
legal, because it looks at the model.
"""

from cocotb_tests.models.remap_judge import op_fields
from cocotb_tests.models.remap_model import BUF, MOVES, NAND, NONE, Op, State, TxOp, word

BEGIN, COMMITTING, COMMIT, ABORT, PREPARE, RECOVER = TxOp


class RemapTraffic:
    """`pending`: tx requests (op, txid) that were handed over and not yet taken, oldest first; the caller keeps it.

    `hot`, `warm`: LPNs; six of ten ops are on hot ones.
    """

    def __init__(self, rng, model, txids, hot, warm, pending=()):
        self.rng, self.model, self.txids, self.hot, self.warm, self.pending = rng, model, txids, hot, warm, pending
        self.fresh = self.left = 0  # locations given out; ops left in this group
        self.tally = {}

    def state(self, txid):
        """Where the txid will be when the pending requests have been taken."""
        state = self.model.txs[txid].state
        for op, which in self.pending:
            if which == txid or op == RECOVER:
                state = MOVES.get((state, op), state)
        return state

    def request(self):
        """A tx request (op, txid) that is legal most of the time, or None."""
        rng, txid = self.rng, self.rng.choice(self.txids)
        opened = sum(self.model.txs[t].state != State.FREE for t in self.txids)
        usual = {
            State.FREE: BEGIN,
            State.OPEN: rng.choice([COMMITTING] * 6 + [PREPARE, ABORT]) if opened > len(self.txids) * 3 // 4 else None,
            State.PREPARED: rng.choice([COMMITTING, COMMITTING, ABORT]),
            State.COMMITTING: COMMIT,
        }.get(self.state(txid))
        op = rng.choice(list(TxOp)) if rng.random() < 0.04 else usual
        return None if op is None else (op, txid)

    def op(self):
        """Fields of the next op (`op_fields`)."""
        rng, m = self.rng, self.model
        r, self.fresh, txid = rng.random(), self.fresh + 1, rng.choice(self.txids)
        lpn = rng.choice(self.hot if rng.random() < 0.6 else self.warm)
        self.left = self.left - 1 if self.left else rng.choice([0, 0, 0, 0, 0, 3, 8])
        last = self.left == 0
        new = word(rng.choice([NAND, BUF]), self.fresh) if rng.random() < 0.9 else NONE
        if r < 0.45:
            ending = [t for t in self.txids if m.txs[t].state == State.COMMITTING]
            fields = op_fields(Op.LOOKUP, lpn, rng.choice([None, txid, rng.choice(ending or [txid])]), last=last)
        elif r < 0.75:
            opened = [t for t in self.txids if m.txs[t].state == State.OPEN]
            fields = op_fields(
                Op.APPEND, lpn, rng.choice(opened) if opened and rng.random() < 0.95 else txid, new, last=last
            )
        elif r < 0.81:
            fields = op_fields(Op.PLAIN, lpn, None, new, last=last)
        elif r < 0.84:
            fields = self.trim(lpn, txid, last)
        else:
            held = [(v, k) for t in m.txs for k, v in t.versions.items()] + [
                (v.location, k) for k, c in m.chains.items() for v in c if v.location
            ]
            old, lpn = rng.choice(held or [(NONE, lpn)])
            fields = op_fields(Op.SWAP, lpn, None, old, word(NAND, self.fresh), last=last)
        if fields["op"] != Op.TRIM:
            fields["blocks"] = rng.randrange(64)  # ignored
        name = Op(fields["op"]).name
        self.tally[name] = self.tally.get(name, 0) + 1
        return fields

    def trim(self, lpn, txid, last):
        """A range, mostly short and half of the time in a transaction that is open; some are too long, empty or past
        the end.
        """
        rng, m = self.rng, self.model
        opened = [t for t in self.txids if m.txs[t].state == State.OPEN]
        reader = rng.choice([None, rng.choice(opened) if opened and rng.random() < 0.95 else txid])
        blocks = rng.choice([1, 2, 2, 3, 3, 4, 5, 6, 8, 12, 32, rng.randrange(64)])
        return op_fields(
            Op.TRIM, max(0, lpn - rng.choice([0, 0, 0, 1, 3])), reader, rng.getrandbits(32), last=last, blocks=blocks
        )
