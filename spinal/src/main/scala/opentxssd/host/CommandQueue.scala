// SPDX-License-Identifier: Apache-2.0
package opentxssd.host

import opentxssd._
import spinal.core._
import spinal.lib._

/** Up to 32 host commands at once: independent ones overlap, dependent ones keep their order, each gets exactly one
  * completion.
  *
  * Contract. `cmd` is taken one per two clocks while its tag is unused; a command whose tag is still under way waits at
  * the port. A malformed command is completed from here with its own status, changes nothing and never reaches `dpCmd`.
  * A legal one goes out on `dpCmd` at the earliest twelve clocks after it was taken (a WRITE sixteen), once nothing
  * older conflicts with it (docs/interfaces.md, "Command queue to data path") and there is room for what it needs
  * (`CommandRoom`); those that need no room go past it. Commands other than READ go out only while the data path
  * `takes` them, so a READ never stands behind one, and READs while it `takesReads`. Among those that may go a class
  * has its turn (`ClassTurn` has the bounds), in it the choice is round robin, so none starves; one goes out per eight
  * clocks. A command has the class of the most urgent one that waits for it (a chain of n of them within n rounds of 32
  * clocks), and goes out with it. WRITEs also need `takesWrites`. What keeps order (`CommandCheck`) goes out epoch by
  * epoch, and what closes an epoch goes last of it (rule epoch-issue), a WRITE counting as gone when it is `fetched`:
  * no completion is waited for. ORDERED: alone, but for HEAD OF QUEUE. HEAD OF QUEUE: next of those that may go;
  * younger ones wait until it has gone. `dpDone` is passed on to `cpl` one clock later; when that is taken it frees the
  * tag and those that waited for it. `busy`: some command has not been completed.
  *
  * Between the steps of a decision stand registers (check, compare, may go, choice), so that none of them limits the
  * clock.
  *
  * Waiting is a row of bits per tag: bit j of row i says that command i must wait for command j. Rows are filled when a
  * command enters (only against older ones, so there is no cycle and no deadlock) and cleared column by column as
  * commands complete. Reset loses all commands without completions.
  */
class CommandQueue(p: OtxParam, tags: Int = OtxParam.tags) extends Component {
  setDefinitionName(if (tags == OtxParam.tags) "otx_command_queue" else s"otx_command_queue_$tags")

  val enable = in port Bool()
  val cmd = slave port Stream(HostCmd())
  val cpl = master port Stream(Completion())
  val dpCmd = master port Stream(HostCmd())
  val dpDone = slave port Stream(Completion())
  val txState = in port Vec(UInt(3 bits), OtxParam.txids)
  val supply = Ports.bare(in port Supply())
  val intake = Ports.bare(in port Intake())
  val pageClocks = in port UInt(WritePace.intervalBits bits) // `WritePace`
  val classTurns = in port Bits(ClassTurns.bits bits) // `ClassTurns`
  val busy = out port Bool()
  val starved = out port Bool() // a WRITE waits for pages or frames

  private val tagBits = log2Up(tags)
  private val lbaBits = log2Up(p.lbas + 1)

  /** What of a command the comparison needs. */
  private case class Footprint() extends Bundle {
    val first, end = UInt(lbaBits bits)
    val ranged, writes, inTx, controlsTx, opensTx, recovers = Bool()
    val reads, takesLog, takesPages = Bool()
    val keepsOrder, closesEpoch = Bool()
    val ordered, head = Bool() // its order attribute
    val txid = UInt(5 bits)
  }

  /** A command with what the check found. */
  private case class Checked() extends Bundle {
    val cmd = HostCmd()
    val print = Footprint()
    val status = UInt(4 bits)
    val legal = Bool()
  }

  private val arrived = cmd.stage()
  private val check = CommandCheck(p, arrived.payload, enable)
  private val fresh = Checked()
  fresh.cmd := arrived.payload
  fresh.print.first := arrived.lba.resized
  fresh.print.end := (arrived.lba + arrived.count).resized
  fresh.print.ranged := check.ranged
  fresh.print.writes := check.writes
  fresh.print.inTx := check.inTx
  fresh.print.controlsTx := check.controlsTx
  fresh.print.opensTx := check.opensTx
  fresh.print.recovers := check.recovers
  fresh.print.reads := check.reads
  fresh.print.takesLog := check.takesLog
  fresh.print.takesPages := check.writesData
  fresh.print.keepsOrder := check.keepsOrder
  fresh.print.closesEpoch := check.closesEpoch
  fresh.print.ordered := arrived.order === Order.ORDERED
  fresh.print.head := arrived.order === Order.HEAD_OF_QUEUE
  fresh.print.txid := arrived.txid.resized
  fresh.status := check.status
  fresh.legal := check.status === Status.SUCCESS
  private val entered = arrived.translateWith(fresh).stage()

  private val valid = Reg(Bits(tags bits)) init 0
  private val sent = Reg(Bits(tags bits)) // chosen
  private val gone = Reg(Bits(tags bits)) // a WRITE has its data; another one is on its way to `dpCmd`
  private val print = Vec(Reg(Footprint()), tags)
  private val waitsFor = Vec(Reg(Bits(tags bits)), tags)
  private val commands = Mem(HostCmd(), tags)

  private val finish = dpDone.halfPipe() // to `cpl`
  private val freed = Reg(Flow(UInt(5 bits))) // its tag, a clock after it was taken
  freed.valid.init(False)
  freed.valid := finish.fire
  freed.payload := finish.tag.resized

  private def at(tag: UInt) = tag.resize(tagBits bits)
  private def ofTags(what: Footprint => Bool) = Vec(print.map(what)).asBits

  private def conflict(a: Footprint, b: Footprint): Bool = {
    val overlap = a.ranged && b.ranged && a.first < b.end && b.first < a.end
    val sameTx = a.inTx && b.inTx && a.txid === b.txid
    (overlap && (a.writes || b.writes)) || (sameTx && (a.controlsTx || b.controlsTx)) ||
    (a.recovers && b.inTx) || (b.recovers && a.inTx) || (a.recovers && b.recovers)
  }

  /** `a` waits for the end of `b`, which was accepted before it. */
  private def waitFor(a: Footprint, b: Footprint): Bool = conflict(a, b) || a.ordered || b.ordered && !a.head

  // A new command: first compared with all that are known, then entered. Nobody else enters in between.
  private val compared = RegInit(False)
  private val row = Reg(Bits(tags bits)) // those that it would have to wait for if they are under way
  private val tagFree = RegNext(!valid(at(entered.cmd.tag)))
  when(entered.valid && !compared)(row := Vec(print.map(waitFor(entered.print, _))).asBits)
  compared := entered.valid && !entered.fire
  private val malformed = Stream(Completion())
  malformed.valid := compared && !entered.legal && tagFree
  malformed.tag := entered.cmd.tag
  malformed.status := entered.status
  malformed.result := 0
  entered.ready := compared && tagFree && (entered.legal || malformed.ready)

  private val enter = compared && tagFree && entered.legal
  when(finish.fire)(valid(at(finish.tag)) := False)
  when(freed.valid)(waitsFor.foreach(_(at(freed.payload)) := False))
  when(enter) {
    commands.write(at(entered.cmd.tag), entered.cmd)
    valid(at(entered.cmd.tag)) := True
    sent(at(entered.cmd.tag)) := False
    gone(at(entered.cmd.tag)) := False
    print(at(entered.cmd.tag)) := entered.print
    waitsFor(at(entered.cmd.tag)) := row & valid // one that ends in this clock is cleared in the next
  }

  // Classes. Who waits for a command lifts it: one waiting command is looked at per clock, so the class of the last
  // one of a row of n that wait for each other comes to the first one in n rounds of `tags` clocks at most.
  private val rank = Vec(Reg(UInt(2 bits)), tags) // its own, or that to which others have lifted it
  private def ofRank(r: Int) = Vec(rank.map(_ === r)).asBits
  private def lift(those: Bits, to: UInt): Unit =
    for (i <- 0 until tags) when(those(i) && rank(i) < to)(rank(i) := to)
  private val looked = Reg(UInt(tagBits bits)) init 0
  private val waits = Vec(waitsFor.map(_ =/= 0)).asBits
  when(RegNext((valid & waits).orR) init False)(looked := Mux(looked === tags - 1, U(0), looked + 1))
  private val looks = RegNext(valid(looked) && waitsFor(looked) =/= 0) init False
  when(looks)(lift(RegNext(waitsFor(looked)), RegNext(rank(looked))))

  // Epochs, modulo 64: that of a new command, that which goes out now. No two epochs have one number, for each that is
  // not gone has a command that closes it, but the last.
  private val newest, current = Reg(UInt(6 bits)) init 0
  private val epoch = Vec(Reg(UInt(6 bits)), tags)
  when(enter) {
    epoch(at(entered.cmd.tag)) := newest
    when(entered.print.closesEpoch)(newest := newest + 1)
  }

  // HEAD OF QUEUE: each has a number, and goes when all before it have gone; the others wait for those that were
  // accepted before them. Modulo 64, as above.
  private val newestHead, currentHead = Reg(UInt(6 bits)) init 0
  private val headsBefore = Vec(Reg(UInt(6 bits)), tags) // how many were accepted before it
  private val behindHead = Reg(Bits(tags bits))
  for (i <- 0 until tags) when(headsBefore(i) === currentHead)(behindHead(i) := False)
  when(enter) {
    headsBefore(at(entered.cmd.tag)) := newestHead
    behindHead(at(entered.cmd.tag)) := newestHead =/= currentHead
    when(entered.print.head)(newestHead := newestHead + 1)
  }

  // Those that may go, in turn. What forbids it only goes away while a command waits, so to know of it late is safe.
  private val draining = RegNext(Vec(txState.map(TxStates.isDraining)).asBits)
  private val free = Reg(Bits(tags bits)) init 0
  free := 0
  when(valid.orR) {
    val early = Vec(print.map(begin => begin.opensTx && draining(begin.txid))).asBits
    val ordered = ofTags(c => c.keepsOrder || c.closesEpoch)
    val last = ofTags(_.closesEpoch)
    val inEpoch = Vec(epoch.map(_ === current)).asBits
    val before = (valid & ~gone & inEpoch & ordered & ~last).orR // one that the last of its epoch waits for
    free := valid & ~waits & ~early & ~behindHead & (~ordered | inEpoch & ~(last.andMask(before)))
    // who waits for the end of this epoch lifts what is in it
    val lifters = valid & ~gone & ordered & (~inEpoch | last)
    val lifted = RegNext(valid & ~gone & ordered & inEpoch)
    for (r <- 1 to 3) when(RegNext((lifters & ofRank(r)).orR) init False)(lift(lifted, U(r, 2 bits)))
  }
  when(enter)(rank(at(entered.cmd.tag)) := ClassRank(entered.cmd.priority))

  // Room: what is missing shuts some of them out, known two clocks after the last one went
  private val room = new CommandRoom(p)
  room.supply := supply
  room.intake := intake
  room.pageClocks := pageClocks
  starved := room.starved
  private val passing = RegInit(False) // one that is no READ is on its way to `dpCmd`
  private val open = intake.takes && !passing
  private val noRoom = ofTags(c => c.takesLog && !room.logOpen || c.takesPages && !room.hold.ready)
  private val shut = RegNext(noRoom | ofTags(c => Mux(c.reads, !intake.takesReads, !open)))

  // A class that may go, then a kind of that class, in turn, then a command of that kind, in turn: so those that are
  // shut out for a while lose no turn to others
  private val heads = ofTags(_.head)
  private val headNext = RegNext((free & ~sent & heads & ~noRoom).orR) init False // others let it go first
  private val mayGo = free & ~sent & ~shut & (heads | ~B(tags bits, default -> headNext))
  private val kinds = Vec(Seq[Footprint => Bool](
    _.reads,
    _.takesPages,
    c => c.takesLog && !c.takesPages,
    c => !c.reads && !c.takesLog
  ).map(ofTags))
  private val classes = new ClassTurn
  classes.turns := classTurns
  classes.wants := RegNext(Vec((0 to 3).map(r => (mayGo & ofRank(r)).orR)).asBits) init 0
  classes.waits := RegNext(Vec((0 to 3).map(r => (free & ~sent & ofRank(r)).orR)).asBits) init 0
  private val klass = Reg(Bits(4 bits)) init 0 // chosen for a clock
  private val pickedClass = Reg(Bits(4 bits))
  private def inClass(c: Bits) = Vec(rank.map(c(_))).asBits
  private val wanted = RegNext(Vec(kinds.map(k => (mayGo & k & inClass(klass)).orR)).asBits) init 0
  private val kind = Reg(Bits(kinds.size bits)) init 0 // chosen for a clock
  private val turns = Vec(RegInit(B(1, kinds.size bits)), 4) // of each class, the kind behind the last one
  private val turn = MuxOH(pickedClass, turns)
  private val later = Reg(Bits(tags bits)) init 0 // tags behind the one of their class and kind that went last
  private val candidates = Reg(Bits(tags bits)) init 0 // a clock of them, then the first is picked
  private val picked = Reg(Flow(UInt(log2Up(tags) bits)))
  picked.valid.init(False)
  private val pickedWrites = Reg(Bool()) // it is a WRITE: it asks for room first
  private val pickedKind = Reg(Bits(kinds.size bits))
  private val going = Stream(HostCmd())
  private val idle = !picked.valid && candidates === 0 && kind === 0 && wanted === 0 && klass === 0
  private val fromRoom = room.go.valid && open && intake.takesWrites && idle
  private val since = Reg(UInt(2 bits)) init 0 // clocks since the last one went: then `classes` knows it
  since := Mux(picked.valid || fromRoom, U(0), Mux(since === 2, since, since + 1))
  klass := 0
  when(idle && !fromRoom && since === 2)(klass := classes.choice)
  when(klass.orR)(pickedClass := klass)
  kind := OHMasking.roundRobin(wanted, turn)
  when(kind.orR) {
    pickedKind := kind
    for (r <- 0 to 3) when(pickedClass(r))(turns(r) := kind.rotateLeft(1))
  }
  private val ofKind = mayGo & inClass(pickedClass) &
    kinds.zipWithIndex.map { case (k, i) => k & B(tags bits, default -> kind(i)) }.reduce(_ | _)
  candidates := Mux((ofKind & later).orR, ofKind & later, ofKind) // none without a kind
  private val first = OHMasking.first(candidates)
  classes.goes := pickedClass.andMask(candidates.orR && !picked.valid)
  room.hold.valid := picked.valid && pickedWrites
  picked.valid := Mux(picked.valid, !Mux(pickedWrites, room.hold.ready, going.ready), candidates.orR)
  when(!picked.valid) {
    picked.payload := OHToUInt(first)
    pickedWrites := pickedKind(1)
  }
  when(picked.valid) {
    sent(picked.payload) := True
    for (i <- 0 until tags; (k, n) <- kinds.zipWithIndex)
      when(k(i) && pickedKind(n) && pickedClass(rank(i)))(later(i) := picked.payload < i)
  }
  when(enter)(later(at(entered.cmd.tag)) := False)
  going.valid := fromRoom || picked.valid && !pickedWrites
  private val leaves = Mux(fromRoom, at(room.go.payload), picked.payload)
  going.payload := commands.readAsync(leaves)
  going.payload.priority.allowOverride
  going.payload.priority := ClassRank(rank(leaves))
  room.go.ready := fromRoom && going.ready
  room.hold.tag := picked.payload.resized
  room.hold.blocks := going.count.resized
  private def goes(tag: UInt): Unit = {
    gone(at(tag)) := True
    when(print(at(tag)).closesEpoch)(current := current + 1)
  }
  when(going.fire) {
    when(!fromRoom)(goes(going.tag))
    when(print(at(going.tag)).head)(currentHead := currentHead + 1)
  }
  when(intake.fetched.valid)(goes(intake.fetched.tag)) // of one that closes its epoch: no other goes meanwhile
  dpCmd << going.halfPipe()
  when(dpCmd.fire && dpCmd.opcode =/= Opcode.READ)(passing := False)
  when(going.fire && going.opcode =/= Opcode.READ)(passing := True)

  // A malformed command is answered between the others; neither can hold the other up for ever
  cpl << StreamArbiterFactory().roundRobin.transactionLock.onArgs(malformed, finish)
  busy := valid.orR || arrived.valid || entered.valid
}
