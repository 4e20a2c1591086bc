// SPDX-License-Identifier: Apache-2.0
package opentxssd.remap

import opentxssd._
import spinal.core._
import spinal.lib._

/** Which commits an op sees, and from when on a commit's table may be merged.
  *
  * `limit`, of an op that enters in this clock, is the order of the next commit at the moment its group's first op
  * entered: commits from there on do not exist for it.
  * One group can be open at a time. `safe`: every op and group that does not see all commits before this order has been
  * answered, so walks that take away what such a reader would be sent to may begin. That is a grace period: ops and
  * groups are counted by the parity in which they entered; the parity flips when there are new commits, and the old
  * parity's count runs out because nobody joins it (an open group keeps its parity and its limit). Up to 31 ops may be
  * inside.
  *
  * Latency: a commit is safe 3 clocks after it, or 2 clocks after the last older reader's answer. Reset: nobody inside,
  * order 0.
  */
class RemapSnapshot extends Component {
  setDefinitionName("otx_remap_snapshot")
  private val orderBits = RemapParam.orderBits

  val enter = slave port Flow(Bool()) // an op is taken: its `last`
  val leave = slave port Flow(Bool()) // an answer is taken: the op's parity
  val nextOrder = in port UInt(orderBits bits)
  val limit = out port UInt(orderBits bits)
  val parity = out port Bool()
  val safe = out port UInt(orderBits bits)

  private val current = RegInit(False)
  private val groupOpen = RegNextWhen(!enter.payload, enter.valid, init = False)
  private val groupLimit = RegNextWhen(limit, enter.valid)
  private val groupParity = RegNextWhen(parity, enter.valid, init = False)
  limit := groupOpen ? groupLimit | nextOrder
  parity := groupOpen ? groupParity | current

  private val inside = Vec.fill(2)(Reg(UInt(5 bits)) init 0)
  private val idle = Vec(Seq(False, True).zip(inside).map { case (which, n) =>
    n := n + (enter.valid && parity === which).asUInt - (leave.valid && leave.payload === which).asUInt
    n === 0 && !(groupOpen && groupParity === which)
  })
  private val waiting = RegInit(False) // for the old parity
  private val target, reached = Reg(UInt(orderBits bits)) init 0
  safe := reached
  when(!waiting && nextOrder =/= reached) {
    waiting := True
    current := !current
    target := nextOrder
  }
  when(waiting && idle((!current).asUInt)) {
    waiting := False
    reached := target
  }
}
