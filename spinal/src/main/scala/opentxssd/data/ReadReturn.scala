// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import opentxssd._
import opentxssd.host.{Completion, ReadBeat}
import spinal.core._
import spinal.lib._
import spinal.lib.bus.amba4.axi._

/** READ `tag` has `blocks` blocks. */
case class ReadStart() extends Bundle {
  val tag = UInt(5 bits)
  val blocks = UInt(6 bits)
}

/** One block on its way to the host. */
case class ReturnJob() extends Bundle {
  val tag, block = UInt(5 bits)
  val frame = UInt(16 bits)
  val hasData = Bool() // else it could not be read: nothing is sent
  val zero = Bool() // reads as zeroes, no frame
  val pinned = Bool() // a write frame, to unpin
  val held = Bool() // a read frame, to give back
}

/** Sends blocks to the host, one at a time, and ends each READ after its last one.
  *
  * Contract: a job with data becomes 512 `rdata` beats, from its frame in 16 AXI bursts of 32 beats or zeroes; the next
  * job's bursts are under way while this one is sent, never more than the 64 beats that fit here: a slow host never
  * holds the memory's read channel. Then the frame is let go (`unpin` or `giveRead`). `done` carries SUCCESS, or
  * MEDIA_ERROR when a block had no data or its frame answered with an error (that block is sent, do not trust it). A
  * block that has begun is sent to its end, though `done` is not taken: a host may take nothing else until it has it.
  *
  * Throughput: a beat per clock while the memory answers within 32 clocks. Reset loses all; jobs are taken 32 clocks
  * later.
  */
class ReadReturn(p: OtxParam) extends Component {
  setDefinitionName("otx_read_return")

  val start = slave port Flow(ReadStart())
  val jobs = slave port Stream(ReturnJob())
  val axi = master port Axi4ReadOnly(p.axi)
  val rdata = master port Stream(ReadBeat())
  val unpin = master port Stream(UInt(16 bits))
  val giveRead = master port Flow(UInt(16 bits))
  val done = master port Stream(Completion())

  private val swept = Reg(UInt(6 bits)) init 0
  private val sweeping = !swept.msb
  when(sweeping)(swept := swept + 1)
  private val (toFetch, toSend) = StreamFork2(jobs.haltWhen(sweeping))

  // Fetch bursts ahead into the beat buffer
  private case class Beat() extends Bundle {
    val data = Bits(64 bits)
    val bad = Bool()
  }
  private val fetch = toFetch.throwWhen(toFetch.zero || !toFetch.hasData).m2sPipe()
  private val room = Reg(UInt(7 bits)) init 64
  private val burst = Reg(UInt(4 bits)) init 0
  private val beats = StreamFifo(Beat(), 64)
  axi.ar.valid := fetch.valid && room >= 32
  axi.ar.addr := U(p.frameBase, 32 bits) + (fetch.frame @@ burst @@ U(0, 8 bits)).resized
  axi.ar.id := 0
  axi.ar.len := 31
  axi.ar.size := 3
  axi.ar.burst := 1
  fetch.ready := axi.ar.fire && burst === 15
  when(axi.ar.fire)(burst := burst + 1)
  room := room - Mux(axi.ar.fire, U(32, 7 bits), U(0, 7 bits)) + beats.io.pop.fire.asUInt
  beats.io.push.arbitrationFrom(axi.r)
  beats.io.push.data := axi.r.data
  beats.io.push.bad := axi.r.resp =/= 0

  // Send
  private case class Ending() extends Bundle {
    val job = ReturnJob()
    val bad = Bool()
  }
  private val job = toSend.queue(2)
  private val beat = Reg(UInt(9 bits)) init 0
  private val bad = RegInit(False) // a beat of this block answered with an error
  private val last = beat === OtxParam.beats - 1
  private val endings = StreamFifo(Ending(), 2)
  private val hasBeat = job.zero || beats.io.pop.valid
  private val sendable = endings.io.push.ready || beat =/= 0 // only this block takes a place there until its end
  rdata.valid := job.valid && job.hasData && hasBeat && sendable
  rdata.tag := job.tag.resized
  rdata.block := job.block
  rdata.data := Mux(job.zero, B(0, 64 bits), beats.io.pop.data)
  rdata.last := last
  beats.io.pop.ready := rdata.fire && !job.zero
  private val badBeat = !job.zero && beats.io.pop.bad
  when(rdata.fire) {
    beat := beat + 1
    bad := !last && (bad || badBeat)
  }
  job.ready := Mux(job.hasData, rdata.fire && last, endings.io.push.ready)
  endings.io.push.valid := job.valid && Mux(job.hasData, rdata.fire && last, True)
  endings.io.push.job := job.payload
  endings.io.push.bad := !job.hasData || bad || badBeat

  // Let the frame go, and count
  private val (toRelease, counting) = StreamFork2(endings.io.pop)
  private val toCount = counting.halfPipe()
  unpin.valid := toRelease.valid && toRelease.job.pinned
  unpin.payload := toRelease.job.frame
  toRelease.ready := !toRelease.job.pinned || unpin.ready
  giveRead.valid := toRelease.fire && toRelease.job.held
  giveRead.payload := toRelease.job.frame

  private case class Count() extends Bundle {
    val blocks = UInt(6 bits)
    val bad = Bool()
  }
  private val totals = Mem(UInt(6 bits), OtxParam.tags)
  totals.write(start.tag, start.blocks, start.valid)
  private val counts = Mem(Count(), OtxParam.tags)
  private val tag = toCount.job.tag
  private val before = counts.readAsync(tag)
  private val after = Count()
  after.blocks := before.blocks + 1
  after.bad := before.bad || toCount.bad
  private val whole = after.blocks === totals.readAsync(tag)
  counts.write(
    sweeping.mux(swept.resize(5), tag),
    Mux(sweeping || whole, Count().getZero, after),
    sweeping || toCount.fire
  )
  done.valid := toCount.valid && whole
  done.tag := tag.resized
  done.status := Mux(after.bad, StatusCode(Status.MEDIA_ERROR), StatusCode(Status.SUCCESS))
  done.result := 0
  toCount.ready := !whole || done.ready
}
