// SPDX-License-Identifier: Apache-2.0
package opentxssd.host.nvme

import opentxssd._
import opentxssd.host._
import spinal.core._
import spinal.lib._

/** An NVMe 1.4 controller in front of the core's host port: I/O in hardware, administration in firmware.
  *
  * Contract. Host side: BAR 0 of 16 KiB (registers at 0, doorbells at 1000h, MSI-X table at 2000h, PBA at 3000h), reads
  * and writes of host memory that never cross a 4 KiB border, answered and done in the order in which they leave.
  * Core side: a host (docs/interfaces/host-port.md) with the tags 0 to 31. Firmware's side: `NvmeFirmwarePort`.
  *
  * Every SQE that was fetched gets exactly one CQE, unless the controller is disabled or its queues are deleted before.
  * I/O commands of one submission queue reach the core in the order of the queue. A CQE is written when all data of its
  * command is, and the interrupt is sent behind it. Only what a SQE names is read or written, and queues, and what
  * firmware asks for.
  *
  * Latency and what is not done: docs/interfaces/nvme.md. Errors: a status in the CQE, and the next command. When CC.EN
  * is cleared nothing is fetched any more, all queues are gone, what the core has ends without CQEs, and then it is
  * `quiet`. Reset loses all.
  */
class NvmeController(p: OtxParam) extends Component {
  setDefinitionName("otx_nvme")

  val host = Ports.snake(slave port NvmeHost())
  val firmware = Ports.snake(slave port NvmeFirmwarePort())
  val cmd = master port Stream(HostCmd())
  val cpl = slave port Stream(Completion())
  val hostData = Ports.snake(master port HostData())

  private val registers = new NvmeRegisters
  private val msix = new NvmeMsix
  registers.bar << host.barReq
  host.barRsp << registers.answer
  registers.functionReset := host.functionReset
  registers.control := firmware.control
  registers.eventsClear << firmware.eventsClear
  firmware.state.cc := registers.cc
  firmware.state.aqa := registers.aqa
  firmware.state.asq := registers.asq
  firmware.state.acq := registers.acq
  firmware.state.events := registers.events
  registers.table <> msix.access
  registers.pending := msix.pending
  msix.enable := host.msixEnable
  msix.functionMask := host.msixMask
  msix.clear := registers.disabled
  msix.forget := host.functionReset
  registers.wrong := 0

  // not connected yet
  msix.request.setIdle()
  msix.message.ready := True
  host.dmaRead.setIdle()
  host.dmaReadData.ready := True
  host.dmaWrite.setIdle()
  host.dmaWriteData.setIdle()
  cmd.setIdle()
  cpl.ready := True
  hostData.wdata.setIdle()
  hostData.wdataReq.ready := True
  hostData.rdata.ready := True
  firmware.context.ready := True
  firmware.adminCpl.ready := True
  firmware.failed.setIdle()
  for (s <- Seq(firmware.state.quiet, firmware.state.adminValid, firmware.state.transferring)) s := False
  for (s <- Seq(firmware.state.adminWord, firmware.state.bufferWord)) s := 0
  for (
    s <-
      Seq(firmware.state.hostReads, firmware.state.hostWrites, firmware.state.blocksRead, firmware.state.blocksWritten)
  ) s := 0
}
