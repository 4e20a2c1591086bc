// SPDX-License-Identifier: Apache-2.0
package opentxssd.host.nvme

import spinal.core._
import spinal.lib._

/** How long COMMITs took, as a histogram.
  *
  * Contract. `took`, in clocks, adds one to bucket b of 32 with 2^b <= took < 2^(b+1); 0 counts in bucket 0. One may
  * come in each clock, and counts two clocks later. `count` is that of bucket `index`, in the same clock, modulo 2^32.
  * Reset: all are 0 after 32 clocks; what comes in these is lost.
  */
class CommitLatencies extends Component {
  val took = slave port Flow(UInt(32 bits))
  val index = in port UInt(5 bits)
  val count = out port UInt(32 bits)

  private val counts = Nvme.table(UInt(32 bits), 32)
  private val swept = Reg(UInt(6 bits)) init 0
  when(!swept.msb)(swept := swept + 1)
  private val bucket = RegNext(OHToUInt(OHMasking.last(took.payload | 1)))
  private val one = RegNext(took.valid) init False
  private val more = counts.readAsync(bucket) + 1
  counts.write(Mux(swept.msb, bucket, swept.resized), Mux(swept.msb, more, U(0)), one || !swept.msb)
  count := counts.readAsync(index)
}
