// SPDX-License-Identifier: Apache-2.0
package opentxssd

// Numbers that hardware, firmware, models and docs/interfaces.md share. Only numbers: what is made of them stands elsewhere.

/** Host commands. */
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

/** What a QUERY asks for: its `arg`. */
object Query {
  val TX = 0
  val CAPACITY = 1
  val PAGES_LEFT = 2
  val DROPPED = 3
  val RELEASED = 4
  val COMMITS = 5
  val TX_WALK = 6
  val WAITING = 7
  val MEMORY_ERRORS = 8
  val LOST_LOG_PAGES = 9
  val DOUBTFUL = 10
}

/** Status of a completion. */
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
}

/** Kinds of a map word, bits 31:30. */
object WordKind {
  val NONE = 0
  val NAND = 1
  val BUF = 2
  val VER = 3
}

/** State of a txid. */
object TxState {
  val FREE = 0
  val OPEN = 1
  val PREPARED = 2
  val COMMITTING = 3
  val COMMITTED = 4
  val ABORTED = 5
}

/** Ops of the remap engine. */
object RemapOpcode {
  val LOOKUP = 0
  val APPEND = 1
  val PLAIN = 2
  val SWAP = 3
  val TRIM = 4
}

/** Requests to change a transaction. */
object TxOpcode {
  val BEGIN = 0
  val COMMITTING = 1
  val COMMIT = 2
  val ABORT = 3
  val PREPARE = 4
  val RECOVER = 5 // names no txid
}

/** Kinds of a log entry. */
object LogKind {
  val MAP = 1
  val COMMIT = 2
  val ABORT = 3
  val TRIM = 4
  val PREPARE = 5
  val RELOCATE = 6
  val NOTE = 8 // means nothing to recovery; carries a watermark
}

/** Ops of a NAND channel. */
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

/** How an op ended. */
object PageStatus {
  val OK = 0
  val FAIL = 1
  val CRC = 2
  val BLANK = 3
  val TIMEOUT = 4
}

/** Kinds of a page, in its OOB. */
object PageKind {
  val DATA = 1
  val LOG = 2
  val MAP = 3
  val DIRECTORY = 4
  val ROOT = 5
}
