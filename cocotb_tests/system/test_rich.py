# SPDX-License-Identifier: Apache-2.0
"""The whole drive of preset rich: several dies, the longer code, scrambled pages, suspension, cache operations, planes
and read retry at once, on NAND with every fault.
"""

from pathlib import Path

from cocotb_tests.system.load import suspensions
from cocotb_tests.system.overlap import counts, filled, holds, uncommitted
from opentxssd import Drive, Opcode, Status, TxState
from opentxssd.faults import Cut, CutErase, Faults

ROOT = Path(__file__).resolve().parent.parent.parent

FAULTS = dict(
    bad_ppm=20_000,
    program_fail_ppm=40_000,
    erase_fail_ppm=40_000,
    erase_fail_after=1,
    ber=10**8,
    drift_ppm=100_000,
    ber_drift=2 * 10**10,
)
RETRIED = 7  # otx_nand_count
AREA = 64


def test_all_that_a_part_can_do_and_all_that_can_go_wrong_with_it():
    drive = Drive("rich", faults=Faults(seed=12, **FAULTS))
    for turn, cut in enumerate((Cut.ANY, Cut.UNREADABLE)):
        filled(drive, turn + 1, AREA)
        for _ in range(2):  # reads beside the programs that follow
            tags = [drive.submit(Opcode.READ, lba, 8) for lba in range(0, AREA, 8)]
            filled(drive, turn + 1, 32)
            for tag in tags:
                assert drive.wait(tag).status == Status.SUCCESS
        uncommitted(drive, 32)
        drive.power_cut(turn, program=cut, erase=CutErase.ANY)
        drive.power_on()
        assert drive.tx(3)[0] == TxState.FREE
        holds(drive, turn + 1, AREA)
    seen = drive.faults_seen()
    used = [suspensions(drive), *counts(drive), drive.lib.otx_nand_count(RETRIED)]
    print(
        f"FIGURE suspensions, cache reads, cache programs, shared array times, reads at another level: {used}; {seen}"
    )
    assert all(used) and seen["flips"] > 1000 and seen["program_fails"] and seen["drifted"]
    drive.power_cut()
