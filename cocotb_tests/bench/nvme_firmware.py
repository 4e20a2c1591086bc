# SPDX-License-Identifier: Apache-2.0
"""Firmware of an NVMe controller as otx_nvme knows it: its ports, and administration as far as queues need it
(docs/interfaces/nvme.md, "Firmware's side")."""

import struct

from cocotb_tests.bench.streams import Pin, Sink, Source
from opentxssd.facts import NvmeEvent, ports

IDENTIFY, CREATE_SQ, DELETE_SQ, CREATE_CQ, DELETE_CQ = 0x06, 0x01, 0x00, 0x05, 0x04
INPUTS = """csts_ready csts_fatal csts_shutdown arbitration coalesce_above coalesce_time at_once write_through streams
events_clear_valid events_clear_payload admin_index admin_pop transfer_valid buffer_seek_valid buffer_seek_payload
buffer_write_valid buffer_write_payload buffer_next""".split()


class Firmware:
    def __init__(self, stepper, dut, stall=0.0, rng=None):
        self.stepper, self.dut = stepper, dut
        self.pins = {name: Pin(getattr(dut, name)) for name in INPUTS}
        self.transfers = {n: Pin(getattr(dut, f"transfer_payload_{n}")) for n in ports("HostTransfer")}
        self.context = stepper.add(Source(dut, "context", ports("QueueContext"), stall, rng))
        self.admin_cpl = stepper.add(Source(dut, "admin_cpl", ports("AdminCompletion"), stall, rng))
        self.failed = []
        stepper.add(Sink(dut, "failed", ports("FailedCommand"), lambda b, _: self.failed.append(b), stall, rng))

    def set(self, **values):
        for name, value in values.items():
            self.pins[name].set(value)

    def value(self, name):
        return int(getattr(self.dut, name).value)

    def events(self):
        return {e for e in NvmeEvent if self.value("events") >> e & 1}

    async def pulse(self, name, **payload):
        self.set(**payload, **{name: 1})
        await self.stepper.step()
        self.set(**{name: 0})

    async def clear(self, *events):
        await self.pulse("events_clear_valid", events_clear_payload=sum(1 << e for e in events))

    # queues

    async def queue(self, **fields):
        """Sets a queue, or takes it away; returns when that is done."""
        self.context.queue.append(dict.fromkeys(ports("QueueContext"), 0) | fields)
        await self.stepper.until(lambda: not self.context.queue)

    async def enable(self):
        """The host has set CC.EN: the admin queues as AQA, ASQ and ACQ have them, then CSTS.RDY."""
        await self.stepper.until(lambda: self.value("cc") & 1)
        await self.clear(NvmeEvent.CC_CHANGED)
        aqa = self.value("aqa")
        await self.queue(queue=0, completes=1, valid=1, base=self.value("acq"), size=aqa >> 16, interrupts=1)
        await self.queue(queue=0, valid=1, base=self.value("asq"), size=aqa & 0xFFF)
        self.set(csts_ready=1)

    async def disable(self):
        """The host has cleared it."""
        await self.stepper.until(lambda: NvmeEvent.DISABLED in self.events())
        await self.stepper.until(lambda: self.value("quiet"), 200_000)
        await self.clear(NvmeEvent.DISABLED, NvmeEvent.CC_CHANGED)
        self.set(csts_ready=0)

    # admin commands

    async def take(self):
        """The 16 words of the next admin command."""
        await self.stepper.until(lambda: self.value("admin_valid"))
        words = []
        for i in range(16):
            self.set(admin_index=i)
            await self.stepper.clocks(2)
            words.append(self.value("admin_word"))
        await self.pulse("admin_pop")
        return words

    def end(self, cid, status=0, dw0=0, dw1=0):
        self.admin_cpl.queue.append(dict(status=status, cid=cid, dw0=dw0, dw1=dw1))

    async def serve(self):
        """Takes one command, and does it if it is about queues; returns its words."""
        words = await self.take()
        opcode, cid, cdw10, cdw11 = words[0] & 0xFF, words[0] >> 16, words[10], words[11]
        queue, size, base = cdw10 & 0xFFFF, cdw10 >> 16, words[6] | words[7] << 32
        if opcode == CREATE_CQ:
            vector, interrupts = cdw11 >> 16, cdw11 >> 1 & 1
            await self.queue(
                queue=queue, completes=1, valid=1, base=base, size=size, vector=vector, interrupts=interrupts
            )
        elif opcode == CREATE_SQ:
            await self.queue(queue=queue, valid=1, base=base, size=size, cq=cdw11 >> 16, priority=cdw11 >> 1 & 3)
        elif opcode in (DELETE_SQ, DELETE_CQ):
            await self.queue(queue=queue, completes=int(opcode == DELETE_CQ))
        self.end(cid)
        return words

    # the buffer

    async def write_buffer(self, first, raw):
        await self.pulse("buffer_seek_valid", buffer_seek_payload=first)
        for (word,) in struct.iter_unpack("<I", raw):
            await self.pulse("buffer_write_valid", buffer_write_payload=word)

    async def read_buffer(self, first, words):
        await self.pulse("buffer_seek_valid", buffer_seek_payload=first)
        found = b""
        for _ in range(words):
            await self.stepper.clocks(2)
            found += struct.pack("<I", self.value("buffer_word"))
            await self.pulse("buffer_next")
        return found

    async def transfer(self, address, first, length, to_host):
        for name, value in dict(address=address, first=first, length=length, toHost=int(to_host)).items():
            self.transfers[name].set(value)
        await self.pulse("transfer_valid")
        await self.stepper.until(lambda: not self.value("transferring"))
