// SPDX-License-Identifier: Apache-2.0
package opentxssd.remap

import opentxssd._
import spinal.core._
import spinal.lib._

// What the remap engine and its parts hand to each other (docs/interfaces.md). Its ops and answers are those of
// soc/facts.toml.

/** Ops and answers of one user. Master: the user. */
case class RemapUser() extends Bundle with IMasterSlave {
  val op = Stream(RemapOp())
  val rsp = Stream(RemapRsp())

  override def asMaster(): Unit = {
    master(op)
    slave(rsp)
  }
}

/** What the engine shows of its transactions in every clock. Master: the engine. */
case class TxView() extends Bundle with IMasterSlave {
  val txState = Vec(UInt(3 bits), RemapParam.mostTxids)
  val txCount = Vec(UInt(16 bits), RemapParam.mostTxids)
  val useTxid = UInt(5 bits) // asks for the next three
  val useCount = UInt(27 bits)
  val older = UInt(5 bits) // COMMITTED ones that are to be merged before useTxid, which is COMMITTED
  val reached = UInt(16 bits) // entries of useTxid, COMMITTED or ABORTED, that a walk has come to
  val memoryErrors = UInt(16 bits)

  override def asMaster(): Unit = {
    out(txState, txCount, useCount, older, reached, memoryErrors)
    in(useTxid)
  }
}

/** A tx table entry as it lies in table memory (docs/interfaces.md, "Geometry and numbers"): 128 bits, `lpn` lowest. */
case class TxEntry() extends Bundle {
  val lpn = UInt(32 bits)
  val location = Word()
  val next = Word()
  val flags = Bits(32 bits)
  def dead: Bool = flags(0)
}

/** Which tx table entry: the value of a VER word. */
case class TxIndex(p: RemapParam) extends Bundle {
  val number = UInt(p.entryBits bits)
  val txid = UInt(5 bits)
}

object TxIndex {

  /** The entry that a VER word names; more bits of value than it takes name none. */
  def of(p: RemapParam, word: Word): TxIndex = {
    val index = TxIndex(p)
    index.assignFromBits(word.value(p.entryBits + 4 downto 0).asBits)
    index
  }
}

/** A transaction that firmware has brought back: its table and the chains of its blocks are in table memory. */
case class TxRestored() extends Bundle {
  val txid = UInt(5 bits)
  val entries = UInt(16 bits)
}

/** What a slot works on: the codes of `RemapOpcode`, and the two kinds of walk. */
object RemapJob {
  val MERGE = 4
  val DROP = 5
}

/** All that a job brings with it. Written once, when it enters its slot. */
case class RemapContext(p: RemapParam) extends Bundle {
  val job = UInt(3 bits)
  val lpn = UInt(p.lpnBits bits)
  val hasTx = Bool()
  val index = TxIndex(p) // a walk: its entry. An op: txid is its transaction, number the entry that an APPEND will add
  val location, newLocation = Word()
  val limit = UInt(RemapParam.orderBits bits) // commits from this order on are not seen
  val tag = UInt(8 bits)
  val part = Bool() // of a TRIM: one of several jobs with one answer
  def isWalk: Bool = job(2)
}

/** A job that wants its slot's first read. `refused`: it is answered with `error` and reads nothing. */
case class RemapStart(p: RemapParam) extends Bundle {
  val slot = UInt(p.slotBits bits)
  val refused = Bool()
  val context = RemapContext(p)
}

/** The answer of a slot. `part`: it is that of one block of a TRIM. */
case class RemapAnswer() extends Bundle {
  val rsp = RemapRsp()
  val part = Bool()
}

/** One entry of a walk: to be merged, or dropped because its transaction was aborted. `unread`: its LPN could not be
  * read. */
case class RemapWalk(p: RemapParam) extends Bundle {
  val merge = Bool()
  val index = TxIndex(p)
  val lpn = UInt(32 bits)
  val unread = Bool()
}

/** The walker's read of an entry into one of its four places, and what came of it. */
case class RemapFetch(p: RemapParam) extends Bundle {
  val place = UInt(2 bits)
  val index = TxIndex(p)
}
case class RemapFetched() extends Bundle {
  val place = UInt(2 bits)
  val lpn = UInt(32 bits)
  val failed = Bool()
}

/** The map word of the slot's LPN (`inMap`), or a tx table entry. */
case class RemapPlace(p: RemapParam) extends Bundle {
  val inMap = Bool()
  val index = TxIndex(p)
}

/** A word of the chain that a job has come to: what it says, where it stands and how many entries were passed on the
  * way. */
case class RemapAt(p: RemapParam) extends Bundle {
  val word = Word()
  val holder = RemapPlace(p)
  val passed = UInt(6 bits)
}

/** Where the chain starts (the map word), or, for a walk that has found its entry, how the chain goes on behind it; and
  * who names that entry. */
case class RemapStarts(p: RemapParam) extends Bundle {
  val next = Word()
  val before = RemapPlace(p)
}

/** The small part of a slot's state. */
case class RemapFlags() extends Bundle {
  // of the committed version in `kept`: how far its commit is behind the limit; all ones: none
  val distance = UInt(RemapParam.orderBits bits)
  // `kept` is the reader's own; some entry is committing; a walk has met its entry; hit
  val own, committing, found, hit = Bool()
  val more, second, atBase = Bool() // after the write: the chain goes on; another write; the write replaced the base
}

/** What the transaction of the entry that a VER word names means to a job: `RemapVisibility`. */
case class RemapMeaning() extends Bundle {
  val live, self, own, uncommitted, committing, counts = Bool()
  val distance = UInt(RemapParam.orderBits bits)
}

/** What a write puts where. The slot's memories hold all the words: `RemapWriter`. */
object RemapWrite {
  val ENTRY = 0 // a new entry at `index`: lpn, location, next, no flags
  val NAME = 1 // the map word names the entry at `index`
  val LOCATION = 2 // `location` into the entry at `holder`
  val SWAPPED = 3 // `newLocation` into the entry at `holder`
  val DEAD = 4 // no location and the dead flag into the entry at `holder`
  val BASE = 5 // `location`, `newLocation` (SWAP) or `kept` (merge) where the base stands
  val JOIN = 6 // `kept` where the walk's entry was named: it is the word before the base
  val UNLINK = 7 // `next` where the walk's entry was named
}

/** One of a power of two of values, as a tree of two-way choices: half the logic that synthesis makes of a 32-way case.
  * */
object Pick {
  def apply[T <: Data](values: collection.Seq[T], index: UInt): T =
    if (values.size == 1) values.head
    else {
      val (low, high) = values.splitAt(values.size / 2)
      Mux(index(log2Up(values.size) - 1), Pick(high, index), Pick(low, index))
    }
}

/** Byte addresses of beats in table memory: four map words, or an entry. */
case class RemapMap(p: RemapParam) {
  def words(lpn: UInt): UInt = beat(p.mapBase, lpn >> 2)
  def entry(index: TxIndex): UInt = beat(p.txBase, index.asBits.asUInt)
  private def beat(base: BigInt, n: UInt) =
    (U(base >> 4, p.addressBits - 4 bits) + n.resize(p.addressBits - 4)) @@ U(0, 4 bits)
}
