# SPDX-License-Identifier: Apache-2.0
"""`python3 tools/drive.py PRESET IMAGE [trace=FILE.fst] [trace_commits=1]`: serves the simulated drive on
build/otx.sock (NBD) and build/otx.cmd (commands) until interrupted.

Exports `drive` and `atomic` (see sim/nbd_plugin.cpp); on the other socket commands of the drive's own
(docs/interfaces/command-socket.md). The image file is created if missing. Wrong arguments, or an
image that is not one, is cut short or too long, has another geometry or is in use: one line, exit code 2, the file
untouched.
SIGTERM or Ctrl-C is an orderly power-down; SIGKILL is a power cut.
"""

import os
import socket
import sys
from pathlib import Path

try:
    import opentxssd
    from soc import geometry
except ImportError as e:
    sys.exit(f"drive: {e}; source tools/env.sh first")

ROOT = Path(__file__).resolve().parent.parent

SOCKET, COMMANDS = ROOT / "build" / "otx.sock", ROOT / "build" / "otx.cmd"
OPTIONS = ("trace", "trace_commits", "firmware")


class UsageError(Exception):
    """One line of words for the user."""


def options(words):
    given = dict(w.partition("=")[::2] for w in words)
    for key in given:
        if key not in OPTIONS:
            raise UsageError(f"no option '{key}'; there are {', '.join(OPTIONS)}")
    return given


def check_image(preset, image):
    """Opens the image as the plugin will, and closes it again before a clock has passed in a booted drive."""
    if image.is_dir():
        raise UsageError(f"{image} is a folder, not an image file")
    if not image.absolute().parent.is_dir():
        raise UsageError(f"there is no folder {image.absolute().parent}")
    lib = opentxssd.load(preset)
    opentxssd.open_image(lib, image)
    lib.otx_close(0)


def free_socket(path):
    """The path is for us: nobody serves there."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            path.unlink(missing_ok=True)
            return
    raise UsageError(f"another drive is served on {path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}")


def main(args):
    try:
        if len(args) < 2 or any("=" not in word for word in args[2:]):
            raise UsageError("usage: drive.py PRESET IMAGE [trace=FILE.fst] [trace_commits=1]")
        preset, image, given = geometry.preset(args[0]), Path(args[1]), options(args[2:])
        plugin = (
            ROOT
            / "build"
            / preset.preset
            / ("nbdkit-otx-trace-plugin.so" if "trace" in given else "nbdkit-otx-plugin.so")
        )
        if not plugin.exists():
            raise UsageError(f"preset {preset.preset} is not built; run make drive-build PRESET={preset.preset}")
        check_image(preset.preset, image)
        free_socket(SOCKET)
        free_socket(COMMANDS)
    except (UsageError, geometry.GeometryError, opentxssd.DriveError) as e:
        print(f"drive: {e}", file=sys.stderr)
        return 2
    print(
        f"preset {preset.preset} on {image}: nbd+unix:///drive?socket={SOCKET.relative_to(ROOT)} (or /atomic), "
        f"commands on {COMMANDS.relative_to(ROOT)}",
        flush=True,
    )
    words = [f"image={image.absolute()}", f"commands={COMMANDS}", *(f"{k}={v}" for k, v in given.items())]
    os.execvp("nbdkit", ["nbdkit", "-f", "-t", str(preset.commands), "-U", str(SOCKET), str(plugin), *words])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
