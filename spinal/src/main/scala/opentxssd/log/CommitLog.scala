// SPDX-License-Identifier: Apache-2.0
package opentxssd.log

import opentxssd._
import opentxssd.flash.{FlashDone, FlashOp}
import opentxssd.remap.TxOp
import spinal.core._
import spinal.lib._
import spinal.lib.bus.amba4.axi._

/** The commit log: entries in order into log pages, pages to flash, and who waits for them. docs/interfaces.md "Commit
  * log" has the formats.
  *
  * {{{
  *   append, relocate -> LogAssembler -> LogFrameWriter -> frame       logBlock -> LogLanes
  *                            | closed page    ^ 2nd half of header      pageDone -> LogWatermark, LogPending
  *                         LogPages -----------+-> program, badBlock     waiter -> LogWaiters -> tx, waitDone
  * }}}
  *
  * Throughput: one entry in 5 clocks, 10 clocks more per page of up to 126 entries. `head` is the index that the next
  * entry taken gets, `groupEnd` the same, behind the group that is open.
  * `append` waits while: a page is being closed; all four frames hold pages under way; a further page can not be
  * placed; before a group, more than 895 entries are above the watermark. None of these needs an append, a wait or a
  * commit to go away (programs finish, firmware gives blocks), so no cycle of waiting goes through the log.
  * `relocate` takes RELOCATE entries whose page is programmed: between groups, before `append`, and while 1,023 entries
  * are not above the watermark, so that a page that holds up the watermark can be moved. `rescueTo`: the highest index
  * that must become durable for such an entry; `durable` says how far the log is. An offer at `append` may be taken
  * back, one at `relocate` stays.
  *
  * Order. lpn-order: entries get indexes, places and pages in the order of `append`; `durable` grows page by page in
  * page order whatever order programs finish in.
  * commit-prefix: COMMIT waits end, and are made visible, in the order of `waiter`, which must be the order of their
  * records. group: a page is not closed between a group's first entry and its `last`, and closes before a group that
  * does not fit.
  * Gathered (decision 030): a page that only COMMITs wait for is closed when both its copies would go to idle dies, or
  * when the COMMIT whose turn it is has all its data pages on NAND. So COMMITs whose data is on its way share a page.
  *
  * Twice: each page has two copies, in two lanes, and counts as programmed when both are (`LogPages`).
  *
  * Watermark and counts: MAP entries are outstanding until `pageDone`; those with `inTx` count for txid `serial[4:0]`,
  * `pageDone` with `hasTx` counts down. `pageDone` waits in a clock in which an entry is appended.
  *
  * Errors: a log page whose program fails is written again elsewhere (`LogPages`). One that fails at all places, a
  * data page that can not be saved (`pageDone` without `ok`), `giveUp`, an entry or a page without a place in a lane
  * that gets no further block (`noMore`), or a write error of the frame memory sets `fault`. From then on no page
  * begins to close, all waits, old and new, end with WRITE_FAULT, COMMITs without being made visible (recovery decides
  * about them), and entries are taken and dropped: nobody hangs.
  * After a write error of the frame memory only reset helps.
  *
  * `dirty`: an entry is not durable or not complete, or a page is on its way. `mark`: the watermark. `logLeft`: log
  * pages that can still be started, the open one included; two clocks late. `pages`: log pages that are durable.
  * `evRecord`: a COMMIT entry is appended; `evDurable`: the conditions of the oldest COMMIT wait are met.
  *
  * Log pages go to two lanes whose die is idle, as `dieNow` says, or near to it (`LogPages`), with `idleDies` low to
  * lanes in turn. An entry or page has no place when no lane has one; a page that failed has its own lane only.
  *
  * `durableMark`: the highest watermark in a durable page. `place`: where the log goes on (`LogPlaceView`).
  *
  * `together`, `saving`: `LogPages`. `plp`: `LogWaiters`; with `drain` the open page is closed as for a FLUSH of all
  * that is in the log. These but `saving` change only while `enable` is low, or `drain` once to high.
  *
  * Reset or `enable` low: page number 0, index 0, no blocks, no waits, no fault; blocks are taken only while `enable`
  * is high, and `generation` and `driveId` must not change then. `enable` may go low only when no program of the log is
  * under way; a burst that has begun is still finished.
  */
class CommitLog(p: OtxParam) extends Component {
  setDefinitionName("otx_commit_log")

  val enable = in port Bool()
  val generation, driveId = in port UInt(32 bits)
  val data = Ports.bare(slave port LogPort())
  import data.{append, durable, giveUp, head, pageDone, relocate, rescueTo, saving, waitDone, waiter}
  val tx = master port Stream(TxOp())
  val logBlock = slave port Stream(LogBlock())
  val logBlockRoom = out port Bits(p.lanes bits)
  val noMore = in port Bits(p.lanes bits) // this lane gets no further block
  val idleDies, together, plp, drain = in port Bool()
  val dieNow = Vec.fill(p.dies)(in port UInt(2 bits))
  val logLeft = out port UInt(32 bits)
  val program = master port Stream(FlashOp())
  val programDone = slave port Stream(FlashDone())
  val frame = master port Axi4WriteOnly(p.axi)
  val badBlock = master port Stream(UInt(24 bits))
  val pages = out port UInt(32 bits)
  val mark, durableMark, groupEnd = out port UInt(48 bits)
  val place = slave port LogPlaceView(p)
  val fault = out port Bool()
  val dirty = out port Bool()
  val evRecord = out port Bool()
  val evRecordTxid = out port UInt(5 bits)
  val evDurable = out port Bool()

  private val writer = new LogFrameWriter(p)
  frame << writer.frame

  /** All but the frame writer forgets everything while `enable` is low. */
  private val living = new ResetArea(!enable, true) {
    val assembler = new LogAssembler(p)
    val lanes = new LogLanes(p)
    val pages = new LogPages(p)
    val watermark, plain = new LogWatermark
    val pending = new LogPending
    val waiters = new LogWaiters
    val hold = new LogHold
    val fault = RegInit(False)
  }
  import living.{assembler, lanes, watermark, pending, waiters}

  // entries into pages
  private val merged = Stream(LogAppend())
  private val groupOpen = RegInit(False)
  when(merged.fire)(groupOpen := !merged.last)
  private val moves = RegInit(False) // it is the turn of `relocate`, which stays: chosen a clock before
  moves := relocate.valid && !relocate.fire && (merged.fire.mux(merged.last, !groupOpen) || living.fault)
  private val mayAppend = !moves && (groupOpen || watermark.groupRoom || living.fault)
  merged.valid := moves || append.valid && mayAppend
  merged.payload := Mux(moves, relocate.payload, append.payload)
  relocate.ready := merged.ready && moves
  append.ready := merged.ready && mayAppend
  assembler.enable := enable
  assembler.dropping := living.fault
  assembler.generation := generation
  assembler.driveId := driveId
  assembler.append << merged
  assembler.ready := living.pages.frameFree && lanes.some
  assembler.watermarkRoom := RegNext(watermark.room) init False
  assembler.flushTo := drain.mux(assembler.head, waiters.flushTo)
  waiters.plp := plp
  assembler.commitTo := RegNext(Mux(living.pages.calm, waiters.commitTo, waiters.readyTo)) init 0
  assembler.rescueTo := rescueTo
  assembler.mayClose := living.pages.mayClose
  living.hold.closing := assembler.closing
  living.hold.forHost := assembler.forHost
  living.hold.page := living.pages.page.resized
  living.hold.retired := living.pages.pages.resized
  assembler.mayRescue := living.hold.may || living.fault
  assembler.page := living.pages.page
  // the header's second half first; whether the writer takes an entry does not wait for there being one
  private val halves = Seq(living.pages.header, assembler.record)
  writer.record.valid := halves.map(_.valid).orR
  writer.record.payload := Mux(halves(0).valid, halves(0).payload, halves(1).payload)
  halves(0).ready := writer.record.ready
  halves(1).ready := writer.record.ready && !halves(0).valid
  head := assembler.head
  groupEnd := assembler.groupEnd

  // pages to flash
  lanes.block << logBlock.haltWhen(!enable)
  lanes.lane := living.pages.lane
  lanes.dieNow := dieNow
  living.pages.usable := lanes.usable
  living.pages.near := lanes.near
  living.pages.dies := lanes.dies
  living.pages.idleDies := idleDies
  living.pages.together := together
  living.pages.saving := saving
  lanes.waiting := living.pages.waiting
  lanes.advance := living.pages.advance
  lanes.skip := living.pages.skip
  lanes.noMore := noMore
  logBlockRoom := lanes.room & B(p.lanes bits, default -> enable)
  logLeft := lanes.left
  living.pages.closed.valid := assembler.closing
  living.pages.closed.payload := assembler.head
  living.pages.available := lanes.available
  living.pages.current := lanes.current
  living.pages.next := lanes.next
  living.pages.lanePage := lanes.page
  living.pages.watermark := watermark.mark
  living.pages.accepted := writer.accepted
  living.pages.written := writer.written
  program << living.pages.program
  living.pages.programDone << programDone
  badBlock << living.pages.badBlock
  pages := living.pages.pages
  durable := living.pages.durable
  mark := watermark.mark
  data.mark := watermark.mark
  durableMark := living.pages.durableMark
  lanes.capture := place.capture
  lanes.shown := place.lane
  place.page := RegNextWhen(living.pages.nextPage, place.capture)
  place.first := RegNextWhen(living.pages.nextFirst, place.capture)
  place.block := lanes.shownBlock.resized
  place.row := lanes.shownPage.resized

  // what is complete
  private val isMap = merged.kind === LogKind.MAP
  private val done = pageDone.haltWhen(assembler.pushed)
  done.ready := True
  watermark.head := assembler.head
  watermark.push := assembler.pushed
  watermark.complete := !isMap
  watermark.done.valid := done.valid && done.ok
  watermark.done.payload := done.index(9 downto 0)
  living.plain.head := assembler.head
  living.plain.push := assembler.pushed
  living.plain.complete := !isMap || merged.inTx
  living.plain.done.valid := done.valid && done.ok && !done.hasTx
  living.plain.done.payload := done.index(9 downto 0)
  pending.up.valid := RegNext(assembler.pushed && isMap && merged.inTx) init False
  pending.up.payload := RegNext(merged.serial(4 downto 0))
  pending.down.valid := RegNext(done.valid && done.ok && done.hasTx) init False
  pending.down.payload := RegNext(done.txid)

  // who waits
  waiters.waiter << waiter.haltWhen(!enable)
  waiters.durable := living.pages.durable
  waiters.mark := watermark.mark
  waiters.plain := living.plain.mark
  waiters.fault := living.fault
  waiters.none := pending.none
  pending.ask := waiters.ask
  tx << waiters.tx
  waitDone << waiters.waitDone

  private val stuck =
    merged.valid && !lanes.some && lanes.ends || living.pages.lacks && lanes.over || living.pages.stranded && lanes.ends
  private val stuckFor = Reg(UInt(4 bits)) init 0 // clocks: a block may be on its way here
  stuckFor := Mux(!stuck, U(0), Mux(stuckFor.andR, stuckFor, stuckFor + 1))
  when(living.pages.failed || (done.valid && !done.ok) || writer.error || giveUp || stuckFor.andR)(living.fault := True)
  fault := living.fault
  dirty := assembler.head =/= living.pages.durable || assembler.head =/= watermark.mark
  evRecord := assembler.pushed && merged.kind === LogKind.COMMIT
  evRecordTxid := merged.serial(4 downto 0)
  evDurable := waiters.evDurable
}
