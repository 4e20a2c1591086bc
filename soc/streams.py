# SPDX-License-Identifier: Apache-2.0
"""The streams of `otx_core` as LiteX endpoints, and how an endpoint, an AXI port or pins become Verilog ports.

Field names and widths are those of docs/interfaces.md; ports are called `<stream>_valid/_ready/_payload_<field>`.
"""

from litex.soc.interconnect import axi, stream

CMD = [
    ("opcode", 8),
    ("lba", 32),
    ("count", 16),
    ("txid", 8),
    ("hasTx", 1),
    ("fua", 1),
    ("commit", 1),
    ("relaxed", 1),
    ("barrier", 1),
    ("order", 2),
    ("stream", 16),
    ("tag", 5),
    ("arg", 32),
]
WDATA_REQ = [("tag", 5), ("block", 5)]
WDATA = [("data", 64), ("last", 1)]
RDATA = [("tag", 5), ("block", 5), ("data", 64), ("last", 1)]
CPL = [("tag", 5), ("status", 4), ("result", 32)]
FLASH_OP = [("op", 4), ("ppn", 30), ("frame", 16), ("kind", 8), ("lpn", 32), ("sequence", 48), ("cookie", 16)]
FLASH_DONE = [("cookie", 16), ("status", 3), ("kind", 8), ("generation", 32), ("lpn", 32), ("sequence", 48)]
BLOCK = [("block", 24)]
PAGE = [("ppn", 30)]
PAGE_MOVE = [("lpn", 32), ("source", 30), ("target", 30), ("sequence", 48)]
LOG_BLOCK = [("lane", 2), ("block", 24)]

# The host port: name, fields, whether the core takes (True) or gives (False).
HOST = [("cmd", CMD, True), ("wdata_req", WDATA_REQ, False), ("wdata", WDATA, True), ("rdata", RDATA, False), ("cpl", CPL, False)]

_AX = ["addr", "id", "len", "size", "burst"]
_AXI = {"aw": (_AX, True), "w": (["data", "strb", "last"], True), "b": (["id", "resp"], False), "ar": (_AX, True), "r": (["data", "id", "resp", "last"], False)}


def endpoint(layout):
    """A LiteX endpoint with these fields; `last` is a field of LiteX' own."""
    return stream.Endpoint([f for f in layout if f[0] != "last"])


def stream_ports(name, ep, layout, taken, bare=None):
    """Instance ports of a stream that the instance takes or gives; `bare`: the one field that is the whole payload."""
    to, back = ("i_", "o_") if taken else ("o_", "i_")
    ports = {f"{to}{name}_valid": ep.valid, f"{back}{name}_ready": ep.ready}
    for field, _ in layout:
        port = f"{name}_payload" if field == bare else f"{name}_payload_{field}"
        ports[to + port] = getattr(ep, field)
    return ports


def axi_port(id_width, data_width=64):
    return axi.AXIInterface(data_width=data_width, address_width=32, id_width=id_width)


def axi_channels():
    """Channel -> (its fields that we use, whether the master gives them)."""
    return _AXI


def axi_ports(name, bus, master=True, payload="_payload"):
    """Instance ports of an AXI4 port of which the instance is the master (or the slave)."""
    ports = {}
    for channel, (fields, forward) in _AXI.items():
        out = forward == master
        to, back = ("o_", "i_") if out else ("i_", "o_")
        ch = getattr(bus, channel)
        ports |= {f"{to}{name}_{channel}_valid": ch.valid, f"{back}{name}_{channel}_ready": ch.ready}
        ports |= {f"{to}{name}_{channel}{payload}_{f}": getattr(ch, f) for f in fields}
    return ports


def nand_layout(g):
    """Pins of all channels: name, width, whether the core drives them."""
    c, d = g.channels, g.dies
    return [
        ("ce_n", d, True),
        ("rb_n", d, False),
        ("cle", c, True),
        ("ale", c, True),
        ("we_n", c, True),
        ("re_n", c, True),
        ("wp_n", c, True),
        ("dq_o", 8 * c, True),
        ("dq_oe", c, True),
        ("dq_i", 8 * c, False),
    ]
