# SPDX-License-Identifier: Apache-2.0
"""BAR 0 of otx_nvme as a host sees it: 32- and 64-bit accesses, in order (docs/interfaces/nvme.md)."""

from cocotb_tests.bench.streams import Sink, Source
from opentxssd.facts import ports

CAP, VS, INTMS, INTMC, CC, CSTS, NSSR, AQA, ASQ, ACQ = 0, 8, 0xC, 0x10, 0x14, 0x1C, 0x20, 0x24, 0x28, 0x30
DOORBELLS, TABLE, PENDING = 0x1000, 0x2000, 0x3000
VECTORS = 16


class Bar:
    """`stepper` drives its two streams."""

    def __init__(self, stepper, dut, stall=0.0, rng=None):
        self.stepper, self.answers = stepper, []
        self.requests = stepper.add(Source(dut, "bar_req", ports("BarRequest"), stall, rng))
        stepper.add(Sink(dut, "bar_rsp", [], lambda beat, _: self.answers.append(beat["payload"]), stall, rng))

    def post(self, address, value, size=4):
        """A write, sent behind those before it."""
        at = address % 8
        assert size in (1, 2, 4, 8) and address % size == 0
        self.requests.queue.append(
            dict(write=1, address=address - at, data=value << 8 * at, mask=((1 << size) - 1) << at)
        )

    async def write(self, address, value, size=4):
        self.post(address, value, size)
        await self.stepper.until(lambda: not self.requests.queue)
        await self.stepper.clocks(2)

    async def read(self, address, size=4):
        at = address % 8
        known = len(self.answers)
        assert not self.requests.queue
        self.requests.queue.append(dict(write=0, address=address - at, data=0, mask=0xFF))
        await self.stepper.until(lambda: len(self.answers) > known)
        return self.answers.pop() >> 8 * at & (1 << 8 * size) - 1
