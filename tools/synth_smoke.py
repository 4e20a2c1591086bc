# SPDX-License-Identifier: Apache-2.0
"""Every HDL block through Yosys for ECP5: it must be synthesisable; prints and writes its size (build/synth.json).
`synth_smoke.py [--quick] [module ...]`; without names the drive's core, the NVMe front end, each block that is not in
them, and `otx_nand_channel_capable`, of a part that can do everything.
`--quick`, as in `make test`: the core is elaborated and checked, flat, without its NAND blocks, and not mapped; the
decoder is that of a short code; no `otx_nand_corrector`, whose tables take Yosys a minute. `make synth` and `make
campaign C=synthesis` do all of it.
What has the longer code (`otx_nand_channel_rich`, which can do everything too, `otx_nand_channel_t24`,
`otx_nand_corrector_t24`) only by name, for it takes minutes: `make campaign C=synthesis`.

A latch, a loop and a net with two drivers fail too. The mapping is the quick one (no abc9); logs are in build/synth/.
"""

import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CELLS = {
    "lut4": ["LUT4"],
    "ff": ["TRELLIS_FF"],
    "carry": ["CCU2C"],
    "dpram": ["TRELLIS_DPR16X4"],
    "bram": ["DP16KD", "PDPW16KD"],
}
CORE = "otx_core"
# Blocks with other parameters than their own; of these only `otx_nand_channel_capable` unasked.
VARIANTS = {
    "otx_nand_channel_t24": dict(T=24),
    "otx_nand_channel_capable": dict(TSuspNs=1000, Cache=1, Planes=2, Scramble=1),
    "otx_nand_channel_rich": dict(T=24, TSuspNs=1000, Cache=1, Planes=2, Scramble=1),
    "otx_nand_corrector_t24": dict(T=24),
}
LONG = ["otx_nand_channel_rich", "otx_nand_channel_t24", "otx_nand_corrector_t24"]
# --quick: blocks that are not looked at beside LONG (the channel has less than the capable one, the engine is in the
# core), and parameters of others
LEFT_OUT = ["otx_nand_channel", "otx_nand_corrector", "otx_remap_engine_2"]
SHORT = {"otx_bch_decoder": dict(M=8, T=2)}
# findings that Yosys itself does not take for errors
WRONG = re.compile(r"^.*(ERROR:|Latch inferred|multiple conflicting drivers|found logic loop).*$", re.M)


def blocks():
    """{module: source files, relative to the root}: SystemVerilog modules and generated SpinalHDL blocks."""
    rtl = [line.strip() for line in (ROOT / "rtl/otx.f").read_text().splitlines() if line.endswith(".sv")]
    found = {Path(f).stem: rtl for f in rtl if not f.endswith("_pkg.sv")}
    found |= dict.fromkeys(VARIANTS, rtl)
    for v in sorted((ROOT / "build/tiny/verilog").glob("otx_*.v")):
        found[v.stem] = [*rtl, str(v.relative_to(ROOT))]
    return found


def elaborate(block, quick=False, **parameters):
    """(Top module of a block or variant, the Yosys pass that elaborates it)."""
    parameters |= VARIANTS.get(block, {}) | (SHORT.get(block, {}) if quick else {})
    top = block.rsplit("_", 1)[0] if block in VARIANTS else block
    return top, f"hierarchy -check -top {top}" + "".join(f" -chparam {k} {v}" for k, v in parameters.items())


def inside(module):
    """Names of the modules that the last synthesis of `module` had below its top."""
    text = (ROOT / f"build/synth/{module}.modules").read_text()
    return {m[1] for m in re.finditer(r"\\?(otx_[a-z0-9_]+)", text)} - {module}


def synthesise(module, sources, quick=False):
    """Cell counts of one module, or what is wrong with it; of a core that is only checked none."""
    # Paths are relative: yowasp sees the working folder and below. Its standard output ends at the abc pass, so results
    # go to files.
    log, stat = f"build/synth/{module}.log", f"build/synth/{module}.json"
    (ROOT / log).parent.mkdir(parents=True, exist_ok=True)
    (ROOT / stat).unlink(missing_ok=True)
    top, hierarchy = elaborate(module, quick)
    modules = f"tee -q -o {log[:-4]}.modules ls"
    if quick and module == CORE:
        boxes = [s for s in sources if s.endswith(".sv")]
        read = (
            f"read_verilog -sv -defer -lib {' '.join(boxes)}; read_verilog -sv -defer "
            f"{' '.join(s for s in sources if s not in boxes)}"
        )
        build = f"{hierarchy}; {modules}; proc; flatten; opt; check -assert"
    else:
        read, build = (
            f"read_verilog -sv -defer {' '.join(sources)}",
            f"{hierarchy}; {modules}; synth_ecp5 -noabc9 -top {top}; check",
        )
    script = f"{read}; {build}; tee -q -o {stat} stat -json"
    run = subprocess.run(["yosys", "-q", "-l", log, "-p", script], cwd=ROOT, capture_output=True, text=True)
    text = (ROOT / log).read_text(errors="replace")
    wrong = [m[0] for m in WRONG.finditer(text)]
    if run.returncode or wrong or not (ROOT / stat).exists():
        return None, "\n".join(dict.fromkeys(wrong)) or (text + run.stderr)[-600:]
    if quick and module == CORE:
        return {}, ""
    count = json.loads((ROOT / stat).read_text())["design"].get("num_cells_by_type", {})
    return {k: sum(count.get(c, 0) for c in cells) for k, cells in CELLS.items()}, ""


def main(names):
    quick, names = "--quick" in names, [n for n in names if n != "--quick"]
    todo = blocks()
    unknown = set(names) - set(todo)
    if unknown:
        print(f"synth_smoke: no module {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    table, failed, done = {}, 0, set()
    # they have others in them
    first = ["otx_nvme", *["otx_nand_channel_capable", "otx_bch_decoder"] * quick]
    left_out = LEFT_OUT * quick + LONG
    for module in names or [CORE, *first, *(m for m in todo if m not in (CORE, *first, *left_out))]:
        if module in done:
            continue
        began = resource.getrusage(resource.RUSAGE_CHILDREN)
        size, error = synthesise(module, todo[module], quick)
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        if "OTX_TIMES" in os.environ:
            with open(os.environ["OTX_TIMES"], "a") as times:
                times.write(
                    f"{ended.ru_utime - began.ru_utime + ended.ru_stime - began.ru_stime:.1f}\tsynthesis of {module}\n"
                )
        if size is None:
            failed += 1
            print(f"FAILED {module}: {error}")
            continue
        table[module] = size
        if module in (CORE, *first) and not names:
            done |= inside(module)
        print(f"{module:28}" + "".join(f" {k} {v:6}" for k, v in size.items()), flush=True)
    (ROOT / "build/synth.json").write_text(json.dumps(table, indent=1) + "\n")
    print(f"{len(table)} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
