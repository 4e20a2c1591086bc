# SPDX-License-Identifier: Apache-2.0
"""`rest.py verilog CORE OUT [--pages | --none]` and `rest.py blocks OUT OBJ`: blocks of the simulated drive whose clock
stands while they rest (otx_rest.sv).

verilog: OUT/rested.v, the core's Verilog with an otx_rest before each block of BLOCKS, and OUT/rest.vlt, by which
Verilator keeps each as a class of its own. With `--pages` the NAND channels are none: those with whole pages call DPI
functions, which a block may not. One with a counter that always runs would never rest. With `--none` there are no
blocks: the simulator that `make bench E=s1` compares with.
blocks: from the headers below OUT/OBJ that Verilator has written, OUT/OBJ/rest_blocks.h: in which classes the state of
each block is, for rest.cpp.
Wrong arguments: one line, exit code 2; Verilog that is not as expected: one line, exit code 1.
"""

import re
import sys
from pathlib import Path

# module in which the block stands: instances, as far as this drive has them
BLOCKS = {
    "otx_core": ["queue", "remap", "log", "commandIntake"],
    "otx_data_path": (
        "fill executor buffer_1 issuer pool reader readReturn rescue port_1 pages live changes begins".split()
    ),
    "otx_flash_scheduler": ["allocator", r"units_\d+"],
    "otx_flash_backend": [r"nandChannel(?:_\d+)?"],
}
LATE = {"nand_rb_n", "nand_dq_i"}  # the simulated NAND changes them with the falling edge
INSTANCE = r"^  (\w+) (?:#\((?:[^;]*?)\n  \) )?(%s) \(\n(.*?)^  \);"
PIN = re.compile(r"^    \.(\w+)\s*\((.*?)\s*\),?\s*//(i|o)$", re.M)


class Wrong(Exception):
    """The Verilog or a header is not as it was expected."""


def module(text, name):
    found = re.search(rf"^module {name} \(.*?^endmodule", text, re.M | re.S)
    if not found:
        raise Wrong(f"no module {name}")
    return found


def rested(text, places):
    """The Verilog with the blocks' clocks, the blocks as (number, instance), and their modules."""
    blocks, kinds = [], set()
    for parent in places:
        found = module(text, parent)
        body = found.group(0)
        for instance in list(re.finditer(INSTANCE % "|".join(BLOCKS[parent]), body, re.M | re.S)):
            kind, name, pins = instance.groups()
            kinds.add(kind)
            if len(PIN.findall(pins)) != len(pins.splitlines()):
                raise Wrong(f"{parent}.{name} has pins that are not understood")
            driven = [(pin, value) for pin, value, way in PIN.findall(pins) if way == "i" and pin != "clk"]
            inputs = ",\n    ".join(value for _, value in driven)
            late = ", ".join(value for pin, value in driven if pin in LATE)
            widths = f".Id({len(blocks)}), .Width($bits({{{inputs}}}))"
            widths += f", .Late($bits({{{late}}}))" if late else ""
            pinned, clocks = re.subn(r"^(    \.clk\s*\()clk\b", rf"\1clk_{name}", instance.group(0), flags=re.M)
            if clocks != 1:
                raise Wrong(f"{parent}.{name} has {clocks} clocks")
            rest = f"""  wire clk_{name};
  otx_rest #({widths}) rest_{name} (
    .clk(clk), .inputs({{{inputs}}}), .late({f"{{{late}}}" if late else "1'b0"}), .block_clk(clk_{name})
  );
"""
            body = body.replace(instance.group(0), rest + pinned)
            blocks.append(name)
        text = text[: found.start()] + body + text[found.end() :]
    return text, blocks, sorted(kinds)


def verilog(core, out, places):
    text, blocks, kinds = rested(core.read_text(), places)
    (out / "rested.v").write_text(text)
    (out / "rest.vlt").write_text("`verilator_config\n" + "".join(f'no_inline -module "{k}"\n' for k in kinds))


def classes(obj):
    """{class: [(class, member)]} of those that Verilator has written."""
    table = {}
    for path in obj.glob("Votx_sim_top_*.h"):
        text = path.read_text()
        found = re.search(r"^class .*?(Votx_sim_top_\w+) final", text, re.M)
        if found and not found.group(1).endswith("__Syms"):
            table[found.group(1)] = re.findall(r"^    (Votx_sim_top_\w+)\* (?:const )?(\w+);", text, re.M)
    return table


def blocks(out, obj):
    table = classes(out / obj)
    places = re.findall(r"otx_rest #\(\.Id\((\d+)\).*?\) rest_(\w+) \(", (out / "rested.v").read_text(), re.S)
    parts, found, used = [], set(), set()

    def walk(kind, path, number):
        used.add(kind)
        for child, member in table[kind]:
            if child not in table:
                continue
            here, name = f"{path}->{member}", re.split("__DOT__|__PVT__", member)[-1]
            inside = number
            if inside is None and (inside := next((n for n, block in places if block == name), None)) is not None:
                if inside in found:
                    raise Wrong(f"two classes for {name}")
                found.add(inside)
            if inside is not None:
                parts.append(f"    add({inside}, root.{here[6:]});\n")
                used.add(child)
            walk(child, here, inside)

    if "Votx_sim_top___024root" not in table:
        raise Wrong(f"no classes below {out / obj}")
    walk("Votx_sim_top___024root", "root", None)
    if missing := [name for n, name in places if n not in found]:
        raise Wrong(f"no class for {', '.join(missing)}")
    heads = "".join(f'#include "{kind}.h"\n' for kind in sorted(used))
    (out / obj / "rest_blocks.h").write_text(
        f"""// Written by rest.py: in which classes the state of each block is that may rest.
#pragma once
#include "Votx_sim_top.h"
{heads}
constexpr int otx_rest_blocks = {len(places)};

template <class Add>
void otx_rest_parts(const Votx_sim_top___024root &root, Add add) {{
{"".join(parts)}}}
"""
    )


def main(args):
    option = args.pop() if args[-1:] in (["--pages"], ["--none"]) else None
    given = args
    try:
        if len(given) == 3 and given[0] == "verilog":
            left_out = {"--pages": ["otx_flash_backend"], "--none": list(BLOCKS)}.get(option, [])
            places = [place for place in BLOCKS if place not in left_out]
            verilog(Path(given[1]), Path(given[2]), places)
        elif len(given) == 3 and given[0] == "blocks" and not option:
            blocks(Path(given[1]), given[2])
        else:
            print("rest: usage: rest.py verilog CORE OUT [--pages | --none] | rest.py blocks OUT OBJ", file=sys.stderr)
            return 2
    except (OSError, Wrong) as e:
        print(f"rest: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
