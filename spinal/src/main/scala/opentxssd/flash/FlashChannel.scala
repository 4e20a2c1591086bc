// SPDX-License-Identifier: Apache-2.0
package opentxssd.flash

import opentxssd._
import spinal.core._
import spinal.lib._
import spinal.lib.bus.amba4.axi._

case class SourcedDone() extends Bundle {
  val source = UInt(2 bits)
  val done = FlashDone()
}

/** One channel of the scheduler: the queues of its ways, its DMA, and who is told when an op is finished.
  *
  * Contract. Every op has one beat on `done`, with its client and cookie, once the NAND channel has completed it and
  * its data is in frame memory. If frame memory failed, the status is CRC. A `done` that is not taken holds up nothing
  * until `ways` completions wait. From the channel's `cpl` to `done` valid: 1 clock. `pageRead`: an op of client
  * `read`, or a VERIFY, whose page is whole, one clock after its `cpl`. With `p.readRetries` a page that cannot be
  * corrected is read again first (`ReadRetry`); one that was whole then counts as one with 2 T - 1 wrong bits. `busy`:
  * an op has not had its done beat. `load`, `entered`, `room`, `now`: as `WayQueue` has them. Reset loses all ops.
  */
class FlashChannel(p: OtxParam, axi: Axi4Config, depth: FlashQueueDepth) extends Component {
  setDefinitionName("otx_flash_channel")

  val clients = Ports.bare(slave port FlashOps())
  val generation = in port UInt(32 bits)
  val only = in port Bool()
  val retries = p.retry generate (in port UInt(3 bits)) // levels of read retry
  val nand = master port NandChannelPort(p)
  val frame = master port Axi4(axi)
  val done = master port Stream(SourcedDone())
  val pageRead = master port Flow(PageRead(p))
  val busy = out port Bool()
  val load = Vec.fill(p.ways)(out port UInt(3 bits))
  val room = Vec.fill(p.ways)(out port UInt(4 bits))
  val entered = out port Bits(p.ways bits)
  val now = Vec.fill(p.ways)(out port UInt(2 bits))

  private val queue = new WayQueue(p, depth)
  queue.only := only
  private val dma = new ChannelDma(p, axi)
  queue.clients <> clients
  load := queue.load
  room := queue.room
  entered := queue.entered
  now := queue.now
  private val retry = p.retry generate new ReadRetry(p)
  private def open(ways: Bits) = if (p.retry) ways & ~retry.blocked else ways
  queue.wayIdle := open(nand.wayIdle)
  queue.wayAcceptsRead := open(nand.wayAcceptsRead)
  queue.wayAcceptsProgram := open(nand.wayAcceptsProgram)
  queue.wayAcceptsErase := open(nand.wayAcceptsErase)
  frame << dma.frame
  dma.wreq << nand.wreq
  nand.wdata << dma.wdata
  dma.rdata << nand.rdata
  dma.fix << nand.fix

  private def at(bits: Bits, way: UInt) = (0 until p.ways).map(w => way === w && bits(w)).reduce(_ || _)

  // Commands out
  private val op = queue.issue.op
  nand.cmd.arbitrationFrom(if (p.retry) queue.issue.haltWhen(retry.halt) else queue.issue)
  nand.cmd.way := queue.issue.way
  nand.cmd.op := op.op
  nand.cmd.row := PpnFields(p, op.ppn).row.resized
  nand.cmd.kind := op.kind
  nand.cmd.generation := generation
  nand.cmd.lpn := op.lpn
  nand.cmd.sequence := op.sequence
  // nobody waits for one of these alone as COMMIT does for a log page
  nand.cmd.allowCache := queue.issue.source === FlashSource.WRITE
  dma.start.valid := nand.cmd.fire
  dma.start.way := queue.issue.way
  dma.start.frame := op.frame
  dma.start.slot := nand.cmdSlot

  // Whose op has a slot of a way
  private val owners = Mem(FlashOwner(p), (p.ways max 2) * (if (p.second) 2 else 1))
  private def index(way: UInt, slot: Bool) = {
    val number = way.resize(log2Up(p.ways max 2))
    if (p.second) (slot ## number).asUInt else number
  }
  private val owner = FlashOwner(p)
  owner.source := queue.issue.source
  owner.verify := op.op === NandOp.VERIFY
  if (p.retry) {
    owner.op := op.op
    owner.frame := op.frame
  }
  owner.cookie := op.cookie
  owner.ppn := op.ppn.resized
  owners.write(index(queue.issue.way, nand.cmdSlot), owner, if (p.retry) queue.issue.fire else nand.cmd.fire)

  // Completions in: after the data
  private val cpl =
    nand.cpl.haltWhen(if (p.retry) at(dma.pending, nand.cpl.way) || retry.askOwner else at(dma.pending, nand.cpl.way))
  private val last = if (p.retry) cpl.throwWhen(retry.again) else cpl // of its op
  private val completed = SourcedDone()
  private val held = p.retry generate owners.readAsync(Mux(
    retry.askOwner,
    index(retry.ownerWay, retry.ownerSlot),
    index(cpl.way, cpl.slot)
  ))
  private val of = if (p.retry) Mux(retry.mine, retry.op, held) else owners.readAsync(index(cpl.way, cpl.slot))
  completed.source := of.source
  completed.done.cookie := of.cookie
  completed.done.status := Mux(
    at(if (p.second) Mux(cpl.slot, dma.failed(1), dma.failed(0)) else dma.failed(0), cpl.way),
    U(PageStatus.CRC, 3 bits),
    cpl.status
  )
  completed.done.kind := cpl.kind
  completed.done.generation := cpl.generation
  completed.done.lpn := cpl.lpn
  completed.done.sequence := cpl.sequence
  queue.finished.valid := last.fire
  queue.finished.payload := cpl.way

  private val ended = Flow(PageRead(p))
  ended.valid := last.fire && (of.source === FlashSource.READ || of.verify) && cpl.status === PageStatus.OK
  ended.ppn := of.ppn
  ended.corrected := cpl.corrected
  if (p.retry) when(retry.mine)(ended.corrected.setAll())
  pageRead << ended.m2sPipe()

  private val dones = StreamFifo(SourcedDone(), p.ways max 2, latency = 1)
  dones.io.push << last.translateWith(completed)
  done << dones.io.pop
  private def channelBusy = queue.busy || dones.io.occupancy =/= 0
  busy := (if (p.retry) channelBusy || retry.busy else channelBusy)

  if (p.retry) {
    retry.levels := retries
    retry.wayIdle := nand.wayIdle
    retry.issueWay := queue.issue.way
    retry.owner := held
    retry.ended.valid := cpl.fire
    retry.ended.way := cpl.way
    retry.ended.slot := cpl.slot
    retry.ended.status := cpl.status
    retry.cmd.ready := nand.cmd.ready
    when(retry.cmd.valid) {
      nand.cmd.valid := True
      nand.cmd.way := retry.cmd.way
      nand.cmd.op := Mux(retry.cmd.reads, retry.op.op, U(NandOp.SET_FEATURES, 4 bits))
      nand.cmd.row := PpnFields(p, retry.op.ppn.resize(30)).row.resized
      nand.cmd.kind := NandFeature.READ_RETRY
      nand.cmd.lpn := retry.cmd.level.resized
      dma.start.valid := nand.cmd.ready && retry.cmd.reads
      dma.start.way := retry.cmd.way
      dma.start.frame := retry.op.frame
    }
  }
}
