// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import opentxssd._
import opentxssd.log.LogAppend
import spinal.core._
import spinal.lib._

/** What the executor appends to the log: an entry in Append, a COMMIT, ABORT or PREPARE (`record`) in Record.
  *
  * The entries of a plain WRITE have no other entry between them and are one group of the log (rule group). A COMMIT
  * or PREPARE says how many entries its transaction has:
  * `ofTx` counts those of the transaction in hand from its BEGIN on. The COMMIT of a prepared one says 0: the PREPARE
  * has said it, maybe in the log of an earlier mount. `index` is the last entry's.
  * `barrier`: behind the command in hand a new epoch begins.
  */
class CommandEntries(
    hand: CommandInHand,
    flow: ExecutorFlow,
    blocks: BlockSteps,
    append: Stream[LogAppend],
    page: UInt,
    head: UInt,
    begins: Bool,
    barrier: Bool
) extends Area {
  import ExecutorState._
  import flow.state
  import hand.{block, cmd, isWrite, lastBlock, lpn, remaining, txid}

  val record = RegInit(U(LogKind.COMMIT, 3 bits))
  val counts = Mem(UInt(32 bits), OtxParam.txids)
  val ofTx = counts.readAsync(txid)
  val index = Reg(UInt(48 bits))
  val epochs = new Epochs(append, head, barrier)
  val grouped = state === Append && isWrite && !cmd.hasTx

  append.valid := blocks.appends || state === Record
  append.kind := Mux(state === Record, record.resize(8), Mux(isWrite, U(LogKind.MAP, 8 bits), U(LogKind.TRIM, 8 bits)))
  append.ordered := Mux(state === Record, record === LogKind.COMMIT, !cmd.hasTx && !cmd.orderless)
  append.inTx := cmd.hasTx || state === Record
  append.n := Mux(grouped, hand.blocks.resize(8), U(1, 8 bits))
  append.i := Mux(grouped, block.resize(8), U(0, 8 bits))
  append.room := Mux(grouped, remaining, U(1, 6 bits))
  append.last := !grouped || lastBlock
  append.lpn := Mux(state === Record, U(0, 32 bits), lpn)
  append.location := Mux(state === Append && isWrite, Word(WordKind.NAND, page), Word.none)
  append.serial := Mux(append.inTx, hand.use @@ txid, U(0, 32 bits))
  append.sequence := blocks.sequence
  append.epoch := epochs.epoch
  append.arg := Mux(
    state === Record,
    Mux(record === LogKind.ABORT || hand.isPrepared, U(0, 32 bits), ofTx),
    Mux(isWrite, U(0, 32 bits), Mux(cmd.hasTx, U(1, 32 bits), hand.blocks.resize(32)))
  )

  counts.write(
    txid,
    Mux(state === Append, ofTx + 1, U(0, 32 bits)),
    append.fire && state === Append && append.inTx || begins
  )
  when(append.fire)(index := head)
}
