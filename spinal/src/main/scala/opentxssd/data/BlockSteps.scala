// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import opentxssd._
import opentxssd.log.LogAppend
import opentxssd.remap.RemapUser
import spinal.core._
import spinal.lib._

/** What the executor does for each block of a WRITE, TRIM or WRITE ZEROES, from Probe to Keep.
  *
  * Probe: a LOOKUP of each block counts those that need a new entry of the tx table, and finds out whether a
  * transaction that is COMMITTING has it, which a plain command waits for (rule lpn-order). For a TRIM it finds frames
  * that are not issued: they must be in the log before it (rule lpn-order), so they are made early (Seek); so are
  * order-preserving ones of earlier epochs (rule epoch-issue), and the TRIM waits for them and begins again (`found`).
  * Then a block of a WRITE is linked in the map, which makes the version visible, and its frame goes to the write
  * buffer (Keep), which issues it some time later.
  * A TRIM or WRITE ZEROES is appended to the log at once, with a transaction an entry per block, else one for all; then
  * it is linked as a whole.
  *
  * `broken`: the engine has answered with an error.
  */
class BlockSteps(
    hand: CommandInHand,
    flow: ExecutorFlow,
    remap: RemapUser,
    append: Stream[LogAppend],
    frames: Stream[UInt],
    link: Stream[BufferLink],
    gather: Stream[BufferGather],
    sought: UInt,
    behind: Bool,
    fault: Bool
) extends Area {
  import ExecutorState._
  import flow.{again, change, end, state}
  import hand.{block, blocks, cmd, firstBlock, isTrim, isWrite, lastBlock, lpn, nextBlock, opens, room}
  import remap.{op, rsp}

  val fresh = Reg(UInt(6 bits)) // blocks that need a new tx table entry
  val broken, found = Reg(Bool())
  val first = Reg(UInt(16 bits)) // frame of the first block
  val at = Reg(Word()) // where a LOOKUP has found a block, or what a link replaced
  private val owned, over = Reg(Bool())

  private val looks = state === Probe || state === SeekLook
  rsp.ready := state === Probed || state === Linked || state === SeekLooked
  op.valid := looks || state === Link && (frames.valid || !isWrite)
  op.op := Mux(
    looks,
    U(RemapOpcode.LOOKUP, 3 bits),
    Mux(
      isWrite,
      Mux(cmd.hasTx, U(RemapOpcode.APPEND, 3 bits), U(RemapOpcode.PLAIN, 3 bits)),
      U(RemapOpcode.TRIM, 3 bits)
    )
  )
  op.lpn := (state === SeekLook).mux(cmd.lba + sought, lpn)
  op.hasTx := cmd.hasTx
  op.txid := hand.txid
  op.location := Mux(state === Link && isWrite, Word(WordKind.BUF, frames.payload), Word.none)
  op.newLocation := Word.none
  op.blocks := blocks
  op.tag := 0 // one op at a time
  op.last := True
  when(rsp.fire) {
    at := rsp.location
    owned := rsp.hit
    over := rsp.committing
  }

  link.valid := state === Keep
  link.frame := frames.payload
  link.what.lpn := lpn
  link.what.hasTx := cmd.hasTx
  link.what.txid := hand.txid
  link.what.use := hand.use
  link.what.stream := cmd.stream
  link.what.ordered := !cmd.hasTx && !cmd.orderless
  link.what.first := (block === 0).mux(frames.payload, first)
  link.what.n := blocks
  link.what.i := block
  link.what.turn := False // the buffer's
  link.what.priority := Mux(cmd.fua || cmd.commit, cmd.priority, U(Priority.LOW, 2 bits))
  link.replaced := at
  link.owned := owned
  link.over := over && !cmd.hasTx
  val keeps = link.fire

  def clear(): Unit = {
    fresh := 0
    broken := False
    found := False
  }

  /** The block in hand is probed. */
  private def probed(): Unit = {
    state := Probe
    nextBlock()
    when(lastBlock) {
      firstBlock()
      when(cmd.hasTx && fresh > room)(end(Status.TX_FULL))
        .elsewhen(found || isTrim && behind && !again)(state := Gather)
        .elsewhen(opens)(change(TxOpcode.BEGIN, isWrite.mux(Link(), Append())))
        .otherwise(state := isWrite.mux(Link(), Append()))
    }
  }

  /** To be called in the `switch` of `state`. */
  def steps(): Unit = {
    is(Probe)(when(op.ready)(state := Probed))
    is(Probed) {
      when(rsp.valid) {
        state := Probe
        when(rsp.error)(end(Status.MEDIA_ERROR))
          .elsewhen(!cmd.hasTx && rsp.committing)(when(fault)(end(Status.READ_ONLY))) // else asks again
          .otherwise {
            fresh := fresh + (!rsp.own).asUInt
            state := Seek
          }
      }
    }
    is(Seek) {
      when(isTrim && at.isBuf && !again) {
        found := True
        when(gather.ready)(probed())
      } otherwise probed()
    }
    is(Append) {
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
        state := Mux(isWrite, Keep(), After())
      }
    }
    is(Keep) {
      when(block === 0)(first := frames.payload)
      when(link.ready) {
        nextBlock()
        state := Mux(lastBlock, After(), Link())
      }
    }
  }
}
