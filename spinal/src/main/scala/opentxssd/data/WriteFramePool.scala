// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import opentxssd._
import opentxssd.flash.FlashDone
import opentxssd.log.PageDone
import opentxssd.remap.RemapUser
import spinal.core._
import spinal.lib._

/** What is known about a write frame that is being programmed. */
case class FrameDescriptor() extends Bundle {
  val frame = UInt(16 bits)
  val lpn = UInt(32 bits)
  val ppn = UInt(30 bits)
  val index = UInt(48 bits)
  val hasTx = Bool()
  val txid = UInt(5 bits)
}

/** The write frames: who is free, what the others hold, and who still reads them.
  *
  * Contract: `free` gives a frame. It comes back by `giveBack` (never linked), or after its program: `writeDone` ->
  * SWAP of BUF to NAND -> its answer -> `pageDone`, and the last `unpin`. `describe` comes before the program op. A
  * missed SWAP means that the page was overwritten meanwhile: `missed` for one clock, and its page at `dead`, which
  * must be taken unconditionally. A page whose program failed goes to `failed`, one at a time, and waits there as long
  * as it must: nothing else here waits for that. Its frame stays the place of its data until `rescued` ends in the same
  * way, SWAP done. `rescued` without `ok`: `pageDone` without ok, and the frame stays for ever (the drive is read-only
  * from then on). So does the frame of a SWAP that met a table memory error (`keep`), because the map may still name
  * it; the drive goes on, and is made read-only in the same way when only 32 frames are left.
  *
  * Pins: a lookup that answers BUF(frame) comes with `pin` in the clock of the answer. A SWAP does not start before the
  * answers of all earlier lookups of its LPN are taken, and later ones start after its own answer; so an answer before
  * the SWAP's holds the frame and none after it can name it. `pin` is never refused; swap answers, `rescued`,
  * `giveBack` and `unpin` wait for it. `inFlight`: a program or swap is under way.
  *
  * Latency: `writeDone` to SWAP 2 clocks; answer to `free` 5 clocks. Reset takes all frames back; it takes one clock
  * per frame until `free` starts.
  */
class WriteFramePool(p: OtxParam, few: Option[Int] = None) extends Component {
  setDefinitionName("otx_write_frame_pool" + few.fold("")("_" + _))
  private val frames = few.getOrElse(p.writeFrames)

  val free = master port Stream(UInt(16 bits))
  val freeCount = out port UInt(16 bits)
  val giveBack, unpin = slave port Stream(UInt(16 bits))
  val pin = slave port Flow(UInt(16 bits))
  val describe = slave port Flow(FrameDescriptor())
  val writeDone = slave port Stream(FlashDone())
  val remap = Ports.bare(master port RemapUser())
  import remap.{op, rsp}
  val failed = master port Stream(FrameDescriptor())
  val rescued = slave port Stream(Rescued())
  val failing = out port Bool() // a page whose program failed is here or with the rescue
  val pageDone = master port Stream(PageDone())
  val missed = out port Bool()
  val dead = master port Stream(UInt(30 bits)) // the page of a missed SWAP
  val inFlight = out port Bool()
  val lost = out port UInt(16 bits) // frames that are kept

  private val bits = log2Up(frames)
  private val list = new FreeList(frames)
  free << list.take
  freeCount := list.count

  // After the program: swap, or report the failure
  private val descriptors = Mem(FrameDescriptor(), frames)
  descriptors.write(describe.frame.resize(bits), describe.payload, describe.valid)
  private val finished =
    StreamDemux(writeDone, (writeDone.status === PageStatus.OK).asUInt, 2).map(_.map(_.cookie.resize(bits)))
  private val failures = finished(0).queue(frames) // always taken, so that the done beat of a rescue gets past
  private val saving = RegInit(False) // one is with the rescue
  private val unsaved = Reg(UInt(bits + 1 bits)) init 0
  unsaved := unsaved + finished(0).fire.asUInt - rescued.fire.asUInt
  failing := unsaved =/= 0
  private val toSave = failures.haltWhen(saving)
  when(toSave.fire)(saving := True)
  when(rescued.fire)(saving := False)
  private val ended =
    descriptors.streamReadSync(StreamArbiterFactory().lowerFirst.noLock.onArgs(toSave, finished(1)), !toSave.valid)
  private val branches = StreamDemux(ended, ended.linked.asUInt, 2)
  // one at a time: always taken, so that done beats go past it while the rescue has a move in hand
  failed << branches(0).map(_.value).stage()
  private val swaps = Mem(FrameDescriptor(), 4) // sent, not answered: the place is the tag
  private val sent = Reg(Bits(4 bits)) init 0
  private val offering = RegNext(op.valid && !op.ready) init False // an offered op keeps its tag
  private val offered = RegNext(op.tag.resize(2))
  private val place = OHToUInt(OHMasking.first(~sent))
  private val toEngine = branches(1).haltWhen(sent.andR)
  op.arbitrationFrom(toEngine)
  op.op := RemapOpcode.SWAP
  op.lpn := toEngine.value.lpn
  op.hasTx := False
  op.txid := 0
  op.location := Word(WordKind.BUF, toEngine.value.frame)
  op.newLocation := Word(WordKind.NAND, toEngine.value.ppn)
  op.blocks := 0
  op.last := True
  op.tag := Mux(offering, offered, place).resized

  private val pending = swaps.readAsync(rsp.tag.resize(2))
  private val eventFree = !pin.valid
  private val reports = Stream(PageDone())
  private val deads = Stream(UInt(30 bits))
  private val swapped = rsp.valid && eventFree && reports.ready && deads.ready
  rsp.ready := swapped
  swaps.write(op.tag.resize(2), toEngine.value, op.fire)
  when(swapped)(sent(rsp.tag.resize(2)) := False)
  when(op.fire)(sent(op.tag.resize(2)) := True)
  rescued.ready := reports.ready && eventFree && !swapped
  reports.valid := swapped || rescued.fire
  private val reported = Mux(swapped, pending, rescued.page)
  reports.index := reported.index
  reports.hasTx := reported.hasTx
  reports.txid := reported.txid
  private val kept = Reg(UInt(bits + 1 bits)) init 0 // frames whose SWAP met an error
  private val keeps = swapped && rsp.error || rescued.fire && rescued.keep
  when(keeps)(kept := kept + 1)
  lost := kept.resized
  reports.ok := (swapped || rescued.ok) && !(keeps && kept === (frames - OtxParam.maxBlocks max 0))
  pageDone << reports.queue(4)
  missed := swapped && !rsp.hit && !rsp.error
  deads.valid := missed
  deads.payload := pending.ppn
  dead << deads.queue(4)

  private val programs = Reg(UInt(bits + 1 bits)) init 0
  programs := programs + describe.valid.asUInt - reports.fire.asUInt
  inFlight := programs =/= 0 || pageDone.valid

  // Who holds a frame: one event per clock
  private case class Holders() extends Bundle {
    val over = Bool() // neither filled nor programmed any more
    val pins = UInt(7 bits) // lookups that answered BUF and are not delivered: at most 64
  }
  private val holders = Mem(Holders(), frames)
  private val swept = Reg(UInt(bits + 1 bits)) init 0
  private val sweeping = swept =/= frames
  when(sweeping)(swept := swept + 1)

  giveBack.ready := eventFree && !swapped && !rescued.valid
  unpin.ready := eventFree && !swapped && !rescued.valid && !giveBack.valid
  private case class Event() extends Bundle {
    val frame = UInt(16 bits)
    val pin, end, unpin = Bool()
  }
  private val event = Reg(Flow(Event())) // what happened in the last clock
  event.valid.init(False)
  event.valid := pin.valid || swapped || rescued.fire || giveBack.fire || unpin.fire
  event.frame := pin.valid.mux(
    pin.payload,
    (swapped || rescued.valid).mux(reported.frame, giveBack.valid.mux(giveBack.payload, unpin.payload))
  )
  event.pin := pin.valid
  event.end := swapped && !rsp.error || rescued.fire && rescued.ok && !rescued.keep || giveBack.fire
  event.unpin := unpin.fire
  private val before = holders.readAsync(event.frame.resize(bits))
  private val after = Holders()
  after.over := before.over || event.end
  after.pins := before.pins + event.pin.asUInt - event.unpin.asUInt
  private val unpinned = Mux(event.unpin, before.pins === 1, before.pins === 0) && !event.pin // after.pins === 0
  private val freed = event.valid && after.over && unpinned
  private val none = Holders().getZero
  holders.write(
    sweeping.mux(swept.resize(bits), event.frame.resize(bits)),
    Mux(sweeping || freed, none, after),
    sweeping || event.valid
  )
  list.give.valid := RegNext(freed, init = False)
  list.give.payload := RegNext(event.frame)
}
