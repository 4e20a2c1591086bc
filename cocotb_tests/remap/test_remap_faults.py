# SPDX-License-Identifier: Apache-2.0
"""Remap engine: bad requests, broken chains and memory errors."""

import cocotb

from cocotb_tests.bench.remap_bench import SOURCES, G, bench, buf, nand
from cocotb_tests.bench.runner import run
from cocotb_tests.models.remap_model import VER, Op, State, TxOp, word

LOOKUP, APPEND, PLAIN, SWAP, TRIM = Op
BEGIN, COMMITTING, COMMIT, ABORT, PREPARE, RECOVER = TxOp
simulated = cocotb.test(timeout_time=2, timeout_unit="ms")


@simulated
async def what_may_not_be_done_is_refused_and_changes_nothing(dut):
    b = await bench(dut)
    await b.tx(BEGIN, 1)
    await b.op(APPEND, 8, 1, buf(1))
    ver = word(VER, 65536)
    refused = [
        (LOOKUP, G.lbas),
        (PLAIN, G.lbas, None, buf(9)),
        (APPEND, 1 << 30, 1, buf(9)),
        (SWAP, 0xFFFFFFFF, None, buf(1), buf(9)),
    ]
    refused += [(APPEND, 8, None, buf(9)), (APPEND, 8, 2, buf(9)), (APPEND, 8, 1, ver), (PLAIN, 8, None, ver)]
    refused += [(SWAP, 8, None, buf(1), ver), (7, 8)]
    for args in refused:
        assert (await b.op(*args))["error"], args
    b.set_count(1, G.tx_entries)
    words = b.table.beats.copy()
    assert (await b.op(APPEND, 9, 1, buf(9)))["error"] and b.table.beats == words, "an entry was added to a full table"
    assert not (await b.op(APPEND, 8, 1, buf(2)))["error"], "an entry of a full table is updated"
    assert int(dut.memoryErrors.value) == 0 and b.released == [buf(1)]


@simulated
async def a_broken_chain_is_an_error_and_not_the_end(dut):
    b = await bench(dut, check=False)
    await b.tx(BEGIN, 1)
    await b.op(APPEND, 5, 1, buf(1))
    await b.op(APPEND, 6, 1, buf(2))
    t, good = b.table, b.table.get32(G.table_base + 20)
    own = G.tx_base + 16 * 65536
    broken = {
        "a loop": lambda: t.put32(own + 8, good),
        "an entry of another LPN": lambda: t.put32(G.table_base + 20, good + 1),
        "an entry that was never added": lambda: t.put32(G.table_base + 20, good + 2),
        "an entry of a FREE transaction": lambda: t.put32(G.table_base + 20, word(VER, 2 * 65536)),
        "an index past the tables": lambda: t.put32(G.table_base + 20, good | 1 << 21),
        "a location that is a version": lambda: t.put32(own + 4, good),
    }
    errors = 0
    for what, damage in broken.items():
        saved = t.beats.copy()
        damage()
        for args in ((LOOKUP, 5), (PLAIN, 5, None, buf(7)), (SWAP, 5, None, buf(8), buf(9))):
            assert (await b.op(*args))["error"], f"{what}: {Op(args[0]).name}"
            errors += 1
        t.beats = saved
        assert await b.location(5, 1) == buf(1), what
    assert int(dut.memoryErrors.value) == errors and b.released == []


@simulated
async def behind_a_bad_entry_a_chain_is_not_read_on(dut):
    """Its answer frees the slot: the next entry would come to another job."""
    b = await bench(dut, check=False)
    for txid in (1, 2):
        await b.tx(BEGIN, txid)
        await b.op(APPEND, 5, txid, buf(txid))
    b.table.put32(G.tx_base + 2 * 16 * 65536, 6)  # the LPN of the newer version, which is not the last
    start = b.table.accesses
    assert (await b.op(LOOKUP, 5))["error"]
    await b.clocks(40)
    assert b.table.accesses - start == 2, "map word, entry"


@simulated
async def a_memory_error_is_answered_and_the_engine_goes_on(dut):
    b = await bench(dut, check=False, latency=(2, 4))
    scenes = {LOOKUP: (), APPEND: (4, buf(9)), PLAIN: (None, buf(9)), SWAP: (None, buf(1), buf(9))}
    hits = 0
    for op, args in scenes.items():
        for nth in range(8):
            await b.tx(BEGIN, 3)
            await b.tx(BEGIN, 4)
            await b.op(PLAIN, 20, location=buf(1))
            await b.op(APPEND, 20, 3, buf(2))
            start = b.table.accesses
            b.table.bad = lambda address, write, at=start + nth: b.table.accesses == at + 1
            error = (await b.op(op, 20, *args))["error"]
            used = b.table.accesses - start
            b.table.bad = lambda address, write: False
            assert error == (nth < used), f"{op.name}: {used} accesses, error in number {nth}"
            hits += error
            for txid in (3, 4):
                await b.tx(ABORT, txid)
            await b.drain()
            b.table.beats.clear()
    for nth in range(5):  # walks: read ahead, map word, entry, write
        await b.op(PLAIN, 21, location=nand(1))
        await b.tx(BEGIN, 5)
        await b.op(APPEND, 21, 5, nand(2))
        start = b.table.accesses
        b.table.bad = lambda address, write, at=start + nth: b.table.accesses == at + 1
        await b.commit(5)
        await b.drain()
        assert b.state(5) == State.FREE
        hits += nth < 4
        b.table.beats.clear()
    assert hits >= 12 and int(dut.memoryErrors.value) == hits
    b.table.bad = lambda address, write: False
    await b.op(PLAIN, 22, location=nand(5))
    assert await b.location(22) == nand(5)


def test_remap_faults():
    run("otx_remap_engine", SOURCES, __name__, depth=2)
