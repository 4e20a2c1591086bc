# SPDX-License-Identifier: Apache-2.0
"""Random work for the flash scheduler between its model channels."""

from cocotb_tests.bench.flash_bench import PAGES, page
from cocotb_tests.models.flash_model import BLANK, ERASED, OK, Op


def dies(b):
    return [(c, w) for w in range(b.geometry.ways) for c in range(b.geometry.channels)]


def sent(b, channel, way):
    """Commands the channel got for that way, in order."""
    return [c for c in b.channels[channel].log if c["way"] == way]


class Workload:
    """Random ops that are legal in any order the dies may choose: reads only of finished or never written pages, erases
    only of blocks at rest.
    """

    def __init__(self, b, rng):
        self.b, self.rng, self.written, self.frames, self.counts = b, rng, {}, list(range(68)), {}
        self.next = {
            die: {client: (block, 0) for client, block in (("write", 0), ("log", 10), ("firmware", 20))}
            for die in dies(b)
        }
        self.number = 100
        b.on_done = self.finish

    def finish(self, cookie, op, beat):
        want = self.expected[cookie]
        assert {f: beat[f] for f in want["beat"]} == want["beat"], f"{Op(op['op']).name} of {op['client']}: {beat}"
        if want.get("words"):
            assert self.b.frame.page(op["frame"]) == want["words"], "a done without its data"
        if op["op"] == Op.PROGRAM:
            self.written[op["ppn"]] = want["page"]
        if want["frame"] is not None:
            self.frames.append(want["frame"])
        self.counts[op["client"], op["op"]] = self.counts.get((op["client"], op["op"]), 0) + 1

    expected = None

    def submit(self):
        b, rng = self.b, self.rng
        self.expected = self.expected or {}
        client = rng.choice(["write", "write", "read", "read", "log", "firmware"])
        die = rng.choice(dies(b))
        op = rng.choice(
            {"read": [Op.READ], "firmware": [Op.PROGRAM, Op.READ_OOB, Op.VERIFY, Op.READ, Op.STATUS]}.get(
                client, [Op.PROGRAM]
            )
        )
        frame = self.frames.pop(rng.randrange(len(self.frames))) if op in (Op.PROGRAM, Op.READ) else None
        if op == Op.PROGRAM:
            block, at = self.next[die][client]
            self.next[die][client] = (block, at + 1) if at + 1 < PAGES else (block + 1, 0)
            ppn = b.ppn(*die, block, at)
            self.number += 1
            words = page(self.number)
            b.frame.fill(frame, words)
            fields = {"kind": rng.randrange(1, 6), "lpn": rng.getrandbits(32), "sequence": rng.getrandbits(48)}
            want = {"beat": fields | {"status": OK, "generation": 7}, "page": (words, fields | {"generation": 7})}
        else:
            fields = {}
            ppn = (
                rng.choice(list(self.written))
                if self.written and rng.random() < 0.85
                else b.ppn(*die, 31, rng.randrange(PAGES))
            )
            words, oob = self.written.get(ppn, ([(1 << 64) - 1] * 512, ERASED))
            want = {
                "beat": oob | {"status": OK if ppn in self.written else BLANK},
                "words": words if op == Op.READ else None,
            }
            if op == Op.STATUS:
                want = {"beat": {"status": OK, "kind": 0xE0}}
        cookie = b.op(client, op, ppn, frame or 0, **fields, priority=rng.randrange(4))
        self.expected[cookie] = want | {"frame": frame}
