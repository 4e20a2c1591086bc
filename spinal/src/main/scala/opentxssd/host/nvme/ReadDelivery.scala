// SPDX-License-Identifier: Apache-2.0
package opentxssd.host.nvme

import opentxssd.OtxParam
import opentxssd.host.ReadBeat
import spinal.core._
import spinal.lib._

/** Blocks that the core has read: to host memory, or beside the host's data for a Compare.
  *
  * Contract. Blocks of `rdata` go out in their order, at one beat a clock, each as one write or as two, on two pages;
  * when the first of two has an odd number of words it takes a beat more. Their writes are wanted ten clocks after the
  * first beat, while the block before is on its way. `compares` says of the slot `slot` whether its blocks are
  * compared: then the host's come by `compare` and `compared`, and a word that is not the same makes `differs` of the
  * slot, one that could not be read `unread`, until `forget`. `pending`: a block has begun whose writes are not wanted
  * yet; `comparing`: one of the slot `ending` that is not compared yet: of other slots the core may keep blocks until
  * the completion is taken. A write is wanted before its beats are here, and CQEs stand behind it: so the core must not
  * keep the rest of a block that has begun.
  */
class ReadDelivery extends Component {
  import Nvme._

  val rdata = slave port Stream(ReadBeat())
  val slot = out port UInt(slotBits bits)
  val compares = in port Bool()
  val ask = master port Stream(BytesOf())
  val answer = slave port Flow(Pieces())
  val write = master port Stream(DmaWrite())
  val data = master port Stream(DmaBeat())
  val compare = master port Stream(HostRead())
  val compared = slave port Stream(DmaReadBeat())
  val forget = slave port Flow(UInt(slotBits bits))
  val ending = in port UInt(slotBits bits)
  val differs, unread = out port Bits(slots bits)
  val pending, comparing, busy = out port Bool()

  private case class Block() extends Bundle {
    val slot = UInt(slotBits bits)
    val block = UInt(5 bits)
  }
  private case class Split() extends Bundle {
    val slot = UInt(slotBits bits)
    val compared, two = Bool()
    val words = UInt(11 bits) // of the first piece
  }

  // beats wait in a line; the first one of a block starts the search for its place
  private val beats = StreamFifo(Bits(64 bits), 16)
  private val blocks = StreamFifo(Block(), 2)
  private val fresh = RegInit(True)
  private val taken = rdata.haltWhen(!beats.io.push.ready || fresh && !blocks.io.push.ready)
  taken.ready := True
  when(taken.fire)(fresh := taken.last)
  beats.io.push.valid := taken.fire
  beats.io.push.payload := taken.data
  blocks.io.push.valid := taken.fire && fresh
  blocks.io.push.slot := taken.tag.resized
  blocks.io.push.block := taken.block

  private val now = blocks.io.pop
  private val splits = StreamFifo(Split(), 2)
  private val step = Reg(UInt(3 bits)) init 0
  private val pieces = Reg(Pieces())
  slot := now.slot
  private val bytes = BytesOf()
  bytes.slot := now.slot
  bytes.at := now.block @@ U(0, 12 bits)
  bytes.length := 4096
  ask.valid := step === 0 && now.valid && !compares
  ask.payload := bytes
  compare.valid := step === 0 && now.valid && compares && splits.io.push.ready
  compare.bytes := bytes
  compare.kind := HostRead.COMPARE
  compare.request := 0
  switch(step) {
    is(0) {
      when(ask.fire)(step := 1)
      when(compare.fire)(step := 4)
    }
    is(1) {
      pieces := answer.payload
      when(answer.valid)(step := 2)
    }
    is(2)(when(write.ready)(step := Mux(pieces.more === 0, U(4), U(3))))
    is(3)(when(write.ready)(step := 4))
    is(4)(when(splits.io.push.ready)(step := 0))
  }
  write.valid := step === 2 || step === 3
  write.address := Mux(step === 2, pieces.address, pieces.page @@ U(0, 12 bits))
  write.length := Mux(step === 2, pieces.length, pieces.more)
  write.message := False
  splits.io.push.valid := step === 4
  splits.io.push.slot := now.slot
  splits.io.push.compared := compares
  splits.io.push.two := pieces.more =/= 0
  splits.io.push.words := pieces.length >> 2
  now.ready := step === 4 && splits.io.push.ready
  pending := now.valid || blocks.io.occupancy =/= 0

  // one block after another; behind an odd first piece the rest is shifted by a word
  private val split = splits.io.pop
  private val beat = Reg(UInt(log2Up(OtxParam.beats) bits)) init 0
  private val shifted, rest = RegInit(False)
  private val carried = Reg(Bits(32 bits))
  private val front = beats.io.pop
  private val finalBeat = beat.andR
  private val firstEnds = split.two && (beat +^ 1) === ((split.words +^ 1) >> 1).resized
  private val toHost = split.valid && !split.compared
  data.valid := toHost && (front.valid || rest)
  data.data := Mux(shifted, front.payload(31 downto 0) ## carried, front.payload)
  data.last := rest || firstEnds || finalBeat && !shifted
  private val both = split.valid && split.compared && compared.valid && front.valid
  compared.ready := both
  front.ready := toHost && data.ready && !rest || both
  private val unequal = both && compared.data =/= front.payload
  private val ends = data.fire && (rest || finalBeat && !(shifted || firstEnds && split.words.lsb)) || both && finalBeat
  when(front.fire) {
    beat := beat + 1
    carried := front.payload(63 downto 32)
    when(toHost && firstEnds && split.words.lsb)(shifted := True)
    when(toHost && finalBeat && (shifted || firstEnds && split.words.lsb))(rest := True)
  }
  when(ends) {
    shifted := False
    rest := False
  }
  split.ready := ends
  private val compareds = Reg(UInt(2 bits)) init 0 // blocks, the oldest first in `line`
  private val line = Vec.fill(3)(Reg(UInt(slotBits bits)))
  private val compared1 = both && finalBeat
  private val left = compareds - compared1.asUInt
  compareds := left + compare.fire.asUInt
  for (i <- 0 until 3) {
    if (i < 2) when(compared1)(line(i) := line(i + 1))
    when(compare.fire && left === i)(line(i) := now.slot)
  }
  private val mine = line.zipWithIndex.map { case (of, i) => compareds > i && of === ending }.orR
  private val just = RegNext(compared1, False)
  comparing := mine || just || RegNext(just, False) // until `differs` and `unread` know

  private val bad, failed = Reg(Bits(slots bits)) init 0
  private val was = RegNext(unequal, False)
  private val failedWas = RegNext(both && compared.error, False)
  private val wasSlot = RegNext(split.slot)
  when(was)(bad(wasSlot) := True)
  when(failedWas)(failed(wasSlot) := True)
  when(forget.valid) {
    bad(forget.payload) := False
    failed(forget.payload) := False
  }
  differs := bad
  unread := failed
  busy := pending || split.valid || splits.io.occupancy =/= 0 || front.valid || beats.io.occupancy =/= 0
}
