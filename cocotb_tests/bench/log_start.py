# SPDX-License-Identifier: Apache-2.0
"""Runs the commit log's tests of one file."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
VERILOG = os.environ.get("OTX_VERILOG_DIR", "build/{preset}/verilog")


def start(preset, module):
    from cocotb_tests.bench.runner import run

    verilog = VERILOG.format(preset=preset) + "/otx_commit_log.v"
    properties = ROOT / f"build/{preset}/geometry.properties"
    if not (ROOT / verilog).exists():
        pytest.skip(f"no {verilog}; `tools/verilog.sh {preset}` makes it")
    run("otx_commit_log", [verilog], module, env={"OTX_GEOMETRY": str(properties)})
