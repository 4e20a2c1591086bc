# SPDX-License-Identifier: Apache-2.0
"""Numbers that the drive and whoever speaks to it agree on, read from facts.toml: in the repository that is
soc/facts.toml, which hardware and firmware are made of.

A group of values is an IntEnum, `NAME.WHAT.__doc__` says what it is; sizes and counts are plain numbers; `layout` has
the fields of a stream or record.
"""

import tomllib
from enum import IntEnum
from pathlib import Path

_TABLE = tomllib.loads((Path(__file__).parent / "facts.toml").read_text())


def _enum(name):
    group = _TABLE["group"][name]
    found = IntEnum(name, {value: number for value, (number, *_) in group["values"].items()}, module=__name__)
    found.__doc__ = f"{group['about']}."
    for value, (_, *words) in group["values"].items():
        found[value].__doc__ = "; ".join(filter(None, words))
    return found


NUMBER = {name: number for name, (number, _) in _TABLE["number"]["values"].items()}
BLOCK, BEATS, TAGS, TXIDS, MAX_BLOCKS = (NUMBER[name] for name in ("BLOCK", "BEATS", "TAGS", "TXIDS", "MAX_BLOCKS"))

Opcode, Status, Query, HealthWord = _enum("Opcode"), _enum("Status"), _enum("Query"), _enum("HealthWord")
WordKind, TxState, RemapOpcode, TxOpcode = _enum("WordKind"), _enum("TxState"), _enum("RemapOpcode"), _enum("TxOpcode")
Order, Priority, PersistOrder = _enum("Order"), _enum("Priority"), _enum("PersistOrder")
LogKind, LogFlag, Format, MapOpcode = _enum("LogKind"), _enum("LogFlag"), _enum("Format"), _enum("MapOpcode")
NandOp, NandFeature, PageStatus, PageKind = (
    _enum("NandOp"),
    _enum("NandFeature"),
    _enum("PageStatus"),
    _enum("PageKind"),
)

NvmeOpcode, NvmeStatus, NvmeEvent = _enum("NvmeOpcode"), _enum("NvmeStatus"), _enum("NvmeEvent")


def has_answer(arg):
    """Whether QUERY has such a number."""
    return arg <= Query.DOUBTFUL or arg // 32 == Query.HEALTH // 32


def word(kind, value):
    """A map word."""
    return kind << NUMBER["WORD_VALUE_BITS"] | value


def layout(name):
    """[(field, bits)] of a stream or a record, from bit 0 on; a field without a name is 0."""
    return [(field, bits) for field, bits, *_ in _TABLE["layout"][name]["fields"]]


def ports(name):
    """Names of the payload's ports of a stream: a map word has two."""
    words = ((field, how) for field, _, *how in _TABLE["layout"][name]["fields"])
    return [
        port for field, how in words for port in ([f"{field}_kind", f"{field}_value"] if how == ["Word"] else [field])
    ]


def magic(name):
    """The first bytes of a record."""
    return _TABLE["layout"][name]["magic"].encode()


def pack(name, **fields):
    """The bytes of a record with these fields, 0 where none is given."""
    number, at = 0, 0
    for field, bits in layout(name):
        value = fields.get(field, 0) if field else 0
        if not 0 <= value < 1 << bits:
            raise ValueError(f"{field} of {name} is {value}, must fit in {bits} bits")
        number, at = number | value << at, at + bits
    return number.to_bytes(at // 8, "little")


def unpack(name, raw):
    """{field: number} of the bytes of a record."""
    number, at, found = int.from_bytes(raw, "little"), 0, {}
    for field, bits in layout(name):
        if field:
            found[field] = number >> at & (1 << bits) - 1
        at += bits
    return found
