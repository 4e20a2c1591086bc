// SPDX-License-Identifier: Apache-2.0
package opentxssd.log

import opentxssd._
import spinal.core._
import spinal.lib._

// Into the log and out of it (LogBlock is one of soc/facts.toml). What each field means is in docs/interfaces.md.

/** One log entry as it is appended; index, epoch place and page are the log's. */
case class LogAppend() extends Bundle {
  val kind = UInt(8 bits)
  val ordered = Bool()
  val inTx = Bool()
  val n = UInt(8 bits)
  val i = UInt(8 bits)
  val lpn = UInt(32 bits)
  val location = Word()
  val serial = UInt(32 bits)
  val sequence = UInt(48 bits)
  val epoch = UInt(32 bits)
  val arg = UInt(32 bits)
  val room = UInt(6 bits)
  val last = Bool()
}

case class LogWait() extends Bundle {
  val tag = UInt(5 bits)
  val flush = Bool() // FLUSH or FUA, else COMMIT
  val relaxed = Bool() // of a COMMIT
  val txid = UInt(5 bits)
  val index = UInt(48 bits)
  val after = UInt(48 bits) // pages of transactions, and of a COMMIT all pages, count below it
}

case class TagStatus() extends Bundle {
  val tag = UInt(5 bits)
  val status = UInt(4 bits)
}

case class PageDone() extends Bundle {
  val index = UInt(48 bits)
  val hasTx = Bool()
  val txid = UInt(5 bits)
  val ok = Bool()
}

/** What the data path and the log tell each other. Master: the data path. */
case class LogPort() extends Bundle with IMasterSlave {
  val append, relocate = Stream(LogAppend())
  val waiter = Stream(LogWait())
  val waitDone = Stream(TagStatus())
  val pageDone = Stream(PageDone())
  val rescueTo = UInt(48 bits)
  val giveUp, saving = Bool()
  val head, durable, mark = UInt(48 bits)

  override def asMaster(): Unit = {
    master(append, relocate, waiter, pageDone)
    slave(waitDone)
    out(rescueTo, giveUp, saving)
    in(head, durable, mark)
  }
}

/** Where the log goes on, for checkpoints. `capture` for one clock; then, as it was in that clock: `page`, the first
  * log page that has no place yet, `first`, the index of its first entry, and for lane `lane` the block and the page
  * (`row`) in it where the lane's next page will be. All entries before `first` are in earlier pages. Master: who asks.
  */
case class LogPlaceView(p: OtxParam) extends Bundle with IMasterSlave {
  val capture = Bool()
  val lane = UInt(2 bits)
  val page = UInt(32 bits)
  val first = UInt(48 bits)
  val block = UInt(24 bits)
  val row = UInt(16 bits)

  override def asMaster(): Unit = {
    out(capture, lane)
    in(page, first, block, row)
  }
}
