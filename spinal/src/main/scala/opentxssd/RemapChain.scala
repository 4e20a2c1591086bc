// SPDX-License-Identifier: Apache-2.0
package opentxssd

import spinal.core._
import spinal.lib._

/** Walks the version chain of one LPN and does one thing to it: a foreground op (docs/interfaces.md, "Remap engine") or one entry of a background walk.
  *
  * One job at a time, so every job is atomic with respect to all others; both job ports are taken when idle, `walk` first if both are valid (the engine
  * arbitrates). One response per op, in order; a walk ends with `walkDone`. A chain costs one table read for the map word and one per entry.
  *
  * Order of writes: an entry is complete in memory before a word points to it. A location is released after the write that took it out of use succeeded; the job
  * waits for `released`. A job that meets a memory error, a chain of more than 33 words or an entry that is not a live one of this LPN ends there with `error`
  * and one clock of `fault`; one that may not be done at all (unknown op, LPN past the end, APPEND to a transaction that is not OPEN or is full, a VER location)
  * ends with `error` alone and has changed nothing.
  *
  * `quiet`: the states of transactions may change now. It is low from the clock after an op is taken until its result is decided. While a walk is under way it is
  * high: a walk looks only at its own transaction's state, which no request can change, and at positions in the chain. Reset forgets the job.
  */
class RemapChain(p: OtxParam) extends Component {
  setDefinitionName("otx_remap_chain")

  val op = slave port Stream(RemapOp())
  val rsp = master port Stream(RemapRsp())
  val walk = slave port Stream(RemapWalk())
  val walkDone = out port Bool()
  val released = master port Stream(Word())
  val quiet = out port Bool()
  val fault = out port Bool()

  val state = in port Vec(UInt(3 bits), OtxParam.txids)
  val count = in port Vec(UInt(16 bits), OtxParam.txids)
  val order = in port Vec(UInt(5 bits), OtxParam.txids)
  val oldestOrder = in port UInt(5 bits)
  val countUp = master port Flow(UInt(5 bits))

  val mem = master port Stream(RemapAccess())
  val readData = in port Bits(128 bits)
  val failed = in port Bool()

  private val map = RemapMap(p)
  private val maxEntries = 32 // of a chain: 33 words with the map word

  private object At extends SpinalEnum {
    val idle, // waits for a job
    self, // walk: reads its own entry
    head, // reads the map word
    link, // looks at `word`, the next word of the chain
    entry, // reads the entry that `word` names
    act, // looks at that entry
    write, // waits for a write
    second, // sets up the second of two writes
    release, // waits for `released`
    finish = newElement() // waits for `rsp`
  }
  private object Job extends SpinalEnum { val lookup, append, plain, swap, merge, drop, unknown = newElement() }

  private val at, after = RegInit(At.idle) // `after` the write
  private val access = Reg(RemapAccess())
  private val job = Reg(Job())
  private val isWalk = RegInit(False)
  private val lpn = Reg(UInt(32 bits))
  private val hasTx = Reg(Bool())
  private val index = Reg(TxIndex()) // the walk's entry, or the one an APPEND will add
  private val location, newLocation = Reg(Word()) // of the op; of a walk: location and next of its entry
  private val word, mapWord, old = Reg(Word()) // where we are in the chain; where it starts; what the write puts out of use
  private val holder, before = Reg(UInt(32 bits)) // address of `word`; of the word that named the walk's entry
  private val links = Reg(UInt(6 bits)) // entries passed
  private val found, haveBest = Reg(Bool()) // the walk's entry; a committed version
  private val bestOrder = Reg(UInt(5 bits))
  private val entry = Reg(TxEntry())
  private val result = Reg(RemapRsp())

  private def read(address: UInt, whole: Bool, next: SpinalEnumElement[At.type]): Unit = {
    access.write := False
    access.whole := whole
    access.address := address
    at := next
  }
  private def put(address: UInt, data: Bits, whole: Boolean, outOfUse: Word, next: SpinalEnumElement[At.type]): Unit = {
    access.write := True
    access.whole := Bool(whole)
    access.address := address
    access.data := data.resize(128)
    old := outOfUse
    after := next
    at := At.write
  }
  private def advance(next: Word, address: UInt): Unit = {
    word := next
    holder := address
    links := links + 1
    linkLooked := False
    at := At.link
  }
  private def refuse(): Unit = {
    result.error := True
    at := At.finish
  }
  private def fail(): Unit = {
    fault := True
    refuse()
  }
  private def ver(i: TxIndex) = Word(WordKind.VER, i.asBits.asUInt)

  op.ready := at === At.idle && !walk.valid
  walk.ready := at === At.idle
  walkDone := at === At.finish && isWalk
  rsp.valid := at === At.finish && !isWalk
  rsp.payload := result
  released.valid := at === At.release
  released.payload := old
  quiet := at === At.idle || at === At.finish || isWalk
  fault := False

  private val isVer = location.isVer || (job === Job.swap && newLocation.isVer)
  private val noTx = job === Job.append && (!hasTx || Pick(state, index.txid) =/= TxState.OPEN)
  private val refused = RegNext(lpn >= U(p.lbas, 32 bits) || (!isWalk && (noTx || isVer || job === Job.unknown)))
  private val headLooked = RegNext(at === At.head) init False // `refused` is known
  private val linkLooked = RegInit(False) // what `word` names is known
  linkLooked := at === At.link

  mem.valid := at === At.self || (at === At.head && headLooked && !refused) || at === At.entry || at === At.write
  mem.payload := access
  private val readEntry = TxEntry()
  readEntry.assignFromBits(readData)
  private val readWord = Word()
  readWord.assignFromBits(readData(31 downto 0))

  // the entry that `word` names
  private val named = TxIndex()
  named.assignFromBits(word.value(20 downto 0).asBits)
  private val namedState = RegNext(Pick(state, named.txid))
  private val isOwn = hasTx && named.txid === index.txid
  private val isLive = RegNext(word.value(29 downto 21) === 0 && Pick(state, named.txid) =/= TxState.FREE && named.number < Pick(count, named.txid))
  private val namedOrder = RegNext(Pick(order, named.txid))
  private val isNewer = RegNext(!haveBest || (Pick(order, named.txid) - oldestOrder) > (bestOrder - oldestOrder))
  private val uncommitted = List(TxState.OPEN, TxState.PREPARED, TxState.COMMITTING).map(namedState === _).reduce(_ || _)
  private val counts = namedState === TxState.COMMITTED && !entry.dead

  countUp.valid := at === At.write && mem.fire && !failed && job === Job.append && after === At.finish && !result.hit
  countUp.payload := index.txid

  switch(at) {
    is(At.idle) {
      links := 0
      found := False
      haveBest := False
      result.clearAll()
      isWalk := walk.valid
      when(walk.valid) {
        job := walk.merge ? Job.merge | Job.drop
        hasTx := False
        index := walk.index
        read(map.entry(walk.index), True, At.self)
      } elsewhen (op.valid) {
        job := op.op.mux(
          RemapOpcode.LOOKUP -> Job.lookup(),
          RemapOpcode.APPEND -> Job.append(),
          RemapOpcode.PLAIN -> Job.plain(),
          RemapOpcode.SWAP -> Job.swap(),
          default -> Job.unknown()
        )
        lpn := op.lpn
        hasTx := op.hasTx
        index.txid := op.txid
        location := op.location
        newLocation := op.newLocation
        read(map.mapWord(op.lpn), False, At.head)
      }
    }
    is(At.self) {
      lpn := readEntry.lpn
      location := readEntry.location
      newLocation := readEntry.next
      when(mem.fire) {
        when(readEntry.dead)(job := Job.drop)
        read(map.mapWord(readEntry.lpn), False, At.head)
        when(failed)(fail())
      }
    }
    is(At.head) {
      when(!isWalk)(index.number := Pick(count, index.txid))
      word := readWord
      mapWord := readWord
      holder := access.address
      when(mem.fire) {
        at := At.link
        when(failed)(fail())
      }
      when(headLooked && refused) {
        refuse()
        fault := isWalk
      }
    }
    is(At.link) {
      when(word.isVer && !linkLooked) {
        at := At.link
      } elsewhen (word.isVer) {
        when(!isLive || links === maxEntries) {
          fail()
        } elsewhen (isWalk && named.asBits === index.asBits) {
          found := True
          before := holder
          when(job === Job.merge)(advance(newLocation, map.next(index)))
          when(job === Job.drop)(put(holder, newLocation.asBits, whole = false, location, At.finish))
        } otherwise {
          read(map.entry(named), True, At.entry)
        }
      } otherwise {
        at := At.finish
        switch(job) {
          is(Job.lookup)(when(!result.own && !haveBest)(result.location := word))
          is(Job.append) {
            put(map.entry(index), newEntry.asBits, whole = true, Word.none, At.second)
            when(index.number >= p.txEntries)(refuse())
          }
          is(Job.plain)(put(holder, location.asBits, whole = false, word, At.finish))
          is(Job.swap)(when(word === location && !location.isNone) {
            result.hit := True
            put(holder, newLocation.asBits, whole = false, Word.none, At.finish)
          })
          is(Job.merge) {
            val adjacent = holder === map.next(index) // nothing between the walk's entry and the base
            put(adjacent ? before | holder, location.asBits, whole = false, word, At.finish)
            when(!adjacent)(after := At.second)
            when(!found)(fail())
          }
          is(Job.drop)(fail())
        }
      }
    }
    is(At.entry) {
      entry := readEntry
      when(mem.fire) {
        at := At.act
        when(failed)(fail())
      }
    }
    is(At.act) {
      advance(entry.next, map.next(named))
      switch(job) {
        is(Job.lookup) {
          when(namedState === TxState.COMMITTING)(result.committing := True)
          when(isOwn && uncommitted) {
            result.own := True
            result.location := entry.location
          }
          when(counts && isNewer && !result.own) {
            haveBest := True
            bestOrder := namedOrder
            result.location := entry.location
          }
        }
        is(Job.append)(when(isOwn) {
          result.hit := True
          put(map.location(named), location.asBits, whole = false, entry.location, At.finish)
        })
        is(Job.plain)(when(counts) {
          put(map.entry(named), deadEntry.asBits, whole = true, entry.location, At.link)
        })
        is(Job.swap)(when(entry.location === location && !location.isNone) {
          result.hit := True
          put(map.location(named), newLocation.asBits, whole = false, Word.none, At.finish)
        })
      }
      when(entry.lpn =/= lpn || entry.location.isVer)(fail())
    }
    is(At.write) {
      when(mem.fire) {
        at := after
        when(after =/= At.second && !old.isNone && (job === Job.drop || old =/= location))(at := At.release)
        when(failed)(fail())
      }
    }
    is(At.second) { // APPEND: the map word names the new entry; merge: the walk's entry leaves the chain
      when(job === Job.append) {
        put(map.mapWord(lpn), ver(index).asBits, whole = false, Word.none, At.finish)
      } otherwise {
        put(before, newLocation.asBits, whole = false, old, At.finish)
      }
    }
    is(At.release)(when(released.ready)(at := after))
    is(At.finish)(when(isWalk || rsp.ready)(at := At.idle))
  }

  private def newEntry: TxEntry = {
    val e = TxEntry()
    e.lpn := lpn
    e.location := location
    e.next := mapWord
    e.flags := 0
    e
  }
  private def deadEntry: TxEntry = {
    val e = TxEntry()
    e.lpn := lpn
    e.location := Word.none
    e.next := entry.next
    e.flags := 1
    e
  }
}
