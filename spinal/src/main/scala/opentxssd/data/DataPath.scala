// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import opentxssd._
import opentxssd.flash.{FlashDone, FlashOp}
import opentxssd.host.{Completion, HostCmd, HostData, Intake, Supply}
import opentxssd.log.{LogAppend, LogPort, LogReserve}
import opentxssd.remap.{RemapPort, RemapUser, TxOp, TxView}
import spinal.core._
import spinal.lib._
import spinal.lib.bus.amba4.axi._

/** From a validated host command to map, log and flash, and back.
  *
  * {{{
  *   dpCmd -+-> FrameFill -> CommandExecutor -> append, waiter             (all but READ, one at a time)
  *          |                    |  |  WriteBuffer -> FrameIssue -> append, write
  *          |                    |  op, rsp
  *          |      WriteFramePool ---+--- RemapPort --- remap engine     (after each program: SWAP, pageDone)
  *          |        Rescue -----+                                   (after a failed one, or a copy by firmware:
  *          RELOCATE, SWAP)
  *          |                    |
  *          +------------> ReadPath -> ReadReturn -> rdata              (READs, side by side)
  * }}}
  *
  * Contract: one `dpDone` per command; the command queue sends nothing that conflicts with a command whose `dpDone` has
  * not come. Status and order of writing commands: `CommandExecutor`; of reads: `ReadPath` and `ReadReturn`.
  * `releasedPages` counts NAND pages that fell out of use, `commits` the COMMITs that completed. `giveUp`: a page is
  * needed in the middle of a group, or for one whose program failed, no block is left and no event of a failing block
  * waits for firmware. `busy`: a command, a program or a swap is under way. Reset loses all; frames are usable
  * `writeFrames` clocks later.
  *
  * No deadlock. Waits go only downwards in this list, so there is no cycle; the bottom depends on nobody.
  *  1. The host gives `wdata` that was asked for, or its WRITE is aborted (`hostTimeout`), and takes `rdata` and
  *     completions; nothing of one is waited for in giving the other: a READ needs no frame of a WRITE that is not
  *     linked, and `wdataReq` waits only for frames.
  *  2. FrameFill waits for frames and for the CommandExecutor. The command queue sends a WRITE when it finds its frames
  *     beside those of all WRITEs that have not got theirs, and its pages (`framesFree`, `fetched`, `settled`), so
  *     WRITEs that are filled side by side never wait for each other; and one command that is no READ when `takes` and
  *     `takesWrites` say that there is a place: so none of these waits in front of a READ, and for firmware only after
  *     a failing block.
  *  3. The CommandExecutor waits for firmware (pages, or `full`; log pages, or `logFull`), for the log to take
  *     entries and waits, for the write buffer, which may wait until FrameIssue has issued a group that it has begun,
  *     for frames that were made early to be issued, and for COMMITTING to end: that needs log and write frame pool
  *     only. FrameIssue waits for pages, of which each frame in the buffer has one promised, for the log to take
  *     entries and for the scheduler to take programs. Whoever waits for room has the buffer issued (`background`),
  *     so frames and pages come. After `fault` nobody waits for COMMITTING or the buffer, and FrameFill not for
  *     frames.
  *  4. A frame comes free by its program, or its rescue (pages, or `full` and then `giveUp`; log; flash), its SWAP and
  *     its readers: ReadReturn, which waits only for frame memory and host. A page read waits for a read frame:
  *     ReadReturn again.
  *  5. Lookups, swaps and links wait for the engine. The engine waits for its answers to be taken: each user takes them
  *     unconditionally (ReadPath keeps room for a whole group, the CommandExecutor asks one at a time, WriteFramePool
  *     waits for `pageDone`). An open group is a READ's, whose LOOKUPs wait only for places and the engine; the others
  *     wait for its end.
  *  6. `pageDone` and the done streams are always taken: the log and the write frame pool need nothing from above for
  *     that. The rescue's RELOCATE waits for the end of an open group, so for programs to be taken: so a failed page
  *     waits for the rescue beside the done beats, not before them.
  *
  * So 32 write frames (one command) are enough to make progress; more let others fill while one is issued.
  */
class DataPath(p: OtxParam) extends Component {
  setDefinitionName("otx_data_path")

  val dpCmd = slave port Stream(HostCmd())
  val dpDone = master port Stream(Completion())
  val hostData = Ports.bare(slave port HostData())
  val supply = Ports.bare(in port Supply())
  val intake = Ports.bare(out port Intake())
  val remap = Ports.bare(master port RemapUser())
  val tx = master port Stream(TxOp())
  val view = Ports.bare(slave port TxView())
  val released = slave port Stream(Word())
  val log = Ports.bare(master port LogPort())
  val alloc = slave port Stream(UInt(30 bits))
  val write, read = master port Stream(FlashOp())
  val writeDone, readDone = slave port Stream(FlashDone())
  val frame = master port Axi4(p.axi)
  val mapTable = master port Axi4(p.remap.tableAxi)
  val changed = slave port Flow(UInt(p.lpnBits bits)) // of the remap engine
  val mapping = out port Bool() // table memory's port is that of `mapTable`
  val move = slave port Stream(PageMove())
  val badBlock = master port Stream(UInt(30 bits)) // any page of it
  val eventWaits = in port Bool()
  val loss = Ports.bare(in port RecoveryLoss())
  val counters = Ports.bare(out port DataCounters())
  val picked = slave port Flow(UInt(30 bits))
  val reclaim = Ports.bare(slave port ReclaimPort())
  // a page that firmware has copied: bit 0 it is with the rescue, or waits to come to it; bit 1: and not only because
  // the log is short
  val moving = out port Bits(2 bits)
  val bufferLimit = in port UInt(16 bits) // frames that may wait in the write buffer
  val hostTimeout = in port UInt(FrameFill.timeoutBits bits) // `FrameFill`
  val dieIdle = in port Bool() // some die has nothing to do
  val starved = in port Bool() // a WRITE waits for room
  val inOrder, plp, dumping = in port Bool() // `FrameIssue`, `CommandExecutor`; all frames are issued, at once
  val durableMark = in port UInt(48 bits)
  val enable = in port Bool()
  val held = out port UInt(48 bits) // `BufferTurn`
  val waiting = out port Bool() // a frame is in the write buffer
  val framesLost = out port UInt(16 bits) // they hold nothing that is to be saved, and never come back
  val buffered = out port Bool() // a plain frame is linked, or about to be, and not issued
  val pageWanted = out port Bool() // the rescue waits for a page, and the allocator has none
  val asked = out port UInt(9 bits) // of CHECKPOINT: `CommandExecutor`
  val busy = out port Bool()
  val evCommitCmd = out port Bool()
  val evCommitTag, evCommitTxid = out port UInt(5 bits)
  val evCommitEntries = out port UInt(16 bits)
  import log.{append, durable, giveUp, head, mark, pageDone, relocate, rescueTo, saving, waitDone, waiter}
  import supply.{allocLeft, fault, full, logLeft}

  private val fill = new FrameFill(p)
  private val executor = new CommandExecutor(p)
  private val buffer = new WriteBuffer(p)
  private val issuer = new FrameIssue(p)
  private val pool = new WriteFramePool(p)
  private val reader = new ReadPath(p)
  private val readReturn = new ReadReturn(p)
  private val rescue = new Rescue
  private val port = new RemapPort(4)
  private val pages = new MapPages(p)

  private val routes = StreamDemux(dpCmd, (dpCmd.opcode === Opcode.READ).asUInt, 2)
  fill.cmd << routes(0)
  fill.timeout := hostTimeout
  intake.takes := fill.takes
  intake.takesWrites := fill.takesWrites
  intake.takesReads := reader.few
  reader.cmd << routes(1).halfPipe()

  // Host data and frames
  hostData.wdataReq << fill.wdataReq
  fill.wdata << hostData.wdata
  fill.free << pool.free
  fill.fault := fault
  hostData.rdata << readReturn.rdata
  private val mover = pages.active.asUInt // whose frame memory is: no command is under way at the mount
  frame.aw << StreamMux(mover, Seq(fill.axi.aw, pages.frame.aw))
  frame.w << StreamMux(mover, Seq(fill.axi.w, pages.frame.w))
  frame.ar << StreamMux(mover, Seq(readReturn.axi.ar, pages.frame.ar))
  for ((b, to) <- StreamDemux(frame.b, mover, 2).zip(Seq(fill.axi.b, pages.frame.b))) to << b
  for ((r, to) <- StreamDemux(frame.r, mover, 2).zip(Seq(readReturn.axi.r, pages.frame.r))) to << r

  // Writing commands
  executor.filled << fill.filled
  executor.frames << fill.frames
  pool.giveBack << StreamArbiterFactory().lowerFirst.noLock.onArgs(executor.giveBack, buffer.absorbed)
  intake.framesFree := pool.freeCount
  framesLost := pool.lost
  intake.fetched << fill.fetched.stage()
  // each block of a WRITE takes a page, or has ended without
  private val left = executor.unused.valid.mux(executor.unused.payload, U(0, 6 bits)) +
    buffer.absorbed.fire.asUInt + issuer.ends.valid.asUInt
  intake.settled.valid := RegNext(left =/= 0) init False
  intake.settled.payload := RegNext(left)
  pool.describe << issuer.describe
  tx << executor.tx
  executor.view <> view
  private val taken = StreamDemux(alloc, rescue.wantsPage.asUInt, 2)
  issuer.alloc << taken(0)
  private val appends = new AppendTurn // between the entries of a group comes no other
  appends.users(0) << issuer.append
  appends.users(1) << executor.append
  appends.fault := fault
  append << appends.out
  executor.appended << append.toFlowFire
  executor.sequence := issuer.sequence
  executor.head := head
  issuer.head := head
  issuer.places := RegNext(supply.places =/= 0) init False
  // the early list has the class of the most urgent command that has asked for frames in it
  private val earlyRank = Reg(UInt(2 bits)) init 0
  private val askedRank = ClassRank(executor.gather.priority)
  when(executor.gather.valid) {
    when(askedRank > earlyRank)(earlyRank := askedRank)
  } elsewhen (buffer.view.ticket.early === buffer.view.ended.early)(earlyRank := 0)
  issuer.earlyRank := earlyRank
  issuer.inOrder := inOrder && !dumping
  issuer.mark := mark
  executor.plp := plp
  saving := pool.failing
  buffer.link << executor.link
  buffer.gather << executor.gather
  buffer.view <> executor.buffer
  buffer.fault := fault
  buffer.ends << issuer.ends
  issuer.frames << buffer.issue
  private val tight = RegNext(logLeft <= LogReserve.open(p) + LogReserve.spread(p)) init True
  executor.tight := tight
  private val turns = new BufferTurn
  turns.enable := enable
  turns.head := head
  turns.durableMark := durableMark
  turns.old := buffer.old
  turns.linking := executor.linking
  buffer.turn := turns.turn
  held := turns.held
  buffered := RegNext(buffer.plain || executor.linking, True)
  waiting := RegNext(buffer.view.waiting =/= 0 || executor.linking, True)
  private val quiet = Reg(UInt(15 bits)) init 0 // clocks without a new frame
  quiet := executor.linking.mux(U(0), quiet + (!quiet.msb).asUInt)
  // what may wait keeps no die's queue full: who needs a page soon would stand behind it
  private val calm = RegNext(bufferLimit === 0 || dieIdle) init False
  private val tooMuch = RegNext(buffer.view.waiting > bufferLimit || quiet.msb || starved || tight) init True
  // but not for ever: dies that read without a pause would leave no frame for a WRITE that waits
  private val wishes = tooMuch || !turns.ready
  private val passed = Reg(UInt(12 bits)) init 0 // clocks in which it wished in vain
  when(!wishes || buffer.issue.fire && !buffer.issue.early)(passed := 0) elsewhen (!passed.andR)(passed := passed + 1)
  buffer.background := wishes && (calm || passed.andR) || dumping
  waiter << executor.waiter
  executor.supply := supply
  executor.loss := loss
  asked := executor.asked
  evCommitCmd := executor.evCommit
  evCommitTag := executor.evCommitTag
  evCommitTxid := view.useTxid
  evCommitEntries := executor.evCommitEntries

  // After a program
  private val ofRescue = U(1 << 15, 16 bits) // in the cookie
  private val rescueWrite = rescue.write.map { op =>
    val marked = FlashOp()
    marked.assignAllByName(op)
    marked.cookie.allowOverride
    marked.cookie := op.cookie | ofRescue
    marked
  }
  write << StreamArbiterFactory().lowerFirst.transactionLock.onArgs(rescueWrite, issuer.write)
  private val programmed = StreamDemux(writeDone, writeDone.cookie.msb.asUInt, 2)
  pool.writeDone << programmed(0)
  rescue.writeDone << programmed(1)
  pageDone << pool.pageDone

  // Pages that failed or are moved
  rescue.failed << pool.failed
  pool.rescued << rescue.rescued
  private val logShort = RegNext(logLeft <= LogReserve.reserved(p)) init True
  // What is reserved of the log is not for these: nothing is lost without them. And they come behind all pages that
  // failed: one of these may be what was copied, and of its RELOCATEs the first is the one that recovery follows.
  rescue.move << move.haltWhen(logShort && !fault || pool.failing)
  rescue.alloc << taken(1).haltWhen(issuer.holds) // pages go to their block in the order in which they were taken
  private val noting = RegInit(False) // a note of firmware waits for its place in the log
  private val urgent = RegInit(False) // it may take a page of the log's reserve
  when(reclaim.note) {
    noting := True
    urgent := reclaim.noteUrgent || noting && urgent
  }
  // All that waits in the buffer is issued first: what a note is for may need it (`BufferTurn`).
  // The log becomes durable up to here then, so that the page with the note may bring that watermark (rule mark-log)
  private val noteTo, noteFrom = Reg(UInt(48 bits)) init 0
  private val begun = RegInit(False)
  private val behind = RegNext(durable >= noteFrom) init False
  // what is offered stays, or the rescue behind it would wait for the log's room; LogReserve counts it
  private val offered = RegInit(False)
  private val turned = RegInit(False)
  turns.restart := noting && !turned && turns.ready
  when(turns.restart)(turned := True)
  when(noting && (turned && !turns.restart && turns.ready || fault) && !begun && (!logShort || urgent || fault)) {
    begun := True
    behind := False
    noteFrom := head
    noteTo := head
  }
  when(begun && (behind || fault))(offered := True)
  private val note = Stream(LogAppend())
  note.valid := offered
  note.payload.assignFromBits(B(0, widthOf(note.payload) bits))
  note.payload.allowOverride
  note.kind := LogKind.NOTE
  note.n := 1
  note.room := 1
  note.last := True
  when(note.fire) {
    noting := False
    begun := False
    turned := False
    offered := False
    noteTo := head + 1
  }
  reclaim.noting := noting
  relocate << StreamArbiterFactory().lowerFirst.transactionLock.onArgs(rescue.relocate, note)
  rescue.head := head
  rescue.durable := durable
  rescue.fault := fault
  rescueTo := (rescue.rescueTo > noteTo).mux(rescue.rescueTo, noteTo)
  badBlock << rescue.badBlock
  moving(0) := RegNext(move.valid || rescue.moving, True)
  moving(1) := RegNext(move.valid && (!logShort || fault) || rescue.moving, True)
  pageWanted := RegNext(rescue.wantsPage && !alloc.valid && allocLeft === 0) init False
  private val hungry = Reg(UInt(4 bits)) init 0 // for how long nobody has brought the page that is waited for
  private val starves =
    full && allocLeft === 0 && !alloc.valid && !eventWaits && (rescue.wantsPage || issuer.wants)
  hungry := Mux(!starves, U(0), Mux(hungry.andR, hungry, hungry + 1))
  giveUp := RegNext(hungry.andR) init False

  // Reads
  pool.pin << reader.pin
  pool.unpin << readReturn.unpin.halfPipe()
  reader.giveRead << readReturn.giveRead
  readReturn.start << reader.start
  readReturn.jobs << reader.jobs
  read << reader.read
  reader.readDone << readDone

  // The remap engine's users
  private val lookup = new FirmwareLookup
  private val shared = RemapUser() // rescue and firmware, told apart by their tags
  shared.op << StreamArbiterFactory().roundRobin.transactionLock.onArgs(rescue.remap.op, lookup.remap.op)
  private val sharedRsp = StreamDemux(shared.rsp, shared.rsp.tag(0).asUInt, 2)
  rescue.remap.rsp << sharedRsp(0)
  lookup.remap.rsp << sharedRsp(1)
  for ((user, n) <- Seq(pool.remap, executor.remap, reader.remap, shared).zipWithIndex) port.users(n) <> user
  remap <> port.engine

  // Completions and counters
  private val waited = Stream(Completion())
  waited.arbitrationFrom(waitDone)
  waited.tag := waitDone.tag.resized
  waited.status := waitDone.status
  waited.result := 0
  dpDone << StreamArbiterFactory().roundRobin.transactionLock.onArgs(
    executor.done.halfPipe(),
    waited,
    readReturn.done.halfPipe()
  )

  private val isCommit = Reg(Bits(OtxParam.tags bits)) init 0 // the tag's wait is a COMMIT
  when(waiter.fire)(isCommit(waiter.tag) := !waiter.flush)
  private val commitCount, releaseCount = Reg(UInt(32 bits)) init 0
  when(waitDone.fire && isCommit(waitDone.tag) && waitDone.status === Status.SUCCESS)(commitCount := commitCount + 1)
  counters.commits := commitCount
  private val pageCount = Reg(UInt(32 bits)) init 0
  when(write.fire)(pageCount := pageCount + 1)
  counters.pages := pageCount

  // What firmware asks
  private val live = new LiveCounts(p, downs = 3)
  live.picked << picked
  live.up << rescue.live
  live.down(0) << released.throwWhen(!released.isNand).map(_.value).queue(4)
  live.down(1) << pool.dead
  live.down(2) << rescue.dead
  live.ask << reclaim.liveAsk
  live.set << reclaim.liveSet
  reclaim.liveCount << live.count
  live.load << pages.load
  live.scan << reclaim.liveScan
  live.word := reclaim.liveWord
  reclaim.livePages := live.pages
  reclaim.liveMask << live.mask
  private val clears = reclaim.mapTask.op === MapOpcode.CLEAR
  live.clear := reclaim.mapTask.valid && clears
  pages.begin << reclaim.mapTask.throwWhen(clears)
  reclaim.mapState := pages.state
  reclaim.mapState.busy.allowOverride
  reclaim.mapState.busy := pages.state.busy || live.clearing
  private val changes = new MapChanged(p.mapPages)
  changes.written << changed.stage().map(_.resize(28))
  changes.applied << pages.applied
  changes.set << reclaim.changedSet
  changes.ask << reclaim.changedAsk
  changes.take := reclaim.changedTake
  reclaim.changedPages << changes.answer
  mapTable <> pages.table
  mapping := pages.active
  reader.turn := reclaim.readsTurn
  executor.health << reclaim.health
  reclaim.readsOld := reader.old
  private val begins = new TxFirst
  begins.appended << append.toFlowFire
  begins.head := head
  begins.txState := view.txState
  begins.ask << reclaim.txAsk
  begins.restored << reclaim.prepared.translateWith(reclaim.prepared.txid)
  executor.restored << reclaim.prepared
  reclaim.txOpen := begins.open
  reclaim.txFirst := begins.first
  lookup.ask << reclaim.lookup
  reclaim.found << lookup.found

  private val dropsPage = released.fire && released.isNand
  releaseCount := releaseCount + (dropsPage.asUInt +^ pool.missed.asUInt +^ rescue.drops.asUInt)
  counters.releasedPages := releaseCount
  executor.counters := counters

  private val commands = Reg(UInt(7 bits)) init 0
  commands := commands + dpCmd.fire.asUInt - dpDone.fire.asUInt
  busy := RegNext(commands =/= 0 || dpCmd.valid || pool.inFlight || rescue.busy, True)
}
