// SPDX-License-Identifier: Apache-2.0
package opentxssd.remap

import opentxssd._
import spinal.core._
import spinal.lib._

/** What every txid means now: a state, an entry count, a use count and a place in the commit order. This is the whole
  * of a commit: one register changes.
  *
  * A COMMIT is taken at once, other requests while `appending` is low (no APPEND is under way); the new state is valid
  * in the next clock. A request in the wrong state changes nothing.
  * COMMITTING and ABORT are for OPEN and PREPARED transactions, PREPARE for OPEN ones; RECOVER makes all OPEN ones
  * ABORTED, in one clock. `free` (a walk has emptied the table) moves the oldest COMMITTED one, or an ABORTED one, to
  * FREE two clocks later; it is not taken in the clock after another, and goes before a request. So at most one
  * transaction changes in any clock, but for a RECOVER.
  *
  * `restored`: this txid is PREPARED from the next clock on, with so many entries, in its first use. Only while it is
  * FREE, all others are FREE or PREPARED, and no request is made: after a reset, when all txids have been cleared.
  *
  * Commit order: committed transactions are merged, and so freed, oldest first. The live orders are therefore one run
  * of at most `txids` numbers that starts at `oldestOrder`; they have two bits more than that takes, so that the sign
  * of a difference says which of two commits, or of a commit and a reader's limit, is first.
  *
  * `sizes` are the counts once more, in a memory with three readers (`sizeOf`, without registers): of no meaning while
  * the txid is FREE. So is `older`, how many COMMITTED ones are to be merged before `useTxid`: it is for COMMITTED
  * ones.
  *
  * Reset: all FREE, counts 0. The use counts sit in a small memory that is cleared in the first `txids` clocks, in
  * which no `tx` is taken.
  */
class TxStatus(txids: Int = RemapParam.mostTxids, wider: Int = 0) extends Component {
  require(
    isPow2(txids) && txids >= 2 && txids <= RemapParam.mostTxids,
    s"txids is $txids, must be a power of two, 2 to ${RemapParam.mostTxids}"
  )
  setDefinitionName(if (txids == RemapParam.mostTxids) "otx_tx_status" else s"otx_tx_status_$txids")
  private val idBits = log2Up(txids)
  private val orderBits = idBits + 2 + wider

  val tx = slave port Stream(TxOp())
  val restored = slave port Flow(TxRestored())
  val appending = in port Bool()
  val free = slave port Flow(UInt(idBits bits))
  val countUp = slave port Flow(UInt(idBits bits)) // one entry more; only while `appending`
  val useTxid = in port UInt(idBits bits)
  val useCount = out port UInt(27 bits)
  val older = out port UInt(idBits bits)
  val sizeOf = in port Vec(UInt(idBits bits), 3)
  val size = out port Vec(UInt(16 bits), 3)

  val state = out port Vec(UInt(3 bits), txids)
  val count = out port Vec(UInt(16 bits), txids)
  val order = out port Vec(UInt(orderBits bits), txids)
  val oldestOrder = out port UInt(orderBits bits)
  val nextOrder = out port UInt(orderBits bits) // what the next COMMIT gets
  val oldest = master port Flow(UInt(idBits bits)) // the COMMITTED transaction to merge next
  val aborted = out port Bits(txids bits) // who is ABORTED

  val evCommitTaken = out port Bool() // a COMMIT is taken in this clock, of tx_payload_txid
  val evCommitVisible = out port Bool() // first clock in which evTxid is COMMITTED
  val evTxid = out port UInt(idBits bits)

  // A state is three bits, each in a word of all txids; FREE is 0
  private val planes = Vec.fill(3)(Reg(Bits(txids bits)) init 0)
  private val states = Vec((0 until txids).map(t => planes.map(_(t)).asBits().asUInt))
  private val counts = Vec.fill(txids)(Reg(UInt(16 bits)) init 0)
  private val orders = Vec.fill(txids)(Reg(UInt(orderBits bits)) init 0)
  private val head, tail = Reg(UInt(orderBits bits)) init 0 // oldest live commit, next commit
  state := states
  count := counts
  order := orders
  oldestOrder := head
  nextOrder := tail

  private val isAborted = planes(2) & planes(0)
  private val isOldest = planes(2) & ~planes(0) & Vec(orders.map(_ === head)).asBits
  private val frees = RegInit(False) // `freed` becomes FREE

  // requests
  private val txid = tx.txid.resize(idBits)
  private val to = UInt(3 bits)
  switch(tx.op) {
    is(TxOpcode.BEGIN)(to := TxState.OPEN)
    is(TxOpcode.COMMITTING)(to := TxState.COMMITTING)
    is(TxOpcode.COMMIT)(to := TxState.COMMITTED)
    is(TxOpcode.PREPARE)(to := TxState.PREPARED)
    default(to := TxState.ABORTED)
  }
  private val now = Pick(states, txid)
  private val allowed = tx.op.mux(
    U(TxOpcode.BEGIN, 3 bits) -> (now === TxState.FREE),
    U(TxOpcode.COMMIT, 3 bits) -> (now === TxState.COMMITTING),
    U(TxOpcode.PREPARE, 3 bits) -> (now === TxState.OPEN),
    default -> ((now === TxState.OPEN || now === TxState.PREPARED) && tx.op <= TxOpcode.PREPARE) // COMMITTING, ABORT
  )
  private val clearing = RegInit(True)
  private val isCommit = tx.op === TxOpcode.COMMIT
  tx.ready := !clearing && !frees && (isCommit || !appending)
  private val legal = tx.fire && allowed
  when(legal)(for (b <- 0 until 3) planes(b)(txid) := to(b))
  private val opened = planes(0) & ~planes(1) & ~planes(2)
  when(tx.fire && tx.op === TxOpcode.RECOVER)(planes(2) := planes(2) | opened) // OPEN is 1, ABORTED 5

  evCommitTaken := legal && isCommit
  evCommitVisible := RegNext(evCommitTaken, init = False)
  evTxid := RegNextWhen(txid, evCommitTaken)
  when(evCommitTaken) {
    orders(txid) := tail
    tail := tail + 1
  }

  // walks: a clock to see what `free` is about. Nothing else changes that transaction meanwhile
  private val freesOldest = free.valid && isOldest(free.payload)
  private val freed = RegNext(free.payload)
  frees := !frees && (freesOldest || free.valid && isAborted(free.payload))
  when(RegNext(freesOldest, init = False) && frees)(head := head + 1)
  when(frees) {
    planes.foreach(_(freed) := False)
    counts(freed) := U(0, 16 bits)
  }

  // once more: what can be read from a memory is a fraction of the logic. No BEGIN is taken in the clock of a
  // `countUp`: an APPEND is under way
  private val begins = legal && tx.op === TxOpcode.BEGIN
  private val its = restored.txid.resize(idBits)
  when(restored.valid) {
    for (b <- 0 until 3) planes(b)(its) := Bool((TxState.PREPARED >> b & 1) == 1)
    counts(its) := restored.entries
  }
  private val sizes = Mem(UInt(16 bits), txids)
  private val counted = sizes.readAsync(countUp.payload) + 1
  when(countUp.valid)(counts(countUp.payload) := counted)
  sizes.write(
    restored.valid ? its | (countUp.valid ? countUp.payload | txid),
    restored.valid ? restored.entries | (countUp.valid ? counted | U(0, 16 bits)),
    countUp.valid || begins || restored.valid
  )
  for ((s, t) <- size.zip(sizeOf)) s := sizes.readAsync(t)
  private val places = Mem(UInt(orderBits bits), txids) // in the commit order
  places.write(txid, tail, evCommitTaken)
  older := (places.readAsync(useTxid) - head).resized

  oldest.valid := isOldest.orR
  oldest.payload := OHToUInt(isOldest)
  aborted := isAborted

  // use counts
  private val uses = Mem(UInt(27 bits), txids)
  private val clearTxid = Reg(UInt(idBits bits)) init 0
  when(clearing) {
    clearTxid := clearTxid + 1
    clearing := clearTxid =/= txids - 1
  }
  private val used = uses.readAsync(txid, writeFirst)
  uses.write(
    address = clearing ? clearTxid | (restored.valid ? its | txid),
    data = clearing ? U(0, 27 bits) | (restored.valid ? U(1, 27 bits) | used + 1),
    enable = clearing || begins || restored.valid
  )
  useCount := uses.readAsync(useTxid, writeFirst)
}
