// SPDX-License-Identifier: Apache-2.0
package opentxssd

import opentxssd.data.DataPath
import opentxssd.flash.{FlashBackend, NandPins}
import opentxssd.host.{CommandIntake, CommandQueue, Completion, HostCmd, HostData, Supply}
import opentxssd.log.CommitLog
import opentxssd.remap.RemapEngine
import spinal.core._
import spinal.lib._
import spinal.lib.bus.amba4.axi._

/** The drive without its processor and memories: command queue, data path, remap engine, commit log, flash scheduler
  * and NAND channels, wired together. It decides nothing itself. Both memory ports end in registers. Reset loses all
  * state; firmware mounts again before it sets `enable`.
  *
  * `power_fail`, with PLP (`plpRounds`): for a clock or longer. From then on no command is taken, none completes and
  * none goes to the data path, the dies are left to programs, all frames of the write buffer are issued, and then the
  * open log page is closed (docs/decisions/040-plp.md). It ends when status `logDirty` is low; nothing but reset goes
  * on after it.
  */
class Core(p: OtxParam) extends Component {
  setDefinitionName("otx_core")

  // embedded host port
  val cmd = slave port Stream(HostCmd())
  val cpl = master port Stream(Completion())
  val hostData = Ports.snake(slave port HostData())

  // memories
  val table = master port Axi4(p.remap.tableAxi)
  val frame = master port Axi4(Core.frameAxi(p))

  // firmware
  val firmware = Ports.snake(slave port FirmwarePort(p))
  val control = Ports.snake(in port DriveControl(p))
  val status = Ports.snake(out port DriveStatus(p))
  val power_fail = in port Bool()

  // NAND pins; vectors are indexed by die or by channel, dq by 8 * channel
  val nand = master port NandPins(p)

  private val queue = new CommandQueue(p, p.queueSlots)
  private val data = new DataPath(p)
  private val remap = new RemapEngine(p.remap)
  private val log = new CommitLog(p)
  private val flash = new FlashBackend(p)

  // host
  queue.enable := control.enable
  private val plp = RegNext(control.plpRounds =/= 0) init False
  private val dumping = RegInit(False)
  private val failed = RegInit(False) // maybe during the mount
  failed.setWhen(power_fail)
  when((power_fail || failed) && plp && control.enable)(dumping := True)
  private val taken = cmd.haltWhen(dumping)
  private val ended = Stream(Completion())
  cpl << ended.haltWhen(dumping) // what ends from now on has not been saved
  private val intakeBusy = Bool()
  if (p.commands > p.queueSlots) {
    val intake = new CommandIntake(p.commands, p.queueSlots)
    intake.cmd << taken
    ended << intake.cpl
    queue.cmd << intake.queue
    intake.done << queue.cpl
    intake.data <> hostData
    data.hostData <> intake.slotData
    intakeBusy := intake.busy
  } else {
    queue.cmd << taken
    ended << queue.cpl
    data.hostData <> hostData
    intakeBusy := False
  }
  data.dpCmd << queue.dpCmd.haltWhen(dumping)
  data.plp := plp
  data.dumping := dumping
  data.inOrder := RegNext(control.persistOrder === PersistOrder.IN_ORDER) init False
  data.starved := queue.starved
  data.dieIdle := flash.port.dieNow.map(!_.lsb).orR
  data.bufferLimit := control.bufferLimit
  data.hostTimeout := control.hostTimeout
  queue.dpDone << data.dpDone

  // what is left for writes
  private val supply = Supply()
  supply.allocLeft := flash.port.allocLeft
  supply.places := flash.port.places
  private val beyond = RegNext(U(p.writeFrames, 16 bits) -| flash.port.reach -| data.framesLost) init p.writeFrames
  supply.framesKept := plp.mux(beyond, U(0, 16 bits))
  supply.logLeft := log.logLeft
  supply.full := control.full
  supply.logFull := RegNext(control.logFull.andR) init False
  supply.fault := log.fault || control.readOnly // the log itself stays empty, so a FLUSH has nothing to wait for
  queue.supply := supply
  queue.pageClocks := control.pageClocks
  queue.classTurns := control.classTurns
  data.supply := supply
  queue.intake := data.intake

  // map and transactions
  remap.user <> data.remap
  data.released << remap.released
  data.changed << remap.changed
  data.view <> remap.view
  queue.txState := remap.view.txState
  remap.restored << firmware.reclaim.prepared
  remap.tx << Core.settled(StreamArbiterFactory().roundRobin.transactionLock.onArgs(log.tx, data.tx))
  private val mapper = data.mapping.asUInt // at the mount, in which the engine has nothing to do
  private val tables = Axi4(p.remap.tableAxi)
  tables.ar << StreamMux(mapper, Seq(remap.table.ar, data.mapTable.ar))
  tables.aw << StreamMux(mapper, Seq(remap.table.aw, data.mapTable.aw))
  tables.w << StreamMux(mapper, Seq(remap.table.w, data.mapTable.w))
  for ((r, to) <- StreamDemux(tables.r, mapper, 2).zip(Seq(remap.table.r, data.mapTable.r))) to << r
  for ((b, to) <- StreamDemux(tables.b, mapper, 2).zip(Seq(remap.table.b, data.mapTable.b))) to << b
  table << tables.pipelined(
    ar = StreamPipe.FULL,
    aw = StreamPipe.HALF,
    w = StreamPipe.HALF,
    r = StreamPipe.M2S,
    b = StreamPipe.M2S
  )

  // log
  log.data <> data.log
  log.enable := control.enable
  data.enable := control.enable
  data.durableMark := log.durableMark
  log.generation := control.generation
  log.driveId := control.driveId
  log.noMore := control.logFull
  log.idleDies := control.idleDies
  log.plp := plp
  log.together := RegNext(control.persistOrder === PersistOrder.TOGETHER && !dumping) init False
  log.drain := RegNext(dumping && !data.waiting) init False
  log.dieNow := flash.port.dieNow
  log.logBlock << firmware.logBlock
  firmware.logBlockRoom := log.logBlockRoom

  // flash
  flash.port.generation := control.generation
  flash.port.refreshAt := control.refreshAt
  flash.port.idleDies := control.idleDies
  flash.port.rounds := control.plpRounds
  flash.port.only := dumping
  flash.nandMode := control.nandMode
  flash.nandCapabilities := control.nandCapabilities
  private val ops = Seq(data.write, data.read, log.program, firmware.firmwareOp).map(_.halfPipe())
  flash.port.clients.write << ops(0)
  flash.port.clients.read << ops(1)
  flash.port.clients.log << ops(2)
  flash.port.clients.firmware << ops(3)
  data.writeDone << flash.port.writeDone.halfPipe()
  data.readDone << flash.port.readDone.halfPipe()
  log.programDone << flash.port.logDone
  firmware.firmwareDone << flash.port.firmwareDone
  data.alloc << flash.port.alloc
  flash.port.freeBlock << firmware.freeBlock
  firmware.freeBlockRoom := flash.port.freeBlockRoom
  firmware.weakPage << flash.port.weak
  nand <> flash.nand

  // pages and blocks that fail
  private val events = StreamArbiterFactory().lowerFirst.transactionLock.onArgs(
    data.badBlock.map(ppn => (ppn >> p.pageBits).resize(24)),
    log.badBlock
  )
  flash.port.retire << events.toFlowFire
  firmware.badBlock << events.queue(8)
  data.eventWaits := firmware.badBlock.valid
  data.move << firmware.move
  data.loss := control.loss
  data.picked << flash.port.picked
  data.reclaim <> firmware.reclaim
  log.place <> firmware.logPlace

  // frame memory: flash DMA, host data, log entries
  private val reads = Axi4ReadOnlyArbiter(Core.frameAxi(p), 2)
  reads.io.inputs(0) << flash.port.frame.toReadOnly()
  reads.io.inputs(1) << data.frame.toReadOnly()
  private val writes = Axi4WriteOnlyArbiter(Core.frameAxi(p), 3, routeBufferSize = 8)
  writes.io.inputs(0) << flash.port.frame.toWriteOnly().pipelined(aw = StreamPipe.HALF, w = StreamPipe.FULL)
  writes.io.inputs(1) << data.frame.toWriteOnly().pipelined(aw = StreamPipe.HALF, w = StreamPipe.FULL)
  writes.io.inputs(2) << log.frame
  frame << {
    val all = Axi4(Core.frameAxi(p))
    all << reads.io.output.pipelined(ar = StreamPipe.HALF, r = StreamPipe.FULL)
    all << writes.io.output.pipelined(aw = StreamPipe.HALF, w = StreamPipe.FULL, b = StreamPipe.HALF)
    all
  }

  // state
  status.flash := flash.port.counters
  status.allocLeft := supply.allocLeft
  status.logLeft := supply.logLeft
  status.logPages := log.pages
  status.logHead := RegNext(log.groupEnd)
  status.logMark := RegNext(log.mark)
  status.logDurableMark := RegNext(data.held) // what the buffer holds is behind it, too
  status.released := data.counters.releasedPages
  status.commits := data.counters.commits
  status.dataPages := data.counters.pages
  status.memoryErrors := remap.view.memoryErrors
  status.fault := supply.fault
  status.dumping := dumping
  status.framesKept := supply.framesKept
  status.asked := data.asked
  status.buffered := data.buffered
  status.logDirty := RegNext(log.dirty || data.waiting, True)
  status.moving := data.moving
  status.pageWanted := data.pageWanted
  status.busy := queue.busy || intakeBusy || data.busy || remap.walking || flash.port.busy || ops.map(_.valid).reduce(
    _ || _
  )
}

object Core {

  /** The same stream out of registers, one clock later: a beat passes at both ends in the same clock, so its sender
    * knows that it has been taken. At most a beat per two clocks.
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
