# SPDX-License-Identifier: Apache-2.0
"""The served drive as its users see it: processes, sockets, libnbd's own programs. Preset quick."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cocotb_tests.system.served import Served
from judge import judge_lines
from opentxssd import Drive

ROOT = Path(__file__).resolve().parent.parent.parent

RECORDER = ROOT / "cocotb_tests/system/nbd_recorder.py"


@pytest.fixture
def served(tmp_path):
    s = Served(tmp_path, tmp_path / "drive.nand")
    yield s
    if s.process.poll() is None:
        s.end(signal.SIGKILL)


def test_nbdinfo_shows_size_block_size_flush_fua_and_trim(served):
    text = subprocess.run(["nbdinfo", served.uri()], capture_output=True, text=True, check=True).stdout
    for line in (
        "export-size: 262144",
        "can_flush: true",
        "can_fua: true",
        "can_trim: true",
        "can_zero: true",
        "block_size_minimum: 4096",
    ):
        assert line in text, text
    names = subprocess.run(["nbdinfo", "--list", served.uri()], capture_output=True, text=True).stdout
    assert 'export="drive"' in names and 'export="atomic"' in names


def test_an_image_copied_on_is_read_back_equal(served, tmp_path):
    image, back = tmp_path / "in", tmp_path / "out"
    image.write_bytes(os.urandom(1 << 17))
    subprocess.run(["nbdcopy", "--flush", image, served.uri()], check=True)
    subprocess.run(["nbdcopy", served.uri(), back], check=True)
    assert back.read_bytes() == image.read_bytes() + bytes(1 << 17)


def test_sigkill_is_a_power_cut_that_loses_nothing_flushed(served, tmp_path):
    served.client("drive", "write", "5", "a", "flush")
    served.client("atomic", "write", "6", "b", "flush", "write", "7", "c")
    served.end(signal.SIGKILL)
    again = Served(tmp_path, tmp_path / "drive.nand")
    assert again.client("drive", "read", "5", "read", "6", "read", "7") == ["a", "b", "0"]
    assert "otx: 1 power cut, the last one before this start" in again.said()
    again.end(signal.SIGKILL)


def test_sigterm_powers_down_in_order_and_the_next_start_replays_nothing(served, tmp_path):
    served.client("drive", "write", "5", "a")
    assert served.end(signal.SIGTERM) == 0
    again = Served(tmp_path, tmp_path / "drive.nand")
    assert again.client("drive", "read", "5") == ["a"]
    assert "generation 2: 0 log pages, 0 entries, 0 dropped" in again.said() and "power cut" not in again.said()
    again.end(signal.SIGKILL)


def test_what_a_client_of_atomic_writes_between_flushes_is_one_transaction(served):
    served.client("atomic", "write", "1", "a", "write", "2", "b")  # disconnects without a flush
    assert served.client("drive", "read", "1", "read", "2") == ["0", "0"]
    assert served.client("atomic", "write", "1", "a", "write", "2", "b", "read", "2", "flush", "write", "1", "z") == [
        "b"
    ]
    assert served.client("drive", "read", "1", "read", "2") == ["a", "b"]
    assert served.client("drive", "fua", "3", "c", "trim", "1", "zero", "2", "read", "1", "read", "2", "read", "3") == [
        "0",
        "0",
        "c",
    ]


def recorded(served, history, seed, requests, killed=False):
    pid = [str(served.process.pid)] if killed else []
    done = subprocess.run(
        ["/usr/bin/python3", RECORDER, served.socket, history, str(seed), str(requests), *pid],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in history.read_text().splitlines()]


def stale(events):
    """The history, a FUA WRITE over a block of it, and a READ that shows what that has replaced: forbidden."""
    old, new = next(e for e in events if e.get("op") == "WRITE"), 10**6
    write = {"e": "submit", "id": new, "op": "WRITE", "lba": old["lba"], "n": 1, "fua": 1, "data": [new]}
    read = {"e": "submit", "id": new + 1, "op": "READ", "lba": old["lba"], "n": 1}
    return [
        *events,
        write,
        {"e": "done", "id": new, "status": "SUCCESS"},
        read,
        {"e": "done", "id": new + 1, "status": "SUCCESS", "data": old["data"][:1]},
    ]


def test_what_clients_of_both_exports_saw_over_sigkill_and_sigterm_is_allowed_by_the_contract(served, tmp_path):
    history = tmp_path / "history.jsonl"
    recorded(served, history, 1, 70, killed=True)
    served.process.wait(60)
    again = Served(tmp_path, tmp_path / "drive.nand")
    recorded(again, history, 2, 40)
    assert again.end(signal.SIGTERM) == 0
    with history.open("a") as file:
        file.write('{"e": "off"}\n')
    last = Served(tmp_path, tmp_path / "drive.nand")
    events = recorded(last, history, 3, 0)
    last.end(signal.SIGKILL)
    verdict = judge_lines(events)
    assert verdict.good, verdict.violations
    assert {e.get("op") for e in events} >= {"WRITE", "READ", "TRIM", "WRITE_ZEROES", "FLUSH", "COMMIT"}
    assert not judge_lines(stale(events)).good


def test_unaligned_and_out_of_range_requests_are_refused_and_the_drive_goes_on(served):
    assert served.client("drive", "write", "4", "a", "unaligned", "beyond", "read", "4") == ["EINVAL", "ENOSPC", "a"]


def refused(*args):
    done = subprocess.run([sys.executable, ROOT / "tools/drive.py", *args], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2, done
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    return done.stderr


def test_a_wrong_image_is_refused_in_one_line_with_exit_code_2(served, tmp_path):
    image = tmp_path / "drive.nand"
    assert "in use" in refused("quick", image)
    whole, path = image.read_bytes(), tmp_path / "wrong.nand"
    for words, contents in (
        (f"image is cut short: 20000 bytes, should be {len(whole)}", whole[:20_000]),
        (f"image is cut short: {len(whole) - 1} bytes, should be {len(whole)}", whole[:-1]),
        (f"image is cut short: 10 bytes, should be {len(whole)}", whole[:10]),
        (f"image is too long: {len(whole) + 4} bytes, should be {len(whole)}", whole + b"more"),
        ("not an image of a drive", b"something else" * 5000),
        ("not an image of a drive", b""),
    ):
        path.write_bytes(contents)
        before = path.stat().st_mtime_ns
        assert refused("quick", path) == f"drive: {path}: {words}\n"
        assert path.read_bytes() == contents and path.stat().st_mtime_ns == before
    refused("nonsense", tmp_path / "x")
    refused("quick")


def test_an_image_of_another_preset_is_refused(tmp_path):
    image = tmp_path / "drive.nand"
    assert Drive("tiny", image=image, boot=False).close()
    before = image.stat().st_mtime_ns
    assert "geometry" in refused("quick", image)
    assert image.stat().st_mtime_ns == before
