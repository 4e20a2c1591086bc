# SPDX-License-Identifier: Apache-2.0
"""The judge: reads a history event by event and says whether contract.md allows it.

    judge = Judge()
    for event in events: judge.feed(event)        # dicts of the history format, the header first
    verdict = judge.finish()                      # violations (the first one ends the judgement) and counts

`copy()` gives an independent judge with the same past, for histories that share a beginning. Line numbers are those of
the events fed. What is settled is forgotten, so memory grows with what is open, unflushed or in conflict, and with the
blocks that were written once.
"""

from collections import Counter
from dataclasses import dataclass, field

from judge import format as form
from judge.blocks import UNKNOWN
from judge.command import Command
from judge.format import Malformed
from judge.order import NEVER, Violation
from judge.statuses import DONE, NOTHING, PERHAPS, WRITES, faults, verdict
from judge.transactions import CLOSED, OPEN, PREPARED, UNSURE, Transactions, either

SWEEP = 256  # events between two sweeps


@dataclass
class Verdict:
    violations: list = field(default_factory=list)
    counts: dict = field(default_factory=dict)

    @property
    def good(self):
        return not self.violations


class Judge(Transactions):
    def __init__(self):
        super().__init__()
        self.line = 0
        self.lbas = 0
        self.entries = 60000
        self.mode = "open"
        self.failing = False
        self.on = True
        self.flight = {}  # id -> Command, in the order of submission
        self.highest = -1
        self.epoch = 0  # barriers so far
        self.late = set()  # ids below the highest that came after it
        self.cuts = []
        self.hurt = {}
        self.reported = set()  # damage since the last up: what
        self.counts = Counter()
        self.violation = None

    def feed(self, event):
        """Judges one event. After a violation the rest is only counted."""
        self.line += 1
        if self.line == 1:
            form.header(event, 1)
            self.lbas = event["lbas"]
            self.txids = event.get("txids", 32)
            self.entries = event.get("entries", 60000)
            self.may_be_unreadable = bool(event.get("unreadable"))
            self.failing = bool(event.get("failing")) or self.may_be_unreadable
            return
        kind = form.check(event, self.line)
        self.counts["events"] += 1
        if self.violation:
            return
        try:
            if kind == "submit":
                self.submit(event)
            elif kind == "done":
                self.done(event)
            elif kind in ("cut", "off"):
                self.cut(kind == "off", bool(event.get("plp")))
            elif kind == "up":
                self.up(event)
            elif kind == "damage":
                self.damage(event)
            if self.line % SWEEP == 0:
                self.sweep()
        except Violation as found:
            self.violation = found

    def finish(self):
        """The verdict.

        A command that is still without its completion is a violation: a history that ends in a failure of power ends
        with a cut.
        """
        if not self.line:
            raise Malformed(1, "an empty file is no history")
        try:
            if not self.violation:
                self.fixpoint()
                self.unanswered("the history ends")
        except Violation as found:
            self.violation = found
        return Verdict([self.violation] if self.violation else [], dict(self.counts))

    def unanswered(self, when):
        for command in self.flight.values():
            raise Violation((12,), f"{command} has no completion when {when}", (command.submit, self.line))

    def horizon(self):
        """No command that is still to be answered was submitted before this line."""
        return next(iter(self.flight.values())).submit if self.flight else NEVER

    # Commands

    def submit(self, event):
        line = self.line
        if not self.on:
            raise Malformed(line, "a command while the drive is off")
        command = Command(event, line)
        ident = command.id
        if ident > self.highest:
            self.highest = ident
        elif ident in self.flight or ident in self.late or ident == self.highest:
            raise Malformed(line, f"id {ident} is used twice")
        else:
            self.late.add(ident)
        op = command.op
        if op == "WRITE":
            for stamp in event["data"]:
                if stamp in self.stamps or stamp in self.old or stamp in self.loose:
                    raise Malformed(line, f"stamp {stamp} is used twice")
        command.must = faults(command, self.lbas, self.txids)
        if not command.must:
            if op in WRITES:
                data = event["data"] if op == "WRITE" else [0] * command.n
                blocks = dict(zip(range(command.lba, command.lba + command.n), data, strict=True))
                if command.tx is None:
                    node = command.node = self.node(op, ident, line, blocks)
                    node.fua = command.fua
                    node.stream = command.stream if op == "WRITE" else None
                    self.install(node)
                else:
                    t = self.enter(command)
                    if command.commit:
                        command.blocks = blocks
                        command.node = self.take(t, command)
                    else:
                        self.write_in(t, command, blocks)
            elif op == "COMMIT":
                command.node = self.take(self.enter(command), command)
            elif op == "RECOVER":
                self.enter_recover()
            elif command.tx is not None and op in ("READ", "BEGIN", "ABORT", "PREPARE"):
                self.enter(command)
            if command.node is not None:
                command.node.epoch = self.epoch
                command.node.keeps = not command.orderless
            self.epoch += command.barrier
        self.flight[ident] = command

    def done(self, event):
        ident = event["id"]
        command = self.flight.pop(ident, None)
        if command is None:
            raise Violation(
                (12,),
                f"a completion for id {ident}, which is not under way: never submitted, answered before, or from "
                "before the cut",
                (self.line,),
            )
        command.done = self.line
        command.status = event["status"]
        op = command.op
        if command.mixed and command.tx in self.tx and self.tx[command.tx].perhaps:
            command.alone = False  # a WRITE may have found it prepared
        did = verdict(command, self.mode, None if command.mixed else command.may, self.failing)
        self.counts[command.status] += 1
        if command.must:
            return
        if op == "READ":
            if did is DONE:
                self.read(command, event.get("data"))
            if command.tx is not None:
                self.leave(self.tx[command.tx], command)
        elif op in WRITES and command.tx is None:
            self.plain(command, did)
        elif command.tx is not None and op in ("COMMIT", "ABORT", "BEGIN", "PREPARE", *WRITES):
            self.in_transaction(command, did)
        elif op == "FLUSH":
            if did is DONE:
                self.flushed(ident, command.submit)
        elif op == "RFLUSH":
            if did is DONE:
                self.flushed(ident, command.submit, command.names)
        elif op == "RECOVER":
            self.recovered({DONE: True, NOTHING: False, PERHAPS: None}[did])
        if self.settling:
            self.settle(self.horizon())

    def plain(self, command, did):
        node = command.node
        node.done = self.line
        if did is DONE:
            self.completed(node)
            for lba in node.blocks:
                if lba in self.pend or lba in self.zeroes:
                    self.again(lba)
        elif did is NOTHING:
            self.unchanged(node)
        else:  # there whole or not (guarantee 2)
            node.hi = min(node.hi, self.line)

    def unchanged(self, node):
        if node.exists:
            raise Violation((12,), f"{node} answered that it changed nothing, but what it wrote was read", node.lines)
        self.revoke(node, f"{node} answered that it changed nothing")

    def in_transaction(self, command, did):
        t = self.tx[command.tx]
        op = command.op
        node = command.node
        if node is not None:
            node.done = self.line
            if did is DONE:
                self.completed(node)
                for lba in node.blocks:
                    if lba in self.pend or lba in self.zeroes:
                        self.again(lba)
                if not node.live:
                    self.emptied.append(node)
                t.may = CLOSED
                t.fuzzy = t.mixed
                if t.ends > 1 and t.opens:  # another end may have come first, and the txid opened again
                    self.loosen_commit(command)
                self.overwrote(command)
            elif did is NOTHING:
                if node.exists:
                    self.unchanged(node)
                self.put_back(t, command, node)
                if command.status == "TX_INVALID":
                    t.may = t.may & ~OPEN if op == "WRITE" and t.may & PREPARED else CLOSED
            else:
                self.loosen_commit(command)
                t.may = either(t)
                t.fuzzy = True
        elif op == "ABORT":
            if did is DONE:
                self.drop(t, "its transaction was aborted", (3,))
                t.may = CLOSED
                t.fuzzy = t.mixed
            elif did is PERHAPS:
                self.drop_loose(t)
                t.may = either(t)
            elif command.status == "TX_INVALID":
                t.may = CLOSED
        elif op == "PREPARE":
            if did is DONE:
                t.may = PREPARED
            elif did is PERHAPS:
                t.may = UNSURE
            elif command.status == "TX_INVALID":
                t.may = CLOSED | (t.may & PREPARED)
        elif op == "BEGIN":
            if did is DONE or command.status == "TX_BUSY" and not t.may & PREPARED:
                t.may = OPEN
            elif command.status == "TX_BUSY":
                t.may = t.may & ~CLOSED or UNSURE
        else:
            if command.status == "TX_FULL" and t.entries <= self.entries and not t.fuzzy:
                words = (
                    f"{command} got TX_FULL: its transaction has at most {t.entries} entries with it, of {self.entries}"
                )
                raise Violation((13,), words, (command.submit, self.line))
            if did is DONE:
                self.written(t, command, True)
                t.may = OPEN
                if (
                    len(t.table) > self.entries
                    and sum(any(v[2] < NEVER for v in vs) for vs in t.table.values()) > self.entries
                ):
                    raise Violation(
                        (13,),
                        f"{command} succeeded: its transaction has more than {self.entries} entries",
                        (command.submit, self.line),
                    )
            else:
                if did is NOTHING:
                    self.unwritten(t, command)
                else:
                    self.written(t, command, False)
                    if t.may == CLOSED:
                        t.may = either(t)
        self.leave(t, command)

    def read(self, command, data):
        n = command.n
        if data is None and command.status == "MEDIA_ERROR":
            data = [None] * n
        if data is None or len(data) != n:
            raise Violation(
                (12,),
                f"{command} of {n} blocks delivered {0 if data is None else len(data)}",
                (command.submit, self.line),
            )
        if (None in data) != (command.status == "MEDIA_ERROR"):
            raise Violation(
                (14, 12),
                f"{command} got {command.status} and {data.count(None)} of its blocks were not delivered",
                (command.submit, self.line),
            )
        self.counts["reads"] += 1
        hist, base, blank, top = self.hist, self.base, self.blank, self.top
        t = self.tx[command.tx] if command.tx is not None else None
        if t is not None and not t.table and not command.mixed:
            t = None
        node = None
        submit = command.submit
        for lba, stamp in enumerate(data, command.lba):
            if t is None:
                lst = hist.get(lba)
                if lst is None:
                    held = base.get(lba, blank)
                    if held == stamp and type(held) is int:
                        continue
                else:
                    last = lst[-1]
                    if (
                        (len(lst) == 1 or top.get(lba) == last.uid)
                        and last.hi < submit
                        and last.exists
                        and last.alive
                        and last.blocks[lba] == stamp
                    ):
                        continue
            if node is None:
                node = self.node("READ", command.id, submit, None)
                node.done = node.hi = self.line
                node.exists = True
            if t is None:
                self.observe(node, lba, stamp)
            else:
                self.observe_in(t, node, command, lba, stamp)
        if node is not None:
            if node.refs or node.pred or node.succ:
                self.readers.append(node)
            else:
                del self.nodes[node.uid]

    # The drive

    def cut(self, orderly, saved=False):
        """Power fails; `orderly`: it was switched off. `saved`: the drive has had the time to save what it held."""
        if orderly:
            self.unanswered("the drive is switched off")
        self.fixpoint()
        self.uncertain(orderly or saved)
        open_nodes = [c.node for c in self.flight.values() if c.node is not None]
        for command in self.flight.values():
            if command.node is not None:
                command.node.hi = min(command.node.hi, self.line)
                self.overwrote(command, "its transaction was open when power failed", (8,))
        self.flight.clear()
        self.reset()
        if self.on:
            self.freeze(self.line, open_nodes, "off" if orderly else "plp" if saved else None)
        self.unzeroed.clear()
        self.cuts.append(self.line)
        del self.cuts[:-64]
        self.counts["offs" if orderly else "cuts"] += 1
        self.on = False
        self.fixpoint()
        self.sweep()

    def uncertain(self, orderly):
        """COMMITs of prepared transactions that are not durable: these may be prepared again."""
        for command in self.flight.values():
            node = command.node
            if node is not None and node.prepared and node.durable is None:
                self.overwrote(command, "its transaction was open when power failed", (8,))
                command.node = None
                self.back(node)
        for node in [n for n in self.relaxed.values() if n.prepared and not orderly]:
            self.relaxed.pop(node.uid, None)
            self.waiting.pop(node.uid, None)
            self.back(node)

    def up(self, event):
        if self.on and (self.flight or self.counts["events"] > 1 and not self.only_notes()):
            raise Malformed(self.line, "up, but the drive is on")
        self.on = True
        self.mode = event["mode"]
        said = self.mode != "open" or any(event.get(key) for key in ("dropped", "log_pages", "doubtful"))
        if self.mode == "closed" and not self.reported or self.mode == "read-only" and not self.failing:
            raise Violation(
                (11,), f"the drive does not come back by itself: {event.get('said', self.mode)}", (self.line,)
            )
        if said:
            if self.reported - {"data"}:
                self.lost()
            for lba, older in self.hurt.items():
                held = self.base.get(lba, self.blank)
                if type(held) is frozenset and None in held:
                    self.base[lba] = UNKNOWN if self.dropped else held | older
        if said or self.reported <= {"data"}:
            self.reported.clear()
            self.hurt.clear()

    def only_notes(self):
        return not self.uids and self.highest < 0 and not self.cuts

    def damage(self, event):
        self.reported.add(event["what"])
        self.failing = True
        self.counts["damage"] += 1
        if event["what"] == "data":
            if event["lba"] >= self.lbas:
                raise Malformed(self.line, f"damage of LBA {event['lba']}: the drive has {self.lbas}")
            self.damaged(event["lba"])

    def sweep(self):
        """Forgets what is settled, and looks again at what is undecided."""
        if self.settling:
            self.settle(self.horizon())
        if self.pend or self.zeroes:
            self.fixpoint(deep=False)
        if self.frozen:
            self.thaw()
        if self.readers or self.emptied or self.pend or self.zeroes:
            self.collect(self.horizon())

    def copy(self):
        """An independent judge with the same past."""
        new = Judge.__new__(Judge)
        new.__dict__.update(self.__dict__)
        nodes = new.nodes = {uid: node.copy() for uid, node in self.nodes.items()}

        def of(node):
            if node is None:
                return None
            found = nodes.get(node.uid)
            if found is None:
                found = nodes[node.uid] = node.copy()
                del nodes[node.uid]
                gone[node.uid] = found
            return found

        gone = {}
        new.hist = {lba: [nodes[v.uid] for v in lst] for lba, lst in self.hist.items()}
        new.pend = {lba: [tuple(of(v) for v in item) for item in items] for lba, items in self.pend.items()}
        new.zeroes = {
            lba: [(of(read), [of(v) for v in sources]) for read, sources in items] for lba, items in self.zeroes.items()
        }
        for name in ("settling", "readers", "emptied"):
            setattr(new, name, [nodes[v.uid] for v in getattr(self, name) if v.uid in nodes])
        for name in ("waiting", "relaxed", "frozen"):
            setattr(new, name, {uid: nodes[uid] for uid in getattr(self, name)})
        for name in ("base", "top", "stamps", "old", "loose", "hurt", "writer", "unzeroed"):
            setattr(new, name, dict(getattr(self, name)))
        new.firm = of(self.firm)
        new.flight = {ident: command.copy(nodes) for ident, command in self.flight.items()}
        new.tx = {number: t.copy(new.flight) for number, t in self.tx.items()}
        new.late, new.cuts, new.reported, new.counts = (
            set(self.late),
            list(self.cuts),
            set(self.reported),
            Counter(self.counts),
        )
        return new


def judge_lines(events):
    """The verdict on a whole history."""
    judge = Judge()
    for event in events:
        judge.feed(event)
    return judge.finish()
