// SPDX-License-Identifier: Apache-2.0
package opentxssd.host

import opentxssd._
import spinal.core._
import spinal.lib._

/** Up to `tags` host commands under way in front of a command queue with fewer slots: here those wait that have no slot
  * of it yet.
  *
  * Contract. `cmd` is taken while its tag is unused; a command whose tag is under way waits at the port, as it would
  * at the queue. Commands get slots in the order in which they were accepted, malformed ones too, as slots become
  * free, and go to `queue` with the slot in place of their tag. `done`, and the `tag` of all data, are translated
  * back. A slot is free, and the tag unused, when the completion is taken; one of each clock. So the queue has the
  * oldest commands, and what it waits for is never behind here. Order attributes and barriers are about all commands,
  * since the order of acceptance is kept; but a HEAD OF QUEUE overtakes only what is in the queue, when it has come
  * there itself.
  *
  * `wdataReq` may come for a WRITE that has ended (docs/interfaces/host-port.md): then its tag means nothing.
  *
  * Latency: two clocks. Nobody waits here but for slots. `busy`: a command waits here. Reset loses all; commands are
  * taken `tags` clocks later.
  */
class CommandIntake(tags: Int = 256, slots: Int = OtxParam.tags) extends Component {
  setDefinitionName(if (tags == 256 && slots == OtxParam.tags) "otx_command_intake"
  else s"otx_command_intake_${tags}_$slots")

  val cmd = slave port Stream(HostCmd())
  val cpl = master port Stream(Completion())
  val data = slave port HostData()
  val queue = master port Stream(HostCmd())
  val done = slave port Stream(Completion())
  val slotData = master port HostData()
  val busy = out port Bool()

  private val tagBits = log2Up(tags)
  private val slotBits = log2Up(slots)

  // A tag is under way when it was accepted once more than it was completed
  private val accepted, completed = Mem(Bool(), tags)
  private val swept = Reg(UInt(tagBits + 1 bits)) init 0
  private val sweeping = !swept.msb
  when(sweeping)(swept := swept + 1)
  private val wasAccepted = accepted.readAsync(cmd.tag.resize(tagBits))
  private val taken = cmd.haltWhen(sweeping || wasAccepted =/= completed.readAsync(cmd.tag.resize(tagBits)))
  accepted.write(
    sweeping.mux(swept, cmd.tag.resize(tagBits + 1)).resize(tagBits),
    sweeping.mux(False, !wasAccepted),
    sweeping || cmd.fire
  )
  private val wasCompleted = completed.readAsync(cpl.tag.resize(tagBits))
  completed.write(
    sweeping.mux(swept, cpl.tag.resize(tagBits + 1)).resize(tagBits),
    sweeping.mux(False, !wasCompleted),
    sweeping || cpl.fire
  )

  // Those that wait, and slots
  private val line = StreamFifo(HostCmd(), tags)
  line.io.push << taken
  private val used = Reg(Bits(slots bits)) init 0
  private val slot = OHToUInt(OHMasking.first(~used))
  private val placed = line.io.pop.haltWhen(used.andR)
  private val tagOf = Mem(UInt(8 bits), slots)
  tagOf.write(slot, placed.tag, placed.fire)
  when(done.fire)(used(done.tag.resize(slotBits)) := False)
  when(placed.fire)(used(slot) := True)
  queue << placed.map { c =>
    val slotted = HostCmd()
    slotted := c
    slotted.tag.removeAssignments() := slot.resized
    slotted
  }.halfPipe() // the queue decides late whether it takes one
  busy := line.io.occupancy =/= 0 || queue.valid

  // Back
  private def tagged(at: UInt): UInt = tagOf.readAsync(at.resize(slotBits))
  cpl.arbitrationFrom(done)
  cpl.tag := tagged(done.tag)
  cpl.status := done.status
  cpl.result := done.result
  data.wdataReq.arbitrationFrom(slotData.wdataReq)
  data.wdataReq.payload := slotData.wdataReq.payload
  data.wdataReq.tag.removeAssignments() := tagged(slotData.wdataReq.tag)
  data.rdata.arbitrationFrom(slotData.rdata)
  data.rdata.payload := slotData.rdata.payload
  data.rdata.tag.removeAssignments() := tagged(slotData.rdata.tag)
  slotData.wdata << data.wdata
}
