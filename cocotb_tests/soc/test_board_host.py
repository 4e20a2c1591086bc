# SPDX-License-Identifier: Apache-2.0
"""The commands of tools/board_host.py over a fake bus: what they ask the drive, what they print, exit codes.

The port itself is in test_host_port.py.
"""

import pytest

from opentxssd.facts import ports
from tools import board_host
from tools.board_host import BLOCK, Opcode, Status


class FakeBus:
    """`regs.host_*` of a drive that completes every command at once: a WRITE takes its blocks, a READ gives blocks of
    its own LBA's number.
    """

    class Register:
        def __init__(self, read=lambda: 0, write=None):
            self.read, self.write = read, write

    def __init__(self, status=Status.SUCCESS, result=0):
        self.fields, self.commands, self.written = {}, [], []
        self.status, self.result, self.requests, self.beats, self.done = status, result, [], [], []
        self.text = list(b"otx: dram ok\notx: ready\n")
        words = {
            "cmd_ready": lambda: 1,
            "wreq_valid": lambda: int(bool(self.requests)),
            "wreq_block": lambda: self.requests[0],
            "wreq_request": lambda: 100 + self.requests[0],
            "wdata_room": lambda: 5,
            "rdata_valid": lambda: int(bool(self.beats)),
            "rdata_block": lambda: self.beats[0][0],
            "rdata_data_lo": lambda: self.beats[0][1],
            "rdata_data_hi": lambda: self.beats[0][1] ^ 0xFFFFFFFF,
            "rdata_last": lambda: self.beats[0][2],
            "cpl_valid": lambda: int(bool(self.done) and not self.requests and not self.beats),
            "cpl_status": lambda: int(self.status),
            "cpl_result": lambda: self.result,
        }
        strobes = {
            "cmd_go": self.go,
            "wreq_pop": lambda: self.requests.pop(0),
            "rdata_pop": lambda: self.beats.pop(0),
            "cpl_pop": self.done.clear,
        }
        names = {
            *words,
            *strobes,
            "wdata_lo",
            "wdata_hi",
            "wdata_request",
            "wreq_tag",
            "rdata_tag",
            "cpl_tag",
            *(f"cmd_{f.lower()}" for f in FIELDS),
        }
        self.regs = type(
            "Registers",
            (),
            {f"host_{n}": self.Register(words.get(n, lambda: 0), self.writer(n, strobes.get(n))) for n in names},
        )
        self.regs.uart_xover_rxempty = self.Register(lambda: int(not self.text))
        self.regs.uart_xover_rxtx = self.Register(lambda: self.text.pop(0))

    def writer(self, name, strobe):
        def write(value):
            if strobe:
                strobe()
            elif name == "wdata_request":
                assert value == 100 + self.requests[0], "the beats answer another request"
            elif name.startswith("wdata"):
                self.written.append(value)
            else:
                self.fields[name[4:]] = value

        return write

    def go(self):
        f = dict(self.fields)
        self.commands.append(f)
        self.done.append(f["tag"])
        if self.status == Status.SUCCESS and f["opcode"] == Opcode.WRITE:
            self.requests = list(range(f["count"]))
        if self.status == Status.SUCCESS and f["opcode"] == Opcode.READ:
            self.beats = [(b, f["lba"] + b, int(n == 511)) for b in range(f["count"]) for n in range(512)]


FIELDS = ports("HostCmd")


def call(tmp_path, bus, *words):
    csr = tmp_path / "csr.csv"
    csr.write_text("")
    return board_host.main(["--csr", str(csr), *map(str, words)], bus)


@pytest.mark.parametrize(
    "words, fields",
    [
        (["flush"], dict(opcode=Opcode.FLUSH, hastx=0)),
        (["trim", 7, 3, "--txid", 2], dict(opcode=Opcode.TRIM, lba=7, count=3, hastx=1, txid=2)),
        (["begin", 0], dict(opcode=Opcode.BEGIN, hastx=1, txid=0)),
        (["commit", 31], dict(opcode=Opcode.COMMIT, hastx=1, txid=31, relaxed=0)),
        (["commit", "3", "--relaxed"], dict(opcode=Opcode.COMMIT, hastx=1, txid=3, relaxed=1)),
        (["abort", 5], dict(opcode=Opcode.ABORT, hastx=1, txid=5)),
        (["recover"], dict(opcode=Opcode.RECOVER, hastx=0)),
    ],
)
def test_commands_carry_their_fields(tmp_path, words, fields):
    bus = FakeBus()
    assert call(tmp_path, bus, *words) == 0
    assert len(bus.commands) == 1 and bus.commands[0].items() >= fields.items()
    assert all(
        bus.commands[0][n] == 0
        for n in ("fua", "commit", "relaxed", "barrier", "orderless", "order", "priority", "stream", "arg")
        if n not in fields
    )


def test_write_sends_the_file(tmp_path):
    bus, file = FakeBus(), tmp_path / "data"
    file.write_bytes(bytes(range(256)) * (2 * BLOCK // 256))
    assert call(tmp_path, bus, "write", 9, file, "--txid", 1, "--commit") == 0
    assert (
        bus.commands[0].items() >= dict(opcode=Opcode.WRITE, lba=9, count=2, txid=1, hastx=1, commit=1, fua=0).items()
    )
    assert b"".join(w.to_bytes(4, "little") for w in bus.written) == file.read_bytes()


def test_read_prints_the_blocks(tmp_path, capfdbinary):
    assert call(tmp_path, FakeBus(), "read", 77, "--count", 2) == 0
    assert capfdbinary.readouterr().out == b"".join(
        (n.to_bytes(4, "little") + (n ^ 0xFFFFFFFF).to_bytes(4, "little")) * 512 for n in (77, 78)
    )


def test_query_and_log_print(tmp_path, capsys):
    assert call(tmp_path, FakeBus(result=393216), "query", "capacity") == 0
    assert call(tmp_path, FakeBus(result=4501 << 16 | 1), "query", "tx", "--txid", 3) == 0
    assert call(tmp_path, FakeBus(result=77 << 16 | 3 << 8 | 4), "query", "tx_walk", "--txid", 3) == 0
    assert call(tmp_path, FakeBus(), "log") == 0
    assert capsys.readouterr().out == (
        "393,216\nOPEN, 4,501 entries\nCOMMITTED, 77 entries wait, 3 transactions go before\notx: dram ok\notx: ready\n"
    )


def test_another_status_is_one_line_and_code_1(tmp_path, capsys):
    assert call(tmp_path, FakeBus(Status.NOT_READY), "flush") == 1
    assert capsys.readouterr().err == "board_host: FLUSH: NOT_READY\n"


@pytest.mark.parametrize(
    "words",
    [
        ["read"],
        ["read", "x"],
        ["read", -1],
        ["read", 1 << 32],
        ["read", 0, "--count", 33],
        ["read", 0, "--txid", 32],
        ["write", 0, "no such file"],
        ["write", 0, "short"],
        ["write", 0, "empty"],
        ["trim", 0, 0],
        ["commit"],
        ["commit", 32],
        ["query", "weather"],
        ["query", "tx"],
        ["query", "capacity", "--txid", 1],
        ["dance"],
        ["--port", 0, "flush"],
        ["--csr", "no such file", "flush"],
    ],
)
def test_wrong_arguments_are_one_line_and_code_2(tmp_path, capsys, monkeypatch, words):
    (tmp_path / "short").write_bytes(b"12345")
    (tmp_path / "empty").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    bus = FakeBus()
    assert call(tmp_path, bus, *words) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith("board_host: ") and said.err.count("\n") == 1 and not bus.commands


def test_no_server_is_one_line_and_code_1(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("socket.create_connection", lambda *a: (_ for _ in ()).throw(ConnectionRefusedError()))
    (tmp_path / "csr.csv").write_text("constant,config_csr_data_width,32,,\nconstant,config_bus_address_width,32,,\n")
    assert board_host.main(["--csr", str(tmp_path / "csr.csv"), "flush"]) == 1
    assert capsys.readouterr().err == "board_host: no litex_server on port 1234\n"
