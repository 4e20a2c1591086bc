// SPDX-License-Identifier: Apache-2.0
package opentxssd.flash

import opentxssd._
import spinal.core._
import spinal.lib._
import spinal.lib.bus.amba4.axi._

case class DmaStart() extends Bundle {
  val way = UInt(4 bits)
  val slot = Bool()
  val frame = UInt(16 bits)
}

/** Moves the pages of one channel between frame memory and the NAND channel.
  *
  * Contract. `start` names the frame of the op that now has this slot of a way. Each `wreq` is answered with the 512
  * beats of that slot's frame on `wdata`, one page at a time, read in bursts of 32 beats up to 64 beats ahead. The 512
  * beats of a page on `rdata` (pages of two ways are not interleaved) are written in bursts of 32 beats; `pending` (per
  * way) is high from the page's first beat until memory has acknowledged its last burst. `fix` corrects a byte of that
  * slot's frame, after the last beat of its page: the beat that holds it is read, corrected and written once no page is
  * under way in either direction, and `fix` is taken when memory has acknowledged that. `failed` (per slot and way):
  * memory answered with an error since `start`. Both directions at once, a beat per clock each when memory keeps up;
  * all bursts in order, with id 0. Reset loses pages under way, and must reach the memory too.
  */
class ChannelDma(p: OtxParam, axi: Axi4Config) extends Component {
  setDefinitionName("otx_channel_dma")

  private val slots = if (p.second) 2 else 1

  val start = slave port Flow(DmaStart())
  val wreq = slave port Stream(NandWay())
  val wdata = master port Stream(NandWriteBeat())
  val rdata = slave port Stream(NandReadBeat())
  val fix = slave port Stream(NandFix())
  val frame = master port Axi4(axi)
  val pending = out port Bits(p.ways bits)
  val failed = out port Vec(Bits(p.ways bits), slots)

  private val burst = 32
  private val ahead = 64
  private val burstsPerPage = OtxParam.beats / burst
  private val frames = Mem(UInt(16 bits), (p.ways max 2) * slots)
  private def index(way: UInt, slot: Bool) = {
    val number = way.resize(log2Up(p.ways max 2))
    if (slots == 2) (slot ## number).asUInt else number
  }
  private def frameOf(way: UInt, slot: Bool) = frames.readAsync(index(way, slot))
  frames.write(index(start.way, start.slot), start.frame, start.valid)

  private def request(ax: Axi4Ax, frame: UInt, number: UInt): Unit = {
    val page = (frame +^ U(p.frameBase >> 12, 20 bits)).resize(20)
    ax.addr := (page ## number.resize(log2Up(burstsPerPage)) ## B(0, 8 bits)).asUInt
    ax.id := 0
    ax.len := burst - 1
    ax.size := 3
    ax.burst := Axi4.burst.INCR
  }

  /** Read, correct and write of one beat; it has the port for itself. */
  private val repair = new Area {
    val quiet = Bool() // no page is under way
    val active = RegInit(False)
    val asked, came, told, sent = Reg(Bool()) // the beat's read, its data, the write's address and data
    val word = Reg(Bits(64 bits))
    val error = Bool()
    error := False
    when(fix.valid && quiet && !active) {
      active := True
      asked := False
      came := False
      told := False
      sent := False
    }
    fix.ready := active && frame.b.fire
    when(fix.fire)(active := False)
  }

  /** Frame memory to channel. */
  private val program = new Area {
    val active = RegInit(False)
    val way = Reg(UInt(4 bits))
    val slot = Reg(Bool())
    val source = Reg(UInt(16 bits))
    val asked = Reg(UInt(log2Up(burstsPerPage + 1) bits)) // bursts
    val sent = Reg(UInt(log2Up(OtxParam.beats) bits)) // beats
    val promised = RegInit(U(0, log2Up(ahead + 1) bits)) // places in the queue that are taken or will be
    wreq.ready := !active && !repair.active && !fix.valid
    when(wreq.fire) {
      active := True
      way := wreq.way
      slot := wreq.slot
      source := frameOf(wreq.way, wreq.slot)
      asked := 0
      sent := 0
    }

    frame.ar.valid := active && asked =/= burstsPerPage && promised <= ahead - burst
    request(frame.ar, source, asked)
    when(frame.ar.fire && active)(asked := asked + 1)

    val queue = StreamFifo(Bits(64 bits), ahead)
    queue.io.push.valid := frame.r.valid && !repair.active
    queue.io.push.payload := frame.r.data
    frame.r.ready := queue.io.push.ready || repair.active
    val error = frame.r.fire && !frame.r.isOKAY() && active
    wdata.arbitrationFrom(queue.io.pop)
    wdata.data := queue.io.pop.payload
    wdata.last := sent === OtxParam.beats - 1
    when(wdata.fire) {
      sent := sent + 1
      when(wdata.last)(active := False)
    }
    promised := promised + Mux(frame.ar.fire && active, U(burst), U(0)) - wdata.fire.asUInt
  }

  /** Channel to frame memory. */
  private val read = new Area {

    /** A full burst of one way; `last` of its page. */
    case class Burst() extends Bundle {
      val way = UInt(4 bits)
      val slot = Bool()
      val last = Bool()
    }
    val queue = StreamFifo(Bits(64 bits), ahead)
    val full = StreamFifo(Burst(), 4) // bursts that lie whole in the queue
    val asked = StreamFifo(Burst(), 4) // bursts that memory has not acknowledged

    val taken = RegInit(U(0, log2Up(burst) bits))
    rdata.ready := queue.io.push.ready && full.io.push.ready
    queue.io.push.valid := rdata.fire
    queue.io.push.payload := rdata.data
    full.io.push.valid := rdata.fire && taken === burst - 1
    full.io.push.way := rdata.way
    full.io.push.slot := rdata.slot
    full.io.push.last := rdata.last
    when(rdata.fire)(taken := taken + 1)

    val sending = RegInit(False)
    val number = RegInit(U(0, log2Up(burstsPerPage) bits))
    val sent = RegInit(U(0, log2Up(burst) bits))
    frame.aw.valid := full.io.pop.valid && asked.io.push.ready && !sending
    full.io.pop.ready := frame.aw.fire && !repair.active
    request(frame.aw, frameOf(full.io.pop.way, full.io.pop.slot), number)
    asked.io.push.valid := frame.aw.fire && !repair.active
    asked.io.push.payload := full.io.pop.payload
    when(frame.aw.fire && !repair.active) {
      sending := True
      number := number + 1
    }

    frame.w.valid := sending && queue.io.pop.valid
    queue.io.pop.ready := sending && frame.w.ready
    frame.w.data := queue.io.pop.payload
    frame.w.strb.setAll()
    frame.w.last := sent === burst - 1
    when(frame.w.fire && !repair.active) {
      sent := sent + 1
      when(frame.w.last)(sending := False)
    }

    frame.b.ready := asked.io.pop.valid || repair.active
    asked.io.pop.ready := frame.b.valid
    val error = frame.b.fire && !frame.b.isOKAY() && !repair.active
  }

  repair.quiet := !program.active && !pending.orR
  when(repair.active) {
    val page = (frameOf(fix.way, fix.slot) +^ U(p.frameBase >> 12, 20 bits)).resize(20)
    val at = (page ## fix.byte(11 downto 3) ## B(0, 3 bits)).asUInt
    for (ax <- Seq[Axi4Ax](frame.ar, frame.aw)) {
      ax.addr := at
      ax.len := 0
    }
    frame.ar.valid := !repair.asked
    when(frame.ar.fire)(repair.asked := True)
    when(frame.r.fire) {
      repair.came := True
      repair.word := frame.r.data ^ (fix.mask << (fix.byte(2 downto 0) << 3)).resize(64)
    }
    frame.aw.valid := repair.came && !repair.told
    when(frame.aw.fire)(repair.told := True)
    frame.w.valid := repair.told && !repair.sent // data follows its address
    frame.w.data := repair.word
    frame.w.last := True
    when(frame.w.fire)(repair.sent := True)
    repair.error := (frame.r.fire && !frame.r.isOKAY()) || (frame.b.fire && !frame.b.isOKAY())
  }

  for (w <- 0 until p.ways) {
    val open = RegInit(False)
    when(rdata.fire && rdata.way === w)(open := True)
    when(frame.b.fire && read.asked.io.pop.last && read.asked.io.pop.way === w)(open := False)
    pending(w) := open

    for (n <- 0 until slots) {
      def here(at: UInt, slot: Bool) = at === w && (if (slots == 2) slot === Bool(n == 1) else True)
      val error = Reg(Bool())
      when(start.valid && here(start.way, start.slot))(error := False)
      when(program.error && here(program.way, program.slot))(error := True)
      when(read.error && here(read.asked.io.pop.way, read.asked.io.pop.slot))(error := True)
      when(repair.error && here(fix.way, fix.slot))(error := True)
      failed(n)(w) := error
    }
  }
}
