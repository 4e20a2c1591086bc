# SPDX-License-Identifier: Apache-2.0
"""Power cuts at many clocks of a scripted workload on preset tiny; after each the drive is started again and judged by models/contract_model.py.

    power_cut.py [--cuts 240] [--seed 1] [--only CUT]

The workload runs once. At each cut the process forks: the child cuts the power there, starts the drive on what the NAND holds, reads all blocks, judges, writes and
flushes a little, cuts again and judges again; the parent goes on. Cut n of a seed is always the same clock: `--only n` replays one. The last line counts cuts.
"""

import os
import random
import sys
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "cocotb_tests")]

import click  # noqa: E402

from cocotb_tests.models.contract_model import History  # noqa: E402
from cocotb_tests.system.drive import BLOCK, Drive, Opcode, Status  # noqa: E402

LBAS = 48  # blocks of interest; few, so that everything overlaps
DEPTH = 6  # commands under way


def block(stamp):
    return b"" if stamp is None else stamp.to_bytes(8, "little") * (BLOCK // 8)


def stamps(data):
    """The stamp of each block; a block that is not one stamp repeated is torn and shows as -1."""
    out = []
    for i in range(0, len(data), BLOCK):
        b = data[i : i + BLOCK]
        out.append(int.from_bytes(b[:8], "little") if b == b[:8] * (BLOCK // 8) else -1)
    return out


class Workload:
    """Random commands, several under way at once, and the history of what was submitted and completed."""

    def __init__(self, drive, seed, history=None):
        self.drive, self.rng = drive, random.Random(seed)
        self.history = history or History()
        self.stamp = 1_000_000 * seed
        self.open = {}  # txid -> {lba: stamp}
        self.busy = {}  # tag -> what to do at its completion
        self.closing = set()  # txids with a command under way
        self.counts = {}

    def next_stamp(self):
        self.stamp += 1
        return self.stamp

    def submit(self):
        """One random command."""
        rng, h = self.rng, self.history
        kind = rng.choices(["write", "tx", "commit", "abort", "trim", "flush", "fua", "read"], [28, 30, 10, 3, 5, 5, 5, 14])[0]
        txid = rng.randrange(4)
        if kind in ("tx", "commit", "abort") and txid in self.closing or kind in ("commit", "abort") and txid not in self.open:
            return
        self.counts[kind] = self.counts.get(kind, 0) + 1
        count = rng.choice([1, 1, 1, 2, 3, 8])
        lba = rng.randrange(LBAS - count + 1)
        blocks = {lba + i: self.next_stamp() for i in range(count)}
        data = b"".join(block(s) for s in blocks.values())
        if kind in ("write", "fua"):
            w = h.submit(f"WRITE {lba}+{count} at {self.drive.clock}", blocks)
            self.go(Opcode.WRITE, lambda c: h.complete(w, kind == "fua"), lba, count, data, fua=int(kind == "fua"))
        elif kind == "trim":
            w = h.submit(f"TRIM {lba}+{count} at {self.drive.clock}", dict.fromkeys(blocks, 0))
            self.go(Opcode.TRIM, lambda c: h.complete(w, False), lba, count)
        elif kind == "tx":
            table = self.open.setdefault(txid, {})
            table.update(blocks)
            h.uncommitted.update({s: f"txid {txid} block {lba}" for s in blocks.values()})
            self.closing.add(txid)
            self.go(Opcode.WRITE, lambda c: self.closing.discard(txid), lba, count, data, txid=txid)
        elif kind == "commit":
            table = self.open.pop(txid)
            for s in table.values():
                h.uncommitted.pop(s, None)
            w = h.submit(f"COMMIT {txid} at {self.drive.clock}", table, commit=True)
            self.closing.add(txid)
            self.go(Opcode.COMMIT, lambda c: (h.complete(w, True), self.closing.discard(txid)), txid=txid)
        elif kind == "abort":
            self.open.pop(txid)
            self.closing.add(txid)
            self.go(Opcode.ABORT, lambda c: self.closing.discard(txid), txid=txid)
        elif kind == "flush":
            at = h.now()
            self.go(Opcode.FLUSH, lambda c: h.flushed(at))
        else:
            self.go(Opcode.READ, lambda c: self.check_read(lba, c), lba, count)

    def check_read(self, lba, completion):
        """While other commands run only this is sure: nothing torn, nothing uncommitted."""
        for i, s in enumerate(stamps(completion.data)):
            assert s >= 0, f"block {lba + i} is torn in a read"
            assert s not in self.history.uncommitted, f"block {lba + i}: a read shows {self.history.uncommitted[s]}"

    def go(self, opcode, then, lba=0, count=0, data=None, **fields):
        tag = self.drive.submit(opcode, lba, count, data, **fields)
        self.busy[tag] = then

    def step(self, clocks):
        """Lets clocks pass, takes completions, submits new commands; returns after exactly `clocks`."""
        end = self.drive.clock + clocks
        while self.drive.clock < end:
            while len(self.busy) < DEPTH:
                self.submit()
            self.drive.step(end - self.drive.clock)
            self.collect()

    def collect(self):
        while (c := self.drive.poll()) is not None:
            assert c.status == Status.SUCCESS, f"tag {c.tag} ended with {c.status.name}"
            self.busy.pop(c.tag)(c)


def read_all(drive):
    out = {}
    for lba in range(0, LBAS, 16):
        out.update({lba + i: s for i, s in enumerate(stamps(drive.read(lba, 16)))})
    return out


def cut_and_judge(drive, history, seed):
    drive.power_cut(seed)
    drive.power_on()
    values = read_all(drive)
    history.judge_after_cut(values)
    history.restart(values)


def child(drive, work, number, seed):
    """Everything after the cut; returns the exit code."""
    try:
        cut_and_judge(drive, work.history, number)
        again = Workload(drive, seed + 1000 + number, work.history)
        again.step(30_000)
        cut_and_judge(drive, again.history, number + 1)
        drive.write(0, block(7), fua=1)
        assert stamps(drive.read(0)) == [7]
        return 0
    except Exception:
        print(f"cut {number}:", flush=True)
        traceback.print_exc()
        print(drive.uart[-600:], flush=True)
        return 1


@click.command()
@click.option("--cuts", type=click.IntRange(1), default=240, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--only", type=click.IntRange(0), help="only this cut, in this process")
@click.option("--jobs", type=click.IntRange(1, 8), default=2, show_default=True, help="cuts judged at once")
@click.option("--gap", type=click.IntRange(100), default=9_000, show_default=True, help="clocks between cuts, on average")
def main(cuts, seed, only, jobs, gap):
    """Power cuts on preset tiny."""
    drive = Drive("tiny")
    print(f"seed {seed}, {cuts} cuts, first at clock {drive.clock}; firmware: {drive.uart.strip().splitlines()[-1:]}", flush=True)
    work = Workload(drive, seed)
    rng = random.Random(seed)
    failed = 0
    running = []
    for number in range(cuts):
        work.step(rng.randrange(1, 2 * gap))
        if only is not None and number < only:
            continue
        if only == number:
            sys.exit(child(drive, work, number, seed))
        pid = os.fork()
        if not pid:
            os._exit(child(drive, work, number, seed))
        running.append(pid)
        if len(running) == jobs:
            failed += os.waitpid(running.pop(0), 0)[1] != 0
        if number % 20 == 19:
            print(f"{number + 1} cuts, clock {drive.clock}, {failed} failed", flush=True)
    failed += sum(os.waitpid(pid, 0)[1] != 0 for pid in running)
    print(f"workload: {work.counts}")
    assert min(work.counts.get(k, 0) for k in ("commit", "abort", "trim", "flush", "fua")) > 0, "the workload lacks a kind of command"
    print(f"{cuts - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
