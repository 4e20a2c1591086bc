// SPDX-License-Identifier: Apache-2.0
package opentxssd.host

import spinal.core._

// The host port's commands, data and completions. What each field means is in docs/interfaces.md.

case class HostCmd() extends Bundle {
  val opcode = UInt(8 bits)
  val lba = UInt(32 bits)
  val count = UInt(16 bits)
  val txid = UInt(8 bits)
  val hasTx = Bool()
  val fua = Bool()
  val commit = Bool()
  val relaxed = Bool()
  val barrier = Bool()
  val order = UInt(2 bits)
  val stream = UInt(16 bits)
  val tag = UInt(5 bits)
  val arg = UInt(32 bits)
}

case class BlockRef() extends Bundle {
  val tag = UInt(5 bits)
  val block = UInt(5 bits)
}

case class WriteBeat() extends Bundle {
  val data = Bits(64 bits)
  val last = Bool()
}

case class ReadBeat() extends Bundle {
  val tag = UInt(5 bits)
  val block = UInt(5 bits)
  val data = Bits(64 bits)
  val last = Bool()
}

case class Completion() extends Bundle {
  val tag = UInt(5 bits)
  val status = UInt(4 bits)
  val result = UInt(32 bits)
}
