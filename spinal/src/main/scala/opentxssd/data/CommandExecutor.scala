// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import opentxssd._
import opentxssd.flash.FlashOp
import opentxssd.host.{Completion, Supply}
import opentxssd.log.{LogAppend, LogReserve, LogWait}
import opentxssd.remap.{RemapUser, TxOp, TxView}
import spinal.core._
import spinal.lib._

/** Does every command but READ, one at a time and in order: checks it, logs it, links it in the map, issues its programs.
  *
  * Why one at a time: its order is the order of the log and the order in which versions become visible, and the two must agree for each LPN (rule lpn-order). While it works on a
  * command no COMMIT record can be appended, so what the probes found stays true. The entries of a plain command have no other entry between them and are one group of the log
  * (rule group); they are appended only when all data and all pages are there, so an open group never waits for a host.
  *
  * Per block: append to the log, then link in the map, then issue the program. "Link" makes the version visible, "issue" sends it to flash; here issue follows at once
  * (write-through). A TRIM or WRITE ZEROES is linked as a whole when all its entries are appended. A plain write or trim of a block of a COMMITTING transaction waits until that is over (rule lpn-order).
  *
  * Completion: at the end of the command, or by the log's `waitDone` when the command went to `waiter` (FLUSH, FUA, COMMIT, RELAXED or not). Checks come in this order and change nothing: TX_INVALID or TX_BUSY;
  * what happened to the data; READ_ONLY; CAPACITY; TX_FULL. MEDIA_ERROR: the remap engine answered with an error (other blocks of the command may be linked).
  * WRITE_FAULT: a failing block took the pages away, and there is no other. A plain WRITE of which blocks are linked is then linked whole, the rest in frames that no page takes over
  * (`stranded`; the drive is read-only from then on): so it is seen whole, and its open group is dropped with the log. Of one in a transaction, which can no longer commit, other blocks may be linked.
  * CAPACITY: there is no room and none will come, of data (`full`) or of the log (`logFull`). COMMIT, ABORT and RECOVER use the last log pages, which nothing else may touch (`LogReserve`). The command
  * queue sends what needs room when there is some, so Room waits only for what a failing block took away meanwhile. After `fault` no loop here goes on waiting.
  *
  * The answer of a QUERY is made by `QueryAnswer`; for a sum it is shown one txid after the other here (Sum).
  *
  * Figures: a plain WRITE of one block takes 10 clocks and the engine's PLAIN. Reset loses the command, sequence numbers start again (the generation tells them apart).
  */
class CommandExecutor(p: OtxParam) extends Component {
  setDefinitionName("otx_command_executor")

  val filled = slave port Stream(FilledCmd())
  val frames = slave port Stream(UInt(16 bits))
  val giveBack = master port Stream(UInt(16 bits))
  val describe = master port Flow(FrameDescriptor())
  val remap = Ports.bare(master port RemapUser())
  import remap.{op, rsp}
  val tx = master port Stream(TxOp())
  val view = Ports.bare(slave port TxView())
  val alloc = slave port Stream(UInt(30 bits))
  val write = master port Stream(FlashOp())
  val append = master port Stream(LogAppend())
  val head = in port UInt(48 bits)
  val waiter = master port Stream(LogWait())
  val supply = Ports.bare(in port Supply())
  val counters = Ports.bare(in port DataCounters())
  val loss = Ports.bare(in port RecoveryLoss())
  val settled = master port Flow(UInt(6 bits)) // blocks of a WRITE that takes no further page
  val done = master port Stream(Completion())
  val wantsPage, holdsPage = out port Bool() // waits for a page; has one that it has not issued
  val evCommit = out port Bool()
  val evCommitEntries = out port UInt(16 bits)

  import supply.{allocLeft, fault, full, logFull, logLeft}
  import view.{txCount, txState, useCount, useTxid}

  import ExecutorState._
  private val state = RegInit(Idle)
  private val next = Reg(ExecutorState()) // after Settle

  private val c = filled.cmd
  private val isWrite = RegNext(c.opcode === Opcode.WRITE) // known from Start on, as those below
  private val isTrim = RegNext(c.opcode === Opcode.TRIM || c.opcode === Opcode.WRITE_ZEROES)
  private val n = c.count.resize(6 bits)
  private val t = Reg(UInt(5 bits)) // the transaction in hand
  private val status = Reg(UInt(4 bits))
  private val k = Reg(UInt(6 bits)) // block in hand
  private val fresh = Reg(UInt(6 bits)) // blocks that need a new tx table entry
  private val broken = Reg(Bool()) // an answer with error
  private val stranded = Reg(Bool()) // the rest of the command gets no pages
  private val index = Reg(UInt(48 bits)) // of the last entry appended
  private val ppn = Reg(UInt(30 bits))
  private val sequence = Reg(UInt(48 bits)) init 0
  private val logged = Mem(UInt(32 bits), OtxParam.txids) // log entries of the transaction

  private val tState = RegNext(txState(t))
  private val tCount = RegNext(txCount(t))
  private val tLeft = RegNext(p.txEntries - tCount) // entries that still fit, kept for speed
  private val use = RegNext(useCount)
  private val isFree = tState === TxState.FREE
  private val isOpen = tState === TxState.OPEN
  private val committing = RegNext(txState.map(_ === TxState.COMMITTING).orR)
  private val rest = Reg(UInt(6 bits)) // n - k, kept for speed
  private val lastBlock = rest === 1
  private val lpn = c.lba + k
  private val entries = logged.readAsync(t)
  private val opening = c.opcode === Opcode.BEGIN || (isWrite || isTrim) && c.hasTx && isFree
  private val record = RegInit(U(LogKind.COMMIT, 3 bits)) // COMMIT or ABORT
  private val txOp = Reg(UInt(3 bits))
  useTxid := t

  private def nextBlock(): Unit = {
    k := k + 1
    rest := rest - 1
  }
  private def firstBlock(): Unit = {
    k := 0
    rest := n
  }
  private def end(code: Int): Unit = endWith(StatusCode(code))
  private def endWith(code: UInt): Unit = {
    status := code
    state := Mux(filled.frames === 0, Finish(), Drop())
  }
  private def change(what: Int, after: ExecutorState.C): Unit = {
    txOp := what
    next := after
    state := Tx
  }
  private def scanned(): Unit = {
    t := t + 1
    next := Scan
    state := Settle
    when(t === OtxParam.txids - 1)(change(TxOpcode.RECOVER, Finish))
  }
  private def commit(): Unit = {
    evCommit := True
    record := LogKind.COMMIT
    state := Record
  }

  evCommit := False
  evCommitEntries := tCount
  filled.ready := False
  rsp.ready := state === Probed || state === Linked

  append.valid := state === Append && !stranded && (alloc.valid || !isWrite) || state === Record
  alloc.ready := state === Append && !stranded && isWrite && append.ready
  wantsPage := state === Append && isWrite && !stranded
  holdsPage := isWrite && (state === Link || state === Linked || state === Issue)
  append.kind := Mux(state === Record, record.resize(8), Mux(isWrite, U(LogKind.MAP, 8 bits), U(LogKind.TRIM, 8 bits)))
  append.ordered := False
  append.inTx := c.hasTx || state === Record
  private val grouped = state === Append && isWrite && !c.hasTx
  append.n := Mux(grouped, n.resize(8), U(1, 8 bits))
  append.i := Mux(grouped, k.resize(8), U(0, 8 bits))
  append.room := Mux(grouped, rest, U(1, 6 bits))
  append.last := !grouped || lastBlock
  append.lpn := Mux(state === Record, U(0, 32 bits), lpn)
  append.location := Mux(state === Append && isWrite, Word(WordKind.NAND, alloc.payload), Word.none)
  append.serial := Mux(append.inTx, use @@ t, U(0, 32 bits))
  append.sequence := sequence
  append.epoch := 0
  append.arg := Mux(
    state === Record,
    Mux(record === LogKind.COMMIT, entries, U(0, 32 bits)),
    Mux(isWrite, U(0, 32 bits), Mux(c.hasTx, U(1, 32 bits), n.resize(32)))
  )

  op.valid := state === Probe || state === Link && (frames.valid || !isWrite)
  op.op := Mux(
    state === Probe,
    U(RemapOpcode.LOOKUP, 3 bits),
    Mux(isWrite, Mux(c.hasTx, U(RemapOpcode.APPEND, 3 bits), U(RemapOpcode.PLAIN, 3 bits)), U(RemapOpcode.TRIM, 3 bits))
  )
  op.lpn := lpn
  op.hasTx := c.hasTx
  op.txid := t
  op.location := Mux(state === Link && isWrite, Word(WordKind.BUF, frames.payload), Word.none)
  op.newLocation := Word.none
  op.blocks := n
  op.tag := 0 // one op at a time
  op.last := True

  write.valid := state === Issue && !stranded
  write.op := NandOp.PROGRAM
  write.ppn := ppn
  write.frame := frames.payload
  write.kind := PageKind.DATA
  write.lpn := lpn
  write.sequence := sequence
  write.cookie := frames.payload
  describe.valid := write.fire
  describe.frame := frames.payload
  describe.lpn := lpn
  describe.ppn := ppn
  describe.index := index
  describe.hasTx := c.hasTx
  describe.txid := t

  private val dropping = state === Drop && k =/= filled.frames
  giveBack.valid := dropping && frames.valid
  giveBack.payload := frames.payload
  frames.ready := write.fire || giveBack.fire || state === Issue && stranded

  tx.valid := state === Tx
  tx.op := txOp
  tx.txid := t

  private val isFlush = RegNext(c.opcode === Opcode.FLUSH)
  private val isCommit = RegNext(c.opcode === Opcode.COMMIT || c.opcode === Opcode.WRITE && c.commit)
  waiter.valid := state === Wait
  waiter.tag := c.tag
  waiter.flush := !isCommit
  waiter.relaxed := c.relaxed
  waiter.txid := t
  waiter.index := Mux(isFlush, head, index + 1)

  private val hasPages = allocLeft >= n || !isWrite
  private val hasLog = logLeft > LogReserve.kept(p)
  settled.valid := RegNext(filled.fire && isWrite) init False
  settled.payload := RegNext(n)

  private val query = new QueryAnswer(p)
  query.arg := c.arg
  query.state := tState
  query.count := tCount
  query.older := view.older
  query.reached := view.reached
  query.memoryErrors := view.memoryErrors
  query.allocLeft := allocLeft
  query.counters := counters
  query.loss := loss
  query.clear := state === Idle
  query.add := state === Sum
  done.valid := state === Finish
  done.tag := c.tag
  done.status := status
  done.result := Mux(c.opcode === Opcode.QUERY, query.answer, U(0, 32 bits))

  logged.write(
    t,
    Mux(state === Append || state === Record, entries + 1, U(0, 32 bits)),
    append.fire && append.inTx || tx.fire && txOp === TxOpcode.BEGIN
  )
  when(append.fire) {
    index := head
    ppn := alloc.payload
  }

  switch(state) {
    is(Idle) {
      t := c.txid.resized
      firstBlock()
      fresh := 0
      broken := False
      stranded := False
      status := Status.SUCCESS
      when(filled.valid)(state := Look)
    }
    is(Look)(state := Start)
    is(Start) {
      switch(c.opcode) {
        is(Opcode.WRITE, Opcode.TRIM, Opcode.WRITE_ZEROES) {
          when(c.hasTx && !isFree && !isOpen)(end(Status.TX_INVALID))
            .elsewhen(filled.status =/= Status.SUCCESS)(endWith(filled.status))
            .otherwise(state := Room)
        }
        is(Opcode.BEGIN)(when(isFree)(state := Room) otherwise end(Status.TX_BUSY))
        is(Opcode.COMMIT) {
          when(!isOpen)(end(Status.TX_INVALID)).elsewhen(fault)(end(Status.READ_ONLY)).otherwise(commit())
        }
        is(Opcode.ABORT) {
          record := LogKind.ABORT
          when(isOpen)(state := Record) otherwise end(Status.TX_INVALID)
        }
        is(Opcode.RECOVER) {
          record := LogKind.ABORT
          t := 0
          next := Scan
          state := Settle
        }
        is(Opcode.FLUSH)(state := Wait)
        is(Opcode.QUERY) {
          when(query.unknown)(end(Status.INVALID_FIELD)).otherwise(end(Status.SUCCESS))
          when(query.sums) {
            t := 0
            next := Sum
            state := Settle
          }
        }
        default(end(Status.INVALID_OPCODE))
      }
    }
    is(Room) {
      when(fault)(end(Status.READ_ONLY))
        .elsewhen(hasPages && hasLog) {
          when(c.opcode === Opcode.BEGIN)(change(TxOpcode.BEGIN, Finish))
            .elsewhen(Mux(c.hasTx, n > tLeft, committing))(state := Probe)
            .elsewhen(opening)(change(TxOpcode.BEGIN, Append))
            .otherwise(state := Append)
        }
        .elsewhen(!hasPages && full || !hasLog && logFull)(end(Status.CAPACITY))
    }
    is(Probe)(when(op.ready)(state := Probed))
    is(Probed) {
      when(rsp.valid) {
        val new1 = fresh + (!rsp.own).asUInt
        state := Probe
        when(rsp.error)(end(Status.MEDIA_ERROR))
          .elsewhen(!c.hasTx && rsp.committing)(when(fault)(end(Status.READ_ONLY))) // else asks again
          .otherwise {
            nextBlock()
            fresh := new1
            when(lastBlock) {
              firstBlock()
              when(c.hasTx && new1 > tLeft)(end(Status.TX_FULL))
                .elsewhen(opening)(change(TxOpcode.BEGIN, Append))
                .otherwise(state := Append)
            }
          }
      }
    }
    is(Append) {
      when(stranded)(state := Link)
        .elsewhen(isWrite && !alloc.valid && fault) {
          when(c.hasTx || k === 0)(end(Status.WRITE_FAULT)) otherwise {
            stranded := True
            state := Link
          }
        }
      when(append.fire) {
        state := Link
        when(isTrim && c.hasTx) { // an entry per block, then one link
          nextBlock()
          when(lastBlock)(firstBlock()) otherwise (state := Append)
        }
      }
    }
    is(Link)(when(op.fire)(state := Linked))
    is(Linked) {
      when(rsp.valid) {
        broken := broken || rsp.error
        state := Mux(isWrite, Issue(), After())
      }
    }
    is(Issue) {
      when(write.ready || stranded) {
        sequence := sequence + 1
        nextBlock()
        state := Mux(lastBlock, After(), Append())
      }
    }
    is(After) {
      when(broken) {
        status := Status.MEDIA_ERROR
        state := Finish
      }.elsewhen(stranded) {
        status := Status.WRITE_FAULT
        state := Finish
      }.elsewhen(isCommit)(commit())
        .otherwise(state := Mux(c.fua, Wait(), Finish()))
    }
    is(Record) {
      when(append.ready) {
        when(record === LogKind.COMMIT)(change(TxOpcode.COMMITTING, Wait))
          .elsewhen(c.opcode === Opcode.RECOVER)(scanned())
          .otherwise(change(TxOpcode.ABORT, Finish))
      }
    }
    is(Tx)(when(tx.ready)(state := Settle))
    is(Settle)(state := next)
    is(Scan)(when(isOpen)(state := Record) otherwise scanned())
    is(Sum) {
      t := t + 1
      state := Mux(t === OtxParam.txids - 1, Finish(), Settle())
    }
    is(Wait) {
      when(waiter.ready) {
        filled.ready := True
        state := Idle
      }
    }
    is(Drop) {
      when(giveBack.fire)(k := k + 1)
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
