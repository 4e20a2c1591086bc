// SPDX-License-Identifier: Apache-2.0
package opentxssd

import spinal.core._

// What the parts of the remap engine hand to each other.

/** A tx table entry as it lies in table memory (docs/interfaces.md, "Geometry and numbers"): 128 bits, `lpn` lowest. */
case class TxEntry() extends Bundle {
  val lpn = UInt(32 bits)
  val location = Word()
  val next = Word()
  val flags = Bits(32 bits)
  def dead: Bool = flags(0)
}

/** Which tx table entry: the value of a VER word. */
case class TxIndex() extends Bundle {
  val number = UInt(OtxParam.txStrideBits bits)
  val txid = UInt(5 bits)
}

/** One access to table memory: a 32-bit word (in the low bits of `data`) or a whole entry. */
case class RemapAccess() extends Bundle {
  val write = Bool()
  val whole = Bool()
  val address = UInt(32 bits)
  val data = Bits(128 bits)
}

/** One entry of a walk: to be merged, or dropped because its transaction was aborted. */
case class RemapWalk() extends Bundle {
  val merge = Bool()
  val index = TxIndex()
}

/** One of a power of two of values, as a tree of two-way choices: half the logic that synthesis makes of a 32-way case. */
object Pick {
  def apply[T <: Data](values: collection.Seq[T], index: UInt): T =
    if (values.size == 1) values.head
    else {
      val (low, high) = values.splitAt(values.size / 2)
      Mux(index(log2Up(values.size) - 1), Pick(high, index), Pick(low, index))
    }
}

/** Byte addresses in table memory. */
case class RemapMap(p: OtxParam) {
  def mapWord(lpn: UInt): UInt = (U(p.tableBase, 32 bits) + (lpn << 2).resize(32)).resize(32)
  def entry(index: TxIndex): UInt = (U(p.txBase, 32 bits) + (index.asBits.asUInt << 4).resize(32)).resize(32)
  def location(index: TxIndex): UInt = entry(index) | 4
  def next(index: TxIndex): UInt = entry(index) | 8
}
