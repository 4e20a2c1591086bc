// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import opentxssd._
import opentxssd.log.LogAppend
import spinal.core._
import spinal.lib._

/** How many entries each transaction has in the log since its BEGIN.
  *
  * `appended`: what the log has taken. `begins`: this txid begins. `entries`: those of `ask`, in the same clock; an
  * entry counts from the clock after. Reset: 0 entries each.
  */
class TxEntryCounts extends Area {
  val appended = Flow(LogAppend())
  val begins = Flow(UInt(5 bits))
  val ask = UInt(5 bits)

  private val counts = Mem(UInt(32 bits), OtxParam.txids)
  private val some = Reg(Bits(OtxParam.txids bits)) init 0 // its count is of its present use, else it is 0
  private def of(txid: UInt): UInt = some(txid).mux(counts.readAsync(txid), U(0, 32 bits))
  val entries = of(ask)

  private val txid = appended.serial(4 downto 0)
  private val adds =
    appended.valid && appended.inTx && (appended.kind === LogKind.MAP || appended.kind === LogKind.TRIM)
  counts.write(txid, of(txid) + 1, adds)
  when(begins.valid)(some(begins.payload) := False)
  when(adds)(some(txid) := True)
}
