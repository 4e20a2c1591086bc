// SPDX-License-Identifier: Apache-2.0
package opentxssd.flash

import opentxssd._
import spinal.core._

/** The fields of a page number, `{channel, way, block, page}`. A field of range 1 has no bits in the number and reads
  * as one bit of 0 here, so that every user can compare it. No registers.
  */
case class PpnFields(p: OtxParam, ppn: UInt) {
  private def field(offset: Int, width: Int): UInt = if (width == 0) U(0, 1 bits) else ppn(offset, width bits)
  def row: UInt = field(0, p.rowBits)
  def block: UInt = field(p.pageBits, p.blockBits)
  def way: UInt = field(p.rowBits, p.wayBits)
  def channel: UInt = field(p.rowBits + p.wayBits, p.channelBits)
}

object PpnFields {

  /** Of a block id, `{channel, way, block}`. */
  def ofBlock(p: OtxParam, id: UInt): PpnFields = PpnFields(p, (id ## B(0, p.pageBits bits)).asUInt)
}
