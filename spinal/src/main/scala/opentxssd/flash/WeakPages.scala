// SPDX-License-Identifier: Apache-2.0
package opentxssd.flash

import opentxssd._
import spinal.core._
import spinal.lib._

/** A page that the host has read, or firmware has verified, and that was whole. */
case class PageRead(p: OtxParam) extends Bundle {
  val ppn = UInt(p.ppnBits bits)
  val corrected = UInt(p.correctedBits bits) // most wrong bits of a chunk
}

/** Pages that the host has read, or firmware has verified, with many corrected bits, for firmware, which writes them
  * again (docs/ecc.md).
  *
  * Contract. `reads`: one Flow for each channel. Of these, a page with `corrected` at or above `refreshAt` goes to
  * `weak`; with `refreshAt` 0, or more than can be corrected, none does. Eight wait there; one that does not fit is
  * dropped: its next read comes here again. `correctedReads` counts reads with at least one corrected bit, `weakReads`
  * those for `weak`, dropped ones too, `retriedReads` those that were whole at another read level only (`ReadRetry`:
  * `corrected` is all ones, more than can be); 65,535 means that or more. From `reads` to `weak` valid: 5 clocks.
  * Nobody waits for this block: a read of a channel that comes before the one before it had its turn (at most as many
  * clocks as there are channels; a page takes 512) is lost. Reset forgets all and clears the counters.
  */
class WeakPages(p: OtxParam) extends Component {
  setDefinitionName("otx_weak_pages")

  val reads = Vec.fill(p.channels)(slave port Flow(PageRead(p)))
  val refreshAt = in port UInt(p.correctedBits bits)
  val weak = master port Stream(UInt(30 bits))
  val counters = Ports.bare(out port FlashCounters(p))

  private val waiting = reads.map(_.toStream.m2sPipe())
  private val read = StreamArbiterFactory().roundRobin.noLock.on(waiting).toFlow.m2sPipe()
  private val found = RegNext(read.valid && refreshAt =/= 0 && read.corrected >= refreshAt, init = False)
  private val fifo = StreamFifo(UInt(p.ppnBits bits), 8)
  fifo.io.push.valid := found
  fifo.io.push.payload := RegNext(read.ppn)
  weak << fifo.io.pop.map(_.resize(30))

  private def count(one: Bool) = {
    val n = RegInit(U(0, 16 bits))
    when(one && !n.andR)(n := n + 1)
    n
  }
  counters.correctedReads := count(read.valid && read.corrected =/= 0)
  counters.weakReads := count(found)
  if (p.retry) counters.retriedReads := count(read.valid && read.corrected.andR)
}
