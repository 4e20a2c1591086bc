// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import opentxssd._
import opentxssd.remap.TxView
import spinal.core._
import spinal.lib._

/** The command that the executor has in hand: what it is, the block that is next, and the state of its transaction.
  *
  * What is known of the opcode is known from Start on; what is known of `txid` two clocks after it has changed. RECOVER
  * and a sum of QUERY take one txid after the other in hand.
  */
class CommandInHand(p: OtxParam, filled: FilledCmd, view: TxView) extends Area {
  import view.{txCount, txState}

  val cmd = filled.cmd
  val isWrite = RegNext(cmd.opcode === Opcode.WRITE)
  val isTrim = RegNext(cmd.opcode === Opcode.TRIM || cmd.opcode === Opcode.WRITE_ZEROES)
  val isCommit = RegNext(cmd.opcode === Opcode.COMMIT || cmd.opcode === Opcode.WRITE && cmd.commit)

  // its last entry is what it waits for, else all that is in the log
  val endsWithLog = isCommit || isTrim || RegNext(cmd.opcode === Opcode.PREPARE || cmd.opcode === Opcode.ABORT)

  // Blocks
  val blocks = cmd.count.resize(6 bits)
  val block = Reg(UInt(6 bits)) // in hand
  val remaining = Reg(UInt(6 bits)) // blocks - block, kept for speed
  val lastBlock = remaining === 1
  val lpn = cmd.lba + block

  // The transaction
  val txid = Reg(UInt(5 bits))
  val state = RegNext(txState(txid))
  val count = RegNext(txCount(txid))
  val room = RegNext(p.txEntries - count) // entries that still fit, kept for speed
  val use = RegNext(view.useCount)
  val isFree = state === TxState.FREE
  val isOpen = state === TxState.OPEN
  val isPrepared = state === TxState.PREPARED
  val opens = cmd.opcode === Opcode.BEGIN || (isWrite || isTrim) && cmd.hasTx && isFree
  val committing = RegNext(txState.map(_ === TxState.COMMITTING).orR) // any of them
  view.useTxid := txid

  def take(): Unit = {
    txid := cmd.txid.resized
    firstBlock()
  }
  def firstBlock(): Unit = {
    block := 0
    remaining := blocks
  }
  def nextBlock(): Unit = {
    block := block + 1
    remaining := remaining - 1
  }
}
