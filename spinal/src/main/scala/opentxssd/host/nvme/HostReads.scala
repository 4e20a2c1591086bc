// SPDX-License-Identifier: Apache-2.0
package opentxssd.host.nvme

import opentxssd.host.WriteBeat
import spinal.core._
import spinal.lib._

/** Bytes of a command that come from host memory, and for whom. */
case class HostRead() extends Bundle {
  val bytes = BytesOf()
  val kind = UInt(2 bits)
  val request = UInt(12 bits)
}

object HostRead {
  val WRITE = 0
  val COMPARE = 1
  val RANGE = 2
}

/** Reads what commands name out of host memory, as one stream of 64-bit words for each `want`, whatever its alignment
  * and on how many pages it is.
  *
  * Contract. `want` is a multiple of eight bytes. Its bytes go to the output of its kind, in the order of the wants, at
  * one beat a clock. Reads leave eight clocks after `want` was taken; a want on two pages is two of them, and the
  * second one begins with the upper half of a beat when the first has an odd number of words. An error of either comes
  * with the last beat of the want. Four wants are under way at most.
  */
class HostReads extends Component {
  val want = slave port Stream(HostRead())
  val ask = master port Stream(BytesOf())
  val answer = slave port Flow(Pieces())
  val read = master port Stream(DmaRead())
  val data = slave port Stream(DmaReadBeat())
  val wdata = master port Stream(WriteBeat())
  val compared, range = master port Stream(DmaReadBeat())
  val busy = out port Bool()

  private case class Open() extends Bundle {
    val kind = UInt(2 bits)
    val request = UInt(12 bits)
    val odd, two = Bool() // the first piece has an odd number of words; there is a second one
  }

  private val step = Reg(UInt(3 bits)) init 0
  private val pieces = Reg(Pieces())
  private val open = StreamFifo(Open(), 4)
  ask.valid := step === 0 && want.valid && open.io.push.ready
  ask.payload := want.bytes
  open.io.push.valid := step === 2
  open.io.push.kind := want.kind
  open.io.push.request := want.request
  open.io.push.odd := pieces.length(2)
  open.io.push.two := pieces.more =/= 0
  switch(step) {
    is(0)(when(ask.fire)(step := 1))
    is(1) {
      pieces := answer.payload
      when(answer.valid)(step := 2)
    }
    is(2)(when(open.io.push.ready)(step := 3))
    is(3)(when(read.ready)(step := Mux(pieces.more === 0, U(0), U(4))))
    is(4)(when(read.ready)(step := 0))
  }
  want.ready := step === 2 && open.io.push.ready
  read.valid := step === 3 || step === 4
  read.address := Mux(step === 3, pieces.address, pieces.page @@ U(0, 12 bits))
  read.length := Mux(step === 3, pieces.length, pieces.more)

  // words of both pieces, one behind the other
  private val now = open.io.pop
  private val second, holds = RegInit(False) // the second piece comes; a word waits
  private val failed = RegInit(False) // the first one could not be read
  private val held = Reg(Bits(32 bits))
  private val one = data.last && now.odd // one word in this beat
  private val joined = Stream(DmaReadBeat())
  joined.valid := data.valid && now.valid && (holds || !one)
  joined.data := Mux(holds, data.data(31 downto 0) ## held, data.data)
  joined.last := data.last && (second || !now.two)
  joined.error := joined.last && (failed || data.error)
  data.ready := now.valid && (joined.ready || !holds && one)
  when(data.fire) {
    held := Mux(holds, data.data(63 downto 32), data.data(31 downto 0))
    holds := holds ^ one
    when(data.last) {
      second := now.two && !second
      failed := now.two && !second && data.error
    }
  }
  now.ready := joined.fire && joined.last

  private val outs = StreamDemux(joined, now.kind, 3)
  wdata.arbitrationFrom(outs(0))
  wdata.request := now.request
  wdata.data := joined.data
  wdata.last := joined.last
  wdata.error := joined.error
  compared << outs(1)
  range << outs(2)
  busy := step =/= 0 || now.valid || open.io.occupancy =/= 0
}
