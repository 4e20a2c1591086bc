# SPDX-License-Identifier: Apache-2.0
"""The whole drive (SoC, firmware, NAND) through its embedded host port, preset quick."""

import random

import pytest

from opentxssd import BLOCK, Drive, DriveError, Opcode, Query, Status, TxState
from opentxssd.facts import Order

pytestmark = pytest.mark.forked


@pytest.fixture(scope="module")
def drive():
    return Drive("quick")


def data(n, blocks=1):
    return b"".join((n * 100 + i).to_bytes(8, "little") * (BLOCK // 8) for i in range(blocks))


ZEROES = bytes(BLOCK)
PAGE = BLOCK // 8 + 500  # clocks in which a page is programmed


def test_a_new_drive_is_formatted_and_reads_as_zeroes(drive):
    assert "otx: ready" in drive.uart
    assert drive.read(0, 32) == bytes(32 * BLOCK)
    assert drive.query(Query.CAPACITY) == drive.lbas == 64


def test_what_is_written_is_read_while_it_is_buffered_and_when_it_is_on_nand(drive):
    drive.write(5, data(1, 3))
    assert drive.read(5, 3) == data(1, 3)
    assert drive.idle()
    assert drive.read(5, 3) == data(1, 3)
    assert drive.read(4, 5) == ZEROES + data(1, 3) + ZEROES


def test_thirty_two_commands_are_under_way_at_once(drive):
    tags = [drive.submit(Opcode.WRITE, 2 * i, 1, data(i)) for i in range(32)]
    assert len(set(tags)) == 32
    assert all(drive.wait(t).status == Status.SUCCESS for t in tags)


def test_writes_of_one_block_keep_their_order(drive):
    for n in range(20):
        drive.submit(Opcode.WRITE, 9, 1, data(n))
    read = drive.submit(Opcode.READ, 9, 1)
    assert drive.wait(read).data == data(19)


def test_a_transaction_is_seen_by_its_own_reads_only_until_it_commits(drive):
    drive.write(1, data(1))
    drive.write(1, data(2), txid=3)
    drive.write(50, data(3), txid=3)
    assert drive.read(1) == data(1) and drive.read(50) == ZEROES
    assert drive.read(1, txid=3) == data(2) and drive.read(50, txid=3) == data(3)
    assert drive.read(1, txid=4) == data(1)
    assert drive.tx(3) == (TxState.OPEN, 2)
    drive.commit(3)
    assert drive.read(1) == data(2) and drive.read(50) == data(3)
    assert drive.query(Query.COMMITS) == 1


def test_an_aborted_transaction_leaves_nothing(drive):
    drive.write(1, data(1))
    drive.write(1, data(2), txid=0)
    drive.trim(1, txid=0)
    drive.abort(0)
    assert drive.read(1) == data(1)
    assert drive.idle() and drive.tx(0) == (TxState.FREE, 0)


def test_of_two_transactions_on_one_block_the_later_commit_remains(drive):
    drive.write(8, data(1), txid=1)
    drive.write(8, data(2), txid=2)
    drive.commit(2)
    assert drive.read(8) == data(2)
    drive.commit(1)
    assert drive.read(8) == data(1)


def test_a_plain_write_between_two_commits_keeps_its_place(drive):
    drive.write(8, data(1), txid=1)
    drive.write(8, data(2), txid=2)
    drive.commit(1)
    drive.write(8, data(3))
    assert drive.read(8) == data(3)
    drive.commit(2)
    assert drive.read(8) == data(2)


def test_a_write_with_the_commit_flag_commits_its_transaction(drive):
    drive.write(1, data(1), txid=6)
    drive.write(2, data(2), txid=6, commit=1)
    assert drive.read(1) + drive.read(2) == data(1) + data(2)


def test_a_relaxed_commit_is_visible_at_once_and_durable_with_the_next_commit_or_flush(drive):
    def relaxed(txid, lba, n):
        drive.write(lba, data(n, 2), txid=txid)
        begin = drive.clock
        drive.commit(txid, relaxed=1)
        assert drive.read(lba, 2) == data(n, 2)
        return drive.clock - begin

    clocks = relaxed(1, 10, 1)
    begin = drive.clock
    drive.write(20, data(2), txid=2, commit=1)
    assert drive.clock - begin > 2 * PAGE > clocks, "one waits for pages on NAND, the other does not"
    drive.power_cut(1)
    drive.power_on()
    assert drive.read(10, 2) == data(1, 2) and drive.read(20) == data(2), (
        "a durable commit makes earlier relaxed ones durable"
    )
    relaxed(1, 10, 3)
    drive.flush()
    relaxed(1, 10, 4)
    relaxed(2, 11, 5)
    drive.power_cut(2)
    drive.power_on()
    assert drive.read(10, 3) == data(3, 2) + ZEROES, "what was not flushed is gone whole"


def test_barriers_fill_the_queue_and_wait_for_no_page(drive):
    begin = drive.clock
    drive.barrier()
    assert drive.clock - begin < 200 and drive.busy is False, "it waits for nothing and leaves nothing to do"
    for n in range(16):
        drive.submit(Opcode.WRITE, n, 1, data(n), barrier=n % 2)
        drive.submit(Opcode.BARRIER)
    order = []
    while len(order) < 32:
        drive.step(100_000)
        while (c := drive.poll()) is not None:
            assert c.status == Status.SUCCESS
            order.append(c.tag)
    assert order == sorted(order), "epochs go one after the other, and what keeps order in each is answered in turn"
    drive.flush()
    drive.power_cut(1)
    drive.power_on()
    assert drive.read(0, 16) == b"".join(data(n) for n in range(16))


def test_an_ordered_command_runs_alone_and_a_head_of_queue_next(drive):
    writes = [drive.submit(Opcode.WRITE, n, 1, data(n), fua=1) for n in range(6)]
    ordered = drive.submit(Opcode.READ, 40, 1, order=Order.ORDERED)
    simple = [drive.submit(Opcode.READ, 41 + n, 1) for n in range(4)]
    head = drive.submit(Opcode.READ, 50, 1, order=Order.HEAD_OF_QUEUE)
    order = []
    while len(order) < 12:
        drive.step(100_000)
        while (c := drive.poll()) is not None:
            assert c.status == Status.SUCCESS
            order.append(c.tag)
    assert order[0] == head and set(order[1:7]) == set(writes) and order[7] == ordered and set(order[8:]) == set(simple)


def test_a_txid_can_be_used_again_at_once_after_its_commit(drive):
    for n in range(10):
        drive.begin(2)
        drive.write(n, data(n, 4), txid=2)
        drive.commit(2)
    assert drive.read(9, 4) == data(9, 4)


def test_a_prepared_transaction_waits_over_power_cuts_for_its_end(drive):
    drive.write(1, data(1))
    drive.write(1, data(2, 3), txid=3)
    drive.trim(3, txid=3)
    drive.write(1, data(3), txid=31)
    drive.prepare(3)
    drive.prepare(31)
    for seed in range(3):
        drive.power_cut(seed)
        drive.power_on()
        assert "otx: 2 transactions are prepared" in drive.uart and drive.prepared() == [3, 31]
        assert drive.tx(3) == (TxState.PREPARED, 3) and drive.tx(31) == (TxState.PREPARED, 1)
        assert drive.read(1, 3) == data(1) + 2 * ZEROES and drive.read(1, 3, txid=3) == data(2, 2) + ZEROES
        assert drive.write(9, data(9), txid=3, check=False).status == Status.TX_INVALID
        assert drive.begin(31, check=False).status == Status.TX_BUSY
        drive.recover()
        drive.write(20 + seed, data(9), fua=1)
    drive.commit(31)
    drive.abort(3)
    assert drive.read(1, 2) == data(3) + ZEROES and drive.commit(3, check=False).status == Status.TX_INVALID
    drive.write(2, data(4), txid=3, commit=1)
    drive.power_cut(7)
    drive.power_on()
    assert drive.prepared() == [] and drive.read(1, 3) == data(3) + data(4) + ZEROES


def test_recover_aborts_every_open_transaction(drive):
    for t in range(32):
        drive.write(t, data(t), txid=t)
    drive.recover()
    assert drive.read(0, 32) == bytes(32 * BLOCK)
    assert drive.idle() and all(drive.tx(t) == (TxState.FREE, 0) for t in (0, 31))


def test_trim_and_write_zeroes_read_as_zeroes_also_after_a_restart(drive):
    drive.write(10, data(1, 8))
    drive.trim(11, 2)
    drive.write_zeroes(14, 1)
    want = data(1, 8)[:BLOCK] + bytes(2 * BLOCK) + data(1, 8)[3 * BLOCK : 4 * BLOCK] + ZEROES + data(1, 8)[5 * BLOCK :]
    assert drive.read(10, 8) == want
    drive.flush()
    drive.power_cut(1)
    drive.power_on()
    assert drive.read(10, 8) == want


def test_trim_and_write_zeroes_with_fua_are_durable_when_they_complete(drive):
    drive.write(10, data(1, 3), fua=1)
    drive.trim(10, fua=1)
    drive.write_zeroes(12, fua=1)
    drive.power_cut(1)
    drive.power_on()
    assert drive.read(10, 3) == ZEROES + data(1, 3)[BLOCK : 2 * BLOCK] + ZEROES


def test_a_query_of_a_txid_has_its_place_among_the_commands_of_that_txid(drive):
    drive.write(5, data(5), txid=0)
    state = (Opcode.QUERY, dict(arg=Query.TX))
    tags = [
        drive.submit(op, txid=0, **more)
        for op, more in (state, (Opcode.COMMIT, {}), state, (Opcode.QUERY, dict(arg=Query.TX_WALK)))
    ]
    before, _, after, walk = (drive.wait(tag) for tag in tags)
    assert (
        before.result == 1 << 16 | TxState.OPEN
        and after.result & 7 in (TxState.COMMITTED, TxState.FREE)
        and walk.result & 7 in (TxState.COMMITTED, TxState.FREE)
    )


def test_query_tells_the_commit_order_and_the_entries_that_wait_for_a_walk(drive):
    drive.write(0, data(1, 32))
    for txid, blocks in ((1, 48), (2, 40), (3, 48)):
        for lba in range(0, blocks, 32):
            drive.trim(lba, min(32, blocks - lba), txid=txid)
    assert (
        drive.tx_walk(1) == (TxState.OPEN, 0, 0)
        and drive.tx(1) == (TxState.OPEN, 48)
        and drive.query(Query.WAITING) == 0
    )

    def at_once(*commands):
        tags = [drive.submit(opcode, **fields) for opcode, fields in commands]
        done = [drive.wait(tag) for tag in tags]
        assert all(c.status == Status.SUCCESS for c in done)
        return [c.result for c in done]

    def walk(txid):
        return Opcode.QUERY, dict(arg=Query.TX_WALK, txid=txid)

    commits = [(Opcode.COMMIT, dict(txid=txid, relaxed=1)) for txid in (1, 2)]
    *_, first, second = at_once(*commits, walk(1), walk(2))
    total = drive.query(Query.WAITING)
    assert first & 0x1FFF == TxState.COMMITTED and 0 < first >> 16 < 48
    assert second == 40 << 16 | 1 << 8 | TxState.COMMITTED
    assert 40 < total < (first >> 16) + 40
    assert drive.idle() and drive.tx_walk(2) == (TxState.FREE, 0, 0) and drive.query(Query.WAITING) == 0
    _, first, second = at_once((Opcode.ABORT, dict(txid=3)), walk(3), walk(3))
    assert first & 0x1FFF == TxState.ABORTED and second >> 16 < first >> 16 <= 48


BAD = [
    ("an unknown opcode", dict(opcode=0x55), Status.INVALID_OPCODE),
    ("a length of zero", dict(opcode=Opcode.READ, count=0), Status.INVALID_FIELD),
    ("a length of 33", dict(opcode=Opcode.WRITE, count=33, data=bytes(33 * BLOCK)), Status.INVALID_FIELD),
    ("an LBA past the end", dict(opcode=Opcode.READ, lba=64, count=1), Status.LBA_RANGE),
    (
        "a range that runs past the end",
        dict(opcode=Opcode.WRITE, lba=63, count=2, data=bytes(2 * BLOCK)),
        Status.LBA_RANGE,
    ),
    ("a query of an unknown thing", dict(opcode=Opcode.QUERY, arg=Query.DOUBTFUL + 1), Status.INVALID_FIELD),
    ("a query of the walk of txid 32", dict(opcode=Opcode.QUERY, arg=Query.TX_WALK, txid=32), Status.TX_INVALID),
    ("txid 32", dict(opcode=Opcode.WRITE, count=1, data=ZEROES, txid=32), Status.TX_INVALID),
    ("begin of txid 32", dict(opcode=Opcode.BEGIN, txid=32), Status.TX_INVALID),
    ("a commit without a txid", dict(opcode=Opcode.COMMIT), Status.INVALID_FIELD),
    ("a begin without a txid", dict(opcode=Opcode.BEGIN), Status.INVALID_FIELD),
    ("an abort without a txid", dict(opcode=Opcode.ABORT), Status.INVALID_FIELD),
    ("a query of the state of no txid", dict(opcode=Opcode.QUERY, arg=Query.TX), Status.INVALID_FIELD),
    ("a query of the capacity of a txid", dict(opcode=Opcode.QUERY, arg=Query.CAPACITY, txid=1), Status.INVALID_FIELD),
    ("a read with FUA", dict(opcode=Opcode.READ, count=1, fua=1), Status.INVALID_FIELD),
    ("a trim that commits", dict(opcode=Opcode.TRIM, count=1, txid=1, commit=1), Status.INVALID_FIELD),
    ("commit of a txid that is not open", dict(opcode=Opcode.COMMIT, txid=9), Status.TX_INVALID),
    ("abort of a txid that is not open", dict(opcode=Opcode.ABORT, txid=9), Status.TX_INVALID),
    (
        "a relaxed write that commits nothing",
        dict(opcode=Opcode.WRITE, count=1, data=ZEROES, txid=1, relaxed=1),
        Status.INVALID_FIELD,
    ),
    ("a read with a barrier", dict(opcode=Opcode.READ, count=1, barrier=1), Status.INVALID_FIELD),
    ("an orderless commit", dict(opcode=Opcode.COMMIT, txid=1, orderless=1), Status.INVALID_FIELD),
    (
        "an orderless write of a transaction",
        dict(opcode=Opcode.WRITE, count=1, data=ZEROES, txid=1, orderless=1),
        Status.INVALID_FIELD,
    ),
    ("an order attribute of 3", dict(opcode=Opcode.READ, count=1, order=3), Status.INVALID_FIELD),
    ("a barrier of a transaction", dict(opcode=Opcode.BARRIER, txid=1), Status.INVALID_FIELD),
    ("a relaxed flush", dict(opcode=Opcode.FLUSH, relaxed=1), Status.INVALID_FIELD),
    ("begin of a txid that is open", dict(opcode=Opcode.BEGIN, txid=1), Status.TX_BUSY),
]


def test_bad_input_gets_its_own_status_and_changes_nothing(drive):
    """One drive for all of BAD: what one of them did wrong the next ones see too."""
    for what, fields, status in BAD:
        drive.write(0, data(1))
        drive.write(63, data(2))
        assert drive.idle()
        drive.write(3, data(3), txid=1)
        before = drive.query(Query.RELEASED)
        assert drive.wait(drive.submit(**fields)).status == status, what
        assert drive.read(0) == data(1) and drive.read(63) == data(2) and drive.read(3, txid=1) == data(3), what
        assert drive.tx(1) == (TxState.OPEN, 1) and drive.query(Query.RELEASED) == before, what
        drive.write(4, data(4))
        assert drive.read(4) == data(4), f"the drive goes on after {what}"
        drive.abort(1)


def test_commands_before_the_firmware_is_ready_are_not_ready():
    d = Drive("quick", boot=False)
    tag = d.submit(Opcode.READ, 0, 1)
    assert d.wait(tag).status == Status.NOT_READY
    d.boot()
    assert d.read(0) == ZEROES


def test_a_drive_full_of_open_transactions_answers_capacity_reads_go_on_and_aborts_make_room(drive):
    for lba in range(0, 64, 16):
        drive.write(lba, data(100 + lba, 16))
    written = []
    for n in range(96):
        written.append((n // 3, n % 3 * 16))
        c = drive.write(n % 3 * 16, data(n, 16), txid=n // 3, check=False)
        if c.status != Status.SUCCESS:
            break
    assert c.status == Status.CAPACITY
    assert n >= 14
    for lba in range(0, 64, 16):
        assert drive.read(lba, 16) == data(100 + lba, 16)
    for k, (txid, lba) in enumerate(written[:-1]):
        assert drive.read(lba, 16, txid=txid) == data(k, 16)
    drive.flush()
    assert drive.write(0, data(1, 16), check=False).status == Status.CAPACITY
    assert drive.read(0, 16) == data(100, 16)
    drive.commit(0)  # nobody is sacrificed
    assert drive.read(16, 16) == data(1, 16)
    for txid in range(1, n // 3 + 1):
        drive.abort(txid, check=False)
    for n in range(40):
        for _ in range(200):  # CAPACITY is taken back when a block has come back
            if drive.write(n % 4 * 16, data(n, 16), check=False).status == Status.SUCCESS:
                break
        assert drive.read(n % 4 * 16, 16) == data(n, 16)


def test_after_a_power_cut_everything_flushed_is_there_and_nothing_uncommitted(drive):
    rng = random.Random(5)
    want = {}
    for n in range(30):
        lba = rng.randrange(4, 64)
        drive.write(lba, data(n))
        want[lba] = data(n)
    drive.write(2, data(900), txid=1)
    drive.flush()
    drive.write(3, data(901), txid=2)
    drive.commit(2)
    want[3] = data(901)
    drive.power_cut(3)
    drive.power_on()
    assert drive.read(2) == want.get(2, ZEROES)
    assert all(drive.read(lba) == d for lba, d in want.items())


def test_the_drive_survives_many_restarts_in_a_row(drive):
    for n in range(7):  # one more than there are blocks for roots
        drive.write(n, data(n), fua=1)
        drive.power_cut(n)
        drive.power_on()
        assert all(drive.read(i) == data(i) for i in range(n + 1))


def test_an_image_keeps_its_contents_and_a_wrong_one_is_refused_untouched(tmp_path):
    image = tmp_path / "drive.nand"
    d = Drive("quick", image=image)
    d.write(5, data(5, 4))
    assert d.checkpoint()
    d.step(20_000)  # firmware says one word of the health after the other
    assert d.health().checkpoints == 1
    d.write(9, data(9), txid=7)
    assert d.close()
    d = Drive("quick", image=image)
    assert d.read(5, 4) == data(5, 4) and d.read(9) == bytes(BLOCK)
    assert ": 0 log pages, 0 entries, 0 dropped" in d.uart and d.health().power_cuts == 0
    assert d.checkpoint(off=True) and d.checkpoint(off=True)
    d.power_cut()
    d.power_on()
    assert ": 0 log pages, 0 entries, 0 dropped" in d.uart and d.health().power_cuts == 0
    d.write(10, data(10), fua=1)
    d.power_cut()
    d.power_on()
    assert ": 1 log page, 1 entry, 0 dropped" in d.uart and d.health().power_cuts == 1
    assert d.read(10) == data(10) and "otx: 1 power cut, the last one before this start" in d.uart
    d.power_cut()
    assert d.close() is not None
    good = image.read_bytes()
    cases = {
        "short": good[: len(good) // 2],
        "foreign": b"not an image" * 1000,
        "geometry": good[:8] + bytes([good[8] ^ 1]) + good[9:],
    }
    for name, contents in cases.items():
        wrong = tmp_path / name
        wrong.write_bytes(contents)
        with pytest.raises(DriveError) as e:
            Drive("quick", image=wrong)
        assert "\n" not in str(e.value) and str(wrong) in str(e.value)
        assert wrong.read_bytes() == contents
