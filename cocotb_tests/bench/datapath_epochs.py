# SPDX-License-Identifier: Apache-2.0
"""Which epoch a log entry belongs to and whether it keeps order, by docs/contract.md: `line` is what the data path was
sent, in order, READs left out.
"""

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


def closes(c):
    return c["opcode"] == Opcode.BARRIER or c["barrier"]


def keeps_order(c):
    if c["opcode"] == Opcode.COMMIT or c["opcode"] == Opcode.WRITE and c["commit"]:
        return True
    return c["opcode"] in WRITING and not c["hasTx"] and not c["orderless"]


def behind(a, b):
    """Must `a` go after `b`, which was accepted before it?"""
    return closes(b) and (keeps_order(a) or closes(a)) or closes(a) and keeps_order(b)


class Epochs:
    """Commands between the same two barriers have one number in the log, later ones a higher one, and the log has
    order-preserving entries in their order.
    """

    def __init__(self):
        self.line, self.barriers = [], 0
        self.numbers = {}  # barriers before a command -> the epoch of its entries
        self.last = 0  # epoch of the last order-preserving entry
        self.seen = set()  # (epoch is not 0, kind, ordered)

    def sent(self, command):
        command["barriers"] = self.barriers
        self.barriers += bool(command["barrier"] or command["opcode"] == Opcode.BARRIER)
        self.line.append(command)

    def append(self, entry, active):
        """An entry is appended; `active`: commands by tag."""
        if entry["ordered"]:
            assert entry["epoch"] >= self.last, f"{entry} behind one of epoch {self.last}"
            self.last = entry["epoch"]
        if entry["kind"] != LogKind.MAP:
            makers = [c for c in active.values() if c["opcode"] != Opcode.READ and made(c, entry)]
            assert makers, f"nobody has asked for {entry}"
            if len(makers) == 1:
                self.of(makers[0], entry)

    def of(self, command, entry):
        """The entry is one of that command."""
        kind = entry["kind"]
        ordered = kind == LogKind.COMMIT or (
            kind in (LogKind.MAP, LogKind.TRIM) and not command["hasTx"] and not command["orderless"]
        )
        assert entry["ordered"] == ordered, f"{entry} of {command}: does it keep order?"
        self.seen.add((entry["epoch"] > 0, kind, ordered))
        if not ordered:
            return
        number = self.numbers.setdefault(command["barriers"], entry["epoch"])
        assert number == entry["epoch"], f"{entry} of {command}: its epoch is {number}"
        known = sorted(self.numbers.items())
        assert known == sorted(known, key=lambda n: n[1]) and len({n for _, n in known}) == len(known), known

    def waits(self, wait, log):
        """A COMMIT waits for order-preserving pages of earlier epochs: `after` is behind the last one."""
        epoch = log[wait["index"] - 1]["epoch"]
        pages = [i for i, e in enumerate(log) if e["kind"] == LogKind.MAP and e["ordered"] and e["epoch"] < epoch]
        assert wait["after"] == max(pages, default=-1) + 1, f"COMMIT waits for {wait['after']}"
