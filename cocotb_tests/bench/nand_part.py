# SPDX-License-Identifier: Apache-2.0
"""What a part says of itself over a bus of the NAND model, and the modes that it is set to."""

from cocotb_tests.bench.nand_bus import SMALL, Bus
from cocotb_tests.bench.nand_pins import MODES, Part


def bus_of(nand, mode=0, **opened):
    """A die that has had its reset, and pins that move by the times of that mode from now on."""
    assert nand.open(**SMALL, **({"part": Part()} | opened)) is None
    return at(at(Bus(nand), 0).reset(), mode)


def at_mode(mode):
    return {name: times[mode] for name, times in MODES.items()}


def at(bus, mode):
    bus.t |= at_mode(mode)
    bus.access = bus.t["rea"]
    return bus


def set_mode(bus, mode):
    bus.command(0xEF, 0x01)
    for byte in (mode, 0, 0, 0):
        bus.write(byte)
    bus.ready()


def get_mode(bus):
    bus.command(0xEE, 0x01)
    bus.ready()
    return bus.read(4)


def parameters(bus):
    bus.command(0xEC, 0)
    bus.ready()
    return bus.read(768)


def crc(copy):
    value = 0x4F4E
    for byte in copy[:254]:
        value ^= byte << 8
        for _ in range(8):
            value = (value << 1 ^ (0x8005 if value & 0x8000 else 0)) & 0xFFFF
    return value == int.from_bytes(copy[254:256], "little")


def copies(page):
    return [page[i : i + 256] for i in range(0, 768, 256)]
