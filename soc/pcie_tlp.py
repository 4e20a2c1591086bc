# SPDX-License-Identifier: Apache-2.0
"""TLPs between a PCIe PHY of LitePCIe (64 or 128 bits) and its endpoint, which is used with 64 bits.

LitePCIe 2024.12 does not look at byte enables: of the TLPs that it sends only those with one word of data, or with
whole beats of it, have the end that their length says, and from its own converter between the widths it takes only the
lower half. So both directions are counted here, by the length in the header.

`TlpReceive`: PHY to endpoint; a TLP has as many beats as its header says (a digest is cut off), half a beat of 128 bits
each; no clock is lost in between. A completion that brings no data, or poisoned data, has an error status, and one
without data is the last one of its request, for LitePCIe looks at the status of each, but finds the end of a request by
length and byte count only, and does not look at the poison bit.
`TlpSend`: the TLPs of several sources in turn, whole ones, to the PHY; what a source gives behind the end that the
header says is dropped, and the last beat has the byte enables of the words that are there. `wrote`: the last beat of a
memory write was taken.

Words of a header are numbers, words of data have their first byte in 31:24, as 7-series PHYs have them.
"""

from litepcie.common import phy_layout
from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from litex.soc.interconnect.packet import Arbiter
from migen import Cat, If, Mux, Signal

CORE_BITS = 64
COMPLETION = 0b0_01010  # type, and three words of header


def words_of(header):
    """Words of a TLP, by the first word of its header."""
    length = Signal(11)
    words = Signal(12)
    return words, [
        length.eq(Mux(header[:10] == 0, 1024, header[:10])),
        words.eq(3 + header[29] + Mux(header[30], length, 0)),
    ]


class TlpReceive(LiteXModule):
    def __init__(self, data_width):
        assert data_width in (CORE_BITS, 2 * CORE_BITS)
        self.sink = sink = stream.Endpoint(phy_layout(data_width))
        self.source = source = stream.Endpoint(phy_layout(CORE_BITS))
        wide = data_width != CORE_BITS
        begin, skip, upper = Signal(reset=1), Signal(), Signal()  # the next beat is a TLP's first; none of it is wanted
        left, beats = Signal(12), Signal(12)  # beats of 64 bits that come, with the one that is here
        words, count = words_of(sink.dat)
        half = Mux(upper, sink.dat[-CORE_BITS:], sink.dat[:CORE_BITS])
        head, completion, empty, failed = Signal(CORE_BITS), Signal(), Signal(), Signal()  # of a completion
        end, step, taken = Signal(), Signal(), Signal()
        self.comb += [
            *count,
            beats.eq(Mux(begin, (words + 1)[1:], left)),
            taken.eq(upper | (not wide) | (beats == 1) | skip),  # nothing behind it in this beat is wanted
            end.eq(sink.last & taken),
            source.valid.eq(sink.valid & ~skip),
            head.eq(sink.dat[:CORE_BITS]),
            completion.eq(begin & (head[24:30] == COMPLETION)),
            empty.eq(completion & ~head[30]),
            failed.eq(completion & (head[14] | ~head[30])),
            source.dat.eq(half),
            If(empty, source.dat[:10].eq(head[34:44])),  # as many words as are left
            If(failed, source.dat[45].eq(1)),
            source.be.eq(0xFF),
            source.last.eq((beats == 1) | end),
            step.eq(sink.valid & (source.ready | skip)),
            sink.ready.eq(step & taken),
        ]
        self.sync += If(
            step,
            upper.eq(~taken),
            left.eq(beats - 1),
            begin.eq(end),
            skip.eq(~end & (skip | (beats == 1))),
        )


class TlpSend(LiteXModule):
    def __init__(self, data_width, sources):
        assert data_width in (CORE_BITS, 2 * CORE_BITS)
        self.source = source = stream.Endpoint(phy_layout(data_width))
        self.wrote = Signal()
        self.sinks = sinks = [stream.Endpoint(phy_layout(CORE_BITS)) for _ in sources]
        self.comb += [given.connect(sink) for given, sink in zip(sources, sinks, strict=True)]
        merged, out = stream.Endpoint(phy_layout(CORE_BITS)), stream.Endpoint(phy_layout(CORE_BITS))
        self.arbiter = Arbiter(sinks, merged)
        begin, skip = Signal(reset=1), Signal()
        left, here, write = Signal(12), Signal(12), Signal()
        words, count = words_of(merged.dat)
        self.comb += [
            *count,
            here.eq(Mux(begin, words, left)),
            out.valid.eq(merged.valid & ~skip),
            merged.ready.eq(out.ready | skip),
            out.dat.eq(merged.dat),
            If(here == 1, out.dat[32:].eq(0)),  # a source may change what is behind its end
            out.be.eq(Mux(here == 1, 0x0F, 0xFF)),
            out.last.eq(here <= 2),
            self.wrote.eq(out.valid & out.ready & out.last & write),
        ]
        self.sync += If(
            merged.valid & merged.ready,
            begin.eq(merged.last),
            skip.eq((skip | (here <= 2)) & ~merged.last),
            left.eq(here - 2),
            If(begin, write.eq(merged.dat[30] & (merged.dat[24:29] == 0))),
        )
        if data_width == CORE_BITS:
            self.comb += out.connect(source)
        else:
            low, held = Signal(CORE_BITS), Signal()
            self.comb += [
                source.valid.eq(out.valid & (held | out.last)),
                source.last.eq(out.last),
                If(
                    held,
                    source.dat.eq(Cat(low, out.dat)),
                    source.be.eq(Cat(out.be | 0xFF, out.be)),
                ).Else(source.dat.eq(out.dat), source.be.eq(out.be)),
                out.ready.eq(Mux(held | out.last, source.ready, 1)),
            ]
            self.sync += If(out.valid & out.ready, held.eq(~held & ~out.last), low.eq(out.dat))
