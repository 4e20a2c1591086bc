# SPDX-License-Identifier: Apache-2.0
"""A bus of the NAND model without a simulator: pins set one by one, commands made of them."""

import ctypes

from cocotb_tests.bench.nand_pins import K9F8G08

PAGE, SPARE, PAGES, BLOCKS = 256, 32, 4, 8
SMALL = dict(ways=1, blocks=BLOCKS, pages=PAGES, page_bytes=PAGE, spare_bytes=SPARE)
FULL = PAGE + SPARE
WP, CE, CLE, ALE, RE, WE = 1 << 13, 1 << 12, 1 << 11, 1 << 10, 1 << 9, 1 << 8


class Bus:
    """Moves the pins of one die by the times in `t` (ns), which a test may make too short. One clock is 1 ns."""

    def __init__(self, nand, die=0, **short):
        self.nand, self.die, self.t, self.now = nand, die, K9F8G08 | short, 1_000_000
        self.access = K9F8G08["rea"]
        self.wake, self.pins = ctypes.c_longlong(0), WP | CE | RE | WE
        self.move()

    def move(self, on=0, off=0, dq=None):
        self.pins = (self.pins | on) & ~off
        if dq is not None:
            self.pins = self.pins & ~0xFF | dq
        self.answer = self.nand.c.otx_nand_pins(self.die, self.now * 1000, 1000, self.pins, ctypes.byref(self.wake))

    def wait(self, ns):
        self.now += ns

    def select(self):
        self.move(off=CE)
        self.wait(max(0, self.t["cs"] - self.t["wp"]))

    def release(self):
        self.wait(self.t["ch"])
        self.move(on=CE)
        self.wait(100)

    def write(self, byte, latch=0):
        t = self.t
        self.move(on=latch, off=(CLE | ALE) & ~latch, dq=byte)
        self.wait(max(0, max(t["ds"], t["cls"], t["als"]) - t["wp"]))
        self.move(off=WE)
        self.wait(t["wp"])
        self.move(on=WE)
        self.wait(max(t["wh"], t["wc"] - max(t["wp"], t["ds"], t["cls"], t["als"])))

    def command(self, byte, *addresses):
        self.write(byte, CLE)
        for a in addresses:
            self.write(a, ALE)
        if addresses:
            self.wait(self.t["adl"])
            self.move(off=CLE | ALE)

    def read(self, count=1):
        self.move(off=CLE | ALE)
        self.wait(self.t["whr"])
        got = []
        for _ in range(count):
            self.move(off=RE)
            self.wait(max(self.t["rp"], self.access))
            self.move()
            got.append(self.answer & 0xFF)
            self.move(on=RE)
            self.wait(max(self.t["reh"], self.t["rc"] - max(self.t["rp"], self.access)))
        self.wait(self.t["rhw"])
        return bytes(got)

    def ready(self):
        """Waits as the wake-up times tell; the clocks of busy."""
        self.wait(self.t["wb"] + 1)
        begin = self.now
        self.move()
        while not self.answer >> 9:
            self.now = -(-self.wake.value // 1000)
            self.move()
        self.wait(self.t["rr"])
        return self.now - begin

    def reset(self):
        self.select()
        self.command(0xFF)
        self.ready()
        return self

    def start_program(self, row, data):
        self.command(0x80, 0, 0, row & 255, row >> 8, 0)
        for byte in data:
            self.write(byte)
        self.command(0x10)

    def program(self, row, data):
        self.start_program(row, data)
        self.ready()
        self.command(0x70)
        return self.read()[0]

    def load(self, row, column=0):
        self.command(0x00, column & 255, column >> 8, row & 255, row >> 8, 0)
        self.command(0x30)
        return self.ready()

    def erase(self, row):
        self.command(0x60, row & 255, row >> 8, 0)
        self.command(0xD0)
        return self.ready()


def pattern(seed):
    """Contents of a page; the first spare byte is FFh, else the block would be marked bad."""
    return bytes(255 if i == PAGE else (seed * 37 + i * 11) & 255 for i in range(FULL))


def broken_by(nand, action, *words):
    before = len(nand.broken())
    action()
    new = nand.broken()[before:]
    assert new and all(w in new[0] for w in words), new[:3]


def subset(torn, whole):
    """Every bit that is programmed in `torn` is programmed in `whole`."""
    return all(t | w == t for t, w in zip(torn, whole, strict=True))
