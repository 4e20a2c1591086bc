# SPDX-License-Identifier: Apache-2.0
"""What the contract (docs/contract.md, "Guarantees") allows a drive to hold, judged from outside: what a host submitted, what was completed, and what it reads.

Every write carries a stamp that no other write carries, so a block's contents say which write it shows. The judge knows nothing of logs, pages or blocks.
"""

from dataclasses import dataclass, field

NEVER = float("inf")


class Violation(AssertionError):
    """The drive holds what the contract forbids; the text names the guarantee."""


@dataclass
class Write:
    """One atomic change: a plain WRITE or TRIM, or a transaction at its COMMIT. `blocks` maps LBA to stamp (0: zeroes)."""

    name: str
    blocks: dict
    submitted: float
    completed: float = NEVER  # visible from here on at the latest
    durable: float = NEVER  # a completion said so
    commit: bool = False
    relaxed: bool = False  # a RELAXED commit: its completion promises order, not durability

    def before(self, other):
        """Certainly ordered before `other`: completed when the other was submitted, or kept in order because both are plain and overlap."""
        if self.completed <= other.submitted:
            return True
        return not self.commit and not other.commit and self.submitted < other.submitted and bool(self.blocks.keys() & other.blocks.keys())


@dataclass
class History:
    """What a host did since the drive was known to hold `start` (LBA to stamp; absent means zeroes)."""

    start: dict = field(default_factory=dict)
    writes: list = field(default_factory=list)
    uncommitted: dict = field(default_factory=dict)  # stamp -> words, for stamps of transactions whose COMMIT was never submitted
    time: float = 0

    def now(self):
        self.time += 1
        return self.time

    def submit(self, name, blocks, commit=False, relaxed=False):
        w = Write(name, dict(blocks), self.now(), commit=commit, relaxed=relaxed)
        self.writes.append(w)
        return w

    def complete(self, write, durable):
        """A completion; one that comes after a read has shown the write says nothing new."""
        write.completed = min(write.completed, self.now())
        if durable:
            write.durable = write.completed
            if write.commit:  # commits survive as a prefix of their order (guarantee 9)
                for w in self.writes:
                    if w.relaxed and w.before(write):
                        w.durable = min(w.durable, write.durable)

    def visible(self, lba, stamp):
        """A read that names no transaction has shown this. A commit that can be seen, unless RELAXED, is durable and completed, whatever the host was told (guarantee 6)."""
        for w in self.shown(lba, stamp):
            if w.commit and stamp and w.completed == NEVER:
                self.complete(w, not w.relaxed)

    def flushed(self, submitted):
        """A FLUSH submitted at that time has completed: what was completed before it is durable."""
        now = self.now()
        for w in self.writes:
            if w.completed <= submitted:
                w.durable = min(w.durable, now)

    def shown(self, lba, stamp):
        """The writes that may be what `lba` shows; empty when only the start state explains it."""
        return [w for w in self.writes if w.blocks.get(lba) == stamp]

    def judge_running(self, lba, stamp):
        """A read of `lba` that began and ended with nothing else under way."""
        last = [w for w in self.writes if lba in w.blocks]
        done = [w for w in last if w.completed < NEVER]
        allowed = {w.blocks[lba] for w in last if not any(w.before(x) for x in done)} or {self.start.get(lba, 0)}
        if stamp not in allowed:
            raise Violation(f"block {lba} reads {stamp}, allowed {sorted(allowed)} (guarantees 1 to 5)")

    def judge_after_cut(self, values):
        """`values`: LBA to stamp for every block of interest, read after the power cut and recovery."""
        for lba, stamp in values.items():
            if stamp in self.uncommitted:
                raise Violation(f"block {lba} shows {self.uncommitted[stamp]}, which was not committed (guarantee 8)")
            showing = self.shown(lba, stamp)
            if not showing and stamp != self.start.get(lba, 0):
                raise Violation(f"block {lba} holds {stamp}, which nobody wrote (guarantee 1)")
            for w in self.writes:
                if w.durable < NEVER and lba in w.blocks and stamp != w.blocks[lba]:
                    if not showing or all(s.before(w) for s in showing):
                        raise Violation(f"block {lba} shows {stamp}, older than {w.name}, which was durable (guarantee 7)")
        for w in self.writes:
            seen = [lba for lba, s in w.blocks.items() if s and values.get(lba) == s]
            if not seen:
                continue
            for lba in w.blocks.keys() & values.keys():
                showing = self.shown(lba, values[lba])
                if values[lba] != w.blocks[lba] and (not showing or all(s.before(w) for s in showing)):
                    raise Violation(f"{w.name} is torn: block {seen[0]} shows it, block {lba} shows {values[lba]} (guarantees 2, 4, 10)")
        self._judge_prefix(values)

    def _judge_prefix(self, values):
        """Of two commits of certain order the later one survives only with the earlier one (guarantee 9)."""
        commits = [w for w in self.writes if w.commit]
        for later in commits:
            if not any(s and values.get(lba) == s for lba, s in later.blocks.items()):
                continue
            for earlier in commits:
                if not earlier.before(later):
                    continue
                for lba in earlier.blocks.keys() & values.keys():
                    showing = self.shown(lba, values[lba])
                    if values[lba] != earlier.blocks[lba] and (not showing or all(s.before(earlier) for s in showing)):
                        raise Violation(f"{later.name} survived and the earlier {earlier.name} did not (guarantee 9)")

    def restart(self, values):
        """Begins anew with what the drive was found to hold."""
        self.start = {**self.start, **values}
        self.writes, self.uncommitted = [], {}
