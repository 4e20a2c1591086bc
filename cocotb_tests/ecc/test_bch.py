# SPDX-License-Identifier: Apache-2.0
"""BCH codec: parity and corrections of the RTL against bchlib, galois and the model of the definition, over the C
library of sim/ecc.

`SEED=n` repeats a run. `ECC_TRIALS=n` is how many words with more errors than can be corrected are tried (without it
1,000, with LONG=1 2,000).
"""

import os
import random
from math import comb

import bchlib
import numpy as np
import pytest

from cocotb_tests.bench import bch_codec
from cocotb_tests.bench.amount import amount
from cocotb_tests.bench.bch_codec import CLEAN, FAILED, FIXED, Codec
from cocotb_tests.models.bch_model import PRIMITIVE, Bch

SEED = int(os.environ.get("SEED", "1"))
TRIALS = int(os.environ.get("ECC_TRIALS", amount("1000", "2000")))
CODES = [(13, 8, 512), (14, 24, 1024), (8, 2, 20), (14, 4, 1024)]
IDS = [f"m{m}-t{t}" for m, t, _ in CODES]

MOST = amount(3, 4)  # of these codes


def reference(m, t):
    return bchlib.BCH(t, prim_poly=PRIMITIVE[m])


def inverse(data):
    return bytes(b ^ 0xFF for b in data)


def flip(word, places):
    """Bit `p` of a word is bit 7 - p % 8 of byte p // 8."""
    out = bytearray(word)
    for p in places:
        out[p // 8] ^= 0x80 >> p % 8
    return bytes(out)


def masks(places):
    out = {}
    for p in places:
        out[p // 8] = out.get(p // 8, 0) ^ 0x80 >> p % 8
    return out


class Bench:
    """A codec and code words for it, made by bchlib."""

    def __init__(self, m, t, length):
        self.m, self.t, self.length, self.rng = m, t, length, random.Random(SEED)
        self.codec, self.bch = Codec(m, t, users=2 if m == 8 else 1), reference(m, t)
        self.parity = m * t // 8

    def word(self, length=None):
        data = self.rng.randbytes(length or self.length)
        return data + inverse(self.bch.encode(inverse(data)))

    def places(self, word, errors):
        return self.rng.sample(range(8 * len(word)), errors)

    def check(self, result, places):
        """The result is exactly the injected errors."""
        assert result.status == (FIXED if places else CLEAN)
        assert result.count == len(places) and result.fixes() == masks(places)
        if places:
            at = list(result.byte[: result.hits])
            assert at == sorted(at, reverse=True)


@pytest.fixture(scope="module")
def bench():
    made = {}

    def get(m=13, t=8, length=512):
        if (m, t) not in made:
            made[m, t] = Bench(m, t, length)
        return made[m, t]

    return get


def encoder_of_galois(m, t, model):
    """data -> data and parity, by galois; its generator is that of the model."""
    import galois

    field = galois.GF(2**m, irreducible_poly=galois.Poly.Int(PRIMITIVE[m]))
    other = galois.BCH(2**m - 1, d=2 * t + 1, extension_field=field, alpha=field(2))
    assert int(other.generator_poly) == model.generator
    return lambda data: np.packbits(
        np.array(other.encode(galois.GF2(np.unpackbits(np.frombuffer(data, np.uint8)))), np.uint8)
    ).tobytes()


@pytest.mark.parametrize(("m", "t", "length"), CODES, ids=IDS)
def test_model_agrees_with_bchlib_and_galois(m, t, length):
    rng, model, bch, encode = random.Random(SEED), Bch(m, t), reference(m, t), None
    if amount(False, True):  # galois compiles itself for seconds for each code
        encode = encoder_of_galois(m, t, model)
    for n in range(3):
        data = rng.randbytes(length - n)
        parity = model.encode(data)
        assert parity == bytes(bch.encode(data)) and len(parity) == model.parity_bytes == m * t // 8
        assert not encode or encode(data) == data + parity
        for errors in (0, 1, t):
            places = rng.sample(range(8 * len(data + parity)), errors)
            assert model.decode(flip(data + parity, places)) == masks(places)


@pytest.mark.parametrize(
    ("m", "t", "length", "inverted"),
    [(*CODES[0], True), (*CODES[1], True), (*CODES[2], False)],
    ids=[*IDS[:2], f"{IDS[2]}-plain"],
)
def test_parity_is_that_of_bchlib_and_of_the_model(m, t, length, inverted):
    codec, bch, model, rng = Codec(m, t, inverted=inverted), reference(m, t), Bch(m, t, inverted), random.Random(SEED)
    longest = (2**m - 1) // 8 - m * t // 8
    for n, size in enumerate(
        [1, 2, length, min(length + 24, longest), longest]
        + [rng.randrange(1, longest + 1) for _ in range(amount(15, 45))]
    ):
        data = rng.randbytes(size) if n % 7 else b"\xff" * size
        parity = codec.encode(data, n % 8)
        assert (
            parity
            == (inverse(bch.encode(inverse(data))) if inverted else bytes(bch.encode(data)))
            == model.encode(data)
        )
        if inverted and not n % 7:
            assert parity == b"\xff" * len(parity), "an erased chunk is a code word"


def test_eight_chunks_of_a_page_are_encoded_side_by_side(bench):
    b = bench()
    words = [b.word(536 if i == 7 else 512) for i in range(8)]
    sent = bch_codec.page(words, b.parity)
    asked = sent & ~np.uint16(bch_codec.LAST)
    # what stands in the place of parity does not matter
    asked[-8 * b.parity :] = asked[-8 * b.parity :] & 0xF00 | bch_codec.PARITY | 0xA5
    assert (b.codec.encode_stream(asked) == sent & 0xFF).all()
    # the same with the bytes of all chunks mixed
    mixed = [bch_codec.stream([w], first=i) & ~np.uint16(bch_codec.LAST) for i, w in enumerate(words)]
    mixed = [np.concatenate([w[: -b.parity], w[-b.parity :] & 0xF00 | bch_codec.PARITY]) for w in mixed]
    order = [i for i, w in enumerate(mixed) for _ in w]
    b.rng.shuffle(order)
    at, stream = [0] * 8, []
    for i in order:
        stream.append(mixed[i][at[i]])
        at[i] += 1
    out, got = b.codec.encode_stream(np.array(stream)), [[] for _ in words]
    for i, byte in zip(order, out, strict=True):
        got[i].append(byte)
    assert [bytes(g) for g in got] == words


def test_thousands_of_chunks_with_up_to_t_errors(bench):
    b = bench()
    seen = dict.fromkeys(range(9), 0)
    for batch in range(amount(8, 50)):
        words = [b.word(b.rng.choice([512, 512, 536, b.rng.randrange(1, 1010)])) for _ in range(200)]
        places = [b.places(w, b.rng.randrange(0, b.t + 1)) for w in words]
        results = b.codec.decode(
            [flip(w, p) for w, p in zip(words, places, strict=True)],
            gap=batch % 5 * 10,
            stall=batch % 3 * 30,
            seed=SEED + batch,
        )
        for result, p in zip(results, places, strict=True):
            b.check(result, p)
            seen[len(p)] += 1
    print(f"chunks by number of errors: {seen}")
    assert sum(seen.values()) == amount(1_600, 10_000)


@pytest.mark.parametrize(("m", "t", "length"), CODES[1:MOST], ids=IDS[1:MOST])
def test_other_codes_correct_up_to_t_errors(bench, m, t, length):
    b = bench(m, t, length)
    words = [b.word(max(1, length - b.rng.randrange(20))) for _ in range(150)]
    places = [b.places(w, n % (t + 1)) for n, w in enumerate(words)]
    for result, p in zip(
        b.codec.decode([flip(w, p) for w, p in zip(words, places, strict=True)], stall=20), places, strict=True
    ):
        b.check(result, p)


def test_every_single_and_double_error_of_a_short_code(bench):
    b = bench(8, 2, 20)
    word = b.word(6)
    every = [[i] for i in range(64)] + [[i, j] for i in range(64) for j in range(i)]
    for result, p in zip(b.codec.decode([flip(word, p) for p in every]), every, strict=True):
        b.check(result, p)


def test_errors_in_the_parity_at_the_ends_and_in_bursts(bench):
    b = bench()
    word = b.word()
    bits = 8 * len(word)
    cases = [
        [0],
        [bits - 1],
        [0, bits - 1],
        list(range(8)),
        list(range(bits - 8, bits)),
        [8 * 512 - 1, 8 * 512],
        list(range(8 * 512, 8 * 512 + 8)),
    ]
    cases += [list(range(start, start + n)) for n in (2, 5, 8) for start in b.rng.sample(range(bits - 8), 20)]  # bursts
    cases += [b.rng.sample(range(8 * 512, bits), n % 8 + 1) for n in range(40)]  # parity only
    cases += [list(range(n, bits, bits // 8))[:8] for n in range(8)]
    for result, p in zip(b.codec.decode([flip(word, p) for p in cases]), cases, strict=True):
        b.check(result, p)


def test_erased_chunks_with_flipped_bits_are_known_as_erased(bench):
    b = bench()
    cases = []
    for n in range(200):
        word = b"\xff" * (b.rng.choice([512, 536, b.rng.randrange(1, 1000)]) + b.parity)
        cases.append((word, b.places(word, n % 12)))
    for result, (_word, p) in zip(b.codec.decode([flip(w, p) for w, p in cases]), cases, strict=True):
        assert result.erased == (len(p) <= b.t)
        if len(p) <= b.t:
            b.check(result, p)
    written = [b.word() for _ in range(50)]
    assert not any(r.erased for r in b.codec.decode(written))


@pytest.mark.parametrize(("m", "t", "length"), CODES[2:MOST], ids=IDS[2:MOST])
def test_more_than_t_errors_end_as_bchlib_says(bench, m, t, length):
    """Of these codes many words with too many errors lie near another code word.

    RTL and bchlib must find the same ones, and as many as theory says.
    """
    b, wrong, trials = bench(m, t, length), 0, 2000
    words = [b.word() for _ in range(trials)]
    damaged = [flip(w, b.places(w, b.rng.randrange(t + 1, 4 * t))) for w in words]
    for result, word in zip(b.codec.decode(damaged), damaged, strict=True):
        data, parity = inverse(word[: -b.parity]), inverse(word[-b.parity :])
        errors = b.bch.decode(data, parity)
        assert (result.status == FAILED) == (errors < 0) and result.status != CLEAN
        if errors >= 0:
            wrong += 1
            # bchlib counts bits from the lowest of a byte
            assert result.fixes() == masks([p // 8 * 8 + 7 - p % 8 for p in b.bch.errloc])
    n = 8 * len(words[0])
    theory = sum(comb(n, i) for i in range(t + 1)) / 2 ** (m * t)
    print(
        f"m={m} t={t}, {n} bits: {wrong} of {trials} corrected to another word, theory for random words "
        f"{theory * trials:.1f}"
    )
    assert 0.5 * theory * trials - 10 <= wrong <= 1.6 * theory * trials + 10


def test_more_than_t_errors_are_found(bench):
    """m=13, t=8: a random word lies near a code word with 1.2e-7, so none is expected."""
    b, wrong, done = bench(), 0, 0
    while done < TRIALS:
        words = [b.word() for _ in range(min(500, TRIALS - done))]
        damaged = [flip(w, b.places(w, b.rng.choice([9, 9, 10, 11, 12, 16, 40, 200]))) for w in words]
        results = b.codec.decode(damaged)
        wrong += sum(r.status != FAILED for r in results)
        done += len(words)
    print(
        f"{done} words with more than 8 errors, {wrong} not found, theory for random words "
        f"{done * comb(4200, 8) / 2**104:.3f}"
    )
    assert wrong <= done * 1e-6


def test_a_bad_word_does_not_touch_its_neighbours(bench):
    b = bench()
    words = [b.word() for _ in range(120)]
    places = [b.places(w, b.rng.choice([0, 3, 8, 9, 30, 1000])) for w in words]
    for result, p in zip(
        b.codec.decode([flip(w, p) for w, p in zip(words, places, strict=True)], stall=50, gap=10), places, strict=True
    ):
        if len(p) > b.t:
            assert result.status == FAILED and result.hits == 0
        else:
            b.check(result, p)


def test_clean_words_pass_without_a_pause(bench):
    b = bench()
    words = [b.word() for _ in range(20)]
    results = b.codec.decode(words)
    assert all(r.status == CLEAN for r in results)
    assert b.codec.waited == 0 and b.codec.clocks == sum(map(len, words)) + 1, (
        "one clock after the last byte all is said"
    )


def test_words_with_few_errors_pass_without_a_pause(bench):
    b = bench()
    words = [b.word() for _ in range(40)]
    places = [b.places(w, n % 9 if n % 2 else 0) for n, w in enumerate(words)]
    for result, p in zip(b.codec.decode([flip(w, p) for w, p in zip(words, places, strict=True)]), places, strict=True):
        b.check(result, p)
    assert b.codec.waited == 0


def test_more_words_with_errors_than_the_queue_holds_wait_and_are_corrected(bench):
    b = bench()
    words = [b.word(20) for _ in range(60)]
    places = [b.places(w, 8) for w in words]
    for result, p in zip(b.codec.decode([flip(w, p) for w, p in zip(words, places, strict=True)]), places, strict=True):
        b.check(result, p)
    assert b.codec.waited > 0


def test_a_page_with_errors_in_all_chunks(bench):
    b = bench()
    for _ in range(10):
        words = [b.word(536 if i == 7 else 512) for i in range(8)]
        places = [b.places(w, b.rng.randrange(1, 9)) for w in words]
        results = b.codec.run(bch_codec.page([flip(w, p) for w, p in zip(words, places, strict=True)], b.parity))[0]
        assert [r.chunk for r in results] == list(range(8))
        for result, p in zip(results, places, strict=True):
            b.check(result, p)
        assert b.codec.waited == 0


@pytest.mark.parametrize(("m", "t", "length", "width"), [(13, 8, 512, 1), (14, 24, 1024, 2)], ids=IDS[:2])
def test_the_longest_time_is_what_the_head_of_the_decoder_says(bench, m, t, length, width):
    b, longest = bench(m, t, length), 0
    for n in range(40):
        word = b.word(length)
        places = [0 if n else 7, *b.rng.sample(range(8, 8 * len(word)), t - 1)]  # the first byte is searched last
        result = b.codec.decode([flip(word, places)])[0]
        b.check(result, places)
        longest = max(longest, result.fixed - result.ended)
    print(f"FIGURE worst case of {t} errors in {len(word)} bytes: {longest} clocks from the last byte to the last beat")
    assert longest <= -(-len(word) // width) + t * (t + 11) // 2 + 7 <= 1000


@pytest.mark.parametrize("size", [1, 2, 3, 1023, 1024])
def test_bytes_that_are_searched_together(bench, size):
    """Two of them in a clock, both, the first or the second wrong, at both ends of words of even and odd length; the
    byte before an odd word's first does not exist.
    """
    b = bench(14, 24, 1024)
    word = b.word(size)
    ends = [p for byte in (0, 1, 2, len(word) - 3, len(word) - 2, len(word) - 1) for p in (8 * byte, 8 * byte + 7)]
    cases = [[p] for p in ends] + [[p, q] for p in ends for q in ends if p < q] + [ends]
    # bursts over three or four bytes
    cases += [list(range(start, start + 24)) for start in b.rng.sample(range(8 * len(word) - 24), 10)]
    for result, p in zip(b.codec.decode([flip(word, p) for p in cases]), cases, strict=True):
        b.check(result, p)


def test_roots_in_the_byte_before_the_first_do_not_count(bench):
    """An odd word as far from a code word as one with 24 wrong bits, some of them in a byte more at its start: it
    cannot be corrected.
    """
    b, model = bench(14, 24, 1024), Bch(14, 24)
    for n in range(16):
        word, outside = b.word(1023), n % 8 + 1
        before = sum(0x80 >> p for p in b.rng.sample(range(8), outside))
        change = bytes(1023) + model.encode(bytes([before]) + bytes(1023))
        damaged = flip(bytes(x ^ y for x, y in zip(word, change, strict=True)), b.places(word, 24 - outside))
        result, after = b.codec.decode([damaged, flip(word, [0, 9])])
        assert result.status == FAILED and result.hits == 0
        b.check(after, [0, 9])


def test_two_decoders_share_a_key_equation(bench):
    b = bench(8, 2, 20)
    sides = []
    for _ in range(2):
        words = [b.word() for _ in range(300)]
        sides.append([(w, b.places(w, b.rng.randrange(0, 3))) for w in words])
    streams = [bch_codec.stream([flip(w, p) for w, p in side]) for side in sides]
    for stall in (0, 40):
        for results, side in zip(b.codec.run(*streams, stall=stall, seed=SEED), sides, strict=True):
            for result, (_, p) in zip(results, side, strict=True):
                b.check(result, p)
