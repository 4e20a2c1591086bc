# SPDX-License-Identifier: Apache-2.0
"""The board's memory (`Ecpix5.add_memory` over LiteDRAM and its DDR3 model): every access ends, and what a write's
answer followed is what any port reads from then on.
"""

import os
import random
import subprocess
import sys
from collections import deque

import cocotb
from cocotb.queue import Queue
from cocotb.triggers import Event, FallingEdge, Lock, NextTimeStep, with_timeout
from cocotb.utils import get_sim_time

from cocotb_tests.bench.amount import amount
from cocotb_tests.bench.streams import Sink, Source, start
from soc import geometry

SEED = int(os.environ.get("SEED", "1"))
BYTES = {"table": 16, "frame": 8}  # of a beat
IDS = 16
ACCESS_CLOCKS = 17  # most that a random access may take; bench/r1.py has the same number
LINE = 64  # bytes; what one random access stays in
BOARD = geometry.preset("ecpix5")
BASE = {"table": BOARD.table_base, "frame": BOARD.frame_base}


def strobes(mask):
    return sum(bit << n for n, bit in enumerate(mask))


class Axi:
    """A master with up to 24 bursts under way in each direction.

    `write` takes (data, strobes) of each beat; both give back only when the answer is there.
    """

    def __init__(self, dut, name, stalls=None):
        rng, stalls = random.Random(SEED), stalls or {}
        self.dut, self.size = dut, BYTES[name]
        self.queues, self.free = {c: Queue() for c in ("aw", "w", "ar")}, {c: Queue() for c in "br"}
        self.answers = {c: [deque() for _ in range(IDS)] for c in "br"}  # by id: what is left, data so far, when done
        for c in "br":
            for n in range(IDS + IDS // 2):  # some ids are used twice at a time
                self.free[c].put_nowait(n)
            cocotb.start_soon(
                Sink(
                    dut, f"{name}_{c}", got=self.answers_of(c), stall=stalls.get(c, 0), rng=random.Random(rng.random())
                ).run()
            )
        for c, queue in self.queues.items():
            cocotb.start_soon(
                self.send(Source(dut, f"{name}_{c}", stall=stalls.get(c, 0), rng=random.Random(rng.random())), queue)
            )

    async def send(self, source, queue):
        while True:
            late = queue.empty()
            beat = await queue.get()
            if late:  # it came at a rising edge; beats start at falling ones
                await FallingEdge(self.dut.clk)
            await source.send(**beat)

    def answers_of(self, channel):
        def got(beat, clock):
            answer = self.answers[channel][beat["id"]][0]
            answer["left"] -= 1
            answer["data"].append(beat.get("data"))
            assert beat["resp"] == 0 and beat.get("last", 1) == (answer["left"] == 0)
            if answer["left"] == 0:
                self.answers[channel][beat["id"]].popleft()["done"].set()

        return got

    async def burst(self, channel, answers, at, beats, left):
        n, answer = await self.free[answers].get(), {"left": left, "data": [], "done": Event()}
        self.answers[answers][n % IDS].append(answer)
        self.queues[channel].put_nowait(
            {"addr": at, "id": n % IDS, "len": len(beats) - 1, "size": self.size.bit_length() - 1, "burst": 1}
        )
        if channel == "aw":
            for i, (data, strb) in enumerate(beats):
                self.queues["w"].put_nowait({"data": data, "strb": strb, "last": i == len(beats) - 1})
        await answer["done"].wait()
        self.free[answers].put_nowait(n)
        return answer["data"]

    async def write(self, at, beats):
        await self.burst("aw", "b", at, beats, 1)

    async def read(self, at, beats):
        return b"".join(d.to_bytes(self.size, "little") for d in await self.burst("ar", "r", at, range(beats), beats))

    async def put(self, rng, at, data, mask):
        """The bytes of `data` that `mask` chooses, in one burst or in several."""
        while data:
            count = rng.randint(1, len(data) // self.size)
            parts = [slice(i, i + self.size) for i in range(0, count * self.size, self.size)]
            await self.write(at, [(int.from_bytes(data[part], "little"), strobes(mask[part])) for part in parts])
            at, data, mask = at + count * self.size, data[count * self.size :], mask[count * self.size :]

    async def get(self, rng, at, size):
        data = b""
        while len(data) < size:
            data += await self.read(at + len(data), rng.randint(1, (size - len(data)) // self.size))
        return data


class Cpu:
    """A Wishbone master, one access of 32 bits at a time."""

    size = 4

    def __init__(self, dut, name):
        self.dut, self.lock = dut, Lock()
        self.s = {
            f: getattr(dut, f"{name}_bus_{f}") for f in ("adr", "dat_w", "dat_r", "sel", "cyc", "stb", "we", "ack")
        }
        for f in ("cyc", "stb", "we"):
            self.s[f].value = 0

    async def access(self, at, data=0, sel=15, we=0):
        async with self.lock:
            await NextTimeStep()  # an answer of the other port may have come in this one
            for f, v in {"adr": at // 4, "dat_w": data, "sel": sel, "we": we, "cyc": 1, "stb": 1}.items():
                self.s[f].value = v
            await FallingEdge(self.dut.clk)
            while not int(self.s["ack"].value):
                await FallingEdge(self.dut.clk)
            got = int(self.s["dat_r"].value)
            self.s["cyc"].value = self.s["stb"].value = 0
            await FallingEdge(self.dut.clk)
            return got

    async def put(self, rng, at, data, mask):
        for i in range(0, len(data), 4):
            await self.access(at + i, int.from_bytes(data[i : i + 4], "little"), strobes(mask[i : i + 4]), 1)

    async def get(self, rng, at, size):
        return b"".join([(await self.access(at + i)).to_bytes(4, "little") for i in range(0, size, 4)])


async def begin(dut, **stalls):
    masters = {name: (Axi(dut, name, stalls), Cpu(dut, name)) for name in BYTES}
    await start(dut)
    return masters


async def exchange(rng, writer, reader, at, before, turns=1):
    """`writer` writes some bytes of one line, `reader` reads it the moment the answer is there; what the line holds
    now.
    """
    step = max(writer.size, reader.size)
    for _ in range(turns):
        first = rng.randrange(0, LINE, step)
        size = rng.randrange(step, LINE - first + 1, step)
        data, mask = (
            rng.randbytes(size),
            [int(rng.random() < 0.8) for _ in range(size)] if rng.random() < 0.5 else [1] * size,
        )
        await with_timeout(writer.put(rng, at + first, data, mask), 200, "us")
        before = (
            before[:first]
            + bytes(new if m else old for new, old, m in zip(data, before[first:], mask, strict=False))
            + before[first + size :]
        )
        got = await with_timeout(reader.get(rng, at + first, size), 200, "us")
        assert got == before[first : first + size], (
            f"{type(writer).__name__} to {type(reader).__name__} at {at + first:08x}: {got.hex()} for "
            f"{before[first : first + size].hex()}"
        )
    return before


@cocotb.test(timeout_time=400, timeout_unit="us")
async def a_lone_write_ends_and_is_read_by_every_port(dut):
    masters, rng = await begin(dut), random.Random(SEED)
    for name, ports in masters.items():
        for n, (writer, reader) in enumerate((w, r) for w in ports for r in ports):
            at = BASE[name] + 4096 * n
            await ports[0].put(rng, at, bytes(LINE), [1] * LINE)
            await exchange(rng, writer, reader, at, bytes(LINE), turns=4)


@cocotb.test(timeout_time=400, timeout_unit="us")
async def write_data_may_come_long_before_its_address(dut):
    await apart(dut, aw=0.97)


@cocotb.test(timeout_time=400, timeout_unit="us")
async def write_data_may_come_long_after_its_address(dut):
    await apart(dut, w=0.97)


async def apart(dut, **stalls):
    masters, rng = await begin(dut, **stalls), random.Random(SEED)
    for name, (axi, _) in masters.items():
        data = rng.randbytes(256)
        tasks = [
            cocotb.start_soon(axi.put(rng, BASE[name] + at, data[at : at + 16], [1] * 16)) for at in range(0, 256, 16)
        ]
        for task in tasks:
            await task
        assert await axi.read(BASE[name], 256 // axi.size) == data


@cocotb.test(timeout_time=400, timeout_unit="us")
async def answers_nobody_takes_for_long_are_not_lost(dut):
    for name, (axi, _) in (await begin(dut, b=0.995, r=0.98)).items():
        tasks = [
            cocotb.start_soon(axi.write(BASE[name] + axi.size * n, [(n, (1 << axi.size) - 1)])) for n in range(3 * IDS)
        ]
        for task in tasks:
            await task
        got = await axi.read(BASE[name], 3 * IDS)
        assert got == b"".join(n.to_bytes(axi.size, "little") for n in range(3 * IDS))


@cocotb.test(timeout_time=3, timeout_unit="ms")
async def all_ports_together_at_random_agree_on_every_byte(dut):
    masters, rng = await begin(dut, aw=0.3, w=0.3, ar=0.3, b=0.3, r=0.3), random.Random(SEED)
    seen = set()

    async def user(name, at, seed):
        mine, line, ports = random.Random(seed), bytes(LINE), masters[name]
        await ports[1].put(mine, at, line, [1] * LINE)
        for _ in range(amount(5, 12)):
            writer, reader = mine.choice(ports), mine.choice(ports)
            seen.add((name, type(writer), type(reader)))
            line = await exchange(mine, writer, reader, at, line)

    # neighbours in one row, other banks, other rows of the same bank
    places = (
        [LINE * n for n in range(6)]
        + [(n << 11) + LINE for n in range(1, 4)]
        + [(n << 14) + 5 * LINE for n in range(1, 4)]
    )
    tasks = [cocotb.start_soon(user(name, BASE[name] + at, rng.random())) for name in BYTES for at in places]
    for task in tasks:
        await task
    assert len(seen) == 8


@cocotb.test(timeout_time=400, timeout_unit="us")
async def a_frame_takes_at_most_three_clocks_a_beat(dut):
    (axi, _), rng = (await begin(dut))["frame"], random.Random(SEED)
    data, clocks = rng.randbytes(4096), []
    words = [(int.from_bytes(data[i : i + 8], "little"), 255) for i in range(0, 4096, 8)]
    for step in ("write", "read"):
        before = get_sim_time("ns")
        bursts = [
            cocotb.start_soon(
                axi.write(BASE["frame"] + 8 * i, words[i : i + 32])
                if step == "write"
                else axi.read(BASE["frame"] + 8 * i, 32)
            )
            for i in range(0, 512, 32)
        ]
        got = [await with_timeout(b, 100, "us") for b in bursts]
        clocks.append((get_sim_time("ns") - before) / 10)
    assert b"".join(got) == data
    dut._log.info(f"4 KiB: written in {clocks[0]:.0f} clocks, read in {clocks[1]:.0f}")
    assert max(clocks) <= 3 * 512


@cocotb.test(timeout_time=400, timeout_unit="us")
async def a_random_access_of_table_memory_takes_at_most_17_clocks(dut):
    """Up to 24 under way, single beats, any place of the table half: what decision 008 and bench/r1.py count with."""
    (axi, _), rng = (await begin(dut))["table"], random.Random(SEED)
    clocks = {}

    async def change(at):
        await axi.read(at, 1)
        await axi.write(at, [(at, 0xFFFF)])

    for name, accesses, use in (
        ("read", 1, lambda at: axi.read(at, 1)),
        ("written", 1, lambda at: axi.write(at, [(at, 0xFFFF)])),
        ("read, then written", 2, change),
    ):
        before = get_sim_time("ns")
        tasks = [cocotb.start_soon(use(BASE["table"] + 16 * rng.randrange(1 << 20))) for _ in range(amount(160, 400))]
        for task in tasks:
            await with_timeout(task, 200, "us")
        clocks[name] = (get_sim_time("ns") - before) / 10 / len(tasks) / accesses
    for name, each in clocks.items():
        dut._log.info(f"table memory, {name} at random: {each:.1f} clocks per access")
    assert max(clocks.values()) <= ACCESS_CLOCKS


def test_dram_ports():
    from cocotb_tests.bench.runner import BUILD, ROOT, run

    folder = BUILD / "dram_ports"
    # its own process: both soc/ and cocotb_tests/ have a streams.py
    subprocess.run([sys.executable, ROOT / "cocotb_tests/tb/dram_ports_top.py", folder], check=True)
    run("dram_ports_top", [folder.relative_to(ROOT) / "dram_ports_top.v"], __name__)
