# SPDX-License-Identifier: Apache-2.0
"""Histories as a person writes them: judge/cases/*.txt. A case is a line that begins in the first column, its events
follow, indented, several a line with `;`:

    refuse 2: a READ sees half of a WRITE             (or `accept: ...`; the number is the guarantee that the judge must
                                                      name first or beside others)
      1 WRITE 3 11 12; 2 READ 3 = 11 12               id, op, LBA, stamps: submitted and completed at once
      +3 WRITE 3 21 22; +4 READ 3 2; -4 = 21 12; -3   `+` submitted, `-` completed (SUCCESS, or the status named)
      5 TRIM 3 2 tx=1 ; 6 COMMIT tx=1 relaxed         LBA and number of blocks; tx=, fua, commit, relaxed
      cut; up; off; up read-only; damage data 3       x in `= 1 x` is a block that was not delivered

All drives have 64 blocks; a line `header entries=4` as the first event changes the first line.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from judge.format import FLAGS, OPS, STATUSES

CASES = Path(__file__).resolve().parent / "cases"
TITLE = re.compile(r"(?:refuse (\d+)|(accept)): (.+)")


@dataclass
class Case:
    """`guarantee`: the one to be named, None: the history is good."""

    file: str
    words: str
    guarantee: int | None
    events: list


def numbers(words):
    return [{"x": None}.get(w, w) if w == "x" else int(w) for w in words]


def command(ident, words):
    """The submit event of `WRITE 3 11 12 fua`."""
    event = {"e": "submit", "id": ident, "op": words[0]}
    plain = []
    for word in words[1:]:
        if word in FLAGS:
            event[word] = 1
        elif "=" in word:
            name, value = word.split("=")
            event[name] = int(value)
        else:
            plain.append(int(word))
    if plain:
        event["lba"] = plain[0]
        if words[0] == "WRITE":
            event["data"] = plain[1:]
            event["n"] = len(plain) - 1
        elif len(plain) > 1:
            event["n"] = plain[1]
    return event


def event(text):
    """The events of one piece of text."""
    words = text.split()
    first = words[0]
    if words == ["cut", "plp"]:
        return [{"e": "cut", "plp": True}]
    if first in ("cut", "off"):
        return [{"e": first}]
    if first == "up":
        up = {"e": "up", "mode": "open"}
        for word in words[1:]:
            if "=" in word:
                name, value = word.split("=")
                up[name] = int(value)
            else:
                up["mode"] = word
        return [up]
    if first == "damage":
        return [{"e": "damage", "what": words[1], **({"lba": int(words[2])} if len(words) > 2 else {})}]
    shown = None
    if "=" in words:
        at = words.index("=")
        words, shown = words[:at], numbers(words[at + 1 :])
    status = "SUCCESS"
    if words[-1] in STATUSES:
        status = words.pop()
    ident = int(first.lstrip("+-"))
    done = {"e": "done", "id": ident, "status": status}
    if shown is not None:
        done["data"] = shown
    if first.startswith("-"):
        return [done]
    if words[1] not in OPS:
        raise ValueError(text)
    submit = command(ident, words[1:])
    if first.startswith("+"):
        return [submit]
    if shown is not None and "n" not in submit:
        submit["n"] = len(shown)
    return [submit, done]


def cases():
    """All cases, by file."""
    found = []
    for path in sorted(CASES.glob("*.txt")):
        for line in path.read_text().splitlines():
            if not line.strip() or line.startswith("#"):
                continue
            title = TITLE.fullmatch(line)
            if title:
                found.append(
                    Case(path.stem, title[3], int(title[1]) if title[1] else None, [{"history": 1, "lbas": 64}])
                )
            elif not line.startswith(" "):
                raise ValueError(f"{path.name}: {line}")
            else:
                for piece in line.split(";"):
                    if piece.strip().startswith("header"):
                        for word in piece.split()[1:]:
                            name, value = word.split("=")
                            found[-1].events[0][name] = int(value)
                    elif piece.strip():
                        found[-1].events += event(piece)
    return found
