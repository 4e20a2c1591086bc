// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import opentxssd._
import opentxssd.flash.FlashOp
import opentxssd.log.LogAppend
import opentxssd.remap.RemapUser
import spinal.core._
import spinal.lib._

/** What the executor does for each block of a WRITE, TRIM or WRITE ZEROES, from Probe to Issue.
  *
  * Probe: a LOOKUP of each block counts those that need a new entry of the tx table, and finds out whether a
  * transaction that is COMMITTING has it, which a plain command waits for (rule lpn-order).
  * Then, per block: append to the log, link in the map, issue the program. "Link" makes the version visible, "issue"
  * sends it to flash; here issue follows at once (write-through).
  * A TRIM or WRITE ZEROES is linked as a whole when all its entries are appended: with a transaction an entry per
  * block, else one for all.
  *
  * `broken`: the engine has answered with an error. `stranded`: no page will come for the rest of a plain WRITE of
  * which blocks are linked; these are linked without one.
  */
class BlockSteps(
    hand: CommandInHand,
    flow: ExecutorFlow,
    remap: RemapUser,
    alloc: Stream[UInt],
    append: Stream[LogAppend],
    frames: Stream[UInt],
    write: Stream[FlashOp],
    fault: Bool
) extends Area {
  import ExecutorState._
  import flow.{change, end, state}
  import hand.{block, blocks, cmd, firstBlock, isTrim, isWrite, lastBlock, lpn, nextBlock, opens, room}
  import remap.{op, rsp}

  val fresh = Reg(UInt(6 bits)) // blocks that need a new tx table entry
  val broken, stranded = Reg(Bool())
  val ppn = Reg(UInt(30 bits))
  val sequence = Reg(UInt(48 bits)) init 0

  val wantsPage = state === Append && isWrite && !stranded
  val holdsPage = isWrite && (state === Link || state === Linked || state === Issue)
  val appends = state === Append && !stranded && (alloc.valid || !isWrite)
  val skipsIssue = state === Issue && stranded
  alloc.ready := state === Append && !stranded && isWrite && append.ready
  when(append.fire)(ppn := alloc.payload)

  rsp.ready := state === Probed || state === Linked
  op.valid := state === Probe || state === Link && (frames.valid || !isWrite)
  op.op := Mux(
    state === Probe,
    U(RemapOpcode.LOOKUP, 3 bits),
    Mux(
      isWrite,
      Mux(cmd.hasTx, U(RemapOpcode.APPEND, 3 bits), U(RemapOpcode.PLAIN, 3 bits)),
      U(RemapOpcode.TRIM, 3 bits)
    )
  )
  op.lpn := lpn
  op.hasTx := cmd.hasTx
  op.txid := hand.txid
  op.location := Mux(state === Link && isWrite, Word(WordKind.BUF, frames.payload), Word.none)
  op.newLocation := Word.none
  op.blocks := blocks
  op.tag := 0 // one op at a time
  op.last := True

  write.valid := state === Issue && !stranded
  write.op := NandOp.PROGRAM
  write.ppn := ppn
  write.frame := frames.payload
  write.kind := PageKind.DATA
  write.lpn := lpn
  write.sequence := sequence
  write.cookie := frames.payload

  def clear(): Unit = {
    fresh := 0
    broken := False
    stranded := False
  }

  /** To be called in the `switch` of `state`. */
  def steps(): Unit = {
    is(Probe)(when(op.ready)(state := Probed))
    is(Probed) {
      when(rsp.valid) {
        val needed = fresh + (!rsp.own).asUInt
        state := Probe
        when(rsp.error)(end(Status.MEDIA_ERROR))
          .elsewhen(!cmd.hasTx && rsp.committing)(when(fault)(end(Status.READ_ONLY))) // else asks again
          .otherwise {
            nextBlock()
            fresh := needed
            when(lastBlock) {
              firstBlock()
              when(cmd.hasTx && needed > room)(end(Status.TX_FULL))
                .elsewhen(opens)(change(TxOpcode.BEGIN, Append))
                .otherwise(state := Append)
            }
          }
      }
    }
    is(Append) {
      when(stranded)(state := Link)
        .elsewhen(isWrite && !alloc.valid && fault) {
          when(cmd.hasTx || block === 0)(end(Status.WRITE_FAULT)) otherwise {
            stranded := True
            state := Link
          }
        }
      when(append.fire) {
        state := Link
        when(isTrim && cmd.hasTx) { // an entry per block, then one link
          nextBlock()
          when(lastBlock)(firstBlock()) otherwise (state := Append)
        }
      }
    }
    is(Link)(when(op.fire)(state := Linked))
    is(Linked) {
      when(rsp.valid) {
        broken := broken || rsp.error
        state := Mux(isWrite, Issue(), After())
      }
    }
    is(Issue) {
      when(write.ready || stranded) {
        sequence := sequence + 1
        nextBlock()
        state := Mux(lastBlock, After(), Append())
      }
    }
  }
}
