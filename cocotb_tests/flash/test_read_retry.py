# SPDX-License-Identifier: Apache-2.0
"""Pages that cannot be corrected are read again at other read levels: flash scheduler between its clients, frame memory
and model channels, as test_flash_scheduler.py.

The bench checks every command of a channel against models/retry_model.py, written from docs/interfaces.md, "Flash
scheduler".
"""

import os

import cocotb

from cocotb_tests.bench.amount import LONG, amount
from cocotb_tests.bench.flash_bench import PAGES, ROOT, FlashBench, page, verilog
from cocotb_tests.bench.flash_workload import Workload, dies, sent
from cocotb_tests.models.flash_model import BLANK, CRC, FAIL, OK, OOB, TIMEOUT, Op

LEVELS = 3
QUICK = {op: (20, 40) for op in Op}


async def bench(dut, retries=LEVELS, **more):
    return await FlashBench(dut, retries=retries, **({"times": QUICK} | more)).begin()


async def written(b, channel, way, count=1):
    """So many pages of block 1 of that die; the n-th (from 1) holds `page(n)`."""
    for n in range(count):
        b.frame.fill(n, page(n + 1))
        await b.finished(b.op("write", Op.PROGRAM, b.ppn(channel, way, 1, n), n, 1, n, n))


def drifts(b, levels):
    """`levels`: {(channel, way, page of block 1): read level}."""
    for c in b.channels:
        c.drift = lambda way, row, c=c: levels.get((c.channel, way, row - PAGES), 0)


def steps(b, channel, way, since=0):
    """Commands of that way in short: the level that is set, or R, O, V of a read."""
    names = {Op.READ: "R", Op.READ_OOB: "O", Op.VERIFY: "V", Op.STATUS: "s"}
    return "".join(
        str(c["lpn"]) if c["op"] == Op.SET_FEATURES else names.get(c["op"], "p") for c in sent(b, channel, way)[since:]
    )


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_page_is_read_at_the_level_it_has_and_the_die_goes_back_to_level_0(dut):
    b = await bench(dut)
    await written(b, 0, 1, 4)
    drifts(b, {(0, 1, n): n for n in range(4)})
    for n, commands in enumerate(("R", "R1R0", "R1R2R0", "R1R2R3R0")):
        before = len(sent(b, 0, 1))
        (done,) = await b.finished(b.op("read", Op.READ, b.ppn(0, 1, 1, n), 40 + n))
        assert done["status"] == OK and {f: done[f] for f in OOB} == {
            "kind": 1,
            "generation": 7,
            "lpn": n,
            "sequence": n,
        }
        assert b.frame.page(40 + n) == page(n + 1)
        await b.until(lambda: dut.busy.value == 0)
        assert steps(b, 0, 1, before) == commands and b.channels[0].level == [0, 0]
    assert dut.retriedReads.value == 3 == b.retries[0].retried


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_page_that_no_level_reads_ends_with_its_status_once(dut):
    b = await bench(dut)
    await written(b, 1, 0)
    drifts(b, {(1, 0, 0): 9})
    (done,) = await b.finished(b.op("read", Op.READ, b.ppn(1, 0, 1), 40))
    await b.until(lambda: dut.busy.value == 0)
    assert done["status"] == CRC and steps(b, 1, 0, 1) == "R1R2R3R0"
    assert (dut.retriedReads.value, dut.weakReads.value, len(b.done)) == (0, 0, 2)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def only_as_many_levels_are_tried_as_the_part_has(dut):
    for levels, commands in ((0, "R"), (1, "R1R0"), (2, "R1R2R0")):
        b = await bench(dut, retries=levels)
        b.clock = 0
        await written(b, 0, 0)
        drifts(b, {(0, 0, 0): 3})
        (done,) = await b.finished(b.op("read", Op.READ, b.ppn(0, 0, 1), 40))
        await b.until(lambda: dut.busy.value == 0)
        assert done["status"] == CRC and steps(b, 0, 0, 1) == commands


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def what_the_host_reads_or_firmware_verifies_so_is_reported(dut):
    b = await bench(dut)
    await written(b, 0, 0, 4)
    drifts(b, {(0, 0, n): 1 for n in range(4)})
    for n, (client, op) in enumerate(
        (("read", Op.READ), ("firmware", Op.VERIFY), ("firmware", Op.READ_OOB), ("firmware", Op.READ))
    ):
        before = len(sent(b, 0, 0))
        (done,) = await b.finished(b.op(client, op, b.ppn(0, 0, 1, n), 40 + n))
        await b.until(lambda: dut.busy.value == 0)
        assert done["status"] == OK and done["lpn"] == n
        assert steps(b, 0, 0, before) == "R1R0".replace(
            "R", op.name[0] if op == Op.VERIFY else "O" if op == Op.READ_OOB else "R"
        )
    await b.clocks(10)
    assert sorted(b.weak.reports) == [b.ppn(0, 0, 1, 0), b.ppn(0, 0, 1, 1)] and dut.retriedReads.value == 2


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def no_other_status_is_tried_again(dut):
    b = await bench(dut)
    await written(b, 0, 0, 2)
    b.channels[0].timing_out.add((0, PAGES))
    b.channels[0].failing.add((0, 2 * PAGES))
    cookies = [
        b.op("read", Op.READ, b.ppn(0, 0, 1), 40),
        b.op("read", Op.READ, b.ppn(0, 0, 5), 41),
        b.op("write", Op.PROGRAM, b.ppn(0, 0, 2), 5),
    ]
    assert [d["status"] for d in await b.finished(*cookies)] == [TIMEOUT, BLANK, FAIL]
    assert steps(b, 0, 0, 2).replace("p", "") == "RR"


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_die_that_hangs_while_a_page_is_read_again_ends_it(dut):
    b = await bench(dut)
    await written(b, 0, 0)
    drifts(b, {(0, 0, 0): 3})
    cookie = b.op("read", Op.READ, b.ppn(0, 0, 1), 40)
    await b.until(lambda: steps(b, 0, 0, 1) == "R1")
    b.channels[0].timing_out.add((0, PAGES))
    (done,) = await b.finished(cookie)
    await b.until(lambda: dut.busy.value == 0)
    assert done["status"] == TIMEOUT and steps(b, 0, 0, 1) == "R1R0"


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def an_error_of_frame_memory_is_not_tried_again(dut):
    b = await bench(dut)
    await written(b, 0, 0)
    b.frame.bad = {40}
    (done,) = await b.finished(b.op("read", Op.READ, b.ppn(0, 0, 1), 40))
    assert done["status"] == CRC and steps(b, 0, 0, 1) == "R"


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def other_dies_go_on_and_the_same_die_waits(dut):
    b = await bench(dut, times=QUICK | {Op.SET_FEATURES: (400, 400)})
    await written(b, 0, 0)
    drifts(b, {(0, 0, 0): 3})
    slow = b.op("read", Op.READ, b.ppn(0, 0, 1), 40)
    await b.until(lambda: steps(b, 0, 0, 1) == "R1")
    same = [b.op(client, Op.STATUS, b.ppn(0, 0, 2)) for client in ("read", "log", "write", "firmware")]
    others = [b.op("read", Op.STATUS, b.ppn(0, 1, 2)) for _ in range(6)]
    await b.finished(*others, limit=600)
    assert slow not in b.done
    await b.finished(slow, *same)
    assert steps(b, 0, 0, 1) == "R1R2R3R0ssss"


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def the_dies_of_a_channel_are_read_again_one_after_the_other(dut):
    b = await bench(dut, times=QUICK | {Op.READ: (700, 700)})
    for way in (0, 1):
        await written(b, 0, way, 2)
    drifts(b, {(0, way, n): 2 for way in (0, 1) for n in (0, 1)})
    reads = [b.op("read", Op.READ, b.ppn(0, way, 1, n), 40 + 2 * way + n) for n in (0, 1) for way in (0, 1)]
    assert [d["status"] for d in await b.finished(*reads)] == [OK] * 4
    await b.until(lambda: dut.busy.value == 0)
    assert [b.frame.page(40 + n) for n in range(4)] == [page(1), page(2), page(1), page(2)]
    for way in (0, 1):
        assert steps(b, 0, way, 2) == "R1R2R0" * 2
    assert dut.retriedReads.value == 4


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def reset_forgets_a_page_that_is_read_again(dut):
    b = await bench(dut)
    await written(b, 0, 0)
    drifts(b, {(0, 0, 0): 2})
    b.op("read", Op.READ, b.ppn(0, 0, 1), 40)
    await b.until(lambda: steps(b, 0, 0, 1) == "R1")
    b = await bench(dut)
    b.clock = 0
    await b.clocks(5)
    assert dut.busy.value == 0 and not b.channels[0].log
    await written(b, 0, 0)
    assert dut.retriedReads.value == 0


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def random_operations_on_drifted_pages_agree_with_the_model(dut):
    seed = int(os.environ.get("SEED", "1"))
    dut._log.info("SEED=%d", seed)
    for stall in (0.0, 0.15):
        b = await FlashBench(dut, seed, stall, retries=LEVELS, wrong=0.3).begin()
        b.clock = 0
        for c in b.channels:
            c.drift = lambda way, row, c=c: (row * 7 + way * 3 + c.channel) % 5 % (LEVELS + 1)
        load = Workload(b, b.rng)
        count = amount(24, 50) * len(dies(b))
        for _ in range(count):
            await b.until(lambda b=b, load=load: len(load.frames) > 30)
            load.submit()
            await b.clocks(b.rng.randrange(20))
        await b.finished()
        await b.until(lambda: dut.busy.value == 0)
        retried = sum(r.retried for r in b.retries)
        assert (
            retried >= amount(2, count // 10 + 1)
            and len(b.done) == count
            and all(c.level == [0] * b.geometry.ways for c in b.channels)
        )
        assert (b.weak.reports or not LONG) and not any(b.weak.due.values())
        assert (dut.weakReads.value, dut.correctedReads.value) == (b.weak.weak_reads, b.weak.corrected_reads)
        assert dut.retriedReads.value == b.weak.retried_reads
        dut._log.info("%d clocks, %d pages at another level", b.clock, retried)


def run_on(channels, ways, testcase=None):
    from cocotb_tests.bench.runner import run

    env = {"OTX_CHANNELS": str(channels), "OTX_WAYS": str(ways)}
    run(
        "otx_flash_scheduler",
        [verilog("otx_flash_scheduler", channels, ways, retries=LEVELS)],
        __name__,
        env=env,
        testcase=testcase,
    )


def test_read_retry():
    run_on(2, 2)


def test_other_geometries():
    for channels, ways in ((1, 3), (3, 1)):
        run_on(channels, ways, ["random_operations_on_drifted_pages_agree_with_the_model"])


def test_a_drive_without_it_has_no_more_hardware():
    assert "read_retry" not in (ROOT / verilog("otx_flash_scheduler", 2, 2)).read_text()
