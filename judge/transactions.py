# SPDX-License-Identifier: Apache-2.0
"""The txids: which are open, what each has written, what a READ that names one must show (guarantee 3), and what its
COMMIT makes visible.

A txid's commands under way at one time form a group. In a group of WRITEs, TRIMs, READs and BEGINs everything is known.
A COMMIT, ABORT or RECOVER that overlaps another command of its txid may have gone before or after it: whether the txid
is open afterwards is then left open (`may`), and what was written beside it is `loose` (docs/reference/history.md).
So it is with a PREPARE, and with a prepared transaction whose end is under way, or may be lost, at a cut: then it is
prepared or ended, and what it wrote is loose.
"""

from judge.order import NEVER, Violation
from judge.survival import Survival

CLOSED, OPEN, EITHER, PREPARED, UNSURE = 1, 2, 3, 4, 7
ENDS = frozenset(("COMMIT", "ABORT", "RECOVER", "PREPARE"))


class Txid:
    """`table`: LBA to [[stamp, submit, done], ...] of the open transaction; `entries`: at most so many. `active`: id to
    command, of those under way. `mixed`: this group has an end beside another command; `ends`, `opens`: its ends
    (RECOVERs too), and whether it has a command that opens a txid; `fuzzy`: what was written to which transaction, and
    `entries`, are not certain. `perhaps`: it may be prepared where it may be open."""

    __slots__ = (
        "number",
        "instance",
        "may",
        "table",
        "entries",
        "active",
        "mixed",
        "fuzzy",
        "ends",
        "opens",
        "perhaps",
    )

    def __init__(self, number):
        self.number = number
        self.instance = 0
        self.may = CLOSED
        self.table = {}
        self.entries = 0
        self.active = {}
        self.mixed = self.fuzzy = self.opens = self.perhaps = False
        self.ends = 0

    def copy(self, commands):
        new = Txid(self.number)
        new.instance, new.may, new.entries, new.mixed, new.fuzzy = (
            self.instance,
            self.may,
            self.entries,
            self.mixed,
            self.fuzzy,
        )
        new.ends, new.opens, new.perhaps = self.ends, self.opens, self.perhaps
        new.table = {lba: [list(v) for v in versions] for lba, versions in self.table.items()}
        new.active = {ident: commands[ident] for ident in self.active}
        return new


def either(t):
    return UNSURE if t.perhaps else EITHER


def latest(versions, until=NEVER):
    """The versions of which none is certainly overwritten by another that was complete before `until`."""
    if len(versions) == 1:
        return versions
    return [p for p in versions if not any(p[2] < q[1] and q[2] < until for q in versions)]


class Transactions(Survival):
    def __init__(self):
        super().__init__()
        self.txids = 32
        self.tx = {}
        self.instances = 0
        self.recovers = 0

    def txid(self, number):
        found = self.tx.get(number)
        if found is None:
            found = self.tx[number] = Txid(number)
            found.ends = self.recovers
            self.renew(found)
        return found

    def renew(self, t):
        """The next transaction under this txid; the numbers of one txid's transactions are equal modulo `txids`."""
        self.instances += self.txids
        t.instance = self.instances + t.number
        t.table = {}
        t.entries = 0

    # Groups

    def enter(self, command):
        """A command with a txid is submitted."""
        t = self.txid(command.tx)
        command.may = t.may
        if any(other.op == "PREPARE" for other in t.active.values()):
            command.alone = False  # it comes before, and a WRITE may find it prepared
        t.perhaps |= command.op == "PREPARE"
        ends = command.op in ENDS or command.commit
        reads = command.op == "READ"
        for other in t.active.values():
            other_ends = other.op in ENDS or other.commit
            if reads or other.op == "READ":
                if ends or other_ends:
                    (command if reads else other).mixed = True
            elif ends or other_ends:
                self.mix(t, other)
                command.mixed = t.mixed = True
                if ends and other_ends and (command.op not in ("ABORT", "PREPARE") or other.op == "WRITE"):
                    self.doubt(other)
            else:
                command.alone = other.alone = False
        if self.recovers:
            command.mixed = t.mixed = True
        if not reads:
            t.ends += ends
            t.opens |= command.op not in ENDS
        t.active[command.id] = command
        return t

    def mix(self, t, command):
        """An end of the transaction overlaps `command`."""
        t.mixed = t.fuzzy = command.mixed = True
        if command.blocks and command.node is None:
            self.written(t, command, False)

    def doubt(self, command):
        """Two COMMITs at once: either may be the one.

        A WRITE with COMMIT beside an ABORT: it may be a transaction of its own.
        """
        if command.node is not None and not command.node.exists:
            self.loosen_commit(command)

    def enter_recover(self):
        self.recovers += 1
        for t in self.tx.values():
            t.ends += 1
            for other in t.active.values():
                self.mix(t, other)
                if other.op == "WRITE":
                    self.doubt(other)

    def leave(self, t, command):
        del t.active[command.id]
        if t.mixed and command.op != "READ":
            t.may = either(t)
        if not t.active and not self.recovers:
            self.group_over(t)

    def group_over(self, t):
        t.mixed = t.opens = False
        t.ends = 0
        t.perhaps = bool(t.may & PREPARED)

    def recovered(self, success):
        """RECOVER is complete."""
        self.recovers -= 1
        for t in self.tx.values():
            if t.may & PREPARED and success is not False and (t.mixed or t.may != PREPARED):
                self.drop_loose(t)
                t.may = UNSURE if t.mixed else CLOSED | PREPARED
            elif t.may == PREPARED:
                pass  # it is not for these
            elif success:
                self.drop(t, "its transaction was ended by RECOVER", (3,))
                t.may = either(t) if t.mixed else CLOSED
            elif success is None:
                self.drop_loose(t)
                t.may = either(t)
            if not t.active and not self.recovers:
                self.group_over(t)

    def reset(self):
        """A cut or an orderly off: no transaction is open; those that are prepared stay."""
        for t in list(self.tx.values()):
            sure = not t.mixed and not any(c.op in ENDS or c.commit for c in t.active.values())
            if t.may == PREPARED and sure:
                for command in [c for c in t.active.values() if c.blocks]:  # it takes no writes
                    self.unwritten(t, command)
            elif t.may & PREPARED or t.perhaps:
                self.drop_loose(t)
                t.may = CLOSED | PREPARED
            else:
                self.drop(t, "its transaction was open when power failed", (8,))
                del self.tx[t.number]
                continue
            t.active.clear()
            self.group_over(t)
        self.recovers = 0

    def back(self, node):
        """At a cut `node`, the COMMIT of one that was prepared, may be lost, and its transaction prepared again."""
        t = self.txid(node.tx)
        if t.may != CLOSED or t.active:  # the txid was used again
            self.drop_loose(t)
        self.loosen(node)
        t.may = UNSURE
        t.mixed = True

    # What a transaction writes

    def write_in(self, t, command, blocks):
        """A command with a txid writes `blocks` (LBA to stamp) in its transaction."""
        command.blocks = blocks
        t.entries += len(blocks)
        if command.mixed:
            for lba, stamp in blocks.items():
                self.make_loose(stamp, lba)
            return
        mark = -t.instance
        for lba, stamp in blocks.items():
            t.table.setdefault(lba, []).append([stamp, command.submit, NEVER])
            if stamp:
                self.stamps[stamp] = mark

    def written(self, t, command, certain):
        """It is complete: `certain`, or it failed in a way that leaves open what it did."""
        for lba, stamp in command.blocks.items():
            versions = t.table.get(lba)
            for version in versions or ():
                if version[0] == stamp and version[1] == command.submit:
                    version[2] = command.done
                    if command.mixed or not certain:
                        versions.remove(version)
                        if not versions:
                            del t.table[lba]
                        self.make_loose(stamp, lba)
                    elif len(versions) > 1:
                        t.table[lba] = self.thinned(t, lba, versions)
                    break

    def thinned(self, t, lba, versions):
        """Without what is overwritten within the transaction, if no READ can still see it."""
        horizon = self.horizon()
        left = latest(versions, horizon)
        for version in versions:
            if version not in left:
                self.forget(version[0], lba, "it was overwritten within its transaction", (3,))
        return left

    def unwritten(self, t, command):
        """It changed nothing."""
        t.entries -= len(command.blocks)
        for lba, stamp in command.blocks.items():
            versions = t.table.get(lba)
            if versions:
                left = [v for v in versions if not (v[0] == stamp and v[1] == command.submit)]
                if len(left) != len(versions):
                    if left:
                        t.table[lba] = left
                    else:
                        del t.table[lba]
            if self.loose.get(stamp) != lba:
                self.forget(stamp, lba, f"{command} answered that it changed nothing", (12,))

    # Its end

    def take(self, t, command):
        """A COMMIT is submitted: the node of what it will make visible."""
        blocks = {}
        for lba, versions in t.table.items():
            left = latest(versions)
            for version in versions if len(left) < len(versions) else ():
                if version not in left:
                    self.forget(version[0], lba, "it was overwritten within its transaction", (3,))
            blocks[lba] = left[0][0] if len(left) == 1 else tuple(v[0] for v in left)
        for lba, stamp in (command.blocks or {}).items():
            if lba in blocks:
                command.over.append((lba, blocks[lba]))
            blocks[lba] = stamp
        # as in `doubt`
        if (
            any(c is not command and c.node is not None for c in t.active.values())
            or command.op == "WRITE"
            and t.ends > 1
        ):
            for lba, stamp in blocks.items():
                for s in stamp if type(stamp) is tuple else (stamp,):
                    self.make_loose(s, lba)
            for lba, stamp in command.over:
                for s in stamp if type(stamp) is tuple else (stamp,):
                    self.make_loose(s, lba)
            blocks = {}
        command.taken = (t.table, t.entries)
        node = self.node("COMMIT" if command.op == "COMMIT" else "COMMIT by WRITE", command.id, command.submit, blocks)
        node.commit = True
        node.relaxed = command.relaxed
        node.tx = t.number
        node.prepared = bool(command.may & PREPARED)
        self.install(node)
        self.renew(t)
        return node

    def put_back(self, t, command, node):
        """The COMMIT changed nothing: its transaction is what it was, unless another end overlaps it."""
        table, entries = command.taken
        if command.mixed:
            self.loosen_commit(command)
            return
        self.revoke(node, f"{node} answered that it changed nothing")
        for lba, versions in table.items():
            for version in versions:
                if version[0]:
                    self.old.pop(version[0], None)
                    self.stamps[version[0]] = -t.instance
            t.table.setdefault(lba, [])[:0] = versions
        t.entries += entries
        for lba, stamp in (command.blocks or {}).items():
            self.forget(stamp, lba, f"{command} answered that it changed nothing", (12,))

    def loosen_commit(self, command):
        """Of a COMMIT nobody can tell what it made visible."""
        self.loosen(command.node)
        for lba, stamp in command.over:
            for s in stamp if type(stamp) is tuple else (stamp,):
                self.make_loose(s, lba)

    def overwrote(self, command, why="it was overwritten within its transaction", guarantees=(3,)):
        """The blocks of a WRITE with COMMIT hide what its transaction had written there before."""
        for lba, stamp in command.over:
            for s in stamp if type(stamp) is tuple else (stamp,):
                if self.loose.get(s) != lba:
                    self.forget(s, lba, why, guarantees)

    def drop(self, t, why, guarantees):
        """Nothing of the open transaction exists."""
        for lba, versions in t.table.items():
            for version in versions:
                self.forget(version[0], lba, why, guarantees)
        self.renew(t)

    def drop_loose(self, t):
        """Nobody can tell whether the open transaction still exists."""
        for lba, versions in t.table.items():
            for version in versions:
                self.make_loose(version[0], lba)
        self.renew(t)
        t.fuzzy = True

    # READs that name a txid

    def observe_in(self, t, read, command, lba, stamp):
        """`command`, a READ with a txid, shows `stamp`. Its own newest version first, else the committed one."""
        if stamp in self.loose or stamp == 0 and -lba - 1 in self.loose:
            return
        if command.mixed:  # COMMIT, ABORT or RECOVER beside it: a version of its own that was there then says nothing
            ref = self.stamps.get(stamp, 0)
            if not stamp or ref < 0 and -ref % self.txids == t.number or ref > 0 and self.nodes[ref].tx == t.number:
                return
            if stamp in self.old and self.old[stamp][0] == lba and self.old[stamp][2] == (3,):
                return
            self.observe(read, lba, stamp)
            return
        versions = t.table.get(lba)
        if not versions or stamp is None:
            self.observe(read, lba, stamp)
            return
        certain = any(v[2] < command.submit for v in versions)
        if any(v[0] == stamp for v in latest(versions, command.submit)):
            return
        if certain:
            own = ", ".join(str(v[0]) for v in latest(versions, command.submit))
            raise Violation(
                (3,),
                f"{read} names txid {t.number} and shows {stamp} at LBA {lba}, not that transaction's own newest "
                f"version ({own})",
                read.lines,
            )
        self.observe(read, lba, stamp)
