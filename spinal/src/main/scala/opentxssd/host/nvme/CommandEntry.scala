// SPDX-License-Identifier: Apache-2.0
package opentxssd.host.nvme

import opentxssd._
import opentxssd.host.HostCmd
import spinal.core._
import spinal.lib._

/** Puts a command into its slot and sends it to the core.
  *
  * Contract. One command after another, so that commands reach `cmd` in the order in which they come; one in three
  * clocks or more. A command that is refused, or for which nothing is to be done, goes to `refused`; one that comes
  * while `killing` too, and never reaches the core. `owner` is there from the clock before on.
  */
class CommandEntry extends Component {
  import Nvme._

  val command = slave port Stream(Decoded())
  val killing = in port Bool()
  val owner = master port Flow(SlotOwner())
  val slot = out port UInt(slotBits bits) // of `owner`
  val cmd = master port Stream(HostCmd())
  val refused = master port Stream(CommandEnd())

  private val c = command.payload
  private val step = Reg(UInt(2 bits)) init 0
  private val bad = c.status =/= 0 || c.nothing || c.kind =/= DataKind.NONE || c.parts
  slot := c.cmd.tag.resized
  owner.valid := command.valid && step === 0
  owner.payload := c.owner
  switch(step) {
    is(0)(when(command.valid)(step := Mux(bad || killing, U(2), U(1))))
    is(1)(when(cmd.ready)(step := 0))
    is(2)(when(refused.ready)(step := 0))
  }
  cmd.valid := step === 1
  cmd.payload := c.cmd
  refused.valid := step === 2
  refused.slot := slot
  refused.dw0 := 0
  refused.status := 0
  when(!c.nothing) {
    refused.status := (B"1000" ## Mux(c.status =/= 0, c.status, U(NvmeStatus.ABORT_REQUESTED))).asUInt
  }
  command.ready := cmd.fire || refused.fire
}
