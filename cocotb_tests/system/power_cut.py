# SPDX-License-Identifier: Apache-2.0
"""Power cuts at chosen clocks of random traffic; after each the drive is started again, its blocks are read, and the
judge (judge/) says whether docs/contract.md allows that.

    power_cut.py [--preset quick] [--cuts 240] [--seed 1] [--only CUT] [--jobs 2] [--gap CLOCKS] [--stop] [--ways]
    [--failing] [--wave] [--firmware BIN] [--plp CLOCKS]

Traffic (sim/traffic) runs on in sessions, each with a flavour and a range of blocks; before each cut it is taken to an
instant drawn from cut_moments.py.
There the process forks: the child cuts the power, lets the drive come back, reads, sometimes ends in order and reads
again, and writes; cuts in a recovery are forked off that recovery. The last cut of a session is made in the main
process instead: traffic goes on with what was recovered. Cut n of a seed and preset is always the same: `--only n`
replays one, with `--wave` with a waveform of its last boot. A cut that fails leaves its history below build/powercut.
With `--ways` half of the cuts leave pages and blocks in the ways of opentxssd/faults.py: unreadable, fading, looking
erased. With `--failing` one bit in 10,000 reads wrong, 2 % of the blocks are bad from the factory, 1 % of the pages
fail, and 3 % of the blocks from their third erase on. With `--plp` the drive, whose firmware
has PLP, has energy for so many clocks at each cut, and loses nothing that was complete.
Before the last line, which counts cuts, is a table of what was
seen; a campaign of many cuts must have seen all of it (coverage.py).
"""

import json
import os
import random
import sys
import traceback
from collections import Counter
from pathlib import Path

try:
    import click

    from cocotb_tests.system import coverage, cut_moments
    from cocotb_tests.system.traffic import Flavour, Traffic
    from opentxssd import TXIDS, Drive, DriveError, TxState
    from opentxssd.faults import Cut as Way
    from opentxssd.faults import CutErase, Faults
    from tools import command_line
except ImportError as e:
    sys.exit(f"power_cut: {e}; source tools/env.sh first")

ROOT = Path(__file__).resolve().parent.parent.parent

FAILING = dict(
    ber=10**8,
    bad_ppm=20_000,
    rule_marks=1,
    program_fail_ppm=10_000,
    program_fail_after=1,
    erase_fail_ppm=30_000,
    erase_fail_after=2,
)
FLAVOURS = {
    Flavour.MIXED: 6,
    Flavour.PLAIN: 3,
    Flavour.TX: 4,
    Flavour.RELAXED: 3,
    Flavour.LONG_LOG: 1,
    Flavour.FILL: 2,
    Flavour.REWRITE: 1,
}


def said_of(drive):
    """The last that its firmware has said."""
    return f"firmware: {drive.uart.strip().splitlines()[-2:]}"


def report(cut, traffic, wrong):
    """Says what went wrong with a cut (`name`, `number`, `where` and the `command` that replays it), and keeps its
    history."""
    traffic.collect()
    path = ROOT / "build/powercut" / f"{cut.name}-{cut.number}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in traffic.lines))
    why = (
        traceback.format_exc()
        if isinstance(wrong, (AssertionError, TypeError, KeyError))
        else f"{type(wrong).__name__}: {wrong}\n"
    )
    print(
        f"cut {cut.number}, {cut.where}:\n{why}{said_of(traffic.drive)}\nhistory: {path.relative_to(ROOT)}; again: "
        f"{cut.command.format(cut.number)}",
        flush=True,
    )


def verdict(cut, traffic, work):
    """Whether `work` after a cut ends well; it is reported when not."""
    try:
        work()
        return True
    except Exception as wrong:
        report(cut, traffic, wrong)
        return False


class Session:
    """Traffic between two cuts that it goes on from."""

    def __init__(self, seed, number, lbas):
        rng = random.Random(f"session {seed} {number}")
        self.seed, self.cuts = rng.getrandbits(48), rng.randrange(4, 13)
        self.flavour = rng.choices(list(FLAVOURS), list(FLAVOURS.values()))[0]
        self.blocks = min(lbas, 64 if self.flavour == Flavour.LONG_LOG else rng.choice([8, 20, 20, 40, 64]))
        edge = 1024 - rng.randrange(1, self.blocks) if lbas > 1024 else 0  # around the end of the first map page
        self.first = min(rng.choice([0, edge, edge, lbas - self.blocks]), lbas - self.blocks)
        # gaps, for logs of many entries or pages
        longer = {Flavour.LONG_LOG: [12], Flavour.PLAIN: [1, 1, 1, 12], Flavour.TX: [1, 1, 4], Flavour.REWRITE: [1, 8]}
        self.longer = rng.choice(longer.get(self.flavour, [1]))


class Cut:
    """A moment at which the power is cut, and the cuts from number `first` on that begin there: number first + k is cut
    k times more, in its recoveries.

    What they share is simulated once: each is forked off the recovery of the one before. All draws are the moment's own
    or those of one number, so they do not depend on other cuts."""

    def __init__(self, seed, first, gap, ways, pace):
        self.first, self.seed, self.pace, self.ways = first, seed, pace, ways
        self.rng = random.Random(f"power cut {seed} {first}")
        self.gap, self.moment = self.rng.randrange(1, 2 * gap), cut_moments.draw(self.rng)
        self.deepest = self.rng.choices([0, 1, 2, 3], [6, 3, 1, 1])[0]
        self.number, self.where = first, f"before cut {first}"

    def way(self):
        drawn = self.ways and self.rng.randrange(2)
        return {"program": Way.ANY, "erase": CutErase.ANY} if drawn else {}

    def approach(self, traffic, session):
        traffic.run(self.gap * session.longer)
        self.moment(traffic, self.rng, self.pace)
        torn = traffic.drive.under_way()
        self.where = (
            f"clock {traffic.drive.clock}, {session.flavour.name}, {self.moment.__name__}, tears "
            f"{[t.name for t in torn]}"
        )
        return [f"moment: {self.moment.__name__}", *coverage.torn(torn)]

    def cut(self, traffic):
        traffic.cut(self.rng.getrandbits(32), **self.way())

    def cut_again(self, traffic):
        """In the recovery that is under way, at a moment drawn for it. Returns what was seen."""
        torn = cut_moments.part_of_boot(traffic, self.rng, self.pace)
        self.where += f", then in recovery at {traffic.drive.clock} {[t.name for t in torn]}"
        return ["cut in a recovery", *(f"{name}, in a recovery" for name in coverage.torn(torn))]

    def again(self, traffic):
        self.number += 1
        traffic.cut(self.rng.getrandbits(32), in_recovery=True, **self.way())

    def survive(self, traffic, session):
        """Starts the drive and reads what it holds. Returns what was seen."""
        drive, own = traffic.drive, random.Random(f"number {self.seed} {self.number}")
        traffic.boot()
        seen = coverage.mounted(traffic) + ["third cut in a row"] * (self.number - self.first >= 2)
        for txid in range(TXIDS):
            state = drive.tx(txid)
            assert state[0] == TxState.PREPARED or state == (TxState.FREE, 0), f"txid {txid} is {state} (guarantee 8)"
        self.read(traffic, session)
        if own.randrange(4 if self.ways else 8) == 0:
            traffic.off(own.getrandbits(32))
            traffic.boot()
            self.read(traffic, session)
            seen.append("read again after an orderly end")
        return seen

    def read(self, traffic, session):
        """All blocks; with fading pages again when those have faded."""
        traffic.read(session.first, session.blocks)
        if self.ways:
            traffic.lib.otx_nand_fade()
            traffic.read(session.first, session.blocks)
        traffic.judge_now()

    def attempt(self, traffic, session, child=False):
        """(verdict, what was seen); in a child also that the drive takes writes again. Says what went wrong."""
        seen = []

        def work():
            seen.extend(self.survive(traffic, session))
            if child:
                traffic.begin(self.seed + self.number, session.flavour, session.first, session.blocks)
                traffic.finish(3)
                traffic.judge_now(end=True)

        good = verdict(self, traffic, work)
        return good, seen if good else []

    def family(self, traffic, session, into):
        """All cuts of this moment, in processes of their own one after the other; what they have seen goes `into` a
        pipe, a line each.
        """
        self.cut(traffic)
        seen = []
        while self.number < self.first + self.deepest:
            before = self.where
            more = self.cut_again(traffic)
            pid = os.fork()
            if pid:  # this one goes on without that cut
                os.waitpid(pid, 0)
                self.where = before
                break
            seen = more
            self.again(traffic)
        good, own = self.attempt(traffic, session, child=True)
        os.write(into, (json.dumps([good, seen + own]) + "\n").encode())
        os._exit(0)


class Children:
    """Forked cuts under way, at most `jobs`; `failed`, `seen` and `ended` grow as they end."""

    def __init__(self, jobs):
        self.jobs, self.running, self.failed, self.ended, self.seen = jobs, [], 0, 0, Counter()

    def fork(self, cut, traffic, session):
        out, into = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(out)
            cut.family(traffic, session, into)
        os.close(into)
        self.running.append((pid, out, cut.deepest + 1))
        self.reap(self.jobs - 1)

    def reap(self, most):
        while len(self.running) > most:
            pid, out, cuts = self.running.pop(0)
            with os.fdopen(out) as lines:
                verdicts = [json.loads(line) for line in lines]
            os.waitpid(pid, 0)
            for _, seen in verdicts:
                self.seen.update(seen)
            self.ended += cuts
            self.failed += cuts - sum(good for good, _ in verdicts)  # one that has died has no verdict


class Campaign:
    def __init__(self, preset, cuts, seed, only, jobs, gap, stop, ways, failing, wave, firmware, plp):
        faults = Faults(seed=seed, **FAILING) if failing else Faults(seed=seed) if ways else None
        self.drive = Drive(preset, faults=faults, trace=wave, firmware=firmware)
        self.drive.power_cut(seed)
        # from the second start on the simulator keeps what is the same in each (otx_sim.cpp): here, once for all
        # children
        self.drive.power_on()
        self.pace = cut_moments.Pace.of(preset, self.drive.clock)
        self.preset, self.cuts, self.seed, self.only, self.gap = preset, cuts, seed, only, gap or self.pace.gap
        self.stop, self.ways, self.failing, self.wave = stop, ways, failing, wave
        self.flags = "".join(f" --{name}" for name, on in (("ways", ways), ("failing", failing)) if on) + (
            f" --gap {gap}" if gap else ""
        )
        self.flags += (f" --plp {plp}" if plp else "") + (f" --firmware {firmware}" if firmware else "")
        self.traffic = Traffic(
            self.drive, preset=preset, seed=seed, client="power_cut", entries=self.drive.tx_entries, failing=failing
        )
        self.traffic.energy = plp
        self.children, self.sessions, self.alone = Children(jobs), 0, 0
        self.open_session()

    def open_session(self):
        self.session = Session(self.seed, self.sessions, self.drive.lbas)
        self.sessions += 1
        self.traffic.begin(self.session.seed, self.session.flavour, self.session.first, self.session.blocks)
        self.left = self.session.cuts

    def one(self, number):
        """The moment of cuts from `number` on; returns the number behind them, None: traffic cannot go on."""
        cut = Cut(self.seed, number, self.gap, self.ways, self.pace)
        cut.name = f"{self.preset}-{self.seed}" + self.flags.replace(" --", "-").replace(" ", "").replace("/", "-")
        cut.command = (
            f"python cocotb_tests/system/power_cut.py --preset {self.preset} --seed {self.seed}{self.flags} --only "
            f"{{}} --wave"
        )
        try:
            seen = cut.approach(self.traffic, self.session)
            self.traffic.judge_now()
        except Exception as wrong:
            report(cut, self.traffic, wrong)
            self.alone += 1
            self.children.failed += 1
            return None
        self.children.seen.update(seen)
        self.left -= 1
        last = not self.left
        if self.only is not None and number <= self.only <= number + (0 if last else cut.deepest):
            sys.exit(self.replay(cut))
        if not last:
            if self.only is None:
                self.children.fork(cut, self.traffic, self.session)
            return number + cut.deepest + 1
        cut.cut(self.traffic)
        good, seen = cut.attempt(self.traffic, self.session)
        self.children.seen.update(seen)
        self.alone += 1
        self.children.failed += not good
        if good:
            self.open_session()
        return number + 1 if good else None

    def replay(self, cut):
        """Cut `only` in this process, with a waveform if asked for; the exit code."""
        wave = ROOT / "build/powercut" / f"{cut.name}-{self.only}.fst"
        wave.parent.mkdir(parents=True, exist_ok=True)
        cut.cut(self.traffic)
        while cut.number < self.only:
            cut.cut_again(self.traffic)
            cut.again(self.traffic)
        if self.wave:
            self.drive.trace(wave)
        good, _ = cut.attempt(self.traffic, self.session, child=True)
        print(
            f"cut {self.only}: {cut.where}: {'passed' if good else 'failed'}"
            + (f"; {wave.relative_to(ROOT)}" if self.wave else "")
        )
        return 0 if good else 1

    def run(self):
        number = said = 0
        while number is not None and number < self.cuts:
            number = self.one(number)
            if self.stop and self.children.failed:
                break
            if number and number - said >= 100:
                said = number
                print(f"{number} cuts, {self.children.failed} failed", flush=True)
        if number is None:
            print("traffic cannot go on after this cut")
        self.children.reap(0)
        done = self.children.ended + self.alone
        missing = coverage.report(self.traffic, self.children.seen, done, self.preset, self.failing)
        if self.failing or self.ways:
            print(f"faults met in the main process: {self.drive.faults_seen()}")
        if missing:
            print(f"the campaign shows too little: {', '.join(missing)}")
        print(f"{done - self.children.failed} passed, {self.children.failed} failed")
        return 1 if self.children.failed or missing else 0


@click.command()
@click.option("--preset", default="quick", show_default=True, help="of soc/geometry.py, built by tools/drive_build.sh")
@click.option("--cuts", type=click.IntRange(1), default=240, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--only", type=click.IntRange(0), help="only this cut, in this process")
@click.option("--jobs", type=click.IntRange(1, 8), default=2, show_default=True, help="cuts judged at once")
@click.option(
    "--gap",
    type=click.IntRange(100),
    help=(
        "clocks before a cut looks for its moment, on average; default: 8 pages on the bus; with whole pages 12 and "
        "12 a die"
    ),
)
@click.option("--stop", is_flag=True, help="end at the first failed cut")
@click.option("--ways", is_flag=True, help="half of the cuts tear in the ways of the NAND's faults")
@click.option("--failing", is_flag=True, help="programs and erases fail, blocks are bad from the factory")
@click.option("--firmware", type=click.Path(exists=True, dir_okay=False), help="another binary than the preset's")
@click.option("--plp", type=click.IntRange(1), help="clocks of energy at each cut, of a firmware with PLP")
@click.option(
    "--wave",
    is_flag=True,
    help="with --only: a waveform of that cut (the preset with tracing, tools/drive_build.sh PRESET)",
)
def main(**options):
    """Power cuts, judged by the contract."""
    if options["wave"] and options["only"] is None:
        print("power_cut: --wave needs --only", file=sys.stderr)
        sys.exit(2)
    if options["only"] is not None:
        options["cuts"] = options["only"] + 1
    try:
        campaign = Campaign(**options)
    except (DriveError, OSError) as e:
        print(f"power_cut: {e}", file=sys.stderr)
        sys.exit(2)
    print(
        f"preset {campaign.preset}, seed {campaign.seed}, {campaign.cuts} cuts; firmware: "
        f"{campaign.drive.uart.strip().splitlines()[-1:]}",
        flush=True,
    )
    sys.exit(campaign.run())


if __name__ == "__main__":
    command_line.run(main, "power_cut")
