# SPDX-License-Identifier: Apache-2.0
"""A host with NVMe queues in front of otx_nvme, firmware beside it and a core behind it; every command, every CQE and
every byte is checked as it passes (docs/interfaces/nvme.md, models/nvme_commands.py)."""

import random
import struct
from dataclasses import dataclass, field

from cocotb_tests.bench.host_memory import PAGE, HostMemory
from cocotb_tests.bench.nvme_bar import ACQ, AQA, ASQ, CC, DOORBELLS, TABLE, VECTORS, Bar
from cocotb_tests.bench.nvme_core import Core
from cocotb_tests.bench.nvme_firmware import CREATE_CQ, CREATE_SQ, DELETE_SQ, Firmware
from cocotb_tests.bench.streams import Pin, Stepper, start
from cocotb_tests.models.nvme_commands import (
    DO_NOT_RETRY,
    ENDS,
    Drive,
    PrpOffset,
    Sqe,
    Unreadable,
    meaning,
    means,
    parts_of,
    pieces,
)
from opentxssd.facts import BLOCK, NvmeStatus, Opcode, Order, Status

LBAS = 1024  # of preset tiny
ENABLED = 0x0046_0001  # entries of 64 and 16 bytes
WEIGHTED = 1 << 11
MESSAGES = 0xFEE0_0000


@dataclass
class Pair:
    """A submission queue with its completion queue, as the host knows them; several may share one of the latter."""

    number: int
    base: int
    size: int
    cq: "Ring"
    priority: int = 2
    tail: int = 0
    head: int = 0  # as the last CQE said
    count: int = 0  # commands, and those that CQEs said to be fetched
    fetched: int = 0
    todo: list = field(default_factory=list)  # commands that the core must get, in their order
    under_way: dict = field(default_factory=dict)  # by cid

    def room(self):
        return (self.head - self.tail - 1) % self.size


@dataclass
class Ring:
    """A completion queue."""

    number: int
    base: int
    size: int
    vector: int
    tail: int = 0
    phase: int = 1
    head: int = 0  # what the host has seen
    rung: int = 0  # what it has told


class Record:
    """A command of the host, from its submission on."""

    def __init__(self, pair, sqe, what):
        self.pair, self.sqe, self.meaning = pair, sqe, what
        self.status = what.status
        self.parts = list(what.commands)  # that the core has not got
        self.pieces, self.lists, self.readable, self.writable = [], [], [], []
        self.after = NvmeStatus.SUCCESS  # when all parts have ended well
        self.command = self.began = None
        self.done = self.failed = None


class Host(Stepper):
    """`bar`, `memory` and `pins` are its ways to otx_nvme: the streams, unless a class has others (`connect`)."""

    def __init__(self, dut, seed=1, stall=0.0, latency=20, jitter=0, pace=0.2):
        super().__init__(dut)
        self.rng = random.Random(seed)
        self.drive_ = Drive(LBAS)
        self.connect(dut, stall, latency, jitter)
        self.core = Core(self, dut, self.rng, stall, pace)
        self.firmware = Firmware(self, dut, stall, self.rng)
        self.memory.wrote, self.memory.message = self._wrote, self._message
        self.core.accepts = self._accepts
        self.pairs, self.rings, self.events, self.open_parts = {}, {}, [], []
        self.statuses, self.next_page, self.cid = {}, 0x1_0000_0000, 0
        self.ended, self.given = 0, []
        self.unreadable = 0.0  # share of the pages of new buffers and lists that cannot be read

    def connect(self, dut, stall, latency, jitter):
        self.bar = Bar(self, dut, stall, self.rng)
        self.memory = HostMemory(self, dut, self.rng, latency, jitter, stall)
        self.pins = {name: Pin(getattr(dut, name)) for name in ("msix_enable", "msix_mask", "function_reset")}

    async def begin(self):
        await start(self.dut)
        await self.clocks(40)
        return self

    # memory of the host

    def pages(self, count):
        """Address of so many pages that nobody has."""
        at = self.next_page
        self.given += range(at >> 12, (at >> 12) + count)
        self.next_page += (count + self.rng.randrange(1, 4)) * PAGE
        return at

    # the controller

    async def start(self, size=16, weighted=False, vectors=True):
        """Enables the controller, with admin queues of that size, and all vectors."""
        self.pins["msix_enable"].set(1)
        for v in range(VECTORS if vectors else 0):
            self.bar.post(TABLE + 16 * v, MESSAGES + 16 * v, 8)
            self.bar.post(TABLE + 16 * v + 8, v << 4 | 5, 8)
        self.drive_.weighted = weighted
        ring = self._ring(0, self.pages(1), size, 0)
        pair = self._pair(0, self.pages(1), size, ring, 2)
        self.bar.post(AQA, size - 1 << 16 | size - 1)
        self.bar.post(ASQ, pair.base, 8)
        self.bar.post(ACQ, ring.base, 8)
        await self.bar.write(CC, ENABLED | weighted * WEIGHTED)
        await self.firmware.enable()

    async def stop(self):
        """Clears CC.EN; returns when the controller is not ready any more: then nothing may be read or written."""
        await self.bar.write(CC, ENABLED & ~1)
        await self.firmware.disable()
        assert not self.core.under_way, "the core has commands of a controller that was disabled"
        self.pairs, self.rings, self.open_parts = {}, {}, []
        self.memory.readable.clear()
        self.memory.writable.clear()

    def _ring(self, number, base, size, vector):
        ring = self.rings[number] = Ring(number, base, size, vector)
        self.memory.put(base, self.rng.randbytes(16 * size))
        self._whole(self.memory.writable, base, 16 * size)
        return ring

    def _pair(self, number, base, size, ring, priority):
        pair = self.pairs[number] = Pair(number, base, size, ring, priority)
        return pair

    def _whole(self, grants, base, length):
        self.memory.allow(grants, [(base + at, min(PAGE, length - at)) for at in range(0, length, PAGE)])

    # admin commands

    async def admin(self, opcode, **fields):
        """An admin command that firmware serves; returns when its CQE is there."""
        pair = self.pairs[0]
        record = self.submit(pair, Sqe(opcode, **fields), admin=True)
        self.ring(pair)
        await self.firmware.serve()
        await self.until(lambda: record.done is not None, 100_000)
        self.consume(pair.cq)
        return record

    async def create(self, number, size, cq=None, cq_size=None, vector=None, priority=2):
        """A pair of I/O queues; `cq`: one that is there."""
        if cq is None:
            cq_size = cq_size or size
            vector = number if vector is None else vector
            ring = self._ring(number, self.pages(-(-16 * cq_size // PAGE)), cq_size, vector)
            await self.admin(CREATE_CQ, prp1=ring.base, slba=number | cq_size - 1 << 16 | (1 | 2 | vector << 16) << 32)
        else:
            ring = self.rings[cq]
        base = self.pages(-(-64 * size // PAGE))
        pair = self._pair(number, base, size, ring, priority)
        words = 1 | priority << 1 | ring.number << 16
        await self.admin(CREATE_SQ, prp1=base, slba=number | size - 1 << 16 | words << 32)
        return pair

    async def delete(self, pair):
        """Its submission queue, whatever is in it; what was not fetched is never done."""
        await self.admin(DELETE_SQ, slba=pair.number)
        del self.pairs[pair.number]
        lost = [r for r in pair.under_way.values() if r.command is not None]
        assert not lost, f"{len(lost)} commands of a deleted queue have no CQE"
        for record in pair.under_way.values():
            self._forget(record)
        self.open_parts = [r for r in self.open_parts if r.pair is not pair]
        return len(pair.under_way)

    # memory that commands name

    def buffer(self, length, offset=0, raw=None, list_at=None):
        """PRPs of a new buffer of that length, `offset` bytes into its first page; its pages are in no order.
        `list_at`: where in its page a list begins. With `raw` it has that data."""
        before = len(self.given)
        prps = self._buffer(length, offset, raw, list_at)
        if self.unreadable:
            self.memory.failing |= {page for page in self.given[before:] if self.rng.random() < self.unreadable}
        return prps

    def _buffer(self, length, offset, raw, list_at):
        pages = [self.pages(1) for _ in range(-(-(offset + length) // PAGE))]
        self.rng.shuffle(pages)
        prp1, left = pages[0] + offset, raw if raw is not None else self.rng.randbytes(length)
        for i, page in enumerate(pages):
            at = offset if i == 0 else 0
            self.memory.put(page + at, left[: PAGE - at])
            left = left[PAGE - at :]
        if len(pages) == 1:
            return prp1, self.rng.getrandbits(64)
        if len(pages) == 2:
            return prp1, pages[1]
        at = 8 * self.rng.randrange(PAGE // 8 - len(pages)) if list_at is None else list_at
        prp2, entries = self.pages(1) + at, pages[1:]
        room = (PAGE - at) // 8
        if len(entries) > room:
            chain = self.pages(1)
            self.memory.put(chain, struct.pack(f"<{len(entries) - room + 1}Q", *entries[room - 1 :]))
            entries = [*entries[: room - 1], chain]
        self.memory.put(prp2, struct.pack(f"<{len(entries)}Q", *entries))
        return prp1, prp2

    def move(self, opcode, lba, count, offset=0, list_at=None, raw=None, **fields):
        """A SQE that moves blocks from or to a new buffer."""
        prp1, prp2 = self.buffer(BLOCK * count, offset, raw, list_at)
        cdw12 = fields.pop("cdw12", 0) | count - 1
        return Sqe(opcode, slba=lba, cdw12=cdw12, prp1=prp1, prp2=prp2, **fields)

    # I/O commands

    def submit(self, pair, sqe, admin=False):
        """Puts a SQE at the tail; the doorbell is not rung."""
        assert pair.room(), "the queue is full"
        self.cid = (self.cid + 1) & 0xFFFF
        sqe.cid = self.cid
        assert sqe.cid not in pair.under_way
        what = meaning(sqe, self.drive_, pair.priority) if not admin else meaning(Sqe(0), self.drive_)
        record = Record(pair, sqe, what)
        pair.under_way[sqe.cid] = record
        at = pair.base + 64 * pair.tail
        record.entry, record.number = (at, 64), pair.count
        pair.count += 1
        self.memory.put(at, sqe.pack())
        self.memory.allow(self.memory.readable, [record.entry])
        pair.tail = (pair.tail + 1) % pair.size
        if admin:
            record.parts, record.status = [], None
            return record
        if what.length and record.status is None:
            self._names(record)
        if record.status is None:
            (self.open_parts if what.data == "ranges" else pair.todo).append(record)
        return record

    def _names(self, record):
        """The bytes of host memory that it names."""
        sqe, what, memory = record.sqe, record.meaning, self.memory
        try:
            record.pieces, record.lists = pieces(sqe.prp1, sqe.prp2, what.length, memory.word, memory.fails)
        except PrpOffset as wrong:
            record.status, record.parts, record.lists = NvmeStatus.PRP_OFFSET | DO_NOT_RETRY, [], wrong.lists
        except Unreadable as wrong:
            record.status, record.parts, record.lists = NvmeStatus.TRANSFER_ERROR, [], wrong.lists
        record.readable = list(record.lists)
        if what.data == "ranges":
            raw = b"".join(memory.get(*piece) for piece in record.pieces)
            record.parts, record.after = parts_of(
                raw, self.drive_.lbas, what.commands[0], lambda at: self._fails(record, at, 16)
            )
        if what.data == "read":
            record.writable = list(record.pieces)
            record.around = [self._around(p) for p in record.pieces]
        else:
            record.readable += record.pieces
        memory.allow(memory.readable, record.readable)
        memory.allow(memory.writable, record.writable)

    def _fails(self, record, first, length):
        """Whether any of these bytes of what a command names cannot be read."""
        at = 0
        for address, size in record.pieces:
            begin, end = max(first, at), min(first + length, at + size)
            if begin < end and self.memory.fails(address + begin - at, end - begin):
                return True
            at += size
        return False

    def _around(self, piece):
        """The page of a piece, as it is now, without the piece."""
        address, length = piece
        page, at = self.memory.get(address & -PAGE, PAGE), address % PAGE
        return page[:at], page[at + length :]

    def ring(self, pair):
        self.bar.post(DOORBELLS + 8 * pair.number, pair.tail)

    def consume(self, ring, count=None):
        """Takes CQEs out and rings the doorbell."""
        there = (ring.tail - ring.head) % ring.size
        ring.head = (ring.head + (there if count is None else min(count, there))) % ring.size
        ring.rung = ring.head
        self.bar.post(DOORBELLS + 8 * ring.number + 4, ring.head)

    def busy(self):
        return sum(len(p.under_way) for p in self.pairs.values())

    async def drain(self, limit=400_000):
        """Until every command has its CQE; CQEs are taken out."""
        end = self.clock + limit
        while self.busy():
            assert self.clock < end, f"not done: {[r.sqe for p in self.pairs.values() for r in p.under_way.values()]}"
            await self.clocks(20)
            for ring in self.rings.values():
                if ring.head != ring.tail:
                    self.consume(ring)
        await self.clocks(60)

    # what passes

    def _accepts(self, command):
        """A command that the core gets: the next one of a queue, or the next part of one."""
        seen = means(command)
        for record in self.open_parts:
            same_tag = record.command is None or record.command["tag"] == command["tag"]
            if record.parts and means(record.parts[0]) == seen and same_tag:
                return self._got(record, command)
        same = [p for p in self.pairs.values() if p.todo and means(p.todo[0].parts[0]) == seen]
        # of commands that are alike that one whose ignored fields are, too
        for pair in sorted(same, key=lambda p: p.todo[0].parts[0]["lba"] != command["lba"]):
            record = pair.todo.pop(0)
            if command["order"] != Order.SIMPLE or command["barrier"] or command["opcode"] == Opcode.BARRIER:
                before = [r for r in self.open_parts if r.pair is pair and r.parts and r.number < record.number]
                goes_on = [r for r in before if r.command is None or r.command["status"] == Status.SUCCESS]
                assert not goes_on, f"parts of {goes_on[0].sqe} come behind it"
            return self._got(record, command)
        raise AssertionError(
            f"nobody asked for {seen}; next are {[p.todo[0].sqe for p in self.pairs.values() if p.todo]}"
        )

    def _got(self, record, command):
        record.parts.pop(0)
        record.command = command
        command["record"] = record
        record.began, record.last_part = record.began or self.clock, self.clock
        if record.parts and record not in self.open_parts:
            self.open_parts.append(record)

    def _message(self, address, data):
        vector = (address - MESSAGES) // 16
        assert address == MESSAGES + 16 * vector and data == vector << 4 | 5, f"{address:#x}: {data:#x}"
        self.events.append(("message", vector))

    def _wrote(self, address, raw):
        for ring in self.rings.values():
            if ring.base <= address < ring.base + 16 * ring.size:
                return self._cqe(ring, address, raw)

    def _cqe(self, ring, address, raw):
        assert len(raw) == 16 and address == ring.base + 16 * ring.tail, f"a CQE at {address:#x}"
        assert (ring.tail + 1) % ring.size != ring.rung, "a CQE that the host has not seen is overwritten"
        dw0, dw1, head, number, cid, status = struct.unpack("<IIHHHH", raw)
        assert status & 1 == ring.phase, "phase"
        ring.tail = (ring.tail + 1) % ring.size
        ring.phase ^= ring.tail == 0
        pair = self.pairs[number]
        assert pair.cq is ring and cid in pair.under_way, f"CQE of {cid} in queue {number}, which is not under way"
        record = pair.under_way.pop(cid)
        assert (head - pair.head) % pair.size <= (pair.tail - pair.head) % pair.size, "head of the submission queue"
        pair.fetched += (head - pair.head) % pair.size
        assert record.number < pair.fetched, "it has ended, and its place is not free"
        pair.head = head
        record.done, record.dw0, record.dw1, record.ended = status >> 1, dw0, dw1, self.clock
        self.ended += 1
        self.events.append(("cqe", ring.vector))
        if number:
            self._judge(record)
        self._forget(record)

    def _judge(self, record):
        sqe, command = record.sqe, record.command
        want = record.status
        if want is None and command is None:
            assert record.meaning.data == "ranges" and not record.parts, f"{sqe} has not been done"
            want = record.after
        elif want is None:
            want = ENDS[command["status"]]
            if want == NvmeStatus.SUCCESS:
                assert not record.parts, f"{sqe}: only a part was done"
                want = record.after
            if command["opcode"] == Opcode.COMMIT or command["commit"]:
                assert 0 <= record.dw0 - (command["ended"] - command["at"]) <= 4, "clocks of the commit"
            else:
                assert record.dw0 == command["result"], f"{sqe}: DW0 {record.dw0:#x}, not {command['result']:#x}"
            if record.meaning.data == "compare" and want == NvmeStatus.SUCCESS:
                same = self._of_host(record) == self._of_core(record)
                want = want if same else NvmeStatus.COMPARE_FAILURE | DO_NOT_RETRY
                if self._fails(record, 0, record.meaning.length):
                    want = NvmeStatus.TRANSFER_ERROR
            for block in [*command["fetched"], *command["unread"]]:
                fails = self._fails(record, BLOCK * block, BLOCK)
                assert (block in command["unread"]) == fails, f"{sqe}: block {block} fails: {fails}"
        assert record.done == want, f"{sqe}: status {record.done:#x}, not {want:#x}"
        self.statuses[want] = self.statuses.get(want, 0) + 1
        if want == NvmeStatus.SUCCESS and record.meaning.data in ("read", "write"):
            assert self._of_host(record) == self._of_core(record), f"{sqe}: other data"
        for piece, around in zip(record.pieces, getattr(record, "around", []), strict=False):
            assert self._around(piece) == around, f"{sqe}: bytes around {piece} changed"

    def _of_host(self, record):
        return b"".join(self.memory.get(*piece) for piece in record.pieces)

    def _of_core(self, record):
        blocks = record.command["fetched"] or record.command["delivered"]
        return b"".join(blocks[i] for i in range(record.command["count"]))

    def _forget(self, record):
        memory = self.memory
        memory.forbid(memory.readable, [record.entry])
        memory.forbid(memory.readable, record.readable)
        memory.forbid(memory.writable, record.writable)
        if record in self.open_parts:
            self.open_parts.remove(record)
        if record in record.pair.todo:
            record.pair.todo.remove(record)

    def interrupts_follow(self):
        """Each vector's last message came behind its last CQE."""
        for vector in {v for what, v in self.events if what == "cqe"}:
            last = max(i for i, e in enumerate(self.events) if e == ("cqe", vector))
            assert ("message", vector) in self.events[last:], f"vector {vector}: no interrupt behind the last CQE"
