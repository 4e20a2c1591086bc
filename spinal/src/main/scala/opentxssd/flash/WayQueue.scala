// SPDX-License-Identifier: Apache-2.0
package opentxssd.flash

import opentxssd._
import spinal.core._
import spinal.lib._

/** How many ops of a client wait at one die, of `read` those of a priority class; at most 8 each. */
case class FlashQueueDepth(log: Int = 4, read: Int = 8, write: Int = 8, firmware: Int = 8) {
  for ((name, depth) <- Seq("log" -> log, "read" -> read, "write" -> write, "firmware" -> firmware))
    require(depth >= 1 && depth <= 8, s"queue depth '$name' is $depth, must be 1 to 8")
}

/** How often ops of other clients go before a client that waits, until it has its turn before all that are not that
  * old. `erase`: of `firmware` while its next op is an ERASE.
  */
case class FlashPatience(log: Int = 1, read: Int = 4, write: Int = 8, firmware: Int = 16, erase: Int = 24) {
  private val all = Seq(log, read, write, firmware, erase)
  require(1 <= log && all == all.sorted && erase <= 63, s"patience is ${all.mkString(", ")}, must rise from 1 to 63")
}

object FlashSource {
  val WRITE = 0
  val READ = 1
  val LOG = 2
  val FIRMWARE = 3
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
  * Contract. Each way has queues, in order: four of `read`, one for each priority class, and one of `log`, `write` and
  * `firmware`. The queue of `write` has the class of the most urgent op in it, for its ops must stay in order; an op of
  * class LOW there is one that nobody waits for and lifts nothing. A way that is idle (`wayIdle`, and its last op
  * `finished`) gets an op: of `read`, unless its best class is LOW or below that of `write`; then of `log`; of `write`
  * if it is lifted; of `read`; of `write`; of `firmware`. But a client that has been passed over as often as
  * `FlashPatience` says goes before, in the order log, write, firmware, read. So, counted from when an op is the first
  * of its client, at most so many ops of other clients go before it: log 1, write 9, firmware 19, an ERASE of firmware
  * 27, read 8, or 5 while its best class is not LOW nor below that of `write`. Of reads the best class goes first, but
  * of 16 reads that go four are of HIGH first, two of MEDIUM and one of LOW: so before a read that is the first of its
  * class at most so many reads of others go: URGENT 1, HIGH 3, MEDIUM 7, LOW 15. (Tests assert these, for the default
  * patience.)
  *
  * With `flashPriorities` 0 there are three queues: log first, else read and the rest (`write` and `firmware` in the
  * order they arrive) in turn. A way that offers it gets the op that would be the next beside the one that is under
  * way, one at a time: with `wayAcceptsRead` one of `read`, but not beside a log page (a commit waits for that); with
  * `wayAcceptsProgram` one of `write` beside another one of `write`; with `wayAcceptsErase` an ERASE of `firmware`; the
  * last two not without priorities. Ways in turn. One op per clock enters; an op whose queue is full waits at its port,
  * and all behind it there. From an op's beat to `issue` valid: 3 clocks; one issue per 2 clocks. `busy`: an op is here
  * that has not been finished. `load` of a way, a clock late: 0 says that it is idle, 1 to 6 that so many ops have not
  * been finished, or more, 7 that an ERASE waits or is under way (with priorities); `entered`: an op of `write` comes
  * in this clock; `room`: how many more of `write` fit, a clock late.
  * `now`: what an op of `log` that comes meets, a clock late: bit 0, an op is under way or one of `log` waits; bit 1,
  * an ERASE waits or is under way (with priorities).
  * With `only`, from which there is no way back, ops of `read` and `firmware` stay where they are (with priorities).
  * Reset loses all ops.
  *
  * All ops of a channel lie in one memory at `{way, queue, number}`; registers hold only the ends of the queues, how
  * often clients were passed over, whose turn of the reads it is, how many writes wait up to the last one of a class,
  * and which places of `firmware` are an ERASE.
  */
class WayQueue(p: OtxParam, depth: FlashQueueDepth, patience: FlashPatience = FlashPatience()) extends Component {
  setDefinitionName("otx_way_queue")

  val clients = Ports.bare(slave port FlashOps()) // ops of this channel only
  val wayIdle, wayAcceptsRead, wayAcceptsProgram, wayAcceptsErase = in port Bits(p.ways bits)
  val finished = slave port Flow(UInt(4 bits)) // an op of this way is over
  val issue = master port Stream(IssuedOp())
  val only = in port Bool() // programs only: the power fails
  val busy = out port Bool()
  val load = Vec.fill(p.ways)(out port UInt(3 bits))
  val entered = out port Bits(p.ways bits)
  val room = Vec.fill(p.ways)(out port UInt(4 bits))
  val now = Vec.fill(p.ways)(out port UInt(2 bits))

  private val LOG = 0
  private val WRITE = 1
  private val FIRMWARE = if (p.flashPriorities) 2 else WRITE
  private val READ = FIRMWARE + 1 // the first of them, that of LOW; then in the order of their ranks
  private val READS = if (p.flashPriorities) READ to READ + 3 else Seq(READ)
  private val depths = Seq(depth.log, depth.write, depth.firmware).take(FIRMWARE + 1) ++ READS.map(_ => depth.read)
  private val queueBits = log2Up(depths.size)
  private val numbers = 8 << queueBits
  private val ops = Mem(SourcedOp(), p.ways * numbers)

  /** Ends of the queues of a way (one bit more than the place, to tell full from empty) and its state. */
  private case class Way(w: Int) {
    val head, tail = depths.map(_ => RegInit(U(0, 4 bits)))
    val used = depths.map(_ => RegInit(U(0, 4 bits))) // tail - head, kept for speed
    val room = (used, depths).zipped.map(_ < _)
    val some = used.zipWithIndex.map { case (n, q) => n =/= 0 && !(only && Bool(p.flashPriorities && q >= FIRMWARE)) }
    val running = RegInit(False)
    val beside = p.second generate RegInit(False) // a second one runs, too
    val runs = p.second generate Reg(UInt(queueBits bits)) // queue of the first
    val here = RegInit(U(0, 6 bits)) // ops that are not finished
    val erases = p.flashPriorities generate RegInit(U(0, 4 bits)) // that wait
    val erasing = p.flashPriorities generate RegInit(False)
    val order = if (p.flashPriorities) new Priorities(head, tail, some) else new Turns(some)
    val choice = order.choice

    /** What may come beside the op that runs. */
    def fits: Bool = {
      val read = isRead(choice) && READS.map(some(_)).orR && wayAcceptsRead(w) && runs =/= LOG
      val write = choice === WRITE && some(WRITE) && wayAcceptsProgram(w) && runs === WRITE
      val erase = choice === FIRMWARE && some(FIRMWARE) && wayAcceptsErase(w) && order.nextErases
      if (p.flashPriorities) read || write || erase else read
    }
    val wants = (wayIdle(w) && !running && some.reduce(_ || _)) || (if (p.second) running && !beside && fits else False)
  }

  private def isRead(queue: UInt) = queue >= READ

  /** Which queue's turn it is. `entered`: an op comes into queue `firmware`; `written`: one of `write`, of which there
    * are so many then; `picked`: an op of queue `choice`, a clock late, goes. */
  private trait Order {
    val choice: UInt
    def entered(erase: Bool): Unit
    def written(rank: UInt, used: UInt): Unit = ()
    def picked(queue: UInt): Unit
    def nextErases: Bool // the first op of `firmware`
  }

  private class Priorities(head: Seq[UInt], tail: Seq[UInt], some: Seq[Bool]) extends Order {
    val aging = Seq(LOG -> patience.log, READ -> patience.read, WRITE -> patience.write, FIRMWARE -> patience.erase)
    // stays at `most`; 0 while the queue is empty
    val passed = aging.map { case (q, most) => q -> RegInit(U(0, log2Up(most + 1) bits)) }.toMap
    val erases = Reg(Bits(8 bits)) // of the places of FIRMWARE
    def nextErases = erases(head(FIRMWARE)(2 downto 0))
    val firmwareOld =
      !only && (passed(FIRMWARE) === patience.erase || (passed(FIRMWARE) >= patience.firmware && !nextErases))
    val old =
      Seq(
        LOG -> (passed(LOG) === patience.log),
        WRITE -> (passed(WRITE) === patience.write),
        FIRMWARE -> firmwareOld,
        READ -> (passed(READ) === patience.read && !only)
      )

    // Reads: which class, and which goes first in 16 of them
    val reads = Vec(READS.map(some(_))).asBits // by rank
    val turn = RegInit(U(1, 4 bits))
    val first = B(4 bits, 2 -> (turn(1 downto 0) === 2), 1 -> (turn(2 downto 0) === 4), 0 -> (turn === 0), 3 -> False)
    val best = OHMasking.first(reads.reversed).reversed
    val readQueue = OHToUInt(Mux((reads & first).orR, reads & first, best)) +^ U(READ, queueBits bits)

    // Writes of class MEDIUM, HIGH, URGENT: how many wait up to the last one that is of that class or above it
    val lifted = Vec(Reg(UInt(4 bits)) init 0, 3)
    val lifts = Vec(lifted.map(_ =/= 0)).asBits
    val readsFirst = (1 to 3).map(r => reads(3 downto r).orR && (if (r < 3) !lifts(2 downto r).orR else True)).orR
    val wishes = old ++ Seq(
      READ -> readsFirst,
      LOG -> some(LOG),
      WRITE -> lifts.orR,
      READ -> reads.orR,
      WRITE -> some(WRITE)
    )
    val client = wishes.foldRight(U(FIRMWARE, 2 bits)) { case ((q, wish), others) => Mux(wish, U(q, 2 bits), others) }
    val choice = Mux(client === READ, readQueue.resize(queueBits), client.resize(queueBits))
    def entered(erase: Bool) = erases(tail(FIRMWARE)(2 downto 0)) := erase
    override def written(rank: UInt, used: UInt) = for (r <- 1 to 3) when(rank >= r)(lifted(r - 1) := used)
    def picked(queue: UInt) = {
      for ((q, most) <- aging) {
        val mine = if (q == READ) isRead(queue) else queue === q
        val waits = if (q == READ) reads.orR else some(q)
        when(mine)(passed(q) := 0) elsewhen (waits && passed(q) =/= most)(passed(q) := passed(q) + 1)
      }
      when(isRead(queue))(turn := turn + 1)
      when(queue === WRITE)(for (left <- lifted) when(left =/= 0)(left := left - 1))
    }
  }

  private class Turns(some: Seq[Bool]) extends Order {
    val writeNext = RegInit(False) // of read and write it is write's turn
    val takesRead = some(READ) && !(some(WRITE) && writeNext)
    val choice = Seq(LOG -> some(LOG), READ -> takesRead).foldRight(U(WRITE, queueBits bits)) {
      case ((q, wish), others) => Mux(wish, U(q, queueBits bits), others)
    }
    def nextErases = False
    def entered(erase: Bool) = ()
    def picked(queue: UInt) = when(queue =/= LOG)(writeNext := queue === READ)
  }
  private val ways = (0 until p.ways).map(Way)

  private def address(way: UInt, queue: UInt, end: UInt) =
    (way ## queue ## end(2 downto 0)).asUInt.resize(log2Up(p.ways * numbers))

  // Ops in: those whose queue has room, in turn
  import clients.{firmware, log, read, write}
  private val sources = Seq(
    (write, FlashSource.WRITE, Seq(WRITE)),
    (read, FlashSource.READ, READS),
    (log, FlashSource.LOG, Seq(LOG)),
    (firmware, FlashSource.FIRMWARE, Seq(FIRMWARE))
  )

  /** An op's queue, among these. */
  private def hits(op: FlashOp, queues: Seq[Int]): Seq[Bool] =
    if (queues.size == 1) Seq(True) else queues.indices.map(ClassRank(op.priority) === _)
  // from here to `used` is the longest way of the channel: who enters finds its queue known
  private val places = sources.map { case (ops, _, queues) =>
    val target = PpnFields(p, ops.ppn).way
    val mine = queues.zip(hits(ops.payload, queues)).toMap
    ways.map(way => depths.indices.map(q => mine.get(q).fold(False)(target === way.w && _)))
  }
  private val entries = sources.zip(places).map { case ((ops, source, _), mine) =>
    val room = ways.zip(mine).map { case (way, hits) => way.room.zip(hits).map { case (r, hit) => r && hit }.orR }.orR
    val entry = SourcedOp()
    entry.source := source
    entry.op := ops.payload
    ops.haltWhen(!room).translateWith(entry)
  }
  private val lastIn = Reg(Bits(entries.size bits)) init 1 << (entries.size - 1) // who was the last to enter
  private val enters = RoundRobin(Vec(entries.map(_.valid)).asBits, lastIn)
  private val enter = Flow(SourcedOp())
  enter.valid := enters.orR
  enter.payload := MuxOH(enters, entries.map(_.payload))
  for ((entry, i) <- entries.zipWithIndex) entry.ready := enters(i)
  when(enter.valid)(lastIn := enters)
  private val enterWay = PpnFields(p, enter.op.ppn).way
  private val enterRank = ClassRank(enter.op.priority)
  private val enterQueue = enter.source.muxList(sources.map { case (_, source, queues) =>
    val of = U(queues.head, queueBits bits)
    source -> (if (queues.size == 1) of else of + enterRank)
  })
  private val enterHits = Vec(ways.flatMap { way =>
    depths.indices.map(q => places.zipWithIndex.map { case (mine, s) => enters(s) && mine(way.w)(q) }.orR)
  }).asBits
  ops.write(address(enterWay, enterQueue, MuxOH(enterHits, ways.flatMap(_.tail))), enter.payload, enter.valid)

  // Ops out
  private val held = RegInit(False) // an op is at `issue`
  // a clock late: nothing but a pick takes a wish back, and `held` covers that clock
  private val wants = RegNext(Vec(ways.map(_.wants)).asBits) init 0
  private val choices = ways.map(way => RegNext(way.choice))
  private val first = RegInit(B(1, p.ways bits)) // the way whose turn it is
  private val grant = OHMasking.roundRobin(wants, first)
  private val pick = wants.orR && !held
  private val pickWay = OHToUInt(grant)
  private val pickQueue = MuxOH(grant, choices)
  private val pickHits = Vec(ways.flatMap(way => depths.indices.map(q => grant(way.w) && pickQueue === q))).asBits
  private val picked = ops.readSync(address(pickWay, pickQueue, MuxOH(pickHits, ways.flatMap(_.head))), pick)
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

  for (way <- ways; q <- depths.indices) {
    val hit = way.w * depths.size + q
    val comes = enterHits(hit)
    val goes = pick && pickHits(hit)
    when(comes)(way.tail(q) := way.tail(q) + 1)
    when(goes)(way.head(q) := way.head(q) + 1)
    when(comes =/= goes)(way.used(q) := goes.mux(way.used(q) - 1, way.used(q) + 1))
  }
  for (way <- ways) {
    val ends = finished.valid && finished.payload === way.w
    def hits(q: Int) = enterHits(way.w * depths.size + q)
    val comes = depths.indices.map(hits).orR
    val goes = pick && grant(way.w)
    val last = if (p.second) !way.beside else True
    when(comes =/= ends)(way.here := Mux(ends, way.here - 1, way.here + 1))
    entered(way.w) := enters(FlashSource.WRITE) && places(FlashSource.WRITE)(way.w)(WRITE)
    load(way.w) := RegNext(Mux(way.here > 6, U(6, 3 bits), way.here.resize(3))) init 0
    room(way.w) := RegNext(U(depth.write, 4 bits) - way.used(WRITE)) init depth.write
    val busyNow = RegNext(way.running || way.some(LOG)) init False
    val erase = if (p.flashPriorities) way.erasing || way.erases =/= 0 else False
    now(way.w) := ((RegNext(erase) init False) ## busyNow).asUInt
    if (p.flashPriorities) {
      val waits = hits(FIRMWARE) && firmware.op === NandOp.ERASE
      val begins = goes && choices(way.w) === FIRMWARE && way.order.nextErases
      when(waits =/= begins)(way.erases := Mux(begins, way.erases - 1, way.erases + 1))
      when(ends && last)(way.erasing := False)
      when(begins)(way.erasing := True)
      when(RegNext(erase) init False)(load(way.w) := 7)
    }
    if (p.second) {
      when(ends)(way.beside := False)
      when(ends && last)(way.running := False)
      when(goes) {
        way.running := True
        when(way.running && !ends)(way.beside := True) otherwise (way.runs := choices(way.w))
      }
    } else {
      when(ends)(way.running := False)
      when(goes)(way.running := True)
    }
    when(goes)(way.order.picked(choices(way.w)))
    if (p.flashPriorities) {
      val out = goes && choices(way.w) === WRITE
      when(hits(WRITE))(way.order.written(ClassRank(write.priority), Mux(out, way.used(WRITE), way.used(WRITE) + 1)))
    }
    when(hits(FIRMWARE))(way.order.entered(firmware.op === NandOp.ERASE))
  }
  busy := ways.map(way => way.running || way.used.map(_ =/= 0).reduce(_ || _)).reduce(_ || _)
}
