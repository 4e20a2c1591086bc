# SPDX-License-Identifier: Apache-2.0
"""Everything around the data path: host, remap engine, flash scheduler, commit log and frame memory, stepped clock by
clock. Each part enforces its side of docs/interfaces.md.

A block's 512 words are `stamp << 16 | beat`, the stamp unique per block written, so each delivered block says which
version it is.
"""

import random

from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from cocotb_tests.bench.amount import LONG
from cocotb_tests.bench.datapath_engine import ABORTED, COMMITTING, FREE, OPEN, PREPARED, RSP, EngineModel, words
from cocotb_tests.bench.datapath_epochs import Epochs, behind, made
from cocotb_tests.bench.datapath_firmware import FirmwareAsks
from cocotb_tests.bench.frame_memory import BEATS, FrameMemory
from cocotb_tests.bench.streams import Pin, Sink, Source, Stepper, reader
from cocotb_tests.bench.write_data import WriteData
from opentxssd.facts import TAGS, TXIDS, LogKind, Opcode, Status, WordKind, ports, word
from soc import geometry

FLUSH, WRITE, READ, ZEROES, TRIM, BEGIN, COMMIT, ABORT, RFLUSH, BARRIER, RECOVER, QUERY, PREPARE, CHECKPOINT = Opcode
SUCCESS, _, INVALID_FIELD, _, TX_INVALID, TX_BUSY, TX_FULL, _, MEDIA_ERROR, WRITE_FAULT, CAPACITY, READ_ONLY, *_ = (
    Status
)
MAP, L_COMMIT, L_ABORT, L_TRIM, L_PREPARE, RELOCATE, NOTE = LogKind
RESCUE = 1 << 15  # in a cookie
NAND, BUF = word(WordKind.NAND, 0), word(WordKind.BUF, 0)
CMD, OP = ports("HostCmd"), ports("RemapOp")
ENTRY = "kind ordered inTx n i lpn location_kind location_value serial sequence epoch arg room last".split()
FLASH_OP, FLASH_DONE = ports("FlashOp"), ports("FlashDone")
GEOMETRY = geometry.Geometry(
    "datapath",
    1,
    1,
    112,
    16,
    1024,
    write_frames=40,
    read_frames=8,
    firmware_frames=16,
    tx_entries=40,
    timing=geometry.QUICK,
)


class DataPathBench(Stepper, EngineModel, FirmwareAsks):
    """`submit(opcode, ...)` gives a tag, `results[tag]` its completion, `blocks[tag]` the stamps of the blocks a READ
    delivered (0: zeroes).
    """

    def __init__(self, dut, seed=1, stall=0.0, delay=(2, 12), program=(50, 400), page_read=(20, 200)):
        super().__init__(dut)
        g, self.rng, self.delay, self.program_time, self.read_time = (
            GEOMETRY,
            random.Random(seed),
            delay,
            program,
            page_read,
        )
        self.memory = FrameMemory(dut, "frame", g.frame_base, g.frames, self.rng, stall)

        def source(name, fields, passed=None):
            return self.add(Source(dut, name, fields, stall, self.rng, passed))

        def sink(name, fields, got):
            return self.add(Sink(dut, name, fields, got, stall, self.rng))

        self.add(self.memory)
        self.cmd, self.wdata = source("dpCmd", CMD, self.command_taken), source("wdata", ports("WriteBeat"))
        self.host = self.add(WriteData(self.wdata, random.Random(seed)))
        self.rsp, self.released = source("rsp", RSP, self.answer_taken), source("released", ["kind", "value"])
        self.alloc, self.write_done, self.read_done = (
            source("alloc", [], self.page_taken),
            source("writeDone", FLASH_DONE, self.done_taken),
            source("readDone", FLASH_DONE),
        )
        self.wait_done = source("waitDone", ["tag", "status"])
        self.done_sink, self.rdata_sink = (
            sink("dpDone", ports("Completion"), self.completed),
            sink("rdata", ports("ReadBeat"), self.read_beat),
        )
        self.requests = sink("wdataReq", ports("BlockRef"), self.wanted)
        self.op_sink, self.tx_sink = (
            sink("op", OP, self.op),
            sink("tx", ["op", "txid"], lambda b, c: self.tx(b["op"], b["txid"])),
        )
        self.write_sink, self.read_sink = sink("write", FLASH_OP, self.program), sink("read", FLASH_OP, self.page_read)
        self.append_sink, self.waiter = (
            sink("append", ENTRY, self.append),
            sink("waiter", "tag flush relaxed txid index after".split(), self.wait),
        )
        sink("pageDone", "index hasTx txid ok".split(), self.page_done)
        self.relocate_sink = sink("relocate", ENTRY, self.relocate)
        self.event_sink = sink("badBlock", [], self.bad_block)
        self.move = source("move", ports("PageMove"))
        inputs = [
            "durable",
            "eventWaits",
            "allocLeft",
            "head",
            "logLeft",
            "fault",
            "full",
            "logFull",
            "dropped",
            "lostLogPages",
            "doubtful",
        ]
        inputs += ["bufferLimit", "dieIdle", "starved", "durableMark", "enable", "places", "hostTimeout"]
        inputs += ["inOrder", "plp", "dumping", "mark"]
        inputs += ["useCount", "memoryErrors", "older", "reached"]
        self.pin = {n: Pin(getattr(dut, n)) for n in inputs}
        self.health = [Pin(getattr(dut, f"health_{n}")) for n in ("payload_index", "payload_word", "valid")]
        self.state_pins = [Pin(getattr(dut, f"txState_{t}")) for t in range(TXIDS)]
        self.count_pins = [Pin(getattr(dut, f"txCount_{t}")) for t in range(TXIDS)]
        self.shown_txs = None
        self.asked, self.give_up, self.rescue_to = (reader(getattr(dut, n)) for n in ("useTxid", "giveUp", "rescueTo"))
        self.flows = {
            n: (reader(getattr(dut, f"{n}_valid")), reader(getattr(dut, f"{n}_payload{field}")), [])
            for n, field in (("fetched", "_blocks"), ("settled", ""))
        }
        self.frames_free = reader(dut.framesFree)
        self.fetched_tag = reader(dut.fetched_payload_tag)
        self.line = []  # commands that have not gone: a WRITE whose data has not come, others not taken yet
        self.start_asks()
        self.add(self)
        # host
        self.free_tags, self.active, self.results, self.blocks, self.data, self.stamp, self.allowed, self.part = (
            list(range(TAGS)),
            {},
            {},
            {},
            {},
            0,
            {},
            [],
        )
        self.start_engine(GEOMETRY.tx_entries)
        self.epochs = Epochs()
        self.events, self.absorbed, self.moods = [], 0, False  # whether places come and go
        self.marked = 0  # watermark of the log
        self.in_order = self.plp = False
        # flash
        (
            self.pages,
            self.busy_frames,
            self.bad_pages,
            self.failing,
            self.wrong_lpn,
            self.hold_programs,
            self.hold_reads,
        ) = {}, {}, set(), set(), set(), False, False
        self.held_programs, self.held_reads, self.reported, self.moving = [], [], [], {}
        # programs taken whose done beats are not; it takes no more while there are so many
        self.programs, self.flash_depth = 0, 1000
        self.classes = []  # (LPN, priority) of each program
        # log
        self.appended = -9  # clock of the last entry
        self.log, self.complete, self.waits, self.hold_waits, self.open_group, self.links_due, self.failed = (
            [],
            set(),
            [],
            False,
            None,
            [],
            0,
        )
        self.taken = []  # pages that are not programmed yet
        self.seen, self.durable, self.rescued_at = set(), 0, {}

    async def begin(self, pages=1024, log_left=1000, in_order=False, plp=False):
        import cocotb

        self.in_order, self.plp = in_order, plp
        self.pin["inOrder"].set(int(in_order))
        self.pin["plp"].set(int(plp))

        self.alloc.queue = [{"payload": n} for n in range(pages)]
        self.pin["allocLeft"].set(pages)
        self.pin["logLeft"].set(log_left)
        self.pin["places"].set(4)
        self.pin["enable"].set(1)
        self.pin["dieIdle"].set(1)
        if self.clock == 0:
            cocotb.start_soon(Clock(self.dut.clk, 10, "ns").start())
        self.dut.reset.value = 1
        for _ in range(4):
            await FallingEdge(self.dut.clk)
        self.dut.reset.value = 0
        await self.clocks(60)
        await self.no_page_is_counted()
        return self

    # -- clock
    def later(self, span, what):
        self.events.append((self.clock + self.rng.randint(*span), what))

    def drive(self):
        self.pin["fault"].set(self.failed)
        self.pin["durable"].set(self.durable)
        self.pin["durableMark"].set(self.durable)  # more than the log would say: the bench's `held` is checked apart
        self.pin["head"].set(len(self.log))
        while self.marked in self.complete:
            self.marked += 1
        self.pin["mark"].set(self.marked)
        self.pin["allocLeft"].set(len(self.alloc.queue))
        if self.moods and self.clock % 50 == 0:
            self.pin["places"].set(self.rng.randrange(3))
            self.pin["dieIdle"].set(int(self.rng.random() < 0.8))
            self.pin["starved"].set(int(self.rng.random() < 0.001))
        self.let_go()
        self.drive_asks()
        asked = self.asked()
        self.pin["useCount"].set(self.use[asked])
        self.pin["older"].set(asked % 4)
        self.pin["reached"].set(self.reached[asked])
        if self.open_group is not None:
            self.relocate_sink.ready.set(0)  # the log takes RELOCATE between groups, and before other entries
        elif self.relocate_sink.valid():
            self.append_sink.ready.set(0)
        if self.clock - self.appended < 4:  # it takes one in five clocks
            self.append_sink.ready.set(0)
        if self.programs >= self.flash_depth:
            self.write_sink.ready.set(0)
        if self.shown_txs != (self.state, self.count):
            self.shown_txs = list(self.state), list(self.count)
            for t in range(TXIDS):
                self.state_pins[t].set(self.state[t])
                self.count_pins[t].set(self.count[t])

    def sample(self, clock):
        due = [e for e in self.events if e[0] <= clock]
        if due:
            self.events = [e for e in self.events if e[0] > clock]
            for _, what in sorted(due, key=lambda e: e[0]):
                what()
        self.settle_waits()
        self.step_engine(clock)
        for valid, blocks, seen in self.flows.values():
            if valid():
                seen.append(blocks())
        if self.flows["fetched"][0]():
            c = next(c for c in self.line if c["tag"] == self.fetched_tag())
            assert c["opcode"] == WRITE and self.flows["fetched"][2][-1] == c["count"]
            self.line.remove(c)
        if self.give_up():
            self.failed = 1
        if self.rescue_to() > self.durable and self.rng.random() < 0.02:
            self.durable = len(self.log)

    # -- host
    def submit(self, opcode, lba=0, count=1, txid=None, tag=None, **more):
        tag = self.free_tags.pop(0)
        cmd = (
            dict.fromkeys(CMD, 0)
            | dict(opcode=opcode, lba=lba, count=count, txid=txid or 0, hasTx=int(txid is not None), tag=tag)
            | dict(clock=self.clock)
            | more
        )
        cmd["sent"] = False
        self.line.append(cmd)
        self.active[tag] = cmd
        if opcode != READ:
            self.epochs.sent(cmd)
        self.results.pop(tag, None)
        self.blocks[tag] = {}
        if opcode == WRITE:
            self.data[tag] = list(range(self.stamp + 1, self.stamp + 1 + count))
            self.stamp += count
        if opcode == READ:
            self.allowed[tag] = {n: {self.visible(lba + n, txid)[1]} for n in range(count)}
        return tag

    async def run(self, opcode, lba=0, count=1, txid=None, limit=60_000, **more):
        """One command to its completion; returns the status."""
        tag = self.submit(opcode, lba, count, txid, **more)
        await self.until(lambda: tag in self.results, limit)
        self.last = tag
        return self.results[tag]["status"]

    def let_go(self):
        """The command queue's part: what closes an epoch goes when those before it have gone (rule epoch-issue), a
        WRITE when it finds frames beside those that are promised.
        """
        if all(c["sent"] for c in self.line):
            return
        free = self.frames_free()
        for n, c in enumerate(self.line):
            if c["opcode"] == WRITE:
                free -= c["count"]
                room = c["sent"] or self.failed or free >= 0
                if not room:
                    break
            if not c["sent"] and not any(behind(c, x) for x in self.line[:n]):
                c["sent"] = True
                self.cmd.queue.append(c)

    def command_taken(self, beat, clock):
        if beat["opcode"] != WRITE:
            self.line.remove(beat)

    def completed(self, beat, clock):
        tag = beat["tag"]
        assert tag in self.active, f"completion of tag {tag}, which is not under way"
        cmd = self.active.pop(tag)
        if cmd["opcode"] == PREPARE and beat["status"] == SUCCESS and not self.plp:
            last = max(n for n, e in enumerate(self.log) if e["kind"] == L_PREPARE and e["serial"] & 31 == cmd["txid"])
            assert self.complete >= set(range(last)), "PREPARE ended before its pages"
        self.host.completed(tag)
        self.results[tag] = beat | {"clock": clock}
        self.free_tags.append(tag)
        self.seen.add((cmd["opcode"], beat["status"]))
        if cmd["opcode"] == READ:
            allowed = self.allowed.pop(tag)
            if beat["status"] == SUCCESS:
                assert sorted(self.blocks[tag]) == list(range(cmd["count"])), f"{self.blocks[tag]} of {cmd}"
            for n, stamp in self.blocks[tag].items():
                assert stamp in allowed[n], f"LPN {cmd['lba'] + n} reads as version {stamp}, allowed {allowed[n]}"
        assert not self.part or self.part[0] != tag, "completion inside a block"

    def wanted(self, beat, clock):
        tag, block = beat["tag"], beat["block"]
        assert self.active[tag]["opcode"] == WRITE and block < self.active[tag]["count"]
        self.host.wanted(tag, beat["request"], words(self.data[tag][block]))

    def read_beat(self, beat, clock):
        tag, block = beat["tag"], beat["block"]
        if not self.part:
            self.part = [tag, block]
            self.part_words = []
        assert self.part == [tag, block], "blocks are interleaved"
        self.part_words.append(beat["data"])
        assert beat["last"] == (len(self.part_words) == BEATS)
        if beat["last"]:
            stamp = self.part_words[0] >> 16
            assert self.part_words == (words(stamp) if stamp else [0] * BEATS), "a block is torn"
            assert block not in self.blocks[tag], "a block is sent twice"
            self.blocks[tag][block] = stamp
            self.part = []

    # -- flash
    def page_taken(self, beat, clock):
        self.last_page = beat["payload"]
        self.taken.append(beat["payload"])

    def done_taken(self, beat, clock):
        self.programs -= 1

    def program(self, o, clock):
        self.programs += 1
        rescues, frame = o["cookie"] & RESCUE, o["frame"]
        assert self.taken.pop(0) == o["ppn"], (
            "pages are not programmed in the order in which they were taken, as a block wants them"
        )
        assert (
            o["op"] == 6
            and o["kind"] == 1
            and o["cookie"] == frame | rescues
            and o["ppn"] not in self.pages
            and o["ppn"] not in self.failing & set(self.reported)
        )
        assert self.linked.get(frame) == o["lpn"], "issued before it was linked"
        if not rescues:
            entry = self.log[max(n for n, e in enumerate(self.log) if e["kind"] == MAP and e["lpn"] == o["lpn"])]
            self.epochs.of(self.dirty[frame]["cmd"], entry)
            del self.dirty[frame]
            self.replaced.pop(frame, None)
        if rescues:
            index = o["sequence"]
            assert self.frame_of[index] == frame and self.busy_frames[frame] == "failed" and self.reported, (
                "a rescue of a page that did not fail"
            )
        else:
            index = max(n for n, e in enumerate(self.log) if e["kind"] == MAP and e["lpn"] == o["lpn"])
            mine = self.log[index]
            assert (mine["location_value"], mine["sequence"]) == (o["ppn"], o["sequence"])
            if self.in_order and mine["ordered"]:
                before = {
                    n
                    for n, e in enumerate(self.log)
                    if e["kind"] == MAP and e["ordered"] and e["epoch"] < mine["epoch"]
                }
                assert before <= self.complete, f"{mine} is programmed before pages of earlier epochs"
            self.frame_of[index] = frame
        self.busy_frames[frame] = "programming"
        self.classes.append((o["lpn"], o["priority"]))
        data = self.memory.page(o["frame"])

        def end():
            assert self.memory.page(o["frame"]) == data, "the frame changed under its program"
            ok = o["ppn"] not in self.failing
            if ok:
                self.pages[o["ppn"]] = (data, o["lpn"])
            else:
                self.busy_frames[frame] = "failed"
            self.write_done.queue.append(
                dict(cookie=o["cookie"], status=int(not ok), kind=1, generation=0, lpn=o["lpn"], sequence=o["sequence"])
            )

        self.held_programs.append(end) if self.hold_programs else self.later(self.program_time, end)

    def page_read(self, o, clock):
        assert o["op"] == 3 and GEOMETRY.write_frames <= o["frame"] < GEOMETRY.write_frames + GEOMETRY.read_frames
        assert o["frame"] not in self.busy_frames, "the read frame is in use"
        self.busy_frames[o["frame"]] = "reading"
        readers = [c for c in self.active.values() if c["opcode"] == READ and 0 <= o["lpn"] - c["lba"] < c["count"]]
        assert any(c["priority"] == o["priority"] for c in readers), f"class {o['priority']} is that of no READ"

        def end():
            data, lpn = self.pages[o["ppn"]]
            self.memory.fill(o["frame"], list(data))
            del self.busy_frames[o["frame"]]
            status, lpn = 2 * (o["ppn"] in self.bad_pages), lpn + (o["ppn"] in self.wrong_lpn)
            self.read_done.queue.append(
                dict(cookie=o["cookie"], status=status, kind=1, generation=0, lpn=lpn, sequence=0)
            )

        self.held_reads.append(end) if self.hold_reads else self.later(self.read_time, end)

    # -- log
    def append(self, e, clock):
        self.appended = clock
        if self.open_group is not None:
            n, i = self.open_group
            assert (e["n"], e["i"]) == (n, i + 1), f"{e} inside a group"
        else:
            assert e["i"] == 0
        assert e["last"] == (e["i"] == e["n"] - 1) and e["room"] == e["n"] - e["i"]
        self.open_group = None if e["last"] else (e["n"], e["i"])
        if e["kind"] == MAP:
            assert e["location_kind"] == 1 and e["location_value"] == self.last_page
        if e["inTx"]:
            t = e["serial"] & 31
            ends = e["kind"] in (L_COMMIT, L_ABORT)
            assert self.state[t] in ((OPEN, PREPARED) if ends else (OPEN,)), f"{e} in state {self.state[t]}"
            assert e["serial"] >> 5 == self.use[t], f"{e} of another use of the transaction"
        else:
            assert e["serial"] == 0
        if e["kind"] in (MAP, L_TRIM):
            self.links_due += [(e["lpn"] + n, False) for n in range(0 if e["kind"] == MAP else e["arg"])]
        if e["kind"] != MAP:
            self.complete.add(len(self.log))
        if e["kind"] == L_COMMIT:
            of = self.txs[e["serial"] & 31]
            mine = next(c for c in self.active.values() if c["opcode"] in (COMMIT, WRITE) and made(c, e))
            behind = [
                d
                for f, d in self.dirty.items()
                if not self.replaced.get(f)
                and d["t"] is None
                and not d["cmd"]["orderless"]
                and d["cmd"]["barriers"] < mine["barriers"]
            ]
            assert not behind, f"COMMIT before {behind} of earlier epochs"
            late = [
                d
                for f, d in self.dirty.items()
                if not self.replaced.get(f) and d["lpn"] in of and d["t"] in (None, e["serial"] & 31)
            ]
            assert not late, f"COMMIT before {late}: log order is not visible order"
        if e["kind"] == L_COMMIT and self.state[e["serial"] & 31] == PREPARED:
            assert e["arg"] == 0, "its PREPARE has said how many entries it has"
        elif e["kind"] in (L_COMMIT, L_PREPARE):
            assert e["arg"] == sum(x["serial"] == e["serial"] and x["kind"] in (MAP, L_TRIM) for x in self.log)
        self.epochs.append(e, self.active)
        self.log.append(e)

    def bad_block(self, beat, clock):
        assert beat["payload"] in self.failing
        self.reported.append(beat["payload"])

    def relocate(self, e, clock):
        """After its page, between groups; complete as it is appended. A note goes the same way."""
        if e["kind"] == NOTE:
            self.note(e)
            return
        fixed = dict(kind=RELOCATE, ordered=0, inTx=0, n=1, i=0, location_kind=1, serial=0, epoch=0, room=1, last=1)
        assert {k: e[k] for k in fixed} == fixed and self.open_group is None
        old, new = e["arg"], e["location_value"]
        assert self.pages[new][1] == e["lpn"], "RELOCATE before its page is programmed"
        if new in (target for _, target, _ in self.moving.values()):
            assert (e["lpn"], new, e["sequence"]) == self.moving.pop(old)
        else:
            entry = self.log[e["sequence"]]
            assert (
                (entry["location_value"], entry["lpn"]) == (old, e["lpn"])
                and old in self.failing
                and e["sequence"] not in self.complete
            )
            self.rescued_at[e["sequence"]] = len(self.log)
        self.complete.add(len(self.log))
        self.log.append(e)

    def copy(self, lpn, target):
        """Firmware has copied the page of `lpn` to `target`."""
        source = self.visible(lpn)[0] & 0x3FFF_FFFF
        self.pages[target] = self.pages[source]
        self.moving[source] = (lpn, target, 7)
        self.move.queue.append(dict(lpn=lpn, source=source, target=target, sequence=7))
        return source

    def page_done(self, beat, clock):
        entry = self.log[beat["index"]]
        assert entry["kind"] == MAP and beat["index"] not in self.complete and beat["hasTx"] == entry["inTx"]
        assert not beat["hasTx"] or beat["txid"] == entry["serial"] & 31
        self.complete.add(beat["index"])
        frame = self.frame_of.pop(beat["index"])
        if entry["location_value"] in self.failing and beat["ok"]:
            assert self.durable > self.rescued_at[beat["index"]], "done before its RELOCATE is durable"
        if beat["ok"]:
            assert self.busy_frames[frame] == "swapped"
            del self.busy_frames[frame], self.linked[frame]
        else:
            self.failed = 1

    def wait(self, w, clock):
        assert w["index"] <= len(self.log) and w["relaxed"] == self.active[w["tag"]]["relaxed"]
        record = self.log[w["index"] - 1] if w["index"] else None
        if not w["flush"]:
            assert record["kind"] == L_COMMIT and self.state[w["txid"]] == COMMITTING
            assert record["serial"] & 31 == w["txid"]
            self.epochs.waits(w, self.log)
        else:
            tx = self.active[w["tag"]]["hasTx"]
            assert w["after"] == (w["index"] if tx else 0), f"{self.active[w['tag']]} waits for {w}"
        if w["flush"] and self.active[w["tag"]]["opcode"] in (PREPARE, ABORT):
            of = {PREPARE: (L_PREPARE, (PREPARED,)), ABORT: (L_ABORT, (ABORTED, FREE))}
            kind, states = of[self.active[w["tag"]]["opcode"]]
            assert record["kind"] == kind and self.state[w["txid"]] in states
        self.waits.append(w | {"due": clock + self.rng.randint(5, 200)})

    def flushes(self, cmd):
        """What a FLUSH, RFLUSH or FUA waits for is in the log."""
        if self.failed:
            return
        for frame, d in ((f, d) for f, d in self.dirty.items() if not self.replaced.get(f)):
            inside = cmd["lba"] <= d["lpn"] < cmd["lba"] + cmd["count"]
            meant = {
                FLUSH: True,
                RFLUSH: d["stream"] == cmd["stream"] if cmd["arg"] else inside,
            }.get(cmd["opcode"], False)
            late = d["clock"] < cmd["clock"] and d["t"] is None and d["tag"] not in self.active
            own = d["tag"] == cmd["tag"] and cmd["opcode"] == WRITE and d["clock"] >= cmd["clock"]
            assert not (own or meant and late), f"{cmd} leaves {frame}: {d} behind"

    def settle_waits(self):
        if not self.waits or self.hold_waits:
            return
        for flush in (0, 1):
            w = next((w for w in self.waits if w["flush"] == flush), None)
            if w is None or w["due"] > self.clock:
                continue
            fault = self.failed
            if (
                not fault
                and not w["relaxed"]
                and not self.plp
                and any(i not in self.complete for i in range(w["index"]))
            ):
                continue
            if not flush and not fault:
                self.tx(2, w["txid"])
            self.waits.remove(w)
            self.wait_done.queue.append({"tag": w["tag"], "status": WRITE_FAULT if fault else SUCCESS})

    # -- at the end
    def replay(self):
        """The map that recovery would make of the log: committed transactions at their COMMIT's place."""
        found, parts = {}, {}
        for e in self.log:
            ppn = e["location_value"] if e["kind"] == MAP else None
            lpns = range(e["lpn"], e["lpn"] + (e["arg"] if e["kind"] == L_TRIM else 1))
            if e["kind"] in (MAP, L_TRIM):
                target = parts.setdefault(e["serial"], []) if e["inTx"] else None
                for lpn in lpns:
                    found.__setitem__(lpn, ppn) if target is None else target.append((lpn, ppn))
            elif e["kind"] == RELOCATE:
                swap = lambda ppn, e=e: e["location_value"] if ppn == e["arg"] else ppn  # noqa: E731
                found = {lpn: swap(ppn) for lpn, ppn in found.items()}
                parts = {serial: [(lpn, swap(ppn)) for lpn, ppn in part] for serial, part in parts.items()}
            elif e["kind"] == L_COMMIT:
                found |= dict(parts.pop(e["serial"], []))
        return {lpn: ppn for lpn, ppn in found.items() if ppn is not None}

    async def quiet(self, limit=100_000):
        """Until nothing is under way; then the map is the log's, and `busy` is low."""
        await self.until(
            lambda: (
                not (
                    self.active
                    or self.events
                    or self.under
                    or self.unmerged
                    or self.released.queue
                    or self.busy_frames
                    or any(not r for f, r in self.replaced.items())
                    or set(self.dirty) - set(self.replaced)
                )
            ),
            limit,
        )
        await self.clocks(80)
        assert int(self.dut.busy.value) == 0 and not self.links_due
        assert {lpn: w & 0x3FFF_FFFF for lpn, (w, _) in self.map.items() if w} == self.replay(), (
            "log order is not visible order"
        )
        live = sum(w >> 30 == 1 for versions in (self.map, *self.txs) for w, _ in versions.values())
        assert int(self.dut.releasedPages.value) == len(self.pages) - live, "pages are lost or released twice"
        await self.counts_are_those_of_the_map()

    async def all_frames_are_free(self, taken=LONG):
        """The table has all frames, each once.

        `taken`: as many blocks as there are frames fit while no program ends, and not one more. Call when quiet.
        """
        assert int(self.dut.framesFree.value) == GEOMETRY.write_frames, "frames are lost or given twice"
        if not taken:
            return
        self.hold_programs = True
        assert (
            await self.run(WRITE, 900, 32) == SUCCESS
            and await self.run(WRITE, 940, GEOMETRY.write_frames - 32) == SUCCESS
        )
        more = self.submit(WRITE, 1000, 1)
        await self.clocks(2000)
        assert more not in self.results, "more frames than there are"
        self.let_programs_end()
        await self.until(lambda: more in self.results)
        await self.quiet()

    def let_programs_end(self):
        self.hold_programs = False
        for end in self.held_programs:
            self.later((1, 50), end)
        self.held_programs = []
