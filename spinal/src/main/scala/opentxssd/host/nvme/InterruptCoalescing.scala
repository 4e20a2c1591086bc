// SPDX-License-Identifier: Apache-2.0
package opentxssd.host.nvme

import spinal.core._
import spinal.lib._

/** When a CQE becomes an interrupt (features 08h and 09h).
  *
  * Contract. `notice` asks `request` for its vector: at once if it says so, or `atOnce` has the vector, or `above` or
  * `time` is 0; otherwise when more than `above` have come since the last request, or, within 16 clocks, when the first
  * of them is `time` units of 100 us old, less up to one of them. A request stands in the clock of its notice, or in
  * one without; the taker is always ready. `clear` and reset: no vector waits.
  */
class InterruptCoalescing(unit: Int) extends Component {
  import NvmeMsix.vectors
  private val vectorBits = log2Up(vectors)

  val notice = slave port Flow(Notice())
  val above, time = in port UInt(8 bits)
  val atOnce = in port Bits(vectors bits)
  val clear = in port Bool()
  val request = master port Flow(UInt(vectorBits bits))

  private val waits = Reg(Bits(vectors bits)) init 0
  private val counts, since = Nvme.table(UInt(8 bits), vectors)
  private val ticks = Reg(UInt(log2Up(unit) bits)) init 0
  private val now = Reg(UInt(8 bits)) init 0
  ticks := ticks + 1
  when(ticks === unit - 1) {
    ticks := 0
    now := now + 1
  }

  private val scan = Reg(UInt(vectorBits bits)) init 0
  private val v = Mux(notice.valid, notice.vector, scan)
  private val count = Mux(waits(v), counts.readAsync(v), U(0))
  private val old = now - since.readAsync(v) >= time
  private val off = atOnce(v) || above === 0 || time === 0
  private val goes = Mux(notice.valid, notice.atOnce || off || count >= above, waits(v) && (old || off))
  when(!notice.valid)(scan := scan + 1)
  counts.write(v, count + 1, notice.valid)
  since.write(v, now, notice.valid && !waits(v))
  when(notice.valid)(waits(v) := !goes)
  when(!notice.valid && goes)(waits(v) := False)
  request.valid := goes
  request.payload := v
  when(clear)(waits := 0)
}
