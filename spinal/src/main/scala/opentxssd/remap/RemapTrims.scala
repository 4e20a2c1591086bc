// SPDX-License-Identifier: Apache-2.0
package opentxssd.remap

import spinal.core._
import spinal.lib._

/** Makes one answer of those of the parts of a TRIM; lets all others pass.
  *
  * `begin` tells how many parts there are, before the first answer and while not `busy`: one TRIM at a time. The
  * answers of its parts are dropped as they come but for the last one, which passes as the answer of the TRIM, with
  * `error` if any part had one. They have the TRIM's tag all the time, so whichever comes last has the right one.
  *
  * No registers in the way: `answer` to `rsp` 0 clocks. `busy` until the answer has been taken. Reset forgets the TRIM.
  */
class RemapTrims extends Component {
  setDefinitionName("otx_remap_trims")

  val begin = slave port Flow(UInt(6 bits))
  val busy = out port Bool()
  val answer = slave port Stream(RemapAnswer())
  val rsp = master port Stream(RemapRsp())

  private val active = RegInit(False)
  private val left = Reg(UInt(6 bits)) // answers
  private val isLast = Reg(Bool())
  private val failed = Reg(Bool()) // a part had an error
  busy := active

  private val drops = answer.part && !isLast
  rsp.valid := answer.valid && !drops
  rsp.payload := answer.rsp
  rsp.hit.removeAssignments() := answer.rsp.hit && !answer.part
  rsp.error.removeAssignments() := answer.rsp.error || answer.part && failed
  answer.ready := rsp.ready || drops

  when(answer.valid && drops) {
    left := left - 1
    isLast := left === 2
    when(answer.rsp.error)(failed := True)
  }
  when(rsp.fire && answer.part)(active := False)
  when(begin.valid) {
    active := True
    left := begin.payload
    isLast := begin.payload === 1
    failed := False
  }
}
