# SPDX-License-Identifier: Apache-2.0
"""Error correction of the drive (otx_nand_corrector), both codes: time by the number of wrong bits of a chunk, and
words with too many of them.

Words are random places of wrong bits in random chunks. `ECC_TRIALS`: how many words with more than 8 (1,000,000 without
it); of those with more than 24 it is a fortieth.
"""

import os
from math import comb

import numpy as np

from bench.result import Check, Result
from cocotb_tests.bench import corrector

TITLE = "error correction: BCH, 8 wrong bits in 512 bytes, or 24 in 1,024"
MHZ = 100.0
MOST_US = 10.0
WORDS = {8: 2_000, 24: 200}  # for each number of wrong bits
TRIALS = int(os.environ.get("ECC_TRIALS", "1000000"))
SHARE = {8: 1, 24: 40}  # of the trials, one in so many
BATCH = 20_000


def row(block, what, results, right):
    clocks = [r.clocks for r in results]
    return {
        "t": block.t,
        "wrong_bits": what,
        "words": len(results),
        "corrected": right,
        "refused": sum(r.failed for r in results),
        "clocks_median": float(np.median(clocks)),
        "clocks_most": max(clocks),
        "us_most": round(max(clocks) / MHZ, 2),
    }


def correctable(block, rng, count):
    chunks = rng.integers(0, block.chunks, WORDS[block.t])
    places = block.random_places(rng, chunks, count)
    results = block.run(chunks, block.remainders(chunks, places))
    right = sum(not r.failed and r.fixes() == corrector.masks(at) for r, at in zip(results, places, strict=True))
    return row(block, count, results, right)


def beyond(block, rng, trials):
    """(row, words that were not refused)."""
    total, missed, t = None, 0, block.t
    too_many = (t + 1, t + 2, t + 3, t + 4, 2 * t, 5 * t, 25 * t)
    batch = min(BATCH, -(-trials // len(too_many)))
    for first in range(0, trials, batch):
        chunks = rng.integers(0, block.chunks, min(batch, trials - first))
        results = block.run(
            chunks, block.remainders(chunks, block.random_places(rng, chunks, too_many[first // batch % len(too_many)]))
        )
        one = {**row(block, f"more than {t}", results, 0), "clocks_median": None}
        missed += one["words"] - one["refused"]
        total = (
            one
            if total is None
            else {
                **total,
                **{k: total[k] + one[k] for k in ("words", "refused")},
                **{k: max(total[k], one[k]) for k in ("clocks_most", "us_most")},
            }
        )
    return total, missed


def code(t, trials):
    """(rows, checks) of the corrector for t wrong bits."""
    block, rng = corrector.Corrector(t), np.random.default_rng(1)
    rows = [correctable(block, rng, count) for count in range(1, t + 1)]
    last, missed = beyond(block, rng, trials)
    rows.append(last)
    bits = 8 * block.length(0)
    theory = trials * sum(comb(bits, i) for i in range(t + 1)) / 2 ** (8 * block.parity)
    most, words = max(r["us_most"] for r in rows), WORDS[t] * t
    right = sum(r["corrected"] for r in rows)
    return rows, [
        Check(f"words with 1 to {t} wrong bits that were corrected exactly (all of {words:,})", right, right == words),
        Check(
            f"t = {t}, microseconds from the remainder to the end of the answer at {MHZ:g} MHz (at most {MOST_US:g})",
            most,
            most <= MOST_US,
        ),
        Check(
            f"words with more than {t} wrong bits, of {trials:,}, that were taken for others (theory for random "
            f"words: {theory:.2g})",
            missed,
            missed == 0,
        ),
    ]


def run(trials=TRIALS):
    short, checks = code(8, trials)
    longer, more = code(24, max(trials // SHARE[24], 1))
    ours = max(r["us_most"] for r in short)
    return Result(
        clock_mhz=MHZ,
        clock_from="the clock of the target",
        unit="us",
        rows=short + longer,
        ours=ours,
        paper=None,
        target=MOST_US,
        checks=checks + more,
    )


def plot(figure, result):
    axes = figure.subplots()
    rows = result["rows"]  # of both codes, one after the other
    at = range(len(rows))
    axes.bar(at, [r["clocks_most"] for r in rows], color="lightsteelblue", label="most")
    axes.bar(at, [r["clocks_median"] or 0 for r in rows], 0.5, label="median")
    axes.set_xticks(list(at), [str(r["wrong_bits"]).replace("more than ", ">") for r in rows], fontsize=6)
    axes.set_xlabel("wrong bits of a chunk")
    axes.set_ylabel("clocks from the remainder to the end of the answer")
    axes.legend()
