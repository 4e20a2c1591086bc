# SPDX-License-Identifier: Apache-2.0
"""A first look at the drive: open it, write transactions, cut the power, plot how long a commit takes.

    python examples/commit_latency.py [PRESET] [PICTURE.png or .svg]

PRESET (default quick) is built first: `make drive-build PRESET=quick`. For each size the transaction is written, all
its pages are let go to NAND, and COMMIT is timed, in clocks of the drive: from its submission to its completion, which
says that the transaction is visible and durable. Then an open transaction, a power cut, and what is there afterwards.
"""

import sys

import matplotlib

matplotlib.use("Agg")
matplotlib.rcParams |= {"svg.hashsalt": "commit", "svg.fonttype": "none"}
from matplotlib import pyplot  # noqa: E402

from opentxssd import BLOCK, Drive, DriveError  # noqa: E402

SIZES = (1, 2, 4, 8, 16, 32)


def block(number):
    return number.to_bytes(8, "little") * (BLOCK // 8)


def commit_clocks(drive, txid, entries):
    """Clocks of the COMMIT of a transaction whose pages are on NAND already."""
    for lba in range(entries):
        drive.write(lba, block(1000 * entries + lba), txid=txid)
    drive.step(200_000)  # its pages go to NAND, and a FLUSH would not ask for them: nobody sees the transaction yet
    assert drive.read(0) != block(1000 * entries), "seen before its COMMIT"
    begin = drive.clock
    drive.commit(txid)
    return drive.clock - begin


def main(preset="quick", picture="build/commit_latency.png"):
    drive = Drive(preset)
    clocks = [commit_clocks(drive, txid, entries) for txid, entries in enumerate(SIZES)]
    for entries, n in zip(SIZES, clocks, strict=True):
        print(f"COMMIT of {entries:2} entries: durable after {n:,} clocks")

    drive.write(0, block(7), txid=9)  # never committed
    drive.power_cut(seed=1)
    drive.power_on()
    there = [drive.read(lba) == block(1000 * SIZES[-1] + lba) for lba in range(SIZES[-1])]
    assert all(there), "a committed block is gone"
    print(f"after the power cut: all {len(there)} blocks of the last transaction, nothing of the open one")
    drive.power_cut()

    pyplot.plot(SIZES, clocks, "o-")
    pyplot.xscale("log", base=2)
    pyplot.ylim(bottom=0)
    pyplot.xlabel("entries of the transaction")
    pyplot.ylabel("clocks until COMMIT is durable")
    pyplot.title(f"preset {preset}: the size of a transaction does not matter")
    svg = str(picture).endswith(".svg")  # without date and random names: the same clocks make the same file
    pyplot.savefig(picture, metadata={"Date": None} if svg else None)
    print(picture)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:3])
    except DriveError as e:
        print(f"commit_latency: {e}", file=sys.stderr)
        sys.exit(2)
