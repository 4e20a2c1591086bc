# SPDX-License-Identifier: Apache-2.0
"""The core behind the host port of otx_nvme: takes commands, fetches and delivers blocks, completes in any order
(docs/interfaces/host-port.md). It has the blocks; transactions are its commands' own business."""

from cocotb_tests.bench.streams import Sink, Source
from opentxssd.facts import BEATS, BLOCK, TAGS, Opcode, Status, ports

MOST_REQUESTS, OF_A_WRITE = 8, 2


class Core:
    """`accepts(command)` is called for each command, `answer(command)` says (status, result) of it. `pace`: share of
    clocks in which something is begun or ended."""

    def __init__(self, stepper, dut, rng, stall=0.0, pace=0.2):
        self.rng, self.pace = rng, pace
        self.blocks, self.under_way, self.tags = {}, {}, set()
        self.accepts = lambda command: None
        self.answer = lambda command: (Status.SUCCESS, 0)
        self.requests, self.number, self.ending = {}, 0, []  # {number: (command, block, beats)}
        self.keeps = False  # nothing ends
        self.cmd = stepper.add(Sink(dut, "cmd", ports("HostCmd"), self._accept, stall, rng))
        stepper.add(self)
        self.cpl = stepper.add(Source(dut, "cpl", ports("Completion"), stall, rng, self._ended))
        self.wanted = stepper.add(Source(dut, "wdata_req", ports("BlockRef"), stall, rng))
        self.wdata = stepper.add(Sink(dut, "wdata", ports("WriteBeat"), self._data, stall, rng))
        self.rdata = stepper.add(Source(dut, "rdata", ports("ReadBeat"), stall, rng))

    def _accept(self, beat, clock):
        tag = beat["tag"]
        assert tag < TAGS and tag not in self.tags, f"tag {tag} is under way"
        command = beat | dict(at=clock)
        self.accepts(command)
        status, result = self.answer(command)
        command.update(status=status, result=result, left=[], fetched={}, delivered={}, unread=set())
        if status == Status.SUCCESS and command["opcode"] in (Opcode.WRITE, Opcode.READ):
            command["left"] = list(range(command["count"]))
            self.rng.shuffle(command["left"])
        if status == Status.MEDIA_ERROR and command["opcode"] == Opcode.READ:  # some blocks come all the same
            command["left"] = list(range(command["count"] // 2))
        self.under_way[tag] = command
        self.tags.add(tag)

    def drive(self):
        if self.keeps or self.rng.random() >= self.pace or not self.under_way:
            return
        command = self.rng.choice(list(self.under_way.values()))
        if command["left"] and command["opcode"] == Opcode.WRITE:
            mine = [r for r in self.requests.values() if r[0] is command]
            if len(self.requests) < MOST_REQUESTS and len(mine) < OF_A_WRITE:
                self.number = (self.number + 1) % 4096
                block = command["left"].pop()
                self.requests[self.number] = (command, block, [])
                self.wanted.queue.append(dict(tag=command["tag"], block=block, request=self.number))
        elif command["left"]:
            if len(self.rdata.queue) < 2 * BEATS:
                block = command["left"].pop()
                raw = self.blocks.get(command["lba"] + block, bytes(BLOCK))
                command["delivered"][block] = raw
                for i in range(BEATS):
                    data = int.from_bytes(raw[8 * i : 8 * i + 8], "little")
                    beat = dict(tag=command["tag"], block=block, data=data, last=int(i == BEATS - 1))
                    self.rdata.queue.append(beat)
        elif self._may_end(command):
            del self.under_way[command["tag"]]
            self._apply(command)
            self.cpl.queue.append({name: command[name] for name in ports("Completion")})
            self.ending.append(command)

    def sample(self, clock):
        pass

    def _may_end(self, command):
        if command["opcode"] == Opcode.WRITE:
            return not any(r[0] is command for r in self.requests.values())
        return not any(b["tag"] == command["tag"] for b in self.rdata.queue)

    def _apply(self, command):
        if command["status"] != Status.SUCCESS:
            return
        if command["opcode"] == Opcode.WRITE:
            for block, raw in command["fetched"].items():
                self.blocks[command["lba"] + block] = raw
        if command["opcode"] == Opcode.TRIM:
            for block in range(command["count"]):
                self.blocks.pop(command["lba"] + block, None)

    def _ended(self, beat, clock):
        self.ending.pop(0)["ended"] = clock
        self.tags.remove(beat["tag"])

    def _data(self, beat, clock):
        command, block, beats = self.requests[beat["request"]]
        beats.append(beat["data"])
        assert beat["last"] == (len(beats) == BEATS), f"{len(beats)} beats of a block"
        assert beat["last"] or not beat["error"], "an error in the middle of a block"
        if beat["last"]:
            if beat["error"]:
                command["unread"].add(block)
                command.update(left=[], status=Status.ABORTED)
            else:
                command["fetched"][block] = b"".join(b.to_bytes(8, "little") for b in beats)
            del self.requests[beat["request"]]
