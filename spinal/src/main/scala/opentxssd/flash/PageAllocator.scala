// SPDX-License-Identifier: Apache-2.0
package opentxssd.flash

import opentxssd._
import spinal.core._
import spinal.lib._

/** Hands out the pages that data goes to: from the open block of each die in rising order, dies in turn, channels
  * first, then ways.
  *
  * Contract. `alloc` gives a page per two clocks and skips dies that have none; the page on offer stays until it is
  * taken. When a block is used up the die goes on with the oldest block that waits behind it. With `planes` above 1, if
  * the next one behind that is of another plane, both are opened as a pair: page n of the first, page n of the second,
  * then the next die, so that two programs can share the array's time; retiring one of them leaves the other alone
  * where it is. `freeBlock` takes an erased block for its die when there is room: one open and four waiting; it stalls
  * at a full die and then so do blocks for other dies. `freeBlockRoom` (bit `channel * ways + way`): one more fits now.
  * `retire`: a program failed in that block: if it is its die's open block the die goes on with the next one (or with
  * the other of its pair), but a page of it that is on offer stays there. `allocLeft`: pages that `alloc` will still
  * give, exact two clocks after each `alloc` and `freeBlock` beat, three after `retire`. `picked`: this page goes on
  * offer, for one clock, at most every second one. Reset loses all blocks.
  */
class PageAllocator(p: OtxParam) extends Component {
  setDefinitionName("otx_page_allocator")

  val alloc = master port Stream(UInt(30 bits))
  val allocLeft = out port UInt(32 bits)
  val freeBlock = slave port Stream(UInt(24 bits))
  val freeBlockRoom = out port Bits(p.dies bits)
  val retire = slave port Flow(UInt(24 bits))
  val picked = master port Flow(UInt(30 bits))

  private val ring = 8 // slots for the blocks of a die, the open one first

  /** Dies in the order of allocation: the channel varies fastest. */
  private case class Die(k: Int) {
    val channel = k % p.channels
    val way = k / p.channels
    val count = RegInit(U(0, 3 bits)).setName(s"count_$k") // blocks, the open one included
    val open = RegInit(U(0, 3 bits)).setName(s"open_$k") // slot of the open block
    val fresh = RegInit(True).setName(s"fresh_$k") // nothing given out yet: `pages` is not written
    val paired = RegInit(False).setName(s"paired_$k") // a second block is open
    val turn = RegInit(False).setName(s"turn_$k") // which is next
    val room = count < PageAllocator.blocksPerDie
    val isFreed =
      PpnFields.ofBlock(p, freeBlock.payload).channel === channel && PpnFields.ofBlock(p, freeBlock.payload).way === way
  }
  private val dies = (0 until p.dies).map(Die)
  private val dieIndexBits = log2Up(p.dies) max 1
  private val blocks = Mem(UInt(p.blockBits bits), p.dies * ring)
  // next page of the open block; wraps to 0 at its end
  private val pages = Mem(UInt(p.pageBits bits), 1 << dieIndexBits)

  private def slot(die: UInt, number: UInt) = (die ## number).asUInt.resize(log2Up(p.dies * ring))

  // Blocks in
  private val freed = Vec(dies.map(_.isFreed)).asBits
  for (die <- dies) freeBlockRoom(die.channel * p.ways + die.way) := die.room
  private val closing = Bool() // the second of a pair leaves: the first takes its slot
  freeBlock.ready := dies.map(d => d.isFreed && d.room).reduce(_ || _) && !closing
  private val freedDie = OHToUInt(freed).resize(dieIndexBits)
  private val freedSlot = MuxOH(freed, dies.map(d => d.open + d.count))

  // Pages out
  private val leaving = retire.m2sPipe // looked at in place of a pick
  private val left0 = PpnFields.ofBlock(p, leaving.payload)
  private val leavingDie = Vec(dies.map(d => left0.channel === d.channel && left0.way === d.way)).asBits
  private val offered = RegInit(False)
  private val page = Reg(UInt(30 bits))
  private val have = Vec(dies.map(_.count =/= 0)).asBits
  private val first = RegInit(B(1, p.dies bits)) // the die whose turn it is
  private val grant = Mux(leaving.valid, leavingDie, OHMasking.roundRobin(have, first))
  private val pick = have.orR && !offered && !leaving.valid
  private val die = OHToUInt(grant).resize(dieIndexBits)
  private def of[T <: Data](field: Die => T): T = MuxOH(grant, dies.map(field)) // of the die that is looked at
  private val slot0 = of(_.open)
  private val block0 = blocks.readAsync(slot(die, slot0))
  private val block1 = if (p.planes > 1) blocks.readAsync(slot(die, slot0 + 1)) else block0
  private val turn = of(_.turn)
  private val next = of(_.fresh).mux(True -> U(0, p.pageBits bits), False -> pages.readAsync(die))
  private val pairs = if (p.planes > 1) {
    val opens = next === 0 && !turn && !leaving.valid
    val fits = of(_.count) > 1 && (block0 ^ block1)(log2Up(p.planes) - 1 downto 0).orR
    Mux(opens, fits, of(_.paired))
  } else False
  private val block = Mux(turn, block1, block0)
  private val last = next === p.pagesPerBlock - 1
  private val endsBlock = last && (turn || !pairs)
  private val leaves0 = leaving.valid && block0 === left0.block && (leavingDie & have).orR
  private val leaves1 = leaving.valid && pairs && block1 === left0.block && (leavingDie & have).orR
  private val leaves = leaves0 || leaves1
  private val bothLeave = leaves1 && turn && last // the first has no page left either
  closing := leaves1
  blocks.write(
    Mux(closing, slot(die, slot0 + 1), slot(freedDie, freedSlot)),
    Mux(closing, block0, PpnFields.ofBlock(p, freeBlock.payload).block),
    freeBlock.fire || closing
  )
  private val number = {
    val place = dies.map(d => B((d.channel << p.wayBits) | d.way, p.dieBits max 1 bits))
    (MuxOH(grant, place) ## block ## next).asUInt.resize(30)
  }
  pages.write(die, Mux(pick && pairs && !turn, next, next + 1), pick || (leaves1 && turn))
  when(alloc.ready)(offered := False)
  when(pick) {
    offered := True
    page := number
    when(turn || !pairs)(first := (if (p.dies == 1) grant else grant.rotateLeft(1)))
  }
  picked.valid := pick
  picked.payload := number
  alloc.valid := offered
  alloc.payload := page

  for ((d, k) <- dies.zipWithIndex) {
    val gone = (pick && endsBlock || leaves) && grant(k)
    val comes = freeBlock.fire && freed(k)
    val two = (pick && pairs) || bothLeave
    when(gone)(d.open := d.open + Mux(two, U(2), U(1)).resized)
    when(pick && grant(k)) {
      d.fresh := False
      d.paired := pairs && !endsBlock
      d.turn := pairs && !turn
    }
    when(leaves && grant(k)) {
      when(!pairs || bothLeave)(d.fresh := True)
      d.paired := False
      d.turn := False
    }
    d.count := d.count + comes.asUInt - Mux(gone, Mux(two, U(2, 2 bits), U(1, 2 bits)), U(0, 2 bits))
  }

  private val left = RegInit(U(0, 32 bits))
  private val more = RegNext(freeBlock.fire) init False
  private val less = RegNext(alloc.fire) init False
  private val lost =
    RegNext(Mux(leaves, U(p.pagesPerBlock, p.pageBits + 1 bits) - next - (leaves0 && turn).asUInt, U(0))) init 0
  left := left + Mux(more, U(p.pagesPerBlock, 32 bits), U(0, 32 bits)) - less.asUInt - lost
  allocLeft := left
}

object PageAllocator {

  /** The open block and four behind it. */
  val blocksPerDie = 5
}
