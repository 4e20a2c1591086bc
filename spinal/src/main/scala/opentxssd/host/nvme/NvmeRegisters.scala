// SPDX-License-Identifier: Apache-2.0
package opentxssd.host.nvme

import opentxssd._
import spinal.core._
import spinal.lib._

/** BAR 0 of the controller: the registers of NVMe 1.4, and what goes to the doorbells and to the MSI-X table.
  *
  * Contract. One access at a time: a write takes a clock, the answer of a read comes six clocks after it was taken, in
  * the order of the reads. Bytes whose mask bit is 0 stay. A doorbell, and a word of the MSI-X table, is written whole
  * or not at all; a 64-bit write may ring both doorbells of a queue. What is read-only, or reserved, stays as it is; it
  * and doorbells read as the specification has them, reserved ones as 0. `csts` is firmware's. An event stays until it
  * is cleared; one that comes in the same clock stays.
  *
  * `functionReset` gives the registers their values after reset; if CC.EN was 1 it also counts as cleared by the host.
  */
class NvmeRegisters extends Component {
  val bar = slave port Stream(BarRequest())
  val answer = master port Stream(Bits(64 bits))
  val functionReset = in port Bool()
  val control = in port NvmeControl()
  val wrong = in port Bits(2 bits) // doorbell register, value
  val unread = in port Bool() // for a clock: a SQE could not be read
  val eventsClear = slave port Flow(Bits(NvmeEvent.SQE_UNREAD + 1 bits))
  val cc, aqa = out port Bits(32 bits)
  val asq, acq = out port Bits(64 bits)
  val events = out port Bits(NvmeEvent.SQE_UNREAD + 1 bits)
  val disabled = out port Bool() // for a clock: EN went from 1 to 0
  val submitted, completed = master port Flow(Doorbell()) // new tails of submission, heads of completion queues
  val table = master port TableAccess()
  val pending = in port Bits(NvmeMsix.vectors bits)

  private val ccReg = Reg(Bits(32 bits)) init 0
  private val aqaReg = Reg(Bits(32 bits)) init 0
  private val asqReg, acqReg = Reg(Bits(64 bits)) init 0
  private val masked = Reg(Bits(32 bits)) init 0
  cc := ccReg
  aqa := aqaReg
  asq := asqReg
  acq := acqReg

  private val at = bar.stage()
  private val region = at.address(13 downto 12)
  private val low = at.address(11 downto 3)
  private val bits = (0 until 64).map(i => at.mask(i / 8)).asBits
  private val writes = at.fire && at.write
  private def on(word: Int): Bool = writes && region === 0 && low === word
  private def merged(old: Bits, high: Boolean, kept: BigInt): Bits = {
    val from = if (high) 32 else 0
    val (data, mask) = (at.data(from, old.getWidth bits), bits(from, old.getWidth bits))
    (old & ~mask | data & mask) & B(kept, old.getWidth bits)
  }

  // 0Ch, 10h: interrupt mask; 14h, 24h, 28h, 30h
  private val newCc = merged(ccReg, high = true, NvmeRegisters.ccBits)
  when(on(1))(masked := masked | (at.data(63 downto 32) & bits(63 downto 32)))
  when(on(2)) {
    masked := masked & ~(at.data(31 downto 0) & bits(31 downto 0))
    ccReg := newCc
  }
  when(on(4))(aqaReg := merged(aqaReg, high = true, 0x0fff0fff))
  when(on(5))(asqReg := merged(asqReg, high = false, NvmeRegisters.pageBits))
  when(on(6))(acqReg := merged(acqReg, high = false, NvmeRegisters.pageBits))
  when(functionReset) {
    for (r <- Seq(ccReg, aqaReg, asqReg, acqReg, masked)) r := 0
  }
  disabled := RegNext(ccReg(0), False) && !ccReg(0)

  private val eventsReg = Reg(cloneOf(events)) init 0
  events := eventsReg
  private val now = Vec(Bool(), NvmeEvent.SQE_UNREAD + 1)
  now(NvmeEvent.CC_CHANGED) := on(2) && newCc =/= ccReg
  now(NvmeEvent.DISABLED) := disabled
  now(NvmeEvent.DOORBELL_REGISTER) := wrong(0)
  now(NvmeEvent.DOORBELL_VALUE) := wrong(1)
  now(NvmeEvent.FUNCTION_RESET) := functionReset
  now(NvmeEvent.SQE_UNREAD) := unread
  eventsReg := (eventsReg & ~eventsClear.payload.andMask(eventsClear.valid)) | now.asBits

  // doorbells, DSTRD 0
  for ((bell, half) <- Seq(submitted, completed).zipWithIndex) {
    bell.valid := writes && region === 1 && at.mask(4 * half, 4 bits).andR
    bell.queue := low
    bell.value := at.data(32 * half, 16 bits).asUInt
  }

  // MSI-X table and PBA
  table.word := low.resize(log2Up(2 * NvmeMsix.vectors))
  table.write.valid := writes && region === 2 && low < 2 * NvmeMsix.vectors
  table.reads := at.valid && !at.write
  table.write.data := at.data
  table.write.halves := Seq(at.mask(3 downto 0).andR, at.mask(7 downto 4).andR).asBits()

  private val status = control.cstsShutdown ## control.cstsFatal ## control.cstsReady
  private val words: Seq[Bits] = Seq(
    B(NvmeRegisters.cap, 64 bits),
    masked ## B(NvmeRegisters.version, 32 bits),
    ccReg ## masked,
    status.resize(32) ## B(0, 32 bits),
    aqaReg ## B(0, 32 bits),
    asqReg,
    acqReg,
    B(0, 64 bits)
  )
  private val inRegisters = low < words.size
  private val register = RegNext(words.read(low.resize(3)).andMask(inRegisters))
  private val waited = Reg(UInt(3 bits)) init 0
  private val reads = at.valid && !at.write
  private val found = RegNext(region.mux(
    0 -> register,
    2 -> table.read.andMask(low < 2 * NvmeMsix.vectors),
    3 -> pending.resize(64).andMask(low === 0),
    default -> B(0, 64 bits)
  ))
  when(reads && waited =/= 5)(waited := waited + 1)
  answer.valid := reads && waited === 5
  answer.payload := found
  at.ready := at.write || answer.fire
  when(at.fire)(waited := 0)
}

object NvmeRegisters {
  val version = 0x00010400 // 1.4
  val entries = 1024 // of a queue at most

  /** CAP: MQES, CQR, weighted round robin with urgent, TO 120 s, DSTRD 0, NVM command set, pages of 4 KiB. */
  val cap: BigInt = BigInt(entries - 1) | BigInt(1) << 16 | BigInt(1) << 17 | BigInt(240) << 24 | BigInt(1) << 37
  val ccBits: BigInt = BigInt("00fffff1", 16)
  val pageBits: BigInt = (BigInt(1) << 64) - 4096
}

/** What a host wrote into a doorbell. */
case class Doorbell() extends Bundle {
  val queue = UInt(9 bits)
  val value = UInt(16 bits)
}
