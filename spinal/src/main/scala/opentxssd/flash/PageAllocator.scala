// SPDX-License-Identifier: Apache-2.0
package opentxssd.flash

import opentxssd._
import spinal.core._
import spinal.lib._

/** Hands out the pages that data goes to: from the open block of each die in rising order, from the die that has the
  * least to do; dies with the same load in turn, channels first, then ways (docs/decisions/024-idle-dies.md).
  *
  * Contract. `alloc` gives a page per seven clocks and skips dies that have none. `load` (die `channel * ways + way`):
  * 0 says that the die is idle, 1 to 6 that so many ops are there, or more, 7 that an erase is; a page that was taken
  * and whose program has not `entered` its queue counts as one more. `room`: how many more programs fit into the die's
  * queue; one without room gets a page only when no die with pages has room. The page on offer is chosen again when a
  * load, a room or the blocks of a die change, until it is taken: it may be another one in each clock, and go away for
  * some clocks after `retire`. The page that is taken is that of a die that had the least load of those with a page and
  * room at some clock of the last twelve. With `idleDies` low load and room count for nothing. `places`: the sum of
  * `room` over the dies with pages, at most ten clocks late. So a die with pages gets one as soon as none of the others
  * has less to do; one that gets none does what it has to do and is idle then.
  *
  * `reach`: so many programs can be done in `rounds` programs of all dies at once: the sum over the dies of the pages
  * that each still gives, but at most `rounds` each. About as many clocks late as there are dies, twice.
  *
  * When a block is used up the die goes on with the oldest block that waits behind it. With `planes` above 1, if the
  * next one behind that is of another plane, both are opened as a pair: page n of the first, page n of the second at
  * once behind it, so that two programs can share the array's time; retiring one of them leaves the other alone where
  * it is. `freeBlock` takes an erased block for its die when there is room: one open and four waiting; it stalls at a
  * full die and then so do blocks for other dies. `freeBlockRoom` (bit `channel * ways + way`): one more fits now.
  * `retire`: a program failed in that block: if it is its die's open block the die goes on with the next one (or with
  * the other of its pair), and no page of it is given two clocks later. `allocLeft`: pages that `alloc` will still
  * give, exact two clocks after each `alloc` and `freeBlock` beat, three after `retire`. `picked`: this page is taken,
  * for one clock, at most every second one. Reset loses all blocks.
  *
  * The loads are looked at in one clock. The die of the least is found in three, a bit of the load in each: the dies
  * whose bit is 0 go on if there are any. Then a clock for the turn among those that are left, and one for the number.
  */
class PageAllocator(p: OtxParam) extends Component {
  setDefinitionName("otx_page_allocator")

  val alloc = master port Stream(UInt(30 bits)) // its payload may change, and valid go, before it is taken
  val allocLeft = out port UInt(32 bits)
  val freeBlock = slave port Stream(UInt(24 bits))
  val freeBlockRoom = out port Bits(p.dies bits)
  val retire = slave port Flow(UInt(24 bits))
  val picked = master port Flow(UInt(30 bits))
  val idleDies = in port Bool()
  val load = Vec.fill(p.dies)(in port UInt(3 bits))
  val room = Vec.fill(p.dies)(in port UInt(4 bits))
  val entered = in port Bits(p.dies bits)
  val places = out port UInt(10 bits)
  val rounds = in port UInt(16 bits)
  val reach = out port UInt(16 bits)

  private val ring = 8 // slots for the blocks of a die, the open one first

  private object Step extends SpinalEnum {
    val LOOK, HIGH, MIDDLE, LOW, TURN, OFFER = newElement()
  }
  private val step = RegInit(Step.LOOK)
  private val looks = step === Step.LOOK

  /** Dies in the order of allocation: the channel varies fastest. */
  private case class Die(k: Int) {
    val channel = k % p.channels
    val way = k / p.channels
    val count = RegInit(U(0, 3 bits)).setName(s"count_$k") // blocks, the open one included
    val open = RegInit(U(0, 3 bits)).setName(s"open_$k") // slot of the open block
    val fresh = RegInit(True).setName(s"fresh_$k") // nothing given out yet: `pages` is not written
    val paired = RegInit(False).setName(s"paired_$k") // a second block is open
    val turn = RegInit(False).setName(s"turn_$k") // which is next
    val given = RegInit(False).setName(s"given_$k") // the program of a page that was taken is not in its queue yet
    val id = channel * p.ways + way
    val weightNow = Mux(given && load(id) < 6, load(id) + 1, load(id))
    val weight = RegNextWhen(weightNow, looks)
    val takes = count < PageAllocator.blocksPerDie // a block
    val fitsNow = room(id) > given.asUInt
    val fits = RegNextWhen(fitsNow, looks) init True
    val two = if (p.planes > 1) count > 1 else False // a pair may be
    val same = weightNow === weight && fitsNow === fits && // as at the last look
      (if (p.planes > 1) two === RegNextWhen(two, looks).init(False) else True)
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
  for (die <- dies) freeBlockRoom(die.id) := die.takes
  private val closing = Bool() // the second of a pair leaves: the first takes its slot
  freeBlock.ready := dies.map(d => d.isFreed && d.takes).reduce(_ || _) && !closing
  private val freedDie = OHToUInt(freed).resize(dieIndexBits)
  private val freedSlot = MuxOH(freed, dies.map(d => d.open + d.count))

  // Pages out
  private val leaving = retire.m2sPipe // looked at in place of a pick
  private val left0 = PpnFields.ofBlock(p, leaving.payload)
  private val leavingDie = Vec(dies.map(d => left0.channel === d.channel && left0.way === d.way)).asBits
  private val offered = RegInit(False)
  private val page = Reg(UInt(30 bits))
  private val have = Vec(dies.map(_.count =/= 0)).asBits
  private val fitting = have & Vec(dies.map(_.fits)).asBits
  private val first = RegInit(B(1, p.dies bits)) // the die whose turn it is
  private val least = Reg(Bits(p.dies bits)) // of the dies with pages those with the least load, as far as is known
  private val chosen = Reg(Bits(p.dies bits)) init 1
  private val stays = RegInit(False) // the first of a pair was taken: the second is next
  private val take = alloc.fire

  /** Those of `from` whose bit `n` of the load is 0, if there are any. */
  private def lighter(from: Bits, n: Int): Bits = {
    val light = from & ~Vec(dies.map(_.weight(n))).asBits
    Mux(light.orR, light, from)
  }
  // what is on offer stays until something changes
  private val changed = !dies.map(_.same).reduce(_ && _) || have =/= RegNextWhen(have, looks).init(0) ||
    idleDies =/= RegNextWhen(idleDies, looks).init(False)
  step := Step.LOOK
  switch(step) {
    is(Step.LOOK)(when(changed || !offered && have.orR)(step := Step.HIGH))
    is(Step.HIGH) {
      least := Mux(idleDies, lighter(Mux(fitting.orR, fitting, have), 2), have)
      step := Mux(stays, Step.OFFER(), Mux(idleDies, Step.MIDDLE(), Step.TURN()))
    }
    is(Step.MIDDLE) {
      least := lighter(least, 1)
      step := Step.LOW
    }
    is(Step.LOW) {
      least := lighter(least, 0)
      step := Step.TURN
    }
    is(Step.TURN) {
      chosen := OHMasking.roundRobin(least, first)
      step := Step.OFFER
    }
  }
  private val grant = Mux(leaving.valid, leavingDie, chosen)
  private val offers = step === Step.OFFER && (chosen & have).orR
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

  /** What the die of the page on offer comes to when that is taken. It changes by nothing else but `leaving`. */
  private case class Offer() extends Bundle {
    val grant = Bits(p.dies bits)
    val die = UInt(dieIndexBits bits)
    val next = UInt(p.pageBits bits)
    val ends, two, pairs, turn = Bool()
  }
  private val offer = Reg(Offer())
  when(offers) {
    offered := True
    page := number
    offer.grant := grant
    offer.die := die
    offer.next := Mux(pairs && !turn, next, next + 1)
    offer.ends := endsBlock
    offer.two := pairs
    offer.pairs := pairs && !endsBlock
    offer.turn := pairs && !turn
  }
  when(take) {
    first := Mux(offer.turn, first, if (p.dies == 1) offer.grant else offer.grant.rotateLeft(1))
    stays := offer.turn
  }
  when(take || leaving.valid) {
    offered := False
    step := Step.LOOK
  }
  when(leaves && stays)(stays := False)
  pages.write(
    Mux(leaving.valid, die, offer.die),
    Mux(leaving.valid, next + 1, offer.next),
    take || (leaves1 && turn)
  )
  picked.valid := take
  picked.payload := page
  alloc.valid := offered && !leaving.valid
  alloc.payload := page

  for ((d, k) <- dies.zipWithIndex) {
    val taken = take && offer.grant(k)
    val loses = leaves && leavingDie(k)
    val gone = taken && offer.ends || loses
    val comes = freeBlock.fire && freed(k)
    val two = Mux(leaving.valid, bothLeave, offer.two)
    when(gone)(d.open := d.open + Mux(two, U(2), U(1)).resized)
    when(entered(d.id))(d.given := False)
    when(taken) {
      d.fresh := False
      d.paired := offer.pairs
      d.turn := offer.turn
      d.given := True
    }
    when(loses) {
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

  // die after die
  private val walked = Reg(UInt(dieIndexBits bits)) init 0
  private val lastDie = walked === p.dies - 1
  walked := (lastDie || rounds === 0).mux(U(0), walked + 1)
  private val walkedHit = Vec(dies.map(d => walked === d.k)).asBits
  private def walkedOf[T <: Data](field: Die => T): T = MuxOH(walkedHit, dies.map(field))
  private val used = walkedOf(_.fresh).mux(U(0, p.pageBits bits), pages.readAsync(walked))
  private val usedOfBoth = walkedOf(_.paired).mux(used +^ used + walkedOf(_.turn).asUInt, used.resize(p.pageBits + 1))
  private val gives = RegNext((walkedOf(_.count) << p.pageBits) - usedOfBoth.resize(p.pageBits + 3)) init 0
  private val isFirst = RegNext(walked === 0) init False
  private val sum, whole = Reg(UInt(16 bits)) init 0
  sum := isFirst.mux(U(0), sum) + (gives.resize(16) > rounds).mux(rounds, gives.resize(16))
  when(isFirst)(whole := sum)
  reach := whole

  private val open = dies.map(d => RegNext(Mux(d.count =/= 0, room(d.id), U(0))) init 0)
  places := Vec(open.map(_.resize(10))).reduceBalancedTree(_ + _, (sum, _) => RegNext(sum) init 0)
}

object PageAllocator {

  /** The open block and four behind it. */
  val blocksPerDie = 5
}
