# SPDX-License-Identifier: Apache-2.0
"""Three transactions over NBD's export `atomic`: one committed, one aborted, one left in the middle. Run by Debian's
python3, which has libnbd.

    nbd_transactions.py write SOCKET     writes, commits the first, aborts the second, leaves the third open, prints
                                         "cut now" and waits for the power cut
    nbd_transactions.py check SOCKET     after the restart: exactly the first is there, whole; exit code 1 if not
"""

import sys

import nbd

BLOCK = 4096
FIRST = 60_000  # blocks behind the file system image
SCATTERED = {  # transaction -> blocks; they overlap, so an abort must uncover what lay below
    "committed": [FIRST + 1, FIRST + 700, FIRST + 4_001, FIRST + 8, FIRST + 2_222],
    "aborted": [FIRST + 2, FIRST + 700, FIRST + 3_003, FIRST + 9],
    "cut": [FIRST + 3, FIRST + 700, FIRST + 4_001, FIRST + 5_000],
}


def contents(name, block):
    return f"{name} {block} ".encode().ljust(32, b".") * (BLOCK // 32)


def connect(socket, export):
    handle = nbd.NBD()
    handle.connect_uri(f"nbd+unix:///{export}?socket={socket}")
    return handle


def put(handle, name):
    for block in SCATTERED[name]:
        handle.pwrite(contents(name, block), block * BLOCK)


def write(socket):
    for name in ("committed", "aborted", "cut"):
        handle = connect(socket, "atomic")
        put(handle, name)
        seen = connect(socket, "drive").pread(BLOCK, SCATTERED[name][0] * BLOCK)
        assert seen != contents(name, SCATTERED[name][0]), f"transaction '{name}' is visible before its commit"
        if name == "committed":
            handle.flush()
        if name != "cut":
            handle.shutdown()
    print("cut now", flush=True)
    sys.stdin.read()


def check(socket):
    drive = connect(socket, "drive")
    wrong = 0
    for name, blocks in SCATTERED.items():
        for block in blocks:
            there = drive.pread(BLOCK, block * BLOCK)
            want = contents("committed", block) if block in SCATTERED["committed"] else bytes(BLOCK)
            if there != want:
                print(f"block {block} of transaction '{name}' holds {there[:32]!r}")
                wrong += 1
    print(f"{sum(map(len, SCATTERED.values()))} blocks of 3 transactions read back, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("write", "check"):
        print("usage: nbd_transactions.py write|check SOCKET", file=sys.stderr)
        sys.exit(2)
    sys.exit({"write": write, "check": check}[sys.argv[1]](sys.argv[2]) or 0)
