// SPDX-License-Identifier: Apache-2.0
package opentxssd.host.nvme

import spinal.core._
import spinal.lib._

/** What of a SQE has a meaning for an I/O command. */
case class Sqe() extends Bundle {
  val from = Fetched()
  val opcode = UInt(8 bits)
  val fuse, psdt = Bits(2 bits)
  val cid = UInt(16 bits)
  val nsid, cdw2, cdw12, cdw13, cdw14, cdw15 = Bits(32 bits)
  val prp1, prp2, slba = UInt(64 bits)
}

/** Takes SQEs as they come from host memory.
  *
  * Contract. For each entry of `fetched`, in order, eight `beats` come, which are always taken: eight SQEs have a place
  * here, and `fetched` waits when they are on their way or here. Those of the admin queue go on to `admin`, an I/O
  * command becomes one `sqe`, a clock after its last beat went through the line. `arrived` for a clock when the last
  * beat of either has.
  *
  * A SQE that could not be read (`error` with its last beat) is no command: nobody knows whose. It is `unread`, for a
  * clock, and it and all behind it stay here until `stop`. Then they go on, for they have slots to give back: whoever
  * takes them does nothing of what is stopped. Reset forgets all.
  */
class SqeIntake extends Component {
  val fetched = slave port Stream(Fetched())
  val beats = slave port Stream(DmaReadBeat())
  val stop = in port Bool()
  val admin = master port Stream(DmaBeat())
  val sqe = master port Stream(Sqe())
  val arrived = master port Flow(Fetched())
  val unread = out port Bool()
  val busy = out port Bool()

  private val line = StreamFifo(Fetched(), 8)
  line.io.push << fetched
  private val now = line.io.pop
  private val ofAdmin = now.payload.queue === 0
  private val full = RegInit(False)
  private val beat = Reg(UInt(3 bits)) init 0
  private val taken = Reg(Sqe())

  private val waiting = StreamFifo(Bits(65 bits), 64)
  waiting.io.push << beats.translateWith(beats.error ## beats.data)
  private val holds = waiting.io.pop.valid && waiting.io.pop.payload.msb && !stop
  unread := holds.rise(False)
  private val words = waiting.io.pop.haltWhen(holds).map(_(63 downto 0))
  admin.valid := words.valid && now.valid && ofAdmin
  admin.data := words.payload
  admin.last := beat.andR
  words.ready := now.valid && Mux(ofAdmin, admin.ready, !full)
  when(words.fire)(beat := beat + 1)
  private val whole = words.fire && beat.andR
  now.ready := whole
  arrived.valid := whole
  arrived.payload := now.payload

  private val low = words.payload(31 downto 0)
  private val high = words.payload(63 downto 32)
  when(words.fire && !ofAdmin) {
    taken.from := now.payload
    switch(beat) {
      is(0) {
        taken.opcode := low(7 downto 0).asUInt
        taken.fuse := low(9 downto 8)
        taken.psdt := low(15 downto 14)
        taken.cid := low(31 downto 16).asUInt
        taken.nsid := high
      }
      is(1)(taken.cdw2 := low)
      is(3)(taken.prp1 := words.payload.asUInt)
      is(4)(taken.prp2 := words.payload.asUInt)
      is(5)(taken.slba := words.payload.asUInt)
      is(6) {
        taken.cdw12 := low
        taken.cdw13 := high
      }
      is(7) {
        taken.cdw14 := low
        taken.cdw15 := high
      }
    }
  }
  when(sqe.fire)(full := False)
  when(whole && !ofAdmin)(full := True)
  sqe.valid := full
  sqe.payload := taken
  busy := now.valid || line.io.occupancy =/= 0 || full
}
