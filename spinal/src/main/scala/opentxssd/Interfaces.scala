// SPDX-License-Identifier: Apache-2.0
package opentxssd

import spinal.core._

// The Bundles that two blocks share. What each field means is in docs/interfaces.md.

object Opcode {
  val FLUSH = 0x00
  val WRITE = 0x01
  val READ = 0x02
  val WRITE_ZEROES = 0x08
  val TRIM = 0x09
  val BEGIN = 0x80
  val COMMIT = 0x84
  val ABORT = 0x88
  val RECOVER = 0x94
  val QUERY = 0x98
}

object Status {
  val SUCCESS = 0
  val INVALID_OPCODE = 1
  val INVALID_FIELD = 2
  val LBA_RANGE = 3
  val TX_INVALID = 4
  val TX_BUSY = 5
  val TX_FULL = 6
  val TX_CONFLICT = 7
  val MEDIA_ERROR = 8
  val WRITE_FAULT = 9
  val CAPACITY = 10
  val READ_ONLY = 11
  val ABORTED = 12
  val NOT_READY = 13
  def apply(code: Int): UInt = U(code, 4 bits)
}

/** Kinds of a map word, bits 31:30. */
object WordKind {
  val NONE = 0
  val NAND = 1
  val BUF = 2
  val VER = 3
}

/** Map word, location or chain link: kind and 30-bit value. */
case class Word() extends Bundle {
  val value = UInt(30 bits)
  val kind = UInt(2 bits)
  def isNone: Bool = kind === WordKind.NONE
  def isNand: Bool = kind === WordKind.NAND
  def isBuf: Bool = kind === WordKind.BUF
  def isVer: Bool = kind === WordKind.VER
}

object Word {
  def apply(kind: Int, value: UInt): Word = {
    val w = Word()
    w.kind := kind
    w.value := value.resized
    w
  }
  def none: Word = Word(WordKind.NONE, U(0, 30 bits))
}

case class HostCmd() extends Bundle {
  val opcode = UInt(8 bits)
  val lba = UInt(32 bits)
  val count = UInt(16 bits)
  val txid = UInt(8 bits)
  val hasTx = Bool()
  val fua = Bool()
  val commit = Bool()
  val relaxed = Bool()
  val barrier = Bool()
  val order = UInt(2 bits)
  val stream = UInt(16 bits)
  val tag = UInt(5 bits)
  val arg = UInt(32 bits)
}

case class BlockRef() extends Bundle {
  val tag = UInt(5 bits)
  val block = UInt(5 bits)
}

case class WriteBeat() extends Bundle {
  val data = Bits(64 bits)
  val last = Bool()
}

case class ReadBeat() extends Bundle {
  val tag = UInt(5 bits)
  val block = UInt(5 bits)
  val data = Bits(64 bits)
  val last = Bool()
}

case class Completion() extends Bundle {
  val tag = UInt(5 bits)
  val status = UInt(4 bits)
  val result = UInt(32 bits)
}

object TxState {
  val FREE = 0
  val OPEN = 1
  val PREPARED = 2
  val COMMITTING = 3
  val COMMITTED = 4
  val ABORTED = 5

  /** COMMITTED or ABORTED: a walk empties its table. */
  def isDraining(state: UInt): Bool = state.msb
}

object RemapOpcode {
  val LOOKUP = 0
  val APPEND = 1
  val PLAIN = 2
  val SWAP = 3
  val TRIM = 4
}

case class RemapOp() extends Bundle {
  val op = UInt(3 bits)
  val lpn = UInt(32 bits)
  val hasTx = Bool()
  val txid = UInt(5 bits)
  val location = Word()
  val newLocation = Word()
  val blocks = UInt(6 bits) // of a TRIM
  val tag = UInt(8 bits)
  val last = Bool()
}

case class RemapRsp() extends Bundle {
  val tag = UInt(8 bits)
  val location = Word()
  val own = Bool()
  val committing = Bool()
  val hit = Bool()
  val error = Bool()
}

object TxOpcode {
  val BEGIN = 0
  val COMMITTING = 1
  val COMMIT = 2
  val ABORT = 3
  val PREPARE = 4
  val RECOVER = 5 // names no txid
}

case class TxOp() extends Bundle {
  val op = UInt(3 bits)
  val txid = UInt(5 bits)
}

object LogKind {
  val MAP = 1
  val COMMIT = 2
  val ABORT = 3
  val TRIM = 4
  val PREPARE = 5
  val RELOCATE = 6
}

/** One log entry as it is appended; index, epoch place and page are the log's. */
case class LogAppend() extends Bundle {
  val kind = UInt(8 bits)
  val ordered = Bool()
  val inTx = Bool()
  val n = UInt(8 bits)
  val i = UInt(8 bits)
  val lpn = UInt(32 bits)
  val location = Word()
  val serial = UInt(32 bits)
  val sequence = UInt(48 bits)
  val epoch = UInt(32 bits)
  val arg = UInt(32 bits)
  val room = UInt(6 bits)
  val last = Bool()
}

case class LogWait() extends Bundle {
  val tag = UInt(5 bits)
  val flush = Bool() // FLUSH or FUA, else COMMIT
  val relaxed = Bool() // of a COMMIT
  val txid = UInt(5 bits)
  val index = UInt(48 bits)
}

case class TagStatus() extends Bundle {
  val tag = UInt(5 bits)
  val status = UInt(4 bits)
}

case class PageDone() extends Bundle {
  val index = UInt(48 bits)
  val hasTx = Bool()
  val txid = UInt(5 bits)
  val ok = Bool()
}

case class LogBlock() extends Bundle {
  val lane = UInt(2 bits)
  val block = UInt(24 bits)
}

object NandOp {
  val RESET = 0
  val READ_ID = 1
  val PARAM = 2
  val READ = 3
  val READ_OOB = 4
  val VERIFY = 5
  val PROGRAM = 6
  val ERASE = 7
  val STATUS = 8
  val READ_MARK = 9
  val SET_FEATURES = 10
}

/** Addresses of features (SET_FEATURES). */
object NandFeature {
  val READ_RETRY = 0x89 // of the vendor: read level, 0 to 7
}

object PageStatus {
  val OK = 0
  val FAIL = 1
  val CRC = 2
  val BLANK = 3
  val TIMEOUT = 4
}

/** OOB kinds. */
object PageKind {
  val DATA = 1
  val LOG = 2
  val MAP = 3
  val DIRECTORY = 4
  val ROOT = 5
}

case class FlashOp() extends Bundle {
  val op = UInt(4 bits)
  val ppn = UInt(30 bits)
  val frame = UInt(16 bits)
  val kind = UInt(8 bits)
  val lpn = UInt(32 bits)
  val sequence = UInt(48 bits)
  val cookie = UInt(16 bits)
}

case class FlashDone() extends Bundle {
  val cookie = UInt(16 bits)
  val status = UInt(3 bits)
  val kind = UInt(8 bits)
  val generation = UInt(32 bits)
  val lpn = UInt(32 bits)
  val sequence = UInt(48 bits)
}
