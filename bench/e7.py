# SPDX-License-Identifier: Apache-2.0
"""e7: how many commands are under way over time in each of the four ways of e6: with barriers the host waits for
nobody, so its queue stays full.
"""

from bench.committers import MHZ, PRESET, us
from bench.drive_build import build_drive
from bench.e6 import WAYS, average, measure
from bench.result import Check, Result
from opentxssd import TAGS

TITLE = "commands under way of ordered writes"
WRITES, SHOWN = 150, 60  # points of the picture
TARGET = 0.98  # of a full queue


def run(writes=WRITES):
    build_drive(PRESET)
    rows, full = [], {}
    for way in WAYS:
        clocks, depths = measure(way, writes)
        full[way] = average(depths) / TAGS
        for n in range(SHOWN):
            at = clocks * n // SHOWN
            depth = [d for clock, d in depths if clock <= at] or [depths[0][1]]
            rows.append({"way": way, "us": us(at), "depth": depth[-1]})
    return Result(
        clock_mhz=MHZ,
        clock_from=f"preset {PRESET}, array times of K9F8G08",
        unit="of the queue is full with a barrier after each write",
        rows=rows,
        ours=full["barrier"],
        paper=None,
        target=TARGET,
        checks=[Check(f"depth with barriers / {TAGS} (at least {TARGET})", full["barrier"], full["barrier"] >= TARGET)],
    )


def plot(figure, result):
    axes = figure.subplots()
    for way in WAYS:
        rows = [r for r in result["rows"] if r["way"] == way]
        axes.plot([r["us"] for r in rows], [r["depth"] for r in rows], drawstyle="steps-post", label=way)
    axes.set(xlabel="us", ylabel="commands under way", xscale="log")
    axes.legend(fontsize=7)
