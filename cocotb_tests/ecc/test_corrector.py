# SPDX-License-Identifier: Apache-2.0
"""The drive's corrector alone, over the C library of sim/ecc: corrections, their effect on the CRC, time, and words
with too many wrong bits. `SEED=n` repeats a run.
"""

import os
import random

import numpy as np
import pytest

from cocotb_tests.bench.amount import LONG, amount
from cocotb_tests.bench.corrector import Corrector, masks
from cocotb_tests.models.bch_model import Bch, multiply

SEED = int(os.environ.get("SEED", "1"))


@pytest.fixture(scope="module", params=[8, 24], ids=["t8", "t24"])
def block(request):
    return Corrector(request.param)


def check(block, result, chunk, places):
    wrong = masks(places)
    assert not result.failed and result.count == len(places) and result.fixes() == wrong
    assert list(result.byte[: result.hits]) == sorted(wrong, reverse=True)
    assert result.sum == block.crc_effect(chunk, wrong)


def test_remainders_are_those_of_the_encoder(block):
    """Parity of the bytes read XOR the parity read, by the model of the definition."""
    rng, model = random.Random(SEED), Bch(block.m, block.t, inverted=True)
    for chunk in range(block.chunks):
        data = bytearray(rng.randbytes(block.length(chunk) - block.parity))
        word = data + model.encode(data)
        places = rng.sample(range(8 * len(word)), 5)
        for byte, mask in masks(places).items():
            word[byte] ^= mask
        asked = bytes(a ^ b for a, b in zip(model.encode(word[: -block.parity]), word[-block.parity :], strict=True))
        assert block.remainders(np.array([chunk]), np.array([places])).tobytes() == asked


@pytest.mark.parametrize("stall", [0, 40])
def test_chunks_with_one_to_t_wrong_bits(block, stall):
    rng = np.random.default_rng(SEED + stall)
    for count in range(1, block.t + 1):
        chunks = rng.integers(0, block.chunks, amount(400, 1_250) if block.t == 8 else amount(16, 120))
        places = block.random_places(rng, chunks, count)
        for result, chunk, at in zip(
            block.run(chunks, block.remainders(chunks, places), stall, SEED), chunks, places, strict=True
        ):
            check(block, result, int(chunk), at)


def test_places_next_to_the_edges_of_data_fields_checksum_and_parity(block):
    near = [0, 1, *(block.data + n for n in (-1, 0, 1, 15, 16, 19, 20, 23, 24, 25)), block.length(block.chunks - 1) - 1]
    edges = sorted({8 * byte + bit for byte in near for bit in (0, 7)})
    for chunk in range(block.chunks) if LONG else (0, block.chunks - 1):  # those between are as the first
        here = [p for p in edges if p < 8 * block.length(chunk)]
        cases = (
            [[p] for p in here] + [[p, q] for p in here for q in here if p < q] + [here[: block.t], here[-block.t :]]
        )
        for places in cases:
            at = np.array([places])
            check(block, block.run([chunk], block.remainders(np.array([chunk]), at))[0], chunk, places)


def test_longest_time_is_what_the_head_says(block):
    longest = {}
    rng = np.random.default_rng(SEED)
    last = block.chunks - 1
    for chunk in (0, last):
        for count in range(1, block.t + 1):
            chunks = np.full(amount(6, 50), chunk)
            places = block.random_places(rng, chunks, count)
            places[:, 0] = 0  # the first bit is searched last
            keep = [n for n, row in enumerate(places) if len(set(row)) == count]
            results = block.run(chunks[keep], block.remainders(chunks[keep], places[keep]))
            longest[chunk] = max([longest.get(chunk, 0), *(r.clocks for r in results)])
        assert longest[chunk] <= block.most_clocks(chunk)
    assert longest[last] <= 1000, "10 us at 100 MHz"
    print(
        f"FIGURE t={block.t}, clocks from the last byte of a remainder to the end of its answer, at most: "
        f"{longest[0]} (last chunk: {longest[last]})"
    )


def test_more_than_t_wrong_bits_are_refused_and_the_next_word_is_corrected(block):
    rng = np.random.default_rng(SEED)
    for count in (block.t + 1, block.t + 2, block.t + 3, 2 * block.t + 4, 200):
        chunks = rng.integers(0, block.chunks, amount(20, 100))
        asked = block.remainders(chunks, block.random_places(rng, chunks, count))
        good = block.random_places(rng, chunks, block.t)
        fine = block.remainders(chunks, good)
        both = np.stack([asked, fine], axis=1).reshape(-1, block.parity)
        results = block.run(np.repeat(chunks, 2), both)
        assert all(r.failed and r.hits == 0 for r in results[::2])
        for result, chunk, at in zip(results[1::2], chunks, good, strict=True):
            check(block, result, int(chunk), at)


def test_words_whose_first_syndrome_is_zero(block):
    """The key equation then begins with a step that changes nothing, and later ones must keep the shorter locator."""
    rng, field, bits, found = random.Random(SEED), Bch(block.m, block.t).field, 8 * block.length(0), 0
    while found < 40:
        ends = rng.sample(range(bits), rng.randrange(2, block.t))
        total = 0
        for e in ends:
            total ^= field.exp[e]
        last = field.log.get(total, bits)
        if last >= bits or last in ends:
            continue
        places = [bits - 1 - e for e in (*ends, last)]
        check(block, block.run([0], block.remainders(np.array([0]), np.array([places])))[0], 0, places)
        found += 1


def test_words_whose_first_syndromes_are_zero_take_no_longer(block):
    """Multiples of a shorter code's generator: the degree of the locator is 0 for k steps and then 2k + 1 at once.

    Refused, as by the model, in the head's time at most.
    """
    rng, model, shorter, longest = random.Random(SEED), Bch(block.m, block.t), 1, 0
    for k in range(1, block.t):
        shorter = multiply(shorter, model.field.minimal(2 * k - 1))
        for _ in range(3):
            asked = multiply(shorter, rng.randrange(1, 1 << block.m * (block.t - k))).to_bytes(block.parity, "big")
            result, found = (
                block.run([0], np.frombuffer(asked, np.uint8)[None])[0],
                model.decode(bytes(block.data) + asked),
            )
            assert result.failed and found is None
            longest = max(longest, result.clocks)
    assert longest == block.most_clocks(0) - block.t, "without the beats of wrong bytes"


def test_a_word_near_another_code_word_is_corrected_to_that_one(block):
    """All but t of the bits of a code word are wrong: these t are its nearest ones; the corrector cannot know, and must
    give exactly these.
    """
    t, model = block.t, Bch(block.m, block.t)
    whole = [e for e in range(model.bits + 1) if model.generator >> e & 1]
    assert len(whole) > 2 * t
    places = [8 * block.length(0) - 1 - e for e in whole]
    rng = random.Random(SEED)
    for _ in range(20):
        rng.shuffle(places)
        result = block.run([0], block.remainders(np.array([0]), np.array([places[t:]])))[0]
        check(block, result, 0, places[:t])


def test_lengths_are_those_of_the_layout(block):
    assert block.lengths.tolist() == {8: [525] * 7 + [549], 24: [1066] * 3 + [1090]}[block.t]
