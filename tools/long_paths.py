# SPDX-License-Identifier: Apache-2.0
"""The longest paths of a Yosys netlist for ECP5, in seconds and before any placement, with wires that are guessed.

`python -m tools.long_paths NETLIST.json MODULE [NUMBER] [--least NS]`: how many ends of paths lie in each nanosecond,
then for each group of registers in which paths begin (a name without its numbers) the longest one: its length, how
many ends are as long as `--least` (13.3 ns unless told), its levels of logic and the nets on it with their pins.

Cells as nextpnr's speed grade 8 has them, to a few hundredths; a wire is 0.5 ns and 0.2 ns for each doubling of its
pins, what a placed design of this size has on average. So the order of the paths is worth more than their lengths, and
a block that is placed close together (a CPU) is shorter than it looks here. Clock trees and false paths are not known.
Wrong arguments: one line, exit code 2.
"""

import json
import math
import re
from collections import Counter, defaultdict
from pathlib import Path

import click

from tools.command_line import run

LUT, CARRY_IN, CARRY, SUM, CLOCK_TO_Q, ENABLE = 0.14, 0.28, 0.04, 0.26, 0.31, 0.22
MEMORY, PRODUCT, MEMORY_SETUP, PRODUCT_SETUP = 3.3, 4.0, 0.2, 2.0
# of each cell from which pins to which others, and whether the wire between them is inside a slice
INSIDE = {("PFUMX", "ALUT"): 0.01, ("PFUMX", "BLUT"): 0.01, ("L6MUX21", "D0"): 0.1, ("L6MUX21", "D1"): 0.1}
LOGIC = {"LUT4": "ABCD", "PFUMX": ["ALUT", "BLUT", "C0"], "L6MUX21": ["D0", "D1", "SD"]}
PARTS = re.compile(r"(_(LUT4|PFUMX|CCU2C|L6MUX21|TRELLIS_FF)_\w+)+")


class Netlist:
    """The cells of one module as arcs between bits: `arcs[bit]` has (bit before, ns, inside a slice); `starts[bit]` ns
    after the clock; `ends` has (bit, ns before the clock, name)."""

    def __init__(self, module):
        self.arcs, self.starts, self.ends, self.pins = defaultdict(list), {}, [], Counter()
        self.names = {}
        for name, net in module["netnames"].items():
            rank = (net.get("hide_name", 0), len(PARTS.findall(name)), len(name))
            for i, bit in enumerate(net["bits"]):
                if isinstance(bit, int) and (bit not in self.names or rank < self.names[bit][0]):
                    self.names[bit] = rank, name if len(net["bits"]) == 1 else f"{name}[{i}]"
        for name, cell in module["cells"].items():
            ways, pins = cell["port_directions"], cell["connections"]
            bits = [(pin, bit, ways[pin]) for pin in pins for bit in pins[pin] if isinstance(bit, int)]
            self.pins.update(bit for _, bit, way in bits if way == "input")
            self._cell(cell["type"], name, bits)

    def _cell(self, kind, name, bits):
        ins = [(pin, bit) for pin, bit, way in bits if way == "input"]
        outs = [(pin, bit) for pin, bit, way in bits if way == "output"]
        if kind in LOGIC:
            for _, out in outs:
                for pin, bit in ins:
                    self.arcs[out].append((bit, INSIDE.get((kind, pin), LUT), (kind, pin) in INSIDE))
        elif kind == "CCU2C":
            for to, out in outs:
                for pin, bit in ins:
                    if pin == "CIN":
                        self.arcs[out].append((bit, CARRY if to == "COUT" else SUM, True))
                    elif to != "S0" or pin[1] == "0":
                        self.arcs[out].append((bit, CARRY_IN, False))
        elif kind == "TRELLIS_DPR16X4":
            for _, out in outs:
                self.arcs[out] += [(bit, LUT, False) for pin, bit in ins if pin == "RAD"]
            self.ends += [(bit, 0.1, f"{name}.{pin}") for pin, bit in ins if pin in ("DI", "WAD", "WRE")]
        elif kind == "TRELLIS_FF":
            of = self.name(outs[0][1]) if outs else name
            self.starts.update((bit, CLOCK_TO_Q) for _, bit in outs)
            self.ends += [(bit, 0 if pin == "DI" else ENABLE, f"{of}.{pin}") for pin, bit in ins if pin != "CLK"]
        elif kind in ("DP16KD", "MULT18X18D"):
            after, before = (MEMORY, MEMORY_SETUP) if kind == "DP16KD" else (PRODUCT, PRODUCT_SETUP)
            self.starts.update((bit, after) for _, bit in outs)
            self.ends += [(bit, before, f"{name}.{pin}") for pin, bit in ins if not pin.startswith("CLK")]

    def name(self, bit):
        return self.names[bit][1] if bit in self.names else str(bit)

    def wire(self, bit):
        return 0.5 + 0.2 * math.log2(max(1, self.pins[bit]))


def arrivals(netlist):
    """{bit: (ns after the clock, the bit before it on its longest path)}; a loop is cut somewhere."""
    found, seen = {}, set()
    for end, _, _ in netlist.ends:
        stack = [end]
        while stack:
            bit = stack[-1]
            missing = (
                [] if bit in netlist.starts or bit in seen else [b for b, *_ in netlist.arcs[bit] if b not in found]
            )
            seen.add(bit)
            if missing and bit not in found:
                stack += missing
                continue
            stack.pop()
            if bit not in found:
                ways = [
                    (found[b][0] + ns + (0 if inside else netlist.wire(b)), b)
                    for b, ns, inside in netlist.arcs[bit]
                    if b in found
                ]
                found[bit] = (netlist.starts[bit], None) if bit in netlist.starts else max(ways, default=(0, None))
    return found


def plain(name):
    return re.sub(r"\d+", "#", re.sub(r"\[\d+\]", "", PARTS.sub("", name)))


def report(module, number=20, least=13.3):
    """The lines of the report."""
    netlist = Netlist(module)
    found = arrivals(netlist)
    paths = []
    for bit, before, end in netlist.ends:
        near = end.endswith(".DI") and netlist.pins[bit] == 1 and bit in netlist.arcs  # in the slice of its LUT
        paths.append((found[bit][0] + before + (0 if near else netlist.wire(bit)), bit, end))
    paths.sort(reverse=True)
    whole = Counter(int(ns) for ns, *_ in paths)
    lines = ["ends, by ns: " + "  ".join(f"{ns}: {n}" for ns, n in sorted(whole.items(), reverse=True)[:12])]
    groups = {}
    for ns, bit, end in paths:
        if ns < least and groups:
            break
        way = [bit]
        while found[way[-1]][1] is not None:
            way.append(found[way[-1]][1])
        groups.setdefault(plain(netlist.name(way[-1])), []).append((ns, way[::-1], end))
    for longest in list(groups.values())[:number]:
        ns, way, end = longest[0]
        lines.append(f"{ns:6.2f} ns, {len(longest)} ends, {len(way) - 1} levels: {netlist.name(way[0])} -> {end}")
        nets = [f"{PARTS.sub('~', netlist.name(bit))} ({netlist.pins[bit]})" for bit in way[1:]]
        lines.append("          " + " > ".join(nets))
    return lines


@click.command()
@click.argument("netlist", type=click.Path(exists=True, dir_okay=False))
@click.argument("module")
@click.argument("number", type=click.IntRange(1), default=20)
@click.option("--least", type=float, default=13.3, help="ns of a path that counts")
def main(netlist, module, number, least):
    """The longest paths of MODULE in NETLIST, one for each group of registers in which they begin."""
    try:
        modules = json.loads(Path(netlist).read_text())["modules"]
    except (ValueError, KeyError, TypeError):
        raise click.UsageError(f"{netlist} is no netlist of Yosys") from None
    if module not in modules:
        raise click.UsageError(f"no module {module} in {netlist}; there are: {', '.join(sorted(modules)[:20])}")
    print(*report(modules[module], number, least), sep="\n")


if __name__ == "__main__":
    run(main, "long_paths")
