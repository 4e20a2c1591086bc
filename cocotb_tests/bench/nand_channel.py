# SPDX-License-Identifier: Apache-2.0
"""Tests of the NAND channel with two pin-level dies: how they are built and begun, and what each of them asserts."""

import os
import random

import cocotb
from cocotb.triggers import with_timeout

from cocotb_tests.bench.nand_host import Host, Op, Status
from cocotb_tests.bench.nand_pins import QUICK, Nand, verilator_args

CLK_PS = int(os.environ.get("CLK_PS", "10000"))
SEED = int(os.environ.get("SEED", "1"))
FIELDS = dict(kind=1, generation=0x89ABCDEF, lpn=0x01234567, sequence=0xFEDCBA987654)
PAGES = 8  # of a block


async def drive(dut, reset=True, stall=0.0, part=None, **times):
    nand = Nand()
    assert nand.open(pages=PAGES, times=QUICK | times, seed=SEED, **(part or {})) is None
    host = Host(dut, stall, SEED)
    await host.start(CLK_PS)
    if reset:
        for way in range(2):
            assert (await host.run(way, Op.RESET))["status"] == Status.OK
    return nand, host


def page(seed):
    return random.Random(seed).randbytes(4096)


def same(cpl, status, **fields):
    assert cpl["status"] == status, f"status {Status(cpl['status']).name}, should be {status.name}"
    for name, value in fields.items():
        assert cpl[name] == value, f"{name} is {cpl[name]}, should be {value}"


def sentence(function):
    """A cocotb test that also asserts that no rule of the chips was broken."""

    async def checked(dut):
        await with_timeout(function(dut), 60, "ms")
        assert Nand().broken() == []

    checked.__name__, checked.__qualname__, checked.__module__ = (
        function.__name__,
        function.__name__,
        function.__module__,
    )
    return cocotb.test()(checked)


def simulate(module, clk_ps, **parameters):
    from cocotb_tests.bench.runner import rtl, run

    sources = [*rtl(), "sim/otx_nand_die.sv", "cocotb_tests/tb/tb_nand_channel.sv"]
    run(
        "tb_nand_channel",
        sources,
        module,
        parameters={"ClkPs": clk_ps, **parameters},
        extra_args=verilator_args(),
        optimise="-O1",
        env={"CLK_PS": str(clk_ps), "ECC_T": str(parameters.get("T", 8))},
    )
