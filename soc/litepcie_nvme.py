# SPDX-License-Identifier: Apache-2.0
"""The NVMe front end behind a PCIe PHY of LitePCIe: `NvmeEndpoint` is a transport of `otx_nvme`
(docs/interfaces/nvme.md).

                     +-- LitePCIe's endpoint, 64 bits --+
    PHY  TlpReceive -+-> depacketizer -> BarSlave ------+- bar_req, bar_rsp
    64 or            |       +-> controller -> DmaReads +- dma_read, dma_read_data
    128  TlpSend <---+-- packetizer <--------- DmaWrites+- dma_write, dma_write_data
           ^---------+-- completions of BarSlave        |

Contract. `phy` has what LitePCIe's have: `data_width` (64 or 128), `sink`, `source`, `id`, `bar0_mask`,
`max_request_size`, `max_payload_size`; and in the clock domain sys `link_up`, `bus_master`, `msix_enable`, `msix_mask`.
BAR 0 has 16 KiB and 32 address bits; the MSI-X table is in it at 2000h, its pending bits at 3000h (`S7`).

Order. Memory writes leave in the order of `dma_write`, so an interrupt, which is one of them, comes behind its CQE, and
a CQE behind its data. A completion does not overtake a write that the core has begun before it. Reads overtake writes,
as they may.

Reset. While `link_up` is 0 (power-on reset, hot reset, a lost link) the function is reset, LitePCIe's endpoint too, and
what was under way is lost: no write is sent, and reads fail. The 7-series block has no
function level reset.

Errors. A read that the host answers with an error status, or with poisoned data, fails (`DmaReads`). So does one that
it does not answer, `timeout` clocks after the last sign of any read (`ReadTags`).

What LitePCIe 2024.12 has no way for: a request with 64 address bits, an I/O or a locked one gets no answer, so BAR 0
must not be 64 bits wide.
"""

from litepcie.core.crossbar import LitePCIeCrossbar
from litepcie.tlp.depacketizer import LitePCIeTLPDepacketizer
from litepcie.tlp.packetizer import LitePCIeTLPPacketizer
from litex.gen import LiteXModule
from migen import If, Mux, ResetInserter, Signal

from soc.pcie_bar import BarSlave
from soc.pcie_dma import DmaReads, DmaWrites
from soc.pcie_tags import TAGS, ReadTags
from soc.pcie_tlp import CORE_BITS, TlpReceive, TlpSend

BAR_BYTES = 16 * 1024
COMPLETION_TIMEOUT_MS = 50  # the most that PCIe's default range has
# of Xilinx' pcie_7x: NVM Express of one function, and MSI-X as otx_nvme has it; the numbers are hexadecimal
S7 = {
    "Class_Code_Base": "01",
    "Class_Code_Sub": "08",
    "Class_Code_Interface": "02",
    "Bar0_Scale": "Kilobytes",
    "Bar0_Size": BAR_BYTES // 1024,
    "MSIx_Table_Size": "10",
    "MSIx_Table_Offset": "2000",
    "MSIx_PBA_Offset": "3000",
}


class Endpoint(LiteXModule):
    """LitePCIe's endpoint of its own parts, but a request enters the packetizer when the one before it has left, and
    until then the packetizer sees the address of that one.

    Otherwise the next one decides in which form the last word of this one goes out: it is lost when this one has 32
    address bits and the next one has 64, even if that is not valid yet.
    """

    def __init__(self, received, bar0_mask, timeout):
        self.depacketizer = LitePCIeTLPDepacketizer(CORE_BITS, "big", bar0_mask, ["REQUEST", "COMPLETION"])
        self.packetizer = LitePCIeTLPPacketizer(CORE_BITS, "big", address_width=64, capabilities=["REQUEST"])
        self.crossbar = LitePCIeCrossbar(CORE_BITS, address_width=64, max_pending_requests=TAGS)
        self.tags = tags = ReadTags(CORE_BITS, timeout)
        wanted, request, self.source = self.crossbar.phy_master.source, self.packetizer.req_sink, self.packetizer.source
        free, passes, kept = (
            Signal(reset=1),
            Signal(),
            {name: Signal.like(getattr(wanted, name)) for name in ("we", "adr")},
        )
        self.comb += [
            received.connect(self.depacketizer.sink),
            self.depacketizer.req_source.connect(self.crossbar.phy_slave.sink),
            self.depacketizer.cmp_source.connect(tags.sink),
            tags.source.connect(self.crossbar.phy_master.sink),
            tags.tag.eq(wanted.tag),
            tags.begins.eq(request.valid & ~wanted.we),
            tags.asked.eq(tags.begins & request.ready),
            passes.eq((~wanted.first | free) & (wanted.we | tags.begun | ~tags.stops)),
            wanted.connect(request, omit={"valid", "ready", "tag", *kept}),
            request.tag.eq(Mux(wanted.we, wanted.tag, tags.stamp)),
            request.valid.eq(wanted.valid & passes),
            wanted.ready.eq(request.ready & passes),
            *(getattr(request, name).eq(Mux(request.valid, getattr(wanted, name), was)) for name, was in kept.items()),
        ]
        self.sync += If(request.valid, *(was.eq(getattr(wanted, name)) for name, was in kept.items()))
        self.sync += If(request.valid & request.ready & request.first, free.eq(0)).Elif(
            self.source.valid & self.source.ready & self.source.last, free.eq(1)
        )


class NvmeEndpoint(LiteXModule):
    """`nvme`: what has `transport`, `msix_enable`, `msix_mask` and `function_reset`; `quiet`: a signal of it."""

    def __init__(self, phy, nvme, quiet, timeout):
        assert phy.bar0_mask == ~(BAR_BYTES - 1) & 0xFFFF_FFFF, "BAR 0 has 16 KiB"
        down, off = Signal(reset=1), Signal()
        self.sync += down.eq(~phy.link_up)
        self.receive = ResetInserter()(TlpReceive(phy.data_width))
        self.endpoint = ResetInserter()(Endpoint(self.receive.source, phy.bar0_mask, timeout))
        port, ends = self.endpoint.crossbar, nvme.transport
        wrote, over = Signal(), Signal()  # over: the core is quiet, and no write of it waits here
        self.reads = DmaReads(port.get_master_port(read_only=True), phy, down, over)
        self.writes = DmaWrites(port.get_master_port(write_only=True), phy, off, down, wrote)
        # all requests; with a constant the choice would be a process that no simulator begins
        requests = port.get_slave_port(lambda address: address < BAR_BYTES)
        tlp = self.endpoint.depacketizer.tlp_req
        self.bar = ResetInserter()(BarSlave(requests, tlp, self.writes, phy.id))
        self.send = ResetInserter()(TlpSend(phy.data_width, [self.endpoint.source, self.bar.source]))
        self.comb += [
            off.eq(down | self.reads.cut | ~phy.bus_master),
            over.eq(quiet & (self.writes.accepted == self.writes.done)),
            wrote.eq(self.send.wrote),
            phy.source.connect(self.receive.sink),
            self.send.source.connect(phy.sink),
            *(part.reset.eq(down) for part in (self.receive, self.endpoint, self.bar, self.send)),
            self.bar.req.connect(ends["bar_req"], omit={"valid"}),
            ends["bar_req"].valid.eq(self.bar.req.valid & ~down),
            ends["bar_rsp"].connect(self.bar.rsp, omit={"ready"}),
            ends["bar_rsp"].ready.eq(self.bar.rsp.ready | down),
            ends["dma_read"].connect(self.reads.want),
            self.reads.data.connect(ends["dma_read_data"], omit={"first"}),
            ends["dma_write"].connect(self.writes.want, keep={"valid", "ready", "address", "length"}),
            ends["dma_write_data"].connect(self.writes.data, keep={"valid", "ready", "data"}),
            nvme.msix_enable.eq(phy.msix_enable),
            nvme.msix_mask.eq(phy.msix_mask),
            nvme.function_reset.eq(down),
        ]
