# SPDX-License-Identifier: Apache-2.0
"""`python3 soc/boards/acorn.py [--project]`: the Vivado project of the SQRL Acorn CLE-215+ (XC7A200T), in
build/acorn/gateware, and build/acorn/report.json with what Yosys counts of it (minutes; not with `--project`).

The drive of preset acorn is an NVMe controller in a PCIe slot: LitePCIe, four lanes of generation 2, behind it
`otx_nvme` (soc/litepcie_nvme.py). DDR3 (1 GiB) holds table memory in its lower and frame memory in its upper half, as
on the ECPIX-5. There is no NAND: the board has too few free pins, so the core's NAND pins end in two registers
(`nand_in`, `nand_out`), and the firmware says that no die answers (docs/boards.md).

Vivado is not run: its script is made. So there is no bitstream, and the clock that is reached is not known
(`fmax_mhz` is null). The firmware is in the ROM; its report is in a crossover UART that a PC reads over the serial line
on P2. Wrong arguments: one line, exit code 2.
"""

import json
import logging
import subprocess
import sys
from pathlib import Path

try:
    from litedram.modules import MT41K512M16, _SpeedgradeTimings
    from litedram.phy import A7DDRPHY
    from litepcie.phy.s7pciephy import S7PCIEPHY
    from litex.gen import LiteXModule
    from litex.soc.integration.export import get_csr_csv
    from litex.soc.integration.soc_core import get_mem_data
    from litex.soc.interconnect.csr import CSRStatus, CSRStorage
    from litex_boards.platforms import sqrl_acorn
    from litex_boards.targets.sqrl_acorn import CRG
    from migen import Signal

    from soc import geometry, streams
    from soc.boards.ecpix5 import LOG_BYTES, Ecpix5
    from soc.litepcie_nvme import BAR_BYTES, COMPLETION_TIMEOUT_MS, S7, NvmeEndpoint
    from soc.soc import MODEL_ROM_BYTES, SRAM_BYTES, OtxSoC, write_includes
except ImportError as e:
    sys.exit(f"acorn: {e}; source tools/env.sh first")

ROOT = Path(__file__).resolve().parent.parent.parent
OUT = ROOT / "build" / "acorn"
HALF = 512 << 20
DEVICE = "XC7A200T-FBG484-3"
HAS = {"lut": 134_600, "ff": 269_200, "bram36": 365, "dsp": 740}  # of an XC7A200T (Xilinx DS180)
LUTS, FLOPS = [f"LUT{n}" for n in range(1, 7)], ["FDRE", "FDSE", "FDCE", "FDPE"]
# LUTs that a distributed memory takes (Xilinx UG474, "Distributed RAM")
LUT_MEMORIES = {"RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1D": 4, "RAM32M": 4, "RAM64M": 4, "SRL16E": 1, "SRLC32E": 1}


class Ddr3(MT41K512M16):
    """LiteDRAM gives this part's tRFC in clocks of the fastest grade; at our clock only the time counts."""

    speedgrade_timings = {
        grade: _SpeedgradeTimings(tRP=t.tRP, tRCD=t.tRCD, tWR=t.tWR, tRFC=(None, 350), tFAW=t.tFAW, tRAS=t.tRAS)
        for grade, t in MT41K512M16.speedgrade_timings.items()
    }


class Platform(sqrl_acorn.Platform):
    """The board of litex-boards with constraints/acorn.xdc, which Vivado reads when it has made all clocks."""

    def __init__(self):
        super().__init__(variant="cle-215+")
        self.toolchain.pre_placement_commands.append(f"read_xdc {ROOT}/constraints/acorn.xdc")


class NandPins(LiteXModule):
    """The core's NAND pins as registers: nothing is connected, so all lines read as ones unless somebody says so."""

    def __init__(self, nand, g):
        pins = streams.nand_layout(g)
        given, driven = ([name for name, _, out in pins if out == wanted] for wanted in (False, True))
        width = {name: width for name, width, _ in pins}
        at = sum(width[name] for name in given)
        self._in = CSRStorage(at, name="in", reset=(1 << at) - 1, description="Lines of the NAND that the core reads.")
        at = sum(width[name] for name in driven)
        self._out = CSRStatus(at, name="out", description="Lines of the NAND that the core drives.")
        for register, names in ((self._in.storage, given), (self._out.status, driven)):
            at = 0
            for name in names:
                part = register[at : at + width[name]]
                self.comb += nand[name].eq(part) if names is given else part.eq(nand[name])
                at += width[name]


class Acorn(OtxSoC):
    add_memory = Ecpix5.add_memory

    def __init__(self, g, firmware):
        clk_freq = g.clock_mhz * 1_000_000
        platform = Platform()
        for source in sources():
            platform.add_source(source)
        self.crg = CRG(platform, clk_freq)
        super().__init__(
            platform,
            g,
            clk_freq,
            uart_name="crossover+uartbone",
            uart_fifo_depth=LOG_BYTES,
            bus_timeout=None,
            integrated_rom_size=MODEL_ROM_BYTES,
            integrated_rom_init=firmware,
            integrated_sram_size=SRAM_BYTES,
        )
        self.ddrphy = A7DDRPHY(
            platform.request("ddram"), memtype="DDR3", nphases=4, sys_clk_freq=clk_freq, iodelay_clk_freq=200e6
        )
        self.add_sdram("sdram", phy=self.ddrphy, module=Ddr3(clk_freq, "1:4"), with_soc_interconnect=False)
        self.add_memory("table", self.otx.table, g.table_base, g.table_bytes, 0, half=HALF)
        self.add_memory("frame", self.otx.frame, g.frame_base, g.frame_bytes, HALF, half=HALF)
        self.nand = NandPins(self.otx.nand, g)
        self.add_pcie_front(platform, clk_freq * COMPLETION_TIMEOUT_MS // 1000)

    def add_pcie_front(self, platform, timeout):
        self.comb += platform.request("pcie_clkreq_n").eq(0)
        phy = self.pcie_phy = S7PCIEPHY(
            platform, platform.request("pcie_x4"), data_width=128, bar0_size=BAR_BYTES, msi_type="msi-x"
        )
        phy.update_config(S7)
        masked = Signal()
        phy.pcie_phy_params.update(o_cfg_interrupt_msixfm=phy.add_resync(masked))
        phy.link_up, phy.bus_master = phy._link_status.fields.status, phy._bus_master_enable.status
        phy.msix_enable, phy.msix_mask = phy._msix_enable.status, masked
        self.pcie = NvmeEndpoint(phy, self.nvme, self.nvme.quiet.status, timeout)


def sources():
    rtl = [str(ROOT / line) for line in (ROOT / "rtl/otx.f").read_text().splitlines() if line.endswith(".sv")]
    return [*rtl, *(str(OUT / "verilog" / f"{block}.v") for block in ("otx_core", "otx_nvme"))]


def prepare(g):
    """Geometry, core and firmware, as for the ECPIX-5; gives the firmware's words."""
    geometry.write(g, OUT)
    subprocess.run([str(ROOT / "tools/verilog.sh"), "acorn"], check=True)
    soc = Acorn(g, [0])
    soc.finalize()
    write_includes(soc, OUT / "software/include/generated")
    (OUT / "csr.csv").write_text(get_csr_csv(soc.csr_regions, soc.constants, soc.mem_regions))
    subprocess.run(["make", "-s", "-C", str(ROOT / "sw/firmware"), f"BUILD_DIR={OUT}"], check=True)
    return get_mem_data(str(OUT / "firmware" / "otx.bin"), data_width=32, endianness="little")


def black_box(ports):
    """The PCIe block as a module without contents: Vivado makes it of its own IP."""
    directions = {"i": "input", "o": "output"}
    lines = []
    for port, signal in ports.items():
        width = 1 if isinstance(signal, int) else len(signal) if hasattr(signal, "__len__") else 32
        lines.append(f"  {directions[port[0]]} [{width - 1}:0] {port[2:]}")
    return "(* blackbox *)\nmodule pcie_s7 (\n" + ",\n".join(lines) + "\n);\nendmodule\n"


def count(soc, folder):
    """What Yosys makes of the project for a 7-series part: {kind: number}."""
    (folder / "pcie_s7.v").write_text(black_box(soc.pcie_phy.pcie_phy_params))
    files = [*dict.fromkeys(str(folder / path) for path, *_ in soc.platform.sources), folder / "pcie_s7.v"]
    script = [f"read_verilog -sv -defer {path}" for path in files]
    script += ["synth_xilinx -family xc7 -flatten -top acorn", "tee -q -o cells.json stat -json"]
    (folder / "count.ys").write_text("\n".join(script) + "\n")
    with (folder / "count.log").open("w") as log:
        subprocess.run(["yosys", "-q", "-l", "yosys.log", "count.ys"], cwd=folder, stdout=log, stderr=log, check=True)
    cells = json.loads((folder / "cells.json").read_text())["design"]["num_cells_by_type"]
    memories = sum(cells.get(name, 0) * luts for name, luts in LUT_MEMORIES.items())
    return {
        "lut": sum(cells.get(name, 0) for name in LUTS) + memories,
        "lut_memory": memories,
        "ff": sum(cells.get(name, 0) for name in FLOPS),
        "bram36": cells.get("RAMB36E1", 0) + cells.get("RAMB18E1", 0) / 2,
        "dsp": cells.get("DSP48E1", 0),
    }


def main(args):
    logging.disable(logging.INFO)
    if args not in ([], ["--project"]):
        print("usage: acorn.py [--project]", file=sys.stderr)
        return 2
    g = geometry.preset("acorn")
    soc, folder = Acorn(g, prepare(g)), OUT / "gateware"
    soc.platform.build(soc, build_dir=str(folder), build_name="acorn", run=False)
    report = {"board": "acorn", "device": DEVICE, "fmax_mhz": None, "clock_mhz": g.clock_mhz}
    if not args:
        used = count(soc, folder)
        report |= used | {"device_share": {kind: round(used[kind] / has, 4) for kind, has in HAS.items()}}
        print(
            f"acorn: {used['lut']} LUT, {used['ff']} FF, {used['bram36']} BRAM36, {used['dsp']} DSP by Yosys, "
            f"without the PCIe block; {OUT.name}/report.json"
        )
    (OUT / "report.json").write_text(json.dumps(report, indent=1) + "\n")
    print(
        "acorn: no bitstream, Vivado has not been run. Left to do: with Vivado (its free edition has this part)\n"
        f"`cd {folder.relative_to(ROOT)} && bash build_acorn.sh`, a look at the timing report, a NAND (docs/boards.md)"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
