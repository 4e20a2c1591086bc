// SPDX-License-Identifier: Apache-2.0
package opentxssd.flash

import opentxssd._
import spinal.core._

/** The pins of all channels (ONFI SDR, asynchronous): vectors over dies (`ce_n`, `rb_n`) and channels (the rest), 8 data lines per channel. */
case class NandPins(p: OtxParam) extends Area {
  val ce_n = out port Bits(p.dies bits)
  val rb_n = in port Bits(p.dies bits)
  val cle = out port Bits(p.channels bits)
  val ale = out port Bits(p.channels bits)
  val we_n = out port Bits(p.channels bits)
  val re_n = out port Bits(p.channels bits)
  val wp_n = out port Bits(p.channels bits)
  val dq_o = out port Bits(8 * p.channels bits)
  val dq_oe = out port Bits(p.channels bits)
  val dq_i = in port Bits(8 * p.channels bits)
}
