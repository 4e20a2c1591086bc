// SPDX-License-Identifier: Apache-2.0
package opentxssd.flash

import opentxssd._
import spinal.core._
import spinal.lib._
import spinal.lib.bus.amba4.axi._

/** The flash scheduler with its NAND channels and their corrector: ops in, pins out. It wires; the contract is the one of `FlashScheduler` and of `otx_nand_channel`. */
class FlashBackend(p: OtxParam) extends Component {
  setDefinitionName("otx_flash_backend")

  val write, read, log, firmware = slave port Stream(FlashOp())
  val writeDone, readDone, logDone, firmwareDone = master port Stream(FlashDone())
  val alloc = master port Stream(UInt(30 bits))
  val allocLeft = out port UInt(32 bits)
  val freeBlock = slave port Stream(UInt(24 bits))
  val freeBlockRoom = out port Bits(p.dies bits)
  val retire = slave port Flow(UInt(24 bits))
  val generation = in port UInt(32 bits)
  val nandMode = in port UInt(3 bits) // of all channels
  val nandCan = in port Bits(p.nandCanBits bits) // of all channels; bits 4 to 6: levels of read retry
  val refreshAt = in port UInt(p.correctedBits bits)
  val weak = master port Stream(UInt(30 bits))
  val correctedReads, weakReads = out port UInt(16 bits)
  val retriedReads = p.retry generate (out port UInt(16 bits))
  val frame = master port Axi4(p.axi)
  val busy = out port Bool()
  val nand = NandPins(p)

  private val scheduler = new FlashScheduler(p)
  scheduler.write << write
  scheduler.read << read
  scheduler.log << log
  scheduler.firmware << firmware
  writeDone << scheduler.writeDone
  readDone << scheduler.readDone
  logDone << scheduler.logDone
  firmwareDone << scheduler.firmwareDone
  alloc << scheduler.alloc
  allocLeft := scheduler.allocLeft
  scheduler.freeBlock << freeBlock
  freeBlockRoom := scheduler.freeBlockRoom
  scheduler.retire << retire
  scheduler.generation := generation
  scheduler.refreshAt := refreshAt
  weak << scheduler.weak
  correctedReads := scheduler.correctedReads
  weakReads := scheduler.weakReads
  if (p.retry) {
    retriedReads := scheduler.retriedReads
    scheduler.retries := nandCan(6 downto 4).asUInt
  }
  frame << scheduler.frame
  busy := scheduler.busy

  private val corrector = new NandCorrector(p)
  for (c <- 0 until p.channels) {
    val channel = new NandChannel(p)
    corrector.serve(c, channel)
    channel.io.mode := nandMode
    channel.io.can := (if (p.retry) nandCan(3 downto 0) else nandCan)
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
