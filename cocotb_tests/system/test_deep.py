# SPDX-License-Identifier: Apache-2.0
"""The whole drive with 256 commands under way (preset quick4)."""

import random
import signal

import pytest

from cocotb_tests.bench.amount import amount
from cocotb_tests.system.served import Otx, Served
from opentxssd import BLOCK, Drive, DriveError, Opcode, Query, Status
from opentxssd.facts import Order

pytestmark = pytest.mark.forked
DEPTH = 256


@pytest.fixture(scope="module")
def drive():
    return Drive("quick4")


def data(n):
    return n.to_bytes(8, "little") * (BLOCK // 8)


def full(drive, make):
    """As many commands as there are tags, by `make(n)`; the tags in their order."""
    return [drive.submit(**make(n)) for n in range(DEPTH)]


def test_256_commands_are_under_way_and_one_more_finds_no_tag(drive):
    tags = full(drive, lambda n: dict(opcode=Opcode.WRITE, lba=n % 64, count=1, data=data(n)))
    assert sorted(tags) == list(range(DEPTH)) and drive.commands == DEPTH
    with pytest.raises(DriveError, match="all 256 tags"):
        drive.submit(Opcode.FLUSH)
    assert all(drive.wait(t).status == Status.SUCCESS for t in tags)
    assert [drive.read(lba) for lba in range(64)] == [data(192 + lba) for lba in range(64)]


def test_writes_and_reads_of_one_block_keep_the_order_of_acceptance(drive):
    tags = full(
        drive,
        lambda n: (
            dict(opcode=Opcode.READ, lba=9, count=1)
            if n % 2
            else dict(opcode=Opcode.WRITE, lba=9, count=1, data=data(n))
        ),
    )
    for n, tag in enumerate(tags):
        c = drive.wait(tag)
        assert c.status == Status.SUCCESS and (n % 2 == 0 or c.data == data(n - 1))


def test_an_ordered_command_in_a_full_queue_is_behind_all_before_and_before_all_behind(drive):
    at = {40, 41, 150, 255}

    def make(n):
        order = Order.ORDERED if n in at else Order.SIMPLE
        if n % 3:
            return dict(opcode=Opcode.READ, lba=n % 64, count=1, order=order)
        return dict(opcode=Opcode.WRITE, lba=n % 64, count=1, data=data(n), order=order)

    clocks = [drive.wait(t).clock for t in full(drive, make)]
    for n in at:
        assert max(clocks[:n]) < clocks[n] and all(clocks[n] < c for c in clocks[n + 1 :])


def test_barriers_in_a_full_queue_go_in_their_order(drive):
    def make(n):
        if n % 4 == 3:
            return dict(opcode=Opcode.BARRIER)
        if n % 4 == 2:
            return dict(opcode=Opcode.TRIM, lba=n % 64, count=1, barrier=n % 8 == 2)
        return dict(opcode=Opcode.WRITE, lba=n % 64, count=1, data=data(n), barrier=n % 16 == 1)

    done = [drive.wait(t) for t in full(drive, make)]
    assert all(c.status == Status.SUCCESS for c in done)
    barriers = [c.clock for n, c in enumerate(done) if n % 4 == 3]
    assert barriers == sorted(barriers)
    drive.flush()


def test_a_head_of_queue_passes_those_in_the_queue_when_it_has_come_there(drive):
    begin = drive.clock
    tags = [drive.submit(Opcode.WRITE, n, 32, data(n) * 32) for n in (0, 32) for _ in range(8)]
    head = drive.submit(Opcode.QUERY, arg=Query.CAPACITY, order=Order.HEAD_OF_QUEUE)
    assert drive.wait(head).clock - begin < 3_000 and not drive.done
    assert all(drive.wait(t).status == Status.SUCCESS for t in tags)


def test_malformed_commands_are_answered_among_the_others(drive):
    tags = full(
        drive,
        lambda n: (
            dict(opcode=Opcode.READ, lba=drive.lbas, count=1) if n % 2 else dict(opcode=Opcode.READ, lba=0, count=1)
        ),
    )
    assert [drive.wait(t).status for t in tags] == [Status.SUCCESS, Status.LBA_RANGE] * (DEPTH // 2)


def test_random_commands_agree_with_their_order_and_survive_a_flush(drive):
    rng = random.Random(11)
    model = {lba: drive.read(lba) for lba in range(64)}
    expected = {}
    for n in range(amount(500, 10_000)):
        while len(drive.pending) == DEPTH:
            drive.step(100_000)
            while c := drive.poll():
                assert c.status == Status.SUCCESS and c.data == expected.pop(c.tag)
        lba, kind = rng.randrange(64), rng.random()
        order = rng.choice([Order.SIMPLE] * 30 + [Order.ORDERED, Order.HEAD_OF_QUEUE])
        if kind < 0.5:
            tag = drive.submit(Opcode.READ, lba, 1, order=order)
            expected[tag] = model[lba]
        elif kind < 0.9:
            tag = drive.submit(Opcode.WRITE, lba, 1, data(n), order=order, barrier=int(rng.random() < 0.1))
            model[lba], expected[tag] = data(n), None
        else:
            tag = drive.submit(Opcode.TRIM, lba, 1, order=order)
            model[lba], expected[tag] = bytes(BLOCK), None
    for tag, want in list(expected.items()):
        assert drive.wait(tag).data == want
    drive.flush()
    drive.power_cut(1)
    drive.power_on()
    drive.boot()
    assert all(drive.read(lba) == model[lba] for lba in range(64))


def test_nbd_and_otx_serve_it(tmp_path):
    served = Served(tmp_path, tmp_path / "drive.nand", "quick4")
    try:
        assert served.client("drive", "write", "5", "a", "flush", "read", "5") == ["a"]
        assert served.client("atomic", "write", "6", "b", "flush", "read", "6") == ["b"]
        code, out, _ = Otx(served.commands)("read", 5, 2)
        assert code == 0 and out == b"a" * BLOCK + b"b" * BLOCK
    finally:
        served.end(signal.SIGTERM)
