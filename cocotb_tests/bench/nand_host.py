# SPDX-License-Identifier: Apache-2.0
"""The other side of otx_nand_channel in cocotb: sends commands, feeds and takes pages, checks the rules of its
streams."""

import random
import struct

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Event, FallingEdge, First, Lock, RisingEdge, Timer, ValueChange

from cocotb_tests.bench.streams import reader
from opentxssd.facts import BEATS
from opentxssd.facts import NandOp as Op
from opentxssd.facts import PageStatus as Status  # noqa: F401 (for tests)

OWN = 6  # the timing mode with the part's own times
CPL = ["way", "slot", "status", "kind", "generation", "lpn", "sequence", "corrected"]
FIELDS = {
    "wreq": ["way", "slot"],
    "rdata": ["way", "slot", "data", "last"],
    "fix": ["way", "slot", "byte", "mask"],
    "cpl": CPL,
}
CACHE_PROGRAM, CACHE_READ, SEVERAL_PLANES, STATUS_ENHANCED = 1, 2, 4, 8  # bits of `capabilities`


class Host:
    """`stall` is the share of beats before which a stream rests for some clocks.

    A command is known by its way and the slot that it got there.
    """

    def __init__(self, dut, stall=0.0, seed=1):
        self.dut, self.stall, self.rng = dut, stall, random.Random(seed)
        ways = len(dut.way_idle)
        self.ways, self.pages = ways, {}  # (way, slot): page to program
        self.read = {}  # (way, slot): page that came
        self.waits = {}  # (way, slot): Event of the command that is there
        self.order = []  # of completions: way, op
        self.late = 0  # clocks that each of the last two beats of a page waits
        self.fixes = []  # of all pages: way, byte, mask
        self.lock = Lock()  # of the command port
        for name in [
            "cmd_valid",
            "cmd_way",
            "cmd_op",
            "cmd_row",
            "cmd_kind",
            "cmd_generation",
            "cmd_lpn",
            "cmd_sequence",
            "cmd_allow_cache",
            "capabilities",
            "wreq_ready",
            "wdata_valid",
            "wdata_data",
            "wdata_last",
            "rdata_ready",
            "cpl_ready",
            "fix_ready",
            "rival",
        ]:
            getattr(dut, name).value = 0
        dut.mode.value = OWN
        self.handles = {name: (getattr(dut, name + "_valid"), getattr(dut, name + "_ready")) for name in FIELDS}
        self.values = {
            name: {f: reader(getattr(dut, f"{name}_{f}")) for f in ["valid", *fields]}
            for name, fields in FIELDS.items()
        }
        self.offers = [dut.way_idle, dut.way_accepts_read, dut.way_accepts_program, dut.way_accepts_erase]
        self.way_idle, self.way_accepts_read, self.way_accepts_program, self.way_accepts_erase = map(
            reader, self.offers
        )
        self.wdata_ready = reader(dut.wdata_ready)

    async def start(self, period_ps=10000):
        self.period_ps = period_ps // 2 * 2
        self.tasks = [cocotb.start_soon(Clock(self.dut.clk, self.period_ps, "ps").start(start_high=False))]
        self.dut.reset.value = 1
        for _ in range(5):
            await FallingEdge(self.dut.clk)
        self.dut.reset.value = 0
        self.tasks += [cocotb.start_soon(run) for run in (self._feed(), self._take(), self._fix(), self._complete())]
        for _ in range(5):
            await FallingEdge(self.dut.clk)

    def stop(self):
        """So that another one can take its place."""
        for task in self.tasks:
            task.cancel()

    async def _rest(self):
        if self.rng.random() < self.stall:
            for _ in range(self.rng.randrange(1, 60)):
                await FallingEdge(self.dut.clk)

    async def _beat(self, name):
        """Waits for valid of stream `name`, rests, and lets one beat pass; returns the beat's fields as they were."""
        d = self.dut
        (valid, ready), value = self.handles[name], self.values[name]
        if not value["valid"]():
            await RisingEdge(valid)
            await FallingEdge(d.clk)
        await self._rest()
        assert value["valid"](), f"{name}: valid fell before the beat had passed"
        fields = {f: value[f]() for f in FIELDS[name]}
        ready.value = 1
        await FallingEdge(d.clk)
        ready.value = 0
        return fields

    async def _feed(self):
        d = self.dut
        while True:
            beat = await self._beat("wreq")
            at = beat["way"], beat["slot"]
            assert at in self.pages, f"a page was asked for that way and slot {at} have no use for"
            words = struct.unpack(f"<{BEATS}Q", self.pages.pop(at))
            for i, word in enumerate(words):
                await self._rest()
                d.wdata_valid.value, d.wdata_data.value, d.wdata_last.value = 1, word, int(i == BEATS - 1)
                if not self.wdata_ready():
                    await RisingEdge(d.wdata_ready)
                    await FallingEdge(d.clk)
                await FallingEdge(d.clk)
                d.wdata_valid.value = 0

    async def _take(self):
        while True:
            words, at = [], None
            for i in range(BEATS):
                if i >= BEATS - 2:
                    for _ in range(self.late):
                        await FallingEdge(self.dut.clk)
                beat = await self._beat("rdata")
                at = (beat["way"], beat["slot"]) if i == 0 else at
                assert (beat["way"], beat["slot"]) == at and beat["last"] == (i == BEATS - 1), (
                    f"beat {i}: way {beat['way']}, last {beat['last']}"
                )
                words.append(beat["data"])
            assert at not in self.read, f"way and slot {at}: two pages for one command"
            self.read[at] = bytearray(struct.pack(f"<{BEATS}Q", *words))

    async def _fix(self):
        """Corrections go into the page that has come, which is whole by then."""
        while True:
            fix = await self._beat("fix")
            at = fix["way"], fix["slot"]
            assert at in self.read, f"way and slot {at}: a correction without a page"
            self.read[at][fix["byte"]] ^= fix["mask"]
            self.fixes.append((fix["way"], fix["byte"], fix["mask"]))

    async def _complete(self):
        while True:
            cpl = await self._beat("cpl")
            at = cpl["way"], cpl["slot"]
            event = self.waits.pop(at, None)
            assert event is not None, f"way and slot {at} complete a command that was not given"
            cpl["data"], cpl["read"] = self.read.pop(at, None), event.op == Op.READ
            self.pages.pop(at, None)  # of a PROGRAM that timed out
            self.order.append((cpl["way"], event.op))
            event.cpl = cpl
            event.set()

    async def issue(
        self, way, op, row=0, data=None, kind=0, generation=0, lpn=0, sequence=0, allow_cache=0, beside=False
    ):
        """Returns, when the command has been taken, an Event that is set with `.cpl` at its completion.

        `beside`: as soon as the way takes one of its kind, idle or not.
        """
        d = self.dut
        while True:
            while not self._offered(way, op if beside else None):
                await First(*(ValueChange(offer) for offer in self.offers))
                await FallingEdge(d.clk)
            async with self.lock:
                await FallingEdge(d.clk)
                if not self._offered(way, op if beside else None):  # somebody else was first
                    continue
                for name, value in dict(
                    way=way,
                    op=op,
                    row=row,
                    kind=kind,
                    generation=generation,
                    lpn=lpn,
                    sequence=sequence,
                    allow_cache=allow_cache,
                ).items():
                    getattr(d, "cmd_" + name).value = int(value)
                event = Event()
                event.op = op
                d.cmd_valid.value = 1
                await RisingEdge(d.clk)
                assert int(d.cmd_ready.value), f"way {way} does not take the command that it offered to take"
                at = way, int(d.cmd_slot.value)
                assert at not in self.waits, f"way and slot {at} are given to two commands"
                self.waits[at] = event
                if op == Op.PROGRAM:
                    self.pages[at] = data
                await FallingEdge(d.clk)
                d.cmd_valid.value = 0
                return event

    def _offered(self, way, beside):
        kinds = {Op.READ: self.way_accepts_read, Op.PROGRAM: self.way_accepts_program, Op.ERASE: self.way_accepts_erase}
        return (self.way_idle() | (kinds[beside]() if beside in kinds else 0)) >> way & 1

    async def run(self, way, op, row=0, **fields):
        """One command to its end: the fields of its completion, and the page read as `data`."""
        event = await self.issue(way, op, row, **fields)
        await event.wait()
        return event.cpl

    async def clock(self):
        await FallingEdge(self.dut.clk)

    async def rest(self, clocks):
        """So many clocks, without waking in each."""
        if clocks > 1:
            await Timer((clocks - 1) * self.period_ps, "ps")
        if clocks:
            await FallingEdge(self.dut.clk)

    async def together(self, works):
        """Runs these side by side to their ends."""
        for task in [cocotb.start_soon(work) for work in works]:
            await task

    def clocks(self):
        return int(self.dut.clocks.value)
