# SPDX-License-Identifier: Apache-2.0
"""`otx_nvme` as a LiteX module: the core's host port behind it, a transport before it, and its firmware port as CSRs
(docs/interfaces/nvme.md). `hal` of the administration is sw/firmware/nvme/nvme_hal_otx.c.

A write of a `_go`, `_pop` or `_complete` register does something; what it works on is in the registers beside it and
must stay until that is over. Completions wait in a queue of COMPLETIONS, so that firmware need not wait for a host.
"""

from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import CSRStatus
from migen import Cat, ClockSignal, If, Instance, ResetSignal, Signal

from opentxssd.facts import NvmeEvent, layout
from soc import streams
from soc.own_command import OwnCommand
from soc.write_only import CSRWriteOnly

BAR_REQ, DMA_READ, DMA_READ_BEAT = map(layout, ("BarRequest", "DmaRead", "DmaReadBeat"))
DMA_WRITE, DMA_BEAT = map(layout, ("DmaWrite", "DmaBeat"))
CONTEXT, COMPLETION, TRANSFER, FAILED = map(
    layout, ("QueueContext", "AdminCompletion", "HostTransfer", "FailedCommand")
)
COMPLETIONS = 4
EVENTS = max(NvmeEvent) + 1

# The transport's side: name, fields, whether otx_nvme takes (True) or gives (False), the one field that is the payload.
TRANSPORT = [
    ("bar_req", BAR_REQ, True, None),
    ("bar_rsp", [("data", 64)], False, "data"),
    ("dma_read", DMA_READ, False, None),
    ("dma_read_data", DMA_READ_BEAT, True, None),
    ("dma_write", DMA_WRITE, False, None),
    ("dma_write_data", DMA_BEAT, False, None),
]
SIGNALS = ["msix_enable", "msix_mask", "function_reset"]


def halves(name, width):
    """(register, first bit, bits) of a number."""
    return [(f"{name}_lo", 0, 32), (f"{name}_hi", 32, width - 32)] if width > 32 else [(name, 0, width)]


class OtxNvme(LiteXModule):
    def __init__(self, host):
        self.transport = {name: streams.endpoint(fields) for name, fields, _, _ in TRANSPORT}
        self.msix_enable, self.msix_mask, self.function_reset = Signal(), Signal(), Signal()
        self.active, active = Signal(), Signal()  # a host's command, or a change of its controller, is under way
        ports = {"i_clk": ClockSignal("sys"), "i_reset": ResetSignal("sys"), "o_active": active}
        working = self.storage("working", 1, "Firmware has not ended what a host has asked of it.")
        self.comb += self.active.eq(active | working)
        for name, fields, taken, bare in TRANSPORT:
            ports |= streams.stream_ports(name, self.transport[name], fields, taken, bare)
        ports |= {f"i_{name}": getattr(self, name) for name in SIGNALS}
        self.own = OwnCommand(host)
        ends = host | {"cmd": self.own.cmd, "cpl": self.own.cpl}
        for name, fields, taken in streams.HOST:
            ports |= streams.stream_ports(name, ends[name], fields, not taken)
        ports |= self.control() | self.admin() | self.buffer() | self.contexts() | self.failing()
        self.specials += Instance("otx_nvme", **ports)

    def storage(self, name, width, means):
        """The bits of registers that firmware writes, and the last of them."""
        parts = []
        for register, _, bits in halves(name, width):
            parts.append(CSRWriteOnly(bits, name=register, description=means))
            setattr(self, register, parts[-1])
        return Cat(*(part.storage for part in parts)) if len(parts) > 1 else parts[0].storage

    def strobe(self, name, means):
        register = CSRWriteOnly(1, name=name, description=means)
        setattr(self, name, register)
        return register.re

    def status(self, name, width, means):
        """A signal of that width which firmware reads."""
        value = Signal(width)
        for register, first, bits in halves(name, width):
            csr = CSRStatus(bits, name=register, description=means)
            setattr(self, register, csr)
            self.comb += csr.status.eq(value[first : first + bits])
        return value

    def control(self):
        cleared = CSRWriteOnly(EVENTS, name="events_clear", description="Events whose bit is 1 are cleared by a write.")
        self.events_clear = cleared
        csts = self.storage("csts", 4, "CSTS: RDY, CFS, SHST from bit 0 on.")
        coalesce = self.storage("coalesce", 16, "Feature 08h: threshold in 7:0, time in 15:8.")
        modes = self.storage("modes", 2, "Bit 0: the volatile write cache is off; bit 1: streams are on.")
        read = [
            ("cc", 32, "CC as the host wrote it."),
            ("aqa", 32, "AQA."),
            ("asq", 64, "ASQ."),
            ("acq", 64, "ACQ."),
            ("events", EVENTS, "What the host has done: a bit for each NvmeEvent."),
            ("quiet", 1, "Nothing of a controller that was disabled is under way."),
            ("host_reads", 32, "Read commands since power on, modulo 2^32."),
            ("host_writes", 32, "Write commands."),
            ("blocks_read", 32, "Blocks that they have read."),
            ("blocks_written", 32, "Blocks that they have written."),
            ("latency_count", 32, "COMMITs that took 2^`latency_index` clocks or more, and less than twice that."),
        ]
        return {f"o_{name}": self.status(name, width, means) for name, width, means in read} | {
            "i_events_clear_valid": cleared.re,
            "i_events_clear_payload": cleared.storage,
            "i_csts_ready": csts[0],
            "i_csts_fatal": csts[1],
            "i_csts_shutdown": csts[2:],
            "i_arbitration": self.storage("arbitration", 32, "Feature 01h."),
            "i_coalesce_above": coalesce[:8],
            "i_coalesce_time": coalesce[8:],
            "i_at_once": self.storage("at_once", 16, "Vectors that are not coalesced, a bit each."),
            "i_latency_index": self.storage("latency_index", 5, "Which bucket of the commit latencies is looked at."),
            "i_write_through": modes[0],
            "i_streams": modes[1],
        }

    def admin(self):
        queue = self.completions = stream.SyncFIFO(COMPLETION, COMPLETIONS)
        means = {"dw0": "DW0 of a completion.", "dw1": "Its DW1.", "status": "Its status.", "cid": "Its command."}
        for field, width in COMPLETION:
            self.comb += getattr(queue.sink, field).eq(self.storage(f"admin_{field}", width, means[field]))
        self.comb += [
            queue.sink.valid.eq(self.strobe("admin_complete", "A write completes an admin command.")),
            self.status("admin_room", 1, "One more completion fits.").eq(queue.sink.ready),
        ]
        return streams.stream_ports("admin_cpl", queue.source, COMPLETION, True) | {
            "o_admin_valid": self.status("admin_valid", 1, "An admin command is here."),
            "o_admin_word": self.status("admin_word", 32, "Its word `admin_index`."),
            "i_admin_index": self.storage("admin_index", 4, "Which word of the admin command is looked at."),
            "i_admin_pop": self.strobe("admin_pop", "A write takes the admin command."),
        }

    def buffer(self):
        seek = CSRWriteOnly(10, name="buffer_seek", description="A write sets the index of the buffer.")
        write = CSRWriteOnly(
            32, name="buffer_write", description="A write puts a word there; the index goes up by one."
        )
        self.buffer_seek, self.buffer_write = seek, write
        means = {
            "address": "Where in host memory a transfer is.",
            "first": "The word of the buffer at which it begins.",
            "length": "Its bytes.",
            "toHost": "1: from the buffer to the host.",
        }
        ports = {
            f"i_transfer_payload_{field}": self.storage(f"transfer_{field.lower()}", width, means[field])
            for field, width in TRANSFER
        }
        return ports | {
            "i_transfer_valid": self.strobe("transfer_go", "A write begins the transfer."),
            "o_transferring": self.status("transferring", 1, "A transfer is under way."),
            "o_transfer_failed": self.status("transfer_failed", 1, "The last one could not read host memory."),
            "i_buffer_seek_valid": seek.re,
            "i_buffer_seek_payload": seek.storage,
            "i_buffer_write_valid": write.re,
            "i_buffer_write_payload": write.storage,
            "i_buffer_next": self.strobe("buffer_next", "A write adds one to the index."),
            "o_buffer_word": self.status("buffer_word", 32, "The word at the index."),
        }

    def contexts(self):
        going, ready, go = Signal(), Signal(), self.strobe("context_go", "A write sets that queue.")
        self.sync += If(go, going.eq(1)).Elif(ready, going.eq(0))
        self.comb += self.status("context_busy", 1, "It has not been set yet.").eq(going)
        ports = {"i_context_valid": going, "o_context_ready": ready}
        for field, width in CONTEXT:
            means = f"Field {field} of a queue's context."
            ports[f"i_context_payload_{field}"] = self.storage(f"context_{field}", width, means)
        return ports

    def failing(self):
        failed = stream.Endpoint(FAILED)
        self.comb += [
            self.status("failed_valid", 1, "An I/O command has failed; the registers beside say which.").eq(
                failed.valid
            ),
            failed.ready.eq(self.strobe("failed_pop", "A write drops it.")),
        ]
        for field, width in FAILED:
            self.comb += self.status(f"failed_{field}", width, f"Its {field}.").eq(getattr(failed, field))
        return streams.stream_ports("failed", failed, FAILED, False)
