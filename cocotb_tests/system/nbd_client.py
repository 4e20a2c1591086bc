# SPDX-License-Identifier: Apache-2.0
"""Steps of one NBD connection, for test_nbd.py; run by Debian's python3, which has libnbd.

`nbd_client.py SOCKET EXPORT step ...`; blocks hold one letter.
"""

import errno
import sys

import nbd

BLOCK = 4096


def attempt(handle, buffer, offset):
    """The name of the error that the server answers with; libnbd's own checks are off."""
    handle.set_strict_mode(0)
    try:
        handle.pwrite(buffer, offset)
    except nbd.Error as e:
        return errno.errorcode.get(e.errnum, str(e.errnum))
    return "OK"


def main(socket, export, *steps):
    handle = nbd.NBD()
    handle.connect_uri(f"nbd+unix:///{export}?socket={socket}")
    steps = list(steps)
    while steps:
        step = steps.pop(0)
        if step in ("write", "fua"):
            block, letter = int(steps.pop(0)), steps.pop(0)
            handle.pwrite(letter.encode() * BLOCK, block * BLOCK, nbd.CMD_FLAG_FUA if step == "fua" else 0)
        elif step == "read":
            data = bytes(handle.pread(BLOCK, int(steps.pop(0)) * BLOCK))
            assert data == data[:1] * BLOCK, "torn"
            print("0" if data[0] == 0 else data[:1].decode())
        elif step == "flush":
            handle.flush()
        elif step == "trim":
            handle.trim(BLOCK, int(steps.pop(0)) * BLOCK)
        elif step == "zero":
            handle.zero(BLOCK, int(steps.pop(0)) * BLOCK)
        elif step == "unaligned":
            print(attempt(handle, b"x" * BLOCK, 100))
        elif step == "beyond":
            print(attempt(handle, b"x" * BLOCK, handle.get_size()))
        else:
            raise SystemExit(f"no step {step}")
    # the connection ends here without a flush
    handle.shutdown()


main(*sys.argv[1:])
