# SPDX-License-Identifier: Apache-2.0
"""Power cuts that are enumerated: a fixed workload, cut before, inside and after every program and erase of its NAND,
in each way in which a cut can leave a page or a block (docs/contract.md is the judge, by judge/).

    enumerated_cuts.py [--preset tiny] [--seed 3] [--part K/N] [--only CUT [--wave]] [--jobs 2] [--list]
    [--firmware BIN]

The workload has three scenes, each of them the same to the clock whenever it is run:

    format   a blank drive is made
    fresh    every kind of command on a drive without data
    worn     the same after the NAND was written once: blocks are collected and checkpoints made while commands go on

Each program and erase of a scene gives cuts: one clock before it begins, half way, and one clock after its end; half
way once for each way of opentxssd.faults (Cut, CutErase) and once as the seed has it (also whole). They are numbered
through all scenes, so that cut n of a preset and seed is always the same (of one build): `--only n` replays it, with
`--wave` with a waveform of its last boot, and `--part 3/20` are the cuts with n % 20 = 3.

After a cut the drive comes back (every third time it is cut again in that recovery, at one of its own programs or
erases, and of these every third time once more), all blocks are read (again when fading pages have faded), it takes
more commands, is cut again at a random clock, comes back and is read. The histories of cuts that fail are below
build/powercut. Before the last line, which counts cuts, is a table of what was cut. Exit code 1 when a cut failed or
the scenes do not have every kind of command, program and erase; 2 for wrong arguments, in one line.
"""

import json
import os
import random
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

try:
    import click

    from cocotb_tests.system.power_cut import Children, said_of, verdict
    from cocotb_tests.system.traffic import BOOT_CHANGE, Flavour, Traffic, Until
    from opentxssd import TXIDS, Drive, DriveError, Torn, TxState
    from opentxssd.faults import Cut as Way
    from opentxssd.faults import CutErase, Faults
    from soc import geometry
    from tools import command_line
except ImportError as e:
    sys.exit(f"enumerated_cuts: {e}; source tools/env.sh first")

ROOT = Path(__file__).resolve().parent.parent.parent

FRESH = 2_000  # programs and erases of this scene at most, it ends when every kind of command was there
WORN = 400  # of this one, which ends
BEHIND = 40  # so many after a checkpoint's seal
SOUGHT = 4_000  # in which a checkpoint must come
MOST = 2_000_000  # clocks until the next one
PROGRAMS = 1  # of otx_nand_count
WAYS = [Way.PREFIX, Way.SUBSET, Way.UNREADABLE, Way.FADES]
WAYS_OF_ERASE = [CutErase.PARTLY, CutErase.LOOKS_ERASED]
KINDS = [Torn.DATA, Torn.LOG, Torn.MAP, Torn.DIRECTORY, Torn.ROOT, Torn.SEAL, Torn.BLOCK]
COMMANDS = ["plain WRITE", "WRITE FUA", "WRITE in a transaction", "TRIM", "WRITE ZEROES", "BEGIN", "COMMIT", "ABORT"]
COMMANDS += ["TRIM or WRITE ZEROES in a transaction", "COMMIT RELAXED", "WRITE COMMIT", "FLUSH", "READ", "RECOVER"]
COMMANDS += ["READ with txid", "QUERY", "bad input", "PREPARE", "BARRIER", "barrier flag", "orderless write"]


@dataclass(frozen=True)
class Operation:
    """A program or erase of a scene."""

    kind: Torn
    die: int
    begin: int  # the first clock of its array time
    end: int  # the first clock after it

    def points(self):
        """Where it is cut, as (clock, place, way of a program, way of an erase)."""
        middle = (self.begin + self.end) // 2
        yield self.begin - 1, "before", None, None
        yield middle, "inside", None, None
        if self.kind == Torn.BLOCK:
            for way in WAYS_OF_ERASE:
                yield middle, f"inside, {way.name}", None, way
        else:
            for way in WAYS:
                yield middle, f"inside, {way.name}", way, None
        yield self.end, "after", None, None


@dataclass(frozen=True)
class Point:
    """One cut."""

    number: int
    scene: str
    operation: Operation
    clock: int
    place: str
    program: Way | None
    erase: CutErase | None

    def __str__(self):
        return f"{self.scene}, {self.place} the {self.operation.kind.name} of clock {self.operation.begin}"


class Scene:
    """One drive in its scene, at its beginning; `forget` ends nothing: who goes on with it forks."""

    def __init__(self, name, preset, seed, trace, firmware):
        self.name, self.seed = name, seed
        self.drive = Drive(preset, faults=Faults(seed=seed), boot=False, trace=trace, firmware=firmware)
        self.traffic = Traffic(
            self.drive, preset=preset, seed=seed, client="enumerated_cuts", scene=name, entries=self.drive.tx_entries
        )
        self.blocks = 4 if name == "fresh" else min(self.drive.lbas, 64)
        if name == "format":
            self.traffic.begin(seed, Flavour.MIXED, 0, self.blocks)
            return
        self.drive.boot()
        if name == "worn":
            self.wear()
        self.traffic.begin(seed, Flavour.MIXED, 0, self.blocks)

    def wear(self):
        """As many pages are programmed as the NAND has."""
        self.traffic.begin(self.seed, Flavour.PLAIN, 0, self.blocks)
        while self.drive.lib.otx_nand_count(PROGRAMS) < geometry.preset(self.drive.preset).raw_pages:
            self.traffic.run(10_000)
        self.traffic.finish()
        self.traffic.judge_now()

    def to(self, clock):
        if self.name == "format":
            self.traffic.boot_until(clock - self.drive.clock)
        else:
            self.traffic.run(clock - self.drive.clock)

    def change(self):
        """To the clock at which a program or erase begins or ends; False: the scene is over."""
        if self.name == "format":
            return self.drive.lib.otx_traffic_boot(20 * MOST, BOOT_CHANGE, 1) == 1
        if not self.traffic.run(MOST, Until.CHANGE):
            raise DriveError(f"scene {self.name} begins no program in {MOST} clocks")
        return True

    def operations(self):
        """Those to cut, by running the scene; it cannot be used after that."""
        now, begun, found = self.drive.under_way(), {}, []
        while not self.over(found) and self.change():
            was, now = now, self.drive.under_way()
            for die, (old, new) in enumerate(zip(was, now, strict=True)):
                if old and old != new and die in begun:
                    found.append(Operation(old, die, begun.pop(die), self.drive.clock))
                if new and old != new:
                    begun[die] = self.drive.clock
        return found[-WORN:] if self.name == "worn" else found

    def over(self, found):
        if self.name == "fresh":
            return len(found) >= FRESH or not missing_commands(self.traffic.counters())
        if self.name == "worn":
            kinds = [
                o.kind for o in found
            ]  # a checkpoint from its beginning: one may be under way when the scene begins
            begun = kinds.index(Torn.MAP) if Torn.MAP in kinds else len(kinds)
            return len(found) >= SOUGHT or Torn.SEAL in kinds[begun:-BEHIND]
        return False


def missing_commands(counters):
    return [c for c in COMMANDS if not counters[c]]


def in_a_child(work):
    """What `work` returns, as JSON, in a copy of this process."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(ours)
        with os.fdopen(theirs, "w") as out:
            json.dump(work(), out)
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as said:
        text = said.read()
    if os.waitpid(pid, 0)[1] or not text:
        raise DriveError("a scene could not be run")
    return json.loads(text)


class PowerCut:
    """A cut at one point, in a process of its own; what follows it is drawn from its number."""

    deepest = 0  # one cut to count, as Children has it

    def __init__(self, point, campaign):
        self.point, self.campaign = point, campaign
        self.rng = random.Random(f"enumerated cut {campaign.seed} {point.number}")
        self.where = f"{point}"
        self.name, self.number = f"{campaign.preset}-{campaign.seed}", point.number
        self.command = (
            f"python cocotb_tests/system/enumerated_cuts.py --preset {campaign.preset} --seed {campaign.seed} --only "
            f"{{}} --wave"
        )

    def way(self):
        return {"program": Way.ANY, "erase": CutErase.ANY} if self.rng.randrange(2) else {}

    def again(self, traffic):
        """In the recovery, at one of its own operations."""
        if traffic.drive.lib.otx_traffic_boot(20 * MOST, BOOT_CHANGE, self.rng.randrange(1, 24)) == 1:
            traffic.boot_until(self.rng.randrange(1, 200))
        self.where += f", then in recovery at {traffic.drive.clock}"
        traffic.cut(self.rng.getrandbits(32), in_recovery=True, **self.way())

    def back(self, traffic, blocks):
        traffic.boot()
        for txid in range(TXIDS):
            state, entries = traffic.drive.tx(txid)
            assert state == TxState.PREPARED or (state, entries) == (TxState.FREE, 0), f"txid {txid} is {state.name}"
        traffic.read(0, blocks)
        traffic.lib.otx_nand_fade()
        traffic.read(0, blocks)
        traffic.judge_now()

    def survive(self, scene):
        traffic, rng = scene.traffic, self.rng
        traffic.cut(rng.getrandbits(32), program=self.point.program, erase=self.point.erase)
        for _ in range(2):
            if self.point.number % 3 or rng.randrange(3) == 0:
                break
            self.again(traffic)
        self.back(traffic, scene.blocks)
        traffic.begin(rng.getrandbits(48), Flavour.MIXED, 0, scene.blocks)
        traffic.run(rng.randrange(1, 60_000))
        self.where += f", then at {traffic.drive.clock}"
        traffic.cut(rng.getrandbits(32), **self.way())
        self.back(traffic, scene.blocks)
        traffic.begin(rng.getrandbits(48), Flavour.MIXED, 0, scene.blocks)
        traffic.finish(3)
        traffic.judge_now(end=True)

    def family(self, traffic, scene, into):
        good = verdict(self, traffic, lambda: self.survive(scene))
        os.write(into, (json.dumps([good, []]) + "\n").encode())
        os._exit(0)


class Campaign:
    def __init__(self, preset, seed, part, jobs, only, wave, firmware):
        self.preset, self.seed, self.jobs, self.wave, self.firmware = preset, seed, jobs, wave, firmware
        self.only, (self.mine, self.parts) = only, part
        self.points, self.kinds, self.seen, number = [], Counter(), Counter(), 0
        for scene in ("format", "fresh", "worn"):
            operations, counters = in_a_child(lambda scene=scene: self.explore(scene))
            self.seen.update(counters)
            for kind, *rest in operations:
                operation = Operation(Torn(kind), *rest)
                self.kinds[operation.kind.name] += 1
                for clock, place, program, erase in operation.points():
                    self.points.append(Point(number, scene, operation, clock, place, program, erase))
                    number += 1

    def scene(self, name, trace=False):
        return Scene(name, self.preset, self.seed, trace, self.firmware)

    def explore(self, name):
        scene = self.scene(name)
        operations = [(int(o.kind), o.die, o.begin, o.end) for o in scene.operations()]
        return operations, scene.traffic.counters()

    def missing(self):
        kinds = [k.name for k in KINDS if not self.kinds[k.name]]
        return kinds + missing_commands(self.seen)

    def run_scene(self, name, points, children):
        """In a process of its own (one drive in a process): (cuts, failed)."""
        scene = self.scene(name)
        for point in sorted(points, key=lambda p: (p.clock, p.number)):
            scene.to(point.clock)
            scene.traffic.judge_now()
            children.fork(PowerCut(point, self), scene.traffic, scene)
        children.reap(0)
        return children.ended, children.failed

    def run(self):
        ended = failed = 0
        for name in ("format", "fresh", "worn"):
            points = [p for p in self.points if p.scene == name and p.number % self.parts == self.mine]
            if points:
                cuts, bad = in_a_child(lambda n=name, p=points: self.run_scene(n, p, Children(self.jobs)))
                print(f"scene {name}: {cuts} cuts, {bad} failed", flush=True)
                ended, failed = ended + cuts, failed + bad
        for text in self.table():
            print(text)
        print("seen:", json.dumps({"power cuts": ended} | {k: n for k, n in sorted(self.kinds.items())}))
        missing = self.missing()
        if missing:
            print(f"the scenes show too little: {', '.join(missing)}")
        print(f"{ended - failed} passed, {failed} failed")
        return 1 if failed or missing else 0

    def table(self):
        places = Counter((p.operation.kind.name, p.place.split(",")[0]) for p in self.points)
        yield f"{'of ' + str(len(self.points)) + ' cuts':24}  operations  before  inside  after"
        for kind, n in sorted(self.kinds.items()):
            cuts = [places[kind, place] for place in ("before", "inside", "after")]
            yield f"{kind:24}  {n:10}  {cuts[0]:6}  {cuts[1]:6}  {cuts[2]:5}"

    def replay(self):
        """Cut `only` in this process; the exit code."""
        if self.only >= len(self.points):
            raise DriveError(f"there are cuts 0 to {len(self.points) - 1}")
        point = self.points[self.only]
        scene, cut = self.scene(point.scene, self.wave), PowerCut(point, self)
        scene.to(point.clock)
        wave = ROOT / "build/powercut" / f"{cut.name}-{self.only}.fst"
        wave.parent.mkdir(parents=True, exist_ok=True)
        if self.wave:
            scene.drive.trace(wave)
        good = verdict(cut, scene.traffic, lambda: cut.survive(scene))
        print(
            f"cut {self.only}: {cut.where}: {'passed' if good else 'failed'}"
            + (f"; {wave.relative_to(ROOT)}" if self.wave else f"; {said_of(scene.drive)}")
        )
        return 0 if good else 1


def part_of(context, parameter, text):
    try:
        mine, parts = (int(n) for n in text.split("/"))
    except ValueError:
        raise click.BadParameter(f"'{text}' is not K/N") from None
    if not 0 <= mine < parts:
        raise click.BadParameter(f"'{text}': 0 <= K < N")
    return mine, parts


@click.command()
@click.option("--preset", default="tiny", show_default=True, help="of soc/geometry.py, built by tools/drive_build.sh")
@click.option("--seed", type=int, default=3, show_default=True, help="another workload")
@click.option("--part", callback=part_of, default="0/1", show_default=True, help="K/N: the cuts with number % N = K")
@click.option("--only", type=click.IntRange(0), help="only this cut, in this process")
@click.option("--jobs", type=click.IntRange(1, 8), default=2, show_default=True, help="cuts judged at once")
@click.option("--list", "listed", is_flag=True, help="prints the cuts and makes none")
@click.option("--firmware", type=click.Path(exists=True, dir_okay=False), help="another binary than the preset's")
@click.option("--wave", is_flag=True, help="with --only: a waveform (the preset with tracing)")
def main(listed, **options):
    """Enumerated power cuts, judged by the contract."""
    if options["wave"] and options["only"] is None:
        print("enumerated_cuts: --wave needs --only", file=sys.stderr)
        sys.exit(2)
    try:
        campaign = Campaign(**options)
        if listed:
            for point in campaign.points:
                print(point.number, point)
            sys.exit(0)
        if options["only"] is not None:
            sys.exit(campaign.replay())
    except (DriveError, OSError) as e:
        print(f"enumerated_cuts: {e}", file=sys.stderr)
        sys.exit(2)
    mine = sum(p.number % campaign.parts == campaign.mine for p in campaign.points)
    print(f"preset {campaign.preset}, seed {campaign.seed}: {mine} of {len(campaign.points)} cuts", flush=True)
    sys.exit(campaign.run())


if __name__ == "__main__":
    command_line.run(main, "enumerated_cuts")
