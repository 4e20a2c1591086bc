# SPDX-License-Identifier: Apache-2.0
"""Builds one Verilog top with Verilator and runs cocotb tests on it; the pytest function at the end of each test file
calls `run`.

`SEED=n` in the environment repeats a random run, `WAVES=1` records `dump.fst` in the build folder. A build is kept and
brought up to date as long as top, parameters and arguments stay the same. Each run leaves its results there as
`test_*.xml`, where tools/test_all.py counts them. With `OTX_PHASES=FILE` a line with the processor seconds of its build
and of its simulation is added there.
"""

import fcntl
import functools
import hashlib
import os
import resource
import subprocess
from pathlib import Path

from cocotb_tools.runner import Verilator, get_results

from soc import facts

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build"
runs = 0  # of simulations in this process; conftest.py tells by it which tests are not cocotb's


FAST = "-O0"  # a test runs thousands of clocks, not millions: optimising takes longer than it saves
# of a build by verilated.mk
FLAGS = " ".join(
    ["-DVERILATOR=1", *(f"-DVM_{what}=0" for what in "COVERAGE SC TIMING TRACE TRACE_FST TRACE_VCD TRACE_SAIF".split())]
)
HEADERS = (
    "verilated.h verilated_syms.h verilated_sym_props.h verilated_vpi.h cassert cstdint cstdio memory set string vector"
).split()


@functools.cache
def headers(flags):
    """Path of Verilator's headers for `-include`, precompiled: reading them is half of the time of a small build.

    A build with other flags reads the text beside it instead.
    """
    include = (
        Path(
            subprocess.run(
                ["verilator", "--getenv", "VERILATOR_ROOT"], capture_output=True, text=True, check=True
            ).stdout.strip()
        )
        / "include"
    )
    compiler = subprocess.run(["g++", "--version"], capture_output=True, text=True, check=True).stdout
    key = _short(compiler, flags, HEADERS, (include / "verilated_config.h").read_text())
    path = BUILD / "cocotb" / "headers" / key / "otx_headers.h"
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.parent / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (path.parent / f"{path.name}.gch").exists():
            path.write_text("".join(f"#include <{name}>\n" for name in HEADERS))
            (path.parent / f"{path.name}.gch.sum").write_text(key)  # what ccache takes for its contents
            command = [
                "g++",
                f"-I{include}",
                f"-I{include}/vltstd",
                *flags.split(),
                "-x",
                "c++-header",
                str(path),
                "-o",
            ]
            subprocess.run([*command, f"{path}.new"], check=True)
            os.rename(f"{path}.new", f"{path}.gch")
    return path


class Shallow(Verilator):
    """Tests see the signals of the top and of `depth` - 1 levels below it: with all of them public a build takes three
    times as long.
    """

    def __init__(self, depth, optimise):
        super().__init__()
        self.depth, self.optimise = depth, optimise

    def _build_command(self):
        verilator, make = super()._build_command()
        at = verilator.index("--public-flat-rw")
        fast = self.optimise if self.waves else f"{self.optimise} -include {headers(f'{self.optimise} {FLAGS}')}"
        return [
            [*verilator[:at], "--public-depth", str(self.depth), *verilator[at + 1 :]],
            [*make, "VM_PARALLEL_BUILDS=0", f"OPT_FAST={fast}"],
        ]


def rtl():
    """The files of rtl/otx.f, as `sources` of run(); what is generated of them is up to date."""
    facts.write()
    lines = (ROOT / "rtl/otx.f").read_text().splitlines()
    return [line.strip() for line in lines if line.strip() and not line.strip().startswith(("//", "+", "-"))]


def run(
    top,
    sources,
    test_module,
    parameters=None,
    includes=(),
    waves=None,
    extra_args=(),
    timescale=("1ns", "1ps"),
    env=None,
    seed=None,
    testcase=None,
    plusargs=(),
    depth=1,
    optimise=None,
):
    """Builds `top` from `sources` (paths from the repository root) under build/cocotb and runs `test_module`; an
    AssertionError names the count of failures.

    `env` are variables the test module reads, `testcase` the names of the tests to run (all without); `depth` the
    levels of modules whose signals they use; `optimise`: how C++ is compiled, for tests of many clocks.
    Verilator's warnings stop the build, unless a source is generated (below build/, but for that of soc/facts.toml) or
    a model (below sim/).
    """
    global runs
    runs += 1
    seed = str(os.environ.get("SEED", 1 if seed is None else seed))
    waves = os.environ.get("WAVES", "0") != "0" if waves is None else waves
    paths = [ROOT / s for s in sources]
    foreign = any(p.is_relative_to(BUILD) and p.parent != facts.OUT or p.is_relative_to(ROOT / "sim") for p in paths)
    args = ["-O3", "--x-assign", "unique", "--x-initial", "unique"]
    args += ["-Wno-fatal"] * foreign + ["--trace-fst", "--trace-structs"] * waves + list(extra_args)
    key = _short(
        top,
        [str(s) for s in sources],
        sorted((parameters or {}).items()),
        [str(i) for i in includes],
        args,
        timescale,
        depth,
    )
    # runs of one build do not overwrite each other's results
    name = f"{test_module.rpartition('.')[2]}-{_short(sorted((env or {}).items()), testcase, plusargs)}.xml"
    folder = BUILD / "cocotb" / f"{top}-{key}"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        runner = Shallow(depth, optimise or FAST)
        begin = _children()
        runner.build(
            sources=paths,
            includes=[ROOT / i for i in includes],
            hdl_toplevel=top,
            parameters=parameters or {},
            build_dir=folder,
            build_args=args,
            timescale=timescale,
            waves=waves,
        )
        built = _children()
        results = runner.test(
            hdl_toplevel=top,
            test_module=test_module,
            testcase=testcase,
            build_dir=folder,
            test_dir=folder,
            plusargs=list(plusargs),
            seed=seed,
            waves=waves,
            timescale=timescale,
            extra_env={
                # a write is given to Verilator at once: a third less time in tests that drive many signals
                "COCOTB_TRUST_INERTIAL_WRITES": "1",
                # full names of modules, those of this repository
                "PYTHONPATH": os.pathsep.join(map(str, [ROOT, ROOT / "sw/host/python"])),
                "SEED": seed,
                **(env or {}),
            },
            results_xml=str(folder / name),
        )
    if "OTX_PHASES" in os.environ:
        with open(os.environ["OTX_PHASES"], "a") as phases:
            phases.write(
                f"{built - begin:.2f}\t{_children() - built:.2f}\t"
                f"{test_module.rpartition('.')[2]}\t{folder.name}\t{parameters or ''}\n"
            )
    count, failures = get_results(results)
    assert count > 0 and failures == 0, f"{failures} of {count} tests of {test_module} failed (SEED={seed})"


def _children():
    """Processor seconds of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _short(*what):
    return hashlib.sha256(repr(what).encode()).hexdigest()[:12]
