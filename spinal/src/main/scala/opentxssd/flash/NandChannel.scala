// SPDX-License-Identifier: Apache-2.0
package opentxssd.flash

import opentxssd._
import spinal.core._
import spinal.lib._

// The streams of one NAND channel as docs/interfaces.md, "NAND channel", has them, and the SystemVerilog module behind
// them.

case class NandCmd() extends Bundle {
  val way = UInt(4 bits)
  val op = UInt(4 bits)
  val row = UInt(24 bits)
  val kind = UInt(8 bits)
  val generation = UInt(32 bits)
  val lpn = UInt(32 bits)
  val sequence = UInt(48 bits)
  val allowCache = Bool() // may go as a cache program
}

/** Of each way's two command slots, one is that of the command under way, the other of the one beside it. */
case class NandWay() extends Bundle {
  val way = UInt(4 bits)
  val slot = Bool()
}

case class NandWriteBeat() extends Bundle {
  val data = Bits(64 bits)
  val last = Bool()
}

case class NandReadBeat() extends Bundle {
  val way = UInt(4 bits)
  val slot = Bool()
  val data = Bits(64 bits)
  val last = Bool()
}

case class NandCompletion(p: OtxParam) extends Bundle {
  val way = UInt(4 bits)
  val status = UInt(3 bits)
  val kind = UInt(8 bits)
  val generation = UInt(32 bits)
  val lpn = UInt(32 bits)
  val sequence = UInt(48 bits)
  val corrected = UInt(p.correctedBits bits) // most wrong bits of a chunk
  val slot = Bool()
}

/** Wrong bits of a byte of the page that has just been read. */
case class NandFix() extends Bundle {
  val way = UInt(4 bits)
  val slot = Bool()
  val byte = UInt(12 bits)
  val mask = Bits(8 bits)
}

/** Between a channel (master) and `otx_nand_corrector`: the remainder of a chunk, and where it is wrong. */
case class NandAsk(p: OtxParam) extends Bundle {
  val chunk = UInt(p.chunkBits bits)
  val byte = Bits(8 bits)
}

case class NandFound(p: OtxParam) extends Bundle {
  val byte = UInt(p.foundBits bits)
  val mask = Bits(8 bits)
  val last = Bool()
  val failed = Bool()
  val count = UInt(p.correctedBits bits)
  val sum = Bits(32 bits)
}

/** Master: the flash scheduler. `wayIdle`: this way takes a command now; `wayAcceptsRead`, `wayAcceptsProgram`,
  * `wayAcceptsErase`: a READ, PROGRAM, ERASE, though it is not idle. `cmdSlot`: the slot that this command would get.
  * */
case class NandChannelPort(p: OtxParam) extends Bundle with IMasterSlave {
  val cmd = Stream(NandCmd())
  val wreq = Stream(NandWay())
  val wdata = Stream(NandWriteBeat())
  val rdata = Stream(NandReadBeat())
  val fix = Stream(NandFix())
  val cpl = Stream(NandCompletion(p))
  val cmdSlot = Bool()
  val wayIdle, wayAcceptsRead, wayAcceptsProgram, wayAcceptsErase = Bits(p.ways bits)

  override def asMaster(): Unit = {
    master(cmd, wdata)
    slave(wreq, rdata, fix, cpl)
    in(cmdSlot, wayIdle, wayAcceptsRead, wayAcceptsProgram, wayAcceptsErase)
  }
}

/** `rtl/nand/otx_nand_corrector.sv`: one for all channels. */
class NandCorrector(p: OtxParam) extends BlackBox {
  setDefinitionName("otx_nand_corrector")

  private val channels = p.channels
  addGeneric("Users", channels)
  addGeneric("T", p.eccT)

  val clk, reset = in Bool ()
  val ask_valid = in Bits (channels bits)
  val ask_ready = out Bits (channels bits)
  val ask_chunk = in Bits (p.chunkBits * channels bits)
  val ask_byte = in Bits (8 * channels bits)
  val fix_valid = out Bits (channels bits)
  val fix_ready = in Bits (channels bits)
  val fix_byte = out UInt (p.foundBits bits)
  val fix_mask = out Bits (8 bits)
  val fix_last, fix_failed = out Bool ()
  val fix_count = out UInt (p.correctedBits bits)
  val fix_sum = out Bits (32 bits)
  mapCurrentClockDomain(clock = clk, reset = reset)

  def serve(number: Int, channel: NandChannel): Unit = {
    ask_valid(number) := channel.io.ask.valid
    channel.io.ask.ready := ask_ready(number)
    ask_chunk(p.chunkBits * number, p.chunkBits bits) := channel.io.ask.chunk.asBits
    ask_byte(8 * number, 8 bits) := channel.io.ask.byte
    channel.io.found.valid := fix_valid(number)
    fix_ready(number) := channel.io.found.ready
    channel.io.found.byte := fix_byte
    channel.io.found.mask := fix_mask
    channel.io.found.last := fix_last
    channel.io.found.failed := fix_failed
    channel.io.found.count := fix_count
    channel.io.found.sum := fix_sum
  }
}

/** `rtl/nand/otx_nand_tick.sv`: one for all channels. */
class NandTick(p: OtxParam) extends BlackBox {
  setDefinitionName("otx_nand_tick")

  addGeneric("ClkPs", p.clockPs)

  val clk, reset = in Bool ()
  val tick = out Bool ()
  mapCurrentClockDomain(clock = clk, reset = reset)
}

/** `rtl/nand/otx_nand_channel.sv`, with the part's times and the clock of this drive. */
class NandChannel(p: OtxParam) extends BlackBox {
  setDefinitionName("otx_nand_channel")

  addGeneric("Ways", p.ways)
  addGeneric("ClkPs", p.clockPs)
  addGeneric("Scramble", if (p.scramble) 1 else 0)
  addGeneric("T", p.eccT)
  addGeneric("Cache", if (p.cacheOps) 1 else 0)
  addGeneric("Planes", p.planes)
  addGeneric("PageBits", p.pageBits)
  for (time <- NandChannel.times)
    addGeneric(
      time.capitalize + "Ns",
      p.nandTimeNs.getOrElse(time, sys.error(s"the geometry has no NAND time '$time'"))
    )

  val io = new Bundle {
    val clk, reset, tick = in Bool ()
    val mode = in UInt (3 bits) // SDR timing mode: ONFI 0 to 5, 6 the part's own times
    // what may be used of the part: cache program, cache read, several planes, READ STATUS ENHANCED (78h)
    val capabilities = in Bits (4 bits)
    val port = slave(NandChannelPort(p))
    val ask = master(Stream(NandAsk(p)))
    val found = slave(Stream(NandFound(p)))
    val nand_ce_n = out Bits (p.ways bits)
    val nand_rb_n = in Bits (p.ways bits)
    val nand_cle, nand_ale, nand_we_n, nand_re_n, nand_wp_n = out Bool ()
    val nand_dq_o = out Bits (8 bits)
    val nand_dq_oe = out Bool ()
    val nand_dq_i = in Bits (8 bits)
  }
  noIoPrefix()
  mapCurrentClockDomain(clock = io.clk, reset = io.reset)

  // the module's flat names: cmd_way for port_cmd_payload_way, cmd_slot for port_cmdSlot
  addPrePopTask { () =>
    for (pin <- io.flatten)
      pin.setName(pin.getName().stripPrefix("port_").replace("_payload_", "_").replaceAll(
        "([a-z])([A-Z])",
        "$1_$2"
      ).toLowerCase)
  }
}

object NandChannel {

  /** What the channel must know of the part, in the names of `soc/geometry.py`. */
  val times = Seq(
    "tWp", "tWh", "tWc", "tRp", "tReh", "tRc", "tRea", "tCls", "tClh", "tCs", "tCh", "tAls", "tAlh", "tDs", "tDh",
    "tAdl", "tWhr", "tRhw", "tWb", "tRr", "tIo",
    "tRstMax", "tProgMax", "tBersMax", "tSusp"
  )
}
