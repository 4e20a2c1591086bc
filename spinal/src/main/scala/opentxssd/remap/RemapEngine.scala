// SPDX-License-Identifier: Apache-2.0
package opentxssd.remap

import opentxssd._
import spinal.core._
import spinal.lib._
import spinal.lib.bus.amba4.axi._

/** The map, the tx tables and what every transaction means: docs/interfaces.md, "Remap engine".
  *
  * Ops go into `slots` slots and are answered as they are done; `tag` says whose answer it is. Two ops on one LPN of
  * which one changes something keep their order: the later one does not start before the earlier one's answer has been
  * taken. With a table memory that answers in the next clock an answer stands at `rsp` 4 clocks after its op (6 with a
  * version first in the chain, 2 more for each further one) and lookups pass at one per clock.
  *
  * `tx`: one clock. A COMMIT is taken at once, whatever is in the slots: a commit changes one register, and is seen by
  * every op that comes from the next clock on. An op or group that came before goes on as if the commit had not
  * happened: it has a limit, the order of the next commit when its first op came, and a transaction that was committed
  * with that order or later is still uncommitted for it. So each op, and each group, sees one instant. Also a PLAIN: it
  * may have passed a version of T2 when T2 was open and then meet one of T1; if both commit meanwhile, in either order,
  * neither counts for it and both win over it later. Without the limit it would mark T1's version dead and leave T2's,
  * the older one, on top. A commit in the clock of an op comes after that op.
  * What such a reader may still be sent to stays: the walk that merges T waits until nobody is left who does not see T
  * (`RemapSnapshot`). BEGIN, COMMITTING, PREPARE and ABORT wait while an APPEND is under way; in the clock of an op
  * they come before it.
  *
  * A TRIM is one job per block with the limit of the TRIM and one answer (`RemapIssue`, `RemapTrims`). While it has
  * blocks to start, no other op starts.
  *
  * `restored`: table and map were filled with the entries of a PREPARED transaction before the first op (`TxStatus`).
  *
  * Walks (merge, abort) run beside the ops, up to six entries at once; while ops come without a pause, one entry per 64
  * ops. A lookup keeps walks off its LPN, so no chain changes under it and no entry's memory is used again under it.
  * `released` must be taken without waiting for `op`, `tx` or `rsp`; a location may pass there some clocks after the
  * answer or the FREE it belongs to. `memoryErrors` counts jobs that met a memory error or a broken chain and stops at
  * 65,535; a walk leaves such an entry as it is and goes on, so that the engine never stands still. `changed` names the
  * LPN of each write, to map or table, when it stands in memory: so of each that a LOOKUP may see differently from then
  * on, but for a COMMIT, whose walk writes later and before the txid is FREE. Reset loses all
  * states (all FREE) and forgets jobs under way; table memory is firmware's to fill again.
  */
class RemapEngine(p: RemapParam, name: String = "otx_remap_engine") extends Component {
  setDefinitionName(name)

  val user = Ports.bare(slave port RemapUser())
  val tx = slave port Stream(TxOp())
  val view = Ports.bare(master port TxView())
  val restored = slave port Flow(TxRestored())
  val released = master port Stream(Word())
  val table = master port Axi4(p.tableAxi)
  val changed = master port Flow(UInt(p.lpnBits bits))
  val walking = out port Bool() // a merge or abort walk is pending or under way, or a release

  import user.{op, rsp}
  import view.{memoryErrors, older, reached, txCount, txState, useCount, useTxid}

  // for waveforms
  val evCommitTaken = out port Bool() // a COMMIT is taken in this clock, of tx_payload_txid
  val evCommitVisible = out port Bool() // first clock in which evTxid is COMMITTED
  val evTxid = out port UInt(5 bits)

  /** What all txids show: one that this engine does not have is FREE. */
  private def shown(to: Vec[UInt], from: Vec[UInt]): Unit =
    for (t <- to.indices) (if (t < p.txids) to(t) := from(t) else to(t) := 0)

  private val status = new TxStatus(p.txids, log2Up(RemapParam.mostTxids / p.txids))
  private val snapshot = new RemapSnapshot()
  private val issue = new RemapIssue(p)
  private val slots = new RemapSlots(p)
  private val trims = new RemapTrims()
  private val walker = new RemapWalker(p)

  // transactions
  status.tx << tx
  status.restored << restored
  status.appending := issue.appending
  status.free.valid := walker.free.valid
  status.free.payload := walker.free.payload.resized
  status.countUp.valid := slots.countUp.valid
  status.countUp.payload := slots.countUp.payload.resized
  status.useTxid := useTxid.resized
  useCount := status.useCount
  older := status.older.resized
  reached := (walker.walked === useTxid) ? walker.reached | U(0, 16 bits)
  for ((txid, n) <- Seq(issue.appendTxid, slots.named, walker.walked).zipWithIndex) status.sizeOf(n) := txid.resized
  shown(txState, status.state)
  shown(txCount, status.count)
  evCommitTaken := status.evCommitTaken
  evCommitVisible := status.evCommitVisible
  evTxid := status.evTxid.resized

  // ops
  issue.op << op
  issue.limit := snapshot.limit
  shown(issue.state, status.state)
  issue.size := status.size(0)
  issue.answered << slots.answered
  issue.walkEnd << slots.walkEnd
  issue.appendEnd := slots.appendEnd
  slots.start << issue.start
  shown(slots.state, status.state)
  slots.size := status.size(1)
  shown(slots.order, status.order)
  trims.begin << issue.trims
  issue.trimming := trims.busy
  trims.answer << slots.answer
  rsp << trims.rsp
  released << slots.released
  changed << slots.changed
  table << slots.table

  // who is inside
  private val parities = Reg(Bits((1 << p.slotBits) bits))
  private val parity = RegNextWhen(snapshot.parity, op.fire) // of the job that waits for its slot
  when(issue.start.fire)(parities(issue.start.slot) := parity)
  snapshot.enter.valid := op.fire
  snapshot.enter.payload := op.last
  snapshot.leave.valid := rsp.fire // all jobs of a TRIM have its parity
  snapshot.leave.payload := parities(slots.answered.payload)
  snapshot.nextOrder := status.nextOrder

  // walks
  walker.oldest.valid := status.oldest.valid && status.oldestOrder =/= snapshot.safe
  walker.oldest.payload := status.oldest.payload.resized
  walker.aborted := status.aborted.resized
  walker.size := status.size(2)
  slots.fetch << walker.fetch
  walker.fetched << slots.fetched
  issue.walk << walker.walk
  walker.ended := slots.walkEnd.valid
  walking := walker.busy || status.oldest.valid || status.aborted.orR || slots.released.valid

  private val errors = Reg(UInt(16 bits)) init 0
  when(slots.fault && !errors.andR)(errors := errors + 1)
  memoryErrors := errors
}
