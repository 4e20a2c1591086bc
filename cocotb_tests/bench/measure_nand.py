# SPDX-License-Identifier: Apache-2.0
"""Not a test: what bench/n1.py runs on one NAND channel and its dies.

Environment: `TIMES` of the array (JSON, names of bench/nand_pins.py), `MODE` (SDR timing mode), `CAPABILITIES` (of the
part: bits of bench/nand_host.py), `OUT` (the file for the figures, in clocks of 10 ns).
"""

import json
import os
import random
from pathlib import Path

import cocotb

from cocotb_tests.bench.nand_host import CACHE_READ, SEVERAL_PLANES, Host, Op, Status
from cocotb_tests.bench.nand_pins import Nand, Part

PAGES, BLOCKS = 32, 8
EACH = 8  # commands per way


async def busy(host, ways, choose):
    """Every way does EACH commands, as soon as it takes one; (clocks per page while all ways are at work, commands by
    kind).
    """
    stamps, done = [], {}

    async def ended(op, event):
        await event.wait()
        assert event.cpl["status"] in (Status.OK, Status.BLANK)
        stamps.append(host.clocks())
        done[op.name] = done.get(op.name, 0) + 1

    async def work(way):
        ends = []
        for n in range(EACH):
            op, fields = choose(way, n)
            ends.append(cocotb.start_soon(ended(op, await host.issue(way, op, beside=True, **fields))))
        for end in ends:
            await end

    tasks = [cocotb.start_soon(work(way)) for way in range(ways)]
    for task in tasks:
        await task
    first, last = ways - 1, len(stamps) - ways
    return (stamps[last] - stamps[first]) / (last - first), done


@cocotb.test()
async def figures(dut):
    ways, times, mode, capabilities = (
        len(dut.way_idle),
        json.loads(os.environ["TIMES"]),
        int(os.environ["MODE"]),
        int(os.environ["CAPABILITIES"]),
    )
    planes = 2 if capabilities & SEVERAL_PLANES else 1
    nand, host, rng = Nand(), Host(dut), random.Random(1)
    assert (
        nand.open(
            ways=ways,
            blocks=BLOCKS,
            pages=PAGES,
            times=times,
            part=Part(cache=int(capabilities & CACHE_READ > 0), planes=planes, status_enhanced=1),
        )
        is None
    )
    dut.mode.value = 0
    await host.start()
    for way in range(ways):
        assert (await host.run(way, Op.RESET))["status"] == Status.OK
        assert (await host.run(way, Op.SET_FEATURES, kind=1, lpn=mode))["status"] == Status.OK
    dut.mode.value, dut.capabilities.value = mode, capabilities
    out, data, following = {}, rng.randbytes(4096), [0] * ways

    def program(way, _):
        following[way] += 1
        return Op.PROGRAM, dict(row=row(following[way] - 1), data=data, kind=1, allow_cache=1)

    def row(n):
        """Of the n-th page: of the planes' blocks in turn."""
        return n // planes + n % planes * PAGES

    def read(way, n):
        return Op.READ, dict(row=row(n % max(1, following[way])))

    out["program"], _ = await busy(host, ways, program)
    begin = host.clocks()
    await host.run(0, Op.READ, 0)
    out["lone"] = host.clocks() - begin
    out["read"], _ = await busy(host, ways, read)
    out["mixed"], out["mixed_done"] = await busy(
        host, ways, lambda way, n: (read if rng.random() < 0.7 else program)(way, n)
    )
    assert nand.broken() == []
    Path(os.environ["OUT"]).write_text(json.dumps(out))
