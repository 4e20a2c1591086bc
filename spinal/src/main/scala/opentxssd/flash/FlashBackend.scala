// SPDX-License-Identifier: Apache-2.0
package opentxssd.flash

import opentxssd._
import spinal.core._
import spinal.lib._

/** The flash scheduler with its NAND channels and their corrector: ops in, pins out. It wires; the contract is the one
  * of `FlashScheduler` and of `otx_nand_channel`. */
class FlashBackend(p: OtxParam) extends Component {
  setDefinitionName("otx_flash_backend")

  val port = Ports.bare(slave port FlashPort(p))
  val nandMode = in port UInt(3 bits) // of all channels
  val nandCapabilities = in port Bits(p.nandCapabilityBits bits) // of all channels; bits 4 to 6: levels of read retry
  val nand = master port NandPins(p)

  private val scheduler = new FlashScheduler(p)
  scheduler.port <> port
  if (p.retry) scheduler.retries := nandCapabilities(6 downto 4).asUInt

  private val corrector = new NandCorrector(p)
  private val ticks = new NandTick(p)
  for (c <- 0 until p.channels) {
    val channel = new NandChannel(p)
    corrector.serve(c, channel)
    channel.io.tick := ticks.tick
    channel.io.mode := nandMode
    channel.io.capabilities := (if (p.retry) nandCapabilities(3 downto 0) else nandCapabilities)
    channel.io.port <> scheduler.channels(c)
    nand.ce_n(c * p.ways, p.ways bits) := channel.io.nand_ce_n
    channel.io.nand_rb_n := nand.rb_n(c * p.ways, p.ways bits)
    nand.cle(c) := channel.io.nand_cle
    nand.ale(c) := channel.io.nand_ale
    nand.we_n(c) := channel.io.nand_we_n
    nand.re_n(c) := channel.io.nand_re_n
    nand.wp_n(c) := channel.io.nand_wp_n
    nand.dq_o(8 * c, 8 bits) := channel.io.nand_dq_o
    nand.dq_oe(c) := channel.io.nand_dq_oe
    channel.io.nand_dq_i := nand.dq_i(8 * c, 8 bits)
  }
}
