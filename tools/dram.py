# SPDX-License-Identifier: Apache-2.0
"""`dram.py [case ...]`: the whole simulated drive over LiteDRAM, initialised and levelled by the board's firmware.
Builds build/dram (minutes the first time).

soc/sim_dram.py is what is simulated. Each case is a process of its own; one line each, then "N passed, M failed"; exit
code 1 when M is not 0. Wrong arguments: one line, exit code 2.
"""

import os
import random
import subprocess
import sys
import traceback
from pathlib import Path

try:
    from opentxssd import BLOCK, Drive, DriveError, Opcode, Status
except ImportError as e:
    sys.exit(f"dram: {e}; source tools/env.sh first")

ROOT = Path(__file__).resolve().parent.parent

OUT = ROOT / "build" / "dram"
STEP, LIMIT = 50_000, 40_000_000  # clocks
BUILD = [
    "tools/verilog.sh tiny",
    "python3 soc/sim_dram.py",
    "make -s -C sw/firmware BUILD_DIR=$PWD/build/dram",
    "make -f sim/Makefile OUT=build/dram CORE=build/tiny/verilog/otx_core.v EXTRA_CPP=sim/otx_sim_dram.cpp "
    "build/dram/libotx.so build/dram/otx.bin",
]


def build():
    """Brings build/dram up to date; the command that failed, or None."""
    OUT.mkdir(parents=True, exist_ok=True)
    for command in BUILD:
        with open(OUT / "build.log", "w") as log:
            if subprocess.run(["bash", "-c", command], cwd=ROOT, stdout=log, stderr=subprocess.STDOUT).returncode:
                return command
    return None


def powered(fault):
    """A drive just switched on, with this fault of its DRAM."""
    drive = Drive("tiny", boot=False, folder=OUT)
    drive.lib.otx_sim_dram_set_fault(fault)
    return drive


def boot(drive, ending):
    """Lets the firmware run until its report has these words; the report."""
    while ending not in drive.uart:
        if drive.clock > LIMIT:
            raise DriveError(f"no '{ending}' after {LIMIT} clocks: {drive.uart}")
        drive.lib.otx_boot(STEP)
    return drive.uart


def a_levelled_drive_keeps_what_was_committed():
    rng, drive = random.Random(1), powered(0)
    report = boot(drive, "otx: ready\n")
    assert (
        "best: m0, b01 delays: 0" in report and "best: m1, b03 delays: 0" in report and "otx: dram ok, 3" in report
    ), report
    print(f"       ready after {drive.clock} clocks")
    plain = {lba: rng.randbytes(BLOCK) for lba in (0, 1, 500, 1023)}
    many, lost = rng.randbytes(32 * BLOCK), rng.randbytes(BLOCK)
    for lba, data in plain.items():
        drive.write(lba, data)
    drive.write(100, many, txid=3)
    drive.write(1, lost, txid=4)
    drive.commit(3)
    plain |= {100 + n: many[n * BLOCK : (n + 1) * BLOCK] for n in (0, 31)}
    assert (
        all(drive.read(lba) == data for lba, data in plain.items())
        and drive.read(100, 32) == many
        and drive.read(1, txid=4) == lost
    )
    drive.flush()
    drive.power_cut(seed=1)
    drive.power_on()
    drive.lib.otx_sim_dram_set_fault(0)
    boot(drive, "otx: ready\n")
    assert (
        drive.read(100, 32) == many
        and all(drive.read(lba) == data for lba, data in plain.items())
        and drive.read(2) == bytes(BLOCK)
    )


def refuses(fault, levels):
    drive = powered(fault)
    report = boot(drive, "otx: not ready: dram: ")
    drive.lib.otx_boot(STEP)
    assert (
        not drive.lib.otx_enabled()
        and "otx: dram ok" not in drive.uart
        and ("delays: -\nSwitching" not in report) == levels
    ), drive.uart
    assert drive.command(Opcode.FLUSH, check=False).status == Status.NOT_READY
    print("       " + drive.uart.splitlines()[-1])


def a_byte_lane_without_a_window_leaves_the_drive_closed():
    refuses(1 << 1, levels=False)


def an_open_row_address_line_leaves_the_drive_closed():
    refuses(1 << 8, levels=True)


CASES = [
    a_levelled_drive_keeps_what_was_committed,
    a_byte_lane_without_a_window_leaves_the_drive_closed,
    an_open_row_address_line_leaves_the_drive_closed,
]


def passes(case):
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            case()
            code = 0
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def main(names):
    unknown = set(names) - {c.__name__ for c in CASES}
    if unknown:
        print(
            f"dram: no case {', '.join(sorted(unknown))}; there are: {', '.join(c.__name__ for c in CASES)}",
            file=sys.stderr,
        )
        return 2
    if failed := build():
        print(f"dram: '{failed}' failed; see {OUT.name}/build.log", file=sys.stderr)
        return 1
    passed = failed = 0
    for case in CASES:
        if names and case.__name__ not in names:
            continue
        good = passes(case)
        print(f"{'ok' if good else 'FAILED':6} {case.__name__.replace('_', ' ')}")
        passed, failed = passed + good, failed + (not good)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
