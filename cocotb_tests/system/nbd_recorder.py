# SPDX-License-Identifier: Apache-2.0
"""Random traffic of several NBD connections on the served drive, written down as a history for the judge
(docs/reference/history.md); run by Debian's python3, which has libnbd.

    nbd_recorder.py SOCKET HISTORY SEED REQUESTS [PID]

A new HISTORY gets its first line; one that is there gets an `up`, and all blocks are read first. Then come so many
requests, of one connection to export `drive` (WRITE, also FUA, TRIM, WRITE ZEROES, FLUSH, READ) and two to `atomic`,
each with a txid of its own (the same, and a FLUSH is its COMMIT). A request has at most 32 blocks, so it is one command
of the drive. With PID that process is killed when the last request was sent, and the history ends with `cut`; without,
the requests are waited for.

What a client cannot know is left out: `dropped`, what firmware said, clocks. A COMMIT is sent when the transaction's
own requests have been answered. Exit code 1 when a request fails otherwise than by the cut.
"""

import json
import os
import random
import signal
import sys
from pathlib import Path

import nbd

BLOCK, MOST = 4096, 32
SUCCESS = "SUCCESS"


def stamp_of(block):
    first = block[:8]
    return int.from_bytes(first, "little") if block == first * (BLOCK // 8) and first[7] < 128 else -1


class History:
    """The file, a line an event; stamps and ids go on from what is there."""

    def __init__(self, path, lbas):
        old = [json.loads(line) for line in Path(path).read_text().splitlines()] if Path(path).exists() else []
        self.ids = max((e["id"] for e in old if e.get("e") == "submit"), default=0)
        self.stamps = max((s for e in old if e.get("op") == "WRITE" for s in e["data"]), default=0)
        self.goes_on = bool(old)
        self.file = open(path, "a", encoding="utf-8", buffering=1)
        self.write({"e": "up", "mode": "open"} if old else {"history": 1, "lbas": lbas, "client": "nbd"})

    def write(self, event):
        self.file.write(json.dumps(event) + "\n")

    def submit(self, event):
        self.ids += 1
        event = {"e": "submit", "id": self.ids} | event
        if event["op"] == "WRITE":
            event["data"] = list(range(self.stamps + 1, self.stamps + event["n"] + 1))
            self.stamps += event["n"]
        self.write(event)
        return event


class Connection:
    """One of the clients; `tx` is its transaction's number in the history, None for export `drive`."""

    def __init__(self, socket, history, tx=None):
        self.history, self.tx, self.under_way, self.failed, self.open = history, tx, 0, [], False
        self.nbd = nbd.NBD()
        self.nbd.connect_uri(f"nbd+unix:///{'drive' if tx is None else 'atomic'}?socket={socket}")

    def send(self, op, lba=0, n=0, fua=False):
        event = {"op": op} | {name: value for name, value in (("lba", lba), ("n", n), ("fua", int(fua))) if value}
        if self.tx is not None:
            event["tx"] = self.tx
            self.open = op != "COMMIT" and (self.open or op != "READ")
        event = self.history.submit(event)
        at, size, flags = lba * BLOCK, n * BLOCK, nbd.CMD_FLAG_FUA if fua else 0
        buffer = (
            nbd.Buffer.from_bytearray(
                bytearray(b"".join(s.to_bytes(8, "little") * (BLOCK // 8) for s in event["data"]))
            )
            if op == "WRITE"
            else nbd.Buffer(size or 1)
        )

        def answered(error):
            self.under_way -= 1
            value = getattr(error, "value", error)
            if value:
                self.failed.append(f"{event}: error {value}")
                return 1
            done = {"e": "done", "id": event["id"], "status": SUCCESS}
            if op == "READ":
                data = bytes(buffer.to_bytearray())
                done["data"] = [stamp_of(data[k * BLOCK :][:BLOCK]) for k in range(n)]
            self.history.write(done)
            return 1

        self.under_way += 1
        if op == "WRITE":
            self.nbd.aio_pwrite(buffer, at, answered, flags)
        elif op == "READ":
            self.nbd.aio_pread(buffer, at, answered)
        elif op == "TRIM":
            self.nbd.aio_trim(size, at, answered, flags)
        elif op == "WRITE_ZEROES":
            self.nbd.aio_zero(size, at, answered, flags)
        else:  # FLUSH, or COMMIT by one
            self.nbd.aio_flush(answered)

    def wait(self, most=0):
        while self.under_way > most:
            self.nbd.poll(-1)


def one(rng, connection, lbas):
    """A random request of that connection; a COMMIT waits for what it commits."""
    c = connection
    kind = rng.random()
    n = rng.choice([1, 1, 1, 2, 3, 8, 32])
    lba = rng.randrange(0, min(lbas, 40) - n + 1)
    if kind < 0.3:
        c.send("READ", lba, n)
    elif kind < 0.45 and (c.tx is None or c.open):
        c.wait()
        c.send("FLUSH" if c.tx is None else "COMMIT")
    else:
        op = "TRIM" if kind > 0.93 else "WRITE_ZEROES" if kind > 0.86 else "WRITE"
        c.send(op, lba, n, fua=c.tx is None and rng.random() < 0.2)


def main(socket, path, seed, requests, pid=None):
    rng = random.Random(int(seed))
    first = Connection(socket, None)
    lbas = first.nbd.get_size() // BLOCK
    history = first.history = History(path, lbas)
    connections = [first, Connection(socket, history, 0), Connection(socket, history, 1)]
    try:
        for lba in range(0, lbas, MOST) if history.goes_on else ():
            first.send("READ", lba, min(MOST, lbas - lba))
            first.wait()
        for _ in range(int(requests)):
            c = rng.choice(connections)
            one(rng, c, lbas)
            c.wait(rng.choice([0, 2, 8]))
        if pid:
            os.kill(int(pid), signal.SIGKILL)
        for c in connections:
            c.wait()
    except nbd.Error as e:
        if not pid:
            raise SystemExit(f"nbd_recorder: {e}") from e
    failed = [line for c in connections for line in c.failed]
    if pid:
        history.write({"e": "cut"})
    elif failed:
        raise SystemExit("\n".join(failed))


if __name__ == "__main__":
    main(*sys.argv[1:])
