# SPDX-License-Identifier: Apache-2.0
"""`wave_engine.py [--write]`: the remap engine in two waveforms of characters, as they stand in docs/waveforms.md: the
commit of 60,000 entries, and a merge while a lookup is offered in every clock.

Drawn from the RTL (sim/engine), a character per clock: `#` a beat or an event in this clock, `=` the state lasts, `.`
nothing. Without `--write` it prints them and says with exit code 1 whether the page shows something else; with it the
page is brought up to date. Wrong arguments: one line, exit code 2.
"""

import re
import sys
from pathlib import Path

try:
    from cocotb_tests.system.engine import EVENT_VISIBLE, NAND, Engine, Op, TxOp, build, op, word
except ImportError as e:
    sys.exit(f"wave_engine: {e}; source tools/env.sh first")

ROOT = Path(__file__).resolve().parent.parent

PAGE = ROOT / "docs/waveforms.md"
PRESET, LATENCY, TXID = "sim", 8, 3


class Recorder:
    """Beats and states of an engine, clock by clock."""

    def __init__(self, engine, rows):
        self.engine, self.lines = engine, {row: "" for row in rows}

    def clocks(self, n):
        for _ in range(n):
            state = self.engine.state(TXID)
            self.engine.step(1)
            beats = self.engine.beats
            for row in self.lines:
                on = row in beats or row == f"state {state.name}"
                self.lines[row] += ("=" if row.startswith("state") or row == "walking" else "#") if on else "."

    def text(self):
        width = max(map(len, self.lines))
        return "\n".join(f"{row:<{width}}  {line}" for row, line in self.lines.items())


def opened(engine, entries):
    """A transaction of that many entries over blocks that have been written, COMMITTING."""
    engine.tx(TxOp.BEGIN, TXID)
    engine.settle()
    engine.ops(op(Op.PLAIN, i, location=word(NAND, i + 1)) for i in range(min(entries, 64)))
    engine.ops(op(Op.APPEND, i, TXID, word(NAND, 1 << 20 | i)) for i in range(entries))
    engine.settle()
    engine.tx(TxOp.COMMITTING, TXID)
    engine.settle()
    if any(r.error for r in engine.responses()) or engine.count(TXID) != entries:
        raise SystemExit(f"the transaction has {engine.count(TXID)} of {entries} entries")


def commit(entries=60_000):
    """From 20 clocks before COMMIT, one lookup of its blocks offered per clock, to 50 after."""
    with Engine(PRESET, latency=(LATENCY, LATENCY), outstanding=20) as engine:
        opened(engine, entries)
        engine.ops(op(Op.LOOKUP, i % 4, tag=i) for i in range(200))
        recorder = Recorder(
            engine,
            ["op", "rsp", "tx", "commit taken", "commit visible", "state COMMITTING", "state COMMITTED", "walking"],
        )
        recorder.clocks(20)
        engine.tx(TxOp.COMMIT, TXID)
        recorder.clocks(50)
        engine.settle()
        (visible,) = [e.clock for e in engine.events() if e.kind == EVENT_VISIBLE]
        for r in engine.responses():
            new = r.location == word(NAND, 1 << 20 | r.tag % 4)
            if new != (r.taken >= visible):
                raise SystemExit(
                    f"a lookup taken {r.taken - visible} clocks after the commit was visible returned "
                    f"{r.location:#010x}"
                )
        return recorder.text()


def merge(entries=12):
    """A transaction is merged while a lookup of another block is offered in every clock: from its COMMIT on."""
    with Engine(PRESET, latency=(LATENCY, LATENCY), outstanding=20) as engine:
        opened(engine, entries)
        engine.ops(op(Op.LOOKUP, 1000 + i % 64) for i in range(2000))
        recorder = Recorder(
            engine, ["op", "rsp", "tx", "state COMMITTED", "state FREE", "walking", "ar", "r", "aw", "b", "released"]
        )
        recorder.clocks(10)
        engine.tx(TxOp.COMMIT, TXID)
        recorder.clocks(130)
        return recorder.text()


def fence(name, text):
    return f"<!-- {name} -->\n```\n{text}\n```\n"


def main(args):
    if args not in ([], ["--write"]):
        print(f"wave_engine: wrong arguments {' '.join(args)}; usage: wave_engine.py [--write]", file=sys.stderr)
        return 2
    build(PRESET)
    page = PAGE.read_text()
    fresh = page
    for name, draw in (("commit", commit), ("merge", merge)):
        block = fence(name, draw())
        print(block)
        fresh = re.sub(rf"<!-- {name} -->\n```\n.*?```\n", lambda _, block=block: block, fresh, flags=re.S)
    if args:
        PAGE.write_text(fresh)
    elif fresh != page:
        print(f"{PAGE.relative_to(ROOT)} shows something else: wave_engine.py --write", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
