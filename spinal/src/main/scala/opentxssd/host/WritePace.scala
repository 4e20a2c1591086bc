// SPDX-License-Identifier: Apache-2.0
package opentxssd.host

import spinal.core._
import spinal.lib._

/** How fast WRITEs leave the command queue while free blocks are few, so that collection keeps ahead of them and their
  * rate falls instead of stopping (docs/decisions/022-collection.md).
  *
  * Contract. Each block of a WRITE that `goes` costs `interval` clocks; `may` is low while clocks are owed, and up to
  * 33 clocks after a WRITE went. So over any time no more blocks go than one in `interval` clocks beyond those of one
  * WRITE, and a WRITE waits for no more than `interval` clocks for each block of the one before: it depends on nothing
  * but the clock. `goes` comes while `may` is high, or when nobody asks for it any more (a fault). `interval` 0: no
  * limit, and nothing is owed any more. Reset: nothing is owed.
  */
class WritePace extends Component {
  setDefinitionName("otx_write_pace")

  val interval = in port UInt(WritePace.intervalBits bits)
  val goes = slave port Flow(UInt(6 bits)) // blocks
  val may = out port Bool()

  private val owed = Reg(UInt(WritePace.intervalBits + 6 bits)) init 0 // clocks
  private val blocks = Reg(UInt(6 bits)) init 0 // that are not in `owed` yet
  private val rests = owed === 0
  private val more = blocks =/= 0
  blocks := goes.valid.mux(goes.payload, blocks - more.asUInt)
  owed := owed - (!rests).asUInt + more.mux(interval, U(0)).resized
  when(interval === 0) {
    owed := 0
    blocks := 0
  }
  may := rests && !more
}

object WritePace {
  val intervalBits = 20
}
