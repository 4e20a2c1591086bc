# SPDX-License-Identifier: Apache-2.0
"""Firmware's own commands to the drive, without data, between the NVMe front end and the core's host port.

One at a time, with the front end's last tag: it goes when no command of the front end has that tag, and while it is
under way such a command waits, and what is behind it. All others pass by it. Nothing is added to a command's way.
"""

from litex.gen import LiteXModule
from litex.soc.interconnect.csr import CSRStatus
from migen import If, Mux, Signal

from soc import streams
from soc.write_only import CSRWriteOnly

TAG = 31
FIELDS = [(field, bits) for field, bits in streams.CMD if field in ("opcode", "lba", "count", "txid", "arg")]


class OwnCommand(LiteXModule):
    """`cmd`, `cpl`: endpoints for the front end, before `host` of the core."""

    def __init__(self, host):
        self.cmd, self.cpl = streams.endpoint(streams.CMD), streams.endpoint(streams.CPL)
        cmd, cpl = host["cmd"], host["cpl"]
        own = {}
        for field, width in FIELDS:
            beside = "; bit 7: it has one" if field == "txid" else ""
            register = CSRWriteOnly(width, name=field, description=f"Field {field} of firmware's own command{beside}.")
            setattr(self, f"own_{field}", register)
            own[field] = register.storage
        own |= {"txid": own["txid"][:7], "hasTx": own["txid"][7]}
        self.own_go = CSRWriteOnly(1, name="go", description="A write sends it, while own_busy is 0.")
        self.own_busy = CSRStatus(1, name="busy", description="It has not ended.")
        self.own_status = CSRStatus(4, name="status", description="How it ended: a Status.")
        self.own_result = CSRStatus(32, name="result", description="Its result.")

        waiting, under_way, theirs, held = Signal(), Signal(), Signal(), Signal()
        goes, blocked, ended = Signal(), Signal(), Signal()
        self.comb += [
            goes.eq(waiting & ~theirs & ~held),
            blocked.eq(under_way & (self.cmd.tag == TAG)),
            cmd.valid.eq(goes | (self.cmd.valid & ~blocked)),
            self.cmd.ready.eq(cmd.ready & ~goes & ~blocked),
            ended.eq(under_way & (cpl.tag == TAG)),
            self.cpl.valid.eq(cpl.valid & ~ended),
            cpl.ready.eq(ended | self.cpl.ready),
            self.own_busy.status.eq(waiting | under_way),
        ]
        for field, _ in streams.CMD:
            mine = TAG if field == "tag" else own.get(field, 0)
            self.comb += getattr(cmd, field).eq(Mux(goes, mine, getattr(self.cmd, field)))
        for field, _ in streams.CPL:
            self.comb += getattr(self.cpl, field).eq(getattr(cpl, field))
        self.sync += [
            held.eq(cmd.valid & ~cmd.ready & ~goes),
            If(self.own_go.re, waiting.eq(1)),
            If(goes & cmd.ready, waiting.eq(0), under_way.eq(1)),
            If(self.cmd.valid & self.cmd.ready & (self.cmd.tag == TAG), theirs.eq(1)),
            If(
                cpl.valid & cpl.ready & (cpl.tag == TAG),
                If(
                    under_way,
                    under_way.eq(0),
                    self.own_status.status.eq(cpl.status),
                    self.own_result.status.eq(cpl.result),
                ).Else(theirs.eq(0)),
            ),
        ]
