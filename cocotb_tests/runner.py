# SPDX-License-Identifier: Apache-2.0
"""Builds one Verilog top with Verilator and runs cocotb tests on it; the pytest function at the end of each test file calls `run`."""

import hashlib
import os
from pathlib import Path

from cocotb_tools.runner import get_results, get_runner

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"


def run(top, sources, test_module, parameters=None, includes=(), waves=False, extra_args=(), timescale=("1ns", "1ps"), env=None):
    """Builds `top` from `sources` (paths from the repository root) under build/cocotb and runs `test_module`; an AssertionError names the count of failures.

    The build is kept as long as sources, parameters and arguments are the same. `SEED=n` in the environment makes a random run repeatable.
    """
    sources = [ROOT / s for s in sources]
    key = repr((top, sorted((parameters or {}).items()), list(extra_args), waves, [s.read_bytes() for s in sources], timescale))
    folder = BUILD / "cocotb" / f"{top}-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
    runner = get_runner("verilator")
    args = ["-Wno-fatal", "-O3", "--x-assign", "unique", "--x-initial", "unique", *extra_args]
    runner.build(
        sources=sources,
        includes=[ROOT / i for i in includes],
        hdl_toplevel=top,
        parameters=parameters or {},
        build_dir=folder,
        build_args=args,
        timescale=timescale,
        waves=waves,
        always=not (folder / "Vtop").exists(),
    )
    seed = os.environ.get("SEED", "1")
    results = runner.test(
        hdl_toplevel=top,
        test_module=test_module,
        build_dir=folder,
        test_dir=folder,
        seed=seed,
        waves=waves,
        timescale=timescale,
        extra_env={"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "cocotb_tests"), os.environ.get("PYTHONPATH", "")]), **(env or {})},
        results_xml=str(folder / f"{test_module}.xml"),
    )
    count, failures = get_results(results)
    assert count > 0 and failures == 0, f"{failures} of {count} tests of {test_module} failed (SEED={seed})"
