// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import opentxssd._
import opentxssd.host.{BlockRef, HostCmd, WriteBeat, WriteSize}
import spinal.core._
import spinal.lib._
import spinal.lib.bus.amba4.axi._

/** A command after its data came: `frames` frames of it wait in the frame stream; `status` is not SUCCESS when the data
  * is not whole. */
case class FilledCmd() extends Bundle {
  val cmd = HostCmd()
  val frames = UInt(6 bits)
  val status = UInt(4 bits)
}

/** Fetches the data of WRITEs into write frames, up to four side by side; all other commands pass them.
  *
  * Contract: for each block a frame from `free` and a `wdataReq`, two of a WRITE at most before their beats are in
  * frame memory (`FillBuffer`). When all responses of a WRITE came its frames go to `frames`, then it goes to `filled`,
  * and `fetched` says so: whoever gets the command gets all its frames. Commands without data go to `filled` in the
  * order in which they came; a WRITE goes behind those that are there when its data has come, so before and behind
  * others than it came with. What must not change places is not here together: that is for the command queue, which
  * hears of `fetched` (rule epoch-issue, docs/interfaces/command-queue.md). `takes`: a command without data has a place
  * to wait in `filled`; `takesWrites`: a WRITE has one here, and one to wait in then.
  *
  * A host that cannot give a block says so with its last beat (`error`). Then nothing more is asked of that WRITE, and
  * when the blocks that were asked for have come, whatever they are, it ends as ABORTED with the frames that it took.
  *
  * A host that stops. Of the requests whose beats have not all come the oldest one is looked at: when none of its beats
  * came for `timeout` times 256 clocks, and up to 257 more, its WRITE ends as ABORTED with the frames that it took; 0:
  * never. Then the next one is the oldest, and its clocks begin. So it is right for a host that answers requests in
  * order, and a WRITE whose host has stopped ends after no more than four times that, and the time that beats of older
  * requests take. Clocks in which memory takes no beats do not count. No number of a request comes again within 512
  * requests; beats that come for one of a WRITE that has ended are dropped.
  *
  * Latency: a command without data 1 clock. Errors: a write error ends the command as WRITE_FAULT; after `fault` no
  * frame may ever come free, so a WRITE that finds none goes on as READ_ONLY with the frames it has. Reset loses
  * everything, the data under way too.
  */
class FrameFill(p: OtxParam) extends Component {
  setDefinitionName("otx_frame_fill")

  val cmd = slave port Stream(HostCmd())
  val takes, takesWrites = out port Bool()
  val filled = master port Stream(FilledCmd())
  val fetched = master port Flow(WriteSize())
  val frames = master port Stream(UInt(16 bits))
  val free = slave port Stream(UInt(16 bits))
  val wdataReq = master port Stream(BlockRef())
  val wdata = slave port Stream(WriteBeat())
  val axi = master port Axi4WriteOnly(p.axi)
  val fault = in port Bool()
  val timeout = in port UInt(FrameFill.timeoutBits bits)

  private val places = 4
  private val placeBits = log2Up(places)
  private def each[T](what: Int => T): Seq[T] = (0 until places).map(what)

  private val buffer = new FillBuffer(p, places)
  buffer.wdata << wdata
  axi << buffer.axi

  // What is known of the WRITE in each place
  private val busy, aborted, broken, abandoned, bad = Reg(Bits(places bits)) init 0
  private val commands = Mem(HostCmd(), places)
  private val tags = Vec.fill(places)(Reg(UInt(5 bits)))
  private val blocks, asked = Vec.fill(places)(Reg(UInt(6 bits)))
  private val owed =
    Vec.fill(places)(Reg(UInt(10 bits)) init 0) // 8 beats each, of blocks that are asked for, not answered
  private val flying = Vec.fill(places)(Reg(UInt(6 bits)) init 0) // bursts that have begun of them

  // A WRITE takes a place, others go on
  private val ways = StreamDemux(cmd, (cmd.opcode === Opcode.WRITE).asUInt, 2)
  private val place = OHToUInt(OHMasking.first(~busy))
  ways(1).ready := !busy.andR
  commands.write(place, ways(1).payload, ways(1).fire)
  when(ways(1).fire) {
    busy(place) := True
    aborted(place) := False
    broken(place) := False
    abandoned(place) := False
    bad(place) := False
    tags(place) := ways(1).tag.resize(5)
    blocks(place) := ways(1).count.resized
    asked(place) := U(0, 6 bits)
  }

  // Ask: a frame and a request for each block
  private val mayAsk = busy & ~aborted & ~broken & ~abandoned
  private val wants = Vec(each { n =>
    val slot = Mux(asked(n).lsb, buffer.held(2 * n + 1), buffer.held(2 * n))
    mayAsk(n) && asked(n) =/= blocks(n) && !slot
  }).asBits
  when(fault && !free.valid)(abandoned := abandoned | wants)
  when(buffer.failed.valid)(broken(buffer.failed.payload) := True)
  private val turn = RegInit(B(1, places bits)) // the place behind the last one that asked
  private val chosen = Reg(Bits(places bits)) init 0 // a clock before it asks; only what ends it can come between
  private val asking = chosen & mayAsk
  private val asker = OHToUInt(asking)
  private val serial = Reg(UInt(9 bits)) init 0
  private val list = Mem(UInt(16 bits), places * OtxParam.maxBlocks) // the frames of each
  private val ask = Stream(BlockRef())
  ask.valid := asking.orR && free.valid
  ask.tag := tags(asker).resized
  ask.block := asked(asker).resized
  ask.request := serial @@ asker @@ asked(asker).lsb.asUInt
  free.ready := asking.orR && ask.ready
  wdataReq << ask.stage()
  buffer.open.valid := ask.fire
  buffer.open.request := ask.request
  buffer.open.frame := free.payload
  list.write(asker @@ ask.block, free.payload, ask.fire)
  chosen := OHMasking.roundRobin(wants, turn)
  when(ask.fire) {
    chosen := 0
    turn := asking.rotateLeft(1)
    serial := serial + 1
    asked(asker) := asked(asker) + 1
  }
  for (n <- 0 until places) {
    val asks = ask.fire && asking(n)
    val begins = buffer.begun.valid && buffer.begun.payload === n
    val ends = buffer.answered.valid && buffer.answered.place === n
    val eights = ends.mux(buffer.answered.isLong.mux(U(4, 10 bits), U(1, 10 bits)), U(0, 10 bits))
    owed(n) := owed(n) + asks.mux(U(OtxParam.beats / 8, 10 bits), U(0, 10 bits)) - eights
    flying(n) := flying(n) + begins.asUInt - ends.asUInt
    when(ends && buffer.answered.bad)(bad(n) := True)
    when(!busy(n))(owed(n) := U(0, 10 bits)) // what an aborted one has not got
  }

  // A host that stops
  private val before = Vec.fill(2 * places)(Reg(Bits(2 * places bits)) init 0) // slots that were asked for before it
  when(ask.fire) {
    val slot = ask.request.resize(placeBits + 1)
    before.foreach(_(slot) := False)
    before(slot) := buffer.awaited
  }
  private val oldest =
    Vec((0 until 2 * places).map(s => buffer.awaited(s) && (before(s) & buffer.awaited) === 0)).asBits
  private val scale = Reg(UInt(8 bits)) init 0
  scale := Mux(buffer.awaited.orR, scale + 1, U(0))
  private val idle = Reg(UInt(FrameFill.timeoutBits bits)) init 0
  private val came = RegNext(buffer.came.valid && oldest(buffer.came.payload)) init False
  private val tick = scale.andR && !RegNext(buffer.blocked) && !came // the clocks of another one begin with it
  private val over = tick && timeout =/= 0 && idle >= timeout
  when(tick)(idle := idle + 1)
  // another one is the oldest after the last beat of the one before, or its end
  when(over || oldest === 0 || came)(idle := 0)
  private val stops = Vec(each(n => over && oldest(2 * n + 1 downto 2 * n).orR)).asBits
  buffer.close := stops
  for (n <- 0 until places) when(stops(n))(aborted(n) := True)

  // Hand over: the frames, then the command
  private val ended = Vec(each { n =>
    val asksNoMore = asked(n) === blocks(n) || abandoned(n) || broken(n)
    busy(n) && aborted(n).mux(flying(n) === 0, owed(n) === 0 && asksNoMore)
  }).asBits
  private val handTurn = RegInit(B(1, places bits))
  private val next = OHMasking.roundRobin(ended, handTurn)
  private val handing = RegInit(False)
  private val hand = Reg(UInt(placeBits bits))
  private val at = Reg(UInt(6 bits))
  private val ready = StreamFifo(UInt(16 bits), 64)
  private val line = StreamFifo(FilledCmd(), places + 2, latency = 1)
  when(!handing && ended.orR) {
    handing := True
    hand := OHToUInt(next)
    handTurn := next.rotateLeft(1)
    at := 0
  }
  private val allFrames = at === asked(hand)
  ready.io.push.valid := handing && !allFrames
  ready.io.push.payload := list.readAsync(hand @@ at.resize(5))
  when(ready.io.push.fire)(at := at + 1)
  frames << ready.io.pop

  private val whole = Stream(FilledCmd())
  whole.valid := handing && allFrames
  whole.cmd := commands.readAsync(hand)
  whole.frames := asked(hand)
  whole.status := StatusCode(Status.SUCCESS)
  when(abandoned(hand))(whole.status := StatusCode(Status.READ_ONLY))
  when(bad(hand))(whole.status := StatusCode(Status.WRITE_FAULT))
  when(aborted(hand) || broken(hand))(whole.status := StatusCode(Status.ABORTED))
  when(whole.fire) {
    handing := False
    busy(hand) := False
  }
  fetched.valid := whole.fire
  fetched.tag := whole.cmd.tag.resized
  fetched.blocks := whole.cmd.count.resized

  private val other = ways(0).map { c =>
    val f = FilledCmd()
    f.cmd := c
    f.frames := 0
    f.status := Status.SUCCESS
    f
  }
  line.io.push << StreamArbiterFactory().lowerFirst.noLock.onArgs(whole, other)
  filled << line.io.pop
  takes := line.io.availability > CountOne(busy) // each WRITE has one of its places
  takesWrites := takes && !busy.andR
}

object FrameFill {

  /** Of a number of 256 clocks. */
  val timeoutBits = 20
}
