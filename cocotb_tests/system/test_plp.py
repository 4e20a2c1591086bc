# SPDX-License-Identifier: Apache-2.0
"""The whole drive with PLP (settings `plp_us`, `plp_page_ns`): what completed is durable and costs no NAND program,
what is held never takes more energy than there is, and power that fails at random clocks; and the three persist orders.
"""

import os
import random
import subprocess
import sys

import pytest

from cocotb_tests.system.variant import firmware
from opentxssd import BLOCK, Drive, Opcode, Query, Status, TxState
from opentxssd.facts import BEATS
from soc import geometry

pytestmark = pytest.mark.forked
PROGRAMS = 1  # of otx_nand_count
LONG = int(os.environ.get("LONG", "0"))
ZEROES = bytes(BLOCK)
CLOCKS_US = 100
# one program of preset quick takes 5 us, and the page 512 clocks
PLP = dict(buffer_percent=95, plp_us=580, plp_page_ns=10_500)
ENERGY = PLP["plp_us"] * CLOCKS_US


def data(lba, version=0, blocks=1):
    return b"".join((lba + n << 32 | version).to_bytes(8, "little") * (BLOCK // 8) for n in range(blocks))


def programs(drive):
    return drive.lib.otx_nand_count(PROGRAMS)


@pytest.fixture
def drive():
    drive = Drive("quick", firmware=firmware("quick", **PLP))
    drive.step(100_000)  # blocks are erased ahead
    return drive


def fails(drive, clocks=ENERGY, seed=5):
    """Power fails and comes back; the clocks until all was saved."""
    saved = drive.power_fail(clocks)
    drive.power_cut(seed)
    drive.power_on()
    return saved


def test_what_completed_is_durable_and_cost_no_program(drive):
    before, want = programs(drive), {}
    for lba in range(12):
        drive.write(lba, data(lba, 1), fua=lba % 2)
        want[lba] = data(lba, 1)
    drive.write(20, data(20, 1, 4))
    want |= {20 + n: data(20 + n, 1) for n in range(4)}
    drive.flush()
    drive.rflush(0, 8)
    drive.rflush(stream=0)
    drive.barrier()
    drive.write(4, data(4, 2), barrier=1)
    want[4] = data(4, 2)
    assert programs(drive) == before
    assert fails(drive) is not None
    assert {lba: drive.read(lba) for lba in want} == want


def test_a_commit_waits_for_no_program_and_is_durable(drive):
    for lba in range(6):
        drive.write(lba, data(lba, 1), txid=3)
    drive.write(8, data(8, 1), txid=4)
    drive.write(9, data(9, 1), txid=5)
    clock = drive.clock
    drive.commit(3)
    took = drive.clock - clock
    drive.prepare(4)
    assert took < geometry.preset("quick").timing.t_prog // 10, f"a COMMIT took {took} clocks"
    assert fails(drive) is not None
    assert [drive.read(lba) for lba in range(6)] == [data(lba, 1) for lba in range(6)]
    assert drive.read(9) == ZEROES and drive.tx(5) == (TxState.FREE, 0)
    assert drive.tx(4)[0] == TxState.PREPARED
    drive.commit(4)
    assert fails(drive) is not None and drive.read(8) == data(8, 1)


def test_a_trim_over_what_waits_is_durable(drive):
    drive.write(2, data(2, 1, 4))
    drive.trim(3, 2)
    assert fails(drive) is not None
    assert [drive.read(lba) for lba in range(2, 6)] == [data(2, 1), ZEROES, ZEROES, data(5, 1)]


def test_too_little_energy_loses_what_was_acknowledged(drive):
    """The simulator ends everything with the energy: this drive says that it has more than it gets."""
    for lba in range(30):
        drive.write(lba, data(lba, 1))
    assert fails(drive, 10_000) is None
    assert any(drive.read(lba) == ZEROES for lba in range(30))


@pytest.mark.parametrize("busy", [False, True])
def test_no_more_is_held_than_there_is_energy_for(drive, busy):
    """40 frames are there; there is energy for 32 programs beside what is always counted."""
    rounds = geometry.replace(geometry.preset("quick"), **PLP).plp_rounds
    assert rounds < geometry.preset("quick").write_frames
    before = programs(drive)
    for lba in range(rounds):
        drive.write(lba, data(lba, 1))
    drive.step(2_000)
    assert programs(drive) == before, "these could have waited"
    tags = [drive.submit(1, lba, 1, data(lba, 1)) for lba in range(rounds, rounds + 5)]
    if busy:
        drive.step(3_000)
        assert programs(drive) > before, "more is held than there is energy for"
    for tag in tags if not busy else ():
        drive.wait(tag)
    done = rounds + (0 if busy else 5)
    saved = fails(drive)
    assert saved is not None and [drive.read(lba) for lba in range(done)] == [data(lba, 1) for lba in range(done)]


def test_a_die_that_is_erased_and_reads_that_wait_do_not_hold_up_what_is_saved(drive):
    """All at once: erases of collection, reads, and as much as may be held."""
    g, rng = geometry.preset("quick"), random.Random(7)
    for n in range(2 * g.raw_pages):
        drive.write(rng.randrange(g.lbas), data(0, n))
    for round_ in range(12 if LONG else 4):
        want = {}
        for lba in rng.sample(range(g.lbas), 40):
            drive.write(lba, data(lba, round_))
            want[lba] = data(lba, round_)
        for lba in rng.sample(range(g.lbas), 24):
            drive.submit(2, lba, 1)
        drive.step(rng.randrange(3_000))
        saved = fails(drive, seed=round_)
        assert saved is not None, f"round {round_}: {ENERGY} clocks were too few"
        assert {lba: drive.read(lba) for lba in want} == want


def test_a_drive_without_plp_saves_nothing():
    drive = Drive("quick", firmware=firmware("quick", buffer_percent=60))
    drive.write(3, data(3, 1))
    assert drive.power_fail(ENERGY) is None
    drive.power_cut(3)
    drive.power_on()
    assert drive.read(3) == ZEROES


def test_nothing_completes_after_the_power_has_failed():
    """A host that is slow gives the last data of a WRITE when the energy is nearly used up: nobody could save it."""
    drive = Drive("quick", firmware=firmware("quick", **PLP, host_timeout_us=20_000))
    drive.write(5, data(5, 1))
    tag = drive.submit(Opcode.WRITE, 5, 1, data(5, 2))
    drive.stop_data(tag, 500)
    drive.step(2_000)
    assert drive.power_fail(ENERGY - 700) is not None
    drive.lib.otx_stop_data(tag, BEATS, 0)
    assert drive.step(700) == 0, "a WRITE has completed that is not saved"
    drive.power_cut(5)
    drive.power_on()
    assert drive.read(5) == data(5, 1)


def test_frames_that_table_memory_has_cost_are_not_kept_free_once_more():
    """They are gone, so they need no energy: a WRITE of 32 blocks still finds its room."""
    drive = Drive("quick", firmware=firmware("quick", **PLP))
    for errors in (1, 2):
        drive.write(20, data(20, errors))
        drive.lib.otx_sim_mem_set_bad(geometry.preset("quick").table_base + 4 * 20, 16)
        for n in range(45):  # that one is programmed meanwhile
            drive.write(30 + n % 30, data(n))
        drive.step(200_000)
        drive.lib.otx_sim_mem_set_bad(0, 0)
        for n in range(60):
            drive.write(30 + n % 30, data(30 + n % 30, n))
        assert drive.query(Query.MEMORY_ERRORS) == errors
    tag = drive.submit(Opcode.WRITE, 0, 32, data(0, 1, 32))
    assert drive.wait(tag, 2_000_000).status == Status.SUCCESS
    assert fails(drive) is not None and drive.read(0, 32) == data(0, 1, 32)


def test_power_that_fails_while_the_drive_mounts_lets_nothing_complete():
    drive = Drive("quick", firmware=firmware("quick", **PLP), boot=False)
    assert not drive.boot_some(2_000)
    drive.power_fail(1)
    drive.boot()
    drive.submit(Opcode.WRITE, 5, 1, data(5, 1))
    assert drive.step(20_000) == 0


def test_a_full_drive_says_so():
    """Open transactions hold all pages: none is left that could save a frame, and nobody waits for one."""
    drive, n, status = Drive("quick", firmware=firmware("quick", **PLP)), 0, Status.SUCCESS
    for first in (0, 32):
        drive.write(first, data(first, 1, 32))
    while status == Status.SUCCESS:
        tag = drive.submit(Opcode.WRITE, n * 8 % 48, 8, data(n * 8 % 48, 2, 8), txid=n // 4 % 32)
        status, n = Status(drive.wait(tag, 2_000_000).status), n + 1
    assert status == Status.CAPACITY and n > 20
    tag = drive.submit(Opcode.WRITE, 0, 32, data(0, 3, 32))
    assert drive.wait(tag, 2_000_000).status == Status.CAPACITY
    assert fails(drive) is not None
    assert drive.read(0, 32) == data(0, 1, 32) and drive.read(32, 32) == data(32, 1, 32)
    drive.write(0, data(0, 4, 32))
    assert drive.read(0, 32) == data(0, 4, 32)


@pytest.mark.parametrize("order, plp, preset", [(0, 1, "quick"), (1, 0, "quick"), (1, 1, "quick4"), (2, 0, "quick")])
def test_power_fails_at_random_clocks_with_each_persist_order(order, plp, preset):
    settings = (PLP if plp else dict(buffer_percent=60)) | dict(persist_order=order)
    command = [sys.executable, "-m", "cocotb_tests.system.power_cut", "--jobs", "1", "--seed", str(40 + order)]
    command += ["--cuts", "400" if LONG else "10", "--preset", preset, "--firmware", firmware(preset, **settings)]
    command += ["--plp", str(ENERGY)] if plp else []
    done = subprocess.run(command, capture_output=True, text=True)
    assert " 0 failed" in done.stdout, done.stdout + done.stderr
