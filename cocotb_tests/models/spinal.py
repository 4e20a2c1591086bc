# SPDX-License-Identifier: Apache-2.0
"""Verilog of one SpinalHDL block for a geometry that is no preset, below build/<its name>; generated again only when the sources or the geometry changed."""

import fcntl
import hashlib
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "soc"))
import geometry as geometries  # noqa: E402


def generated(geometry, component, log=None):
    """Path of build/<geometry.preset>/verilog/<component>.v, up to date; unchanged it keeps its time stamp, so that nothing is built again for it. `log`: a file for output."""
    out = f"build/{geometry.preset}"
    geometries.write(geometry, ROOT / out)
    path, mark = ROOT / f"{out}/verilog/{component}.v", ROOT / f"{out}/verilog/{component}.sum"
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.parent / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        inputs = [ROOT / "spinal/pom.xml", ROOT / f"{out}/geometry.properties", *sorted((ROOT / "spinal/src/main/scala/opentxssd").glob("*.scala"))]
        digest = hashlib.sha256(b"".join(p.read_bytes() for p in inputs)).hexdigest()
        if not (path.exists() and mark.exists() and mark.read_text() == digest):
            subprocess.run(["tools/spinal.sh", f"{out}/geometry.properties", f"{out}/verilog.new", component], cwd=ROOT, check=True, stdout=log, stderr=log)
            text = (ROOT / f"{out}/verilog.new/{component}.v").read_text()
            if not path.exists() or path.read_text() != text:
                path.write_text(text)
            mark.write_text(digest)
    return f"{out}/verilog/{component}.v"
