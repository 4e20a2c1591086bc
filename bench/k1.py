# SPDX-License-Identifier: Apache-2.0
"""k1: what a checkpoint adds to a 4 KiB READ and to a COMMIT. The whole drive of preset sim (4 channels of 2 dies,
pins, times of K9F8G08), its firmware with its clocks; checkpoints by command.

One READ, or one COMMIT, under way at a time. READ: of a random block that was written. COMMIT: of a transaction that
has trimmed such a block, from its submission to its completion. `none`: no checkpoint; `all pages`: one
that writes all 64 map pages, for a block of each was written. Timed are commands that begin while it is under way; the
drive does nothing else. Some five minutes, most of them the checkpoint's 10 million clocks.
"""

from bench.committers import Traffic, us
from bench.drive_build import build_drive
from bench.result import Check, Result
from opentxssd import Drive, Opcode
from opentxssd.facts import HealthWord, Query

TITLE = "what a checkpoint adds to a READ and to a COMMIT"
PRESET, MHZ, ALONE = "sim", 100, 150
LBAS_OF_PAGE = 1024
ERASE_US = 1500  # K9F8G08: what waits for the erase of an anchor


def measure(kind, beside):
    """Sorted clocks of the commands, beside a checkpoint or alone; the clocks of the checkpoint, or None."""
    drive = Drive(PRESET)
    drive.step(400_000)
    traffic, took, length = Traffic(drive, 1), [], None
    lbas = [page * LBAS_OF_PAGE + page % 7 for page in range(drive.lbas // LBAS_OF_PAGE)]
    state = {"timed": False, "stop": False}

    def change():
        """Writes a block of each map page."""
        left = list(lbas)

        def writer(_):
            if left:
                traffic.write(left.pop(), 1, writer)
            else:
                ended.append(1)

        ended = []
        for _ in range(8):
            writer(0)
        traffic.run(lambda: len(ended) == 8)

    def timed(opcode, *args, **fields):
        begin, counts = drive.clock, state["timed"]

        def done(clock):
            if counts:
                took.append(clock - begin)
            command(clock)

        traffic.submit(done, opcode, *args, **fields)

    def command(_):
        if state["stop"]:
            return
        lba, txid = traffic.rng.choice(lbas), len(took) % 32
        if kind == "READ":
            timed(Opcode.READ, lba, 1)
        else:
            traffic.submit(lambda _: timed(Opcode.COMMIT, txid=txid), Opcode.TRIM, lba, 1, txid=txid)

    change()
    command(0)
    begin, state["timed"] = drive.clock, True
    if beside:
        checkpoint(traffic)
        length = drive.clock - begin
    else:
        traffic.run(lambda: len(took) >= ALONE)
    state["stop"] = True
    return sorted(took), length


def checkpoint(traffic):
    """Asks for one, and waits for its end with the rest of the traffic."""
    answers = []

    def answered(_):
        answers.append(traffic.last.result)

    traffic.submit(answered, Opcode.CHECKPOINT)
    traffic.run(lambda: answers)
    number = answers.pop()
    while True:
        traffic.submit(answered, Opcode.QUERY, arg=Query.HEALTH + HealthWord.ASKED_CHECKPOINT)
        traffic.run(lambda: answers)
        if answers[-1] & 0xFF == number:
            assert answers.pop() >> 8 & 1 == 0, "it could not be done"
            return
        answers.pop()
        traffic.drive.step(2000)


def run():
    build_drive(PRESET)
    rows, added = [], {}
    for kind in ("READ", "COMMIT"):
        for name in ("none", "all pages"):
            took, length = measure(kind, name != "none")
            rows.append(
                {
                    "command": kind,
                    "checkpoint": name,
                    "commands": len(took),
                    "p50_us": us(took[len(took) // 2]),
                    "p99_us": us(took[int(0.99 * len(took))]),
                    "most_us": us(took[-1]),
                    "checkpoint_ms": us(length) / 1000 if length else None,
                }
            )
            if length is None:
                alone = us(took[-1])
            added[kind] = us(took[-1]) - alone
    worst = max(added.values())
    bound = 2 * ERASE_US
    return Result(
        clock_mhz=MHZ,
        clock_from=f"preset {PRESET}, its parts' times",
        unit="us that a checkpoint adds at most",
        rows=rows,
        ours=worst,
        paper=None,
        target=bound,
        checks=[
            Check(
                f"READ: most beside all pages - most alone (at most {bound} us)", added["READ"], added["READ"] <= bound
            ),
            Check(f"COMMIT: the same (at most {bound} us)", added["COMMIT"], added["COMMIT"] <= bound),
        ],
    )


def plot(figure, result):
    axes = figure.subplots()
    names = [f"{r['command']}\n{r['checkpoint']}" for r in result["rows"]]
    for key in ("p50_us", "p99_us", "most_us"):
        axes.plot(names, [r[key] for r in result["rows"]], "o", label=key[:-3])
    axes.set(ylabel="us", yscale="log")
    axes.legend(fontsize=7)
