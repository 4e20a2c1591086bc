// SPDX-License-Identifier: Apache-2.0
package opentxssd.host

import opentxssd._
import spinal.core._
import spinal.lib._

/** What the setting of `ClassTurn` says: how many turns HIGH, MEDIUM and LOW have, less one, and how often a class is
  * passed over until it is old, less 3.
  */
case class ClassTurns() extends Bundle {
  val weights = Vec.fill(3)(UInt(4 bits)) // by rank: LOW, MEDIUM, HIGH
  val patience = UInt(6 bits)
}

object ClassTurns {
  val bits = 18
}

/** Which class of commands has its turn: weighted round robin with URGENT, and nobody waits for ever.
  *
  * Contract. Bit r of `wants`: a command of rank r (`ClassRank`) may go; of `waits`: one may go but for room.
  * `choice`, one bit of `wants`, none without a wish, in the same clock: an old class first, LOW before MEDIUM before
  * HIGH; then URGENT; then HIGH, MEDIUM, LOW, each for as many turns as its weight says; when none that wants has a
  * turn left, all have theirs again. `goes`: a command of that rank goes. It costs a turn. Each other class that waits
  * is passed over, and is old when that has happened `patience` times, until one of its own goes or none waits.
  *
  * So before a class that wants to go at most so many commands of other classes go: LOW `patience`, MEDIUM one more,
  * HIGH two more, URGENT 3 (models/class_order.py finds these over all states, formal/class_turn.sby proves them).
  * Reset: nobody is old, all have their turns.
  */
class ClassTurn extends Component {
  setDefinitionName("otx_class_turn")

  val wants, waits, goes = in port Bits(4 bits)
  val turns = in port Bits(ClassTurns.bits bits)
  val choice = out port Bits(4 bits)

  private val setting = ClassTurns()
  setting.assignFromBits(turns)
  private val urgent = 3

  private val passed = Vec(Reg(UInt(7 bits)) init 0, 3)
  private val old = Vec(passed.map(_ >= setting.patience +^ U(3))).asBits
  for (r <- 0 until 3)
    when(goes(r) || !waits(r))(passed(r) := 0) elsewhen (goes.orR && !old(r))(passed(r) := passed(r) + 1)

  private val used = Vec(Reg(UInt(5 bits)) init 0, 3)
  private val left = Vec((used, setting.weights).zipped.map(_ <= _)).asBits
  private val three = wants(2 downto 0)
  private val again = (three & left) === 0 // nobody who wants has a turn left
  private val inTurn = Mux(again, three, three & left)
  when(goes(2 downto 0).orR) {
    for (r <- 0 until 3) {
      val before = Mux(again, U(0), used(r))
      used(r) := Mux(goes(r) && before <= setting.weights(r), before + 1, before)
    }
  }

  private def highest(of: Bits) = OHMasking.first(of.reversed).reversed
  when((three & old).orR)(choice := OHMasking.first(three & old).resized)
    .elsewhen(wants(urgent))(choice := B(1 << urgent, 4 bits))
    .otherwise(choice := highest(inTurn).resized)
}
