# SPDX-License-Identifier: Apache-2.0
"""`block_pictures.py [--write]`: a picture of each block with its streams, docs/interfaces/*.svg, drawn from the tables
of streams on the block's page.

Rows that begin "| `name`, `name` in |" (or out, "in and out", "`a` out / `b` in") are streams. Without `--write` it
says with exit code 1 which picture shows something else; with it they are brought up to date. Wrong arguments: one
line, exit code 2.
"""

import re
import sys
from pathlib import Path

PAGES = Path(__file__).resolve().parent.parent / "docs/interfaces"
BLOCKS = {
    "host-port": "host port",
    "command-queue": "command queue",
    "remap-engine": "remap engine",
    "commit-log": "commit log",
    "flash-scheduler": "flash scheduler",
    "nand-channel": "NAND channel",
    "firmware-port": "firmware port",
    "nvme": "NVMe front end",
}
ROW, SIDE, BOX, TOP = 22, 200, 190, 16  # pixels


def streams(page):
    """(names that come in, names that go out), in the order of the page."""
    sides = {"in": [], "out": []}
    for cell in re.findall(r"^\| ([^|]*\b(?:in|out)) *\|", page, re.M):
        names, open_list = [], True
        for word in re.findall(r"\w+", cell):
            if word in sides:
                sides[word] += [name for name in names if name not in sides[word]]
                open_list = False
            elif word != "and":
                names, open_list = [*names, word] if open_list else [word], True
    return sides["in"], sides["out"]


def arrow(x, y, name):
    return [
        f'<line x1="{x}" y1="{y}" x2="{x + SIDE - 8}" y2="{y}" stroke="#24578a" stroke-width="1.3"/>',
        f'<polygon points="{x + SIDE - 8},{y - 4} {x + SIDE},{y} {x + SIDE - 8},{y + 4}" fill="#24578a"/>',
        f'<text x="{x + SIDE / 2 - 4}" y="{y - 4}" text-anchor="middle">{name}</text>',
    ]


def draw(title, page):
    """An SVG: what comes in on the left, what goes out on the right."""
    came, goes = streams(page)
    rows = max(len(came), len(goes))
    width, height, box = 2 * SIDE + BOX + 20, 2 * TOP + ROW * rows + 10, 10 + SIDE
    out = [f'<rect width="{width}" height="{height}" fill="#fff"/>']
    out += [f'<rect x="{box}" y="{TOP - 6}" width="{BOX}" height="{ROW * rows + 18}" fill="#eef3f8" stroke="#24578a"/>']
    out += [f'<text x="{box + BOX / 2}" y="{height / 2 + 4}" text-anchor="middle" font-size="14">{title}</text>']
    for x, names in ((10, came), (box + BOX, goes)):
        first = TOP + ROW + (rows - len(names)) * ROW / 2
        out += [part for i, name in enumerate(names) for part in arrow(x, first + ROW * i, name)]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="monospace" font-size="11">'
    )
    return (
        "\n".join(
            [
                "<!-- SPDX-License-Identifier: Apache-2.0; drawn by tools/block_pictures.py -->",
                head,
                f"<title>{title}</title>",
                *out,
                "</svg>",
            ]
        )
        + "\n"
    )


def main(args):
    if args not in ([], ["--write"]):
        print(f"block_pictures: wrong arguments {' '.join(args)}; usage: block_pictures.py [--write]", file=sys.stderr)
        return 2
    stale = []
    for name, title in BLOCKS.items():
        picture, fresh = PAGES / f"{name}.svg", draw(title, (PAGES / f"{name}.md").read_text())
        if args:
            picture.write_text(fresh)
        elif not picture.exists() or picture.read_text() != fresh:
            stale.append(picture.name)
    if stale:
        print(f"{', '.join(stale)} show something else than their pages: block_pictures.py --write", file=sys.stderr)
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
