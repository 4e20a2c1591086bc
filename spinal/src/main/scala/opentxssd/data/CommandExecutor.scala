// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import opentxssd._
import opentxssd.host.{Completion, HostCmd, Supply}
import opentxssd.log.{LogAppend, LogReserve, LogWait}
import opentxssd.remap.{RemapUser, TxOp, TxRestored, TxView}
import spinal.core._
import spinal.lib._

/** Does every command but READ, one at a time and in order: checks it, links it in the map, hands its frames to the
  * write buffer, or logs it.
  *
  * Why one at a time: its order is the order in which versions become visible, and that of the log must agree with it
  * for each LPN (rule lpn-order). While it works on a command no COMMIT record can be appended, so what the probes
  * found stays true.
  *
  * A command that needs frames to be issued first (FLUSH, RFLUSH, FUA, COMMIT, PREPARE, ABORT, RECOVER, a TRIM of
  * blocks that wait in the buffer) has them made early (Gather), steps aside with the buffer's ticket, and begins
  * again (`again`) when that is reached, in the order in which they stepped aside and before commands that are new.
  * So no write waits behind a FLUSH.
  *
  * Here is how a command begins and ends. Between the two are `BlockSteps` (WRITE, TRIM, WRITE ZEROES) and
  * `TransactionSteps` (BEGIN, PREPARE, COMMIT, ABORT, RECOVER); what they append is made by `CommandEntries`, the
  * answer of a QUERY by `QueryAnswer`; for a sum it is shown one txid after the other here (Sum).
  *
  * Completion: at the end of the command, which for a WRITE that waits for nothing is when its last frame is linked,
  * while the write buffer takes it; or by the log's `waitDone` when the command went to `waiter` (FLUSH, RFLUSH, FUA,
  * PREPARE, COMMIT, RELAXED or not, ABORT of a PREPARED one). Checks come in this order and change
  * nothing: TX_INVALID or TX_BUSY; what happened to the data; READ_ONLY; CAPACITY; TX_FULL. MEDIA_ERROR: the remap
  * engine answered with an error (other blocks of the command may be linked). CAPACITY: there is no room and none
  * will come, of data (`full`; each frame of the buffer needs a page, too) or of the log (`logFull`); or a PREPARE
  * that does not fit beside the PREPARED ones. The command queue sends what needs room when there is some, so Room
  * waits only for what a failing block took away meanwhile. After `fault` no loop here goes on waiting, and nobody
  * stays aside: what waits for the log ends with WRITE_FAULT.
  *
  * RFLUSH of a range: a LOOKUP of each block, or when the buffer has fewer frames than the range has blocks, a walk
  * over these; of a stream its list. When the log is nearly short (`tight`) whoever has frames made early has all of
  * them, also who stands aside already: so what waits in the buffer takes few pages of the log (`LogReserve`).
  *
  * With `plp` what is linked is safe: FLUSH, RFLUSH and FUA ask for no frame to be issued, and their waits end at once.
  *
  * CHECKPOINT only counts, and ends: firmware sees `asked`. A barrier closes the epoch (`Epochs`) at the end of its
  * command, however that ends, and when COMMITs and TRIMs before it that stand aside are in the log; new commands wait
  * for that.
  *
  * `linking`: a frame is linked, or about to be, and not in the buffer yet.
  *
  * Reset loses the command and those that stand aside.
  */
class CommandExecutor(p: OtxParam) extends Component {
  setDefinitionName("otx_command_executor")

  val filled = slave port Stream(FilledCmd())
  val frames = slave port Stream(UInt(16 bits))
  val giveBack = master port Stream(UInt(16 bits))
  val remap = Ports.bare(master port RemapUser())
  val tx = master port Stream(TxOp())
  val view = Ports.bare(slave port TxView())
  val restored = slave port Flow(TxRestored())
  val link = master port Stream(BufferLink())
  val gather = master port Stream(BufferGather())
  val buffer = slave port BufferView()
  val append = master port Stream(LogAppend())
  val appended = slave port Flow(LogAppend()) // what the log takes, of whomever
  val sequence = in port UInt(48 bits) // of the next program
  val head = in port UInt(48 bits)
  val waiter = master port Stream(LogWait())
  val supply = Ports.bare(in port Supply())
  val tight, plp = in port Bool()
  val counters = Ports.bare(in port DataCounters())
  val loss = Ports.bare(in port RecoveryLoss())
  val health = slave port Flow(HealthWord())
  val unused = master port Flow(UInt(6 bits)) // blocks of a WRITE that has ended, which take no page
  val done = master port Stream(Completion())
  val linking = out port Bool()
  val asked = out port UInt(9 bits) // the last CHECKPOINT: bit 8 its `arg`, 7:0 its `result`
  val evCommit = out port Bool()
  val evCommitTag = out port UInt(5 bits)
  val evCommitEntries = out port UInt(16 bits)

  // Those that stand aside come first when their frames are issued
  private case class Standing() extends Bundle {
    val cmd = HostCmd()
    val ticket = BufferTicket()
    val all = Bool() // it waits for all frames that were in the buffer
  }
  private case class Working() extends Bundle {
    val what = FilledCmd()
    val again, all = Bool()
  }
  private val aside = StreamFifo(Standing(), OtxParam.tags)
  private val waiting = aside.io.pop
  private val resumed = Stream(Working())
  resumed.arbitrationFrom(waiting.continueWhen(waiting.ticket.reached(buffer.ended) || supply.fault))
  resumed.what.cmd := waiting.cmd
  resumed.what.frames := 0
  resumed.what.status := Status.SUCCESS
  resumed.again := True
  resumed.all := waiting.all
  private val closing = RegInit(False) // a barrier waits for those before it that stand aside
  private val fresh = filled.haltWhen(closing).map { f =>
    val w = Working()
    w.what := f
    w.again := False
    w.all := False
    w
  }
  private val work = StreamArbiterFactory().lowerFirst.noLock.onArgs(resumed, fresh).halfPipe()
  private val again = RegNext(work.again)

  private val allInLog = RegNext(buffer.waiting === 0) init False // no frame waits; only this block links one
  private val sought = Reg(UInt(16 bits)) // RFLUSH: blocks that were looked up
  private val hand = new CommandInHand(p, work.what, view)
  private val flow = new ExecutorFlow(work.what.frames, again)
  private val behind = Bool() // what the command in hand must not overtake may wait in the buffer
  private val wish = Stream(BufferGather()) // stays what it is, and is asked for from its second clock on
  private val wished = RegNext(wish.valid && !wish.ready) init False
  gather.valid := wished
  gather.payload := RegNext(wish.payload)
  wish.ready := wished && gather.ready
  private val blocks = new BlockSteps(hand, flow, remap, append, frames, link, wish, sought, behind, supply.fault)
  private val logged = appended.stage() // a command that counts on it has waited for more than this clock
  private val counts = new TxEntryCounts
  counts.appended << logged
  counts.begins.valid := tx.fire && flow.txOp === TxOpcode.BEGIN
  counts.begins.payload := hand.txid
  private val preserving = link.fire && link.what.ordered || append.fire && append.ordered
  private val closes = False
  private val epochs = new Epochs(logged, RegNext(head), preserving, closes)
  private val entries = new CommandEntries(hand, flow, blocks, append, counts, sequence, epochs.epoch, head)
  private val covered = RegNext(buffer.over.reached(buffer.ended) || supply.fault) init False
  private val transactions =
    new TransactionSteps(hand, flow, entries, append, tx, restored, covered, (BigInt(p.txEntries) min p.lbas).toInt)
  private val query = new QueryAnswer(p)

  import ExecutorState._
  import flow.{change, end, settle, state, status}
  import hand.{block, cmd, isCommit, isFree, isOpen, isPrepared, isTrim, isWrite, txid}
  import supply.{allocLeft, fault, full, logFull, logLeft}
  import transactions.{commit, prepare, recover}

  linking := state === Link && isWrite || state === Linked || state === Keep
  evCommit := False
  evCommitTag := cmd.tag.resized
  evCommitEntries := hand.count

  // A barrier: what has no entry yet and keeps its place among the epochs stands aside, and is waited for
  link.what.epoch := epochs.epoch
  behind := epochs.any && buffer.waiting =/= 0 && !cmd.hasTx && !cmd.orderless
  private val keepsPlace = isCommit || isTrim
  private val apart = Reg(UInt(6 bits)) init 0
  apart := apart + (aside.io.push.fire && keepsPlace).asUInt - (work.fire && again && keepsPlace).asUInt
  when(work.fire && !again && (cmd.barrier || cmd.opcode === Opcode.BARRIER))(closing := True)
  when(closing && apart === 0) {
    closes := True
    closing := False
  }

  // What is made early
  private val isRange = cmd.opcode === Opcode.RFLUSH && !cmd.arg(0)
  private val seeks = Reg(Bool()) // RFLUSH: block by block
  wish.valid := state === Gather || state === Seek && isTrim && blocks.at.isBuf && !again || state === SeekOne
  wish.kind := GatherKind.Plain
  wish.key := cmd.lba
  wish.blocks := cmd.count
  wish.behind := isCommit
  wish.epoch := epochs.epoch
  wish.priority := cmd.priority
  private def gathers(kind: GatherKind.E, key: UInt): Unit = {
    wish.kind := kind
    wish.key := key.resized
  }
  switch(cmd.opcode) {
    is(Opcode.COMMIT, Opcode.ABORT, Opcode.PREPARE)(gathers(GatherKind.Tx, txid))
    is(Opcode.WRITE)(when(cmd.hasTx)(gathers(GatherKind.Tx, txid)) otherwise gathers(GatherKind.One, blocks.first))
    is(Opcode.TRIM, Opcode.WRITE_ZEROES) {
      gathers(GatherKind.Behind, txid)
      when(state === Seek)(gathers(GatherKind.One, blocks.at.value))
    }
    is(Opcode.RECOVER)(gathers(GatherKind.Txs, txid))
    is(Opcode.RFLUSH) {
      gathers(GatherKind.Stream, cmd.stream)
      when(isRange)(gathers(GatherKind.Range, cmd.lba))
      when(state === SeekOne)(gathers(GatherKind.One, blocks.at.value))
    }
  }
  private val all = Reg(Bool()) // frames are made early, not what the command needs alone
  when(state =/= Gather && state =/= Aside)(all := tight && state =/= SeekOne && state =/= SeekLooked)
  when(state === Gather && all)(gathers(GatherKind.All, txid))
  aside.io.push.all := all || work.all || isTrim

  aside.io.push.valid := state === Aside
  aside.io.push.cmd := cmd
  aside.io.push.ticket := buffer.ticket

  private val dropping = state === Drop && block =/= work.what.frames
  giveBack.valid := dropping && frames.valid
  giveBack.payload := frames.payload
  frames.ready := link.fire || giveBack.fire

  waiter.valid := state === Wait
  waiter.tag := cmd.tag.resized
  waiter.flush := !isCommit
  waiter.relaxed := cmd.relaxed
  waiter.txid := txid
  waiter.index := Mux(hand.endsWithLog, entries.index + 1, head)
  waiter.after := Mux(isCommit, epochs.after, cmd.hasTx.mux(waiter.index, U(0, 48 bits)))

  private val pages = RegNext(buffer.waiting + hand.blocks)
  private val hasPages = allocLeft >= pages || !isWrite
  private val hasLog = logLeft > LogReserve.reserved(p)
  private val linked = Reg(UInt(6 bits)) // of its blocks
  when(state === Idle)(linked := 0).elsewhen(link.fire)(linked := linked + 1)
  unused.valid := RegNext(work.fire && isWrite && !again && linked =/= hand.blocks) init False
  unused.payload := RegNext(hand.blocks - linked)

  query.arg := cmd.arg
  query.state := hand.state
  query.count := hand.count
  query.older := view.older
  query.reached := view.reached
  query.memoryErrors := view.memoryErrors
  query.allocLeft := allocLeft
  query.counters := counters
  query.loss := loss
  query.health << health
  query.clear := state === Idle
  query.add := state === Sum
  private val told = Reg(Bool()) // a WRITE has its completion
  private val tells = RegNext(isWrite && hand.lastBlock && !isCommit && !cmd.fua) && !blocks.broken && !told
  when(state === Idle)(told := False)
  when(done.fire)(told := True)
  done.valid := state === Finish || (state === Keep || state === After) && tells
  done.tag := cmd.tag
  done.status := status
  private val asks = Reg(UInt(8 bits)) init 0
  private val off = RegInit(False)
  asked := (off ## asks).asUInt
  done.result := cmd.opcode.mux(
    U(Opcode.QUERY, 8 bits) -> query.answer,
    U(Opcode.CHECKPOINT, 8 bits) -> asks.resize(32),
    default -> U(0, 32 bits)
  )

  work.ready := False
  private def leave(): Unit = {
    work.ready := True
    state := Idle
  }
  switch(state) {
    is(Idle) {
      hand.take()
      blocks.clear()
      status := Status.SUCCESS
      when(work.valid)(state := Look)
    }
    is(Look) {
      sought := 0
      seeks := isRange && cmd.count < buffer.waiting
      state := Start
    }
    is(Start) {
      when(again && tight && !work.all)(state := Gather).otherwise(switch(cmd.opcode) {
        is(Opcode.WRITE, Opcode.TRIM, Opcode.WRITE_ZEROES) {
          when(again && isWrite)(when(isCommit)(commit()) otherwise (state := Wait))
            .elsewhen(cmd.hasTx && !isFree && !isOpen)(end(Status.TX_INVALID))
            .elsewhen(work.what.status =/= Status.SUCCESS)(end(work.what.status))
            .otherwise(state := Room)
        }
        is(Opcode.BEGIN)(when(isFree)(state := Room) otherwise end(Status.TX_BUSY))
        is(Opcode.COMMIT) {
          when(again)(commit())
            .elsewhen(!isOpen && !isPrepared)(end(Status.TX_INVALID))
            .elsewhen(fault)(end(Status.READ_ONLY))
            .otherwise {
              evCommit := True
              state := Gather
            }
        }
        is(Opcode.ABORT) {
          entries.record := LogKind.ABORT
          when(isPrepared && fault)(end(Status.READ_ONLY))
            .elsewhen(isOpen || isPrepared)(state := again.mux(Record(), Gather()))
            .otherwise(end(Status.TX_INVALID))
        }
        is(Opcode.PREPARE)(when(isOpen)(state := Room) otherwise end(Status.TX_INVALID))
        is(Opcode.RECOVER)(when(again)(recover()) otherwise (state := Gather))
        is(Opcode.FLUSH)(state := (again || plp || allInLog).mux(Wait(), Gather()))
        is(Opcode.RFLUSH)(state := (again || plp || allInLog).mux(Wait(), (seeks && !tight).mux(SeekLook(), Gather())))
        is(Opcode.BARRIER)(end(Status.SUCCESS))
        is(Opcode.CHECKPOINT) {
          end(fault.mux(StatusCode(Status.READ_ONLY), StatusCode(Status.SUCCESS)))
          when(!fault) {
            asks := asks + 1
            off := cmd.arg(0)
          }
        }
        is(Opcode.QUERY) {
          when(query.unknown)(end(Status.INVALID_FIELD)).otherwise(end(Status.SUCCESS))
          when(query.sums) {
            txid := 0
            settle(Sum)
          }
        }
        default(end(Status.INVALID_OPCODE))
      })
    }
    is(Room) {
      when(fault)(end(Status.READ_ONLY))
        .elsewhen(hasPages && hasLog) {
          when(cmd.opcode === Opcode.BEGIN)(change(TxOpcode.BEGIN, Finish))
            .elsewhen(cmd.opcode === Opcode.PREPARE) {
              when(!transactions.fits)(end(Status.CAPACITY)).elsewhen(again)(prepare()).otherwise(state := Gather)
            }
            .elsewhen(cmd.hasTx.mux(hand.blocks > hand.room, hand.committing) || isTrim && !again)(state := Probe)
            .elsewhen(hand.opens)(change(TxOpcode.BEGIN, isWrite.mux(Link(), Append())))
            .otherwise(state := isWrite.mux(Link(), Append()))
        }
        .elsewhen(!hasPages && full || !hasLog && logFull)(end(Status.CAPACITY))
        .elsewhen(again)(state := Aside) // it may wait for firmware: others go on
    }
    blocks.steps()
    is(After) {
      when(blocks.broken) {
        status := Status.MEDIA_ERROR
        state := Finish
      }.elsewhen(isWrite && (isCommit || cmd.fua && !plp)) {
        evCommit := isCommit
        state := Gather
      }.otherwise {
        state := Mux(cmd.fua, Wait(), Finish())
        when(told || done.fire)(leave())
      }
    }
    is(Gather)(when(wish.ready)(state := Aside))
    is(Aside)(when(aside.io.push.ready)(leave()))
    // RFLUSH, block by block: its LOOKUP, and what that has found
    is(SeekLook)(when(remap.op.ready)(state := SeekLooked))
    is(SeekLooked) {
      when(remap.rsp.valid) {
        sought := sought + 1
        state := SeekOne
        when(!remap.rsp.location.isBuf)(state := (sought + 1 === cmd.count).mux(Aside(), SeekLook()))
        when(remap.rsp.error) { // nobody knows whether it waits
          all := True
          state := Gather
        }
      }
    }
    is(SeekOne)(when(wish.ready)(state := (sought === cmd.count).mux(Aside(), SeekLook())))
    transactions.steps()
    is(Sum) {
      txid := txid + 1
      state := Mux(txid === OtxParam.txids - 1, Finish(), Settle())
    }
    is(Wait)(when(waiter.ready)(leave()))
    is(Drop) {
      when(giveBack.fire)(block := block + 1)
      when(!dropping)(state := Finish)
    }
    is(Finish)(when(done.ready)(leave()))
  }
}
