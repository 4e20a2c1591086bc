// SPDX-License-Identifier: Apache-2.0
package opentxssd.host.nvme

import opentxssd._
import opentxssd.host.{BlockRef, HostCmd}
import spinal.core._
import spinal.lib._

/** Requests of the core for blocks of a WRITE.
  *
  * Contract. A request for a block of a WRITE that is under way becomes a `want` two clocks later. One of a WRITE that
  * has ended, or that has no such block, is dropped: the host's memory is not its any more.
  */
class WriteRequests extends Component {
  import Nvme._

  val request = slave port Stream(BlockRef())
  val goes = slave port Flow(HostCmd())
  val ended = slave port Flow(UInt(slotBits bits))
  val want = master port Stream(HostRead())

  private val writing = Reg(Bits(slots bits)) init 0
  private val counts = table(UInt(6 bits), slots)
  private val to = goes.tag.resize(slotBits)
  counts.write(to, goes.count.resize(6), goes.valid)
  when(ended.valid)(writing(ended.payload) := False)
  when(goes.valid)(writing(to) := goes.opcode === Opcode.WRITE)

  private val at = request.stage()
  private val of = at.tag.resize(slotBits)
  private val valid = writing(of) && at.block < counts.readAsync(of)
  want << at.throwWhen(!valid).map { r =>
    val w = HostRead()
    w.bytes.slot := of
    w.bytes.at := r.block @@ U(0, 12 bits)
    w.bytes.length := 4096
    w.kind := HostRead.WRITE
    w.request := r.request
    w
  }.stage()
}
