# SPDX-License-Identifier: Apache-2.0
"""e14: 32 committers, each with a transaction of 1 to 4 blocks under way: commits per log page, transactions per
second; one committer alone beside it."""

from bench.committers import ERASE_US, MHZ, PRESET, PROGRAM_US, Traffic, log_pages, opened
from bench.result import Check, Result
from opentxssd import Opcode
from soc import geometry

TITLE = "group commit: 32 committers of 1 to 4 blocks"
COMMITS = 1_200
PER_PAGE = 16


def measure(committers, commits):
    """(commits, blocks, log pages, clocks)."""
    drive = opened()
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

    pages, clock = log_pages(drive), drive.clock
    for txid in range(committers):
        begin(txid)
    traffic.run(lambda: len(done) >= commits)
    return len(done), sum(blocks), log_pages(drive) - pages, drive.clock - clock


def run(commits=COMMITS):
    rows = []
    dies = geometry.preset(PRESET).dies
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
                "share_of_all_programs": blocks / seconds * PROGRAM_US / 1e6 / dies,
            }
        )
    ours = rows[0]["commits_per_log_page"]
    return Result(
        clock_mhz=MHZ,
        clock_from=f"preset {PRESET}; page program {PROGRAM_US:g} us, erase {ERASE_US:g} us",
        unit="commits per log page",
        rows=rows,
        ours=ours,
        paper=None,
        target=PER_PAGE,
        checks=[Check(f"commits per log page, 32 committers (at least {PER_PAGE})", ours, ours >= PER_PAGE)],
    )


def plot(figure, result):
    axes = figure.subplots(1, 2)
    names = [str(r["committers"]) for r in result["rows"]]
    axes[0].bar(names, [r["commits_per_log_page"] for r in result["rows"]])
    axes[0].axhline(result["target"], color="tab:red", linestyle="--")
    axes[0].set(xlabel="committers", ylabel="commits per log page")
    axes[1].bar(names, [r["transactions_per_second"] for r in result["rows"]])
    axes[1].set(xlabel="committers", ylabel="transactions per second")
