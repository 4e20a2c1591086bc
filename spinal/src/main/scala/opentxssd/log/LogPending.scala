// SPDX-License-Identifier: Apache-2.0
package opentxssd.log

import opentxssd._
import spinal.core._
import spinal.lib._

/** Counts, per txid, the logged data pages whose programs are not finished.
  *
  * `up` and `down` never come in the same clock; each counts two clocks later. `none` is high while txid `ask` has no
  * such page (combinational). At most 1,023 entries are outstanding in all (LogWatermark), so the counters cannot
  * overflow. Reset: all counts 0.
  */
class LogPending extends Component {
  setDefinitionName("otx_log_pending")

  val up = slave port Flow(UInt(5 bits))
  val down = slave port Flow(UInt(5 bits))
  val ask = in port UInt(5 bits)
  val none = out port Bool()

  private val counts = Mem(UInt(10 bits), OtxParam.txids)
  private val used = Reg(Bits(OtxParam.txids bits)) init 0 // a count that was never written is 0
  private val rises = RegNext(up.valid) init False
  private val falls = RegNext(down.valid) init False
  private val at = RegNext(up.valid ? up.payload | down.payload)
  private val old = counts.readAsync(at)
  private val from = used(at) ? old | U(0, 10 bits)
  private val change = rises || falls
  counts.write(at, rises ? (from + 1) | (from - 1), change)
  when(change)(used(at) := True)
  none := !used(ask) || counts.readAsync(ask) === 0
}
