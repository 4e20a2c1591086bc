# SPDX-License-Identifier: Apache-2.0
"""Golden model of the commit log: the page format in both directions, and a judge of what the log does.

The judge is told everything that passes the log's ports and knows only docs/interfaces.md. It does not predict clocks;
it refuses what must not happen: a page in the wrong place, with wrong bytes, closed without a reason or through a
group, a wait that ends too early or out of order.
"""

from collections import deque
from dataclasses import dataclass, field

from opentxssd.facts import (
    BLOCK,
    NUMBER,
    TXIDS,
    LogFlag,
    LogKind,
    NandOp,
    PageKind,
    Priority,
    Status,
    magic,
    pack,
    unpack,
)

MAP, COMMIT, ABORT, TRIM, PREPARE, RELOCATE, NOTE = LogKind
PAGE, MOST, FRAMES, MAGIC = BLOCK, NUMBER["LOG_ENTRIES"], NUMBER["LOG_FRAMES"], magic("LogHeader")
# how often a copy is tried in a lane; pages of a block in which a failure does not lead to the next block
PLACES, FIRST_PAGES = 4, 3
PROGRAM, KIND_LOG = NandOp.PROGRAM, PageKind.LOG
SUCCESS, WRITE_FAULT = Status.SUCCESS, Status.WRITE_FAULT


@dataclass
class Entry:
    kind: int = MAP
    ordered: int = 0
    inTx: int = 0
    n: int = 1
    i: int = 0
    lpn: int = 0
    location: int = 0
    serial: int = 0
    sequence: int = 0
    epoch: int = 0
    arg: int = 0
    room: int = field(default=1, compare=False)
    last: int = field(default=1, compare=False)

    def encode(self):
        return pack("LogEntry", **self.__dict__, flags=self.ordered * LogFlag.ORDERED | self.inTx * LogFlag.IN_TX)

    @classmethod
    def decode(cls, raw):
        fields = unpack("LogEntry", raw)
        flags = fields.pop("flags")
        return cls(ordered=int(flags & LogFlag.ORDERED != 0), inTx=int(flags & LogFlag.IN_TX != 0), **fields)

    @property
    def payload(self):
        """Fields of the `append` stream."""
        fields = dict(self.__dict__)
        location = fields.pop("location")
        return fields | {"location_kind": location >> 30, "location_value": location & 0x3FFFFFFF}


@dataclass
class Page:
    drive: int
    generation: int
    number: int
    first: int
    watermark: int
    names: list  # (block, next block, page) of the place of each copy; zeroes where it has none
    entries: list
    left: tuple = (0, 0)  # where a lane goes on that a copy has left, and that lane, plus one

    def encode(self):
        """Header and entries; what follows in the page is not defined."""
        who = dict(
            magic=int.from_bytes(MAGIC, "little"),
            drive_id=self.drive,
            generation=self.generation,
            number=self.number,
            count=len(self.entries),
        )
        (block, nxt, page), (second_block, second_next, second_page) = self.names
        where = dict(block=block, next=nxt, page=page)
        where |= dict(second_block=second_block, second_next=second_next, second_page=second_page)
        where |= dict(left_block=self.left[0], left_lane=self.left[1])
        head = pack("LogHeader", **who, first=self.first, watermark=self.watermark, **where)
        return head + b"".join(e.encode() for e in self.entries)

    @classmethod
    def decode(cls, raw):
        head = unpack("LogHeader", raw[:64])
        number, count = head["number"], head["count"]
        assert raw[:8] == MAGIC and pack("LogHeader", **head) == raw[:64], f"page {number}: bad header {raw[:64].hex()}"
        assert 1 <= count <= MOST, f"page {number}: {count} entries"
        entries = [Entry.decode(raw[64 + 32 * i : 96 + 32 * i]) for i in range(count)]
        return cls(
            head["drive_id"],
            head["generation"],
            number,
            head["first"],
            head["watermark"],
            [tuple(head[s + f] for f in ("block", "next", "page")) for s in ("", "second_")],
            entries,
            (head["left_block"], head["left_lane"]),
        )


class LogModel:
    def __init__(self, lanes, pages_per_block, frame_base, drive, generation):
        self.lanes, self.pages_per_block, self.frame_base = lanes, pages_per_block, frame_base
        self.drive, self.generation = drive, generation
        self.plan, self.head = [], 0  # entries offered and to be offered; how many the log has taken
        self.blocks = [[] for _ in range(lanes)]
        self.pages, self.images, self.finished = [], [], set()
        self.done, self.watermark, self.plain, self.pending = set(), 0, 0, [0] * TXIDS
        self.record = 0  # index of the last COMMIT that waited
        self.commits, self.flushes, self.shown, self.waits = deque(), deque(), deque(), []
        self.relaxed = []  # indexes of the RELAXED COMMITs that were shown
        self.fault = False
        self.plp = self.together = self.saving = False
        self.retracts = False  # offers at `append` are taken back now and then
        self.at = [(0, 0)] * lanes  # place of the next page of each lane: how manieth block, page
        # by (page number, copy); promised: places that a header has named and that are not written yet
        self.placed, self.flying, self.again, self.tries, self.lane, self.promised = {}, set(), set(), {}, {}, {}
        self.bad = deque()  # blocks of failed copies that were not reported
        self.placed_first, self.repeated = {}, []  # first place of each copy; copies that were placed again
        self.alone = []  # pages whose second copy was placed after the first
        self.twins, self.moving = (
            set(),
            {},
        )  # pages of which all headers name both first places; copies that leave a lane
        self.gone = {}  # by page: what its headers say of a lane that a copy has left
        self.moved = []  # (copy, lane, lane after that)

    # what goes in
    # ------------------------------------------------------------------------------------------------------
    def taken(self):
        e = self.plan[self.head]
        if e.kind == MAP and e.inTx:
            self.pending[e.serial & 31] += 1
        self.head += 1
        self._advance()

    def page_done(self, index, hasTx, txid, ok):
        if not ok:
            self.fault = True
            return
        assert self.plan[index].kind == MAP and index not in self.done
        self.done.add(index)
        if hasTx:
            self.pending[txid] -= 1
        self._advance()

    def _advance(self):
        while self.watermark < self.head and (self.plan[self.watermark].kind != MAP or self.watermark in self.done):
            self.watermark += 1
        while self.plain < self.head and (
            self.plan[self.plain].inTx or self.plan[self.plain].kind != MAP or self.plain in self.done
        ):
            self.plain += 1

    def program_done(self, cookie, status):
        which = max(n for n in range(len(self.pages)) if n % FRAMES == cookie % FRAMES), cookie // FRAMES
        self.flying.discard(which)
        if not status:
            self.finished.add(which)
            return
        lane, (b, q) = self.lane[which], self.placed[which]
        if self.tries[which] == PLACES:
            number, copy = which
            if number not in self.twins or (number, 1 - copy) in self.moving:
                self.fault = True
                return
            self.moving[which] = lane
            self.gone[number] = self.blocks[lane][b + (q >= FIRST_PAGES)], lane + 1
        self.again.add(which)
        self.bad.append(self.blocks[lane][b])
        if q >= FIRST_PAGES and q != self.pages_per_block - 1:
            self.at[lane] = (b + 1, 0)

    def bad_block(self, block):
        assert self.bad and block in self.bad, f"block {block} reported, failed are {list(self.bad)}"
        self.bad.remove(block)

    def waiter(self, tag, flush, relaxed, txid, index, after):
        assert not (flush and relaxed)
        if flush:
            after = max(after, self.record)
        else:
            self.record = index
        (self.flushes if flush else self.commits).append((tag, txid, index, relaxed, after))
        if not relaxed:
            self.waits.append(index)

    @property
    def retired(self):
        """Pages that have two copies, as all before them have."""
        n = 0
        while {(n, 0), (n, 1)} <= self.finished:
            n += 1
        return n

    @property
    def durable(self):
        n = self.retired
        return self.pages[n - 1].first + len(self.pages[n - 1].entries) if n else 0

    @property
    def durable_mark(self):
        """The highest watermark that stands in a page that is done, as are all before it."""
        return max((page.watermark for page in self.pages[: self.retired]), default=0)

    def is_place(self, page, first, lanes):
        """Was this where the log went on? `page` is the first that had no place, `first` the index of its first entry,
        `lanes` block and page of the next place of each lane.
        A second copy of an earlier page may be there. To be asked when later pages have places and no copy was placed
        again."""
        for lane, place in enumerate(lanes):
            later = [(n, c) for n in range(page, len(self.pages)) for c in (0, 1) if self.lane.get((n, c)) == lane]
            second = [self.placed_first.get((n, 1)) for n in range(page)]
            if later and self.placed_first[later[0]] != place and place not in second:
                return False
        return self.pages[page].first == first

    @property
    def left(self):
        """Log pages of two copies that can still be placed, each lane until it has no next block."""
        whole = [
            (len(blocks) - 1 - b) * self.pages_per_block - q
            for blocks, (b, q) in zip(self.blocks, self.at, strict=True)
        ]
        return sum(max(0, n) for n in whole) // 2

    def _after(self, b, q):
        return (b, q + 1) if q + 1 < self.pages_per_block else (b + 1, 0)

    def _next_ppn(self, lane):
        b, page = self.at[lane]
        return self.blocks[lane][b] * self.pages_per_block + page if b < len(self.blocks[lane]) else None

    def _place(self, which, ppn):
        """The place that a copy gets now: the next one of any lane, or of its lane if it was placed before."""
        number, copy = which
        leaves = which in self.moving
        lanes = range(self.lanes) if leaves or which not in self.lane else [self.lane[which]]
        lane = next((lane for lane in lanes if self._next_ppn(lane) == ppn), None)
        assert lane is not None, f"page {which} is written to {ppn:#x}, where no lane of {list(lanes)} goes on"
        if leaves:
            assert (number, 1 - copy) in self.finished, f"page {which} moves, and nothing names the block it leaves"
            self.moved.append((which, self.moving.pop(which), lane))
            self.twins.discard(number)
            self.tries[which] = 0
        self.lane[which] = lane
        b, page = self.at[lane]
        assert len(self.blocks[lane]) >= b + 2, f"page {which} written to a lane without a next block"
        assert not any(self.lane[w] == lane for w in self.flying), f"page {which}: a page of its lane is under way"
        window = (self.lanes + 1) // 2
        assert number - window < self.retired, f"page {which} before {number - window}"
        self.placed[which], self.tries[which] = (b, page), self.tries.get(which, 0) + 1
        self.placed_first.setdefault(which, (self.blocks[lane][b], page))
        self.at[lane] = self._after(b, page)
        self.flying.add(which)

    def _name(self, which):
        if which not in self.placed:
            return 0, 0, 0
        b, page = self.placed[which]
        return (*self.blocks[self.lane[which]][b : b + 2], page)

    # what comes out
    # ------------------------------------------------------------------------------------------------------
    def program(self, op, image):
        slot, copy = op["cookie"] % FRAMES, op["cookie"] // FRAMES
        again = next((n for n in range(len(self.pages)) if n % FRAMES == slot and (n, copy) in self.again), None)
        older = [n for n in range(len(self.pages)) if n % FRAMES == slot and (n, 1) not in self.finished]
        number = again if again is not None else older[-1] if copy and older else len(self.pages)
        old, which = number < len(self.pages), (number, copy)
        got = Page.decode(image)
        if which in self.promised:
            assert self.promised.pop(which) == op["ppn"], f"page {which} is not where its header says"
            assert image.startswith(self.images[number]), f"the copies of page {number} differ"
        else:
            assert not any(n == number for n, _ in self.flying), f"frame of page {number} changed while it was read"
            self.again.discard(which)
            self.repeated += [] if again is None else [which]
            self._place(which, op["ppn"])
            if not old and any(got.names[1]):
                block, _, page = got.names[1]
                self.promised[number, 1] = block * self.pages_per_block + page
                self._place((number, 1), self.promised[number, 1])
                self.twins.add(number)
            elif not old:
                self.alone.append(number)
        names = [self._name((number, c)) for c in (0, 1)]
        ppn = names[copy][0] * self.pages_per_block + names[copy][2]
        who = dict(lpn=number, sequence=0, cookie=op["cookie"], priority=Priority.MEDIUM)
        want = dict(op=PROGRAM, ppn=ppn, frame=self.frame_base + slot, kind=KIND_LOG, **who)
        assert op == want, f"page {which}: {op}, not {want}"
        before = self.pages[number - 1] if number else None
        first = before.first + len(before.entries) if before else 0
        end = first + len(got.entries)
        assert end <= self.head
        mark = self.pages[number].watermark if old else before.watermark if before else 0
        most = mark if old else min(self.watermark, self.durable)
        assert mark <= got.watermark <= most, (
            f"page {number}: watermark {got.watermark}, complete and twice there are {most}"
        )
        left = (0, 0) if any(n == number for n, _ in self.moving) else self.gone.get(number, (0, 0))
        fields = number, first, got.watermark, names, self.plan[first:end], left
        golden = Page(self.drive, self.generation, *fields).encode()
        assert bytes(image[: len(golden)]) == golden, f"page {number} is not byte-exact"
        assert self.plan[end - 1].last, f"page {number} ends inside a group"
        full = len(got.entries) == MOST or any(len(got.entries) + e.room > MOST for e in self._next(end))
        gone = self.retracts and len(got.entries) + 32 > MOST  # it closed for an offer that was taken back
        assert full or gone or any(first < w for w in self.waits), (
            f"page {number} closed with {len(got.entries)} entries and nobody waits"
        )
        assert old or not self.together or self.saving or self.watermark >= end, (
            f"page {number} is programmed before the pages that it names"
        )
        if old:
            assert got.entries == self.pages[number].entries
            self.pages[number], self.images[number] = got, bytes(image[: len(golden)])
            return got
        assert number - FRAMES < self.retired, f"page {number}: more than {FRAMES} pages under way"
        self.pages.append(got)
        self.images.append(bytes(image[: len(golden)]))
        return got

    def _next(self, end):
        """The entries that may have been offered when a page ended before index `end`: RELOCATEs may have gone before
        the group.
        """
        while end < len(self.plan):
            yield self.plan[end]
            if self.plan[end].kind != RELOCATE:
                return
            end += 1

    def tx(self, op, txid):
        assert op == 2 and self.commits, f"tx {op} {txid}"
        _, want, index, relaxed, after = self.commits[0]
        assert txid == want, f"COMMIT of {txid} sent, {want} is first"
        if self.plp:
            pass
        elif relaxed:
            self.relaxed.append(index)
        else:
            assert self.durable >= index, f"COMMIT of {txid} sent, {self.durable} entries durable of {index}"
            assert self.watermark >= after, (
                f"COMMIT of {txid} sent, complete {self.watermark}, an epoch ends at {after}"
            )
            assert self.pending[txid] == 0, f"COMMIT of {txid} sent with {self.pending[txid]} pages outstanding"
            assert self.watermark >= max(self.relaxed, default=0), (
                f"COMMIT of {txid} sent, a RELAXED one before it is not complete"
            )
        self.shown.append(self.commits.popleft()[0])

    def wait_done(self, tag, status):
        """Returns "COMMIT" or "FLUSH"."""
        if status == WRITE_FAULT:
            assert self.fault
            queue = self.flushes if self.flushes and self.flushes[0][0] == tag else self.commits
            assert queue.popleft()[0] == tag
            return "COMMIT" if queue is self.commits else "FLUSH"
        assert status == SUCCESS
        if self.shown and self.shown[0] == tag:
            self.shown.popleft()
            return "COMMIT"
        want, _, index, _, after = self.flushes.popleft()
        assert want == tag, f"FLUSH {tag} done, {want} is first"
        why = f"FLUSH {tag} done: durable {self.durable}, complete {self.watermark}, {self.plain}, of {index}, {after}"
        assert self.plp or self.durable >= index and self.plain >= index and self.watermark >= after, why
        return "FLUSH"
