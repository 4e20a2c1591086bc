# SPDX-License-Identifier: Apache-2.0
"""`tools/judge.py --bench`: events per second of processor time, the memory that is kept, and what a copy costs, on a
history of the toy (judge/toy.py).
"""

import json
import random
import time
import tracemalloc

from judge.format import events
from judge.judge import Judge
from judge.toy import Client

COMMANDS = 30000
BETWEEN = 400  # commands between two cuts


def workload(commands=COMMANDS, seed=1):
    """32 tags, 512 blocks, commands of 1 to 8 blocks, a cut after every few hundred commands; all of them may be under
    way in one block.
    """
    client = Client(seed, lbas=512, entries=60000, errors=False, hasty=0)
    rng = random.Random(seed)
    while client.ids < commands:
        client.run(BETWEEN)
        client.power()
        if rng.random() < 0.5:
            client.look()
    client.drain()
    return client.events


def judged(lines):
    start = time.process_time()
    judge = Judge()
    for event in events(lines):
        judge.feed(event)
    return judge, time.process_time() - start


def main():
    lines = [json.dumps(e) for e in workload()]
    judge, seconds = judged(lines)
    verdict = judge.finish()
    print(
        f"{len(lines)} events, {verdict.counts['reads']} reads, {verdict.counts['cuts']} cuts: "
        f"{'good' if verdict.good else verdict.violations[0]}"
    )
    print(f"{len(lines) / seconds:,.0f} events per second of processor time, text to verdict")
    for share in (4, 2, 1):
        tracemalloc.start()
        part, _ = judged(lines[: len(lines) // share])
        kept, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        print(
            f"after {len(lines) // share} events {kept / 1e6:.1f} MB are kept: {len(part.nodes)} nodes, "
            f"{len(part.hist)} blocks open"
        )
    start = time.process_time()
    for _ in range(100):
        part.copy()
    print(f"a copy takes {(time.process_time() - start) * 10:.2f} ms")
    return 0 if verdict.good else 1
