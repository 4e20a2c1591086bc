# SPDX-License-Identifier: Apache-2.0
"""The other end of build/nvme/otx-pci: what QEMU's x-pci-proxy-dev says to it, and QEMU's qtest socket, in Python.

`ProxyDrive` is the Drive of an opentxssd.nvme.NvmeHost.
"""

import ctypes
import mmap
import os
import re
import select
import socket
import struct
import subprocess
from pathlib import Path

from cocotb_tests.system.remote_drive import RemoteDrive
from opentxssd.nvme import BASE, MEMORY

PROGRAM = Path(__file__).resolve().parents[2] / "build/nvme/otx-pci"
SYNC_SYSMEM, RET, CONFIG_WRITE, CONFIG_READ, BAR_WRITE, BAR_READ, SET_IRQFD, DEVICE_RESET = range(8)
BAR = 0xFE00_0000


class ProxyDrive(RemoteDrive):
    def __init__(self, folder, *arguments):
        super().__init__()
        self.fd = os.memfd_create("guest")
        os.ftruncate(self.fd, MEMORY)
        self.memory = (ctypes.c_uint8 * MEMORY).from_buffer(mmap.mmap(self.fd, MEMORY))
        qtest = str(folder / "qtest")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(qtest)
        self.listener.listen()
        self.qtest, self.text = None, ""
        self.socket, theirs = socket.socketpair()
        self.process = subprocess.Popen(
            [PROGRAM, str(theirs.fileno()), qtest, *map(str, arguments)],
            pass_fds=[theirs.fileno()],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        theirs.close()
        assert self.process.stdout.readline() == "ready\n"
        ranges = struct.pack("<24Q", *([BASE] + 7 * [0]), *([MEMORY] + 7 * [0]), *(8 * [0]))
        message = struct.pack("<iIQ", SYNC_SYSMEM, 0, len(ranges)) + ranges
        socket.send_fds(self.socket, [message], [self.fd])

    # The protocol

    def ask(self, command, payload=b""):
        self.socket.sendall(struct.pack("<iIQ", command, 0, len(payload)) + payload)
        answer = self.socket.recv(24, socket.MSG_WAITALL)
        kind, _, size, value = struct.unpack("<iIQQ", answer)
        assert (kind, size) == (RET, 8)
        return value

    def config_read(self, at, size=4):
        return self.ask(CONFIG_READ, struct.pack("<IIi", at, 0, size))

    def config_write(self, at, value, size=4):
        self.ask(CONFIG_WRITE, struct.pack("<IIi", at, value, size))

    def bar_read(self, at, size):
        return self.ask(BAR_READ, struct.pack("<QQI?3x", BAR + at, 0, size, True))

    def bar_write(self, at, value, size):
        self.ask(BAR_WRITE, struct.pack("<QQI?3x", BAR + at, value, size, True))

    def reset(self):
        self.ask(DEVICE_RESET)

    def end(self):
        """QEMU ends; (exit code, what the drive has said)."""
        self.socket.close()
        said = self.process.communicate()[1]
        return self.process.returncode, said

    def wait(self, seconds):
        waiting = [self.qtest or self.listener]
        if not select.select(waiting, [], [], seconds)[0]:
            return
        if not self.qtest:
            self.qtest = self.listener.accept()[0]
        self.text += self.qtest.recv(4096).decode()
        self.qtest.sendall(b"OK\n" * self.text.count("\n"))
        *lines, self.text = self.text.split("\n")
        for line in lines:
            self.messages.append(tuple(int(word, 16) for word in re.fullmatch(r"writel (\S+) (\S+)", line).groups()))
