// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import opentxssd._
import opentxssd.host.WriteBeat
import spinal.core._
import spinal.lib._
import spinal.lib.bus.amba4.axi._

/** A block that is asked for: the number of its request, and the frame that it goes to. */
case class FillBlock() extends Bundle {
  val request = UInt(12 bits)
  val frame = UInt(16 bits)
}

/** A burst that has its response. */
case class FillAnswer(placeBits: Int) extends Bundle {
  val place = UInt(placeBits bits)
  val isLong = Bool() // of 32 beats, not of 8
  val bad = Bool()
}

/** Moves the beats of requested blocks into their frames, in whatever order and however mixed they come.
  *
  * Contract. A WRITE has a place, a place two slots, for one block each; the low bits of a request's number are its
  * slot. `open`: beats with this number are taken from the next clock on, the first 512 of them; all others are
  * dropped. `awaited`: slots that have not got all of theirs. `held`: slots that have not moved all to the frame; only
  * one that is not may be opened. 8 beats that are here go to the frame as one AXI burst, 32 if so many have gathered
  * (`begun`, in the clock in which it is decided), and its response is `answered`. So a slow host never holds the
  * memory's write channel, and a fast one waits for few beats behind its last.
  * `came`: a beat for a slot is here; `blocked`: it waits for memory, and so do those of all others. `failed`: a beat
  * with an error was taken for that place.
  * `close` (a bit for each place): no more beats are taken for it and no burst begins, from the next clock on; an
  * `open` in the same clock is undone. Its slots are not to be opened before each burst that has begun is answered.
  *
  * Throughput: a beat per clock. From a block's last beat to that of its last burst 12 clocks. Reset loses all.
  */
class FillBuffer(p: OtxParam, places: Int) extends Component {
  setDefinitionName("otx_fill_buffer")

  private val slots = 2 * places
  private val slotBits = log2Up(slots)
  private val placeBits = log2Up(places)

  val open = slave port Flow(FillBlock())
  val close = in port Bits(places bits)
  val awaited, held = out port Bits(slots bits)
  val wdata = slave port Stream(WriteBeat())
  val came = master port Flow(UInt(slotBits bits))
  val blocked = out port Bool()
  val failed = master port Flow(UInt(placeBits bits))
  val axi = master port Axi4WriteOnly(p.axi)
  val begun = master port Flow(UInt(placeBits bits))
  val answered = master port Flow(FillAnswer(placeBits))

  private val data = Mem(Bits(64 bits), slots * 64)
  private val taking, live = Reg(Bits(slots bits)) init 0
  private val request = Vec.fill(slots)(Reg(UInt(12 bits)))
  private val frame = Vec.fill(slots)(Reg(UInt(16 bits)))
  private val received = Vec.fill(slots)(Reg(UInt(10 bits)))
  // by 8 beats: whose bursts have begun; that are in memory's hands
  private val claimed, moved = Vec.fill(slots)(Reg(UInt(7 bits)))
  awaited := taking
  held := live

  // Beats
  private val beat = wdata.stage()
  private val slot = beat.request.resize(slotBits)
  private val wanted = taking(slot) && request(slot) === beat.request
  private val full = (received(slot) >> 3) - moved(slot) === 8
  beat.ready := !wanted || !full
  came.valid := beat.valid && wanted
  came.payload := slot
  blocked := beat.valid && !beat.ready
  private val kept = beat.fire && wanted
  failed.valid := kept && beat.error
  failed.payload := slot >> 1
  data.write(slot @@ received(slot)(5 downto 0), beat.data, kept)
  when(kept) {
    received(slot) := received(slot) + 1
    when(received(slot) === OtxParam.beats - 1)(taking(slot) := False)
  }

  // Bursts: one is picked while the one before it is read
  private val ready = Vec((0 until slots).map(s => live(s) && (received(s) >> 3) =/= claimed(s))).asBits
  private val gathered =
    Vec((0 until slots).map(s => claimed(s)(1 downto 0) === 0 && (received(s) >> 5) =/= (claimed(s) >> 2)))
  private val turn = RegInit(B(1, slots bits)) // the slot behind the last one
  private val chosen = OHMasking.roundRobin(ready, turn)
  private val pick = OHToUInt(chosen)
  private val picked = RegInit(False)
  private val pickedSlot = Reg(UInt(slotBits bits))
  private val pickedAt = Reg(UInt(6 bits)) // its first 8 beats
  private val pickedLong = Reg(Bool())
  private val pickedFrame = Reg(UInt(16 bits))
  begun.valid := !picked && ready.orR
  begun.payload := (pick >> 1).resized
  when(begun.valid) {
    picked := True
    turn := chosen.rotateLeft(1)
    pickedSlot := pick
    pickedAt := claimed(pick).resized
    pickedFrame := frame(pick)
    pickedLong := gathered(pick)
    claimed(pick) := claimed(pick) + Mux(gathered(pick), U(4), U(1))
  }
  // its address goes ahead, so that its beats follow those of the one before at once
  private case class Burst() extends Bundle {
    val slot = UInt(slotBits bits)
    val isLong = Bool()
    val at = UInt(6 bits) // its next beat
  }
  private val next, now = Reg(Flow(Burst()))
  next.valid.init(False)
  now.valid.init(False)
  private val written = StreamFifo(FillAnswer(placeBits), 16, latency = 1) // bursts without a response
  axi.aw.valid := picked && !next.valid && written.io.push.ready
  axi.aw.addr := U(p.frameBase, 32 bits) + (pickedFrame @@ pickedAt @@ U(0, 6 bits)).resized
  axi.aw.id := 0
  axi.aw.len := Mux(pickedLong, U(31), U(7)).resized
  axi.aw.size := 3
  axi.aw.burst := 1
  written.io.push.valid := axi.aw.fire
  written.io.push.place := (pickedSlot >> 1).resized
  written.io.push.isLong := pickedLong
  written.io.push.bad := False
  when(axi.aw.fire) {
    picked := False
    next.valid := True
    next.slot := pickedSlot
    next.isLong := pickedLong
    next.at := pickedAt(2 downto 0) @@ U(0, 3 bits)
  }
  private val addresses = Stream(UInt(slotBits + 6 bits))
  private val lastOfEight = now.at(2 downto 0).andR
  private val lastBeat = lastOfEight && (!now.isLong || now.at(4 downto 3).andR)
  addresses.valid := now.valid
  addresses.payload := now.slot @@ now.at
  when(addresses.fire) {
    now.at := now.at + 1
    when(lastOfEight) {
      moved(now.slot) := moved(now.slot) + 1
      when(moved(now.slot) === 63)(live(now.slot) := False)
    }
  }
  when(!now.valid || addresses.fire && lastBeat) {
    now := next
    when(next.valid)(next.valid := False)
  }
  private val read = data.streamReadSync(addresses, lastBeat)
  axi.w.arbitrationFrom(read)
  axi.w.data := read.value
  axi.w.strb.setAll()
  axi.w.last := read.linked

  axi.b.ready := True
  written.io.pop.ready := axi.b.valid
  answered.valid := axi.b.valid
  answered.payload := written.io.pop.payload
  answered.bad.allowOverride
  answered.bad := axi.b.resp =/= 0

  private val opened = open.request.resize(slotBits)
  when(open.valid) {
    taking(opened) := True
    live(opened) := True
    request(opened) := open.request
    frame(opened) := open.frame
    received(opened) := U(0, 10 bits)
    claimed(opened) := U(0, 7 bits)
    moved(opened) := U(0, 7 bits)
  }
  for (s <- 0 until slots) when(close(s / 2)) {
    taking(s) := False
    live(s) := False
  }
}
