# SPDX-License-Identifier: Apache-2.0
"""The words of the host port: opcodes, status codes, what QUERY answers, sizes (of opentxssd.facts), completions,
errors. docs/interfaces.md, "Host port", says what each means.
"""

from collections import namedtuple
from enum import IntEnum

from opentxssd.facts import BLOCK, MAX_BLOCKS, TAGS, TXIDS, Opcode, PageKind, Query, Status, TxState

__all__ = [
    "BLOCK",
    "MAX_BLOCKS",
    "TAGS",
    "TXIDS",
    "CommandError",
    "Completion",
    "DriveError",
    "Opcode",
    "Query",
    "Status",
    "Torn",
    "TxState",
]


Torn = IntEnum("Torn", {"NOTHING": 0} | {kind.name: int(kind) for kind in PageKind} | {"BLOCK": 256}, module=__name__)
Torn.__doc__ = (
    "What a power cut now would tear on a die: a page of that kind that is programmed, or a block that is erased."
)


class Completion(namedtuple("Completion", "tag status result blocks clock data")):
    """The one answer to a command.

    `status` is a Status. `result` is the number that a QUERY answers. `clock`: when it came, in clocks since power on.
    `data` is what a READ delivered, as bytes, None of any other command; bit b of `blocks` is set if block b of it was
    delivered, a block that was not is zeroes.
    """

    __slots__ = ()


class DriveError(Exception):
    """The drive cannot be opened or does not answer; the text says why, in one line."""


class CommandError(Exception):
    """A command ended with another status than SUCCESS.

    `status` and `completion` are what it ended with; the drive goes on.
    """

    def __init__(self, opcode, completion):
        super().__init__(f"{opcode.name} ended with {completion.status.name}")
        self.status, self.completion = completion.status, completion
