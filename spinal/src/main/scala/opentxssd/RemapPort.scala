// SPDX-License-Identifier: Apache-2.0
package opentxssd

import spinal.core._
import spinal.lib._

/** One remap engine for three users: read lookups, swaps and the sequencer.
  *
  * Contract: ops pass in turn; once the first op of a group (`last` low) is offered nobody else gets in before the group's `last`, so an op of another user can
  * not end the group in the engine's eyes. Responses go back to their users in the order of the ops. Each user must always take its responses without waiting for
  * another op to pass. Up to 16 ops may be in the engine. Latency: one clock on `op`; a response can pass 2 clocks after its op at the earliest. Reset forgets all.
  */
class RemapPort(users: Int) extends Component {
  setDefinitionName("otx_remap_port")

  val ops = Vec.fill(users)(slave port Stream(RemapOp()))
  val rsps = Vec.fill(users)(master port Stream(RemapRsp()))
  val op = master port Stream(RemapOp())
  val rsp = slave port Stream(RemapRsp())

  private val arbiter = StreamArbiterFactory().roundRobin.lambdaLock[RemapOp]((s: Stream[RemapOp]) => s.payload.last).build(RemapOp(), users)
  for ((in, o) <- arbiter.io.inputs.zip(ops)) in << o

  private val sources = StreamFifo(UInt(log2Up(users) bits), 16)
  private val chosen = arbiter.io.output.haltWhen(!sources.io.push.ready)
  op << chosen.m2sPipe()
  sources.io.push.valid := chosen.fire
  sources.io.push.payload := arbiter.io.chosen

  private val answered = StreamJoin(rsp, sources.io.pop)
  answered.ready := False
  for ((r, n) <- rsps.zipWithIndex) {
    val mine = sources.io.pop.payload === n
    r.valid := answered.valid && mine
    r.payload := rsp.payload
    when(mine)(answered.ready := r.ready)
  }
}
