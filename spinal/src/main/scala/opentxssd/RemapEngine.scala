// SPDX-License-Identifier: Apache-2.0
package opentxssd

import spinal.core._
import spinal.lib._
import spinal.lib.bus.amba4.axi._

/** The map, the tx tables and what every transaction means: docs/interfaces.md, "Remap engine".
  *
  * `op` to `rsp`: one op at a time, in order; the time is that of its table reads and writes plus about four clocks (figures: cocotb_tests/test_remap_engine.py).
  * `tx`: one clock. It waits while an op is half done, and a COMMIT also while a group is open (`last` has not come), so an op sees each transaction in one state
  * from start to end, and a group sees all of a commit or nothing: whether the flip comes before or after the op is the whole interleaving there is. In the clock
  * in which the first op of a group is taken a COMMIT can still be taken: the op looks at states from the next clock on.
  *
  * Walks (merge, abort) run one entry at a time when no op is waiting; while ops come without a pause, one entry per 64 ops. `released` must be taken without
  * waiting for `op`, `tx` or `rsp`. `memoryErrors` counts jobs that met a memory error or a broken chain and stops at 65,535; a walk leaves such an entry as it
  * is and goes on, so that the engine never stands still. Reset loses all states (all FREE) and forgets jobs under way; table memory is firmware's to fill again.
  */
class RemapEngine(p: OtxParam) extends Component {
  setDefinitionName("otx_remap_engine")

  val op = slave port Stream(RemapOp())
  val rsp = master port Stream(RemapRsp())
  val tx = slave port Stream(TxOp())
  val txState = out port Vec(UInt(3 bits), OtxParam.txids)
  val txCount = out port Vec(UInt(16 bits), OtxParam.txids)
  val useTxid = in port UInt(5 bits)
  val useCount = out port UInt(27 bits)
  val released = master port Stream(Word())
  val table = master port Axi4(p.axi)
  val walking = out port Bool() // a merge or abort walk is pending or under way
  val memoryErrors = out port UInt(16 bits)

  // for waveforms
  val evCommitTaken = out port Bool() // a COMMIT is taken in this clock, of tx_payload_txid
  val evCommitVisible = out port Bool() // first clock in which evTxid is COMMITTED
  val evTxid = out port UInt(5 bits)

  private val status = new TxStatus()
  private val chain = new RemapChain(p)
  private val memory = new RemapMemory(p)
  private val walker = new RemapWalker()

  // transactions
  private val groupOpen = RegNextWhen(!op.last, op.fire, init = False)
  status.tx << tx
  status.quiet := chain.quiet
  status.groupOpen := groupOpen
  status.free << walker.free
  status.countUp << chain.countUp
  status.useTxid := useTxid
  useCount := status.useCount
  txState := status.state
  txCount := status.count
  evCommitTaken := status.evCommitTaken
  evCommitVisible := status.evCommitVisible
  evTxid := status.evTxid

  // walks
  walker.oldest << status.oldest
  walker.aborted << status.aborted
  walker.count := status.count
  walker.walkDone := chain.walkDone
  walking := walker.walking

  // jobs: ops first, but an entry that has let 64 ops pass goes next
  private val passed = Reg(UInt(7 bits)) init 0
  private val walkTurn = passed(6) || !op.valid
  when(op.fire && walker.walk.valid)(passed := passed + 1)
  when(walker.walk.fire)(passed := 0)
  chain.op << op
  chain.walk << walker.walk.continueWhen(walkTurn)
  rsp << chain.rsp
  released << chain.released
  chain.state := status.state
  chain.count := status.count
  chain.order := status.order
  chain.oldestOrder := status.oldestOrder

  // table memory
  memory.cmd << chain.mem
  chain.readData := memory.readData
  chain.failed := memory.failed
  table << memory.table

  private val errors = Reg(UInt(16 bits)) init 0
  when(chain.fault && !errors.andR)(errors := errors + 1)
  memoryErrors := errors
}
