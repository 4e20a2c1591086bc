# SPDX-License-Identifier: Apache-2.0
"""e4, recovery: clocks from power-on to ready after a power cut, replay of the log and load of the map apart.

The whole drive of preset sim with its processor and the times of K9F8G08, cut and started again: with nothing written;
with a log of one entry; of 32 full pages, sequential writes; of 200; and once more, when the same blocks are in the map
and the log is empty. The differences are the parts: a log page with its 126 entries; the end of a log, whose entries
are past the watermark and are looked at page by page; a map page that is full; writing the map (which a start with an
empty log does not); and the rest. What the simulator does not hold in reasonable time is computed from these parts and
marked so: other lengths of the log, larger drives. The rest grows with the number of blocks.

What a log page costs has in it that its blocks are in the map then, which is written: so the replay is an upper bound.
A log longer than the frames is read twice, in preset sim from about 178 pages on.
Left out: failing NAND, transactions, prepared transactions, a power-loss capacitor (which the drive has not).
"""

import subprocess

from bench.result import Check, Result
from cocotb_tests.system import engine as engines
from opentxssd import BLOCK, MAX_BLOCKS, Drive, Opcode
from soc import geometry

TITLE = "recovery from power-on"
PRESET, MHZ, PAGES, DEPTH = "sim", 100.0, (32, 200), 8
TARGET_MS, DEFAULT_MIB = 10.0, 1.0
LOGS_MIB = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
CAPACITIES_MIB = (256, 1024, 4096, 16384, 32768)
PAPERS_MS = "papers at 32 GiB: DiffTx 633, WAL 64, TxFlash 6,957; TxSSD, with capacitors, 0.8"
LOG_BYTES, LOG_ENTRIES, MAP_LBAS = 4096, 126, 1024


def start(drive, seed):
    """Clocks until the drive is ready after a power cut, and its log as the boot report has it."""
    drive.power_cut(seed)
    drive.power_on()
    words = drive.uart.split("mounted generation ")[1].replace(",", "").split()
    return drive.clock, int(words[1]), int(words[4])


def sequential(drive, blocks):
    """Writes that fill pages of the log, then a FLUSH."""
    under_way = set()
    for lba in range(0, blocks, MAX_BLOCKS):
        if len(under_way) == DEPTH:
            under_way.remove(tag := next(iter(under_way)))
            drive.wait(tag)
        under_way.add(drive.submit(Opcode.WRITE, lba, MAX_BLOCKS, bytes(MAX_BLOCKS * BLOCK)))
    for tag in under_way:
        drive.wait(tag)
    drive.flush()


def measure(preset, pages):
    """[(what was written, log pages, entries, clocks of the start)]."""
    drive, found = Drive(preset), []

    def row(what, seed):
        clocks, log_pages, entries = start(drive, seed)
        found.append((what, log_pages, entries, clocks))

    row("nothing", 1)
    drive.write(0, bytes(BLOCK), fua=1)
    row("one entry", 2)
    for seed, n in enumerate(pages, 3):
        sequential(drive, n * LOG_ENTRIES // MAX_BLOCKS * MAX_BLOCKS)
        row("full pages", seed)
    row("these blocks in the map", 9)
    return found


def parts(found):
    """Clocks of {log page that is full; end of the log; map page that is full; the map written; the rest}."""
    nothing, one, short, long, mapped = found
    page = (long[3] - short[3]) / (long[1] - short[1])
    return {
        "page": page,
        "end": short[3] - one[3] - page * (short[1] - one[1]),
        "map_page": (mapped[3] - nothing[3]) / (long[2] / MAP_LBAS),
        "write": one[3] - nothing[3],
        "rest": nothing[3],
    }


def run(preset=PRESET, pages=PAGES):
    subprocess.run(["tools/drive_build.sh", preset, "library"], cwd=engines.ROOT, check=True)
    found = measure(preset, pages)
    p, g = parts(found), geometry.preset(preset)

    def ms(clocks):
        return round(clocks / MHZ / 1000, 4)

    def row(kind, what, capacity, log_mib, log, load):
        return {
            "kind": kind,
            "what": what,
            "capacity_mib": capacity,
            "log_mib": log_mib,
            "replay_ms": log and ms(log),
            "start_ms": load and ms(load),
        }

    capacity = g.lbas * BLOCK // 2**20
    rows = [row("measured", w, capacity, n * LOG_BYTES / 2**20, None, clocks) for w, n, _, clocks in found]
    for name, clocks in p.items():
        rows.append(row("difference", f"of: {name}", None, None, clocks, None))

    def replay(mib):
        n = mib * 2**20 / LOG_BYTES
        return p["end"] + n * p["page"]

    rows += [row("computed", "log of full pages", None, mib, replay(mib), None) for mib in LOGS_MIB]
    for mib in CAPACITIES_MIB:
        times = mib / capacity
        load = (p["rest"] + p["write"]) * times + p["map_page"] * mib * 2**20 / BLOCK / MAP_LBAS
        rows.append(row("computed", "load and write of a full map, and the rest", mib, 0.0, None, load))
    ours = ms(replay(DEFAULT_MIB))
    return Result(
        clock_mhz=MHZ,
        clock_from=f"preset {preset}, as e2",
        unit="ms",
        rows=rows,
        ours=ours,
        paper=633.0,
        target=TARGET_MS,
        checks=[
            Check(
                f"ms for the replay of the default log, {DEFAULT_MIB:g} MiB of full pages (at most {TARGET_MS:g}; "
                f"{PAPERS_MS})",
                ours,
                ours <= TARGET_MS,
            )
        ],
    )


def plot(figure, result):
    axes = figure.subplots(1, 2)
    logs = [r for r in result["rows"] if r["what"] == "log of full pages"]
    axes[0].plot([r["log_mib"] for r in logs], [r["replay_ms"] for r in logs], "o-", label="computed from parts")
    axes[0].axhline(result["target"], color="tab:red", linestyle="--", label="target, 1 MiB")
    axes[0].set(xscale="log", yscale="log", xlabel="log, MiB", ylabel="replay, ms")
    axes[0].legend()
    loads = [r for r in result["rows"] if r["what"].startswith("load and write")]
    axes[1].plot([r["capacity_mib"] for r in loads], [r["start_ms"] for r in loads], "o-")
    axes[1].set(xscale="log", yscale="log", xlabel="capacity, MiB", ylabel="start without replay, ms")
