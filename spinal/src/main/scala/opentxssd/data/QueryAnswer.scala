// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import opentxssd._
import spinal.core._
import spinal.lib._

/** What QUERY answers (docs/interfaces.md, "Host port"; numbers: `Query`).
  *
  * Contract. `answer` is that of `arg` about the transaction in hand. Its `state` and `count` come a clock after
  * `older` and `reached`, all of the same txid; TX_WALK shows them a clock later, the others at once. `unknown`:
  * there is no such number. `health`: what it answers to HEALTH + index from the next clock on;
  * not defined before. `sums`: the answer is a sum over all txids. Then the command executor takes them in
  * hand one by one, and says `add` for a clock in which `state`, `count` and `reached` have settled. `clear` starts
  * the sum again.
  *
  * It changes nothing and waits for nobody. The sum is not defined before the first `clear`.
  */
class QueryAnswer(p: OtxParam) extends Component {
  setDefinitionName("otx_query_answer")

  val arg = in port UInt(32 bits)
  val state = in port UInt(3 bits)
  val count = in port UInt(16 bits)
  val older = in port UInt(5 bits)
  val reached, memoryErrors = in port UInt(16 bits)
  val allocLeft = in port UInt(32 bits)
  val counters = Ports.bare(in port DataCounters())
  val loss = Ports.bare(in port RecoveryLoss())
  val health = slave port Flow(HealthWord())
  val clear, add = in port Bool()
  val unknown, sums = out port Bool()
  val answer = out port UInt(32 bits)

  /** Entries that no walk has come to yet. */
  private val left = TxStates.isDraining(state) ? (count - RegNext(reached)) | U(0, 16 bits)
  private val before = (state === TxState.COMMITTED) ? RegNext(older) | U(0, 5 bits)
  private val walk = RegNext(left @@ U(0, 3 bits) @@ before @@ U(0, 5 bits) @@ state)
  private val waiting = Reg(UInt(21 bits)) // of all txids
  when(add)(waiting := waiting + left)
  when(clear)(waiting := 0)

  private val words = Mem(UInt(32 bits), 32)
  words.write(health.index, health.word, health.valid)

  unknown := Queries.isUnknown(arg)
  sums := arg === Query.WAITING
  answer := arg.mux(
    U(Query.TX) -> (count @@ U(0, 13 bits) @@ state),
    U(Query.CAPACITY) -> U(p.lbas, 32 bits),
    U(Query.PAGES_LEFT) -> allocLeft,
    U(Query.DROPPED) -> loss.dropped,
    U(Query.RELEASED) -> counters.releasedPages,
    U(Query.COMMITS) -> counters.commits,
    U(Query.TX_WALK) -> walk,
    U(Query.WAITING) -> waiting.resize(32),
    U(Query.MEMORY_ERRORS) -> memoryErrors.resize(32),
    U(Query.LOST_LOG_PAGES) -> loss.lostLogPages,
    U(Query.DOUBTFUL) -> loss.doubtful,
    default -> words.readAsync(arg(4 downto 0))
  )
}
