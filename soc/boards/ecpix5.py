# SPDX-License-Identifier: Apache-2.0
"""`python3 soc/boards/ecpix5.py [--seed N | --seeds N N ... | --netlist]`: bitstream and build/ecpix5/report.json for
the LambdaConcept ECPIX-5 (LFE5UM5G-85F); or what Yosys makes of it alone, build/ecpix5/gateware/ecpix5.json.
With several seeds of the placer a table of them (build/ecpix5/seeds.json), and the bitstream of the fastest. Exit code
1 when the clock is not reached.

DDR3 (512 MiB) holds table memory in its lower and frame memory in its upper half: an AXI4 port of LiteDRAM for each,
and a Wishbone port each for the CPU. The NAND channel (3.3 V, two ways) is on PMOD 0 to 2 as constraints/ecpix5.lpf
says; the host port is CSRs, which a PC reaches over the board's USB UART (UARTBone, litex_server).
The firmware is in the ROM. Wrong arguments: one line, exit code 2.
"""

import json
import logging
import subprocess
import sys
from pathlib import Path

try:
    from litedram.core.controller import ControllerSettings
    from litedram.frontend.axi import LiteDRAMAXI2Native
    from litedram.frontend.wishbone import LiteDRAMWishbone2Native
    from litedram.modules import MT41K256M16, _SpeedgradeTimings
    from litedram.phy import ECP5DDRPHY
    from litex.build.lattice import LatticeECP5Platform
    from litex.soc.integration.export import get_csr_csv
    from litex.soc.integration.soc_core import get_mem_data
    from litex.soc.interconnect import wishbone
    from litex.soc.interconnect.axi import AXIRemapper
    from litex_boards.platforms import lambdaconcept_ecpix5
    from litex_boards.targets.lambdaconcept_ecpix5 import _CRG
    from migen import Instance

    from soc import ecp5, geometry, register_slices, streams
    from soc.dram_axi import DramAxi
    from soc.host_port import HostPort
    from soc.soc import ROM_BYTES, SRAM_BYTES, OtxSoC, write_includes
except ImportError as e:
    sys.exit(f"ecpix5: {e}; source tools/env.sh first")

ROOT = Path(__file__).resolve().parent.parent.parent
OUT = ROOT / "build" / "ecpix5"
HALF = 256 << 20
SEED = 1  # of the placer
LOG_BYTES = 2048  # the firmware's report waits in the crossover UART until a PC reads it


class Ddr3(MT41K256M16):
    """LiteDRAM gives this part's tRFC in clocks of the fastest grade; at our clock only the time counts."""

    speedgrade_timings = {
        grade: _SpeedgradeTimings(tRP=t.tRP, tRCD=t.tRCD, tWR=t.tWR, tRFC=(None, 260), tFAW=t.tFAW, tRAS=t.tRAS)
        for grade, t in MT41K256M16.speedgrade_timings.items()
    }


class Platform(lambdaconcept_ecpix5.Platform):
    """The board of litex-boards with the NAND's pins and the clocks of constraints/ecpix5.lpf in place of its own."""

    def __init__(self, g):
        super().__init__(device="85F", toolchain="trellis")
        constraints = ecp5.Constraints(ROOT / "constraints/ecpix5.lpf")
        named = [(name, width) for name, width, _ in streams.nand_layout(g) if not name.startswith("dq")]
        self.add_extension(constraints.pads("nand", [("dq", 8), *named]))
        for line in constraints.others:
            self.add_platform_command(line)

    def do_finalize(self, fragment):
        LatticeECP5Platform.do_finalize(self, fragment)


class Ecpix5(OtxSoC):
    def __init__(self, g, firmware):
        clk_freq = g.clock_mhz * 1_000_000
        platform = Platform(g)
        for source in sources():
            platform.add_source(source)
        self.crg = _CRG(platform, clk_freq)
        uart = dict(uart_name="crossover+uartbone", uart_fifo_depth=LOG_BYTES)
        # without LiteX' bus watchdog: its count would be in every answer to the CPU, and all that is on the bus answers
        super().__init__(
            platform,
            g,
            clk_freq,
            **uart,
            bus_timeout=None,
            integrated_rom_size=ROM_BYTES,
            integrated_rom_init=firmware,
            integrated_sram_size=SRAM_BYTES,
        )
        self.ddrphy = ECP5DDRPHY(platform.request("ddram"), sys_clk_freq=clk_freq)
        self.comb += [self.crg.stop.eq(self.ddrphy.init.stop), self.crg.reset.eq(self.ddrphy.init.reset)]
        # the count to the next ZQCS is in the way of every command: 16 bits, to a second it has 27
        # (LiteDRAM loses most of the requests: docs/boards.md)
        dram = ControllerSettings(refresh_zqcs_freq=1.2e3)
        module = Ddr3(clk_freq, "1:2")
        self.add_sdram("sdram", phy=self.ddrphy, module=module, with_soc_interconnect=False, controller_settings=dram)
        self.add_memory("table", self.otx.table, g.table_base, g.table_bytes, 0)
        self.add_memory("frame", self.otx.frame, g.frame_base, g.frame_bytes, HALF)
        self.host = HostPort(self.otx.host)
        self.add_nand(platform.request("nand"))

    def add_memory(self, name, axi, base, size, offset, half=HALF):
        """Half of the DRAM, from byte `offset` on, for the core and at the same addresses for the CPU.

        What either has been told is written, both read.
        """
        moved, ports = (
            streams.axi_port(axi.id_width, axi.data_width),
            [self.sdram.crossbar.get_port() for _ in range(2)],
        )
        setattr(self, f"{name}_remap", AXIRemapper(axi, moved, origin=offset, size=half))
        wide = streams.axi_port(axi.id_width, ports[0].data_width)
        setattr(self, f"{name}_wide", DramAxi(moved, wide))
        setattr(
            self,
            f"{name}_axi",
            LiteDRAMAXI2Native(wide, register_slices.buffered_port(self, f"{name}_commands", ports[0])),
        )
        bus, far, near = (wishbone.Interface(data_width=32, address_width=32, addressing="word") for _ in range(3))
        setattr(self, f"{name}_slice", register_slices.WishboneSlice(bus, far))
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
            self.specials += Instance(
                "BB", i_I=nand["dq_o"][i], i_T=~nand["dq_oe"], o_O=nand["dq_i"][i], io_B=pads.dq[i]
            )


def sources():
    rtl = [str(ROOT / line) for line in (ROOT / "rtl/otx.f").read_text().splitlines() if line.endswith(".sv")]
    return [*rtl, str(OUT / "verilog" / "otx_core.v")]


def firmware_words():
    """The firmware is built twice over: once for its headers an empty ROM is generated, then the ROM holds it."""
    path = OUT / "firmware" / "otx.bin"
    return get_mem_data(str(path), data_width=32, endianness="little")


def report(placement):
    """What place and route reached, from nextpnr's own report."""
    p = placement
    of_seed = {
        "seed": p.seed,
        "fmax_mhz": p.mhz,
        "clock": p.clock,
        "all_clocks_mhz": p.clocks,
        **p.used,
        "device_share": p.share,
    }
    return {"board": "ecpix5", "device": "LFE5UM5G-85F", **of_seed}


def prepare(g):
    """Geometry, core and firmware: the firmware needs the SoC's register addresses, which do not depend on the ROM's
    contents.
    """
    geometry.write(g, OUT)
    subprocess.run([str(ROOT / "tools/verilog.sh"), "ecpix5"], check=True)
    soc = Ecpix5(g, [0])
    soc.finalize()
    write_includes(soc, OUT / "software/include/generated")
    # for tools/board_host.py
    (OUT / "csr.csv").write_text(get_csr_csv(soc.csr_regions, soc.constants, soc.mem_regions))
    subprocess.run(["make", "-s", "-C", str(ROOT / "sw/firmware"), f"BUILD_DIR={OUT}"], check=True)


def main(args):
    logging.disable(logging.INFO)
    words, numbers = args[:1], args[1:]
    counts = {"--seed": len(numbers) == 1, "--seeds": bool(numbers), "--netlist": not numbers}
    if args and not (all(n.isdigit() for n in numbers) and counts.get(args[0])):
        print("usage: ecpix5.py [--seed N | --seeds N N ... | --netlist]", file=sys.stderr)
        return 2
    g = geometry.preset("ecpix5")
    prepare(g)
    soc = Ecpix5(g, firmware_words())
    folder = OUT / "gateware"
    soc.platform.build(soc, build_dir=str(folder), build_name="ecpix5", run=False)
    try:
        if words == ["--netlist"]:
            ecp5.netlist(soc.platform, "ecpix5", folder)
            return 0
        (OUT / "report.json").unlink(missing_ok=True)
        best, *_ = ecp5.bitstream(soc.platform, "ecpix5", folder, [int(n) for n in numbers] or [SEED], g.clock_mhz)
    except ecp5.Failed as e:
        print(f"ecpix5: {e}", file=sys.stderr)
        return 1
    if not best.routed:
        print(f"ecpix5: no placement was routed; {folder.name}/seed_{best.seed}.log")
        return 1
    (OUT / "report.json").write_text(json.dumps(report(best), indent=1) + "\n")
    used = best.used
    print(
        f"ecpix5: {best.mhz} MHz of {g.clock_mhz} needed, {used['lut']} LUT4, {used['ff']} FF, {used['bram']} BRAM, "
        f"{used['dsp']} DSP; {OUT.name}/report.json"
    )
    return 0 if best.mhz >= g.clock_mhz else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
