// SPDX-License-Identifier: Apache-2.0
package opentxssd

import spinal.core._
import spinal.lib._

/** Up to 32 host commands at once: independent ones overlap, dependent ones keep their order, each gets exactly one completion.
  *
  * Contract. `cmd` is taken one per two clocks while its tag is unused; a command whose tag is still under way waits at the port. A malformed command is completed from here
  * with its own status, changes nothing and never reaches `dpCmd`. A legal one goes out on `dpCmd` at the earliest two clocks after it was taken, once nothing
  * older conflicts with it (docs/interfaces.md, "Command queue to data path"); among those that may go the choice is round robin, so none starves. `dpDone` frees
  * the tag and those that waited for it, and is passed on to `cpl` in the same clock. `busy`: some command has not been completed.
  *
  * Waiting is a row of bits per tag: bit j of row i says that command i must wait for command j. Rows are filled when a command enters (only against older ones,
  * so there is no cycle and no deadlock) and cleared column by column as commands complete. Reset loses all commands without completions.
  */
class CommandQueue(p: OtxParam) extends Component {
  setDefinitionName("otx_command_queue")

  val enable = in port Bool()
  val cmd = slave port Stream(HostCmd())
  val cpl = master port Stream(Completion())
  val dpCmd = master port Stream(HostCmd())
  val dpDone = slave port Stream(Completion())
  val txState = in port Vec(UInt(3 bits), OtxParam.txids)
  val busy = out port Bool()

  private val tags = OtxParam.tags
  private val lbaBits = log2Up(p.lbas + 1)

  /** What of a command the comparison needs. */
  private case class Footprint() extends Bundle {
    val first, end = UInt(lbaBits bits)
    val ranged, writes, inTx, controlsTx, opensTx, recovers = Bool()
    val txid = UInt(5 bits)
  }

  private val entered = cmd.stage()
  private val check = CommandCheck(p, entered.payload, enable)
  private val legal = check.status === Status.SUCCESS

  private val valid = Vec(RegInit(False), tags)
  private val sent = Vec(Reg(Bool()), tags)
  private val print = Vec(Reg(Footprint()), tags)
  private val waitsFor = Vec(Reg(Bits(tags bits)), tags)
  private val commands = Mem(HostCmd(), tags)

  private val done = B(tags bits, default -> false)
  when(dpDone.fire)(done(dpDone.tag) := True)

  // A new command against all that are under way
  private val fresh = Footprint()
  fresh.first := entered.lba.resized
  fresh.end := (entered.lba + entered.count).resized
  fresh.ranged := check.ranged
  fresh.writes := check.writes
  fresh.inTx := check.inTx
  fresh.controlsTx := check.controlsTx
  fresh.opensTx := check.opensTx
  fresh.recovers := check.recovers
  fresh.txid := entered.txid.resized

  private def conflict(a: Footprint, b: Footprint): Bool = {
    val overlap = a.ranged && b.ranged && a.first < b.end && b.first < a.end
    val sameTx = a.inTx && b.inTx && a.txid === b.txid
    (overlap && (a.writes || b.writes)) || (sameTx && (a.controlsTx || b.controlsTx)) ||
    (a.recovers && b.inTx) || (b.recovers && a.inTx) || (a.recovers && b.recovers)
  }

  private val tagFree = !valid(entered.tag)
  private val malformed = Stream(Completion())
  malformed.valid := entered.valid && !legal && tagFree
  malformed.tag := entered.tag
  malformed.status := check.status
  malformed.result := 0
  entered.ready := tagFree && (legal || malformed.ready)

  private val enter = entered.fire && legal
  when(enter)(commands.write(entered.tag, entered.payload))

  for (i <- 0 until tags) {
    waitsFor(i) := waitsFor(i) & ~done
    when(done(i))(valid(i) := False)
    when(enter && entered.tag === i) {
      valid(i) := True
      sent(i) := False
      print(i) := fresh
      for (j <- 0 until tags) waitsFor(i)(j) := valid(j) && !done(j) && conflict(fresh, print(j))
    }
  }

  // Those that may go, in turn
  private val draining = Vec(txState.map(s => s === TxState.COMMITTED || s === TxState.ABORTED)).asBits
  private val mayGo = Vec((0 until tags).map { i =>
    valid(i) && !sent(i) && waitsFor(i) === 0 && !(print(i).opensTx && draining(print(i).txid))
  }).asBits
  private val turn = RegInit(U(0, log2Up(tags) bits))
  private val behind = mayGo & B((0 until tags).map(i => i >= turn).reverse.map(_.asBits).reduce(_ ## _))
  private val pick = Stream(UInt(log2Up(tags) bits))
  pick.valid := mayGo.orR
  pick.payload := Mux(behind.orR, OHToUInt(OHMasking.first(behind)), OHToUInt(OHMasking.first(mayGo)))
  when(pick.fire) {
    sent(pick.payload) := True
    turn := pick.payload + 1
  }
  private val picked = pick.stage()
  dpCmd << picked.translateWith(commands.readAsync(picked.payload))

  // A malformed command is answered between the others; neither can hold the other up for ever
  cpl << StreamArbiterFactory().roundRobin.transactionLock.onArgs(malformed, dpDone)
  busy := valid.asBits.orR || entered.valid
}
