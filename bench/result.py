# SPDX-License-Identifier: Apache-2.0
"""What a benchmark returns to tools/bench.py."""

from dataclasses import dataclass, field


@dataclass
class Check:
    """A condition that must hold: what it is, in words with the bound, what was found, whether it holds."""

    what: str
    found: object
    ok: bool


@dataclass
class Result:
    """`ours`, `paper` and `target` are in `unit`; None where there is no such figure. `rows` are dicts with the same
    keys, None where a row has no such figure.

    `clock_mhz`: the clock at which clocks become time, `clock_from`: why this one.
    """

    clock_mhz: float
    clock_from: str
    unit: str
    rows: list
    ours: float
    paper: float | None
    target: float | None
    checks: list = field(default_factory=list)
