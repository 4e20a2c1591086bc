// SPDX-License-Identifier: Apache-2.0
package opentxssd.host.nvme

import spinal.core._
import spinal.lib._

/** The completion queues: where each is, what the host has taken out, and the CQEs, one at a time.
  *
  * Contract. `bell` is a new head; wrong ones as in `SubmissionQueues`. `room`: a clock after `ask`, that queue has a
  * place more than were taken; `take` takes one, for a CQE that will come. `ends` and `admin` are written to their
  * queues, in turn, each in six clocks or more: the CQE has the head of its submission queue at that time (`head`) and
  * the phase. An I/O command has its place, so it never waits; `admin` waits while queue 0 is full, and holds up
  * nobody. What ends for a queue that is not there is dropped. When the CQE has been given to `data`: `notice` for a
  * queue with interrupts, `freed` and `ended` for an I/O command, also for one that was dropped, `failed` for one whose
  * status is not success.
  *
  * `set`: taken between two CQEs. `stop`: all queues are gone; the CQE that is being written is finished. Reset: none
  * is there.
  */
class CompletionQueues extends Component {
  setDefinitionName("otx_completion_queues")
  import Nvme._

  val bell = slave port Flow(Doorbell())
  val wrong = out port Bits(2 bits)
  val set = slave port Stream(QueueContext())
  val stop = in port Bool()
  val ask = in port UInt(queueBits bits)
  val room = out port Bool()
  val take = slave port Flow(UInt(queueBits bits))
  val ends = slave port Stream(CommandEnd())
  val owner = in port SlotOwner() // of ends.slot
  val admin = slave port Stream(AdminCompletion())
  val headOf = out port UInt(queueBits bits)
  val head = in port UInt(indexBits bits)
  val write = master port Stream(DmaWrite())
  val data = master port Stream(DmaBeat())
  val freed = master port Flow(UInt(slotBits bits))
  val ended = master port Flow(UInt(queueBits bits))
  val notice = master port Flow(Notice())
  val failed = master port Flow(FailedCommand())
  val busy = out port Bool()

  private val there = Reg(Bits(queues bits)) init 0
  private val base = table(UInt(52 bits), 16)
  private val size, heads, tails, taken = table(UInt(indexBits bits), 16) // taken: behind the places that are
  private val phases = table(Bool(), 16)
  private val vectors = table(UInt(5 bits), 16) // bit 4: it has interrupts

  private val known = bell.queue < queues && there(bell.queue.resize(queueBits))
  private val at = bell.queue.resize(queueBits)
  private val fits = bell.value <= size.readAsync(at)
  wrong := (bell.valid && known && !fits) ## (bell.valid && !known)
  private val rings = bell.valid && known && fits

  private val nextTaken = RegNext(after(taken.readAsync(ask), size.readAsync(ask)))
  room := RegNext(there(ask)) && nextTaken =/= heads.readAsync(RegNext(ask))

  // one CQE after another: choose, look, point, command, two beats
  private val step = Reg(UInt(3 bits)) init 0
  private val setNow = set.valid && step === 0 && !bell.valid && !take.valid
  private val comes = setNow && set.payload.valid
  set.ready := setNow
  private val ofAdmin = Reg(Bool())
  private val turn = RegInit(False) // of `admin`
  private val own = Reg(SlotOwner())
  private val end = Reg(CommandEnd())
  private val dw1 = Reg(UInt(32 bits))
  private val page = Reg(UInt(52 bits))
  private val place = Reg(UInt(60 bits)) // in units of a CQE
  private val last, tail, nextTail, limit, sqHead = Reg(UInt(indexBits bits))
  private val phase = Reg(Bool())
  private val vector = Reg(UInt(5 bits))
  private val drops = Reg(Bool())
  private val finish = False
  headOf := own.queue
  switch(step) {
    is(0) {
      val second = admin.valid && (turn || !ends.valid)
      ofAdmin := second
      turn := !second
      end := ends.payload
      own := owner
      when(second) {
        own.queue := 0
        own.cq := 0
        own.cid := admin.cid
        end.status := admin.status
        end.dw0 := admin.dw0
      }
      dw1 := admin.dw1.andMask(second)
      when((ends.valid || admin.valid) && !set.valid)(step := 1)
    }
    is(1) {
      page := base.readAsync(own.cq)
      last := size.readAsync(own.cq)
      tail := tails.readAsync(own.cq)
      phase := phases.readAsync(own.cq)
      vector := vectors.readAsync(own.cq)
      limit := heads.readAsync(own.cq)
      drops := !there(own.cq)
      sqHead := head
      step := 2
    }
    is(2) {
      nextTail := after(tail, last)
      place := (page @@ U(0, 8 bits)) + tail
      step := 3
    }
    is(3) {
      when(drops || stop) {
        finish := True
      } elsewhen (ofAdmin && nextTail === limit) {
        step := 0
      } otherwise {
        step := 4
      }
    }
    is(4)(when(write.ready)(step := 5))
    is(5)(when(data.ready)(step := 6))
    is(6)(when(data.ready)(finish := True))
  }
  when(finish)(step := 0)
  ends.ready := finish && !ofAdmin
  admin.ready := finish && ofAdmin
  write.valid := step === 4
  write.address := place @@ U(0, 4 bits)
  write.length := 16
  write.message := False
  data.valid := step === 5 || step === 6
  data.last := step === 6
  data.data := Mux(
    step === 5,
    (dw1 @@ end.dw0).asBits,
    end.status ## phase ## own.cid ## own.queue.resize(16) ## sqHead.resize(16)
  )
  private val written = finish && step === 6

  tails.write(Mux(comes, set.payload.queue, own.cq), Mux(comes, U(0), nextTail), comes || written)
  phases.write(Mux(comes, set.payload.queue, own.cq), comes || (phase ^ nextTail === 0), comes || written)
  taken.write(
    Mux(comes, set.payload.queue, take.payload),
    Mux(comes, U(0), after(taken.readAsync(take.payload), size.readAsync(take.payload))),
    comes || take.valid
  )
  heads.write(Mux(comes, set.payload.queue, at), Mux(comes, U(0), bell.value.resize(indexBits)), comes || rings)
  base.write(set.payload.queue, set.base >> 12, comes)
  size.write(set.payload.queue, set.size, comes)
  vectors.write(set.payload.queue, set.interrupts.asUInt @@ set.vector, comes)
  when(setNow)(there(set.payload.queue) := set.payload.valid)
  when(stop)(there := 0)

  freed.valid := finish && !ofAdmin
  freed.payload := end.slot
  ended.valid := finish && !ofAdmin
  ended.payload := own.queue
  notice.valid := written && vector.msb
  notice.vector := vector.resized
  notice.atOnce := ofAdmin
  failed.valid := written && !ofAdmin && end.status =/= 0
  failed.queue := own.queue
  failed.cid := own.cid
  failed.status := end.status
  busy := step =/= 0
}
