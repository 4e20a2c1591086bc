# SPDX-License-Identifier: Apache-2.0
"""What the log behind a gap makes of an LPN: its versions, newest first, as far as entries that can be read tell.

A plain entry counts at its place in the log, one of a transaction at that of its COMMIT; without one it is no version.
A RELOCATE moves a page whose own entry may be in the gap or before it: then it is older than all others here.
"""

from dataclasses import dataclass, field

from opentxssd.facts import LogKind

BEFORE = -1  # order of what was written before anything that is behind the gap


@dataclass
class Version:
    lpn: int
    order: int  # index of the entry that made it count
    sequence: int
    trimmed: bool = False
    entries: list = field(default_factory=list)  # that name its page; the last one is where it is now

    @property
    def good(self):
        """The entry whose page can be read, or None."""
        return next((e for e in reversed(self.entries) if e.good), None)


def in_tx(entry):
    """An entry of a transaction that changes a block."""
    return entry.kind in (LogKind.MAP, LogKind.TRIM) and entry.in_tx


def versions(before, behind):
    """{LPN: [Version, newest first]}, and the entries behind the gap of transactions that have no COMMIT there. Both
    are lists of entries in log order; of those before the gap only the ones count whose COMMIT is behind it.
    """
    commits = {e.fields["serial"]: e.index for e in behind if e.kind == LogKind.COMMIT}
    entries = [e for e in before if in_tx(e) and e.fields["serial"] in commits] + behind
    found, open_ = {}, []

    def put(lpn, order, entry, trimmed):
        found.setdefault(lpn, []).append(Version(lpn, order, entry.fields["sequence"], trimmed, [entry]))

    for entry in entries:
        lpn, order = entry.fields["lpn"], entry.index
        if in_tx(entry):
            order = commits.get(entry.fields["serial"])
            if order is None:
                open_.append(entry)
                continue
        if entry.kind == LogKind.MAP:
            put(lpn, order, entry, False)
        elif entry.kind == LogKind.TRIM:
            for n in range(entry.fields["arg"]):
                put(lpn + n, order, entry, True)
        elif entry.kind == LogKind.RELOCATE:
            same = [v for v in found.get(lpn, ()) if v.sequence == entry.fields["sequence"] and not v.trimmed]
            if same:
                same[0].entries.append(entry)
            elif not any(e.fields["lpn"] == lpn and e.fields["sequence"] == entry.fields["sequence"] for e in open_):
                put(lpn, BEFORE, entry, False)
    for lpn in found:  # the last of equals is the newest
        found[lpn] = sorted(reversed(found[lpn]), key=lambda v: -v.order)
    return found, open_
