# SPDX-License-Identifier: Apache-2.0
"""e8: what an fsync waits for: one block of data D, the journal's two blocks JD, its commit block JC, on preset quick4
with the array times of K9F8G08, nothing else under way.

    two waits and two flushes      D, wait; JD, wait; FLUSH; JC, wait; FLUSH
    one flush with FUA             D, wait; JD, wait; FLUSH; JC with FUA
    barriers and one flush         D, JD, JC at once, a barrier behind D and JD and one behind JC; FLUSH
    one transaction                D and the block of metadata that JD would describe, in place; COMMIT

The first is ext4's order with the flushes that it needs on a drive that has no FUA, the second ext4's own, the third
the paper's (BarrierFS, which sends a FLUSH only for fsync and not for fbarrier), the fourth has no journal. `order
only`: until all three writes have completed, for a host that wants order and not durability (the paper's fdatabarrier).
Each is done with the write buffer on, without and with PLP. Latencies are in us from the first command to the last
completion; 0.5 ms lie between two fsyncs, in which blocks are erased.
"""

from bench.committers import MHZ, PRESET, Traffic, opened, us
from bench.drive_build import build_drive
from bench.e6 import DRIVES
from bench.result import Check, Result
from opentxssd import Opcode

TITLE = "fsync of a journal"
FSYNCS, SKIP = 40, 4
THINKS = 50_000  # clocks between two fsyncs
DATA, JOURNAL = 512, 256  # blocks of each: data, and from 0 on the journal
BARRIERS, TRANSACTION = "barriers and one flush", "one transaction"
FLUSHES = "two waits and two flushes"


class Fsync:
    """One after the other, each of the four ways."""

    def __init__(self, traffic):
        self.traffic, self.at = traffic, 0

    def wait(self, *commands):
        """Sends these at once, (opcode, args, fields) each; until all have completed."""
        left = len(commands)

        def ended(clock):
            nonlocal left
            left -= 1

        for opcode, args, fields in commands:
            if opcode == Opcode.WRITE:
                self.traffic.write(*args, ended, **fields)
            else:
                self.traffic.submit(ended, opcode, *args, **fields)
        self.traffic.run(lambda: not left)

    def parts(self):
        """Where D, JD and JC go: (lba, blocks) each."""
        lba, self.at = JOURNAL + self.traffic.rng.randrange(DATA), (self.at + 3) % (JOURNAL - 3)
        return (lba, 1), (self.at, 2), (self.at + 2, 1)

    def write(self, part, **fields):
        return Opcode.WRITE, part, fields

    def flushes(self):
        d, jd, jc = self.parts()
        flush = (Opcode.FLUSH, (), {})
        for step in (self.write(d), self.write(jd), flush, self.write(jc), flush):
            self.wait(step)

    def fua(self):
        d, jd, jc = self.parts()
        for step in (self.write(d), self.write(jd), (Opcode.FLUSH, (), {}), self.write(jc, fua=1)):
            self.wait(step)

    def order_only(self):
        d, jd, jc = self.parts()
        self.wait(self.write(d), self.write(jd, barrier=1), self.write(jc, barrier=1))

    def barriers(self):
        self.order_only()
        self.wait((Opcode.FLUSH, (), {}))

    def transaction(self):
        d, jd, _ = self.parts()
        metadata = (JOURNAL + DATA + jd[0] % 64, 1)
        self.wait(self.write(d, txid=1), self.write(metadata, txid=1))
        self.wait((Opcode.COMMIT, (), {"txid": 1}))


WAYS = {
    FLUSHES: Fsync.flushes,
    "one flush with FUA": Fsync.fua,
    BARRIERS: Fsync.barriers,
    TRANSACTION: Fsync.transaction,
    "order only": Fsync.order_only,
}


def measure(way, fsyncs=FSYNCS, **settings):
    """Clocks of each fsync, sorted."""
    drive = opened(**settings)
    drive.step(1_000_000)  # blocks are erased ahead
    fsync, took = Fsync(Traffic(drive, 1)), []
    for _ in range(SKIP + fsyncs):
        begun = drive.clock
        WAYS[way](fsync)
        took.append(drive.clock - begun)
        drive.step(THINKS)
    return sorted(took[SKIP:])


def run(fsyncs=FSYNCS):
    build_drive(PRESET)
    rows, median = [], {}
    for name in ("buffer", "buffer, PLP"):
        for way in WAYS:
            took = measure(way, fsyncs, **DRIVES[name])
            median[name, way] = us(took[len(took) // 2])
            rows.append(
                {
                    "drive": name,
                    "way": way,
                    "median_us": median[name, way],
                    "p99_us": us(took[len(took) * 99 // 100]),
                    "longest_us": us(took[-1]),
                    "fsyncs_per_second": 1e6 / (us(sum(took)) / len(took)),
                }
            )
    ours = median["buffer", FLUSHES] / median["buffer", BARRIERS]
    return Result(
        clock_mhz=MHZ,
        clock_from=f"preset {PRESET}, array times of K9F8G08",
        unit="of the latency of two flushes in that of barriers and one flush",
        rows=rows,
        ours=ours,
        paper=None,
        target=None,
        checks=[
            Check("barriers and one flush: faster than two flushes by", ours, ours > 1),
            Check(
                "a transaction takes no longer than barriers, us",
                median["buffer", TRANSACTION],
                median["buffer", TRANSACTION] <= 1.1 * median["buffer", BARRIERS],
            ),
        ],
    )


def plot(figure, result):
    drives = list(dict.fromkeys(r["drive"] for r in result["rows"]))
    for axes, drive in zip(figure.subplots(1, len(drives)), drives, strict=True):
        rows = [r for r in result["rows"] if r["drive"] == drive]
        axes.bar([r["way"].replace(" ", "\n") for r in rows], [r["median_us"] for r in rows])
        axes.set(ylabel="us, median", title=drive)
        axes.tick_params(axis="x", labelsize=5)
