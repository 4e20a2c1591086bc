# SPDX-License-Identifier: Apache-2.0
"""The embedded host port as CSRs: on a board a PC drives the transactional SSD over UARTBone (or any LiteX bus master)
without an NVMe or SATA front end.

Command: while `cmd_ready` reads 1, write the `cmd_*` fields and then `cmd_go`; the fields must stay until `cmd_ready`
reads 1 again. A WRITE: while `wreq_valid`, take `wreq_tag`/`wreq_block`, write the number in `wreq_request` to
`wdata_request`, write `wreq_pop`, then 512 times `wdata_lo`, `wdata_hi` (a write of `wdata_hi` sends the beat; `last`
is counted here), never more beats than `wdata_room` says fit. The number is that of a beat when it is sent.
Read data: while `rdata_valid`, read tag, block, lo, hi, last, then write `rdata_pop`. Completions the same way with
`cpl_*`. Nothing is lost when the PC is slow: every stream waits. Reset empties the queue of write data and forgets a
command that was not taken.
"""

from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import CSRStatus
from migen import If, Signal, bits_for

from opentxssd.facts import BEATS
from soc import streams
from soc.write_only import CSRWriteOnly

BEAT_QUEUE = 16
STREAMS = {
    "wreq": "Blocks of write data that are wanted",
    "rdata": "Read data, a beat of 64 bits",
    "cpl": "Completions",
}
HALVES = {"": "", "_lo": ", bits 31:0", "_hi": ", bits 63:32"}


class HostPort(LiteXModule):
    def __init__(self, host):
        self.command(host["cmd"])
        self.take("wreq", host["wdata_req"], streams.WDATA_REQ)
        self.write_data(host["wdata"])
        self.take("rdata", host["rdata"], streams.RDATA)
        self.take("cpl", host["cpl"], streams.CPL)

    def command(self, cmd):
        for field, width in streams.CMD:
            register = CSRWriteOnly(
                width,
                name=f"cmd_{field.lower()}",
                description=f'Field {field} of the command (docs/interfaces.md, "Host port").',
            )
            setattr(self, f"cmd_{field.lower()}", register)
            self.comb += getattr(cmd, field).eq(register.storage)
        self.cmd_go = CSRWriteOnly(1, name="cmd_go", description="A write sends the command in the cmd registers.")
        self.cmd_ready = CSRStatus(1, name="cmd_ready", description="The last command has been taken.")
        waiting = Signal()
        self.sync += If(self.cmd_go.re, waiting.eq(1)).Elif(cmd.ready, waiting.eq(0))
        self.comb += [cmd.valid.eq(waiting), self.cmd_ready.status.eq(~waiting)]

    def take(self, name, ep, layout):
        """A stream that comes out of the core: its head as status registers, and a register that drops it."""
        valid = CSRStatus(
            1, name=f"{name}_valid", description=f"{STREAMS[name]}: one is there; the registers below are its head."
        )
        pop = CSRWriteOnly(1, name=f"{name}_pop", description="A write drops the head.")
        setattr(self, f"{name}_valid", valid)
        setattr(self, f"{name}_pop", pop)
        self.comb += [valid.status.eq(ep.valid), ep.ready.eq(pop.re)]
        for field, _ in layout:
            value = getattr(ep, field)
            parts = [("_lo", value[:32]), ("_hi", value[32:])] if len(value) > 32 else [("", value)]
            for suffix, bits in parts:
                register = CSRStatus(
                    len(bits), name=f"{name}_{field}{suffix}", description=f"Its {field}{HALVES[suffix]}."
                )
                setattr(self, f"{name}_{field}{suffix}", register)
                self.comb += register.status.eq(bits)

    def write_data(self, wdata):
        self.wdata_request = CSRWriteOnly(
            12, name="wdata_request", description="The request that the next beats answer: wreq_request."
        )
        self.wdata_lo = CSRWriteOnly(32, name="wdata_lo", description="Bits 31:0 of a beat of write data.")
        self.wdata_hi = CSRWriteOnly(32, name="wdata_hi", description="Bits 63:32; a write sends the beat.")
        self.wdata_room = CSRStatus(bits_for(BEAT_QUEUE), name="wdata_room", description="How many more beats fit.")
        queue = self.wdata_queue = stream.SyncFIFO([("request", 12), ("data", 64)], BEAT_QUEUE)
        beat = Signal(max=BEATS)
        self.comb += [
            queue.sink.valid.eq(self.wdata_hi.re),
            queue.sink.request.eq(self.wdata_request.storage),
            queue.sink.data[:32].eq(self.wdata_lo.storage),
            queue.sink.data[32:].eq(self.wdata_hi.storage),
            self.wdata_room.status.eq(BEAT_QUEUE - queue.level),
            wdata.valid.eq(queue.source.valid),
            queue.source.ready.eq(wdata.ready),
            wdata.request.eq(queue.source.request),
            wdata.data.eq(queue.source.data),
            wdata.last.eq(beat == BEATS - 1),
        ]
        self.sync += If(wdata.valid & wdata.ready, beat.eq(beat + 1))
