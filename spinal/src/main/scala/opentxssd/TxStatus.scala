// SPDX-License-Identifier: Apache-2.0
package opentxssd

import spinal.core._
import spinal.lib._

/** What every txid means now: a state, an entry count, a use count and a place in the commit order. This is the whole of a commit: one register changes.
  *
  * `tx` is taken when `quiet` is high (no remap operation is half done), a COMMIT also only when `groupOpen` is low; the new state is valid in the next clock.
  * A request in the wrong state changes nothing. `free` (a walk has emptied the table) goes first and moves COMMITTED or ABORTED to FREE. So there is at most
  * one transition in any clock.
  *
  * Commit order: committed transactions are merged, and so freed, oldest first. The live orders are therefore one run of at most `txids` numbers that starts at
  * `oldestOrder`, and numbers modulo `txids` stay distinct for ever; `order - oldestOrder` modulo `txids` is the age, the larger the newer.
  *
  * Reset: all FREE, counts 0. The use counts sit in a small memory that is cleared in the first `txids` clocks, in which no `tx` is taken.
  */
class TxStatus(txids: Int = OtxParam.txids) extends Component {
  require(isPow2(txids) && txids >= 2 && txids <= OtxParam.txids, s"txids is $txids, must be a power of two, 2 to ${OtxParam.txids}")
  setDefinitionName(if (txids == OtxParam.txids) "otx_tx_status" else s"otx_tx_status_$txids")
  private val idBits = log2Up(txids)

  val tx = slave port Stream(TxOp())
  val quiet = in port Bool()
  val groupOpen = in port Bool()
  val free = slave port Flow(UInt(idBits bits))
  val countUp = slave port Flow(UInt(idBits bits)) // one entry more
  val useTxid = in port UInt(idBits bits)
  val useCount = out port UInt(27 bits)

  val state = out port Vec(UInt(3 bits), txids)
  val count = out port Vec(UInt(16 bits), txids)
  val order = out port Vec(UInt(idBits bits), txids)
  val oldestOrder = out port UInt(idBits bits)
  val nextOrder = out port UInt(idBits bits) // what the next COMMIT gets
  val oldest = master port Flow(UInt(idBits bits)) // the COMMITTED transaction to merge next
  val aborted = master port Flow(UInt(idBits bits)) // an ABORTED one

  val evCommitTaken = out port Bool() // a COMMIT is taken in this clock, of tx_payload_txid
  val evCommitVisible = out port Bool() // first clock in which evTxid is COMMITTED
  val evTxid = out port UInt(idBits bits)

  private val states = Vec.fill(txids)(Reg(UInt(3 bits)) init TxState.FREE)
  private val counts = Vec.fill(txids)(Reg(UInt(16 bits)) init 0)
  private val orders = Vec.fill(txids)(Reg(UInt(idBits bits)) init 0)
  private val head, tail = Reg(UInt(idBits bits)) init 0 // oldest live commit, next commit
  state := states
  count := counts
  order := orders
  oldestOrder := head
  nextOrder := tail

  // requests
  private val txid = tx.txid.resize(idBits)
  private val from, to = UInt(3 bits)
  switch(tx.op) {
    is(TxOpcode.BEGIN) {
      from := TxState.FREE
      to := TxState.OPEN
    }
    is(TxOpcode.COMMITTING) {
      from := TxState.OPEN
      to := TxState.COMMITTING
    }
    is(TxOpcode.COMMIT) {
      from := TxState.COMMITTING
      to := TxState.COMMITTED
    }
    default {
      from := TxState.OPEN
      to := TxState.ABORTED
    }
  }
  private val clearing = RegInit(True)
  private val isCommit = tx.op === TxOpcode.COMMIT
  tx.ready := quiet && !clearing && !free.valid && !(isCommit && groupOpen)
  private val legal = tx.fire && Pick(states, txid) === from
  when(legal)(states(txid) := to)

  evCommitTaken := legal && isCommit
  evCommitVisible := RegNext(evCommitTaken, init = False)
  evTxid := RegNextWhen(txid, evCommitTaken)
  when(evCommitTaken) {
    orders(txid) := tail
    tail := tail + 1
  }

  // walks
  private val freedState = Pick(states, free.payload)
  private val freesOldest = freedState === TxState.COMMITTED && Pick(orders, free.payload) === head
  when(free.valid && (freesOldest || freedState === TxState.ABORTED)) {
    states(free.payload) := U(TxState.FREE, 3 bits)
    counts(free.payload) := U(0, 16 bits)
  }
  when(free.valid && freesOldest)(head := head + 1)
  when(countUp.valid)(counts(countUp.payload) := Pick(counts, countUp.payload) + 1)

  private val isOldest = Vec((0 until txids).map(t => states(t) === TxState.COMMITTED && orders(t) === head))
  private val isAborted = Vec(states.map(_ === TxState.ABORTED))
  oldest.valid := isOldest.orR
  oldest.payload := OHToUInt(isOldest)
  aborted.valid := isAborted.orR
  aborted.payload := OHToUInt(OHMasking.first(isAborted))

  // use counts
  private val uses = Mem(UInt(27 bits), txids)
  private val clearTxid = Reg(UInt(idBits bits)) init 0
  when(clearing) {
    clearTxid := clearTxid + 1
    clearing := clearTxid =/= txids - 1
  }
  private val used = uses.readAsync(txid, writeFirst)
  uses.write(
    address = clearing ? clearTxid | txid,
    data = clearing ? U(0, 27 bits) | used + 1,
    enable = clearing || (legal && tx.op === TxOpcode.BEGIN)
  )
  useCount := uses.readAsync(useTxid, writeFirst)
}
