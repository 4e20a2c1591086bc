# SPDX-License-Identifier: Apache-2.0
"""What a campaign of power cuts has seen: the table that is printed at its end, and what of it a campaign of `FULL`
cuts or more must show.

`WANTED` has one line each: how often in 1,000 cuts at least, and on which presets (None: all). The counts of commands
are those of the main process (sim/traffic/recorder.h), which all cuts share; the rest is counted by cut. Numbers are
well below what was seen, so that a campaign of another seed reaches them too.
"""

from pathlib import Path

from soc import geometry

ROOT = Path(__file__).resolve().parent.parent.parent

FULL = 600  # cuts of a campaign that must have shown everything
RING = 1024  # entries of the completeness ring


def torn(kinds):
    """What is torn at one cut, by die, as counted."""
    names = sorted({t.name for t in kinds if t})
    return [f"torn: {name}" for name in names] + (["torn: several dies"] if sum(map(bool, kinds)) > 1 else [])


def mounted(traffic):
    """What a recovery has met, from the firmware's report."""
    g = geometry.preset(traffic.drive.preset)
    pages, entries, dropped = traffic.mounted
    pool = g.frames - g.firmware_frames - 2
    seen = {
        "recovery with a log": pages > 0,
        "log that wraps the ring of 1,024 entries": entries > RING,
        "log of several blocks in each lane": pages > g.lanes * g.pages_per_block,
        "log longer than the frames": pages > pool,
        "recovery that dropped commands": dropped > 0,
    }
    return [name for name, yes in seen.items() if yes]


WANTED = {
    "commands": (1_500, None),
    "of 1 block": (600, None),
    "of 2 to 8 blocks": (300, None),
    "of 9 to 31 blocks": (40, None),
    "of 32 blocks": (40, None),
    "with all 32 tags busy": (40, None),
    "plain WRITE": (200, None),
    "WRITE FUA": (40, None),
    "WRITE in a transaction": (300, None),
    "TRIM": (40, None),
    "WRITE ZEROES": (30, None),
    "TRIM or WRITE ZEROES in a transaction": (100, None),
    "BEGIN": (30, None),
    "implied open": (200, None),
    "COMMIT": (40, None),
    "COMMIT RELAXED": (60, None),
    "WRITE COMMIT": (80, None),
    "ABORT": (20, None),
    "PREPARE": (20, None),
    "BARRIER": (20, None),
    "barrier flag": (60, None),
    "orderless write": (40, None),
    "FLUSH": (15, None),
    "RFLUSH": (15, None),
    "READ": (100, None),
    "READ with txid": (50, None),
    "READ of 32 blocks": (10, None),
    "bad input": (10, None),
    "commit of TRIMs alone": (5, None),
    "commit of TRIMs and WRITEs": (10, None),
    "commit beside an overlapping open one": (80, None),
    "TX_INVALID": (10, None),
    "cut in a recovery": (150, None),
    "third cut in a row": (40, None),
    "read again after an orderly end": (40, None),
    "recovery that dropped commands": (10, None),
    "recovery with a log": (200, None),
    "log that wraps the ring of 1,024 entries": (10, None),
    "log of several blocks in each lane": (10, None),
    "log longer than the frames": (5, None),
    "transaction with a longer list than a recovery keeps": (1, None),
    "TX_FULL": (5, None),
    "32 txids open at once": (1, None),
    "torn: DATA": (30, None),
    "torn: LOG": (10, None),
    "torn: BLOCK": (10, None),
    "torn: BLOCK, in a recovery": (20, None),
    "torn: MAP, in a recovery": (10, None),
    "torn: ROOT, in a recovery": (10, None),
    "torn: SEAL, in a recovery": (10, None),
}


def report(traffic, seen, cuts, preset, failing):
    """Prints the table; returns what is missing."""
    counts = dict(traffic.counters()) | dict(sorted(seen.items()))
    width = max(map(len, counts))
    print(f"{'seen in ' + str(cuts) + ' cuts':{width}}  times")
    for name, n in counts.items():
        print(f"{name:{width}}  {n}")
    if cuts < FULL:
        return []
    wanted = {
        name: per * cuts // 1_000 for name, (per, presets) in WANTED.items() if presets is None or preset in presets
    }
    return [f"{name}: {counts.get(name, 0)} of {n}" for name, n in wanted.items() if counts.get(name, 0) < max(1, n)]
