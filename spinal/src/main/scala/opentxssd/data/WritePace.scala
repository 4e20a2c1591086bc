// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import spinal.core._

/** How fast pages are given to writes of hosts while free blocks are few, so that collection keeps ahead of them and
  * their rate falls instead of stopping (docs/decisions/022-collection.md).
  *
  * Contract. Each page that a WRITE takes (`taken`) costs `interval` clocks, in which no other WRITE begins to take
  * pages: `may` is low while clocks are owed and it is the `first` page of a WRITE. A WRITE that has begun is not held
  * up, for its entries may be a group of the log. So over any time WRITEs take at most one page in `interval` clocks
  * beyond those of one WRITE, and one waits for no more than `interval` clocks for each page of the one before: it
  * depends on nothing but the clock. `interval` 0: no limit, and nothing is owed any more. After `fault` nothing waits.
  * Pages for programs that failed are not asked for here. Reset: nothing is owed.
  */
class WritePace extends Component {
  setDefinitionName("otx_write_pace")

  val interval = in port UInt(WritePace.intervalBits bits)
  val taken, first, fault = in port Bool()
  val may = out port Bool()

  private val owed = Reg(UInt(WritePace.intervalBits + 6 bits)) init 0 // 32 pages, and what was left
  private val rests = owed === 0
  owed := owed - (!rests).asUInt + taken.mux(interval, U(0)).resized
  when(interval === 0)(owed := 0)
  may := rests || !first || fault
}

object WritePace {
  val intervalBits = 20
}
