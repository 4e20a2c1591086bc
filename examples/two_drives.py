# SPDX-License-Identifier: Apache-2.0
"""One transaction over two drives: two-phase commit with PREPARE. `python examples/two_drives.py [PRESET]` moves an
amount from an account on one simulated drive to one on another, and cuts the power of all three parts on the way.

    Server(preset)                  a drive in a process of its own (one drive in a process)
    Coordinator(drives, journal)    transfers, and what it does when it starts again

The coordinator keeps one decision in a journal, a file. A transaction is committed when its decision is in there, and
then only; what no decision says was aborted (presumed abort). So:

    1. The blocks are written on each drive, in a transaction of the same txid.
    2. PREPARE on each drive. From here on the drive keeps the transaction over power cuts, until it is told.
    3. `commit NAME TXID` into the journal, and fsync: this is the commit.
    4. COMMIT on each drive.
    5. `done NAME` into the journal: from now on the txid may be used again.

Whoever starts again, drives or coordinator, calls `recover`: transactions that are open and not prepared are aborted
(RECOVER); one that is prepared is committed if the journal has its decision without `done`, else aborted. Each of its
steps may be cut, too, and be done again.

The coordinator's caller gets an answer or sees it die: then the transfer happened on both drives or on none, and
`recover` has settled which.
"""

import os
import sys
import tempfile
from multiprocessing.connection import Client, Listener
from pathlib import Path

try:
    from opentxssd import BLOCK, CommandError, Drive, Opcode
except ImportError as e:
    sys.exit(f"two_drives: {e}; source tools/env.sh first")

TXID = 3


class PowerFailed(Exception):
    """A drive lost its power in the middle of a command, or a coordinator its own."""


class Node:
    """What the process of a drive does for its clients. `cut`: after so many clocks of the next command power fails."""

    def __init__(self, drive):
        self.drive, self.cut, self.on = drive, None, True

    def ask(self, name, *args, **more):
        return getattr(self, name)(*args, **more)

    def command(self, opcode, *args, **more):
        """One command; PowerFailed when power is not there, or fails before its completion."""
        if not self.on:
            raise PowerFailed
        if self.cut is None:
            return self.drive.command(opcode, *args, **more)
        clocks, self.cut = self.cut, None
        tag, end = self.drive.submit(opcode, *args, **more), self.drive.clock + clocks
        while self.drive.clock < end:
            if self.drive.step(end - self.drive.clock):
                break  # it completed; nobody is told
        self.fail(seed=clocks + tag)
        raise PowerFailed

    def write(self, lba, data, txid=None):
        self.command(Opcode.WRITE, lba, len(data) // BLOCK, data, txid=txid)

    def read(self, lba):
        return self.command(Opcode.READ, lba, 1).data

    def flush(self):
        self.command(Opcode.FLUSH)

    def prepare(self, txid):
        self.command(Opcode.PREPARE, txid=txid)

    def commit(self, txid):
        self.command(Opcode.COMMIT, txid=txid)

    def abort(self, txid):
        self.command(Opcode.ABORT, txid=txid)

    def recover(self):
        self.command(Opcode.RECOVER)

    def prepared(self):
        return self.drive.prepared()

    def clock(self):
        return self.drive.clock

    def fail_in(self, clocks):
        self.cut = clocks

    def fail(self, seed=0):
        if self.on:
            self.drive.power_cut(seed)
        self.on, self.cut = False, None

    def power_on(self):
        if not self.on:
            self.drive.power_on()
        self.on = True


def serve(connection, node):
    """Answers until the client has gone. A request `fork` makes a copy of the drive, which serves whoever listens at
    that address."""
    while True:
        try:
            name, args, more = connection.recv()
        except EOFError:
            os._exit(0)
        if name == "fork":
            if os.fork() == 0:
                connection.close()
                connection = Client(args[0])
            continue
        try:
            connection.send((True, node.ask(name, *args, **more)))
        except (PowerFailed, CommandError) as e:
            connection.send((False, e if isinstance(e, PowerFailed) else RuntimeError(str(e))))


class Server:
    """The client's side: the methods of a Node."""

    def __init__(self, preset=None, connection=None, folder=None):
        self.connection = connection
        if connection is None:
            with tempfile.TemporaryDirectory() as place, Listener(str(Path(place) / "drive")) as listener:
                if os.fork() == 0:
                    connection = Client(listener.address)
                    serve(connection, Node(Drive(preset, folder=folder)))
                self.connection = listener.accept()

    def copy(self):
        """An independent drive with the same past."""
        with tempfile.TemporaryDirectory() as place, Listener(str(Path(place) / "drive")) as listener:
            self.connection.send(("fork", (listener.address,), {}))
            return Server(connection=listener.accept())

    def close(self):
        self.connection.close()

    def __getattr__(self, name):
        def call(*args, **more):
            self.connection.send((name, args, more))
            good, answer = self.connection.recv()
            if not good:
                raise answer
            return answer

        return call


class Journal:
    """Lines in a file; a line counts when its end is there."""

    def __init__(self, path):
        self.path = Path(path)

    def lines(self):
        text = self.path.read_text() if self.path.exists() else ""
        return [line.split() for line in text.split("\n")[:-1]]

    def add(self, *words):
        with open(self.path, "a+") as file:
            file.seek(0)
            torn = not file.read().endswith("\n") and file.tell() != 0
            file.write("\n" * torn + " ".join(map(str, words)) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def decided(self):
        """The txids of transactions that are to be committed, by name."""
        found = {}
        for word, name, *txid in (line for line in self.lines() if len(line) > 1):
            if word == "commit" and txid:
                found[name] = int(txid[0])
            elif word == "done":
                found.pop(name, None)
        return found


class Coordinator:
    """`step`: called before each step, with its name; a test raises PowerFailed there."""

    def __init__(self, drives, journal, step=lambda name: None):
        self.drives, self.journal, self.step = drives, journal, step

    def transfer(self, name, blocks, txid=TXID):
        """`blocks`: {lba: data} for each drive. True: it is done on all of them; False: on none. PowerFailed: somebody
        must call `recover` first, and then it is either."""
        try:
            for n, (drive, mine) in enumerate(zip(self.drives, blocks, strict=True)):
                for lba, data in mine.items():
                    self.step(f"write {n}")
                    drive.write(lba, data, txid=txid)
            for n, drive in enumerate(self.drives):
                self.step(f"prepare {n}")
                drive.prepare(txid)
        except RuntimeError:  # one of them does not want it
            for drive in self.drives:
                drive.recover()
                if txid in drive.prepared():
                    drive.abort(txid)
            return False
        self.step("decide")
        self.journal.add("commit", name, txid)
        for n, drive in enumerate(self.drives):
            self.step(f"commit {n}")
            drive.commit(txid)
        self.step("done")
        self.journal.add("done", name)
        return True

    def recover(self):
        """After any of them was off: nothing stays undecided."""
        decided = self.journal.decided()
        for n, drive in enumerate(self.drives):
            self.step(f"recover {n}")
            drive.recover()
            for txid in drive.prepared():
                self.step(f"end {n}")
                (drive.commit if txid in decided.values() else drive.abort)(txid)
        for name in decided:
            self.step("done")
            self.journal.add("done", name)


def amount(number):
    return number.to_bytes(8, "little") * (BLOCK // 8)


def main(preset="quick"):
    drives = [Server(preset), Server(preset)]
    for drive, balance in zip(drives, (100, 20), strict=True):
        drive.write(7, amount(balance))
        drive.flush()
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder) / "journal")

        def die(name):
            if name == "commit 1":
                raise PowerFailed

        try:
            Coordinator(drives, journal, die).transfer("rent", [{7: amount(70)}, {7: amount(50)}])
        except PowerFailed:
            print("the coordinator died between the two COMMITs; now both drives lose power, too")
        for drive in drives:
            drive.fail(seed=1)
        for drive in drives:
            drive.power_on()
        print("prepared, after the cut:", [drive.prepared() for drive in drives])
        Coordinator(drives, journal).recover()
        balances = [int.from_bytes(drive.read(7)[:8], "little") for drive in drives]
        print("balances:", balances)
    for drive in drives:
        drive.close()
    return balances != [70, 50]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
