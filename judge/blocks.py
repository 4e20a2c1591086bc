# SPDX-License-Identifier: Apache-2.0
"""What each block may hold, and what a READ that shows one of its versions proves.

`base[lba]`: the settled version (a stamp, 0, or a `frozenset` of what it may be; None in it: unreadable). `hist[lba]`:
the nodes that wrote the block and may still be, or come, on top of it, in order of submission. A version is settled
when it is durable and every command still to be answered began after it.

A READ that shows version U of a block, of which V is another: V before U, or READ before V. What is known at once
becomes an edge, the rest waits in `pend`.
After a cut there is a third way: V did not survive (survival.py).
"""

from judge.messages import Messages
from judge.order import Violation

KEEP = 10000  # stamps remembered after they can no longer be read, for words


class Unknown:
    """A base version of which nothing is known: after damage whose loss was reported."""

    def __contains__(self, stamp):
        return True


UNKNOWN = Unknown()


class Blocks(Messages):
    def __init__(self):
        super().__init__()
        self.blank = 0
        self.base = {}
        self.hist = {}
        self.top = {}  # lba -> uid of a version that is certainly after all others in hist
        self.stamps = {}  # stamp -> uid of the node, or minus the number of the open transaction
        self.old = {}  # stamp -> (lba, why it can no longer be read, guarantees, node or None), the last KEEP
        self.dropped = False  # there were more than KEEP
        self.writer = {}  # lba -> the node that wrote the base, for words
        self.unzeroed = {}  # lba -> a node with zeroes there that did not survive, for words
        # stamp -> lba: may be seen or not, by rule or because its command failed (docs/reference/history.md)
        self.loose = {}
        self.pend = {}  # lba -> [(read, U or None, V)] undecided
        self.zeroes = {}  # lba -> [(read, [nodes, None for the base])] a READ of zeroes with several possible sources
        self.settling = []
        self.readers = []  # READ nodes, to be forgotten
        self.emptied = []  # other nodes without a block

    # Writers

    def install(self, node):
        """`node` writes its blocks from now on (or will, if it succeeds)."""
        uid, hist, stamps = node.uid, self.hist, self.stamps
        blocks = node.blocks
        for lba, stamp in blocks.items():
            if lba in hist:
                hist[lba].append(node)
            else:
                hist[lba] = [node]
            if stamp:
                if type(stamp) is tuple:
                    for s in stamp:
                        if s:
                            stamps[s] = uid
                else:
                    stamps[stamp] = uid
        node.live = len(blocks)

    def forget(self, stamp, lba, why, guarantees=(5,), node=None):
        for s in stamp if type(stamp) is tuple else (stamp,):
            if s:
                self.stamps.pop(s, None)
                self.old[s] = (lba, why, guarantees, node)
                if len(self.old) > KEEP:
                    self.dropped = True
                    del self.old[next(iter(self.old))]

    def detach(self, node, lba, why, guarantees=(5,), by=None):
        """The version of `node` is out of the block for good."""
        left = [v for v in self.hist[lba] if v is not node]
        if left:
            self.hist[lba] = left
        else:
            del self.hist[lba]
            self.top.pop(lba, None)
        self.forget(node.blocks[lba], lba, why, guarantees, by)
        node.live -= 1
        if not node.live:
            self.emptied.append(node)

    def revoke(self, node, why, guarantees=(12,)):
        """`node` changed nothing, or was given up: out of all its blocks."""
        node.alive = False
        for lba in node.blocks:
            lst = self.hist.get(lba)
            if lst and node in lst:
                self.detach(node, lba, why, guarantees)
        for lba in node.blocks:
            self.again(lba)

    def loosen(self, node):
        """Of `node` nobody can tell what it did (it failed): its versions may be seen, block by block, or not."""
        for lba, stamp in node.blocks.items():
            for s in stamp if type(stamp) is tuple else (stamp,):
                self.make_loose(s, lba)
        kept = {
            s: self.loose[s]
            for stamp in node.blocks.values()
            for s in (stamp if type(stamp) is tuple else (stamp,))
            if s
        }
        self.revoke(node, "its command failed")
        for s in kept:
            self.old.pop(s, None)

    def make_loose(self, stamp, lba):
        if stamp:
            self.stamps.pop(stamp, None)
            self.loose[stamp] = lba
        else:
            self.loose[-lba - 1] = lba  # zeroes of a block

    # Readers

    def observe(self, read, lba, stamp):
        """`read` showed the committed version `stamp` of block `lba`."""
        base = self.base.get(lba, self.blank)
        lst = self.hist.get(lba)
        if stamp is None:
            self.unreadable(read, lba, base, lst)
            return
        if stamp == 0:
            self.observe_zero(read, lba, base, lst)
            return
        ref = self.stamps.get(stamp)
        if ref is not None and ref > 0:
            source = self.nodes[ref]
            held = source.blocks.get(lba)
            if held is None or (stamp not in held if type(held) is tuple else held != stamp):
                raise Violation(
                    (1,),
                    f"{read} shows at LBA {lba} the content {stamp} that {source} wrote to another block",
                    read.lines + source.lines,
                )
            if lst is None or source not in lst:
                raise self.stale(read, lba, stamp, source)
            self.saw(read, lba, source, stamp)
            return
        if self.is_base(base, stamp, lba):
            self.base[lba] = self.narrowed(base, stamp)
            self.saw(read, lba, None, stamp)
        elif self.loose.get(stamp) == lba:
            return
        else:
            raise self.foreign(read, lba, stamp, ref)

    def is_base(self, base, stamp, lba):
        if base is UNKNOWN:
            return (
                stamp == 0
                or stamp not in self.stamps
                and (stamp not in self.old or self.old[stamp][0] == lba and self.old[stamp][2] == (5,))
            )
        return base == stamp if type(base) is int else stamp in base

    def narrowed(self, base, stamp):
        return stamp if type(base) is int else frozenset((stamp, None)) if None in base else stamp

    def observe_zero(self, read, lba, base, lst):
        sources = [v for v in lst or () if self.holds_zero(v, lba)]
        if self.is_base(base, 0, lba):
            sources.append(None)
        if -lba - 1 in self.loose:
            return
        sources = [v for v in sources if not self.covered(read, lba, v)]
        if not sources:
            raise self.stale(read, lba, 0, None)
        if len(sources) == 1:
            if sources[0] is None:
                self.base[lba] = self.narrowed(base, 0)
            self.saw(read, lba, sources[0], 0)
            return
        read.refs += 1
        for v in sources:
            if v is not None:
                v.refs += 1
        self.zeroes.setdefault(lba, []).append((read, sources))

    def holds_zero(self, node, lba):
        held = node.blocks[lba]
        return held == 0 or type(held) is tuple and 0 in held

    def covered(self, read, lba, source):
        """`read` cannot have seen `source` (None: the base): it is gone, not yet there, or certainly overwritten before
        `read`.
        """
        if source is not None:
            if source.lo > read.hi or source.alive is False and source.cut < read.lo:
                return True
            if source.exists and self.before(read, source):
                return True
        for v in self.hist.get(lba, ()):
            if (
                v is not source
                and v.exists
                and v.alive
                and self.before(v, read)
                and (source is None or self.before(source, v))
            ):
                return True
        return False

    def unreadable(self, read, lba, base, lst):
        if self.may_be_unreadable or base is UNKNOWN:
            return
        if type(base) is frozenset and None in base:
            if not any(v.exists and v.alive and self.before(v, read) for v in lst or ()):
                return
        raise Violation((14, 7), f"{read} got MEDIA_ERROR for LBA {lba}, of which no page was damaged", read.lines)

    def saw(self, read, lba, source, stamp):
        """`read` saw `source` (None: the base) in `lba`."""
        if source is not None:
            self.shown(read, lba, source, stamp)
            self.edge(source, read, lambda path: self.torn_read(read, lba, source, path))
        lst = self.hist.get(lba)
        if lst is None:
            return
        over = True
        for v in list(lst):
            if v is source:
                continue
            if not self.resolve(read, lba, source, v):
                read.refs += 1
                v.refs += 1
                if source is not None:
                    source.refs += 1
                self.pend.setdefault(lba, []).append((read, source, v))
                over = False
            elif source is None or not self.before(v, source):
                over = False
        if over and source is not None and source.live:
            self.top[lba] = source.uid

    def resolve(self, read, lba, source, other):
        """Of "`other` before `source`, or `read` before `other`, or `other` is gone": True when that is certain or has
        been made so; Violation when it cannot be.
        """
        if source is not None and self.before(other, source):
            return True
        if other.cut and other.cut < read.lo:  # a cut lies between: only what survived counts
            if other.alive is False:
                return True
            if source is None or self.before(source, other):
                self.give_up(other, ("read", read, lba, source))
                return True
            if other.alive:
                self.edge(other, source, lambda path: self.out_of_order(read, lba, source, other, path))
                return True
            return False
        if not other.exists:
            return other.alive is False
        if self.before(read, other):
            return True
        if source is None or self.before(source, other):
            self.edge(read, other, lambda path: self.missed(read, lba, source, other, path))
            return True
        if self.before(other, read):
            self.edge(other, source, lambda path: self.out_of_order(read, lba, source, other, path))
            return True
        return False

    def again(self, lba):
        """Looks again at what is undecided in `lba`; True when something was decided."""
        decided = False
        waiting = self.pend.pop(lba, None)
        if waiting:
            left = []
            for item in waiting:
                read, source, other = item
                if self.resolve(read, lba, source, other):
                    self.release(read, source, other)
                    decided = True
                else:
                    left.append(item)
            if left:
                self.pend.setdefault(lba, []).extend(left)
        waiting = self.zeroes.pop(lba, None)
        if waiting and -lba - 1 in self.loose:
            for read, sources in waiting:
                self.release(read, *sources)
        elif waiting:
            left = []
            for read, sources in waiting:
                possible = [v for v in sources if not self.covered(read, lba, v)]
                if not possible:
                    raise self.stale(read, lba, 0, None)
                if len(possible) > 1:
                    left.append((read, sources))
                    continue
                decided = True
                self.saw(read, lba, possible[0], 0)
                self.release(read, *sources)
            if left:
                self.zeroes.setdefault(lba, []).extend(left)
        return decided

    def release(self, *nodes):
        for node in nodes:
            if node is not None:
                node.refs -= 1

    # Settling

    def settle(self, horizon):
        """Durable versions from before `horizon`, the first submit that is still open, become the base."""
        todo, self.settling = self.settling, []
        for node in todo:
            if node.hi >= horizon:
                self.settling.append(node)
                continue
            if not node.live or node.alive is False:
                continue
            for lba, stamp in node.blocks.items():
                lst = self.hist.get(lba)
                if lst is None:
                    continue
                if len(lst) == 1:
                    if lst[0] is not node:
                        continue
                elif node not in lst or not self.settle_among(node, lba, lst):
                    continue
                self.unname(stamp)
                was = self.base.get(lba, self.blank)
                if type(was) is int:
                    self.forget(was, lba, "it was overwritten", (5,), node)
                self.writer[lba] = node
                self.base[lba] = frozenset(stamp) if type(stamp) is tuple else stamp
                left = [v for v in self.hist[lba] if v is not node]
                if left:
                    self.hist[lba] = left
                else:
                    del self.hist[lba]
                    self.top.pop(lba, None)
                node.live -= 1
                if not node.live:
                    self.emptied.append(node)

    def unname(self, stamp):
        """The stamps of a version that becomes the base leave the table of nodes."""
        for s in stamp if type(stamp) is tuple else (stamp,):
            if s:
                self.stamps.pop(s, None)

    def settle_among(self, node, lba, lst):
        """Drops what is certainly before `node`; True if all the rest is certainly after it."""
        alone = True
        for v in list(lst):
            if v is node:
                continue
            if self.before(v, node):
                self.detach(v, lba, "it was overwritten", (5,), node)
            elif not self.before(node, v):
                alone = False
        if not alone and len(self.hist[lba]) == 1:
            alone = True
        return alone

    def collect(self, horizon):
        """Forgets READs and writers that nothing can ask for any more."""
        hist = self.hist
        for table in (self.pend, self.zeroes):
            for lba in list(table):
                left = []
                for item in table[lba]:
                    read = item[0]
                    others = [v for v in (item[1] if table is self.zeroes else item[1:]) if v is not None]
                    if read.hi < horizon and not any(v in hist.get(lba, ()) for v in others):
                        self.release(read, *others)
                    else:
                        left.append(item)
                if left:
                    table[lba] = left
                else:
                    del table[lba]
        for name in ("readers", "emptied"):
            left = []
            for node in getattr(self, name):
                if node.uid not in self.nodes:
                    continue
                if node.refs or node.hi >= horizon or self.needed(node):
                    left.append(node)
                else:
                    self.remove(node)
            setattr(self, name, left)
