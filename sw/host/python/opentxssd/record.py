# SPDX-License-Identifier: Apache-2.0
"""Records what a client of a drive asks and is told, as a history (docs/reference/history.md), for tools/judge.py.

    recorder = Recorder(drive, preset="tiny")                  # a Drive that is on and blank
    tag = recorder.submit("WRITE", lba=3, n=2, tx=1)           # it makes up the stamps: a block is its stamp, 8 bytes
                                                               little endian, all over
    recorder.step(1000)                                        # lets clocks pass; completions are written down, {tag:
                                                               status} is returned
    recorder.power_cut(seed=1); recorder.power_on(); recorder.off(); recorder.damaged("data", lba=3)
    recorder.events                                            # the history so far, for judge_lines or a file (`save`)

Whoever talks to the drive beside the recorder makes the history wrong. Nothing is judged here.
"""

import json

from opentxssd.commands import BLOCK, DriveError, Opcode
from opentxssd.drive import COMMAND_CLOCKS


def block_of(stamp):
    """The 4,096 bytes of a stamp."""
    return stamp.to_bytes(8, "little") * (BLOCK // 8)


def stamp_of(block):
    """The stamp of a block, 0 for zeroes, -1 for what is neither."""
    first = block[:8]
    return int.from_bytes(first, "little") if block == first * (BLOCK // 8) and first[7] < 128 else -1


class Recorder:
    """`free`: further words for the first line of the history, any that JSON can hold.

    `events`: the history so far, one dict an event.
    """

    def __init__(self, drive, **free):
        self.drive = drive
        self.events = [{"history": 1, "lbas": drive.lbas, **free}]
        self.ids = self.stamps = 0
        self.flight = {}  # tag -> submit event

    def submit(self, op, lba=0, n=0, tx=None, fua=0, commit=0, relaxed=0, barrier=0, orderless=0, arg=0):
        """Hands a command over, by the name of its Opcode, and returns its tag.

        `n`: blocks. DriveError when all tags are under way.
        """
        self.ids += 1
        event = {"e": "submit", "id": self.ids, "op": op, "t": self.drive.clock}
        event |= {
            name: value
            for name, value in (
                ("lba", lba),
                ("n", n),
                ("fua", fua),
                ("commit", commit),
                ("relaxed", relaxed),
                ("barrier", barrier),
                ("orderless", orderless),
                ("arg", arg),
            )
            if value
        }
        if tx is not None:
            event["tx"] = tx
        data = None
        if op == "WRITE":
            event["data"] = list(range(self.stamps + 1, self.stamps + n + 1))
            self.stamps += n
            data = b"".join(map(block_of, event["data"]))
        self.events.append(event)
        flags = {"fua": fua, "commit": commit, "relaxed": relaxed, "barrier": barrier, "orderless": orderless}
        tag = self.drive.submit(Opcode[op], lba, n, data, txid=tx, arg=arg, **flags)
        self.flight[tag] = event
        return tag

    def step(self, clocks):
        """Lets up to `clocks` pass, fewer if something completed; {tag: name of its status} of what did."""
        answered = {}
        if self.drive.step(clocks):
            while (completion := self.drive.poll()) is not None:
                answered[completion.tag] = self.note(completion)
        return answered

    def note(self, completion):
        """Writes down a completion that somebody has polled; the name of its status."""
        asked = self.flight.pop(completion.tag)
        event = {"e": "done", "id": asked["id"], "status": completion.status.name, "t": completion.clock}
        if asked["op"] == "READ" and event["status"] in ("SUCCESS", "MEDIA_ERROR"):
            blocks = (completion.data[k * BLOCK :][:BLOCK] for k in range(asked.get("n", 0)))
            event["data"] = [stamp_of(block) if completion.blocks >> k & 1 else None for k, block in enumerate(blocks)]
        elif asked["op"] == "QUERY":
            event["result"] = completion.result
        self.events.append(event)
        return event["status"]

    def drain(self, clocks=COMMAND_CLOCKS):
        """Waits for everything under way, at most so many clocks; what hangs stays open in the history."""
        end = self.drive.clock + clocks
        while self.flight and self.drive.clock < end:
            self.step(end - self.drive.clock)
        return not self.flight

    def do(self, op, **fields):
        """One command, and clocks until it has ended; the name of its status, or None if nothing completes any more."""
        tag = self.submit(op, **fields)
        while tag in self.flight:
            answered = self.step(COMMAND_CLOCKS)
            if not answered:
                return None
            if tag in answered:
                return answered[tag]

    def power_cut(self, **how):
        """Power fails now; `how` as of Drive.power_cut. What is under way stays open in the history."""
        self.drive.power_cut(**how)
        self.flight.clear()
        self.events.append({"e": "cut", "t": self.drive.clock})

    def off(self):
        """Orderly: everything completes and is flushed, and the power goes when the drive rests.

        DriveError if that does not come about.
        """
        if not (self.drain() and self.do("FLUSH") == "SUCCESS" and self.drive.idle()):
            raise DriveError("the drive does not come to rest")
        self.drive.power_cut()
        self.events.append({"e": "off", "t": self.drive.clock})

    def damaged(self, what, lba=None):
        """The test has made a page unreadable: one of `data` (of block `lba`), `log`, `root`, `map` or `other`."""
        self.events.append({"e": "damage", "what": what} | ({} if lba is None else {"lba": lba}))

    def power_on(self):
        """Power is back; what the drive says of its start is written down. DriveError as of Drive.power_on."""
        self.drive.power_on()
        self.events.append({"e": "up", **self.drive.mounted(), "t": self.drive.clock})

    def look(self, most=32):
        """Reads all blocks, `most` a command."""
        for lba in range(0, self.drive.lbas, most):
            if len(self.flight) >= 31:
                self.drain()
            self.submit("READ", lba=lba, n=min(most, self.drive.lbas - lba))
        self.drain()

    def save(self, path):
        """Writes the history into a file, one JSON object a line."""
        with open(path, "w", encoding="utf-8") as out:
            out.writelines(json.dumps(event) + "\n" for event in self.events)
