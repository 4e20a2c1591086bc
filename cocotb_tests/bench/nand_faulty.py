# SPDX-License-Identifier: Apache-2.0
"""A die of the NAND model with faults, and what to ask of it; code in a process of its own."""

import os
import subprocess
import sys

from cocotb_tests.bench.nand_bus import FULL, PAGES, SMALL, Bus

BLANK = b"\xff" * FULL
BITS = FULL * 8


def start(nand, faults=None, **other):
    """A drive with these faults, die 0 reset."""
    assert nand.open(**SMALL | other, faults=faults) is None
    return Bus(nand).reset()


def status(bus):
    bus.command(0x70)
    return bus.read()[0]


def erase(bus, block):
    bus.erase(block * PAGES)
    return status(bus) & 1


def read(bus, row):
    bus.load(row)
    return bus.read(FULL)


def wrong_bits(one, other):
    return sum((a ^ b).bit_count() for a, b in zip(one, other, strict=True))


def child(code, *arguments):
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
