// SPDX-License-Identifier: Apache-2.0
package opentxssd.remap

import opentxssd._
import spinal.core._
import spinal.lib._

/** Lets ops and walk jobs into the slots: which goes next, whether it may be done at all, and whether somebody in a
  * slot is in its way.
  *
  * A job waits here until a slot is free and no slot has the same LPN when one of the two changes something. Every op
  * but LOOKUP changes something, and every walk. So jobs on one LPN that matter to each other run one after the other,
  * in order, the later one from the clock after the earlier one's answer was taken (`answered`) or its walk ended
  * (`walkEnd`); all others overtake each other. The job behind it waits too.
  *
  * A TRIM becomes one job per block, PLAIN or APPEND of NONE (`part`), which start one after the other with the limit
  * of the TRIM; nobody comes between them, and `trims` says how many there will be when the first starts. That one
  * waits for the answer of the TRIM before (`trimming`).
  *
  * Ops first; but a walk job that has let 64 ops pass goes next. One APPEND at a time (`appending`, from its first
  * clock here to `appendEnd`): its transaction's state and count stand still meanwhile, also between the parts of a
  * TRIM. An op that may not be done (unknown op, LPN past the end, a VER location, APPEND to a transaction that is not
  * OPEN) and an entry that could not be read start as `refused`; so does a TRIM of 0 or over 32 blocks, past the end or
  * of a transaction that is not OPEN: once, and not as a part.
  *
  * Latency: `op` to `start` 1 clock, 2 for an APPEND or TRIM; one job per clock, a part of a TRIM per 2 clocks. Reset
  * forgets all jobs.
  */
class RemapIssue(p: RemapParam) extends Component {
  setDefinitionName("otx_remap_issue")

  val op = slave port Stream(RemapOp())
  val walk = slave port Stream(RemapWalk(p))
  val limit = in port UInt(RemapParam.orderBits bits) // of an op that comes in this clock
  val state = in port Vec(UInt(3 bits), RemapParam.mostTxids)
  val appendTxid = out port UInt(5 bits) // of the APPEND that is here
  val size = in port UInt(16 bits) // entries it has
  val start = master port Stream(RemapStart(p))
  val answered, walkEnd = slave port Flow(UInt(p.slotBits bits))
  val appendEnd = in port Bool()
  val appending = out port Bool()
  val trims = master port Flow(UInt(6 bits))
  val trimming = in port Bool()

  // the job that is here
  private val here = RegInit(False)
  private val job = Reg(RemapContext(p))
  private val bad = Reg(Bool()) // may not be done, whatever the transaction's state is
  private val changes = Reg(Bool())
  private val isAppend, isTrim = Reg(Bool())
  private val more = RegInit(False) // parts of a TRIM follow the one that is here
  private val parts = Reg(UInt(6 bits)) // to start, with the one that is here
  private val first = Reg(Bool())

  private val passed = Reg(UInt(7 bits)) init 0
  private val advance = !here || start.ready && start.valid
  private val room = !here || start.ready && start.valid && !more
  op.ready := room && !(walk.valid && passed.msb)
  walk.ready := room && (passed.msb || !op.valid)
  when(op.fire && walk.valid)(passed := passed + 1)
  when(walk.fire)(passed := 0)

  private val isWalk = walk.valid && (passed.msb || !op.valid) // that goes next
  private val newChanges = more.mux(changes, isWalk || op.op =/= RemapOpcode.LOOKUP)
  private val newLpn = isWalk.mux(walk.lpn, op.lpn)
  private val past = newLpn >= U(p.lpns, 32 bits)
  private val nextLpn = RegNext(job.lpn + 1) // of the next part; a part is here for 2 clocks at least
  private val lpn = more.mux(nextLpn, newLpn.resize(p.lpnBits))
  private val trims1 = op.op === RemapOpcode.TRIM
  private val refused = Bool()
  when(start.fire) {
    here := more && !refused
    more := more && !refused && parts =/= 2
    parts := parts - 1
    first := False
  }
  when(advance)(job.lpn := lpn)
  when(room) {
    here := op.fire || walk.fire
    job.job := isWalk.mux(
      walk.merge.mux(U(RemapJob.MERGE, 3 bits), U(RemapJob.DROP, 3 bits)),
      op.op.resize(2).resize(3)
    )
    when(!isWalk && op.op.msb)(job.job := op.hasTx.mux(U(RemapOpcode.APPEND, 3 bits), U(RemapOpcode.PLAIN, 3 bits)))
    job.hasTx := op.hasTx && !isWalk
    job.index := walk.index
    when(!isWalk)(job.index.txid := op.txid)
    job.location := op.op.msb.mux(Word.none, op.location)
    job.newLocation := op.newLocation
    job.limit := limit
    job.tag := op.tag
    isAppend := !isWalk && (op.op === RemapOpcode.APPEND || trims1 && op.hasTx)
    isTrim := !isWalk && trims1
    more := op.fire && trims1 && op.blocks =/= 1
    parts := op.blocks
    first := True
    changes := newChanges
    bad := past || isWalk.mux(
      walk.unread,
      op.op.msb && !trims1 || op.op(
        1 downto 0
      ) =/= RemapOpcode.LOOKUP && op.location.isVer || op.op === RemapOpcode.SWAP && op.newLocation.isVer ||
        op.op === RemapOpcode.APPEND && !op.hasTx || trims1 && (op.blocks === 0 || op.blocks > RemapParam.mostBlocks)
    )
  }

  // the slots
  private val active, changing = Reg(Bits(p.slots bits)) init 0
  private val lpns = Vec.fill(p.slots)(Reg(UInt(p.lpnBits bits)))
  private val spare = Reg(UInt(p.slotBits bits))
  private val spareBit = Reg(Bits(p.slots bits)) init 0 // one hot; none: no slot is free
  private val candidates = ~active & ~spareBit
  private val haveSpare = RegInit(False)
  when(start.fire || !haveSpare) {
    spareBit := OHMasking.first(candidates)
    spare := OHToUInt(OHMasking.first(candidates)).resized
    haveSpare := candidates.orR
  }
  private val left = Bits(p.slots bits)
  left := 0
  when(answered.valid)(left(answered.payload.resize(log2Up(p.slots))) := True)
  when(walkEnd.valid)(left(walkEnd.payload.resize(log2Up(p.slots))) := True)
  active := (active | (start.fire ? spareBit | B(0, p.slots bits))) & ~left
  when(start.fire) {
    changing := changes.mux(changing | spareBit, changing & ~spareBit)
    for (i <- 0 until p.slots) when(spareBit(i))(lpns(i) := job.lpn)
  }

  // Who is in the way of the job that is here: known when it comes; later nobody but itself enters.
  private val ahead = Reg(Bits(p.slots bits))
  private val sameJob = job.lpn === lpn
  when(advance) {
    for (i <- 0 until p.slots) {
      val starts = start.fire && spareBit(i)
      val same = Mux(starts, sameJob, lpns(i) === lpn)
      ahead(i) := same && (starts || active(i)) && !left(i) && (newChanges || Mux(starts, changes, changing(i)))
    }
  } otherwise (ahead := ahead & ~left)
  private val inTheWay = ahead.orR

  // APPEND: a clock more, to look at its transaction. TRIM: at its end, which is that of all its parts
  private val appendBusy = RegInit(False)
  private val looked =
    RegNext(here && !(isAppend && appendBusy) && !(isTrim && first && trimming) && !start.fire) init False
  private val over = RegNext((job.lpn +^ parts) > U(p.lpns, p.lpnBits + 1 bits))
  private val notOpen = RegNext(Pick(state, job.index.txid) =/= TxState.OPEN)
  appendTxid := job.index.txid
  private val number = RegNext(size)
  refused := bad || isAppend && notOpen || isTrim && over
  when(appendEnd)(appendBusy := False)
  when(start.fire && isAppend && !refused)(appendBusy := True)
  appending := here && isAppend || appendBusy

  start.valid := here && haveSpare && (!isAppend && !isTrim || looked) && (refused || !inTheWay)
  start.slot := spare
  start.refused := refused
  start.context := job
  start.context.part.removeAssignments() := isTrim && !refused
  when(isAppend)(start.context.index.number := number.resized)
  trims.valid := start.fire && start.context.part && first
  trims.payload := parts
}
