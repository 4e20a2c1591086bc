# SPDX-License-Identifier: Apache-2.0
"""Which epoch a log entry belongs to and whether it keeps order, by docs/contract.md: `line` is what the data path was
sent, in order, READs left out.
"""

from collections import deque

from opentxssd.facts import LogKind, Opcode

WRITING = (Opcode.WRITE, Opcode.TRIM, Opcode.WRITE_ZEROES)


def made(command, entry):
    """Can the entry be one of that command?"""
    op, kind = command["opcode"], entry["kind"]
    if kind in (LogKind.MAP, LogKind.TRIM):
        same_tx = command["hasTx"] == entry["inTx"] and (not entry["inTx"] or command["txid"] == entry["serial"] & 31)
        blocks = range(command["lba"], command["lba"] + command["count"])
        return op in WRITING and (op == Opcode.WRITE) == (kind == LogKind.MAP) and same_tx and entry["lpn"] in blocks
    if kind == LogKind.ABORT and op == Opcode.RECOVER:
        return True
    ends = {
        LogKind.COMMIT: op == Opcode.COMMIT or op == Opcode.WRITE and command["commit"],
        LogKind.ABORT: op == Opcode.ABORT,
        LogKind.PREPARE: op == Opcode.PREPARE,
    }
    return ends[kind] and command["txid"] == entry["serial"] & 31


class Epochs:
    """`after`: index behind the last order-preserving entry of an earlier epoch that names a page."""

    def __init__(self):
        self.line = deque()
        self.epoch = self.after = self.pages = 0
        self.used = False  # the epoch has an order-preserving entry
        self.seen = set()  # (epoch is not 0, kind, ordered)

    def append(self, entry, index, active):
        """An entry is appended; `active`: commands by tag."""
        while not (made(self.line[0], entry) and active.get(self.line[0]["tag"]) is self.line[0]):
            self.ended(self.line.popleft())
        command, kind = self.line[0], entry["kind"]
        ordered = kind == LogKind.COMMIT or (
            kind in (LogKind.MAP, LogKind.TRIM) and not command["hasTx"] and not command["orderless"]
        )
        found = entry["epoch"], entry["ordered"]
        assert found == (self.epoch, ordered), f"{entry} of {command}: epoch and order are not {self.epoch}, {ordered}"
        self.seen.add((self.epoch > 0, kind, ordered))
        if ordered:
            self.used = True
            if kind == LogKind.MAP:
                self.pages = index + 1

    def ended(self, command):
        """The command is over; an epoch without an order-preserving entry is not closed."""
        if (command["barrier"] or command["opcode"] == Opcode.BARRIER) and self.used:
            self.used = False
            self.epoch += 1
            self.after = self.pages
