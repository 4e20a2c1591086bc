# SPDX-License-Identifier: Apache-2.0
"""A command under way, as the judge sees it."""

from judge.order import NEVER


class Command:
    """A command under way. `node`: what it does for everybody; `blocks`: what it writes in its transaction; `taken`,
    `over`: the table that a COMMIT took, and what of it its own blocks hide; `mixed`: an end of its transaction is
    under way beside it, or beside it another end; `alone`: no other command of its txid is; `may`: what its txid
    may have been when it was submitted, bits of CLOSED, OPEN and PREPARED; `must`: the statuses that its input
    earns."""

    __slots__ = (
        *("id", "op", "lba", "n", "tx", "arg", "stream", "fua", "commit", "relaxed", "barrier", "orderless"),
        *("submit", "done", "status"),
        *("node", "blocks", "taken", "over", "mixed", "alone", "may", "must"),
    )

    def __init__(self, event, line):
        get = event.get
        self.id = event["id"]
        self.op = event["op"]
        self.lba = get("lba", 0)
        self.n = get("n", 0)
        self.tx = get("tx")
        self.arg = get("arg", 0)
        self.stream = get("stream", 0)
        self.fua = get("fua", 0) == 1
        self.commit = get("commit", 0) == 1
        self.relaxed = get("relaxed", 0) == 1
        self.barrier = self.op == "BARRIER" or get("barrier", 0) == 1
        self.orderless = get("orderless", 0) == 1
        self.submit = line
        self.done = NEVER
        self.status = self.node = self.blocks = self.taken = self.may = None
        self.mixed = False
        self.alone = True
        self.must = ()
        self.over = []

    def names(self, node):
        """Whether this RFLUSH is about a version."""
        if self.arg:
            return node.stream == self.stream
        return any(self.lba <= lba < self.lba + self.n for lba in node.blocks)

    def copy(self, nodes):
        new = Command.__new__(Command)
        for slot in Command.__slots__:
            setattr(new, slot, getattr(self, slot))
        if self.node is not None:
            new.node = nodes[self.node.uid]
        return new

    def __str__(self):
        return f"{self.op.replace('_', ' ')} {self.id}"
