// SPDX-License-Identifier: Apache-2.0
package opentxssd.flash

import spinal.core._

// Page operations and how they ended. What each field means is in docs/interfaces.md.

case class FlashOp() extends Bundle {
  val op = UInt(4 bits)
  val ppn = UInt(30 bits)
  val frame = UInt(16 bits)
  val kind = UInt(8 bits)
  val lpn = UInt(32 bits)
  val sequence = UInt(48 bits)
  val cookie = UInt(16 bits)
}

case class FlashDone() extends Bundle {
  val cookie = UInt(16 bits)
  val status = UInt(3 bits)
  val kind = UInt(8 bits)
  val generation = UInt(32 bits)
  val lpn = UInt(32 bits)
  val sequence = UInt(48 bits)
}
