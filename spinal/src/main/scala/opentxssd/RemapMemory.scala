// SPDX-License-Identifier: Apache-2.0
package opentxssd

import spinal.core._
import spinal.lib._
import spinal.lib.bus.amba4.axi._

/** The remap engine's only way to table memory: one access at a time, any latency.
  *
  * `cmd` passes in the clock in which the access is complete (last read beat, or write response); in that clock `readData` (a word in the low bits, or an entry)
  * and `failed` (the memory answered with an error) are valid. A word is one 64-bit beat, written by strobes; an entry is a burst of two. Read and write request
  * go out in the clock `cmd` becomes valid. Reset forgets the access: the memory must be reset as well.
  */
class RemapMemory(p: OtxParam) extends Component {
  setDefinitionName("otx_remap_memory")

  val cmd = slave port Stream(RemapAccess())
  val readData = out port Bits(128 bits)
  val failed = out port Bool()
  val table = master port Axi4(p.axi)

  private val sentAddress = RegInit(False)
  private val sentBeats = Reg(UInt(2 bits)) init 0
  private val badBeat = RegInit(False)
  private val reads = cmd.valid && !cmd.write
  private val writes = cmd.valid && cmd.write
  private val beats = cmd.whole ? U(2, 2 bits) | U(1, 2 bits)
  private val address = cmd.address(31 downto 3) @@ U(0, 3 bits)
  private val high = cmd.address(2) // the word is in the high half of its beat

  // read
  table.ar.valid := reads && !sentAddress
  table.ar.addr := address
  table.ar.id := 0
  table.ar.len := (beats - 1).resized
  table.ar.size := 3
  table.ar.burst := Axi4.burst.INCR
  table.r.ready := True
  private val first = RegNextWhen(table.r.data, table.r.valid)
  private val word = high ? table.r.data(63 downto 32) | table.r.data(31 downto 0)
  readData := cmd.whole ? (table.r.data ## first) | word.resize(128)

  // write
  table.aw.valid := writes && !sentAddress
  table.aw.addr := address
  table.aw.id := 0
  table.aw.len := (beats - 1).resized
  table.aw.size := 3
  table.aw.burst := Axi4.burst.INCR
  table.w.valid := writes && sentBeats =/= beats
  table.w.last := sentBeats === beats - 1
  table.w.strb := cmd.whole ? B"8'xFF" | (high ? B"8'xF0" | B"8'x0F")
  when(cmd.whole) {
    table.w.data := sentBeats(0) ? cmd.data(127 downto 64) | cmd.data(63 downto 0)
  } otherwise {
    table.w.data := cmd.data(31 downto 0) ## cmd.data(31 downto 0)
  }
  table.b.ready := True

  // progress
  private val readDone = table.r.valid && table.r.last
  cmd.ready := cmd.write ? table.b.valid | readDone
  failed := cmd.write ? table.b.resp(1) | (table.r.resp(1) || badBeat)
  when(table.ar.fire || table.aw.fire)(sentAddress := True)
  when(table.w.fire)(sentBeats := sentBeats + 1)
  when(table.r.valid)(badBeat := table.r.resp(1))
  when(cmd.fire) {
    sentAddress := False
    sentBeats := 0
    badBeat := False
  }
}
