# SPDX-License-Identifier: Apache-2.0
"""Error correction of the NAND channel against the pin-level NAND model, whose bits are flipped.

Pages come right up to T wrong bits a chunk (8 in 512 bytes, or 24 in 1,024), with their fields and checksum, and no
further.
Pages are judged by models/nand_page.py (parity by bchlib). With the longer code the part has 224 spare bytes, of which
192 are used.
"""

import os
import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge, with_timeout

from cocotb_tests.bench.amount import LONG, amount
from cocotb_tests.bench.nand_channel import FIELDS, PAGES, SEED, page, same, simulate
from cocotb_tests.bench.nand_channel import drive as drive_with
from cocotb_tests.bench.nand_host import Op, Status
from cocotb_tests.bench.nand_pins import Nand
from cocotb_tests.models.nand_page import COVERED_SPARE, Layout

L = Layout(int(os.environ.get("ECC_T", "8")))
T, CHUNKS, LAST, bits, stored = L.t, L.chunks, L.chunks - 1, L.bits, L.stored
ERASED = {"kind": 0xFF, "generation": 2**32 - 1, "lpn": 2**32 - 1, "sequence": 2**48 - 1}
WORST = {8: 5200, 24: 4200}[T]  # clocks that chunks with T wrong bits each may add to a read
ONE = {8: 670, 24: 1060}[T]  # and one of them
COUNTS = {8: range(1, 9), 24: (1, 9, 17, 24)}[T]  # of wrong bits in a chunk


def ecc(function):
    async def checked(dut):
        await with_timeout(function(dut), 100, "ms")
        assert Nand().broken() == []

    checked.__name__, checked.__qualname__ = function.__name__, function.__name__
    return cocotb.test()(checked)


async def drive(dut, **more):
    return await drive_with(dut, part={"spare_bytes": L.spare, "unused": L.spare - L.spare_used}, **more)


class Page:
    """A page with wrong bits; `undo` takes them away."""

    def __init__(self, nand, way, row):
        self.nand, self.way, self.row, self.wrong = nand, way, row, []

    def flip(self, places):
        for bit in places:
            self.nand.flip(self.way, self.row, bit)
        self.wrong += places

    def undo(self):
        places, self.wrong = self.wrong, []
        self.flip(places)
        self.wrong = []


async def programmed(dut, way=0, row=0, seed=1, **more):
    nand, host = await drive(dut, **more)
    data = page(seed)
    same(await host.run(way, Op.PROGRAM, row, data=data, **FIELDS), Status.OK)
    assert nand.peek(way, row) == stored(data, **FIELDS)
    return nand, host, Page(nand, way, row), data


@ecc
async def each_chunk_is_corrected_with_one_to_t_wrong_bits(dut):
    nand, host, at, data = await programmed(dut)
    rng = random.Random(SEED)
    for chunk in range(CHUNKS):
        for count in COUNTS if LONG else sorted({1, COUNTS[chunk % len(COUNTS)], T}):
            at.flip(rng.sample(bits(chunk), count))
            same(await host.run(0, Op.READ, 0), Status.OK, data=data, corrected=count, **FIELDS)
            at.undo()
    same(await host.run(0, Op.READ, 0), Status.OK, data=data, corrected=0, **FIELDS)


@ecc
async def t_and_one_wrong_bits_are_an_error_of_that_page_only(dut):
    nand, host, at, data = await programmed(dut)
    same(await host.run(0, Op.PROGRAM, 1, data=data, **FIELDS), Status.OK)
    rng = random.Random(SEED)
    for chunk in range(CHUNKS):
        at.flip(rng.sample(bits(chunk), T + 1))
        assert (await host.run(0, Op.VERIFY, 0))["status"] == Status.CRC, f"chunk {chunk}"
        same(await host.run(0, Op.READ, 1), Status.OK, data=data, corrected=0, **FIELDS)
        assert (await host.run(0, Op.READ, 0))["status"] == Status.CRC
        oob = await host.run(0, Op.READ_OOB, 0)
        assert oob["status"] == (Status.CRC if chunk == LAST else Status.OK), f"READ_OOB, chunk {chunk}"
        at.undo()
    same(await host.run(0, Op.READ, 0), Status.OK, data=data, corrected=0, **FIELDS)


@ecc
async def every_bit_of_the_fields_and_of_their_parity_is_corrected(dut):
    nand, host, at, data = await programmed(dut)
    parity = L.parity_bytes(LAST)
    places = [*range(8 * 4096, 8 * (4096 + COVERED_SPARE)), *range(8 * parity[0], 8 * parity[-1] + 8)]
    for place in places[:: amount(3, 1)] if T == 8 else places[:: amount(11, 7)]:
        at.flip([place])
        same(await host.run(0, Op.READ_OOB, 0), Status.OK, data=None, corrected=1, **FIELDS)
        at.undo()
    for place in places[:: amount(29, 11) if T == 8 else 37]:
        at.flip([place])
        same(await host.run(0, Op.VERIFY, 0), Status.OK, data=None, corrected=1, **FIELDS)
        at.undo()
    assert not host.fixes, "a correction of data that nobody has"


@ecc
async def fields_checksum_and_last_beats_are_corrected_in_one_read_after_the_page(dut):
    nand, host, at, data = await programmed(dut)
    fields = [8 * 4097, 8 * 4098 + 7, 8 * 4102 + 1, 8 * 4109 + 2, 8 * 4111 + 6, 8 * 4112 + 3, 8 * 4115 + 7, 8 * 4115]
    at.flip(fields + [8 * L.parity_bytes(LAST)[n] for n in range(T - len(fields))])
    at.flip([8 * (L.chunk - 1) + 7, 8 * L.chunk])
    host.late = 1500  # the last beats wait longer than the first corrections take
    same(await host.run(0, Op.READ, 0), Status.OK, data=data, corrected=T, **FIELDS)
    assert sorted(host.fixes) == [(0, L.chunk - 1, 0x80), (0, L.chunk, 1)]
    host.late = 0
    at.undo()
    at.flip([8 * (4096 - L.chunk) + bit for bit in range(T + 1)])
    assert (await host.run(0, Op.READ_OOB, 0))["status"] == Status.CRC
    at.undo()
    nand.flip(1, 3, 4200 * 8)
    same(await host.run(1, Op.VERIFY, 3), Status.BLANK, corrected=1, **ERASED)
    for bit in range(T + 1):
        nand.flip(1, 4, 8 * 600 + bit)
    same(await host.run(1, Op.VERIFY, 4), Status.CRC)


@ecc
async def ends_of_chunks_and_whole_bytes_are_corrected(dut):
    nand, host, at, data = await programmed(dut)
    whole = T // 8  # bytes of one chunk whose bits are all wrong
    for byte in (
        0,
        1,
        L.chunk - whole,
        L.chunk,
        L.chunk + 1,
        2 * L.chunk - whole,
        2048 - whole,
        2048,
        4096 - L.chunk - whole,
        4096 - L.chunk,
        4096 - whole,
    ):
        at.flip([8 * byte + bit for bit in range(T)])
        same(await host.run(0, Op.READ, 0), Status.OK, data=data, corrected=T, **FIELDS)
        assert host.fixes == [(0, byte + n, 0xFF) for n in reversed(range(whole))]
        host.fixes.clear()
        at.undo()


@ecc
async def wrong_bits_in_parity_only_leave_the_data_alone(dut):
    nand, host, at, data = await programmed(dut)
    for chunk in range(CHUNKS):
        at.flip(random.Random(chunk).sample(bits(chunk)[-8 * L.parity :], T))
    same(await host.run(0, Op.READ, 0), Status.OK, data=data, corrected=T, **FIELDS)
    assert not host.fixes


@ecc
async def all_chunks_bad_at_once_take_bounded_time_and_clean_pages_none(dut):
    nand, host, at, data = await programmed(dut)
    clocks = {}
    for name, count in (("clean", 0), ("one", 1), ("one full", T), ("all full", T), ("too many", T + 1)):
        for chunk in [CHUNKS // 2] if name.startswith("one") else range(CHUNKS):
            at.flip(random.Random(chunk + SEED).sample(bits(chunk), count))
        begin = host.clocks()
        cpl = await host.run(0, Op.VERIFY, 0)
        clocks[name] = host.clocks() - begin
        assert cpl["status"] == (Status.CRC if count > T else Status.OK) and (count > T or cpl["corrected"] == count)
        at.undo()
    more = {name: n - clocks["clean"] for name, n in clocks.items()}
    words = (
        f"one wrong bit {more['one']}, {T} in one chunk {more['one full']}, {T} in each of {CHUNKS} chunks "
        f"{more['all full']}, first chunk uncorrectable {more['too many']}"
    )
    dut._log.info(f"FIGURE t={T}, clocks more than a clean page: {words}")
    assert 0 < more["one"] <= more["one full"] < ONE and more["all full"] < WORST and more["too many"] < ONE


@ecc
async def erased_page_with_wrong_bits_is_blank_and_with_more_it_is_not(dut):
    nand, host = await drive(dut)
    rng = random.Random(SEED)
    at = Page(nand, 1, 9)
    for count in COUNTS:
        for chunk in range(CHUNKS):
            at.flip(rng.sample(bits(chunk), count))
        for op in (Op.READ, Op.VERIFY, Op.READ_OOB):
            same(await host.run(1, op, 9), Status.BLANK, data=b"\xff" * 4096 if op == Op.READ else None, **ERASED)
        at.undo()
    for chunk in range(CHUNKS):
        at.flip(rng.sample(bits(chunk), T + 1))
        same(await host.run(1, Op.VERIFY, 9), Status.CRC)
        assert (await host.run(1, Op.READ_OOB, 9))["status"] == (Status.CRC if chunk == LAST else Status.BLANK)
        at.undo()
    same(await host.run(1, Op.READ, 9), Status.BLANK, data=b"\xff" * 4096, corrected=0, **ERASED)


@ecc
async def page_of_ff_data_is_not_erased_and_is_corrected(dut):
    nand, host = await drive(dut)
    data = b"\xff" * 4096
    same(await host.run(0, Op.PROGRAM, 0, data=data, **FIELDS), Status.OK)
    for chunk in range(CHUNKS):
        for bit in random.Random(chunk).sample(bits(chunk), T):
            nand.flip(0, 0, bit)
    same(await host.run(0, Op.READ, 0), Status.OK, data=data, corrected=T, **FIELDS)
    same(await host.run(0, Op.READ_OOB, 0), Status.OK, corrected=T, **FIELDS)


@ecc
async def two_ways_with_errors_at_once_beside_a_channel_that_keeps_the_corrector_busy(dut):
    nand, host, at, data = await programmed(dut, way=0)
    same(await host.run(1, Op.PROGRAM, 0, data=page(5), **FIELDS), Status.OK)
    for way in range(2):
        for chunk in range(way, CHUNKS, 2):
            for bit in random.Random(chunk).sample(bits(chunk), T - chunk):
                nand.flip(way, 0, bit)
    dut.rival.value = 1
    for _ in range(3):
        both = [await host.issue(way, Op.READ, 0) for way in range(2)]
        for way, event in enumerate(both):
            await event.wait()
            same(event.cpl, Status.OK, data=data if way == 0 else page(5), corrected=T - way, **FIELDS)
    dut.rival.value = 0


@ecc
async def reset_in_a_repair_forgets_it(dut):
    nand, host, at, data = await programmed(dut)
    for chunk in range(CHUNKS):
        at.flip(random.Random(chunk).sample(bits(chunk), T))
    for wait in (5, 60, 200, 700, 1600):
        await host.issue(0, Op.VERIFY, 0)
        while not int(dut.asks.value):
            await FallingEdge(dut.clk)
        for _ in range(wait):
            await FallingEdge(dut.clk)
        dut.reset.value = 1
        for _ in range(3):
            await FallingEdge(dut.clk)
        dut.reset.value = 0
        host.waits = {}
        for way in range(2):
            same(await host.run(way, Op.RESET), Status.OK)
    same(await host.run(0, Op.READ, 0), Status.OK, data=data, corrected=T, **FIELDS)


async def random_errors(dut, stall, steps):
    """Both ways at once: pages, written or not, with up to T wrong bits in each chunk, sometimes more in some."""
    nand, host = await drive(dut, stall=stall)
    done = {status: 0 for status in Status}
    worst = {count: 0 for count in range(T + 1)}

    async def work(way):
        rng, golden = random.Random(SEED * 2 + way), {}
        for row in range(4):
            fields = dict(
                kind=rng.randrange(1, 6),
                generation=rng.getrandbits(32),
                lpn=rng.getrandbits(32),
                sequence=rng.getrandbits(48),
            )
            golden[row] = rng.choice([rng.randbytes(4096), bytes(4096), b"\xff" * 4096]), fields
            same(await host.run(way, Op.PROGRAM, row, data=golden[row][0], **fields), Status.OK)
            assert nand.peek(way, row) == stored(golden[row][0], **fields)
        for _ in range(steps):
            op, row, at = rng.choice([Op.READ, Op.READ, Op.VERIFY, Op.READ_OOB]), rng.randrange(6), None
            row = row if row < 4 else PAGES + row
            at = Page(nand, way, row)
            counts = [rng.choice([0, 0, 0, 1, 2, T, rng.randrange(T + 1)]) for _ in range(CHUNKS)]
            if rng.random() < 0.25:
                counts[rng.randrange(CHUNKS)] = rng.randrange(T + 1, 5 * T)
            for chunk, count in enumerate(counts):
                at.flip(rng.sample(bits(chunk), count))
            data, fields = golden.get(row, (b"\xff" * 4096, ERASED))
            seen = counts[LAST:] if op == Op.READ_OOB else counts
            cpl = await host.run(way, op, row)
            if max(seen) > T:
                same(cpl, Status.CRC)
            else:
                status = Status.OK if row in golden else Status.BLANK
                same(cpl, status, data=data if op == Op.READ else None, corrected=max(seen), **fields)
                worst[max(seen)] += 1
            done[cpl["status"]] += 1
            at.undo()

    tasks = [cocotb.start_soon(work(way)) for way in range(2)]
    for task in tasks:
        await task
    dut._log.info(f"SEED={SEED}, {dict((s.name, n) for s, n in done.items() if n)}, most wrong bits of a chunk {worst}")
    assert done[Status.OK] and (not LONG or done[Status.CRC] and done[Status.BLANK])


@ecc
async def random_errors_agree_with_the_golden_pages(dut):
    await random_errors(dut, 0.0, amount(16, 40) if T == 8 else amount(8, 12))


@ecc
async def random_errors_with_stalls_on_every_stream_agree_too(dut):
    dut.rival.value = 1
    await random_errors(dut, 0.1, amount(8, 15) if T == 8 else amount(4, 6))


@pytest.mark.parametrize("t", [8, 24])
def test_nand_ecc(t):
    simulate(__name__, int(os.environ.get("CLK_PS", "10000")), **({} if t == 8 else {"T": t}))
