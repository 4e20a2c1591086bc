// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import opentxssd._
import opentxssd.log.LogAppend
import spinal.core._
import spinal.lib._

/** Where each transaction begins in the log: firmware must keep the log from there on (docs/decisions/023).
  *
  * Contract. `appended` is an entry that the log takes, at most one in three clocks, `head` its index. `ask` names a
  * txid; `open` and `first` are about it from six clocks after, as they were then, until the next `ask`.
  * `open`: it is not FREE and some transaction of this txid had an entry. `first`: index of the first MAP or TRIM entry
  * of its present use, or its PREPARE if it has none (of the use before, as long as the present one has neither).
  * `restored`: a mount has brought back this txid, PREPARED. Its entries were logged by an earlier one, so its first
  * index is 0: the log stays whole. Before the first entry only.
  * Reset: no transaction has an entry.
  */
class TxFirst extends Component {
  setDefinitionName("otx_tx_first")

  val appended = slave port Flow(LogAppend())
  val head = in port UInt(48 bits)
  val txState = in port Vec(UInt(3 bits), OtxParam.txids)
  val ask = slave port Flow(UInt(5 bits))
  val restored = slave port Flow(UInt(5 bits))
  val open = out port Bool()
  val first = out port UInt(48 bits)

  private case class Begin() extends Bundle {
    val use = UInt(27 bits)
    val index = UInt(48 bits)
  }
  private val begins = Mem(Begin(), OtxParam.txids).addAttribute("ram_style", "block")
  private val known = Reg(Bits(OtxParam.txids bits)) init 0

  // one read for an entry, or for firmware when there is none
  private val entry = appended.stage()
  private val index = RegNext(head)
  private val asking = RegInit(False)
  private val asked = RegNextWhen(ask.payload, ask.valid)
  private val names = Seq(LogKind.MAP, LogKind.TRIM, LogKind.PREPARE).map(entry.kind === _).orR
  private val looks = entry.valid && entry.inTx && names
  private val fresh = Bool() // the entry is the first of its use
  private val serves = asking && !looks && !fresh
  when(ask.valid)(asking := True).elsewhen(serves)(asking := False)
  private val place = looks.mux(entry.serial(4 downto 0), asked)
  private val read = begins.readSync(place, !fresh && !restored.valid) // never in the clock of a write

  // the clock after
  private val txid = RegNext(place)
  private val begin = Begin()
  private val restores = restored.valid
  begin.use := restores.mux(U(1), RegNext(entry.serial(31 downto 5))) // its first use in this session
  begin.index := restores.mux(U(0), RegNext(index))
  fresh := RegNext(looks, False) && !(known(txid) && read.use === begin.use)
  private val written = restores.mux(restored.payload, txid)
  begins.write(written, begin, fresh || restores)
  when(fresh || restores)(known(written) := True)
  private val served = RegNext(serves, False)
  open := RegNextWhen(known(txid) && txState(txid) =/= TxState.FREE, served, False)
  first := RegNextWhen(read.index, served)
}
