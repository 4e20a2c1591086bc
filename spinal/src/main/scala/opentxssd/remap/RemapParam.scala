// SPDX-License-Identifier: Apache-2.0
package opentxssd.remap

import opentxssd.Number
import java.io.FileInputStream
import java.util.Properties
import spinal.core._
import spinal.lib.bus.amba4.axi._

/** All that the remap engine knows of the design around it. A drive's is `OtxParam.remap`; an engine alone reads its
  * own from a file (`soc/remap_engine.py` writes it).
  *
  * The fields of its streams have the same widths in every configuration. Table memory holds the map, a word of 4 bytes
  * for each LPN from `mapBase` on, and the tx tables, of which each txid has `2^entryBits` places of 16 bytes from
  * `txBase` on.
  */
case class RemapParam(
    lpns: BigInt,
    txids: Int = RemapParam.mostTxids,
    slots: Int = RemapParam.mostSlots, // jobs under way
    txEntries: Int, // of one transaction
    entryBits: Int = 16, // of the number of an entry
    mapBase: BigInt,
    txBase: BigInt,
    addressBits: Int = 32, // of the port to table memory
    idBits: Int = 6 // of the same
) {
  require(lpns >= 64 && lpns <= (BigInt(1) << 30), s"lpns is $lpns, must be 64 to 2^30")
  require(
    isPow2(txids) && txids >= 2 && txids <= RemapParam.mostTxids,
    s"txids is $txids, must be a power of two, 2 to ${RemapParam.mostTxids}"
  )
  require(
    isPow2(slots) && slots >= 2 && slots <= RemapParam.mostSlots,
    s"slots is $slots, must be a power of two, 2 to ${RemapParam.mostSlots}"
  )
  require(entryBits >= 2 && entryBits <= 16, s"entryBits is $entryBits, must be 2 to 16")
  require(
    txEntries >= 1 && txEntries < (1 << entryBits),
    s"txEntries is $txEntries, must be 1 to ${(1 << entryBits) - 1}: a number of entryBits bits counts them"
  )
  require(
    idBits >= 4 && idBits <= 6 && slots <= (1 << slotBits),
    s"idBits is $idBits, must be 4 to 6 and 2 more than a slot's number takes"
  )
  require(addressBits >= 12 && addressBits <= 64, s"addressBits is $addressBits, must be 12 to 64")
  require(mapBase % 16 == 0 && txBase % 16 == 0, "mapBase and txBase must be multiples of 16")
  require(
    mapEnd <= txBase || txEnd <= mapBase,
    s"the map, bytes $mapBase to $mapEnd, and the tx tables, $txBase to $txEnd, overlap"
  )
  require(
    mapEnd.max(txEnd) <= (BigInt(1) << addressBits),
    s"addressBits is $addressBits, too few for table memory, which ends at ${mapEnd.max(txEnd)}"
  )

  def lpnBits: Int = log2Up(lpns)
  def slotBits: Int = idBits - 2
  def mapEnd: BigInt = mapBase + (lpns + 3) / 4 * 16
  def txEnd: BigInt = txBase + (BigInt(txids) << (entryBits + 4))

  /** A tx table entry or four map words per beat. Ids: a slot's number behind two bits that say what is read. */
  def tableAxi: Axi4Config = Axi4Config(
    addressWidth = addressBits,
    dataWidth = 128,
    idWidth = idBits,
    useRegion = false,
    useLock = false,
    useCache = false,
    useQos = false,
    useProt = false
  )
}

object RemapParam {
  val mostTxids = Number.TXIDS // that the streams can name
  val mostSlots = 16
  val mostBlocks = Number.MAX_BLOCKS // of a TRIM
  val orderBits = 7 // of a commit: any two that are compared are less than 64 apart

  /** What a file says, None when it is not one of the engine alone. */
  def load(path: String): Option[RemapParam] = {
    val p = new Properties()
    val file = new FileInputStream(path)
    try p.load(file)
    finally file.close()
    def big(key: String) = {
      val text = Option(p.getProperty(key)).map(_.trim).getOrElse("")
      require(text.matches("[0-9]+"), s"$key is '$text', must be a number")
      BigInt(text)
    }
    def int(key: String) = big(key).toInt
    if (p.getProperty("lpns") == null) None
    else
      Some(
        RemapParam(
          lpns = big("lpns"),
          txids = int("txids"),
          slots = int("slots"),
          txEntries = int("txEntries"),
          entryBits = int("entryBits"),
          mapBase = big("mapBase"),
          txBase = big("txBase"),
          addressBits = int("addressBits"),
          idBits = int("idBits")
        )
      )
  }
}
