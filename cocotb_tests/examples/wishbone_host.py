# SPDX-License-Identifier: Apache-2.0
"""The host pins of an example's SoC as a bus: `regs.NAME.read()/write()`, `read(address)`, `write(address, words)`, as
LiteX' RemoteClient has them.

Call them from code under `cocotb.task.bridge`; `access` is the same for coroutines. One access at a time; one that is
not answered in 1,000 clocks is an error.
"""

import json
from pathlib import Path

from cocotb.task import resume
from cocotb.triggers import FallingEdge, RisingEdge


class Register:
    """Of one word or more; the first word is the highest."""

    def __init__(self, bus, address, words):
        self.bus, self.address, self.words = bus, address, words

    def read(self):
        return int.from_bytes(
            b"".join(self.bus.read(self.address + 4 * n).to_bytes(4, "big") for n in range(self.words)), "big"
        )

    def write(self, value):
        self.bus.write(self.address, [value >> 32 * n & 0xFFFFFFFF for n in reversed(range(self.words))])


class WishboneHost:
    def __init__(self, dut, csr_json):
        self.dut, self.accesses = dut, 0
        self.map = json.loads(Path(csr_json).read_text())
        self.regs = type(
            "Registers",
            (),
            {name: Register(self, r["addr"], r["size"]) for name, r in self.map["csr_registers"].items()},
        )
        for pin in ("cyc", "stb", "we", "cti", "bte"):
            getattr(dut, f"host_{pin}").value = 0
        dut.host_sel.value = 15

    def read(self, address):
        return resume(self.access)(address)

    def write(self, address, words):
        resume(self.fill)(address, words)

    async def fill(self, address, words):
        for n, word in enumerate(words):
            await self.access(address + 4 * n, word)

    async def access(self, address, value=None):
        dut = self.dut
        self.accesses += 1
        await FallingEdge(dut.clk)
        dut.host_adr.value, dut.host_we.value = address >> 2, int(value is not None)
        dut.host_dat_w.value = value or 0
        dut.host_cyc.value = dut.host_stb.value = 1
        for _ in range(1_000):
            await RisingEdge(dut.clk)
            if int(dut.host_ack.value):
                break
        else:
            raise AssertionError(f"no answer from {address:#x}")
        assert not int(dut.host_err.value), f"an error from {address:#x}"
        got = int(dut.host_dat_r.value)
        await FallingEdge(dut.clk)
        dut.host_cyc.value = dut.host_stb.value = 0
        return got
