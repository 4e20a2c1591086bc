// SPDX-License-Identifier: Apache-2.0
package opentxssd

import spinal.core._
import spinal.lib._
import spinal.lib.bus.amba4.axi._

/** The commit log: entries in order into log pages, pages to flash, and who waits for them. docs/interfaces.md "Commit log" has the formats.
  *
  * {{{
  *   append -> LogAssembler -> LogFrameWriter -> frame       logBlock -> LogLanes
  *                  | closed page                            pageDone -> LogWatermark, LogPending
  *               LogPages -> program                         waiter -> LogWaiters -> tx, waitDone
  * }}}
  *
  * Throughput: one entry in 5 clocks, 10 clocks more per page of up to 126 entries. `head` is the index that the next entry taken from `append` gets.
  * `append` waits while: a page is being closed; all four frames hold pages under way; the lane in turn has no next block; 1,023 entries are above the
  * watermark. None of these needs an append, a wait or a commit to go away (programs finish, firmware gives blocks), so no cycle of waiting goes through the log.
  *
  * Order. lpn-order: entries get indexes, places and pages in the order of `append`; `durable` grows page by page in page order whatever order programs finish in.
  * commit-prefix: COMMIT waits end, and are made visible, in the order of `waiter`, which must be the order of their records. group: a page is not closed between
  * a group's first entry and its `last`, and closes before a group that does not fit.
  *
  * Watermark and counts: MAP and RELOCATE entries are outstanding until `pageDone`; MAP entries with `inTx` count for txid `serial[4:0]`, `pageDone` with `hasTx`
  * counts down. `pageDone` waits in a clock in which an entry is appended.
  *
  * Errors: a failed log page, a failed data page (`pageDone` without `ok`) or a write error of the frame memory sets `fault`. From then on no page begins to close, all
  * waits, old and new, end with WRITE_FAULT, COMMITs without being made visible (recovery decides about them), and entries are taken and dropped: nobody hangs.
  * After a write error of the frame memory only reset helps.
  *
  * `dirty`: an entry is not durable or not complete, or a page is on its way. `logLeft`: log pages that can still be started, the open one included; two clocks
  * late. `pages`: log pages that are durable. `evRecord`: a COMMIT entry is appended; `evDurable`: the conditions of the oldest COMMIT wait are met.
  *
  * Reset or `enable` low: page number 0, index 0, no blocks, no waits, no fault; blocks are taken only while `enable` is high, and `generation` and `driveId`
  * must not change then. `enable` may go low only when no program of the log is under way; a burst that has begun is still finished.
  */
class CommitLog(p: OtxParam) extends Component {
  setDefinitionName("otx_commit_log")

  val enable = in port Bool()
  val generation, driveId = in port UInt(32 bits)
  val append = slave port Stream(LogAppend())
  val head = out port UInt(48 bits)
  val waiter = slave port Stream(LogWait())
  val waitDone = master port Stream(TagStatus())
  val pageDone = slave port Stream(PageDone())
  val tx = master port Stream(TxOp())
  val logBlock = slave port Stream(LogBlock())
  val logBlockRoom = out port Bits(p.lanes bits)
  val logLeft = out port UInt(32 bits)
  val program = master port Stream(FlashOp())
  val programDone = slave port Stream(FlashDone())
  val frame = master port Axi4WriteOnly(p.axi)
  val pages = out port UInt(32 bits)
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
    val watermark = new LogWatermark
    val pending = new LogPending
    val waiters = new LogWaiters
    val fault = RegInit(False)
  }
  import living.{assembler, lanes, watermark, pending, waiters}

  // entries into pages
  assembler.enable := enable
  assembler.dropping := living.fault
  assembler.generation := generation
  assembler.driveId := driveId
  assembler.append << append
  assembler.ready := living.pages.frameFree && lanes.available
  assembler.watermarkRoom := watermark.room
  assembler.watermark := watermark.mark
  assembler.waitedTo := waiters.waitedTo
  assembler.nextFree := living.pages.nextFree
  assembler.page := living.pages.page
  assembler.lane := lanes.lane
  assembler.current := lanes.current
  assembler.next := lanes.next
  writer.record << assembler.record
  head := assembler.head

  // pages to flash
  lanes.block << logBlock.haltWhen(!enable)
  lanes.advance := assembler.closing
  logBlockRoom := lanes.room & B(p.lanes bits, default -> enable)
  logLeft := lanes.left
  living.pages.closed.valid := assembler.closing
  living.pages.closed.ppn := lanes.current @@ lanes.page
  living.pages.closed.records := writer.accepted + 1
  living.pages.closed.end := assembler.head
  living.pages.written := writer.written
  program << living.pages.program
  living.pages.programDone << programDone
  pages := living.pages.pages

  // what is complete
  private val isMap = append.kind === LogKind.MAP
  private val done = pageDone.haltWhen(assembler.pushed)
  done.ready := True
  watermark.head := assembler.head
  watermark.push := assembler.pushed
  watermark.complete := !isMap && append.kind =/= LogKind.RELOCATE
  watermark.done.valid := done.valid && done.ok
  watermark.done.payload := done.index(9 downto 0)
  pending.up.valid := RegNext(assembler.pushed && isMap && append.inTx) init False
  pending.up.payload := RegNext(append.serial(4 downto 0))
  pending.down.valid := RegNext(done.valid && done.ok && done.hasTx) init False
  pending.down.payload := RegNext(done.txid)

  // who waits
  waiters.waiter << waiter.haltWhen(!enable)
  waiters.durable := living.pages.durable
  waiters.mark := watermark.mark
  waiters.fault := living.fault
  waiters.none := pending.none
  pending.ask := waiters.ask
  tx << waiters.tx
  waitDone << waiters.waitDone

  when(living.pages.failed || (done.valid && !done.ok) || writer.error)(living.fault := True)
  fault := living.fault
  dirty := assembler.head =/= living.pages.durable || assembler.head =/= watermark.mark
  evRecord := assembler.pushed && append.kind === LogKind.COMMIT
  evRecordTxid := append.serial(4 downto 0)
  evDurable := waiters.evDurable
}
