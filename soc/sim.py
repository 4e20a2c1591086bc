# SPDX-License-Identifier: Apache-2.0
"""`python3 soc/sim.py PRESET [BUILD_DIR]`: generates the simulation SoC below build/<preset>/.

Written there: geometry files, `gateware/otx_soc.v`, `software/include/generated/` for the firmware and `sim.f` with the parameters of
`sim/otx_sim_top.sv`. The memories are `otx_sim_mem`, ROM and SRAM are `otx_sim_ram` (the ROM loads the firmware binary when a simulation starts), and host port,
NAND pins and the UART's bytes are ports of `otx_soc`. Wrong arguments: one line, exit code 2.
"""

import logging
import sys
from pathlib import Path

import geometry
import streams
from litex.build.generic_platform import GenericPlatform, Pins, Subsignal
from litex.soc.integration.soc import SoCRegion
from litex.soc.interconnect import wishbone
from migen import ClockDomain, ClockSignal, Instance, ResetSignal

from soc import ROM_BYTES, SRAM_BYTES, OtxSoC, write_includes

ROOT = Path(__file__).resolve().parent.parent


def io(g):
    def record(name, fields):
        return (name, 0, *(Subsignal(f, Pins(w)) for f, w in fields))

    pins = [("clk", 0, Pins(1)), ("reset", 0, Pins(1)), ("enabled", 0, Pins(1)), ("busy", 0, Pins(1)), ("fault", 0, Pins(1))]
    pins += [record("uart", [("valid", 1), ("ready", 1), ("data", 8)])]
    pins += [record("nand", [(name, width) for name, width, _ in streams.nand_layout(g)])]
    for name, layout, _ in streams.HOST:
        pins += [record(name, [("valid", 1), ("ready", 1)] + [(f"payload_{f}", w) for f, w in layout])]
    return pins


class SimSoC(OtxSoC):
    def __init__(self, g):
        platform = GenericPlatform("sim", io(g), name="otx_soc")
        self.cd_sys = ClockDomain("sys")
        super().__init__(platform, g, g.clock_mhz * 1_000_000, uart_name="stream", integrated_rom_size=0, integrated_sram_size=0)
        self.comb += [self.cd_sys.clk.eq(platform.request("clk")), self.cd_sys.rst.eq(platform.request("reset"))]
        self.add_ram("rom", ROM_BYTES, "rx")
        self.add_ram("sram", SRAM_BYTES, "rwx")
        self.add_memory("table", self.otx.table, g.table_base, g.table_bytes, g.table_latency)
        self.add_memory("frame", self.otx.frame, g.frame_base, g.frame_bytes, g.frame_latency)
        self.connect_nand(platform.request("nand"))
        for name, layout, taken in streams.HOST:
            self.connect_host(platform.request(name), self.otx.host[name], layout, taken)
        uart = platform.request("uart")
        self.comb += [
            uart.valid.eq(self.uart.source.valid),
            self.uart.source.ready.eq(uart.ready),
            uart.data.eq(self.uart.source.data),
            platform.request("enabled").eq(self.otx.enable.storage),
            platform.request("busy").eq(self.otx.busy.status),
            platform.request("fault").eq(self.otx.fault.status),
        ]

    def connect_host(self, pads, ep, layout, taken):
        to, back = ((pads, ep), (ep, pads)) if taken else ((ep, pads), (pads, ep))
        self.comb += [to[1].valid.eq(to[0].valid), back[1].ready.eq(back[0].ready)]
        for field, _ in layout:
            pad, inner = getattr(pads, f"payload_{field}"), getattr(ep, field)
            self.comb += inner.eq(pad) if taken else pad.eq(inner)

    def wishbone_ports(self, bus):
        ports = {f"i_wb_{f}": getattr(bus, f) for f in ["adr", "dat_w", "sel", "cyc", "stb", "we"]}
        return ports | {"o_wb_dat_r": bus.dat_r, "o_wb_ack": bus.ack, "i_clk": ClockSignal("sys"), "i_reset": ResetSignal("sys")}

    def add_ram(self, name, size, mode):
        bus = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        self.specials += Instance("otx_sim_ram", p_Bytes=size, p_Firmware=int(name == "rom"), **self.wishbone_ports(bus))
        self.bus.add_slave(name, bus, SoCRegion(origin=self.mem_map[name], size=size, mode=mode))

    def add_memory(self, name, port, base, size, latency):
        bus = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        self.specials += Instance(
            "otx_sim_mem",
            p_Base=base,
            p_Bytes=size,
            p_Latency=latency,
            p_IdWidth=port.id_width,
            p_DataBytes=port.data_width // 8,
            p_Outstanding=32,
            **self.wishbone_ports(bus),
            **streams.axi_ports("axi", port, master=False, payload=""),
        )
        self.memory_region(name, base, size, bus)


def generate(g, outdir):
    out = Path(outdir)
    geometry.write(g, out)
    soc = SimSoC(g)
    soc.finalize()
    (out / "gateware").mkdir(exist_ok=True)
    soc.platform.get_verilog(soc, name="otx_soc").write(str(out / "gateware" / "otx_soc.v"))
    write_includes(soc, out / "software" / "include" / "generated")
    sources = "".join(f"{source[0]}\n" for source in soc.platform.sources)
    (out / "sim.f").write_text(f"-GChannels={g.channels}\n-GWays={g.ways}\n-GClkPs={g.clock_ps}\n{sources}")


def main(args):
    logging.disable(logging.INFO)
    try:
        if len(args) not in (1, 2):
            raise geometry.GeometryError("usage: sim.py PRESET [BUILD_DIR]")
        g = geometry.preset(args[0])
        generate(g, args[1] if len(args) == 2 else ROOT / "build" / g.preset)
    except geometry.GeometryError as e:
        print(f"sim: {e}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
