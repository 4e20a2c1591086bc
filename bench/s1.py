# SPDX-License-Identifier: Apache-2.0
"""s1, speed of the simulation and of the served drive on preset sim, without tracing.

Two kinds of figures. Those in clocks of the drive do not depend on the machine: clocks per 4 KiB block and blocks per
second at the drive's own clock, measured over its host port.
Those per second of this machine do: clocks per CPU second, and requests per second over NBD. Each load also says how
many steps of a fixed C loop one clock costs (measured beside it), which compares runs on different machines. The loads
are on 1,024 blocks that have been written; writes are counted when the write frames are full.

The loads are done three times, which takes the same clocks each time, and the least CPU time of each counts: whatever
else runs on the machine only adds to it. Before each pass of the simulator goes one of the same drive in which no block
rests (sim/rest), compiled in the same way (build/sim/plain): how many times the clocks per loop step does rest bring?
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from bench.drive_build import build_drive
from bench.result import Check, Result
from soc import geometry

ROOT = Path(__file__).resolve().parent.parent
TITLE = "speed of the simulation and of the served drive"
PRESET, AREA = "sim", 1024
LEAST_CLOCKS_PER_S, MOST_RSS, LEAST_GAIN = 300_000, 2 << 30, 1.5
PASSES = 3
SOCKET = ROOT / "build/otx.sock"
NBD_LOADS = [
    ("4 KiB random writes", "write", 1, 200),
    ("4 KiB random writes", "write", 16, 400),
    ("4 KiB random reads", "read", 1, 50),
    ("4 KiB random reads", "read", 16, 300),
]


class NotServed(Exception):
    """The drive does not come up, or not the same twice; the text says what it did."""


def build(preset):
    """The drive and its NBD plugin, without tracing."""
    build_drive(preset)
    folder = f"build/{preset}"
    make = ["make", "-s", "-f", "sim/Makefile", f"PRESET={preset}", f"{folder}/nbdkit-otx-plugin.so"]
    subprocess.run(["flock", f"{folder}/build.lock", *make], cwd=ROOT, check=True)


def build_plain(preset):
    """The library of the same drive without blocks that rest; gives its folder."""
    source, folder = ROOT / "build" / preset, ROOT / "build" / preset / "plain"
    folder.mkdir(exist_ok=True)
    for name in ("verilog", "gateware", "firmware", "sim.f", "otx_geometry.h"):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(source / name)
    make = ["make", "-s", "-f", "sim/Makefile", f"PRESET={preset}", f"OUT=build/{preset}/plain", "PLAIN=1"]
    targets = [f"build/{preset}/plain/{name}" for name in ("libotx.so", "otx.bin")]
    with (folder / "build.log").open("w") as log:
        lock = ["flock", f"build/{preset}/build.lock"]
        subprocess.run([*lock, *make, *targets], cwd=ROOT, stdout=log, stderr=log, check=True)
    return folder


def serve(preset, image, log):
    """tools/drive.py as a process, once it answers."""
    image.unlink(missing_ok=True)
    with log.open("w") as out:
        server = subprocess.Popen(
            [sys.executable, str(ROOT / "tools/drive.py"), preset, str(image)], stdout=out, stderr=out, cwd=ROOT
        )
    while server.poll() is None:
        if (
            SOCKET.exists()
            and subprocess.run(
                ["nbdinfo", "--size", f"nbd+unix:///drive?socket={SOCKET}"], capture_output=True
            ).returncode
            == 0
        ):
            return server
        time.sleep(0.1)
    raise NotServed(f"the drive ended with {server.returncode}: {log.read_text().strip()[-300:]}")


def over_nbd(preset, area, loads):
    """[(wall seconds, CPU seconds of the serving process)] of each load."""
    folder = ROOT / "build/bench"
    folder.mkdir(parents=True, exist_ok=True)
    image = folder / "s1.nand"
    server = serve(preset, image, folder / "s1_drive.log")
    try:
        words = [f"{kind}:{depth}:{blocks}" for _, kind, depth, blocks in loads]
        client = ["/usr/bin/python3", str(ROOT / "bench/nbd_load.py"), str(SOCKET), str(area), *words]
        text = subprocess.run(
            client, env=os.environ | {"SERVER_PID": str(server.pid)}, stdout=subprocess.PIPE, text=True, check=True
        ).stdout
    finally:
        server.send_signal(signal.SIGKILL)
        server.wait()
        image.unlink(missing_ok=True)
    return [tuple(map(float, line.split())) for line in text.splitlines()]


def steps(row):
    """Loop steps that a clock takes."""
    return row["cpu_s"] * row["loop_steps_per_s"] / row["clocks"]


def direct_loads(preset, plain):
    """What bench/simulation_speed.py says of the fastest of several passes, load by load; with `slowest_cpu_s`, and
    `plain_steps`, the loop steps that a clock takes in the library in folder `plain`.
    """
    command = [sys.executable, str(ROOT / "bench/simulation_speed.py"), preset, str(AREA)]

    def load(*folder):
        return json.loads(subprocess.run([*command, *folder], stdout=subprocess.PIPE, check=True).stdout)

    def by_load(passes):
        return zip(*(p["rows"] for p in passes), strict=True)

    others, passes = zip(*((load(str(plain)), load()) for _ in range(PASSES)), strict=True)
    rows = []
    for of_plain, same in zip(by_load(others), by_load(passes), strict=True):
        if len({r["clocks"] for r in (*same, *of_plain)}) != 1:
            raise NotServed(f"{same[0]['load']}: the passes took {[r['clocks'] for r in (*same, *of_plain)]} clocks")
        best = min(same, key=lambda r: r["cpu_s"])
        more = {"slowest_cpu_s": max(r["cpu_s"] for r in same), "plain_steps": min(map(steps, of_plain))}
        rows.append(best | {"steps": min(map(steps, same))} | more)
    return {"rows": rows, "peak_rss_bytes": max(p["peak_rss_bytes"] for p in passes)}


def run(preset=PRESET):
    build(preset)
    mhz = geometry.preset(preset).clock_mhz
    direct = direct_loads(preset, build_plain(preset))
    nbd = {
        (name, depth): (blocks, *times)
        for (name, _, depth, blocks), times in zip(NBD_LOADS, over_nbd(preset, AREA, NBD_LOADS), strict=True)
    }
    rows = []
    for r in direct["rows"]:
        speed = r["clocks"] / r["cpu_s"]
        blocks, wall, cpu = nbd.get((r["load"], r["depth"]), (0, 0, 0))
        rows.append(
            {
                "load": r["load"],
                "depth": r["depth"],
                "clocks_per_block": round(r["clocks"] / r["blocks"], 1) if r["blocks"] else None,
                "iops": round(r["blocks"] * mhz * 1e6 / r["clocks"]) if r["blocks"] else None,
                "clocks_per_cpu_s": round(speed),
                "slowest": round(r["clocks"] / r["slowest_cpu_s"]),
                "loop_steps_per_clock": round(r["steps"], 1),
                "plain_steps_per_clock": round(r["plain_steps"], 1),
                "times_plain": round(r["plain_steps"] / r["steps"], 2),
                "nbd_per_s": round(blocks / wall, 1) if blocks else None,
                "nbd_per_cpu_s": round(blocks / cpu, 1) if blocks else None,
            }
        )
    busy = [r for r in direct["rows"] if r["blocks"]]
    ours = sum(r["clocks"] for r in busy) / sum(r["cpu_s"] for r in busy)
    rss = direct["peak_rss_bytes"]
    gain = sum(r["clocks"] * r["plain_steps"] for r in busy) / sum(r["clocks"] * r["steps"] for r in busy)
    checks = [
        Check(
            f"clocks per CPU second writing and reading, best of {PASSES} passes load by load (at least "
            f"{LEAST_CLOCKS_PER_S:,})",
            round(ours),
            ours >= LEAST_CLOCKS_PER_S,
        ),
        Check(
            f"clocks per loop step writing and reading, times those of the same drive without rest (at least "
            f"{LEAST_GAIN})",
            round(gain, 2),
            gain >= LEAST_GAIN,
        ),
        Check(f"peak resident memory in MiB (under {MOST_RSS >> 20:,})", rss >> 20, rss < MOST_RSS),
    ]
    where = f"preset {preset}; its NAND times are counted in this clock"
    return Result(
        clock_mhz=mhz,
        clock_from=where,
        unit="clocks per CPU second",
        rows=rows,
        ours=round(ours),
        paper=None,
        target=LEAST_CLOCKS_PER_S,
        checks=checks,
    )


def plot(figure, result):
    left, right = figure.subplots(1, 2)
    names = [f"{r['load']}, {r['depth']}" for r in result["rows"]]
    left.barh(names, [r["clocks_per_cpu_s"] for r in result["rows"]])
    left.axvline(result["target"], color="tab:red", linestyle="--")
    left.set(xlabel="simulated clocks per CPU second", title="simulation (load, queue depth)")
    left.invert_yaxis()
    there = [(n, r["iops"]) for n, r in zip(names, result["rows"], strict=True) if r["iops"]]
    right.barh([n for n, _ in there], [v for _, v in there])
    right.set(
        xlabel=f"4 KiB blocks per second at {result['clock_mhz']:g} MHz", title="the drive at its own clock", yticks=[]
    )
    right.invert_yaxis()
