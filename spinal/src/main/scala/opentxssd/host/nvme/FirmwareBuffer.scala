// SPDX-License-Identifier: Apache-2.0
package opentxssd.host.nvme

import spinal.core._
import spinal.lib._

/** 4 KiB that firmware reads and writes a word at a time, and transfers from and to host memory.
  *
  * Contract. `seek` sets the index, `put` writes a word there and adds one to it, `next` adds one; `word` is that of
  * the index, two clocks after it changed. `transfer` begins one, of `length` bytes from word `first` on, two clocks
  * for 64 bits from the host and five to it; until it has ended (`busy`) the buffer is its own; `failed`, from then to
  * the next one: host memory could not be read, and the buffer has anything there. Reset ends it.
  */
class FirmwareBuffer extends Component {
  val seek = slave port Flow(UInt(10 bits))
  val put = slave port Flow(Bits(32 bits))
  val next = in port Bool()
  val word = out port Bits(32 bits)
  val transfer = slave port Flow(HostTransfer())
  val busy, failed = out port Bool()
  val read = master port Stream(DmaRead())
  val readData = slave port Stream(DmaReadBeat())
  val write = master port Stream(DmaWrite())
  val writeData = master port Stream(DmaBeat())

  private val mem = Mem(Bits(32 bits), 1024)
  private val index, at = Reg(UInt(10 bits)) init 0
  private val now = Reg(HostTransfer())
  private val left = Reg(UInt(11 bits)) init 0 // words
  private val begins, under = RegInit(False) // the command has not left; its words have not all passed
  when(transfer.valid && !under) {
    now := transfer.payload
    at := transfer.first
    left := (transfer.length >> 2).resized
    begins := True
    under := True
  }
  busy := under
  private val unread = RegInit(False)
  failed := unread
  when(transfer.valid && !under)(unread := False)
  when(readData.fire && readData.error)(unread := True)
  read.valid := begins && !now.toHost
  read.address := now.address
  read.length := now.length
  write.valid := begins && now.toHost
  write.address := now.address
  write.length := now.length
  write.message := False
  when(read.fire || write.fire)(begins := False)

  // from the host: the halves of a beat in turn
  private val high = RegInit(False)
  private val comes = under && !now.toHost && readData.valid
  readData.ready := comes && (high || left === 1)
  when(comes)(high := !high && left =/= 1)

  // to the host: a word is read, then it is the low or the high half of a beat
  private val reading = RegInit(False)
  private val low = Reg(Bits(32 bits))
  private val beat = Reg(DmaBeat())
  private val full = RegInit(False)
  private val goes = under && now.toHost && !begins && left =/= 0 && !reading && !full
  mem.write(
    Mux(under, at, index),
    Mux(under, readData.data.subdivideIn(32 bits)(high.asUInt), put.payload),
    under.mux(comes, put.valid)
  )
  private val found = mem.readSync(Mux(under, at, index))
  reading := goes
  when(reading) {
    at := at + 1
    left := left - 1
    high := !high
    when(!high)(low := found)
    beat.data := Mux(high, found ## low, found.resize(64))
    beat.last := left === 1
    full := high || left === 1
  }
  writeData.valid := full
  writeData.payload := beat
  when(writeData.fire) {
    full := False
    high := False
  }
  when(comes) {
    at := at + 1
    left := left - 1
  }
  when(under && !begins && left === 0 && !full && !reading) {
    under := False
    high := False
  }
  word := found
  when(put.valid || next)(index := index + 1)
  when(seek.valid)(index := seek.payload)
}
