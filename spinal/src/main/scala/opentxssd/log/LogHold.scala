// SPDX-License-Identifier: Apache-2.0
package opentxssd.log

import spinal.core._

/** Keeps what waits in the background, moves and notes, from closing the open page just before the next COMMIT of a
  * host that waits for each of its COMMITs or FLUSHes (decision 030).
  *
  * `closing`: page number `page` is closed, `forHost` because a host waits for it. `may` is low from then on until
  * `patience` clocks after that page has retired (`retired`: number of pages that have), and counts anew with the next
  * page for a host. So it is high at the latest `patience` clocks after the programs of the last such page, which end
  * by themselves; and each page that a host closes takes all with it that waits. One clock late. Reset: `may` is high.
  */
class LogHold(patience: Int = LogHold.patience) extends Component {
  setDefinitionName("otx_log_hold")
  val closing, forHost = in port Bool()
  val page, retired = in port UInt(3 bits) // modulo 8: at most four are under way
  val may = out port Bool()

  private val under = RegInit(False) // the last page for a host has not retired
  private val behind = Reg(UInt(3 bits)) // the page after it
  private val left = Reg(UInt(log2Up(patience + 1) bits)) init 0
  when(closing && forHost) {
    under := True
    behind := page + 1
    left := patience
  }.elsewhen(under) {
    when(retired === behind)(under := False)
  }.elsewhen(left =/= 0)(left := left - 1)
  may := RegNext(!under && left === 0) init True
}

object LogHold {

  /** 41 us at 100 MHz: a host that waits for its COMMIT has sent the next one by then; a program takes five times as
    * long.
    */
  val patience = 4096
}
