# SPDX-License-Identifier: Apache-2.0
"""g1: a full drive that is overwritten at random: write amplification, throughput, p99.9 of a WRITE, erase counts; over
several overwrites, uniform and 80/20 (80 % of the writes to a fifth of the LPNs), 7 % and 28 % spare; 80/20 also with
victims by benefit and cost (register `cost_benefit`).

Preset spare: 4 dies of 128 blocks of 16 pages, whole pages in place of the bus, firmware without clocks. Its array
takes the times of K9F8G08 by SCALE, set after the boot, and the erase a quarter of that, because the part's blocks have
four times as many pages. Spare is what the blocks that hold data have beyond the LPNs that are written: the host writes
only so many (an LPN that was never written has no page), and the rest of the blocks is counted beside it, from the map
in table memory. WRITEs of one block, WRITERS under way.

`allowed`: host pages per second if all dies did nothing but the programs that the amplification says, a read of each
page that moved, and the erases. `bound`, `ideal`: bench/greedy.py.

Left out: the bus of the pins (a page takes 512 clocks on its way), the time that firmware takes on VexRiscv, reads of
the host.

$OVERWRITES: how many, 10 without; $CASES: some of uniform-7 uniform-28 skewed-7 skewed-28 benefit-7 benefit-28.
"""

import ctypes
import os

from bench.committers import TIMES, Traffic, us
from bench.drive_build import build_drive
from bench.greedy import bound, ideal
from bench.result import Check, Result
from cocotb_tests.system.variant import firmware
from opentxssd import Drive
from opentxssd.facts import NUMBER as NUMBERS
from soc import geometry

TITLE = "random overwrites of a full drive"
PRESET, MHZ, SCALE, WRITERS = "spare", 100, 10, 24
OVERWRITES = int(os.environ.get("OVERWRITES", "10"))
READ_NS, PROGRAM_NS = geometry.K9F8G08.t_r // SCALE, geometry.K9F8G08.t_prog // SCALE
ERASE_NS = geometry.K9F8G08.t_bers // SCALE // 4
LPNS = {7: 6430, 28: 5375}  # by spare in percent
PROGRAMS, ERASES = 1, 2  # of otx_nand_count
NAND_WORD = 1
SHARE, WITHIN, LEVEL, LEVEL_MORE = 0.9, 1.05, 0.05, 2


def opened(cost_benefit):
    drive = Drive(PRESET, firmware=firmware(PRESET, cost_benefit=1) if cost_benefit else None)
    part = geometry.preset(PRESET).timing
    slow = {"t_r": READ_NS, "t_prog": PROGRAM_NS, "t_bers": ERASE_NS}
    values = [slow.get(name, getattr(part, name)) for name in TIMES]
    drive.lib.otx_nand_set_times((ctypes.c_int * len(values))(*values))
    return drive


def addresses(pattern, lpns, rng):
    """The LPN of the next write, as a function."""
    hot = lpns // 5
    if pattern == "uniform":
        return lambda: rng.randrange(lpns)
    return lambda: rng.randrange(hot) if rng.random() < 0.8 else rng.randrange(hot, lpns)


def data_blocks(drive):
    """Blocks that the map names."""
    g, word, found = geometry.preset(PRESET), ctypes.c_uint32(), set()
    for lpn in range(g.lbas):
        drive.lib.otx_mem_get32(g.table_base + 4 * lpn, ctypes.byref(word))
        if word.value >> 30 == NAND_WORD:
            found.add((word.value & (1 << 30) - 1) >> g.page_bits)
    return len(found)


def erases(drive):
    """Of each block that is not kept for roots and table."""
    g = geometry.preset(PRESET)
    kept = {(die, b) for die in (0, g.dies - 1) for b in range(geometry.KEPT_BLOCKS // 2)}
    blocks = [(die, b) for die in range(g.dies) for b in range(g.blocks_per_way) if (die, b) not in kept]
    return [drive.lib.otx_nand_erases(die, b) for die, b in blocks]


def case(pattern, spare, overwrites=OVERWRITES):
    """A row per overwrite."""
    g, lpns, drive = geometry.preset(PRESET), LPNS[spare], opened(pattern == "benefit")
    traffic, rows = Traffic(drive, 1), []
    address = addresses(pattern, lpns, traffic.rng)

    def pass_over(order):
        """[clocks of each WRITE]."""
        left, took = iter(order), []

        def writer(_):
            lpn = next(left, None)
            if lpn is None:
                return
            begin = drive.clock

            def done(clock):
                took.append(clock - begin)
                writer(clock)

            traffic.write(lpn, 1, done)

        for _ in range(WRITERS):
            writer(0)
        traffic.run(lambda: len(took) == lpns)
        return sorted(took)

    pass_over(range(lpns))
    for n in range(overwrites):
        begin, programs, erased = drive.clock, drive.lib.otx_nand_count(PROGRAMS), drive.lib.otx_nand_count(ERASES)
        took = pass_over(address() for _ in range(lpns))
        seconds = us(drive.clock - begin) / 1e6
        amplification = (drive.lib.otx_nand_count(PROGRAMS) - programs) / lpns
        blocks, counts = data_blocks(drive), erases(drive)
        alpha, mean = blocks * g.pages_per_block / lpns, sum(counts) / len(counts)
        beat = NUMBERS["BEATS"] * 1000 // MHZ
        each = amplification * (PROGRAM_NS + beat) + max(0, amplification - 1) * (READ_NS + beat)
        each += (drive.lib.otx_nand_count(ERASES) - erased) / lpns * ERASE_NS
        allowed = g.dies / each * 1e9
        rows.append(
            {
                "pattern": pattern,
                "overwrite": n + 1,
                "spare_percent": 100 * (alpha - 1),
                "amplification": amplification,
                "bound": bound(alpha, g.pages_per_block) if pattern == "uniform" else None,
                "ideal": None,
                "pages_per_second": lpns / seconds,
                "allowed": allowed,
                "percent": 100 * lpns / seconds / allowed,
                "p50_us": us(took[len(took) // 2]),
                "p99_9_us": us(took[int(0.999 * len(took))]),
                "most_us": us(took[-1]),
                "erases_mean": mean,
                "erases_spread": max(counts) - min(counts),
            }
        )
    rows[-1]["ideal"] = ideal(blocks, g.pages_per_block, lpns, address, overwrites)
    return rows


def run(overwrites=OVERWRITES):
    build_drive(PRESET)
    rows, checks, cases = [], [], os.environ.get("CASES")
    for spare in LPNS:
        for pattern in ("uniform", "skewed", "benefit"):
            name = f"{pattern}-{spare}"
            if cases and name not in cases.split():
                continue
            rows += case(pattern, spare, overwrites)
            last, target = rows[-1], 100 * SHARE
            checks += [
                Check(f"{name}: percent of allowed (at least {target:g})", last["percent"], last["percent"] >= target),
                Check(
                    f"{name}: amplification by the ideal one (at most {WITHIN})",
                    last["amplification"] / last["ideal"],
                    last["amplification"] <= WITHIN * last["ideal"],
                ),
                Check(
                    f"{name}: erases, most - least (at most {LEVEL_MORE} + {100 * LEVEL:g} % of the mean)",
                    last["erases_spread"],
                    last["erases_spread"] <= LEVEL_MORE + LEVEL * last["erases_mean"],
                ),
            ]
    return Result(
        clock_mhz=MHZ,
        clock_from=f"preset {PRESET}; page program {PROGRAM_NS / 1000:g} us, read {READ_NS / 1000:g} us, erase "
        f"{ERASE_NS / 1000:g} us",
        unit="percent of allowed, least of all cases",
        rows=rows,
        ours=min(r["percent"] for r in rows if r["ideal"] is not None),
        paper=None,
        target=100 * SHARE,
        checks=checks,
    )


def plot(figure, result):
    axes = figure.subplots(1, 2)
    cases = []
    for row in result["rows"]:
        if row["overwrite"] == 1:
            cases.append([])
        cases[-1].append(row)
    for rows in cases:
        name = f"{rows[0]['pattern']}, {rows[-1]['spare_percent']:.0f} %"
        axes[0].plot([r["overwrite"] for r in rows], [r["amplification"] for r in rows], "o-", label=name)
        axes[1].plot([r["overwrite"] for r in rows], [r["percent"] for r in rows], "o-", label=name)
    axes[0].set(xlabel="overwrite", ylabel="pages programmed per page written")
    axes[1].axhline(result["target"], color="tab:red", linestyle="--")
    axes[1].set(xlabel="overwrite", ylabel="percent of what the amplification allows")
    axes[0].legend(fontsize=7)
