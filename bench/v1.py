# SPDX-License-Identifier: Apache-2.0
"""V1: clocks of single commands through the NVMe front end alone, from the doorbell to the interrupt, and of commands
one behind the other (cocotb_tests/bench/measure_nvme.py).

`otx_nvme` of preset tiny, host memory that answers 20 clocks after a read leaves, a core that never waits. `memory` is
these clocks, `core` those of that core, `data` the 512 beats of a block; all the others are the front end's: fetch from
the doorbell to the read of the SQE, decode to the command at the core, prp from the core's request, or its first beat,
to the read or write of host memory, cqe from the core's completion to the CQE, interrupt to the message.
"""

import json
from pathlib import Path

from bench.result import Check, Result
from cocotb_tests.bench import runner
from soc import geometry

ROOT = Path(__file__).resolve().parent.parent
TITLE = "NVMe front end: doorbell to interrupt"
PRESET, LATENCY, BEATS = "tiny", 20, 512
PARTS = ["fetch", "memory", "decode", "core", "prp", "data", "cqe", "interrupt"]
CORE_WRITE = 64  # clocks at most of a WRITE in the core without its transfer: target of q2
WRITE, EACH = 200, 16


def run():
    out = ROOT / "build/bench/v1_clocks.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    runner.run(
        "otx_nvme",
        [f"build/{PRESET}/verilog/otx_nvme.v"],
        "cocotb_tests.bench.measure_nvme",
        env={"OUT": str(out), "LATENCY": str(LATENCY)},
    )
    found = json.loads(out.read_text())
    rows = [
        {"command": name, "clocks": clocks["total"]} | {part: clocks.get(part) for part in PARTS}
        for name, clocks in found.items()
    ]
    write = found["WRITE 4 KiB"]["total"] - BEATS
    whole = write + CORE_WRITE
    query, four = (found[f"each QUERY, {of}"]["total"] for of in ("one queue", "four queues"))
    block = max(found["each WRITE 4 KiB"]["total"], found["each READ 4 KiB"]["total"])
    bound = 1_000_000 / BEATS
    return Result(
        clock_mhz=geometry.preset(PRESET).clock_mhz,
        clock_from=f"preset {PRESET}",
        unit="clocks of a WRITE of 4 KiB without its transfer, with those of the core",
        rows=rows,
        ours=whole,
        paper=None,
        target=WRITE,
        checks=[
            Check(
                f"WRITE of 4 KiB without its transfer, and {CORE_WRITE} in the core (at most {WRITE})",
                whole,
                whole <= WRITE,
            ),
            Check(
                f"commands without data, each, one queue and four (at most {EACH})",
                [query, four],
                max(query, four) <= EACH,
            ),
            Check(
                f"4 KiB commands per second and MHz (bound of a beat a clock: {bound:.0f}; at least 95 %)",
                round(1_000_000 / block),
                1_000_000 / block >= 0.95 * bound,
            ),
        ],
    )


def plot(figure, result):
    axes = figure.subplots()
    rows = [r for r in result["rows"] if r["fetch"] is not None]
    left = [0] * len(rows)
    for part in PARTS:
        if part != "data":
            widths = [r[part] or 0 for r in rows]
            axes.barh([r["command"] for r in rows], widths, left=left, label=part)
            left = [a + b for a, b in zip(left, widths, strict=True)]
    axes.set(xlabel="clocks, without the beats of data")
    axes.legend()
