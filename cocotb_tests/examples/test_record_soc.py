# SPDX-License-Identifier: Apache-2.0
"""examples/remap_engine_soc: the record table through the host's bus, against a table in Python that knows what each
reader must see.
"""

import os
import random
import subprocess
import sys

import cocotb
from cocotb.task import bridge
from cocotb.triggers import FallingEdge

from cocotb_tests.bench.amount import amount
from cocotb_tests.bench.streams import start
from cocotb_tests.examples.wishbone_host import WishboneHost
from examples.remap_engine_soc.record_table import Error
from examples.remap_engine_soc.records import RecordError, Records

KEYS, TXIDS, ENTRIES, PLACES = 64, 8, 31, 96  # of RecordSoC
SEED = int(os.environ.get("SEED", "1"))


async def begin(dut):
    """(Records of a cleared table, its host)."""
    host = WishboneHost(dut, os.environ["CSR"])
    await start(dut)
    base = host.map["memories"]["table"]["base"]
    # what a memory holds before it is cleared: versions of nobody
    await host.fill(base, [0xC0000000 + n for n in range(KEYS)])
    return await bridge(Records)(host, base, 4 * KEYS), host


def scene(test):
    """A test whose body is the host's program: it takes the Records and the dut's log."""

    async def simulated(dut):
        records, host = await begin(dut)
        await bridge(test)(records, dut._log.info)
        assert await host.access(host.map["csr_registers"]["engine_memory_errors"]["addr"]) == 0

    simulated.__name__ = simulated.__qualname__ = test.__name__
    return cocotb.test(timeout_time=20, timeout_unit="ms")(simulated)


def refused(error, call, *args, **more):
    try:
        call(*args, **more)
    except RecordError as e:
        assert e.error == error, e
    else:
        raise AssertionError(f"not {error.name}")


@scene
def two_transactions_see_their_own_records_and_nobody_else_does(r, log):
    r.put(5, 0x0123456789ABCDEF)
    r.begin(1)
    r.begin(7)
    r.put(5, 11, txid=1)
    r.put(5, 77, txid=7)
    r.delete(6, txid=7)
    log(f"key 5: outside {r.get(5):x}, in transaction 1 {r.get(5, txid=1)}, in transaction 7 {r.get(5, txid=7)}")
    assert (r.get(5), r.get(5, txid=1), r.get(5, txid=7), r.get(5, txid=2)) == (
        0x0123456789ABCDEF,
        11,
        77,
        0x0123456789ABCDEF,
    )
    r.commit(1)
    assert (r.get(5), r.get(5, txid=7)) == (11, 77)
    r.abort(7)
    assert r.get(5) == r.get(5, txid=7) == 11 and r.get(6) is None
    r.settle()
    assert r.free == PLACES - 1 and r.get(5) == 11


@scene
def a_full_transaction_is_seen_at_once_and_an_aborted_one_leaves_nothing(r, log):
    for key in range(ENTRIES):
        r.put(key, key)
    for txid, end in ((2, r.abort), (3, r.commit)):
        r.begin(txid)
        for key in range(ENTRIES):
            r.put(key, 1000 * txid + key, txid=txid)
        r.regs.engine_txid.write(txid)
        assert (r.regs.engine_tx_state.read(), r.regs.engine_tx_entries.read()) == (1, ENTRIES)
        refused(Error.REFUSED, r.put, ENTRIES, 1, txid=txid)
        r.put(0, 9000 * txid, txid=txid)  # the entry that is there
        assert [r.get(key) for key in (0, 1, ENTRIES - 1, ENTRIES)] == [0, 1, ENTRIES - 1, None]
        before = r.free
        end(txid)
        assert r.free < before + ENTRIES, "the walk was over before the host could look"
        seen = [r.get(key) for key in range(ENTRIES)]
        assert seen == ([27000, *range(3001, 3000 + ENTRIES)] if end == r.commit else list(range(ENTRIES)))
        r.settle()
        assert r.free == PLACES - ENTRIES
    assert [r.get(key) for key in (0, ENTRIES - 1, ENTRIES)] == [27000, 3000 + ENTRIES - 1, None]


@scene
def the_host_sees_how_far_a_merge_is(r, log):
    for txid, keys in ((5, range(16)), (6, range(1))):
        r.begin(txid)
        for key in keys:
            r.put(key, txid, txid=txid)
    r.commit(5)
    r.commit(6)
    regs, seen = r.regs, []
    regs.engine_txid.write(6)
    waits = [
        getattr(regs, f"engine_{name}").read()
        for name in ("tx_use", "tx_state", "tx_entries", "tx_older", "tx_reached", "walking")
    ]
    regs.engine_txid.write(5)
    while regs.engine_tx_state.read() == 4:
        seen.append(regs.engine_tx_reached.read())
    r.settle()
    log(f"entries that the merge has come to: {seen}")
    assert waits == [1, 4, 1, 1, 0, 1] and seen == sorted(seen) and len(set(seen)) > 4 and max(seen) <= 16
    assert r.get(0) == 6 and r.get(15) == 5 and r.free == PLACES - 16


@scene
def what_may_not_be_done_is_refused_and_costs_no_place(r, log):
    refused(Error.REFUSED, r.commit, 0)
    refused(Error.REFUSED, r.abort, 0)
    refused(Error.REFUSED, r.put, 1, 1, txid=0)
    refused(Error.REFUSED, r.delete, 1, txid=0)
    r.begin(0)
    refused(Error.REFUSED, r.begin, 0)
    refused(Error.REFUSED, r.run, 7)
    assert r.free == PLACES and r.get(1, txid=0) is None
    for key in range(KEYS):
        r.put(key, key)
    for key in range(ENTRIES):
        r.put(key, 1, txid=0)
    r.put(50, 2)  # takes a place before it gives one back
    assert r.free == 1
    r.begin(1)
    r.put(53, 5, txid=1)
    assert r.free == 0
    refused(Error.NO_PLACE, r.put, 54, 6)
    assert r.get(54) == 54
    r.abort(0)
    r.abort(1)
    r.settle()
    assert r.free == PLACES - KEYS and [r.get(key) for key in (0, 50, 53)] == [0, 2, 53]


@scene
def a_random_mix_is_what_a_table_in_python_says(r, log):
    rng, base, opened = random.Random(SEED), {}, {}
    seen = dict.fromkeys(["get", "own", "put", "delete", "commit", "abort"], 0)
    keys = rng.sample(range(KEYS), 12)
    for n in range(amount(400, 4000)):
        key, txid = rng.choice(keys), rng.choice([None, rng.randrange(TXIDS), *opened])
        what = rng.choice(["get"] * 6 + ["put"] * 6 + ["delete", "delete", "end", "begin", "begin"])
        txid = rng.choice(list(opened) or [None]) if what == "end" else txid
        mine = opened.get(txid)
        if what == "get":
            right = mine.get(key, base.get(key)) if mine is not None else base.get(key)
            assert r.get(key, txid) == right, f"step {n}: key {key}, txid {txid}"
            seen["own"] += mine is not None and key in mine
        elif what in ("put", "delete"):
            if txid is not None and mine is None:
                continue
            value = rng.getrandbits(64) if what == "put" else None
            r.put(key, value, txid) if what == "put" else r.delete(key, txid)
            (base if mine is None else mine)[key] = value
        elif what == "begin" and txid is not None and mine is None:
            try:
                r.begin(txid)
            except RecordError:  # its walk is not over
                r.settle()
                r.begin(txid)
            opened[txid] = {}
        elif what == "end" and mine is not None:
            what = rng.choice(["commit", "abort"])
            (r.commit if what == "commit" else r.abort)(txid)
            base |= opened.pop(txid) if what == "commit" else {}
            opened.pop(txid, None)
        seen[what] = seen.get(what, 0) + 1
    r.settle()
    used = sum(v is not None for table in (base, *opened.values()) for v in table.values())
    assert r.free == PLACES - used and {key: r.get(key) for key in keys} == {key: base.get(key) for key in keys}
    log(f"{seen}")
    assert min(seen[what] for what in ("get", "own", "put", "delete", "commit", "abort")) > 2


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def after_a_reset_all_is_as_new(dut):
    r, host = await begin(dut)

    def some_work():
        for key in range(8):
            r.put(key, key)
        for txid in (0, 3):
            r.begin(txid)
            r.put(2, txid, txid=txid)
        r.commit(3)

    def nothing_is_left():
        new = Records(host, host.map["memories"]["table"]["base"], 4 * KEYS)
        assert [new.get(key) for key in range(8)] == [None] * 8 and new.free == PLACES
        some_work()
        assert (new.get(2), new.get(2, txid=0), new.regs.engine_memory_errors.read()) == (3, 0, 0)

    await bridge(some_work)()
    for value in (1, 0):
        await FallingEdge(dut.clk)
        dut.reset.value = value
    await bridge(nothing_is_left)()


def test_record_soc():
    from cocotb_tests.bench.runner import BUILD, ROOT, run

    folder = BUILD / "record_soc"
    made = subprocess.run(
        [sys.executable, ROOT / "examples/remap_engine_soc/record_soc.py", folder],
        check=True,
        capture_output=True,
        text=True,
    )
    run(
        "record_soc",
        [os.path.relpath(source, ROOT) for source in made.stdout.split()],
        __name__,
        env={"CSR": str(folder / "csr.json")},
    )
