# SPDX-License-Identifier: Apache-2.0
"""Which status may answer which command (guarantees 12 to 14), and what the command did then.

`verdict` says `DONE` (it took effect), `NOTHING` (it changed nothing) or `PERHAPS` (nobody can tell), or raises the Violation.
"""

from judge.format import RANGED
from judge.order import Violation
from judge.transactions import CLOSED, OPEN

DONE, NOTHING, PERHAPS = "done", "nothing", "perhaps"
WRITES = frozenset(("WRITE", "TRIM", "WRITE_ZEROES"))
MOST = 32  # blocks of a command
FAILED = {"WRITE_FAULT": PERHAPS, "MEDIA_ERROR": PERHAPS, "ABORTED": PERHAPS, "CAPACITY": NOTHING, "READ_ONLY": NOTHING}
INPUT = frozenset(("INVALID_OPCODE", "INVALID_FIELD", "LBA_RANGE", "TX_INVALID"))


def faults(command, lbas, txids):
    """The statuses that bad input earns: (one of these it must get, these it may get)."""
    must, may = set(), set()
    op, tx = command.op, command.tx
    if op in RANGED:
        if not 1 <= command.n <= MOST:
            must.add("INVALID_FIELD")
        if command.lba + max(command.n, 1) > lbas:
            must.add("LBA_RANGE")
    if tx is not None and tx >= txids and (op in RANGED or op in ("BEGIN", "COMMIT", "ABORT")):
        must.add("TX_INVALID")
    if tx is None and (op in ("BEGIN", "COMMIT", "ABORT") or op == "WRITE" and command.commit):
        must |= {"TX_INVALID", "INVALID_FIELD"}
    if command.commit and op not in ("WRITE", "COMMIT"):
        must.add("INVALID_FIELD")
    if command.fua and (op != "WRITE" or command.relaxed) or command.relaxed and not (op == "COMMIT" or op == "WRITE" and command.commit) or command.commit and op == "COMMIT":
        may.add("INVALID_FIELD")
    if op not in RANGED and (command.n or command.lba):
        may |= {"INVALID_FIELD", "LBA_RANGE"}
    return must, may


def wrong(command, numbers, words):
    return Violation(numbers, f"{command} got {command.status}: {words}", (command.submit, command.done))


def verdict(command, mode, may):
    """`may`: CLOSED, OPEN or EITHER, what its txid was when it was submitted (None: no txid, or another end of the transaction is under way)."""
    status, op = command.status, command.op
    if status == "NOT_READY":
        if mode != "closed":
            raise wrong(command, (11, 12), "the drive is on")
        return NOTHING
    if command.must:
        if status in command.must or status == "READ_ONLY" and op != "READ":
            return NOTHING
        raise wrong(command, (12,), f"bad input, to be answered with {' or '.join(sorted(command.must))}")
    if status in command.could:
        return NOTHING
    if op == "QUERY":
        if status in ("TX_CONFLICT", "INVALID_OPCODE"):
            raise wrong(command, (12,), "not a status of this command")
        return DONE if status == "SUCCESS" else NOTHING
    if status == "TX_INVALID" and command.tx is not None and op != "BEGIN":
        if op == "WRITE" or may == OPEN:
            raise wrong(command, (12,), "a WRITE opens its txid" if op == "WRITE" else f"txid {command.tx} is open")
        return NOTHING
    if status in INPUT or status == "TX_CONFLICT":
        raise wrong(command, (12,), "the command is valid")
    if op == "READ":
        if status in ("SUCCESS", "MEDIA_ERROR"):
            return DONE
        raise wrong(command, (14,) if status == "READ_ONLY" else (12,), "not a status of a READ")
    if status == "TX_BUSY":
        if op != "BEGIN" or may == CLOSED and command.alone:
            raise wrong(command, (12,), f"txid {command.tx} is not open" if op == "BEGIN" else "only BEGIN can get that")
        return NOTHING
    if status == "TX_FULL":
        if op not in WRITES or command.tx is None:
            raise wrong(command, (13,), "only a write in a transaction can get that")
        return NOTHING
    if status == "SUCCESS":
        if op == "BEGIN" and may == OPEN:
            raise wrong(command, (12,), f"txid {command.tx} is open already")
        if op in ("COMMIT", "ABORT") and may == CLOSED:
            raise wrong(command, (12,), f"txid {command.tx} is not open")
        return DONE
    return FAILED[status]
