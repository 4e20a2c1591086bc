// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import opentxssd._
import spinal.core._
import spinal.lib._

// What the write buffer is asked and what it hands on.

/** What a linked frame is: whose it is, of which block, and its place in a group of `n` blocks of one plain command, of
  * which `first` is the first frame. A frame of a transaction is a group of its own. */
case class DirtyFrame() extends Bundle {
  val lpn = UInt(32 bits)
  val hasTx = Bool()
  val txid = UInt(5 bits)
  val use = UInt(27 bits)
  val stream = UInt(16 bits)
  val ordered = Bool()
  val epoch = UInt(32 bits)
  val first = UInt(16 bits)
  val n, i = UInt(6 bits)
  val turn = Bool() // `BufferTurn`
  val priority = UInt(2 bits) // of a command that waits for its page; LOW: nobody waits for it yet
}

/** A frame that the map names now. `replaced`: the word that it replaced, or what stands below it; `owned`: that was
  * its own transaction's version. `over`: versions of transactions that are not committed stand over a plain frame. */
case class BufferLink() extends Bundle {
  val frame = UInt(16 bits)
  val what = DirtyFrame()
  val replaced = Word()
  val owned, over = Bool()
}

/** Frames that are to be issued before all others. `key`: of ONE a frame, of TX a txid, of STREAM a stream, of RANGE
  * the first LPN, `blocks` their number. `behind`: of TX also those of BEHIND, order-preserving ones of earlier
  * epochs than `epoch`. */
case class BufferGather() extends Bundle {
  val kind = GatherKind()
  val key = UInt(32 bits)
  val blocks = UInt(16 bits)
  val behind = Bool()
  val epoch = UInt(32 bits)
  val priority = UInt(2 bits)
}

object GatherKind extends SpinalEnum {
  // format: off
  val One,  // the group of a frame, if it is not issued
    Plain,  // all of plain writes
    All,    // all
    Tx,     // all of a transaction
    Behind, // order-preserving ones of earlier epochs
    Txs,    // all of transactions
    Stream, // all of a stream
    Range = // all plain ones of a range of blocks
    newElement()
  // format: on
}

/** A frame that is to be issued. */
case class IssueFrame() extends Bundle {
  val frame = UInt(16 bits)
  val what = DirtyFrame()
  val early = Bool()
}

/** A frame that has been issued: in the log, and its program with the scheduler. */
case class IssueEnd() extends Bundle {
  val plain, turn, early = Bool()
}

/** How far issuing must come before a command may go on (`WriteBuffer`). */
case class BufferTicket() extends Bundle {
  val early, all = UInt(BufferTicket.bits bits)
  def reached(ended: BufferTicket): Bool =
    BufferTicket.reached(early, ended.early) && BufferTicket.reached(all, ended.all)
}

/** What the write buffer shows. `waiting`: frames that take a page, some time. Master: the buffer. */
case class BufferView() extends Bundle with IMasterSlave {
  val ticket, ended, over = BufferTicket()
  val waiting = UInt(16 bits)
  override def asMaster(): Unit = out(ticket, ended, over, waiting)
}

object BufferTicket {

  /** Of a count of frames: far more than there are frames. */
  val bits = 17

  /** The count has come to the ticket, or past it. */
  def reached(ticket: UInt, count: UInt): Bool = !(count - ticket).msb
}
