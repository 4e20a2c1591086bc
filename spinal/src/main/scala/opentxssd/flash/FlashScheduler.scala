// SPDX-License-Identifier: Apache-2.0
package opentxssd.flash

import opentxssd._
import spinal.core._
import spinal.lib._
import spinal.lib.bus.amba4.axi._

/** Spreads page operations over all dies: hands out pages, queues ops per way, moves the data, and says when each op is
  * done.
  *
  * Contract (docs/interfaces.md, "Flash scheduler"). `write`, `read`, `log` and `firmware` take an op per clock and
  * channel; each op has exactly one beat, with its cookie, on the done stream of its client, after its data is in frame
  * memory. Ops of one client at one die stay in order; which client's op goes first: `WayQueue`. An op for a full queue
  * stalls its client, ops for other dies behind it too. Its page number must name a die that exists. Idle, an op
  * reaches its channel 3 clocks after its beat.
  * `frame`: bursts of 32 beats, the channel in the high bits of the id. `idleDies`: pages are those of dies
  * that have the least to do (`PageAllocator`). `dieNow`: `now` of `WayQueue`. `weak`: pages of client `read`, and of
  * VERIFYs, with `refreshAt` corrected bits in a chunk or more; nothing waits for it (`WeakPages`). `busy`: some op has
  * not had its done beat. Reset loses all ops, pages and blocks.
  */
class FlashScheduler(p: OtxParam, depth: FlashQueueDepth = FlashQueueDepth()) extends Component {
  setDefinitionName("otx_flash_scheduler")

  val port = Ports.bare(slave port FlashPort(p))
  val retries = p.retry generate (in port UInt(3 bits)) // levels of read retry, 0: none
  val channels = Vec.fill(p.channels)(master port NandChannelPort(p))
  import port._

  private val allocator = new PageAllocator(p)
  alloc << allocator.alloc
  allocLeft := allocator.allocLeft
  allocator.freeBlock << freeBlock
  freeBlockRoom := allocator.freeBlockRoom
  allocator.retire << retire
  picked << allocator.picked

  private val single = p.channels == 1
  private val units = channels.map { channel =>
    val axi = if (single) p.axi else Axi4ReadOnlyArbiter.getInputConfig(p.axi, p.channels)
    val unit = new FlashChannel(p, axi, depth)
    unit.generation := generation
    unit.only := only
    if (p.retry) unit.retries := retries
    channel <> unit.nand
    unit
  }
  busy := units.map(_.busy).reduce(_ || _)
  allocator.idleDies := idleDies
  allocator.load := Vec(units.flatMap(_.load))
  allocator.room := Vec(units.flatMap(_.room))
  places := allocator.places
  allocator.rounds := rounds
  reach := allocator.reach
  dieNow := Vec(units.flatMap(_.now))
  allocator.entered := Vec(units.map(_.entered)).asBits

  private val weakPages = new WeakPages(p)
  for ((unit, read) <- units.zip(weakPages.reads)) read << unit.pageRead
  weakPages.refreshAt := refreshAt
  weak << weakPages.weak
  port.counters := weakPages.counters

  // Ops to the channel of their page
  private def spread(ops: Stream[FlashOp], to: FlashChannel => Stream[FlashOp]): Unit = {
    val hits = units.indices.map(PpnFields(p, ops.ppn).channel === _)
    for ((unit, hit) <- units.zip(hits)) {
      to(unit).valid := ops.valid && hit
      to(unit).payload := ops.payload
    }
    ops.ready := units.zip(hits).map { case (unit, hit) => hit && to(unit).ready }.reduce(_ || _)
  }
  spread(clients.write, _.clients.write)
  spread(clients.read, _.clients.read)
  spread(clients.log, _.clients.log)
  spread(clients.firmware, _.clients.firmware)

  // Dones to their clients
  private val dones = Seq(
    FlashSource.WRITE -> writeDone,
    FlashSource.READ -> readDone,
    FlashSource.LOG -> logDone,
    FlashSource.FIRMWARE -> firmwareDone
  )
  private val split = units.map(unit => StreamDemux(unit.done, unit.done.source, dones.size))
  for ((source, client) <- dones)
    StreamArbiterFactory().roundRobin.transactionLock.on(split.map(_(source).map(_.done))) >> client

  // One port to frame memory
  if (single) frame << units.head.frame
  else {
    val reads = Axi4ReadOnlyArbiter(p.axi, p.channels)
    val writes = Axi4WriteOnlyArbiter(p.axi, p.channels, routeBufferSize = 8)
    for ((unit, c) <- units.zipWithIndex) {
      reads.io.inputs(c) << unit.frame.toReadOnly()
      writes.io.inputs(c) << unit.frame.toWriteOnly()
    }
    frame.ar << reads.io.output.ar
    reads.io.output.r << frame.r
    frame.aw << writes.io.output.aw
    frame.w << writes.io.output.w
    writes.io.output.b << frame.b
  }
}
