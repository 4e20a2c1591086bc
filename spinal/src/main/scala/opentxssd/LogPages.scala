// SPDX-License-Identifier: Apache-2.0
package opentxssd

import spinal.core._
import spinal.lib._

/** A log page that is closed: where it goes and what it makes durable. */
case class ClosedPage(p: OtxParam) extends Bundle {
  val ppn = UInt(p.ppnBits bits)
  val records = UInt(11 bits) // in its frame when `written` of the frame writer has reached this
  val end = UInt(48 bits) // index after its last entry
}

/** The log pages under way: at most four, the open one included, each in frame (page number modulo 4).
  *
  * `closed` ends the open page; the page after it is open then. Closed pages go to `program` in page order, each as soon as its frame is written; done beats may
  * come in any order, at any time and are remembered; pages retire in page order. So `durable`, the number of entries in retired pages, is always a prefix of the
  * log. A page whose program fails raises `failed` for one clock and never retires.
  *
  * `page`: number of the open page. `frameFree`: its frame is free. `nextFree`: the frame of the page after it is. `pages`: pages retired.
  * Written frame to `program`: 1 clock after the last answer of the memory; done beat to `durable`: 2 clocks. Reset: page 0 is open and nothing is durable.
  */
class LogPages(p: OtxParam) extends Component {
  setDefinitionName("otx_log_pages")

  val closed = slave port Flow(ClosedPage(p))
  val written = in port UInt(11 bits)
  val page = out port UInt(32 bits)
  val frameFree, nextFree = out port Bool()
  val program = master port Stream(FlashOp())
  val programDone = slave port Stream(FlashDone())
  val failed = out port Bool()
  val durable = out port UInt(48 bits)
  val pages = out port UInt(32 bits)

  private val open, asked, retired = Reg(UInt(32 bits)) init 0 // page numbers: retired <= asked <= open
  private val prefix = Reg(UInt(48 bits)) init 0
  private val done = Reg(Bits(OtxParam.logFrames bits)) init 0
  private val memory = Mem(ClosedPage(p), OtxParam.logFrames)
  memory.write(open(1 downto 0), closed.payload, closed.valid)
  when(closed.valid)(open := open + 1)

  private val underWay = open(2 downto 0) - retired(2 downto 0) // 0 ... 4
  page := open
  frameFree := underWay < OtxParam.logFrames
  nextFree := underWay < OtxParam.logFrames - 1

  // programs, in page order
  private val ask = memory.readAsync(asked(1 downto 0))
  private val whole = !(written - ask.records).msb
  program.valid := asked =/= open && whole
  program.op := NandOp.PROGRAM
  program.ppn := ask.ppn.resized
  program.frame := U(p.logFrameBase, 16 bits) + asked(1 downto 0)
  program.kind := PageKind.LOG
  program.lpn := asked
  program.sequence := 0
  program.cookie := asked(1 downto 0).resized
  when(program.fire)(asked := asked + 1)

  // done beats in any order, retired in page order
  private val slot = retired(1 downto 0)
  private val retire = done(slot)
  when(retire) {
    retired := retired + 1
    prefix := memory.readAsync(slot).end
    done(slot) := False
  }
  programDone.ready := True
  failed := programDone.valid && programDone.status =/= PageStatus.OK
  when(programDone.valid && !failed)(done(programDone.cookie(1 downto 0)) := True)

  durable := prefix
  pages := retired
}
