# SPDX-License-Identifier: Apache-2.0
"""Error correction of the drive (otx_nand_corrector): time by the number of wrong bits of a chunk, and words with too many of them.

Words are random places of wrong bits in random chunks. `ECC_TRIALS`: how many words with more than 8 (1,000,000 without it).
"""

import os
import sys
from math import comb
from pathlib import Path

import numpy as np

from bench.result import Check, Result

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / "cocotb_tests")]
import corrector  # noqa: E402

TITLE = "error correction: BCH, 8 wrong bits in 512 bytes"
MHZ, MOST_US = 100.0, 10.0
WORDS = 2_000  # for each number of wrong bits
TRIALS = int(os.environ.get("ECC_TRIALS", "1000000"))
TOO_MANY = (9, 10, 11, 12, 16, 40, 200)
BATCH = 20_000


def row(what, results, right):
    clocks = [r.clocks for r in results]
    return {
        "wrong_bits": what,
        "words": len(results),
        "corrected": right,
        "refused": sum(r.failed for r in results),
        "clocks_median": float(np.median(clocks)),
        "clocks_most": max(clocks),
        "us_most": round(max(clocks) / MHZ, 2),
    }


def correctable(block, rng, count):
    chunks = rng.integers(0, 8, WORDS)
    places = corrector.random_places(rng, chunks, count)
    results = block.run(chunks, block.remainders(chunks, places))
    right = sum(not r.failed and r.fixes() == corrector.masks(at) for r, at in zip(results, places, strict=True))
    return row(count, results, right)


def beyond(block, rng, trials):
    """(row, words that were not refused)."""
    total, missed = None, 0
    for first in range(0, trials, BATCH):
        chunks = rng.integers(0, 8, min(BATCH, trials - first))
        results = block.run(chunks, block.remainders(chunks, corrector.random_places(rng, chunks, TOO_MANY[first // BATCH % len(TOO_MANY)])))
        one = {**row("more than 8", results, 0), "clocks_median": None}
        missed += one["words"] - one["refused"]
        total = one if total is None else {**total, **{k: total[k] + one[k] for k in ("words", "refused")}, **{k: max(total[k], one[k]) for k in ("clocks_most", "us_most")}}
    return total, missed


def run(trials=TRIALS):
    block, rng = corrector.Corrector(), np.random.default_rng(1)
    rows = [correctable(block, rng, count) for count in range(1, corrector.T + 1)]
    last, missed = beyond(block, rng, trials)
    rows.append(last)
    bits = 8 * corrector.length(0)
    theory = trials * sum(comb(bits, i) for i in range(corrector.T + 1)) / 2 ** (8 * corrector.PARITY)
    most = max(r["us_most"] for r in rows)
    right, words = sum(r["corrected"] for r in rows), WORDS * corrector.T
    checks = [
        Check(f"words with 1 to 8 wrong bits that were corrected exactly (all of {words:,})", right, right == words),
        Check(f"microseconds from the remainder to the end of the answer at {MHZ:g} MHz (at most {MOST_US:g})", most, most <= MOST_US),
        Check(f"words with more than 8 wrong bits, of {trials:,}, that were taken for others (theory for random words: {theory:.2g})", missed, missed == 0),
    ]
    return Result(clock_mhz=MHZ, clock_from="the clock of the target", unit="us", rows=rows, ours=most, paper=None, target=MOST_US, checks=checks)


def plot(figure, result):
    axes = figure.subplots()
    rows = result["rows"]
    at = range(len(rows))
    axes.bar(at, [r["clocks_most"] for r in rows], color="lightsteelblue", label="most")
    axes.bar(at, [r["clocks_median"] or 0 for r in rows], 0.5, label="median")
    axes.set_xticks(list(at), [str(r["wrong_bits"]) for r in rows])
    axes.set_xlabel("wrong bits of a chunk")
    axes.set_ylabel("clocks from the remainder to the end of the answer")
    axes.legend()
