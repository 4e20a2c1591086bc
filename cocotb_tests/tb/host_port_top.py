# SPDX-License-Identifier: Apache-2.0
"""`host_port_top.py FOLDER`: `soc/host_port.py` as FOLDER/host_port_top.v, its CSR bus and the core's streams as ports;
registers.json: register -> word address.
"""

import json
import sys
from pathlib import Path

try:
    from litex.build.generic_platform import GenericPlatform, Pins, Subsignal
    from litex.gen import LiteXModule
    from litex.soc.interconnect import csr_bus
    from migen import ClockDomain

    from soc import streams
    from soc.host_port import HostPort
except ImportError as e:
    sys.exit(f"host_port_top: {e}; source tools/env.sh first")


class Top(LiteXModule):
    def __init__(self, platform):
        self.cd_sys = ClockDomain("sys")
        self.comb += [self.cd_sys.clk.eq(platform.request("clk")), self.cd_sys.rst.eq(platform.request("reset"))]
        core = {name: streams.endpoint(layout) for name, layout, _ in streams.HOST}
        for name, layout, taken in streams.HOST:
            pads, ep = platform.request(name), core[name]
            to, back = ((ep, pads), (pads, ep)) if taken else ((pads, ep), (ep, pads))
            self.comb += [to[1].valid.eq(to[0].valid), back[1].ready.eq(back[0].ready)]
            for field, _ in layout:
                pad, inner = getattr(pads, f"payload_{field}"), getattr(ep, field)
                self.comb += pad.eq(inner) if taken else inner.eq(pad)
        self.host = HostPort(core)
        self.bank = csr_bus.CSRBank(self.host.get_csrs(), bus=csr_bus.Interface(data_width=32))
        pads = platform.request("csr")
        self.comb += [self.bank.bus.adr.eq(pads.adr), self.bank.bus.we.eq(pads.we), self.bank.bus.re.eq(pads.re)]
        self.comb += [self.bank.bus.dat_w.eq(pads.dat_w), pads.dat_r.eq(self.bank.bus.dat_r)]


def generate(folder):
    bus = [("adr", 14), ("we", 1), ("re", 1), ("dat_w", 32), ("dat_r", 32)]
    io = [("clk", 0, Pins(1)), ("reset", 0, Pins(1)), ("csr", 0, *(Subsignal(n, Pins(w)) for n, w in bus))]
    for name, layout, _ in streams.HOST:
        io.append(
            (
                name,
                0,
                *(
                    Subsignal(n, Pins(w))
                    for n, w in [("valid", 1), ("ready", 1)] + [(f"payload_{f}", w) for f, w in layout]
                ),
            )
        )
    platform = GenericPlatform("sim", io, name="host_port_top")
    top = Top(platform)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    text = str(platform.get_verilog(top, name="host_port_top"))
    # the head holds the date
    text = "".join(line + "\n" for line in text.splitlines() if not line.lstrip().startswith("//"))
    path = folder / "host_port_top.v"
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
    registers = top.host.get_csrs()
    assert len(registers) == len(top.bank.simple_csrs), "a register of more than 32 bits"
    (folder / "registers.json").write_text(json.dumps({f"host_{c.name}": n for n, c in enumerate(registers)}))


if __name__ == "__main__":
    generate(sys.argv[1])
