// SPDX-License-Identifier: Apache-2.0
package opentxssd.host.nvme

import opentxssd.host.{HostCmd, HostData}
import spinal.core._
import spinal.lib._

/** Data of commands both ways between core and host memory, by the PRPs of their slots.
  *
  * Contract. `info`, `first` and `later` are what is known of a slot. What the core asks for is read from host memory,
  * what it delivers is written there, or compared with what is there; `range` reads 16 bytes of what a slot names.
  * `ending`: the slot whose completion comes; it waits while `holds`, until the writes of all blocks that have begun
  * stand before what is written next, and a comparison has ended. `compares`, `differs`, `unread`: of that slot.
  */
class DataFlow extends Component {
  import Nvme._

  val core = master port HostData()
  val info = slave port Flow(SlotInfo())
  val slot = in port UInt(slotBits bits) // of `info`
  val first = slave port Flow(FirstPrp())
  val later = slave port Flow(LaterPrp())
  val goes = slave port Flow(HostCmd())
  val ended = in port Bool()
  val ending = in port UInt(slotBits bits)
  val holds, compares, differs, unread = out port Bool()
  val range = slave port Stream(BytesOf())
  val ranges = master port Stream(DmaReadBeat())
  val read = master port Stream(DmaRead())
  val readData = slave port Stream(DmaReadBeat())
  val write = master port Stream(DmaWrite())
  val writeData = master port Stream(DmaBeat())
  val busy = out port Bool()

  private val prps = new PrpStore
  private val requests = new WriteRequests
  private val reads = new HostReads
  private val delivery = new ReadDelivery
  private val infos = table(SlotInfo(), slots)
  infos.write(slot, info.payload, info.valid)
  private def isCompared(of: UInt): Bool = infos.readAsync(of).kind === DataKind.COMPARE
  prps.first << first
  prps.later << later

  // from host memory
  requests.request << core.wdataReq
  requests.goes << goes
  requests.ended.valid := ended
  requests.ended.payload := ending
  private val wanted = range.map { bytes =>
    val want = HostRead()
    want.bytes := bytes
    want.kind := HostRead.RANGE
    want.request := 0
    want
  }
  reads.want << StreamArbiterFactory().roundRobin.noLock.onArgs(requests.want, delivery.compare, wanted).stage()
  prps.ask(0) << reads.ask
  reads.answer << prps.answer(0)
  read << reads.read
  reads.data << readData
  core.wdata << reads.wdata.stage()
  ranges << reads.range

  // to it
  prps.ask(1) << delivery.ask
  delivery.answer << prps.answer(1)
  delivery.compared << reads.compared
  delivery.rdata << core.rdata
  delivery.compares := isCompared(delivery.slot)
  delivery.forget.valid := info.valid
  delivery.forget.payload := slot
  write << delivery.write
  writeData << delivery.data
  compares := isCompared(ending)
  differs := delivery.differs(ending)
  unread := delivery.unread(ending)
  delivery.ending := ending
  holds := delivery.pending || compares && delivery.comparing
  busy := reads.busy || delivery.busy
}
