// SPDX-License-Identifier: Apache-2.0
package opentxssd.host.nvme

import spinal.core._
import spinal.lib._

/** The admin command that firmware reads.
  *
  * Contract. `beats` are the eight of a SQE. Then it is `valid` and `word` is word `index` of it, a clock later, until
  * `pop`. One at a time: `free` from the pop until `fetches`, that the next one is being read. While `stop` it is
  * gone, and one that is being read, or begins to be, is dropped when it comes.
  */
class AdminMailbox extends Component {
  val fetches = in port Bool()
  val beats = slave port Stream(DmaBeat())
  val stop, pop = in port Bool()
  val index = in port UInt(4 bits)
  val valid = out port Bool()
  val word = out port Bits(32 bits)
  val free = out port Bool()
  val busy = out port Bool()

  private val sqe = Mem(Bits(64 bits), 8)
  private val beat = Reg(UInt(3 bits)) init 0
  private val here, coming, dropped = RegInit(False)
  beats.ready := True
  sqe.write(beat, beats.data, beats.valid)
  when(beats.valid)(beat := beat + 1)
  when(pop)(here := False)
  when(beats.valid && beats.last) {
    beat := 0
    coming := False
    dropped := False
    here := !dropped
  }
  when(fetches)(coming := True)
  when(stop) {
    here := False
    dropped := coming && !(beats.valid && beats.last) || fetches
  }
  valid := here
  free := !here && !coming
  busy := coming
  word := RegNext(Mux(index.lsb, sqe.readAsync(index >> 1)(63 downto 32), sqe.readAsync(index >> 1)(31 downto 0)))
}
