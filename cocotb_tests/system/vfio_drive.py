# SPDX-License-Identifier: Apache-2.0
"""A client of build/nvme/otx-vfio in Python: vfio-user as the document of QEMU has it (docs/interop/vfio-user.rst).

`Served` starts and ends the server, `VfioDrive` is one client: `ask` sends a command and returns the payload of its
reply, or raises Refused with the errno. With `shared=False` its memory has no file descriptor, and the drive's
DMA_READ and DMA_WRITE are answered here. It is the Drive of an opentxssd.nvme.NvmeHost.
"""

import ctypes
import mmap
import os
import select
import socket
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

from cocotb_tests.system.remote_drive import RemoteDrive
from opentxssd.nvme import BASE, MEMORY

PROGRAM = Path(__file__).resolve().parents[2] / "build/nvme/otx-vfio"
VERSION, DMA_MAP, DMA_UNMAP, GET_INFO, GET_REGION_INFO, GET_REGION_IO_FDS, GET_IRQ_INFO, SET_IRQS = range(1, 9)
REGION_READ, REGION_WRITE, DMA_READ, DMA_WRITE, RESET = range(9, 14)
REPLY, NO_REPLY, ERROR = 1, 16, 32
BAR0, CONFIG = 0, 7
MSIX_IRQ, VECTORS = 2, 16
NONE, BOOL, EVENTFD, MASK, UNMASK, TRIGGER = (1 << bit for bit in range(6))
READABLE, WRITABLE = 1, 2
CAPABILITIES = b'{"capabilities":{"max_msg_fds":8,"max_data_xfer_size":1048576}}\0'


class Refused(Exception):
    """The server has answered with this errno."""

    def __init__(self, command, errno):
        super().__init__(f"command {command}: errno {errno}")
        self.errno = errno


class Gone(Exception):
    """The server has closed the connection."""


@dataclass(frozen=True)
class Reply:
    """`error` is None without the error bit."""

    id: int
    command: int
    error: int | None
    payload: bytes


class Served:
    """A server on `folder`/vfio, which has said that it is ready."""

    def __init__(self, folder, *image):
        self.path = folder / "vfio"
        self.process = subprocess.Popen(
            [PROGRAM, self.path, *image], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout.readline() == "ready\n"

    def end(self, signal):
        """(exit code, what it has said) after that signal."""
        if self.process.poll() is None:
            self.process.send_signal(signal)
        said = self.process.communicate(timeout=60)[1]
        return self.process.returncode, said


class VfioDrive(RemoteDrive):
    """A client whose memory is at BASE; with `setup=False` it has only connected."""

    def __init__(self, path, shared=True, setup=True):
        super().__init__()
        self.id, self.served, self.limit = 0, {DMA_READ: 0, DMA_WRITE: 0}, 1 << 20
        self.events = [os.eventfd(0, os.EFD_NONBLOCK) for _ in range(VECTORS)]
        self.fd = os.memfd_create("client")
        os.ftruncate(self.fd, MEMORY)
        self.memory = (ctypes.c_uint8 * MEMORY).from_buffer(mmap.mmap(self.fd, MEMORY))
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(str(path))
        if setup:
            self.negotiate()
            self.map(BASE, MEMORY, fds=[self.fd] if shared else [])
            self.set_irqs(EVENTFD | TRIGGER, 0, VECTORS, self.events)

    def close(self):
        self.socket.close()
        for fd in (*self.events, self.fd):
            os.close(fd)

    # Messages

    def send(self, command, payload=b"", fds=(), flags=0, size=None):
        """Returns its identifier; `size`: what the header says of it."""
        self.id = (self.id + 1) & 0xFFFF
        header = struct.pack("<HHIII", self.id, command, 16 + len(payload) if size is None else size, flags, 0)
        socket.send_fds(self.socket, [header + payload], list(fds))
        return self.id

    def receive(self, size):
        data = self.socket.recv(size, socket.MSG_WAITALL)
        if len(data) != size:
            raise Gone
        return data

    def reply(self):
        """The next reply; what the drive asks meanwhile is answered."""
        while True:
            number, command, size, flags, error = struct.unpack("<HHIII", self.receive(16))
            payload = self.receive(size - 16) if size > 16 else b""
            if flags & 15 == REPLY:
                return Reply(number, command, error if flags & ERROR else None, payload)
            self.answer(number, command, payload)

    def ask(self, command, payload=b"", fds=(), **fields):
        number = self.send(command, payload, fds, **fields)
        reply = self.reply()
        assert (reply.id, reply.command) == (number, command)
        if reply.error is not None:
            assert not reply.payload
            raise Refused(command, reply.error)
        return reply.payload

    def answer(self, number, command, payload):
        """A DMA_READ or DMA_WRITE of the drive."""
        self.served[command] += 1
        address, count = struct.unpack_from("<QQ", payload)
        assert 0 < count <= self.limit and len(payload) == 16 + (count if command == DMA_WRITE else 0)
        at = ctypes.addressof(self.memory) + address - BASE
        if not BASE <= address <= BASE + MEMORY - count:
            self.socket.sendall(struct.pack("<HHIII", number, command, 16, REPLY | ERROR, 14))
            return
        data = b""
        if command == DMA_WRITE:
            ctypes.memmove(at, payload[16:], count)
        else:
            data = ctypes.string_at(at, count)
        header = struct.pack("<HHIII", number, command, 32 + len(data), REPLY, 0)
        self.socket.sendall(header + struct.pack("<QQ", address, count) + data)

    # Commands

    def negotiate(self, major=0, minor=1, data=CAPABILITIES):
        """(major, minor, JSON) of the server."""
        reply = self.ask(VERSION, struct.pack("<HH", major, minor) + data)
        return *struct.unpack_from("<HH", reply), reply[4:]

    def map(self, address, size, offset=0, flags=READABLE | WRITABLE, fds=()):
        self.ask(DMA_MAP, struct.pack("<IIQQQ", 32, flags, offset, address, size), fds)

    def unmap(self, address, size, flags=0):
        return self.ask(DMA_UNMAP, struct.pack("<IIQQ", 24, flags, address, size))

    def set_irqs(self, flags, start, count, fds=(), data=b"", index=MSIX_IRQ):
        self.ask(SET_IRQS, struct.pack("<5I", 20 + len(data), flags, index, start, count) + data, fds)

    def region_info(self, index, argsz=32):
        """(argsz, flags, index, cap_offset, size, offset)"""
        return struct.unpack("<4I2Q", self.ask(GET_REGION_INFO, struct.pack("<4I2Q", argsz, 0, index, 0, 0, 0)))

    def irq_info(self, index):
        """(argsz, flags, index, count)"""
        return struct.unpack("<4I", self.ask(GET_IRQ_INFO, struct.pack("<4I", 16, 0, index, 0)))

    def read(self, region, offset, count):
        reply = self.ask(REGION_READ, struct.pack("<QII", offset, region, count))
        assert struct.unpack_from("<QII", reply) == (offset, region, count) and len(reply) == 16 + count
        return reply[16:]

    def write(self, region, offset, data):
        reply = self.ask(REGION_WRITE, struct.pack("<QII", offset, region, len(data)) + data)
        assert struct.unpack("<QII", reply) == (offset, region, len(data))

    def reset(self):
        assert not self.ask(RESET)

    # RemoteDrive

    def bar_read(self, at, size):
        return int.from_bytes(self.read(BAR0, at, size), "little")

    def bar_write(self, at, value, size):
        self.write(BAR0, at, value.to_bytes(size, "little"))

    def config_read(self, at, size=4):
        return int.from_bytes(self.read(CONFIG, at, size), "little")

    def config_write(self, at, value, size=4):
        self.write(CONFIG, at, value.to_bytes(size, "little"))

    def fired(self):
        """Vectors whose event has come, which is taken."""
        return [v for v in range(VECTORS) for _ in range(self._count(self.events[v]))]

    @staticmethod
    def _count(event):
        try:
            return os.eventfd_read(event)
        except BlockingIOError:
            return 0

    def wait(self, seconds):
        """What NvmeHost counts: message data of vector v is 40h + v there."""
        ready = select.select([self.socket, *self.events], [], [], seconds)[0]
        if self.socket in ready:
            number, command, size, flags, _ = struct.unpack("<HHIII", self.receive(16))
            assert flags & 15 == 0, "a reply to nothing"
            self.answer(number, command, self.receive(size - 16))
        self.messages += [(0, 0x40 + vector) for vector in self.fired()]
