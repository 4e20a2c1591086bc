# SPDX-License-Identifier: Apache-2.0
"""The drive's SoC: VexRiscv, ROM with the firmware, SRAM, UART, timer and the core. Simulation and boards derive from
it.

The two memories are the deriving class' business: it connects `otx.table` and `otx.frame` and calls `memory_region` so
that the CPU sees them at the addresses the geometry names. The CPU's data cache holds nothing at or above 80000000h,
where they are, so what it writes there is what the core reads. Nothing here is preset-specific.
"""

from pathlib import Path

from litedram.init import get_sdram_phy_c_header
from litex.soc.integration import export
from litex.soc.integration.soc import SoCRegion
from litex.soc.integration.soc_core import SoCCore

from soc import streams
from soc.otx_core import OtxCore
from soc.otx_nvme import OtxNvme

ROM_BYTES, SRAM_BYTES = 96 * 1024, 32 * 1024
MODEL_ROM_BYTES = 128 * 1024  # of the simulated SoC: with room for the administration of an NVMe front end


class OtxSoC(SoCCore):
    def __init__(self, platform, g, clk_freq, cpu_type="vexriscv", cpu_variant="standard", **kwargs):
        super().__init__(platform, clk_freq, cpu_type=cpu_type, cpu_variant=cpu_variant, ident="", **kwargs)
        self.geometry = g
        self.otx = OtxCore(g)
        if g.front_end == "nvme":
            self.nvme = OtxNvme(self.otx.host)

    def memory_region(self, name, origin, size, bus):
        """Maps a Wishbone slave for the CPU; regions are powers of two."""
        self.bus.add_slave(
            name, bus, SoCRegion(origin=origin, size=1 << (size - 1).bit_length(), mode="rw", cached=False)
        )

    def connect_nand(self, pads):
        """Core to pins, or to a record of pin signals."""
        for name, _, driven in streams.nand_layout(self.geometry):
            pad, pin = getattr(pads, name), self.otx.nand[name]
            self.comb += pad.eq(pin) if driven else pin.eq(pad)


def write_includes(soc, outdir):
    """What the firmware needs to know about the SoC: csr.h, mem.h, soc.h, regions.ld, with LiteDRAM also sdram_phy.h.

    Call after the SoC is finalized.
    """
    out = Path(outdir)
    out.mkdir(parents=True, exist_ok=True)
    csr = export.get_csr_header(
        regions=soc.csr_regions,
        constants=soc.constants,
        csr_base=soc.mem_regions["csr"].origin,
        with_access_functions=True,
    )
    files = [
        ("csr.h", csr),
        ("mem.h", export.get_mem_header(soc.mem_regions)),
        ("soc.h", export.get_soc_header(soc.constants)),
        ("regions.ld", export.get_linker_regions(soc.mem_regions)),
    ]
    if hasattr(soc, "sdram"):
        settings = soc.sdram.controller.settings
        files.append(("sdram_phy.h", get_sdram_phy_c_header(settings.phy, settings.timing, settings.geom)))
    for name, text in files:
        path = out / name
        text = "".join(line + "\n" for line in text.splitlines() if "Auto-generated" not in line)  # it holds the date
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
