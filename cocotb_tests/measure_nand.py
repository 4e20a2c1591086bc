# SPDX-License-Identifier: Apache-2.0
"""Not a test: what bench/n1.py runs on one NAND channel and its dies.

Environment: `TIMES` of the array (JSON, names of models/nand_pins.py), `MODE` (SDR timing mode), `OUT` (the file for the figures, in clocks of 10 ns).
"""

import json
import os
import random
from pathlib import Path

import cocotb
from models.nand_host import Host, Op, Status
from models.nand_pins import Nand, Part

PAGES, BLOCKS = 32, 8
EACH = 8  # commands per way


async def busy(host, ways, choose):
    """Every way does EACH commands, one after the other; (clocks per page while all ways are at work, commands by kind)."""
    stamps, done = [], {}

    async def work(way):
        for n in range(EACH):
            op, fields = choose(way, n)
            cpl = await host.run(way, op, **fields)
            assert cpl["status"] in (Status.OK, Status.BLANK)
            stamps.append(host.clocks())
            done[op.name] = done.get(op.name, 0) + 1

    tasks = [cocotb.start_soon(work(way)) for way in range(ways)]
    for task in tasks:
        await task
    first, last = ways - 1, len(stamps) - ways
    return (stamps[last] - stamps[first]) / (last - first), done


@cocotb.test()
async def figures(dut):
    ways, times, mode = len(dut.way_idle), json.loads(os.environ["TIMES"]), int(os.environ["MODE"])
    nand, host, rng = Nand(), Host(dut), random.Random(1)
    assert nand.open(ways=ways, blocks=BLOCKS, pages=PAGES, times=times, part=Part()) is None
    dut.mode.value = 0
    await host.start()
    for way in range(ways):
        assert (await host.run(way, Op.RESET))["status"] == Status.OK
        assert (await host.run(way, Op.SET_FEATURES, kind=1, lpn=mode))["status"] == Status.OK
    dut.mode.value = mode
    out, data, following = {}, rng.randbytes(4096), [0] * ways

    def program(way, _):
        following[way] += 1
        return Op.PROGRAM, dict(row=following[way] - 1, data=data, kind=1)

    def read(way, n):
        return Op.READ, dict(row=n % max(1, following[way]))

    out["program"], _ = await busy(host, ways, program)
    begin = host.clocks()
    await host.run(0, Op.READ, 0)
    out["lone"] = host.clocks() - begin
    out["read"], _ = await busy(host, ways, read)
    out["mixed"], out["mixed_done"] = await busy(host, ways, lambda way, n: (read if rng.random() < 0.7 else program)(way, n))
    assert nand.broken() == []
    Path(os.environ["OUT"]).write_text(json.dumps(out))
