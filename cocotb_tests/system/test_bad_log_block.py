# SPDX-License-Identifier: Apache-2.0
"""A block of the log in which no program succeeds, on a drive of four channels: every write is acknowledged, the copies
go to other lanes (docs/decisions/011-failing-nand.md), and after a power cut all of them are there."""

import os

import pytest

from cocotb_tests.system.filling import Filling
from opentxssd import Status
from opentxssd.facts import Query
from opentxssd.faults import Fault, Faults, Place
from opentxssd.recover.drive import Recovered
from opentxssd.recover.image import Image

pytestmark = pytest.mark.forked
PRESET, WRITES = "quick4", 60
PAGES = 16  # of its blocks


def write_all(f, writes=WRITES):
    """Each in a log page of its own."""
    for n in range(writes):
        status, new = f.write(n % 32, 1, fua=1)
        assert status == Status.SUCCESS, f"write {n}: {Status(status).name}"
        f.version[n % 32] = new[n % 32]


def first_places(path):
    """Of the pages of the log: number, and the place of the copy that is the first page of a block."""
    image = Image(path)
    try:
        pages = Recovered(image).log.before
    finally:
        image.close()
    return [(page.number, place) for page in pages for place in page.places if place.page == 0]


@pytest.fixture(scope="module")
def later_blocks(tmp_path_factory):
    """Blocks that the log of `write_all` comes to while it runs, in that order."""
    path = tmp_path_factory.mktemp("image") / "whole.nand"
    child = os.fork()
    if child == 0:
        f = Filling(PRESET, 1, 32, path)
        write_all(f)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    return [(place.die, place.block) for number, place in first_places(path) if number > 2]


def wholly_bad(blocks):
    return [Place(Fault.PROGRAM_FAILS, die, block, page) for die, block in blocks for page in range(PAGES)]


@pytest.mark.parametrize("which", [0, 1])
def test_nothing_is_lost_when_no_program_succeeds_in_a_block_of_the_log(later_blocks, which):
    assert len(later_blocks) >= 2
    f = Filling(PRESET, 1, 32)
    f.drive.set_faults(Faults(seed=1, places=wholly_bad(later_blocks[which : which + 1])))
    write_all(f)
    assert f.drive.faults_seen()["program_fails"] == 4, "a copy has four places in a lane"
    f.restart(cut=True)
    assert f.drive.query(Query.LOST_LOG_PAGES) == f.drive.query(Query.DOUBTFUL) == f.drive.query(Query.DROPPED) == 0
    f.verify()
    write_all(f, 8)
    f.restart(cut=True)
    f.verify()
