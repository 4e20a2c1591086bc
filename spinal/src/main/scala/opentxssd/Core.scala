// SPDX-License-Identifier: Apache-2.0
package opentxssd

import opentxssd.data.{DataPath, PageMove}
import opentxssd.flash.{FlashBackend, FlashDone, FlashOp, NandPins}
import opentxssd.host.{BlockRef, CommandQueue, Completion, HostCmd, ReadBeat, WriteBeat}
import opentxssd.log.{CommitLog, LogBlock}
import opentxssd.remap.RemapEngine
import spinal.core._
import spinal.lib._
import spinal.lib.bus.amba4.axi._

/** The drive without its processor and memories: command queue, data path, remap engine, commit log, flash scheduler and NAND channels, wired together. It
  * decides nothing itself. Both memory ports end in registers. Reset loses all state; firmware mounts again before it sets `enable`.
  */
class Core(p: OtxParam) extends Component {
  setDefinitionName("otx_core")

  // embedded host port
  val cmd = slave port Stream(HostCmd())
  val wdata_req = master port Stream(BlockRef())
  val wdata = slave port Stream(WriteBeat())
  val rdata = master port Stream(ReadBeat())
  val cpl = master port Stream(Completion())

  // memories
  val table = master port Axi4(p.tableAxi)
  val frame = master port Axi4(Core.frameAxi(p))

  // firmware
  val firmware_op = slave port Stream(FlashOp())
  val firmware_done = master port Stream(FlashDone())
  val free_block = slave port Stream(UInt(24 bits))
  val free_block_room = out port Bits(p.dies bits)
  val log_block = slave port Stream(LogBlock())
  val log_block_room = out port Bits(p.lanes bits)
  val bad_block = master port Stream(UInt(24 bits)) // a program failed in it
  val move = slave port Stream(PageMove())
  val weak_page = master port Stream(UInt(30 bits)) // the host has read it, or firmware verified it, with many corrected bits
  val refresh_at = in port UInt(p.correctedBits bits)
  val enable = in port Bool()
  val full = in port Bool()
  val log_full = in port Bits(p.lanes bits)
  val read_only = in port Bool() // set before `enable`: the mount could not write what a drive needs that takes writes
  val generation = in port UInt(32 bits)
  val drive_id = in port UInt(32 bits)
  val dropped, lost_log_pages, doubtful = in port UInt(32 bits) // of the last recovery
  val nand_mode = in port UInt(3 bits)
  val nand_can = in port Bits(p.nandCanBits bits)
  val alloc_left = out port UInt(32 bits)
  val log_left = out port UInt(32 bits)
  val log_pages = out port UInt(32 bits)
  val log_head, log_mark = out port UInt(32 bits) // low bits of the next entry's index and of the watermark
  val released = out port UInt(32 bits)
  val commits = out port UInt(32 bits)
  val corrected_reads, weak_reads = out port UInt(16 bits)
  val retried_reads = p.retry generate (out port UInt(16 bits))
  val fault = out port Bool()
  val busy = out port Bool() // a command, a NAND operation or a walk is under way; entries that wait for a FLUSH do not count

  // NAND pins; vectors are indexed by die or by channel, dq by 8 * channel
  val nand = NandPins(p)

  private val queue = new CommandQueue(p)
  private val data = new DataPath(p)
  private val remap = new RemapEngine(p)
  private val log = new CommitLog(p)
  private val flash = new FlashBackend(p)

  // host
  queue.enable := enable
  queue.cmd << cmd
  cpl << queue.cpl
  data.dpCmd << queue.dpCmd
  queue.dpDone << data.dpDone
  wdata_req << data.wdataReq
  data.wdata << wdata
  rdata << data.rdata

  // map and transactions
  remap.op << data.op
  data.rsp << remap.rsp
  data.released << remap.released
  remap.useTxid := data.useTxid
  data.useCount := remap.useCount
  data.memoryErrors := remap.memoryErrors
  data.older := remap.older
  data.reached := remap.reached
  data.txState := remap.txState
  data.txCount := remap.txCount
  queue.txState := remap.txState
  queue.takes := data.takes
  queue.allocLeft := data.allocLeft
  queue.logLeft := data.logLeft
  queue.framesFree := data.framesFree
  queue.full := data.full
  queue.logFull := data.logFull
  queue.fault := data.fault
  queue.fetched << data.fetched
  queue.settled << data.settled
  remap.tx << Core.settled(StreamArbiterFactory().roundRobin.transactionLock.onArgs(log.tx, data.tx))
  table << remap.table.pipelined(ar = StreamPipe.FULL, aw = StreamPipe.HALF, w = StreamPipe.HALF, r = StreamPipe.M2S, b = StreamPipe.M2S)

  // log
  log.enable := enable
  log.generation := generation
  log.driveId := drive_id
  log.append << data.append
  data.head := log.head
  log.waiter << data.waiter
  data.waitDone << log.waitDone
  log.pageDone << data.pageDone
  data.logLeft := log.logLeft
  data.fault := log.fault || read_only // the log itself stays empty, so a FLUSH has nothing to wait for
  log.relocate << data.relocate
  data.durable := log.durable
  log.rescueTo := data.rescueTo
  log.giveUp := data.giveUp
  log.logBlock << log_block
  log_block_room := log.logBlockRoom

  // flash
  flash.generation := generation
  flash.nandMode := nand_mode
  flash.nandCan := nand_can
  private val ops = Seq(data.write, data.read, log.program, firmware_op).map(_.halfPipe())
  flash.write << ops(0)
  data.writeDone << flash.writeDone.halfPipe()
  flash.read << ops(1)
  data.readDone << flash.readDone.halfPipe()
  flash.log << ops(2)
  log.programDone << flash.logDone
  flash.firmware << ops(3)
  firmware_done << flash.firmwareDone
  data.alloc << flash.alloc
  data.allocLeft := flash.allocLeft
  flash.freeBlock << free_block
  free_block_room := flash.freeBlockRoom
  flash.refreshAt := refresh_at
  weak_page << flash.weak
  corrected_reads := flash.correctedReads
  weak_reads := flash.weakReads
  if (p.retry) retried_reads := flash.retriedReads
  nand.ce_n := flash.nand.ce_n
  flash.nand.rb_n := nand.rb_n
  nand.cle := flash.nand.cle
  nand.ale := flash.nand.ale
  nand.we_n := flash.nand.we_n
  nand.re_n := flash.nand.re_n
  nand.wp_n := flash.nand.wp_n
  nand.dq_o := flash.nand.dq_o
  nand.dq_oe := flash.nand.dq_oe
  flash.nand.dq_i := nand.dq_i

  // pages and blocks that fail
  private val events = StreamArbiterFactory().lowerFirst.transactionLock.onArgs(data.badBlock.map(ppn => (ppn >> p.pageBits).resize(24)), log.badBlock)
  flash.retire << events.toFlowFire
  bad_block << events.queue(8)
  data.eventWaits := bad_block.valid
  data.move << move

  // frame memory: flash DMA, host data, log entries
  private val reads = Axi4ReadOnlyArbiter(Core.frameAxi(p), 2)
  reads.io.inputs(0) << flash.frame.toReadOnly()
  reads.io.inputs(1) << data.frame.toReadOnly()
  private val writes = Axi4WriteOnlyArbiter(Core.frameAxi(p), 3, routeBufferSize = 8)
  writes.io.inputs(0) << flash.frame.toWriteOnly().pipelined(aw = StreamPipe.HALF, w = StreamPipe.FULL)
  writes.io.inputs(1) << data.frame.toWriteOnly().pipelined(aw = StreamPipe.HALF, w = StreamPipe.FULL)
  writes.io.inputs(2) << log.frame
  frame << {
    val all = Axi4(Core.frameAxi(p))
    all << reads.io.output.pipelined(ar = StreamPipe.HALF, r = StreamPipe.FULL)
    all << writes.io.output.pipelined(aw = StreamPipe.HALF, w = StreamPipe.FULL, b = StreamPipe.HALF)
    all
  }

  // state
  data.full := full
  data.logFull := RegNext(log_full.orR) init False
  log.noMore := log_full
  data.dropped := dropped
  data.lostLogPages := lost_log_pages
  data.doubtful := doubtful
  alloc_left := flash.allocLeft
  log_left := log.logLeft
  log_pages := log.pages
  log_head := RegNext(log.head(31 downto 0))
  log_mark := RegNext(log.mark(31 downto 0))
  released := data.releasedPages
  commits := data.commits
  fault := data.fault
  busy := queue.busy || data.busy || remap.walking || flash.busy || ops.map(_.valid).reduce(_ || _)
}

object Core {

  /** The same stream out of registers, one clock later: a beat passes at both ends in the same clock, so its sender knows that it has been taken. At most a beat
    * per two clocks.
    */
  def settled[T <: Data](up: Stream[T]): Stream[T] = {
    val down = Stream(up.payloadType)
    down.valid := RegNext(up.valid && !up.fire, init = False)
    down.payload := RegNext(up.payload)
    up.ready := down.fire
    down
  }

  /** Frame memory's port: two id bits more than the blocks have, to tell them apart. */
  def frameAxi(p: OtxParam): Axi4Config = p.axi.copy(idWidth = p.axi.idWidth + 2)
}
