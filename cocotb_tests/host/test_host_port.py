# SPDX-License-Identifier: Apache-2.0
"""The host port on CSRs and the PC's side of it (tools/board_host.py), against a model of the core's host streams:
nothing is lost, whoever is slow.
"""

import os
import random
import subprocess
import sys

import cocotb
from cocotb.task import bridge
from cocotb.triggers import ClockCycles

from cocotb_tests.bench.host_csr import CsrBus
from cocotb_tests.bench.streams import Sink, Source, start
from opentxssd.facts import ports
from tools.board_host import BLOCK, HostLink, LinkError, Opcode, Query, Status, StatusError

BEATS = BLOCK // 8
SEED = int(os.environ.get("SEED", "1"))
FIELDS = ports("HostCmd")


class Core:
    """The core's end: keeps what WRITEs bring, delivers it to READs block by block, takes and gives with random stalls.

    `status` is that of the next completion.
    """

    def __init__(self, dut, stall=0.0):
        rng = random.Random(SEED)
        self.dut, self.blocks, self.commands, self.beats, self.status = dut, {}, [], [], Status.SUCCESS
        self.wreq, self.rdata, self.cpl = (
            Source(dut, name, stall=stall, rng=random.Random(rng.random())) for name in ("wdata_req", "rdata", "cpl")
        )
        self.cmd = Sink(
            dut, "cmd", got=lambda beat, _: self.commands.append(beat), stall=stall, rng=random.Random(rng.random())
        )
        self.wdata = Sink(
            dut, "wdata", got=lambda beat, _: self.beats.append(beat), stall=stall, rng=random.Random(rng.random())
        )

    def run(self):
        for part in (self.cmd.run(), self.wdata.run(), self.serve()):
            cocotb.start_soon(part)

    async def serve(self):
        done = 0
        while True:
            await ClockCycles(self.dut.clk, 1)
            if len(self.commands) > done:
                await self.command(self.commands[done])
                done += 1

    async def command(self, c):
        for block in range(c["count"]):
            if c["opcode"] == Opcode.WRITE:
                request = 0xFFF - 37 * block
                await self.wreq.send(tag=c["tag"], block=block, request=request)
                while len(self.beats) < BEATS:
                    await ClockCycles(self.dut.clk, 1)
                assert [b["last"] for b in self.beats] == [0] * (BEATS - 1) + [1], (
                    "last is on the 512th beat, and only there"
                )
                assert {b["request"] for b in self.beats} == {request}
                self.blocks[c["lba"] + block] = b"".join(b["data"].to_bytes(8, "little") for b in self.beats)
                self.beats.clear()
        if c["opcode"] == Opcode.READ:
            for block in reversed(range(c["count"])):
                data = self.blocks[c["lba"] + block]
                for n in range(BEATS):
                    await self.rdata.send(
                        tag=c["tag"],
                        block=block,
                        data=int.from_bytes(data[8 * n : 8 * n + 8], "little"),
                        last=n == BEATS - 1,
                    )
        await self.cpl.send(tag=c["tag"], status=self.status, result=c["arg"] * 3 & 0xFFFFFFFF)


async def begin(dut, stall=0.0, gap=lambda: 0):
    core = Core(dut, stall)
    bus = CsrBus(dut, os.environ["FOLDER"], gap)
    await start(dut)
    core.run()
    return core, bus


async def on_pc(function, *args, **more):
    """Blocking code of the PC; registers inside take simulated time."""
    return await bridge(function)(*args, **more)


def random_block(rng, count=1):
    return rng.randbytes(count * BLOCK)


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def a_command_arrives_once_with_every_field(dut):
    core, bus = await begin(dut, stall=0.8)
    want = dict(
        opcode=Opcode.QUERY,
        lba=0x89ABCDEF,
        count=0xBEEF,
        txid=0xA5,
        hasTx=1,
        fua=0,
        commit=1,
        relaxed=1,
        barrier=0,
        orderless=1,
        order=2,
        priority=3,
        stream=0x1234,
        tag=21,
        arg=0xFEDC1234,
    )
    for turn in range(3):
        while not await bus.get("cmd_ready"):
            pass
        for name in FIELDS:
            await bus.put(f"cmd_{name.lower()}", want[name] ^ turn % 2)
        await bus.put("cmd_go")
    await ClockCycles(dut.clk, 50)
    assert [c["opcode"] for c in core.commands] == [Opcode.QUERY, Opcode.QUERY + 1, Opcode.QUERY] and core.commands[
        0
    ] == want
    assert core.commands[1] == {name: value ^ 1 for name, value in want.items()}


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def cmd_ready_stays_low_until_the_core_has_taken_the_command(dut):
    bus = CsrBus(dut, os.environ["FOLDER"])
    await start(dut)
    dut.cmd_ready.value = 0
    assert await bus.get("cmd_ready") == 1
    await bus.put("cmd_lba", 77)
    await bus.put("cmd_go")
    for _ in range(5):
        assert (
            await bus.get("cmd_ready") == 0 and int(dut.cmd_valid.value) == 1 and int(dut.cmd_payload_lba.value) == 77
        )
    dut.cmd_ready.value = 1
    await ClockCycles(dut.clk, 2)
    assert int(dut.cmd_valid.value) == 0 and await bus.get("cmd_ready") == 1


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def blocks_written_by_the_client_arrive_whole_under_back_pressure(dut):
    core, bus = await begin(dut, stall=0.85)
    data = random_block(random.Random(SEED), 3)
    await on_pc(HostLink(bus).write, 40, data, txid=7, fua=True)
    assert b"".join(core.blocks[40 + n] for n in range(3)) == data
    c = core.commands[0]
    assert (c["opcode"], c["lba"], c["count"], c["hasTx"], c["txid"], c["fua"], c["commit"]) == (
        Opcode.WRITE,
        40,
        3,
        1,
        7,
        1,
        0,
    )


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def beats_are_lost_neither_at_a_full_queue_nor_when_the_core_waits(dut):
    bus = CsrBus(dut, os.environ["FOLDER"])
    await start(dut)
    dut.wdata_ready.value = 0
    sent, rooms = 0, []
    while sent < 20 and (room := await bus.get("wdata_room")):
        rooms.append(room)
        await bus.put("wdata_lo", sent)
        await bus.put("wdata_hi", ~sent & 0xFFFFFFFF)
        sent += 1
    assert rooms == list(range(16, 0, -1))
    got = []
    cocotb.start_soon(Sink(dut, "wdata", got=lambda beat, _: got.append(beat), stall=0.5).run())
    while len(got) < sent:
        await ClockCycles(dut.clk, 1)
    assert [b["data"] for b in got] == [(~n & 0xFFFFFFFF) << 32 | n for n in range(sent)] and await bus.get(
        "wdata_room"
    ) == 16


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def a_slow_pc_reads_every_beat_of_every_block(dut):
    rng = random.Random(SEED)
    core, bus = await begin(dut, stall=0.3, gap=lambda: rng.choice((0, 0, 0, 0, 40)))
    core.blocks = {9 + n: random_block(rng) for n in range(2)}
    assert await on_pc(HostLink(bus).read, 9, 2) == core.blocks[9] + core.blocks[10]


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def completions_wait_in_order_for_a_pc_that_looks_away(dut):
    bus = CsrBus(dut, os.environ["FOLDER"])
    await start(dut)
    source = Source(dut, "cpl")

    async def complete():
        for n in range(5):
            await source.send(tag=3 * n, status=n, result=0xC0DE0000 + n)

    await bus.put("cpl_pop")  # there is none: nothing happens, and none that comes later is dropped
    cocotb.start_soon(complete())
    await ClockCycles(dut.clk, 500)
    for n in range(5):
        assert await bus.get("cpl_valid") == 1
        assert [await bus.get(f"cpl_{f}") for f in ("tag", "status", "result")] == [3 * n, n, 0xC0DE0000 + n]
        await bus.put("cpl_pop")
    assert await bus.get("cpl_valid") == 0


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def a_reset_forgets_queued_beats_their_count_and_the_command(dut):
    core, bus = await begin(dut)
    dut.cmd_ready.value = 0
    for _ in range(7):
        await bus.put("wdata_hi", 0xDEAD)
    await ClockCycles(dut.clk, 20)
    dut.reset.value = 1
    await ClockCycles(dut.clk, 2)
    dut.reset.value = 0
    core.beats.clear()
    data = random_block(random.Random(SEED))
    await on_pc(HostLink(bus).write, 1, data)
    assert core.blocks == {1: data} and len(core.commands) == 1


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def the_client_returns_results_and_raises_on_a_status(dut):
    core, bus = await begin(dut, stall=0.2)
    link = HostLink(bus)
    assert await on_pc(link.run, Opcode.QUERY, arg=Query.CAPACITY) == (3, {})
    core.status = Status.TX_BUSY
    try:
        await on_pc(link.run, Opcode.BEGIN, txid=31)
        raise AssertionError("no error")
    except StatusError as e:
        assert e.status == Status.TX_BUSY and str(e) == "BEGIN: TX_BUSY"
    core.status = Status.SUCCESS
    await on_pc(link.run, Opcode.FLUSH)
    assert [c["tag"] for c in core.commands] == [0, 1, 2] and [c["hasTx"] for c in core.commands] == [0, 1, 0]


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def the_client_says_when_nobody_answers_or_somebody_else_does(dut):
    bus = CsrBus(dut, os.environ["FOLDER"])
    await start(dut)
    dut.cmd_ready.value = 1
    for silent in (True, False):
        if not silent:
            cocotb.start_soon(Source(dut, "rdata").send(tag=9, block=0))
        try:
            await on_pc(HostLink(bus, polls=20).run, Opcode.FLUSH)
            raise AssertionError("no error")
        except LinkError as e:
            assert ("does not answer" in str(e)) == silent and ("of command 9, not 0" in str(e)) != silent


def test_host_port():
    from cocotb_tests.bench.runner import BUILD, ROOT, run

    folder = BUILD / "host_port"
    # its own process: both soc/ and cocotb_tests/ have a streams.py
    subprocess.run([sys.executable, ROOT / "cocotb_tests/tb/host_port_top.py", folder], check=True)
    run("host_port_top", [folder.relative_to(ROOT) / "host_port_top.v"], __name__, env={"FOLDER": str(folder)})
