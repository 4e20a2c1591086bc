# SPDX-License-Identifier: Apache-2.0
"""Power cuts at chosen clocks of a random workload; after each the drive is started again and judged by models/contract_model.py.

    power_cut.py [--preset tiny] [--cuts 240] [--seed 1] [--only CUT] [--jobs 2] [--gap CLOCKS] [--stop] [--ways] [--failing]

The workload (workload.py) runs on; before each cut it is taken to an instant drawn from cut_moments.py. There the process forks: the child cuts the power, cuts it again in
some of the recoveries, lets the drive come back, reads all blocks, judges and writes. Every third to ninth cut is made in the main process instead: the workload goes on with
what was recovered. Cut n of a seed and preset is always the same: `--only n` replays one. With `--ways` half of the cuts leave pages and blocks in
the ways of models/nand_faults.py: unreadable, fading, looking erased. With `--failing` 2 % of the blocks are bad from the factory, 1 % of the pages
fail, and 3 % of the blocks from their third erase on. The last line counts cuts; before it are what was torn and which commands completed.
"""

import json
import os
import random
import sys
import traceback
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "cocotb_tests")]

import click  # noqa: E402

from cocotb_tests.models.contract_model import History  # noqa: E402
from cocotb_tests.models.nand_faults import Cut as Way  # noqa: E402
from cocotb_tests.models.nand_faults import CutErase, Faults  # noqa: E402
from cocotb_tests.system import cut_moments  # noqa: E402
from cocotb_tests.system.drive import Drive, DriveError, TxState  # noqa: E402
from cocotb_tests.system.workload import KINDS, LBAS, TXIDS, Workload, block, stamps  # noqa: E402

FAILING = dict(bad_ppm=20_000, rule_marks=1, ber=10**8, program_fail_ppm=10_000, program_fail_after=1, erase_fail_ppm=30_000, erase_fail_after=2)
FULL = 60  # cuts of a campaign that must have shown everything


def names(torn):
    """What is torn at one cut, as counted in the report."""
    kinds = sorted({t.name for t in torn if t})
    return kinds + (["several dies"] if sum(map(bool, torn)) > 1 else [])


class Cut:
    """Cut `number`: all its draws are its own, so they do not depend on other cuts."""

    def __init__(self, seed, number, gap, ways=False):
        self.number, self.rng = number, random.Random(f"power cut {seed} {number}")
        self.gap, self.moment = self.rng.randrange(1, 2 * gap), cut_moments.draw(self.rng)
        self.mount_cuts = self.rng.choices([0, 1, 2, 3], [6, 3, 1, 1])[0]
        drawn = ways and random.Random(f"way {seed} {number}").random() < 0.5
        self.way = {"program": Way.ANY, "erase": CutErase.ANY} if drawn else {}

    def approach(self, work):
        work.run(self.gap)
        self.moment(work, self.rng)
        self.where = f"cut {self.number}, clock {work.drive.clock}, {self.moment.__name__}, tears {[t.name for t in work.drive.under_way()]}"
        return [f"moment {self.moment.__name__}", *names(work.drive.under_way())]

    def judge(self, drive, history):
        """Cuts, starts the drive, judges what it holds. Returns what cuts in recoveries have torn."""
        seen = []
        drive.power_cut(self.rng.getrandbits(32), **self.way)
        for _ in range(self.mount_cuts):
            drive.power_on(boot=False)
            torn = cut_moments.part_of_boot(drive, self.rng)
            self.where += f", then in recovery at {drive.clock} {[t.name for t in torn]}"
            seen += ["in recovery", *(f"{name} in recovery" for name in names(torn))]
            drive.power_cut(self.rng.getrandbits(32), **self.way)
        drive.power_on()
        values = dict(enumerate(stamps(drive.read(0, LBAS))))
        history.judge_after_cut(values)
        for txid in TXIDS:
            assert drive.tx(txid) == (TxState.FREE, 0), f"txid {txid} is {drive.tx(txid)} after recovery (guarantee 8)"
        history.restart(values)
        return seen

    def attempt(self, drive, history):
        """(verdict, what was seen); says what went wrong."""
        try:
            return True, self.judge(drive, history)
        except Exception:
            print(f"{self.where}:\n{traceback.format_exc()}{drive.uart[-600:]}", flush=True)
            return False, []

    def child(self, drive, history):
        """The whole of a cut in a process of its own: also that the drive takes writes again."""
        good, seen = self.attempt(drive, history)
        try:
            if good:
                drive.write(LBAS - 1, block(7), fua=1)
                good = stamps(drive.read(LBAS - 1)) == [7]
        except DriveError:
            good = False
        return good, seen


class Children:
    """Forked cuts under way, at most `jobs`; `failed` and `seen` grow as they end."""

    def __init__(self, jobs):
        self.jobs, self.running, self.failed, self.seen = jobs, [], 0, Counter()

    def fork(self, cut, drive, history):
        out, into = os.pipe()
        pid = os.fork()
        if not pid:
            good, seen = cut.child(drive, history)
            os.write(into, json.dumps(seen).encode())
            os._exit(0 if good else 1)
        os.close(into)
        self.running.append((pid, out))
        self.reap(self.jobs - 1)

    def reap(self, most):
        while len(self.running) > most:
            pid, out = self.running.pop(0)
            self.failed += os.waitpid(pid, 0)[1] != 0
            self.seen.update(json.loads(os.read(out, 1 << 16) or "[]"))
            os.close(out)


def lacks(dies, cuts, counts, seen):
    """What a full campaign must have shown and this one has not."""
    wanted = {kind: cuts // 10 for kind in KINDS}
    wanted_torn = dict.fromkeys(["DATA", "LOG", "in recovery"] + ["several dies"] * (dies > 1), cuts // 20)
    wanted_torn |= {f"{name} in recovery": 1 for name in ("BLOCK", "ROOT")}
    return [f"{k}: {counts[k]} of {n}" for k, n in wanted.items() if counts[k] < n] + [f"{k}: {seen[k]} of {n}" for k, n in wanted_torn.items() if seen[k] < n]


@click.command()
@click.option("--preset", default="tiny", show_default=True, help="of soc/geometry.py, built by tools/drive_build.sh")
@click.option("--cuts", type=click.IntRange(1), default=240, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--only", type=click.IntRange(0), help="only this cut, in this process")
@click.option("--jobs", type=click.IntRange(1, 8), default=2, show_default=True, help="cuts judged at once")
@click.option("--gap", type=click.IntRange(100), default=90_000, show_default=True, help="clocks before a cut's moment is looked for, on average")
@click.option("--stop", is_flag=True, help="end at the first failed cut")
@click.option("--ways", is_flag=True, help="half of the cuts tear in the ways of the NAND's faults")
@click.option("--failing", is_flag=True, help="programs and erases fail, blocks are bad from the factory")
def main(preset, cuts, seed, only, jobs, gap, stop, ways, failing):
    """Power cuts, judged by the contract."""
    try:
        drive = Drive(preset, faults=Faults(seed=seed, **FAILING) if failing else Faults(seed=seed) if ways else None)
    except (DriveError, OSError) as e:
        print(f"power_cut: {e}", file=sys.stderr)
        sys.exit(2)
    dies = len(drive.under_way())
    print(f"preset {preset}, {dies} dies, seed {seed}, {cuts} cuts; firmware: {drive.uart.strip().splitlines()[-1:]}", flush=True)
    sessions, counts, children = random.Random(f"sessions {seed}"), Counter(), Children(jobs)
    work = Workload(drive, f"workload {seed}", History())
    left = sessions.randrange(3, 10)  # cuts until the one that the workload goes on from
    for number in range(cuts):
        cut = Cut(seed, number, gap, ways)
        children.seen.update(cut.approach(work))
        left -= 1
        if only == number:
            good, seen = cut.child(drive, work.history)
            print(f"{cut.where}: {'passed' if good else 'failed'}")
            sys.exit(0 if good else 1)
        if left:
            if only is None:
                children.fork(cut, drive, work.history)
        else:
            good, seen = cut.attempt(drive, work.history)
            children.seen.update(seen)
            if not good:
                print(f"the workload cannot go on after cut {number}")
                children.failed += 1
                cuts = number + 1
                break
            counts.update(work.counts)
            work = Workload(drive, f"workload {seed} {number}", work.history, work.stamp)
            left = sessions.randrange(3, 10)
        if stop and children.failed:
            cuts = number + 1
            break
        if number % 20 == 19:
            print(f"{number + 1} cuts, {children.failed} failed", flush=True)
    children.reap(0)
    counts.update(work.counts)
    print(f"commands completed: {dict(counts)}")
    if failing:
        print(f"failed in the main process: {drive.faults_seen()}; {drive.uart.strip().splitlines()[-3:]}")
    print(f"cuts at and torn: {dict(sorted(children.seen.items()))}")
    missing = lacks(dies, cuts, counts, children.seen) if cuts >= FULL else []
    if missing:
        print(f"the campaign shows too little: {', '.join(missing)}")
    print(f"{cuts - children.failed} passed, {children.failed} failed")
    sys.exit(1 if children.failed or missing else 0)


if __name__ == "__main__":
    main()
