# SPDX-License-Identifier: Apache-2.0
"""The whole drive of preset rich, whose code corrects 24 wrong bits in 1,024 bytes, on NAND that reads one bit in a
thousand wrong: far more than the shorter code stands.
Pages with flipped bits: test_page_errors.py."""

import random
from pathlib import Path

import pytest

from cocotb_tests.system.pages import data, flip, pages, rows_of
from cocotb_tests.system.weak_pages import rest, spoil, unread
from opentxssd import BLOCK, Drive, Opcode, Status, TxState
from opentxssd.faults import Cut, Faults, PartFaults

ROOT = Path(__file__).resolve().parent.parent.parent

pytestmark = pytest.mark.forked
BER = 10**9  # 1e-3 per bit and read
AT = 15  # refresh_at of soc/geometry.py


def holds(drive, want):
    got = drive.read(0, 32)
    wrong = [
        lba
        for lba in range(32)
        if got[BLOCK * lba : BLOCK * (lba + 1)] != (data(want[lba]) if lba in want else bytes(BLOCK))
    ]
    assert not wrong, f"blocks {wrong} are lost"


def test_one_wrong_bit_in_a_thousand_loses_nothing_over_power_cuts():
    drive, rng, want, version = Drive("rich", faults=Faults(seed=1, ber=BER)), random.Random(1), {}, 0
    for cut in (Cut.ANY, Cut.SUBSET):
        for txid in (None, 5, None, 9, None):
            lba, count = rng.randrange(24), rng.randrange(1, 9)
            new = {lba + n: version + n for n in range(count)}
            version += count
            drive.write(lba, b"".join(map(data, new.values())), txid=txid)
            if txid is not None:
                drive.commit(txid)
            want |= new
        drive.flush()
        holds(drive, want)
        drive.write(0, data(10**6), txid=3)  # not committed
        drive.power_cut(rng.getrandbits(32), program=cut)
        drive.power_on()
        assert drive.tx(3)[0] == TxState.FREE
        holds(drive, want)
    seen = drive.faults_seen()["flips"]
    print(f"FIGURE {seen} wrong bits, {version} blocks written")
    assert seen > 10_000
    drive.power_cut()


def test_the_shorter_code_does_not_stand_that():
    drive = Drive("tiny")
    for lba in range(64):
        drive.write(lba, data(lba))
    assert drive.idle()
    drive.set_faults(Faults(seed=1, ber=BER))
    failed = [lba for lba in range(64) if drive.command(Opcode.READ, lba, 1, check=False).status == Status.MEDIA_ERROR]
    assert len(failed) > 2
    drive.power_cut()


@pytest.fixture(scope="module")
def drive():
    return Drive("rich")


def test_pages_with_fifteen_corrected_bits_in_a_chunk_are_written_again_and_with_fourteen_not(drive):
    counts = [AT - 1, AT, 24, 8]
    for lba in range(4):
        drive.write(lba, data(lba))
    drive.flush()
    assert drive.idle()
    old = [rows_of(drive, lba)[0] for lba in range(4)]
    for lba, count in enumerate(counts):
        flip(drive, old[lba], [count if chunk == lba else 0 for chunk in range(4)], lba)
    assert drive.read(0, 4) == b"".join(map(data, range(4)))
    rest(drive)
    for lba, count in enumerate(counts):
        spoil(drive, old[lba])
        assert unread(drive, lba) == (count < AT), f"block {lba} with {count} wrong bits"
    drive.power_cut()


def test_only_the_spare_bytes_that_are_used_are_written(drive):
    drive.write(0, data(0), fua=1)
    (page,) = pages(drive, 1).values()
    assert (
        len(page) == 4096 + 224 and page[4096 + 192 :] == b"\xff" * 32 and page[4096 + 24 : 4096 + 192].count(0xFF) < 8
    )
    drive.power_cut()


@pytest.mark.parametrize("spare", [128, 191])
def test_a_part_with_too_few_spare_bytes_is_refused(spare):
    drive = Drive("rich", boot=False, part_faults=PartFaults(spare_bytes=spare))
    while "\n" not in drive.uart and drive.clock < 3_000_000:
        assert not drive.boot_some(5_000)
    assert (
        drive.uart == f"otx: not ready: OPENTXSSD NAND MODEL has {spare} spare bytes in a page, the drive needs 192\n"
    )
    assert drive.lib.otx_nand_count(1) == drive.lib.otx_nand_count(2) == 0
