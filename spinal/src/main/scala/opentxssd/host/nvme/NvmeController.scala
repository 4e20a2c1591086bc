// SPDX-License-Identifier: Apache-2.0
package opentxssd.host.nvme

import opentxssd._
import opentxssd.host._
import spinal.core._
import spinal.lib._

/** An NVMe 1.4 controller in front of the core's host port: I/O in hardware, administration in firmware.
  *
  * Contract. Host side: BAR 0 of 16 KiB (registers at 0, doorbells at 1000h, MSI-X table at 2000h, PBA at 3000h), reads
  * and writes of host memory that never cross a 4 KiB border, answered and done in the order in which they leave. Core
  * side: a host (docs/interfaces/host-port.md) with the tags 0 to 31. Firmware's side: `NvmeFirmwarePort`.
  *
  * Every SQE that was fetched gets exactly one CQE, unless the controller is disabled or its queues are deleted before.
  * I/O commands of one submission queue reach the core in the order of the queue. A CQE is written when all data of its
  * command is, and the interrupt is sent behind it. Only what a SQE names is read or written, and queues, and what
  * firmware asks for.
  *
  * Latency and what is not done: docs/interfaces/nvme.md. Errors: a status in the CQE, and the next command; a SQE that
  * cannot be read stops all until CC.EN is cleared. When CC.EN is cleared nothing is fetched any more, all queues are
  * gone, what the core has ends without CQEs, and then it is `quiet`. Reset loses all.
  */
class NvmeController(p: OtxParam) extends Component {
  setDefinitionName("otx_nvme")

  val host = Ports.snake(slave port NvmeHost())
  val firmware = Ports.snake(slave port NvmeFirmwarePort())
  val cmd = master port Stream(HostCmd())
  val cpl = slave port Stream(Completion())
  val hostData = Ports.snake(master port HostData())
  val active = out port Bool() // something of a host is under way here, or waits for firmware

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
  msix.forget := host.functionReset

  // queues
  private val submissions = new SubmissionQueues
  private val completions = new CompletionQueues
  private val interrupts = new InterruptCoalescing(unit = (BigInt("100000000") / p.clockPs).toInt)
  private val stop = registers.disabled
  private val killing = RegInit(False) // a controller that was disabled still has something under way
  private val gone = stop || killing
  msix.clear := gone
  private val toSubmissions = !firmware.context.completes
  private val context = firmware.context.haltWhen(gone)
  for ((queues, which) <- Seq(submissions.set -> toSubmissions, completions.set -> !toSubmissions)) {
    queues.valid := context.valid && which
    queues.payload := context.payload
  }
  context.ready := Mux(toSubmissions, submissions.set.ready, completions.set.ready)
  submissions.bell << registers.submitted
  completions.bell << registers.completed
  registers.wrong := submissions.wrong | completions.wrong
  submissions.stop := stop
  completions.stop := stop
  private val weighted = registers.cc(13 downto 11) === 1
  submissions.weighted := weighted
  submissions.arbitration := firmware.control.arbitration
  completions.ask := submissions.ask
  submissions.room := completions.room
  submissions.moved := registers.completed.valid
  completions.take << submissions.take
  submissions.headOf := completions.headOf
  completions.head := submissions.head
  submissions.ended << completions.ended
  interrupts.notice << completions.notice
  interrupts.above := firmware.control.coalesceAbove
  interrupts.time := firmware.control.coalesceTime
  interrupts.atOnce := firmware.control.atOnce
  interrupts.clear := gone
  msix.request << interrupts.request.toStream
  firmware.failed << completions.failed.toStream.queue(4)

  // slots: those that are free, and whose commands the others have
  private val free = StreamFifo(UInt(Nvme.slotBits bits), Nvme.slots)
  private val swept = Reg(UInt(Nvme.slotBits + 1 bits)) init 0
  when(!swept.msb)(swept := swept + 1)
  free.io.push.valid := !swept.msb || completions.freed.valid
  free.io.push.payload := Mux(swept.msb, completions.freed.payload, swept.resized)
  submissions.slot << free.io.pop
  private val owners = Nvme.table(SlotOwner(), Nvme.slots)
  completions.owner := owners.readAsync(completions.ends.slot)

  // host memory
  private val reads = new DmaReads(4)
  private val writes = new DmaWrites(4)
  host.dmaRead << reads.dma
  reads.dmaData << host.dmaReadData
  host.dmaWrite << writes.dma
  host.dmaWriteData << writes.dmaData

  // SQEs
  private val intake = new SqeIntake
  private val mailbox = new AdminMailbox
  reads.wants(0) << submissions.read
  intake.beats << reads.gets(0)
  intake.fetched << submissions.fetched
  intake.stop := gone
  registers.unread := intake.unread
  submissions.arrived << intake.arrived
  mailbox.beats << intake.admin
  mailbox.fetches := submissions.fetched.fire && submissions.fetched.payload.queue === 0
  mailbox.stop := gone
  mailbox.pop := firmware.adminPop
  mailbox.index := firmware.adminIndex
  submissions.adminFree := mailbox.free
  firmware.state.adminValid := mailbox.valid
  firmware.state.adminWord := mailbox.word
  completions.admin << firmware.adminCpl

  // I/O commands and their data
  private val decode = new CommandDecode(p.lbas)
  private val flow = new CommandFlow(p.lbas)
  private val data = new DataFlow
  decode.sqe << intake.sqe
  decode.writeThrough := firmware.control.writeThrough
  decode.streams := firmware.control.streams
  decode.weighted := weighted
  flow.command << decode.command
  flow.killing := gone
  owners.write(flow.slot, flow.owner.payload, flow.owner.valid)
  data.info.valid := flow.owner.valid
  data.info.payload := flow.info
  data.slot := flow.slot
  data.first << flow.first
  data.later << flow.later
  reads.wants(1) << flow.listRead
  flow.listData << reads.gets(1)
  data.range << flow.range
  flow.ranges << data.ranges
  cmd << flow.cmd
  data.goes << cmd.toFlowFire
  flow.cpl << cpl.haltWhen(data.holds)
  data.ending := cpl.tag.resized
  data.ended := cpl.fire
  flow.compares := data.compares
  flow.differs := data.differs
  flow.unread := data.unread
  completions.ends << flow.end
  hostData <> data.core
  reads.wants(3) << data.read
  data.readData << reads.gets(3)
  writes.wants(3) << data.write
  writes.gives(3) << data.writeData

  private val reading = flow.counts.kind === DataKind.READ || flow.counts.kind === DataKind.COMPARE
  private def counter(of: Bool, amount: UInt): UInt = {
    val number = Reg(UInt(32 bits)) init 0
    when(RegNext(flow.counts.valid && of, False))(number := number + RegNext(amount))
    number
  }
  private val writing = flow.counts.kind === DataKind.WRITE
  firmware.state.hostReads := counter(reading, U(1, 6 bits))
  firmware.state.hostWrites := counter(writing, U(1, 6 bits))
  firmware.state.blocksRead := counter(reading, flow.counts.count)
  firmware.state.blocksWritten := counter(writing, flow.counts.count)

  private val latencies = new CommitLatencies
  latencies.took << flow.took
  latencies.index := firmware.latencyIndex
  firmware.state.latencyCount := latencies.count

  // CQEs, messages, firmware's transfers
  private val buffer = new FirmwareBuffer
  buffer.seek << firmware.bufferSeek
  buffer.put << firmware.bufferWrite
  buffer.next := firmware.bufferNext
  buffer.transfer << firmware.transfer
  firmware.state.bufferWord := buffer.word
  firmware.state.transferring := buffer.busy
  firmware.state.transferFailed := buffer.failed
  reads.wants(2) << buffer.read
  buffer.readData << reads.gets(2)
  private val messages = msix.message.map { m =>
    val write = DmaWrite()
    write.address := m.address
    write.length := 4
    write.message := True
    write
  }
  private val messageData = StreamFifo(Bits(32 bits), 4) // of the messages that stand among the writes: as many at most
  messageData.io.push.valid := msix.message.fire
  messageData.io.push.payload := msix.message.data
  writes.wants(0) << messages
  writes.gives(0).arbitrationFrom(messageData.io.pop)
  writes.gives(0).data := messageData.io.pop.payload.resized
  writes.gives(0).last := True
  writes.wants(1) << completions.write
  writes.gives(1) << completions.data
  writes.wants(2) << buffer.write
  writes.gives(2) << buffer.writeData

  // a controller that was disabled
  private val allFree = RegNext(free.io.occupancy === Nvme.slots && swept.msb) init False
  private val still = allFree && !submissions.busy && !completions.busy && !intake.busy && !mailbox.busy &&
    !reads.busy && !writes.busy && !msix.busy && !buffer.busy && !data.busy
  private val waits = Reg(UInt(2 bits)) init 0 // what moves between two blocks has arrived
  active := RegNext(!still || mailbox.valid, True)
  waits := Mux(still && !stop, (waits +| U(1)), U(0))
  when(waits.andR)(killing := False)
  when(stop)(killing := True)
  firmware.state.quiet := !killing && !stop
}
