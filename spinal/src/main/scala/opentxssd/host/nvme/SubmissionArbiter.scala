// SPDX-License-Identifier: Apache-2.0
package opentxssd.host.nvme

import spinal.core._
import spinal.lib._

/** From which submission queue the next command is fetched.
  *
  * Contract. `choice` is one of `may`, which has bit q for queue q, when `any`, two clocks after `may` at most; `taken`
  * for a clock says that a command of it is fetched. The admin queue is first. The others: round robin, or, `weighted`,
  * urgent ones first, and high, medium and low ones by credits: as many in a round as `weights` say (LPW, MPW, HPW,
  * less one each), and a round ends when no class that may go has credits; round robin in each class. A queue goes on
  * for 2^`burst` commands, 7: for as long as it may and its class has credits.
  */
class SubmissionArbiter extends Component {
  import Nvme.queues

  val may = in port Bits(queues bits)
  val priority = in port Vec(UInt(2 bits), queues) // 0 urgent, 1 high, 2 medium, 3 low
  val weighted = in port Bool()
  val burst = in port UInt(3 bits)
  val weights = in port Vec(UInt(8 bits), 3) // high, medium, low
  val taken = in port Bool()
  val any = out port Bool()
  val choice = out port UInt(Nvme.queueBits bits)

  private val later = Reg(Bits(queues bits)) init 0 // those behind the last one of their class
  private val credits = Vec.fill(3)(Reg(UInt(9 bits)) init 0)
  private val current = Reg(UInt(Nvme.queueBits bits)) init 0
  private val left = Reg(UInt(7 bits)) init 0 // of the burst of `current`

  private def ofClass(c: Int): Bits = may & (0 until queues).map(q => Bool(q > 0) && priority(q) === c).asBits()
  private val io = may & ~B(1, queues bits)
  private val classes = (0 until 4).map(ofClass)
  private val there = (1 to 3).map(c => classes(c).orR)
  private val paid = there.zip(credits).map { case (t, c) => t && c =/= 0 }
  private val reload = weighted && !classes(0).orR && there.orR && !paid.orR
  private val set = Bits(queues bits)
  set := io
  when(weighted) {
    set := Mux(
      classes(0).orR,
      classes(0),
      Mux(paid(0), classes(1), Mux(paid(1), classes(2), classes(3).andMask(paid(2))))
    )
  }
  private val stays = set(current) && left =/= 0
  private val behind = set & later
  private val next = OHToUInt(OHMasking.first(Mux(behind.orR, behind, set)))
  any := RegNext((may(0) || set.orR) && !taken, False)
  choice := RegNext(Mux(may(0), U(0), Mux(stays, current, next)))

  private val chosen = priority(choice)
  private val burstLeft = Mux(burst === 7, U(127), (U(1, 7 bits) |<< burst) - 1)
  when(taken && choice =/= 0) {
    current := choice
    left := Mux(choice === current && left =/= 0, left - (burst =/= 7).asUInt.resized, burstLeft)
    for (q <- 1 until queues) when(!weighted || priority(q) === chosen)(later(q) := choice < q)
    for (c <- 0 until 3) when(chosen === c + 1 && credits(c) =/= 0)(credits(c) := credits(c) - 1)
  }
  when(reload && !taken) {
    for ((c, w) <- credits.zip(weights)) c := w +^ 1
  }
}
