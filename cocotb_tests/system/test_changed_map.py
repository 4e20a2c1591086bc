# SPDX-License-Identifier: Apache-2.0
"""Pages that a checkpoint writes, and what a start takes: of the map only what changed
(docs/decisions/033-changed-map-pages.md).

Preset quick4 has two map pages, sim, with LONG=1, has 64: `LONG=1 pytest -s cocotb_tests/system/test_changed_map.py`
prints the figures.
"""

import pytest

from cocotb_tests.bench.amount import amount
from opentxssd import BLOCK, Drive
from soc import geometry

pytestmark = pytest.mark.forked
WORDS = 1024
# beside map pages, each twice: two directories, one page of erase counts, two roots, two seals, and up to six log pages
# for the notes of a checkpoint
OTHERS = 13


def block(n):
    return n.to_bytes(8, "little") * (BLOCK // 8)


def pages(drive):
    """NAND pages that the drive has programmed, as soon as firmware has said so."""
    drive.idle()
    drive.step(200_000)
    return drive.health().nand_pages


@pytest.mark.parametrize("preset", amount(["quick4"], ["quick4", "sim"]))
def test_a_checkpoint_and_a_start_write_what_changed(preset):
    g, d, want = geometry.preset(preset), Drive(preset), {}
    map_pages = -(-g.lbas // WORDS)

    def write(lba):
        want[lba] = block(len(want) + lba + 1)
        d.write(lba, want[lba])

    def checkpoint():
        before = pages(d)
        assert d.checkpoint()
        return pages(d) - before

    def start():
        """Clocks of a start after a power cut."""
        d.idle()
        d.power_cut(3)
        d.power_on()
        return d.clock

    for page in range(map_pages):
        write(page * WORDS + page % 7)
    whole = checkpoint()
    few = []
    for turn in range(4):
        for lba in range(3):  # of one map page
            write((turn % map_pages) * WORDS + 8 * turn + lba)
        few.append(checkpoint())
    assert 2 * map_pages <= whole <= 2 * map_pages + OTHERS
    assert max(few) <= 2 * 3 + OTHERS, "a page that changed, and one or two whose turn it is"
    write(WORDS + 3)
    one = start()
    for page in range(map_pages):
        write(page * WORDS + 40)
    every = start()
    print(
        f"{preset}: {map_pages} map pages; a checkpoint of all writes {whole} pages, after three writes {few}; a start "
        f"takes {one} clocks after one write, {every} after one of each map page"
    )
    assert one < every or map_pages < 8
    for lba, data in want.items():
        assert d.read(lba) == data, lba
