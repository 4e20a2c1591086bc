# SPDX-License-Identifier: Apache-2.0
"""e14: 32 committers, each with a transaction of 1 to 4 blocks under way: commits per log page, transactions per
second; one committer alone beside it. The whole drive of preset sim (4 channels of 2 dies, pins, times of K9F8G08), its
firmware with its clocks.

`share_of_log`: programs of log pages, two for each, of all programs.
"""

from bench.committers import Traffic, log_pages
from bench.drive_build import build_drive
from bench.result import Check, Result
from opentxssd import Drive, Opcode

TITLE = "group commit: 32 committers of 1 to 4 blocks"
PRESET, MHZ, COMMITS = "sim", 100, 800
PER_PAGE, LOG_SHARE = 16, 0.1


def measure(committers, commits):
    """(commits, blocks, log pages, clocks)."""
    drive = Drive(PRESET)
    drive.step(400_000)
    traffic, done, blocks = Traffic(drive, 1), [], []

    def begin(txid):
        n = traffic.rng.randrange(1, 5)

        def written(_):
            traffic.submit(committed, Opcode.COMMIT, txid=txid)

        def committed(clock):
            done.append(clock)
            blocks.append(n)
            begin(txid)

        area = drive.lbas // 32
        traffic.write(txid * area + traffic.rng.randrange(area - n), n, written, txid=txid)

    pages, clock = log_pages(drive, PRESET), drive.clock
    for txid in range(committers):
        begin(txid)
    traffic.run(lambda: len(done) >= commits)
    return len(done), sum(blocks), log_pages(drive, PRESET) - pages, drive.clock - clock


def run(commits=COMMITS):
    build_drive(PRESET)
    rows = []
    for committers in (32, 1):
        n, blocks, pages, clocks = measure(committers, commits if committers > 1 else commits // 8)
        seconds = clocks / MHZ / 1e6
        rows.append(
            {
                "committers": committers,
                "commits": n,
                "commits_per_log_page": n / pages,
                "transactions_per_second": n / seconds,
                "blocks_per_second": blocks / seconds,
                "share_of_log": 2 * pages / (2 * pages + blocks),
            }
        )
    ours, share = rows[0]["commits_per_log_page"], rows[0]["share_of_log"]
    return Result(
        clock_mhz=MHZ,
        clock_from=f"preset {PRESET}",
        unit="commits per log page",
        rows=rows,
        ours=ours,
        paper=None,
        target=PER_PAGE,
        checks=[
            Check(f"commits per log page, 32 committers (at least {PER_PAGE})", ours, ours >= PER_PAGE),
            Check(f"share of the log of all programs (at most {LOG_SHARE:g})", share, share <= LOG_SHARE),
        ],
    )


def plot(figure, result):
    axes = figure.subplots(1, 2)
    names = [str(r["committers"]) for r in result["rows"]]
    axes[0].bar(names, [r["commits_per_log_page"] for r in result["rows"]])
    axes[0].axhline(result["target"], color="tab:red", linestyle="--")
    axes[0].set(xlabel="committers", ylabel="commits per log page")
    axes[1].bar(names, [r["transactions_per_second"] for r in result["rows"]])
    axes[1].set(xlabel="committers", ylabel="transactions per second")
