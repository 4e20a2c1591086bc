# SPDX-License-Identifier: Apache-2.0
"""Random commands for a simulated drive, many under way at once, with the history that models/contract_model.py judges.

The mood (how many commands are under way, which kinds) changes every few commands: from one FUA at a time to transactions with their COMMITs right behind them. What is submitted
depends on the seed and on the completions only, so the same seed on the same drive gives the same clocks, however `run` is cut into pieces.
"""

import random

from cocotb_tests.models.contract_model import History
from cocotb_tests.system.drive import BLOCK, Opcode, Status

LBAS = 20  # blocks of interest; few, so that everything overlaps
TXIDS = (0, 1, 7, 31)
DEPTHS = [1, 3, 6, 12, 24]  # commands under way
SIZES, SIZE_WEIGHTS = [1, 2, 3, 5, 8, LBAS], [70, 16, 7, 4, 2, 1]
KINDS = ["write", "fua", "trim", "zeroes", "tx", "tx trim", "commit", "write commit", "relaxed", "write relaxed", "abort", "flush", "read"]
MIXES = [
    [10, 6, 6, 6, 16, 6, 16, 6, 8, 4, 12, 6, 10],  # all
    [2, 2, 1, 2, 24, 6, 30, 10, 6, 3, 18, 2, 10],  # transactions
    [2, 1, 1, 2, 20, 4, 6, 3, 30, 12, 6, 2, 8],  # RELAXED ones
    [18, 20, 10, 10, 4, 1, 4, 1, 2, 1, 2, 20, 8],  # plain writes and what makes them durable
]
DURABLE = {"fua", "commit", "write commit", "flush"}  # their completion is a promise


def block(stamp):
    return stamp.to_bytes(8, "little") * (BLOCK // 8)


def stamps(data):
    """The stamp of each block; a block that is not one stamp repeated is torn and shows as -1."""
    out = []
    for i in range(0, len(data), BLOCK):
        b = data[i : i + BLOCK]
        out.append(int.from_bytes(b[:8], "little") if b == b[:8] * (BLOCK // 8) else -1)
    return out


class Workload:
    """`counts`: completed commands by kind; `sent`, `kept`: promises asked for and given; `walks`: entries of each transaction that has ended; `stamp`: the last one used."""

    def __init__(self, drive, seed, history=None, stamp=0):
        self.drive, self.rng = drive, random.Random(seed)
        self.history = history or History()
        self.stamp = stamp
        self.open = {}  # txid -> {lba: stamp}
        self.busy = {}  # tag -> what to do at its completion
        self.counts = dict.fromkeys(KINDS, 0)
        self.sent = self.kept = self.left = 0
        self.walks = []

    def new_mood(self):
        self.left = self.rng.randrange(5, 30)
        self.depth, self.mix = self.rng.choice(DEPTHS), self.rng.choice(MIXES)

    def submit(self):
        """One random command, or none when its transaction is not open."""
        rng, h = self.rng, self.history
        if not self.left:
            self.new_mood()
        kind = rng.choices(KINDS, self.mix)[0]
        txid = rng.choice(TXIDS)
        count = rng.choices(SIZES, SIZE_WEIGHTS)[0]
        lba = rng.randrange(LBAS - count + 1)
        if kind in ("commit", "relaxed", "abort") and txid not in self.open:
            return
        self.left -= 1
        zero = kind in ("trim", "zeroes", "tx trim")
        blocks = {lba + i: 0 if zero else self.stamp + 1 + i for i in range(count)}
        self.stamp += count
        place, data = (lba, count), None if zero else b"".join(block(s) for s in blocks.values())
        name = f"{kind} {lba}+{count} at {self.drive.clock}"
        if kind in ("write", "fua"):
            w = h.submit(name, blocks)
            self.go(kind, Opcode.WRITE, lambda c: h.complete(w, kind == "fua"), *place, data, fua=int(kind == "fua"))
        elif kind in ("trim", "zeroes"):
            w = h.submit(name, blocks)
            self.go(kind, Opcode.TRIM if kind == "trim" else Opcode.WRITE_ZEROES, lambda c: h.complete(w, False), *place)
        elif kind in ("tx", "tx trim"):
            self.open.setdefault(txid, {}).update(blocks)
            h.uncommitted.update({s: f"txid {txid} block {at}" for at, s in blocks.items() if s})
            self.go(kind, Opcode.TRIM if zero else Opcode.WRITE, None, *place, data, txid=txid)
        elif kind in ("commit", "write commit", "relaxed", "write relaxed"):
            relaxed = kind.endswith("relaxed")
            table = self.open.pop(txid, {}) | (blocks if kind.startswith("write") else {})
            for s in table.values():
                h.uncommitted.pop(s, None)
            w = h.submit(f"{kind} of txid {txid}, {table}, at {self.drive.clock}", table, commit=True, relaxed=relaxed)

            def committed(c):
                h.complete(w, not relaxed)
                self.walks.append(len(table))

            if kind.startswith("write"):
                self.go(kind, Opcode.WRITE, committed, *place, data, txid=txid, commit=1, relaxed=int(relaxed))
            else:
                self.go(kind, Opcode.COMMIT, committed, txid=txid, relaxed=int(relaxed))
        elif kind == "abort":
            table = self.open.pop(txid)
            self.go(kind, Opcode.ABORT, lambda c: self.walks.append(len(table)), txid=txid)
        elif kind == "flush":
            at = h.now()
            self.go(kind, Opcode.FLUSH, lambda c: h.flushed(at))
        elif txid in self.open and rng.randrange(2):
            own = dict(self.open[txid])
            self.go(kind, Opcode.READ, lambda c: self.check_read(lba, c, own), *place, txid=txid)
        else:
            self.go(kind, Opcode.READ, lambda c: self.check_read(lba, c, {}), *place)

    def check_read(self, lba, completion, own):
        """While other commands run only this is sure: a transaction sees its own versions, nobody sees others' or a torn block, and what is seen of a commit is durable."""
        for at, s in enumerate(stamps(completion.data), lba):
            assert s >= 0, f"block {at} is torn in a read"
            assert s == own.get(at, s), f"block {at}: a transaction's read shows {s}, its own version is {own[at]}"
            assert at in own or s not in self.history.uncommitted, f"block {at}: a read shows {self.history.uncommitted[s]}"
            if at not in own:
                self.history.visible(at, s)

    def go(self, kind, opcode, then, lba=0, count=0, data=None, **fields):
        self.busy[self.drive.submit(opcode, lba, count, data, **fields)] = (kind, then)
        self.sent += kind in DURABLE

    def collect(self):
        while (c := self.drive.poll()) is not None:
            assert c.status == Status.SUCCESS, f"tag {c.tag} ended with {c.status.name}"
            kind, then = self.busy.pop(c.tag)
            self.counts[kind] += 1
            self.kept += kind in DURABLE
            if then:
                then(c)

    def run(self, clocks, until=None, grain=1 << 30):
        """Lets exactly `clocks` pass, or fewer when `until()` is true, asked every `grain` clocks, at submissions and completions; returns whether it was."""
        end = self.drive.clock + clocks
        while self.drive.clock < end:
            while not self.busy or len(self.busy) < self.depth:
                self.submit()
            if until and until():
                return True
            self.drive.step(min(grain, end - self.drive.clock))
            self.collect()
        return False
