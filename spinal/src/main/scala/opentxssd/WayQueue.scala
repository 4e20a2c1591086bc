// SPDX-License-Identifier: Apache-2.0
package opentxssd

import spinal.core._
import spinal.lib._

/** How many ops of a class wait at one die; at most 8 each. */
case class FlashQueueDepth(rest: Int = 8, read: Int = 8, log: Int = 4) {
  for ((name, depth) <- Seq("rest" -> rest, "read" -> read, "log" -> log))
    require(depth >= 1 && depth <= 8, s"queue depth '$name' is $depth, must be 1 to 8")
}

object FlashSource {
  val WRITE = 0
  val READ = 1
  val LOG = 2
  val FW = 3
}

/** An op with the client it came from. */
case class SourcedOp() extends Bundle {
  val source = UInt(2 bits)
  val op = FlashOp()
}

case class IssuedOp() extends Bundle {
  val way = UInt(4 bits)
  val source = UInt(2 bits)
  val op = FlashOp()
}

/** The op queues of all ways of one channel, and the choice which op goes to the channel next.
  *
  * Contract. Each way has three queues: log, read, and rest (`write` and `fw` in the order they arrive). A way that is idle (`wayIdle`, and its last op `finished`) gets
  * an op: log first, else read and rest in turn; ways in turn. One op per clock enters; an op whose queue is full waits at its port, and all behind it there. From an op's beat to
  * `issue` valid: 3 clocks; one issue per 2 clocks. `busy`: an op is here that has not been finished. Reset loses all ops.
  *
  * All ops of a channel lie in one memory at `{way, class, number}`; registers hold only the ends of the queues.
  */
class WayQueue(p: OtxParam, depth: FlashQueueDepth) extends Component {
  setDefinitionName("otx_way_queue")

  val write, read, log, fw = slave port Stream(FlashOp()) // ops of this channel only
  val wayIdle = in port Bits(p.ways bits)
  val finished = slave port Flow(UInt(4 bits)) // the way
  val issue = master port Stream(IssuedOp())
  val busy = out port Bool()

  private val LOG = 0
  private val READ = 1
  private val REST = 2
  private val depths = Seq(depth.log, depth.read, depth.rest)
  private val ops = Mem(SourcedOp(), p.ways * 32)

  /** Ends of the three queues of a way (one bit more than the place, to tell full from empty) and its state. */
  private case class Way(w: Int) {
    val head, tail = depths.map(_ => RegInit(U(0, 4 bits)))
    val used = depths.map(_ => RegInit(U(0, 4 bits))) // tail - head, kept for speed
    val room = (used, depths).zipped.map(_ < _)
    val some = used.map(_ =/= 0)
    val running = RegInit(False)
    val restNext = RegInit(False) // of read and rest it is rest's turn
    val takesRead = some(READ) && !(some(REST) && restNext)
    val choice = Mux(some(LOG), U(LOG, 2 bits), Mux(takesRead, U(READ, 2 bits), U(REST, 2 bits)))
    val wants = wayIdle(w) && !running && some.reduce(_ || _)
  }
  private val ways = (0 until p.ways).map(Way)

  private def place(way: UInt, queue: UInt, end: UInt) = (way ## queue ## end(2 downto 0)).asUInt.resize(log2Up(p.ways * 32))

  // Ops in: those whose queue has room, in turn
  private val sources = Seq((write, FlashSource.WRITE, REST), (read, FlashSource.READ, READ), (log, FlashSource.LOG, LOG), (fw, FlashSource.FW, REST))
  private val entries = sources.map { case (ops, source, queue) =>
    val target = PpnFields(p, ops.ppn).way
    val room = ways.map(way => target === way.w && way.room(queue)).reduce(_ || _)
    val entry = SourcedOp()
    entry.source := source
    entry.op := ops.payload
    ops.haltWhen(!room).translateWith(entry)
  }
  private val enter = StreamArbiterFactory().roundRobin.noLock.on(entries)
  enter.ready := True
  private val enterWay = PpnFields(p, enter.op.ppn).way
  private val enterQueue = enter.source.mux(FlashSource.LOG -> U(LOG, 2 bits), FlashSource.READ -> U(READ, 2 bits), default -> U(REST, 2 bits))
  private val enterHits = Vec(ways.map(way => depths.indices.map(q => enterWay === way.w && enterQueue === q)).flatten).asBits
  ops.write(place(enterWay, enterQueue, MuxOH(enterHits, ways.flatMap(_.tail))), enter.payload, enter.valid)

  // Ops out
  private val held = RegInit(False) // an op is at `issue`
  private val wants = RegNext(Vec(ways.map(_.wants)).asBits) init 0 // a clock late: nothing but a pick takes a wish back, and `held` covers that clock
  private val choices = ways.map(way => RegNext(way.choice))
  private val first = RegInit(B(1, p.ways bits)) // the way whose turn it is
  private val grant = OHMasking.roundRobin(wants, first)
  private val pick = wants.orR && !held
  private val pickWay = OHToUInt(grant)
  private val pickQueue = MuxOH(grant, choices)
  private val pickHits = Vec(ways.flatMap(way => depths.indices.map(q => grant(way.w) && pickQueue === q))).asBits
  private val picked = ops.readSync(place(pickWay, pickQueue, MuxOH(pickHits, ways.flatMap(_.head))), pick)
  private val issueWay = RegNextWhen(pickWay, pick)
  when(issue.ready)(held := False)
  when(pick) {
    held := True
    first := (if (p.ways == 1) grant else grant.rotateLeft(1))
  }
  issue.valid := held
  issue.way := issueWay.resized
  issue.source := picked.source
  issue.op := picked.op

  when(enter.valid || pick) {
    for (way <- ways; q <- depths.indices) {
      val hit = way.w * depths.size + q
      val comes = enter.valid && enterHits(hit)
      val goes = pick && pickHits(hit)
      when(comes)(way.tail(q) := way.tail(q) + 1)
      when(goes)(way.head(q) := way.head(q) + 1)
      when(comes =/= goes)(way.used(q) := goes.mux(way.used(q) - 1, way.used(q) + 1))
    }
  }
  for (way <- ways) {
    when(finished.valid && finished.payload === way.w)(way.running := False)
    when(pick && grant(way.w)) {
      way.running := True
      when(choices(way.w) =/= LOG)(way.restNext := choices(way.w) === READ)
    }
  }
  busy := ways.map(way => way.running || way.some.reduce(_ || _)).reduce(_ || _)
}
