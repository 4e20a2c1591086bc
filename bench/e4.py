# SPDX-License-Identifier: Apache-2.0
"""e4, recovery: clocks from power-on to ready after a power cut, replay of the log and load of the map apart.

The whole drive of preset sim with its processor and the times of K9F8G08, cut and started again: with nothing written;
with a log of one entry; of 32 full pages and some, sequential writes; of 200; and once more, when the same blocks are
in the map and the log is empty. Firmware says how many clocks the load of the map and the replay of the log take
(boot report). The replay is all that is done with the log: to find it, read it, look at pages of its end and apply
it. Not in it is what a mount writes whatever the log is like: anchors and blocks that are erased, copies of
pages that may fade, the map, the root. That is in the time of the whole start.

What the simulator does not hold in reasonable time is computed from these parts and marked so: other lengths of the
log, from the two that are measured; larger drives, whose map has more pages and takes as much longer to load and write.
Left out: failing NAND, transactions, prepared transactions, a power-loss capacitor (which the drive has not).
"""

import re
from typing import NamedTuple

from bench.drive_build import build_drive
from bench.result import Check, Result
from opentxssd import BLOCK, MAX_BLOCKS, Drive, Opcode
from soc import geometry

TITLE = "recovery from power-on"
PRESET, MHZ, PAGES, DEPTH = "sim", 100.0, (32, 200), 8
TARGET_MS, DEFAULT_MIB = 10.0, 1.0
LOGS_MIB = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
CAPACITIES_MIB = (256, 1024, 4096, 16384, 32768)
PAPERS_MS = "papers at 32 GiB: DiffTx 633, WAL 64, TxFlash 6,957; TxSSD, with capacitors, 0.8"
LOG_BYTES, LOG_ENTRIES, MAP_LBAS = 4096, 126, 1024
# the words of the boot report without their commas
MOUNTED = re.compile(
    r"mounted generation \d+: (\d+) log pages? (\d+) entr.*?(\d+) clocks: map loaded in (\d+) log replayed in (\d+)",
    re.S,
)


class Start(NamedTuple):
    """A start after a power cut: what was written; pages and entries of the log; clocks: to ready, of the mount, of the
    load of the map, of the replay."""

    what: str
    pages: int
    entries: int
    clocks: int
    mount: int
    load: int
    replay: int


def start(drive, what, seed):
    drive.power_cut(seed)
    drive.power_on()
    pages, entries, mount, load, replay = map(int, MOUNTED.search(drive.uart.replace(",", "")).groups())
    return Start(what, pages, entries, drive.clock, mount, load, replay)


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
    """The starts, in order."""
    drive = Drive(preset)
    found = [start(drive, "nothing", 1)]
    drive.write(0, bytes(BLOCK), fua=1)
    found.append(start(drive, "one entry", 2))
    for seed, n in enumerate(pages, 3):
        sequential(drive, n * LOG_ENTRIES // MAX_BLOCKS * MAX_BLOCKS)
        found.append(start(drive, "full pages", seed))
    found.append(start(drive, "these blocks in the map", 9))
    return found


def parts(found):
    """Clocks of {log page, in a log of full ones; its end; map page that is full; what a start does for the
    size of the drive, and only for that; when the map changed; whatever the drive is like}."""
    nothing, one, short, long, mapped = found
    page = (long.replay - short.replay) / (long.pages - short.pages)
    return {
        "page": page,
        "end": short.replay - page * short.pages,
        "map_page": (mapped.load - nothing.load) / (long.entries / MAP_LBAS),
        "empty_map": nothing.load,
        "write": one.clocks - nothing.clocks - (one.replay - nothing.replay),
        "rest": nothing.clocks - nothing.load,
    }


def run(preset=PRESET, pages=PAGES):
    build_drive(preset)
    found = measure(preset, pages)
    p, g = parts(found), geometry.preset(preset)

    def ms(clocks):
        return round(clocks / MHZ / 1000, 4)

    def row(kind, what, capacity, log_mib, replay, load, whole):
        return {
            "kind": kind,
            "what": what,
            "capacity_mib": capacity,
            "log_mib": log_mib,
            "replay_ms": replay and ms(replay),
            "load_ms": load and ms(load),
            "start_ms": whole and ms(whole),
        }

    capacity = g.lbas * BLOCK // 2**20
    rows = [row("measured", x.what, capacity, x.pages * LOG_BYTES / 2**20, x.replay, x.load, x.clocks) for x in found]

    def replay(mib):
        return p["end"] + mib * 2**20 / LOG_BYTES * p["page"]

    rows += [row("computed", "log of full pages", None, mib, replay(mib), None, None) for mib in LOGS_MIB]
    for mib in CAPACITIES_MIB:
        load = p["empty_map"] * mib / capacity + p["map_page"] * mib * 2**20 / BLOCK / MAP_LBAS
        whole = p["rest"] + load + p["write"] * mib / capacity + replay(DEFAULT_MIB)
        rows.append(row("computed", "full map, log of 1 MiB", mib, DEFAULT_MIB, replay(DEFAULT_MIB), load, whole))
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
    starts = [r for r in result["rows"] if r["what"].startswith("full map")]
    axes[1].plot([r["capacity_mib"] for r in starts], [r["load_ms"] for r in starts], "o-", label="load of the map")
    axes[1].plot([r["capacity_mib"] for r in starts], [r["start_ms"] for r in starts], "o-", label="whole start")
    axes[1].set(xscale="log", yscale="log", xlabel="capacity, MiB", ylabel="ms")
    axes[1].legend()
