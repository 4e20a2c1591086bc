# SPDX-License-Identifier: Apache-2.0
"""The command socket byte by byte, with frames as the tables of docs/interfaces/command-socket.md say (preset quick).
What libotx makes of it: test_libotx.py."""

import os
import random
import re
import signal
import socket
import subprocess
import sys
import time

import pytest

from cocotb_tests.system.served import ROOT, Served
from opentxssd import BLOCK, Opcode, Query, Status, TxState
from opentxssd.facts import Priority

PAGE = ROOT / "docs/interfaces/command-socket.md"
HEADER, ANSWER = 32, 40
SEED = int(os.environ.get("SEED", "1"))


def tables(text):
    """{heading: {field: (first byte, bytes)}} of the page."""
    found = {}
    for heading, body in re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", text, re.M | re.S):
        rows = re.findall(r"^\| (\d+)(?:-(\d+))? \| `(\w+)` \|", body, re.M)
        found[heading] = {field: (int(a), int(b or a) - int(a) + 1) for a, b, field in rows}
    return found


TABLES = tables(PAGE.read_text())


def pack(heading, size, **fields):
    raw = bytearray(size)
    for field, value in fields.items():
        at, width = TABLES[heading][field]
        raw[at : at + width] = value if isinstance(value, bytes) else value.to_bytes(width, "little")
    return bytes(raw)


def unpack(heading, raw):
    return {f: int.from_bytes(raw[at : at + width], "little") for f, (at, width) in TABLES[heading].items()}


class Client:
    def __init__(self, path, flags=0, greeting=None):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect(str(path))
        self.hello = self.receive(64)
        self.send(greeting or pack("Greeting of the client", 16, magic=b"OTXHOST1", version=1, flags=flags))

    def send(self, raw):
        self.socket.sendall(raw)

    def receive(self, size):
        raw = b""
        while len(raw) < size and (more := self.socket.recv(size - len(raw))):
            raw += more
        return raw

    def command(self, opcode, data=b"", **fields):
        """A frame; sends nothing."""
        return pack("Command", HEADER, bytes=HEADER + len(data), opcode=opcode, **fields) + data

    def answer(self):
        header = self.receive(ANSWER)
        assert len(header) == ANSWER, "the drive has closed"
        fields = unpack("Answer", header)
        return fields | {"data": self.receive(fields["bytes"] - ANSWER)}

    def ask(self, opcode, data=b"", **fields):
        self.send(self.command(opcode, data, **fields))
        return self.answer()

    def state(self, txid):
        return self.ask(Opcode.QUERY, arg=Query.TX, flags=1, txid=txid)["result"] & 7

    def last_words(self):
        last = self.answer()
        assert last["kind"] == 1 and self.receive(1) == b""
        return last["data"].decode()

    def close(self):
        self.socket.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    s = Served(folder, folder / "drive.nand")
    yield s
    if s.process.poll() is None:
        s.end(signal.SIGKILL)


@pytest.fixture
def client(served):
    c = Client(served.commands)
    yield c
    c.close()


def soon(condition):
    for _ in range(200):
        if condition():
            return True
        time.sleep(0.02)
    return False


def test_the_page_has_each_byte_of_each_frame():
    assert [*TABLES] == [
        "The life of a connection",
        "Greeting of the drive",
        "Greeting of the client",
        "Command",
        "Answer",
    ]
    sizes = [max(at + width for at, width in t.values()) for t in [*TABLES.values()][1:]]
    assert sizes == [64, 16, HEADER, ANSWER]


def test_the_drive_says_what_it_is(client):
    hello = unpack("Greeting of the drive", client.hello)
    assert client.hello[:8] == b"OTXDRIVE" and client.hello[40:].rstrip(b"\0") == b"quick"
    assert (hello["version"], hello["lbas"], hello["under_way"]) == (1, 64, 32)
    assert hello["lbas"] == client.ask(Opcode.QUERY, arg=Query.CAPACITY)["result"]
    assert hello["clock_ps"] > 0 and 0 < hello["clock"] <= client.ask(Opcode.FLUSH)["clock"]


def test_a_block_goes_there_and_back_and_both_sockets_see_it(served, client):
    done = client.ask(Opcode.WRITE, b"k" * BLOCK, lba=20, count=1, id=2**64 - 1)
    assert (done["status"], done["id"], done["kind"]) == (0, 2**64 - 1, 0)
    assert 500 < done["clock"] - done["begun"] < 50_000  # 512 beats pass
    assert served.client("drive", "read", "20", "write", "21", "n") == ["k"]
    read = client.ask(Opcode.READ, lba=20, count=2)
    assert read["blocks"] == 3 and read["data"] == b"k" * BLOCK + b"n" * BLOCK
    assert read["clock"] > done["clock"]


def test_frames_may_come_in_any_pieces(client):
    raw = b"".join(client.command(Opcode.WRITE, bytes([n]) * BLOCK, lba=n, count=1, id=n) for n in range(1, 4))
    for at in range(0, len(raw), 1501):
        client.send(raw[at : at + 1501])
    assert sorted(client.answer()["id"] for _ in range(3)) == [1, 2, 3]
    for byte in client.command(Opcode.READ, lba=1, count=3, id=9):
        client.send(bytes([byte]))
    assert client.answer()["data"] == b"".join(bytes([n]) * BLOCK for n in range(1, 4))


@pytest.mark.parametrize("priority", list(Priority))
def test_each_priority_class_is_taken(client, priority):
    data = bytes([priority + 1]) * BLOCK
    assert client.ask(Opcode.WRITE, data, lba=7, count=1, priority=priority)["status"] == 0
    done = client.ask(Opcode.READ, lba=7, count=1, priority=priority)
    assert (done["status"], done["data"]) == (0, data)


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ({"opcode": 0xFF}, Status.INVALID_OPCODE),
        ({"opcode": Opcode.READ, "count": 0}, Status.INVALID_FIELD),
        ({"opcode": Opcode.READ, "count": 33}, Status.INVALID_FIELD),
        ({"opcode": Opcode.WRITE, "count": 0}, Status.INVALID_FIELD),
        ({"opcode": Opcode.WRITE, "count": 65535}, Status.INVALID_FIELD),
        ({"opcode": Opcode.READ, "count": 2, "lba": 63}, Status.LBA_RANGE),
        ({"opcode": Opcode.COMMIT}, Status.INVALID_FIELD),
        ({"opcode": Opcode.COMMIT, "flags": 1, "txid": 32}, Status.TX_INVALID),
        ({"opcode": Opcode.COMMIT, "flags": 1, "txid": 30}, Status.TX_INVALID),
        ({"opcode": Opcode.TRIM, "count": 1, "flags": 33}, Status.INVALID_FIELD),
        ({"opcode": Opcode.TRIM, "count": 1, "priority": 4}, Status.INVALID_FIELD),
        ({"opcode": Opcode.TRIM, "count": 1, "order": 4}, Status.INVALID_FIELD),
    ],
)
def test_what_the_drive_refuses_has_its_status_and_the_connection_goes_on(client, words, status):
    done = client.ask(words.pop("opcode"), id=5, **words)
    assert (done["status"], done["id"], done["data"]) == (status, 5, b"")
    assert client.ask(Opcode.FLUSH)["status"] == 0


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (pack("Command", HEADER, bytes=31, opcode=0), "has 31 bytes, not 32"),
        (pack("Command", HEADER, bytes=0, opcode=0), "has 0 bytes, not 32"),
        (pack("Command", HEADER, bytes=2**32 - 1, opcode=1, count=1), "has 4294967295 bytes, not 4128"),
        (pack("Command", HEADER, bytes=HEADER + BLOCK, opcode=1, count=2), "of opcode 01h and 2 blocks has 4128 bytes"),
        (pack("Command", HEADER, bytes=HEADER + BLOCK, opcode=2, count=1), "has 4128 bytes, not 32"),
        (pack("Command", HEADER, bytes=HEADER, flags=64), "that means nothing"),
        (pack("Command", HEADER, bytes=HEADER, rest=1 << 16), "that means nothing"),
        (b"\xff" * HEADER, "that means nothing"),
    ],
)
def test_a_malformed_frame_ends_its_client_with_one_line_and_no_other(served, client, frame, why):
    other = Client(served.commands)
    assert other.ask(Opcode.WRITE, b"x" * BLOCK, lba=5, count=1, flags=1, txid=9)["status"] == 0
    other.send(frame + b"more of it")
    words = other.last_words()
    assert why in words and "\n" not in words and len(words) <= 200
    assert words in served.said()
    assert client.ask(Opcode.FLUSH)["status"] == 0
    assert soon(lambda: client.state(9) == TxState.FREE)


@pytest.mark.parametrize(
    ("greeting", "why"),
    [
        (b"GET / HTTP/1.1\r\n", "the greeting is none of it"),
        (pack("Greeting of the client", 16, magic=b"OTXHOST1", version=2), "version 1, not version 2"),
        (pack("Greeting of the client", 16, magic=b"OTXHOST1", version=1, flags=2), "with flags 2"),
    ],
)
def test_who_does_not_greet_as_a_client_is_told_and_closed(served, client, greeting, why):
    other = Client(served.commands, greeting=greeting)
    assert why in other.last_words()
    assert client.ask(Opcode.FLUSH)["status"] == 0


def test_a_client_that_goes_in_the_middle_of_a_frame_changes_nothing(served, client):
    before = client.ask(Opcode.READ, lba=7, count=1)["data"]
    for cut in (1, 31, 32, 33, HEADER + BLOCK - 1):
        other = Client(served.commands)
        other.send(other.command(Opcode.WRITE, b"\xee" * BLOCK, lba=7, count=1)[:cut])
        other.close()
    Client(served.commands, greeting=b"OTX").close()
    assert client.ask(Opcode.READ, lba=7, count=1)["data"] == before


def test_transactions_end_with_the_client_that_opened_them(served, client):
    for flags, state in ((0, TxState.FREE), (1, TxState.OPEN)):
        other = Client(served.commands, flags)
        for txid, how in ((10, Opcode.BEGIN), (11, Opcode.WRITE), (12, Opcode.TRIM), (13, Opcode.WRITE_ZEROES)):
            more = {"data": b"t" * BLOCK} if how == Opcode.WRITE else {}
            assert other.ask(how, flags=1, txid=txid, lba=txid, count=1, **more)["status"] == 0
        assert other.ask(Opcode.BEGIN, flags=1, txid=14)["status"] == 0
        assert other.ask(Opcode.PREPARE, flags=1, txid=14)["status"] == 0
        other.close()
        for txid in (10, 11, 12, 13):
            assert soon(lambda txid=txid, state=state: client.state(txid) == state), txid
        assert client.state(14) == TxState.PREPARED
        assert client.ask(Opcode.ABORT, flags=1, txid=14)["status"] == 0
    # of those that were kept nobody is the owner: they end with no client
    other = Client(served.commands)
    assert other.ask(Opcode.COMMIT, flags=1, txid=11)["status"] == 0
    other.close()
    assert client.ask(Opcode.READ, lba=11, count=1)["data"] == b"t" * BLOCK
    assert client.state(10) == TxState.OPEN and client.ask(Opcode.RECOVER)["status"] == 0


def test_commands_under_way_of_a_client_that_goes_run_to_their_end(served, client):
    other = Client(served.commands)
    frames = [other.command(Opcode.WRITE, b"w" * BLOCK, lba=n, count=1, flags=1, txid=15) for n in range(30)]
    other.send(b"".join([*frames, other.command(Opcode.FLUSH), other.command(Opcode.READ, lba=0, count=32)]))
    other.close()
    assert soon(lambda: client.state(15) == TxState.FREE)
    assert client.ask(Opcode.READ, lba=0, count=1)["data"] != b"w" * BLOCK


def test_a_transaction_of_an_nbd_connection_is_closed_to_this_socket(served, client):
    """The connection holds txid 0, or 1 when a client has that."""
    for mine in (False, True):
        if mine:
            assert client.ask(Opcode.BEGIN, flags=1, txid=0)["status"] == 0
        nbd = subprocess.Popen(
            ["/usr/bin/python3", "-u", "-c", NBD, served.socket],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert nbd.stdout.readline() == "written\n"
        theirs = int(mine)
        for opcode in (Opcode.ABORT, Opcode.COMMIT, Opcode.READ, Opcode.QUERY):
            done = client.ask(opcode, flags=1, txid=theirs, lba=40, count=1)
            assert (done["status"], done["data"]) == (Status.TX_BUSY, b"")
        assert client.ask(Opcode.READ, lba=40, count=1)["data"] != b"N" * BLOCK
        if mine:
            assert client.ask(Opcode.RECOVER)["status"] == 0
        nbd.stdin.close()
        assert nbd.stdout.read() == ("EIO\n" if mine else "flushed\n")
        nbd.wait(30)
        after = client.ask(Opcode.READ, lba=40, count=1)["data"]
        assert (after == b"N" * BLOCK) == (not mine)
        assert client.ask(Opcode.TRIM, lba=40, count=1)["status"] == 0


NBD = """
import sys, nbd, errno
h = nbd.NBD()
h.connect_uri(f"nbd+unix:///atomic?socket={sys.argv[1]}")
h.pwrite(b"N" * 4096, 40 * 4096)
print("written")
sys.stdin.read()
try:
    h.flush()
    print("flushed")
except nbd.Error as e:
    print(errno.errorcode[e.errnum])
h.shutdown()
"""


def test_frames_at_random_end_clients_and_nothing_else(served, client):
    """Right ones, each with a byte changed in half of the cases, by three clients at once, which go in the middle."""
    rng, before = random.Random(SEED), served.said().count("is closed")
    for _ in range(40):
        others = [Client(served.commands, rng.randrange(2)) for _ in range(3)]
        for other in rng.choices(others, k=12):
            opcode = rng.choice([*Opcode, rng.randrange(256)])
            count = rng.choice((0, 1, 1, 2, 3, 33))
            data = b"r" * BLOCK * count if opcode == Opcode.WRITE and count < 33 else b""
            words = {
                "lba": rng.randrange(40),
                "count": count,
                "flags": rng.randrange(64),
                "txid": rng.randrange(16, 24),
            }
            frame = bytearray(other.command(opcode, data, id=rng.randrange(2**64), **words))
            if rng.random() < 0.5:
                frame[rng.randrange(HEADER)] = rng.randrange(256)
            try:
                other.send(frame[: rng.choice((len(frame), len(frame), rng.randrange(len(frame))))])
            except OSError:  # closed already
                pass
        for other in others:
            other.close()
    assert served.said().count("is closed") > before + 20 and client.ask(Opcode.FLUSH)["status"] == 0
    assert client.ask(Opcode.RECOVER)["status"] == 0  # what was kept
    for txid in range(16, 24):
        if soon(lambda txid=txid: client.state(txid) in (TxState.FREE, TxState.PREPARED)):
            client.ask(Opcode.ABORT, flags=1, txid=txid)
        assert soon(lambda txid=txid: client.state(txid) == TxState.FREE), txid
    assert client.ask(Opcode.WRITE, b"s" * BLOCK, lba=1, count=1)["status"] == 0
    assert client.ask(Opcode.READ, lba=1, count=1)["data"] == b"s" * BLOCK


def test_more_than_64_clients_are_told_so(served, client):
    others = [Client(served.commands) for _ in range(63)]
    assert others[-1].ask(Opcode.FLUSH)["status"] == 0
    late = socket.socket(socket.AF_UNIX)
    late.connect(str(served.commands))
    with late.makefile("rb") as said:
        assert said.read()[64 + ANSWER :] == b"64 clients are here already"
    late.close()
    for other in others:
        other.close()

    def there_is_room():
        try:
            return Client(served.commands).ask(Opcode.FLUSH)["status"] == 0
        except OSError:  # not yet
            return False

    assert soon(there_is_room)


def test_another_drive_is_refused_and_sigterm_ends_all_clients_and_takes_the_socket_away(served, tmp_path):
    """The last test: it ends the drive of the others."""
    done = subprocess.run(
        [sys.executable, ROOT / "tools/drive.py", "quick", tmp_path / "two.nand"], capture_output=True, text=True
    )
    assert done.returncode == 2 and done.stderr == "drive: another drive is served on build/otx.sock\n"
    kept = Client(served.commands, flags=1)
    assert kept.ask(Opcode.TRIM, lba=1, count=1)["status"] == 0
    assert kept.ask(Opcode.WRITE, b"o" * BLOCK, lba=1, count=1, flags=1, txid=3)["status"] == 0
    assert served.end(signal.SIGTERM) == 0 and not served.commands.exists()
    assert kept.receive(1) == b""
    again = Served(served.folder, served.folder / "drive.nand")
    assert again.client("drive", "read", "1") == ["0"]
    again.end(signal.SIGKILL)
