// SPDX-License-Identifier: Apache-2.0
package opentxssd.remap

import opentxssd._
import spinal.core._
import spinal.lib._
import spinal.lib.bus.amba4.axi._

/** The jobs under way, one in each slot, and their way to table memory.
  *
  * One event per clock: a read return, or a write response, which goes first when it waits (a read had to come before
  * it, so reads get at least every second clock). An event is a step of one slot: in its first clock what the slot
  * knows comes out of memory, in its second `RemapStep` decides and it goes back. Then either the next chain read goes
  * out in that second clock, or a write two later, or the answer stands at `answer` one later. Requests wait in queues
  * with a place for every slot, so a read return is never held up by anything but a write response, and a write
  * response only by `released`. AR: chain reads, then the walker's reads, then new jobs; what was offered and not taken
  * stays.
  *
  * AXI: single beats of 16 bytes. The two highest bits of an id are 0 for entries and writes of the slot that the
  * others name, 2 for its map word, 1 for the walker's read into the place that they name. Returns come in any order;
  * no order between AR and AW is needed: a write has its response before anything is read that depends on it.
  *
  * Latency: `start` to AR 0 clocks; read return to the next AR 1 clock, to `answer` 2. Reset forgets all jobs: the
  * memory must forget its accesses as well.
  */
class RemapSlots(p: RemapParam) extends Component {
  setDefinitionName("otx_remap_slots")

  val start = slave port Stream(RemapStart(p))
  val fetch = slave port Stream(RemapFetch(p))
  val fetched = master port Flow(RemapFetched())
  val answer = master port Stream(RemapAnswer())
  val released = master port Stream(Word())
  val answered, walkEnd = master port Flow(UInt(p.slotBits bits))
  val appendEnd = out port Bool()
  val countUp = master port Flow(UInt(5 bits))
  val changed = master port Flow(UInt(p.lpnBits bits)) // a write for this LPN stands in memory
  val fault = out port Bool()
  val state = in port Vec(UInt(3 bits), RemapParam.mostTxids)
  val named = out port UInt(5 bits) // a transaction
  val size = in port UInt(16 bits) // entries it has
  val order = in port Vec(UInt(RemapParam.orderBits bits), RemapParam.mostTxids)
  val table = master port Axi4(p.tableAxi)

  import p.{slotBits, slots}
  private val depth = 1 << slotBits
  private val map = RemapMap(p)
  private val step = new RemapStep(p)
  private val visibility = new RemapVisibility(p)

  // what the slots know; each memory has one writer
  private val contexts = Mem(RemapContext(p), depth)
  private val ats = Mem(RemapAt(p), depth)
  private val starts = Mem(RemapStarts(p), depth)
  private val kepts = Mem(Word(), depth)
  private val flags = Mem(RemapFlags(), depth)
  private val meanings = Mem(RemapMeaning(), depth)

  // the event of this clock, its first
  private val frees = new StreamFifo(Word(), 4, withAsyncRead = true)
  // for this clock's and those of the two events before
  private val room = RegNext(frees.io.availability > 2) init False
  private val b = table.b.m2sPipe()
  private val written = b.valid && room
  b.ready := written
  private val isFetch = table.r.id(slotBits)
  table.r.ready := !written || isFetch
  private val arrives = written || table.r.valid && !isFetch
  private val arriving = written.mux(b.id, table.r.id).resize(slotBits)
  fetched.valid := table.r.valid && isFetch
  fetched.place := table.r.id.resized
  fetched.lpn := table.r.data(31 downto 0).asUInt
  fetched.failed := table.r.resp(1)

  // its second
  private val event = RegNext(arrives) init False
  private val slot = RegNext(arriving)
  private val arrivingContext = contexts.readAsync(arriving)
  private val context = RegNext(arrivingContext)
  step.written := RegNext(written)
  step.failed := RegNext(written.mux(b.resp, table.r.resp)(1))
  step.isHead := RegNext(table.r.id.msb && !written)
  step.data := RegNext(table.r.data)
  step.context := context
  step.at := RegNext(ats.readAsync(arriving))
  step.kept := RegNext(kepts.readAsync(arriving))
  step.flags := RegNext(flags.readAsync(arriving))
  private val arrivingEntry = TxEntry()
  arrivingEntry.assignFromBits(table.r.data)
  step.itsLpn := RegNext(arrivingEntry.lpn === arrivingContext.lpn.resize(32))
  step.itsLocation := RegNext(arrivingEntry.location === arrivingContext.location)
  ats.write(slot, step.newAt, event && !step.written)
  starts.write(slot, step.newStarts, event && step.setStarts)
  kepts.write(slot, step.newKept, event && step.setKept)
  flags.write(slot, step.newFlags, event)

  // what the transaction of the entry means that is about to be read
  private val ask = Reg(RemapAsk(p))
  private val asks = RegNext(event && step.read) init False
  ask.slot := slot
  ask.word := step.newAt.word
  ask.isWalk := context.isWalk
  ask.hasTx := context.hasTx
  ask.index := context.index
  ask.limit := context.limit
  visibility.ask := ask
  visibility.state := state
  named := visibility.named
  visibility.size := size
  visibility.order := order
  meanings.write(ask.slot, visibility.meaning, asks)
  private val writtenNow = asks && ask.slot === arriving
  step.meaning := RegNext(writtenNow.mux(visibility.meaning, meanings.readAsync(arriving)))

  // reads
  private case class ChainRead() extends Bundle {
    val slot = UInt(slotBits bits)
    val index = TxIndex(p)
  }
  private val chain = new StreamFifo(ChainRead(), slots, withAsyncRead = true, withBypass = true)
  chain.io.push.valid := event && step.read
  chain.io.push.slot := slot
  chain.io.push.index := TxIndex.of(p, step.newAt.word)
  private case class HeadRead() extends Bundle {
    val slot = UInt(slotBits bits)
    val lpn = UInt(p.lpnBits bits)
  }
  private val begin = Stream(HeadRead())
  begin.valid := start.valid && !start.refused
  begin.slot := start.slot
  begin.lpn := start.context.lpn
  private val heads = begin.s2mPipe() // so that neither waits for the decision of a step
  private val fetches = fetch.s2mPipe()
  // a chain read is known late, at the end of a step: it decides last, and about nothing but itself and the others
  private val isChain = Bool()
  private val held = RegNext(table.ar.valid && !table.ar.ready && !isChain) init False // another was offered
  isChain := chain.io.pop.valid && !held
  private val isFetched = Bool()
  private val wasFetched = RegNext(isFetched)
  isFetched := held.mux(wasFetched, fetches.valid)
  table.ar.valid := isChain || isFetched.mux(fetches.valid, heads.valid)
  chain.io.pop.ready := !held && table.ar.ready
  fetches.ready := !isChain && isFetched && table.ar.ready
  heads.ready := !isChain && !isFetched && table.ar.ready
  table.ar.addr :=
    isChain.mux(map.entry(chain.io.pop.index), isFetched.mux(map.entry(fetches.index), map.words(heads.lpn)))
  table.ar.id := isChain.mux(
    U(0, 2 bits) @@ chain.io.pop.slot,
    isFetched.mux(U(1, 2 bits) @@ fetches.place.resize(slotBits), U(2, 2 bits) @@ heads.slot)
  )
  table.ar.len := 0
  table.ar.size := 4
  table.ar.burst := Axi4.burst.INCR

  /** A job that may not be done: it gets its answer, or a walk its end, without a read. */
  private case class Refusal() extends Bundle {
    val slot = UInt(slotBits bits)
    val tag = UInt(8 bits)
    val isWalk = Bool()
  }

  // new jobs; a refused one waits for a clock without an event
  private val refusal = Reg(Flow(Refusal()))
  refusal.valid init False
  start.ready := start.refused.mux(!refusal.valid, begin.ready)
  contexts.write(start.slot, start.context, start.fire)
  private val refuses = refusal.valid && !event
  when(refuses)(refusal.valid := False)
  when(!refusal.valid) {
    refusal.valid := start.valid && start.refused
    refusal.slot := start.slot
    refusal.tag := start.context.tag
    refusal.isWalk := start.context.isWalk
  }

  // writes
  private val puts = new StreamFifo(RemapWriteJob(p), slots, withAsyncRead = true)
  puts.io.push.valid := event && step.write.valid
  puts.io.push.slot := slot
  puts.io.push.what := step.write.payload
  private val writer = new RemapWriter(p)
  writer.job << puts.io.pop.m2sPipe()
  writer.context := contexts.readAsync(writer.job.slot)
  writer.holder := ats.readAsync(writer.job.slot).holder
  writer.starts := starts.readAsync(writer.job.slot)
  writer.kept := kepts.readAsync(writer.job.slot)
  table.aw << writer.table.aw
  table.w << writer.table.w
  writer.table.b.valid := False
  writer.table.b.payload.clearAll()

  // answers
  private case class Answer() extends Bundle {
    val slot = UInt(slotBits bits)
    val what = RemapAnswer()
  }
  private val answers = new StreamFifo(Answer(), slots, withAsyncRead = true)
  private val ends = event && step.finish
  private val one = Answer()
  one.slot := event.mux(slot, refusal.slot)
  one.what.rsp := step.rsp
  one.what.part := context.part
  when(!event) {
    one.what.rsp.tag := refusal.tag
    one.what.rsp.location := Word.none
    one.what.rsp.own := False
    one.what.rsp.committing := False
    one.what.rsp.hit := False
    one.what.rsp.error := True
    one.what.part := False
  }
  answers.io.push.valid := ends && !context.isWalk || refuses && !refusal.isWalk
  answers.io.push.payload := one
  answer.arbitrationFrom(answers.io.pop)
  answer.payload := answers.io.pop.what
  answered.valid := answer.fire
  answered.payload := answers.io.pop.slot
  walkEnd.valid := RegNext(ends && context.isWalk || refuses && refusal.isWalk) init False
  walkEnd.payload := RegNext(one.slot)
  appendEnd := ends && context.job === RemapOpcode.APPEND
  countUp.valid := event && step.countUp
  countUp.payload := context.index.txid
  changed.valid := event && step.written
  changed.payload := context.lpn
  fault := RegNext(event && step.fault || refuses && refusal.isWalk) init False
  frees.io.push.valid := event && step.release.valid
  frees.io.push.payload := step.release.payload
  released << frees.io.pop
}
