// SPDX-License-Identifier: Apache-2.0
package opentxssd.log

import opentxssd._
import spinal.core._
import spinal.lib._
import spinal.lib.bus.amba4.axi._

/** 32 bytes at place `place` (0 ... 127) of log frame `frame`; a header is places 0 and 1, entry `i` of a page is place
  * `i + 2`. */
case class LogRecord() extends Bundle {
  val frame = UInt(2 bits)
  val place = UInt(7 bits)
  val words = Bits(256 bits) // word 0 in the low bits
}

/** Writes records into the log frames, each as one AXI burst of 4 beats, in order.
  *
  * Throughput: one record in 5 clocks when the memory takes address and data at once; latency from `record` to the
  * first beat: 1 clock. All bursts have id 0, so the memory answers them in order and two counters (modulo 2,048, at
  * most 512 records are under way) tell what is there: the record that was the `n`-th accepted is in memory when
  * `written` has reached `n`. `error` is high for one clock when the memory answers with an error; `written` stays
  * where it is from then on.
  *
  * A burst that has begun is always finished. Only reset loses the record that is held.
  */
class LogFrameWriter(p: OtxParam) extends Component {
  setDefinitionName("otx_log_frame_writer")

  val record = slave port Stream(LogRecord())
  val frame = master port Axi4WriteOnly(p.axi)
  val accepted = out port UInt(11 bits)
  val written = out port UInt(11 bits)
  val error = out port Bool()

  private val asked, answered = Reg(UInt(11 bits)) init 0
  private val addressOpen, dataOpen = RegInit(False) // still to be sent
  private val beat = Reg(UInt(2 bits))
  private val place = Reg(UInt(9 bits))
  private val words = Reg(Bits(256 bits))

  record.ready := !addressOpen && !dataOpen
  when(record.fire) {
    addressOpen := True
    dataOpen := True
    asked := asked + 1
  }
  when(record.ready) { // whether or not there is one: its valid comes late
    beat := 0
    place := record.frame @@ record.place
    words := record.words
  }

  private val base = p.frameBase + BigInt(p.logFrameBase) * 4096
  frame.aw.valid := addressOpen
  frame.aw.addr := U(base, 32 bits) + (place << 5).resize(32)
  frame.aw.id := 0
  frame.aw.len := 3
  frame.aw.size := 3
  frame.aw.burst := Axi4.burst.INCR
  when(frame.aw.fire)(addressOpen := False)

  frame.w.valid := dataOpen
  frame.w.data := words(63 downto 0)
  frame.w.strb.setAll()
  frame.w.last := beat === 3
  when(frame.w.fire) {
    beat := beat + 1
    words := words |>> 64
    when(frame.w.last)(dataOpen := False)
  }

  frame.b.ready := True
  error := frame.b.fire && frame.b.resp =/= Axi4.resp.OKAY
  private val broken = RegInit(False) setWhen error
  when(frame.b.fire && !error && !broken)(answered := answered + 1)

  accepted := asked
  written := answered
}
