# SPDX-License-Identifier: Apache-2.0
"""The commit log of a root's generation as the image has it (docs/interfaces/commit-log.md): its pages by number, where
it stops for the drive, what is behind that, and what is left of the pages of data that it names there.

The firmware takes page after page, each from one of its two copies, and stops at the first one that it cannot find.
That is the end of the log, unless a page `window` or more further on can be read: then the missing one was complete,
and it is a gap.
"""

from dataclasses import dataclass, field

from opentxssd.facts import NUMBER, TXIDS, LogFlag, LogKind, PageKind, PageStatus, WordKind, layout, magic, unpack
from opentxssd.recover.image import Place

HEADER = sum(bits for _, bits in layout("LogHeader")) // 8
ENTRY = sum(bits for _, bits in layout("LogEntry")) // 8
VALUE = (1 << NUMBER["WORD_VALUE_BITS"]) - 1
KINDS = {int(kind) for kind in LogKind}


@dataclass
class LogPage:
    number: int
    places: list  # of the copies that are whole
    header: dict
    raw: bytes
    promised: bool = True  # the log goes on behind it, or up to it


@dataclass
class Entry:
    """`says`: what the page of data that it names says now; empty for an entry that names none."""

    page: int
    index: int
    fields: dict
    says: str = ""
    good: bool = False  # that page is whole and is the LPN and sequence of the entry

    @property
    def kind(self):
        return self.fields["kind"]

    @property
    def name(self):
        return LogKind(self.kind).name if self.kind in KINDS else f"kind {self.kind}"

    @property
    def in_tx(self):
        return self.kind in (LogKind.COMMIT, LogKind.ABORT, LogKind.PREPARE) or bool(
            self.fields["flags"] & LogFlag.IN_TX
        )

    @property
    def txid(self):
        return self.fields["serial"] % TXIDS if self.in_tx else None

    @property
    def ppn(self):
        return self.fields["location"] & VALUE if self.kind in (LogKind.MAP, LogKind.RELOCATE) else None


@dataclass
class Log:
    generation: int
    begin: int
    stops: int = 0  # first page that is missing
    end: int = 0  # page behind the last one that was complete for sure
    gaps: list = field(default_factory=list)  # (first page, last page, entries in it or None)
    before: list = field(default_factory=list)  # pages
    behind: list = field(default_factory=list)
    strange: list = field(default_factory=list)  # (Place, words): begun, in a block of the log, and no page of it


class Reader:
    """Reads the log of `root`."""

    def __init__(self, image, root):
        self.image, self.root = image, root
        self.generation, self.drive_id = root.fields["generation"], root.fields["drive_id"]
        self.pages, self.own, self.strange = {}, set(), []
        lanes = root.fields["lanes"]
        # a page begins when the one so many before it is complete: until format 9 it stood once, one in each lane
        self.window = (lanes + 1) // 2 if root.fields["version_word"] > 9 else lanes

    def log(self):
        first, window = self.root.fields["log_page"], self.window
        self._blocks()
        pages = {n: page for n, page in self.pages.items() if n >= first}
        log = Log(self.generation, first, strange=[(place, why) for b, place, why in self.strange if b in self.own])
        last = max(pages, default=first - 1)
        log.stops = next(n for n in range(first, last + 2) if n not in pages)
        missing = [n for n in range(first, last + 1) if n not in pages]
        log.end = next((n for n in missing if n + window > last), last + 1)
        log.before = [pages[n] for n in sorted(pages) if n < log.stops]
        log.behind = [pages[n] for n in sorted(pages) if n > log.stops]
        for page in log.behind:
            page.promised = page.number < log.end
        log.gaps = self._gaps(pages, [n for n in missing if n < log.end])
        return log

    def _gaps(self, pages, missing):
        found = []
        for n in missing:
            if found and found[-1][1] == n - 1:
                found[-1][1] = n
            else:
                found.append([n, n])
        gaps = []
        for first, last in found:
            before = pages.get(first - 1)
            begin = before.header["first"] + before.header["count"] if before else self.root.fields["log_first"]
            after = pages.get(last + 1)  # none where the log ends right behind the gap
            gaps.append((first, last, after.header["first"] - begin if after else None))
        return gaps

    def _blocks(self):
        """Looks at all pages of blocks that have a log page, or that the root or a log page names."""
        image, root = self.image, self.root
        ids = root.words("lane_block")[: root.fields["lanes"]]
        if root.fields["version_word"] > 3:
            ids += [b - 1 for b in root.words("lane_next")[: root.fields["lanes"]] if b]
        self.own |= set(ids)
        for die in range(image.dies):
            for block in range(image.blocks):
                if PageKind.LOG in image.raw_kinds(die, block):
                    ids.append(image.block_id(die, block))
        seen = set()
        while ids:
            block = ids.pop()
            if block in seen:
                continue
            seen.add(block)
            named = self._block(block)
            self.own |= named
            ids += named - seen

    def _block(self, block):
        """Takes the log pages of a block; the blocks that they name."""
        named = set()
        for place in self.image.places(block):
            read = self.image.read(place)
            if read.status == PageStatus.BLANK:
                continue
            header = unpack("LogHeader", read.data[:HEADER])
            if why := self._wrong(read, header, block):
                self.strange.append((block, place, why))
                continue
            if header["number"] in self.pages:
                self.pages[header["number"]].places.append(place)
            else:
                self.pages[header["number"]] = LogPage(header["number"], [place], header, read.data)
            if header["number"] >= self.root.fields["log_page"]:
                self.own.add(block)
                named |= {header["next"]}
                if header["second_block"]:
                    named |= {header["second_block"], header["second_next"]}
        return named

    def _wrong(self, read, header, block):
        """Why a page is none of this log."""
        if read.status != PageStatus.OK:
            return "cannot be read"
        if read.kind != PageKind.LOG or not read.data.startswith(magic("LogHeader")):
            return f"a page of kind {kind_name(read.kind)}"
        if header["drive_id"] != self.drive_id:
            return f"a log page of another drive, {header['drive_id']:08x}"
        if read.generation != self.generation or header["generation"] != self.generation:
            return f"a log page of generation {read.generation}"
        if header["number"] != read.lpn or header["count"] > NUMBER["LOG_ENTRIES"]:
            return "a log page that contradicts itself"
        if block not in (header["block"], header["second_block"]):
            return "a log page that contradicts itself"
        return ""

    def entries(self, page, named=True):
        """The entries of a page; with `named`, what became of the pages that they name."""
        found = []
        for i in range(page.header["count"]):
            raw = page.raw[HEADER + ENTRY * i : HEADER + ENTRY * (i + 1)]
            entry = Entry(page.number, page.header["first"] + i, unpack("LogEntry", raw))
            if named and entry.ppn is not None:
                entry.good, entry.says = self.named(entry)
            found.append(entry)
        return found

    def named(self, entry):
        """(whether, words): the page that an entry names is that LPN and sequence."""
        fields = entry.fields
        place = self.image.place(entry.ppn)
        if fields["location"] >> NUMBER["WORD_VALUE_BITS"] != WordKind.NAND or place is None:
            return False, "no page"
        read = self.image.read(place)
        if read.status != PageStatus.OK:
            return False, "blank" if read.status == PageStatus.BLANK else "cannot be read"
        if read.kind != PageKind.DATA:
            return False, f"a page of kind {kind_name(read.kind)}"
        if (read.lpn, read.sequence, read.generation) != (fields["lpn"], fields["sequence"], self.generation):
            return False, f"LPN {read.lpn}, sequence {read.sequence}, generation {read.generation}"
        return True, "is it"


def kind_name(kind):
    return PageKind(kind).name if kind in set(PageKind) else str(kind)


def text_of(place):
    return f"die {place.die} block {place.block} page {place.page}" if isinstance(place, Place) else "no page"
