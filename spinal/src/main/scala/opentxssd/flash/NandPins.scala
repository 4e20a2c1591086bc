// SPDX-License-Identifier: Apache-2.0
package opentxssd.flash

import opentxssd._
import spinal.core._
import spinal.lib._

/** The pins of all channels (ONFI SDR, asynchronous): vectors over dies (`ce_n`, `rb_n`) and channels (the rest), 8
  * data lines per channel. Master: the drive.
  */
case class NandPins(p: OtxParam) extends Bundle with IMasterSlave {
  val ce_n, rb_n = Bits(p.dies bits)
  val cle, ale, we_n, re_n, wp_n = Bits(p.channels bits)
  val dq_o, dq_i = Bits(8 * p.channels bits)
  val dq_oe = Bits(p.channels bits)

  override def asMaster(): Unit = {
    out(ce_n, cle, ale, we_n, re_n, wp_n, dq_o, dq_oe)
    in(rb_n, dq_i)
  }
}
