# SPDX-License-Identifier: Apache-2.0
"""A host behind the PHY's streams of soc/litepcie_nvme.py (tb/nvme_pcie_top.py): it reads and writes BAR 0 by TLPs and
has the memory that the drive's TLPs read and write. TLPs are packed, unpacked and checked by cocotbext-pcie.

What a root complex may do, it does at random: completions are split at multiples of 64 bytes, those of several reads
come mixed and in any order, requests to BAR 0 come between them; a request of which bytes cannot be read gets an error
status, at once or behind some of its data, or poisoned data. One of a page in `mute` gets nothing, or nothing but the
first of its data, until `answer_late`. What a device must keep is asserted: lengths, byte
enables, 4 KiB borders, tags, sizes, no words behind a TLP's end, nothing without Bus Master Enable, no completion in
front of a write that was begun before its answer.
"""

from cocotbext.pcie.core.tlp import CplStatus, Tlp, TlpType
from cocotbext.pcie.core.utils import PcieId

from cocotb_tests.bench.host_memory import PAGE, HostPages
from cocotb_tests.bench.nvme_host import MESSAGES, Host
from cocotb_tests.bench.streams import Pin, Sink, Source, reader

BASE, SIZE = 0xF7A0_4000, 1 << 14
DEVICE, ROOT = PcieId(5, 0, 0), PcieId(0, 3, 0)
READS, WRITES = (TlpType.MEM_READ, TlpType.MEM_READ_64), (TlpType.MEM_WRITE, TlpType.MEM_WRITE_64)
BORDER = 64  # where completions may be split


class Root(HostPages):
    def __init__(self, stepper, dut, rng, latency=20, jitter=0, stall=0.0):
        super().__init__()
        self.stepper, self.rng, self.latency, self.jitter = stepper, rng, latency, jitter
        self.requests, self.answers = [], {}  # TLPs to BAR 0; what came for a tag
        self.open, self.next_tag = {}, 0  # reads of the drive: tag -> [clock, address, bytes left, sent, whole]
        self.wrote = self.message = lambda *_: None
        self.payload, self.request = 128, 512
        self.master = self.link = True
        self.seen = dict.fromkeys(
            "split mixed_tags wide narrow odd beside messages fences ur ca late poisoned".split(), 0
        )
        self.bytes = len(dut.rx_payload_be)
        self.dwords, self.last_tag, self.clock = [], None, 0
        self.begun = self.written = 0  # bytes of writes that the core has begun, and that have come
        self.marks = []  # of the answers that the core gave
        self.mute, self.late = set(), []
        self.silent = self.had_open = False  # reads are not answered; there were some when the link went down
        self.rx = stepper.add(Source(dut, "rx", ["dat", "be", "last"], stall, rng))
        stepper.add(self)
        self.tx = stepper.add(Sink(dut, "tx", ["dat", "be", "last"], self._beat, stall, rng))
        names = "dma_write_valid dma_write_ready dma_write_payload_length bar_rsp_valid bar_rsp_ready".split()
        self.core = [reader(getattr(dut, name)) for name in names]

    # to the drive

    def _send(self, tlp):
        raw = tlp.pack()
        raw = [raw[i : i + 4] for i in range(0, len(raw), 4)]
        width = self.bytes // 4
        for at in range(0, len(raw), width):
            here = raw[at : at + width]
            words = [int.from_bytes(w, "big") for w in here] + [self.rng.getrandbits(32)] * (width - len(here))
            value = sum(w << 32 * i for i, w in enumerate(words))
            last = int(at + width >= len(raw))
            self.rx.queue.append(dict(dat=value, be=(1 << 4 * len(here)) - 1, last=last))

    def drive(self):
        if self.rx.queue:
            return
        ready = [] if self.silent else [tag for tag, read in self.open.items() if read[0] <= self.clock]
        if self.requests and (not ready or self.rng.random() < 0.5):
            self.seen["beside"] += bool(self.open)
            self._send(self.requests.pop(0))
        elif ready:
            self._complete(self.rng.choice(ready))

    def _complete(self, tag):
        _, address, left, sent, tlp = self.open[tag]
        if address >> 12 in self.mute and (sent or self.rng.random() < 0.7):
            self.late.append(self.open.pop(tag)[1:])
            self.failed += 1
            return
        fails = self.fails(address, left)
        if fails and self.rng.random() < 0.4:
            return self._refuse(tag)
        borders = [n for n in range(1, left) if (address + n) % BORDER == 0]
        size = self.rng.choice([left, *borders])
        cpl = Tlp.create_completion_data_for_tlp(tlp, ROOT)
        cpl.set_data(self.get(address, size))
        cpl.byte_count, cpl.lower_address = left, address & 0x7F
        if fails and size == left:
            cpl.ep = True
            self.seen["poisoned"] += 1
            self.failed += 1
        self._send(cpl)
        self.seen["split"] += size < left
        self.seen["mixed_tags"] += sent and self.last_tag != tag
        self.last_tag = tag
        self.open[tag][1:4] = address + size, left - size, True
        if size == left:
            del self.open[tag]

    def answer_late(self):
        """With data that is not there any more, for reads that were given up."""
        for address, left, _, tlp in self.late:
            cpl = Tlp.create_completion_data_for_tlp(tlp, ROOT)
            cpl.set_data(bytes(left))
            cpl.byte_count, cpl.lower_address = left, address & 0x7F
            self._send(cpl)
        self.late = []

    def answer_nobody(self):
        """With a block for each tag that no read has."""
        for tag in {*range(32)} - set(self.open):
            cpl = Tlp()
            cpl.fmt_type, cpl.requester_id, cpl.completer_id, cpl.tag = TlpType.CPL_DATA, DEVICE, ROOT, tag
            cpl.set_data(bytes(64))
            cpl.byte_count = 64
            self._send(cpl)

    def _refuse(self, tag):
        """The rest of it gets an error status."""
        _, address, left, sent, tlp = self.open.pop(tag)
        status = self.rng.choice([CplStatus.UR, CplStatus.CA])
        cpl = Tlp.create_completion_for_tlp(tlp, ROOT, status=status)
        cpl.byte_count, cpl.lower_address = left, address & 0x7F
        self._send(cpl)
        self.seen["ur" if status == CplStatus.UR else "ca"] += 1
        self.seen["late"] += sent
        self.failed += 1

    def reset(self):
        """The link is down: what was on its way is lost."""
        self.had_open |= bool(self.open)
        self.requests, self.answers, self.open, self.dwords, self.marks = [], {}, {}, [], []
        self.rx.queue.clear()
        self.rx.offered, self.tx.waiting, self.silent = False, None, False
        self.begun = self.written = 0

    # from the drive

    def sample(self, clock):
        self.clock = clock
        valid, ready, length, answered, taken = self.core
        if answered() and taken():
            self.marks.append(self.begun)
            self.seen["fences"] += self.begun != self.written
        if valid() and ready():
            self.begun += length()

    def _beat(self, beat, clock):
        if not self.link:
            return
        count = self.bytes // 4
        enabled = [beat["be"] >> 4 * i & 15 for i in range(count)]
        words = enabled.index(0) if 0 in enabled else count
        assert enabled == [15] * words + [0] * (count - words) and words, f"byte enables {beat['be']:#x}"
        assert words == count or beat["last"], "a beat in the middle is not full"
        self.dwords += [(beat["dat"] >> 32 * i & 0xFFFF_FFFF).to_bytes(4, "big") for i in range(words)]
        if beat["last"]:
            raw, self.dwords = b"".join(self.dwords), []
            tlp = Tlp.unpack(raw)
            assert tlp.check() and len(tlp.data) == 4 * tlp.length * tlp.has_data(), tlp
            assert not (tlp.td or tlp.ep)
            self._tlp(tlp)

    def _tlp(self, tlp):
        if tlp.is_completion():
            return self._completion(tlp)
        length = 4 * tlp.length
        assert self.master, f"{tlp}, and the host has not allowed it"
        assert tlp.fmt_type in READS + WRITES and tlp.requester_id == DEVICE
        assert tlp.first_be == 15 and tlp.last_be == (15 if tlp.length > 1 else 0)
        assert tlp.address % PAGE + length <= PAGE, f"{tlp}: over a border"
        wide = tlp.fmt_type in (TlpType.MEM_READ_64, TlpType.MEM_WRITE_64)
        assert wide == (tlp.address >= 1 << 32), f"{tlp}: form of the address"
        self.seen["wide" if wide else "narrow"] += length > 4
        if tlp.fmt_type in READS:
            assert length <= self.request and tlp.tag not in self.open, tlp
            around = [(a & ~7, (a & 7) + n + 7 & ~7) for a, n in self.readable.get(tlp.address >> 12, ())]
            assert any(a <= tlp.address and tlp.address + length <= a + n for a, n in around), f"nobody named {tlp}"
            extra = self.rng.randrange(self.jitter + 1) if self.jitter else 0
            self.open[tlp.tag] = [self.clock + self.latency + extra, tlp.address, length, False, tlp]
            return
        assert length <= self.payload, tlp
        self.written += length
        self.seen["odd"] += not wide and tlp.length > 1 and tlp.length % 2
        if tlp.address >> 20 == MESSAGES >> 20:
            assert length == 4
            self.seen["messages"] += 1
            self.message(tlp.address, int.from_bytes(tlp.data, "little"))
        else:
            assert self.allowed(self.writable, tlp.address, length), f"nobody named {tlp}"
            self.put(tlp.address, bytes(tlp.data))
            self.wrote(tlp.address, bytes(tlp.data))

    def _completion(self, cpl):
        request = self.answers.get(cpl.tag)
        assert isinstance(request, Tlp), f"{cpl}, and nobody asked for it"
        assert cpl.completer_id == DEVICE and cpl.requester_id == request.requester_id
        assert (cpl.tc, cpl.attr) == (request.tc, request.attr), f"{cpl} for {request}"
        if cpl.status == CplStatus.SC:
            assert cpl.has_data() and cpl.length == request.length
            assert cpl.byte_count == max(1, request.get_be_byte_count() if request.first_be else 1), cpl
            lower = request.get_first_be_offset() if request.first_be else 0
            assert cpl.lower_address == (request.address + lower) & 0x7F, cpl
            mark = self.marks.pop(0)
            assert not self.master or self.written >= mark, "a completion has overtaken a write"
        self.answers[cpl.tag] = cpl


class RootBar:
    """BAR 0 as bench/nvme_bar.py has it."""

    def __init__(self, root):
        self.root, self.stepper, self.rng = root, root.stepper, root.rng

    def _request(self, kind, address, size):
        tlp = Tlp()
        tlp.fmt_type = kind
        tlp.requester_id = PcieId(0, self.rng.randrange(32), self.rng.randrange(8))
        tlp.tc, tlp.attr = self.rng.randrange(8), self.rng.randrange(4)
        self.root.next_tag = tlp.tag = (self.root.next_tag + 1) % 256
        tlp.set_addr_be(BASE + address, size)
        return tlp

    def post(self, address, value, size=4):
        tlp = self._request(TlpType.MEM_WRITE, address, size)
        tlp.set_addr_be_data(BASE + address, value.to_bytes(size, "little"))
        self.root.requests.append(tlp)

    async def sent(self):
        await self.stepper.until(lambda: not self.root.requests and not self.root.rx.queue)

    async def write(self, address, value, size=4):
        self.post(address, value, size)
        await self.sent()
        await self.stepper.clocks(12)

    def ask(self, address, size=4):
        """Sends a read; its tag."""
        tlp = self._request(TlpType.MEM_READ, address, size)
        self.root.answers[tlp.tag] = tlp
        self.root.requests.append(tlp)
        return tlp.tag

    async def answer(self, tag):
        await self.stepper.until(lambda: self.root.answers[tag].is_completion())
        return self.root.answers.pop(tag)

    async def read(self, address, size=4):
        cpl = await self.answer(self.ask(address, size))
        assert cpl.status == CplStatus.SC
        return int.from_bytes(cpl.data[address % 4 :][:size], "little")


class PcieHost(Host):
    """An NVMe host whose link comes up with `begin`."""

    def connect(self, dut, stall, latency, jitter):
        self.memory = Root(self, dut, self.rng, latency, jitter, stall)
        self.bar = RootBar(self.memory)
        names = "link_up bus_master msix_enable msix_mask id max_request_size max_payload_size".split()
        self.pins = {name: Pin(getattr(dut, name)) for name in names}

    def pages(self, count):
        """On both sides of 4 GiB."""
        if self.rng.random() < 0.5:
            self.next_page, self.other_page = self.other_page, self.next_page
        return super().pages(count)

    def sizes(self, payload, request):
        self.memory.payload, self.memory.request = payload, request
        self.pins["max_payload_size"].set(payload)
        self.pins["max_request_size"].set(request)

    async def begin(self, payload=128, request=512):
        self.sizes(payload, request)
        self.other_page = 1 << 24
        self.pins["id"].set(int(DEVICE))
        await super().begin()
        self.pins["link_up"].set(1)
        self.pins["bus_master"].set(1)
        await self.clocks(60)
        return self
