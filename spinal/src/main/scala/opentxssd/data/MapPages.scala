// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import opentxssd._
import opentxssd.flash.PpnFields
import spinal.core._
import spinal.lib._
import spinal.lib.bus.amba4.axi._

/** What firmware asks for: `MapOpcode`. Entries `first` to `end` - 1 of a log page: APPLY. */
case class MapTask() extends Bundle {
  val op = UInt(3 bits)
  val frame = UInt(16 bits)
  val page = UInt(18 bits) // of the map
  val first, end = UInt(7 bits)
}

/** Of the last task: `bad` and `any` as `MapPages` says them, `stop` the entry at which APPLY has stopped. */
case class MapState() extends Bundle {
  val busy, bad, any = Bool()
  val stop = UInt(7 bits)
}

/** Moves pages of the map between table memory and frames for a mount, and counts the pages that they name; applies
  * entries of the log.
  *
  * Contract. One task at a time, `begin` only while `busy` is 0, and only before the drive is enabled: it takes the
  * ports of table and frame memory for itself. A map page is 1,024 words; those past the last LPN are NONE, whatever is
  * there.
  *
  *   - FILL: all words of `page`, and of as many pages behind it as `frame` says, become NONE.
  *   - LOAD: `page` becomes what is in `frame`, which may hold NONE and NAND words of blocks that there are; another
  *     word makes the task `bad`, and is not counted.
  *   - STORE: `frame` becomes `page`. A word that the log has set (APPLY, or firmware) becomes a plain one, in both.
  *   - APPLY: of a log page in `frame`, entries `first` to `end` - 1, of which each is a MAP entry without a
  *     transaction: its LPN gets a word of the log's kind, BUF with the PPN. Stops at the first other one, or one that
  *     names what this drive has not; `stop` is its number, or `end`.
  *
  * Each NAND word that is loaded, stored or applied is a beat of `load`, before `busy` falls. The pages of the map in
  * which APPLY writes come at `applied`. `any`: a word of
  * the page is not NONE. `bad` also when a memory has answered with an error: neither page nor counts are then to be
  * trusted. What a task has written stands in memory when `busy` falls.
  *
  * Clocks: 257 for each page of FILL; 9 for each four words that are all counted when `load` takes a beat in every
  * second clock, 6 when none is; APPLY some 7 for each entry. Reset forgets the task.
  */
class MapPages(p: OtxParam) extends Component {
  setDefinitionName("otx_map_pages")

  val begin = slave port Flow(MapTask())
  val state = out port MapState()
  val active = out port Bool() // the memories are its own
  val load = master port Stream(UInt(30 bits))
  val applied = master port Flow(UInt(18 bits)) // a page of the map in which APPLY writes
  val frame = master port Axi4(p.axi)
  val table = master port Axi4(p.remap.tableAxi)

  private val task = RegNextWhen(begin.payload, begin.valid)
  private val busy = RegInit(False)
  private val found = Stream(UInt(30 bits)) // a page, to be counted
  private val bad, any = Reg(Bool())
  private def is(op: Int): Bool = RegNextWhen(begin.op === op, begin.valid)
  private val fills = is(MapOpcode.FILL)
  private val loads = is(MapOpcode.LOAD)
  private val stores = is(MapOpcode.STORE)
  private val applies = is(MapOpcode.APPLY)
  private val fromFrame = loads || applies

  // Beats of the frame, on their way in or out
  private val beats = StreamFifo(Bits(64 bits), 64)
  private val more = Reg(UInt(16 bits)) // pages that FILL goes on with
  private val burst = Reg(UInt(5 bits)) // of 32 beats, asked for or begun; 16: all
  private val room = Reg(UInt(7 bits)) // for beats that are not asked for yet
  private val frameAddress = U(p.frameBase, 32 bits) + (task.frame @@ burst(3 downto 0) @@ U(0, 8 bits)).resized
  private def burstOf[T <: Axi4Ax](ax: T): Unit = {
    ax.addr := frameAddress
    ax.id := 0
    ax.len := 31
    ax.size := 3
    ax.burst := 1
  }
  frame.ar.valid := busy && fromFrame && !burst.msb && room >= 32
  burstOf(frame.ar.payload)
  private val toFrame = Stream(Bits(64 bits))
  beats.io.push.valid := fromFrame.mux(frame.r.valid, toFrame.valid)
  beats.io.push.payload := fromFrame.mux(frame.r.data, toFrame.payload)
  frame.r.ready := fromFrame && beats.io.push.ready
  toFrame.ready := !fromFrame && beats.io.push.ready

  private val inBurst = RegInit(False)
  private val beat = Reg(UInt(5 bits))
  private val answers = Reg(UInt(5 bits)) // of bursts; 16: all
  frame.aw.valid := busy && stores && !inBurst && beats.io.occupancy >= 32
  burstOf(frame.aw.payload)
  frame.w.valid := inBurst && beats.io.pop.valid
  frame.w.data := beats.io.pop.payload
  frame.w.strb.setAll()
  frame.w.last := beat === 31
  frame.b.ready := True
  when(frame.aw.fire)(inBurst := True)
  when(frame.w.fire) {
    beat := beat + 1
    when(frame.w.last)(inBurst := False)
  }
  when(frame.ar.fire || frame.aw.fire)(burst := burst + 1)
  when(frame.b.fire)(answers := answers + 1)

  // Words of the table, asked for ahead
  private val asked = Reg(UInt(9 bits)) // groups of four words; 256: all
  private val ahead = Reg(UInt(4 bits)) // asked for and not here
  table.ar.valid := busy && stores && !asked.msb && !ahead.msb
  table.ar.addr := U(p.tableBase, 32 bits) + (task.page @@ asked(7 downto 0) @@ U(0, 4 bits)).resized
  when(table.ar.fire)(asked := asked + 1)
  ahead := ahead + table.ar.fire.asUInt - table.r.fire.asUInt

  // Four words, of which the lowest is looked at; each goes to the top behind it
  private val group = Reg(Bits(128 bits))
  private val here = RegInit(False)
  private val half = Reg(Bool()) // of the frame's two beats the lower one is here
  private val turn = Reg(UInt(3 bits)) // words that were looked at
  private val number = Reg(UInt(8 bits)) // of the group
  private val dirty = Reg(Bool())
  private val leaves = Bool() // the group goes to the output
  private val free = !here || leaves
  when(leaves)(here := False)
  table.r.ready := free
  when(table.r.fire) {
    group := table.r.data
    here := True
  }

  private val word = Word()
  word.assignFromBits(group(31 downto 0))
  private val inside = (task.page @@ number @@ turn(1 downto 0)) < p.lbas
  private def exists(ppn: UInt): Bool = {
    val at = PpnFields(p, ppn)
    val beyond = if (p.ppnBits < ppn.getWidth) ppn >> p.ppnBits =/= 0 else False
    at.block.resize(p.blockBits + 1) < p.blocksPerWay && at.way.resize(p.wayBits + 1) < p.ways &&
    at.channel.resize(p.channelBits + 1) < p.channels && !beyond
  }
  private val plain = Word()
  plain := word
  when(stores && word.isBuf)(plain := word.value.andR.mux(Word.none, Word(WordKind.NAND, word.value)))
  when(!inside)(plain := Word.none)
  private val named = plain.isNand && exists(plain.value)
  private val looks = here && !turn.msb
  private val looked = looks && (!named || found.ready)
  when(looked) {
    group := plain.asBits ## group(127 downto 32)
    turn := turn + 1
    any := any || plain.asBits =/= 0
    dirty := dirty || plain.asBits =/= word.asBits
    bad := bad || loads && !named && plain.asBits =/= 0
  }

  // Output: a write to the table, two beats to the frame
  private val data = Reg(Bits(128 bits))
  private val address = Reg(UInt(32 bits))
  private val strobe = Reg(Bits(16 bits))
  private val aw, w = RegInit(False) // are to be given
  private val pushes = Reg(UInt(2 bits)) init 0 // beats to give
  private val written = Reg(UInt(6 bits)) // writes without an answer
  private val outputFree = !aw && !w && pushes === 0
  private val groups = Reg(UInt(9 bits)) // that have left; 256: all
  leaves := here && turn.msb && outputFree
  // what is to be given now is no hindrance: a group in each clock
  private val given = (!aw || table.aw.fire) && (!w || table.w.fire)
  private val filling = busy && fills && !groups.msb && given
  when(table.aw.fire)(aw := False)
  when(table.w.fire)(w := False)
  when(leaves || filling) {
    data := filling.mux(B(0, 128 bits), group)
    address := U(p.tableBase, 32 bits) + (task.page @@ groups(7 downto 0) @@ U(0, 4 bits)).resized
    strobe.setAll()
    aw := fills || loads || stores && dirty
    w := fills || loads || stores && dirty
    pushes := stores.mux(U(2), U(0))
    groups := groups + 1
    number := number + 1
    turn := 0
    dirty := False
  }
  toFrame.valid := pushes =/= 0
  toFrame.payload := (pushes === 2).mux(data(63 downto 0), data(127 downto 64))
  when(toFrame.fire)(pushes := pushes - 1)
  table.aw.valid := aw && !written.msb
  table.aw.addr := address
  table.w.valid := w
  table.w.data := data
  table.w.strb := strobe
  table.w.last := True
  table.b.ready := True
  for (ax <- Seq[Axi4Ax](table.ar.payload, table.aw.payload)) {
    ax.id := 0
    ax.len := 0
    ax.size := 4
    ax.burst := 1
  }
  written := written + table.aw.fire.asUInt - table.b.fire.asUInt

  // Entries of the log: of the eight words of each the first two beats
  private val at = Reg(UInt(10 bits)) // beats of the page that have come; 512: all
  private val header = Number.BEATS / 4 - Number.LOG_ENTRIES // of the page, in entries
  private val entry = at(8 downto 2) - header
  private val lpn = Reg(UInt(32 bits))
  private val mapped = Reg(Bool()) // the first beat is that of a MAP entry without a transaction
  private val stop = Reg(UInt(7 bits))
  private val stopped = Reg(Bool())
  private val location = Reg(UInt(30 bits))
  private val counting, placing = RegInit(False) // what is still to be done for an entry
  private val takes = applies && busy && !counting && !placing && !at(9)
  private val ours = at(8 downto 2) >= header && entry >= task.first && entry < task.end && !stopped
  private val low = beats.io.pop.payload(31 downto 0)
  private val to = Word()
  to.assignFromBits(low)
  when(takes && beats.io.pop.valid) {
    at := at + 1
    when(at(1 downto 0) === 0) {
      lpn := beats.io.pop.payload(63 downto 32).asUInt
      mapped := low(7 downto 0) === LogKind.MAP && (low(15 downto 8) & LogFlag.IN_TX) === 0
    }
    when(at(1 downto 0) === 1 && ours) {
      location := to.value
      when(mapped && lpn < p.lbas && to.isNand && exists(to.value)) {
        counting := True
        placing := True
      } otherwise {
        stopped := True
        stop := entry
      }
    }
  }
  when(counting && found.ready)(counting := False)
  applied.valid := placing && outputFree
  applied.payload := (lpn >> 10).resized
  when(placing && outputFree) {
    placing := False
    data := Cat(Seq.fill(4)(Word(WordKind.BUF, location).asBits))
    address := U(p.tableBase, 32 bits) + (lpn(29 downto 2) @@ U(0, 4 bits))
    strobe := B(15, 16 bits) |<< (lpn(1 downto 0) @@ U(0, 2 bits))
    aw := True
    w := True
  }
  found.valid := applies.mux(counting, looks && named)
  found.payload := applies.mux(location, plain.value)
  load << found.m2sPipe().s2mPipe() // neither side waits for what the other decides in the same clock

  // Beats of the frame that come
  when(loads && free && beats.io.pop.valid) {
    half := !half
    when(half) {
      group(127 downto 64) := beats.io.pop.payload
      here := True
    } otherwise (group(63 downto 0) := beats.io.pop.payload)
  }
  beats.io.pop.ready := (loads && free) || takes || stores && inBurst && frame.w.ready
  room := room - frame.ar.fire.mux(U(32, 7 bits), U(0, 7 bits)) + (fromFrame && beats.io.pop.fire).asUInt

  // Errors of the memories; the end
  when(
    frame.r.fire && frame.r.resp =/= 0 || table.r.fire && table.r.resp =/= 0 ||
      frame.b.fire && frame.b.resp =/= 0 || table.b.fire && table.b.resp =/= 0
  )(bad := True)
  private val through =
    applies.mux(at(9) && !counting && !placing, groups.msb && (!stores || answers.msb)) && outputFree && written === 0
  private val goesOn = fills && more =/= 0
  when(busy && fills && groups.msb && more =/= 0) {
    task.page := task.page + 1
    more := more - 1
    groups := 0
  }
  when(busy && through && !goesOn)(busy := False)
  when(begin.valid) {
    busy := True
    bad := False
    any := False
    more := begin.frame
    burst := 0
    room := 64
    beat := 0
    answers := 0
    asked := 0
    ahead := 0
    half := False
    turn := 0
    number := 0
    dirty := False
    groups := 0
    written := 0
    at := 0
    stop := begin.end
    stopped := False
  }
  state.busy := busy || RegNext(load.valid)
  active := busy
  state.bad := bad
  state.any := any
  state.stop := stop
}
