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
  val giveUp = Bool()
  val head, durable = UInt(48 bits)

  override def asMaster(): Unit = {
    master(append, relocate, waiter, pageDone)
    slave(waitDone)
    out(rescueTo, giveUp)
    in(head, durable)
  }
}
