# SPDX-License-Identifier: Apache-2.0
"""`nvme_pcie_top.py FOLDER BITS VERILOG`: `NvmeEndpoint` over a PHY that is ports only (FOLDER/pcie_transport_BITS.v),
and FOLDER/nvme_pcie_top_BITS.v: it in front of `otx_nvme`, whose other ports are those of the top.

The PHY's streams are `rx` and `tx` (BITS wide), its other signals PINS. A read that is not answered fails
after TIMEOUT clocks.
"""

import re
import sys
from pathlib import Path

try:
    from litepcie.common import get_bar_mask, phy_layout
    from litex.build.generic_platform import GenericPlatform, Pins, Subsignal
    from litex.gen import LiteXModule
    from litex.soc.interconnect import stream
    from migen import ClockDomain, Signal

    from soc import streams
    from soc.litepcie_nvme import BAR_BYTES, NvmeEndpoint
    from soc.otx_nvme import SIGNALS, TRANSPORT
except ImportError as e:
    sys.exit(f"nvme_pcie_top: {e}; source tools/env.sh first")

TIMEOUT = 1500
PINS = {"id": 16, "max_request_size": 16, "max_payload_size": 16} | dict.fromkeys(
    ("link_up", "bus_master", "msix_enable", "msix_mask"), 1
)
PORT = re.compile(r"^ *(input|output) +(?:wire|reg) +(?:signed +)?(\[\d+:0\])? *(\w+)", re.M)


class Phy:
    def __init__(self, bits):
        self.data_width, self.bar0_mask = bits, get_bar_mask(BAR_BYTES)
        self.sink, self.source = stream.Endpoint(phy_layout(bits)), stream.Endpoint(phy_layout(bits))
        for name, width in PINS.items():
            setattr(self, name, Signal(width))


class Front:
    """otx_nvme's side of the transport."""

    def __init__(self):
        self.transport = {name: streams.endpoint(fields) for name, fields, _, _ in TRANSPORT}
        for name in SIGNALS:
            setattr(self, name, Signal())


class Top(LiteXModule):
    def __init__(self, platform, bits):
        self.cd_sys = ClockDomain("sys")
        self.comb += [self.cd_sys.clk.eq(platform.request("clk")), self.cd_sys.rst.eq(platform.request("reset"))]
        phy, front = Phy(bits), Front()
        self.pcie = NvmeEndpoint(phy, front, platform.request("quiet"), TIMEOUT)
        self.comb += [getattr(phy, name).eq(platform.request(name)) for name in PINS]
        self.comb += [platform.request(f"nvme_{name}").eq(getattr(front, name)) for name in SIGNALS]
        for name, fields, taken, bare in joints(bits):
            ep = {"rx": phy.source, "tx": phy.sink}.get(name) or front.transport[name]
            pads = platform.request(name)
            to, of = (ep, pads) if taken else (pads, ep)
            self.comb += [to.valid.eq(of.valid), of.ready.eq(to.ready)]
            for field, _ in fields:
                inner, outer = getattr(ep, field), getattr(pads, payload(field, bare))
                self.comb += inner.eq(outer) if taken else outer.eq(inner)


def joints(bits):
    """Name, fields, whether the transport takes, the field that is the whole payload, of its streams."""
    phy = [("dat", bits), ("be", bits // 8), ("last", 1)]
    return [("rx", phy, True, None), ("tx", phy, False, None)] + [
        (name, fields, not taken, bare) for name, fields, taken, bare in TRANSPORT
    ]


def payload(field, bare):
    return "payload" if field == bare else f"payload_{field}"


def keep(path, text):
    text = "".join(line + "\n" for line in text.splitlines() if not line.lstrip().startswith("//"))
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def transport(bits):
    io = [(name, 0, Pins(1)) for name in ("clk", "reset", "quiet", *(f"nvme_{name}" for name in SIGNALS))]
    io += [(name, 0, Pins(width)) for name, width in PINS.items()]
    for name, fields, _, bare in joints(bits):
        signals = [("valid", 1), ("ready", 1)] + [(payload(field, bare), width) for field, width in fields]
        io.append((name, 0, *(Subsignal(field, Pins(width)) for field, width in signals)))
    platform = GenericPlatform("sim", io, name="pcie_transport")
    return str(platform.get_verilog(Top(platform, bits), name=f"pcie_transport_{bits}"))


def ports(text, module):
    """{port: (direction, range)} of a module."""
    head = text[re.search(rf"^module {module}\b", text, re.M).end() :]
    found = PORT.findall(head[: head.index(");")])
    assert found, f"no ports of {module}"
    return {name: (direction, bits) for direction, bits, name in found}


def wrapper(bits, both):
    """The two modules joined: ports of one name are one net, and ports of the top unless one drives the other."""
    nets, inner = {}, {f"nvme_{name}": f"nvme_{name}" for name in SIGNALS}
    for module, found in both.items():
        for name, (direction, width) in found.items():
            net = name if module != "otx_nvme" or name not in SIGNALS else f"nvme_{name}"
            nets.setdefault(net, []).append((module, name, direction, width))
    declared, wires = [], []
    for net, ends in nets.items():
        directions = {end[2] for end in ends}
        if len(directions) == 2 and net not in ("quiet",):
            wires.append(f"  wire {ends[0][3]} {net};")
        else:
            declared.append(f"  {'output' if 'output' in directions else 'input'} wire {ends[0][3]} {net}")
    assert set(inner) <= set(nets)
    instances = [
        f"  {module} {module} ("
        + ", ".join(f".{name}({net})" for net, ends in nets.items() for m, name, *_ in ends if m == module)
        + ");"
        for module in both
    ]
    head = f"module nvme_pcie_top_{bits} (\n" + ",\n".join(declared) + "\n);"
    return "\n".join([head, *wires, *instances, "endmodule"])


def generate(folder, bits, verilog):
    folder.mkdir(parents=True, exist_ok=True)
    name, text, nvme = f"pcie_transport_{bits}", transport(bits), verilog.read_text()
    keep(folder / f"{name}.v", text)
    both = {name: ports(text, name), "otx_nvme": ports(nvme, "otx_nvme")}
    keep(folder / f"nvme_pcie_top_{bits}.v", wrapper(bits, both))


if __name__ == "__main__":
    generate(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
