// SPDX-License-Identifier: Apache-2.0
package opentxssd.host.nvme

import opentxssd._
import opentxssd.host.HostCmd
import spinal.core._
import spinal.lib._

/** What the rest of the drive's front end knows of a slot. */
case class SlotInfo() extends Bundle {
  val kind = UInt(DataKind.bits bits)
  val count = UInt(6 bits) // blocks of a WRITE or a READ
}

/** Puts a command into its slot and sends it to the core.
  *
  * Contract. One command after another, so that commands reach `cmd` in the order in which they come; one in four
  * clocks or more. Its PRPs are stored before, a list is read (`list`). A command that is refused, also for an entry of
  * its list or a list that could not be read, or for which nothing is to be done, goes to `refused`; one that comes, or
  * waits, while `killing` too, and neither reaches the core. Of a command of several parts the first one, or the list
  * of ranges, goes from here, the others are those of `parts`; what has an order waits while any is under way there
  * (`several`). `owner` and `info` are there from the clock before on. `counts`: a command with data goes.
  */
class CommandEntry extends Component {
  import Nvme._

  val command = slave port Stream(Decoded())
  val killing, several = in port Bool()
  val owner = master port Flow(SlotOwner())
  val info = out port SlotInfo() // with `owner`
  val slot = out port UInt(slotBits bits) // of both
  val first = master port Flow(FirstPrp())
  val second = master port Flow(LaterPrp())
  val list = master port Stream(ListOf())
  val listBad, listUnread = in port Bool()
  val cmd = master port Stream(HostCmd())
  val parts = master port Flow(PartsLeft())
  val refused = master port Stream(CommandEnd())
  val counts = master port Flow(SlotInfo())

  private val c = command.payload
  private val step = Reg(UInt(3 bits)) init 0
  private val bad = RegNext(c.status =/= 0 || c.nothing || killing)
  private val longList = RegNext(c.pages > 2)
  private val ranges = RegNext(c.kind === DataKind.RANGES)
  private val ordered = RegNext(c.cmd.order =/= Order.SIMPLE || c.cmd.barrier || c.cmd.opcode === Opcode.BARRIER)
  private val waits = ordered && several && !ranges
  private val wrongList, unreadList = Reg(Bool())
  slot := c.cmd.tag.resized
  owner.valid := command.valid && step === 0
  owner.payload := c.owner
  info.kind := c.kind
  info.count := c.cmd.count.resized
  first.valid := step === 1
  first.slot := slot
  first.address := c.prp1
  second.valid := step === 1
  second.slot := slot
  second.entry := 0
  second.page := c.prp2 >> 12
  list.valid := step === 2
  list.slot := slot
  list.address := c.prp2
  list.entries := c.pages - 1
  switch(step) {
    is(0) {
      wrongList := False
      unreadList := False
      when(command.valid)(step := 1)
    }
    is(1)(step := Mux(bad, U(4), Mux(longList, U(2), U(3))))
    is(2)(when(list.ready) {
      wrongList := listBad
      unreadList := listUnread
      step := Mux(listBad || listUnread || killing, U(4), U(3))
    })
    is(3) {
      when(command.ready)(step := 0)
      when(waits && killing)(step := 4)
    }
    is(4)(when(refused.ready)(step := 0))
  }
  cmd.valid := step === 3 && !ranges && !waits
  cmd.payload := c.cmd
  parts.valid := step === 3 && (ranges || cmd.fire && (c.parts || c.flushes))
  parts.slot := slot
  parts.rest.lba := c.cmd.lba
  parts.rest.left := 0
  when(c.flushes)(parts.rest.left := c.blocks.resized)
  when(c.parts && !ranges) {
    parts.rest.lba := c.cmd.lba + OtxParam.maxBlocks
    parts.rest.left := (c.blocks - OtxParam.maxBlocks).resized
  }
  parts.rest.index := 0
  parts.rest.ranges := Mux(ranges, c.blocks.resize(9), U(0))
  parts.rest.reads := c.flushes
  parts.rest.fua := c.cmd.fua
  parts.rest.priority := c.cmd.priority
  counts.valid := cmd.fire && step === 3
  counts.payload := info
  refused.valid := step === 4
  refused.slot := slot
  refused.dw0 := 0
  refused.status := 0
  when(!c.nothing) {
    refused.status := (B"1000" ##
      Mux(c.status =/= 0, c.status, Mux(wrongList, U(NvmeStatus.PRP_OFFSET), U(NvmeStatus.ABORT_REQUESTED)))).asUInt
    when(unreadList)(refused.status := NvmeStatus.TRANSFER_ERROR) // may be read another time
  }
  command.ready := cmd.fire || refused.fire || step === 3 && ranges
}
