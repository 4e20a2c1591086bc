// SPDX-License-Identifier: Apache-2.0
package opentxssd.log

import opentxssd._
import opentxssd.flash.{FlashDone, FlashOp}
import spinal.core._
import spinal.lib._

/** Where a log page was last sent. */
case class LogPlace(p: OtxParam) extends Bundle {
  val ppn = UInt(p.ppnBits bits)
  val lane = UInt(2 bits)
}

/** The log pages under way: at most four, the open one included, each in frame (page number modulo 4).
  *
  * `closed` ends the open page (`closed.payload`: index after its last entry); the page after it is open then. Closed
  * pages are placed in page order, when the page `lanes` before has retired (rule log-end), in a lane that has no page
  * under way: the next page of the lane (`LogLanes`), then the header's second half, which names the lane's blocks,
  * then `program` when all of it is in memory. Done beats may come in any order, at any time and are remembered; pages
  * retire in page order. So `durable`, the number of entries in retired pages, is always a prefix of the log.
  *
  * Which lane (decision 024): `usable` says which have a place, `near` what the die of each does (`WayQueue`: `now`). A
  * lane whose die is idle, else one whose die is not erased; if there are only erased ones, and a lane that is not has
  * a page under way, that is waited for; among equals in turn. With `idleDies` low: the next usable one in turn, which
  * is waited for when it has a page under way. Nobody waits for ever: a program ends.
  *
  * A page whose program fails is placed again before any new page (decision 011): in the next page of its block, or
  * from page 3 of a block on in the lane's next block. Its block goes to `badBlock` first. `failed` for one clock: the
  * fourth place failed too; the page never retires.
  *
  * `durableMark`: the highest watermark that stands in a retired page. `nextPage`: the first page that has no place
  * yet, the open one or a closed one; `nextFirst`: index of its first entry.
  *
  * `page`: number of the open page. `frameFree`: its frame is free. `nextFree`: the frame of the page after it is.
  * `waiting`: closed pages without a place. `stranded`: one waits, and no lane is usable. `pages`: pages retired.
  * `closed` to header 3 clocks, header taken to `program` 1 clock after the last answer of the memory; done beat to
  * `durable`: 2 clocks. Reset: page 0 is open and nothing is durable.
  */
class LogPages(p: OtxParam) extends Component {
  setDefinitionName("otx_log_pages")

  val closed = slave port Flow(UInt(48 bits))
  val page = out port UInt(32 bits)
  val frameFree, nextFree = out port Bool()
  // places
  val lane = out port UInt(2 bits)
  val waiting = out port UInt(3 bits)
  val available = in port Bool()
  val usable = in port Bits(p.lanes bits)
  val near = Vec.fill(p.lanes)(in port UInt(2 bits))
  val idleDies = in port Bool()
  val current, next = in port UInt(p.blockBits + p.dieBits bits)
  val lanePage = in port UInt(p.pageBits bits)
  val advance, skip = out port Bool()
  val lacks = out port Bool() // a page waits for a block of `lane`
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

  private val open, asked, retired = Reg(UInt(32 bits)) init 0 // page numbers: retired <= asked <= open
  private val prefix = Reg(UInt(48 bits)) init 0
  private val done, again = Reg(Bits(OtxParam.logFrames bits)) init 0 // by frame: programmed; to be placed again
  private val tries = Vec.fill(OtxParam.logFrames)(Reg(UInt(2 bits)))
  private val flying = Reg(Bits(p.lanes bits)) init 0 // by lane: a page has a place and is not programmed
  private val turn = RegInit(B(1, p.lanes bits)) // the lane behind that of the last new page
  private val ends = Mem(UInt(48 bits), OtxParam.logFrames)
  private val places = Mem(LogPlace(p), OtxParam.logFrames)
  private val marks = Mem(UInt(48 bits), OtxParam.logFrames) // the watermark in each page's header
  private val askedFirst, markNow = Reg(UInt(48 bits)) init 0
  ends.write(open(1 downto 0), closed.payload, closed.valid)
  when(closed.valid)(open := open + 1)

  private val underWay = Reg(UInt(3 bits)) init 0 // open - retired: 0 ... 4
  page := open
  frameFree := underWay < OtxParam.logFrames
  nextFree := underWay < OtxParam.logFrames - 1
  waiting := open(2 downto 0) - asked(2 downto 0)

  private object State extends SpinalEnum {
    // a page; who hears of its bad block; the second half taken; the program taken
    val Idle, Leave, Head, Program = newElement()
  }
  private val state = RegInit(State.Idle)
  private val slot = Reg(UInt(2 bits))
  private val repeats = Reg(Bool())
  private val laneNow = Reg(UInt(2 bits)) init 0
  private val leaving = RegInit(False) // the block is skipped in this clock
  private val record = Reg(UInt(11 bits))
  private val ppn = Reg(UInt(p.ppnBits bits))
  private val place = places.readAsync(slot)

  // The lane of a new page
  private val free = usable & ~flying
  private val idle = Vec(near.map(_ === 0)).asBits
  private val calm = ~Vec(near.map(_.msb)).asBits // no erase
  private val best = Mux((free & idle).orR, free & idle, Mux((usable & calm).orR, free & calm, free))
  private val choice = OHMasking.roundRobin(Mux(idleDies, best, usable), turn) & free
  private val mayBegin = asked =/= open && (asked(2 downto 0) - retired(2 downto 0)) < p.lanes
  private val begins = mayBegin && choice.orR
  stranded := state === State.Idle && asked =/= open && !usable.orR

  // in registers, so that the memories of lanes and places are not in front of the header's way into the frame
  private val offered = RegInit(False) // lane, blocks, page and mark are those of `slot`
  private val blocks = RegNext(next.resize(32) ## current.resize(32))
  private val target = RegNext(current @@ lanePage)
  offered := state === State.Head && available && !leaving && !header.fire
  leaving := False

  lacks := state === State.Head && !available && !leaving
  lane := laneNow
  advance := header.fire
  skip := leaving
  badBlock.valid := state === State.Leave
  badBlock.payload := (place.ppn >> p.pageBits).resize(24)
  header.valid := offered
  header.frame := slot
  header.place := 1
  private val end = ends.readAsync(slot)
  private val mark = RegNext(Mux(watermark > end, end, watermark)) // no entry of a later page
  header.words := B(0, 128 bits) ## blocks ## mark.resize(64)
  private val placed = LogPlace(p)
  placed.ppn := target
  placed.lane := laneNow
  places.write(slot, placed, header.fire)
  marks.write(slot, mark, header.fire)

  program.valid := state === State.Program && !(written - record).msb
  program.op := NandOp.PROGRAM
  program.ppn := ppn.resized
  program.frame := U(p.logFrameBase, 16 bits) + slot
  program.kind := PageKind.LOG
  program.lpn := retired + (slot - retired(1 downto 0)).resize(32)
  program.sequence := 0
  program.cookie := slot.resized

  switch(state) {
    is(State.Idle) {
      repeats := again.orR
      slot := asked(1 downto 0)
      laneNow := OHToUInt(choice).resized
      when(again.orR) {
        slot := OHToUInt(OHMasking.first(again))
        state := State.Leave
      }.elsewhen(begins)(state := State.Head)
    }
    is(State.Leave) {
      when(badBlock.ready) {
        again(slot) := False
        val page = place.ppn(0, p.pageBits bits)
        leaving := page >= LogPages.retries && page =/= p.pagesPerBlock - 1
        laneNow := place.lane
        state := State.Head
      }
    }
    is(State.Head) {
      when(header.fire) {
        record := accepted + 1
        ppn := placed.ppn
        state := State.Program
        when(!repeats) {
          asked := asked + 1
          askedFirst := end
          tries(slot) := U(0, 2 bits)
          val taken = Vec((0 until p.lanes).map(laneNow === _)).asBits
          flying := flying | taken
          turn := (if (p.lanes == 1) taken else taken.rotateLeft(1))
        }
      }
    }
    is(State.Program)(when(program.ready && program.valid)(state := State.Idle))
  }

  // done beats in any order, retired in page order
  private val retiring = retired(1 downto 0)
  private val retire = done(retiring)
  when(closed.valid =/= retire)(underWay := closed.valid.mux(underWay + 1, underWay - 1))
  when(retire) {
    retired := retired + 1
    prefix := ends.readAsync(retiring)
    when(marks.readAsync(retiring) > markNow)(markNow := marks.readAsync(retiring))
    done(retiring) := False
  }
  private val which = programDone.cookie(1 downto 0)
  private val ok = programDone.status === PageStatus.OK
  private val whose = places.readAsync(which).lane
  programDone.ready := True
  failed := programDone.valid && !ok && tries(which) === LogPages.retries
  when(programDone.valid) {
    when(ok) {
      done(which) := True
      for (l <- 0 until p.lanes) when(whose === l)(flying(l) := False)
    }.elsewhen(!failed) {
      again(which) := True
      tries(which) := tries(which) + 1
    }
  }

  durable := prefix
  durableMark := markNow
  nextPage := asked
  nextFirst := askedFirst
  pages := retired
}

object LogPages {

  /** A log page is tried this often again, and these many first pages of a block are tried before the block is left. */
  val retries = 3
}
