# SPDX-License-Identifier: Apache-2.0
"""Register slices between what a board wires together, so that no path runs through two of them. Nothing here changes
what an access does, only when.

`WishboneSlice`: one access at a time, request and answer through registers: two clocks more. `buffered_port`: a
LiteDRAM native port whose commands pass a buffer; write data and read data pass straight on, so its user must have the
data of a write before it sends the command (as LiteDRAMAXI2Native has).
"""

from litedram.common import LiteDRAMNativePort, cmd_description
from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from migen import If


class WishboneSlice(LiteXModule):
    """From `master` (who asks) to `slave` (who answers).

    An access that its asker gives up is still finished, and its answer dropped.
    """

    def __init__(self, master, slave):
        forward = [getattr(slave, f).eq(getattr(master, f)) for f in ("adr", "dat_w", "sel", "we")]
        self.comb += slave.cyc.eq(slave.stb)
        self.sync += [
            master.ack.eq(0),
            If(
                slave.stb,
                If(slave.ack, slave.stb.eq(0), master.dat_r.eq(slave.dat_r), master.ack.eq(master.cyc & master.stb)),
            ).Elif(master.cyc & master.stb & ~master.ack, slave.stb.eq(1), *forward),
        ]


def buffered_port(module, name, port):
    """A port like `port`, in front of it; the buffer becomes the submodule `name` of `module`."""
    near = LiteDRAMNativePort("both", port.address_width, port.data_width)
    buffer = stream.Buffer(cmd_description(port.address_width), pipe_valid=True, pipe_ready=True)
    setattr(module, name, buffer)
    module.comb += [
        near.cmd.connect(buffer.sink),
        buffer.source.connect(port.cmd),
        near.wdata.connect(port.wdata),
        port.rdata.connect(near.rdata),
        port.flush.eq(near.flush),
    ]
    return near
