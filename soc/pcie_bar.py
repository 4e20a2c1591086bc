# SPDX-License-Identifier: Apache-2.0
"""Accesses of a host to BAR 0, from LitePCIe's request port to `bar_req` and `bar_rsp` (docs/interfaces/nvme.md).

A request is one word or two, an aligned pair, with its byte enables. A read is answered once, with the byte count and
lower address of its byte enables, its traffic class and attributes, in the order of the reads; of two words in one
completion. Other lengths: a read gets Unsupported Request, a write is dropped. Up to READS reads are under way; while
they are no request passes.

A completion does not overtake writes: it waits until those that the core had begun before the answer have left for the
PHY (`accepted`, `done`, `handed`, `left` of DmaWrites). So a host that has read in a register that something is over
finds the data in its memory.

LitePCIe's request has no byte enables, so they are taken beside it from its depacketizer (`tlp`), which gives them in
the same clock. Its own completions have no byte count, and of two words the first only, so they are made here: `source`
is a stream of TLPs.
"""

from litepcie.common import phy_layout
from litex.gen import LiteXModule, reverse_bytes
from litex.soc.interconnect import stream
from migen import FSM, Array, Cat, Constant, If, Mux, NextState, NextValue, Replicate, Signal

from opentxssd.facts import layout

READS = 4
BAR_BITS = 14
COMPLETION, DATA, UNSUPPORTED = 0x0A, 0x40, Constant(1, 3)
HEADER = [("ur", 1), ("pair", 1), ("odd", 1), ("bytes", 12), ("lower", 7), ("id", 16), ("tag", 8), ("kind", 5)]


def enabled_bytes(first, last, pair):
    """(bytes from the first enabled one to the last, where the first one is) of a request's byte enables."""
    leading, trailing, one = Signal(2), Signal(2), Signal(3)
    statements = [
        leading.eq(Mux(first[0], 0, Mux(first[1], 1, Mux(first[2], 2, Mux(first[3], 3, 0))))),
        trailing.eq(Mux(last[3], 0, Mux(last[2], 1, Mux(last[1], 2, 3)))),
        one.eq(Mux(first[3], 4, Mux(first[2], 3, Mux(first[1], 2, 1))) - leading),
    ]
    return Mux(pair, 8 - leading - trailing, one), leading, statements


class BarSlave(LiteXModule):
    def __init__(self, port, tlp, writes, completer):
        self.req = req = stream.Endpoint(layout("BarRequest"))
        self.rsp = rsp = stream.Endpoint([("data", 64)])
        self.source = source = stream.Endpoint(phy_layout(64))
        self.headers = headers = stream.SyncFIFO(HEADER, READS)
        self.receive(port.sink, tlp, req, headers.sink)
        self.answer(rsp, headers.source, writes, completer, source)

    def receive(self, sink, tlp, req, header):
        pair, good = Signal(), Signal()  # the same in all beats of a request; a good one has one
        count, leading, statements = enabled_bytes(tlp.first_be, tlp.last_be, pair)
        self.comb += [
            *statements,
            pair.eq(sink.len == 2),
            good.eq((sink.len == 1) | pair & ~sink.adr[2]),
            req.write.eq(sink.we),
            req.address.eq(Cat(0, 0, 0, sink.adr[3:BAR_BITS])),
            req.data.eq(Mux(pair, sink.dat[:64], Cat(sink.dat[:32], sink.dat[:32]))),
            If(pair, req.mask.eq(Cat(tlp.first_be, tlp.last_be)))
            .Elif(sink.adr[2], req.mask.eq(Cat(Replicate(0, 4), tlp.first_be)))
            .Else(req.mask.eq(tlp.first_be)),
            header.ur.eq(~good),
            header.pair.eq(pair),
            header.odd.eq(sink.adr[2]),
            header.bytes.eq(Mux(good, count, Cat(0, 0, sink.len))),
            header.lower.eq(Cat(leading, sink.adr[2:7])),
            header.id.eq(sink.req_id),
            header.tag.eq(sink.tag),
            header.kind.eq(Cat(tlp.attr, tlp.tc)),
            If(
                sink.valid,
                If(sink.we & ~good, sink.ready.eq(1))
                .Elif(sink.we, req.valid.eq(1), sink.ready.eq(req.ready))
                .Elif(
                    good,
                    req.valid.eq(header.ready),
                    header.valid.eq(req.ready),
                    sink.ready.eq(req.ready & header.ready),
                )
                .Else(header.valid.eq(1), sink.ready.eq(header.ready)),
            ),
        ]

    def answer(self, rsp, header, writes, completer, source):
        data, mark, sent = Signal(64), Signal(len(writes.done)), Signal(len(writes.left))
        first = Array([data[:32], data[32:]])[header.odd]
        over, gone = Signal(len(mark)), Signal(len(sent))
        self.comb += [over.eq(writes.done - mark), gone.eq(writes.left - sent)]
        self.fsm = fsm = FSM(reset_state="WAIT")
        fsm.act(
            "WAIT",
            rsp.ready.eq(header.valid & ~header.ur),
            NextValue(data, rsp.data),
            NextValue(mark, writes.accepted),
            If(header.valid & (header.ur | rsp.valid), NextState("BEGUN")),
        )
        fsm.act("BEGUN", NextValue(sent, writes.handed), If(~over[-1], NextState("LEFT")))
        fsm.act("LEFT", If(~gone[-1], NextState("SEND-0")))
        words = [Signal(32) for _ in range(3)]
        self.comb += [
            words[0][:2].eq(Mux(header.ur, 0, Mux(header.pair, 2, 1))),
            words[0][12:14].eq(header.kind[:2]),
            words[0][20:23].eq(header.kind[2:]),
            words[0][24:].eq(Mux(header.ur, COMPLETION, DATA | COMPLETION)),
            words[1].eq(Cat(header.bytes, 0, Mux(header.ur, UNSUPPORTED, Replicate(0, 3)), completer)),
            words[2].eq(Cat(header.lower, 0, header.tag, header.id)),
            source.be.eq(0xFF),
            If(fsm.ongoing("SEND-0"), source.dat.eq(Cat(words[0], words[1])))
            .Elif(fsm.ongoing("SEND-1"), source.dat.eq(Cat(words[2], reverse_bytes(first))))
            .Else(source.dat.eq(reverse_bytes(data[32:]))),
        ]
        fsm.act("SEND-0", source.valid.eq(1), If(source.ready, NextState("SEND-1")))
        fsm.act(
            "SEND-1",
            source.valid.eq(1),
            source.last.eq(~header.pair | header.ur),
            If(source.ready, NextState("SEND-2"), If(source.last, header.ready.eq(1), NextState("WAIT"))),
        )
        fsm.act(
            "SEND-2", source.valid.eq(1), source.last.eq(1), If(source.ready, header.ready.eq(1), NextState("WAIT"))
        )
