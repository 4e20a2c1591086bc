// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import opentxssd._
import opentxssd.flash.FlashOp
import opentxssd.log.LogAppend
import spinal.core._
import spinal.lib._

/** Issues frames of the write buffer: a page for each, an entry in the log, a program.
  *
  * Contract. One frame at a time, in the order in which they come, so that the log has them in that order. The entries
  * of a group of n blocks have no other entry between them (`AppendTurn` sees to that), and all of
  * them one page of the log (rule group). `describe` comes with the program op, `ends` a clock after it. A frame begins
  * only when some die has a `places` for its program, so that what is chosen early meanwhile goes before it. `holds`: a
  * page is taken and its program is not with the scheduler; `wants`: a frame waits for a page.
  * With `inOrder` an order-preserving frame of a new epoch begins when `mark` is past all order-preserving frames
  * before it, so when these are on NAND; what comes behind it waits, too.
  * `sequence`: that of the next program. Its program has the class of the frame, of an early one at least that of
  * `earlyRank`.
  *
  * After `fault` no page may ever come: the frame that is here stays, and can be read on.
  * Clocks: 4 for a frame, one more when it is not its turn at the log. Reset: nothing is here, sequence numbers begin
  * again.
  */
class FrameIssue(p: OtxParam) extends Component {
  setDefinitionName("otx_frame_issue")

  val frames = slave port Stream(IssueFrame())
  val alloc = slave port Stream(UInt(30 bits))
  val append = master port Stream(LogAppend())
  val head = in port UInt(48 bits)
  val places = in port Bool()
  val earlyRank = in port UInt(2 bits)
  val inOrder = in port Bool()
  val mark = in port UInt(48 bits) // completeness watermark of the log
  val describe = master port Flow(FrameDescriptor())
  val write = master port Stream(FlashOp())
  val ends = master port Flow(IssueEnd())
  val sequence = out port UInt(48 bits)
  val wants, holds = out port Bool()

  private val count = Reg(UInt(48 bits)) init 0
  sequence := count
  private val inGroup = RegInit(False) // its next frame goes on whatever `places` says
  private val placed = RegInit(False) // the frame that is here may begin
  private val logged = RegInit(False) // it is in the log, its program is to go
  private val ppn = Reg(UInt(30 bits))
  private val index = Reg(UInt(48 bits))
  private val what = frames.what

  private val last = Reg(UInt(32 bits)) init 0 // epoch of the order-preserving frame before
  private val behind = Reg(UInt(48 bits)) init 0 // its index and one
  private val early = inOrder && what.ordered && what.epoch =/= last && mark < behind
  when(frames.valid && (places && !early || inGroup))(placed := True)
  append.valid := placed && !logged && alloc.valid
  alloc.ready := placed && !logged && append.ready
  private val rest = what.n - what.i
  append.kind := LogKind.MAP
  append.ordered := what.ordered
  append.inTx := what.hasTx
  append.n := what.hasTx.mux(U(1, 8 bits), what.n.resize(8))
  append.i := what.hasTx.mux(U(0, 8 bits), what.i.resize(8))
  append.room := what.hasTx.mux(U(1, 6 bits), rest)
  append.last := what.hasTx || rest === 1
  append.lpn := what.lpn
  append.location := Word(WordKind.NAND, alloc.payload)
  append.serial := what.hasTx.mux(what.use @@ what.txid, U(0, 32 bits))
  append.sequence := count
  append.epoch := what.epoch
  append.arg := 0
  when(append.fire) {
    logged := True
    inGroup := !append.last
    ppn := alloc.payload
    index := head
    when(what.ordered) {
      last := what.epoch
      behind := head + 1
    }
  }
  wants := placed && !logged
  holds := logged

  write.valid := logged
  write.op := NandOp.PROGRAM
  write.ppn := ppn
  write.frame := frames.frame
  write.kind := PageKind.DATA
  write.lpn := what.lpn
  write.sequence := count
  write.cookie := frames.frame
  private val own = ClassRank(what.priority)
  write.priority := ClassRank(Mux(frames.early && earlyRank > own, earlyRank, own))
  frames.ready := write.fire
  describe.valid := write.fire
  describe.frame := frames.frame
  describe.lpn := what.lpn
  describe.ppn := ppn
  describe.index := index
  describe.hasTx := what.hasTx
  describe.txid := what.txid
  when(write.fire) {
    count := count + 1
    logged := False
    placed := False
  }
  private val end = Flow(IssueEnd())
  end.valid := write.fire
  end.plain := !what.hasTx
  end.turn := what.turn
  end.early := frames.early
  ends << end.stage()
}
