# SPDX-License-Identifier: Apache-2.0
"""E5: range flush. One writer that flushes what it has written after every so many blocks, beside 12 that never do: all
of them write single blocks at random, each in its own range and stream, one command at a time.

FLUSH: the one that flushes uses FLUSH. RFLUSH: it flushes its stream. NOFLUSH: it does not flush.

Preset buffered: 8 dies of 96 blocks of 32 pages, whole pages in place of the bus, firmware without clocks; its array
takes the times of K9F8G08, set after the boot. 896 write frames, of which 90 % may wait (register `buffer_limit`), a
twentieth of the blocks that are written. Each run has a drive of its own, and is counted from when the buffer is full;
no block is collected in it.

Latency is that of the flush, in us; of few flushes the 99.99th percentile is the longest. Traffic: programs of NAND for
each block that hosts wrote, log pages with them.

The paper (RFLUSH, sections 5 and 6): up to 6.5 times the IOPS of the one that flushes, beside a file server; writes of
NAND as without flushes; 12 writers, 1 GB of buffer, 90 %.

Left out: the bus of the pins (a page takes 512 clocks on its way), collection, files: one stream is one file.
"""

import ctypes
import os

from bench.committers import TIMES, Traffic, us
from bench.drive_build import build_drive
from bench.result import Check, Result
from cocotb_tests.system.variant import firmware
from opentxssd import Drive, Opcode
from soc import geometry

TITLE = "range flush beside writers that do not flush"
PRESET, MHZ, OTHERS = "buffered", 100, 12
SIZES = tuple(int(n) for n in os.environ.get("BLOCKS", "1 4 16 64 256").split())  # written between two flushes
HOW = ("FLUSH", "RFLUSH", "NOFLUSH")
CLOCKS = int(os.environ.get("CLOCKS", "4000000"))
PROGRAMS = 1  # of otx_nand_count
BEST, TRAFFIC, TAIL = 6.5, 0.02, 2


def opened():
    drive = Drive(PRESET, firmware=firmware(PRESET, buffer_percent=90))
    part = geometry.preset(PRESET).timing
    slow = {"t_r": geometry.K9F8G08.t_r, "t_prog": geometry.K9F8G08.t_prog, "t_bers": geometry.K9F8G08.t_bers}
    values = [slow.get(name, getattr(part, name)) for name in TIMES]
    drive.lib.otx_nand_set_times((ctypes.c_int * len(values))(*values))
    return drive


class Writer:
    """Writes single blocks of its own range, the next when one is done, and flushes after every `blocks`."""

    def __init__(self, traffic, number, blocks, how):
        self.traffic, self.stream, self.blocks, self.how = traffic, number, blocks, how
        span = geometry.preset(PRESET).lbas // (OTHERS + 1)
        self.first, self.span = number * span, span
        self.written, self.since, self.latencies = 0, 0, []
        self.begin = 0

    def write(self, clock=0):
        lba = self.first + self.traffic.rng.randrange(self.span)
        self.traffic.write(lba, 1, self.wrote, stream=self.stream)

    def wrote(self, clock):
        self.written += 1
        self.since += 1
        if self.since < self.blocks or self.how == "NOFLUSH":
            self.write()
            return
        self.since, self.begin = 0, clock
        if self.how == "FLUSH":
            self.traffic.submit(self.flushed, Opcode.FLUSH)
        else:
            self.traffic.submit(self.flushed, Opcode.RFLUSH, stream=self.stream, arg=1)

    def flushed(self, clock):
        self.latencies.append(clock - self.begin)
        self.write()


def run_one(how, blocks):
    drive = opened()
    traffic = Traffic(drive, seed=blocks)
    writers = [Writer(traffic, n, blocks, how if n == 0 else "NOFLUSH") for n in range(OTHERS + 1)]
    full = geometry.preset(PRESET).write_frames
    for w in writers:
        w.write()
    traffic.run(lambda: sum(w.written for w in writers) >= 2 * full)
    begin, programs = drive.clock, drive.lib.otx_nand_count(PROGRAMS)
    for w in writers:
        w.written, w.latencies = 0, []
    traffic.run(lambda: drive.clock >= begin + CLOCKS)
    seconds = (drive.clock - begin) / MHZ / 1e6
    found = sorted(writers[0].latencies)

    def percentile(share):
        return us(found[min(int(share * len(found)), len(found) - 1)]) if found else None

    written = sum(w.written for w in writers)
    return {
        "blocks_between_flushes": blocks,
        "how": how,
        "iops_of_the_one": writers[0].written / seconds,
        "iops_of_others": (written - writers[0].written) / seconds,
        "flushes": len(found),
        "p50_us": percentile(0.5),
        "p99_us": percentile(0.99),
        "p9999_us": percentile(0.9999),
        "programs_per_block": (drive.lib.otx_nand_count(PROGRAMS) - programs) / written,
    }


def in_a_process(how, blocks):
    """A drive is one for each process."""
    import json

    ours, theirs = os.pipe()
    if not (child := os.fork()):
        os.write(theirs, json.dumps(run_one(how, blocks)).encode())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as said:
        row = json.loads(said.read())
    os.waitpid(child, 0)
    return row


def run():
    build_drive(PRESET)
    firmware(PRESET, buffer_percent=90)
    rows = [in_a_process(how, blocks) for blocks in SIZES for how in HOW]
    of = {(r["blocks_between_flushes"], r["how"]): r for r in rows}
    gain = {n: of[n, "RFLUSH"]["iops_of_the_one"] / of[n, "FLUSH"]["iops_of_the_one"] for n in SIZES}
    best = max(gain.values())
    traffic = [of[n, "RFLUSH"]["programs_per_block"] / of[n, "NOFLUSH"]["programs_per_block"] - 1 for n in SIZES]
    tails = [of[n, "RFLUSH"]["p9999_us"] / of[n, "RFLUSH"]["p50_us"] for n in SIZES]
    return Result(
        clock_mhz=MHZ,
        clock_from=f"preset {PRESET}",
        unit="times the IOPS with FLUSH, of the one that flushes",
        rows=rows,
        ours=best,
        paper=BEST,
        target=BEST,
        checks=[
            Check(f"IOPS of the one, RFLUSH to FLUSH, at best (at least {BEST})", best, best >= BEST),
            Check(
                f"programs for each block, RFLUSH over NOFLUSH (at most {TRAFFIC:.0%} more)",
                traffic,
                max(traffic) <= TRAFFIC,
            ),
            Check(f"p99.99 of an RFLUSH to its median (at most {TAIL})", tails, max(tails) <= TAIL),
        ],
    )


def plot(figure, result):
    axes = figure.subplots(1, 2)
    for how in HOW:
        rows = [r for r in result["rows"] if r["how"] == how]
        sizes = [4 * r["blocks_between_flushes"] for r in rows]
        axes[0].plot(sizes, [r["iops_of_the_one"] for r in rows], marker="o", label=how)
        if how != "NOFLUSH":
            axes[1].plot(sizes, [r["p50_us"] for r in rows], marker="o", label=f"{how}, median")
            axes[1].plot(sizes, [r["p9999_us"] for r in rows], marker="x", linestyle="--", label=f"{how}, p99.99")
    for a in axes:
        a.set(xscale="log", yscale="log", xlabel="KiB between flushes")
        a.legend(fontsize="small")
    axes[0].set(ylabel="IOPS of the one that flushes")
    axes[1].set(ylabel="flush, us")
