# SPDX-License-Identifier: Apache-2.0
"""`soak.py [--ops N] [--seed S] [--only EPISODE]`: millions of random operations on the remap engine, each answer and
each release judged by RemapJudge.

The run is cut into episodes of 50,000 operations with seeds and memories of their own (`plan`), side by side on all
processors. What is done stands in build/soak/seed-S.json: the same command after an interruption goes on there, after
the end it starts over. `--only` runs one episode again. Exit code 1 when the engine broke a rule (the message names the
episode), 2 for wrong arguments, in one line.
"""

import argparse
import json
import os
import random
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

try:
    from cocotb_tests.bench.remap_traffic import RemapTraffic
    from cocotb_tests.models.remap_judge import Call, RemapJudge, op_fields
    from cocotb_tests.models.remap_model import Op, State, TxOp
    from cocotb_tests.system.engine import EVENT_FREE, EVENT_OP, EVENT_TX, Engine, EngineError, build
except ImportError as e:
    sys.exit(f"soak: {e}; source tools/env.sh first")

ROOT = Path(__file__).resolve().parent.parent.parent

PRESET, EPISODE = "tiny", 50_000
AHEAD, ROUND = 24, 60  # ops handed over before they are taken; most clocks between two looks
REST = 1_000_000  # clocks in which the engine comes to rest
SLACK = 400  # clocks that a release may be late, stalls of `released` among them


def plan(seed, number):
    """What episode `number` of a run is like."""
    rng = random.Random(f"{seed}:{number}")
    low, high = rng.choice([(1, 1), (1, 6), (2, 2), (2, 60), (8, 8), (30, 60)])
    txids = rng.choice([[*range(32)], [*range(32)], [0, 1, 2, 17, 31], [5, 6]])
    memory = dict(
        latency=(low, high),
        outstanding=rng.choice([1, 4, 8, 20]),
        stall_percent=rng.choice([0, 0, 10, 30]),
        adversary=rng.random() < 0.5,
    )
    return memory | dict(txids=txids, seed=rng.getrandbits(32))


class Soak:
    """One episode: an engine, its judge, and the traffic between them."""

    def __init__(self, ops, latency, outstanding, stall_percent, adversary, txids, seed):
        self.engine = Engine(PRESET, latency, outstanding, stall_percent, adversary, seed)
        self.judge = RemapJudge(self.engine.lbas, self.engine.tx_entries, SLACK)
        self.rng, self.txids, self.left, self.tag = random.Random(seed), txids, ops, 0
        self.moved = 0  # clock in which an op was last taken or answered
        self.pending, self.calls = [], {}  # tx requests and ops that were handed over and not taken
        self.lpns = [0, 1], [2, 3, 4, 5, 511, self.engine.lbas - 1, *range(64, 80)]
        self.traffic = RemapTraffic(self.rng, self.judge.model, txids, *self.lpns, self.pending)

    def send(self, fields):
        self.tag += 1
        call = self.calls[self.tag] = Call(**fields | dict(tag=self.tag))
        f = call.fields
        self.engine.ops(
            [(f["op"], f["hasTx"], f["txid"], f["last"], f["lpn"], f["location"], f["new"], self.tag, f["blocks"])]
        )

    def look(self):
        """What passed since the last look, in the order of docs/interfaces.md: inside a clock releases, answers,
        requests, an op, a COMMIT.
        """
        happened = [(r.clock, 0, r) for r in self.engine.releases()]
        happened += [(r.answered, 1, r) for r in self.engine.responses()]
        for e in self.engine.events():
            if e.kind == EVENT_FREE:
                happened.append((e.clock, 2, e))
            elif e.kind == EVENT_TX:
                happened.append((e.clock, 5 if e.op == TxOp.COMMIT else 3, e))
            elif e.kind == EVENT_OP:
                happened.append((e.clock, 4, e))
        happened.sort(key=lambda h: h[:2])
        self.moved = max([self.moved, *(clock for clock, kind, _ in happened if kind in (1, 4))])
        assert self.engine.clock - self.moved < REST or not self.calls, f"clock {self.engine.clock}: ops stand still"
        judge = self.judge
        for clock, kind, what in happened:
            judge.clock = clock
            if kind == 0:
                judge.released(what.location)
            elif kind == 1:
                judge.op_answered(
                    what.tag,
                    dict(
                        own=bool(what.own),
                        committing=bool(what.committing),
                        hit=bool(what.hit),
                        error=bool(what.error),
                        location=what.location,
                    ),
                )
            elif kind == 2:
                judge.freed(what.txid)
            elif kind == 4:
                judge.op_taken(self.calls.pop(what.value))
            else:
                request = self.pending.pop(0)
                assert request == (what.op, what.txid)
                if what.op == TxOp.COMMIT:
                    assert what.clock - what.offered < 2, f"clock {clock}: a COMMIT waits"
                judge.tx_taken(*request, what.state, what.value)
        judge.ready_clocks = self.engine.clock
        judge.nothing_late()

    def settle(self):
        self.engine.settle(REST, walked=True)
        self.engine.step(2 * SLACK)
        self.look()
        for txid in range(32):
            self.judge.agrees(txid, self.engine.state(txid), self.engine.count(txid))
        self.judge.nothing_owed()

    def run(self):
        """Counts of what was seen."""
        while self.left:
            while self.left and len(self.calls) < AHEAD:
                self.send(self.traffic.op())
                self.left -= 1
            while len(self.pending) < 4 and self.rng.random() < 0.8 and (request := self.traffic.request()):
                self.pending.append(request)
                self.engine.tx(*request)
            self.engine.step(self.rng.randrange(1, ROUND))
            self.look()
        self.send(op_fields(Op.LOOKUP, 0))
        self.settle()
        for lpn in {*self.lpns[0], *self.lpns[1]}:
            for reader in (None, *self.txids):
                self.send(op_fields(Op.LOOKUP, lpn, reader))
        self.settle()
        for txid in self.txids:
            if self.judge.model.txs[txid].state in (State.OPEN, State.PREPARED):
                self.pending.append((TxOp.ABORT, txid))
                self.engine.tx(*self.pending[-1])
        self.settle()
        m, clock = self.judge.model, self.engine.clock
        if self.engine._call("memory_errors"):
            raise AssertionError("the engine has met a memory error or a broken chain")
        self.engine.close()
        return (
            Counter(self.traffic.tally)
            + Counter(commits=m.commits, released=m.released, clocks=clock)
            + Counter(self.judge.seen)
            + Counter(m.seen)
        )


def episode(seed, number, ops=EPISODE):
    """The counts of an episode; AssertionError or EngineError when the engine broke a rule."""
    return Soak(ops, **plan(seed, number)).run()


def guarded(seed, number, ops):
    try:
        return number, episode(seed, number, ops), None
    except (AssertionError, EngineError) as e:
        return number, None, f"episode {number}: {e} (plan {plan(seed, number)})"


def main(args):
    parser = argparse.ArgumentParser(prog="soak.py", exit_on_error=False)
    parser.add_argument("--ops", type=int, default=5_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    try:
        a, rest = parser.parse_known_args(args)
    except argparse.ArgumentError as e:
        a, rest = None, [str(e)]
    if rest or a.ops < 1 or (a.only is not None and a.only < 0):
        print(
            f"soak.py: {rest[0] if rest else 'ops must be 1 or more, an episode 0 or more'}; usage: soak.py [--ops N] "
            "[--seed S] [--only EPISODE]",
            file=sys.stderr,
        )
        return 2
    build(PRESET)
    if a.only is not None:
        _, counts, error = guarded(a.seed, a.only, EPISODE)
        print(error or dict(counts))
        return int(error is not None)
    progress = ROOT / f"build/soak/seed-{a.seed}.json"
    progress.parent.mkdir(parents=True, exist_ok=True)
    wanted = range((a.ops + EPISODE - 1) // EPISODE)
    done = {int(n): Counter(c) for n, c in json.loads(progress.read_text()).items()} if progress.exists() else {}
    if all(n in done for n in wanted):
        done = {}
    elif done:
        print(f"going on: {len(done)} of {len(wanted)} episodes are done", flush=True)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(guarded, a.seed, n, EPISODE) for n in wanted if n not in done]
        for job in as_completed(jobs):
            number, counts, error = job.result()
            if error:
                print(error, flush=True)
                pool.shutdown(cancel_futures=True)
                return 1
            done[number] = counts
            progress.write_text(json.dumps({n: dict(c) for n, c in done.items()}))
            if len(done) % 10 == 0:
                print(f"{len(done) * EPISODE:,} operations", flush=True)
    total = sum((done[n] for n in wanted), Counter())
    print(f"soak: {len(wanted) * EPISODE:,} operations, seed {a.seed}, no rule broken; {dict(sorted(total.items()))}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
