// SPDX-License-Identifier: Apache-2.0
package opentxssd.host.nvme

import spinal.core._
import spinal.lib._

/** A list of PRPs that is to be read. */
case class ListOf() extends Bundle {
  val slot = UInt(Nvme.slotBits bits)
  val address = UInt(64 bits)
  val entries = UInt(6 bits) // 2 to 32
}

/** Reads the PRP list of a command into the store.
  *
  * Contract. `go` is taken when the list has been read, `bad` says then that an entry has an offset that it must not
  * have, `unread` that the list could not be read. A list that does not fit in what is left of its page goes on at the
  * beginning of the page that the last entry there names. Entries behind a bad one are not used. One list at a time:
  * one read of host memory, or two.
  */
class PrpList extends Component {
  val go = slave port Stream(ListOf())
  val bad, unread = out port Bool()
  val read = master port Stream(DmaRead())
  val data = slave port Stream(DmaReadBeat())
  val later = master port Flow(LaterPrp())

  private val step = Reg(UInt(2 bits)) init 0
  private val address = Reg(UInt(64 bits))
  private val left = Reg(UInt(6 bits)) // entries that have not come
  private val entry = Reg(UInt(5 bits))
  private val wrong, failed = Reg(Bool())
  private val room = U(512, 10 bits) - address(11 downto 3) // words in this page
  private val chained = Reg(Bool()) // the last word of this read is a page of the list
  private val words = Reg(UInt(6 bits))
  private val chains = chained && !wrong && !data.error && data.data(11 downto 0) === 0
  private val ends = RegNext(step === 3 && data.valid && data.last && !chains, False)
  switch(step) {
    is(0) {
      address := go.address
      left := go.entries
      entry := 0
      wrong := False
      failed := False
      when(go.valid && !ends)(step := 1)
    }
    is(1) {
      chained := left > room
      words := Mux(left > room, room.resized, left)
      step := 2
    }
    is(2)(when(read.ready)(step := 3))
    is(3)(when(data.valid) {
      words := words - 1
      val chain = chained && data.last
      when(data.data(11 downto 0) =/= 0)(wrong := True)
      when(data.error)(failed := True)
      when(!chain) {
        entry := entry + 1
        left := left - 1
      }
      when(data.last) {
        address := data.data.asUInt
        step := Mux(chains, U(1, 2 bits), U(0, 2 bits))
      }
    })
  }
  go.ready := ends
  bad := wrong
  unread := failed
  read.valid := step === 2
  read.address := address
  read.length := (words @@ U(0, 3 bits)).resized
  data.ready := step === 3
  later.valid := step === 3 && data.valid && !(chained && data.last)
  later.slot := go.slot
  later.entry := entry
  later.page := data.data.asUInt >> 12
}
