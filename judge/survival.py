# SPDX-License-Identifier: Apache-2.0
"""What a power cut may take (guarantees 6 to 10) and what was promised to stay.

Durable is: a COMMIT that is not RELAXED when it completes or is seen; a command with FUA, the same; what completed
before a FLUSH that succeeded was submitted, or an RFLUSH of its stream or one of its blocks; commits that are certainly
before a durable commit; what keeps order and completed, of an epoch before that of something durable that keeps order.
At a cut every other node is open (`alive` None) and the READs after it decide: a version that is shown survived, whole;
one that is certainly above what is shown did not, whole. Commits survive as a prefix of their order; what keeps order
survives only if all of earlier epochs that completed did. What was decided once is a fact for all later cuts.
"""

from judge.blocks import UNKNOWN, Blocks


class Survival(Blocks):
    def __init__(self):
        super().__init__()
        self.may_be_unreadable = False
        self.waiting = {}  # uid -> node: completed, not durable, in the order of completion
        self.relaxed = {}  # the commits among them
        self.firm = None  # what is durable, keeps order and is of the latest epoch, since the last cut
        self.frozen = {}  # uid -> node that a cut left open, and all commits of its time

    # While running

    def shown(self, read, lba, node, stamp):
        held = node.blocks[lba]
        if type(held) is tuple:
            node.blocks = {**node.blocks, lba: stamp}
        if node.cut > read.lo:  # known only now: a READ from before the cut saw it
            node.exists = True
            if not node.relaxed and (node.commit or node.fua):
                self.survived(node, ("seen", read, lba))
            return
        if not node.exists and node.alive:
            node.exists = True
        if node.alive is None:
            self.survived(node, ("read", read, lba, node))
        elif node.durable is None and not node.relaxed and (node.commit or node.fua):
            self.make_durable(node, ("seen", read, lba))

    def make_durable(self, node, why):
        if node.durable is not None:
            return
        node.durable = why
        self.waiting.pop(node.uid, None)
        self.relaxed.pop(node.uid, None)
        if node.live:
            self.settling.append(node)
        if node.commit and self.relaxed:
            for other in list(self.relaxed.values()):
                if self.before(other, node):
                    self.make_durable(other, ("prefix", node))
        if node.keeps and (self.firm is None or self.firm.epoch < node.epoch):
            self.firm = node
            for other in [n for n in self.waiting.values() if n.keeps and n.epoch < node.epoch]:
                self.make_durable(other, ("barrier", node))

    def completed(self, node):
        """`node` succeeded; its done line is set."""
        node.exists = True
        node.hi = min(node.hi, node.done)
        if node.durable is not None:
            return
        if (node.commit and not node.relaxed) or node.fua:
            self.make_durable(node, ("done",))
        elif node.keeps and self.firm is not None and node.epoch < self.firm.epoch:
            self.make_durable(node, ("barrier", self.firm))
        else:
            self.waiting[node.uid] = node
            if node.commit:
                self.relaxed[node.uid] = node

    def flushed(self, ident, submit, names=None):
        """A FLUSH submitted at that line succeeded, or an RFLUSH of the nodes that it `names`."""
        for node in list(self.waiting.values()):
            if node.done >= submit:
                break
            if names is None or names(node):
                self.make_durable(node, ("flush", ident))

    # Cuts

    def freeze(self, line, open_nodes, kept):
        """Power fails at `line`; `open_nodes` have no done. `kept`, a word for why: what was completed is durable."""
        if kept:
            for node in list(self.waiting.values()):
                self.make_durable(node, (kept, line))
        for node in open_nodes:
            node.hi = min(node.hi, line)
        for node in self.nodes.values():
            if node.blocks is None or node.cut:
                continue
            if node.durable is None and node.alive:
                node.alive = None
                node.cut = line
                self.frozen[node.uid] = node
            elif node.commit and node.exists and node.alive:
                self.frozen[node.uid] = node
        self.waiting.clear()
        self.relaxed.clear()
        self.top.clear()
        self.firm = None
        for node in [n for n in self.frozen.values() if n.commit and n.durable]:
            self.prefix(node)

    def survived(self, node, why):
        if node.alive:
            return
        if node.alive is False:
            raise self.torn(node, why, node.given)
        node.alive = node.exists = True
        node.given = why
        node.durable = node.durable or why
        if node.live:
            self.settling.append(node)
        if node.commit:
            self.prefix(node)
        for other in self.of_epochs(node, lambda epoch: epoch < node.epoch):
            if other.alive is False and other.exists:
                raise self.no_order(node, other)
            if other.alive is None and other.exists:
                self.survived(other, ("barrier", node))
        for lba in node.blocks:
            if lba in self.pend or lba in self.zeroes:
                self.again(lba)

    def of_epochs(self, node, which):
        """Those that one cut left open together with `node`, of these epochs, if all of them keep order."""
        if not node.keeps:
            return []
        return [n for n in self.frozen.values() if n.keeps and n.cut == node.cut and which(n.epoch)]

    def ranked(self, a, b):
        """Commits that one cut found in one order."""
        if a is b or not b.commit or not b.exists:
            return False
        return not (a.cut and a.cut < b.submit or b.cut and b.cut < a.submit)

    def prefix(self, node):
        """`node`, a commit, survived: so did the commits before it, and those that did not survive are after it."""
        for other in list(self.frozen.values()):
            if not self.ranked(node, other):
                continue
            if other.alive is False:
                self.edge(node, other, lambda path, other=other: self.no_prefix(node, other, path))
            elif other.alive is None and self.before(other, node):
                self.survived(other, ("prefix", node))

    def give_up(self, node, why):
        """`node` did not survive the cut."""
        if node.alive is False:
            return
        if node.alive:
            raise self.torn(node, node.given or node.durable, why)
        node.alive = False
        node.given = why
        if node.commit and node.exists:
            for other in list(self.frozen.values()):
                if not self.ranked(node, other):
                    continue
                if other.alive:
                    self.edge(other, node, lambda path, other=other: self.no_prefix(other, node, path))
                elif other.alive is None and self.before(node, other):
                    self.give_up(other, ("prefix", node))
        for other in self.of_epochs(node, lambda epoch: epoch > node.epoch) if node.exists else ():
            if other.alive:
                raise self.no_order(other, node)
            if other.alive is None:
                self.give_up(other, ("barrier", node))
        for lba in node.blocks:
            lst = self.hist.get(lba)
            if lst and node in lst:
                self.detach(node, lba, "it did not survive the cut", (10,), node)
                if self.holds_zero(node, lba):
                    self.unzeroed[lba] = node
        for lba in node.blocks:
            if lba in self.pend or lba in self.zeroes:
                self.again(lba)

    def needed(self, node):
        return node.uid in self.frozen

    def thaw(self):
        """Frozen nodes that can decide nothing any more are forgotten: plain ones that are decided, all without a
        block, commits when no open one has an order with them.
        """
        undecided = [n for n in self.frozen.values() if n.alive is None and n.live and n.commit]
        last = max((n.cut for n in undecided), default=0)
        for node in list(self.frozen.values()):
            if node.alive is None and node.live:
                continue
            if node.commit and node.alive is not None and node.submit < last:
                continue
            del self.frozen[node.uid]
            if not node.live:
                self.emptied.append(node)

    def fixpoint(self, deep=True):
        """Everything undecided is looked at until nothing changes; `deep`: the order of commits too."""
        changed = True
        while changed:
            changed = False
            for lba in {*self.pend, *self.zeroes}:
                changed |= self.again(lba)
            if deep:
                changed |= self.prefixes()

    def prefixes(self):
        commits = [n for n in self.frozen.values() if n.commit and n.exists]
        undecided = [n for n in commits if n.alive is None]
        decided = [n for n in commits if n.alive is not None] if undecided else ()
        changed = False
        for node in undecided:
            for other in decided:
                if node.alive is not None or not self.ranked(node, other):
                    continue
                if other.alive and self.before(node, other):
                    self.survived(node, ("prefix", other))
                    changed = True
                elif other.alive is False and self.before(other, node):
                    self.give_up(node, ("prefix", other))
                    changed = True
        return changed

    # Damage

    def damaged(self, lba):
        """The test made a page of `lba` unreadable: no conclusions from this block until it is written again;
        MEDIA_ERROR is an answer.
        """
        base = self.base.get(lba, self.blank)
        allowed = {None, *(base if type(base) is frozenset else () if base is UNKNOWN else (base,))}
        older = {0, *(s for s, (where, _, guarantees, _) in self.old.items() if where == lba and guarantees == (5,))}
        for node in [v for v in self.hist.get(lba, ()) if v.exists]:
            held = node.blocks[lba]
            held = set(held) if type(held) is tuple else {held}
            if node.durable is not None:
                older |= allowed - {None}
                allowed = {None}
            allowed |= held
            self.detach(node, lba, "its page was damaged")
        if base is not UNKNOWN:
            self.base[lba] = frozenset(allowed)
        self.hurt[lba] = frozenset(older)

    def lost(self):
        """A drive with a damaged log, root or map reported a loss: what it holds is not known.

        What was never committed must not show all the same.
        """
        for lba in list(self.hist):
            for node in list(self.hist[lba]):
                self.detach(node, lba, "lost with a damaged page")
        self.base.clear()
        self.blank = UNKNOWN
        self.pend.clear()
        self.zeroes.clear()
        self.settling.clear()
        self.frozen.clear()
        self.nodes.clear()
        self.emptied.clear()
        self.readers.clear()
