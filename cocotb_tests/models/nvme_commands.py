# SPDX-License-Identifier: Apache-2.0
"""What an NVMe I/O command means, from NVMe 1.4 and docs/reference/nvme.md: the status with which it is refused, or
what the core is asked; which bytes of host memory it names; and how the core's status ends it.
"""

import struct
from dataclasses import dataclass, field

from opentxssd.facts import BLOCK, MAX_BLOCKS, NvmeOpcode, NvmeStatus, Opcode, Priority, Query, Status, layout, ports

PAGE = 4096
DO_NOT_RETRY = 1 << 14
NO_DATA = {
    NvmeOpcode.FLUSH: Opcode.FLUSH,
    NvmeOpcode.TX_BEGIN: Opcode.BEGIN,
    NvmeOpcode.TX_COMMIT: Opcode.COMMIT,
    NvmeOpcode.TX_ABORT: Opcode.ABORT,
    NvmeOpcode.FLUSH_RANGE: Opcode.RFLUSH,
    NvmeOpcode.BARRIER: Opcode.BARRIER,
    NvmeOpcode.RECOVER: Opcode.RECOVER,
    NvmeOpcode.QUERY: Opcode.QUERY,
    NvmeOpcode.TX_PREPARE: Opcode.PREPARE,
    NvmeOpcode.CHECKPOINT: Opcode.CHECKPOINT,
}
NAMES = (NvmeOpcode.TX_BEGIN, NvmeOpcode.TX_COMMIT, NvmeOpcode.TX_ABORT, NvmeOpcode.TX_PREPARE)
MAY_NAME = (NvmeOpcode.TX_WRITE, NvmeOpcode.TX_READ, NvmeOpcode.TX_ZEROES)
WRITES, READS = (NvmeOpcode.WRITE, NvmeOpcode.TX_WRITE), (NvmeOpcode.READ, NvmeOpcode.COMPARE, NvmeOpcode.TX_READ)
TRIMS = (NvmeOpcode.WRITE_ZEROES, NvmeOpcode.TX_ZEROES)
ENDS = {
    Status.SUCCESS: NvmeStatus.SUCCESS,
    Status.INVALID_OPCODE: NvmeStatus.INVALID_OPCODE | DO_NOT_RETRY,
    Status.INVALID_FIELD: NvmeStatus.INVALID_FIELD | DO_NOT_RETRY,
    Status.LBA_RANGE: NvmeStatus.LBA_RANGE | DO_NOT_RETRY,
    Status.TX_INVALID: NvmeStatus.TX_INVALID | DO_NOT_RETRY,
    Status.TX_BUSY: NvmeStatus.TX_BUSY | DO_NOT_RETRY,
    Status.TX_FULL: NvmeStatus.TX_FULL | DO_NOT_RETRY,
    Status.TX_CONFLICT: NvmeStatus.TX_CONFLICT | DO_NOT_RETRY,
    Status.MEDIA_ERROR: NvmeStatus.READ_ERROR | DO_NOT_RETRY,
    Status.WRITE_FAULT: NvmeStatus.WRITE_FAULT,
    Status.CAPACITY: NvmeStatus.CAPACITY | DO_NOT_RETRY,
    Status.READ_ONLY: NvmeStatus.READ_ONLY | DO_NOT_RETRY,
    Status.ABORTED: NvmeStatus.TRANSFER_ERROR,
    Status.NOT_READY: NvmeStatus.NAMESPACE_NOT_READY,
}
CLASSES = (Priority.URGENT, Priority.HIGH, Priority.MEDIUM, Priority.LOW)  # of the priorities of a queue


@dataclass
class Sqe:
    opcode: int
    cid: int = 0
    nsid: int = 1
    fuse: int = 0
    psdt: int = 0
    cdw2: int = 0
    prp1: int = 0
    prp2: int = 0
    slba: int = 0
    cdw12: int = 0
    cdw13: int = 0
    cdw14: int = 0
    cdw15: int = 0
    cdw3: int = 0
    mptr: int = 0

    def pack(self):
        dw0 = self.opcode | self.fuse << 8 | self.psdt << 14 | self.cid << 16
        words = (dw0, self.nsid, self.cdw2, self.cdw3), (self.mptr, self.prp1, self.prp2, self.slba)
        return struct.pack("<4I4Q4I", *words[0], *words[1], self.cdw12, self.cdw13, self.cdw14, self.cdw15)


@dataclass
class Drive:
    """What the meaning depends on beside the SQE."""

    lbas: int
    write_through: bool = False
    streams: bool = False
    weighted: bool = False


@dataclass
class Meaning:
    status: int | None = None  # with which it ends at once, with DO_NOT_RETRY
    commands: list = field(default_factory=list)  # of the core, without their tags, in turn
    data: str = ""  # "write", "read", "compare", "ranges"
    length: int = 0  # bytes of host memory


def attributes(value):
    found = {}
    for name, bits in layout("Attributes"):
        found[name] = value & (1 << bits) - 1
        value >>= bits
    return found


def request(**fields):
    return {name: 0 for name in ports("HostCmd") if name != "tag"} | fields


def meaning(sqe, drive, queue_priority=2):
    """Of a SQE, but for what its PRPs and the data itself say."""

    def refuse(status):
        return Meaning(status=status | DO_NOT_RETRY)

    if sqe.opcode not in list(NvmeOpcode):
        return refuse(NvmeStatus.INVALID_OPCODE)
    op = NvmeOpcode(sqe.opcode)
    if sqe.nsid != 1 and not (op == NvmeOpcode.FLUSH and sqe.nsid == 0xFFFF_FFFF):
        return refuse(NvmeStatus.INVALID_NAMESPACE)
    own, count = op >= 0x80, (sqe.cdw12 & 0xFFFF) + 1
    a = attributes(sqe.cdw14)
    wrong = sqe.fuse or sqe.psdt or own and (a["reserved"] or sqe.cdw2 > 0xFF or a["plain"] and op not in MAY_NAME)
    wrong |= op in (*WRITES, *READS, NvmeOpcode.TX_ZEROES) and count > MAX_BLOCKS
    wrong |= op == NvmeOpcode.FLUSH_RANGE and count > 0xFFFF
    directive = sqe.cdw12 >> 20 & 0xF
    wrong |= op == NvmeOpcode.WRITE and directive and not (directive == 1 and drive.streams)
    if wrong:
        return refuse(NvmeStatus.INVALID_FIELD)
    if op in (*WRITES, *READS, *TRIMS) and sqe.slba + count > drive.lbas:
        return refuse(NvmeStatus.LBA_RANGE)
    if op == NvmeOpcode.FLUSH_RANGE and not sqe.cdw15 & 1 and sqe.slba >= 1 << 32:
        return refuse(NvmeStatus.LBA_RANGE)

    in_tx = op in NAMES or op in MAY_NAME and not a["plain"]
    in_tx |= op == NvmeOpcode.QUERY and sqe.cdw15 in (Query.TX, Query.TX_WALK)
    fua = op in (*WRITES, *TRIMS) and (sqe.cdw12 >> 30 & 1 or drive.write_through and not in_tx)
    of_queue = CLASSES[queue_priority] if drive.weighted else Priority.MEDIUM
    latency = sqe.cdw13 >> 4 & 3 if op in (NvmeOpcode.WRITE, NvmeOpcode.READ, NvmeOpcode.COMPARE) else 0
    priority = (of_queue, Priority.LOW, Priority.MEDIUM, Priority.HIGH)[latency]
    common = dict(
        lba=sqe.slba & 0xFFFF_FFFF,
        count=count & 0xFFFF,
        txid=sqe.cdw2 & 0xFF,
        hasTx=int(in_tx),
        fua=int(bool(fua)),
        priority=priority,
        stream=sqe.cdw13 >> 16 if own or op == NvmeOpcode.WRITE and directive else 0,
    )
    if own:
        common |= {name: a[name] for name in ("order", "barrier", "orderless", "relaxed", "commit")}
        common |= dict(arg=sqe.cdw15, priority=a["priority"] or of_queue)
    if op in NO_DATA:
        return Meaning(commands=[request(opcode=NO_DATA[op], **common)])
    if op in WRITES:
        return Meaning(commands=[request(opcode=Opcode.WRITE, **common)], data="write", length=count * BLOCK)
    if op in READS:
        commands = [request(opcode=Opcode.READ, **common)]
        if op == NvmeOpcode.READ and sqe.cdw12 >> 30 & 1:  # from the medium: what is in the buffer goes there first
            commands.insert(0, commands[0] | dict(opcode=Opcode.RFLUSH))
        return Meaning(commands=commands, data="compare" if op == NvmeOpcode.COMPARE else "read", length=count * BLOCK)
    if op in TRIMS:
        parts = [
            common | dict(lba=sqe.slba + at, count=min(MAX_BLOCKS, count - at)) for at in range(0, count, MAX_BLOCKS)
        ]
        return Meaning(commands=[request(opcode=Opcode.TRIM, **part) for part in parts])
    if not sqe.slba >> 34 & 1:  # Dataset Management without deallocate
        return Meaning(status=NvmeStatus.SUCCESS)
    trim = request(opcode=Opcode.TRIM, **common | dict(fua=0, stream=0))
    return Meaning(commands=[trim], data="ranges", length=((sqe.slba & 0xFF) + 1) * 16)


def parts_of(raw, lbas, trim, unreadable=lambda at: False):
    """(TRIMs of the ranges of Dataset Management, the status when they have ended well); `unreadable(at)`: the range
    that begins at that byte."""
    found = []
    for n, (_, blocks, lba) in enumerate(struct.iter_unpack("<IIQ", raw)):
        if unreadable(16 * n):
            return found, NvmeStatus.TRANSFER_ERROR
        if lba + blocks > lbas:
            return found, NvmeStatus.LBA_RANGE | DO_NOT_RETRY
        for at in range(0, blocks, MAX_BLOCKS):
            found.append(trim | dict(lba=lba + at, count=min(MAX_BLOCKS, blocks - at)))
    return found, NvmeStatus.SUCCESS


RANGED = (Opcode.READ, Opcode.WRITE, Opcode.TRIM)


def means(command):
    """What of a command of the core has a meaning (docs/interfaces/host-port.md, "What each command takes")."""
    op = command["opcode"]
    kept = {"opcode", "hasTx", "fua", "commit", "relaxed", "barrier", "orderless", "order", "priority"}
    if op in RANGED or op == Opcode.RFLUSH and command["arg"] == 0:
        kept |= {"lba", "count"}
    if op in (Opcode.WRITE, Opcode.RFLUSH):
        kept.add("stream")
    if command["hasTx"]:
        kept.add("txid")
    if op in (Opcode.RFLUSH, Opcode.QUERY, Opcode.CHECKPOINT):
        kept.add("arg")
    return {name: int(command[name]) for name in sorted(kept)}


class PrpOffset(Exception):
    """A PRP entry has an offset that it must not have; `lists` may have been read."""

    def __init__(self, lists=()):
        super().__init__()
        self.lists = list(lists)


class Unreadable(Exception):
    """A list cannot be read; `lists` may have been asked for."""

    def __init__(self, lists):
        super().__init__()
        self.lists = list(lists)


def pieces(prp1, prp2, length, read, fails=lambda address, length: False):
    """[(address, length)] of the bytes that PRPs name, and [(address, length)] of the lists; `read(address)` gives a
    64-bit word of host memory, `fails(address, length)` says that bytes of it cannot be read."""
    if prp1 % 4:
        raise PrpOffset
    found, lists = [(prp1, min(length, PAGE - prp1 % PAGE))], []
    left = length - found[0][1]
    if left > PAGE:
        at = prp2
        if at % 8:
            raise PrpOffset
        while left:
            entries = -(-left // PAGE)
            room = (PAGE - at % PAGE) // 8
            chained = entries > room
            count = room if chained else entries
            lists.append((at, count * 8))
            if fails(*lists[-1]):
                raise Unreadable(lists)
            for i in range(count - chained):
                page = read(at + 8 * i)
                if page % PAGE:
                    raise PrpOffset(lists)
                found.append((page, min(left, PAGE)))
                left -= found[-1][1]
            if chained:
                at = read(at + 8 * (count - 1))
                if at % PAGE:
                    raise PrpOffset(lists)
    elif left:
        if prp2 % PAGE:
            raise PrpOffset
        found.append((prp2, left))
    return found, lists
