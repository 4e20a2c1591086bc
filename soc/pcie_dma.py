# SPDX-License-Identifier: Apache-2.0
"""Reads and writes of host memory that otx_nvme wants (docs/interfaces/nvme.md, "Host side"), on LitePCIe's ports.

`DmaReads`. A read becomes requests of whole 64-bit words, of the maximum read request size at most; what was read
besides is left out of its data. So completions, which may end at any multiple of 64 bytes, have whole beats: of others
LitePCIe 2024.12 loses the last word. Its controller gives each request a tag and puts completions in the order of the
requests. A read crosses no border of 4 KiB, so no request does. Requests wait while the host has not set Bus Master
Enable.

A read of which a request was answered with an error (TlpReceive) has all its beats, and `error` with the last one, when
all of its requests have ended.

When the link goes down (`down`) answers to the reads that are open do not come any more. They, and others of the
controller that was, get an error at once. `cut` is 1 from the moment the link goes down until the core is `quiet`, its
writes have left here too, and no read is open.

`DmaWrites`. A write becomes memory writes of the maximum payload size at most; one begins when all of its data is here,
so it holds up nobody. While `off` (no Bus Master Enable, link down, or `cut`) they are dropped. `accepted`, `done`:
writes that the core has begun, and those of them that were handed to LitePCIe or dropped; `handed`, `left`: memory
writes handed to it, and those that have left it; each modulo its width.
"""

from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from migen import FSM, Cat, If, Mux, NextState, NextValue, Signal

from opentxssd.facts import layout
from soc import streams

OPEN, ASKED, ORDERS, BEATS = 8, 16, 4, 128  # reads; their requests; writes that wait; beats of their data
SETTLED = 15  # clocks for which the core must be quiet


class DmaReads(LiteXModule):
    def __init__(self, port, phy, down, quiet):
        self.want, self.data = want, data = [streams.endpoint(layout(name)) for name in ("DmaRead", "DmaReadBeat")]
        self.cut = Signal()
        self.opened = opened = stream.SyncFIFO([("odd", 1), ("words", 11)], OPEN)
        self.asked = asked = stream.SyncFIFO([("final", 1)], ASKED)  # requests, and whether they end their read
        self.ask(want, port.source, phy, down, opened.sink, asked.sink)
        self.give(port.sink, opened.source, asked.source, data, down, quiet)

    def ask(self, want, request, phy, down, opened, asked):
        address, beats, size = Signal(64), Signal(10), Signal(10)
        last = Signal(13)
        most = phy.max_request_size[3:]
        self.comb += [
            last.eq(want.address[2] + want.length[2:] + 1),
            opened.odd.eq(want.address[2]),
            opened.words.eq(want.length[2:]),
            size.eq(Mux(beats > most, most, beats)),
            request.first.eq(1),
            request.last.eq(1),
            request.adr.eq(address),
            request.len.eq(Cat(0, size)),
            request.req_id.eq(phy.id),
        ]
        self.asking = fsm = FSM(reset_state="WAIT")
        fsm.act(
            "WAIT",
            want.ready.eq(opened.ready),
            opened.valid.eq(want.valid),
            NextValue(address, Cat(0, 0, 0, want.address[3:])),
            NextValue(beats, last[1:]),
            If(want.valid & opened.ready, NextState("ASK")),
        )
        fsm.act(
            "ASK",
            request.valid.eq(phy.bus_master & asked.ready & ~self.cut & ~down),
            asked.final.eq(beats == size),
            If(
                request.valid & request.ready,
                asked.valid.eq(1),
                NextValue(address, address + Cat(0, 0, 0, size)),
                NextValue(beats, beats - size),
                If(beats == size, NextState("WAIT")),
            ),
            If(self.cut | down, NextState("WAIT")),
        )

    def give(self, got, opened, asked, data, down, quiet):
        """`odd`: the first word of what was read is not wanted; then each beat waits for the word behind it."""
        begun, held, left, rest = Signal(), Signal(32), Signal(11), Signal(11)
        still, lost, ends = Signal(max=SETTLED + 1), Signal(), Signal()
        alone = Signal()  # the word that waits is the last one
        failed, over = Signal(), Signal()  # a request of this read has failed; all of them have ended
        fails = Signal()
        self.comb += [
            left.eq(Mux(begun, rest, opened.words)),
            data.last.eq(left <= 2),
            lost.eq(self.cut | down),
            alone.eq(opened.odd & begun & (left == 1)),
            fails.eq(opened.valid & ~alone & got.valid & got.err),
            data.error.eq(data.last & (lost | over)),
            ends.eq(got.valid & got.ready & got.last & got.end),
            asked.ready.eq(ends | lost),
            If(lost, data.valid.eq(opened.valid), got.ready.eq(1))
            .Elif(
                over,
                data.valid.eq(1),
            )
            .Elif(
                failed | fails,
                got.ready.eq(1),
            )
            .Elif(
                opened.valid,
                data.data.eq(Mux(opened.odd, Cat(held, got.dat[:32]), got.dat)),
                data.valid.eq(alone | got.valid & (begun | ~opened.odd)),
                got.ready.eq(~alone & (data.ready | opened.odd & ~begun)),
            ),
            opened.ready.eq(data.valid & data.ready & data.last),
        ]
        self.sync += [
            If(got.valid & got.ready, held.eq(got.dat[32:])),
            If(
                data.valid & data.ready,
                begun.eq(~data.last),
                rest.eq(left - 2),
            ).Elif(got.valid & got.ready & opened.valid & ~lost & ~failed & ~fails, begun.eq(1), rest.eq(left)),
            If(lost | over & data.ready & data.last, failed.eq(0), over.eq(0)).Elif(
                failed | fails, failed.eq(1), over.eq(over | ends & asked.final)
            ),
            If(down, still.eq(0), self.cut.eq(1)).Elif(
                self.cut,
                If(~quiet | opened.valid | data.valid, still.eq(0)).Else(still.eq(still + 1)),
                If(still == SETTLED, self.cut.eq(0)),
            ),
        ]


class DmaWrites(LiteXModule):
    def __init__(self, port, phy, off, down, wrote):
        self.want, self.data = want, data = [streams.endpoint(layout(name)) for name in ("DmaWrite", "DmaBeat")]
        self.accepted, self.done, self.handed, self.left = (Signal(bits) for bits in (4, 4, 6, 6))
        self.orders = orders = stream.SyncFIFO([("address", 64), ("words", 11)], ORDERS)
        self.beats = kept = stream.SyncFIFO([("data", 64)], BEATS, buffered=True)
        here = Signal(max=BEATS + 2)  # beats that are kept
        self.comb += [
            want.connect(orders.sink, keep={"valid", "ready", "address"}),
            orders.sink.words.eq(want.length[2:]),
            data.connect(kept.sink, keep={"valid", "ready", "data"}),
        ]
        self.sync += [
            If(want.valid & want.ready, self.accepted.eq(self.accepted + 1)),
            here.eq(here + (kept.sink.valid & kept.sink.ready) - (kept.source.valid & kept.source.ready)),
            If(down, self.left.eq(0)).Elif(wrote, self.left.eq(self.left + 1)),
        ]
        self.send(port.source, phy, off, down, orders.source, kept.source, here)

    def send(self, request, phy, off, down, order, beat, here):
        address, left, size = Signal(64), Signal(11), Signal(11)
        beats, count, first, dropped = Signal(10), Signal(10), Signal(), Signal()
        most = phy.max_payload_size[2:]
        self.comb += [
            size.eq(Mux(left > most, most, left)),
            beats.eq((size + 1)[1:]),
            request.we.eq(1),
            request.first.eq(first),
            request.last.eq(count == 1),
            request.adr.eq(address),
            request.len.eq(size),
            request.req_id.eq(phy.id),
            request.dat.eq(beat.data),
        ]
        self.sending = fsm = FSM(reset_state="WAIT")
        fsm.act(
            "WAIT",
            order.ready.eq(1),
            NextValue(address, order.address),
            NextValue(left, order.words),
            If(order.valid, NextState("DATA")),
        )
        fsm.act(
            "DATA",
            NextValue(count, beats),
            NextValue(first, 1),
            NextValue(dropped, off),
            If(here >= beats, NextState("SEND")),
        )
        fsm.act(
            "SEND",
            request.valid.eq(beat.valid & ~dropped & ~down),
            beat.ready.eq(request.ready | dropped | down),
            If(down, NextValue(dropped, 1)),
            If(
                beat.valid & beat.ready,
                NextValue(first, 0),
                NextValue(count, count - 1),
                If(
                    request.last,
                    If(~dropped, NextValue(self.handed, self.handed + 1)),
                    NextValue(address, address + Cat(0, 0, size)),
                    NextValue(left, left - size),
                    NextState("DATA"),
                    If(left == size, NextValue(self.done, self.done + 1), NextState("WAIT")),
                ),
            ),
        )
        self.sync += If(down, self.handed.eq(0))
