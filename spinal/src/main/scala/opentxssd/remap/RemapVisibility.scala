// SPDX-License-Identifier: Apache-2.0
package opentxssd.remap

import opentxssd._
import spinal.core._

/** Who asks about which entry. */
case class RemapAsk(p: RemapParam) extends Bundle {
  val slot = UInt(p.slotBits bits)
  val word = Word() // VER
  val isWalk, hasTx = Bool()
  val index = TxIndex(p)
  val limit = UInt(RemapParam.orderBits bits)
}

/** What the transaction of an entry means to a job, in the clock in which the read of that entry goes out; without
  * registers.
  *
  * `live`: the entry is one of a transaction that is not FREE. `self`: it is the walk's own. For an op with limit L a
  * transaction that was committed with an order before L `counts`, and `distance` (1 to 32) tells how long ago: the
  * nearest is the newest. One committed with order L or later is still what it was at the op's instant: `uncommitted`,
  * and `committing` for all others. At most 32 commits can follow L while the op is there, because a walk that frees a
  * txid waits for it (`RemapSnapshot`); so the sign of L + ~order, which is L - order - 1, says which is first.
  */
class RemapVisibility(p: RemapParam) extends Component {
  setDefinitionName("otx_remap_visibility")

  val ask = in port RemapAsk(p)
  val state = in port Vec(UInt(3 bits), RemapParam.mostTxids)
  val named = out port UInt(5 bits) // the transaction that is asked about
  val size = in port UInt(16 bits) // entries it has
  val order = in port Vec(UInt(RemapParam.orderBits bits), RemapParam.mostTxids)
  val meaning = out port RemapMeaning()

  private val entry = TxIndex.of(p, ask.word)
  named := entry.txid
  private val is = Pick(state, named)
  private val its = Pick(order, named)
  private val later = (ask.limit + ~its).msb // committed after the op's instant
  private val committed = is === TxState.COMMITTED
  private val late = committed && later
  meaning.live := ask.word.value(29 downto p.entryBits + 5) === 0 && is =/= TxState.FREE && entry.number < size
  meaning.self := ask.isWalk && entry.asBits === ask.index.asBits
  meaning.own := ask.hasTx && named === ask.index.txid
  meaning.uncommitted := is === TxState.OPEN || is === TxState.PREPARED || is === TxState.COMMITTING || late
  meaning.committing := is === TxState.COMMITTING || late
  meaning.counts := committed && !later
  meaning.distance := ask.limit - its
}
