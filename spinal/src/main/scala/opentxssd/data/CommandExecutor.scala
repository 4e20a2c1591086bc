// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import opentxssd._
import opentxssd.flash.FlashOp
import opentxssd.host.{Completion, Supply}
import opentxssd.log.{LogAppend, LogReserve, LogWait}
import opentxssd.remap.{RemapUser, TxOp, TxRestored, TxView}
import spinal.core._
import spinal.lib._

/** Does every command but READ, one at a time and in order: checks it, logs it, links it in the map, issues its
  * programs.
  *
  * Why one at a time: its order is the order of the log and the order in which versions become visible, and the two
  * must agree for each LPN (rule lpn-order). While it works on a command no COMMIT record can be appended, so what the
  * probes found stays true. The entries of a plain command are appended only when all data and all pages are there, so
  * an open group never waits for a host.
  *
  * Here is how a command begins and ends. Between the two are `BlockSteps` (WRITE, TRIM, WRITE ZEROES) and
  * `TransactionSteps` (BEGIN, PREPARE, COMMIT, ABORT, RECOVER); what they append is made by `CommandEntries`, the
  * answer of a QUERY by `QueryAnswer`; for a sum it is shown one txid after the other here (Sum).
  *
  * Completion: at the end of the command, or by the log's `waitDone` when the command went to `waiter` (FLUSH, FUA,
  * PREPARE, COMMIT, RELAXED or not, ABORT of a PREPARED one). Checks come in this order and change nothing:
  * TX_INVALID or TX_BUSY; what happened to the data; READ_ONLY; CAPACITY; TX_FULL. MEDIA_ERROR: the remap engine
  * answered with an error (other blocks of the command may be linked).
  * WRITE_FAULT: a failing block took the pages away, and there is no other. A plain WRITE of which blocks are linked is
  * then linked whole, the rest in frames that no page takes over (`stranded`; the drive is read-only from then on): so
  * it is seen whole, and its open group is dropped with the log. Of one in a transaction, which can no longer commit,
  * other blocks may be linked.
  * CAPACITY: there is no room and none will come, of data (`full`) or of the log (`logFull`); or a PREPARE that does
  * not fit beside the PREPARED ones. The command queue sends
  * what needs room when there is some, so Room waits only for what a failing block took away meanwhile. After `fault`
  * no loop here goes on waiting.
  *
  * CHECKPOINT only counts, and ends: firmware sees `asked`. A barrier closes the epoch (`Epochs`) at the end of its
  * command, however that ends.
  *
  * Figures: a plain WRITE of one block takes 10 clocks and the engine's PLAIN. Reset loses the command, sequence
  * numbers start again (the generation tells them apart).
  */
class CommandExecutor(p: OtxParam) extends Component {
  setDefinitionName("otx_command_executor")

  val filled = slave port Stream(FilledCmd())
  val frames = slave port Stream(UInt(16 bits))
  val giveBack = master port Stream(UInt(16 bits))
  val describe = master port Flow(FrameDescriptor())
  val remap = Ports.bare(master port RemapUser())
  val tx = master port Stream(TxOp())
  val view = Ports.bare(slave port TxView())
  val restored = slave port Flow(TxRestored())
  val alloc = slave port Stream(UInt(30 bits))
  val write = master port Stream(FlashOp())
  val append = master port Stream(LogAppend())
  val head = in port UInt(48 bits)
  val waiter = master port Stream(LogWait())
  val supply = Ports.bare(in port Supply())
  val counters = Ports.bare(in port DataCounters())
  val loss = Ports.bare(in port RecoveryLoss())
  val health = slave port Flow(HealthWord())
  val settled = master port Flow(UInt(6 bits)) // blocks of a WRITE: issued, or without a page at its end
  val done = master port Stream(Completion())
  val wantsPage, holdsPage = out port Bool() // waits for a page; has one that it has not issued
  val asked = out port UInt(9 bits) // the last CHECKPOINT: bit 8 its `arg`, 7:0 its `result`
  val evCommit = out port Bool()
  val evCommitEntries = out port UInt(16 bits)

  private val hand = new CommandInHand(p, filled.payload, view)
  private val flow = new ExecutorFlow(filled.frames)
  private val blocks = new BlockSteps(hand, flow, remap, alloc, append, frames, write, supply.fault)
  private val begins = tx.fire && flow.txOp === TxOpcode.BEGIN
  private val barrier = filled.fire && (filled.cmd.barrier || filled.cmd.opcode === Opcode.BARRIER)
  private val entries = new CommandEntries(hand, flow, blocks, append, alloc.payload, head, begins, barrier)
  private val transactions =
    new TransactionSteps(hand, flow, entries, append, tx, restored, (BigInt(p.txEntries) min p.lbas).toInt)
  private val query = new QueryAnswer(p)

  import ExecutorState._
  import flow.{change, end, settle, state, status}
  import hand.{block, cmd, isCommit, isFree, isOpen, isPrepared, isWrite, txid}
  import supply.{allocLeft, fault, full, logFull, logLeft}
  import transactions.{commit, prepare, recover}

  wantsPage := blocks.wantsPage
  holdsPage := blocks.holdsPage
  evCommit := transactions.commits
  evCommitEntries := hand.count

  describe.valid := write.fire
  describe.frame := frames.payload
  describe.lpn := hand.lpn
  describe.ppn := blocks.ppn
  describe.index := entries.index
  describe.hasTx := cmd.hasTx
  describe.txid := txid

  private val dropping = state === Drop && block =/= filled.frames
  giveBack.valid := dropping && frames.valid
  giveBack.payload := frames.payload
  frames.ready := write.fire || giveBack.fire || blocks.skipsIssue

  waiter.valid := state === Wait
  waiter.tag := cmd.tag
  waiter.flush := !isCommit
  waiter.relaxed := cmd.relaxed
  waiter.txid := txid
  waiter.after := entries.epochs.after
  waiter.index := Mux(hand.isFlush, head, entries.index + 1)

  private val hasPages = allocLeft >= hand.blocks || !isWrite
  private val hasLog = logLeft > LogReserve.reserved(p)
  private val issued = Reg(UInt(6 bits)) // of its blocks
  when(state === Idle)(issued := 0).elsewhen(write.fire)(issued := issued + 1)
  settled.valid := RegNext(write.fire || filled.fire && isWrite && issued =/= hand.blocks) init False
  settled.payload := RegNext(Mux(write.fire, U(1), hand.blocks - issued))

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
  done.valid := state === Finish
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

  filled.ready := False
  switch(state) {
    is(Idle) {
      hand.take()
      blocks.clear()
      status := Status.SUCCESS
      when(filled.valid)(state := Look)
    }
    is(Look)(state := Start)
    is(Start) {
      switch(cmd.opcode) {
        is(Opcode.WRITE, Opcode.TRIM, Opcode.WRITE_ZEROES) {
          when(cmd.hasTx && !isFree && !isOpen)(end(Status.TX_INVALID))
            .elsewhen(filled.status =/= Status.SUCCESS)(end(filled.status))
            .otherwise(state := Room)
        }
        is(Opcode.BEGIN)(when(isFree)(state := Room) otherwise end(Status.TX_BUSY))
        is(Opcode.COMMIT) {
          when(!isOpen && !isPrepared)(end(Status.TX_INVALID))
            .elsewhen(fault)(end(Status.READ_ONLY))
            .otherwise(commit())
        }
        is(Opcode.ABORT) {
          entries.record := LogKind.ABORT
          when(isPrepared && fault)(end(Status.READ_ONLY))
            .elsewhen(isOpen || isPrepared)(state := Record)
            .otherwise(end(Status.TX_INVALID))
        }
        is(Opcode.PREPARE)(when(isOpen)(state := Room) otherwise end(Status.TX_INVALID))
        is(Opcode.RECOVER)(recover())
        is(Opcode.FLUSH)(state := Wait)
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
      }
    }
    is(Room) {
      when(fault)(end(Status.READ_ONLY))
        .elsewhen(hasPages && hasLog) {
          when(cmd.opcode === Opcode.BEGIN)(change(TxOpcode.BEGIN, Finish))
            .elsewhen(cmd.opcode === Opcode.PREPARE)(when(transactions.fits)(prepare()) otherwise end(Status.CAPACITY))
            .elsewhen(Mux(cmd.hasTx, hand.blocks > hand.room, hand.committing))(state := Probe)
            .elsewhen(hand.opens)(change(TxOpcode.BEGIN, Append))
            .otherwise(state := Append)
        }
        .elsewhen(!hasPages && full || !hasLog && logFull)(end(Status.CAPACITY))
    }
    blocks.steps()
    is(After) {
      when(blocks.broken) {
        status := Status.MEDIA_ERROR
        state := Finish
      }.elsewhen(blocks.stranded) {
        status := Status.WRITE_FAULT
        state := Finish
      }.elsewhen(isCommit)(commit())
        .otherwise(state := Mux(cmd.fua, Wait(), Finish()))
    }
    transactions.steps()
    is(Sum) {
      txid := txid + 1
      state := Mux(txid === OtxParam.txids - 1, Finish(), Settle())
    }
    is(Wait) {
      when(waiter.ready) {
        filled.ready := True
        state := Idle
      }
    }
    is(Drop) {
      when(giveBack.fire)(block := block + 1)
      when(!dropping)(state := Finish)
    }
    is(Finish) {
      when(done.ready) {
        filled.ready := True
        state := Idle
      }
    }
  }
}
