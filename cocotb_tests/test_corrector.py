# SPDX-License-Identifier: Apache-2.0
"""The drive's corrector alone, over the C library of sim/ecc: corrections, their effect on the CRC, time, and words with too many wrong bits. `SEED=n` repeats a run."""

import os
import random

import corrector
import numpy as np
import pytest
from corrector import PARITY, Corrector, T, crc_effect, length, masks, random_places
from models.bch_model import Bch

SEED = int(os.environ.get("SEED", "1"))


@pytest.fixture(scope="module")
def block():
    return Corrector()


def check(result, chunk, places):
    wrong = masks(places)
    assert not result.failed and result.count == len(places) and result.fixes() == wrong
    assert list(result.byte[: result.hits]) == sorted(wrong, reverse=True)
    assert result.sum == crc_effect(chunk, wrong)


def test_remainders_are_those_of_the_encoder(block):
    """Parity of the bytes read XOR the parity read, by the model of the definition."""
    rng, model = random.Random(SEED), Bch(13, T, inverted=True)
    for chunk in range(8):
        data = bytearray(rng.randbytes(length(chunk) - PARITY))
        word = data + model.encode(data)
        places = rng.sample(range(8 * len(word)), 5)
        for byte, mask in masks(places).items():
            word[byte] ^= mask
        asked = bytes(a ^ b for a, b in zip(model.encode(word[:-PARITY]), word[-PARITY:], strict=True))
        assert block.remainders(np.array([chunk]), np.array([places])).tobytes() == asked


@pytest.mark.parametrize("stall", [0, 40])
def test_chunks_with_one_to_eight_wrong_bits(block, stall):
    rng = np.random.default_rng(SEED + stall)
    for count in range(1, T + 1):
        chunks = rng.integers(0, 8, 1250)
        places = random_places(rng, chunks, count)
        for result, chunk, at in zip(block.run(chunks, block.remainders(chunks, places), stall, SEED), chunks, places, strict=True):
            check(result, int(chunk), at)


def test_places_next_to_the_edges_of_data_fields_checksum_and_parity(block):
    edges = sorted({8 * byte + bit for byte in (0, 1, 511, 512, 513, 527, 528, 531, 532, 535, 536, 537, 548) for bit in (0, 7)})
    for chunk in range(8):
        here = [p for p in edges if p < 8 * length(chunk)]
        cases = [[p] for p in here] + [[p, q] for p in here for q in here if p < q] + [here[:8], here[-8:]]
        for places in cases:
            at = np.array([places])
            check(block.run([chunk], block.remainders(np.array([chunk]), at))[0], chunk, places)


def test_longest_time_is_what_the_head_says_and_below_10_us_at_100_mhz(block):
    longest = {}
    rng = np.random.default_rng(SEED)
    for chunk in (0, 7):
        for count in range(1, T + 1):
            chunks = np.full(50, chunk)
            places = random_places(rng, chunks, count)
            places[:, 0] = 0  # the first bit is searched last
            keep = [n for n, row in enumerate(places) if len(set(row)) == count]
            results = block.run(chunks[keep], block.remainders(chunks[keep], places[keep]))
            longest[chunk] = max([longest.get(chunk, 0), *(r.clocks for r in results)])
        assert longest[chunk] <= length(chunk) + 136 <= 1000
    print(f"FIGURE clocks from the last byte of a remainder to the end of its answer, at most: {longest[0]} (chunk 7: {longest[7]})")


def test_more_than_eight_wrong_bits_are_refused_and_the_next_word_is_corrected(block):
    rng = np.random.default_rng(SEED)
    for count in (9, 10, 11, 20, 200):
        chunks = rng.integers(0, 8, 100)
        asked = block.remainders(chunks, random_places(rng, chunks, count))
        good = random_places(rng, chunks, T)
        fine = block.remainders(chunks, good)
        both = np.stack([asked, fine], axis=1).reshape(-1, PARITY)
        results = block.run(np.repeat(chunks, 2), both)
        assert all(r.failed and r.hits == 0 for r in results[::2])
        for result, chunk, at in zip(results[1::2], chunks, good, strict=True):
            check(result, int(chunk), at)


def test_words_whose_first_syndrome_is_zero(block):
    """The key equation then begins with a step that changes nothing, and later ones must keep the shorter locator."""
    rng, field, bits, found = random.Random(SEED), Bch(13, T).field, 8 * length(0), 0
    while found < 40:
        ends = rng.sample(range(bits), rng.randrange(2, T))
        total = 0
        for e in ends:
            total ^= field.exp[e]
        last = field.log.get(total, bits)
        if last >= bits or last in ends:
            continue
        places = [bits - 1 - e for e in (*ends, last)]
        check(block.run([0], block.remainders(np.array([0]), np.array([places])))[0], 0, places)
        found += 1


def test_a_word_near_another_code_word_is_corrected_to_that_one(block):
    """Nine wrong bits of a code word with 17: eight others are its nearest ones; the corrector cannot know, and must give exactly these."""
    model = Bch(13, T)
    whole = [e for e in range(model.bits + 1) if model.generator >> e & 1]
    assert len(whole) > 2 * T
    # weight of the generator is more than 17: take all but eight of its bits
    places = [8 * length(0) - 1 - e for e in whole]
    rng = random.Random(SEED)
    for _ in range(20):
        rng.shuffle(places)
        result = block.run([0], block.remainders(np.array([0]), np.array([places[T:]])))[0]
        check(result, 0, places[:T])


def test_corrector_module_counts_agree_with_the_layout():
    assert [length(k) for k in range(8)] == [525] * 7 + [549] and corrector.COVERED == 4115
