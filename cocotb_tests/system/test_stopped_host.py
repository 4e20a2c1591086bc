# SPDX-License-Identifier: Apache-2.0
"""The whole drive and a host that stops in the middle of a WRITE (setting `host_timeout_us`): it is ABORTED, nothing
has changed, others go on meanwhile, and nothing is lost over some hundred of them."""

import random

import pytest

from cocotb_tests.bench.amount import amount
from cocotb_tests.system.variant import firmware
from opentxssd import BLOCK, MAX_BLOCKS, Drive, Opcode, Query, Status, TxState
from opentxssd.facts import BEATS

pytestmark = pytest.mark.forked
TIMEOUT_US = 20
MOST = (TIMEOUT_US * 100 // 256 + 2) * 256 + 200  # clocks from the last beat to the completion


@pytest.fixture(scope="module")
def drive():
    return Drive("quick", firmware=firmware("quick", host_timeout_us=TIMEOUT_US))


def data(n, blocks=1):
    return b"".join((n * 100 + i).to_bytes(8, "little") * (BLOCK // 8) for i in range(blocks))


def stopped(drive, lba, blocks, beats, late=False, **fields):
    tag = drive.submit(Opcode.WRITE, lba, blocks, data(999, blocks), **fields)
    drive.stop_data(tag, beats, late)
    return tag


@pytest.mark.parametrize("beats", [0, 1, 40, BEATS, 2 * BEATS - 1, 3 * BEATS - 1])
@pytest.mark.parametrize("late", [False, True])
def test_nothing_of_it_remains_and_late_beats_are_nobodys(drive, beats, late):
    drive.write(5, data(beats, 3))
    begin = drive.clock
    assert drive.wait(stopped(drive, 5, 3, beats, late)).status == Status.ABORTED
    assert drive.clock - begin < beats + 500 + MOST
    after = [drive.submit(Opcode.WRITE, 20 + n, 1, data(n)) for n in range(4)]
    assert drive.read(5, 3) == data(beats, 3)
    assert all(drive.wait(t).status == Status.SUCCESS for t in after)
    assert drive.read(20, 4) == b"".join(map(data, range(4)))


def test_others_go_on_meanwhile():
    """Three have stopped: a WRITE, and all commands without data, end long before them."""
    drive = Drive("quick", firmware=firmware("quick", host_timeout_us=500))
    tags = [stopped(drive, 10 * n, 2, 30 * n) for n in range(3)]
    begin = drive.clock
    drive.write(40, data(4))
    assert drive.read(40) == data(4)
    drive.begin(3)
    drive.trim(50, 2, txid=3)
    drive.commit(3)
    drive.flush()
    drive.query(Query.CAPACITY)
    assert drive.clock - begin < 20_000 and not drive.done
    ends = [drive.wait(t) for t in tags]
    assert all(c.status == Status.ABORTED for c in ends)
    assert ends[2].clock - ends[1].clock < 51_000 and ends[1].clock - ends[0].clock < 51_000


@pytest.mark.parametrize("flags", [dict(fua=1), dict(barrier=1), dict(txid=7), dict(txid=7, commit=1, barrier=1)])
def test_of_any_kind(drive, flags):
    before = drive.read(5, 2)
    assert drive.wait(stopped(drive, 5, 2, 700, **flags)).status == Status.ABORTED
    assert drive.read(5, 2) == before
    if "txid" in flags:
        assert drive.tx(7) == (TxState.FREE, 0), "it has opened its transaction"
        drive.write(6, data(6), txid=7)
        assert drive.wait(stopped(drive, 5, 2, 1, **flags)).status == Status.ABORTED
        assert drive.tx(7) == (TxState.OPEN, 1)
        drive.commit(7)
        assert drive.read(5, 2) == before[:BLOCK] + data(6)


def test_what_a_barrier_puts_behind_it_waits_and_goes_on(drive):
    tag = stopped(drive, 0, 1, 5)
    barrier, behind = drive.submit(Opcode.BARRIER), drive.submit(Opcode.WRITE, 9, 1, data(9))
    orderless = drive.submit(Opcode.WRITE, 12, 1, data(12), orderless=1)
    assert drive.wait(orderless).status == Status.SUCCESS and not drive.done
    assert drive.wait(behind).status == drive.wait(barrier).status == Status.SUCCESS
    assert drive.done.keys() <= {tag} and drive.wait(tag).status == Status.ABORTED
    assert drive.read(9) == data(9)


def test_nothing_is_lost_over_many(drive):
    """Frames, pages and places: afterwards the largest WRITEs go as at first, and a power cut loses nothing."""
    rng = random.Random(5)
    model = {lba: drive.read(lba) for lba in range(drive.lbas)}
    under, aborted = {}, 0
    for _ in range(amount(300, 3000)):
        while len(under) >= 8:
            drive.step(100_000)
            c = drive.poll()
            lba, n, written = under.pop(c.tag)
            assert c.status == (Status.SUCCESS if written else Status.ABORTED)
            aborted += not written
        blocks = rng.choice([1, 1, 2, 5])
        free = [
            lba
            for lba in range(drive.lbas - blocks + 1)
            if not any(x < lba + blocks and lba < x + n for x, n, _ in under.values())
        ]
        lba, n = rng.choice(free), rng.randrange(10**6)
        if rng.random() < 0.5:
            beats = rng.randrange(blocks * BEATS)
            under[stopped(drive, lba, blocks, beats, rng.random() < 0.5)] = (lba, blocks, False)
        else:
            under[drive.submit(Opcode.WRITE, lba, blocks, data(n, blocks))] = (lba, blocks, True)
            for i in range(blocks):
                model[lba + i] = data(n, blocks)[i * BLOCK : (i + 1) * BLOCK]
    for tag, (_, _, written) in under.items():
        assert drive.wait(tag).status == (Status.SUCCESS if written else Status.ABORTED)
    assert aborted > 100
    assert drive.idle()
    big = [drive.submit(Opcode.WRITE, 32 * n, MAX_BLOCKS, data(n, MAX_BLOCKS)) for n in range(2)]
    assert all(drive.wait(t).status == Status.SUCCESS for t in big)
    for n in range(2):
        for i in range(MAX_BLOCKS):
            model[32 * n + i] = data(n, MAX_BLOCKS)[i * BLOCK : (i + 1) * BLOCK]
    drive.flush()
    drive.power_cut(3)
    drive.power_on()
    drive.boot()
    assert all(drive.read(lba) == model[lba] for lba in range(drive.lbas))
