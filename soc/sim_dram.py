# SPDX-License-Identifier: Apache-2.0
"""`python3 soc/sim_dram.py`: the simulation SoC of preset tiny below build/dram/, with the ECPIX-5's memory in place of
the ideal ones.

CPU and core reach table and frame memory through LiteDRAM's ports as on the board (`Ecpix5.add_memory`), and the
firmware initialises and levels the memory as there. Below LiteDRAM is its own DFI-level model of a DDR3 part;
`LeveledPhy` puts the read levelling registers of ECP5DDRPHY before it, with one window for each byte lane.
It shows commands, order of words and levelling, not the times of pins. Wrong arguments: one line, exit code 2.
"""

import logging
import sys
from functools import reduce
from operator import or_
from pathlib import Path

try:
    from litedram.common import PhySettings, get_default_cl, get_default_cwl, get_sys_latency, get_sys_phase
    from litedram.phy.dfi import Interface
    from litedram.phy.model import SDRAMPHYModel
    from litex.gen import LiteXModule
    from litex.soc.interconnect.csr import CSR, CSRStatus, CSRStorage
    from migen import Array, ClockSignal, If, Instance, Signal

    from soc import geometry, sim
    from soc.boards.ecpix5 import Ddr3, Ecpix5
except ImportError as e:
    sys.exit(f"sim_dram: {e}; source tools/env.sh first")

ROOT = Path(__file__).resolve().parent.parent

OUT = ROOT / "build" / "dram"
HALF = 64 << 20
LANES, PHASES, BURST = 2, 2, 8
# Byte lane -> (bitslip, first delay, last delay) at which reads are right.
WINDOWS = [(1, 2, 5), (3, 0, 2)]


class Ddr3Small(Ddr3):
    """The board's part with an eighth of its rows, so that the two halves fit into the simulator's memory."""

    nrows = 8192


def phy_settings(clk_freq):
    """Those of ECP5DDRPHY at this clock."""
    tck = 1 / (PHASES * clk_freq)
    cl, cwl = get_default_cl("DDR3", tck), get_default_cwl("DDR3", tck)
    cl_sys, cwl_sys = get_sys_latency(PHASES, cl), get_sys_latency(PHASES, cwl)
    return PhySettings(
        phytype="ECP5DDRPHY",
        memtype="DDR3",
        databits=8 * LANES,
        dfi_databits=32 * LANES,
        nranks=1,
        nphases=PHASES,
        rdphase=get_sys_phase(PHASES, cl_sys, cl),
        wrphase=get_sys_phase(PHASES, cwl_sys, cwl),
        cl=cl,
        cwl=cwl,
        read_latency=cl_sys + 10,
        write_latency=cwl_sys,
        read_leveling=True,
        bitslips=4,
        delays=8,
    )


class LeveledPhy(LiteXModule):
    """`model` behind the read levelling registers of ECP5DDRPHY: outside of its window a lane gives every byte one
    place late.

    `fault`, bit l: lane l has no window. Bit 8: row address line 12 is stuck at 0. Bit 9: reads always have bit 3 of
    lane 0 clear.
    """

    def __init__(self, model, fault):
        self._dly_sel = CSRStorage(LANES)
        self._rdly_dq_rst = CSR()
        self._rdly_dq_inc = CSR()
        self._rdly_dq_bitslip_rst = CSR()
        self._rdly_dq_bitslip = CSR()
        self._burstdet_clr = CSR()
        self._burstdet_seen = CSRStatus(LANES)
        self.model, self.settings = model, model.settings
        geometry_of = model.module.geom_settings
        self.dfi = Interface(geometry_of.addressbits, geometry_of.bankbits, 1, 32 * LANES, PHASES)

        for up, down in zip(self.dfi.phases, model.dfi.phases, strict=True):
            # the model raises valid in its first phase only, the ECP5's in all: the registers by which levelling reads
            # need all
            self.comb += [
                up.connect(down, omit={"rddata", "rddata_valid", "address"}),
                up.rddata_valid.eq(model.dfi.phases[0].rddata_valid),
            ]
            row = ~down.ras_n & down.cas_n & down.we_n
            self.comb += down.address.eq(up.address & ~((fault[8] & row) << 12))
        reading = reduce(or_, [p.rddata_en for p in self.dfi.phases])
        for lane, (bitslip, first, last) in enumerate(WINDOWS):
            delay, slip, inside = Signal(3), Signal(2), Signal()
            selected, seen = self._dly_sel.storage[lane], self._burstdet_seen.status[lane]
            self.sync += [
                If(selected & self._rdly_dq_inc.re, delay.eq(delay + 1)),
                If(selected & self._rdly_dq_rst.re, delay.eq(0)),
                If(selected & self._rdly_dq_bitslip.re, slip.eq(slip + 1)),
                If(selected & self._rdly_dq_bitslip_rst.re, slip.eq(0)),
                If(reading & inside, seen.eq(1)).Elif(self._burstdet_clr.re, seen.eq(0)),
            ]
            self.comb += inside.eq((delay >= first) & (delay <= last) & ~fault[lane])
            places = [(p, 16 * n + 8 * lane) for p in range(PHASES) for n in range(BURST // PHASES)]
            bytes_ = [model.dfi.phases[p].rddata[at : at + 8] for p, at in places]
            for n, (p, at) in enumerate(places):
                right = bytes_[n] & ~(fault[9] << 3) if lane == 0 else bytes_[n]
                self.comb += (
                    self.dfi.phases[p]
                    .rddata[at : at + 8]
                    .eq(Array([bytes_[(n + 1) % BURST], right])[inside & (slip == bitslip)])
                )


class DramSoC(sim.SimSoC):
    def __init__(self, g):
        super().__init__(g)
        self.platform.add_source(str(ROOT / "sim/otx_sim_dram_fault.sv"))

    def add_memory(self, name, port, base, size, latency):
        if not hasattr(self, "sdram"):
            clk_freq, fault = self.geometry.clock_mhz * 1_000_000, Signal(32)
            module = Ddr3Small(clk_freq, "1:2")
            model = SDRAMPHYModel(module, phy_settings(clk_freq), clk_freq=clk_freq)
            self.specials += Instance("otx_sim_dram_fault", i_clk=ClockSignal("sys"), o_fault=fault)
            self.ddrphy = LeveledPhy(model, fault)
            self.add_sdram("sdram", phy=self.ddrphy, module=module, with_soc_interconnect=False)
        Ecpix5.add_memory(self, name, port, base, size, {"table": 0, "frame": HALF}[name], HALF)


def main(args):
    logging.disable(logging.INFO)
    if args:
        print("usage: sim_dram.py", file=sys.stderr)
        return 2
    sim.generate(geometry.preset("tiny"), OUT, DramSoC)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
