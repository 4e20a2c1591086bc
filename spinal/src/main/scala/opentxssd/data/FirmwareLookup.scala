// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import opentxssd._
import opentxssd.remap.RemapUser
import spinal.core._
import spinal.lib._

/** Tells firmware the committed version of a block, for a checkpoint: a LOOKUP without a transaction.
  *
  * Contract. `ask` (an LPN of the drive) begins; `found` is valid from the answer on until the next `ask`. One at a
  * time: no `ask` before `found`. An answer with a memory error is NONE. Tag 1 of its user.
  * Reset forgets it.
  */
class FirmwareLookup extends Component {
  setDefinitionName("otx_firmware_lookup")

  val ask = slave port Flow(UInt(32 bits))
  val found = master port Flow(Bits(32 bits))
  val remap = Ports.bare(master port RemapUser())
  import remap.{op, rsp}

  private val lpn = Reg(UInt(32 bits))
  private val asking = RegInit(False)
  private val valid = RegInit(False)
  private val word = Reg(Bits(32 bits))
  when(op.fire)(asking := False)
  when(rsp.fire) {
    valid := True
    word := rsp.error.mux(B(0, 32 bits), rsp.location.asBits)
  }
  when(ask.valid) {
    lpn := ask.payload
    asking := True
    valid := False
  }
  op.valid := asking
  op.op := RemapOpcode.LOOKUP
  op.lpn := lpn
  op.hasTx := False
  op.txid := 0
  op.location := Word.none
  op.newLocation := Word.none
  op.blocks := 0
  op.tag := 1
  op.last := True
  rsp.ready := True
  found.valid := valid
  found.payload := word
}
