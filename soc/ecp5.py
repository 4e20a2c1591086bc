# SPDX-License-Identifier: Apache-2.0
"""From LiteX' sources to an ECP5 bitstream: constraints of a board, Yosys once, nextpnr for each seed of its placer,
ecppack for the best.

`Constraints(path)` is constraints/BOARD.lpf. `netlist` runs Yosys again only when something that it reads has changed,
and takes two nets off the wires that reach all over the chip (`global_reset`, `short_memories`). `place` gives up a
placement that has not found a way for all its arcs (a net has one to each of its pins) within `SECONDS` of processor
time, and says how far it came.
"""

import hashlib
import json
import os
import re
import resource
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from litex.build.generic_platform import IOStandard, Misc, Pins, Subsignal

SECONDS = 3600
PLACE = ["--router", "router1", "--placer", "static", "--tmg-ripup", "--timing-allow-fail"]
PARTS = {"lut": "TRELLIS_COMB", "ff": "TRELLIS_FF", "bram": "DP16KD", "dsp": "MULT18X18D"}
COMMENT = re.compile(rb"/\*.*?\*/|//[^\n]*", re.S)
# arcs that were routed with and without taking a way from others, arcs left
STEPS = re.compile(r"Info: +\d+ \| +(\d+) +(\d+) \| +\d+ +\d+ \| +(\d+)\|")


class Failed(Exception):
    """A tool has failed; the text names it and its log."""


class Constraints:
    """Pins, their kind and clocks out of an .lpf: LOCATE and IOBUF lines become LiteX pads, all others go to nextpnr as
    they are.
    """

    LOCATE = re.compile(r'LOCATE COMP "(\w+?)_(\w+)(?:\[(\d+)\])?" SITE "(\w+)"')
    KIND = re.compile(r'IOBUF PORT "(\w+?)_(\w+)(?:\[(\d+)\])?" (.+)')

    def __init__(self, path):
        self.sites, self.kinds, self.others = {}, {}, []
        for number, line in enumerate(path.read_text().splitlines(), 1):
            text = line.split("#")[0].strip()
            if not text:
                continue
            if not text.endswith(";"):
                raise ValueError(f"{path.name}:{number}: no ';' at the end")
            text = text[:-1]
            if m := self.LOCATE.fullmatch(text):
                self.sites.setdefault((m[1], m[2]), {})[int(m[3] or 0)] = m[4]
            elif m := self.KIND.fullmatch(text):
                self.kinds.setdefault((m[1], m[2]), set()).add(m[4])
            else:
                self.others.append(text + ";")

    def pads(self, resource, widths):
        """The pads RESOURCE_NAME for each (name, width), as an extension of a LiteX platform.

        A missing pin or bits of several kinds: ValueError, in words.
        """
        found = []
        for name, width in widths:
            sites, kinds = self.sites.get((resource, name), {}), self.kinds.get((resource, name), set())
            if sorted(sites) != list(range(width)) or len(kinds) != 1:
                raise ValueError(
                    f"{resource}_{name}: {len(sites)} of {width} pins, {len(kinds)} kinds; each bit needs a pin, all "
                    "of them one kind"
                )
            kind = kinds.pop().split()
            standard = next(k.removeprefix("IO_TYPE=") for k in kind if k.startswith("IO_TYPE="))
            pins = Pins(" ".join(sites[i] for i in range(width)))
            found.append(
                Subsignal(name, pins, IOStandard(standard), *(Misc(k) for k in kind if not k.startswith("IO_TYPE=")))
            )
        return [(resource, 0, *found)]


@dataclass
class Placement:
    seed: int
    routed: bool
    steps: int  # arcs that were routed, some more than once
    left: int  # arcs that have no way
    seconds: int  # of processor time
    mhz: float = 0.0
    clock: str = ""
    clocks: dict = None
    used: dict = None
    share: dict = None

    def row(self):
        if self.routed:
            mhz, sites, left = f"{self.mhz:.2f}", self.used["lut"], ""
        else:
            mhz = sites = "-"
            left = f"  {self.left} arcs have no way" if self.steps else "  stopped while it was placed"
        return (
            f"{self.seed:4}  {'yes' if self.routed else 'no':6}  {mhz:>7}  {self.steps:6}  {self.seconds:7}  "
            f"{sites:>6}{left}"
        )


HEAD = "seed  routed      MHz   steps  seconds   sites"


def call(folder, log, *command):
    with (folder / log).open("w") as out:
        if subprocess.run(command, cwd=folder, stdout=out, stderr=subprocess.STDOUT).returncode:
            raise Failed(f"{command[0]} failed, see {folder / log}")


def global_reset(module):
    """The net that sets or resets the most flip-flops reaches them over a DCCA, that is one of the 16 networks for
    clocks, and not over the wires between LUTs, which nextpnr would take for it: it gives such a network to clocks
    only. LUTs and memories that read the net stay where they are. Gives the number of flip-flops."""
    flops = [cell["connections"] for cell in module["cells"].values() if cell["type"] == "TRELLIS_FF"]
    loads = Counter(pins["LSR"][0] for pins in flops if isinstance(pins.get("LSR", ["0"])[0], int))
    if not loads:
        return 0
    (reset, count), far = (
        loads.most_common(1)[0],
        1 + max(bit for net in module["netnames"].values() for bit in net["bits"] if isinstance(bit, int)),
    )
    for pins in flops:
        if pins.get("LSR") == [reset]:
            pins["LSR"] = [far]
    ports = {"CLKI": ("input", reset), "CE": ("input", "1"), "CLKO": ("output", far)}
    none = {"hide_name": 0, "attributes": {}}
    directions, connections = {p: d for p, (d, _) in ports.items()}, {p: [bit] for p, (_, bit) in ports.items()}
    module["cells"]["global_reset"] = none | {
        "type": "DCCA",
        "parameters": {},
        "port_directions": directions,
        "connections": connections,
    }
    module["netnames"]["global_reset"] = none | {"bits": [far]}
    return count


def short_memories(module):
    """A distributed memory of fewer than 16 places has address bits that are always 0, the same ones on both ports.
    They become copies of its first bit, which is there anyway: a place has another address then, the same for both
    ports. As 0 they are thousands of pins of one net, all over the chip. One with contents stays as it is. Gives the
    bits."""
    count = 0
    for cell in module["cells"].values():
        if cell["type"] != "TRELLIS_DPR16X4" or set(cell["parameters"]["INITVAL"]) != {"x"}:
            continue
        read, write = (cell["connections"][port] for port in ("RAD", "WAD"))
        unused = [i for i in range(1, 4) if read[i] == write[i] == "0"]
        if isinstance(read[0], int) and isinstance(write[0], int):
            for i in unused:
                read[i], write[i] = read[0], write[0]
            count += len(unused)
    return count


def netlist(platform, name, folder):
    """FOLDER/NAME.json out of the script that LiteX has written; kept while the script and what it reads stay the same.

    LiteX' comments hold the date, so they do not count.
    """
    script = (folder / f"{name}.ys").read_text()
    state = hashlib.sha256(script.encode() + Path(__file__).read_bytes())
    for path in [*(Path(source) for source, *_ in platform.sources), *sorted(folder.glob("*.init"))]:
        state.update(COMMENT.sub(b"", (folder / path).read_bytes()))
    json_file, kept = folder / f"{name}.json", folder / f"{name}.json.sha256"
    if json_file.exists() and kept.exists() and kept.read_text() == state.hexdigest():
        return
    call(folder, f"{name}_yosys.log", "yosys", "-q", "-l", f"{name}.rpt", f"{name}.ys")
    design = json.loads(json_file.read_text())
    for mend in (global_reset, short_memories):
        mend(design["modules"][name])
    json_file.write_text(json.dumps(design))
    kept.write_text(state.hexdigest())


def place(platform, name, folder, seed, clock_mhz):
    """One seed: FOLDER/seed_SEED.config, .json (nextpnr's report) and .log."""
    chip, base = platform.toolchain, f"seed_{seed}"
    device = [f"--{chip._architecture}", "--package", chip._package, "--speed", chip._speed_grade]
    files = [
        "--json",
        f"{name}.json",
        "--lpf",
        f"{name}.lpf",
        "--textcfg",
        f"{base}.config",
        "--report",
        f"{base}.json",
    ]
    for kind in ("config", "json"):
        (folder / f"{base}.{kind}").unlink(missing_ok=True)
    steps = left = 0
    with (folder / f"{base}.log").open("w", buffering=1) as log:
        run = subprocess.Popen(
            ["nextpnr-ecp5", *files, *device, *PLACE, "--seed", str(seed)],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS)),
        )
        for line in run.stdout:
            log.write(line)
            if m := STEPS.match(line):
                steps, left = int(m[1]) + int(m[2]), int(m[3])
        run.stdout.close()
        _, status, used = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
    result = Placement(seed, run.returncode == 0, steps, left, round(used.ru_utime + used.ru_stime))
    if run.returncode > 0:
        raise Failed(f"nextpnr-ecp5 failed, see {folder / base}.log")
    if result.routed:
        data = json.loads((folder / f"{base}.json").read_text())
        result.clocks = {clock: round(f["achieved"], 2) for clock, f in data["fmax"].items()}
        # the core's clock is the one that was asked to run at the board's system clock
        result.clock = min(data["fmax"], key=lambda n: abs(data["fmax"][n]["constraint"] - clock_mhz))
        result.mhz = result.clocks[result.clock]
        used = data["utilization"]
        result.used = {part: used[kind]["used"] for part, kind in PARTS.items()}
        result.share = {part: round(used[kind]["used"] / used[kind]["available"], 4) for part, kind in PARTS.items()}
    return result


def bitstream(platform, name, folder, seeds, clock_mhz):
    """All seeds, as many at a time as there are processors, and a line of the table for each; FOLDER/NAME.bit and .svf
    are those of the fastest.

    Gives the placements, the fastest first.
    """
    netlist(platform, name, folder)
    print(HEAD, flush=True)
    placements = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for placement in pool.map(lambda seed: place(platform, name, folder, seed, clock_mhz), seeds):
            placements.append(placement)
            print(placement.row(), flush=True)
    (folder.parent / "seeds.json").write_text(json.dumps([asdict(p) for p in placements], indent=1) + "\n")
    best = max(placements, key=lambda p: p.mhz)
    if best.routed:
        call(
            folder,
            f"{name}_pack.log",
            "ecppack",
            "--compress",
            f"seed_{best.seed}.config",
            "--svf",
            f"{name}.svf",
            "--bit",
            f"{name}.bit",
        )
    return sorted(placements, key=lambda p: -p.mhz)
