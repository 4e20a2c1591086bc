# SPDX-License-Identifier: Apache-2.0
"""The firmware of a preset with one fault in it, to see which tests of the whole drive find it.

`broken_firmware.py PRESET WORDS`: the fault of sw/firmware/test/mutants.txt whose rule begins with WORDS. Writes
build/PRESET/broken/WORDS.bin (words joined by `_`) and prints its path: `power_cut.py --firmware FILE` takes it, and
OTX_FIRMWARE=FILE puts it into every test through libotx.so. The preset must be built (tools/drive_build.sh). Wrong
arguments: one line, exit code 2.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

try:
    from sw.firmware.test import mutants
    from tools import fault_text
except ImportError as e:
    sys.exit(f"broken_firmware: {e}; source tools/env.sh first")

ROOT = Path(__file__).resolve().parent.parent

SOURCES = ("ftl", "include", "hal", "app", "dram")


class UsageError(ValueError):
    """What was asked for is not there; the text says what."""


def fault(words):
    """(file, old, new, rule) of the one fault whose rule begins with `words`."""
    found = [f for f in mutants.faults((ROOT / "sw/firmware/test/mutants.txt").read_text()) if f[3].startswith(words)]
    if len(found) == 1:
        return found[0]
    raise UsageError(
        f"{len(found)} rules of sw/firmware/test/mutants.txt begin with '{words}'"
        + "".join(f"; {f[3]}" for f in found[:6])
    )


def build(preset, words):
    """The path of the binary."""
    file, old, new, _ = fault(words)
    folder = ROOT / "build" / preset
    if not (folder / "otx.bin").exists():
        raise UsageError(f"preset {preset} is not built: tools/drive_build.sh {preset} library")
    name = re.sub(r"\W+", "_", words).strip("_")
    work = folder / "broken" / name
    shutil.rmtree(work, ignore_errors=True)
    for source in SOURCES:
        shutil.copytree(ROOT / "sw/firmware" / source, work / source)
    shutil.copy(ROOT / "sw/firmware/Makefile", work)
    text = (work / file).read_text()
    if (times := fault_text.count(text, old)) != 1:
        raise UsageError(f"'{old}' is {times} times in {file}")
    (work / file).write_text(fault_text.put(text, old, new))
    out = work / "out"
    out.mkdir()
    for needed in ("otx_geometry.h", "software"):
        (out / needed).symlink_to(folder / needed)
    done = subprocess.run(
        ["make", "-s", "-C", str(work), f"BUILD_DIR={out}", f"FACTS={ROOT / 'build/facts'}", "WARN=-std=c11"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise UsageError(f"does not compile: {done.stderr.strip().splitlines()[-1:]}")
    path = work.with_suffix(".bin")
    shutil.copy(out / "firmware/otx.bin", path)
    return path


def main(args):
    try:
        if len(args) != 2:
            raise UsageError("usage: broken_firmware.py PRESET WORDS")
        print(build(*args).relative_to(ROOT))
    except UsageError as e:
        print(f"broken_firmware: {e}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
