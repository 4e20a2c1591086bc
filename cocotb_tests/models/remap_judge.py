# SPDX-License-Identifier: Apache-2.0
"""Judges what a remap engine did against RemapModel: told in the order of the clocks, and inside one as
docs/interfaces.md orders it, every op and tx request that was taken, every answer, every release, and every txid that
became FREE. An answer, a release or a state that the contract does not allow is an assertion; so is a release that is
late or never comes. The caller sets `clock`, for the messages, and counts in `ready_clocks` those in which a release
could have passed.
"""

from cocotb_tests.models.remap_model import NONE, Op, RemapModel, State, TxOp

WALKED = (State.COMMITTED, State.ABORTED)


class Call:
    """One op or tx request: `taken` and `answered` are clock numbers, `rsp` the response, `expect` the answer that is
    right.
    """

    def __init__(self, **fields):
        self.fields, self.taken, self.answered, self.rsp, self.expect, self.offered = (
            fields,
            None,
            None,
            None,
            None,
            None,
        )
        # other right answers of a LOOKUP, after a change of its transaction or of another
        self.may_abort = self.may_commit = None
        self.below = None  # of a LOOKUP that finds its own version: what it finds without it
        # of an APPEND or PLAIN: words that it may have found there; and whose uncommitted versions a PLAIN is below
        self.places, self.over, self.may_be_over = (), set(), False


class RemapJudge:
    def __init__(self, lbas, tx_entries, slack):
        """`slack`: ready clocks that a release may be late."""
        self.model, self.slack = RemapModel(lbas, tx_entries), slack
        self.waiting = {}  # tag -> Call, taken and not answered
        self.clock = self.ready_clocks = 0
        self.group_limit, self.deadline = None, {}
        self.seen = {
            "commit inside a group": 0,
            "commit beside an op": 0,
            "answer overtakes": 0,
            "16 jobs": 0,
            "aborted by RECOVER": 0,
        }

    def op_taken(self, call):
        call.taken = self.clock
        f, m = call.fields, self.model
        assert f["tag"] not in self.waiting
        self.waiting[f["tag"]] = call
        self.seen["16 jobs"] += len(self.waiting) >= 16
        call.limit = m.commits if self.group_limit is None else self.group_limit
        self.group_limit = None if f["last"] else call.limit
        call.expect = m.apply(
            f["op"], f["lpn"], f["txid"] if f["hasTx"] else None, f["location"], f["new"], call.limit, call, f["blocks"]
        )
        if f["op"] in (Op.APPEND, Op.PLAIN):
            swaps = [
                c.fields for c in self.waiting.values() if c.fields["op"] == Op.SWAP and c.fields["lpn"] == f["lpn"]
            ]
            call.places = m.places | {w for s in swaps for w in (s["location"], s["new"])}
            call.over, call.may_be_over = m.over, m.late
        if f["op"] == Op.LOOKUP and call.expect["own"]:
            call.below = m.lookup(f["lpn"], None, call.limit)["location"]

    def op_answered(self, tag, rsp):
        """`rsp`: own, committing, hit, error and the location as a word. Returns the Call."""
        assert tag in self.waiting, f"clock {self.clock}: an answer to tag {tag}, which nobody asked"
        call = self.waiting.pop(tag)
        call.answered, call.rsp = self.clock, rsp
        older = [c for c in self.waiting.values() if c.taken < call.taken]
        self.seen["answer overtakes"] += bool(older)
        self._judge(call, older)
        return call

    def _judge(self, call, older):
        expect, m, f = call.expect, self.model, call.fields
        for c in older:
            both = (
                meet(c.fields, f)
                and Op.LOOKUP != max(c.fields["op"], f["op"])
                and (c.fields["op"] != Op.TRIM or f["op"] == Op.TRIM)
            )
            assert not both or c.expect["error"] or expect["error"], f"clock {self.clock}: {f} overtakes {c.fields}"
        if expect["hit"] is None:
            expect["hit"] = call.rsp["hit"]
            m.swapped_unread(f["lpn"], f["location"], f["new"], call.rsp["hit"])
            for c in self.waiting.values():  # lookups of an older instant that come behind it
                if call.rsp["hit"] and c.fields["lpn"] == f["lpn"]:
                    c.expect |= {"location": f["new"]} if c.expect["location"] == f["location"] else {}
                    c.below = f["new"] if c.below == f["location"] else c.below
                    c.may_abort = f["new"] if c.may_abort == f["location"] else c.may_abort
        if expect["error"]:
            expect = call.rsp | dict(error=True)
        elif f["op"] in (Op.APPEND, Op.PLAIN):
            over = call.rsp["committing"]
            assert call.rsp["location"] in call.places, (
                f"clock {self.clock}: {f} answered {call.rsp}, its location must be one of {call.places}"
            )
            assert (call.over or call.may_be_over) if over else not call.over, f"clock {self.clock}: {f}: {call.rsp}"
            expect |= dict(location=call.rsp["location"], committing=over)
        right = [expect]
        if call.may_abort is not None:
            right.append(expect | dict(own=False, location=call.may_abort))
        if call.may_commit:
            right += [r | dict(committing=True) for r in right]
        assert call.rsp in right, f"clock {self.clock}: {f} answered {call.rsp}, must be {right}"
        m.answered(call)

    def tx_taken(self, op, txid, state, count):
        """`state`, `count`: what the engine shows of the txid in that clock. Returns whether the request is legal."""
        m = self.model
        self.agrees(txid, state, count)
        was = m.txs[txid].state
        lookups = [c for c in self.waiting.values() if c.fields["op"] == Op.LOOKUP and not c.expect["error"]]
        if op == TxOp.COMMITTING and was in (State.OPEN, State.PREPARED):
            for c in lookups:
                c.may_commit = c.may_commit or c.fields["lpn"] in m.txs[txid].versions
        aborted = {t for t in range(32) if op == TxOp.RECOVER and m.txs[t].state == State.OPEN}
        if op == TxOp.ABORT and was in (State.OPEN, State.PREPARED):
            aborted.add(txid)
        for c in self.waiting.values():
            c.may_be_over = c.may_be_over or bool(c.over & aborted)
            c.over -= aborted
        for c in lookups:
            if c.expect["own"] and c.fields["txid"] in aborted:
                c.may_abort = c.below
        self.seen["aborted by RECOVER"] += len(aborted) * (op == TxOp.RECOVER)
        legal = m.tx(op, txid)
        if op == TxOp.COMMIT and legal:
            self.seen["commit inside a group"] += self.group_limit is not None
            self.seen["commit beside an op"] += bool(self.waiting)
        return legal

    def freed(self, txid):
        """A walk is over; once per walk, at any time from then on."""
        self.model.freed(txid)

    def agrees(self, txid, state, count):
        tx = self.model.txs[txid]
        assert state == tx.state, f"clock {self.clock}: txid {txid} is {State(state).name}, must be {tx.state.name}"
        busy = any(c.fields["op"] in (Op.APPEND, Op.TRIM) for c in self.waiting.values())
        assert busy or count == tx.count, f"clock {self.clock}: txid {txid} has count {count}, must be {tx.count}"

    def released(self, location):
        lpn = self.model.debts.get(location, (None,))[0]
        for call in self.waiting.values():
            sent = (
                call.fields["op"] == Op.LOOKUP
                and call.fields["lpn"] == lpn
                and location in (call.expect["location"], call.may_abort)
            )
            assert not sent, (
                f"clock {self.clock}: {location:#x} is released before the lookup that names it is answered"
            )
        self.model.release(location, self.group_limit)

    def nothing_late(self):
        """To be called once per ready clock, or less often."""
        overdue = self.model.overdue
        for location in overdue:
            late = self.deadline.setdefault(location, self.ready_clocks + self.slack) < self.ready_clocks
            assert not late, f"clock {self.clock}: {location:#x} should have been released"
        if len(self.deadline) > len(overdue):
            self.deadline = {k: v for k, v in self.deadline.items() if k in overdue}

    def nothing_owed(self):
        """When all is answered and walked."""
        assert not self.model.debts, f"never released: {[hex(x) for x in self.model.debts]}"


def meet(a, b):
    """Whether two ops have a block in common."""
    blocks_a, blocks_b = (f["blocks"] if f["op"] == Op.TRIM else 1 for f in (a, b))
    return a["lpn"] < b["lpn"] + blocks_b and b["lpn"] < a["lpn"] + blocks_a


def op_fields(op, lpn, txid=None, location=NONE, new=NONE, last=True, tag=0, blocks=0):
    """Fields of an op as `Call` keeps them: words are 32-bit numbers, txid None leaves hasTx low."""
    return dict(
        op=int(op),
        lpn=lpn,
        hasTx=int(txid is not None),
        txid=txid or 0,
        location=location,
        new=new,
        last=int(last),
        tag=tag,
        blocks=blocks,
    )
