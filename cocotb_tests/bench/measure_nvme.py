# SPDX-License-Identifier: Apache-2.0
"""Clocks of commands through otx_nvme alone: host memory that answers LATENCY clocks after a read, and a core that
never waits. Writes them to OUT, as bench/v1.py has them."""

import json
import os
from pathlib import Path

import cocotb

from cocotb_tests.bench.nvme_host import Host
from cocotb_tests.models.nvme_commands import Sqe
from opentxssd.facts import BEATS, NvmeOpcode, Query

LATENCY = int(os.environ.get("LATENCY", "20"))
COUNT = 60
MARKS = 2  # writes of a command without data: its CQE, its interrupt


class Taps:
    """The clocks in which beats pass that matter."""

    def __init__(self, h):
        self.h, self.seen = h, {}
        h.bar.requests.passed = lambda beat, clock: self.mark("doorbell", clock)
        for name, sink in (
            ("cmd", h.core.cmd),
            ("read", h.memory.reads),
            ("wdata", h.core.wdata),
            ("write", h.memory.done),
            ("beat", h.memory.done_data),
        ):
            self.tap(sink, name)
        for name, source in (
            ("data", h.memory.data),
            ("request", h.core.wanted),
            ("cpl", h.core.cpl),
            ("rdata", h.core.rdata),
        ):
            passed = source.passed
            source.passed = lambda b, c, n=name, p=passed: (self.mark(n, c), p(b, c) if p else None)

    def tap(self, sink, name):
        got = sink.got
        sink.got = lambda beat, clock: (self.mark(name, clock), got(beat, clock))

    def mark(self, name, clock):
        self.seen.setdefault(name, []).append(clock)


async def alone(h, taps, pair, sqe):
    """Marks of one command, from its doorbell to its interrupt, with nothing else under way."""
    await h.clocks(100)
    taps.seen.clear()
    record = h.submit(pair, sqe)
    messages = h.events.count(("message", pair.cq.vector))
    h.ring(pair)
    await h.until(lambda: h.events.count(("message", pair.cq.vector)) > messages)
    seen = taps.seen | {"ended": record.ended, "interrupt": h.clock}
    assert record.done == 0
    h.consume(pair.cq)
    return seen


def steps(seen, moves):
    """Clocks of each part of the way; of what is not the front end's `memory`, `core` and `data`."""
    last = seen["doorbell"][0]
    found = {}

    def until(name, clock):
        nonlocal last
        found[name] = found.get(name, 0) + clock - last
        last = clock

    until("fetch", seen["read"][0])
    until("memory", seen["data"][0])
    until("decode", seen["cmd"][0])
    if moves == "write":
        until("core", seen["request"][0])
        until("prp", seen["read"][1])
        until("memory", seen["data"][8])
        until("data", seen["wdata"][-1])
    if moves == "read":
        until("core", seen["rdata"][0])
        until("prp", seen["write"][0])
        until("data", seen["rdata"][-1])
    until("core", seen["cpl"][0])
    until("cqe", seen["ended"])
    until("interrupt", seen["interrupt"])
    return found


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def measure(dut):
    h = await Host(dut, latency=LATENCY, pace=1.0).begin()
    await h.start()
    pairs = [await h.create(q, 128) for q in (1, 2, 3, 4)]
    pair, taps, found = pairs[0], Taps(h), {}
    for name, sqe, moves in (
        ("QUERY", Sqe(NvmeOpcode.QUERY, cdw15=Query.CAPACITY), ""),
        ("FLUSH", Sqe(NvmeOpcode.FLUSH), ""),
        ("WRITE 4 KiB", h.move(NvmeOpcode.WRITE, 5, 1), "write"),
        ("WRITE 4 KiB on two pages", h.move(NvmeOpcode.WRITE, 6, 1, 2052), "write"),
        ("WRITE 12 KiB, PRP list", h.move(NvmeOpcode.WRITE, 7, 3), "list"),
        ("READ 4 KiB", h.move(NvmeOpcode.READ, 5, 1), "read"),
        ("READ 4 KiB on two pages", h.move(NvmeOpcode.READ, 6, 1, 2052), "read"),
    ):
        seen = await alone(h, taps, pair, sqe)
        total = seen["interrupt"] - seen["doorbell"][0]
        found[name] = dict(total=total) | (steps(seen, moves) if moves != "list" else {})

    async def many(sqes, used, mark):
        """Clocks of each of so many commands of these queues, from the first such mark to the last."""
        for i, sqe in enumerate(sqes):
            h.submit(used[i % len(used)], sqe)
        taps.seen.clear()
        for p in used:
            h.ring(p)
        await h.drain()
        clocks = taps.seen[mark]
        return (clocks[-1] - clocks[0] + 1) / len(clocks)

    query = [Sqe(NvmeOpcode.QUERY, cdw15=Query.CAPACITY, slba=n) for n in range(2 * COUNT)]
    found["each QUERY, one queue"] = dict(total=await many(query[:COUNT], pairs[:1], "write") * MARKS)
    found["each QUERY, four queues"] = dict(total=await many(query, pairs, "write") * MARKS)
    for name, op, mark in (("WRITE", NvmeOpcode.WRITE, "wdata"), ("READ", NvmeOpcode.READ, "beat")):
        sqes = [h.move(op, 10 + n, 1) for n in range(COUNT)]
        found[f"each {name} 4 KiB"] = dict(total=await many(sqes, pairs, mark) * BEATS)
    Path(os.environ["OUT"]).write_text(json.dumps(found))
