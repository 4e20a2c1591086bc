// SPDX-License-Identifier: Apache-2.0
package opentxssd.data

import opentxssd.remap.TxRestored
import spinal.core._
import spinal.lib._

// What firmware and the data path tell each other (PageMove is one of soc/facts.toml). What each field means is in
// docs/interfaces.md.

/** What the last recovery could not bring back: QUERY answers it. */
case class RecoveryLoss() extends Bundle {
  val dropped, lostLogPages, doubtful = UInt(32 bits)
}

/** NAND pages that fell out of use, COMMITs that completed, pages that went to NAND for hosts. */
case class DataCounters() extends Bundle {
  val releasedPages, commits, pages = UInt(32 bits)
}

/** A word of the drive's health, which firmware knows. */
case class HealthWord() extends Bundle {
  val index = UInt(5 bits)
  val word = UInt(32 bits)
}

/** What firmware asks of the data path to collect blocks and to make checkpoints (docs/decisions/021). Master:
  * firmware.
  *
  * `liveAsk` (block), `liveSet`, `liveCount`, `liveWord`, `livePages`, `liveScan`, `liveMask`: `LiveCounts`.
  * `readsTurn`, `readsOld`: `ReadPath`. `txAsk`, `txOpen`, `txFirst`: `TxFirst`. `lookup` (LPN), `found`:
  * `FirmwareLookup`. `changedAsk`, `changedTake`, `changedSet`, `changedPages`: `MapChanged`. `health`: a word that
  * QUERY answers (`QueryAnswer`). `mapTask`, `mapState`: `MapPages`, and CLEAR, all counts 0. `prepared`: before the
  * drive is enabled, this txid is PREPARED with so many entries in its table (`TxStatus`).
  *
  * `note` (one clock): make the log durable up to where it is, then append an entry that means nothing, and make the
  * log durable past that, with `noteUrgent` also in what is reserved of the log; `noting` until it is appended, and
  * then only one with `noteUrgent`, which makes that one urgent.
  */
case class ReclaimPort() extends Bundle with IMasterSlave {
  val liveAsk = Flow(UInt(24 bits))
  val liveSet = Flow(UInt(16 bits))
  val liveCount = Flow(UInt(16 bits))
  val readsTurn, readsOld = Bool()
  val txAsk = Flow(UInt(5 bits))
  val txOpen = Bool()
  val txFirst = UInt(48 bits)
  val lookup = Flow(UInt(32 bits))
  val found = Flow(Bits(32 bits))
  val prepared = Flow(TxRestored())
  val note, noteUrgent, noting = Bool()
  val mapTask = Flow(MapTask())
  val mapState = MapState()
  val changedAsk = Flow(UInt(13 bits))
  val changedTake = Bool()
  val changedSet = Flow(UInt(18 bits))
  val changedPages = Flow(Bits(32 bits))
  val liveScan = Flow(UInt(24 bits))
  val liveMask = Flow(Bits(32 bits))
  val health = Flow(HealthWord())
  val liveWord = UInt(4 bits)
  val livePages = Bits(32 bits)

  override def asMaster(): Unit = {
    master(liveAsk, liveSet, txAsk, lookup, prepared, health, mapTask, liveScan, changedAsk, changedSet)
    slave(liveCount, found, liveMask, changedPages)
    out(readsTurn, note, noteUrgent, liveWord, changedTake)
    in(livePages, readsOld, txOpen, txFirst, noting, mapState)
  }
}
