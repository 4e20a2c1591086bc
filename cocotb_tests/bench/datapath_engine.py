# SPDX-License-Identifier: Apache-2.0
"""The remap engine beside the data path, as part of its bench: one version per LPN and transaction, answers in any
order that docs/interfaces.md allows.

An op takes effect when it is taken; its answer comes some clocks later, never before the answers of earlier ops on the
same LPN when one of the two changes something.
The ops of a group see the commits before its first op; what a later commit replaced is kept for it (`before`), can
still be swapped (`unmerged`), and is released when all earlier readers have their answers.
"""

from opentxssd.facts import BEATS, TXIDS, RemapOpcode, TxOpcode, TxState, ports

FREE, OPEN, PREPARED, COMMITTING, COMMITTED, ABORTED = TxState
LOOKUP, APPEND, PLAIN, SWAP, TRIM = RemapOpcode
RSP = ports("RemapRsp")
# from, to
ENDS = {
    TxOpcode.BEGIN: ((FREE,), OPEN),
    TxOpcode.COMMITTING: ((OPEN, PREPARED), COMMITTING),
    TxOpcode.COMMIT: ((COMMITTING,), COMMITTED),
    TxOpcode.ABORT: ((OPEN, PREPARED), ABORTED),
    TxOpcode.PREPARE: ((OPEN,), PREPARED),
}


def words(stamp):
    return [stamp << 16 | i for i in range(BEATS)]


class EngineModel:
    """Needs of its bench: `rng`, `delay`, `clock`, `later`, the sources `rsp` and `released`, `memory`, `active`,
    `allowed`, `links_due`, `busy_frames`.
    """

    def start_engine(self, tx_entries):
        self.tx_entries, self.ops = tx_entries, []
        self.bad_lookups, self.bad_links = set(), set()
        self.slow = {}  # LPN: clocks until an op on it has its answer
        self.map, self.txs = {}, [{} for _ in range(TXIDS)]  # word and stamp of each LPN; versions of each transaction
        self.state, self.count, self.use = [0] * TXIDS, [0] * TXIDS, [0] * TXIDS
        self.group, self.under, self.before, self.unmerged, self.overtaken, self.commits_in_groups = (
            [],
            [],
            {},
            [],
            0,
            0,
        )
        self.frame_of, self.linked = {}, {}
        # frames that are linked and not issued: LPN, txid, clock, stream, blocks of the command; and those of them that
        # a later version replaced, which may come back without a program if `absorbable`
        self.dirty, self.replaced = {}, {}
        self.reached, self.hold_walks = [0] * TXIDS, False
        self.restored = set()  # txids of PREPARED transactions of before

    def step_engine(self, clock):
        for o in self.under:
            if not o["sent"] and o["due"] <= clock and not any(d in self.under for d in o["after"]):
                o["sent"] = True
                self.rsp.queue.append(o["answer"])
        for v in [v for v in self.unmerged if not self.before and not any(o in self.under for o in v["readers"])]:
            self.unmerged.remove(v)
            self.drop(v["word"])

    def visible(self, lpn, txid=None):
        if txid is not None and self.state[txid] in (OPEN, PREPARED, COMMITTING) and lpn in self.txs[txid]:
            return self.txs[txid][lpn]
        return self.map.get(lpn, (0, 0))

    def shown(self, lpn, stamp):
        for tag, blocks in self.allowed.items():
            n = lpn - self.active[tag]["lba"]
            if n in blocks:
                blocks[n].add(stamp)

    def drop(self, word):
        if word:
            self.released.queue.append({"kind": word >> 30, "value": word & 0x3FFF_FFFF})

    def op(self, o, clock):
        op, lpn, last, t = o["op"], o["lpn"], o["last"], o["txid"] if o["hasTx"] else None
        lpns = range(lpn, lpn + (o["blocks"] if op == TRIM else 1))
        if self.group:
            assert op == LOOKUP and lpn == self.group[-1] + 1, f"{o} inside the group {self.group}"
        in_group, self.group = self.group, [] if last else self.group + [lpn]
        location, new = (
            o["location_kind"] << 30 | o["location_value"],
            o["newLocation_kind"] << 30 | o["newLocation_value"],
        )
        self.ops.append(o)
        answer = dict.fromkeys(RSP, 0) | {"tag": o["tag"]}
        if op == LOOKUP:
            word = self.visible(lpn, t)[0]
            if in_group and lpn in self.before:  # committed since the group's first op
                word = self.before[lpn]["word"]
            answer |= dict(
                location_kind=word >> 30,
                location_value=word & 0x3FFF_FFFF,
                own=int(t is not None and lpn in self.txs[t]),
            )
            answer["committing"] = int(any(self.state[x] == COMMITTING and lpn in self.txs[x] for x in range(TXIDS)))
            answer["error"] = int(lpn in self.bad_lookups)
        elif op == SWAP:
            for versions in (self.map, *self.txs):
                if versions.get(lpn, (0, 0))[0] == location:
                    versions[lpn] = (new, versions[lpn][1])
                    answer["hit"] = 1
                    break
            for version in self.unmerged:
                if (version["lpn"], version["word"]) == (lpn, location):
                    version["word"], answer["hit"] = new, 1
            if location >> 30 == 2:
                self.busy_frames[location & 0xFFFF] = "swapped"
        else:
            assert len(lpns) > 0 and (op != TRIM or not location and self.links_due == [(n, False) for n in lpns]), (
                "a range that is not the one in the log"
            )
            for n in lpns:
                old = self.link(n, location, t, clock)
            if op != TRIM:
                answer |= dict(location_kind=old >> 30, location_value=old & 0x3FFF_FFFF, hit=int(self.owned))
                over = (OPEN, PREPARED, COMMITTING)
                answer["committing"] = int(
                    t is None and any(self.state[x] in over and lpn in self.txs[x] for x in range(TXIDS))
                )
                answer["error"] = int(lpn in self.bad_links)
        changes = op != LOOKUP
        assert all(x["tag"] != o["tag"] for x in self.under), "two ops with one tag"
        after = [x for x in self.under if set(lpns) & set(x["lpns"]) and (changes or x["changes"])]
        self.under.append(
            dict(
                tag=o["tag"],
                lpns=lpns,
                changes=changes,
                after=after,
                due=clock + self.slow.get(lpn, self.rng.randint(*self.delay)),
                answer=answer,
                sent=False,
            )
        )
        if last:
            self.before = {}

    def link(self, lpn, location, t, clock):
        """A block of a PLAIN (`t` is None), an APPEND or a TRIM. Returns the word that it replaced or, a new one of a
        transaction, what stands below it.
        """
        if not location:
            assert self.links_due.pop(0) == (lpn, False), "trimmed without its log entry"
        stamp = self.memory.page(location & 0xFFFF)[0] >> 16 if location else 0
        if location:
            assert self.memory.page(location & 0xFFFF) == words(stamp), "linked before it was filled"
            frame = location & 0xFFFF
            assert frame not in self.busy_frames, "the frame is in use"
            if frame in self.dirty:
                assert self.replaced.pop(frame), "a frame that was not written, and must be, is used again"
                del self.dirty[frame]
                self.absorbed += 1
            self.linked[frame] = lpn
            cmd = next(c for c in self.active.values() if self.is_of(c, lpn, t, stamp))
            self.dirty[frame] = dict(
                cmd=cmd,
                tag=cmd["tag"],
                lpn=lpn,
                t=t,
                clock=clock,
                stream=cmd["stream"],
                blocks=1 if t is not None else cmd["count"],
            )
        if t is not None:
            assert self.state[t] == OPEN
            self.count[t] += lpn not in self.txs[t]
            assert self.count[t] <= self.tx_entries
            self.owned = lpn in self.txs[t]
            old = self.txs[t].get(lpn, self.map.get(lpn, (0, 0)))[0]
            if self.owned:
                self.drop(old)
                self.replace(old, location)
            self.txs[t][lpn] = (location, stamp)
            for tag in self.allowed:
                if self.active[tag]["hasTx"] and self.active[tag]["txid"] == t:
                    self.shown(lpn, stamp)
        else:
            assert not any(self.state[x] == COMMITTING and lpn in self.txs[x] for x in range(TXIDS)), (
                "a plain write passed a committing one"
            )
            old, self.owned = self.map.get(lpn, (0, 0))[0], False
            self.drop(old)
            self.replace(old, location)
            self.map[lpn] = (location, stamp)
            self.shown(lpn, stamp)
        return old

    def is_of(self, cmd, lpn, t, stamp):
        return (
            stamp in self.data.get(cmd["tag"], ())
            and cmd["lba"] <= lpn < cmd["lba"] + cmd["count"]
            and (cmd["txid"] if cmd["hasTx"] else None) == t
        )

    def replace(self, old, location):
        """A later version of the same owner: the frame of the older one, if it is not issued, may be absorbed."""
        if old >> 30 == 2 and (old & 0xFFFF) in self.dirty:
            a = self.dirty[old & 0xFFFF]
            b = self.dirty.get(location & 0xFFFF) if location else None
            alike = b is not None and a["t"] == b["t"] and (a["t"] is not None or a["blocks"] == b["blocks"] == 1)
            same = lambda what: a["cmd"][what] == b["cmd"][what]  # noqa: E731
            if alike and a["t"] is None:
                alike = same("stream") and same("orderless") and (a["cmd"]["orderless"] or same("barriers"))
            self.replaced[old & 0xFFFF] = alike

    def answer_taken(self, beat, clock):
        done = next(o for o in self.under if o["tag"] == beat["tag"])
        self.overtaken += done is not self.under[0]
        self.under.remove(done)

    def tx(self, op, t):
        if op == 5:  # recover-all
            for other in range(TXIDS):
                if self.state[other] == OPEN:
                    self.tx(3, other)
            return
        start, end = ENDS[op]
        assert self.state[t] in start, f"transaction op {op} in state {self.state[t]}"
        self.state[t] = end
        self.use[t] += op == 0
        if op == 2:
            self.commits_in_groups += bool(self.group)
            for lpn, version in self.txs[t].items():
                old = dict(lpn=lpn, word=self.map.get(lpn, (0, 0))[0], readers=list(self.under))
                self.unmerged.append(old)
                if self.group:
                    self.before.setdefault(lpn, old)
                self.map[lpn] = version
                self.shown(lpn, version[1])
        elif op == 3:
            for word, _ in self.txs[t].values():
                self.drop(word)
        if op in (TxOpcode.COMMIT, TxOpcode.ABORT):
            self.txs[t] = {}
            self.later((10, 300), lambda: self.freed(t))

    def restore(self, t, entries):
        """A mount has brought back a PREPARED transaction, of `entries` blocks trimmed from LPN 900 on."""
        self.state[t], self.count[t], self.use[t] = PREPARED, entries, 1
        self.txs[t] = {900 + n: (0, 0) for n in range(entries)}
        self.restored.add(t)

    def freed(self, t):
        """The walk is over; `reached` says how far it is."""
        if self.hold_walks:
            self.later((10, 300), lambda: self.freed(t))
            return
        self.state[t], self.count[t], self.reached[t] = FREE, 0, 0
