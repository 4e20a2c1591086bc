# SPDX-License-Identifier: Apache-2.0
"""`nbd_load.py SOCKET AREA LOAD:DEPTH:BLOCKS ...`: loads over one NBD connection to export `drive`, run by Debian's
python3, which has libnbd.

The first AREA blocks are written first, in requests of 128 KiB. Then for each load (`read` or `write`, 4 KiB at random
block numbers below AREA) one line: wall seconds, and CPU seconds of the process that serves (its id is in $SERVER_PID).
An error ends the program.
"""

import os
import random
import sys
import time

import nbd

BLOCK, FILL = 4096, 128 * 1024


def server_cpu():
    """CPU seconds so far of the serving process."""
    with open(f"/proc/{os.environ['SERVER_PID']}/stat") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Load:
    def __init__(self, handle):
        self.handle, self.failed = handle, None

    def done(self, error):
        if error.value if hasattr(error, "value") else error:
            self.failed = error
        return 1  # the library forgets the command

    def run(self, requests, depth):
        """(is a write, offset, buffer), at most `depth` under way."""
        requests = list(reversed(requests))
        while requests or self.handle.aio_in_flight():
            while requests and self.handle.aio_in_flight() < depth:
                write, offset, buffer = requests.pop()
                (self.handle.aio_pwrite if write else self.handle.aio_pread)(buffer, offset, completion=self.done)
            self.handle.poll(-1)
        if self.failed:
            raise SystemExit(f"a request failed with errno {self.failed}")


def main(socket, area, *loads):
    handle, rng, area = nbd.NBD(), random.Random(1), int(area)
    handle.connect_uri(f"nbd+unix:///drive?socket={socket}")
    load = Load(handle)
    load.run(
        [(True, at, nbd.Buffer.from_bytearray(bytearray(os.urandom(FILL)))) for at in range(0, area * BLOCK, FILL)], 4
    )
    for words in loads:
        handle.flush()
        kind, depth, blocks = words.split(":")
        buffers = [nbd.Buffer.from_bytearray(bytearray(os.urandom(BLOCK))) for _ in range(int(blocks))]
        requests = [(kind == "write", rng.randrange(area) * BLOCK, b) for b in buffers]
        began, cpu = time.monotonic(), server_cpu()
        load.run(requests, int(depth))
        print(time.monotonic() - began, server_cpu() - cpu, flush=True)
    handle.shutdown()


main(*sys.argv[1:])
