# SPDX-License-Identifier: Apache-2.0
"""The history format (docs/reference/history.md): one JSON object per line, read strictly.

`events(lines)` yields the objects of a file; `check(event, line)` refuses, with `Malformed` and the line's number, what
is no event of the format. What it cannot see from one line alone (an id used twice, a stamp used twice, a command while
the drive is off) the judge refuses in the same way.
"""

import json

OPS = frozenset(
    "FLUSH WRITE READ WRITE_ZEROES TRIM BEGIN COMMIT ABORT BARRIER RECOVER QUERY PREPARE RFLUSH CHECKPOINT".split()
)
STATUSES = frozenset(
    (
        "SUCCESS INVALID_OPCODE INVALID_FIELD LBA_RANGE TX_INVALID TX_BUSY TX_FULL TX_CONFLICT MEDIA_ERROR "
        "WRITE_FAULT CAPACITY READ_ONLY ABORTED NOT_READY"
    ).split()
)
MODES = frozenset(("open", "read-only", "closed"))
DAMAGE = frozenset(("data", "log", "root", "map", "other"))
FLAGS = ("fua", "commit", "relaxed", "barrier", "orderless")
RANGED = frozenset(("READ", "WRITE", "WRITE_ZEROES", "TRIM"))
NUMBERS = ("lba", "n", "tx", "t", "arg", "stream", "priority")


class Malformed(Exception):
    """A file that is no history. `line` counts from 1."""

    def __init__(self, line, words):
        super().__init__(f"line {line}: {words}")
        self.line = line


def events(lines):
    """The JSON objects of `lines` (text), without a judgement of their contents."""
    for number, text in enumerate(lines, 1):
        try:
            yield json.loads(text)
        except ValueError as wrong:
            raise Malformed(number, f"no JSON ({wrong})") from None


def whole(value, least=0):
    return type(value) is int and value >= least


def header(event, line):
    if type(event) is not dict or event.get("history") != 1:
        raise Malformed(line, 'a history begins with {"history": 1, "lbas": N}')
    if not whole(event.get("lbas"), 1):
        raise Malformed(line, '"lbas" of the first line is a number of blocks, 1 or more')
    for key in ("txids", "entries"):
        if key in event and not whole(event[key], 1):
            raise Malformed(line, f'"{key}" of the first line is a number of 1 or more')
    for key in ("unreadable", "failing"):
        if event.get(key, False) not in (True, False):
            raise Malformed(line, f'"{key}" of the first line is true or false')


def check(event, line):
    """Returns the kind of event; `submit` and `done` are looked at closely."""
    if type(event) is not dict:
        raise Malformed(line, "an event is a JSON object")
    kind = event.get("e")
    if kind == "submit":
        submit(event, line)
    elif kind == "done":
        done(event, line)
    elif kind == "up":
        if event.get("mode") not in MODES:
            raise Malformed(line, '"mode" of an up is "open", "read-only" or "closed"')
        for key in ("dropped", "log_pages", "doubtful"):
            if key in event and event[key] is not None and not whole(event[key]):
                raise Malformed(line, f'"{key}" of an up is a number')
    elif kind == "damage":
        if event.get("what") not in DAMAGE:
            raise Malformed(line, f'"what" of a damage is one of {", ".join(sorted(DAMAGE))}')
        if event["what"] == "data" and not whole(event.get("lba")):
            raise Malformed(line, 'damage of data names its "lba"')
    elif kind not in ("cut", "off", "note"):
        raise Malformed(line, f"unknown event {kind!r}")
    return kind


def submit(event, line):
    op = event.get("op")
    if op not in OPS:
        raise Malformed(line, f"unknown op {op!r}")
    if type(event.get("id")) is not int:
        raise Malformed(line, 'a submit has an "id", a number')
    for key in NUMBERS:
        if key in event and not whole(event[key]):
            raise Malformed(line, f'"{key}" is a number of 0 or more')
    for key in FLAGS:
        if key in event and event[key] not in (0, 1):
            raise Malformed(line, f'"{key}" is 0 or 1')
    if op in RANGED and ("lba" not in event and "n" in event):
        event["lba"] = 0
    data = event.get("data")
    if op == "WRITE":
        if type(data) is not list or len(data) != event.get("n", 0):
            raise Malformed(line, 'a WRITE has "data" with one stamp per block')
        for stamp in data:
            if type(stamp) is not int or stamp < 1:
                raise Malformed(line, f"a stamp is a number of 1 or more, not {stamp!r}")
        if len(data) > 1 and len(set(data)) != len(data):
            raise Malformed(line, "a stamp is used by one block only")
    elif data is not None:
        raise Malformed(line, f"a {op} has no data when it is submitted")


def done(event, line):
    if type(event.get("id")) is not int:
        raise Malformed(line, 'a done has an "id", a number')
    if event.get("status") not in STATUSES:
        raise Malformed(line, f"unknown status {event.get('status')!r}")
    data = event.get("data")
    if data is not None:
        if type(data) is not list:
            raise Malformed(line, '"data" of a done is a list')
        for stamp in data:
            if stamp is not None and (type(stamp) is not int or stamp < -1):
                raise Malformed(line, f"a block read is a stamp, 0, -1 or null, not {stamp!r}")
