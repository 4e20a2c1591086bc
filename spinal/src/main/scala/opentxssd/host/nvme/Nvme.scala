// SPDX-License-Identifier: Apache-2.0
package opentxssd.host.nvme

import opentxssd.OtxParam
import spinal.core._

/** Sizes of the front end, and what passes between its parts. */
object Nvme {
  val queues = 9 // pairs, the admin queues among them
  val queueBits = 4
  val indexBits = 10 // of an entry in a queue
  val slots = OtxParam.tags // I/O commands under way; the number of a slot is the tag at the core
  val slotBits = log2Up(slots)

  /** The number behind `index` in a ring whose last one is `size`. */
  def after(index: UInt, size: UInt): UInt = Mux(index === size, U(0, indexBits bits), index + 1)

  /** A memory that is read in the clock in which its address comes. */
  def table[T <: spinal.core.Data](kind: HardType[T], words: Int): Mem[T] = Mem(kind, words)
}

/** A SQE that is being read. */
case class Fetched() extends Bundle {
  val queue, cq = UInt(Nvme.queueBits bits)
  val slot = UInt(Nvme.slotBits bits)
  val next = UInt(Nvme.indexBits bits) // head of its queue when it has come
  val priority = UInt(2 bits) // of the queue
}

/** Whose command a slot has. */
case class SlotOwner() extends Bundle {
  val queue, cq = UInt(Nvme.queueBits bits)
  val cid = UInt(16 bits)
}

/** How the command of a slot ended. `status`: as in a CQE, bit 14 do not retry. */
case class CommandEnd() extends Bundle {
  val slot = UInt(Nvme.slotBits bits)
  val status = UInt(15 bits)
  val dw0 = UInt(32 bits)
}

/** A CQE was written whose queue has interrupts. */
case class Notice() extends Bundle {
  val vector = UInt(log2Up(NvmeMsix.vectors) bits)
  val atOnce = Bool()
}
