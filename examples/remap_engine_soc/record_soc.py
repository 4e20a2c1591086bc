# SPDX-License-Identifier: Apache-2.0
"""A LiteX SoC that is not the drive's: no CPU, the remap engine, LiteX' own SRAM as its table memory, and a record
table on top.

`python examples/remap_engine_soc/record_soc.py [OUTDIR]` writes OUTDIR/record_soc.v (default build/record_soc) and
csr.json, and prints the Verilog files that make the SoC. The host is a Wishbone master on pins of the top; on a board
`add_uartbone` takes its place. Wrong arguments: one line, exit code 2.
"""

import logging
import re
import sys
from pathlib import Path

try:
    from litex.build.generic_platform import GenericPlatform, Pins
    from litex.soc.integration.export import get_csr_json
    from litex.soc.integration.soc_core import SoCMini
    from litex.soc.interconnect import wishbone
    from migen import ClockDomain

    from examples.remap_engine_soc.record_table import RecordTable
    from soc.remap_engine import RemapConfig, RemapEngine
except ImportError as e:
    sys.exit(f"record_soc: {e}; source tools/env.sh first")

CONFIG = RemapConfig(lpns=64, txids=8, tx_entries=31, slots=4, base=0x4000_0000)
PLACES = 96  # the newest version of each key and 32 more
CLOCK_HZ = 50_000_000


class EngineSoC(SoCMini):
    """Engine, table memory and host; who uses the engine comes on top."""

    def __init__(self, platform, config=CONFIG):
        self.cd_sys = ClockDomain("sys")
        super().__init__(platform, CLOCK_HZ, ident="")
        self.comb += [self.cd_sys.clk.eq(platform.request("clk")), self.cd_sys.rst.eq(platform.request("reset"))]
        self.add_ram("table", origin=config.base, size=1 << (config.bytes - 1).bit_length(), mode="rw")
        self.engine = RemapEngine(platform, config)
        self.bus.add_master("engine", self.engine.table)  # LiteX makes its 128 bits the bus' 32
        host = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        platform.add_extension(host.get_ios("host"))
        self.comb += host.connect_to_pads(platform.request("host"), mode="slave")
        self.bus.add_master("host", host)


class RecordSoC(EngineSoC):
    def __init__(self, platform, config=CONFIG, places=PLACES):
        super().__init__(platform, config)
        self.records = RecordTable(self.engine, places)


def platform(name):
    return GenericPlatform("sim", [("clk", 0, Pins(1)), ("reset", 0, Pins(1))], name=name)


def generate(soc, folder):
    """NAME.v and csr.json of a SoC on `platform(NAME)`; returns the Verilog sources.

    Files keep their time stamp when nothing changed.
    """
    folder = Path(folder).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    name = soc.platform.name
    soc.finalize()
    out = soc.platform.get_verilog(soc, name=name)
    # the head holds the date
    verilog = "".join(line + "\n" for line in out.main_source.splitlines() if not line.lstrip().startswith("//"))
    assert not any(out.data_files.values())  # memories start as they like: the host clears the map
    verilog = re.sub(r"initial begin\s+\$readmemh[^;]*;\s+end\n", "", verilog)
    csr = get_csr_json(soc.csr_regions, soc.constants, soc.mem_regions)
    for path, text in ((folder / f"{name}.v", verilog), (folder / "csr.json", csr)):
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    return [str(folder / f"{name}.v"), *(source for source, *_ in soc.platform.sources)]


def main(args):
    logging.disable(logging.INFO)
    if len(args) > 1:
        print("record_soc: usage: record_soc.py [OUTDIR]", file=sys.stderr)
        return 2
    print("\n".join(generate(RecordSoC(platform("record_soc")), args[0] if args else "build/record_soc")))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
