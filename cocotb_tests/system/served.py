# SPDX-License-Identifier: Apache-2.0
"""The simulated drive as a process that is served, for tests of its sockets. One at a time in a clone."""

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

HOST, CLIENT = ROOT / "build/host", ROOT / "cocotb_tests/system/nbd_client.py"


class Served:
    """`tools/drive.py` of a preset on an image file, until `end`; what it says is in folder/log."""

    def __init__(self, folder, image, preset="quick"):
        self.socket = ROOT / "build/otx.sock"
        self.commands = ROOT / "build/otx.cmd"
        self.socket.unlink(missing_ok=True)
        self.folder, self.log = folder, (folder / "log").open("a")
        self.process = subprocess.Popen(
            [sys.executable, ROOT / "tools/drive.py", preset, image], stdout=self.log, stderr=self.log
        )
        for _ in range(600):
            if self.process.poll() is not None:
                break
            if (
                self.socket.exists()
                and subprocess.run(["nbdinfo", "--size", self.uri()], capture_output=True).returncode == 0
            ):
                return
            time.sleep(0.1)
        raise AssertionError(f"not served: {(folder / 'log').read_text()}")

    def uri(self, export="drive"):
        return f"nbd+unix:///{export}?socket={self.socket}"

    def client(self, *words):
        """Runs steps of nbd_client.py; returns what it printed."""
        done = subprocess.run(["/usr/bin/python3", CLIENT, self.socket, *words], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.split()

    def said(self):
        return (self.folder / "log").read_text()

    def end(self, how):
        self.process.send_signal(how)
        self.process.wait(60)
        return self.process.returncode


class Otx:
    """The command line on a command socket; a call runs `otx` with these words, built with sanitizers: (exit code,
    standard output, standard error)."""

    def __init__(self, commands):
        subprocess.run(["make", "-s", "-C", ROOT / "sw/host", "all", "tests"], check=True, capture_output=True)
        self.commands = commands

    def __call__(self, *words, data=b""):
        command = [HOST / "otx_sanitized", "-s", self.commands, *map(str, words)]
        done = subprocess.run(command, input=data, capture_output=True, timeout=60)
        assert "Sanitizer" not in done.stderr.decode() and len(done.stderr.splitlines()) <= 1, done.stderr
        return done.returncode, done.stdout, done.stderr.decode()
