// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import opentxssd._
import opentxssd.flash.{FlashDone, FlashOp}
import opentxssd.host.HostCmd
import opentxssd.remap.RemapUser
import spinal.core._
import spinal.lib._

/** Finds the blocks of each READ: one lookup each, then flash where it is needed.
  *
  * Contract: the n LOOKUPs of a READ go to the engine as one group, so all see the same commits: a READ sees all of a
  * transaction or nothing. There is room for all answers before the first goes out, so answers are never refused. They
  * come in any order; a lookup's tag is the place of its block in a memory. By the answer a block becomes a job for
  * `ReadReturn`: NONE zeroes, BUF its write frame (pinned in the clock of the answer), NAND a read frame after a page
  * read. A page that is not whole, not DATA or not of this LPN, and an answer with `error`, is a job without data.
  * Blocks of a command and commands overtake each other here; up to 64 blocks and `readFrames` page reads are under
  * way.
  *
  * `turn` (one clock, not while `old`): blocks that are looked up from now on are new. `old`: a block that was looked
  * up before the last turn has not been read yet. So what `old` going low says of a block of NAND whose pages nobody
  * could find any more at the turn: no read is on its way to it.
  *
  * `few`: less than 8 blocks are looked up or wait for a read frame or a place at their die, a clock late. A READ that
  * comes only then overtakes no block, but has few before it.
  *
  * `start` tells how many blocks a tag has, before its first job. `giveRead` brings a read frame back. Latency: command
  * to first LOOKUP 1 clock, answer to page read 4 clocks, to job 6.
  * Reset loses all.
  */
class ReadPath(p: OtxParam) extends Component {
  setDefinitionName("otx_read_path")

  val cmd = slave port Stream(HostCmd())
  val remap = Ports.bare(master port RemapUser())
  import remap.{op, rsp}
  val pin = master port Flow(UInt(16 bits))
  val read = master port Stream(FlashOp())
  val readDone = slave port Stream(FlashDone())
  val start = master port Flow(ReadStart())
  val jobs = master port Stream(ReturnJob())
  val giveRead = slave port Flow(UInt(16 bits))
  val turn = in port Bool()
  val old = out port Bool()
  val few = out port Bool()

  private case class Asked() extends Bundle {
    val tag, block = UInt(5 bits)
    val lpn = UInt(32 bits)
    val turn = Bool()
    val priority = UInt(2 bits)
  }
  private case class Found() extends Bundle {
    val place = UInt(6 bits)
    val location = Word()
    val error = Bool()
  }
  private val depth = 64
  private val turnNow = RegInit(False)
  when(turn)(turnNow := !turnNow)

  // Lookups: one group per command
  private val inFlight = Reg(UInt(7 bits)) init 0 // lookups sent whose answer is not yet dispatched
  few := RegNext(inFlight < ReadPath.few) init True
  private val running = RegInit(False)
  private val block = Reg(UInt(5 bits)) init 0
  private val asked = Mem(Asked(), depth)
  private val places = new FreeList(depth)
  private val last = block === (cmd.count - 1).resize(5 bits)
  start.valid := cmd.valid && !running && inFlight <= depth - OtxParam.maxBlocks
  start.tag := cmd.tag.resized
  start.blocks := cmd.count.resized
  when(start.valid)(running := True)
  op.valid := running && places.take.valid
  places.take.ready := op.fire
  op.op := RemapOpcode.LOOKUP
  op.lpn := cmd.lba + block
  op.hasTx := cmd.hasTx
  op.txid := cmd.txid.resized
  op.location := Word.none
  op.newLocation := Word.none
  op.blocks := 0
  op.tag := places.take.payload.resized
  op.last := last
  cmd.ready := op.fire && last
  private val ask = Asked()
  ask.tag := cmd.tag.resized
  ask.block := block
  ask.lpn := op.lpn
  ask.turn := turnNow
  ask.priority := cmd.priority
  asked.write(op.tag.resize(6), ask, op.fire)
  when(op.fire) {
    block := block + 1
    when(last) {
      block := 0
      running := False
    }
  }

  // Answers
  private val found = StreamFifo(Found(), depth)
  found.io.push.arbitrationFrom(rsp)
  found.io.push.place := rsp.tag.resized
  found.io.push.location := rsp.location
  found.io.push.error := rsp.error
  pin.valid := rsp.fire && rsp.location.isBuf && !rsp.error
  pin.payload := rsp.location.value.resized
  // both memories are slow
  private val joined =
    asked.streamReadSync(found.io.pop.translateWith(found.io.pop.place), found.io.pop.payload).m2sPipe()
  inFlight := inFlight + op.fire.asUInt - found.io.pop.fire.asUInt
  places.give << found.io.pop.toFlowFire.translateWith(found.io.pop.place.resize(16 bits)).stage()
  private val request = joined.value
  private val answer = joined.linked
  private val ways = StreamDemux(joined, (answer.location.isNand && !answer.error).asUInt, 2)

  private val buffered = Stream(ReturnJob())
  buffered.arbitrationFrom(ways(0))
  buffered.tag := request.tag
  buffered.block := request.block
  buffered.frame := answer.location.value.resized
  buffered.hasData := !answer.error
  buffered.zero := answer.location.isNone
  buffered.pinned := answer.location.isBuf && !answer.error
  buffered.held := False

  // Page reads, one frame each
  private val readFrames = new FreeList(p.readFrames)
  readFrames.give.valid := giveRead.valid
  readFrames.give.payload := giveRead.payload - p.readFrameBase
  private val reads = StreamJoin(ways(1), readFrames.take)
  private val slotBits = log2Up(p.readFrames)
  private val slots = Mem(Asked(), p.readFrames)
  slots.write(readFrames.take.payload.resize(slotBits), request, reads.fire)
  read.arbitrationFrom(reads)
  read.op := NandOp.READ
  read.ppn := answer.location.value
  read.frame := readFrames.take.payload + p.readFrameBase
  read.kind := PageKind.DATA
  read.lpn := request.lpn
  read.sequence := 0
  read.cookie := read.frame
  read.priority := request.priority

  private val readBack =
    slots.streamReadSync(readDone.translateWith((readDone.cookie - p.readFrameBase).resize(slotBits)), readDone.payload)
  private val fetched = Stream(ReturnJob())
  fetched.arbitrationFrom(readBack)
  fetched.tag := readBack.value.tag
  fetched.block := readBack.value.block
  fetched.frame := readBack.linked.cookie
  fetched.hasData := readBack.linked.status === PageStatus.OK && readBack.linked.kind === PageKind.DATA &&
    readBack.linked.lpn === readBack.value.lpn
  fetched.zero := False
  fetched.pinned := False
  fetched.held := True

  // Blocks that are looked up and not read yet, by turn
  private val waiting = for (t <- Seq(false, true)) yield {
    val count = Reg(UInt(8 bits)) init 0
    val begins = op.fire && turnNow === Bool(t)
    val ends = Seq(ways(0).fire && request.turn === Bool(t), readBack.fire && readBack.value.turn === Bool(t))
    count := count + begins.asUInt - ends.map(_.asUInt.resize(2)).reduce(_ + _)
    count =/= 0
  }
  old := turnNow.mux(waiting(0), waiting(1))

  // A place for each read frame, so that no done beat waits for a delivery
  jobs << StreamArbiterFactory().roundRobin.transactionLock.onArgs(
    buffered.m2sPipe(),
    fetched.queue(p.readFrames max 2).m2sPipe()
  ).halfPipe()
}

object ReadPath {
  val few = 8
}
