# SPDX-License-Identifier: Apache-2.0
"""The remap loop in firmware (sw/firmware/bench), run in the simulated SoC in place of the firmware; clocks counted by
the SoC's own timer.
"""

import re
import subprocess
from pathlib import Path

from bench.drive_build import build_drive
from opentxssd import Drive, DriveError

ROOT = Path(__file__).resolve().parent.parent
SLICE, LIMIT = 100_000, 40_000_000  # clocks
LINE = re.compile(r"^remap (\w+) ([\d,]+) ([\d,]+)\n", re.M)  # whole lines
BUILDS = {"O2": "-O2", "unrolled": "-O3 -funroll-loops"}


def build(preset):
    """The simulated drive and the firmware; returns the binary's path."""
    folder = ROOT / "build" / preset
    build_drive(preset)
    subprocess.run(
        ["make", "-s", "-C", "sw/firmware", "-f", "bench/Makefile", f"BUILD_DIR={folder}", "bench"],
        cwd=ROOT,
        check=True,
    )
    return folder / "firmware/bench/remap.bin"


def parse(text):
    """{entries: (clocks, compiler options)}, the fastest build of each."""
    best = {}
    for name, entries, clocks in LINE.findall(text):
        n, result = int(entries.replace(",", "")), (int(clocks.replace(",", "")), BUILDS[name])
        best[n] = min(best.get(n, result), result)
    return best


def measure(preset, entries):
    """{entries: (clocks, compiler options)} for the given numbers of entries."""
    drive = Drive(preset, firmware=build(preset), boot=False)
    wanted = f"remap {list(BUILDS)[-1]} {max(entries):,} "
    try:
        while not re.search(re.escape(wanted) + r"[\d,]+\n", drive.uart):
            if "wrong" in drive.uart or "done" in drive.uart or drive.clock > LIMIT:
                raise DriveError(f"no remap loop of {max(entries):,} entries; the firmware said: {drive.uart[-200:]!r}")
            drive.step(SLICE)
        found = parse(drive.uart)
    finally:
        drive.power_cut()
    return {n: found[n] for n in entries}
