// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import opentxssd._
import opentxssd.log.LogAppend
import opentxssd.remap.TxOp
import spinal.core._
import spinal.lib._

/** How the executor changes a transaction's state: BEGIN, COMMIT, ABORT and RECOVER, from Record to Scan.
  *
  * COMMIT and ABORT are a record in the log first, then a change that the engine takes: COMMITTING, which the log ends
  * when it is durable (`waiter`), or ABORT. RECOVER appends an ABORT for each transaction that is open, and then aborts
  * all of them in one change. They use the last log pages, which nothing else may touch (`LogReserve`). `commits`: a
  * COMMIT begins.
  */
class TransactionSteps(
    hand: CommandInHand,
    flow: ExecutorFlow,
    entries: CommandEntries,
    append: Stream[LogAppend],
    tx: Stream[TxOp]
) extends Area {
  import ExecutorState._
  import entries.record
  import flow.{change, next, settle, state, txOp}
  import hand.{cmd, isOpen, txid}

  val commits = False
  tx.valid := state === Tx
  tx.op := txOp
  tx.txid := txid

  def commit(): Unit = {
    commits := True
    record := LogKind.COMMIT
    state := Record
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
          .elsewhen(cmd.opcode === Opcode.RECOVER)(scanned())
          .otherwise(change(TxOpcode.ABORT, Finish))
      }
    }
    is(Tx)(when(tx.ready)(state := Settle))
    is(Settle)(state := next)
    is(Scan)(when(isOpen)(state := Record) otherwise scanned())
  }
}
