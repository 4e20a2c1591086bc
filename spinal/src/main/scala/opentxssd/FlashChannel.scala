// SPDX-License-Identifier: Apache-2.0
package opentxssd

import spinal.core._
import spinal.lib._
import spinal.lib.bus.amba4.axi._

case class SourcedDone() extends Bundle {
  val source = UInt(2 bits)
  val done = FlashDone()
}

/** One channel of the scheduler: the queues of its ways, its DMA, and who is told when an op is finished.
  *
  * Contract. Every op has one beat on `done`, with its client and cookie, once the NAND channel has completed it and its data is in frame memory. If frame memory failed, the
  * status is CRC. A `done` that is not taken holds up nothing until `ways` completions wait. From the channel's `cpl` to `done` valid: 1 clock. `pageRead`: an op of client `read`, or a VERIFY, whose page is whole, one clock after
  * its `cpl`. `busy`: an op has not had its done beat. Reset loses all ops.
  */
class FlashChannel(p: OtxParam, axi: Axi4Config, depth: FlashQueueDepth) extends Component {
  setDefinitionName("otx_flash_channel")

  val write, read, log, fw = slave port Stream(FlashOp())
  val generation = in port UInt(32 bits)
  val nand = master port NandChannelPort(p)
  val frame = master port Axi4(axi)
  val done = master port Stream(SourcedDone())
  val pageRead = master port Flow(PageRead(p))
  val busy = out port Bool()

  private val queue = new WayQueue(p, depth)
  private val dma = new ChannelDma(p, axi)
  queue.write << write
  queue.read << read
  queue.log << log
  queue.fw << fw
  queue.wayIdle := nand.wayIdle
  queue.wayReads := nand.wayReads
  queue.wayWrites := nand.wayWrites
  queue.wayErases := nand.wayErases
  frame << dma.frame
  dma.wreq << nand.wreq
  nand.wdata << dma.wdata
  dma.rdata << nand.rdata
  dma.fix << nand.fix

  // Commands out
  private val op = queue.issue.op
  nand.cmd.arbitrationFrom(queue.issue)
  nand.cmd.way := queue.issue.way
  nand.cmd.op := op.op
  nand.cmd.row := PpnFields(p, op.ppn).row.resized
  nand.cmd.kind := op.kind
  nand.cmd.generation := generation
  nand.cmd.lpn := op.lpn
  nand.cmd.sequence := op.sequence
  nand.cmd.may := queue.issue.source === FlashSource.WRITE // nobody waits for one of these alone as COMMIT does for a log page
  dma.start.valid := nand.cmd.fire
  dma.start.way := queue.issue.way
  dma.start.frame := op.frame
  dma.start.place := nand.cmdPlace

  /** Whose op has a place of a way, and at which page. */
  private case class Owner() extends Bundle {
    val source = UInt(2 bits)
    val verify = Bool()
    val cookie = UInt(16 bits)
    val ppn = UInt(p.ppnBits bits)
  }
  private val owners = Mem(Owner(), (p.ways max 2) * (if (p.second) 2 else 1))
  private def index(way: UInt, place: Bool) = {
    val number = way.resize(log2Up(p.ways max 2))
    if (p.second) (place ## number).asUInt else number
  }
  private val owner = Owner()
  owner.source := queue.issue.source
  owner.verify := op.op === NandOp.VERIFY
  owner.cookie := op.cookie
  owner.ppn := op.ppn.resized
  owners.write(index(queue.issue.way, nand.cmdPlace), owner, nand.cmd.fire)

  // Completions in: after the data
  private def at(bits: Bits, way: UInt) = (0 until p.ways).map(w => way === w && bits(w)).reduce(_ || _)
  private val cpl = nand.cpl.haltWhen(at(dma.pending, nand.cpl.way))
  private val completed = SourcedDone()
  private val of = owners.readAsync(index(cpl.way, cpl.place))
  completed.source := of.source
  completed.done.cookie := of.cookie
  completed.done.status := Mux(at(if (p.second) Mux(cpl.place, dma.failed(1), dma.failed(0)) else dma.failed(0), cpl.way), U(PageStatus.CRC, 3 bits), cpl.status)
  completed.done.kind := cpl.kind
  completed.done.generation := cpl.generation
  completed.done.lpn := cpl.lpn
  completed.done.sequence := cpl.sequence
  queue.finished.valid := cpl.fire
  queue.finished.payload := cpl.way

  private val ended = Flow(PageRead(p))
  ended.valid := cpl.fire && (of.source === FlashSource.READ || of.verify) && cpl.status === PageStatus.OK
  ended.ppn := of.ppn
  ended.corrected := cpl.corrected
  pageRead << ended.m2sPipe()

  private val dones = StreamFifo(SourcedDone(), p.ways max 2, latency = 1)
  dones.io.push << cpl.translateWith(completed)
  done << dones.io.pop
  busy := queue.busy || dones.io.occupancy =/= 0
}
