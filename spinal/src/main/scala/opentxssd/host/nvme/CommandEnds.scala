// SPDX-License-Identifier: Apache-2.0
package opentxssd.host.nvme

import opentxssd._
import opentxssd.host.{Completion, HostCmd}
import spinal.core._
import spinal.lib._

/** How commands end that the core had.
  *
  * Contract. `goes` is each command that is given to the core. Each `cpl` becomes an `end` in the clock in which it
  * comes: its status is that of NVMe, its DW0 the core's result, for what commits the clocks since `goes`. A Compare
  * that ended well and `differs` ends with COMPARE_FAILURE, one whose data of the host is `unread` with TRANSFER_ERROR.
  * A part that ended well of a slot that has more of them
  * (`several`) is `again`, not an `end`; any `end` of one is `cancel`. What commits and ends well is `took`.
  */
class CommandEnds extends Component {
  import Nvme._

  val goes = slave port Flow(HostCmd())
  val cpl = slave port Stream(Completion())
  val several = in port Bits(slots bits)
  val compares, differs, unread = in port Bool() // of the slot of `cpl`
  val again = master port Stream(UInt(slotBits bits))
  val cancel = master port Flow(UInt(slotBits bits))
  val end = master port Stream(CommandEnd())
  val took = master port Flow(UInt(32 bits)) // clocks of a commit

  private val now = Reg(UInt(32 bits)) init 0
  now := now + 1
  private val since = table(UInt(32 bits), slots)
  private val commits = table(Bool(), slots)
  private val to = goes.tag.resize(slotBits)
  since.write(to, now, goes.valid)
  commits.write(to, goes.commit || goes.opcode === Opcode.COMMIT, goes.valid)

  private val of = cpl.tag.resize(slotBits)
  private val well = cpl.status === Status.SUCCESS
  private val more = several(of) && well
  again.valid := cpl.valid && more
  again.payload := of
  cancel.valid := end.fire
  cancel.payload := of
  end.valid := cpl.valid && !more
  cpl.ready := Mux(more, again.ready, end.ready)
  end.slot := of
  end.status := CommandEnds(cpl.status)
  when(compares && differs && well)(end.status := CommandEnds.refusal(NvmeStatus.COMPARE_FAILURE))
  when(compares && unread && well)(end.status := NvmeStatus.TRANSFER_ERROR)
  private val commit = commits.readAsync(of)
  end.dw0 := Mux(commit, now - since.readAsync(of), cpl.result)
  took.valid := end.fire && commit && well
  took.payload := end.dw0
}

/** Status of the core as NVMe has it (docs/reference/nvme.md, "Status"). */
object CommandEnds {
  private val again = Set(Status.WRITE_FAULT, Status.ABORTED, Status.NOT_READY) // may succeed another time
  private val names = Map(
    Status.SUCCESS -> NvmeStatus.SUCCESS,
    Status.INVALID_OPCODE -> NvmeStatus.INVALID_OPCODE,
    Status.INVALID_FIELD -> NvmeStatus.INVALID_FIELD,
    Status.LBA_RANGE -> NvmeStatus.LBA_RANGE,
    Status.TX_INVALID -> NvmeStatus.TX_INVALID,
    Status.TX_BUSY -> NvmeStatus.TX_BUSY,
    Status.TX_FULL -> NvmeStatus.TX_FULL,
    Status.TX_CONFLICT -> NvmeStatus.TX_CONFLICT,
    Status.MEDIA_ERROR -> NvmeStatus.READ_ERROR,
    Status.WRITE_FAULT -> NvmeStatus.WRITE_FAULT,
    Status.CAPACITY -> NvmeStatus.CAPACITY,
    Status.READ_ONLY -> NvmeStatus.READ_ONLY,
    Status.ABORTED -> NvmeStatus.TRANSFER_ERROR,
    Status.NOT_READY -> NvmeStatus.NAMESPACE_NOT_READY
  )

  /** A status as a CQE has it: what is refused is not to be retried. */
  def refusal(code: Int): Int = code | (if (code == NvmeStatus.SUCCESS) 0 else 1 << 14)

  def apply(status: UInt): UInt = {
    val codes = (0 until 16).map { s =>
      val code = names.getOrElse(s, NvmeStatus.INTERNAL_ERROR)
      U(if (again(s)) code else refusal(code), 15 bits)
    }
    codes.read(status)
  }
}
