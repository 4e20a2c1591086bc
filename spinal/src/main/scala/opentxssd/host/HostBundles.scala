// SPDX-License-Identifier: Apache-2.0
package opentxssd.host

import spinal.core._
import spinal.lib._

// The host port's commands, data and completions. What each field means is in docs/interfaces.md.

case class HostCmd() extends Bundle {
  val opcode = UInt(8 bits)
  val lba = UInt(32 bits)
  val count = UInt(16 bits)
  val txid = UInt(8 bits)
  val hasTx = Bool()
  val fua = Bool()
  val commit = Bool()
  val relaxed = Bool()
  val barrier = Bool()
  val order = UInt(2 bits)
  val stream = UInt(16 bits)
  val tag = UInt(5 bits)
  val arg = UInt(32 bits)
}

case class BlockRef() extends Bundle {
  val tag = UInt(5 bits)
  val block = UInt(5 bits)
}

case class WriteBeat() extends Bundle {
  val data = Bits(64 bits)
  val last = Bool()
}

case class ReadBeat() extends Bundle {
  val tag = UInt(5 bits)
  val block = UInt(5 bits)
  val data = Bits(64 bits)
  val last = Bool()
}

case class Completion() extends Bundle {
  val tag = UInt(5 bits)
  val status = UInt(4 bits)
  val result = UInt(32 bits)
}

/** The data of commands, both ways: the host port without commands and completions. Master: the host. */
case class HostData() extends Bundle with IMasterSlave {
  val wdataReq = Stream(BlockRef())
  val wdata = Stream(WriteBeat())
  val rdata = Stream(ReadBeat())

  override def asMaster(): Unit = {
    master(wdata)
    slave(wdataReq, rdata)
  }
}

/** What is left for new writes, and whether there will be more. */
case class Supply() extends Bundle {
  val allocLeft, logLeft = UInt(32 bits) // pages for data and of the log
  val full, logFull = Bool() // no further block comes, for data and for the log
  val fault = Bool() // nothing is written any more
}

/** What the data path can take, to the command queue. */
case class Intake() extends Bundle {
  val takes = Bool() // it has a place for a command that is not a READ
  val framesFree = UInt(16 bits)
  val fetched, settled = Flow(UInt(6 bits)) // blocks of a WRITE that has all its frames; that takes no further page
}
