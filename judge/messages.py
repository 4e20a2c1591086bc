# SPDX-License-Identifier: Apache-2.0
"""Messages about violations: which guarantee of contract.md, which commands, which lines. Nothing is decided here."""

from judge.order import NEVER, Order, Violation

ALIVE = {
    "done": "it was acknowledged as durable",
    "seen": "{} had shown it at LBA {}",
    "flush": "FLUSH {} succeeded after it was complete",
    "plp": "it was complete when the power of a drive with PLP failed (line {})",
    "off": "the drive was switched off in order after it was complete (line {})",
    "prefix": "{} survived, which was committed later",
    "barrier": "{} survived, which is behind a barrier",
    "read": "{} shows it at LBA {}",
}


def lines_of(*things):
    return [n for thing in things if thing is not None for n in thing.lines if n < NEVER]


def content(stamp):
    return "zeroes" if stamp == 0 else f"content {stamp}"


class Messages(Order):
    cuts = ()  # lines of the cuts (and orderly offs) so far

    def cut_between(self, node, read):
        return any(node.hi <= line < read.submit for line in self.cuts)

    def alive_words(self, why):
        return ALIVE[why[0]].format(*why[1:]) if why else "it was durable"

    def gone_words(self, why):
        if why[0] == "prefix":
            return f"{why[1]} did not survive, which was committed before it"
        if why[0] == "barrier":
            return f"{why[1]} did not survive, which is before a barrier"
        _, read, lba, source = why
        return f"{read} shows LBA {lba} as it was before it" + (f" (by {source})" if source is not None else "")

    def why_lines(self, why):
        return lines_of(*(part for part in why or () if hasattr(part, "lines")))

    def stale(self, read, lba, stamp, source):
        """`stamp` was in `lba` once, and can no longer be. `source` wrote it, if that is known."""
        if source is not None:
            if source.alive is False and not source.cut:
                return Violation(
                    (12,),
                    f"{read} shows {content(stamp)} at LBA {lba} of {source}, which answered that it changed nothing",
                    lines_of(read, source),
                )
            if source.alive is False:
                return self.torn(source, ("read", read, lba, source), source.given)
        elif lba in self.unzeroed:
            source = self.unzeroed[lba]
            return self.torn(source, ("read", read, lba, source), source.given)
        over = [v for v in self.hist.get(lba, ()) if v.exists and v.alive and self.before(v, read)]
        if over or lba in self.writer:
            return self.instead(
                read, lba, f"{read} shows {content(stamp)} at LBA {lba}", over[-1] if over else self.writer[lba], source
            )
        return Violation(
            (7,) if self.cuts else (5,),
            f"{read} shows {content(stamp)} at LBA {lba}, where nobody can have left it",
            lines_of(read),
        )

    def instead(self, read, lba, words, other, source=None):
        """`other`, which is not shown in `lba`, was there and was never overwritten by what is shown."""
        lines = lines_of(read, source, other)
        if self.cut_between(other, read):
            if other.given and other.given[0] == "read":
                return self.torn(other, other.given, ("read", read, lba, source))
            why = other.durable
            numbers = {"seen": (6, 7), "prefix": (9, 7), "barrier": (9, 7)}.get(why[0] if why else "", (7,))
            return Violation(
                numbers, f"{words}: {other} is lost, and {self.alive_words(why)}", lines + self.why_lines(why)
            )
        several = () if len(other.blocks) == 1 else (4,) if other.commit else (2,)
        if other.hi >= read.submit and several:
            return Violation((*several, 5), f"{words}, but elsewhere what {other} wrote", lines)
        return Violation((5, *several), f"{words}: stale, {other} took effect before that READ began", lines)

    def foreign(self, read, lba, stamp, ref):
        if stamp == -1:
            return Violation(
                (1,),
                f"{read} shows at LBA {lba} what is no block that was ever written (torn or damaged)",
                lines_of(read),
            )
        words = f"{read} shows at LBA {lba} the content {stamp}"
        if ref is not None:
            return Violation((3,), f"{words} of a transaction that is not committed", lines_of(read))
        if stamp in self.old:
            where, why, guarantees, node = self.old[stamp]
            if where != lba:
                return Violation((1,), f"{words}, which belongs to LBA {where}", lines_of(read))
            if node is not None and guarantees == (5,):
                return self.instead(read, lba, words, self.writer.get(lba, node))
            if node is not None:
                return self.torn(node, ("read", read, lba, node), node.given)
            return Violation(guarantees, f"{words}: {why}", lines_of(read))
        return Violation((1,), f"{words}, which was never written there, or can no longer be there", lines_of(read))

    def torn_read(self, read, lba, source, path):
        """`read` shows `source` in one block and what was before it elsewhere."""
        words = f"{read} shows {source} at LBA {lba}, but elsewhere what was there before it"
        return Violation((4 if source.commit else 2,), words + self.chain(path), lines_of(read, source, *path))

    def missed(self, read, lba, source, other, path):
        """`read` does not show `other`, which was there before it."""
        shown = f"what {source} wrote" if source is not None else "what was there before"
        words = f"{read} shows {shown} at LBA {lba}"
        lines = lines_of(read, source, other, *path)
        if self.cut_between(other, read) or other.hi < read.submit:
            return self.instead(read, lba, words, other, source)
        if other.pred is not None and read.uid in other.pred or read.pred and other.uid in read.pred:
            return Violation((4 if other.commit else 2,), f"{words}, but elsewhere what {other} wrote over it", lines)
        return Violation((4,), f"{words}, not {other}, which must have been before it" + self.chain(path), lines)

    def out_of_order(self, read, lba, source, other, path):
        """`read` shows that `other` was before `source`; elsewhere it is the other way round."""
        numbers = (4, 5) if source.commit and other.commit else (5, 2)
        if source.commit and other.commit and self.cut_between(other, read):
            numbers = (9, *numbers)
        words = f"{read} shows {source} at LBA {lba}, so {other} was before it; elsewhere it was the other way round"
        return Violation(numbers, words + self.chain(path), lines_of(read, source, other, *path))

    def no_prefix(self, node, other, path):
        words = (
            f"{node} survived ({self.alive_words(node.given or node.durable)}), {other} did not "
            f"({self.gone_words(other.given)}), but {other} was committed before it"
        )
        return Violation((9,), words + self.chain(path), lines_of(node, other, *path))

    def no_order(self, node, other):
        words = (
            f"{node} survived ({self.alive_words(node.given or node.durable)}), {other} did not "
            f"({self.gone_words(other.given)}), but a barrier is between them"
        )
        return Violation((9,), words, lines_of(node, other))

    def torn(self, node, alive, gone):
        """Of `node` a cut left a part."""
        words = f"{node} survived the cut, for {self.alive_words(alive)}, and did not, for {self.gone_words(gone)}"
        lines = lines_of(node) + self.why_lines(alive) + self.why_lines(gone)
        if {"prefix", "barrier"} & {alive[0] if alive else "", gone[0]}:
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
