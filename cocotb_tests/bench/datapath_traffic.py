# SPDX-License-Identifier: Apache-2.0
"""What the data path may be sent, and the Verilog of it that is tested."""

import os

from cocotb_tests.bench.datapath_bench import (
    ABORT,
    BEGIN,
    COMMIT,
    GEOMETRY,
    PREPARE,
    READ,
    RECOVER,
    TRIM,
    WRITE,
    ZEROES,
)
from cocotb_tests.bench.datapath_engine import ABORTED, COMMITTED
from cocotb_tests.bench.spinal import generated

# log pages that writes leave alone (LogReserve.scala)
RESERVE = 45 + max(GEOMETRY.pages_per_block, GEOMETRY.lanes * GEOMETRY.pages_per_block // 2)


def conflict(a, c):
    """The command queue's rule (docs/interfaces.md, "Command queue to data path")."""
    ranged = (WRITE, READ, TRIM, ZEROES)
    over = (
        a["opcode"] in ranged
        and c["opcode"] in ranged
        and a["lba"] < c["lba"] + c["count"]
        and c["lba"] < a["lba"] + a["count"]
    )
    ends = [x["opcode"] in (BEGIN, PREPARE, COMMIT, ABORT) or x["opcode"] == WRITE and x["commit"] for x in (a, c)]
    if over and (a["opcode"] != READ or c["opcode"] != READ):
        return True
    if a["hasTx"] and c["hasTx"] and a["txid"] == c["txid"] and any(ends):
        return True
    return RECOVER in (a["opcode"], c["opcode"]) and (a["hasTx"] or c["hasTx"])


def may_go(b, cmd, opens):
    """A tag is free, nothing under way conflicts, and a txid to be opened is not being walked."""
    walked = opens and b.state[cmd["txid"]] in (COMMITTED, ABORTED)
    return b.free_tags and not walked and not any(conflict(a, cmd) for a in b.active.values())


def verilog():
    """The Verilog for this geometry; OTX_DATAPATH_VERILOG_DIR names a folder with other."""
    given = os.environ.get("OTX_DATAPATH_VERILOG_DIR")
    return f"{given}/otx_data_path.v" if given else generated(GEOMETRY, "otx_data_path")
