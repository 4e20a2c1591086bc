// SPDX-License-Identifier: Apache-2.0
package opentxssd

import spinal.core._
import spinal.lib._

/** Lets ops and walk jobs into the slots: which goes next, whether it may be done at all, and whether somebody in a slot is in its way.
  *
  * A job waits here until a slot is free and no slot has the same LPN when one of the two changes something. Every op but LOOKUP changes something, and every walk. So jobs
  * on one LPN that matter to each other run one after the other, in order, the later one from the clock after the earlier one's answer was taken (`answered`) or its walk ended
  * (`walkEnd`); all others overtake each other. The job behind it waits too.
  *
  * Ops first; but a walk job that has let 64 ops pass goes next. One APPEND at a time (`appending`, from its first clock here to `appendEnd`): its transaction's state and count stand
  * still meanwhile. An op that may not be done (unknown op, LPN past the end, a VER location, APPEND to a transaction that is not OPEN) and an entry that could not be read start as `refused`.
  *
  * Latency: `op` to `start` 1 clock, 2 for an APPEND; one job per clock. Reset forgets all jobs.
  */
class RemapGate(p: OtxParam, slots: Int = OtxParam.slots) extends Component {
  setDefinitionName("otx_remap_gate")

  val op = slave port Stream(RemapOp())
  val walk = slave port Stream(RemapWalk())
  val limit = in port UInt(OtxParam.orderBits bits) // of an op that comes in this clock
  val state = in port Vec(UInt(3 bits), OtxParam.txids)
  val count = in port Vec(UInt(16 bits), OtxParam.txids)
  val start = master port Stream(RemapStart(p))
  val answered, walkEnd = slave port Flow(UInt(OtxParam.slotBits bits))
  val appendEnd = in port Bool()
  val appending = out port Bool()

  // the job that is here
  private val here = RegInit(False)
  private val job = Reg(RemapContext(p))
  private val bad = Reg(Bool()) // may not be done, whatever the transaction's state is
  private val changes = Reg(Bool())
  private val isAppend = Reg(Bool())

  private val passed = Reg(UInt(7 bits)) init 0
  private val room = !here || start.ready && start.valid
  op.ready := room && !(walk.valid && passed.msb)
  walk.ready := room && (passed.msb || !op.valid)
  when(op.fire && walk.valid)(passed := passed + 1)
  when(walk.fire)(passed := 0)

  private val isWalk = walk.valid && (passed.msb || !op.valid) // that goes next
  private val lpn = isWalk.mux(walk.lpn, op.lpn)
  private val past = lpn >= U(p.lbas, 32 bits)
  when(start.fire)(here := False)
  when(room) {
    here := op.fire || walk.fire
    job.job := isWalk.mux(walk.merge.mux(U(RemapJob.MERGE, 3 bits), U(RemapJob.DROP, 3 bits)), op.op.resize(2).resize(3))
    job.lpn := lpn.resized
    job.hasTx := op.hasTx && !isWalk
    job.index := walk.index
    when(!isWalk)(job.index.txid := op.txid)
    job.location := op.location
    job.newLocation := op.newLocation
    job.limit := limit
    job.tag := op.tag
    isAppend := !isWalk && op.op === RemapOpcode.APPEND
    changes := isWalk || op.op =/= RemapOpcode.LOOKUP
    bad := past || isWalk.mux(
      walk.unread,
      op.op.msb || op.op =/= RemapOpcode.LOOKUP && op.location.isVer || op.op === RemapOpcode.SWAP && op.newLocation.isVer ||
        op.op === RemapOpcode.APPEND && !op.hasTx
    )
  }

  // the slots
  private val active, changing = Reg(Bits(slots bits)) init 0
  private val lpns = Vec.fill(slots)(Reg(UInt(p.lpnBits bits)))
  private val spare = Reg(UInt(OtxParam.slotBits bits))
  private val spareBit = Reg(Bits(slots bits)) init 0 // one hot; none: no slot is free
  private val candidates = ~active & ~spareBit
  private val haveSpare = RegInit(False)
  when(start.fire || !haveSpare) {
    spareBit := OHMasking.first(candidates)
    spare := OHToUInt(OHMasking.first(candidates)).resized
    haveSpare := candidates.orR
  }
  private val left = Bits(slots bits)
  left := 0
  when(answered.valid)(left(answered.payload.resize(log2Up(slots))) := True)
  when(walkEnd.valid)(left(walkEnd.payload.resize(log2Up(slots))) := True)
  active := (active | (start.fire ? spareBit | B(0, slots bits))) & ~left
  when(start.fire) {
    changing := changes.mux(changing | spareBit, changing & ~spareBit)
    for (i <- 0 until slots) when(spareBit(i))(lpns(i) := job.lpn)
  }

  // Who has the LPN of the job that is here: compared when it comes; later nobody but itself enters.
  private val same = Reg(Bits(slots bits))
  private val sameNow = Bits(slots bits)
  private val sameJob = job.lpn === lpn.resize(p.lpnBits)
  for (i <- 0 until slots) sameNow(i) := Mux(start.fire && spareBit(i), sameJob, lpns(i) === lpn.resize(p.lpnBits))
  when(room)(same := sameNow)
  private val inTheWay = (same & active & (changing | B(slots bits, default -> changes))).orR

  // APPEND: a clock more, to look at its transaction
  private val appendBusy = RegInit(False)
  private val looked = RegNext(here && isAppend && !appendBusy && !start.fire) init False
  private val notOpen = RegNext(Pick(state, job.index.txid) =/= TxState.OPEN)
  private val number = RegNext(Pick(count, job.index.txid))
  private val refused = bad || isAppend && notOpen
  when(appendEnd)(appendBusy := False)
  when(start.fire && isAppend && !refused)(appendBusy := True)
  appending := here && isAppend || appendBusy

  start.valid := here && haveSpare && (!isAppend || looked) && (refused || !inTheWay)
  start.slot := spare
  start.refused := refused
  start.context := job
  when(isAppend)(start.context.index.number := number)
}
