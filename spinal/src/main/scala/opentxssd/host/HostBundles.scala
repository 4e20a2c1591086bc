// SPDX-License-Identifier: Apache-2.0
package opentxssd.host

import spinal.core._
import spinal.lib._

// The host port's data, and what is left and can be taken. Commands, beats and completions are those of soc/facts.toml;
// what each field means is in docs/interfaces.md.

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
  val places = UInt(10 bits) // for programs, in the queues of the dies that have pages
  val framesKept = UInt(16 bits) // of the write frames, that stay free
  val full, logFull = Bool() // no further block comes, for data and for the log
  val fault = Bool() // nothing is written any more
}

/** What the data path can take, to the command queue. */
case class Intake() extends Bundle {
  val takes, takesWrites = Bool() // it has a place for a command without data; for a WRITE
  val takesReads = Bool() // few blocks of READs wait for their lookup or for a place at their die
  val framesFree = UInt(16 bits)
  val fetched = Flow(WriteSize()) // a WRITE has its data, and all its frames
  val settled = Flow(UInt(6 bits)) // blocks that take no further page
}
