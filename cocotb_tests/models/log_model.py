# SPDX-License-Identifier: Apache-2.0
"""Golden model of the commit log: the page format in both directions, and a judge of what the log does.

The judge is told everything that passes the log's ports and knows only docs/interfaces.md. It does not predict clocks; it refuses
what must not happen: a page in the wrong place, with wrong bytes, closed without a reason or through a group, a wait that ends too
early or out of order.
"""

import struct
from collections import deque
from dataclasses import dataclass, field

MAP, COMMIT, ABORT, TRIM, PREPARE, RELOCATE = 1, 2, 3, 4, 5, 6
PAGE, MOST, FRAMES, MAGIC = 4096, 126, 4, b"OTXLOG01"
HEADER = "<8sIIIHBxQQIIQQ"
PROGRAM, KIND_LOG = 6, 2
SUCCESS, WRITE_FAULT = 0, 9


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
        flags = self.ordered | self.inTx << 1
        rest = self.lpn, self.location, self.serial, self.sequence, self.epoch, self.arg
        return struct.pack("<BBBBIIIQII", self.kind, flags, self.n, self.i, *rest)

    @classmethod
    def decode(cls, raw):
        kind, flags, n, i, lpn, location, serial, sequence, epoch, arg = struct.unpack("<BBBBIIIQII", raw)
        return cls(kind, flags & 1, flags >> 1 & 1, n, i, lpn, location, serial, sequence, epoch, arg)

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
    lane: int
    first: int
    watermark: int
    current: int
    next: int
    entries: list

    def encode(self):
        """Header and entries; what follows in the page is not defined."""
        who = MAGIC, self.drive, self.generation, self.number, len(self.entries), self.lane
        head = struct.pack(HEADER, *who, self.first, self.watermark, self.current, self.next, 0, 0)
        return head + b"".join(e.encode() for e in self.entries)

    @classmethod
    def decode(cls, raw):
        magic, drive, generation, number, count, lane, *rest = struct.unpack(HEADER, raw[:64])
        assert magic == MAGIC and rest[4:] == [0, 0] and raw[23] == 0, f"page {number}: bad header {raw[:64].hex()}"
        assert 1 <= count <= MOST, f"page {number}: {count} entries"
        entries = [Entry.decode(raw[64 + 32 * i : 96 + 32 * i]) for i in range(count)]
        return cls(drive, generation, number, lane, *rest[:4], entries)


class LogModel:
    def __init__(self, lanes, pages_per_block, frame_base, drive, generation):
        self.lanes, self.pages_per_block, self.frame_base = lanes, pages_per_block, frame_base
        self.drive, self.generation = drive, generation
        self.plan, self.head = [], 0  # entries offered and to be offered; how many the log has taken
        self.blocks = [[] for _ in range(lanes)]
        self.pages, self.images, self.finished = [], [], set()
        self.done, self.watermark, self.pending = set(), 0, [0] * 32
        self.commits, self.flushes, self.shown, self.waits = deque(), deque(), deque(), []
        self.relaxed = []  # indexes of the RELAXED COMMITs that were shown
        self.fault = False

    # what goes in ------------------------------------------------------------------------------------------------------
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
        assert self.plan[index].kind in (MAP, RELOCATE) and index not in self.done
        self.done.add(index)
        if hasTx:
            self.pending[txid] -= 1
        self._advance()

    def _advance(self):
        while self.watermark < self.head and (self.plan[self.watermark].kind not in (MAP, RELOCATE) or self.watermark in self.done):
            self.watermark += 1

    def program_done(self, cookie, status):
        number = max(n for n in range(len(self.pages)) if n % FRAMES == cookie)
        self.finished.add(number)
        if status:
            self.fault = True
            self.finished.discard(number)

    def waiter(self, tag, flush, relaxed, txid, index):
        assert not (flush and relaxed)
        (self.flushes if flush else self.commits).append((tag, txid, index, relaxed))
        if not relaxed:
            self.waits.append(index)

    @property
    def durable(self):
        n = 0
        while n in self.finished:
            n += 1
        return self.pages[n - 1].first + len(self.pages[n - 1].entries) if n else 0

    @property
    def left(self):
        """Log pages that can still be started: lane by lane until one has no next block."""
        number = len(self.pages)
        while self._place(number) is not None:
            number += 1
        return number - len(self.pages)

    def _place(self, number):
        """(lane, current, next, page) of log page `number`, None when its lane has no next block."""
        lane, turn = number % self.lanes, number // self.lanes
        b, page = divmod(turn, self.pages_per_block)
        return (lane, *self.blocks[lane][b : b + 2], page) if len(self.blocks[lane]) >= b + 2 else None

    # what comes out ------------------------------------------------------------------------------------------------------
    def program(self, op, image):
        number = len(self.pages)
        place = self._place(number)
        assert place is not None, f"page {number} written to a lane without a next block"
        lane, current, nxt, page = place
        slot = number % FRAMES
        ppn = current * self.pages_per_block + page
        want = dict(op=PROGRAM, ppn=ppn, frame=self.frame_base + slot, kind=KIND_LOG, lpn=number, sequence=0, cookie=slot)
        assert op == want, f"page {number}: {op}, not {want}"
        got = Page.decode(image)
        first = self.pages[-1].first + len(self.pages[-1].entries) if self.pages else 0
        end = first + len(got.entries)
        assert end <= self.head
        mark = self.pages[-1].watermark if self.pages else 0
        assert mark <= got.watermark <= min(self.watermark, end), f"page {number}: watermark {got.watermark}, complete are {self.watermark}"
        golden = Page(self.drive, self.generation, number, lane, first, got.watermark, current, nxt, self.plan[first:end]).encode()
        assert bytes(image[: len(golden)]) == golden, f"page {number} is not byte-exact"
        assert self.plan[end - 1].last, f"page {number} ends inside a group"
        full = len(got.entries) == MOST or (end < len(self.plan) and len(got.entries) + self.plan[end].room > MOST)
        assert full or any(first < w for w in self.waits), f"page {number} closed with {len(got.entries)} entries and nobody waits"
        assert number < FRAMES or number - FRAMES in self.finished, f"page {number}: more than {FRAMES} pages under way"
        self.pages.append(got)
        self.images.append(bytes(image[: len(golden)]))
        return got

    def tx(self, op, txid):
        assert op == 2 and self.commits, f"tx {op} {txid}"
        _, want, index, relaxed = self.commits[0]
        assert txid == want, f"COMMIT of {txid} sent, {want} is first"
        if relaxed:
            self.relaxed.append(index)
        else:
            assert self.durable >= index, f"COMMIT of {txid} sent, {self.durable} entries durable of {index}"
            assert self.pending[txid] == 0, f"COMMIT of {txid} sent with {self.pending[txid]} pages outstanding"
            assert self.watermark >= max(self.relaxed, default=0), f"COMMIT of {txid} sent, a RELAXED one before it is not complete"
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
        want, _, index, _ = self.flushes.popleft()
        assert want == tag, f"FLUSH {tag} done, {want} is first"
        why = f"FLUSH {tag} done: durable {self.durable}, complete {self.watermark}, index {index}"
        assert self.durable >= index and self.watermark >= index, why
        return "FLUSH"
