# SPDX-License-Identifier: Apache-2.0
"""Tags of the reads that a PCIe device has under way, and an end to those that are never answered.

`ReadTags` stands between LitePCIe's controller, whose tags are 0 to TAGS - 1 and come again at once, and its packetizer
and depacketizer. A tag goes out with EPOCH_BITS more bits: how often, modulo, reads have been given up.

Contract. `begins`, `begun`: a read with the controller's tag `tag` is offered to the packetizer, and must have the tag
`stamp` there; it was before, and has not been taken. While `stops` none may begin. `asked`: it was taken. Completions
come by `sink` and leave by `source`, in the same clock. One that no read waits for, by tag and epoch, is dropped, so
what comes late is never taken for what was asked for later, until reads were given up 2^EPOCH_BITS times.

When reads are open, and for `timeout` clocks none was asked for and nothing of a completion came, all of them are given
up: each has a completion without data, with an error, which is its last one. Behind one that is not answered LitePCIe's
controller asks for some TAGS more at most, so those clocks will come. Reset forgets all.
"""

from litepcie.common import completion_layout
from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from migen import Array, Cat, If, Mux, Signal

TAGS, EPOCH_BITS = 8, 2
TAG_BITS = TAGS.bit_length() - 1


class ReadTags(LiteXModule):
    def __init__(self, data_width, timeout):
        self.sink, self.source = sink, source = [stream.Endpoint(completion_layout(data_width)) for _ in range(2)]
        self.begins, self.begun, self.asked, self.stops = begins, begun, asked, stops = [Signal() for _ in range(4)]
        self.tag, self.stamp = tag, stamp = Signal(TAG_BITS), Signal(TAG_BITS + EPOCH_BITS)
        epoch, was = Signal(EPOCH_BITS), Signal(EPOCH_BITS)  # of the read that is offered
        opened = Array(Signal(name=f"open_{n}") for n in range(TAGS))
        any_open, gives_up = Signal(), Signal()
        inside, kept, wanted = (
            Signal(),
            Signal(),
            Signal(),
        )  # in the middle of a TLP, which is wanted; one that begins is
        waits, turn = Signal(max=timeout + 1), Signal(TAG_BITS)
        self.comb += [
            stamp.eq(Cat(tag, Mux(begun, was, epoch))),
            stops.eq(gives_up),
            any_open.eq(Cat(*opened) != 0),
            If(inside, wanted.eq(kept)).Else(wanted.eq((sink.tag[TAG_BITS:] == epoch) & opened[sink.tag[:TAG_BITS]])),
            sink.connect(source, omit={"valid", "ready", "tag"}),
            source.tag.eq(sink.tag[:TAG_BITS]),
            source.valid.eq(sink.valid & wanted),
            sink.ready.eq(source.ready | ~wanted),
            If(
                gives_up,
                source.valid.eq(opened[turn]),
                *(getattr(source, name).eq(1) for name in ("first", "last", "end", "err")),
                source.tag.eq(turn),
            ),
        ]
        self.sync += [
            begun.eq(begins & ~asked),
            was.eq(stamp[TAG_BITS:]),
            If(source.valid & source.ready & source.last & source.end, opened[source.tag[:TAG_BITS]].eq(0)),
            If(asked, opened[tag].eq(1)),
            If(sink.valid & sink.ready, inside.eq(~sink.last), kept.eq(wanted)),
            If(~any_open | asked | sink.valid | gives_up, waits.eq(0)).Elif(waits != timeout, waits.eq(waits + 1)),
            If(
                gives_up,
                If(~source.valid | source.ready, turn.eq(turn + 1)),
                If(~any_open & ~begins, gives_up.eq(0)),
            ).Elif((waits == timeout) & ~inside & ~sink.valid, gives_up.eq(1), epoch.eq(epoch + 1)),
        ]
