// SPDX-License-Identifier: Apache-2.0
package opentxssd.remap

import opentxssd._
import spinal.core._
import spinal.lib._

/** One step of one job, without registers: what a read or a write response means to its slot, and what comes next.
  *
  * A job goes down the version chain of its LPN: head (the map word), entries, base (the first word that is not VER).
  * At each place it does what its kind asks for, and each step ends in exactly one of `read` (the entry that `at.word`
  * names), `write` or `finish`. docs/interfaces.md, "Remap engine", says what the jobs are; a chain costs one read for
  * the map word and one per entry.
  *
  * Order of writes: an entry is complete in memory before a word points to it; a location is released (`release`) after
  * the write that took it out of use succeeded. Between the two writes of a merge the version is in the base and in the
  * entry; nobody else is in this chain then. `fault`: a memory error, a chain of more than 33 words, or an entry that
  * is not a live one of this LPN; the job ends there with `error`.
  *
  * The `set` flags tell which memories of the slot take the new values: `at` and `flags` always do after a read.
  */
class RemapStep(p: RemapParam) extends Component {
  setDefinitionName("otx_remap_step")

  // the event
  val written = in port Bool() // a write response, else a read
  val failed = in port Bool() // the memory answered with an error
  val isHead = in port Bool() // the read is the slot's first
  val data = in port Bits(128 bits)
  val itsLpn, itsLocation = in port Bool() // those of the entry in `data` are the context's
  // the slot
  val context = in port RemapContext(p)
  val at = in port RemapAt(p)
  val kept = in port Word()
  val flags = in port RemapFlags()
  val meaning = in port RemapMeaning()
  // and after it
  val newAt = out port RemapAt(p)
  val newStarts = out port RemapStarts(p)
  val newKept = out port Word()
  val newFlags = out port RemapFlags()
  val setStarts, setKept = out port Bool()
  val read, finish, fault, countUp = out port Bool()
  val write = master port Flow(UInt(3 bits)) // RemapWrite
  val rsp = out port RemapRsp()
  val release = master port Flow(Word())

  private def job(code: Int) = context.job === code
  private val lookup = job(RemapOpcode.LOOKUP)
  private val append = job(RemapOpcode.APPEND)
  private val plain = job(RemapOpcode.PLAIN)
  private val swap = job(RemapOpcode.SWAP)
  private val isEntry = !written && !isHead

  // where the job is now
  private val entry = TxEntry()
  entry.assignFromBits(data)
  private val head = Word()
  head.assignFromBits(data.subdivideIn(32 bits)(context.lpn(1 downto 0)))
  newAt.word := written.mux(at.word, isHead.mux(head, entry.next))
  newAt.holder.inMap := written.mux(at.holder.inMap, isHead)
  newAt.holder.index := written.mux(at.holder.index, TxIndex.of(p, at.word))
  newAt.passed := written.mux(at.passed, isHead.mux(U(0, 6 bits), at.passed + 1))
  private val word = newAt.word

  // the entry
  private val badEntry = isEntry && (!meaning.live || !itsLpn || entry.location.isVer)
  private val counts = meaning.counts && !entry.dead
  private val ownNow = isEntry && meaning.own && meaning.uncommitted
  private val ownBefore = !isHead && flags.own
  private val newer = isEntry && counts && !flags.own && meaning.distance < flags.distance
  private val take = ownNow || newer
  private val here = isEntry && !entry.location.isNone && itsLocation
  private val self = isEntry && meaning.self

  newStarts.next := word
  newStarts.before := at.holder
  setStarts := isHead || self
  newKept := entry.location
  setKept := isEntry && Mux(lookup, take, append && ownNow || plain && counts || self)
  newFlags.distance := isHead.mux(
    U(RemapParam.orderBits bits, default -> True),
    (lookup && take).mux(meaning.distance, flags.distance)
  )
  newFlags.own := ownBefore || ownNow
  newFlags.committing := !isHead && flags.committing ||
    isEntry && (meaning.committing || plain && meaning.uncommitted)
  newFlags.found := !isHead && flags.found || self
  newFlags.hit := written && flags.hit
  newFlags.more := False
  newFlags.second := False
  newFlags.atBase := written && flags.atBase

  // answer
  private val have = !isHead && (flags.own || !flags.distance.andR)
  rsp.tag := context.tag
  rsp.location := take.mux(entry.location, have.mux(kept, word))
  // a link: what it replaced, or for a new entry what the chain ends in
  when(!lookup)(rsp.location := (append && newFlags.hit).mux(kept, at.word))
  when(!lookup && (swap || context.part || fault))(rsp.location := Word.none)
  rsp.own := lookup && newFlags.own
  rsp.committing := (lookup || plain && !context.part && !fault) && newFlags.committing
  rsp.hit := newFlags.hit
  rsp.error := fault

  // what is out of use: the base, or what was kept of an entry
  private val old = flags.atBase.mux(at.word, kept)
  private val replaces = plain || append && flags.hit || context.isWalk
  private val same = (old === context.isWalk.mux(kept, context.location)) && (flags.atBase || !context.isWalk)
  release.valid := written && !failed && !flags.second && replaces && !old.isNone && !same
  release.payload := old

  // what comes next; the next read goes out in this clock, so it does not wait for the rest of the decision
  private val ends = append && ownNow || plain && isEntry && counts || swap && here ||
    self && (job(RemapJob.DROP) || entry.dead)
  read := !failed && !badEntry && written.mux(flags.more, !ends) && word.isVer && !newAt.passed.msb
  finish := False
  fault := False
  countUp := False
  write.valid := False
  write.payload := RemapWrite.BASE
  private def put(what: Int): Unit = {
    write.valid := True
    write.payload := what
  }
  private def fail(): Unit = {
    fault := True
    finish := True
  }
  private def arrive(): Unit = {
    when(word.isVer) {
      when(newAt.passed.msb)(fail()) // 32 entries passed
    } otherwise {
      newFlags.atBase := True
      when(lookup)(finish := True)
      when(append) {
        put(RemapWrite.ENTRY)
        newFlags.second := True
        newFlags.atBase := False
        when(context.index.number >= p.txEntries) {
          write.valid := False
          finish := True
          rsp.error := True
        }
      }
      when(plain)(put(RemapWrite.BASE))
      when(swap) {
        val hit = word === context.location && !word.isNone
        newFlags.hit := hit
        write.valid := hit
        finish := !hit
      }
      when(job(RemapJob.MERGE)) {
        when(self)(put(RemapWrite.JOIN)).elsewhen(flags.found && !isHead) {
          put(RemapWrite.BASE)
          newFlags.second := True
        }.otherwise(fail())
      }
      when(job(RemapJob.DROP))(fail()) // its entry is not there
    }
  }

  when(failed || badEntry)(fail())
    .elsewhen(written) {
      when(flags.more)(arrive())
        .elsewhen(flags.second)(put(RemapWrite.NAME))
        .otherwise {
          finish := True
          countUp := append && !flags.hit
        }
      when(flags.second && context.isWalk)(write.payload := RemapWrite.UNLINK)
    }
    .elsewhen(append && ownNow) {
      put(RemapWrite.LOCATION)
      newFlags.hit := True
    }
    .elsewhen(plain && isEntry && counts) {
      put(RemapWrite.DEAD)
      newFlags.more := True
    }
    .elsewhen(swap && here) {
      put(RemapWrite.SWAPPED)
      newFlags.hit := True
    }
    .elsewhen(self && (job(RemapJob.DROP) || entry.dead))(put(RemapWrite.UNLINK))
    .otherwise(arrive())
}
