# SPDX-License-Identifier: Apache-2.0
"""`wave_nand.py [--write]`: the pins of a NAND channel as pictures, docs/nand-*.svg: a page program, a page read, a
program that is suspended for a read.

Drawn from the RTL (otx_nand_channel and a pin-level die, cocotb_tests/bench/record_nand.py), clocks of 10 ns. Where
only data passes or the array works, clocks are left out. Without `--write` it says with exit code 1 which picture shows
something else; with it they are brought up to date. Wrong arguments: one line, exit code 2.
"""

import json
import sys
from pathlib import Path

try:
    from cocotb_tests.bench import record_nand
    from cocotb_tests.bench.nand_channel import simulate
except ImportError as e:
    sys.exit(f"wave_nand: {e}; source tools/env.sh first")

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs"
NAMES = {"ce_n": "CE#", "cle": "CLE", "ale": "ALE", "we_n": "WE#", "re_n": "RE#", "rb_n": "R/B#", "dq": "DQ"}
MARKS = ("ce_n", "cle", "ale", "rb_n")  # around their changes clocks are shown
AROUND, CLOCK, GAP, LEFT, ROW, HIGH, WIDEST = 9, 7, 96, 50, 26, 15, 1200  # clocks; pixels
COLOURS = {"line": "#24578a", "text": "#222", "gap": "#888", "command": "#b03020"}


def record():
    simulate("cocotb_tests.bench.record_nand", 10_000, **record_nand.PARAMETERS)
    return json.loads(record_nand.OUT.read_text())


def windows(scene):
    """[(first, end)] of the clocks that are shown."""
    shown = []
    for clock in sorted(c for pin in MARKS for c, _ in scene[pin][1:]):
        first, end = max(0, clock - AROUND), min(scene["clocks"], clock + AROUND)
        if shown and first <= shown[-1][1] + AROUND:
            shown[-1] = (shown[-1][0], max(end, shown[-1][1]))
        else:
            shown.append((first, end))
    return shown


def at(changes, clock):
    return next(v for c, v in reversed(changes) if c <= clock)


def line(changes, first, end, left, top):
    """The points of one signal in one window."""
    points, before = [], None
    for clock in range(first, end):
        y = top + (0 if at(changes, clock) else HIGH)
        x = left + (clock - first) * CLOCK
        if before != y:
            points.append(f"{x},{y}")
        points.append(f"{x + CLOCK},{y}")
        before = y
    return " ".join(points)


def strobes(scene, first, end):
    """(clock, byte, whether it is a command) at each end of a pulse of WE# or RE# of the die."""
    for pin in ("we_n", "re_n"):
        for clock, value in scene[pin][1:]:
            if value and first < clock < end and not at(scene["ce_n"], clock - 1):
                yield clock, at(scene["dq"], clock - 1), pin == "we_n" and at(scene["cle"], clock - 1)


def text(x, y, what, colour="text", anchor="middle"):
    return f'<text x="{x}" y="{y}" fill="{COLOURS[colour]}" text-anchor="{anchor}">{what}</text>'


def bands(scene):
    """The windows, in lines that are no wider than a page: [[(clocks left out before it, first, end)]]."""
    out, last, left = [[]], 0, LEFT
    for first, end in windows(scene):
        width = (end - first) * CLOCK + GAP * (first > last)
        if left + width > WIDEST and out[-1]:
            out.append([])
            left = LEFT
        out[-1].append((first - last, first, end))
        left, last = left + width, end
    return out


def band(scene, shown, top):
    """One line of the picture: its elements and its width."""
    rows = {pin: top + ROW * i for i, pin in enumerate(NAMES)}
    out, left = [text(LEFT - 6, y + HIGH - 3, NAMES[pin], anchor="end") for pin, y in rows.items()], LEFT
    for skipped, first, end in shown:
        if skipped:
            out.append(text(left + GAP / 2, rows["dq"] + HIGH + 14, f"{skipped:,} clocks", "gap"))
            out += [text(left + GAP / 2, y + HIGH - 3, "...", "gap") for y in rows.values()]
            left += GAP
        for pin, y in rows.items():
            if pin != "dq":
                out.append(
                    f'<polyline points="{line(scene[pin], first, end, left, y)}" fill="none" '
                    f'stroke="{COLOURS["line"]}" stroke-width="1.3"/>'
                )
        for clock, byte, command in strobes(scene, first, end):
            out.append(
                text(
                    left + (clock - first) * CLOCK - 4,
                    rows["dq"] + HIGH - 3,
                    f"{byte:02X}",
                    "command" if command else "text",
                )
            )
        left += (end - first) * CLOCK
    return out, left


def draw(title, scene):
    """An SVG: a row for each pin, bytes where WE# or RE# rises (commands in red), a gap with the number of its clocks
    where some are left out.
    """
    out, widths, top = [], [], 30
    for shown in bands(scene):
        drawn, width = band(scene, shown, top)
        out, widths, top = out + drawn, [*widths, width], top + ROW * len(NAMES) + 34
    width = max(widths) + 20
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top}" width="{width}" height="{top}" '
        'font-family="monospace" font-size="11">'
    )
    body = [
        f"<title>{title}</title>",
        f'<rect width="{width}" height="{top}" fill="#fff"/>',
        text(LEFT, 16, title, anchor="start"),
        *out,
    ]
    return (
        "\n".join(["<!-- SPDX-License-Identifier: Apache-2.0; drawn by tools/wave_nand.py -->", head, *body, "</svg>"])
        + "\n"
    )


TITLES = {
    "program": "page program: 80h, address, data, 10h; then the status, 70h",
    "read": "page read: 00h, address, 30h; the data when R/B# is high again",
    "suspended": "a program that is suspended for a read, and resumed",
}


def main(args):
    if args not in ([], ["--write"]):
        print(f"wave_nand: wrong arguments {' '.join(args)}; usage: wave_nand.py [--write]", file=sys.stderr)
        return 2
    stale = []
    for name, scene in record().items():
        path, fresh = PICTURES / f"nand-{name}.svg", draw(TITLES[name], scene)
        if args:
            path.write_text(fresh)
        elif not path.exists() or path.read_text() != fresh:
            stale.append(path.name)
    if stale:
        print(f"{', '.join(stale)} show something else: wave_nand.py --write", file=sys.stderr)
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
