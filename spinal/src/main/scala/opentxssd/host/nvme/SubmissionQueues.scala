// SPDX-License-Identifier: Apache-2.0
package opentxssd.host.nvme

import spinal.core._
import spinal.lib._

/** The submission queues: where each is, what the host has put in, and the reads that fetch SQEs, one at a time.
  *
  * Contract. `bell` is a new tail; that of a queue that is not there is `wrong(0)`, one past its size `wrong(1)`, both
  * for that clock, and nothing else happens. No entry that a tail has shown is forgotten: it is fetched when its turn
  * comes (`SubmissionArbiter`) as long as its queue is there, no entry twice, none before a tail has shown it. A read
  * takes a slot, but of the admin queue, which needs `adminFree`, and a place in the completion queue (`take`, after
  * `room` says a clock after `ask` that there is one): without one the queue is passed over until a completion queue's
  * head moves (`moved`). Reads leave six clocks or more apart, the first one seven after its doorbell; `fetched` has
  * one entry for each. `arrived`: the SQE was read, its place is the host's again (`head`).
  *
  * `set`: of a queue that comes it is taken when nothing else happens here; of one that goes when as many of its
  * commands have `ended` as were fetched. `stop`: all queues are gone. Reset: none is there.
  */
class SubmissionQueues extends Component {
  setDefinitionName("otx_submission_queues")
  import Nvme._

  val bell = slave port Flow(Doorbell())
  val wrong = out port Bits(2 bits)
  val set = slave port Stream(QueueContext())
  val stop = in port Bool()
  val weighted = in port Bool()
  val arbitration = in port Bits(32 bits)
  val adminFree = in port Bool()
  val ask = out port UInt(queueBits bits)
  val room, moved = in port Bool()
  val take = master port Flow(UInt(queueBits bits))
  val slot = slave port Stream(UInt(slotBits bits))
  val read = master port Stream(DmaRead())
  val fetched = master port Stream(Fetched())
  val arrived = slave port Flow(Fetched())
  val headOf = in port UInt(queueBits bits)
  val head = out port UInt(indexBits bits)
  val ended = slave port Flow(UInt(queueBits bits))
  val busy = out port Bool()

  private val there = Reg(Bits(queues bits)) init 0
  private val base = table(UInt(52 bits), 16)
  private val size, tail, point, heads = table(UInt(indexBits bits), 16) // point: the next one that is fetched
  private val cqOf = table(UInt(queueBits bits), 16)
  private val priority = Vec.fill(queues)(Reg(UInt(2 bits)))
  private val begun, done = table(UInt(log2Up(2 * slots) bits), 16) // commands, modulo

  // doorbells
  private val known = bell.queue < queues && there(bell.queue.resize(queueBits))
  private val at = bell.queue.resize(queueBits)
  private val fits = bell.value <= size.readAsync(at)
  wrong := (bell.valid && known && !fits) ## (bell.valid && !known)
  private val rings = bell.valid && known && fits
  private val waiting, held = Reg(Bits(queues bits)) init 0 // not all was fetched; no place in the completion queue

  // queues that come and go
  private val step = Reg(UInt(3 bits)) init 0
  private val q = Reg(UInt(queueBits bits)) init 0 // of that which is being fetched
  private val setNow = set.valid && set.payload.valid && step === 0 && !bell.valid && !arrived.valid && !ended.valid
  private val gone = RegNext(
    set.valid && !set.payload.valid && (step === 0 || q =/= set.payload.queue) && !there(set.payload.queue) &&
      begun.readAsync(set.payload.queue) === done.readAsync(set.payload.queue),
    False
  ) && set.valid && !set.payload.valid
  set.ready := setNow || gone
  base.write(set.payload.queue, set.base >> 12, setNow)
  size.write(set.payload.queue, set.size, setNow)
  cqOf.write(set.payload.queue, set.cq, setNow)
  tail.write(Mux(setNow, set.payload.queue, at), Mux(setNow, U(0), bell.value.resize(indexBits)), setNow || rings)
  heads.write(
    Mux(setNow, set.payload.queue, arrived.queue),
    Mux(setNow, U(0), arrived.next),
    setNow || arrived.valid
  )
  head := heads.readAsync(headOf)
  done.write(
    Mux(setNow, set.payload.queue, ended.payload),
    Mux(setNow, U(0), done.readAsync(ended.payload) + 1),
    setNow || ended.valid
  )

  // one command after another: choose, look, ask, check, read
  private val arbiter = new SubmissionArbiter
  arbiter.may := waiting & there & ~held & B(queues bits, 0 -> adminFree, default -> slot.valid)
  for (q <- 0 until queues) arbiter.priority(q) := priority(q)
  arbiter.weighted := weighted
  arbiter.burst := arbitration(2 downto 0).asUInt
  for (c <- 0 until 3) arbiter.weights(c) := arbitration(24 - 8 * c, 8 bits).asUInt
  private val from = Reg(UInt(52 bits))
  private val place = Reg(UInt(58 bits)) // in units of a SQE
  private val now, last, next, end = Reg(UInt(indexBits bits))
  private val cq = Reg(UInt(queueBits bits))
  private val rung = rings && at === q
  private val rang = Reg(Bool()) // since `end` was looked up
  private val wasMoved = Reg(Bool())
  private val settled = RegNext(step === 0, False) // the choice knows of the one before
  private val starts = step === 0 && settled && arbiter.any && fetched.ready && !(set.valid && set.payload.valid)
  arbiter.taken := starts
  when(rung)(rang := True)
  when(moved)(wasMoved := True)
  switch(step) {
    is(0) {
      q := arbiter.choice
      rang := False
      wasMoved := False
      when(starts)(step := 1)
    }
    is(1) {
      from := base.readAsync(q)
      now := point.readAsync(q)
      last := size.readAsync(q)
      end := tail.readAsync(q)
      cq := cqOf.readAsync(q)
      step := 2
    }
    is(2) {
      next := after(now, last)
      place := (from @@ U(0, 6 bits)) + now
      step := 3
    }
    is(3) {
      step := 4
      when(now === end || !there(q)) {
        step := 0
        waiting(q) := there(q) && (rang || rung)
      } elsewhen (q =/= 0 && !room) {
        step := 0
        held(q) := !wasMoved && !moved
      }
    }
    is(4)(when(read.ready) {
      step := 0
      waiting(q) := there(q) && (rang || rung || next =/= end)
    })
  }
  read.valid := step === 4
  read.address := place @@ U(0, 6 bits)
  read.length := 64
  ask := cq
  private val reads = read.fire
  take.valid := reads && q =/= 0
  take.payload := cq
  slot.ready := reads && q =/= 0
  fetched.valid := reads
  fetched.payload.queue := q
  fetched.cq := cq
  fetched.slot := slot.payload
  fetched.next := next
  fetched.priority := priority(q)
  point.write(Mux(setNow, set.payload.queue, q), Mux(setNow, U(0), next), setNow || reads)
  begun.write(
    Mux(setNow, set.payload.queue, q),
    Mux(setNow, U(0), begun.readAsync(q) + 1),
    setNow || reads && q =/= 0
  )

  when(rings)(waiting(at) := True)
  when(moved)(held := 0)
  when(setNow) {
    there(set.payload.queue) := True
    priority(set.payload.queue) := set.priority
    waiting(set.payload.queue) := False
    held(set.payload.queue) := False
  }
  when(set.valid && !set.payload.valid)(there(set.payload.queue) := False)
  when(stop) {
    there := 0
    waiting := 0
  }
  busy := step =/= 0
}
