# SPDX-License-Identifier: Apache-2.0
"""An AXI4 master on LiteDRAM's AXI frontend, which must stand on a native port of the controller's own width.

LiteDRAM's width converter of native ports does not go together with LiteDRAMAXI2Native: it takes write data before the
command they belong to, the frontend's count of reserved data falls below zero, and no write command follows any more.
It also lets a write's answer come before the write is ordered among the reads. On a port of the controller's width the
DRAM takes write data in the clock it writes them, so an answered write is what every port reads.

`DramAxi` makes a master of 64 bits one of 128 (or of any power of two as many) and keeps what is under way within what
the frontend can count.
"""

from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from migen import Array, Cat, If, Replicate, Signal, log2_int

BURSTS = 16  # in each direction; LiteDRAMAXI2Native keeps as many ids of writes and drops more


class DramAxi(LiteXModule):
    """From `near`, a master, to `far`, at least as wide. Bursts must be INCR with beats of `near`'s full width; each
    beat becomes one beat of `far` in its place of the wide word.

    Order, ids, lengths and answers stay as they are. Address and data of a write may come in either order; data waits
    for its address. No clock is added.
    """

    def __init__(self, near, far):
        ratio = far.data_width // near.data_width
        assert ratio * near.data_width == far.data_width and far.id_width >= near.id_width
        under_way, starts, answered = Signal(max=BURSTS + 1), Signal(), Signal()
        room = under_way != BURSTS
        self.comb += [
            near.aw.connect(far.aw, omit={"valid", "ready"}),
            near.ar.connect(far.ar, omit={"valid", "ready"}),
            near.w.connect(far.w, omit={"valid", "ready", "data", "strb"}),
            far.r.connect(near.r, omit={"data"}),
            far.b.connect(near.b),
            starts.eq(far.aw.valid & far.aw.ready),
            answered.eq(near.b.valid & near.b.ready),
        ]
        self.sync += If(starts & ~answered, under_way.eq(under_way + 1)).Elif(
            answered & ~starts, under_way.eq(under_way - 1)
        )

        self.write_place = place = Place(near.aw, near.data_width, ratio, BURSTS)
        self.comb += [
            far.aw.valid.eq(near.aw.valid & room & place.room),
            near.aw.ready.eq(far.aw.ready & room & place.room),
            place.start.eq(starts),
            far.w.valid.eq(near.w.valid & place.known),
            near.w.ready.eq(far.w.ready & place.known),
            far.w.data.eq(Replicate(near.w.data, ratio)),
            far.w.strb.eq(Cat(*(near.w.strb & Replicate(place.at == n, len(near.w.strb)) for n in range(ratio)))),
            place.beat.eq(near.w.valid & near.w.ready),
            place.last.eq(near.w.last),
        ]

        self.read_place = place = Place(near.ar, near.data_width, ratio, BURSTS)
        self.comb += [
            far.ar.valid.eq(near.ar.valid & place.room),
            near.ar.ready.eq(far.ar.ready & place.room),
            place.start.eq(far.ar.valid & far.ar.ready),
            near.r.data.eq(
                Array(far.r.data[n * near.data_width : (n + 1) * near.data_width] for n in range(ratio))[place.at]
            ),
            place.beat.eq(near.r.valid & near.r.ready),
            place.last.eq(near.r.last),
        ]


class Place(LiteXModule):
    """Where in the wide word the next beat is: `at`, valid while `known`.

    `start`: a burst with the address of `ax` begins (only while `room`); `beat`, `last`: one is done.
    """

    def __init__(self, ax, width, ratio, depth):
        self.start, self.room, self.known, self.beat, self.last = (Signal() for _ in range(5))
        low = log2_int(width // 8)
        bits = log2_int(ratio)
        self.at, offset = Signal(max(bits, 1)), Signal(max(bits, 1))
        self.queue = queue = stream.SyncFIFO([("at", max(bits, 1))], depth)
        self.comb += [
            queue.sink.valid.eq(self.start),
            queue.sink.at.eq(ax.addr[low : low + bits] if bits else 0),
            self.room.eq(queue.sink.ready),
            self.known.eq(queue.source.valid),
            queue.source.ready.eq(self.beat & self.last),
            self.at.eq((queue.source.at + offset) if bits else 0),
        ]
        self.sync += If(self.beat, If(self.last, offset.eq(0)).Else(offset.eq(offset + 1)))
