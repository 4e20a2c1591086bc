# SPDX-License-Identifier: Apache-2.0
"""The judge is judged (judge/, docs/reference/history.md): cases written by hand, good histories of a toy drive at the
edge of the contract, and mutations of them that it forbids.

`SEED=` moves the random ones. No simulation runs here.
"""

import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from cocotb_tests.tools.judge_mutations import MUTATIONS, Known
from judge import Judge, Malformed, judge_lines
from judge.script import cases
from judge.toy import history, unflushed

ROOT = Path(__file__).resolve().parent.parent.parent

SEED = int(os.environ.get("SEED", "1"))
CASES = cases()
FORMS = (
    *(
        {},
        {"hasty": 0.5},
        {"lbas": 6, "most": 4},
        {"relaxed": 0.9, "lbas": 12},
        {"lbas": 64, "most": 32, "commands": 60},
    ),
    *({"lbas": 4, "most": 3, "txids": 3, "tags": 8}, {"entries": 8, "most": 4}),
    *({"prepare": 0.4}, {"prepare": 0.4, "hasty": 0, "txids": 3, "lbas": 8, "most": 3}),
    *({"barriers": 0.3, "lbas": 64}, {"barriers": 0.1, "prepare": 0.2, "lbas": 16, "tags": 8}, {"barriers": 0.6}),
)
HEAD = '{"history": 1, "lbas": 64}\n'


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.file}: {c.words}")
def test_case(case):
    verdict = judge_lines(case.events)
    if case.guarantee is None:
        assert verdict.good, verdict.violations
    else:
        assert not verdict.good, "a forbidden history was let pass"
        assert case.guarantee in verdict.violations[0].guarantees, verdict.violations
        assert verdict.violations[0].lines, "a violation names lines"


def test_cases_speak_of_every_guarantee():
    refused = Counter(int(c.file[:2]) for c in CASES if c.guarantee is not None)
    passed = Counter(int(c.file[:2]) for c in CASES if c.guarantee is None)
    print(f"cases: {sum(refused.values())} forbidden, {sum(passed.values())} near misses")
    assert set(refused) == set(passed) == set(range(1, 15))
    assert sum(refused.values()) >= 30 and sum(passed.values()) >= 30
    named = {c.guarantee for c in CASES} - {None}
    assert named == set(range(1, 15)), f"named in cases: {sorted(named)}"


def test_good_histories_pass():
    seen = Counter()
    for seed in range(SEED, SEED + 6):
        for form in FORMS:
            verdict = judge_lines(history(seed, **form))
            assert verdict.good, f"seed {seed}, {form}: {verdict.violations[0]}"
            seen.update(verdict.counts)
        verdict = judge_lines(unflushed(seed))
        assert verdict.good, f"seed {seed}, unflushed: {verdict.violations[0]}"
    print(f"good histories: {6 * len(FORMS) + 6} of {6 * len(FORMS) + 6} passed; {dict(seen)}")
    for what in (
        "cuts",
        "offs",
        "reads",
        "SUCCESS",
        "TX_BUSY",
        "TX_FULL",
        "TX_INVALID",
        "CAPACITY",
        "READ_ONLY",
        "WRITE_FAULT",
    ):
        assert seen[what], f"no {what} in the good histories"


def test_mutated_histories_are_refused():
    refused, tried = Counter(), Counter()
    for seed in range(SEED, SEED + 24):
        events = (
            history(seed, cuts=2, commands=100, hasty=0, errors=False, entries=60000, lbas=(48, 16, 10)[seed % 3])
            if seed % 4
            else unflushed(seed)
        )
        assert judge_lines(events).good
        known, rng = Known(events), random.Random(seed)
        for mutation in MUTATIONS:
            mutated = mutation(events, known, rng)
            if mutated is None:
                continue
            tried[mutation.__name__] += 1
            verdict = judge_lines(mutated)
            assert not verdict.good, f"seed {seed}: {mutation.__name__} was let pass"
            refused[mutation.__name__] += 1
    for mutation in MUTATIONS:
        print(f"{mutation.__name__}: seen {refused[mutation.__name__]} of {tried[mutation.__name__]}")
    assert all(tried[m.__name__] for m in MUTATIONS), (
        f"never tried: {[m.__name__ for m in MUTATIONS if not tried[m.__name__]]}"
    )
    print(f"mutations: seen {refused.total()} of {tried.total()}")


def test_copies_are_independent():
    for seed in range(SEED, SEED + 6):
        events = history(seed, lbas=12, commands=100)
        rng = random.Random(seed)
        judge, copies = Judge(), []
        for at, event in enumerate(events):
            if rng.random() < 0.03:
                copies.append((at, judge.copy()))
            judge.feed(event)
        assert judge.finish().good
        for at, copy in copies:
            assert copy.line == at
            other = copy.copy()
            other.feed({"e": "done", "id": 10**9, "status": "SUCCESS"})
            assert other.violation and not copy.violation
            for event in events[at:]:
                copy.feed(event)
            assert copy.finish().good
            assert copy.finish().counts == judge.finish().counts


def test_memory_is_bounded():
    from judge.bench import workload

    judge, most = Judge(), Counter()
    for event in workload(6000, SEED):
        judge.feed(event)
        for name in ("nodes", "hist", "readers", "frozen", "stamps", "waiting"):
            most[name] = max(most[name], len(getattr(judge, name)))
    assert not judge.violation
    print(f"most that was kept: {dict(most)}")
    assert most["nodes"] < 2500 and most["readers"] < 1000 and most["hist"] <= 512


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "empty"),
        ("{}\n", "line 1"),
        ('{"history": 2, "lbas": 4}\n', "line 1"),
        (HEAD + "no\n", "line 2: no JSON"),
        (HEAD + '{"e": "submit", "id": 1, "op": "SWRITE"}\n', "line 2: unknown op"),
        (HEAD + '{"e": "submit", "id": 1, "op": "WRITE", "lba": 0, "n": 2, "data": [1]}\n', "line 2: a WRITE has"),
        (HEAD + '{"e": "submit", "id": 1, "op": "WRITE", "lba": 0, "n": 1, "data": [0]}\n', "line 2: a stamp is"),
        (HEAD + '{"e": "submit", "id": 1, "op": "FLUSH"}\n' * 2, "line 3: id 1 is used twice"),
        (HEAD + '{"e": "cut"}\n{"e": "submit", "id": 1, "op": "FLUSH"}\n', "line 3: a command while the drive is off"),
        (HEAD + '{"e": "done", "id": 1, "status": "FINE"}\n', "line 2: unknown status"),
        (HEAD + '{"e": "up", "mode": "half"}\n', 'line 2: "mode"'),
        (HEAD + '{"e": "thunder"}\n', "line 2: unknown event"),
    ],
)
def test_malformed_file_is_refused_in_words(tmp_path, text, words):
    path = tmp_path / "h.jsonl"
    path.write_text(text)
    ran = tool(path)
    assert ran.returncode == 2 and words in ran.stderr and len(ran.stderr.splitlines()) == 1, ran.stderr
    with pytest.raises(Malformed):
        from judge.format import events

        judge_lines(events(text.splitlines()))


def tool(*arguments):
    return subprocess.run(
        [sys.executable, str(ROOT / "tools/judge.py"), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_tool_judges_files(tmp_path):
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text("\n".join(json.dumps(e) for e in history(SEED, cuts=2)) + "\n")
    case = next(c for c in CASES if c.words == "a torn WRITE ZEROES")
    bad.write_text("\n".join(json.dumps(e) for e in case.events) + "\n")
    ran = tool(good)
    assert ran.returncode == 0 and "good (" in ran.stdout and "2 cuts)" in ran.stdout, ran
    ran = tool(good, bad)
    assert ran.returncode == 1 and "guarantee 10: WRITE ZEROES 2 survived the cut" in ran.stdout, ran
    for wrong in ((), ("--fast",), (tmp_path / "none.jsonl",)):
        ran = tool(*wrong)
        assert ran.returncode == 2 and len(ran.stderr.splitlines()) == 1, ran
