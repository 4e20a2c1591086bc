# SPDX-License-Identifier: Apache-2.0
"""Cache and multi-plane operations over a bus of the NAND model, with the time of each."""

from cocotb_tests.bench.nand_bus import FULL, SMALL, Bus
from cocotb_tests.bench.nand_pins import QUICK, Part

BLANK = b"\xff" * FULL
CBSY, RCBSY, DBSY = 1_000, 500, 500
TIMES = QUICK | {"r": 20_000, "prog": 30_000, "bers": 60_000}
ALL = dict(onfi=0, cache=1, planes=2, status_enhanced=1)


class Pins(Bus):
    """A bus that knows when R/B# should rise."""

    def write(self, byte, latch=0):
        super().write(byte, latch)
        t = self.t
        self.rose = self.now - max(t["wh"], t["wc"] - max(t["wp"], t["ds"], t["cls"], t["als"]))

    def falls(self):
        """When R/B# does, after the last command."""
        return self.rose + self.t["wb"]

    def rises(self):
        """Waits until it does; that time."""
        self.ready()
        return self.now - self.t["rr"]

    def give(self, row, data, end):
        """Address and data of a program, and a command that ends them."""
        self.command(0x80, 0, 0, row & 255, row >> 8, 0)
        for byte in data:
            self.write(byte)
        self.command(end)

    def cache_program(self, row, data):
        """When R/B# rises."""
        self.give(row, data, 0x15)
        return self.rises()

    def cache_read(self, row):
        self.command(0x00, 0, 0, row & 255, row >> 8, 0)
        self.command(0x31)
        return self.rises()

    def end_read(self):
        self.command(0x3F)
        return self.rises()

    def status(self, row=None):
        """Of the die, or of the plane of a row."""
        self.command(*((0x70,) if row is None else (0x78, row & 255, row >> 8, 0)))
        return self.read()[0]

    def on_reset(self):
        self.command(0xFF)
        self.ready()


def start(nand, faults=None, part=None, **opened):
    assert nand.open(**SMALL | {"times": TIMES} | opened, faults=faults, part=Part(**ALL | (part or {}))) is None
    return Pins(nand).reset()


def waits_for_ever(bus):
    bus.wait(100_000_000)
    bus.move()
    return not bus.answer >> 9
