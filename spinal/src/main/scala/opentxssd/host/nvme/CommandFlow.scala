// SPDX-License-Identifier: Apache-2.0
package opentxssd.host.nvme

import opentxssd.host.{Completion, HostCmd}
import spinal.core._
import spinal.lib._

/** Commands from what they mean to their ends: entry, PRP list, the core, parts.
  *
  * Contract. Each `command` that is taken has exactly one `end`, which its slot's next command comes behind. What it
  * asks of the core goes to `cmd` with its slot as the tag, one at a time, and each `cpl` is that of the slot's last
  * one. `killing`: what is not on its way to the core ends. `compares`, `differs`, `unread`: of the slot of `cpl`.
  * Reset forgets all.
  */
class CommandFlow(lbas: BigInt) extends Component {
  setDefinitionName("otx_command_flow")
  import Nvme._

  val command = slave port Stream(Decoded())
  val killing = in port Bool()
  val owner = master port Flow(SlotOwner())
  val info = out port SlotInfo() // with `owner`
  val slot = out port UInt(slotBits bits) // of both
  val counts = master port Flow(SlotInfo())
  val first = master port Flow(FirstPrp())
  val later = master port Flow(LaterPrp())
  val listRead = master port Stream(DmaRead())
  val listData = slave port Stream(DmaReadBeat())
  val range = master port Stream(BytesOf())
  val ranges = slave port Stream(DmaReadBeat())
  val cmd = master port Stream(HostCmd())
  val cpl = slave port Stream(Completion())
  val compares, differs, unread = in port Bool()
  val end = master port Stream(CommandEnd())
  val took = master port Flow(UInt(32 bits)) // clocks of a commit that ended well

  private val entry = new CommandEntry
  private val list = new PrpList
  private val parts = new CommandParts(lbas)
  private val ends = new CommandEnds
  entry.command << command
  entry.killing := killing
  entry.several := RegNext(parts.several.orR)
  owner << entry.owner
  info := entry.info
  slot := entry.slot
  counts << entry.counts
  first << entry.first
  later.valid := entry.second.valid || list.later.valid
  later.payload := Mux(list.later.valid, list.later.payload, entry.second.payload)
  list.go << entry.list
  entry.listBad := list.bad
  entry.listUnread := list.unread
  listRead << list.read
  list.data << listData
  parts.begin << entry.parts
  parts.killing := killing
  range << parts.range
  parts.ranges << ranges
  cmd << StreamArbiterFactory().roundRobin.noLock.onArgs(entry.cmd, parts.cmd).stage()
  ends.goes << cmd.toFlowFire
  ends.cpl << cpl
  ends.several := parts.several
  ends.compares := compares
  ends.differs := differs
  ends.unread := unread
  parts.again << ends.again
  parts.cancel << ends.cancel
  took << ends.took
  end << StreamArbiterFactory().roundRobin.noLock.onArgs(ends.end, entry.refused, parts.end).stage()
}
