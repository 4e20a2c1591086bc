# SPDX-License-Identifier: Apache-2.0
"""`make vm`: the simulated drive as the only disk of a virtual machine with Debian's kernel.

`python -m tools.vm`: the acceptance; `short`: a short form of it; `shell`: a console; `command WORDS`: one command of a
shell there, whose exit code this has. The last two keep their drive in build/vm/drive.nand.
"""

import sys

from tools.vm import packages
from tools.vm.acceptance import acceptance
from tools.vm.machine import Machine

DRIVE = packages.WORK / "drive.nand"


def main(args):
    what, words = (args[0], args[1:]) if args else ("acceptance", [])
    if what not in ("acceptance", "short", "shell", "command") or bool(words) != (what == "command"):
        print("usage: python -m tools.vm [acceptance | short | shell | command WORDS]", file=sys.stderr)
        return 2
    packages.WORK.mkdir(parents=True, exist_ok=True)
    try:
        packages.install()
        packages.kernel()
        if what == "shell":
            return Machine("shell", DRIVE, console=True).wait()
        if what == "command":
            text = " ".join(words)
            return Machine("command", DRIVE, files={"command.sh": f"{text}\n"}, on_line=print).wait()
        acceptance(short=what == "short")
    except packages.VmError as e:
        print(f"vm: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
