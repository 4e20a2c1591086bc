// SPDX-License-Identifier: Apache-2.0
package opentxssd

import opentxssd.data.{FrameFill, PageMove, ReclaimPort, RecoveryLoss}
import opentxssd.flash.{FlashCounters, FlashDone, FlashOp}
import opentxssd.host.{ClassTurns, WritePace}
import opentxssd.log.{LogBlock, LogPlaceView}
import spinal.core._
import spinal.lib._

// The firmware's side of the core (docs/interfaces.md). `soc/otx_core.py` makes registers of it.

/** What firmware sends and takes. Master: firmware. */
case class FirmwarePort(p: OtxParam) extends Bundle with IMasterSlave {
  val firmwareOp = Stream(FlashOp())
  val firmwareDone = Stream(FlashDone())
  val freeBlock = Stream(UInt(24 bits))
  val freeBlockRoom = Bits(p.dies bits)
  val logBlock = Stream(LogBlock())
  val logBlockRoom = Bits(p.lanes bits)
  val badBlock = Stream(UInt(24 bits)) // a program failed in it
  val move = Stream(PageMove())
  val reclaim = Ports.bare(ReclaimPort())
  val logPlace = LogPlaceView(p)
  val weakPage = Stream(UInt(30 bits)) // the host has read it, or firmware verified it, with many corrected bits

  override def asMaster(): Unit = {
    master(firmwareOp, freeBlock, logBlock, move, reclaim, logPlace)
    slave(firmwareDone, badBlock, weakPage)
    in(freeBlockRoom, logBlockRoom)
  }
}

/** What firmware sets. */
case class DriveControl(p: OtxParam) extends Bundle {
  val enable = Bool()
  val full = Bool()
  val logFull = Bits(p.lanes bits)
  val readOnly = Bool() // set before `enable`: the mount could not write what a drive needs that takes writes
  val generation, driveId = UInt(32 bits)
  val loss = Ports.bare(RecoveryLoss())
  val nandMode = UInt(3 bits)
  val nandCapabilities = Bits(p.nandCapabilityBits bits)
  val refreshAt = UInt(p.correctedBits bits)
  val idleDies = Bool()
  val pageClocks = UInt(WritePace.intervalBits bits)
  val classTurns = Bits(ClassTurns.bits bits)
  val bufferLimit = UInt(16 bits) // frames that may wait in the write buffer
  val hostTimeout = UInt(FrameFill.timeoutBits bits) // `FrameFill`
  val persistOrder = UInt(2 bits) // `PersistOrder`; set before `enable`
  val plpRounds = UInt(16 bits) // programs of each die, one after the other, when the power fails; 0: no PLP. As above
}

/** What firmware can read. */
case class DriveStatus(p: OtxParam) extends Bundle {
  val allocLeft, logLeft, logPages = UInt(32 bits)
  // index of the next entry (behind an open group), watermark, watermark in a durable page
  val logHead, logMark, logDurableMark = UInt(48 bits)
  val released, commits, dataPages = UInt(32 bits)
  val memoryErrors = UInt(16 bits) // of table memory, that the remap engine has met
  val flash = Ports.bare(FlashCounters(p))
  val fault = Bool()
  val dumping = Bool() // the power fails: all that is held goes to NAND
  val framesKept = UInt(16 bits) // write frames that stay free: there is no energy to save more
  val asked = UInt(9 bits) // the last CHECKPOINT of the host
  val logDirty = Bool() // an entry below logHead is not durable, or not complete, or a frame waits in the write buffer
  val buffered = Bool() // a plain frame is linked and has no entry yet
  val moving = Bits(2 bits) // a page that firmware has copied has not found its place yet; bit 1: the log may have it
  val pageWanted = Bool() // a page that could not be programmed waits, and no erased page is left
  val busy = Bool() // a command, a NAND operation or a walk is under way; entries that wait for a FLUSH do not count
}
