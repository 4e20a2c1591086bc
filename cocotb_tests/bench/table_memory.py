# SPDX-License-Identifier: Apache-2.0
"""Table memory as an AXI4 slave of 128-bit single beats, stepped clock by clock: `drive(now)` after the falling edge,
`sample(now)` before the rising one.

Latency is from the address beat (writes: the later of address and data beat) to the answer, drawn for each access;
answers come in any order. A read takes its data, and a write changes the memory, at its start or at its end, at random:
the master may not rely on either. Checks the master: stable offers, one access at a time per id and direction.

`in_order`: for a master with one id: accesses of a direction are answered in their order, and writes change the memory
all at their start or all at their end.
"""

from cocotb_tests.bench.streams import Pin, reader

AR = ["addr", "id", "len", "size", "burst"]
LANES = [sum(0xFF << 8 * b for b in range(16) if s >> b & 1) for s in range(1 << 16)]


class TableMemory:
    def __init__(self, dut, rng, latency=(8, 8), stall=0.0, in_order=False):
        self.in_order, self.all_late = in_order, rng.random() < 0.5
        self.rng, self.latency, self.stall = rng, latency, stall
        self.beats = {}  # beat number -> 128 bits
        self.bad = lambda address, write: False  # which accesses answer SLVERR
        self.answered = lambda address: None  # called when the response of a write is taken
        self.reads, self.writes, self.addresses, self.data = [], [], [], []
        self.accesses, self.overtaken, self.most = 0, 0, 0
        h = {
            n: getattr(dut, "table_" + n)
            for n in [
                "ar_valid",
                "aw_valid",
                "w_valid",
                "r_ready",
                "b_ready",
                "ar_ready",
                "aw_ready",
                "w_ready",
                "r_valid",
                "b_valid",
            ]
        }
        h |= {f"{c}_{f}": getattr(dut, f"table_{c}_payload_{f}") for c in ("ar", "aw") for f in AR}
        h |= {f"w_{f}": getattr(dut, f"table_w_payload_{f}") for f in ("data", "strb", "last")}
        h |= {
            f"{c}_{f}": getattr(dut, f"table_{c}_payload_{f}")
            for c, fs in (("r", ["data", "id", "resp", "last"]), ("b", ["id", "resp"]))
            for f in fs
        }
        self.h, self.read, self.answer, self.ready, self.offers = h, None, None, None, {}
        self.value = {n: reader(handle) for n, handle in h.items()}
        for name in ["ar_ready", "aw_ready", "w_ready"]:
            h[name].value = 0
        self.r_valid, self.b_valid = Pin(h["r_valid"]), Pin(h["b_valid"])
        h["r_last"].value = 1

    def get32(self, address):
        return self.beats.get(address >> 4, 0) >> 8 * (address & 12) & 0xFFFFFFFF

    def put32(self, address, value):
        shift = 8 * (address & 12)
        self.beats[address >> 4] = self.beats.get(address >> 4, 0) & ~(0xFFFFFFFF << shift) | value << shift

    def due(self, now):
        return now + self.rng.randint(*self.latency)

    def choose(self, queue, now):
        candidates = queue[:1] if self.in_order else queue
        ready = [x for x in candidates if x["due"] <= now]
        if not ready:
            return None
        one = ready[0] if len(ready) == 1 else min(ready, key=lambda x: x["due"])
        self.overtaken += one is not queue[0]
        queue.remove(one)
        return one

    def drive(self, now):
        h = self.h
        ready = int(not self.stall or self.rng.random() >= self.stall)
        if ready != self.ready:
            h["ar_ready"].value = h["aw_ready"].value = h["w_ready"].value = self.ready = ready
        if self.read is None:
            self.read = self.choose(self.reads, now)
            self.r_valid.set(int(self.read is not None))
            if self.read:
                r = self.read
                h["r_data"].value = self.beats.get(r["beat"], 0) if r["data"] is None else r["data"]
                h["r_id"].value, h["r_resp"].value = r["id"], 2 * r["bad"]
        if self.answer is None:
            self.answer = self.choose(self.writes, now)
            self.b_valid.set(int(self.answer is not None))
            if self.answer:
                if self.answer["late"]:
                    self.store(self.answer)
                h["b_id"].value, h["b_resp"].value = self.answer["id"], 2 * self.answer["bad"]

    def store(self, w):
        if not w["bad"]:
            mask = LANES[w["strobe"]]
            self.beats[w["beat"]] = self.beats.get(w["beat"], 0) & ~mask | w["value"] & mask

    def offer(self, channel, fields):
        """The payload if a beat is offered; it must be the one that was offered before and not taken."""
        value = self.value
        if not value[channel + "_valid"]():
            assert channel not in self.offers, f"{channel}: valid fell before the beat was taken"
            return None
        beat = [value[f"{channel}_{f}"]() for f in fields]
        if channel in self.offers:
            assert self.offers[channel] == beat, f"{channel}: {self.offers[channel]} became {beat}"
        if self.ready:
            self.offers.pop(channel, None)
            return beat
        self.offers[channel] = beat
        return None

    def sample(self, now):
        if self.read and self.value["r_ready"]():
            self.read = None
        if self.answer and self.value["b_ready"]():
            self.answered(self.answer["beat"] << 4)
            self.answer = None
        beat = self.offer("ar", AR)
        if beat:
            address, ident = self.check(beat)
            assert self.in_order or all(r["id"] != ident for r in (*self.reads, *([self.read] if self.read else []))), (
                f"two reads with id {ident}"
            )
            early = self.rng.random() < 0.5
            self.reads.append(
                dict(
                    due=self.due(now),
                    beat=address >> 4,
                    id=ident,
                    bad=self.bad(address, False),
                    data=self.beats.get(address >> 4, 0) if early else None,
                )
            )
            self.most = max(self.most, len(self.reads))
        beat = self.offer("aw", AR)
        if beat:
            address, ident = self.check(beat)
            assert self.in_order or all(w["id"] != ident for w in (*self.writes, *self.addresses)), (
                f"two writes with id {ident}"
            )
            self.addresses.append(dict(beat=address >> 4, id=ident, bad=self.bad(address, True)))
        beat = self.offer("w", ["data", "strb", "last"])
        if beat:
            assert beat[2] == 1, "w_last is low"
            self.data.append(beat)
        while self.addresses and self.data:
            w, (value, strobe, _) = self.addresses.pop(0), self.data.pop(0)
            late = self.all_late if self.in_order else self.rng.random() < 0.5
            w |= dict(value=value, strobe=strobe, late=late, due=self.due(now))
            if not w["late"]:
                self.store(w)
            self.writes.append(w)

    def check(self, beat):
        address, ident, length, size, burst = beat
        assert (length, size, burst, address & 15) == (0, 4, 1, 0), f"not a single beat of 16 bytes: {beat}"
        self.accesses += 1
        return address, ident
