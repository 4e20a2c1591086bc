# SPDX-License-Identifier: Apache-2.0
"""Frame memory behind an AXI4 port, as the flash scheduler sees it, with a latency and random stalls. It accepts only
what the contract allows: bursts of 32 or 8 beats of 8 bytes inside one frame, or single beats (corrections), all bytes
written. Written data is there only when its response goes out, so that a done that comes too early is seen.
"""

import random

from cocotb_tests.bench.streams import Pin, Sink, reader
from opentxssd.facts import BEATS

BURST, SHORT, OKAY, SLVERR = 32, 8, 0, 2


class FrameMemory:
    def __init__(self, dut, name, base, frames, rng=None, stall=0.0, latency=8, write_latency=8, reads=True):
        self.base, self.frames, self.rng, self.stall = base, frames, rng or random.Random(3), stall
        self.latency, self.write_latency = latency, write_latency
        self.words = [0] * (frames * BEATS)
        self.bad = set()  # frames that answer with an error
        self.reads, self.writes, self.answers = [], [], []  # bursts under way
        self.now, self.bursts, self.singles = 0, 0, 0
        ax = "addr id len size burst".split()
        self.has_reads = reads  # the port has the channels of reads
        self.sinks = [Sink(dut, f"{name}_ar", ax, self.read, stall, self.rng)] if reads else []
        self.sinks += [
            Sink(dut, f"{name}_aw", ax, self.write, stall, self.rng),
            Sink(dut, f"{name}_w", "data strb last".split(), self.beat, stall, self.rng),
        ]
        self.b = {f: Pin(getattr(dut, f"{name}_b_payload_{f}")) for f in "id resp".split()}
        self.b_valid, self.b_ready = Pin(getattr(dut, f"{name}_b_valid")), reader(getattr(dut, f"{name}_b_ready"))
        if reads:
            self.r = {f: Pin(getattr(dut, f"{name}_r_payload_{f}")) for f in "data id resp last".split()}
            self.r_valid, self.r_ready = Pin(getattr(dut, f"{name}_r_valid")), reader(getattr(dut, f"{name}_r_ready"))
        self.r_burst = self.b_burst = None

    def page(self, frame):
        return self.words[frame * BEATS : (frame + 1) * BEATS]

    def fill(self, frame, words):
        assert len(words) == BEATS
        self.words[frame * BEATS : (frame + 1) * BEATS] = words

    def burst(self, ax, clock, latency):
        assert ax["len"] + 1 in (1, SHORT, BURST) and ax["size"] == 3 and ax["burst"] == 1, (
            f"not a burst of 32 beats, of 8, nor a single one: {ax}"
        )
        word, beats = (ax["addr"] - self.base) // 8, ax["len"] + 1
        assert 0 <= word < len(self.words) and ax["addr"] % (8 * beats) == 0, (
            f"address {ax['addr']:#x} is not that of such a burst in a frame"
        )
        self.bursts += beats == BURST
        self.singles += beats == 1
        bad = word // BEATS in self.bad
        return {
            "id": ax["id"],
            "word": word,
            "at": 0,
            "due": clock + latency,
            "resp": SLVERR if bad else OKAY,
            "data": [],
            "beats": beats,
        }

    def read(self, ax, clock):
        self.reads.append(self.burst(ax, clock, self.latency))

    def write(self, ax, clock):
        self.writes.append(self.burst(ax, clock, 0))

    def beat(self, w, clock):
        assert self.writes, "a beat without an address"
        burst = self.writes[0]
        assert w["strb"] == 0xFF
        burst["data"].append(w["data"])
        assert w["last"] == (len(burst["data"]) == burst["beats"]), "last is not on the last beat"
        if w["last"]:
            burst["due"] = clock + self.write_latency
            self.answers.append(self.writes.pop(0))

    def oldest_of_an_id(self, bursts):
        """A burst that may answer now; ids in any order, bursts of an id in order."""
        if not bursts:
            return None
        heads = {}
        for burst in bursts:
            heads.setdefault(burst["id"], burst)
        due = [b for b in heads.values() if b["due"] <= self.now]
        return self.rng.choice(due) if due else None

    def stalled(self):
        return self.stall and self.rng.random() < self.stall

    def drive(self):
        for sink in self.sinks:
            sink.drive()
        if self.has_reads:
            self.drive_read()
        if self.b_burst is None and not self.stalled():
            self.b_burst = self.oldest_of_an_id(self.answers)
            if self.b_burst:
                self.b["id"].set(self.b_burst["id"])
                self.b["resp"].set(self.b_burst["resp"])
        self.b_valid.set(int(self.b_burst is not None))

    def drive_read(self):
        if self.r_burst is None and not self.stalled():
            self.r_burst = self.oldest_of_an_id(self.reads)
            if self.r_burst:
                at, last = self.r_burst["at"], int(self.r_burst["at"] == self.r_burst["beats"] - 1)
                for f, v in (
                    ("data", self.words[self.r_burst["word"] + at]),
                    ("id", self.r_burst["id"]),
                    ("resp", self.r_burst["resp"]),
                    ("last", last),
                ):
                    self.r[f].set(v)
        self.r_valid.set(int(self.r_burst is not None))

    def sample(self, clock):
        self.now = clock
        for sink in self.sinks:
            sink.sample(clock)
        if self.r_burst and self.r_ready():
            self.r_burst["at"] += 1
            if self.r_burst["at"] == self.r_burst["beats"]:
                self.reads = [b for b in self.reads if b is not self.r_burst]
            self.r_burst = None
        if self.b_burst and self.b_ready():
            burst = self.b_burst
            self.words[burst["word"] : burst["word"] + burst["beats"]] = burst["data"]
            self.answers = [b for b in self.answers if b is not burst]
            self.b_burst = None
