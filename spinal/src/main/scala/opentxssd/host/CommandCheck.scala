// SPDX-License-Identifier: Apache-2.0
package opentxssd.host

import opentxssd._
import spinal.core._

/** What a command is, decided from its opcode and flags alone, and whether it is a legal command at all
  * (docs/interfaces.md, "Host port": precedence of the status codes). Combinational.
  */
case class CommandCheck(p: OtxParam, cmd: HostCmd, enable: Bool) extends Area {
  private def is(codes: Int*) = codes.map(cmd.opcode === _).reduce(_ || _)

  val writesData = is(Opcode.WRITE)
  val clears = is(Opcode.TRIM, Opcode.WRITE_ZEROES)
  val writes = writesData || clears
  val reads = is(Opcode.READ)
  val ranged = writes || reads
  val recovers = is(Opcode.RECOVER)
  val asks = is(Opcode.CHECKPOINT)
  private val flushesRange = is(Opcode.RFLUSH) && !cmd.arg(0)
  val namesTx = is(Opcode.BEGIN, Opcode.COMMIT, Opcode.ABORT, Opcode.PREPARE)
  val queriesTx = is(Opcode.QUERY) && (cmd.arg === Query.TX || cmd.arg === Query.TX_WALK)

  /** Needs pages of the log, now or, when what it opens or prepares ends, later. */
  val takesLog = writes || is(Opcode.BEGIN, Opcode.PREPARE)

  /** Belongs to a transaction: it must keep order with what opens, prepares, commits, aborts or queries it. */
  val inTx = namesTx || queriesTx || (ranged && cmd.hasTx)

  /** Opens, prepares, commits, aborts or queries: everything else of the same transaction keeps order with it. */
  val controlsTx = namesTx || queriesTx || (writesData && cmd.commit)

  /** Would open a txid that is FREE. */
  val opensTx = is(Opcode.BEGIN) || (writes && cmd.hasTx)

  private val plain = writes && !cmd.hasTx

  /** Recovery keeps its place among the epochs: it must be in the one that is open when it is accepted. */
  val keepsOrder = plain && !cmd.orderless || is(Opcode.COMMIT) || writesData && cmd.commit
  val closesEpoch = is(Opcode.BARRIER) || cmd.barrier

  private val known =
    ranged || namesTx || recovers || asks || is(Opcode.FLUSH, Opcode.RFLUSH, Opcode.QUERY, Opcode.BARRIER)
  private val badLength =
    flushesRange && cmd.count === 0 || ranged && (cmd.count === 0 || cmd.count > OtxParam.maxBlocks)
  private val badFlag = cmd.order > Order.HEAD_OF_QUEUE || (cmd.orderless && !plain) ||
    (cmd.barrier && !(writes || is(Opcode.COMMIT))) ||
    (cmd.fua && !writes) ||
    (cmd.commit && !(writesData && cmd.hasTx)) ||
    (cmd.relaxed && !is(Opcode.COMMIT) && !cmd.commit) || (cmd.relaxed && cmd.fua) ||
    (cmd.hasTx && !(ranged || namesTx || queriesTx)) || (!cmd.hasTx && (namesTx || queriesTx))
  private val badQuery = is(Opcode.QUERY) && Queries.isUnknown(cmd.arg) || (asks || is(Opcode.RFLUSH)) && cmd.arg > 1
  private val pastEnd = (ranged || flushesRange) && (cmd.lba +^ cmd.count) > U(p.lbas, 33 bits)
  private val badTxid = inTx && cmd.txid >= OtxParam.txids

  val status = UInt(4 bits)
  status := Status.SUCCESS
  when(badTxid)(status := Status.TX_INVALID)
  when(pastEnd)(status := Status.LBA_RANGE)
  when(badLength || badFlag || badQuery)(status := Status.INVALID_FIELD)
  when(!known)(status := Status.INVALID_OPCODE)
  when(!enable)(status := Status.NOT_READY)
}
