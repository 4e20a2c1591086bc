# SPDX-License-Identifier: Apache-2.0
"""The registers of `tb/host_port_top.py` as a test reads and writes them.

`CsrBus(dut, folder).regs.host_<name>` has read() and write() as LiteX' RemoteClient; call them from code under
`cocotb.task.bridge`. `access` is the same for coroutines.
"""

import json
from pathlib import Path

from cocotb.task import resume
from cocotb.triggers import FallingEdge


class Register:
    def __init__(self, bus, address):
        self.bus, self.address = bus, address

    def read(self):
        return resume(self.bus.access)(self.address)

    def write(self, value):
        resume(self.bus.access)(self.address, value)


class CsrBus:
    """One access at a time, three clocks each, as over Wishbone; `gap()` clocks before it make the PC slow."""

    def __init__(self, dut, folder, gap=lambda: 0):
        self.dut, self.gap = dut, gap
        self.map = json.loads((Path(folder) / "registers.json").read_text())
        self.regs = type("Registers", (), {name: Register(self, address) for name, address in self.map.items()})
        dut.csr_we.value = dut.csr_re.value = 0

    async def access(self, address, value=None):
        dut = self.dut
        for _ in range(self.gap() + 1):
            await FallingEdge(dut.clk)
        dut.csr_adr.value = address
        if value is None:
            dut.csr_re.value = 1
        else:
            dut.csr_we.value, dut.csr_dat_w.value = 1, value
        await FallingEdge(dut.clk)
        dut.csr_we.value = dut.csr_re.value = 0
        answer = int(dut.csr_dat_r.value)
        await FallingEdge(dut.clk)
        return answer

    async def get(self, name):
        return await self.access(self.map[f"host_{name}"])

    async def put(self, name, value=1):
        await self.access(self.map[f"host_{name}"], value)
