# SPDX-License-Identifier: Apache-2.0
"""The streams of `otx_core` as LiteX endpoints, and how an endpoint, an AXI port or pins become Verilog ports.

Field names and widths are those of soc/facts.toml; ports are called `<stream>_valid/_ready/_payload_<field>`.
"""

from litex.soc.interconnect import axi, stream

from opentxssd.facts import layout

CMD, WDATA_REQ, WDATA, RDATA, CPL = map(layout, ("HostCmd", "BlockRef", "WriteBeat", "ReadBeat", "Completion"))
FLASH_OP, FLASH_DONE, PAGE_MOVE, LOG_BLOCK = map(layout, ("FlashOp", "FlashDone", "PageMove", "LogBlock"))
FIRMWARE_OP = [(field, bits) for field, bits in FLASH_OP if field != "priority"]
BLOCK = [("block", 24)]
PAGE = [("ppn", 30)]

# The host port: name, fields, whether the core takes (True) or gives (False).
HOST = [
    ("cmd", CMD, True),
    ("wdata_req", WDATA_REQ, False),
    ("wdata", WDATA, True),
    ("rdata", RDATA, False),
    ("cpl", CPL, False),
]

_AX = ["addr", "id", "len", "size", "burst"]
_AXI = {
    "aw": (_AX, True),
    "w": (["data", "strb", "last"], True),
    "b": (["id", "resp"], False),
    "ar": (_AX, True),
    "r": (["data", "id", "resp", "last"], False),
}


def registers(fields):
    """(register, bits, field, its first bit) of registers of up to 32 bits for these fields; `sequence` needs two, a
    page's number has a whole word.
    """
    found = []
    for field, bits in fields:
        if field == "sequence":
            found += [("seq_lo", 32, field, 0), ("seq_hi", bits - 32, field, 32)]
        else:
            found.append((field, 32 if field == "ppn" else bits, field, 0))
    return found


def endpoint(fields):
    """A LiteX endpoint with these fields; `last` is a field of LiteX' own."""
    return stream.Endpoint([f for f in fields if f[0] != "last"])


def stream_ports(name, ep, fields, taken, bare=None):
    """Instance ports of a stream that the instance takes or gives; `bare`: the one field that is the whole payload."""
    to, back = ("i_", "o_") if taken else ("o_", "i_")
    ports = {f"{to}{name}_valid": ep.valid, f"{back}{name}_ready": ep.ready}
    for field, _ in fields:
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
