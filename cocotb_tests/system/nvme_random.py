# SPDX-License-Identifier: Apache-2.0
"""Random SQEs for the whole drive behind its NVMe front end, and what may have come of them.

    nvme_random.py [--sqes 1000] [--seed 1] [--some]

Of the SQEs two fifths are right, a fifth is right but for some bits, a fifth has random fields, and a fifth is noise;
one of ten goes to the admin queue. They go to four queues of different lengths, in batches of up to 12 or of up to 48,
so that now and then more are under way than the drive has places for. After a batch:

- each SQE has exactly one CQE, of its queue and its identifier (NvmeHost.poll), within CLOCKS;
- right ones have the status that they must have; of some a page of data, or the list, is at NOWHERE: those change
  nothing, and say so;
- a block that one right WRITE, Write Zeroes or deallocation has named, and nobody else, is what that has made of it; a
  COMPARE, half of them with what is there, says whether it is the same;
- a byte of host memory that no SQE of the batch names is as it was, and what a right READ names is data of its blocks:
  of some write that may be visible by then. Bytes that other SQEs name are in JUNK, and may be anything;
- each block that an SQE names has what it had, or what one of them writes; a few others have what they had.

At the end all blocks of the drive are read; some are written and flushed, power is cut at once, and all are read
again. `--some` reads only the first 288, where most commands go, and some that were named elsewhere, and their
neighbours.

Blocks and JUNK hold words that name no memory and no block, so what they say as a PRP list or as ranges is refused.
Which SQEs name which bytes is worked out here from NVM Express 1.4, 4.3 (PRPs), not from the RTL.
"""

import ctypes
import random
import struct
import sys
from collections import Counter

try:
    import click

    from opentxssd import BLOCK, TXIDS, Drive
    from opentxssd.facts import NvmeOpcode, NvmeStatus
    from opentxssd.nvme import BASE, Admin, NvmeHost
    from tools import command_line
except ImportError as e:
    sys.exit(f"nvme_random: {e}; source tools/env.sh first")

PAGE, CLOCKS, BATCHES, MOST = 4096, 60_000_000, (12, 48), 32
BATCH, LOOKS = max(BATCHES), 6  # at once: SQEs of a batch, READs of `look`
MEMORY = 18 << 20
LISTS, SOURCE, TARGET, LOOK, JUNK = (BASE + at * (1 << 20) for at in (1, 2, 9, 16, 17))  # 1 MiB, 7, 7, 1, 1
NOWHERE = BASE + (1 << 40)  # that, and the MiB behind it, nobody has
SLOT = 36 * BLOCK  # of a right command, in SOURCE or TARGET
QUEUES = {1: 64, 2: 7, 3: 16, 4: 1024}
WORD = 0xF0_0000_0000_0001  # no address that is mapped or may be in a list, and no LBA
ANYTHING = None  # in a set of values: nobody knows
ZERO = bytes(BLOCK)
FROM_HOST = {NvmeOpcode.WRITE, NvmeOpcode.TX_WRITE, NvmeOpcode.COMPARE}
TO_HOST = {NvmeOpcode.READ, NvmeOpcode.TX_READ}
ZEROES = {NvmeOpcode.WRITE_ZEROES, NvmeOpcode.TX_ZEROES}
OF_TX = {NvmeOpcode.TX_WRITE, NvmeOpcode.TX_ZEROES}
TX_STATUSES = {NvmeStatus.TX_INVALID, NvmeStatus.TX_BUSY, NvmeStatus.TX_FULL, NvmeStatus.TX_CONFLICT}
ADMIN_NOT = {Admin.FORMAT_NVM, Admin.ASYNC_EVENT}  # takes everything away; has no completion


class Wrong(AssertionError):
    """What must not be."""


class Sqe:
    """64 bytes by their fields."""

    def __init__(self, data):
        self.data = data
        head, self.nsid, self.dw2, _, _, self.prp1, self.prp2, *self.tail = struct.unpack("<IIIIQQQ6I", data)
        self.opcode, self.flags = head & 0xFF, head >> 8 & 0xFF
        self.txid = self.dw2 & 0xFF

    @property
    def lba(self):
        return self.tail[0] | self.tail[1] << 32

    @property
    def blocks(self):
        return (self.tail[2] & 0xFFFF) + 1

    def __str__(self):
        return f"opcode {self.opcode:#04x} nsid {self.nsid:#x} prp {self.prp1:#x} {self.prp2:#x} {self.data.hex()}"


def pack(opcode, nsid=1, dw2=0, prp1=0, prp2=0, tail=(0,) * 6, flags=0):
    return struct.pack("<IIIIQQQ6I", opcode | flags << 8, nsid, dw2 & 0xFFFFFFFF, 0, 0, prp1, prp2, *tail)


class RandomHost:
    """`sqes()` sends some, and judges them; Wrong: the drive has done what it must not."""

    def __init__(self, drive, seed):
        self.random, self.drive = random.Random(seed), drive
        self.host = NvmeHost(drive, (ctypes.c_uint8 * MEMORY)())
        self.values = {}  # block -> set of what it may hold; without: {ZERO}
        self.hidden = [{} for _ in range(256)]  # txid -> {block: set of what it has there}
        self.version, self.named = 0, Counter()  # by how many of a batch a block may be changed
        self.counts = {}
        self.fill_memory()
        self.start()

    def start(self):
        self.host.enable()
        for number, entries in QUEUES.items():
            self.host.create_queue(number, entries)
        self.shadow = bytearray(self.host.memory)

    # Memory

    def fill_memory(self):
        for at in range(SOURCE, TARGET, PAGE):
            self.host.put(at, self.fresh_block())
        for at in range(JUNK, JUNK + (1 << 20), PAGE):
            self.host.put(at, self.fresh_block())

    def fresh_block(self):
        """A block that no other is like."""
        self.version += 1
        return struct.pack("<QQ", WORD | self.version << 8, WORD | self.random.getrandbits(30) << 8) * (BLOCK // 16)

    def junk(self, align=4):
        return JUNK + self.random.randrange(1 << 19) // align * align

    def word(self, address):
        """Of host memory, as the drive would see it."""
        return int.from_bytes(self.host.get(address, 8), "little") if BASE <= address < BASE + MEMORY - 8 else 2**64 - 1

    def extents(self, sqe, size):
        """([(address, bytes)] that its PRPs name, whether they are right), as far as they are."""
        found, left = [], size
        if sqe.prp1 % 4:
            return found, False
        n = min(left, PAGE - sqe.prp1 % PAGE)
        found.append((sqe.prp1, n))
        left -= n
        if left == 0:
            return found, True
        if left <= PAGE:
            if sqe.prp2 % PAGE:
                return found, False
            return found + [(sqe.prp2, left)], True
        at = sqe.prp2
        if at % 8:
            return found, False
        while left:
            entry = self.word(at)
            if at % PAGE == PAGE - 8 and left > PAGE:
                at = entry
                if at % PAGE:
                    return found, False
                continue
            if entry % PAGE:
                return found, False
            found.append((entry, min(left, PAGE)))
            left -= min(left, PAGE)
            at += 8
        return found, True

    def put_list(self, slot, address, size):
        """PRP1 and PRP2 of a right command; its list may begin anywhere in a page, and go on in another one."""
        first = PAGE - address % PAGE
        rest = list(range(address + first, address + size, PAGE))
        if len(rest) < 2:
            return address, rest[0] if rest else 0
        where = (
            LISTS + slot * 2 * PAGE + self.random.choice((0, 8, PAGE - 8, PAGE - 16, self.random.randrange(512) * 8))
        )
        at, prp2 = where, where
        for i, entry in enumerate(rest):
            if at % PAGE == PAGE - 8 and i + 1 < len(rest):
                self.host.put(at, struct.pack("<Q", LISTS + (slot * 2 + 1) * PAGE))
                at = LISTS + (slot * 2 + 1) * PAGE
            self.host.put(at, struct.pack("<Q", entry))
            at += 8
        return address, prp2

    # What is sent

    def lba(self, blocks=1):
        r = self.random
        last = self.drive.lbas - blocks
        return min(last, r.choice((r.randrange(256), r.randrange(64), last - r.randrange(4), r.randrange(last + 1))))

    def right(self, slot, taken):
        """A command that the drive must take; its blocks are in no other one of the batch."""
        r, op = self.random, NvmeOpcode
        kinds = (op.READ, op.WRITE, op.COMPARE, op.TX_READ, op.TX_WRITE, op.WRITE_ZEROES, op.FLUSH, op.TX_BEGIN,
                 op.TX_COMMIT, op.TX_ABORT, op.FLUSH_RANGE, op.BARRIER, op.QUERY, op.DATASET_MANAGEMENT, op.TX_PREPARE,
                 op.TX_ZEROES)  # fmt: skip
        opcode = r.choices(kinds, (20, 20, 6, 6, 12, 4, 3, 6, 6, 2, 2, 2, 2, 3, 1, 2))[0]
        blocks = r.choice((1, 1, 2, 3, 8, MOST, r.randrange(1, MOST + 1)))
        lba = self.lba(blocks)
        if opcode in FROM_HOST | TO_HOST | ZEROES | {op.DATASET_MANAGEMENT}:
            for _ in range(20):
                if not taken & set(range(lba, lba + blocks)):
                    break
                lba = self.lba(blocks)
            else:
                return pack(op.QUERY, tail=(0, 0, 0, 0, 0, 1))
            taken |= set(range(lba, lba + blocks))
        dw2 = r.randrange(TXIDS) % 6 if opcode >= op.TX_BEGIN and opcode not in {op.BARRIER, op.QUERY} else 0
        dw2 = 0 if opcode == op.FLUSH_RANGE else dw2
        tail = [lba, 0, blocks - 1, 0, 0, 0]
        prps = 0, 0
        if opcode in FROM_HOST | TO_HOST:
            base = (SOURCE if opcode in FROM_HOST else TARGET) + slot * SLOT
            address = base + r.choice((0, 4, 2048, PAGE - 4, r.randrange(PAGE // 4) * 4))
            if opcode in FROM_HOST:
                self.new_source(address, blocks)
                if opcode == op.COMPARE and r.random() < 0.6:
                    self.what_is_there(address, lba, blocks)
            prps = self.put_list(slot, address, blocks * BLOCK)
            if opcode in FROM_HOST and r.random() < 0.08:
                prps = self.nowhere(*prps)
            tail[2] |= (opcode == op.WRITE and r.random() < 0.2) << 30
        elif opcode == op.DATASET_MANAGEMENT:
            at = LISTS + (2 * BATCH + slot) * PAGE
            self.host.put(at, struct.pack("<IIQ", 0, blocks, lba))
            prps, tail = (at, 0), [0, 4, 0, 0, 0, 0]
        elif opcode == op.QUERY:
            tail = [0, 0, 0, 0, 0, 1]
        elif opcode not in ZEROES | {op.FLUSH_RANGE}:
            tail = [0] * 6
        return pack(opcode, 1, dw2, *prps, tail)

    def nowhere(self, prp1, prp2):
        """The same of which the first page, or the second one, or the list, cannot be read."""
        if prp2 and self.random.random() < 0.5:
            return prp1, NOWHERE + prp2 % PAGE
        return NOWHERE + prp1 % PAGE, prp2

    @staticmethod
    def unreadable(sqe):
        return any(NOWHERE <= prp < NOWHERE + (1 << 20) for prp in (sqe.prp1, sqe.prp2))

    def new_source(self, address, blocks):
        """Fresh data there; what it is in the end is read from memory when the SQE goes."""
        for i in range(blocks):
            self.host.put(address + i * BLOCK, self.fresh_block())

    def what_is_there(self, address, lba, blocks):
        """As far as that is known; of some a byte is another one."""
        for i in range(blocks):
            values = self.may_be(lba + i)
            if len(values) == 1 and ANYTHING not in values:
                self.host.put(address + i * BLOCK, next(iter(values)))
        if self.random.random() < 0.2:
            at = address + self.random.randrange(blocks * BLOCK)
            self.host.put(at, bytes([self.host.get(at, 1)[0] ^ 1]))

    def wrong(self, slot, taken):
        """One with some bits, fields or all of it at random; its PRPs are in JUNK or nowhere."""
        r = self.random
        how = r.randrange(3)
        if how == 2:
            data = r.randbytes(64)
            if r.random() < 0.5:
                data = data[:4] + struct.pack("<I", 1) + data[8:]
        elif how == 1:
            opcode = r.choice((*NvmeOpcode, r.randrange(256)))
            tail = [r.choice((0, r.getrandbits(32), self.lba(), 1 << r.randrange(32))) for _ in range(6)]
            data = pack(
                opcode,
                r.choice((1, 1, 1, 0, 2, 0xFFFFFFFF)),
                r.choice((0, r.randrange(32), r.getrandbits(32))),
                0,
                0,
                tail,
            )
        else:
            data = bytearray(self.right(slot, set(taken)))
            for _ in range(r.randrange(1, 4)):
                data[r.choice((0, 0, 1, 4, 8, *range(40, 64)))] ^= 1 << r.randrange(8)
        pointers = [
            r.choice((self.junk(), self.junk(), self.junk(PAGE), self.junk(1), r.getrandbits(64))) for _ in range(2)
        ]
        return bytes(data[:24]) + struct.pack("<QQ", *pointers) + bytes(data[40:])

    def admin(self):
        r = self.random
        while (opcode := r.choice((2, 6, 9, 10, 8, 0x19, 0x1A, 0, 1, 4, 5, r.randrange(256)))) in ADMIN_NOT:
            pass
        tail = [r.choice((0, r.getrandbits(32), r.randrange(16), 1 << r.randrange(32))) for _ in range(6)]
        if opcode in (Admin.DELETE_SQ, Admin.DELETE_CQ, Admin.CREATE_SQ, Admin.CREATE_CQ):
            tail[0] = tail[0] & ~0xFFFF | r.randrange(len(QUEUES) + 1, 20)  # not of the queues in use
        if opcode == Admin.CREATE_SQ:
            tail[1] = tail[1] & 0xFFFF | r.randrange(len(QUEUES) + 1, 20) << 16
        pointers = [r.choice((self.junk(), self.junk(PAGE), r.getrandbits(64))) for _ in range(2)]
        nsid = r.choice((0, 1, 1, 0xFFFFFFFF, r.getrandbits(32)))
        return pack(opcode, nsid, 0, *pointers, tail, r.choice((0, 0, 0, r.randrange(256))))

    # What may come of it

    def may_be(self, lba):
        return self.values.get(lba, {ZERO})

    def may_become(self, lba, value):
        self.values[lba] = self.may_be(lba) | {value}
        self.named[lba] += 1

    def data_of(self, sqe, right):
        """The blocks that a command takes from host memory; ANYTHING when another one may change them."""
        if not right:
            return [ANYTHING] * sqe.blocks
        found, _ = self.extents(sqe, sqe.blocks * BLOCK)
        data = b"".join(self.host.get(at, n) for at, n in found)
        return [data[i * BLOCK :][:BLOCK] for i in range(sqe.blocks)]

    def expect(self, sqe, right):
        """Notes what the blocks that it names may become."""
        op, fits = NvmeOpcode, sqe.lba + sqe.blocks <= self.drive.lbas
        n = sqe.blocks
        if sqe.opcode in {op.WRITE, op.TX_WRITE} and fits and n <= MOST:
            data = self.data_of(sqe, right)
            for i in range(n):
                if sqe.opcode == op.WRITE:
                    self.may_become(sqe.lba + i, data[i])
                else:
                    self.hidden[sqe.txid].setdefault(sqe.lba + i, set()).add(data[i])
                    if sqe.tail[4]:  # with attributes: `plain` and `commit` are among them
                        self.may_become(sqe.lba + i, data[i])
        elif sqe.opcode in ZEROES:
            for lba in range(sqe.lba, min(sqe.lba + n, self.drive.lbas)):
                if sqe.opcode == op.TX_ZEROES:
                    self.hidden[sqe.txid].setdefault(lba, set()).add(ZERO)
                if sqe.opcode != op.TX_ZEROES or sqe.tail[4]:
                    self.may_become(lba, ZERO)
        elif sqe.opcode == op.DATASET_MANAGEMENT and right:
            _, blocks, lba = struct.unpack("<IIQ", self.host.get(sqe.prp1, 16))
            for i in range(blocks):
                self.may_become(lba + i, ZERO)

    def expect_commit(self, sqe):
        """It may come behind all others of its batch."""
        if sqe.opcode == NvmeOpcode.TX_COMMIT or sqe.opcode in OF_TX and sqe.tail[4]:
            for lba, values in self.hidden[sqe.txid].items():
                self.values[lba] = self.may_be(lba) | values
                self.named[lba] += 1

    def becomes(self, sqe):
        """{block: what it is} when a right one that is not of a transaction has succeeded."""
        op = NvmeOpcode
        if sqe.opcode == op.WRITE:
            return dict(enumerate(self.data_of(sqe, True), sqe.lba))
        if sqe.opcode == op.WRITE_ZEROES:
            return dict.fromkeys(range(sqe.lba, sqe.lba + sqe.blocks), ZERO)
        if sqe.opcode == op.DATASET_MANAGEMENT:
            _, blocks, lba = struct.unpack("<IIQ", self.host.get(sqe.prp1, 16))
            return dict.fromkeys(range(lba, lba + blocks), ZERO)
        return {}

    def learn(self, sqe, becomes, txids):
        """What is known now that a right one has succeeded and all others of its batch have ended."""
        for lba, block in becomes.items():
            if self.named[lba] == 1:
                self.values[lba] = {block}
        if sqe.opcode in {NvmeOpcode.TX_COMMIT, NvmeOpcode.TX_ABORT} and txids[sqe.txid] == 1:
            self.hidden[sqe.txid] = {}

    def names(self, sqe):
        """The blocks that it writes, if it is taken; few of them."""
        if sqe.opcode in {NvmeOpcode.WRITE, NvmeOpcode.TX_WRITE} | ZEROES and sqe.lba < self.drive.lbas:
            return range(sqe.lba, min(sqe.lba + min(sqe.blocks, 64), self.drive.lbas))
        return range(0)

    # What has come of it

    def fail(self, words, sqe=None):
        raise Wrong(f"{words}{f': {sqe}' if sqe else ''}; clock {self.drive.clock}")

    def judge_status(self, sqe, result):
        op, status = NvmeOpcode, result.status
        allowed = {NvmeStatus.TRANSFER_ERROR if self.unreadable(sqe) else NvmeStatus.SUCCESS}
        if sqe.opcode == op.COMPARE and not self.unreadable(sqe):
            allowed |= {NvmeStatus.COMPARE_FAILURE}
        if sqe.opcode >= op.TX_BEGIN and sqe.opcode not in {op.QUERY, op.BARRIER, op.FLUSH_RANGE}:
            allowed |= TX_STATUSES
        if sqe.opcode == op.WRITE or sqe.opcode in ZEROES:
            allowed |= {NvmeStatus.TX_CONFLICT}
        if status not in allowed:
            self.fail(f"status {status:03x}h", sqe)

    def judge_data(self, sqe, named):
        """What a right READ has brought."""
        data = b"".join(self.host.get(at, n) for at, n in named)
        for i in range(sqe.blocks):
            values = self.may_be(sqe.lba + i)
            if sqe.opcode == NvmeOpcode.TX_READ:
                values = values | self.hidden[sqe.txid].get(sqe.lba + i, set())
            block = data[i * BLOCK :][:BLOCK]
            if block not in values and ANYTHING not in values:
                self.fail(f"block {sqe.lba + i} is {block[:16].hex()}", sqe)

    def judge_compare(self, sqe, status, data):
        """Of blocks that can be but one thing the drive must know."""
        values = [self.may_be(sqe.lba + i) for i in range(sqe.blocks)]
        if any(len(v) != 1 or ANYTHING in v for v in values):
            return
        same = all(data[i] in values[i] for i in range(sqe.blocks))
        if same != (status == NvmeStatus.SUCCESS):
            self.fail(f"COMPARE says {status:03x}h of blocks that are {'' if same else 'not '}the same", sqe)

    def allow(self, address, size):
        """What is there now is right."""
        at = address - BASE
        self.shadow[at : at + size] = memoryview(self.host.memory).cast("B")[at : at + size]

    def judge_memory(self, named):
        """Nothing but what SQEs name, completion queues and JUNK has changed."""
        for at, n in [*named, (JUNK, 1 << 20)]:
            self.allow(at, n)
        for q in self.host.queues.values():
            self.allow(q.sq, 64 * q.entries)
            self.allow(q.cq, 16 * q.entries)
        now = ctypes.string_at(self.host.memory, MEMORY)
        if now != self.shadow:  # bytes: a memoryview is compared word by word
            at = next(i for i in range(MEMORY) if now[i] != self.shadow[i])
            self.fail(f"host memory at {BASE + at:#x} has changed: {bytes(now[at : at + 16]).hex()}")

    def look(self, lbas):
        """Reads blocks, each of which must be what it may be; and is that from now on."""
        runs = []
        for lba in sorted(lbas):
            if runs and runs[-1][-1] == lba - 1 and len(runs[-1]) < MOST:
                runs[-1].append(lba)
            else:
                runs.append([lba])
        for i in range(0, len(runs), LOOKS):
            sent = []
            for slot, run in enumerate(runs[i : i + LOOKS]):
                at = LOOK + slot * MOST * BLOCK
                prps = self.put_list(slot, at, len(run) * BLOCK)
                sqe = pack(NvmeOpcode.READ, 1, 0, *prps, (run[0], 0, len(run) - 1, 0, 0, 0))
                sent.append((run, at, self.host.submit_bytes(sqe)))
            for run, at, key in sent:
                self.host.check("read", self.host.wait(key, CLOCKS))
                for k, lba in enumerate(run):
                    self.look_at(lba, self.host.get(at + k * BLOCK, BLOCK))
        self.allow(LOOK, JUNK - LOOK)

    def look_at(self, lba, block):
        values = self.may_be(lba)
        if block not in values and ANYTHING not in values:
            self.fail(f"block {lba} is {block[:16].hex()}, and may be {[v and v[:16].hex() for v in values]}")
        self.values[lba] = {block}

    def batch(self, n):
        """n SQEs at once."""
        r, sent, taken, named = self.random, [], set(), []
        touched, txids = {r.randrange(self.drive.lbas)}, Counter()
        self.named.clear()
        for slot in range(n):
            admin = r.random() < 0.1
            right = not admin and r.random() < 0.45
            sqe = Sqe(self.admin() if admin else self.right(slot, taken) if right else self.wrong(slot, taken))
            extents = []
            if right and sqe.opcode in TO_HOST:
                extents, _ = self.extents(sqe, sqe.blocks * BLOCK)
                named += extents
            fails = right and self.unreadable(sqe)
            data = self.data_of(sqe, right) if right and not fails and sqe.opcode == NvmeOpcode.COMPARE else None
            if not admin:
                txids.update(range(256) if sqe.opcode == NvmeOpcode.RECOVER else [sqe.txid])
                if not fails:
                    self.expect(sqe, right)
                touched |= set(self.names(sqe))
            becomes = self.becomes(sqe) if right and not fails else {}
            sent.append([sqe, 0 if admin else r.choice((1, 1, 2, 3, 4)), right, extents, data, becomes])
        for sqe, queue, *_ in sent:
            if queue:
                self.expect_commit(sqe)
        self.allow(LISTS, TARGET - LISTS)
        for entry in sent:
            entry.append(self.host.submit_bytes(entry[0].data, entry[1]))
            if r.random() < 0.3:
                self.host.step(r.randrange(400))
                self.host.poll(entry[1])
        learnt = []
        for sqe, _, right, extents, data, becomes, key in sent:
            result = self.host.wait(key, CLOCKS)
            self.counts[result.status] = self.counts.get(result.status, 0) + 1
            if right:
                self.judge_status(sqe, result)
            if data is not None:
                self.judge_compare(sqe, result.status, data)
            if extents and result.status == NvmeStatus.SUCCESS:
                self.judge_data(sqe, extents)
            if right and result.status == NvmeStatus.SUCCESS:
                learnt.append((sqe, becomes))
        for sqe, becomes in learnt:
            self.learn(sqe, becomes, txids)
        if self.host.done:
            self.fail(f"completions that nobody asked for: {list(self.host.done)}")
        self.judge_memory(named)
        self.look(touched)

    def sqes(self, n):
        """n SQEs. Every now and then open transactions end, and the features are as after a start."""
        while n > 0:
            size = min(n, self.random.randrange(1, self.random.choice(BATCHES) + 1))
            self.batch(size)
            n -= size
            if self.random.random() < 0.03:
                for txid in range(TXIDS):
                    self.host.command(NvmeOpcode.TX_ABORT, nsid=1, dw2=txid)
                    self.hidden[txid] = {}

    def end(self, everything=True):
        """All blocks; a FLUSH and a power cut; all blocks once more."""
        if not everything:
            far = self.random.sample(sorted(self.values), min(len(self.values), 60))
            lbas = set(range(288)) | {lba + d for lba in far for d in (-1, 0, 1) if 0 <= lba + d < self.drive.lbas}
        else:
            lbas = range(self.drive.lbas)
        self.look(lbas)
        for lba in self.random.sample(range(288), 24):
            self.values[lba] = {self.fresh_block()}
            self.host.write(lba, *self.values[lba])
        self.host.flush()
        self.drive.power_cut(self.random.getrandbits(30))
        self.drive.power_on()
        self.start()
        self.look(lbas)


@click.command(help=__doc__)
@click.option("--sqes", default=1000, type=click.IntRange(1), help="how many")
@click.option("--seed", default=1)
@click.option("--some", is_flag=True, help="only some blocks are read at the end")
def main(sqes, seed, some):
    try:
        r = RandomHost(Drive("nvme"), seed)
        for left in range(sqes, 0, -100):
            r.sqes(min(left, 100))
            print(f"{sqes - left + min(left, 100)} SQEs, clock {r.drive.clock}", flush=True)
        r.end(not some)
    except Exception as e:
        print(f"seed {seed}: {type(e).__name__}: {e}")
        print("0 passed, 1 failed")
        sys.exit(1)
    names = {int(s): s.name for s in NvmeStatus}
    print("  ".join(f"{names.get(k, hex(k))} {n}" for k, n in sorted(r.counts.items())))
    print("1 passed, 0 failed")


if __name__ == "__main__":
    command_line.run(main, "nvme_random")
