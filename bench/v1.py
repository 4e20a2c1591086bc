# SPDX-License-Identifier: Apache-2.0
"""V1: clocks of single commands through the NVMe front end alone, from the doorbell to the interrupt, and of commands
one behind the other (cocotb_tests/bench/measure_nvme.py); and of single commands of the whole drive.

Alone: `otx_nvme` of preset tiny, host memory that answers 20 clocks after a read leaves, a core that never waits.
`memory` is these clocks, `core` those of that core, `data` the 512 beats of a block; all the others are the front
end's: fetch from the doorbell to the read of the SQE, decode to the command at the core, prp from the core's request,
or its first beat, to the read or write of host memory, cqe from the core's completion to the CQE, interrupt to the
message.

Whole drive: preset nvme, idle, with `buffer_percent` 60; host memory answers after 24 clocks; from the doorbell to the
CQE in host memory, the longest of ten.
"""

import json
from pathlib import Path

from bench.drive_build import build_drive
from bench.result import Check, Result
from cocotb_tests.bench import runner
from cocotb_tests.system.variant import firmware
from opentxssd import BLOCK, Drive
from opentxssd.facts import NvmeOpcode, Query
from opentxssd.nvme import NvmeHost
from soc import geometry

ROOT = Path(__file__).resolve().parent.parent
TITLE = "NVMe front end: doorbell to interrupt"
PRESET, LATENCY, BEATS = "tiny", 20, 512
PARTS = ["fetch", "memory", "decode", "core", "prp", "data", "cqe", "interrupt"]
WHOLE, TIMES = "nvme", 10
WRITE, EACH = 200, 16


def whole_drive():
    """{command: clocks}."""
    build_drive(WHOLE)
    host = NvmeHost(Drive(WHOLE, firmware=firmware(WHOLE, buffer_percent=60)))
    host.enable()
    host.create_queues(1)
    host.step(1_000_000)  # blocks are erased ahead

    def clocks(opcode, **fields):
        found = []
        for _ in range(TIMES):
            host.step(2000)
            begin, key = host.drive.clock, host.submit(opcode, nsid=1, **fields)
            while key not in host.done:
                host.step(1)
                host.poll(key[0])
            found.append(host.done.pop(key).clock - begin)
        return max(found)

    block = dict(dw10=5, **host.pages(BLOCK))
    return {
        "whole drive: WRITE 4 KiB": clocks(NvmeOpcode.WRITE, **block),
        "whole drive: READ 4 KiB": clocks(NvmeOpcode.READ, **block),
        "whole drive: QUERY": clocks(NvmeOpcode.QUERY, dw15=Query.CAPACITY),
    }


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
    drive = whole_drive()
    rows += [{"command": name, "clocks": clocks} | dict.fromkeys(PARTS) for name, clocks in drive.items()]
    alone, whole = found["WRITE 4 KiB"]["total"] - BEATS, drive["whole drive: WRITE 4 KiB"] - BEATS
    query, four = (found[f"each QUERY, {of}"]["total"] for of in ("one queue", "four queues"))
    block = max(found["each WRITE 4 KiB"]["total"], found["each READ 4 KiB"]["total"])
    bound = 1_000_000 / BEATS
    return Result(
        clock_mhz=geometry.preset(PRESET).clock_mhz,
        clock_from=f"preset {PRESET}",
        unit="clocks of a WRITE of 4 KiB of the whole drive, without its transfer",
        rows=rows,
        ours=whole,
        paper=None,
        target=WRITE,
        checks=[
            Check(
                f"WRITE of 4 KiB without its transfer, whole drive, and the front end alone (at most {WRITE})",
                [whole, alone],
                max(whole, alone) <= WRITE,
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
