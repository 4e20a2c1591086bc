# SPDX-License-Identifier: Apache-2.0
"""Priority classes at a die: which read goes, and which writes go before reads. Without stalls every command of the
tests is checked against models/way_order.py as well.
"""

import os

import cocotb

from cocotb_tests.bench.amount import amount
from cocotb_tests.bench.flash_bench import CLIENTS, FlashBench, verilog
from cocotb_tests.bench.flash_workload import sent
from cocotb_tests.models.flash_model import Op
from cocotb_tests.models.way_order import (
    LOW,
    MEDIUM,
    MOST_PASSED,
    MOST_PASSED_FIRST,
    MOST_READS,
    PATIENCE,
    most_passed,
    most_reads,
)
from opentxssd.facts import Priority

LETTERS = {Priority.URGENT: "U", Priority.HIGH: "H", Priority.MEDIUM: "M", Priority.LOW: "L"}


async def behind_one_at_work(dut, *ops):
    """These ops (client, class) come to die (0, 1) while another is at work; the order in which they go, a letter each:
    that of the class of a read, lower case of a write, `g` of the log, `f` of firmware.
    """
    b = await FlashBench(dut, times=dict.fromkeys(Op, (100, 100))).begin()
    b.clock = 0
    b.op("firmware", Op.RESET, b.ppn(0, 1, 0), kind=ord("0"))
    await b.until(lambda: b.channels[0].log)
    for client, priority in ops:
        letter = {"log": "g", "firmware": "f"}.get(client, LETTERS[priority])
        letter = letter.lower() if client == "write" else letter
        b.op(client, Op.STATUS, b.ppn(0, 1, 7), kind=ord(letter), priority=priority)
    await b.until(lambda: not any(source.queue for source in b.clients.values()))
    assert len(b.channels[0].log) == 1
    await b.finished()
    return "".join(chr(c["kind"]) for c in sent(b, 0, 1))[1:]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def reads_go_by_class_and_each_class_has_its_place_in_sixteen(dut):
    """The second read, the sixth and so on are of HIGH first, the fourth and twelfth of MEDIUM, the last one of LOW."""
    reads = [("read", p) for p in (Priority.LOW, Priority.MEDIUM, Priority.HIGH, Priority.URGENT) for _ in range(8)]
    went = await behind_one_at_work(dut, *reads)
    assert went == "UHUMUHUUUHUMUHHL" + "HHHMMMMMMLLLLLLL", went


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def programs_that_nobody_waits_for_go_behind_reads_of_all_classes(dut):
    ops = [("firmware", Priority.URGENT), *[("write", Priority.LOW)] * 2, ("log", Priority.LOW)]
    ops.append(("read", Priority.LOW))
    assert await behind_one_at_work(dut, *ops, ("read", Priority.MEDIUM)) == "MgLllf"


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_program_that_somebody_waits_for_takes_those_before_it_along(dut):
    for p, order in [
        (Priority.MEDIUM, "MgllmLl"),
        (Priority.HIGH, "gllhMLl"),
        (Priority.URGENT, "glluMLl"),
    ]:
        ops = [("write", Priority.LOW)] * 2 + [("write", p), ("write", Priority.LOW)]
        went = await behind_one_at_work(
            dut, *ops, ("read", Priority.LOW), ("read", Priority.MEDIUM), ("log", Priority.LOW)
        )
        assert went == order, f"{p.name}: {went}, not {order}"


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def programs_are_lifted_to_the_class_of_the_most_urgent_only(dut):
    ops = [("write", Priority.HIGH), ("write", Priority.MEDIUM), *[("read", Priority.HIGH)] * 2]
    assert await behind_one_at_work(dut, *ops, ("read", Priority.MEDIUM)) == "HHhMm"


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_full_queue_of_a_class_holds_no_other_class_that_comes_before_it(dut):
    reads = [("read", Priority.LOW)] * 8 + [("read", Priority.URGENT)] * 8 + [("read", Priority.LOW)]
    b = await FlashBench(dut, times=dict.fromkeys(Op, (2000, 2000))).begin()
    b.clock = 0
    b.op("firmware", Op.RESET, b.ppn(0, 1, 0))
    await b.until(lambda: b.channels[0].log)
    for client, p in reads:
        b.op(client, Op.STATUS, b.ppn(0, 1, 7), priority=p)
    await b.clocks(60)
    assert len(b.clients["read"].queue) == 1
    await b.finished()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def no_class_is_passed_over_more_often_than_its_bound(dut):
    worst, reads = dict.fromkeys(MOST_PASSED, 0), [0] * 4
    for seed in range(1, amount(8, 30)):
        b = await FlashBench(dut, seed, times=dict.fromkeys(Op, (8, 8))).begin()
        b.clock = 0
        share = {c: b.rng.choice([0.1, 0.3, 1]) for c in CLIENTS}
        kinds = {c: b.rng.choices(list(Priority), k=b.rng.randint(1, 4)) for c in CLIENTS}
        for n in range(200):
            for client, part in share.items():
                if b.rng.random() < part:
                    op = Op.ERASE if client == "firmware" and b.rng.random() < 0.5 else Op.STATUS
                    b.op(client, op, b.ppn(0, 1, 1 + n % 20), priority=b.rng.choice(kinds[client]))
        await b.until(lambda b=b: not any(source.queue for source in b.clients.values()), 40_000)
        order = b.orders[0][1]
        worst = {kind: max(n, order.worst[kind]) for kind, n in worst.items()}
        reads = list(map(max, reads, order.worst_reads))
    dut._log.info("passed over at most %s of %s, reads %s of %s", worst, MOST_PASSED, reads, MOST_READS)
    assert worst["read"] > MOST_PASSED_FIRST and reads[3] == 1 and reads[2] == 3, "the bounds were hardly tried"


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def when_the_power_fails_only_programs_go(dut):
    """Reads of all classes and ops of firmware stay, also those that have been passed over so often that they would be
    next.
    """
    for old, reads in ((None, Priority), ("read", [Priority.LOW]), ("firmware", [])):
        b = await FlashBench(dut, times=dict.fromkeys(Op, (100, 100))).begin()
        b.clock, order = 0, b.orders[0][1]
        b.op("firmware", Op.RESET, b.ppn(0, 1, 0), kind=ord("0"))
        await b.until(lambda b=b: b.channels[0].log)
        for p in reads:
            b.op("read", Op.STATUS, b.ppn(0, 1, 7), kind=ord(LETTERS[p]), priority=p)
        b.op("firmware", Op.STATUS, b.ppn(0, 1, 9), kind=ord("f"))
        b.op("firmware", Op.ERASE, b.ppn(0, 1, 9), kind=ord("e"))
        if old:
            for _ in range(PATIENCE[old] + 4):
                b.op("log", Op.STATUS, b.ppn(0, 1, 7), kind=ord("g"))
            await b.until(lambda order=order, old=old: order.passed[old] == PATIENCE[old], 5_000)
        await b.clocks(20)
        dut.only.value, order.only = 1, True
        await b.clocks(20)
        for client, letter in (("write", "w"), ("log", "g")):
            saved = [b.op(client, Op.STATUS, b.ppn(0, 1, 7), kind=ord(letter)) for _ in range(4)]
        await b.until(lambda b=b, saved=saved: saved[-1] in b.done, 3_000)
        await b.clocks(800)
        went = "".join(chr(c["kind"]) for c in sent(b, 0, 1)[1:])
        assert set(went) == {"w", "g"} and went.count("w") == 4, f"{went} went"


def test_flash_classes():
    from cocotb_tests.bench.runner import run

    env = {"OTX_CHANNELS": "2", "OTX_WAYS": "2", "OTX_PRIORITIES": "1"}
    path = verilog("otx_flash_scheduler", 2, 2)
    run("otx_flash_scheduler", [path], __name__, env=env, testcase=os.environ.get("TESTCASE"))


def test_bounds_are_those_of_the_model():
    assert most_reads() == MOST_READS
    assert most_passed(ranks=((MEDIUM, LOW), (MEDIUM, MEDIUM))) == MOST_PASSED | {"read": MOST_PASSED_FIRST}
