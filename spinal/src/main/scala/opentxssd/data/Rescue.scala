// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import opentxssd._
import opentxssd.flash.{FlashDone, FlashOp}
import opentxssd.log.LogAppend
import opentxssd.remap.RemapUser
import spinal.core._
import spinal.lib._

/** What became of a write frame whose program had failed. */
case class Rescued() extends Bundle {
  val page = FrameDescriptor()
  val ok = Bool() // its data is on NAND and the log knows
  val keep = Bool() // the map may still name the frame
}

/** Moves pages: those whose program failed, out of their write frame, and those that firmware copied out of a failing
  * block. Decision 011.
  *
  * Contract. `failed`: the block goes to `badBlock`, then the frame is programmed into another page (`alloc`, `write`,
  * `writeDone`), as often as needed; then RELOCATE is appended, then the log must be durable past it (`rescueTo`,
  * `durable`); then SWAP of BUF(frame) to the page, and `rescued`. So the entry of the write counts as complete only
  * then: rule failed-done. `move`: RELOCATE is appended, then SWAP of the old page to the new one; nobody waits for it.
  * RELOCATE comes after its page is programmed and is complete when it is appended. The page's sequence is the index of
  * the entry of the write.
  *
  * One page at a time, failed ones first, also those that wait in front of `failed` (`DataPath`): rule one-move. The
  * SWAP misses when the block was overwritten meanwhile.
  * `drops` for one clock: a page fell out of use by it, the new one, or the old one of a move that hit, which the remap
  * engine does not release. After `fault`, and when 15 other pages have failed for one write too, `rescued` comes
  * without `ok`.
  * `dead`: pages of the allocator that nobody will name: one that failed, one whose SWAP missed, and the old page of a
  * move that hit. `live`: the copy of such a move. Both must be taken unconditionally. `wantsPage`: waits for a page.
  * `busy`: a page is in hand. Waits for: firmware (pages; it takes events unconditionally), log, flash, remap engine;
  * none of these waits for it but by the watermark, which keeps entries free for it.
  *
  * Without a second failure: 4 clocks from `failed` to `alloc`, 2 from a done beat to `relocate`. Reset forgets the
  * page.
  */
class Rescue extends Component {
  setDefinitionName("otx_rescue")

  val failed = slave port Stream(FrameDescriptor())
  val move = slave port Stream(PageMove())
  val badBlock = master port Stream(UInt(30 bits)) // any page of it
  val alloc = slave port Stream(UInt(30 bits))
  val write = master port Stream(FlashOp())
  val writeDone = slave port Stream(FlashDone())
  val relocate = master port Stream(LogAppend())
  val head, durable = in port UInt(48 bits)
  val rescueTo = out port UInt(48 bits)
  val remap = Ports.bare(master port RemapUser())
  import remap.{op, rsp}
  val rescued = master port Stream(Rescued())
  val fault = in port Bool()
  val wantsPage, drops, busy = out port Bool()
  val moving = out port Bool() // a page that firmware has copied is in hand, or its place has not been told yet
  val dead = master port Stream(UInt(30 bits)) // a page that is in use no more
  val live = master port Stream(UInt(30 bits)) // a copy that is in use from now on

  private object State extends SpinalEnum {
    // format: off
    val Idle,      // a page to move
      Report,      // the event to be taken
      Page,        // a page of the allocator
      Write,       // the flash scheduler
      Written,     // its answer
      Append,      // the log to take RELOCATE
      Durable,     // the log
      Swap,        // the engine to take SWAP
      Swapped,     // its answer
      End =        // the write frame pool
      newElement()
    // format: on
  }
  import State._
  private val state = RegInit(Idle)
  private val page = Reg(FrameDescriptor()) // its ppn is the page that failed, or the old one
  private val isMove = Reg(Bool())
  private val to = Reg(UInt(30 bits))
  private val bad = Reg(UInt(30 bits)) // page whose program failed last
  private val sequence = Reg(UInt(48 bits))
  private val tries = Reg(UInt(4 bits))
  private val target = Reg(UInt(48 bits)) init 0
  private val ok, keep = Reg(Bool())

  private val deads, lives = Stream(UInt(30 bits))

  failed.ready := state === Idle
  move.ready := state === Idle && !failed.valid
  badBlock.valid := state === Report && deads.ready
  badBlock.payload := bad
  wantsPage := state === Page
  alloc.ready := state === Page
  busy := state =/= Idle
  moving := busy && isMove || live.valid

  write.valid := state === Write
  write.op := NandOp.PROGRAM
  write.ppn := to
  write.frame := page.frame
  write.kind := PageKind.DATA
  write.lpn := page.lpn
  write.sequence := sequence
  write.cookie := page.frame
  write.priority := Priority.MEDIUM
  writeDone.ready := state === Written

  relocate.valid := state === Append
  relocate.kind := LogKind.RELOCATE
  relocate.ordered := False
  relocate.inTx := False
  relocate.n := 1
  relocate.i := 0
  relocate.room := 1
  relocate.last := True
  relocate.lpn := page.lpn
  relocate.location := Word(WordKind.NAND, to)
  relocate.serial := 0
  relocate.sequence := sequence
  relocate.epoch := 0
  relocate.arg := page.ppn.resized
  rescueTo := target

  op.valid := state === Swap
  op.op := RemapOpcode.SWAP
  op.lpn := page.lpn
  op.hasTx := False
  op.txid := 0
  op.location := Mux(isMove, Word(WordKind.NAND, page.ppn), Word(WordKind.BUF, page.frame))
  op.newLocation := Word(WordKind.NAND, to)
  op.blocks := 0
  op.tag := 0
  op.last := True
  rsp.ready := state === Swapped && deads.ready && lives.ready
  drops := rsp.fire && !rsp.error && (isMove || !rsp.hit)
  private val failedNow = badBlock.fire
  deads.valid := failedNow || rsp.fire && !rsp.error && rsp.hit === isMove
  deads.payload := failedNow.mux(bad, isMove.mux(page.ppn, to))
  dead << deads.queue(4)
  lives.valid := rsp.fire && (rsp.hit || rsp.error) && isMove // after an error the map may name it
  lives.payload := to
  live << lives.queue(2)

  rescued.valid := state === End
  rescued.page := page
  rescued.ok := ok
  rescued.keep := keep

  switch(state) {
    is(Idle) {
      isMove := !failed.valid
      ok := True
      keep := False
      tries := 0
      when(failed.valid) {
        page := failed.payload
        bad := failed.ppn
        sequence := failed.index
        state := Report
      }.elsewhen(move.valid) {
        page.lpn := move.lpn
        page.ppn := move.source
        to := move.target
        sequence := move.sequence
        state := Append
      }
    }
    is(Report) {
      when(badBlock.fire) {
        tries := tries + 1
        state := Page
        when(tries === 15 || fault) {
          ok := False
          state := End
        }
      }
    }
    is(Page) {
      to := alloc.payload
      when(alloc.valid)(state := Write)
        .elsewhen(fault) {
          ok := False
          state := End
        }
    }
    is(Write)(when(write.ready)(state := Written))
    is(Written) {
      bad := to
      when(writeDone.valid)(state := Mux(writeDone.status === PageStatus.OK, Append(), Report()))
    }
    is(Append) {
      when(relocate.ready) {
        when(!isMove)(target := head + 1)
        state := Mux(isMove, Swap(), Durable())
      }
    }
    is(Durable) {
      when(durable >= target)(state := Swap)
        .elsewhen(fault) {
          ok := False
          state := End
        }
    }
    is(Swap)(when(op.ready)(state := Swapped))
    is(Swapped) {
      keep := rsp.error
      when(rsp.fire)(state := Mux(isMove, Idle(), End()))
    }
    is(End)(when(rescued.ready)(state := Idle))
  }
}
