// SPDX-License-Identifier: Apache-2.0
package opentxssd.host.nvme

import spinal.core._
import spinal.lib._

/** The MSI-X table of 16 vectors as 32 words of 64 bits: address of a vector, then its data and its mask bit. */
case class TableAccess() extends Bundle with IMasterSlave {
  val word = UInt(log2Up(2 * NvmeMsix.vectors) bits)
  val reads = Bool() // from when the answer is wanted until it was there
  val read = Bits(64 bits) // two clocks later, or four when a message was being looked up
  val write = Flow(TableWrite())

  override def asMaster(): Unit = {
    out(word, reads)
    in(read)
    master(write)
  }
}

case class TableWrite() extends Bundle {
  val data = Bits(64 bits)
  val halves = Bits(2 bits)
}

/** A message that is an interrupt. */
case class Message() extends Bundle {
  val address = UInt(64 bits)
  val data = Bits(32 bits)
}

/** Interrupts: the MSI-X table, what is pending, and the messages.
  *
  * Contract. `request` is taken at once and makes its vector pending; a request of a vector that is pending says
  * nothing more. While MSI-X is enabled, without the function's mask, a pending vector whose own mask is clear sends
  * one message, with the table's address and data, and is no longer pending; the lowest first, five clocks each at
  * least. So a masked vector stays pending, and is sent when the mask is cleared. A message whose vector is masked
  * while it is on its way is still sent.
  *
  * `clear`: nothing is pending any more, but what is on its way goes. `forget`: as after reset. Reset masks all vectors
  * and makes the table 0, which takes 32 clocks; accesses in that time are lost.
  */
class NvmeMsix extends Component {
  import NvmeMsix.vectors

  val access = slave port TableAccess()
  val request = slave port Stream(UInt(log2Up(vectors) bits))
  val enable, functionMask = in port Bool()
  val clear, forget = in port Bool()
  val pending = out port Bits(vectors bits)
  val message = master port Stream(Message())
  val busy = out port Bool()

  private val mem = Seq.fill(2)(Mem(Bits(32 bits), 2 * vectors))
  private val masks = Reg(Bits(vectors bits)) init B(vectors bits, default -> True)
  private val swept = Reg(UInt(6 bits)) init 0
  private val sweeping = !swept.msb
  when(sweeping)(swept := swept + 1)
  when(forget) {
    swept := 0
    masks.setAll()
  }
  private val vector = access.word >> 1
  when(access.write.valid && access.word.lsb && access.write.halves(1) && !sweeping) {
    masks(vector) := access.write.data(32)
  }

  // one message after another
  private val waits = Reg(Bits(vectors bits)) init 0
  pending := waits
  request.ready := True
  private val may = waits & ~masks.orMask(sweeping)
  private val step = Reg(UInt(3 bits)) init 0
  private val sending = Reg(UInt(log2Up(vectors) bits))
  private val sent = Reg(Message())
  busy := step =/= 0
  private val reading = UInt(log2Up(2 * vectors) bits)
  reading := (sending ## (step === 2)).asUInt
  private val halves = mem.zipWithIndex.map { case (m, i) =>
    val data = access.write.data(32 * i, 32 bits)
    val reserved = if (i == 1) access.word.lsb else False // of the vector's control, all but the mask
    val after = if (i == 1) swept.lsb.asBits(32 bits) else B(0, 32 bits)
    m.write(
      Mux(sweeping, swept.resize(5), access.word),
      Mux(sweeping, after, data(31 downto 1).andMask(!reserved) ## data(0)),
      sweeping || access.write.valid && access.write.halves(i)
    )
    m.readSync(Mux(step === 1 || step === 2, reading, access.word))
  }
  access.read := halves(1) ## halves(0)
  when(request.fire)(waits(request.payload) := True)
  switch(step) {
    is(0) {
      sending := OHToUInt(OHMasking.first(may))
      when(may.orR && enable && !functionMask && !clear && !access.reads)(step := 1)
    }
    is(1) {
      waits(sending) := request.fire && request.payload === sending
      step := 2
    }
    is(2) {
      sent.address := (halves(1) ## halves(0)).asUInt
      step := 3
    }
    is(3) {
      sent.data := halves(0)
      step := 4
    }
    is(4)(when(message.ready)(step := 0))
  }
  when(clear)(waits := 0)
  message.valid := step === 4
  message.payload := sent
}

object NvmeMsix {
  val vectors = 16
}
