# SPDX-License-Identifier: Apache-2.0
"""The longest paths of a netlist, on one that is small enough to add them up by hand."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.long_paths import report

ROOT = Path(__file__).resolve().parent.parent.parent


def cell(kind, **pins):
    outs = ("Q", "Z", "S0", "S1", "COUT")
    ways = {pin: "output" if pin in outs else "input" for pin in pins}
    return {"type": kind, "port_directions": ways, "connections": {pin: [bit] for pin, bit in pins.items()}}


def module():
    """a -> LUT -> carry, two long -> LUT in the slice of b; c -> b's enable; a loop of two LUTs before d."""
    nets = dict(a=1, b=2, c=3, d=4, near=10, sum=11, chain=12, mid=13, loop=14, back=15)
    cells = {
        "ff_a": cell("TRELLIS_FF", DI=1, Q=1, CLK=99),
        "ff_b": cell("TRELLIS_FF", DI=10, CE=3, Q=2, CLK=99),
        "ff_c": cell("TRELLIS_FF", DI="0", Q=3, CLK=99),
        "ff_d": cell("TRELLIS_FF", DI=14, Q=4, CLK=99),
        "lut_1": cell("LUT4", A=1, Z=13),
        "carry_1": cell("CCU2C", A0=13, CIN="0", COUT=12),
        "carry_2": cell("CCU2C", CIN=12, A0="0", S0=11),
        "lut_2": cell("LUT4", A=11, Z=10),
        "lut_3": cell("LUT4", A=15, B=3, Z=14),
        "lut_4": cell("LUT4", A=14, Z=15),
    }
    return {"cells": cells, "netnames": {name: {"bits": [bit]} for name, bit in nets.items()}}


def test_a_path_is_the_sum_of_its_cells_and_wires():
    lines = report(module(), least=0)
    by_start = {line.split("levels: ")[1].split(" ->")[0]: line for line in lines if "levels: " in line}
    # clock to Q; wire of two pins, LUT; wire, into the carry chain; along it, to its sum; wire, LUT
    ns = 0.31 + 0.7 + 0.14 + 0.5 + 0.28 + 0.26 + 0.5 + 0.14
    assert re.match(rf" *{ns:.2f} ns, 2 ends, 4 levels: a -> b.DI", by_start["a"]), by_start["a"]
    assert re.search(r"ends, \d levels: c -> d.DI", by_start["c"]), "the loop is cut, and what leads into it is there"
    assert lines[1] == by_start["a"] and lines[0].startswith("ends, by ns: 2: 1")


def test_only_ends_that_are_long_enough_count():
    assert len(report(module(), least=2.0)) == 3 and len(report(module(), number=1, least=0)) == 3


@pytest.mark.parametrize(
    "words", [[], ["nope.json", "top"], ["netlist", "nope"], ["netlist", "top", "0"], ["text", "top"]]
)
def test_wrong_arguments_are_one_line(tmp_path, words):
    (tmp_path / "netlist").write_text(json.dumps({"modules": {"top": module()}}))
    (tmp_path / "text").write_text("nothing")
    words = [str(tmp_path / w) if (tmp_path / w).exists() and w else w for w in words]
    command = [sys.executable, "-m", "tools.long_paths", *words]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert run.returncode == 2 and len(run.stderr.splitlines()) == 1, run.stderr
