# SPDX-License-Identifier: Apache-2.0
"""`train.py PRESET FOLDER`: a short run of the drive whose library is in FOLDER, for the compiler to see which branches
are taken (sim/Makefile).

Boot, then the kinds of load that users put on it: sequential and random writes and reads, a transaction, FLUSH, TRIM,
and rest. Says the clocks it took.
"""

import random
import sys
from pathlib import Path

try:
    from opentxssd import BLOCK, MAX_BLOCKS, Drive, Opcode
except ImportError as e:
    sys.exit(f"train: {e}; source tools/env.sh first")

ROOT = Path(__file__).resolve().parent.parent

AREA, RANDOM, REST = 128, 64, 100_000  # blocks, commands, clocks


def run(preset, folder):
    drive, rng = Drive(preset, folder=folder), random.Random(1)
    for lba in range(0, AREA, MAX_BLOCKS):
        drive.write(lba, rng.randbytes(BLOCK * MAX_BLOCKS))
    drive.begin(1)
    for txid in (None, 1):
        tags = [drive.submit(Opcode.WRITE, rng.randrange(AREA), 1, rng.randbytes(BLOCK), txid=txid) for _ in range(16)]
        for tag in tags:
            drive.wait(tag)
    drive.commit(1)
    drive.flush()
    drive.trim(0, MAX_BLOCKS)
    for _ in range(RANDOM // 8):
        for tag in [drive.submit(Opcode.READ, rng.randrange(AREA), 1) for _ in range(8)]:
            drive.wait(tag)
    drive.step(REST)
    print(f"{drive.clock} clocks")
    drive.power_cut()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        print("train: usage: train.py PRESET FOLDER", file=sys.stderr)
        sys.exit(2)
    run(sys.argv[1], sys.argv[2])
