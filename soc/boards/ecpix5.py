# SPDX-License-Identifier: Apache-2.0
"""`python3 soc/boards/ecpix5.py [--seed N]`: bitstream and build/ecpix5/report.json for the LambdaConcept ECPIX-5 (LFE5UM5G-85F).

DDR3 (512 MiB) holds table memory in its lower and frame memory in its upper half: an AXI4 port of LiteDRAM for each, and a Wishbone port each for the CPU. The NAND
channel (3.3 V, two ways) is on PMOD 0 to 2 as NAND_PINS says; the host port is CSRs, which a PC reaches over the board's USB UART (UARTBone, litex_server). The firmware is
in the ROM: build it first (tools/drive_build.sh does all but place and route). Wrong arguments: one line, exit code 2.
"""

import json
import logging
import subprocess
import sys
from pathlib import Path

try:
    from litedram.frontend.axi import LiteDRAMAXI2Native
    from litedram.frontend.wishbone import LiteDRAMWishbone2Native
    from litedram.modules import MT41K256M16, _SpeedgradeTimings
    from litedram.phy import ECP5DDRPHY
    from litex.build.generic_platform import IOStandard, Misc, Pins, Subsignal
    from litex.soc.integration.export import get_csr_csv
    from litex.soc.integration.soc_core import get_mem_data
    from litex.soc.interconnect import wishbone
    from litex.soc.interconnect.axi import AXIRemapper
    from litex_boards.platforms import lambdaconcept_ecpix5
    from litex_boards.targets.lambdaconcept_ecpix5 import _CRG
    from migen import Instance

    from soc import geometry, stages, streams
    from soc.dram_axi import DramAxi
    from soc.host_port import HostPort
    from soc.soc import ROM_BYTES, SRAM_BYTES, OtxSoC, write_includes
except ImportError as e:
    sys.exit(f"ecpix5: {e}; source tools/env.sh first")

ROOT = Path(__file__).resolve().parent.parent.parent

OUT = ROOT / "build" / "ecpix5"
HALF = 256 << 20
SEED = 1  # of the placer, which spreads wider (beta) than by default: closer together some wires of this tree find no way of their own
LOG_BYTES = 2048  # the firmware's report waits in the crossover UART until a PC reads it

# Pin of the NAND (channel 0) -> connector:pin, LVCMOS33. WP# needs no pull-up; R/B# is open drain, the FPGA's pull-up is on.
NAND_PINS = {
    "dq": " ".join(f"pmod0:{i}" for i in range(8)),
    "cle": "pmod1:0",
    "ale": "pmod1:1",
    "we_n": "pmod1:2",
    "re_n": "pmod1:3",
    "wp_n": "pmod1:4",
    "ce_n": "pmod1:5 pmod2:0",
    "rb_n": "pmod1:6 pmod2:1",
}


class Ddr3(MT41K256M16):
    """LiteDRAM gives this part's tRFC in clocks of the fastest grade; at our clock only the time counts."""

    speedgrade_timings = {
        grade: _SpeedgradeTimings(tRP=t.tRP, tRCD=t.tRCD, tWR=t.tWR, tRFC=(None, 260), tFAW=t.tFAW, tRAS=t.tRAS) for grade, t in MT41K256M16.speedgrade_timings.items()
    }


def nand_pads():
    pads = [Subsignal(name, Pins(pins), *([Misc("PULLMODE=UP")] if name in ("rb_n", "dq") else [])) for name, pins in NAND_PINS.items()]
    return [("nand", 0, *pads, IOStandard("LVCMOS33"))]


class Ecpix5(OtxSoC):
    def __init__(self, g, firmware):
        clk_freq = g.clock_mhz * 1_000_000
        platform = lambdaconcept_ecpix5.Platform(device="85F", toolchain="trellis")
        platform.add_extension(nand_pads())
        for source in sources():
            platform.add_source(source)
        self.crg = _CRG(platform, clk_freq)
        uart = dict(uart_name="crossover+uartbone", uart_fifo_depth=LOG_BYTES)
        # without LiteX' bus watchdog: its count would be in every answer to the CPU, and all that is on the bus answers
        super().__init__(platform, g, clk_freq, **uart, bus_timeout=None, integrated_rom_size=ROM_BYTES, integrated_rom_init=firmware, integrated_sram_size=SRAM_BYTES)
        self.ddrphy = ECP5DDRPHY(platform.request("ddram"), sys_clk_freq=clk_freq)
        self.comb += [self.crg.stop.eq(self.ddrphy.init.stop), self.crg.reset.eq(self.ddrphy.init.reset)]
        self.add_sdram("sdram", phy=self.ddrphy, module=Ddr3(clk_freq, "1:2"), with_soc_interconnect=False)
        self.add_memory("table", self.otx.table, g.table_base, g.table_bytes, 0)
        self.add_memory("frame", self.otx.frame, g.frame_base, g.frame_bytes, HALF)
        self.host = HostPort(self.otx.host)
        self.add_nand(platform.request("nand"))

    def add_memory(self, name, axi, base, size, offset, half=HALF):
        """Half of the DRAM, from byte `offset` on, for the core and at the same addresses for the CPU. What either has been told is written, both read."""
        moved, ports = streams.axi_port(axi.id_width, axi.data_width), [self.sdram.crossbar.get_port() for _ in range(2)]
        setattr(self, f"{name}_remap", AXIRemapper(axi, moved, origin=offset, size=half))
        wide = streams.axi_port(axi.id_width, ports[0].data_width)
        setattr(self, f"{name}_wide", DramAxi(moved, wide))
        setattr(self, f"{name}_axi", LiteDRAMAXI2Native(wide, stages.buffered_port(self, f"{name}_commands", ports[0])))
        bus, far, near = (wishbone.Interface(data_width=32, address_width=32, addressing="word") for _ in range(3))
        setattr(self, f"{name}_stage", stages.WishboneStage(bus, far))
        self.comb += [far.connect(near, omit={"adr"}), near.adr.eq(offset // 4 | far.adr & (half // 4 - 1))]
        word = wishbone.Interface(data_width=ports[1].data_width, address_width=32, addressing="word")
        setattr(self, f"{name}_word", wishbone.UpConverter(near, word))
        setattr(self, f"{name}_cpu", LiteDRAMWishbone2Native(word, ports[1]))
        self.memory_region(name, base, size, bus)

    def add_nand(self, pads):
        nand = self.otx.nand
        for name, _, driven in streams.nand_layout(self.geometry):
            if not name.startswith("dq"):
                pad = getattr(pads, name)
                self.comb += pad.eq(nand[name]) if driven else nand[name].eq(pad)
        for i in range(8):
            self.specials += Instance("BB", i_I=nand["dq_o"][i], i_T=~nand["dq_oe"], o_O=nand["dq_i"][i], io_B=pads.dq[i])


def sources():
    rtl = [str(ROOT / line) for line in (ROOT / "rtl/otx.f").read_text().splitlines() if line.startswith("rtl/")]
    return [*rtl, str(OUT / "verilog" / "otx_core.v")]


def firmware_words():
    """The firmware is built twice over: once for its headers an empty ROM is generated, then the ROM holds it."""
    path = OUT / "firmware" / "otx.bin"
    return get_mem_data(str(path), data_width=32, endianness="little")


def figures(g, seed):
    """What place and route reached, from nextpnr's own report. The core's clock is the one that was asked to run at the board's system clock."""
    data = json.loads((OUT / "gateware" / "pnr.json").read_text())
    clocks = {name: f["achieved"] for name, f in data["fmax"].items()}
    sys_name = min(data["fmax"], key=lambda n: abs(data["fmax"][n]["constraint"] - g.clock_mhz))
    used = data["utilization"]
    parts = {"lut": "TRELLIS_COMB", "ff": "TRELLIS_FF", "bram": "DP16KD", "dsp": "MULT18X18D"}
    return {
        "board": "ecpix5",
        "device": "LFE5UM5G-85F",
        "seed": seed,
        "fmax_mhz": round(clocks[sys_name], 2),
        "clock": sys_name,
        "all_clocks_mhz": {n: round(f, 2) for n, f in clocks.items()},
        **{name: used[kind]["used"] for name, kind in parts.items()},
        "device_share": {name: round(used[kind]["used"] / used[kind]["available"], 4) for name, kind in parts.items()},
    }


def prepare(g):
    """Geometry, core and firmware: the firmware needs the SoC's register addresses, which do not depend on the ROM's contents."""
    geometry.write(g, OUT)
    subprocess.run([str(ROOT / "tools/verilog.sh"), "ecpix5"], check=True)
    soc = Ecpix5(g, [0])
    soc.finalize()
    write_includes(soc, OUT / "software/include/generated")
    (OUT / "csr.csv").write_text(get_csr_csv(soc.csr_regions, soc.constants, soc.mem_regions))  # for tools/board_host.py
    subprocess.run(["make", "-s", "-C", str(ROOT / "sw/firmware"), f"BUILD_DIR={OUT}"], check=True)


def main(args):
    logging.disable(logging.INFO)
    if args and not (len(args) == 2 and args[0] == "--seed" and args[1].isdigit()):
        print("usage: ecpix5.py [--seed N]", file=sys.stderr)
        return 2
    seed = int(args[1]) if args else SEED
    g = geometry.preset("ecpix5")
    prepare(g)
    soc = Ecpix5(g, firmware_words())
    platform = soc.platform
    platform.toolchain._pnr_opts += " --report pnr.json --router router2 --placer-heap-timingweight 30 --placer-heap-beta 0.75"
    platform.build(soc, build_dir=str(OUT / "gateware"), build_name="ecpix5", seed=seed, nowidelut=False, timingstrict=False)
    report = figures(g, seed)
    (OUT / "report.json").write_text(json.dumps(report, indent=1) + "\n")
    print(f"ecpix5: {report['fmax_mhz']} MHz of {g.clock_mhz} needed, {report['lut']} LUT4, {report['ff']} FF, {report['bram']} BRAM, {report['dsp']} DSP; {OUT.name}/report.json")
    return 0 if report["fmax_mhz"] >= g.clock_mhz else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
