// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import opentxssd.log.LogAppend
import spinal.core._
import spinal.lib._

/** Whose entries the log is offered: those of one user, or of the other.
  *
  * Contract. The turn is chosen a clock before, so a user's offer has no path to what the other one is answered. It
  * stays while its user offers and has not given its entry, and from the first entry of a group that is taken to its
  * `last`, also in clocks in which that user offers nothing (rule group). Else it goes to who offers, after a `last` to
  * the other one if that one does: so who offers waits for one entry or one group of the other at most, and for one
  * clock when the other offers nothing.
  *
  * `fault`: the log drops what it takes, and no group is open: one whose next page never comes would hold up the other.
  *
  * A user may take its offer back. Latency: none for whose turn it is. Reset: the turn of user 0, no group is open.
  */
class AppendTurn extends Component {
  setDefinitionName("otx_append_turn")

  val users = Vec.fill(2)(slave port Stream(LogAppend()))
  val out = master port Stream(LogAppend())
  val fault = in port Bool()

  private val turn = RegInit(False)
  private val groupOpen = RegInit(False)
  out.valid := turn.mux(users(1).valid, users(0).valid)
  out.payload := turn.mux(users(1).payload, users(0).payload)
  users(0).ready := out.ready && !turn
  users(1).ready := out.ready && turn
  when(out.fire || fault)(groupOpen := !out.last && !fault)
  private val stays = out.fire.mux(!out.last, groupOpen || out.valid)
  private val other = turn.mux(users(0).valid, users(1).valid)
  when(!stays && other)(turn := !turn)
}
