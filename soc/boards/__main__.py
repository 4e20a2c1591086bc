# SPDX-License-Identifier: Apache-2.0
"""`make bitstream BOARD=NAME`: runs the build of one board, soc/boards/NAME.py, with the arguments that follow.

Exit code 2 for a board that there is not.
"""

import runpy
import sys
from pathlib import Path

BOARDS = {path.stem: path for path in sorted(Path(__file__).resolve().parent.glob("[a-z]*.py"))}


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in BOARDS:
        print(
            f"bitstream: {f'no board {sys.argv[1]}' if sys.argv[1:] else 'usage: BOARD=NAME'}; there are: "
            f"{', '.join(BOARDS)}",
            file=sys.stderr,
        )
        sys.exit(2)
    sys.argv = [str(BOARDS[sys.argv[1]]), *sys.argv[2:]]
    runpy.run_path(sys.argv[0], run_name="__main__")
