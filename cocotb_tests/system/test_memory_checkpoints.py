# SPDX-License-Identifier: Apache-2.0
"""The whole drive: after an error of table memory no checkpoint takes the place of the log, so a block whose word was
lost by it is there again after the next mount (docs/decisions/023-checkpoints.md)."""

import re

import pytest

from cocotb_tests.system.registers import Registers
from opentxssd import BLOCK, Drive, Query
from soc import geometry

pytestmark = pytest.mark.forked
G = geometry.preset("quick")


def data(n):
    return (n + 1).to_bytes(8, "little") * (BLOCK // 8)


@pytest.mark.parametrize("errs", [False, True])
def test_no_checkpoint_takes_the_place_of_the_log_after_an_error_of_table_memory(errs):
    drive = Drive("quick")
    drive.write(20, data(20))
    if errs:
        drive.lib.otx_sim_mem_set_bad(G.table_base + 4 * 20, 16)
    assert drive.idle()  # the page is programmed; its SWAP has failed, and the word is that of a frame
    drive.lib.otx_sim_mem_set_bad(0, 0)
    with Registers(drive).held() as registers:
        assert registers.read("memory_errors") == drive.query(Query.MEMORY_ERRORS) == int(errs)
    pages = 3 * G.checkpoint_pages
    for n in range(pages):
        drive.write(32 + n % 8, data(n), fua=1)
    assert drive.idle()
    assert ("table memory has erred; no checkpoints" in drive.uart) == errs
    drive.power_cut()
    drive.power_on()
    assert drive.read(20) == data(20)
    log_pages = int(re.search(r": ([\d,]+) log pages?,", drive.uart)[1].replace(",", ""))
    assert (log_pages >= pages) == errs, drive.uart
