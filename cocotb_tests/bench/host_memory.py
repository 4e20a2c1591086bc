# SPDX-License-Identifier: Apache-2.0
"""Memory of an NVMe host: its pages and grants, and behind the DMA streams of otx_nvme (docs/interfaces/nvme.md).
Nothing is read or written that no grant allows."""

from cocotb_tests.bench.streams import Sink, Source
from opentxssd.facts import ports

PAGE, MOST_OPEN = 4096, 8


class HostPages:
    """A grant is (address, length): bytes that may be read, or written. Of pages in `failing` nothing can be read, and
    each read of them is counted in `failed`."""

    def __init__(self):
        self.pages, self.readable, self.writable = {}, {}, {}
        self.failing, self.failed = set(), 0

    def fails(self, address, length):
        """Whether bytes of it cannot be read."""
        pages = range(address >> 12, (address + length - 1 >> 12) + 1)
        return any(page in self.failing for page in pages)

    # contents

    def put(self, address, raw):
        for at, byte in self._spread(address, raw):
            self.pages.setdefault(at >> 12, bytearray(PAGE))[at & PAGE - 1 : (at & PAGE - 1) + len(byte)] = byte

    def get(self, address, length):
        found = b""
        while length:
            size = min(length, PAGE - address % PAGE)
            page = self.pages.get(address >> 12, bytes(PAGE))
            found += page[address % PAGE : address % PAGE + size]
            address, length = address + size, length - size
        return found

    def word(self, address):
        return int.from_bytes(self.get(address, 8), "little")

    @staticmethod
    def _spread(address, raw):
        at = 0
        while at < len(raw):
            size = min(len(raw) - at, PAGE - (address + at) % PAGE)
            yield address + at, raw[at : at + size]
            at += size

    # grants: {page: {(address, length): how often}}

    @staticmethod
    def allow(grants, pieces):
        for address, length in pieces:
            kept = grants.setdefault(address >> 12, {})
            kept[address, length] = kept.get((address, length), 0) + 1

    @staticmethod
    def forbid(grants, pieces):
        for address, length in pieces:
            kept = grants[address >> 12]
            kept[address, length] -= 1
            if not kept[address, length]:
                del kept[address, length]

    @staticmethod
    def allowed(grants, address, length):
        return any(a <= address and address + length <= a + n for a, n in grants.get(address >> 12, ()))


class HostMemory(HostPages):
    """`latency`: clocks from a read to its first beat; up to `jitter` more at random. `stall`: of the streams.

    `wrote(address, bytes)` is called when a write has ended, `message(address, data)` for an interrupt.
    """

    def __init__(self, stepper, dut, rng, latency=20, jitter=0, stall=0.0):
        super().__init__()
        self.rng, self.latency, self.jitter = rng, latency, jitter
        self.open, self.writes, self.beats, self.bursts = [], [], [], []  # reads; writes without data; data
        self.wrote = self.message = lambda *_: None
        self.most_open = self.clock = 0
        self.read_bytes = self.written_bytes = 0
        self.reads = stepper.add(Sink(dut, "dma_read", ports("DmaRead"), self._read, stall, rng))
        stepper.add(self)
        self.data = stepper.add(Source(dut, "dma_read_data", ports("DmaReadBeat"), stall, rng))
        self.done = stepper.add(Sink(dut, "dma_write", ports("DmaWrite"), self._write, stall, rng))
        self.done_data = stepper.add(Sink(dut, "dma_write_data", ports("DmaBeat"), self._beat, stall, rng))

    # the streams

    def _checked(self, beat, grants):
        address, length = beat["address"], beat["length"]
        assert address % 4 == 0 and length % 4 == 0 and 4 <= length <= PAGE, f"{address:#x}, {length} bytes"
        assert address % PAGE + length <= PAGE, f"{address:#x}, {length} bytes: over a border"
        assert self.allowed(grants, address, length), f"nobody named {length} bytes at {address:#x}"
        return address, length

    def _read(self, beat, clock):
        address, length = self._checked(beat, self.readable)
        extra = self.rng.randrange(self.jitter + 1) if self.jitter else 0
        self.open.append((clock + self.latency + extra, address, length))
        self.most_open = max(self.most_open, len(self.open) + len([b for b in self.data.queue if b["last"]]))
        assert self.most_open <= MOST_OPEN, f"{self.most_open} reads are open"
        self.read_bytes += length

    def drive(self):
        while self.open and self.open[0][0] <= self.clock + 1 and len(self.data.queue) < 2:
            _, address, length = self.open.pop(0)
            error = int(self.fails(address, length))
            self.failed += error
            raw = self.get(address, length)
            if error and self.rng.random() < 0.5:  # else it looks right
                raw = self.rng.randbytes(length)
            raw += self.rng.randbytes(-length % 8)  # what is behind the last byte means nothing
            words = [int.from_bytes(raw[i : i + 8], "little") for i in range(0, len(raw), 8)]
            ends = [int(i == len(words) - 1) for i in range(len(words))]
            self.data.queue += [dict(data=w, last=e, error=e & error) for w, e in zip(words, ends, strict=True)]

    def sample(self, clock):
        self.clock = clock

    def _write(self, beat, clock):
        if beat["message"]:
            assert beat["length"] == 4
            self.writes.append((beat["address"], 4, True))
        else:
            self.writes.append((*self._checked(beat, self.writable), False))
        self._apply()

    def _beat(self, beat, clock):
        self.beats.append(beat["data"])
        if beat["last"]:
            self.bursts.append(self.beats)
            self.beats = []
            self._apply()

    def _apply(self):
        while self.bursts and self.writes:
            beats, (address, length, message) = self.bursts.pop(0), self.writes.pop(0)
            assert len(beats) == -(-length // 8), f"{len(beats)} beats for {length} bytes"
            raw = b"".join(b.to_bytes(8, "little") for b in beats)[:length]
            if message:
                self.message(address, int.from_bytes(raw, "little"))
            else:
                self.put(address, raw)
                self.written_bytes += length
                self.wrote(address, raw)
