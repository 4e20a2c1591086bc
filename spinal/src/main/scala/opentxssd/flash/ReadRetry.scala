// SPDX-License-Identifier: Apache-2.0
package opentxssd.flash

import opentxssd._
import spinal.core._
import spinal.lib._

/** An op that a channel has under way: who waits for it, and, with read retry, what it takes to read it again. */
case class FlashOwner(p: OtxParam) extends Bundle {
  val source = UInt(2 bits)
  val verify = Bool()
  val cookie = UInt(16 bits)
  val ppn = UInt(p.ppnBits bits)
  val op = p.retry generate UInt(4 bits)
  val frame = p.retry generate UInt(16 bits)

  def readsPage: Bool = op === NandOp.READ || op === NandOp.READ_OOB || op === NandOp.VERIFY
}

/** A completion of the channel. */
case class RetryEnd(p: OtxParam) extends Bundle {
  val way = UInt(4 bits)
  val slot = Bool()
  val status = UInt(3 bits)
}

/** A command: SET_FEATURES of the read level, or (`reads`) the op again. */
case class RetryCmd() extends Bundle {
  val way = UInt(4 bits)
  val level = UInt(3 bits)
  val reads = Bool()
}

/** Reads a page that cannot be corrected again, at the other read levels of the part (decision 017).
  *
  * Contract. `ended` is each completion of the channel, with the owner of its slot. One of a READ, READ_OOB or VERIFY
  * with status CRC, while `levels` is not 0, is not the op's end: `again` says so in the same clock, the way is
  * `blocked` for other ops, one that the queues offer already waits (`halt`: else it would take the owner's slot), and
  * as soon as what runs beside it has ended (`wayIdle`), the way gets SET_FEATURES of feature 89h to level 1, the op,
  * level 2, the op, and so on until the op ends with another status or has failed at level `levels`, and at last level
  * 0. All these commands go out on `cmd`, before those of the queues; the other ways go on, one way at a time is read
  * again. The op's last completion is its end: then `mine` says that it is that of `op` below, and not of the slot's
  * owner; SET_FEATURES' completions are `again`, whatever their status (a level that was not set is one more failed
  * read).
  * `askOwner` asks for the owner of `ownerWay`, `ownerSlot` in this clock, in which no completion may be taken. `busy`:
  * some way is blocked. Reset loses all; the dies may stay at another level, which identification sets back.
  */
class ReadRetry(p: OtxParam) extends Component {
  setDefinitionName("otx_read_retry")

  val levels = in port UInt(3 bits)
  val wayIdle = in port Bits(p.ways bits)
  val issueWay = in port UInt(4 bits) // of the op that the queues offer
  val ended = slave port Flow(RetryEnd(p))
  val owner = in port FlashOwner(p)
  val again, mine, halt, askOwner, busy = out port Bool()
  val ownerWay = out port UInt(4 bits)
  val ownerSlot = out port Bool()
  val blocked = out port Bits(p.ways bits)
  val cmd = master port Stream(RetryCmd())
  val op = out port FlashOwner(p)

  private object State extends SpinalEnum {
    val IDLE, ASK_OWNER, QUIET, LEVEL, LEVEL_ENDS, READ, READ_ENDS, BACK, BACK_ENDS = newElement()
  }
  import State._

  private val slots = if (p.second) 2 else 1
  private val state = RegInit(IDLE)
  private val owed = Vec.fill(slots)(RegInit(B(0, p.ways bits)))
  private val way = Reg(UInt(log2Up(p.ways max 2) bits))
  private val slot = Reg(Bool())
  private val at = Reg(UInt(3 bits))
  private val held = Reg(FlashOwner(p))

  private val hits = (0 until p.ways).map(way === _)
  private val active = state =/= IDLE && state =/= ASK_OWNER
  private val anyOwed = owed.reduce(_ | _)
  for (w <- 0 until p.ways) blocked(w) := anyOwed(w) || (state =/= IDLE && hits(w))
  busy := blocked.orR
  halt := cmd.valid || (0 until p.ways).map(w => issueWay === w && blocked(w)).reduce(_ || _)

  // A completion
  private val ofMine = active && state =/= QUIET && ended.way === way
  private val more = ended.status === PageStatus.CRC && at < levels
  private val first = !ofMine && owner.readsPage && ended.status === PageStatus.CRC && levels =/= 0
  again := first || (ofMine && (state =/= READ_ENDS || more))
  mine := ofMine
  op := held
  when(ended.valid && first) {
    for (n <- 0 until slots; w <- 0 until p.ways)
      when(ended.way === w && (if (slots == 2) ended.slot === Bool(n == 1) else True))(owed(n)(w) := True)
  }

  // Commands
  cmd.valid := state === LEVEL || state === READ || state === BACK
  cmd.way := way.resized
  cmd.level := Mux(state === BACK, U(0, 3 bits), at)
  cmd.reads := state === READ

  askOwner := state === ASK_OWNER
  ownerWay := way.resized
  ownerSlot := slot

  private def ends = ended.valid && ofMine
  switch(state) {
    is(IDLE) {
      way := OHToUInt(OHMasking.first(anyOwed)).resized
      if (slots == 2) slot := (0 until p.ways).map(w => OHMasking.first(anyOwed)(w) && !owed(0)(w)).reduce(_ || _)
      else slot := False
      at := 1
      when(anyOwed.orR)(state := ASK_OWNER)
    }
    is(ASK_OWNER) {
      held := owner
      state := QUIET
    }
    is(QUIET) {
      when((0 until p.ways).map(w => hits(w) && wayIdle(w)).reduce(_ || _)) {
        for (n <- 0 until slots; w <- 0 until p.ways)
          when(hits(w) && (if (slots == 2) slot === Bool(n == 1) else True))(owed(n)(w) := False)
        state := LEVEL
      }
    }
    is(LEVEL)(when(cmd.ready)(state := LEVEL_ENDS))
    is(LEVEL_ENDS)(when(ends)(state := READ))
    is(READ)(when(cmd.ready)(state := READ_ENDS))
    is(READ_ENDS) {
      when(ends) {
        at := at + 1
        state := Mux(more, LEVEL, BACK)
      }
    }
    is(BACK)(when(cmd.ready)(state := BACK_ENDS))
    is(BACK_ENDS)(when(ends)(state := IDLE))
  }
}
