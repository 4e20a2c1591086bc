# SPDX-License-Identifier: Apache-2.0
"""`make wave`: records commits of 1, 10, 100 and 1,000 entries on preset sim (FST), writes a GTKWave save file, and
prints the latencies read back from the FST.
"""

import json
import sys
from pathlib import Path

try:
    from rich.console import Console

    from opentxssd import BLOCK, Drive, Opcode, Query
    from soc import geometry
    from tools import wave_report
    from tools.wave_report import table
except ImportError as e:
    sys.exit(f"wave_commits: {e}; source tools/env.sh first")

ROOT = Path(__file__).resolve().parent.parent

ENTRIES = (1, 10, 100, 1000)
SHOWN = ["clk", "accepted", "txid", "entries", "durable", "taken", "visible", "cpl_valid", "cpl_ready", "cpl_tag"]
SETTLE_CLOCKS = 2_500_000


def clock():
    """(MHz, where it comes from): what place-and-route reached, or what the board's design is constrained to."""
    report = ROOT / "build/ecpix5/report.json"
    if report.exists():
        return float(json.loads(report.read_text())["fmax_mhz"]), "place-and-route, build/ecpix5/report.json"
    return float(geometry.preset("ecpix5").clock_mhz), "ECPIX-5's system clock; make bitstream reports what is reached"


def record(folder):
    """Runs the commits, each recorded into a file of its own.

    Returns (rows of wave_report.commits, the last FST, its GTKWave file).
    """
    folder.mkdir(parents=True, exist_ok=True)
    drive = Drive("sim", trace=True)
    drive.step(SETTLE_CLOCKS)  # the firmware has erased the first blocks
    base, rows = 0, []
    for txid, entries in enumerate(ENTRIES):
        left = entries
        while left:
            n = min(left, 32)
            drive.write(base, b"".join((base + i).to_bytes(8, "little") * (BLOCK // 8) for i in range(n)), txid=txid)
            base, left = base + n, left - n
        fst = folder / f"commit_{entries}.fst"
        drive.trace(fst)
        drive.commit(txid)
        drive.command(Opcode.QUERY, arg=Query.COMMITS)  # a few clocks more, so that the completion is in the recording
        drive.trace(None)
        wave_report.save_file(fst, fst.with_suffix(".gtkw"), SHOWN)
        rows += wave_report.commits(fst)
    drive.power_cut()
    return rows, fst, fst.with_suffix(".gtkw")


def main():
    if len(sys.argv) > 1:
        print(f"wave_commits: takes no arguments, not {sys.argv[1]}", file=sys.stderr)
        return 2
    rows, fst, gtkw = record(ROOT / "build/wave")
    mhz, where = clock()
    console = Console(width=160)
    console.print(table(rows, mhz))
    console.print(f"clock: {mhz:g} MHz ({where}); the paper's remap function in firmware: 2,474 us (TxSSD, Fig. 13)")
    console.print(f"gtkwave {fst.relative_to(ROOT)} {gtkw.relative_to(ROOT)}")
    visible = {r["taken_to_visible"] for r in rows}
    return 0 if len(rows) == len(ENTRIES) and len(visible) == 1 and None not in visible and max(visible) <= 16 else 1


if __name__ == "__main__":
    sys.exit(main())
