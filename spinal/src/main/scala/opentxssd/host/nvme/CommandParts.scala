// SPDX-License-Identifier: Apache-2.0
package opentxssd.host.nvme

import opentxssd._
import opentxssd.host.HostCmd
import spinal.core._
import spinal.lib._

/** What is left of a command of several parts. */
case class Rest() extends Bundle {
  val lba, left = UInt(32 bits) // blocks of this range
  val index, ranges = UInt(9 bits) // the next range, and how many there are
  val reads, fua = Bool() // a READ is left, not TRIMs
  val priority = UInt(2 bits)
}

case class PartsLeft() extends Bundle {
  val slot = UInt(Nvme.slotBits bits)
  val rest = Rest()
}

/** The parts of commands that the core knows no one command for, one after the other: TRIMs of at most 32 blocks of
  * Write Zeroes and of each range of Dataset Management, the READ behind the RFLUSH of a Read with FUA.
  *
  * Contract. `begin`: a slot has parts, which is `several(slot)` until the last one has gone to `cmd`; the first step
  * of one with ranges is taken here, others wait for `again`, that the part under way has ended. A range comes by
  * `range`, 16 bytes of what the PRPs name, when its turn comes. A range that is past the end ends the command with
  * LBA_RANGE, one that could not be read with TRANSFER_ERROR, the last one with success, if its last part has not
  * (`end`). `cancel`: the slot has ended otherwise. `killing`: no part begins any more. Slots take turns, and one that
  * waits for its range holds up the others. Reset forgets all.
  */
class CommandParts(lbas: BigInt) extends Component {
  import Nvme._

  val begin = slave port Flow(PartsLeft())
  val again = slave port Stream(UInt(slotBits bits))
  val cancel = slave port Flow(UInt(slotBits bits))
  val killing = in port Bool()
  val several = out port Bits(slots bits)
  val range = master port Stream(BytesOf())
  val ranges = slave port Stream(DmaReadBeat())
  val cmd = master port Stream(HostCmd())
  val end = master port Stream(CommandEnd())

  private val open = Reg(Bits(slots bits)) init 0
  several := open
  private val rests = Mem(Rest(), slots)
  private val line = StreamFifo(UInt(slotBits bits), slots)
  private val begun = begin.stage()
  private val hasRanges = begun.valid && begun.rest.ranges =/= 0
  private val asked = RegInit(False) // it goes into the line now
  private val askedSlot = Reg(UInt(slotBits bits))
  when(hasRanges) {
    asked := True
    askedSlot := begun.slot
  }
  line.io.push.valid := again.valid || asked
  line.io.push.payload := Mux(asked, askedSlot, again.payload)
  again.ready := !asked
  when(asked && !hasRanges)(asked := False)

  private val step = Reg(UInt(3 bits)) init 0
  private val slot = Reg(UInt(slotBits bits))
  private val now = Reg(Rest())
  private val high = Reg(Bool())
  private val past, unread = Reg(Bool())
  private val count = Mux(now.left > OtxParam.maxBlocks, U(OtxParam.maxBlocks), now.left.resize(6))
  private val lastPart = RegNext(now.left <= OtxParam.maxBlocks && now.index === now.ranges)
  private val found = rests.readSync(line.io.pop.payload)
  private val stops = step === 5 || cmd.fire && (now.reads || lastPart)
  line.io.pop.ready := step === 0
  switch(step) {
    is(0) {
      slot := line.io.pop.payload
      when(line.io.pop.valid && !begun.valid)(step := 1)
      line.io.pop.ready := !begun.valid
    }
    is(1) {
      now := found
      high := False
      past := False
      unread := False
      step := 2
    }
    is(2) { // what is next
      step := 3
      when(now.left === 0)(step := Mux(now.index === now.ranges, U(5), U(4)))
      when(killing)(step := 5)
    }
    is(3)(when(cmd.fire)(step := 0))
    is(4)(when(range.ready)(step := 6))
    is(5)(when(end.ready)(step := 0))
    is(6)(when(ranges.valid) {
      high := True
      when(!high) {
        now.left := ranges.data(63 downto 32).asUInt
        now.index := now.index + 1
      } otherwise {
        now.lba := ranges.data(31 downto 0).asUInt
        past := ranges.data(63 downto 32) =/= 0
        unread := ranges.error
        step := 7
      }
    })
    is(7) {
      step := 2
      when(past || now.lba +^ now.left > lbas) {
        past := True
        step := 5
      }
      when(unread)(step := 5)
      high := False
    }
  }
  ranges.ready := step === 6
  range.valid := step === 4
  range.slot := slot
  range.at := (now.index @@ U(0, 4 bits)).resized
  range.length := 16
  cmd.valid := step === 3 && !begun.valid
  cmd.payload.assignFromBits(B(0, cmd.payload.getBitsWidth bits))
  cmd.opcode.removeAssignments() := Mux(now.reads, U(Opcode.READ), U(Opcode.TRIM)).resized
  cmd.lba.removeAssignments() := now.lba
  cmd.count.removeAssignments() := count.resized
  cmd.fua.removeAssignments() := now.fua
  cmd.priority.removeAssignments() := now.priority
  cmd.tag.removeAssignments() := slot.resized
  private val next = Rest()
  next := now
  next.lba.removeAssignments() := now.lba + count
  next.left.removeAssignments() := now.left - count
  rests.write(Mux(begun.valid, begun.slot, slot), Mux(begun.valid, begun.rest, next), begun.valid || cmd.fire)
  end.valid := step === 5
  end.slot := slot
  end.dw0 := 0
  end.status := Mux(past, U(CommandEnds.refusal(NvmeStatus.LBA_RANGE), 15 bits), U(0, 15 bits))
  when(unread)(end.status := NvmeStatus.TRANSFER_ERROR)

  when(stops)(open(slot) := False)
  when(cancel.valid)(open(cancel.payload) := False)
  when(begun.valid)(open(begun.slot) := True)
}
