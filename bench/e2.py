# SPDX-License-Identifier: Apache-2.0
"""e2: how long a COMMIT takes until it is durable when its data is on NAND: idle, for 1 to 48 entries, and beside a
full write load with collection and erases, with the rule of idle dies (decision 024) and without it.

Load: 12 writers, each with a WRITE of 1 to 4 random blocks under way, on a drive that was filled before. One committer:
TRIMs of a block in a transaction, which have no data page, then a COMMIT, which is timed from its submission to its
completion.
"""

from bench.committers import ERASE_US, MHZ, PRESET, PROGRAM_US, Traffic, opened, us
from bench.drive_build import build_drive
from bench.result import Check, Result
from opentxssd import Opcode

TITLE = "COMMIT durable, data on NAND"
ENTRIES = (1, 2, 4, 8, 16, 32, 48)
SLACK_US, PROGRAMS = 2, 2
COMMITS, WRITERS, FILL = 600, 12, 3
ERASES = 2  # of otx_nand_count


def idle(drive):
    """[(entries, us)]: all pages on NAND, nothing under way."""
    rows = []
    for txid, entries in enumerate(ENTRIES):
        for lba in range(entries):
            drive.write(lba, bytes([lba + 1]) * 4096, txid=txid)
        drive.flush()
        drive.step(400_000)
        begin = drive.clock
        drive.commit(txid)
        rows.append((entries, us(drive.clock - begin)))
    return rows


def loaded(idle_dies, commits=COMMITS, fill=FILL):
    """(latencies of the commits in us, erases beside them)."""
    drive = opened() if idle_dies else opened(idle_dies=0)
    traffic, seen = Traffic(drive, 1), []

    def writer(_):
        blocks = traffic.rng.randrange(1, 5)
        traffic.write(traffic.rng.randrange(drive.lbas - blocks), blocks, writer)

    def committer(_):
        txid = len(seen) % 32

        def trimmed(_):
            begin = drive.clock

            def done(clock):
                seen.append(us(clock - begin))
                committer(clock)

            traffic.submit(done, Opcode.COMMIT, txid=txid)

        traffic.submit(trimmed, Opcode.TRIM, traffic.rng.randrange(drive.lbas), 1, txid=txid)

    for _ in range(WRITERS):
        writer(0)
    first = drive.lib.otx_nand_count(ERASES)
    blocks = fill * 48  # erased blocks: the drive is in its steady state
    traffic.run(lambda: drive.lib.otx_nand_count(ERASES) >= first + blocks)
    erases = drive.lib.otx_nand_count(ERASES)
    committer(0)
    traffic.run(lambda: len(seen) >= commits)
    return sorted(seen), drive.lib.otx_nand_count(ERASES) - erases


def at(latencies, share):
    return latencies[min(len(latencies) - 1, int(share * len(latencies)))]


def run(commits=COMMITS, fill=FILL):
    build_drive(PRESET)
    alone = idle(opened())
    rows = [{"load": "none", "entries": n, "p50_us": t, "p99_us": t, "p99_9_us": t, "most_us": t} for n, t in alone]
    p99 = {}
    for rule in (1, 0):
        found, erases = loaded(rule, commits, fill)
        p99[rule] = at(found, 0.99)
        rows.append(
            {
                "load": f"writes, {erases} erases, rule {'on' if rule else 'off'}",
                "entries": 1,
                "p50_us": at(found, 0.5),
                "p99_us": p99[rule],
                "p99_9_us": at(found, 0.999),
                "most_us": found[-1],
            }
        )
    times = [t for _, t in alone]
    bound = PROGRAM_US + SLACK_US
    return Result(
        clock_mhz=MHZ,
        clock_from=f"preset {PRESET}; page program {PROGRAM_US:g} us, erase {ERASE_US:g} us",
        unit="us",
        rows=rows,
        ours=max(times),
        paper=None,
        target=bound,
        checks=[
            Check(f"idle, most of all rows (at most {bound:g} us)", max(times), max(times) <= bound),
            Check("idle, most - least (at most 1 us)", max(times) - min(times), max(times) - min(times) <= 1),
            Check(
                f"p99 beside the load, rule on (at most {PROGRAMS} page programs)",
                p99[1],
                p99[1] <= PROGRAMS * PROGRAM_US,
            ),
            Check("p99 beside the load, rule off (more than with it)", p99[0], p99[0] > p99[1]),
        ],
    )


def plot(figure, result):
    axes = figure.subplots()
    rows = [r for r in result["rows"] if r["load"] == "none"]
    axes.semilogx([r["entries"] for r in rows], [r["p50_us"] for r in rows], "o-", label="idle")
    for r in result["rows"][len(rows) :]:
        for key in ("p50_us", "p99_us", "p99_9_us"):
            axes.axhline(r[key], label=f"{key[:-3]}, {r['load']}", linestyle=":" if "off" in r["load"] else "-")
    axes.axhline(result["target"], color="tab:red", linestyle="--", label="target, idle")
    axes.set(xlabel="entries of the transaction", ylabel="us until COMMIT is durable")
    axes.legend(fontsize=7)
