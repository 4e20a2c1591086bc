// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import spinal.core._
import spinal.lib._

/** The numbers 0 ... n - 1 that nobody holds, oldest first.
  *
  * Contract: `take` gives a number to its taker, `give` (never refused) brings it back; giving a number that is not out
  * is an error of the caller. `take` starts n clocks after reset, when all numbers are in; a given number can be taken
  * 3 clocks later. `count`: how many there are, a clock late; 0 before the start. Reset takes everything back.
  */
class FreeList(n: Int) extends Component {
  setDefinitionName(s"otx_free_list_$n")

  val give = slave port Flow(UInt(16 bits))
  val take = master port Stream(UInt(16 bits))
  val count = out port UInt(16 bits)

  private val filled = Reg(UInt(log2Up(n + 1) bits)) init 0
  private val whole = filled === n
  private val fifo = StreamFifo(UInt(log2Up(n max 2) bits), n max 2)
  fifo.io.push.valid := !whole || give.valid
  fifo.io.push.payload := Mux(whole, give.payload, filled.resize(16)).resized
  when(!whole)(filled := filled + 1)
  take.arbitrationFrom(fifo.io.pop.continueWhen(whole))
  take.payload := fifo.io.pop.payload.resized
  count := RegNext(Mux(whole, fifo.io.occupancy.resize(16), U(0, 16 bits))) init 0
}
