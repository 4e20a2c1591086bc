// SPDX-License-Identifier: Apache-2.0
package opentxssd

import spinal.core._
import spinal.lib._

// The streams of one NAND channel as docs/interfaces.md, "NAND channel", has them, and the SystemVerilog module behind them.

case class NandCmd() extends Bundle {
  val way = UInt(4 bits)
  val op = UInt(4 bits)
  val row = UInt(24 bits)
  val kind = UInt(8 bits)
  val generation = UInt(32 bits)
  val lpn = UInt(32 bits)
  val sequence = UInt(48 bits)
}

case class NandWay() extends Bundle {
  val way = UInt(4 bits)
}

case class NandReadBeat() extends Bundle {
  val way = UInt(4 bits)
  val data = Bits(64 bits)
  val last = Bool()
}

case class NandCompletion() extends Bundle {
  val way = UInt(4 bits)
  val status = UInt(3 bits)
  val kind = UInt(8 bits)
  val generation = UInt(32 bits)
  val lpn = UInt(32 bits)
  val sequence = UInt(48 bits)
}

/** Master: the flash scheduler. `wayIdle`: this way takes a command now. */
case class NandChannelPort(p: OtxParam) extends Bundle with IMasterSlave {
  val cmd = Stream(NandCmd())
  val wreq = Stream(NandWay())
  val wdata = Stream(WriteBeat())
  val rdata = Stream(NandReadBeat())
  val cpl = Stream(NandCompletion())
  val wayIdle = Bits(p.ways bits)

  override def asMaster(): Unit = {
    master(cmd, wdata)
    slave(wreq, rdata, cpl)
    in(wayIdle)
  }
}

/** `rtl/nand/otx_nand_channel.sv`, with the part's times and the clock of this drive. */
class NandChannel(p: OtxParam) extends BlackBox {
  setDefinitionName("otx_nand_channel")

  addGeneric("Ways", p.ways)
  addGeneric("ClkPs", p.clockPs)
  for (time <- NandChannel.times)
    addGeneric(time.capitalize + "Ns", p.nandTimeNs.getOrElse(time, sys.error(s"the geometry has no NAND time '$time'")))

  val io = new Bundle {
    val clk, reset = in Bool ()
    val port = slave(NandChannelPort(p))
    val nand_ce_n = out Bits (p.ways bits)
    val nand_rb_n = in Bits (p.ways bits)
    val nand_cle, nand_ale, nand_we_n, nand_re_n, nand_wp_n = out Bool ()
    val nand_dq_o = out Bits (8 bits)
    val nand_dq_oe = out Bool ()
    val nand_dq_i = in Bits (8 bits)
  }
  noIoPrefix()
  mapCurrentClockDomain(clock = io.clk, reset = io.reset)

  // the module's flat names: cmd_way for port_cmd_payload_way
  addPrePopTask { () =>
    for (pin <- io.flatten)
      pin.setName(pin.getName().stripPrefix("port_").replace("_payload_", "_").replace("wayIdle", "way_idle"))
  }
}

object NandChannel {

  /** What the channel must know of the part, in the names of `soc/geometry.py`. */
  val times = Seq(
    "tWp", "tWh", "tWc", "tRp", "tReh", "tRc", "tRea", "tCls", "tClh", "tCs", "tCh", "tAls", "tAlh", "tDs", "tDh", "tAdl", "tWhr", "tRhw", "tWb", "tRr",
    "tRstMax", "tProgMax", "tBersMax"
  )
}
