# SPDX-License-Identifier: Apache-2.0
"""The model catches a channel that is too fast for the part, or is told to do what is forbidden: each rule is seen to
be broken here.
"""

import os

import cocotb
import pytest
from cocotb.triggers import with_timeout

from cocotb_tests.bench.amount import amount
from cocotb_tests.bench.nand_channel import simulate
from cocotb_tests.bench.nand_host import Host, Op, Status
from cocotb_tests.bench.nand_pins import QUICK, Nand

CLK_PS = int(os.environ.get("CLK_PS", "10000"))
MUTANT = os.environ.get("MUTANT")
PAGES = 8
SLOWER = [
    "wp",
    "wh",
    "wc",
    "rp",
    "reh",
    "rc",
    "cls",
    "clh",
    "cs",
    "ch",
    "als",
    "alh",
    "ds",
    "dh",
    "adl",
    "whr",
    "rhw",
    "rr",
]


async def drive(dut, reset=True, **times):
    nand = Nand()
    assert nand.open(pages=PAGES, times=QUICK | times) is None
    host = Host(dut)
    await host.start(CLK_PS)
    if reset:
        await host.run(0, Op.RESET)
    return nand, host


def only(name):
    """In the build with a wrong parameter only its own test runs, and that one nowhere else."""

    def mark(function):
        async def limited(dut):
            await with_timeout(function(dut), 60, "ms")

        limited.__name__, limited.__qualname__ = function.__name__, function.__name__
        return cocotb.test(skip=name != MUTANT)(limited)

    return mark


async def everything(host):
    for op, row in (
        (Op.READ_ID, 0),
        (Op.ERASE, 0),
        (Op.PROGRAM, 0),
        (Op.READ_OOB, 0),
        (Op.READ_OOB, 0),
        (Op.STATUS, 0),
    ):
        cpl = await host.run(0, op, row, data=bytes(4096))
    return cpl


@only(None)
async def part_that_is_slower_than_the_channel_believes_breaks_just_that_rule(dut):
    nand, host = await drive(dut)
    for name in SLOWER:
        slow = 200 if name not in ("rhw", "rr") else 5_000
        assert nand.open(pages=PAGES, times=QUICK | {name: slow}) is None
        await host.run(0, Op.RESET)
        await everything(host)
        told = {line.split(": ", 1)[1].split(",")[0] for line in nand.broken()}
        assert told == {"t" + name.upper()}, f"t{name.upper()}: {told}"


@only(None)
async def data_sampled_before_trea_is_garbage(dut):
    nand, host = await drive(dut, rea=20 + 2 * CLK_PS // 1000)
    await host.run(0, Op.PROGRAM, 0, data=bytes(4096))
    assert (await host.run(0, Op.VERIFY, 0))["status"] == Status.CRC
    assert nand.broken() == []


@only(None)
async def ready_looked_at_before_twb_is_found(dut):
    nand, host = await drive(dut, wb=1_000)
    await host.run(0, Op.READ_OOB, 0)
    assert any("data out while busy" in line for line in nand.broken())


@only(None)
async def commands_that_the_part_forbids_are_found(dut):
    nand, host = await drive(dut, reset=False)

    async def breaks(words, op, row=0):
        before = len(nand.broken())
        await host.run(0, op, row, data=bytes(4096))
        new = nand.broken()[before:]
        assert any(words in line for line in new), f"{op.name} of row {row}: {new}"

    await breaks("before the first reset", Op.STATUS)
    await host.run(0, Op.RESET)
    await breaks("out of range", Op.READ_OOB, 16 * PAGES)
    await host.run(0, Op.PROGRAM, 3, data=bytes(4096))
    await breaks("programmed already", Op.PROGRAM, 3)
    await breaks("pages must rise", Op.PROGRAM, 1)


@only("address")
async def channel_with_too_short_tadl_is_found(dut):
    nand, host = await drive(dut)
    await everything(host)
    assert nand.broken() and all("tADL" in line for line in nand.broken())


@only("write")
async def channel_with_too_short_write_strobes_is_found(dut):
    nand, host = await drive(dut)
    await everything(host)
    assert {"tWP", "tWC", "tDS", "tCLS", "tALS"} <= {line.split(": ", 1)[1].split(",")[0] for line in nand.broken()}


@only("read")
async def channel_with_too_short_read_strobes_is_found(dut):
    nand, host = await drive(dut)
    await everything(host)
    assert {"tRP", "tRC"} == {line.split(": ", 1)[1].split(",")[0] for line in nand.broken()}


@pytest.mark.parametrize("clk_ps", amount([10000], [10000, 13333]))
def test_nand_rules(clk_ps):
    simulate(__name__, clk_ps)


MUTANTS = {
    "address": dict(TAdlNs=20),
    "write": dict(TWpNs=5, TWcNs=15, TDsNs=5, TClsNs=5, TAlsNs=5),
    "read": dict(TRpNs=5, TRcNs=15, TReaNs=5),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_nand_rules_with_a_wrong_parameter(name, monkeypatch):
    monkeypatch.setenv("MUTANT", name)
    simulate(__name__, 10000, **MUTANTS[name])
