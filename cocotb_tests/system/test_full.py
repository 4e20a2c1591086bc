# SPDX-License-Identifier: Apache-2.0
"""The whole drive when room runs out: every command gets its answer at the end of the log, and nobody waits for room
but who needs it (docs/interfaces.md, "Room").
"""

import pytest

from opentxssd import BLOCK, Drive, Opcode, Query, Status, TxState

pytestmark = pytest.mark.forked
PROGRAM, ERASE = 1_200, 700  # clocks of a page and of a block erase at a die, with the way of the page
STEP = 20_000  # clocks of a round of the firmware in which it finds an erased block and hands it over
PROGRAMS, ERASES = 1, 2  # of otx_nand_count
ANSWER = 2_000_000  # who has none after so many clocks hangs


def data(lba, version):
    return (lba << 32 | version).to_bytes(8, "little") * (BLOCK // 8)


def counts(drive):
    return drive.lib.otx_nand_count(PROGRAMS), drive.lib.otx_nand_count(ERASES)


def run(drive, opcode, *args, **fields):
    return Status(drive.wait(drive.submit(opcode, *args, **fields), ANSWER).status)


def test_at_the_end_of_the_log_everything_is_answered_and_what_was_acknowledged_is_there():
    drive = Drive("quick")
    want, longest = {}, 0
    for t in range(32):
        drive.write(28 + t, data(28 + t, t), txid=t)
    for n in range(4000):  # durable one by one, so that each takes a page of the log
        lba, begin, before = n * 5 % 28, drive.clock, counts(drive)
        if n % 4 == 0:
            status = run(drive, Opcode.WRITE, lba, 1, data(lba, n), fua=1)
        else:
            status = run(drive, Opcode.WRITE_ZEROES if n % 4 == 1 else Opcode.TRIM, lba, 1, fua=1)
        programs, erases = (b - a for a, b in zip(before, counts(drive), strict=True))
        longest = max(longest, drive.clock - begin - programs * PROGRAM - erases * ERASE)
        if status != Status.SUCCESS:
            break
        want[lba] = data(lba, n) if n % 4 == 0 else bytes(BLOCK)
    print(
        f"{n} commands with FUA until CAPACITY; {longest} clocks were the most that one took beside programs and erases"
    )
    assert status == Status.CAPACITY and n > 200 and longest < 2 * STEP
    assert drive.query(Query.PAGES_LEFT) > 0, "data has room"

    def refused(*txids):
        plain = [
            run(drive, Opcode.WRITE, 5, 2, bytes(2 * BLOCK)),
            run(drive, Opcode.TRIM, 5, 1),
            run(drive, Opcode.WRITE_ZEROES, 5, 1),
        ]
        return {*plain, *[run(drive, Opcode.WRITE, 5, 1, bytes(BLOCK), txid=t, commit=t % 2) for t in txids]} == {
            Status.CAPACITY
        }

    assert refused(2, 3) and drive.tx(3) == (TxState.OPEN, 1)
    assert drive.read(31, txid=3) == data(31, 3) and drive.read(31) == bytes(BLOCK)
    assert run(drive, Opcode.FLUSH) == Status.SUCCESS
    assert [run(drive, Opcode.ABORT, txid=t) for t in (28, 29)] == [Status.SUCCESS] * 2
    for t in range(28):  # each of these takes a page of the log
        assert run(drive, Opcode.COMMIT, txid=t, relaxed=int(t in (3, 9))) == Status.SUCCESS
        assert run(drive, Opcode.FLUSH) == Status.SUCCESS
        want[28 + t] = data(28 + t, t)
    assert run(drive, Opcode.RECOVER) == Status.SUCCESS and run(drive, Opcode.FLUSH) == Status.SUCCESS
    assert drive.idle() and drive.tx(31) == (TxState.FREE, 0)
    rounds = 0  # no transaction holds the log any more, so a checkpoint frees it, though nobody writes
    while run(drive, Opcode.BEGIN, txid=7) == Status.CAPACITY:
        drive.step(STEP)
        rounds += 1
        assert rounds < 100 and drive.tx(7)[0] == TxState.FREE
    print(f"the log is back after {rounds} rounds")
    assert run(drive, Opcode.ABORT, txid=7) == Status.SUCCESS
    for n in range(100):
        lba = n * 5 % 28
        assert run(drive, Opcode.WRITE, lba, 1, data(lba, n), fua=1) == Status.SUCCESS
        want[lba] = data(lba, n)

    def verify(first, end):
        for lba in range(first, end, 4):
            assert drive.read(lba, 4) == b"".join(want.get(n, bytes(BLOCK)) for n in range(lba, lba + 4))

    verify(28, 60)
    drive.power_cut(1)
    drive.power_on()
    verify(0, 60)
    for n in range(8):  # the mount has begun another log
        drive.write(60 + n % 4, data(60 + n % 4, n), fua=n % 2)
        want[60 + n % 4] = data(60 + n % 4, n)
    drive.begin(7)
    drive.trim(60, txid=7)
    drive.commit(7)
    want[60] = bytes(BLOCK)
    verify(32, 64)
    drive.power_cut(2)


def test_commands_that_need_no_room_do_not_wait_behind_large_writes_that_do():
    """One die has four WRITEs of 15 blocks to do all the time, each 15 programs and an erase.

    A READ stands behind none of them, another command behind one at most.
    """
    drive = Drive("quick")
    writes, probes, worst, done, n, txid = {}, {}, {}, 0, 0, 0
    while done < 20:
        while len(writes) < 4:
            writes[drive.submit(Opcode.WRITE, n % 4 * 15, 15, bytes(15 * BLOCK))] = drive.clock
            n += 1
        if not probes and done > 1:
            commit = [(Opcode.COMMIT, dict(txid=(txid - 1) % 32, relaxed=1))] * (txid > 0)
            for opcode, fields in (
                *commit,
                (Opcode.BEGIN, dict(txid=txid % 32)),
                (Opcode.QUERY, dict(arg=Query.PAGES_LEFT)),
                (Opcode.READ, dict(lba=63, count=1)),
            ):
                probes[drive.submit(opcode, **fields)] = (opcode, drive.clock)
            txid += 1
        assert drive.step(ANSWER), "nothing completes"
        while c := drive.poll():
            assert c.status == Status.SUCCESS
            done += c.tag in writes
            opcode, begin = (Opcode.WRITE, writes.pop(c.tag)) if c.tag in writes else probes.pop(c.tag)
            worst.setdefault(opcode, []).append(c.clock - begin)
    drive.power_cut(1)
    print(", ".join(f"{opcode.name} {max(clocks)}" for opcode, clocks in worst.items()), "clocks at most")
    assert max(worst[Opcode.READ]) < PROGRAM, "beside a page of NAND data: four ops of its die"
    assert (
        max(max(worst[opcode]) for opcode in (Opcode.BEGIN, Opcode.COMMIT, Opcode.QUERY)) < 15 * PROGRAM + ERASE + STEP
    )
    assert max(worst[Opcode.WRITE]) < 5 * (15 * PROGRAM + ERASE + STEP), "no WRITE is overtaken by the later ones"
    assert all(len(clocks) >= 5 for clocks in worst.values())
