// SPDX-License-Identifier: Apache-2.0
package opentxssd.log

import opentxssd._
import opentxssd.remap.TxOp
import spinal.core._
import spinal.lib._

/** Who waits for the log: commands that complete when what they need is durable and complete.
  *
  * FLUSH (and FUA), in order: done when `durable` and `plain` have reached its index, and `mark` (completeness
  * watermark) its `after` and the index of the last COMMIT that waited before it. `plain` is the watermark that takes
  * pages of transactions for complete: nobody has promised those of open ones. A COMMIT that is logged is another
  * matter: recovery that drops it drops later epochs, too. COMMIT,
  * in order: when `durable` has reached its index, `none` says that no page of its txid (`ask`) is outstanding, and
  * `mark` has reached its `after` (recovery drops it with an order-preserving page of an earlier epoch); then `tx`
  * COMMIT is sent, and when that is taken the command is done. So commits become visible in the order in which
  * their waits came, which is the order of their records: rule commit-prefix. A RELAXED COMMIT needs neither, only its
  * turn; so the next COMMIT that is not RELAXED also waits until `mark` has reached the last RELAXED one before it: its
  * promise covers all commits before it. FLUSHes and COMMITs pass each other freely.
  *
  * After `fault` all waits end with WRITE_FAULT, at most one per clock, and no further COMMIT is sent. A COMMIT whose
  * conditions were met before goes on to SUCCESS.
  *
  * With `plp` nobody waits for NAND: each COMMIT counts as a RELAXED one, and a FLUSH is done at once; nobody closes a
  * log page.
  *
  * What closes log pages (decision 030): `flushTo`, the highest index that a FLUSH or FUA ever waited for, `commitTo`
  * that of a COMMIT that is not RELAXED, two clocks after `waiter`; `readyTo` that of one whose turn it is and whose
  * pages are all complete, so that it waits for its record only, one clock after that.
  *
  * Room for 32 of each kind: as many as there are tags, so `waiter` is never refused for long. Conditions met to `tx`
  * or `waitDone`: 1 clock (3 for a wait that comes to an idle queue). `evDurable`: the conditions of a COMMIT that is
  * not RELAXED are met.
  * Reset loses all waits.
  */
class LogWaiters extends Component {
  setDefinitionName("otx_log_waiters")

  val waiter = slave port Stream(LogWait())
  val durable = in port UInt(48 bits)
  val mark, plain = in port UInt(48 bits)
  val fault, plp = in port Bool()
  val ask = out port UInt(5 bits)
  val none = in port Bool()
  val tx = master port Stream(TxOp())
  val waitDone = master port Stream(TagStatus())
  val flushTo, commitTo, readyTo = out port UInt(48 bits)
  val evDurable = out port Bool()

  private val comes = waiter.halfPipe()
  private val flushed, committed, ready = Reg(UInt(48 bits)) init 0
  when(comes.fire && comes.flush && !plp && comes.index > flushed)(flushed := comes.index)
  when(comes.fire && !comes.flush && !comes.relaxed && !plp)(committed := comes.index) // they come in order
  flushTo := flushed
  commitTo := committed
  readyTo := ready

  private val record = Reg(UInt(48 bits)) init 0 // index of the last COMMIT that came
  when(comes.fire && !comes.flush)(record := comes.index)
  private val entering = cloneOf(comes)
  entering << comes
  entering.after.removeAssignments() := Mux(comes.flush && record > comes.after, record, comes.after)

  private val queues = StreamDemux(entering, entering.flush.asUInt, 2).map(_.queue(OtxParam.tags))
  private val commit = queues(0)
  private val flush = queues(1)

  /** What a wait ends with: one per queue, filled when the head's conditions are met. */
  private def ending(head: Stream[LogWait], met: Bool, free: Bool) = new Area {
    val valid = RegInit(False)
    val tag = Reg(UInt(5 bits))
    val txid = Reg(UInt(5 bits))
    val failed = Reg(Bool())
    val taken = head.valid && (met || fault) && free
    head.ready := taken
    when(taken) {
      valid := True
      tag := head.tag
      txid := head.txid
      failed := fault
    }
  }

  ask := commit.txid
  private val complete = none && mark >= commit.after
  private val relaxed = commit.relaxed || plp
  when(commit.valid && !relaxed && complete)(ready := commit.index)
  private val flushFree, commitFree = Bool()
  private val flushEnd =
    ending(flush, durable >= flush.index && plain >= flush.index && mark >= flush.after || plp, flushFree)
  private val relaxedTo = Reg(UInt(48 bits)) init 0 // index of the last RELAXED COMMIT that has had its turn
  private val covered = RegNext(mark >= relaxedTo) init True // all entries before it are complete
  private val settled = RegNext(!(commit.fire && relaxed)) init True // `covered` is about `relaxedTo`
  private val commitEnd =
    ending(commit, relaxed || durable >= commit.index && complete && covered && settled, commitFree)
  when(commit.fire && relaxed)(relaxedTo := commit.index)
  private val shown = RegInit(False) // the COMMIT at its end is sent and taken
  evDurable := commitEnd.taken && !fault && !commit.relaxed

  tx.valid := commitEnd.valid && !commitEnd.failed && !shown
  tx.op := TxOpcode.COMMIT
  tx.txid := commitEnd.txid

  private val done = Vec.fill(2)(Stream(TagStatus()))
  done(0).valid := commitEnd.valid && (commitEnd.failed || shown)
  done(1).valid := flushEnd.valid
  for ((d, e) <- done.zip(Seq(commitEnd, flushEnd))) {
    d.tag := e.tag
    d.status := e.failed ? StatusCode(Status.WRITE_FAULT) | StatusCode(Status.SUCCESS)
    when(d.fire)(e.valid := False)
  }
  when(tx.fire)(shown := True)
  when(done(0).fire)(shown := False)
  commitFree := !commitEnd.valid
  flushFree := !flushEnd.valid
  waitDone << StreamArbiterFactory().roundRobin.transactionLock.on(done)
}
