# SPDX-License-Identifier: Apache-2.0
"""OpenTxSSD for Python: the transactional SSD, simulated to the clock, as an object.

`Drive` is the drive, `opentxssd.faults` what can be wrong with its NAND, `opentxssd.record` writes down what a client
asks and is told.
"""

from opentxssd.commands import (
    BLOCK,
    MAX_BLOCKS,
    TAGS,
    TXIDS,
    CommandError,
    Completion,
    DriveError,
    Opcode,
    Query,
    Status,
    Torn,
    TxState,
)
from opentxssd.drive import BOOT_CLOCKS, CLOSE_CLOCKS, COMMAND_CLOCKS, Drive
from opentxssd.library import load, open_image

__all__ = [
    "BLOCK",
    "BOOT_CLOCKS",
    "CLOSE_CLOCKS",
    "COMMAND_CLOCKS",
    "CommandError",
    "Completion",
    "Drive",
    "DriveError",
    "MAX_BLOCKS",
    "Opcode",
    "Query",
    "Status",
    "TAGS",
    "TXIDS",
    "Torn",
    "TxState",
    "load",
    "open_image",
]
