# SPDX-License-Identifier: Apache-2.0
"""Q2: clocks of single commands of an idle drive whose write buffer takes them: a WRITE of one block without its
transfer, a FLUSH and an RFLUSH with nothing to do, commands without data one behind the other.

Preset quick with `buffer_percent` 60; memories that answer after 8 clocks. From the clock in which a command enters the
queue to the one in which its completion leaves it. The transfer of a block is its 512 beats, one in each clock.
Commands without data: QUERYs of the capacity, 32 under way, clocks between two completions.
"""

from bench.drive_build import build_drive
from bench.result import Check, Result
from cocotb_tests.system.variant import firmware
from opentxssd import BLOCK, Drive, Opcode, Query
from opentxssd.facts import BEATS, TAGS
from soc import geometry

TITLE = "single commands of an idle drive"
PRESET, TIMES = "quick", 20
WRITE, FLUSH, EACH = 64, 32, 16  # clocks at most


def clocks(drive, *args, **fields):
    found = []
    for _ in range(TIMES):
        drive.step(2000)
        begin = drive.clock
        drive.wait(drive.submit(*args, **fields))
        found.append(drive.clock - begin)
    return max(found)


def run():
    build_drive(PRESET)
    drive = Drive(PRESET, firmware=firmware(PRESET, buffer_percent=60))
    drive.step(1_000_000)  # blocks are erased ahead
    write = clocks(drive, Opcode.WRITE, 3, 1, bytes(BLOCK)) - BEATS
    drive.flush()
    flush = clocks(drive, Opcode.FLUSH)
    rflush = clocks(drive, Opcode.RFLUSH, 3, 1)
    stream = clocks(drive, Opcode.RFLUSH, stream=9, arg=1)
    for _ in range(TAGS):
        drive.submit(Opcode.QUERY, arg=Query.CAPACITY)
    ends = []
    while len(ends) < TAGS:
        drive.step(1000)
        ends.append(drive.poll().clock)
    each = (ends[-1] - ends[0]) / (TAGS - 1)
    rows = [
        {"command": "WRITE of one block, without its transfer", "clocks": write, "target": WRITE},
        {"command": "FLUSH of a clean drive", "clocks": flush, "target": FLUSH},
        {"command": "RFLUSH of a clean block", "clocks": rflush, "target": None},
        {"command": "RFLUSH of a stream without frames", "clocks": stream, "target": None},
        {"command": "QUERY, 32 under way, each", "clocks": each, "target": EACH},
    ]
    return Result(
        clock_mhz=geometry.preset(PRESET).clock_mhz,
        clock_from=f"preset {PRESET}",
        unit="clocks of a WRITE without its transfer",
        rows=rows,
        ours=write,
        paper=None,
        target=WRITE,
        checks=[
            Check(f"{r['command']} (at most {r['target']} clocks)", r["clocks"], r["clocks"] <= r["target"])
            for r in rows
            if r["target"]
        ],
    )


def plot(figure, result):
    axes = figure.subplots()
    axes.barh([r["command"] for r in result["rows"]], [r["clocks"] for r in result["rows"]])
    axes.set(xlabel="clocks")
