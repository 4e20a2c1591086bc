# SPDX-License-Identifier: Apache-2.0
"""The order in which commands took effect: nodes with an interval each, edges between nodes whose intervals overlap.

A node is a command that changes what everybody sees (a plain WRITE, TRIM or WRITE ZEROES, a COMMIT with all that it
commits) or a READ. It took effect at one instant between the lines `lo` and `hi`: of its submit and its done at first,
narrowed by every edge. An edge a -> b: a took effect before b. So

    a is certainly before b  if  a.hi < b.lo, or a path of edges leads from a to b

and nothing else is known. A chain of edges that holds a "before" of time narrows the intervals along it, so a
contradiction in time shows as lo > hi; one without time is a cycle of edges. Both are refused where the edge is added.
Edges join only nodes that did take effect (`exists`).
"""

NEVER = 1 << 60  # `hi` of a command under way


class Violation(Exception):
    """What the contract forbids: `guarantees`, numbers of contract.md, the first is the nearest; `words`; `lines` of
    the history.
    """

    def __init__(self, guarantees, words, lines=()):
        self.guarantees = tuple(guarantees)
        self.words = words
        self.lines = tuple(sorted({n for n in lines if n and n < NEVER}))
        super().__init__(str(self))

    def __str__(self):
        named = " and ".join(map(str, self.guarantees))
        where = f" [lines {', '.join(map(str, self.lines))}]" if self.lines else ""
        return f"guarantee{'s' if len(self.guarantees) > 1 else ''} {named}: {self.words}{where}"


class Node:
    """`blocks`: LBA to stamp (0 zeroes; a tuple: one of these), None for a READ. `live`: in how many blocks it still
    counts. `exists`: it took effect.
    `alive`: True, False (given up, or never was), None (a cut left that open). `cut`: the line of that cut. `durable`,
    `given`: why it is, why it is not. `prepared`: the COMMIT of a transaction that may have been prepared. `keeps`: it
    is order-preserving; `epoch`: barriers that were submitted before it."""

    __slots__ = (
        *(
            "uid",
            "op",
            "id",
            "tx",
            "submit",
            "done",
            "lo",
            "hi",
            "blocks",
            "live",
            "exists",
            "alive",
            "cut",
            "durable",
            "given",
        ),
        *("commit", "relaxed", "fua", "prepared", "keeps", "epoch", "stream", "succ", "pred", "refs"),
    )

    def __init__(self, uid, op, ident, submit, blocks):
        self.uid = uid
        self.op = op
        self.id = ident
        self.submit = self.lo = submit
        self.done = self.hi = NEVER
        self.blocks = blocks
        self.live = 0
        self.exists = False
        self.alive = True
        self.cut = 0
        self.durable = None
        self.given = None
        self.commit = self.relaxed = self.fua = self.prepared = self.keeps = False
        self.epoch = 0
        self.stream = None  # of a plain WRITE
        self.succ = self.pred = None
        self.refs = 0
        self.tx = -1

    def copy(self):
        new = Node(self.uid, self.op, self.id, self.submit, self.blocks)
        new.tx, new.done, new.lo, new.hi, new.live, new.exists, new.alive = (
            self.tx,
            self.done,
            self.lo,
            self.hi,
            self.live,
            self.exists,
            self.alive,
        )
        new.prepared, new.keeps, new.epoch, new.stream = self.prepared, self.keeps, self.epoch, self.stream
        new.cut, new.durable, new.given, new.commit, new.relaxed, new.fua = (
            self.cut,
            self.durable,
            self.given,
            self.commit,
            self.relaxed,
            self.fua,
        )
        new.refs = self.refs
        if self.succ is not None:
            new.succ = set(self.succ)
        if self.pred is not None:
            new.pred = set(self.pred)
        return new

    @property
    def lines(self):
        return (self.submit, self.done)

    def __str__(self):
        return f"{'RELAXED ' if self.relaxed else ''}{self.op.replace('_', ' ')} {self.id}"


class Order:
    """`nodes`: uid to node. A node goes when nothing asks for it any more (`remove`)."""

    def __init__(self):
        self.nodes = {}
        self.uids = 0

    def node(self, op, ident, submit, blocks):
        self.uids += 1
        new = self.nodes[self.uids] = Node(self.uids, op, ident, submit, blocks)
        return new

    def before(self, a, b):
        """a took effect before b, for certain."""
        if a.hi < b.lo:
            return True
        if not a.succ or not b.pred or b.hi < a.lo:
            return False
        return self.path(a, b) is not None

    def path(self, a, b):
        """uids of a path of edges from a to b, both included, or None."""
        if not a.succ or not b.pred:
            return [a.uid] if a is b else None
        target, nodes = b.uid, self.nodes
        came, stack = {a.uid: 0}, [a]
        while stack:
            here = stack.pop()
            for uid in here.succ or ():
                if uid in came:
                    continue
                came[uid] = here.uid
                if uid == target:
                    found = [uid]
                    while found[-1] != a.uid:
                        found.append(came[found[-1]])
                    return found[::-1]
                there = nodes[uid]
                if there.succ and there.lo <= b.hi:
                    stack.append(there)
        return None

    def edge(self, a, b, refuse):
        """a before b. `refuse(path)` makes the Violation when that cannot be: path, of nodes, leads from b to a."""
        if a.hi < b.lo or a is b:
            return
        if a.succ and b.uid in a.succ:
            return
        if b.hi < a.lo:
            raise refuse([b, a])
        back = self.path(b, a)
        if back:
            raise refuse([self.nodes[uid] for uid in back])
        if a.succ is None:
            a.succ = set()
        if b.pred is None:
            b.pred = set()
        a.succ.add(b.uid)
        b.pred.add(a.uid)
        if b.lo < a.lo:
            self.later(b, a.lo, refuse, a)
        if a.hi > b.hi:
            self.earlier(a, b.hi, refuse, b)

    def later(self, node, lo, refuse, source):
        work = [node]
        while work:
            here = work.pop()
            if here.lo >= lo:
                continue
            here.lo = lo
            if lo > here.hi:
                raise refuse([here, source])
            work.extend(self.nodes[uid] for uid in here.succ or ())

    def earlier(self, node, hi, refuse, source):
        work = [node]
        while work:
            here = work.pop()
            if here.hi <= hi:
                continue
            here.hi = hi
            if here.lo > hi:
                raise refuse([source, here])
            work.extend(self.nodes[uid] for uid in here.pred or ())

    def remove(self, node):
        """The node goes; what it said about others' order stays."""
        nodes = self.nodes
        del nodes[node.uid]
        pred, succ = node.pred, node.succ
        for uid in pred or ():
            nodes[uid].succ.discard(node.uid)
        for uid in succ or ():
            nodes[uid].pred.discard(node.uid)
        if not pred or not succ:
            return
        for p in pred:
            before = nodes[p]
            for s in succ:
                after = nodes[s]
                if before.hi >= after.lo and p != s:
                    before.succ.add(s)
                    after.pred.add(p)
