// SPDX-License-Identifier: Apache-2.0
package opentxssd.host.nvme

import spinal.core._
import spinal.lib._

/** Several readers of host memory at one port.
  *
  * Contract. Of the readers that want something the first goes; its bytes come back to it, in the order of its reads.
  * At most eight reads are open. A reader whose bytes wait for it holds up the others' bytes. Latency: a clock each
  * way. An error comes with the last beat of its read. Reset forgets open reads: none may be open then.
  */
class DmaReads(readers: Int) extends Component {
  val wants = Vec(slave(Stream(DmaRead())), readers)
  val gets = Vec(master(Stream(DmaReadBeat())), readers)
  val dma = master port Stream(DmaRead())
  val dmaData = slave port Stream(DmaReadBeat())
  val busy = out port Bool()

  private val arbiter = StreamArbiterFactory().lowerFirst.noLock.build(DmaRead(), readers)
  for ((input, want) <- arbiter.io.inputs.zip(wants)) input << want
  private val open = StreamFifo(UInt(log2Up(readers) bits), 8)
  private val taken = arbiter.io.output.haltWhen(!open.io.push.ready)
  open.io.push.valid := taken.fire
  open.io.push.payload := arbiter.io.chosen
  dma << taken.stage()

  private val data = dmaData.stage()
  private val to = open.io.pop
  for ((get, i) <- gets.zipWithIndex) {
    get.valid := data.valid && to.valid && to.payload === i
    get.payload := data.payload
  }
  data.ready := to.valid && gets.map(_.ready).read(to.payload)
  to.ready := data.fire && data.last
  busy := open.io.occupancy =/= 0
}

/** Several writers of host memory at one port.
  *
  * Contract. Of the writers that want to write the first goes; what it writes stands behind all that was taken before.
  * A writer whose bytes do not come holds up the others. Latency: a clock. `busy`: something has not left yet.
  */
class DmaWrites(writers: Int) extends Component {
  val wants = Vec(slave(Stream(DmaWrite())), writers)
  val gives = Vec(slave(Stream(DmaBeat())), writers)
  val dma = master port Stream(DmaWrite())
  val dmaData = master port Stream(DmaBeat())
  val busy = out port Bool()

  private val arbiter = StreamArbiterFactory().lowerFirst.noLock.build(DmaWrite(), writers)
  for ((input, want) <- arbiter.io.inputs.zip(wants)) input << want
  private val open = StreamFifo(UInt(log2Up(writers) bits), 4)
  private val taken = arbiter.io.output.haltWhen(!open.io.push.ready)
  open.io.push.valid := taken.fire
  open.io.push.payload := arbiter.io.chosen
  dma << taken.stage()

  private val from = open.io.pop
  private val data = Stream(DmaBeat())
  data.valid := from.valid && gives.map(_.valid).read(from.payload)
  data.payload := gives.map(_.payload).read(from.payload)
  for ((give, i) <- gives.zipWithIndex) give.ready := data.ready && from.valid && from.payload === i
  from.ready := data.fire && data.last
  dmaData << data.stage()
  busy := open.io.occupancy =/= 0 || dma.valid || dmaData.valid
}
