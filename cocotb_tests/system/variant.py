# SPDX-License-Identifier: Apache-2.0
"""The firmware of a preset with other settings of soc/geometry.py, for Drive(..., firmware=...).

Only for settings that nothing but the firmware knows. `python -m cocotb_tests.system.variant PRESET [NAME=NUMBER ...]`
prints the path of the binary.
"""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from soc import geometry

ROOT = Path(__file__).resolve().parent.parent.parent


def firmware(preset, **settings):
    """Compiles it below build/<preset>_<settings>, a folder for each value, with the registers of the preset's SoC; the
    path of the binary.

    The drive of that preset is built.
    """
    build = ROOT / "build" / "_".join([preset, *(f"{name}_{value}" for name, value in settings.items())])
    geometry.write(replace(geometry.preset(preset), **settings), build)
    if not (build / "software").exists():
        (build / "software").symlink_to(f"../{preset}/software")
    subprocess.run(["make", "-s", "-C", "sw/firmware", f"BUILD_DIR={build}"], cwd=ROOT, check=True, capture_output=True)
    return build / "firmware/otx.bin"


def main(words):
    try:
        settings = {name: int(value) for name, _, value in (word.partition("=") for word in words[1:])}
        print(firmware(*words[:1], **settings))
    except geometry.GeometryError as e:
        print(f"variant: {e}", file=sys.stderr)
        return 2
    except (ValueError, TypeError):
        print("variant: usage: variant.py PRESET [NAME=NUMBER ...], of settings of soc/geometry.py", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
