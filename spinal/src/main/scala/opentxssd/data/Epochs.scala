// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import opentxssd._
import opentxssd.log.LogAppend
import spinal.core._
import spinal.lib._

/** Which epoch the log is in: the order-preserving entries between two barriers (docs/decisions/034-barriers.md).
  *
  * Contract. `append` is what goes to the log, `head` its index when it is taken. `closes`, in no clock in which an
  * entry is taken: a barrier. `epoch` is that of the next entry, from the clock after. An epoch without an
  * order-preserving entry is not closed: so two order-preserving entries that are n apart in the log are less than n
  * epochs apart, and whoever compares entries of the log's last pages may do it modulo 2^32. `after`: every
  * order-preserving entry of an earlier epoch that names a page has a lower index.
  * Reset: epoch 0, and nothing before it.
  */
class Epochs(append: Stream[LogAppend], head: UInt, closes: Bool) extends Area {
  val epoch = Reg(UInt(32 bits)) init 0
  val after = Reg(UInt(48 bits)) init 0

  private val used = RegInit(False)
  private val pages = Reg(UInt(48 bits)) init 0 // behind the last entry that names a page
  when(append.fire && append.ordered) {
    used := True
    when(append.kind === LogKind.MAP)(pages := head + 1)
  }
  when(closes && used) {
    used := False
    epoch := epoch + 1
    after := pages
  }
}
