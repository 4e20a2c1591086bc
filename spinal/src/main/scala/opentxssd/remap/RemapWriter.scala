// SPDX-License-Identifier: Apache-2.0
package opentxssd.remap

import opentxssd._
import spinal.core._
import spinal.lib._
import spinal.lib.bus.amba4.axi._

case class RemapWriteJob(p: RemapParam) extends Bundle {
  val slot = UInt(p.slotBits bits)
  val what = UInt(3 bits) // RemapWrite
}

/** Puts a slot's write on AXI: one beat of 16 bytes, whole or by strobes. No registers but which half of the request
  * has gone. The slot's words stand still until the response. */
class RemapWriter(p: RemapParam) extends Component {
  setDefinitionName("otx_remap_writer")

  val job = slave port Stream(RemapWriteJob(p))
  // of job.slot
  val context = in port RemapContext(p)
  val holder = in port RemapPlace(p)
  val starts = in port RemapStarts(p)
  val kept = in port Word()
  val table = master port Axi4WriteOnly(p.tableAxi)

  private val map = RemapMap(p)
  private val what = job.what
  private val isEntry = what === RemapWrite.ENTRY
  private val place = RemapPlace(p)
  place := (what === RemapWrite.JOIN || what === RemapWrite.UNLINK).mux(starts.before, holder)
  when(what === RemapWrite.NAME)(place.inMap := True)
  when(isEntry) {
    place.inMap := False
    place.index := context.index
  }
  private val word = what.mux(
    U(RemapWrite.NAME, 3 bits) -> Word(WordKind.VER, context.index.asBits.asUInt),
    U(RemapWrite.LOCATION, 3 bits) -> context.location,
    U(RemapWrite.SWAPPED, 3 bits) -> context.newLocation,
    U(RemapWrite.DEAD, 3 bits) -> Word.none,
    U(RemapWrite.BASE, 3 bits) -> context.isWalk.mux(
      kept,
      (context.job === RemapOpcode.SWAP).mux(context.newLocation, context.location)
    ),
    U(RemapWrite.JOIN, 3 bits) -> kept,
    U(RemapWrite.UNLINK, 3 bits) -> starts.next,
    default -> context.location // ENTRY
  )
  private val lanes = Bits(4 bits) // words of the beat that are written
  lanes := B(4 bits, 2 -> true, default -> false) // next
  when(what === RemapWrite.LOCATION || what === RemapWrite.SWAPPED)(lanes := B"0010")
  when(place.inMap)(lanes := UIntToOh(context.lpn(1 downto 0), 4))
  when(what === RemapWrite.DEAD)(lanes := B"1010")
  when(isEntry)(lanes := B"1111")

  private val halves = StreamFork(job, 2)
  table.aw.arbitrationFrom(halves(0))
  table.aw.addr := place.inMap.mux(map.words(context.lpn), map.entry(place.index))
  table.aw.id := job.slot.resized
  table.aw.len := 0
  table.aw.size := 4
  table.aw.burst := Axi4.burst.INCR
  table.w.arbitrationFrom(halves(1))
  table.w.data(31 downto 0) := isEntry.mux(context.lpn.resize(32).asBits, word.asBits)
  table.w.data(63 downto 32) := word.asBits
  table.w.data(95 downto 64) := isEntry.mux(starts.next, word).asBits
  table.w.data(127 downto 96) := (isEntry || what === RemapWrite.DEAD).mux((!isEntry).asBits(32 bits), word.asBits)
  table.w.strb := lanes.asBools.map(l => B(4 bits, default -> l)).reverse.reduce(_ ## _)
  table.w.last := True
  table.b.ready := False // the slots take it
}
