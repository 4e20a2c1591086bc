# SPDX-License-Identifier: Apache-2.0
"""The whole drive with a part that suspends programs and erases for reads of the host (preset small: cache programs and
pairs of planes are not suspended).
"""

from pathlib import Path

from cocotb_tests.bench.amount import amount
from cocotb_tests.system.load import Load, suspensions
from opentxssd import Drive

ROOT = Path(__file__).resolve().parent.parent.parent


def test_reads_interrupt_programs_and_everything_is_what_was_written():
    drive = Drive("small")
    load, begin = Load(drive, 1), suspensions(drive)
    load.run(lambda: suspensions(drive) >= begin + 6)  # rare: a page takes the bus longer than the array
    while load.under_way:
        assert drive.step(1_000_000)
        load.take()
    load.may = {lba: {data} for lba, data in load.now.items()}
    assert not load.lost()


def test_a_power_cut_in_a_suspension_loses_nothing():
    drive = Drive("small")
    for seed in range(amount(2, 12)):
        load, begin = Load(drive, seed), suspensions(drive)
        load.run(lambda begin=begin: suspensions(drive) > begin + 2)
        drive.power_cut(seed)
        drive.power_on()
        assert not load.lost()
