# SPDX-License-Identifier: Apache-2.0
"""The whole drive with frames that wait in its write buffer (setting `buffer_percent`): what a FLUSH, an RFLUSH or FUA
makes durable, what they leave in the buffer, power cuts between, collection and checkpoints."""

import os
import random

import pytest

from cocotb_tests.system.variant import firmware
from opentxssd import BLOCK, CommandError, Drive, Opcode, Query, Status
from soc import geometry

pytestmark = pytest.mark.forked
PROGRAMS = 1  # of otx_nand_count
LONG = int(os.environ.get("LONG", "0"))
QUIET = 1 << 14  # clocks without a write, after which all is written


def data(lba, version=0, blocks=1):
    return b"".join((lba + n << 32 | version).to_bytes(8, "little") * (BLOCK // 8) for n in range(blocks))


@pytest.fixture(scope="module")
def drive():
    return Drive("quick", firmware=firmware("quick", buffer_percent=60))


def programs(drive):
    return drive.lib.otx_nand_count(PROGRAMS)


def after_a_cut(drive, lbas):
    drive.power_cut(3)
    drive.power_on()
    return {lba: drive.read(lba) for lba in lbas}


ZEROES = bytes(BLOCK)
FRAMES = geometry.preset("quick").write_frames * 60 // 100


def test_writes_wait_and_take_each_others_place(drive):
    before = programs(drive)
    for version in range(5):
        for lba in range(8):
            drive.write(lba, data(lba, version))
    assert programs(drive) == before, "something was written to NAND"
    assert [drive.read(lba) for lba in range(8)] == [data(lba, 4) for lba in range(8)]
    drive.flush()
    assert programs(drive) - before == 8 + 2, "eight blocks, and a page of the log twice"
    assert after_a_cut(drive, range(8)) == {lba: data(lba, 4) for lba in range(8)}


def test_what_is_not_flushed_is_lost_in_a_cut_and_a_quiet_drive_writes_it(drive):
    drive.write(3, data(3))
    assert after_a_cut(drive, [3]) == {3: ZEROES}
    drive.write(3, data(3))
    before = programs(drive)
    drive.step(2 * QUIET)
    assert programs(drive) == before + 1


def test_more_than_may_wait_are_written_the_oldest_first(drive):
    before, most = programs(drive), FRAMES
    for lba in range(most):
        drive.write(lba, data(lba))
    drive.step(2_000)
    assert programs(drive) == before
    for lba in range(most, most + 4):
        drive.write(lba, data(lba))
    drive.step(10_000)
    assert programs(drive) == before + 4
    drive.write(0, data(0, 1))  # it was written: this one is new
    assert drive.read(0) == data(0, 1)


@pytest.mark.parametrize("how", ["range", "long range", "stream"])
def test_rflush_makes_durable_what_it_names_and_leaves_the_rest(drive, how):
    before = programs(drive)
    for lba in range(16):
        drive.write(lba, data(lba), stream=5 if lba % 4 == 1 else 6 if lba % 4 == 2 else 0)
    if how == "range":
        drive.rflush(4, 6)
        kept = set(range(4, 10))
    elif how == "long range":
        drive.rflush(10, 40)
        kept = set(range(10, 16))
    else:
        drive.rflush(stream=5)
        kept = {1, 5, 9, 13}
    assert programs(drive) - before == len(kept) + 2
    drive.rflush(stream=900)
    drive.rflush(60, 1)
    assert programs(drive) - before == len(kept) + 2, "nothing to do"
    want = {lba: data(lba) if lba in kept else ZEROES for lba in range(16)}
    assert after_a_cut(drive, range(16)) == want


def test_an_rflush_takes_the_whole_of_a_command_along(drive):
    drive.write(10, data(10, 1, 8))
    drive.write(30, data(30, 1, 8))
    drive.rflush(12, 1)
    got = after_a_cut(drive, (*range(10, 18), *range(30, 38)))
    assert got == {lba: data(lba, 1) if lba < 20 else ZEROES for lba in got}


def test_rflush_that_names_nothing_or_too_much_is_refused(drive):
    for fields, status in (
        (dict(lba=3, count=0), Status.INVALID_FIELD),
        (dict(lba=drive.lbas - 1, count=2), Status.LBA_RANGE),
        (dict(lba=drive.lbas, count=1), Status.LBA_RANGE),
        (dict(lba=0, count=1, arg=2), Status.INVALID_FIELD),
        (dict(lba=0, count=1, txid=3), Status.INVALID_FIELD),
    ):
        with pytest.raises(CommandError) as e:
            drive.command(Opcode.RFLUSH, **fields)
        assert e.value.status == status
    drive.rflush(0, drive.lbas)


def test_fua_and_commit_write_their_own_and_what_lies_below(drive):
    before = programs(drive)
    for lba in range(8):
        drive.write(lba, data(lba, 1))
    drive.write(20, data(20, 1), fua=1)
    assert programs(drive) - before == 1 + 2
    drive.write(2, data(2, 2), txid=7)
    drive.write(3, data(3, 2), txid=7)
    drive.commit(7)
    # two of the transaction and the plain two below, in one page of the log
    assert programs(drive) - before == 3 + 4 + 2
    want = {lba: ZEROES for lba in range(8)} | {2: data(2, 2), 3: data(3, 2), 20: data(20, 1)}
    assert after_a_cut(drive, want) == want


def test_a_plain_write_after_that_of_an_open_transaction_stays_below_it(drive):
    drive.write(2, data(2, 1), txid=7)
    drive.write(2, data(2, 2))
    drive.commit(7)
    assert drive.read(2) == data(2, 1)
    assert after_a_cut(drive, [2]) == {2: data(2, 1)}


def test_a_block_that_waits_and_is_trimmed_stays_trimmed(drive):
    drive.write(2, data(2, 1, 4))
    drive.trim(3, 2, fua=1)
    want = {2: data(2, 1), 3: ZEROES, 4: ZEROES, 5: data(5, 1)}
    assert after_a_cut(drive, want) == want


def test_an_abort_forgets_what_waits(drive):
    drive.write(2, data(2, 1), fua=1)
    drive.write(2, data(2, 2), txid=7)
    drive.abort(7)
    drive.flush()
    assert after_a_cut(drive, [2]) == {2: data(2, 1)}


def test_writes_go_on_beside_a_flush(drive):
    for lba in range(20):
        drive.write(lba, data(lba))
    flush = drive.submit(Opcode.FLUSH)
    drive.step(100)
    clock = drive.clock
    drive.write(40, data(40))
    assert flush in drive.pending and drive.clock - clock < 2_000
    drive.wait(flush)


def test_writes_go_on_beside_reads_that_leave_no_die_a_pause(drive):
    for lba in range(8):
        drive.write(lba, data(lba))
    drive.flush()
    rng, reads, writes, done, begin = random.Random(1), set(), {}, 0, drive.clock
    while drive.clock < begin + 150_000:
        while len(reads) < 16:
            reads.add(drive.submit(Opcode.READ, lba=rng.randrange(8), count=1))
        while len(writes) < 2:
            lba = 8 + (done + len(writes)) % 50
            writes[drive.submit(Opcode.WRITE, lba=lba, count=1, data=data(lba, done))] = drive.clock
        drive.step(1_000)
        while c := drive.poll():
            assert c.status == Status.SUCCESS
            done += writes.pop(c.tag, None) is not None
            reads.discard(c.tag)
        assert all(drive.clock - since < 30_000 for since in writes.values()), f"a WRITE waits, the last of {done}"
    assert done > FRAMES, "the buffer was never full"


def test_what_waits_is_there_after_an_orderly_end(tmp_path):
    how = dict(image=tmp_path / "drive.nand", firmware=firmware("quick", buffer_percent=60))
    drive = Drive("quick", **how)
    for lba in range(8):
        drive.write(lba, data(lba, 9))
    drive.write(9, data(9), txid=4)
    drive.close()
    drive = Drive("quick", **how)
    assert [drive.read(lba) for lba in range(10)] == [*(data(lba, 9) for lba in range(8)), ZEROES, ZEROES]
    assert drive.health().power_cuts == 0


@pytest.mark.parametrize("percent", [95, 40])
def test_a_drive_that_buffers_takes_many_times_what_its_nand_holds(percent):
    g, rng, want, flushed = geometry.preset("quick"), random.Random(percent), {}, {}
    drive = Drive("quick", firmware=firmware("quick", buffer_percent=percent))
    for n in range((6 if LONG else 2) * g.raw_pages):
        lba = rng.randrange(g.lbas)
        kind = rng.randrange(60)
        if kind == 0:
            drive.trim(lba)
            want[lba] = ZEROES
        elif kind == 1:
            drive.flush()
            flushed = dict(want)
        elif kind == 2:
            drive.rflush(lba, min(g.lbas - lba, 50))
            flushed |= {b: v for b, v in want.items() if lba <= b < lba + 50}
        else:
            drive.write(lba, data(lba, n), txid=n % 32 if kind < 10 else None, fua=int(kind == 20))
            if kind < 10:
                drive.commit(n % 32)
            want[lba] = data(lba, n)
            if kind < 10 or kind == 20:
                flushed[lba] = want[lba]
        if n % 700 == 699:  # a later version may be there, one before the last flush may not
            drive.power_cut(n)
            drive.power_on()
            assert Status.SUCCESS == drive.flush().status
            for b in range(g.lbas):
                got = drive.read(b)
                version = int.from_bytes(got[:8], "little") & 0xFFFFFFFF
                oldest = int.from_bytes(flushed.get(b, ZEROES)[:8], "little") & 0xFFFFFFFF
                assert got in (ZEROES, data(b, version)) and (version >= oldest or want.get(b) == ZEROES), b
                want[b] = got
            flushed = dict(want)
    assert drive.query(Query.MEMORY_ERRORS) == 0
    for lba, block in want.items():
        assert drive.read(lba) == block
