# SPDX-License-Identifier: Apache-2.0
"""`dram_ports_top.py FOLDER`: the board's memory as FOLDER/dram_ports_top.v: `Ecpix5.add_memory` over LiteDRAM and its
DDR3 model, ready from reset.

Ports: an AXI4 port `table` (128 bits) and `frame` (64 bits) as streams `<memory>_aw`, `_w`, `_b`, `_ar`, `_r`, and a
Wishbone port `<memory>_bus` each for the CPU.
The lower half of the part (16 MiB) is table memory, the upper half frame memory.
"""

import logging
import sys
from pathlib import Path

try:
    from litedram.core import LiteDRAMCore
    from litedram.phy.model import SDRAMPHYModel
    from litex.build.generic_platform import GenericPlatform, Pins, Subsignal
    from litex.gen import LiteXModule
    from migen import ClockDomain

    from soc import streams
    from soc.boards.ecpix5 import Ddr3, Ecpix5
    from soc.sim_dram import phy_settings
except ImportError as e:
    sys.exit(f"dram_ports_top: {e}; source tools/env.sh first")

ROOT = Path(__file__).resolve().parent.parent.parent

CLOCK_HZ = 75_000_000
HALF = 16 << 20
WIDTHS = {"table": 128, "frame": 64}
BUS = ["adr", "dat_w", "dat_r", "sel", "cyc", "stb", "we", "ack"]


class SmallDdr3(Ddr3):
    nrows = 2048


class Top(LiteXModule):
    def __init__(self, pads_of):
        self.cd_sys = ClockDomain("sys")
        module = SmallDdr3(CLOCK_HZ, "1:2")
        self.phy = SDRAMPHYModel(module, phy_settings(CLOCK_HZ), clk_freq=CLOCK_HZ)
        self.sdram = LiteDRAMCore(self.phy, module.geom_settings, module.timing_settings, CLOCK_HZ)
        self.pads_of, self.io = pads_of, []
        for n, (name, width) in enumerate(WIDTHS.items()):
            axi = streams.axi_port(4, width)
            for channel, (fields, forward) in streams.axi_channels().items():
                self.join(f"{name}_{channel}", getattr(axi, channel), fields, forward)
            Ecpix5.add_memory(self, name, axi, n << 28, HALF, n * HALF, half=HALF)

    def join(self, name, ep, fields, forward):
        """A channel of which the test is the giving end (`forward`) or the taking one."""
        signals = [("valid", ep.valid, forward), ("ready", ep.ready, not forward)]
        self.pins(name, signals + [(f"payload_{f}", getattr(ep, f), forward) for f in fields])

    def memory_region(self, name, base, size, bus):
        self.pins(f"{name}_bus", [(f, getattr(bus, f), f not in ("dat_r", "ack")) for f in BUS])

    def pins(self, name, signals):
        self.io.append((name, 0, *(Subsignal(f, Pins(len(s))) for f, s, _ in signals)))
        self.pads_of.add_extension(self.io[-1:])
        pads = self.pads_of.request(name)
        self.comb += [s.eq(getattr(pads, f)) if taken else getattr(pads, f).eq(s) for f, s, taken in signals]


def generate(folder):
    platform = GenericPlatform("sim", [("clk", 0, Pins(1)), ("reset", 0, Pins(1))], name="dram_ports_top")
    top = Top(platform)
    top.comb += [top.cd_sys.clk.eq(platform.request("clk")), top.cd_sys.rst.eq(platform.request("reset"))]
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    text = str(platform.get_verilog(top, name="dram_ports_top"))
    # the head holds the date
    text = "".join(line + "\n" for line in text.splitlines() if not line.lstrip().startswith("//"))
    path = folder / "dram_ports_top.v"
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


if __name__ == "__main__":
    logging.disable(logging.INFO)
    generate(sys.argv[1])
