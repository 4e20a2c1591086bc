// SPDX-License-Identifier: Apache-2.0
package opentxssd.flash

import opentxssd._
import spinal.core._
import spinal.lib._
import spinal.lib.bus.amba4.axi._

// Who asks for page operations (FlashOp and FlashDone of soc/facts.toml). What each field means is in
// docs/interfaces.md.

/** The ops of the four clients. Master: the clients. */
case class FlashOps() extends Bundle with IMasterSlave {
  val write, read, log, firmware = Stream(FlashOp())

  override def asMaster(): Unit = master(write, read, log, firmware)
}

/** Reads with corrected bits, as `WeakPages` counts them. */
case class FlashCounters(p: OtxParam) extends Bundle {
  val correctedReads, weakReads = UInt(16 bits)
  val retriedReads = p.retry generate UInt(16 bits)
}

/** The flash scheduler, as all but its channels see it. Master: who uses it. */
case class FlashPort(p: OtxParam) extends Bundle with IMasterSlave {
  val clients = Ports.bare(FlashOps())
  val writeDone, readDone, logDone, firmwareDone = Stream(FlashDone())
  val alloc = Stream(UInt(30 bits))
  val allocLeft = UInt(32 bits)
  val places = UInt(10 bits) // `PageAllocator`
  val rounds, reach = UInt(16 bits) // `PageAllocator`
  val only = Bool() // `WayQueue`: programs only
  val freeBlock = Stream(UInt(24 bits))
  val freeBlockRoom = Bits(p.dies bits)
  val retire = Flow(UInt(24 bits))
  val picked = Flow(UInt(30 bits))
  val generation = UInt(32 bits)
  val refreshAt = UInt(p.correctedBits bits)
  val idleDies = Bool()
  val dieNow = Vec.fill(p.dies)(UInt(2 bits)) // channel * ways + way
  val weak = Stream(UInt(30 bits))
  val counters = Ports.bare(FlashCounters(p))
  val frame = Axi4(p.axi)
  val busy = Bool()

  override def asMaster(): Unit = {
    master(clients, freeBlock, retire)
    slave(writeDone, readDone, logDone, firmwareDone, alloc, picked, weak, frame)
    out(generation, refreshAt, idleDies, rounds, only)
    in(allocLeft, places, reach, freeBlockRoom, dieNow, counters, busy)
  }
}
