// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import opentxssd._
import spinal.core._
import spinal.lib._

/** How many pages of each block are in use and which, for garbage collection (docs/decisions/021).
  *
  * Contract. The count of a block is the number of its data pages that were handed out and are not known to be dead. It
  * goes up with `picked` (a page of the allocator is taken) and with `up` (a page that firmware copied has taken the
  * place of the old one); it goes down with each page of `down`. So a count of 0 means: no map word and no version
  * names a page of the block, and none is on its way there. Whoever hands out pages must report every one of them,
  * once, when it is dead. A page that is not in `pages` is not named either: so a block is collected without a look at
  * its dead pages.
  *
  * goes up with each page of `load` too, a page of the map that a mount reads or writes, and then never past what a
  * block has: a mount may count one twice, and then counts all anew (`MapPages`). `clear`: all counts are 0, when
  * `clearing` is over. Neither is for a drive that is enabled.
  *
  * `scan`: the counts of 32 blocks from this one on; `mask` is valid some 70 clocks later, until the next `scan`: bit n
  * is set when that of block n is not 0.
  *
  * `ask`: firmware wants the count of a block. `count` is valid some clocks later, when all events before it are
  * counted, until the next `ask` or `set`; so is `pages`, bit n for page 32 * `word` + n of it. `set`: the count of a
  * block is this from now on, of which pages is not known: all of them are in `pages`. Before the drive is enabled.
  *
  * One count and a bit per page of each block in a memory with one read and one write port, two clocks for an event.
  * `picked` is first and never waits: it comes at most every second clock, and four wait here. The others are taken in
  * turn and depend on nothing else, so none of them waits for ever. Counts are not cleared by reset, the events under
  * way are.
  */
class LiveCounts(p: OtxParam, downs: Int) extends Component {
  setDefinitionName("otx_live_counts")
  private val idBits = p.blockBits + p.dieBits
  private val countBits = p.pageBits + 1

  val picked = slave port Flow(UInt(30 bits))
  val up = slave port Stream(UInt(30 bits))
  val down = Vec.fill(downs)(slave port Stream(UInt(30 bits)))
  val load = slave port Stream(UInt(30 bits))
  val clear = in port Bool()
  val clearing = out port Bool()
  val scan = slave port Flow(UInt(24 bits))
  val mask = master port Flow(Bits(32 bits))
  val ask = slave port Flow(UInt(24 bits))
  val set = slave port Flow(UInt(16 bits)) // of the block asked for last
  val word = in port UInt(4 bits)
  val pages = out port Bits(32 bits)
  val count = master port Flow(UInt(16 bits))

  private case class Event() extends Bundle {
    val block = UInt(idBits bits)
    val page = UInt(p.pageBits bits)
    val up, load = Bool()
  }
  private def event(ppns: Stream[UInt], up: Boolean, load: Boolean = false): Stream[Event] = ppns.map { ppn =>
    val e = Event()
    e.block := (ppn >> p.pageBits).resize(idBits)
    e.page := ppn.resized
    e.up := Bool(up)
    e.load := Bool(load)
    e
  }

  private val pickedPages = picked.toStream
  private val picks = event(pickedPages, up = true).queue(4)
  private val others =
    StreamArbiterFactory().roundRobin.noLock
      .on(Seq(event(up, up = true), event(load, up = true, load = true)) ++ down.map(event(_, up = false)))
      .stage()
  private val events = StreamArbiterFactory().lowerFirst.noLock.onArgs(picks, others)

  private case class Entry() extends Bundle {
    val count = UInt(countBits bits)
    val pages = Bits(p.pagesPerBlock bits)
  }
  private def entry(count: UInt, pages: Bits) = {
    val e = Entry()
    e.count := count
    e.pages := pages
    e
  }
  private val counts = Mem(Entry(), 1 << idBits)
  private val asked = Reg(UInt(idBits bits)) init 0
  private val wanted, answered = RegInit(False) // by firmware: to be read, and read
  private val setting = RegInit(False)
  private val value = Reg(UInt(countBits bits))
  private val cleared = Reg(UInt(idBits + 1 bits)) init (1 << idBits) // so many from block 0 on
  private val scans = RegInit(False)
  private val scanned = Reg(UInt(idBits bits)) // the next block
  private val scansLeft = Reg(UInt(5 bits))
  private val found = Reg(Bits(32 bits))

  // an event or a question in one clock, its write or its answer in the next
  private val writing = RegInit(False)
  private val reading = RegInit(False)
  private val now = RegNextWhen(events.payload, events.fire)
  clearing := !cleared.msb
  private val idle =
    !writing && !reading && !setting && !clearing // so the memory is never read and written in one clock
  events.ready := idle
  private val asks = idle && !events.valid && wanted
  writing := events.fire
  reading := asks
  private val looks = idle && !events.valid && !wanted && scans
  private val looking = RegNext(looks) init False
  private val address = events.valid.mux(events.block, wanted.mux(asked, scanned))
  private val read = counts.readSync(address, idle)
  private val before = read.count
  private val full = now.load && before >= p.pagesPerBlock
  private val after = full.mux(before, now.up.mux(before + 1, before - 1))
  private val page = UIntToOh(now.page, p.pagesPerBlock)
  private val changed = entry(after, now.up.mux(read.pages | page, read.pages & ~page))
  private val given = entry(value, B(p.pagesPerBlock bits, default -> true))
  private val none = entry(U(0, countBits bits), B(0, p.pagesPerBlock bits))
  counts.write(
    clearing.mux(cleared.resize(idBits), writing.mux(now.block, asked)),
    clearing.mux(none, writing.mux(changed, given)),
    clearing || writing || setting
  )
  when(setting && !writing)(setting := False)
  when(clearing)(cleared := cleared + 1)
  when(clear)(cleared := 0)

  when(looks) {
    scanned := scanned + 1
    scansLeft := scansLeft - 1
    when(scansLeft === 0)(scans := False)
  }
  when(looking)(found := (before =/= 0) ## found(31 downto 1))
  when(scan.valid) {
    scanned := scan.payload.resize(idBits)
    scansLeft := 31
    scans := True
  }
  mask.valid := !scans && !looking
  mask.payload := found

  private val answer = Reg(Entry())
  when(asks)(wanted := False)
  when(reading) {
    answer := read
    answered := True
  }
  when(ask.valid) {
    asked := ask.payload.resize(idBits)
    wanted := True
    answered := False
  }
  when(set.valid) {
    value := set.payload.resized
    setting := True
    answered := False
  }
  count.valid := answered
  count.payload := answer.count.resized
  pages := answer.pages.resize(16 * 32).subdivideIn(32 bits)(word)

  assert(!(picked.valid && !pickedPages.ready), "a picked page is not counted", ERROR)
  // in simulation: a page is reported dead once, and no block has more pages than it has
  assert(!(writing && !now.up && before === 0), "a block has less than no pages in use", ERROR)
  assert(
    !(writing && now.up && !now.load && before === p.pagesPerBlock),
    "a block has more pages in use than pages",
    ERROR
  )
}
