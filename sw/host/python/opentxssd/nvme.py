# SPDX-License-Identifier: Apache-2.0
"""An NVMe host of the simulated drive with the NVMe front end: what a driver does, by BAR 0, queues in host memory and
interrupts.

    host = NvmeHost(Drive("nvme"))
    host.enable(); host.create_queues()
    host.write(5, b"..."); host.flush(); host.read(5)
    host.drive.power_cut(seed=1); host.drive.power_on(); host.enable(); host.create_queues()

`command` and `admin` send any command and return its Result, whatever its status; the methods named after a command
raise NvmeError for another status than success. One command at a time, unless `submit` and `wait` are called by hand.
Time passes only while something is waited for.
"""

import ctypes
import struct
from dataclasses import dataclass
from enum import IntEnum

from opentxssd.commands import BLOCK, DriveError
from opentxssd.facts import NvmeOpcode, NvmeStatus

BASE = 0x12_3400_0000  # bus address of the host's memory
MEMORY = 4 << 20
PAGE = 4096
WAIT_CLOCKS = 20_000_000
QUEUE_PAGES = 24  # of each queue: 1,024 entries of 64 and of 16 bytes, and some

CC_ENABLE = 6 << 16 | 4 << 20 | 1
RDY, CFS, SHUT = 1, 2, 8


class Admin(IntEnum):
    """Admin commands of the standard."""

    DELETE_SQ = 0x00
    CREATE_SQ = 0x01
    GET_LOG_PAGE = 0x02
    DELETE_CQ = 0x04
    CREATE_CQ = 0x05
    IDENTIFY = 0x06
    ABORT_COMMAND = 0x08
    SET_FEATURES = 0x09
    GET_FEATURES = 0x0A
    ASYNC_EVENT = 0x0C
    DIRECTIVE_SEND = 0x19
    DIRECTIVE_RECEIVE = 0x1A
    FORMAT_NVM = 0x80


@dataclass(frozen=True)
class Result:
    """A CQE: status type and code, whether the command may be tried again, DW0, and in which clock it was seen."""

    status: int
    again: bool
    dw0: int
    clock: int


class NvmeError(DriveError):
    """A command ended with another status than success: `result` has it."""

    def __init__(self, words, result):
        known = {int(status): status.__doc__ for status in NvmeStatus}
        super().__init__(f"{words}: {known.get(result.status, 'status')} ({result.status:03x}h)")
        self.result = result


class Queue:
    """A submission queue and its completion queue, both with `entries`, in memory from `base` on."""

    def __init__(self, number, base, entries):
        self.number, self.entries = number, entries
        self.sq, self.cq = base, base + 16 * PAGE
        self.tail = self.head = self.fetched = 0
        self.phase = 1


class NvmeHost:
    """The host of a Drive of a preset with the NVMe front end. `memory`: what the drive can reach of it, at BASE; the
    queues are in its first 1 MiB."""

    def __init__(self, drive, memory=None):
        self.drive, self.lib = drive, drive.lib
        self.memory = memory or (ctypes.c_uint8 * MEMORY)()
        self.lib.otx_host_unmap()
        self.lib.otx_host_map(BASE, self.memory, len(self.memory))
        self.interrupts = {}  # vector -> messages
        self.queues, self.done, self.cid, self.msix = {}, {}, 0, False

    # Memory: addresses are those that the drive sees

    def put(self, address, data):
        ctypes.memmove(ctypes.addressof(self.memory) + address - BASE, bytes(data), len(data))

    def get(self, address, size):
        return ctypes.string_at(ctypes.addressof(self.memory) + address - BASE, size)

    @property
    def buffer(self):
        """Where data of commands is: the second half of the memory."""
        return BASE + len(self.memory) // 2

    # BAR 0

    def write32(self, at, value):
        shift = at % 8
        self.lib.otx_bar_write(at - shift, value << 8 * shift, 15 << shift)

    def write64(self, at, value):
        self.lib.otx_bar_write(at, value, 255)

    def read64(self, at):
        self.lib.otx_bar_read(at)
        answer = ctypes.c_uint64()
        for _ in range(1000):
            if self.lib.otx_bar_answer(ctypes.byref(answer)):
                return answer.value
            self.drive.step(100)
            self.take_messages()
        raise DriveError(f"no answer to a read at {at:#x}")

    def read32(self, at):
        return self.read64(at & ~7) >> 8 * (at % 8) & 0xFFFFFFFF

    def step(self, clocks):
        """Lets up to `clocks` pass, and takes the messages that come."""
        self.drive.step(clocks)
        self.take_messages()

    def take_messages(self):
        address, data = ctypes.c_uint64(), ctypes.c_uint32()
        while self.lib.otx_host_message(ctypes.byref(address), ctypes.byref(data)):
            vector = data.value - 0x40
            self.interrupts[vector] = self.interrupts.get(vector, 0) + 1

    # The controller

    def wait_csts(self, mask, value, clocks=WAIT_CLOCKS):
        """Until CSTS has these bits; returns CSTS."""
        end = self.drive.clock + clocks
        while (csts := self.read32(0x1C)) & mask != value:
            if self.drive.clock > end:
                raise DriveError(f"CSTS is {csts:#x} after {clocks} clocks")
            self.step(500)
        return csts

    def enable(self, entries=32, vectors=16, weighted=False):
        """From whatever state: disabled, an admin queue, MSI-X, enabled. `weighted`: queues have their priorities."""
        self.write32(0x14, 0)
        self.wait_csts(RDY, 0)
        admin = Queue(0, BASE, entries)
        self.queues, self.done = {0: admin}, {}
        self.put(admin.sq, bytes(QUEUE_PAGES * PAGE))
        self.write32(0x24, (entries - 1) << 16 | entries - 1)
        self.write64(0x28, admin.sq)
        self.write64(0x30, admin.cq)
        for vector in range(vectors):
            self.write64(0x2000 + 16 * vector, 0xFEE0_0000)
            self.write64(0x2008 + 16 * vector, 0x40 + vector)
        self.lib.otx_msix_control(1, 0)
        self.write32(0x14, CC_ENABLE | weighted << 11)
        if self.wait_csts(RDY | CFS, RDY) & CFS:
            raise DriveError("the controller has failed")

    def shutdown(self, clocks=5 * WAIT_CLOCKS):
        """CC.SHN, until the drive says that its power may go off."""
        self.write32(0x14, CC_ENABLE | 1 << 14)
        self.wait_csts(12, SHUT, clocks)

    def create_queues(self, count=1, entries=64):
        """I/O queues 1 to `count`, each pair with a vector of its own."""
        for number in range(1, count + 1):
            self.create_queue(number, entries)

    def create_queue(self, number, entries, priority=0):
        """One pair; priority 0 to 3: urgent, high, medium, low."""
        queue = Queue(number, BASE + number * QUEUE_PAGES * PAGE, entries)
        self.put(queue.sq, bytes(QUEUE_PAGES * PAGE))
        size = (entries - 1) << 16 | number
        self.check("create CQ", self.admin(Admin.CREATE_CQ, prp1=queue.cq, dw10=size, dw11=number << 16 | 3))
        self.check(
            "create SQ", self.admin(Admin.CREATE_SQ, prp1=queue.sq, dw10=size, dw11=number << 16 | priority << 1 | 1)
        )
        self.queues[number] = queue

    # Commands

    def submit(self, opcode, queue=1, nsid=0, prp1=0, prp2=0, dw2=0, flags=0, **words):
        """A command into a queue; returns what `wait` takes. `words`: dw10 to dw15."""
        tail = [words.pop(f"dw{i}", 0) for i in range(10, 16)]
        if words:
            raise TypeError(f"no field {', '.join(words)}")
        sqe = struct.pack("<IIIIQQQ6I", opcode | flags << 8, nsid, dw2, 0, 0, prp1, prp2, *tail)
        return self.submit_bytes(sqe, queue)

    def submit_bytes(self, sqe, queue=1):
        """The same for the 64 bytes of a SQE, whatever they say; its identifier is replaced. Waits while the queue is
        full."""
        q, end = self.queues[queue], self.drive.clock + WAIT_CLOCKS
        while (q.tail + 1) % q.entries == q.fetched:
            if self.drive.clock >= end:
                raise DriveError(f"queue {queue} is full after {WAIT_CLOCKS} clocks")
            self.step(200)
            self.poll(queue)
        self.cid = (self.cid + 1) & 0x7FFF
        self.put(q.sq + 64 * q.tail, sqe[:2] + struct.pack("<H", self.cid) + sqe[4:])
        q.tail = (q.tail + 1) % q.entries
        self.write32(0x1000 + 8 * queue, q.tail)
        return queue, self.cid

    def poll(self, queue):
        """Takes the CQEs of a queue that are there."""
        q, taken = self.queues[queue], 0
        while True:
            dw0, _, head, sqid, cid, status = struct.unpack("<IIHHHH", self.get(q.cq + 16 * q.head, 16))
            if status & 1 != q.phase:
                break
            if sqid != queue:
                raise DriveError(f"a CQE of queue {sqid} in queue {queue}")
            key, q.fetched = (queue, cid), head
            if key in self.done:
                raise DriveError(f"two CQEs of {key}")
            self.done[key] = Result(status >> 1 & 0x7FF, not status >> 15, dw0, self.drive.clock)
            q.head = (q.head + 1) % q.entries
            q.phase ^= q.head == 0
            taken += 1
        if taken:
            self.write32(0x1004 + 8 * queue, q.head)

    def wait(self, key, clocks=WAIT_CLOCKS):
        """The Result of a command that was submitted."""
        end = self.drive.clock + clocks
        while key not in self.done:
            if self.drive.clock >= end:
                raise DriveError(f"command {key} has no completion after {clocks} clocks")
            self.step(200)
            self.poll(key[0])
        return self.done.pop(key)

    def command(self, opcode, queue=1, **fields):
        return self.wait(self.submit(opcode, queue, **fields))

    def admin(self, opcode, **fields):
        return self.command(opcode, 0, **fields)

    @staticmethod
    def check(words, result):
        if result.status:
            raise NvmeError(words, result)
        return result

    def pages(self, size, address=None):
        """PRP1 and PRP2 for so many bytes at `address` (any multiple of 4); a list is put below the buffer."""
        address = self.buffer if address is None else address
        first = PAGE - address % PAGE
        rest = range(address + first, address + size, PAGE)
        if len(rest) < 2:
            return dict(prp1=address, prp2=rest[0] if rest else 0)
        where = self.buffer - PAGE
        self.put(where, struct.pack(f"<{len(rest)}Q", *rest))
        return dict(prp1=address, prp2=where)

    # One call each

    def read(self, lba, count=1, txid=None, queue=1, **fields):
        opcode = NvmeOpcode.READ if txid is None else NvmeOpcode.TX_READ
        fields = dict(dw2=txid or 0, dw10=lba, dw12=count - 1) | fields
        self.check("read", self.command(opcode, queue, nsid=1, **self.pages(count * BLOCK), **fields))
        return self.get(self.buffer, count * BLOCK)

    def write(self, lba, data, txid=None, queue=1, fua=False, **fields):
        opcode = NvmeOpcode.WRITE if txid is None else NvmeOpcode.TX_WRITE
        self.put(self.buffer, data)
        fields = dict(dw2=txid or 0, dw10=lba, dw12=len(data) // BLOCK - 1 | fua << 30) | fields
        return self.check("write", self.command(opcode, queue, nsid=1, **self.pages(len(data)), **fields))

    def flush(self):
        return self.check("flush", self.command(NvmeOpcode.FLUSH, nsid=1))

    def commit(self, txid):
        """Its DW0 is the clocks that it took."""
        return self.check("commit", self.command(NvmeOpcode.TX_COMMIT, nsid=1, dw2=txid))

    def abort_tx(self, txid):
        return self.check("abort", self.command(NvmeOpcode.TX_ABORT, nsid=1, dw2=txid))

    def identify(self, cns, nsid=0):
        self.check("identify", self.admin(Admin.IDENTIFY, nsid=nsid, prp1=self.buffer, dw10=cns))
        return self.get(self.buffer, PAGE)

    def log(self, page, size=512):
        fields = dict(nsid=0xFFFFFFFF, prp1=self.buffer, dw10=(size // 4 - 1) << 16 | page)
        self.check("log page", self.admin(Admin.GET_LOG_PAGE, **fields))
        return self.get(self.buffer, size)
