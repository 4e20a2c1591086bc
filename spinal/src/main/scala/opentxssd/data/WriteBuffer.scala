// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import opentxssd._
import spinal.core._
import spinal.lib._

/** The write buffer: which linked frames are not issued yet, and in which order they will be.
  *
  * The data is in frame memory and the map finds it (BUF words); here are lists of frame numbers only. A frame is in
  * one of four lists, each oldest first, from `link` on until `issue` hands it out:
  *
  * {{{
  *   ordered   order-preserving plain frames        issued when `background` is high, the oldest of each list
  *   free      orderless plain frames                 in turn, a group as a whole
  *   tx        frames of transactions
  *   early     what `gather` has chosen             issued before all others
  * }}}
  *
  * and those of the first three also in the list of their stream or transaction (`keys`), so that RFLUSH of a stream
  * and COMMIT find their frames without a search. Streams that agree in their low bits share a list.
  *
  * Contract. `link`: the frame of an entry that the map names now, one for each block of a command, in order, `first`
  * and `n` the same in all; nothing of a group is issued before its last one came. If the word that it replaced is a
  * frame that is not issued yet,
  *  - it takes that frame's place, which comes back at `absorbed` and is never issued: when both are of one
  *    transaction, or both plain groups of one block, of one stream, and both orderless or both order-preserving of one
  *    epoch (absorption);
  *  - else that one is issued early. So of one block and owner the older frame is always issued first (rule lpn-order).
  * A plain frame below versions of transactions that are not committed, put there or found there (`over`, `replaced`),
  * is issued early too: a COMMIT whose record waits for `over` never overtakes one (rule lpn-order).
  * `gather` makes frames early, a group as a whole (rule group) and before each order-preserving one those of earlier
  * epochs (rule epoch-issue). Both are done one after the other, with no other in between; `ready` when it is done.
  *
  * Tickets. `ticket`, in the clock in which `gather` or `link` ends: all that was chosen until then is issued when
  * `early` and `all` of the counts `ended` have reached it (`BufferTicket.reached`). `over`: the ticket of the last
  * frame of the kind above.
  *
  * After `fault` nothing is issued, and nothing is made early.
  *
  * `waiting`: frames in lists, and one that `issue` offers. `ends` comes for each frame of `issue`, in order. `turn`
  * and `old`: `BufferTurn`. Clocks: a link 6; a frame made early 5; an issue 3. Reset: no frame;
  * links are taken `size` clocks later.
  */
class WriteBuffer(p: OtxParam) extends Component {
  setDefinitionName("otx_write_buffer")

  val link = slave port Stream(BufferLink())
  val gather = slave port Stream(BufferGather())
  val background, fault = in port Bool()
  val issue = master port Stream(IssueFrame())
  val ends = slave port Flow(IssueEnd())
  val absorbed = master port Stream(UInt(16 bits))
  val view = master port BufferView()
  import view.{ended, ticket}
  val turn = in port Bool() // of frames that are linked now
  val plain = out port Bool() // a plain frame is not issued yet
  val old = out port Bool() // a plain frame of the other turn is not issued yet

  private val Ordered = 0
  private val Free = 1
  private val Tx = 2
  private val Early = 3
  private val frames = p.writeFrames
  private val bits = log2Up(frames)
  private val keys = OtxParam.txids + WriteBuffer.streams(p)
  private val size = frames + keys // of a memory of links: behind the frames the ends of the lists
  private val placeBits = log2Up(size)
  private def place(frame: UInt): UInt = frame.resize(placeBits)
  private def endOf(list: Int): UInt = U(frames + list, placeBits bits)
  private def isEnd(at: UInt): Bool = at >= frames
  private def keyOf(what: DirtyFrame): UInt = U(frames, placeBits bits) + what.hasTx.mux(
    what.txid.resize(placeBits),
    U(OtxParam.txids, placeBits bits) + what.stream.resize(log2Up(WriteBuffer.streams(p))).resize(placeBits)
  )

  // What a frame is and its neighbours: in its list (a), and in that of its key (b). One read, of the frame `at`.
  private val at = Reg(UInt(placeBits bits))
  private val whats = Mem(DirtyFrame(), frames)
  private val lists = Mem(UInt(3 bits), frames) // in which one it is: 1 more than its number; 0 in none
  private val nextA, prevA, nextB, prevB = Mem(UInt(placeBits bits), size)
  private val what = whats.readSync(at.resize(bits))
  private val list = lists.readSync(at.resize(bits))
  private val (na, pa, nb, pb) = (nextA.readSync(at), prevA.readSync(at), nextB.readSync(at), prevB.readSync(at))

  private val gone = list === 0 || list === Early + 1 // `at` is issued, or will be before all others

  private case class Put(memory: Mem[UInt]) {
    val where, value = UInt(placeBits bits)
    val valid = Bool()
    where := at
    value := at
    valid := False
    memory.write(where, value, valid)
    def apply(where: UInt, value: UInt): Unit = {
      this.where := where
      this.value := value
      valid := True
    }
  }
  private val (putNa, putPa, putNb, putPb) = (Put(nextA), Put(prevA), Put(nextB), Put(prevB))
  private val putList = Flow(UInt(3 bits))
  private val putListAt = UInt(bits bits)
  putList.valid := False
  putList.payload := 0
  putListAt := at.resize(bits)
  lists.write(putListAt, putList.payload, putList.valid)
  private def inList(number: UInt): Unit = {
    putList.valid := True
    putList.payload := number.resize(3)
  }

  // The lists' ends; an end's number stands for `none`
  private val heads = Vec((0 to Early).map(l => Reg(UInt(placeBits bits)) init frames + l))
  private val tails = Vec((0 to Early).map(l => Reg(UInt(placeBits bits)) init frames + l))
  private def some(l: Int): Bool = !isEnd(heads(l))
  // what is handed out next
  private val handed = Reg(Flow(IssueFrame()))
  handed.valid.init(False)
  issue.valid := handed.valid
  issue.payload := handed.payload
  when(issue.fire)(handed.valid := False)
  private val dirtyCount = Reg(UInt(16 bits)) init 0
  view.waiting := dirtyCount + handed.valid.asUInt
  // plain frames that are linked and not issued, by turn
  private val turns = Vec.fill(2)(Reg(UInt(BufferTicket.bits bits)) init 0)
  plain := turns.map(_ =/= 0).orR
  old := turns((!turn).asUInt) =/= 0

  // Tickets
  private val earlyPut, earlyEnded, taken, allEnded = Reg(UInt(BufferTicket.bits bits)) init 0
  private val overTicket = Reg(BufferTicket())
  overTicket.early.init(0)
  overTicket.all.init(0)
  ticket.early := earlyPut
  ticket.all := taken
  ended.early := earlyEnded
  ended.all := allEnded
  view.over := overTicket

  private object State extends SpinalEnum(binaryOneHot) {
    // format: off
    val Sweep,   // the ends of the lists are set up
      Idle,
      Fetch,     // the read of `at`
      Replaced,  // what the link has replaced is here
      Absorb, AbsorbEnd,
      Key,       // nothing: asks for the end of the key's list
      Put, PutEnd, // the link goes into its lists; the end of its key's list is here
      Linked,    // what follows from it
      Below,     // the first frame of a group that is below uncommitted versions is here
      Choose,    // gather: what is next
      One,       // its frame is here
      OfTx,      // the end of a transaction's list is here
      WalkOn,    // the frame of a walk before the next one is here
      Walk,      // a frame of a walk is here
      WalkAgain, // it was made early
      Done,      // the gather
      Pull,      // the oldest order-preserving frame, if it is of an earlier epoch
      Pulled,    // it is here
      Next,      // the next frame of what is made early
      Move, Moved, MovedEnd, // it is here, and goes into the early list
      Take =     // the head of a list is here
      newElement()
    // format: on
  }
  private val state = RegInit(State.Sweep)
  private val then = Reg(State())
  private def fetch(frame: UInt, next: State.E): Unit = {
    at := frame
    then := next
    state := State.Fetch
  }

  private val sweep = Reg(UInt(placeBits + 1 bits)) init 0

  // A link in hand
  private val frame = place(link.frame)
  private val linkList = link.what.hasTx.mux(U(Tx, 2 bits), link.what.ordered.mux(U(Ordered, 2 bits), U(Free, 2 bits)))
  private val openGroup = RegInit(False) // its first frame is in a list, its last one not yet
  private val openFirst = Reg(UInt(placeBits bits))
  private val below = Reg(Bool()) // a frame of the group stands below uncommitted versions
  private val movedBelow = RegInit(False) // and the group is early now
  private val newWhat = DirtyFrame()
  newWhat := link.what
  newWhat.turn.removeAssignments() := turn
  private val put = Flow(DirtyFrame())
  put.valid := False
  put.payload := newWhat
  whats.write(frame.resize(bits), put.payload, put.valid)

  // What is made early: `left` frames from `group` on, behind those that are pulled
  private val back = Reg(State()) // where to go on then
  private val group = Reg(UInt(placeBits bits))
  private val left = Reg(UInt(6 bits))
  private val pulls = Reg(Bool())
  private val until = Reg(UInt(32 bits)) // order-preserving frames of epochs before this one come first
  private val pulling = Reg(Bool()) // the frame that moves is one of these
  private val pulled = Reg(Bool()) // there was one
  private def choose(first: UInt, n: UInt, next: State.E, pull: Bool, epoch: UInt): Unit = {
    group := first
    left := n.resized
    back := next
    pulls := pull
    until := epoch
  }
  private def makeEarly(
      first: UInt,
      n: UInt,
      next: State.E,
      pull: Bool = False,
      epoch: UInt = what.epoch
  ): Unit = {
    choose(first, n, next, pull, epoch)
    state := State.Pull
  }

  /** The group of `at`, whose data is here, if `really`; that does not decide about what is noted, for speed. */
  private def groupEarly(next: State.E, really: Bool): Unit = {
    choose(
      what.hasTx.mux(at, place(what.first)),
      what.hasTx.mux(U(1, 6 bits), what.n),
      next,
      !what.hasTx && what.ordered,
      what.epoch
    )
    when(really)(state := State.Pull)
  }

  /** Takes `at`, whose data is here, out of its lists. */
  private def unlink(): Unit = {
    when(!isEnd(pa))(putNa(pa, na))
    when(!isEnd(na))(putPa(na, pa))
    for (l <- 0 to Early) when(list === l + 1) {
      when(isEnd(pa))(heads(l) := na)
      when(isEnd(na))(tails(l) := pa)
    }
    when(list =/= Early + 1) {
      putNb(pb, nb)
      putPb(nb, pb)
    }
  }

  // Issue: a list's head; of a group all that follow
  private val rest = Reg(UInt(6 bits)) init 0 // of a group that is being issued
  private val from = Reg(UInt(2 bits)) // its list
  private val oldest = Reg(UInt(2 bits)) // of the lists but early: the one that is next in the background, in turn
  private val source = UInt(2 bits)
  source := oldest
  when(some(Early))(source := Early)
  when(rest =/= 0)(source := from)
  private val listSome = Vec((0 to Early).map(some))
  private val mayTake = !fault && !handed.valid && listSome(source) && !(openGroup && heads(source) === openFirst) &&
    (rest =/= 0 || source === Early || background)
  private val someLater = listSome.take(Early).reduce(_ || _)
  when(someLater && !listSome(oldest) && state === State.Idle)(oldest := Mux(oldest === Tx, U(0), oldest + 1))

  // In the middle of a group nothing is made early
  private val belowNow = below && openGroup
  private val mayAsk = link.valid && !link.replaced.isBuf && !link.over && !belowNow || rest === 0 || fault
  private val asks = (link.valid || gather.valid) && mayAsk
  private val taking = RegInit(False) // the issue had the last turn
  link.ready := False
  gather.ready := False
  absorbed.valid := False
  absorbed.payload := at.resized

  private val isPlain = !link.what.hasTx
  private val absorbs = isPlain.mux(
    !what.hasTx && what.n === 1 && link.what.n === 1 && what.stream === link.what.stream &&
      what.ordered === link.what.ordered && (!what.ordered || what.epoch === link.what.epoch),
    what.hasTx && link.owned
  )

  // A walk along a list: what matches becomes early
  private val isStream = gather.kind === GatherKind.Stream
  private val walkKey = U(frames + OtxParam.txids, placeBits bits) +
    gather.key.resize(log2Up(WriteBuffer.streams(p))).resize(placeBits)
  private val walkList = Reg(UInt(2 bits)) // RANGE: which list
  private val before = Reg(UInt(placeBits bits)) // the frame before the one that is looked at, or an end
  private val inMiddle = Reg(Bool()) // of a group: what was before is early now too
  private val matches = isStream.mux(
    what.stream === gather.key.resize(16),
    what.lpn >= gather.key && what.lpn - gather.key < gather.blocks.resize(32)
  )
  private def walkFrom(frame: UInt): Unit = {
    before := frame
    fetch(frame, State.WalkOn)
  }
  private val walkStart = isStream.mux(walkKey, U(frames, placeBits bits) + walkList.resize(placeBits))

  private val adds, counts = False // a frame is in a list now; it is a plain one that is not counted yet
  private val takes = state === State.Take
  dirtyCount := dirtyCount + adds.asUInt - takes.asUInt
  for (t <- 0 to 1)
    turns(t) := turns(t) + (counts && turn === Bool(t == 1)).asUInt -
      (ends.valid && ends.plain && ends.turn === Bool(t == 1)).asUInt
  when(ends.valid) {
    allEnded := allEnded + 1
    when(ends.early)(earlyEnded := earlyEnded + 1)
  }
  when(BufferTicket.reached(overTicket.early, earlyEnded))(overTicket.early := earlyEnded) // it does not grow old
  when(BufferTicket.reached(overTicket.all, allEnded))(overTicket.all := allEnded)

  switch(state) {
    is(State.Sweep) {
      sweep := sweep + 1
      for (put <- Seq(putNa, putPa, putNb, putPb)) put(sweep.resized, sweep.resized)
      putList.valid := sweep < frames
      putListAt := sweep.resized
      when(sweep === size - 1)(state := State.Idle)
    }
    is(State.Idle) {
      pulled := False
      pulling := False
      when(mayTake && !(asks && taking)) {
        taking := True
        from := source
        fetch(heads(source), State.Take)
      }.elsewhen(asks) {
        taking := False
        when(link.valid) {
          when(!openGroup)(below := False)
          when(link.replaced.isBuf)(fetch(place(link.replaced.value), State.Replaced)) otherwise (state := State.Key)
        } otherwise {
          walkList := Ordered
          state := State.Choose
        }
      }
    }
    is(State.Fetch)(state := then)

    // a link
    is(State.Replaced) {
      when(gone || fault && !absorbs)(state := State.Key).elsewhen(absorbs)(state := State.Absorb)
      groupEarly(State.Key, !gone && !fault && !absorbs)
    }
    is(State.Absorb) {
      putNa(pa, frame)
      putPa(na, frame)
      putNb(pb, frame)
      putPb(nb, frame)
      for (l <- 0 until Early) when(list === l + 1) {
        when(heads(l) === at)(heads(l) := frame)
        when(tails(l) === at)(tails(l) := frame)
      }
      put.valid := True
      put.payload.turn := what.turn // it stands for that one
      putListAt := frame.resize(bits)
      inList(list)
      state := State.AbsorbEnd
    }
    is(State.AbsorbEnd) {
      putNa(frame, na)
      putPa(frame, pa)
      putNb(frame, nb)
      putPb(frame, pb)
      inList(U(0))
      absorbed.valid := True
      when(link.over)(below := True)
      when(absorbed.ready)(state := State.Linked)
    }
    is(State.Key)(fetch(keyOf(link.what), State.Put))
    is(State.Put) {
      put.valid := True
      putListAt := frame.resize(bits)
      inList(linkList.resize(3) + 1)
      putPa(frame, tails(linkList))
      when(isEnd(tails(linkList)))(heads(linkList) := frame) otherwise putNa(tails(linkList), frame)
      tails(linkList) := frame
      putNb(pb, frame)
      putPb(frame, pb)
      adds := True
      counts := isPlain
      state := State.PutEnd
    }
    is(State.PutEnd) {
      putNa(frame, U(frames, placeBits bits) + linkList.resize(placeBits))
      putNb(frame, at)
      putPb(at, frame)
      openGroup := isPlain && link.what.i + 1 =/= link.what.n
      openFirst := place(link.what.first)
      when(link.over)(below := True)
      state := State.Linked
    }
    is(State.Linked) {
      when(below && !openGroup) {
        below := False
        movedBelow := True
        fetch(place(link.what.first), State.Below)
      } otherwise {
        link.ready := True
        state := State.Idle
        movedBelow := False
        when(movedBelow || link.what.hasTx && link.replaced.isBuf && !link.owned)(overTicket := ticket)
      }
    }
    is(State.Below) {
      when(gone || fault)(state := State.Linked)
      groupEarly(State.Linked, !gone && !fault)
    }

    // a gather
    is(State.Choose) {
      switch(gather.kind) {
        is(GatherKind.One)(fetch(place(gather.key), State.One))
        is(GatherKind.Plain, GatherKind.All) {
          when(some(Ordered))(makeEarly(heads(Ordered), U(1), State.Choose))
            .elsewhen(some(Free))(makeEarly(heads(Free), U(1), State.Choose))
            .elsewhen(some(Tx) && gather.kind === GatherKind.All)(makeEarly(heads(Tx), U(1), State.Choose))
            .otherwise(state := State.Done)
        }
        is(GatherKind.Tx)(fetch(U(frames, placeBits bits) + gather.key(4 downto 0).resize(placeBits), State.OfTx))
        is(GatherKind.Behind)(makeEarly(endOf(Early), U(0), State.Done, True, gather.epoch))
        is(GatherKind.Txs)(when(some(Tx))(makeEarly(heads(Tx), U(1), State.Choose)) otherwise (state := State.Done))
        is(GatherKind.Stream, GatherKind.Range)(walkFrom(walkStart))
      }
      when(fault)(state := State.Done)
    }
    is(State.One) {
      when(gone)(state := State.Done)
      groupEarly(State.Done, !gone)
    }
    is(State.OfTx) {
      when(!isEnd(nb))(makeEarly(nb, U(1), State.Choose))
        .otherwise(makeEarly(nb, U(0), State.Done, gather.behind, gather.epoch))
    }
    is(State.WalkOn) {
      val next = isStream.mux(nb, isEnd(before).mux(heads(walkList), na))
      when(!isEnd(next))(fetch(next, State.Walk))
        .elsewhen(!isStream && walkList === Ordered) {
          walkList := Free
          state := State.Choose
        }
        .otherwise(state := State.Done)
    }
    is(State.Walk) {
      inMiddle := what.i =/= 0
      groupEarly(State.WalkAgain, matches)
      when(!matches)(walkFrom(at))
    }
    is(State.WalkAgain) {
      pulled := False
      walkFrom((pulled || inMiddle).mux(walkStart, before))
    }
    is(State.Done) {
      gather.ready := True
      state := State.Idle
    }

    // into the early list
    is(State.Pull) {
      pulling := True
      when(pulls && some(Ordered) && heads(Ordered) =/= group)(fetch(heads(Ordered), State.Pulled))
        .otherwise(state := State.Next)
    }
    is(State.Pulled) {
      state := State.Move
      when(!(what.epoch - until).msb)(state := State.Next) // modulo 2^32: they are close
    }
    is(State.Next) {
      pulling := False
      when(left === 0)(state := back) otherwise fetch(group, State.Move)
    }
    is(State.Move) {
      when(!pulling)(group := na)
      unlink()
      earlyPut := earlyPut + 1
      state := State.Moved
    }
    is(State.Moved) {
      when(isEnd(tails(Early)))(heads(Early) := at) otherwise putNa(tails(Early), at)
      putPa(at, tails(Early))
      tails(Early) := at
      inList(U(Early + 1))
      state := State.MovedEnd
    }
    is(State.MovedEnd) {
      putNa(at, endOf(Early))
      pulled := pulled || pulling
      left := left - (!pulling).asUInt
      state := pulling.mux(State.Pull(), State.Next())
    }

    is(State.Take) {
      handed.valid := True
      handed.frame := at.resized
      handed.what := what
      handed.early := from === Early
      unlink()
      inList(U(0))
      taken := taken + 1
      when(from =/= Early && rest === 0)(oldest := Mux(oldest === Tx, U(0), oldest + 1))
      rest := (rest =/= 0).mux(rest - 1, what.hasTx.mux(U(0, 6 bits), what.n - 1))
      state := State.Idle
    }
  }
}

object WriteBuffer {

  /** Lists of streams. */
  def streams(p: OtxParam): Int = 1 << (log2Up(p.writeFrames) min 10)
}
