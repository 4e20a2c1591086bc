# SPDX-License-Identifier: Apache-2.0
"""How busy one NAND channel keeps its bus, over ways and SDR timing modes: otx_nand_channel and pin-level dies
(cocotb_tests/bench/measure_nand.py), no rule of the chips broken.

A page is 4,224 bytes on the bus (4,096 of data). Timing modes: ONFI SDR as in Linux,
drivers/mtd/nand/raw/nand_timings.c; tR 25 us, tPROG 200 us (K9F8G08U0M).
The channel and its ONFI dies are set to the mode as the firmware sets them, at run time.
"""

import json
from pathlib import Path

from bench.result import Check, Result
from cocotb_tests.bench import runner
from cocotb_tests.bench.nand_pins import MODES, verilator_args

ROOT = Path(__file__).resolve().parent.parent

TITLE = "bus use of one NAND channel over ways and timing modes"
CLOCK_PS, PAGE, DATA = 10_000, 4_224, 4_096
# what the part can and the channel uses: bits of `capabilities`, see bench/nand_host.py
PLAIN, CACHE, PLANES = 0, 3, 4 | 8
# mode, ways
CASES = [
    (5, 1, PLAIN),
    (5, 2, PLAIN),
    (5, 4, PLAIN),
    (5, 8, PLAIN),
    (4, 4, PLAIN),
    (0, 4, PLAIN),
    (5, 1, CACHE),
    (5, 1, PLANES),
    (5, 2, CACHE),
]
NAMES = {PLAIN: "-", CACHE: "cache", PLANES: "planes"}
READ_SHARE, PROGRAM_SHARE, LONE_US = 93.0, 95.0, 1.0
IO = 4  # ns for pads and board: all that tREA of mode 5 leaves at 100 MHz
ARRAY = {"r": 25_000, "prog": 200_000, "bers": 1_500_000, "rst": 5_000}


def measure(mode, ways, capabilities):
    parameters = {"Ways": ways, "ClkPs": CLOCK_PS, "TIoNs": IO}
    if capabilities:
        parameters |= {"Cache": int(capabilities == CACHE), "Planes": 2 if capabilities == PLANES else 1, "PageBits": 5}
    out = ROOT / f"build/bench/n1_{mode}_{ways}_{capabilities}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    sources = [*runner.rtl(), "sim/otx_nand_die.sv", "cocotb_tests/tb/tb_nand_channel.sv"]
    env = {"TIMES": json.dumps(ARRAY), "MODE": str(mode), "CAPABILITIES": str(capabilities), "OUT": str(out)}
    runner.run(
        "tb_nand_channel",
        sources,
        "cocotb_tests.bench.measure_nand",
        parameters=parameters,
        extra_args=verilator_args(),
        env=env,
    )
    return json.loads(out.read_text())


def row(mode, ways, capabilities, seen):
    ns = CLOCK_PS / 1000
    # ns of a page at the mode's shortest cycles
    read_bus, write_bus = PAGE * MODES["rc"][mode], PAGE * MODES["wc"][mode]
    best_program = max(write_bus, ARRAY["prog"] / ways / (2 if capabilities == PLANES else 1))
    return {
        "mode": mode,
        "ways": ways,
        "part": NAMES[capabilities],
        "read_mb_s": round(DATA / (seen["read"] * ns) * 1000, 2),
        "read_bus_percent": round(100 * read_bus / (seen["read"] * ns), 1),
        "program_mb_s": round(DATA / (seen["program"] * ns) * 1000, 2),
        "program_percent": round(100 * best_program / (seen["program"] * ns), 1),
        "mixed_mb_s": round(DATA / (seen["mixed"] * ns) * 1000, 2),
        "lone_read_us": round(seen["lone"] * ns / 1000, 2),
        "lone_over_us": round((seen["lone"] * ns - ARRAY["r"] - read_bus) / 1000, 2),
    }


def run():
    rows = [row(*case, measure(*case)) for case in CASES]
    at = {(r["mode"], r["ways"]): r for r in rows if r["part"] == "-"}
    reads, programs, over = at[5, 4]["read_bus_percent"], at[5, 4]["program_percent"], at[5, 1]["lone_over_us"]
    checks = [
        Check(
            f"percent of the bus that reads use, mode 5, 4 ways (at least {READ_SHARE:g})", reads, reads >= READ_SHARE
        ),
        Check(
            "percent of min(bus, ways x page / tPROG) that programs reach, mode 5, 4 ways (at least "
            f"{PROGRAM_SHARE:g})",
            programs,
            programs >= PROGRAM_SHARE,
        ),
        Check(
            f"us that a lone read of a page takes over tR and its bytes, mode 5 (at most {LONE_US:g})",
            over,
            over <= LONE_US,
        ),
    ]
    mhz = 1e6 / CLOCK_PS
    return Result(
        clock_mhz=mhz,
        clock_from="the clock of the target",
        unit="percent",
        rows=rows,
        ours=reads,
        paper=None,
        target=READ_SHARE,
        checks=checks,
    )


def plot(figure, result):
    axes = figure.subplots()
    rows = result["rows"]
    at = range(len(rows))
    for shift, key, label in (
        (-0.2, "read_bus_percent", "reads, of the bus"),
        (0.2, "program_percent", "programs, of min(bus, ways x page / tPROG)"),
    ):
        axes.bar([x + shift for x in at], [r[key] for r in rows], 0.4, label=label)
    axes.axhline(READ_SHARE, color="gray", linewidth=0.8)
    axes.set_xticks(
        list(at), [f"mode {r['mode']}\n{r['ways']} ways" + (f"\n{r['part']}" if r["part"] != "-" else "") for r in rows]
    )
    axes.set_ylabel("percent")
    axes.legend()
