# SPDX-License-Identifier: Apache-2.0
"""The whole drive with a part that has cache operations and two planes (preset rich): they are used,
and what they did is what was written, also after power cuts and failures in them."""

import random
from pathlib import Path

from cocotb_tests.bench.amount import amount
from cocotb_tests.system.load import AREA, Load
from cocotb_tests.system.overlap import counts, filled, holds, uncommitted
from opentxssd import Drive
from opentxssd.faults import Cut, Faults

ROOT = Path(__file__).resolve().parent.parent.parent


def test_long_reads_and_writes_use_cache_and_planes():
    drive, count = Drive("rich"), 96
    before = counts(drive)
    begin = drive.clock
    filled(drive, 1, count)
    wrote, middle = drive.clock - begin, counts(drive)
    begin = drive.clock
    holds(drive, 1, count)
    read, after = drive.clock - begin, counts(drive)
    reads, together = after[0] - middle[0], middle[2] - before[2]
    page = 4288 * 2  # clocks on the bus: 4,096 + 192 bytes
    print(
        f"FIGURE {count} blocks: {wrote / count:.0f} clocks each to write, {read / count:.0f} to read ({page} on the "
        "bus, tPROG 1,000, tR 100)"
    )
    print(f"FIGURE {together} programs shared their time, {reads} reads")
    assert together > count // 2 and reads > count // 4
    assert wrote / count < page + 1_500


def test_power_cuts_in_cache_programs_and_planes_lose_nothing():
    drive = Drive("rich")
    for seed in range(amount(2, 12)):
        load, begin, rng = Load(drive, seed), counts(drive), random.Random(seed)
        wanted = rng.randrange(1, 12)
        load.run(
            lambda begin=begin, wanted=wanted: (
                counts(drive)[2] > begin[2] + wanted or counts(drive)[1] > begin[1] + wanted
            )
        )
        drive.power_cut(seed)
        drive.power_on()
        for lba in range(AREA):
            assert drive.read(lba) in load.may[lba], f"block {lba} is neither what was flushed nor written since"


def test_failing_programs_and_every_kind_of_cut_lose_nothing():
    drive = Drive("rich", faults=Faults(seed=5, ber=10**8, program_fail_ppm=30_000, erase_fail_ppm=20_000))
    behind = 0  # of a block that is alone because the other one of its pair failed
    for seed, cut in enumerate(amount((Cut.PREFIX, Cut.ANY), (Cut.SUBSET, Cut.PREFIX, Cut.UNREADABLE, Cut.ANY))):
        begin = counts(drive)[1]
        filled(drive, seed + 1, 64)
        behind += counts(drive)[1] - begin
        uncommitted(drive, 1)
        drive.power_cut(seed, program=cut)
        drive.power_on()
        holds(drive, seed + 1, 64)
    seen = drive.faults_seen()
    print(f"FIGURE {seen['program_fails']} programs and {seen['erase_fails']} erases failed")
    print(f"FIGURE {behind} programs went behind one another")
    assert seen["program_fails"] > 1 and behind > 0
