// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import opentxssd._
import opentxssd.host.{BlockRef, HostCmd, WriteBeat}
import spinal.core._
import spinal.lib._
import spinal.lib.bus.amba4.axi._

/** A command after its data came: `frames` frames of it wait in the frame stream; `status` is not SUCCESS when the data
  * is not whole. */
case class FilledCmd() extends Bundle {
  val cmd = HostCmd()
  val frames = UInt(6 bits)
  val status = UInt(4 bits)
}

/** Fetches the data of each WRITE into write frames; all other commands pass untouched, in order.
  *
  * Contract: for each block a frame from `free`, a `wdataReq`, 512 beats from `wdata` in 16 AXI bursts of 32 beats; the
  * block counts when its 16 write responses came.
  * Then its frame goes to `frames`, and the command to `filled` after its last frame, so whoever gets the command finds
  * all its frames. The next block is requested while the last one is still written. An address goes out only when its
  * 32 beats are here: a slow host never holds the memory's write channel.
  *
  * Throughput: 33 clocks for 32 beats. Latency: a command without data 1 clock. Errors: a write error ends the command
  * as WRITE_FAULT; after `fault` no frame may ever come free, so a WRITE that finds none goes on as READ_ONLY with the
  * frames it has. Reset loses everything, the data under way too.
  */
class FrameFill(p: OtxParam) extends Component {
  setDefinitionName("otx_frame_fill")

  val cmd = slave port Stream(HostCmd())
  val filled = master port Stream(FilledCmd())
  val frames = master port Stream(UInt(16 bits))
  val free = slave port Stream(UInt(16 bits))
  val wdataReq = master port Stream(BlockRef())
  val wdata = slave port Stream(WriteBeat())
  val axi = master port Axi4WriteOnly(p.axi)
  val fault = in port Bool()

  private val isWrite = cmd.opcode === Opcode.WRITE
  private val requested, complete = Reg(UInt(6 bits)) init 0
  private val abandoned, bad = Reg(Bool()) init False

  // Ask: a frame and a request for each block
  private val want = cmd.valid && isWrite && requested =/= cmd.count.resize(6 bits) && !abandoned
  when(want && fault && !free.valid)(abandoned := True)
  private val (ask, take) = StreamFork2(free.continueWhen(want))
  wdataReq.arbitrationFrom(ask)
  wdataReq.tag := cmd.tag
  wdataReq.block := requested.resized
  when(free.fire)(requested := requested + 1)

  // Move: a burst when its beats are here
  private val moving = take.queue(2)
  private val beats = StreamFifo(Bits(64 bits), 64)
  beats.io.push.arbitrationFrom(wdata)
  beats.io.push.payload := wdata.data
  private val burst = Reg(UInt(4 bits)) init 0
  private val beat = Reg(UInt(5 bits)) init 0
  private val inBurst = RegInit(False)
  private val written = StreamFifo(UInt(16 bits), 4) // frames whose responses are awaited
  private val lastBeat = beat === 31
  axi.aw.valid := moving.valid && !inBurst && beats.io.occupancy >= 32 && written.io.push.ready
  axi.aw.addr := U(p.frameBase, 32 bits) + (moving.payload @@ burst @@ U(0, 8 bits)).resized
  axi.aw.id := 0
  axi.aw.len := 31
  axi.aw.size := 3
  axi.aw.burst := 1
  axi.w.valid := inBurst && beats.io.pop.valid
  axi.w.data := beats.io.pop.payload
  axi.w.strb.setAll()
  axi.w.last := lastBeat
  beats.io.pop.ready := inBurst && axi.w.ready
  when(axi.aw.fire)(inBurst := True)
  when(axi.w.fire) {
    beat := beat + 1
    when(lastBeat) {
      inBurst := False
      burst := burst + 1
    }
  }
  private val moved = axi.w.fire && lastBeat && burst === 15
  moving.ready := moved
  written.io.push.valid := moved
  written.io.push.payload := moving.payload

  // Count the responses
  private val responses = Reg(UInt(4 bits)) init 0
  private val ready = StreamFifo(UInt(16 bits), 64) // two commands' frames: never full
  private val whole = axi.b.fire && responses === 15
  axi.b.ready := ready.io.push.ready && written.io.pop.valid || responses =/= 15
  ready.io.push.valid := whole
  ready.io.push.payload := written.io.pop.payload
  written.io.pop.ready := whole
  when(axi.b.fire) {
    responses := responses + 1
    when(axi.b.resp =/= 0)(bad := True)
  }
  when(whole)(complete := complete + 1)
  frames << ready.io.pop

  // Hand over
  private val ended = complete === cmd.count.resize(6 bits) || abandoned && complete === requested
  filled.valid := cmd.valid && (!isWrite || ended)
  filled.cmd := cmd.payload
  filled.frames := complete
  filled.status := Mux(
    bad,
    StatusCode(Status.WRITE_FAULT),
    Mux(abandoned, StatusCode(Status.READ_ONLY), StatusCode(Status.SUCCESS))
  )
  cmd.ready := filled.fire
  when(filled.fire) {
    requested := 0
    complete := 0
    abandoned := False
    bad := False
  }
}
