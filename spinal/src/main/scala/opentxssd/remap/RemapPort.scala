// SPDX-License-Identifier: Apache-2.0
package opentxssd.remap

import opentxssd._
import spinal.core._
import spinal.lib._

/** One remap engine for up to four users: read lookups, swaps and the command executor.
  *
  * Contract: ops pass in turn; once the first op of a group (`last` low) is offered nobody else gets in before the
  * group's `last`, so an op of another user can not end the group in the engine's eyes. The upper two bits of a tag are
  * the user's number, the lower six are the user's own. Answers go to their users in the clock in which the engine
  * gives them, in any order. Each user must always take its answers without waiting for another op to pass. Latency:
  * one clock on `op`. Reset forgets all.
  */
class RemapPort(number: Int) extends Component {
  require(number <= 4, s"$number users, at most 4")
  setDefinitionName("otx_remap_port")

  val users = Vec.fill(number)(slave port RemapUser())
  val engine = Ports.bare(master port RemapUser())
  import engine.{op, rsp}

  private val groups = StreamArbiterFactory().roundRobin.lambdaLock[RemapOp]((s: Stream[RemapOp]) => s.payload.last)
  private val arbiter = groups.build(RemapOp(), number)
  for (((in, o), n) <- arbiter.io.inputs.zip(users.map(_.op)).zipWithIndex) {
    in.arbitrationFrom(o)
    in.payload.assignSomeByName(o.payload)
    in.payload.tag.allowOverride
    in.payload.tag := U(n, 2 bits) @@ o.tag.resize(6)
  }
  op << arbiter.io.output.m2sPipe().s2mPipe() // no path through in either direction

  rsp.ready := False
  for ((r, n) <- users.map(_.rsp).zipWithIndex) {
    val mine = rsp.tag(7 downto 6) === n
    r.valid := rsp.valid && mine
    r.payload := rsp.payload
    when(mine)(rsp.ready := r.ready)
  }
}
