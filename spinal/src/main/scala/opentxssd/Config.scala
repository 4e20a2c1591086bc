// SPDX-License-Identifier: Apache-2.0
package opentxssd

import java.io.FileInputStream
import java.util.Properties
import opentxssd.remap.RemapParam
import spinal.core._
import spinal.lib.bus.amba4.axi._

/** The geometry of one drive as the hardware sees it. Read from the file that `soc/geometry.py` writes, which also
  * checks it in words; names and units are the same there.
  */
case class OtxParam(
    channels: Int,
    ways: Int,
    blocksPerWay: Int,
    pagesPerBlock: Int,
    lbas: BigInt,
    laneBlocks: Int,
    writeFrames: Int,
    readFrames: Int,
    firmwareFrames: Int,
    flashPriorities: Boolean,
    scramble: Boolean,
    eccT: Int,
    cacheOps: Boolean,
    planes: Int,
    readRetries: Int,
    txEntries: Int,
    commands: Int,
    queueSlots: Int,
    tableBase: BigInt,
    txBase: BigInt,
    frameBase: BigInt,
    clockPs: Int,
    nandTimeNs: Map[String, Int]
) {
  require(isPow2(pagesPerBlock), s"pagesPerBlock is $pagesPerBlock, must be a power of two")
  require(
    writeFrames >= OtxParam.maxBlocks,
    s"writeFrames is $writeFrames, must hold one command of ${OtxParam.maxBlocks} blocks"
  )
  require(commands == OtxParam.tags || commands == 256, s"commands is $commands, must be 32 or 256")
  require(Set(8, 16, 32)(queueSlots), s"queueSlots is $queueSlots, must be 8, 16 or 32")
  require(eccT == 8 || eccT == 24, s"eccT is $eccT, must be 8 or 24")
  require(ppnBits <= 30, s"a PPN takes $ppnBits bits, at most 30 fit in a map word")

  def dies: Int = channels * ways

  /** A program or erase can be suspended for a READ. */
  def suspend: Boolean = nandTimeNs.getOrElse("tSusp", 0) > 0

  /** Pages that cannot be corrected are read again at other levels. */
  def retry: Boolean = readRetries > 0
  def nandCapabilityBits: Int = if (retry) 7 else 4

  /** A way may have a second command beside the one under way. */
  def second: Boolean = suspend || cacheOps || planes > 1
  def lanes: Int = channels min 4
  def pageBits: Int = log2Up(pagesPerBlock)
  def blockBits: Int = log2Up(blocksPerWay)
  def rowBits: Int = pageBits + blockBits
  def wayBits: Int = log2Up(ways)
  def channelBits: Int = log2Up(channels)
  def dieBits: Int = channelBits + wayBits
  def ppnBits: Int = rowBits + dieBits
  def readFrameBase: Int = writeFrames
  def logFrameBase: Int = writeFrames + readFrames
  def firmwareFrameBase: Int = logFrameBase + OtxParam.logFrames
  def frames: Int = firmwareFrameBase + firmwareFrames

  def lpnBits: Int = log2Up(lbas)
  def mapPages: Int = ((lbas + 1023) / 1024).toInt // of 1,024 words

  // As otx_page_pkg has it: a page is `eccChunks` code words, each with up to `eccT` wrong bits that can be corrected.
  def eccChunks: Int = if (eccT == 24) 4 else 8
  def chunkBits: Int = log2Up(eccChunks)
  def foundBits: Int = if (eccT == 24) 11 else 10 // of the number of a byte in a chunk with its parity
  def correctedBits: Int = log2Up(2 * eccT)

  /** What the remap engine knows of the drive. */
  def remap: RemapParam = RemapParam(lpns = lbas, txEntries = txEntries, mapBase = tableBase, txBase = txBase)

  /** Frame memory: 64-bit data, 32-bit byte addresses, 4-bit ids. */
  def axi: Axi4Config = Axi4Config(
    addressWidth = 32,
    dataWidth = 64,
    idWidth = 4,
    useRegion = false,
    useLock = false,
    useCache = false,
    useQos = false,
    useProt = false
  )
}

object OtxParam {
  val tags = Number.TAGS
  val txids = Number.TXIDS
  val maxBlocks = Number.MAX_BLOCKS
  val logFrames = Number.LOG_FRAMES
  val beats = Number.BEATS

  def load(path: String): OtxParam = {
    val p = new Properties()
    val file = new FileInputStream(path)
    try p.load(file)
    finally file.close()
    def text(key: String) = Option(p.getProperty(key)).getOrElse(sys.error(s"$path: no parameter '$key'"))
    def int(key: String) = text(key).trim.toInt
    def big(key: String) = BigInt(text(key).trim)
    val times = p.stringPropertyNames().toArray.map(_.toString).filter(_.matches("t[A-Z].*Ns")).map(k =>
      k.dropRight(2) -> int(k)
    ).toMap
    OtxParam(
      channels = int("channels"),
      ways = int("ways"),
      blocksPerWay = int("blocksPerWay"),
      pagesPerBlock = int("pagesPerBlock"),
      lbas = big("lbas"),
      laneBlocks = int("laneBlocks"),
      writeFrames = int("writeFrames"),
      readFrames = int("readFrames"),
      firmwareFrames = int("firmwareFrames"),
      flashPriorities = int("flashPriorities") != 0,
      scramble = int("scramble") != 0,
      eccT = int("eccT"),
      cacheOps = int("cacheOps") != 0,
      planes = int("planes"),
      readRetries = int("readRetries"),
      txEntries = int("txEntries"),
      commands = int("commands"),
      queueSlots = int("queueSlots"),
      tableBase = big("tableBase"),
      txBase = big("txBase"),
      frameBase = big("frameBase"),
      clockPs = int("clockPs"),
      nandTimeNs = times
    )
  }
}
