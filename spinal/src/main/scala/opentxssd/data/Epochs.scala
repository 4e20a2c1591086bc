// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import opentxssd._
import opentxssd.log.LogAppend
import spinal.core._
import spinal.lib._

/** Which epoch is open: the order-preserving writes, trims and commits between two barriers
  * (docs/decisions/034-barriers.md).
  *
  * Contract. `uses`: an order-preserving frame goes to the write buffer, or such an entry to the log. `closes`, in a
  * clock without `uses`: a barrier. `epoch` is the open one, a clock late. One that was not used is not closed: so two
  * order-preserving entries that are n apart in the log are less than n epochs apart, and whoever compares entries of
  * the log's last pages may do it modulo 2^32. `any`: some epoch was closed.
  * `appended` is what has gone to the log, `head` its index; its order-preserving entries come in the order of their
  * epochs (rule epoch-issue). `after`, two clocks late: all of these in the log that name a page and are of an earlier
  * epoch than the open one have a lower index.
  * Reset: epoch 0, and nothing before it.
  */
class Epochs(appended: Flow[LogAppend], head: UInt, uses: Bool, closes: Bool) extends Area {
  val epoch = Reg(UInt(32 bits)) init 0
  val any = RegInit(False)

  private val used = RegInit(False)
  when(uses)(used := True)
  when(closes && used) {
    used := False
    any := True
    epoch := epoch + 1
  }

  private val last = Reg(UInt(32 bits)) init 0 // epoch of the last such entry in the log
  private val pages, before = Reg(UInt(48 bits)) init 0 // behind it; behind the last one of an earlier epoch
  when(appended.valid && appended.ordered && appended.kind === LogKind.MAP) {
    pages := head + 1
    last := appended.epoch
    when(appended.epoch =/= last)(before := pages)
  }
  val after = RegNext((last === epoch).mux(before, pages)) // a command is in hand for longer than this clock
}
