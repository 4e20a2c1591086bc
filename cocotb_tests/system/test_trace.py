# SPDX-License-Identifier: Apache-2.0
"""Block traces with `otx trace`, on the served drive (preset quick) and on a drive that fails."""

import json
import signal
import socket
import struct
import subprocess
import threading

import pytest

from cocotb_tests.system.served import HOST, Otx, Served
from opentxssd import BLOCK, Opcode, Status

FIO = """fio version 2 iolog
/dev/sda add
/dev/sda open
/dev/sda write 0 163840
/dev/sda wait 1000 0
/dev/sda write 163840 4096
/dev/sda datasync 0 0
/dev/sda read 4096 8192
/dev/sda read 5000 1
/dev/sda trim 8192 4096
/dev/sda sync 0 0
/dev/sda close
"""
BLKPARSE = """  8,0    3        1     0.000000000   697  Q   W 8 + 8 [kjournald]
  8,0    3        2     0.000001829   697  G   W 8 + 8 [kjournald]
  8,0    3        3     0.000002197   697  P   N [kjournald]
  8,0    3        4     0.000004285   697  I   W 8 + 8 [kjournald]
  8,0    3        5     0.000010285   697  D   W 8 + 8 [kjournald]
  8,0    3        0     0.000011000     0  m   N cfq697 dispatch
  8,0    1        6     0.000012000   698  D  FN [kworker/1:1H]
  8,0    1        7     0.000013000   698  D FWFS 16 + 4 [two words]
  8,0    1        8     0.000014000   698  D  RM 8 + 16 [cat]
  8,0    1        9     0.000015000   698  D  DS 24 + 8 [fstrim]
  8,0    1       10     0.000016000   698  C  RM 8 + 16 [0]
CPU1 (sda):
 Reads Queued:           1,        8KiB  Writes Queued:           2,        6KiB
Total (sda):
"""


@pytest.fixture(scope="module")
def otx(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    served = Served(folder, folder / "drive.nand")
    yield Otx(served.commands)
    served.end(signal.SIGKILL)


@pytest.fixture
def trace(tmp_path):
    """Writes a trace; its path."""

    def write(text):
        path = tmp_path / "trace"
        path.write_text(text)
        return path

    return write


def played(result):
    assert result[0] == 0 and result[2] == "", result
    return json.loads(result[1])


def counts(said):
    return {kind: tuple(said[kind][n] for n in ("requests", "commands", "blocks", "failed")) for kind in KINDS}


KINDS = ("read", "write", "trim", "flush")


def test_an_iolog_of_fio_is_played(otx, trace):
    said = played(otx("trace", "play", trace(FIO), "--json"))
    assert counts(said) == {
        "read": (2, 2, 3, 0),
        "write": (2, 3, 41, 0),
        "trim": (1, 1, 1, 0),
        "flush": (2, 2, 0, 0),
    }
    assert said["widened"] == 1 and said["us"] == pytest.approx(said["clocks"] / 100, abs=0.01)
    assert said["host_pages"] >= 41 and said["nand_pages"] > said["host_pages"] and said["moved_pages"] >= 0
    for kind in KINDS:
        steps = [said[kind][p]["clocks"] for p in ("p50", "p90", "p99", "p99.9", "max")]
        assert steps == sorted(steps) and 0 < steps[0] and steps[-1] <= said["clocks"]
        assert said[kind]["max"]["us"] == pytest.approx(steps[-1] / 100, abs=0.01)
    # the writes are there, each block another one, and the trim
    code, data, _ = otx("read", 0, 41)
    blocks = [data[n : n + BLOCK] for n in range(0, len(data), BLOCK)]
    assert code == 0 and blocks[2] == bytes(BLOCK)
    for lba in {*range(41)} - {2}:
        assert blocks[lba] == blocks[lba][:16] * (BLOCK // 16) and struct.unpack("<Q", blocks[lba][:8]) == (lba,)


def test_times_of_version_3_are_passed_over(otx, trace):
    """As fio 3.33 writes it."""
    text = "14 y.0.0 add\n93 y.0.0 open\n97 y.0.0 read 12288 4096\n139 y.0.0 write 188416 8192\n140 y.0.0 sync 0 0\n"
    said = played(otx("trace", "play", trace(V3 + text + "149 y.0.0 close\n"), "--json"))
    assert counts(said) == {"read": (1, 1, 1, 0), "write": (1, 1, 2, 0), "trim": (0, 0, 0, 0), "flush": (1, 1, 0, 0)}


def test_the_table_says_the_same_in_words(otx, trace):
    code, out, _ = otx("trace", "play", trace(FIO))
    text = out.decode()
    assert code == 0 and "1 requests were no whole blocks and are widened" in text
    rows = {line.split()[0]: line.split()[1:5] for line in text.splitlines()[1:5]}
    assert rows["write"] == ["2", "3", "41", "0"] and rows["flush"] == ["2", "2", "0", "0"]
    assert "NAND pages programmed: " in text and "requests a second" in text


def test_text_of_blkparse_is_played(otx, trace):
    path = trace(BLKPARSE)
    said = played(otx("trace", "play", path, "--json"))
    assert counts(said) == {"read": (1, 1, 2, 0), "write": (2, 2, 2, 0), "trim": (1, 1, 1, 0), "flush": (2, 2, 0, 0)}
    assert said["widened"] == 1
    queued = played(otx("trace", "play", path, "--action", "Q", "--json"))
    assert counts(queued)["write"] == (1, 1, 1, 0) and counts(queued)["flush"] == (0, 0, 0, 0)
    assert "max" not in queued["flush"]
    # the FUA write: block 2; it is durable, so a flush behind it finds nothing to do
    assert struct.unpack("<Q", otx("read", 2)[1][:8]) == (2,)


def test_more_depth_takes_fewer_clocks(otx, trace):
    path = trace("fio version 2 iolog\n/d open\n" + "".join(f"/d read {n * BLOCK} {BLOCK}\n" for n in range(32)))
    one, many = (played(otx("trace", "play", path, "--depth", n, "--json")) for n in (1, 32))
    assert many["clocks"] < one["clocks"] and many["read"]["p50"]["clocks"] > one["read"]["p50"]["clocks"]


def test_addresses_past_the_end_are_refused_or_wrapped(otx, trace):
    path = trace(f"fio version 2 iolog\n/d read 0 {BLOCK}\n/d write {62 * BLOCK} {4 * BLOCK}\n")
    assert otx("trace", "play", path) == (
        2,
        b"",
        f"otx: {path}:3: blocks 62 to 65 of a drive of 64; --wrap begins at 0 again\n",
    )
    said = played(otx("trace", "play", path, "--wrap", "--json"))
    assert counts(said)["write"] == (1, 2, 4, 0)
    assert struct.unpack("<Q", otx("read", 1)[1][:8]) == (1,)


V2, V3 = "fio version 2 iolog\n", "fio version 3 iolog\n"
EVENT = "  8,0    3        1     0.000000000   697  D   W "


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("fio version 1 iolog\n", 1, "fio version 1 iolog is not read, fio versions 2 and 3 of iolog are"),
        (V3 + "97 /d read 0 4096\nx /d read 0 4096\n", 3, "time is x, must be a number"),
        (V3 + "97\n", 2, "no action of fio: nothing"),
        (V2 + "/d add\n/d erase 0 4096\n", 3, "no action of fio: erase"),
        (V2 + "/d\n", 2, "no action of fio: /d"),
        (V2 + "/d read 0\n", 2, "read has 3 words, not 4"),
        (V2 + "/d read 0 4096 1\n", 2, "read has 5 words, not 4"),
        (V2 + "/d read x 4096\n", 2, "offset is x, must be a number"),
        (V2 + "/d read 0 -1\n", 2, "length is -1, must be a number"),
        (V2 + "\n/d write 0 0\n", 3, "a request of 0 bytes; must be 1 to 1073741824"),
        (V2 + "/d write 0 1073741825\n", 2, "a request of 1073741825 bytes; must be 1 to 1073741824"),
        (V2 + "/d write 9223372036854775808 1\n", 2, "offset 9223372036854775808 is too large"),
        (V2 + "/d write 99999999999999999999 1\n", 2, "offset is 99999999999999999999, must be a number"),
        (V2 + "/d add\n/e add\n", 3, "/e is a second device, beside /d"),
        ("hello\n", 1, "no line of blkparse, which begins with MAJOR,MINOR CPU: hello"),
        (EVENT + "8 + 8 [a]\n" + EVENT + "8 8\n", 2, "no SECTOR + SECTORS behind W"),
        (EVENT + "x + 8 [a]\n", 1, "sector is x, must be a number"),
        (EVENT + "18014398509481984 + 8 [a]\n", 1, "18014398509481984 + 8 is too large"),
        (EVENT + "8 + 8 [a]\n" + EVENT.replace("8,0", "8,1") + "8 + 8 [a]\n", 2, "8,1 is a second device, beside 8,0"),
    ],
)
def test_a_wrong_line_is_named_and_nothing_is_played(otx, trace, text, line, words):
    path = trace(text)
    assert otx("trace", "play", path) == (2, b"", f"otx: {path}:{line}: {words}\n")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["play", "/nowhere/trace"], "/nowhere/trace: No such file or directory"),
        (["play", "a", "b"], "b is too much; usage: otx trace play FILE"),
        (["play"], "something is missing; usage: otx trace play FILE | record FILE -- PROGRAM [ARGUMENTS]"),
        (["show", "a"], "no trace show; there are play and record"),
        (["record", "a"], "no program; usage: otx trace record FILE -- PROGRAM [ARGUMENTS]"),
        (["record", "a", "--wrap", "--", "true"], "trace record takes no --depth, --wrap or --action"),
        (["record", "/nowhere/trace", "--", "true"], "/nowhere/trace: No such file or directory"),
        (["play", "a", "--depth", "0"], "--depth is 0, must be a number from 1 to 32"),
        (["play", "a", "--action", "DC"], "--action is DC, must be one letter of blkparse"),
    ],
)
def test_wrong_arguments_are_one_line_and_exit_code_2(otx, words, line):
    assert otx("trace", *words) == (2, b"", f"otx: {line}\n")


def test_a_file_without_requests_is_refused(otx, trace):
    path = trace(V2 + "/d add\n")
    assert otx("trace", "play", path) == (2, b"", f"otx: {path}: nothing to play in its 2 lines\n")


SCRIPT = """set -e
otx={otx}
head -c 143360 /dev/zero | $otx write 3 --fua
$otx write 9 --txid 4 </dev/null || head -c 4096 /dev/zero | $otx write 9 --txid 4
$otx commit --txid 4 --relaxed
head -c 4096 /dev/zero | $otx write 10 --txid 4 --commit
$otx begin --txid 5
$otx abort --txid 5
$otx read 3 2 | cmp - <(head -c 8192 /dev/zero)
$otx trim 4 2
$otx zero 8
$otx query capacity
$otx flush
exit 7
"""
RECORDED = """fio version 2 iolog
/dev/otx add
/dev/otx open
/dev/otx write 12288 131072
/dev/otx datasync 0 0
/dev/otx write 143360 12288
/dev/otx datasync 0 0
/dev/otx write 36864 4096
/dev/otx write 40960 4096
/dev/otx datasync 0 0
/dev/otx read 12288 8192
/dev/otx trim 16384 8192
/dev/otx trim 32768 4096
/dev/otx sync 0 0
/dev/otx close
"""


def test_what_a_program_asks_is_recorded_and_can_be_played(otx, tmp_path):
    path = tmp_path / "recorded"
    done = subprocess.run(
        [
            HOST / "otx_sanitized",
            "-s",
            otx.commands,
            "trace",
            "record",
            path,
            "--",
            "bash",
            "-c",
            SCRIPT.format(otx=HOST / "otx"),
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 7 and done.stdout == "64\n" and done.stderr == "otx: no data to write\n", done
    assert path.read_text() == RECORDED
    said = played(otx("trace", "play", path, "--json"))
    assert counts(said) == {"read": (1, 1, 2, 0), "write": (4, 4, 37, 0), "trim": (2, 2, 3, 0), "flush": (4, 4, 0, 0)}


def test_many_commands_at_once_pass_the_recorder(otx, tmp_path, trace):
    """The player itself is recorded; what it asks is what it was given."""
    lines = [f"/d {'read' if n % 3 else 'write'} {n % 30 * 2 * BLOCK} {(n % 4 + 1) * BLOCK}" for n in range(120)]
    path, again = trace(V2 + "\n".join(lines) + "\n"), tmp_path / "again"
    code, out, err = otx("trace", "record", again, "--", HOST / "otx", "trace", "play", path, "--json")
    assert code == 0 and json.loads(out)["read"]["requests"] == 80, err
    assert again.read_text().splitlines()[3:-1] == [line.replace("/d", "/dev/otx") for line in lines]


def test_a_program_that_cannot_be_run_is_said(otx, tmp_path):
    code, _, err = otx("trace", "record", tmp_path / "t", "--", "/nowhere/program")
    assert (code, err) == (127, "otx: trace: cannot run /nowhere/program: No such file or directory\n")


class FakeDrive(threading.Thread):
    """Answers READ with MEDIA_ERROR, the n-th one after 100 n clocks, and all else with SUCCESS; WRITEs only when it
    has heard nothing for a while. `early`: FLUSHes that came before those; `flags`: of the WRITEs."""

    def __init__(self, path):
        super().__init__()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        self.early, self.reads, self.clock, self.waiting, self.flags = 0, 0, 0, [], []
        self.start()

    def answer(self, frame, status=0, took=250):
        self.clock += 1000
        words = (40, 0, status, 0, frame[8:16], 0, 0, self.clock, self.clock - took)
        self.client.sendall(struct.pack("<IBBH8sIIQQ", *words))

    def take(self, size):
        """So many bytes; writes are answered when none come."""
        raw = b""
        while len(raw) < size:
            try:
                raw += (more := self.client.recv(size - len(raw)))
                if not more:
                    return None
            except TimeoutError:
                while self.waiting:
                    self.answer(self.waiting.pop())
        return raw

    def run(self):
        self.client, _ = self.listener.accept()
        self.client.sendall(struct.pack("<8sIIIIIIQ24s", b"OTXDRIVE", 1, 64, 48, 10000, 32, 0, 0, b"fake"))
        self.client.settimeout(0.05)
        self.take(16)
        while frame := self.take(32):
            self.take(int.from_bytes(frame[:4], "little") - 32)
            if frame[4] == Opcode.WRITE:
                self.waiting.append(frame)
                self.flags.append(frame[6])
            elif frame[4] == Opcode.READ:
                self.reads += 1
                self.answer(frame, Status.MEDIA_ERROR, 100 * self.reads)
            else:
                self.early += frame[4] == Opcode.FLUSH and len(self.waiting) > 0
                self.answer(frame)
        self.client.close()
        self.listener.close()


def on_fake_drive(folder, path):
    """The drive after it, and what the player said."""
    drive = FakeDrive(folder / "fake")
    result = Otx(folder / "fake")("trace", "play", path, "--json")
    drive.join()
    return drive, result


def test_requests_that_the_drive_fails_are_counted_and_the_first_is_named(tmp_path, trace):
    path = trace(V2 + f"/d read 0 {40 * BLOCK}\n/d trim 0 {BLOCK}\n/d read 0 {BLOCK}\n")
    _, (code, out, err) = on_fake_drive(tmp_path, path)
    said = json.loads(out)
    assert (code, err) == (1, f"otx: trace: {path}:2: MEDIA_ERROR: a block cannot be read\n")
    assert counts(said)["read"] == (2, 3, 41, 3) and counts(said)["trim"] == (1, 1, 1, 0)
    # a request is as slow as the slowest of its commands
    assert said["read"]["p50"] == {"clocks": 200, "us": 2.0} and said["read"]["max"] == {"clocks": 300, "us": 3.0}
    assert said["clocks"] == 3100


def test_a_flush_is_sent_when_all_before_it_has_completed_and_fua_with_its_write(tmp_path, trace):
    drive, (code, out, _) = on_fake_drive(tmp_path, trace(BLKPARSE))
    assert code == 1 and json.loads(out)["read"]["failed"] == 1
    assert drive.flags == [0, 2] and drive.early == 0 and json.loads(out)["flush"]["requests"] == 2
