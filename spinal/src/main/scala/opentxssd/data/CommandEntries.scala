// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import opentxssd._
import opentxssd.log.LogAppend
import spinal.core._
import spinal.lib._

/** What the executor appends to the log itself: TRIM entries in Append, a COMMIT, ABORT or PREPARE (`record`) in
  * Record. The MAP entries are those of `FrameIssue`.
  *
  * A COMMIT or PREPARE says how many entries its transaction has: `counts`. The COMMIT of a prepared one says 0: the
  * PREPARE has said it, maybe in the log of an earlier mount. `index` is the last entry's. `epoch`: that which is open.
  */
class CommandEntries(
    hand: CommandInHand,
    flow: ExecutorFlow,
    blocks: BlockSteps,
    append: Stream[LogAppend],
    counts: TxEntryCounts,
    sequence: UInt,
    epoch: UInt,
    head: UInt
) extends Area {
  import ExecutorState._
  import flow.state
  import hand.{cmd, lpn, txid}

  val record = RegInit(U(LogKind.COMMIT, 3 bits))
  val index = Reg(UInt(48 bits))

  append.valid := state === Append || state === Record
  append.kind := Mux(state === Record, record.resize(8), U(LogKind.TRIM, 8 bits))
  append.ordered := Mux(state === Record, record === LogKind.COMMIT, !cmd.hasTx && !cmd.orderless)
  append.inTx := cmd.hasTx || state === Record
  append.n := 1
  append.i := 0
  append.room := 1
  append.last := True
  append.lpn := Mux(state === Record, U(0, 32 bits), lpn)
  append.location := Word.none
  append.serial := Mux(append.inTx, hand.use @@ txid, U(0, 32 bits))
  append.sequence := RegNextWhen(sequence, state =/= Append && state =/= Record) // what is offered stays
  append.epoch := epoch
  counts.ask := txid
  append.arg := Mux(
    state === Record,
    Mux(record === LogKind.ABORT || hand.isPrepared, U(0, 32 bits), counts.entries),
    Mux(cmd.hasTx, U(1, 32 bits), hand.blocks.resize(32))
  )
  when(append.fire)(index := head)
}
