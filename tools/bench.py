# SPDX-License-Identifier: Apache-2.0
"""`bench.py [ID ...]`: runs benchmarks, all without an ID; writes build/bench/<id>.json and <id>.png and prints a table
each. An unknown ID: one line, exit code 2.

A benchmark is bench/<id>.py (a letter and a number) with `TITLE`, `run() -> bench.result.Result`, which also builds
what it needs, and `plot(figure, result)` with the JSON's contents. Exit code 1 if one does not pass. docs/benchmarks.md
lists them.

JSON: `id`, `title`, `clock_mhz`, `clock_from`, `unit`, `rows` (one object per row of the table), `ours`, `paper`,
`target` (numbers in `unit` or null), `checks` (`what`, `found`, `ok`), `pass` (all checks are ok).
"""

import importlib
import json
import os
import re
import sys
from dataclasses import asdict
from pathlib import Path

try:
    from rich.console import Console
    from rich.table import Table

    import bench.result  # noqa: F401
except ImportError as e:
    sys.exit(f"bench: {e}; source tools/env.sh first")

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build/bench"
os.environ.setdefault("MPLCONFIGDIR", str(ROOT / "build/matplotlib"))  # its cache of fonts

import matplotlib  # noqa: E402

matplotlib.use("Agg")
from matplotlib.figure import Figure  # noqa: E402


def names():
    """The ids there are, in order."""
    found = [p.stem for p in (ROOT / "bench").glob("*.py") if re.fullmatch(r"[a-z]\d+", p.stem)]
    return sorted(found, key=lambda n: (n[0], int(n[1:])))


def number(value):
    """A cell of the table or a figure of the summary."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def document(name, title, result):
    """The JSON's contents."""
    flat = asdict(result)
    checks = flat.pop("checks")
    return {"id": name, "title": title, **flat, "checks": checks, "pass": bool(checks) and all(c["ok"] for c in checks)}


def show(doc, console):
    table = Table(title=f"{doc['id']}: {doc['title']}")
    for key in doc["rows"][0]:
        table.add_column(key.replace("_", " "), justify="right", overflow="fold")
    for row in doc["rows"]:
        table.add_row(*(number(v) for v in row.values()))
    console.print(table)
    console.print(
        f"ours {number(doc['ours'])} {doc['unit']}; the paper {number(doc['paper'])}; target {number(doc['target'])}; "
        f"at {doc['clock_mhz']:g} MHz ({doc['clock_from']})"
    )
    for c in doc["checks"]:
        console.print(
            f"  {'ok  ' if c['ok'] else 'FAIL'} {c['what']}: "
            f"{', '.join(map(number, c['found'])) if isinstance(c['found'], list) else number(c['found'])}"
        )


def execute(name, module, out=OUT, console=None):
    """Runs one benchmark, writes its two files into `out`, prints its table; returns the JSON's contents."""
    doc = document(name, module.TITLE, module.run())
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.json").write_text(json.dumps(doc, indent=1) + "\n")
    figure = Figure(figsize=(9, 5), layout="constrained")
    figure.suptitle(f"{name}: {module.TITLE}")
    module.plot(figure, doc)
    figure.savefig(out / f"{name}.png", dpi=100)
    show(doc, console or Console(width=170))
    return doc


def main(wanted):
    there = names()
    unknown = [n for n in wanted if n not in there]
    if unknown:
        print(f"bench: no benchmark {', '.join(unknown)}; there are: {', '.join(there)}", file=sys.stderr)
        return 2
    passed = [execute(name, importlib.import_module(f"bench.{name}"))["pass"] for name in wanted or there]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
