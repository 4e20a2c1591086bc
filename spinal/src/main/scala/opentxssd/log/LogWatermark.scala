// SPDX-License-Identifier: Apache-2.0
package opentxssd.log

import spinal.core._
import spinal.lib._

/** The completeness watermark: every entry with a lower index is complete.
  *
  * `push` says that entry `head` is appended; it is complete at once (`complete`) or when `done` names it (index modulo
  * 1,024; not in a clock with `push`). The watermark moves one entry in three clocks (the log takes one in five), five
  * clocks after `push` or `done` at the earliest. `room` is low when 1,023 entries are between watermark and head: then
  * there must be no `push`. `groupRoom`: 128 more fit; a clock late.
  *
  * One bit per entry in a memory with one write and one read port: a clock to read the bit behind the watermark, one to
  * look at it, one to move. A bit read in the clock of its own write is the old one, which for a new entry may be a
  * leftover of 1,024 entries ago, so it counts only if the entry was there when it was read.
  *
  * Reset: watermark 0, no entry. `bits` is smaller only in the proof (formal/log_watermark.sby).
  */
class LogWatermark(bits: Int = 10) extends Component {
  setDefinitionName(if (bits == 10) "otx_log_watermark" else s"otx_log_watermark_${1 << bits}")

  val head = in port UInt(48 bits)
  val push = in port Bool()
  val complete = in port Bool()
  val done = slave port Flow(UInt(bits bits))
  val mark = out port UInt(48 bits)
  val room, groupRoom = out port Bool()

  private val memory = Mem(Bool(), 1 << bits)
  private val reached = Reg(UInt(48 bits)) init 0
  private val place = RegNext(push ? head(bits - 1 downto 0) | done.payload)
  private val set = RegNext(!push || complete)
  memory.write(place, set, RegNext(push || done.valid) init False)
  private val end = RegNext(head(bits - 1 downto 0)) init 0 // entries below it are in the memory

  private val bit = memory.readSync(reached(bits - 1 downto 0))
  private val known = RegNext(reached(bits - 1 downto 0) =/= end) init False
  private val moves = RegInit(False)
  private val settled = RegNext(!moves) init False // `bit` and `known` are those of `reached`
  moves := bit && known && settled && !moves
  when(moves)(reached := reached + 1)

  mark := reached
  private val above = head(bits - 1 downto 0) - reached(bits - 1 downto 0)
  room := above =/= (1 << bits) - 1
  groupRoom := RegNext(above <= (1 << bits) - (1 << bits) / 8 - 1) init True
}
