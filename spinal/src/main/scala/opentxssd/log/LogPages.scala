// SPDX-License-Identifier: Apache-2.0
package opentxssd.log

import opentxssd._
import opentxssd.flash.{FlashDone, FlashOp}
import spinal.core._
import spinal.lib._

/** Where a copy of a log page was last sent, and the block that its lane had behind that. */
case class LogPlace(p: OtxParam) extends Bundle {
  val ppn = UInt(p.ppnBits bits)
  val next = UInt(p.blockBits + p.dieBits bits)
  val lane = UInt(2 bits)
}

/** Where a lane goes on that a copy has left; `lane` plus one. */
case class LeftLane(p: OtxParam) extends Bundle {
  val block = UInt(24 bits)
  val lane = UInt(8 bits)
}

/** The log pages under way: at most four, the open one included, each in frame (page number modulo 4).
  *
  * `closed` ends the open page (`closed.payload`: index after its last entry); the page after it is open then. Each
  * closed page is programmed twice, in two lanes (rule log-twice, decision 029). Closed pages are placed in page
  * order, when the page `window` before has retired (rule log-end), in lanes that have no copy under way: the next
  * page of each lane (`LogLanes`), then the header's second half, which names the blocks of both lanes, then
  * `program` of both copies when all of it is in memory. Done beats may come in any order, at any time and are
  * remembered; pages retire in page order, when both copies are programmed. So `durable`, the number of entries in
  * retired pages, is always a prefix of the log, and stands twice.
  *
  * Which lanes (decision 024): `usable` says which have a place, `near` what the die of each does (`WayQueue`:
  * `now`). A lane whose die is idle, else one whose die is not erased; if there are only erased ones, and a lane that
  * is not has a copy under way, that is waited for; among equals in turn. With `idleDies` low: the next usable one in
  * turn, which is waited for when it has a copy under way. The second copy's lane is chosen so from all but the
  * first's, and of these from those on other `dies` if one of them is not erased. Nobody waits for ever: a program
  * ends. When one lane only is usable, it gets both copies, one after the
  * other.
  *
  * With `together` a page has no place before `watermark` is at its end, so before all pages that it names are on NAND,
  * but while `saving` (a page that failed waits for an entry that is durable).
  *
  * A copy whose program fails is placed again before any new page (decision 011), when the other copy has ended, for
  * that is read from the same frame: in the next page of its block, or from page 3 of a block on in the lane's next
  * block. Its block goes to `badBlock` first. When its fourth place fails, too, it moves to another lane, if there is
  * one, as soon as the other copy is programmed, whose header names the block that is left and the one behind it. So
  * only when both copies got their first places together, and once. Its own header says where the lane goes on.
  * `failed` for one clock: a copy has failed at four places and does not move; the page never retires.
  *
  * A page's watermark is the lower one of `watermark` and `durable`, as its first header has it: entries below it stand
  * in pages that have two copies (rule mark-log). `durableMark`: the highest watermark that stands in a retired page.
  * `nextPage`: the first page that has no place yet, the open one or a closed one; `nextFirst`: index of its first
  * entry. From the clock on in which a page's first copy has a place it is not `nextPage`.
  *
  * `page`: number of the open page. `frameFree`: its frame is free. `mayClose`: closed now it would be placed at once,
  * as far as the pages before it go; `calm`: and both its copies in lanes whose dies are idle; both a clock late.
  * `waiting`: copies without a place of closed pages. `stranded`: a page waits, and no lane is usable. `pages`: pages
  * retired.
  * `closed` to header 6 clocks, header taken to the first `program` 1 clock after the last answer of the memory, to the
  * second one clock more; done beat to `durable`: 2 clocks. Reset: page 0 is open and nothing is durable.
  */
class LogPages(p: OtxParam) extends Component {
  setDefinitionName("otx_log_pages")

  val closed = slave port Flow(UInt(48 bits))
  val page = out port UInt(32 bits)
  val frameFree, mayClose, calm = out port Bool()
  // places
  val lane = out port UInt(2 bits)
  val waiting = out port UInt(4 bits)
  val available = in port Bool()
  val usable = in port Bits(p.lanes bits)
  val near = Vec.fill(p.lanes)(in port UInt(2 bits))
  val dies = Vec.fill(p.lanes)(in port UInt((p.dieBits max 1) bits)) // of each lane's current block
  val idleDies, together, saving = in port Bool()
  val current, next = in port UInt(p.blockBits + p.dieBits bits)
  val lanePage = in port UInt(p.pageBits bits)
  val advance, skip = out port Bool()
  val lacks = out port Bool() // a copy waits for a block of `lane`
  val stranded = out port Bool()
  val badBlock = master port Stream(UInt(24 bits))
  // the header's second half
  val watermark = in port UInt(48 bits)
  val header = master port Stream(LogRecord())
  val accepted, written = in port UInt(11 bits)
  // flash
  val program = master port Stream(FlashOp())
  val programDone = slave port Stream(FlashDone())
  val failed = out port Bool()
  val durable, durableMark = out port UInt(48 bits)
  val nextPage = out port UInt(32 bits)
  val nextFirst = out port UInt(48 bits)
  val pages = out port UInt(32 bits)

  private def ofFrames = Reg(Bits(OtxParam.logFrames bits)) init 0
  private def laneBit(lane: UInt) = Vec((0 until p.lanes).map(lane === _)).asBits

  private val open, asked, retired = Reg(UInt(32 bits)) init 0 // page numbers: retired <= asked <= open
  private val prefix = Reg(UInt(48 bits)) init 0
  // by copy, by frame: programmed; has a place and has not ended; to be placed again
  private val done, flight, again = List.fill(2)(ofFrames)
  private val later = ofFrames // by frame: the second copy has no place yet
  private val twin = ofFrames // by frame: each copy's header names the first places of both, for none has moved
  private val moved = List.fill(2)(ofFrames) // by copy, by frame: it leaves its lane
  private val gone = ofFrames // by frame: a copy has left its lane
  private val tries = Vec.fill(2 * OtxParam.logFrames)(Reg(UInt(2 bits))) // of {copy, frame}
  private val flying = Reg(Bits(p.lanes bits)) init 0 // by lane: a copy has a place and is not programmed
  private val turn = RegInit(B(1, p.lanes bits)) // the lane behind that of the last copy of a new page
  private val ends = Mem(UInt(48 bits), OtxParam.logFrames)
  private val places = Mem(LogPlace(p), 2 * OtxParam.logFrames) // of {copy, frame}
  private val lefts = Mem(LeftLane(p), OtxParam.logFrames) // where the lane goes on that a copy has left
  private val marks = Mem(UInt(48 bits), OtxParam.logFrames) // the watermark in each page's header
  private val askedFirst, markNow = Reg(UInt(48 bits)) init 0
  ends.write(open(1 downto 0), closed.payload, closed.valid)
  when(closed.valid)(open := open + 1)

  private val underWay = Reg(UInt(3 bits)) init 0 // open - retired: 0 ... 4
  page := open
  frameFree := underWay < OtxParam.logFrames
  mayClose := RegNext(asked === open && underWay < LogPages.window(p)) init True
  waiting := ((open(2 downto 0) - asked(2 downto 0)) ## False).asUInt + CountOne(later ## moved(1) ## moved(0))

  private object State extends SpinalEnum {
    // a page; which lane a copy leaves; the lane of the second copy, or of that; who hears of its bad block; a place;
    // the second half taken; programs taken
    val Idle, Move, Second, Leave, Place, Head, Program = newElement()
  }
  private val state = RegInit(State.Idle)
  private val slot = Reg(UInt(2 bits))
  private val copy = Reg(UInt(1 bit)) // the one that gets a place, or is programmed
  private val isNew = Reg(Bool()) // the page has had no place before
  private val both = Reg(Bool()) // both copies get a place now
  private val lanes = Vec.fill(2)(Reg(UInt(2 bits)) init 0) // by copy
  private val shunned = Reg(UInt(2 bits)) init 0 // the lane of the first copy, or which a copy leaves
  private val leaving = RegInit(False) // the block is skipped in this clock
  private val record = Reg(UInt(11 bits))
  private val place = places.readAsync(copy @@ slot)

  // The lane of a copy
  private val idle = Vec(near.map(_ === 0)).asBits
  private val spared = ~Vec(near.map(_.msb)).asBits // no erase
  private val alike = Vec(dies.map(_ === MuxOH(laneBit(shunned), dies))).asBits // on the die of the first copy
  private val apart = idleDies && (usable & spared & ~alike).orR
  private def all(bit: Bool) = B(p.lanes bits, default -> bit)
  private val others = usable & ~((laneBit(shunned) | alike & all(apart)) & all(state === State.Second))
  private val free = others & ~flying
  private val best = Mux((free & idle).orR, free & idle, Mux((others & spared).orR, free & spared, free))
  private val choice = OHMasking.roundRobin(Mux(idleDies, best, others), turn) & free
  private val alone = (usable.asUInt & (usable.asUInt - 1)) === 0 // one lane is usable, or none
  // about `asked`, which has been what it is for some clocks when this is looked at
  private val ripe = RegNext(!together || saving || asked =/= open && watermark >= ends.readAsync(asked(1 downto 0)))
  private val homeless = (later | moved(0) | moved(1)).orR
  private val mayBegin =
    !homeless && asked =/= open && ripe && (asked(2 downto 0) - retired(2 downto 0)) < LogPages.window(p)
  private val rest = usable & ~flying & idle
  calm := RegNext((rest.asUInt & (rest.asUInt - 1)) =/= 0 || alone && rest.orR) init False
  stranded := state === State.Idle && (asked =/= open || homeless) && !usable.orR

  private val repeat = List(again(0) & ~flight(1), again(1) & ~flight(0))
  private val laterNow = later & ~flight(0)
  private val moves = List(moved(0) & done(1), moved(1) & done(0)) // `again` is over, as that comes first
  private val repeats = repeat.map(_.orR).reduce(_ || _)

  // in registers, so that the memories of lanes and places are not in front of the header's way into the frame
  private val offered = RegInit(False) // lane, blocks and page are those of `copy`
  private val target = RegNext(current @@ lanePage)
  private val behind = RegNext(next)
  private val named = List.fill(2)(Reg(LogPlace(p))) // what the header names: both places; 0 where there is none
  private val end = ends.readAsync(slot)
  private val mark = RegNext(Mux(watermark > prefix, prefix, watermark))
  private val kept = RegNext(marks.readAsync(slot))
  offered := state === State.Place && available && !leaving && !offered
  leaving := False

  lacks := state === State.Place && !available && !leaving
  lane := lanes(copy)
  advance := offered
  skip := leaving
  badBlock.valid := state === State.Leave
  badBlock.payload := (place.ppn >> p.pageBits).resize(24)
  private val going = LeftLane(p)
  private val leaves = False
  going.lane := (place.lane +^ U(1)).resize(8)
  going.block := 0
  lefts.write(slot, going, leaves)
  private val placed = LogPlace(p)
  placed.ppn := target
  placed.next := behind
  placed.lane := lanes(copy)
  places.write(copy @@ slot, placed, offered)

  header.valid := state === State.Head
  header.frame := slot
  header.place := 1
  private def block(place: LogPlace) = (place.ppn >> p.pageBits).resize(32)
  private def row(place: LogPlace) = place.ppn(0, p.pageBits bits).resize(16)
  private val marked = Mux(isNew, mark, kept)
  private val left = lefts.readAsync(slot)
  header.words := Mux(gone(slot), left, left.getZero).asBits.resize(32) ## row(named(1)) ## row(named(0)) ##
    named(1).next.resize(32) ## block(named(1)) ## named(0).next.resize(32) ## block(named(0)) ## marked.resize(64)
  marks.write(slot, marked, header.fire)

  program.valid := state === State.Program && !(written - record).msb
  program.op := NandOp.PROGRAM
  program.ppn := Mux(copy === 0, named(0).ppn, named(1).ppn).resized
  program.frame := U(p.logFrameBase, 16 bits) + slot
  program.kind := PageKind.LOG
  program.lpn := retired + (slot - retired(1 downto 0)).resize(32)
  program.sequence := 0
  program.cookie := (copy @@ slot).resized
  program.priority := Priority.MEDIUM // means nothing: the log has its own queue

  switch(state) {
    is(State.Idle) {
      both := False
      isNew := False
      slot := asked(1 downto 0)
      copy := 0
      lanes(0) := OHToUInt(choice).resized
      shunned := OHToUInt(choice).resized
      when(repeats) {
        val second = !repeat(0).orR
        copy := second.asUInt
        slot := OHToUInt(OHMasking.first(Mux(second, repeat(1), repeat(0)))).resized
        state := State.Leave
      }.elsewhen(laterNow.orR) {
        copy := 1
        slot := OHToUInt(OHMasking.first(laterNow)).resized
        lanes(1) := OHToUInt(choice).resized
        when(choice.orR)(state := State.Place)
      }.elsewhen(moves.map(_.orR).orR) {
        val second = !moves(0).orR
        copy := second.asUInt
        slot := OHToUInt(OHMasking.first(Mux(second, moves(1), moves(0)))).resized
        lanes(1) := OHToUInt(choice).resized
        when(!alone)(state := State.Move).elsewhen(choice.orR)(state := State.Place)
      }.elsewhen(mayBegin && choice.orR) {
        isNew := True
        state := Mux(alone, State.Place, State.Second)
      }
    }
    is(State.Move) {
      shunned := place.lane
      state := State.Second
    }
    is(State.Second) {
      both := isNew
      when(isNew || copy === 1)(lanes(1) := OHToUInt(choice).resized).otherwise(lanes(0) := OHToUInt(choice).resized)
      when(repeats || !isNew && !choice.orR)(state := State.Idle).elsewhen(choice.orR)(state := State.Place)
    }
    is(State.Leave) {
      when(badBlock.ready) {
        for (c <- 0 to 1) when(copy === c)(again(c)(slot) := False)
        val page = place.ppn(0, p.pageBits bits)
        leaving := page >= LogPages.retries && page =/= p.pagesPerBlock - 1
        going.block := Mux(page >= LogPages.retries, place.next, (place.ppn >> p.pageBits).resized).resize(24)
        lanes(copy) := place.lane
        state := State.Place
        for (c <- 0 to 1) when(copy === c && moved(c)(slot)) {
          for (l <- 0 until p.lanes) when(place.lane === l)(flying(l) := False)
          leaves := True
          state := State.Idle
        }
      }
    }
    is(State.Place) {
      for (c <- 0 to 1) when(copy =/= c && !isNew)(named(c) := places.readAsync(U(c, 1 bit) @@ slot))
      when(offered) {
        for (c <- 0 to 1) when(copy === c) {
          named(c) := placed
          flight(c)(slot) := True
        }
        val taken = laneBit(lanes(copy))
        for (l <- 0 until p.lanes) when(taken(l))(flying(l) := True)
        val moves = moved(0)(slot) && copy === 0 || moved(1)(slot) && copy === 1
        when(isNew && copy === 0) {
          twin(slot) := both
          gone(slot) := False
        }
        when(moves) {
          twin(slot) := False
          gone(slot) := True
        }
        for (c <- 0 to 1) when(copy === c)(moved(c)(slot) := False)
        when(isNew || moves || copy === 1 && later(slot)) {
          tries(copy @@ slot) := U(0, 2 bits)
          turn := (if (p.lanes == 1) taken else taken.rotateLeft(1))
        }
        when(isNew && copy === 0) {
          asked := asked + 1
          askedFirst := end
          named(1).assignFromBits(B(0, widthOf(named(1)) bits))
          later(slot) := !both
        }
        when(copy === 1)(later(slot) := False)
        when(both && copy === 0)(copy := 1).otherwise(state := State.Head)
      }
      when(!isNew && copy === 0 && later(slot))(named(1).assignFromBits(B(0, widthOf(named(1)) bits)))
    }
    is(State.Head) {
      when(header.fire) {
        record := accepted + 1
        when(both)(copy := 0)
        state := State.Program
      }
    }
    is(State.Program) {
      when(program.ready && program.valid) {
        copy := 1
        when(!both || copy === 1)(state := State.Idle)
      }
    }
  }

  // done beats in any order, retired in page order
  private val retiring = retired(1 downto 0)
  private val retire = done(0)(retiring) && done(1)(retiring)
  when(closed.valid =/= retire)(underWay := closed.valid.mux(underWay + 1, underWay - 1))
  when(retire) {
    retired := retired + 1
    prefix := ends.readAsync(retiring)
    when(marks.readAsync(retiring) > markNow)(markNow := marks.readAsync(retiring))
    done.foreach(_(retiring) := False)
  }
  private val which = programDone.cookie(2 downto 0)
  private val ok = programDone.status === PageStatus.OK
  private val whose = places.readAsync(which).lane
  programDone.ready := True
  private val fourth = programDone.valid && !ok && tries(which) === LogPages.retries
  private val mayMove = twin(which(1 downto 0)) && !(moved(0) | moved(1))(which(1 downto 0))
  failed := fourth && !mayMove
  when(programDone.valid) {
    for (c <- 0 to 1) when(which.msb === Bool(c == 1)) {
      flight(c)(which(1 downto 0)) := False
      when(ok)(done(c)(which(1 downto 0)) := True)
      when(!ok && !failed)(again(c)(which(1 downto 0)) := True)
      when(fourth && mayMove)(moved(c)(which(1 downto 0)) := True)
    }
    for (l <- 0 until p.lanes) when(ok && whose === l)(flying(l) := False)
    when(!ok && !failed)(tries(which) := tries(which) + 1)
  }

  durable := prefix
  durableMark := markNow
  nextPage := asked
  nextFirst := askedFirst
  pages := retired
}

object LogPages {

  /** A copy is tried this often again in a lane, and so many first pages of a block are tried before it is left. */
  val retries = 3

  /** A page is placed when the page so many before it has retired: two copies of each are in the lanes. */
  def window(p: OtxParam): Int = (p.lanes + 1) / 2
}
