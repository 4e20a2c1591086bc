# SPDX-License-Identifier: Apache-2.0
"""The processor model of sim/cpu as a LiteX CPU: VexRiscv's address map and firmware, instructions without clocks.

Importing this module makes it known to LiteX.
"""

from litex.soc.cores import cpu
from litex.soc.cores.cpu.vexriscv import VexRiscv
from litex.soc.interconnect import wishbone
from migen import ClockSignal, Instance, ResetSignal, Signal


class ModelCPU(cpu.CPU):
    category, family, name, human_name, variants = "model", "riscv", "otx_model", "RV32IM model", ["standard"]
    data_width, endianness, gcc_triple, linker_output_format = (
        32,
        "little",
        cpu.CPU_GCC_TRIPLE_RISCV32,
        "elf32-littleriscv",
    )
    nop, io_regions, mem_map = (
        "nop",
        VexRiscv.io_regions,
        {"rom": 0x0000_0000, "sram": 0x1000_0000, "main_ram": 0x4000_0000, "csr": 0xF000_0000},
    )

    def __init__(self, platform, variant):
        from soc.soc import MODEL_ROM_BYTES, SRAM_BYTES  # which imports LiteX' list of processors

        self.reset, self.reset_address = Signal(), self.mem_map["rom"]
        self.bus = bus = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        self.periph_buses, self.memory_buses = [bus], []
        ports = {f"o_wb_{f}": getattr(bus, f) for f in ["adr", "dat_w", "sel", "cyc", "stb", "we"]} | {
            f"i_wb_{f}": getattr(bus, f) for f in ["dat_r", "ack", "err"]
        }
        memories = dict(
            p_Rom=self.mem_map["rom"],
            p_RomBytes=MODEL_ROM_BYTES,
            p_Sram=self.mem_map["sram"],
            p_SramBytes=SRAM_BYTES,
        )
        self.specials += Instance(
            "otx_sim_cpu", **memories, i_clk=ClockSignal("sys"), i_reset=ResetSignal("sys") | self.reset, **ports
        )

    def set_reset_address(self, reset_address):
        """The model starts at its ROM."""
        assert reset_address == self.reset_address


cpu.CPUS[ModelCPU.name] = ModelCPU
