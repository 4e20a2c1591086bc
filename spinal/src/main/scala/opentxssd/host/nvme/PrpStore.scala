// SPDX-License-Identifier: Apache-2.0
package opentxssd.host.nvme

import spinal.core._
import spinal.lib._

/** Bytes of what a command moves: `at` counts from its first one. */
case class BytesOf() extends Bundle {
  val slot = UInt(Nvme.slotBits bits)
  val at = UInt(17 bits)
  val length = UInt(13 bits)
}

/** Where these are in host memory: one piece, or two, the second one from the beginning of a page. */
case class Pieces() extends Bundle {
  val address = UInt(64 bits)
  val length = UInt(13 bits)
  val page = UInt(52 bits)
  val more = UInt(13 bits) // bytes of the second one
}

/** The first PRP of a command. */
case class FirstPrp() extends Bundle {
  val slot = UInt(Nvme.slotBits bits)
  val address = UInt(64 bits)
}

/** A later one, from 0 on. */
case class LaterPrp() extends Bundle {
  val slot = UInt(Nvme.slotBits bits)
  val entry = UInt(5 bits)
  val page = UInt(52 bits)
}

/** The PRPs of all slots, and where a command's bytes are.
  *
  * Contract. `first` and `later` store a PRP. `ask` is answered four clocks after it was taken, one of both sides at a
  * time; at most 4 KiB, `at` and `length` multiples of four. What was not stored means nothing. Reset keeps nothing.
  */
class PrpStore(slots: Int = Nvme.slots, entries: Int = 32) extends Component {
  setDefinitionName(if (slots == Nvme.slots) "otx_prp_store" else s"otx_prp_store_$slots")
  val first = slave port Flow(FirstPrp())
  val later = slave port Flow(LaterPrp())
  val ask = Vec(slave(Stream(BytesOf())), 2)
  val answer = Vec(master(Flow(Pieces())), 2)

  private val firsts = Mem(UInt(64 bits), slots)
  private val pages = Mem(UInt(52 bits), entries * slots)
  private def place(slot: UInt, entry: UInt): UInt = slot.resize(log2Up(slots)) @@ entry.resize(log2Up(entries))
  firsts.write(first.slot.resized, first.address, first.valid)
  pages.write(place(later.slot, later.entry), later.page, later.valid)

  private val arbiter = StreamArbiterFactory().roundRobin.noLock.build(BytesOf(), 2)
  for ((input, a) <- arbiter.io.inputs.zip(ask)) input << a
  private val step = Reg(UInt(3 bits)) init 0
  private val now = Reg(BytesOf())
  private val side = Reg(UInt(1 bits))
  arbiter.io.output.ready := step === 0
  private val start = firsts.readSync(arbiter.io.output.slot.resized)
  private val begin = Reg(UInt(52 bits)) // page of the first PRP
  private val entry = Reg(UInt(6 bits)) // of the first byte; 0 is the first PRP
  private val offset = Reg(UInt(12 bits))
  private val page = Reg(UInt(52 bits))
  private val found = pages.readSync(place(now.slot, Mux(step === 2, entry - 1, entry)))
  private val room = U(4096, 13 bits) - offset
  private val split = RegNext(now.length > room)
  switch(step) {
    is(0) {
      now := arbiter.io.output.payload
      side := arbiter.io.chosen
      when(arbiter.io.output.valid)(step := 1)
    }
    is(1) {
      val at = (start(11 downto 2) +^ now.at(16 downto 2)).resize(16)
      entry := (at >> 10).resized
      offset := at(9 downto 0) @@ U(0, 2 bits)
      begin := start >> 12
      step := 2
    }
    is(2)(step := 3)
    is(3) {
      page := Mux(entry === 0, begin, found)
      step := 4
    }
    is(4)(step := 0)
  }
  for ((a, i) <- answer.zipWithIndex) {
    a.valid := step === 4 && side === i
    a.address := page @@ offset
    a.length := Mux(split, room, now.length)
    a.page := found
    a.more := Mux(split, now.length - room, U(0))
  }
}
