// SPDX-License-Identifier: Apache-2.0
package opentxssd.log

import opentxssd._
import spinal.core._
import spinal.lib._

/** Where log pages go: per lane a queue of erased blocks (current, next and those behind them, `laneBlocks` in all) and
  * the page to write next in the current one.
  *
  * `current`, `next` and `page` are the place of the next page of lane `lane`; `available` is high when that lane has a
  * current and a next block. `advance` takes that place. A block is used up after its last page; the next one becomes
  * current. `skip` leaves the lane's current block for the next one: a page in it failed.
  * Never both in one clock.
  *
  * `block` is taken when the lane has room (`room`, one bit per lane); a block for a lane that does not exist is taken
  * and ignored. A block that was taken counts in the next clock. `usable`: the lanes with a current and a next block.
  * `left`: how many log pages can still be placed, two copies of each, in any lane, when `waiting` copies have been,
  * `some`: one or more; two clocks late.
  *
  * `noMore`: no further block comes to this lane. `over`: so it is for lane `lane`; `ends`: for all of them (a clock
  * late).
  *
  * `dieNow`: as the flash scheduler has it, of each die; `near`: that of the die of each lane's current block, `dies`:
  * that die; both up to `lanes` + 2 clocks late.
  *
  * `capture` for one clock: `shownBlock` and `shownPage` are the current block and next page of lane `shown` as they
  * were then, until the lane has used up two more blocks.
  *
  * Reset: all lanes empty.
  */
class LogLanes(p: OtxParam) extends Component {
  setDefinitionName("otx_log_lanes")
  private val depth = p.laneBlocks
  private val ring = 16 // places of a lane's blocks
  require(depth < ring && p.lanes * ((depth - 2) * p.pagesPerBlock + 1) > 2 * LogReserve.open(p), "lanes are too short")
  private val idBits = p.blockBits + p.dieBits

  val block = slave port Stream(LogBlock())
  val room = out port Bits(p.lanes bits)
  val lane = in port UInt(2 bits)
  val waiting = in port UInt(4 bits)
  val available = out port Bool()
  val usable = out port Bits(p.lanes bits)
  val dieNow = Vec.fill(p.dies)(in port UInt(2 bits))
  val near = Vec.fill(p.lanes)(out port UInt(2 bits))
  val dies = Vec.fill(p.lanes)(out port UInt((p.dieBits max 1) bits))
  val current, next = out port UInt(idBits bits)
  val page = out port UInt(p.pageBits bits)
  val advance, skip = in port Bool()
  val left = out port UInt(32 bits)
  val some = out port Bool()
  val noMore = in port Bits(p.lanes bits)
  val over, ends = out port Bool()
  val capture = in port Bool()
  val shown = in port UInt(2 bits)
  val shownBlock = out port UInt(idBits bits)
  val shownPage = out port UInt(p.pageBits bits)

  private val ids = Mem(UInt(idBits bits), 4 * ring) // {lane, place in its ring}
  private val first = List.fill(p.lanes)(Reg(UInt(4 bits)) init 0) // place of the current block
  private val count = List.fill(p.lanes)(Reg(UInt(4 bits)) init 0) // blocks of the lane
  private val pages = List.fill(p.lanes)(Reg(UInt(p.pageBits bits)) init 0)

  private val readAt, writeAt = UInt(4 bits)
  private val pushed = block.fire && block.lane <= p.lanes - 1
  readAt := 0
  writeAt := 0
  page := 0
  available := False
  block.ready := True
  for (l <- 0 until p.lanes) {
    room(l) := count(l) =/= depth
    usable(l) := count(l) >= 2
    when(block.lane === l) {
      block.ready := room(l)
      writeAt := first(l) + count(l)
    }
    when(lane === l) {
      readAt := first(l)
      page := pages(l)
      available := count(l) >= 2
    }
    val taken = advance && lane === l
    val used = taken && pages(l) === p.pagesPerBlock - 1 || skip && lane === l
    val added = pushed && block.lane === l
    when(taken)(pages(l) := pages(l) + 1)
    when(used) {
      first(l) := first(l) + 1
      pages(l) := 0
    }
    when(added && !used)(count(l) := count(l) + 1)
    when(used && !added)(count(l) := count(l) - 1)
  }
  ids.write(block.lane @@ writeAt, block.block.resize(idBits), pushed)
  current := ids.readAsync(lane @@ readAt)
  next := ids.readAsync(lane @@ (readAt + 1))

  private val firstThen = Vec(first.map(RegNextWhen(_, capture)))
  private val pagesThen = Vec(pages.map(RegNextWhen(_, capture)))
  private val shownLane = shown.resize(log2Up(p.lanes))
  shownBlock := ids.readAsync(shown @@ firstThen(shownLane))
  shownPage := pagesThen(shownLane)

  private val mine = for (l <- 0 until p.lanes) yield {
    val whole = (count(l) - 1) @@ U(0, p.pageBits bits)
    RegNext(Mux(count(l) >= 2, whole - pages(l), U(0)).resize(16)) init 0
  }
  private val all = mine.reduceBalancedTree(_ + _)
  private val taken = RegNext(waiting) init 0
  over := (0 until p.lanes).map(l => lane === l && noMore(l)).reduce(_ || _)
  ends := RegNext(noMore.andR) init False
  some := RegNext(all > taken + 1) init False
  left := RegNext((Mux(all > taken, all - taken, U(0)) >> 1).resize(32)) init 0

  // one lane per clock: the die of its current block, then what that does; a round and more after each change
  private val looked = Reg(UInt(2 bits)) init 0
  private val diesThen = RegNext(Vec(dieNow).asBits) init 0
  private val changed = Vec(dieNow).asBits =/= diesThen || advance || skip || pushed
  private val calm = Reg(UInt(3 bits)) init 0 // clocks without a change
  calm := Mux(changed, U(0), calm + (!calm.andR).asUInt)
  when(!calm.andR)(looked := (looked === p.lanes - 1) ? U(0, 2 bits) | (looked + 1))
  private val block0 = RegNext(ids.readAsync(looked @@ Vec(first)(looked.resize(log2Up(p.lanes)))))
  private val whose = RegNext(looked)
  private def codeOf(die: Int) = die / p.ways << p.wayBits | die % p.ways
  private val state =
    if (p.dies == 1) dieNow(0)
    else MuxOH((0 until p.dies).map(d => (block0 >> p.blockBits) === codeOf(d)), dieNow)
  for (l <- 0 until p.lanes) {
    near(l) := RegNextWhen(state, whose === l) init 0
    dies(l) := (if (p.dies == 1) U(0) else RegNextWhen(block0 >> p.blockBits, whose === l) init 0)
  }
}
