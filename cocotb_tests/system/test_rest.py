# SPDX-License-Identifier: Apache-2.0
"""Blocks of the simulated drive that rest (sim/rest): with them the drive does what it does without, clock by clock."""

import multiprocessing

import pytest

from cocotb_tests.bench.amount import amount
from cocotb_tests.system.traffic import Flavour, Traffic
from opentxssd import Drive


def story(preset, seed, rests, out):
    """The history of random traffic, three power cuts and the boots behind them, with the clocks of each; how often a
    block went to rest from the end of the first boot on.
    """
    drive = Drive(preset, boot=False)
    drive.lib.otx_rest(rests)
    drive.boot()
    begin = drive.lib.otx_rests()
    traffic = Traffic(drive, preset=preset)
    clocks = [drive.clock]
    for session, flavour in enumerate((Flavour.MIXED, Flavour.TX, Flavour.RELAXED)):
        traffic.begin(seed + session, flavour, 0, 64)
        traffic.run(30_000)
        if session == 1:
            traffic.finish()
        clocks.append(drive.clock)
        traffic.cut(seed + session)
        traffic.boot()
        traffic.read(0, 64)
        clocks.append(drive.clock)
    traffic.judge_now()
    out.send((clocks, traffic.lines, drive.lib.otx_rests() - begin))


@pytest.mark.parametrize("preset", amount(["quick4"], ["quick", "quick4", "buffered"]))
def test_a_drive_that_rests_does_the_same_clock_by_clock(preset):
    context = multiprocessing.get_context("fork")
    found = []
    for rests in (0, 1):
        ours, theirs = context.Pipe(duplex=False)
        child = context.Process(target=story, args=(preset, 1, rests, theirs))
        child.start()
        theirs.close()
        found.append(ours.recv())
        child.join()
    (clocks, lines, _), (clocks_too, lines_too, rested) = found
    assert clocks == clocks_too
    assert lines == lines_too and len(lines) > 200
    assert found[0][2] == 0 and rested > 10_000
