# SPDX-License-Identifier: Apache-2.0
"""Verilog of one SpinalHDL block for a geometry that is no preset, below build/<its name>; generated again only when
the sources or the geometry changed.
"""

import fcntl
import hashlib
import subprocess
from pathlib import Path

from soc import facts
from soc import geometry as geometries

ROOT = Path(__file__).resolve().parent.parent.parent


def generated(geometry, component, log=None, others=()):
    """Path of build/<geometry.preset>/verilog/<component>.v, up to date; unchanged it keeps its time stamp, so that
    nothing is built again for it. `log`: a file for output.

    `others` are (geometry, component) pairs that somebody will want too: when this one is out of date, they are
    generated in the same process, a second for each instead of three.
    """
    path = f"build/{geometry.preset}/verilog/{component}.v"
    facts.write()
    sources = [
        ROOT / "spinal/pom.xml",
        *sorted((ROOT / "spinal/src/main/scala").rglob("*.scala")),
        facts.OUT / "Facts.scala",
    ]
    digest = hashlib.sha256(b"".join(p.read_bytes() for p in sources))
    with open(ROOT / "build/generated.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if stale(geometry, component, digest):
            wanted = {(g.preset, c): stale(g, c, digest) for g, c in [(geometry, component), *others]}
            wanted = {key: mark for key, mark in wanted.items() if mark}
            command = [
                word
                for preset, c in wanted
                for word in ("+", f"build/{preset}/geometry.properties", f"build/{preset}/verilog.new", c)
            ]
            subprocess.run(["tools/spinal.sh", *command[1:]], cwd=ROOT, check=True, stdout=log, stderr=log)
            for (preset, c), mark in wanted.items():
                text, to = (
                    (ROOT / f"build/{preset}/verilog.new/{c}.v").read_text(),
                    ROOT / f"build/{preset}/verilog/{c}.v",
                )
                if not to.exists() or to.read_text() != text:
                    to.write_text(text)
                to.with_suffix(".sum").write_text(mark)
    return path


def stale(geometry, component, digest):
    """What its mark must say when it is generated, "" if it says so already; the geometry is written."""
    folder = ROOT / f"build/{geometry.preset}"
    geometries.write(geometry, folder)
    (folder / "verilog").mkdir(exist_ok=True)
    now = digest.copy()
    now.update((folder / "geometry.properties").read_bytes())
    path, mark = folder / f"verilog/{component}.v", folder / f"verilog/{component}.sum"
    return "" if path.exists() and mark.exists() and mark.read_text() == now.hexdigest() else now.hexdigest()
