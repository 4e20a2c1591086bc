# SPDX-License-Identifier: Apache-2.0
"""I/O commands through the kernel's passthrough (NVME_IOCTL_IO_CMD), with data at any address."""

import ctypes
import fcntl

IO_CMD = 0xC0484E43  # _IOWR('N', 0x43, struct nvme_passthru_cmd)
BLOCK = 4096


class Command(ctypes.Structure):
    """`struct nvme_passthru_cmd` of linux/nvme_ioctl.h."""

    _fields_ = [
        ("opcode", ctypes.c_uint8),
        ("flags", ctypes.c_uint8),
        ("rsvd1", ctypes.c_uint16),
        ("nsid", ctypes.c_uint32),
        ("cdw2", ctypes.c_uint32),
        ("cdw3", ctypes.c_uint32),
        ("metadata", ctypes.c_uint64),
        ("addr", ctypes.c_uint64),
        ("metadata_len", ctypes.c_uint32),
        ("data_len", ctypes.c_uint32),
        *((f"cdw{n}", ctypes.c_uint32) for n in range(10, 16)),
        ("timeout_ms", ctypes.c_uint32),
        ("result", ctypes.c_uint32),
    ]


def send(disk, opcode, data=None, size=0, offset=0, **fields):
    """(status, DW0, data): `data` is sent, or `size` bytes come back; at `offset` behind a page's beginning."""
    length = len(data) if data is not None else size
    room = ctypes.create_string_buffer(length + 2 * BLOCK)
    address = -(-ctypes.addressof(room) // BLOCK) * BLOCK + offset
    if data is not None:
        ctypes.memmove(address, data, length)
    command = Command(opcode=opcode, nsid=1, addr=address if length else 0, data_len=length, **fields)
    status = fcntl.ioctl(disk, IO_CMD, command)
    return status, command.result, ctypes.string_at(address, length)
