# SPDX-License-Identifier: Apache-2.0
"""Violations in words: which guarantee of contract.md, which commands, which lines. Nothing is decided here."""

from judge.order import NEVER, Order, Violation

ALIVE = {
    "done": "it was acknowledged as durable",
    "seen": "{} had shown it at LBA {}",
    "flush": "FLUSH {} succeeded after it was complete",
    "off": "the drive was switched off in order after it was complete (line {})",
    "prefix": "{} survived, which was committed later",
    "read": "{} shows it at LBA {}",
}


def lines_of(*things):
    return [n for thing in things if thing is not None for n in thing.lines if n < NEVER]


def content(stamp):
    return "zeroes" if stamp == 0 else f"content {stamp}"


class Words(Order):
    cuts = ()  # lines of the cuts (and orderly offs) so far

    def cut_between(self, node, read):
        return any(node.hi <= line < read.submit for line in self.cuts)

    def alive_words(self, why):
        return ALIVE[why[0]].format(*why[1:]) if why else "it was durable"

    def gone_words(self, why):
        if why[0] == "prefix":
            return f"{why[1]} did not survive, which was committed before it"
        _, read, lba, source = why
        return f"{read} shows LBA {lba} as it was before it" + (f" (by {source})" if source is not None else "")

    def why_lines(self, why):
        return lines_of(*(part for part in why or () if hasattr(part, "lines")))

    def stale(self, read, lba, stamp, source):
        """`stamp` was in `lba` once, and can no longer be."""
        if source is not None:
            if source.alive is False and source.exists is False and not source.cut:
                return Violation((12,), f"{read} shows {content(stamp)} at LBA {lba} of {source}, which answered that it changed nothing", lines_of(read, source))
            if source.alive is False:
                return self.torn(source, ("read", read, lba, source), source.given)
            return Violation((5,), f"{read} shows {content(stamp)} at LBA {lba} of {source}, which was overwritten for certain", lines_of(read, source))
        over = [v for v in self.hist.get(lba, ()) if v.exists and v.alive and self.before(v, read)]
        lost = [v for v in over if v.durable and self.cut_between(v, read)]
        if lost:
            return Violation((7,), f"{read} shows {content(stamp)} at LBA {lba}: {lost[-1]} is lost, and {self.alive_words(lost[-1].durable)}", lines_of(read, lost[-1]))
        if over:
            return Violation((5,), f"{read} shows {content(stamp)} at LBA {lba}, which {over[-1]} had overwritten before", lines_of(read, over[-1]))
        held = self.base.get(lba, self.blank)
        ago = self.cuts and self.cuts[-1] < read.submit
        return Violation((7,) if ago else (5,), f"{read} shows {content(stamp)} at LBA {lba}, where nobody can have left it; settled there: {held}", lines_of(read))

    def foreign(self, read, lba, stamp, ref):
        if stamp == -1:
            return Violation((1,), f"{read} shows at LBA {lba} what is no block that was ever written (torn or damaged)", lines_of(read))
        if ref is not None:
            return Violation((3,), f"{read} shows at LBA {lba} the content {stamp} of a transaction that is not committed", lines_of(read))
        if stamp in self.old:
            where, why, guarantees = self.old[stamp]
            if where != lba:
                return Violation((1,), f"{read} shows at LBA {lba} the content {stamp}, which belongs to LBA {where}", lines_of(read))
            if guarantees == (5,) and self.cuts and self.cuts[-1] < read.submit:
                guarantees = (7, 5)
            return Violation(guarantees, f"{read} shows at LBA {lba} the content {stamp}: {why}", lines_of(read))
        return Violation((1,), f"{read} shows at LBA {lba} the content {stamp}, which was never written there, or was overwritten long ago", lines_of(read))

    def torn_read(self, read, lba, source, path):
        """`read` shows `source` in one block and what was before it elsewhere."""
        return Violation((4 if source.commit else 2,), f"{read} shows {source} at LBA {lba}, but elsewhere what was there before it" + self.chain(path), lines_of(read, source, *path))

    def missed(self, read, lba, source, other, path):
        """`read` does not show `other`, which was there before it."""
        shown = f"what {source} wrote" if source is not None else "what was there before"
        words = f"{read} shows {shown} at LBA {lba}"
        lines = lines_of(read, source, other, *path)
        if other.durable and self.cut_between(other, read):
            kind = other.durable[0]
            number = {"seen": (6, 7), "prefix": (9, 7)}.get(kind, (7,))
            if kind == "read":
                return self.torn(other, other.durable, ("read", read, lba, source))
            return Violation(number, f"{words}: {other} is lost, and {self.alive_words(other.durable)}", lines + self.why_lines(other.durable))
        if other.hi >= read.submit:
            if other.pred is not None and read.uid in other.pred or read.pred and other.uid in read.pred:
                return Violation((4 if other.commit else 2,), f"{words}, but elsewhere what {other} wrote over it", lines)
            return Violation((4,), f"{words}, not {other}, which must have been before it" + self.chain(path), lines)
        return Violation((5,), f"{words}: stale, {other} took effect before that READ began", lines)

    def out_of_order(self, read, lba, source, other, path):
        """`read` shows that `other` was before `source`; elsewhere it is the other way round."""
        numbers = (4, 5) if source.commit and other.commit else (5, 2)
        if source.commit and other.commit and self.cut_between(other, read):
            numbers = (9, *numbers)
        return Violation(numbers, f"{read} shows {source} at LBA {lba}, so {other} was before it; elsewhere it was the other way round" + self.chain(path), lines_of(read, source, other, *path))

    def no_prefix(self, node, other, path):
        words = f"{node} survived ({self.alive_words(node.given or node.durable)}), {other} did not ({self.gone_words(other.given)}), but {other} was committed before it"
        return Violation((9,), words + self.chain(path), lines_of(node, other, *path))

    def torn(self, node, alive, gone):
        """Of `node` a cut left a part."""
        words = f"{node} survived the cut, for {self.alive_words(alive)}, and did not, for {self.gone_words(gone)}"
        lines = lines_of(node) + self.why_lines(alive) + self.why_lines(gone)
        if "prefix" in (alive[0] if alive else "", gone[0]):
            numbers = (9, 7) if alive and alive[0] in ("done", "flush", "off") else (9,)
        elif alive and alive[0] != "read":
            numbers = (6, 7) if alive[0] == "seen" else (7,)
        elif alive and alive[2] == gone[2]:
            numbers = (7, 10)
            words = f"LBA {gone[2]} changed after the cut without a write: " + words
        elif node.commit:
            numbers = (9, 4) if node.done < NEVER else (8, 4)
        else:
            numbers = (10, 2) if node.op == "WRITE" else (10,)
        return Violation(numbers, words, lines)

    def chain(self, path):
        return f" (order known: {' before '.join(map(str, path))})" if len(path) > 1 else ""
