// SPDX-License-Identifier: Apache-2.0
package opentxssd.host.nvme

import opentxssd.{NvmeEvent, Ports}
import spinal.core._
import spinal.lib._

// Ports of the NVMe front end (docs/interfaces/nvme.md). Streams are those of soc/facts.toml.

/** The host's side, whatever transport it is: BAR 0, memory, interrupts as messages. Master: the transport. */
case class NvmeHost() extends Bundle with IMasterSlave {
  val barReq = Stream(BarRequest())
  val barRsp = Stream(Bits(64 bits))
  val dmaRead = Stream(DmaRead())
  val dmaReadData = Stream(DmaReadBeat())
  val dmaWrite = Stream(DmaWrite())
  val dmaWriteData = Stream(DmaBeat())
  val msixEnable, msixMask = Bool() // of the MSI-X capability's message control
  val functionReset = Bool() // for a clock or longer

  override def asMaster(): Unit = {
    master(barReq, dmaReadData)
    slave(barRsp, dmaRead, dmaWrite, dmaWriteData)
    out(msixEnable, msixMask, functionReset)
  }
}

/** What firmware sets. */
case class NvmeControl() extends Bundle {
  val cstsReady, cstsFatal = Bool() // CSTS.RDY and CFS
  val cstsShutdown = UInt(2 bits) // CSTS.SHST
  val arbitration = Bits(32 bits) // as feature 01h has it
  val coalesceAbove, coalesceTime = UInt(8 bits) // as feature 08h has them
  val atOnce = Bits(16 bits) // vectors that are not coalesced: feature 09h
  val writeThrough = Bool() // the volatile write cache is off
  val streams = Bool() // the streams directive is on
}

/** What firmware reads. */
case class NvmeState() extends Bundle {
  val cc, aqa = Bits(32 bits)
  val asq, acq = Bits(64 bits)
  val events = Bits(NvmeEvent.SQE_UNREAD + 1 bits) // until they are cleared
  val quiet = Bool() // nothing of a controller that was disabled is under way
  val adminValid = Bool() // an admin command is here
  val adminWord = Bits(32 bits) // that of `adminIndex`
  val bufferWord = Bits(32 bits) // that of the buffer's index; two clocks after it changed
  val transferring = Bool() // a transfer is under way
  val transferFailed = Bool() // the last one could not read host memory
  // since reset; they wrap
  val hostReads, hostWrites, blocksRead, blocksWritten = UInt(32 bits)
  val latencyCount = UInt(32 bits) // COMMITs in bucket `latencyIndex` (CommitLatencies.scala)
}

/** Administration. Master: firmware. */
case class NvmeFirmwarePort() extends Bundle with IMasterSlave {
  val control = Ports.bare(NvmeControl())
  val state = Ports.bare(NvmeState())
  val eventsClear = Flow(Bits(NvmeEvent.SQE_UNREAD + 1 bits)) // those whose bit is 1
  val context = Stream(QueueContext()) // taken when it is done
  val adminIndex = UInt(4 bits)
  val latencyIndex = UInt(5 bits)
  val adminPop = Bool() // for a clock: the command has been read
  val adminCpl = Stream(AdminCompletion())
  val transfer = Flow(HostTransfer()) // while none is under way
  val bufferSeek = Flow(UInt(10 bits)) // sets the buffer's index
  val bufferWrite = Flow(Bits(32 bits)) // writes a word there; index + 1
  val bufferNext = Bool() // for a clock: a word was read; index + 1
  val failed = Stream(FailedCommand())

  override def asMaster(): Unit = {
    out(control, adminIndex, latencyIndex, adminPop, bufferNext)
    in(state)
    master(eventsClear, context, adminCpl, transfer, bufferSeek, bufferWrite)
    slave(failed)
  }
}
