// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import opentxssd._
import opentxssd.log.LogAppend
import opentxssd.remap.{TxOp, TxRestored}
import spinal.core._
import spinal.lib._

/** How the executor changes a transaction's state: BEGIN, PREPARE, COMMIT, ABORT and RECOVER, from Record to
  * Scan.
  *
  * COMMIT and ABORT are a record in the log first, then a change that the engine takes: COMMITTING, which the log ends
  * when it is durable (`waiter`), or ABORT. RECOVER appends an ABORT for each transaction that is open, and then aborts
  * all of them in one change. They use the last log pages, which nothing else may touch (`LogReserve`). All frames of
  * the transaction are issued before its record; so are plain frames below its versions before that of a COMMIT
  * (`covered`, of the write buffer): rule lpn-order.
  *
  * PREPARE is a record, then the change, then a wait as a FLUSH has it: so its record is durable and all its pages
  * are complete. No other command of the txid is let in before that. The ABORT of a PREPARED one waits in the same
  * way: the transaction could come back as long as the record is not durable. `fits`: with the one in hand the
  * PREPARED ones have at most `most` entries, as many as one transaction can have, so what a mount takes over is
  * bounded. `restored`: a mount has brought one back.
  */
class TransactionSteps(
    hand: CommandInHand,
    flow: ExecutorFlow,
    entries: CommandEntries,
    append: Stream[LogAppend],
    tx: Stream[TxOp],
    restored: Flow[TxRestored],
    covered: Bool,
    most: Int
) extends Area {
  import ExecutorState._
  import entries.record
  import flow.{change, next, settle, state, txOp}
  import hand.{cmd, count, isOpen, isPrepared, txid}

  tx.valid := state === Tx
  tx.op := txOp
  tx.txid := txid

  // entries of PREPARED transactions
  private val held = Reg(UInt(17 bits)) init 0
  private val ends = txOp === TxOpcode.COMMITTING || txOp === TxOpcode.ABORT
  when(tx.fire && txOp === TxOpcode.PREPARE)(held := held + count)
  when(tx.fire && ends && isPrepared)(held := held - count)
  when(restored.valid)(held := held + restored.entries)
  val fits = RegNext(held + count <= most)

  def prepare(): Unit = {
    record := LogKind.PREPARE
    state := Record
  }
  def commit(): Unit = {
    record := LogKind.COMMIT
    state := Over
  }
  def recover(): Unit = {
    record := LogKind.ABORT
    txid := 0
    settle(Scan)
  }
  private def scanned(): Unit = {
    txid := txid + 1
    settle(Scan)
    when(txid === OtxParam.txids - 1)(change(TxOpcode.RECOVER, Finish))
  }

  /** To be called in the `switch` of `state`. */
  def steps(): Unit = {
    is(Record) {
      when(append.ready) {
        when(record === LogKind.COMMIT)(change(TxOpcode.COMMITTING, Wait))
          .elsewhen(record === LogKind.PREPARE)(change(TxOpcode.PREPARE, Wait))
          .elsewhen(cmd.opcode === Opcode.RECOVER)(scanned())
          .elsewhen(isPrepared)(change(TxOpcode.ABORT, Wait))
          .otherwise(change(TxOpcode.ABORT, Finish))
      }
    }
    is(Over)(when(covered)(state := Record))
    is(Tx)(when(tx.ready)(state := Settle))
    is(Settle)(state := next)
    is(Scan)(when(isOpen)(state := Record) otherwise scanned())
  }
}
