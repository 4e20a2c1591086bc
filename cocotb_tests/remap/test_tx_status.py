# SPDX-License-Identifier: Apache-2.0
"""Transaction states: every request in every state, waiting, commit order, use counts; random inputs against a model of
one clock.
"""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly

from cocotb_tests.bench.runner import run
from cocotb_tests.models.remap_model import MOVES, State, TxOp

VERILOG = os.environ.get("OTX_VERILOG_DIR", "build/tiny/verilog")
MOST = [op for op in TxOp if op != TxOp.RECOVER]
simulated = cocotb.test(timeout_time=5, timeout_unit="ms")


class Status:
    """Drives one clock at a time and knows what must be there after it."""

    def __init__(self, dut):
        self.dut = dut
        self.state, self.count, self.use, self.commits = [State.FREE] * 32, [0] * 32, [0] * 32, []
        self.freeing = None  # becomes FREE at the end of this clock

    async def start(self):
        d = self.dut
        flags = ["tx_valid", "appending", "free_valid", "countUp_valid"]
        flags.append("restored_valid")
        for name in [
            *flags,
            "restored_payload_txid",
            "restored_payload_entries",
            "tx_payload_op",
            "tx_payload_txid",
            "free_payload",
            "countUp_payload",
            "useTxid",
        ]:
            getattr(d, name).value = 0
        d.reset.value = 1
        cocotb.start_soon(Clock(d.clk, 10, "ns").start())
        for _ in range(3):
            await FallingEdge(d.clk)
        d.reset.value = 0
        for _ in range(33):
            await FallingEdge(d.clk)
        return self

    async def restore(self, txid, entries):
        """A mount has brought it back."""
        d = self.dut
        d.restored_valid.value, d.restored_payload_txid.value, d.restored_payload_entries.value = 1, txid, entries
        await FallingEdge(d.clk)
        d.restored_valid.value = 0
        self.state[txid], self.count[txid], self.use[txid] = State.PREPARED, entries, 1

    async def step(self, op=None, txid=0, appending=0, free=None, up=None):
        """One clock; returns whether the request was taken."""
        d = self.dut
        d.tx_valid.value, d.tx_payload_op.value, d.tx_payload_txid.value = int(op is not None), int(op or 0), txid
        d.appending.value = appending
        d.free_valid.value, d.free_payload.value = int(free is not None), free or 0
        d.countUp_valid.value, d.countUp_payload.value = int(up is not None), up or 0
        await ReadOnly()
        taken = op is not None and bool(int(d.tx_ready.value))
        assert op is None or taken == (self.freeing is None and (op == TxOp.COMMIT or not appending)), (
            "taken at the wrong time"
        )
        move = MOVES.get((self.state[txid], op)) if taken and op != TxOp.RECOVER else None
        assert int(d.evCommitTaken.value) == (move == State.COMMITTED)
        walked = (
            free is not None
            and self.freeing is None
            and (self.state[free] == State.ABORTED or self.commits[:1] == [free])
        )
        if up is not None:
            self.count[up] += 1
        if move is not None:
            self.state[txid] = move
            self.use[txid] += op == TxOp.BEGIN
            if op == TxOp.COMMIT:
                self.commits.append(txid)
        if taken and op == TxOp.RECOVER:
            self.state = [State.ABORTED if state == State.OPEN else state for state in self.state]
        if self.freeing is not None:
            self.state[self.freeing], self.count[self.freeing] = State.FREE, 0
            if self.commits[:1] == [self.freeing]:
                self.commits.pop(0)
        self.freeing = free if walked else None
        await FallingEdge(d.clk)
        d.tx_valid.value = d.free_valid.value = d.countUp_valid.value = 0
        assert int(d.evCommitVisible.value) == (move == State.COMMITTED) and (
            move != State.COMMITTED or int(d.evTxid.value) == txid
        )
        return taken

    def compare(self):
        d = self.dut
        assert [int(getattr(d, f"state_{t}").value) for t in range(32)] == self.state
        assert [int(getattr(d, f"count_{t}").value) for t in range(32)] == self.count
        ages = [(int(getattr(d, f"order_{t}").value) - int(d.oldestOrder.value)) % 128 for t in self.commits]
        assert ages == list(range(len(ages))), "ages of the committed, oldest first"
        assert int(d.oldest_valid.value) == bool(self.commits) and (
            not self.commits or int(d.oldest_payload.value) == self.commits[0]
        )
        assert int(d.aborted.value) == sum(1 << t for t in range(32) if self.state[t] == State.ABORTED)


@simulated
async def every_request_in_every_state_does_what_the_table_says(dut):
    s = await Status(dut).start()
    ways = {
        State.FREE: [],
        State.OPEN: [0],
        State.PREPARED: [0, 4],
        State.COMMITTING: [0, 1],
        State.COMMITTED: [0, 1, 2],
        State.ABORTED: [0, 3],
    }
    txid = 0
    for way in ways.values():
        for op in [*sorted({op for _, op in MOVES} - {TxOp.RECOVER}), None]:
            for earlier in way:
                await s.step(TxOp(earlier), txid)
            if op is None:
                await s.step(free=txid)  # COMMITTED is not the oldest here, except the first
                await s.step()
            else:
                await s.step(op, txid)
            s.compare()
            txid += s.state[txid] != State.FREE or way != []  # one that is still FREE is used again
    assert set(s.state) == set(ways), "not all states were seen"


@simulated
async def recover_aborts_all_open_transactions_in_one_clock_and_no_other(dut):
    s = await Status(dut).start()
    for txid in range(30):
        for op in [(), (0,), (0, 4), (0, 1), (0, 1, 2), (0, 3)][txid % 6]:
            await s.step(TxOp(op), txid)
    before = list(s.state)
    assert not await s.step(TxOp.RECOVER, 1, appending=1) and s.state == before
    s.compare()
    await s.step(free=5)  # the clock after it is taken, it becomes FREE: nothing else is
    assert not await s.step(TxOp.RECOVER, 1) and await s.step(TxOp.RECOVER, 0)
    s.compare()
    assert [n for n in range(32) if s.state[n] != before[n]] == sorted([5, *range(1, 30, 6)])
    await s.step(TxOp.RECOVER, 31)  # nobody is left
    s.compare()


@simulated
async def all_but_a_commit_wait_for_an_append_and_a_commit_only_for_a_free(dut):
    s = await Status(dut).start()
    for op in (TxOp.BEGIN, TxOp.PREPARE, TxOp.COMMITTING):
        assert not await s.step(op, 9, appending=1) and await s.step(op, 9)
    assert await s.step(TxOp.BEGIN, 8) and not await s.step(TxOp.ABORT, 8, appending=1)
    assert await s.step(TxOp.ABORT, 8)
    await s.step(free=8)
    assert not await s.step(TxOp.COMMIT, 9)
    assert await s.step(TxOp.COMMIT, 9, appending=1)
    s.compare()


@simulated
async def all_32_can_be_committed_and_are_freed_in_order(dut):
    s = await Status(dut).start()
    order = random.Random(3).sample(range(32), 32)
    for _ in range(3):  # the order numbers go round
        for op in (TxOp.BEGIN, TxOp.COMMITTING, TxOp.COMMIT):
            for txid in order:
                await s.step(op, txid)
        s.compare()
        await s.step(free=order[1])
        assert s.state[order[1]] == State.COMMITTED, "only the oldest may go"
        for txid in order:
            s.compare()
            await s.step(free=txid)
            await s.step(free=txid)  # not taken, though it is still the oldest
        s.compare()
    dut.useTxid.value = order[0]
    await FallingEdge(dut.clk)
    assert int(dut.useCount.value) == 3


@simulated
async def transactions_that_a_mount_brought_back_are_prepared_and_end_as_others_do(dut):
    s = await Status(dut).start()
    for txid, entries in ((0, 7), (31, 60000), (5, 0), (9, 1)):
        await s.restore(txid, entries)
        s.compare()
    for pin, txid in ((dut.sizeOf_0, 31), (dut.sizeOf_1, 5), (dut.sizeOf_2, 0)):
        pin.value = txid
    dut.useTxid.value = 9
    await s.step()
    assert [int(n.value) for n in (dut.size_0, dut.size_1, dut.size_2, dut.useCount)] == [60000, 0, 7, 1]
    for op in (TxOp.BEGIN, TxOp.RECOVER, TxOp.PREPARE):
        await s.step(op, 9)
        s.compare()
    for txid in (31, 9):
        await s.step(TxOp.COMMITTING, txid)
        await s.step(TxOp.COMMIT, txid)
    await s.step(TxOp.ABORT, 5)
    for txid in (5, 31, 9):
        await s.step(free=txid)
        await s.step()
        s.compare()
    await s.step(TxOp.BEGIN, 9)
    await s.step()
    assert int(dut.useCount.value) == 2, "the next use has another serial"
    s.compare()


@simulated
async def random_inputs_agree_with_the_model(dut):
    rng = random.Random(int(os.environ.get("SEED", "1")))
    s = await Status(dut).start()
    for txid in rng.sample(range(32), rng.randrange(6)):
        await s.restore(txid, rng.randrange(60001))
    commits, most = 0, 0
    for n in range(6000):
        txid = rng.randrange(32)
        legal = [op for (state, op) in MOVES if state == s.state[txid] and op != TxOp.RECOVER]
        op = (
            rng.choice(legal or MOST)
            if rng.random() < 0.8
            else rng.choice([None, *MOST, 6, 7, *[TxOp.RECOVER] * (rng.random() < 0.2)])
        )
        walked = [t for t in range(32) if s.state[t] == State.ABORTED] + s.commits[:2]
        free = (
            rng.choice(walked) if walked and rng.random() < 0.2 else rng.randrange(32) if rng.random() < 0.02 else None
        )
        opens = [t for t in range(32) if s.state[t] == State.OPEN]
        up = rng.choice(opens) if opens and rng.random() < 0.5 else None
        before = len(s.commits)
        # an entry is counted while its APPEND is under way
        await s.step(op, txid, appending=int(up is not None or rng.random() < 0.2), free=free, up=up)
        commits, most = commits + (len(s.commits) > before), max(most, len(s.commits))
        if n % 4 == 0:
            s.compare()
            dut.useTxid.value = txid
            await s.step()
            assert int(dut.useCount.value) == s.use[txid]
    dut._log.info(f"{commits} commits, up to {most} waiting to be merged")
    assert commits > 200 and most > 3


def test_tx_status():
    run("otx_tx_status", [f"{VERILOG}/otx_remap_engine.v"], __name__)
