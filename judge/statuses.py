# SPDX-License-Identifier: Apache-2.0
"""Which status may answer which command (guarantees 12 to 14), and what the command did then.

`verdict` says `DONE` (it took effect), `NOTHING` (it changed nothing) or `PERHAPS` (nobody can tell), or raises the
Violation.
"""

from judge.format import RANGED
from judge.order import Violation
from judge.transactions import CLOSED, OPEN, PREPARED

DONE, NOTHING, PERHAPS = "done", "nothing", "perhaps"
WRITES = frozenset(("WRITE", "TRIM", "WRITE_ZEROES"))
MOST = 32  # blocks of a command
OF_A_TXID = (0, 6)  # QUERYs that name one
ROOM = WRITES | {"BEGIN", "PREPARE"}  # who may get CAPACITY; all others go on
FAILED = {"WRITE_FAULT": PERHAPS, "MEDIA_ERROR": PERHAPS, "READ_ONLY": NOTHING}  # where something may fail
ENDED = frozenset(("COMMIT", "ABORT"))
INPUT = frozenset(("INVALID_OPCODE", "INVALID_FIELD", "LBA_RANGE", "TX_INVALID"))


def faults(command, lbas, txids):
    """The statuses that bad input earns: it must get one of these. docs/interfaces.md, "What each command takes": flags
    and txids that a command does not take are refused, other values ignored."""
    must = set()
    op, tx = command.op, command.tx
    names = op in ("BEGIN", "COMMIT", "ABORT", "PREPARE") or op == "QUERY" and command.arg in OF_A_TXID
    if op in RANGED:
        if not 1 <= command.n <= MOST:
            must.add("INVALID_FIELD")
        if command.lba + max(command.n, 1) > lbas:
            must.add("LBA_RANGE")
    if tx is not None and tx >= txids and (op in RANGED or names):
        must.add("TX_INVALID")
    if tx is None and (names or command.commit) or tx is not None and not names and op not in RANGED:
        must.add("INVALID_FIELD")
    if command.commit and op != "WRITE" or command.fua and op not in WRITES:
        must.add("INVALID_FIELD")
    if command.relaxed and (command.fua or not (op == "COMMIT" or op == "WRITE" and command.commit)):
        must.add("INVALID_FIELD")
    if command.orderless and (op not in WRITES or tx is not None):
        must.add("INVALID_FIELD")
    if command.barrier and op not in (*WRITES, "COMMIT", "BARRIER"):
        must.add("INVALID_FIELD")
    if op == "RFLUSH" and not command.arg:
        if command.n < 1:
            must.add("INVALID_FIELD")
        if command.lba + max(command.n, 1) > lbas:
            must.add("LBA_RANGE")
    if op in ("CHECKPOINT", "RFLUSH") and (command.arg or 0) > 1:
        must.add("INVALID_FIELD")
    return must


def wrong(command, numbers, words):
    return Violation(numbers, f"{command} got {command.status}: {words}", (command.submit, command.done))


def verdict(command, mode, may, failing):
    """`may`: what its txid may have been when it was submitted, bits of CLOSED, OPEN and PREPARED (None: no txid,
    or another end of the transaction is under way). `failing`: programs, erases or memories may fail, or the test
    did damage: only then does a drive answer that it could not."""
    status, op = command.status, command.op
    if status == "NOT_READY":
        if mode != "closed":
            raise wrong(command, (11, 12), "the drive is on")
        return NOTHING
    if command.must:
        if status in command.must or status == "READ_ONLY" and op != "READ" and (failing or mode == "read-only"):
            return NOTHING
        raise wrong(command, (12,), f"bad input, to be answered with {' or '.join(sorted(command.must))}")
    if op == "QUERY":
        if status not in ("SUCCESS", "INVALID_FIELD"):  # there may be no such thing to ask for
            raise wrong(command, (12,), "not a status of this command")
        return DONE if status == "SUCCESS" else NOTHING
    if status == "TX_INVALID" and command.tx is not None and op != "BEGIN":
        if (
            op in WRITES
            and command.alone
            and not (may and may & PREPARED)
            or may == OPEN
            or may == PREPARED
            and op in ENDED
        ):
            raise wrong(
                command,
                (8, 12) if may == PREPARED else (12,),
                f"a {op.replace('_', ' ')} opens its txid" if op in WRITES else f"txid {command.tx} is not free",
            )
        return NOTHING
    if status in INPUT or status == "TX_CONFLICT":
        raise wrong(command, (12,), "the command is valid")
    if op == "READ":
        if status in ("SUCCESS", "MEDIA_ERROR"):
            return DONE
        raise wrong(command, (14,) if status == "READ_ONLY" else (12,), "not a status of a READ")
    if status == "TX_BUSY":
        if op != "BEGIN" or may == CLOSED and command.alone:
            raise wrong(
                command, (12,), f"txid {command.tx} is not open" if op == "BEGIN" else "only BEGIN can get that"
            )
        return NOTHING
    if status == "TX_FULL":
        if op not in WRITES or command.tx is None:
            raise wrong(command, (13,), "only a write in a transaction can get that")
        return NOTHING
    if status == "SUCCESS":
        if mode == "read-only" and op in ROOM:
            raise wrong(command, (14,), "the drive has said that it is read-only")
        if op == "BEGIN" and may and not may & CLOSED:
            raise wrong(command, (8, 12) if may & PREPARED else (12,), f"txid {command.tx} is open already")
        if (op in WRITES or op == "PREPARE") and may == PREPARED:
            raise wrong(command, (8, 12), f"txid {command.tx} is prepared")
        if op in (*ENDED, "PREPARE") and may == CLOSED:
            raise wrong(command, (12,), f"txid {command.tx} is not open")
        return DONE
    if status == "CAPACITY":
        if op not in ROOM:
            raise wrong(command, (12,), f"a {op} needs no room that is not kept for it")
        return NOTHING
    if status not in FAILED:
        raise wrong(command, (12,), "not a status of this command")
    if not (failing or status == "READ_ONLY" and mode == "read-only"):
        raise wrong(command, (14,), "nothing has failed")
    return FAILED[status]
