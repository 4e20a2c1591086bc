# SPDX-License-Identifier: Apache-2.0
"""Mutations of good histories that the contract forbids by construction, for test_judge.py.

The history is one of the toy's (judge/toy.py) without haste and without failing commands, so each stamp belongs to one
command of a known time: `Known` says which and when. A mutation is a function `(events, known, rng)` that returns
changed events or None where it does not apply.
"""

import copy
from dataclasses import dataclass

NEVER = 1 << 60


@dataclass
class Wrote:
    """Who made a stamp visible: `begin` to `end` is the time of its plain WRITE or COMMIT, `end` NEVER if that has no
    completion; `durable`: from this line on.
    """

    lba: int
    uid: int
    begin: int
    end: int
    durable: int
    commit: bool
    relaxed: bool


class Known:
    def __init__(self, events):
        self.submit, self.done, self.stamps, self.aborted, self.cuts = {}, {}, {}, {}, []
        self.zeroed = set()
        for line, e in enumerate(events):
            if e.get("e") == "submit":
                self.submit[e["id"]] = line
                if e["op"] in ("TRIM", "WRITE_ZEROES"):
                    self.zeroed |= set(range(e["lba"], e["lba"] + e["n"]))
            elif e.get("e") == "done":
                self.done[e["id"]] = line
            elif e.get("e") == "cut" or e.get("e") == "off":
                self.cuts.append(line)
        self.reads = []  # (submit, done, event of the done, event of the submit) of READs without a txid
        self.own = []  # of READs with one
        flushes = []
        table = {}
        for line, e in enumerate(events):
            kind = e.get("e")
            if kind in ("cut", "off"):
                table.clear()
            elif kind == "done":
                s = events[self.submit[e["id"]]]
                if s["op"] == "FLUSH" and e["status"] == "SUCCESS":
                    flushes.append((self.submit[e["id"]], line))
                if s["op"] == "READ":
                    (self.own if "tx" in s else self.reads).append((self.submit[e["id"]], line, e, s))
                if s["op"] == "RECOVER":
                    for stamps in table.values():
                        self.aborted.update({stamp: (lba, line) for stamp, lba in stamps})
                    table.clear()
                if s["op"] == "ABORT" and e["status"] == "SUCCESS":
                    self.aborted.update({stamp: (lba, line) for stamp, lba in table.pop(s["tx"], ())})
                if "tx" in s and s["op"] == "WRITE" and e["status"] == "SUCCESS":
                    table.setdefault(s["tx"], []).extend(
                        zip(s["data"], range(s["lba"], s["lba"] + s["n"]), strict=True)
                    )
                if "tx" in s and (s["op"] == "COMMIT" or s.get("commit")) and e["status"] == "SUCCESS":
                    for stamp, lba in table.pop(s["tx"], ()):
                        self.wrote(stamp, lba, e["id"], line, True, bool(s.get("relaxed")), not s.get("relaxed"))
                if "tx" not in s and s["op"] == "WRITE" and e["status"] == "SUCCESS":
                    for stamp, lba in zip(s["data"], range(s["lba"], s["lba"] + s["n"]), strict=True):
                        self.wrote(stamp, lba, e["id"], line, False, False, bool(s.get("fua")))
        for w in self.stamps.values():
            w.durable = min([w.durable, *(done for submit, done in flushes if submit > w.end)])

    def wrote(self, stamp, lba, ident, line, commit, relaxed, durable):
        self.stamps[stamp] = Wrote(lba, ident, self.submit[ident], line, line if durable else NEVER, commit, relaxed)

    def older(self, stamp):
        """Stamps of the same block that were certainly overwritten by `stamp`; the zeroes of the beginning, if nobody
        wrote others.
        """
        w = self.stamps[stamp]
        return [s for s, o in self.stamps.items() if o.lba == w.lba and o.end < w.begin] + [0] * (
            w.lba not in self.zeroed
        )

    def shown(self):
        """(READ, index in it, stamp) of each stamp that a READ without a txid shows and whose writer completed."""
        return [(r, k, v) for r in self.reads for k, v in enumerate(r[2]["data"]) if v in self.stamps]


def put(events, read, index, stamp):
    """The events with another stamp at one place of a READ."""
    new = list(events)
    new[read[1]] = copy.deepcopy(events[read[1]])
    new[read[1]]["data"][index] = stamp
    return new


def pick(rng, found):
    return rng.choice(found) if found else None


def stale(events, known, rng):
    """An older version than one that was complete before the READ began."""
    found = [
        (r, k, s)
        for r, k, v in known.shown()
        if known.stamps[v].end < r[0]
        for s in known.older(v)
        if not any(known.stamps[v].end <= c < r[0] for c in known.cuts)
    ]
    at = pick(rng, found)
    return at and put(events, *at)


def never_written(events, known, rng):
    at = pick(rng, known.shown())
    return at and put(events, at[0], at[1], 10**9)


def garbage(events, known, rng):
    at = pick(rng, known.shown())
    return at and put(events, at[0], at[1], -1)


def other_block(events, known, rng):
    at = pick(
        rng,
        [
            (r, k, s)
            for r, k, v in known.shown()
            for s, o in list(known.stamps.items())[:40]
            if o.lba != known.stamps[v].lba
        ],
    )
    return at and put(events, *at)


def aborted(events, known, rng):
    found = [
        (r, lba - r[3]["lba"], s)
        for s, (lba, _) in known.aborted.items()
        for r in known.reads
        if 0 <= lba - r[3]["lba"] < r[3]["n"] and r[0] > 0
    ]
    at = pick(rng, found)
    return at and put(events, *at)


def too_early(events, known, rng):
    """The content of a transaction, in a READ that was complete before its COMMIT was submitted."""
    found = [
        (r, w.lba - r[3]["lba"], s)
        for s, w in known.stamps.items()
        if w.commit
        for r in known.reads
        if r[1] < w.begin and 0 <= w.lba - r[3]["lba"] < r[3]["n"]
    ]
    at = pick(rng, found)
    return at and put(events, *at)


def lost(events, known, rng):
    """After a cut, a version that was certainly overwritten by a durable one."""
    found = []
    for r, k, v in known.shown():
        w = known.stamps[v]
        if any(w.durable < c < r[0] for c in known.cuts):
            found += [(r, k, s) for s in known.older(v)]
    at = pick(rng, found)
    return at and put(events, *at)


def torn(events, known, rng):
    """Of two blocks of one command in one READ, one as it was before."""
    found = []
    for r in known.reads:
        by = {}
        for k, v in enumerate(r[2]["data"]):
            if v in known.stamps:
                by.setdefault(known.stamps[v].uid, []).append((k, v))
        for pairs in by.values():
            if len(pairs) > 1:
                k, v = rng.choice(pairs)
                found += [(r, k, s) for s in known.older(v)]
    at = pick(rng, found)
    return at and put(events, *at)


def prefix(events, known, rng):
    """After a cut a READ shows a commit that was not durable, another READ a later one: the first is taken out."""
    found = []
    for cut in known.cuts:
        until = next((c for c in known.cuts if c > cut), NEVER)
        before = next((c for c in reversed(known.cuts) if c < cut), -1)
        shown = [(r, k, v, known.stamps[v]) for r, k, v in known.shown() if cut < r[0] < until]
        shown = [x for x in shown if x[3].commit and before < x[3].begin and x[3].end < cut]
        last = max((x[3].begin for x in shown), default=0)
        found += [(r, k, s) for r, k, v, w in shown if w.end < last and w.durable > cut for s in known.older(v)]
    at = pick(rng, found)
    return at and put(events, *at)


def own(events, known, rng):
    """A READ with its txid shows an older committed version instead of its own."""
    found = []
    for r in known.own:
        tx = r[3]["tx"]
        for k, v in enumerate(r[2]["data"]):
            w = known.stamps.get(v)
            source = (
                next((e for e in events[: r[0]] if e.get("e") == "submit" and v in e.get("data", ())), None)
                if v
                else None
            )
            if (
                source
                and source.get("tx") == tx
                and known.done.get(source["id"], NEVER) < r[0]
                and (w is None or w.begin > r[1])
                and v not in known.aborted
            ):
                found += [(r, k, s) for s, o in known.stamps.items() if o.lba == r[3]["lba"] + k and o.end < r[0]][:1]
    at = pick(rng, found)
    return at and put(events, *at)


def zeroes(events, known, rng):
    """Zeroes in a block that nobody ever zeroed, after a durable write."""
    found = [
        (r, k, 0)
        for r, k, v in known.shown()
        if known.stamps[v].lba not in known.zeroed and known.stamps[v].durable < r[0]
    ]
    at = pick(rng, found)
    return at and put(events, *at)


def twice(events, known, rng):
    at = rng.choice(list(known.done.values()))
    return [*events[: at + 1], events[at], *events[at + 1 :]]


def omitted(events, known, rng):
    """A completion is missing, and no cut excuses it."""
    last = max(known.cuts)
    at = pick(rng, [d for d in known.done.values() if d > last])
    return at and [*events[:at], *events[at + 1 :]]


def unknown_txid(events, known, rng):
    """A COMMIT that succeeded says that its txid was not open."""
    return answered(events, known, rng, lambda s: s["op"] == "COMMIT", "TX_INVALID")


def nothing_changed(events, known, rng):
    """A plain write that a READ showed answers CAPACITY."""
    seen = {known.stamps[v].uid for _, _, v in known.shown() if not known.stamps[v].commit}
    return answered(events, known, rng, lambda s: s["id"] in seen, "CAPACITY")


def answered(events, known, rng, which, status):
    found = [d for i, d in known.done.items() if events[d]["status"] == "SUCCESS" and which(events[known.submit[i]])]
    at = pick(rng, found)
    return at and [*events[:at], {**events[at], "status": status}, *events[at + 1 :]]


MUTATIONS = (
    stale,
    never_written,
    garbage,
    other_block,
    aborted,
    too_early,
    lost,
    torn,
    prefix,
    own,
    zeroes,
    twice,
    omitted,
    unknown_txid,
    nothing_changed,
)
