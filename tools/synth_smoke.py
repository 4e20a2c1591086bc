# SPDX-License-Identifier: Apache-2.0
"""Every HDL block through Yosys for ECP5: it must be synthesisable; prints and writes its size (build/synth.json). `synth_smoke.py [module ...]`."""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CELLS = {"lut4": ["LUT4"], "ff": ["TRELLIS_FF"], "carry": ["CCU2C"], "dpram": ["TRELLIS_DPR16X4"], "bram": ["DP16KD", "PDPW16KD"]}


def blocks():
    """{module: source files, relative to the root}: SystemVerilog modules and generated SpinalHDL blocks."""
    rtl = [line.strip() for line in (ROOT / "rtl/otx.f").read_text().splitlines() if line.strip() and not line.startswith("#")]
    found = {Path(f).stem: rtl for f in rtl}
    for v in sorted((ROOT / "build/tiny/verilog").glob("otx_*.v")):
        found[v.stem] = [*rtl, str(v.relative_to(ROOT))]
    return found


def synthesise(module, sources):
    """Cell counts of one module, or the error's last lines."""
    reads = "; ".join(f"read_verilog -sv {s}" for s in sources)
    run = subprocess.run(
        ["yosys", "-p", f"{reads}; hierarchy -check -top {module}; synth_ecp5 -noabc9 -top {module}; stat"], cwd=ROOT, capture_output=True, text=True
    )
    if run.returncode:
        return None, (run.stdout + run.stderr)[-600:]
    stat = run.stdout[run.stdout.rindex("Printing statistics") :]
    count = {m[1]: int(m[0]) for m in re.findall(r"^\s+(\d+)\s+([A-Z0-9_]+)\s*$", stat, re.M)}
    return {k: sum(count.get(c, 0) for c in cells) for k, cells in CELLS.items()}, ""


def main(names):
    todo = blocks()
    unknown = set(names) - set(todo)
    if unknown:
        print(f"synth_smoke: no module {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    table, failed = {}, 0
    for module in names or todo:
        size, error = synthesise(module, todo[module])
        if size is None:
            failed += 1
            print(f"FAILED {module}: {error}")
            continue
        table[module] = size
        print(f"{module:28}" + "".join(f" {k} {v:6}" for k, v in size.items()), flush=True)
    (ROOT / "build/synth.json").write_text(json.dumps(table, indent=1) + "\n")
    print(f"{len(table)} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
