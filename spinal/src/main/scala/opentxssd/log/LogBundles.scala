// SPDX-License-Identifier: Apache-2.0
package opentxssd.log

import opentxssd._
import spinal.core._

// Into the log and out of it. What each field means is in docs/interfaces.md.

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

case class LogBlock() extends Bundle {
  val lane = UInt(2 bits)
  val block = UInt(24 bits)
}
