# SPDX-License-Identifier: Apache-2.0
"""Flash scheduler, NAND channels and the pin-level NAND model together: what a client puts into a frame is on the die
and comes back, all dies at once.
"""

import os
import random
import struct

import cocotb

from cocotb_tests.bench.amount import amount
from cocotb_tests.bench.flash_bench import BLOCKS, PAGES, FlashBench, verilog
from cocotb_tests.bench.nand_host import OWN
from cocotb_tests.bench.nand_pins import FAIL_ERASE, FAIL_PROGRAM, RETRIED, TIMES, Nand, Part, verilator_args
from cocotb_tests.models.flash_model import BLANK, FAIL, OK, OOB, Op
from opentxssd.faults import Faults, set_faults

# a part with cache operations, two planes and three read levels beyond level 0
CAPABLE = os.environ.get("OTX_CAPABLE") == "1"
SEED = int(os.environ.get("SEED", "1"))
BUS = 4096 * 2  # clocks of a page at one byte per two clocks


class Bench(FlashBench):
    def __init__(self, dut, stall=0.0):
        super().__init__(dut, SEED, stall, channels=False)
        g = self.geometry
        self.dies = [(c, w) for w in range(g.ways) for c in range(g.channels)]
        self.nand = Nand()
        times = {name: getattr(g.timing, f"t_{name}") for name in TIMES}
        part = Part(onfi=0, cache=1, planes=2, status_enhanced=1, retries=3) if CAPABLE else None
        dut.nandMode.value, dut.nandCapabilities.value = OWN, 0x3F if CAPABLE else 0
        assert self.nand.open(g.channels, g.ways, BLOCKS, PAGES, times=times, seed=SEED, part=part) is None

    async def mount(self):
        """Reset of controller and dies."""
        await self.begin(generation=0x1234_5678)
        for die in self.dies:
            self.op("firmware", Op.RESET, self.ppn(*die, 0))
        await self.finished()
        return self

    def random_page(self):
        return [self.rng.getrandbits(64) for _ in range(512)]

    def check_rules(self):
        assert self.nand.broken() == []


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def blocks_are_erased_programmed_and_read_back_on_all_dies_at_once(dut):
    b = await Bench(dut).mount()
    g = b.geometry
    start = b.clock
    erases = [b.op("firmware", Op.ERASE, b.ppn(*die, 5)) for die in b.dies]
    assert all(d["status"] == OK for d in await b.finished(*erases))
    clocks = b.clock - start
    dut._log.info("%d erases of 2000 clocks: %d clocks", len(b.dies), clocks)
    assert clocks < 2000 + 500, "erases do not overlap"

    for die in b.dies:
        b.free.queue.append({"payload": b.ppn(*die, 5) // PAGES})
    b.add(b.alloc)
    await b.until(lambda: len(b.pages) == len(b.dies) * PAGES)
    written, start = {}, b.clock
    for n, ppn in enumerate(b.pages[: 2 * len(b.dies)]):
        words = b.random_page()
        b.frame.fill(n, words)
        oob = {"kind": 1, "generation": 0x1234_5678, "lpn": b.rng.getrandbits(32), "sequence": b.rng.getrandbits(48)}
        written[ppn] = words, oob, b.op("write", Op.PROGRAM, ppn, n, 1, oob["lpn"], oob["sequence"])
    assert all(d["status"] == OK for d in await b.finished(*(w[2] for w in written.values())))
    clocks = b.clock - start
    alone = len(written) * (BUS + 1000)
    dut._log.info(
        "%d programs of %d + 1000 clocks: %d clocks, one after the other %d", len(written), BUS, clocks, alone
    )
    # both channels at the same time, and on each the bus works while an array programs
    assert clocks < len(written) // g.channels * (BUS + 700) + 2000

    for ppn, (words, oob, _) in written.items():
        die, row = divmod(ppn, BLOCKS * PAGES)
        stored = b.nand.peek(die, row)
        assert list(struct.unpack_from("<512Q", stored)) == words
        assert stored[4096:4102] == bytes([0xFF, 1]) + struct.pack("<I", oob["generation"])

    start = b.clock
    reads = {b.op("read", Op.READ, ppn, 40 + n): ppn for n, ppn in enumerate(written)}
    for cookie, done in zip(reads, await b.finished(*reads), strict=True):
        words, oob, _ = written[reads[cookie]]
        assert done["status"] == OK and {f: done[f] for f in OOB} == oob
        assert b.frame.page(b.ops[cookie]["frame"]) == words
    dut._log.info("%d reads of %d + 200 clocks: %d clocks", len(reads), BUS, b.clock - start)
    assert b.clock - start < len(reads) // g.channels * (BUS + 700) + 1000
    b.check_rules()
    assert dut.busy.value == 0


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def failures_and_blank_pages_come_back_with_their_status(dut):
    b = await Bench(dut).mount()
    erases = [b.op("firmware", Op.ERASE, b.ppn(*die, 2)) for die in b.dies]
    await b.finished(*erases)
    die = {b.ppn(*d, 0) // (BLOCKS * PAGES): d for d in b.dies}
    b.nand.fail(1, FAIL_PROGRAM)
    b.nand.fail(2, FAIL_ERASE)
    cookies = [
        b.op("log", Op.PROGRAM, b.ppn(*die[1], 2, 0), 56, 2),
        b.op("firmware", Op.ERASE, b.ppn(*die[2], 3)),
        b.op("read", Op.READ, b.ppn(*die[0], 2, 1), 41),
        b.op("log", Op.PROGRAM, b.ppn(*die[3], 2, 0), 57, 2),
    ]
    assert [d["status"] for d in await b.finished(*cookies)] == [FAIL, FAIL, BLANK, OK]
    assert b.frame.page(41) == [(1 << 64) - 1] * 512
    b.check_rules()


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_page_with_many_flipped_cells_is_reported_when_the_host_reads_it(dut):
    b = await Bench(dut).mount()
    pages = {count: b.ppn(*b.dies[count % len(b.dies)], 4, count // len(b.dies)) for count in (0, 4, 5, 6, 8)}
    await b.finished(*(b.op("firmware", Op.ERASE, b.ppn(*die, 4)) for die in b.dies))
    for count, ppn in pages.items():
        die, row = divmod(ppn, BLOCKS * PAGES)
        for n in range(row % PAGES + 1):  # pages of a block are programmed in order
            if (ppn - row % PAGES + n) not in [o["ppn"] for o in b.ops.values() if o["op"] == Op.PROGRAM]:
                await b.finished(b.op("write", Op.PROGRAM, ppn - row % PAGES + n, n))
        for bit in range(count):
            b.nand.flip(die, row, 8 * 512 * 3 + 37 * bit)
        b.weak.due.setdefault(ppn // (BLOCKS * PAGES) >> 1, []).extend([ppn] if count >= 5 else [])
    await b.finished(*(b.op("read", Op.READ, ppn, 40 + count) for count, ppn in pages.items()))
    await b.clocks(10)
    assert not any(b.weak.due.values()) and sorted(b.weak.reports) == sorted(
        ppn for count, ppn in pages.items() if count >= 5
    )
    assert (dut.correctedReads.value, dut.weakReads.value) == (4, 3)
    b.check_rules()


@cocotb.test(timeout_time=40, timeout_unit="ms")
async def random_programs_reads_and_erases_agree_with_what_was_written(dut):
    dut._log.info("SEED=%d", SEED)
    b = await Bench(dut, stall=0.1).mount()
    rng = random.Random(SEED)
    await b.finished(*(b.op("firmware", Op.ERASE, b.ppn(*die, block)) for block in range(2) for die in b.dies))
    written, following, frame = {}, dict.fromkeys(b.dies, 0), 0
    rounds = amount(3, 4)
    for _ in range(rounds):
        programs = []
        for die in b.dies:
            for client in rng.sample(["write", "log", "firmware"], 1):
                ppn, words = b.ppn(*die, 0, following[die]), b.random_page()
                following[die] += 1
                b.frame.fill(frame, words)
                programs.append((ppn, words, b.op(client, Op.PROGRAM, ppn, frame, 1, frame, frame)))
                frame += 1
        reads = [
            (ppn, b.op("read", Op.READ, ppn, 40 + i))
            for i, ppn in enumerate(rng.sample(sorted(written), min(3, len(written))))
        ]
        checks = [b.op("firmware", rng.choice([Op.VERIFY, Op.READ_OOB]), b.ppn(*die, 1, 0)) for die in b.dies]
        await b.finished()
        assert all(b.done[c]["status"] == OK for _, _, c in programs) and all(
            b.done[c]["status"] == BLANK for c in checks
        )
        for ppn, cookie in reads:
            assert b.done[cookie]["status"] == OK and b.frame.page(b.ops[cookie]["frame"]) == written[ppn], (
                f"page {ppn:#x}"
            )
        written |= {ppn: words for ppn, words, _ in programs}
    assert len(written) == rounds * len(b.dies)
    b.check_rules()


@cocotb.test(timeout_time=60, timeout_unit="ms", skip=not CAPABLE)
async def drifted_pages_come_back_whole_also_in_cache_reads_and_beside_other_work(dut):
    dut._log.info("SEED=%d", SEED)
    b = await Bench(dut).mount()
    b.weak_sink.open = False
    set_faults(b.nand.c, Faults(seed=SEED, drift_ppm=400_000, ber_drift=2 * 10**10))
    await b.finished(*(b.op("firmware", Op.ERASE, b.ppn(*die, block)) for block in range(2) for die in b.dies))
    places = [b.ppn(*die, block, n) for n in range(amount(2, PAGES)) for die in b.dies for block in (0, 1)]
    written = {ppn: b.random_page() for ppn in places}
    for at in range(0, len(places), 32):
        for frame, ppn in enumerate(places[at : at + 32]):
            b.frame.fill(frame, written[ppn])
            b.op("write", Op.PROGRAM, ppn, frame, 1, frame, frame)
        assert all(done["status"] == OK for done in await b.finished())
    turns = amount(1, 3)
    for turn in range(turns):
        reads = {b.op("read", Op.READ, ppn, 40 + n): ppn for n, ppn in enumerate(b.rng.sample(places, 16))}
        beside = [b.op("firmware", b.rng.choice([Op.ERASE, Op.VERIFY]), b.ppn(*die, 2 + turn % 2)) for die in b.dies]
        await b.finished(*reads, *beside, limit=400_000)
        for cookie, ppn in reads.items():
            assert b.done[cookie]["status"] == OK and b.frame.page(b.ops[cookie]["frame"]) == written[ppn], (
                f"page {ppn:#x} of turn {turn}"
            )
    await b.until(lambda: dut.busy.value == 0)
    again = b.nand.c.otx_nand_count(RETRIED)
    dut._log.info("%d reads at another level", again)
    assert again > 8 * turns and 3 * turns < int(dut.retriedReads.value) < 14 * turns
    b.check_rules()


def run_on(testcase=None, capable=False):
    from cocotb_tests.bench.runner import rtl, run

    part = dict(planes=2, retries=3, cache=1) if capable else {}
    sources = [
        verilog("otx_flash_backend", 2, 2, **part),
        *rtl(),
        "sim/otx_nand_die.sv",
        "cocotb_tests/tb/tb_flash_backend.sv",
    ]
    env = {"OTX_CHANNELS": "2", "OTX_WAYS": "2", "OTX_CAPABLE": str(int(capable))}
    run(
        "tb_flash_backend",
        sources,
        __name__,
        parameters={"CapabilityBits": 7} if capable else {},
        extra_args=verilator_args(),
        optimise="-O1",
        env=env,
        testcase=testcase,
    )


def test_flash_backend():
    run_on()


def test_a_part_that_can_do_more():
    run_on(["drifted_pages_come_back_whole_also_in_cache_reads_and_beside_other_work"], capable=True)
