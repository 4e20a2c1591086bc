# SPDX-License-Identifier: Apache-2.0
"""Files over NBD beside a power cut, run by Debian's python3, which has libnbd. Each file takes whole blocks from block
START on, one after the other, in the order of their names.

nbd_files.py write SOCKET START FOLDER     export `drive`: writes file after file, FLUSH after each, and prints its
                                           number when that has completed
nbd_files.py check SOCKET START FOLDER N   after the cut: the first N files are there, every byte; exit code 1 if not
nbd_files.py copy SOCKET IMAGE             export `atomic`: writes the blocks of an image as one transaction, prints how
                                           many every 256 blocks, waits at the end, never flushes
"""

import sys
from pathlib import Path

import nbd

BLOCK = 4096
AT_ONCE = 32  # blocks of a command


def connect(socket, export):
    handle = nbd.NBD()
    handle.connect_uri(f"nbd+unix:///{export}?socket={socket}")
    return handle


def padded(path):
    data = path.read_bytes()
    return data + bytes(-len(data) % BLOCK)


def files(folder):
    return [path for path in sorted(Path(folder).rglob("*")) if path.is_file() and path.stat().st_size]


def pieces(data):
    return ((at, data[at : at + AT_ONCE * BLOCK]) for at in range(0, len(data), AT_ONCE * BLOCK))


def write(socket, start, folder):
    drive, at = connect(socket, "drive"), int(start) * BLOCK
    for number, path in enumerate(files(folder), 1):
        data = padded(path)
        for offset, piece in pieces(data):
            drive.pwrite(piece, at + offset)
        drive.flush()
        print(number, flush=True)
        at += len(data)


def check(socket, start, folder, count):
    drive, at, wrong = connect(socket, "drive"), int(start) * BLOCK, 0
    for path in files(folder)[: int(count)]:
        data = padded(path)
        wrong += any(drive.pread(len(piece), at + offset) != piece for offset, piece in pieces(data))
        at += len(data)
    print(f"{count} files, {at // BLOCK - int(start)} blocks read back, {wrong} wrong")
    return 1 if wrong else 0


def copy(socket, image):
    drive, data, done = connect(socket, "atomic"), Path(image).read_bytes(), 0
    for offset, piece in pieces(data):
        drive.pwrite(piece, offset)
        done += len(piece) // BLOCK
        if done % 256 < AT_ONCE:
            print(done, flush=True)
    print("end", flush=True)
    sys.stdin.read()


COMMANDS = {"write": (write, 3), "check": (check, 4), "copy": (copy, 2)}

if __name__ == "__main__":
    command, arguments = COMMANDS.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, 0))
    if command is None or len(sys.argv) != 2 + arguments:
        print(
            "usage: nbd_files.py write SOCKET START FOLDER | check SOCKET START FOLDER N | copy SOCKET IMAGE",
            file=sys.stderr,
        )
        sys.exit(2)
    try:
        sys.exit(command(*sys.argv[2:]) or 0)
    except nbd.Error:
        sys.exit(1)  # the drive has lost its power
