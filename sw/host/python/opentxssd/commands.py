# SPDX-License-Identifier: Apache-2.0
"""The words of the host port: opcodes, status codes, what QUERY answers, sizes, errors. docs/interfaces.md, "Host port", says what each means."""

from collections import namedtuple
from enum import IntEnum

BLOCK = 4096  # bytes, the unit of addresses
MAX_BLOCKS = 32  # of one command
TAGS = 32  # commands under way at once
TXIDS = 32  # transactions open at once


class Opcode(IntEnum):
    """What a command does."""

    FLUSH, WRITE, READ, WRITE_ZEROES, TRIM = 0x00, 0x01, 0x02, 0x08, 0x09
    BEGIN, COMMIT, ABORT, RECOVER, QUERY = 0x80, 0x84, 0x88, 0x94, 0x98


class Status(IntEnum):
    """How a command ended."""

    SUCCESS, INVALID_OPCODE, INVALID_FIELD, LBA_RANGE, TX_INVALID, TX_BUSY, TX_FULL, TX_CONFLICT = range(8)
    MEDIA_ERROR, WRITE_FAULT, CAPACITY, READ_ONLY, ABORTED, NOT_READY = range(8, 14)


class Query(IntEnum):
    """The `arg` of a QUERY. TX and TX_WALK need a txid, the others take none."""

    TX, CAPACITY, PAGES_LEFT, DROPPED, RELEASED, COMMITS, TX_WALK, WAITING, MEMORY_ERRORS, LOST_LOG_PAGES, DOUBTFUL = range(11)


class TxState(IntEnum):
    """The state of a txid."""

    FREE, OPEN, PREPARED, COMMITTING, COMMITTED, ABORTED = range(6)


class Torn(IntEnum):
    """What a power cut now would tear on a die: a page of that kind that is programmed, or a block that is erased."""

    NOTHING, DATA, LOG, MAP, DIRECTORY, ROOT, BBT, SEAL = range(8)
    BLOCK = 256


class Completion(namedtuple("Completion", "tag status result blocks clock data")):
    """The one answer to a command.

    `status` is a Status. `result` is the number that a QUERY answers. `clock`: when it came, in clocks since power on. `data` is what a READ delivered, as bytes, None of
    any other command; bit b of `blocks` is set if block b of it was delivered, a block that was not is zeroes.
    """

    __slots__ = ()


class DriveError(Exception):
    """The drive cannot be opened or does not answer; the text says why, in one line."""


class CommandError(Exception):
    """A command ended with another status than SUCCESS. `status` and `completion` are what it ended with; the drive goes on."""

    def __init__(self, opcode, completion):
        super().__init__(f"{opcode.name} ended with {completion.status.name}")
        self.status, self.completion = completion.status, completion
