# SPDX-License-Identifier: Apache-2.0
"""`python3 tools/vfio.py IMAGE [SOCKET]`: serves the simulated drive of preset nvme as a PCI device by vfio-user on the
Unix socket SOCKET (build/otx.vfio) until interrupted; docs/guides/serve-by-vfio-user.md.

The image file is created if missing. One client at a time; the drive keeps its content from one to the next. Wrong
arguments, or an image that is not one, is cut short or too long, has another geometry or is in use: one line, exit code
2, the file untouched. SIGTERM or Ctrl-C is an orderly power-down, with exit code 0; SIGKILL is a power cut.
"""

import os
import sys
from pathlib import Path

try:
    from opentxssd import DriveError
    from tools.drive import ROOT, UsageError, check_image, free_socket
except ImportError as e:
    sys.exit(f"vfio: {e}; source tools/env.sh first")

PRESET = "nvme"
PROGRAM = ROOT / "build" / PRESET / "otx-vfio"
SOCKET = ROOT / "build" / "otx.vfio"
LONGEST = 107  # bytes of the name of a Unix socket


def check_socket(path):
    """Nobody serves there, and somebody can; a socket that nobody serves on any more goes."""
    if len(os.fsencode(path)) > LONGEST:
        raise UsageError(f"the name of the socket has more than {LONGEST} bytes")
    if path.exists() and not path.is_socket():
        raise UsageError(f"{path} is there and is no socket")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"there is no folder {path.absolute().parent}")
    free_socket(path)


def main(args):
    try:
        if not 1 <= len(args) <= 2 or not all(args):
            raise UsageError("usage: vfio.py IMAGE [SOCKET]")
        image, path = Path(args[0]), Path(args[1]) if len(args) > 1 else SOCKET
        if not PROGRAM.exists():
            raise UsageError("preset nvme is not built; run tools/drive_build.sh nvme untrained")
        check_socket(path)
        check_image(PRESET, image)
    except (UsageError, DriveError) as e:
        print(f"vfio: {e}", file=sys.stderr)
        return 2
    print(f"preset {PRESET} on {image}: vfio-user on {path}", flush=True)
    os.execv(PROGRAM, [PROGRAM, path, image])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
