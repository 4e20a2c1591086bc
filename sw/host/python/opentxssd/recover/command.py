# SPDX-License-Identifier: Apache-2.0
"""otx-recover IMAGE [--json] [--extract LPN FILE]: says what an image holds that its drive does not give any more.

It reads: roots, the log by page numbers, its gaps, and what the log names behind the first one. The image is opened to
read only. `--json` says the same for a machine. `--extract` writes the 4,096 bytes of the newest version of a block
behind the gap into a new file, which must not be there yet.

Exit codes: 0; 1: --extract has no such page, and no file is written; 2: wrong arguments, or a file that cannot be
opened; 3: the file is no image that can be understood (no image, cut short, no root, a newer format). One line on
stderr says why.
"""

import argparse
import json
import os
import sys

from opentxssd.recover import report
from opentxssd.recover.drive import Recovered
from opentxssd.recover.image import FileError, Image, ImageError

NOTHING, ARGUMENTS, NOT_UNDERSTOOD = 1, 2, 3


class Arguments(argparse.ArgumentParser):
    def error(self, message):
        raise FileError(message)


def arguments(words):
    parser = Arguments(prog="otx-recover", description="What an image holds that its drive does not give any more.")
    parser.add_argument("image", metavar="IMAGE", help="the file of a simulated drive; it is only read")
    parser.add_argument("--json", action="store_true", help="say it for a machine")
    parser.add_argument(
        "--extract",
        nargs=2,
        metavar=("LPN", "FILE"),
        help="write the newest version of a block that stands behind the gap into a new file",
    )
    return parser.parse_args(words)


def lpn_of(text):
    if not text.isascii() or not text.isdecimal():
        raise FileError(f"argument --extract: '{text}' is no LPN")
    return int(text)


def extract(drive, lpn, path):
    """The line to say, and the exit code."""
    if lpn >= drive.root.fields["lbas"]:
        raise FileError(f"argument --extract: LPN {lpn}, the drive has {drive.root.fields['lbas']} blocks")
    version, newer = drive.newest(lpn)
    if version is None:
        why = "no page of its versions there can be read" if newer else "the log has no version of it there that counts"
        return f"nothing to write for LPN {lpn} behind the place where the log stops: {why}", NOTHING
    if version.trimmed:
        return f"nothing to write for LPN {lpn}: it is trimmed there and reads as zeroes", NOTHING
    try:
        with open(path, "xb") as file:
            file.write(drive.data(version))
    except OSError as e:
        raise FileError(f"{path}: {e.strerror}") from None
    lost = f"; {report.many(newer, 'newer version')} cannot be read" if newer else ""
    return f"LPN {lpn}, sequence {version.sequence}: written to {path}{lost}", 0


def run(given):
    lpn = lpn_of(given.extract[0]) if given.extract else None
    image = Image(given.image)
    try:
        drive = Recovered(image)
        if given.extract:
            text, code = extract(drive, lpn, given.extract[1])
            print(text if code == 0 else f"otx-recover: {text}", file=sys.stdout if code == 0 else sys.stderr)
            return code
        print(json.dumps(report.as_json(drive), indent=1) if given.json else "\n".join(report.lines(drive)))
        return 0
    finally:
        image.close()


def main(words=None):
    try:
        return run(arguments(words))
    except FileError as e:
        print(f"otx-recover: {e}", file=sys.stderr)
        return ARGUMENTS
    except BrokenPipeError:  # nobody reads on
        sys.stdout = open(os.devnull, "w")
        return 0
    except ImageError as e:
        print(f"otx-recover: {e}", file=sys.stderr)
        return NOT_UNDERSTOOD
