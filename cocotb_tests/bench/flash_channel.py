# SPDX-License-Identifier: Apache-2.0
"""One NAND channel as docs/interfaces.md has it, with a page store: it takes commands, asks for data, moves one page at
a time on its bus, and completes.

It refuses what a channel may refuse: a command for a way that is busy, a program of a page that is not erased or not
the next of its block, data nobody asked for. Array operations take `times[op]` clocks, a (least, most) pair; page beats
pass in each clock, or with `stall` in some. A share `wrong` of the pages that are read comes with wrong bits, which are
told after the page; those of `bad` always do. A page can be read only while its way is at the read level `drift` gives
it (feature 89h).
"""

import random

from cocotb_tests.bench.streams import Pin, Sink, Source
from cocotb_tests.models.flash_model import (
    BEATS,
    BLANK,
    CMD,
    CRC,
    ERASED,
    FAIL,
    ID,
    OK,
    OOB,
    PAGE_READS,
    PARAMETERS,
    READ_RETRY,
    TIMEOUT,
    Op,
    most_wrong,
)

TIMES = {op: (30, 60) for op in Op} | {Op.PROGRAM: (300, 500), Op.ERASE: (400, 800), Op.READ: (100, 200)}


class ChannelModel:
    def __init__(self, dut, channel, ways, pages_per_block, rng=None, stall=0.0, times=TIMES, wrong=0.0):
        self.dut, self.channel, self.ways, self.ppb, self.times = dut, channel, ways, pages_per_block, times
        self.rng, self.stall, self.wrong, self.told = rng or random.Random(channel), stall, wrong, 0
        name = f"channels_{channel}"
        self.cmd = Sink(dut, f"{name}_cmd", CMD, self.command, stall, self.rng, changes=True)
        self.wreq = Source(dut, f"{name}_wreq", ["way", "slot"], stall, self.rng, self.asked)
        self.wdata = Sink(dut, f"{name}_wdata", ["data", "last"], self.word_in, stall, self.rng)
        self.rdata = Source(dut, f"{name}_rdata", ["way", "slot", "data", "last"], stall, self.rng, self.word_out)
        self.fix = Source(dut, f"{name}_fix", ["way", "slot", "byte", "mask"], stall, self.rng, self.fixed)
        self.cpl = Source(
            dut, f"{name}_cpl", ["way", "status", *OOB, "corrected", "slot"], stall, self.rng, self.completed
        )
        self.parts = [self.cmd, self.wreq, self.wdata, self.rdata, self.fix, self.cpl]
        self.idle = Pin(getattr(dut, f"{name}_wayIdle"), (1 << ways) - 1)
        self.pages = {}  # (way, row): (words, oob)
        self.under_way = {}  # way: its command, with `due` when the array is busy
        self.clock = 0
        self.bus = []  # ways that wait for the bus
        self.on_bus, self.fixes = None, []
        self.on_command = lambda command, clock: None
        self.on_complete = lambda command, cpl: None
        self.drift, self.level = lambda way, row: 0, [0] * ways
        self.bad = {}  # (way, row): (byte, mask) pairs, wrong in each read
        self.log, self.failing, self.timing_out, self.most = [], set(), set(), 0  # `failing`, `timing_out`: (way, row)

    def command(self, c, clock):
        way = c["way"]
        assert way < self.ways and way not in self.under_way, f"a command for busy way {way}: {c}"
        c["clock"] = clock
        self.log.append(c)
        self.on_command(c, clock)
        run = dict(c, op=Op(c["op"]), due=None)
        self.under_way[way] = run
        self.most = max(self.most, len(self.under_way))
        if run["op"] == Op.PROGRAM:
            at = (way, c["row"])
            assert at not in self.pages, f"program of a page that is not erased: {at}"
            assert c["row"] % self.ppb == 0 or (way, c["row"] - 1) in self.pages, f"program out of order: {at}"
            self.bus.append(way)
        else:
            run["due"] = clock + self.rng.randint(*self.times[run["op"]])

    def asked(self, beat, clock):
        self.under_way[beat["way"]]["words"] = []

    def word_in(self, beat, clock):
        run = self.under_way.get(self.on_bus)
        assert run and run["op"] == Op.PROGRAM and "words" in run, "data that nobody asked for"
        run["words"].append(beat["data"])
        assert beat["last"] == (len(run["words"]) == BEATS), "last is not on beat 512"
        if beat["last"]:
            run["due"] = clock + self.rng.randint(*self.times[Op.PROGRAM])
            self.on_bus = None

    def word_out(self, beat, clock):
        if beat["last"]:
            self.fix.queue += self.fixes
            if not self.fixes:
                self.fixed(None, clock)

    def fixed(self, fix, clock):
        if fix:
            self.fixes.remove(fix)
            self.told += 1
        if not self.fixes:
            self.complete(self.on_bus)
            self.on_bus = None

    def complete(self, way):
        run = self.under_way[way]
        at, oob, status = (way, run["row"]), {f: run[f] for f in OOB}, OK
        if run["op"] == Op.PROGRAM:
            self.pages[at] = (run["words"], oob)
            status = FAIL if at in self.failing else OK
        elif run["op"] == Op.ERASE:
            block = run["row"] // self.ppb
            self.pages = {k: v for k, v in self.pages.items() if k[0] != way or k[1] // self.ppb != block}
        elif run["op"] in PAGE_READS:
            oob = self.pages[at][1] if at in self.pages else ERASED
            status = TIMEOUT if at in self.timing_out else OK if at in self.pages else BLANK
            if self.misread(run) and status == OK:
                oob, status = {f: oob[f] ^ 1 for f in oob}, CRC
        elif run["op"] == Op.SET_FEATURES:
            assert run["kind"] == READ_RETRY and run["lpn"] < 8, f"SET_FEATURES {run}"
            self.level[way] = run["lpn"]
        elif run["op"] == Op.READ_ID:
            oob = oob | {"sequence": ID}
        elif run["op"] == Op.STATUS:
            oob = oob | {"kind": 0xE0}
        elif run["op"] == Op.READ_MARK:
            oob = oob | {"kind": 0xFF}
        del run["due"]
        wrong = run.get("wrong", self.bad.get(at, ())) if run["op"] in PAGE_READS else ()
        self.cpl.queue.append({"way": way, "status": status, **oob, "corrected": most_wrong(wrong), "slot": 0})

    def misread(self, run):
        return (run["way"], run["row"]) in self.pages and self.level[run["way"]] != self.drift(run["way"], run["row"])

    def drive(self):
        for way, run in self.under_way.items():
            if run.get("due") is not None and run["due"] <= self.clock:
                if run["op"] in (Op.READ, Op.PARAM) and (way, run["row"]) not in self.timing_out:
                    run["due"] = None
                    self.bus.append(way)
                else:
                    self.complete(way)
        if self.on_bus is None and self.bus:
            self.on_bus = way = self.bus.pop(0)
            run = self.under_way[way]
            if run["op"] == Op.PROGRAM:
                self.wreq.queue.append({"way": way, "slot": 0})
            else:
                words = (
                    PARAMETERS
                    if run["op"] == Op.PARAM
                    else self.pages.get((way, run["row"]), ([(1 << 64) - 1] * BEATS,))[0]
                )
                words, wrong = list(words), list(self.bad.get((way, run["row"]), ()))
                if run["op"] == Op.READ and self.misread(run):
                    words = [self.rng.getrandbits(64)] * BEATS
                if not wrong and self.rng.random() < self.wrong:
                    wrong = [
                        (byte, self.rng.randrange(1, 256))
                        for byte in self.rng.sample(range(4096), self.rng.randint(1, 6))
                    ]
                for byte, mask in wrong:
                    words[byte // 8] ^= mask << byte % 8 * 8
                run["wrong"], self.fixes = (
                    wrong,
                    [{"way": way, "slot": 0, "byte": byte, "mask": mask} for byte, mask in wrong],
                )
                self.rdata.queue += [
                    {"way": way, "slot": 0, "data": w, "last": int(i == BEATS - 1)} for i, w in enumerate(words)
                ]
        self.idle.set(sum(1 << w for w in range(self.ways) if w not in self.under_way))
        for part in self.parts:
            part.drive()

    def completed(self, beat, clock):
        self.on_complete(self.under_way.pop(beat["way"]), beat)

    def sample(self, clock):
        self.clock = clock
        for part in self.parts:
            part.sample(clock)
