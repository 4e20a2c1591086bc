# SPDX-License-Identifier: Apache-2.0
"""tools/vfio.py: what a user starts."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cocotb_tests.system.vfio_drive import VfioDrive

TOOL = [sys.executable, str(Path(__file__).resolve().parents[2] / "tools/vfio.py")]


def wrong(*arguments):
    done = subprocess.run([*TOOL, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 2 and not done.stdout and done.stderr.count("\n") == 1
    return done.stderr


@pytest.mark.parametrize("arguments", [(), ("",), ("a", "b", "c"), ("a", "")])
def test_wrong_arguments_are_one_line(arguments):
    assert wrong(*arguments) == "vfio: usage: vfio.py IMAGE [SOCKET]\n"


def test_what_cannot_be_served_is_one_line_and_untouched(tmp_path):
    image, there, file = tmp_path / "image", tmp_path / "socket", tmp_path / "file"
    file.write_text("words")
    assert "no folder" in wrong(tmp_path / "none/image") and "is a folder" in wrong(tmp_path)
    assert "no folder" in wrong(image, tmp_path / "none/socket") and "is no socket" in wrong(image, file)
    assert "107 bytes" in wrong(image, tmp_path / ("s" * 107)) and not image.exists()
    assert str(file) in wrong(file, there) and file.read_text() == "words"


def test_a_drive_is_served_until_a_signal_comes(tmp_path):
    image, path = tmp_path / "image", tmp_path / "socket"
    server = subprocess.Popen([*TOOL, image, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert server.stdout.readline() == f"preset nvme on {image}: vfio-user on {path}\n"
    assert server.stdout.readline() == "ready\n"
    assert VfioDrive(path).config_read(0) == 0x702410EE
    assert wrong(tmp_path / "other", path) == f"vfio: another drive is served on {path}\n"
    server.send_signal(signal.SIGTERM)
    assert "ready" in server.communicate(timeout=60)[1] and server.returncode == 0 and not path.exists()
