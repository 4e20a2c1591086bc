# SPDX-License-Identifier: Apache-2.0
"""Reads a recorded waveform (FST) of the drive and prints each commit's clocks: accepted, durable, taken by the remap
engine, visible, completed.

    tools/wave_report.py FILE.fst [--json OUT.json] [--mhz CLOCK]

accepted: the COMMIT has reached the command executor; durable: its log page and all its data pages are on NAND; taken:
the remap engine accepts the commit; visible: the transaction's status is COMMITTED, so every read returns its blocks;
completed: the host has the completion.
"""

import json
import sys
from bisect import bisect_right
from pathlib import Path

import click
import pywellen
from rich.console import Console
from rich.table import Table

from tools import command_line

PULSES = {  # our name -> end of the hierarchical name
    "accepted": "otx_core.data.evCommitCmd",
    "durable": "otx_core.log.evDurable",
    "taken": "otx_core.remap.evCommitTaken",
    "visible": "otx_core.remap.evCommitVisible",
}
VALUES = {
    "tag": "otx_core.data.evCommitTag",
    "entries": "otx_core.data.evCommitEntries",
    "txid": "otx_core.data.evCommitTxid",
    "taken_txid": "otx_core.remap.tx_payload_txid",
    "visible_txid": "otx_core.remap.evTxid",
    "cpl_valid": "otx_core.cpl_valid",
    "cpl_ready": "otx_core.cpl_ready",
    "cpl_tag": "otx_core.cpl_payload_tag",
    "clk": "otx_core.clk",
}


class WaveError(Exception):
    """The file is not a waveform of the drive; the text says what is missing."""


class Wave:
    """Signals of the drive's core in one FST, found by the end of their names."""

    def __init__(self, path):
        try:
            self.wave = pywellen.Waveform(str(path), multi_threaded=False)
        except Exception as e:  # the library raises its own and Rust's errors alike
            raise WaveError(f"{path}: not a readable waveform ({e})") from e
        names = {}
        for var in self.wave.all_vars():
            names.setdefault(var.full_name, var)
        self.vars = {}
        for key, end in {**PULSES, **VALUES}.items():
            hits = [n for n in names if n == end or n.endswith("." + end)]
            if not hits:
                raise WaveError(f"{path}: no signal ending in {end}; is it a recording of the drive?")
            self.vars[key] = names[min(hits, key=len)]
        self.changes = {key: [(t, int(v)) for t, v in var.tv] for key, var in self.vars.items()}
        rises = [t for t, v in self.changes["clk"] if v]
        if len(rises) < 2:
            raise WaveError(f"{path}: the clock does not run in it")
        self.period = min(b - a for a, b in zip(rises, rises[1:], strict=False))

    def pulses(self, key):
        """Times at which a one-clock pulse begins; a pulse of n clocks counts n times."""
        out, since = [], None
        for t, v in self.changes[key]:
            if since is not None and not v:
                out += list(range(since, t, self.period))
            since = t if v else None
        return out

    def at(self, key, time):
        """Value of a signal just after `time`; 0 before its first change."""
        i = bisect_right(self.changes[key], time, key=lambda change: change[0])
        return self.changes[key][i - 1][1] if i else 0

    def completion(self, tag, after):
        """First clock from `after` on in which the completion of that tag is at the host port and taken."""
        end = self.changes["cpl_valid"][-1][0] + self.period
        for t, v in self.changes["cpl_valid"]:
            if not v:
                continue
            for now in range(max(t, after), end, self.period):
                if not self.at("cpl_valid", now):
                    break
                if self.at("cpl_tag", now) == tag and self.at("cpl_ready", now):
                    return now
        return None


def commits(path):
    """One dict per COMMIT in the file, in order: entries, txid and the clocks between its stations; a station outside
    the recording is None.
    """
    wave = Wave(path)
    first_after = lambda times, t: next((x for x in times if x >= t), None)  # noqa: E731
    rows = []
    for t in wave.pulses("accepted"):
        txid = wave.at("txid", t)
        taken = first_after([x for x in wave.pulses("taken") if wave.at("taken_txid", x) == txid], t)
        visible = (
            None
            if taken is None
            else first_after([x for x in wave.pulses("visible") if wave.at("visible_txid", x) == txid], taken)
        )
        durable = max((x for x in wave.pulses("durable") if t <= x <= (taken or 0)), default=None)
        done = None if visible is None else wave.completion(wave.at("tag", t), visible)
        clocks = lambda a, b: None if a is None or b is None else (b - a) // wave.period  # noqa: E731
        rows.append(
            {
                "entries": wave.at("entries", t),
                "txid": txid,
                "accepted_to_durable": clocks(t, durable),
                "durable_to_taken": clocks(durable, taken),
                "taken_to_visible": clocks(taken, visible),
                "visible_to_completed": clocks(visible, done),
                "accepted_to_completed": clocks(t, done),
            }
        )
    return rows


def save_file(fst, path, keys):
    """A GTKWave save file for `fst` that shows these of our signals."""
    wave = Wave(fst)
    lines = [f'[dumpfile] "{Path(fst).resolve().name}"', "[timestart] 0"]
    for key in keys:
        var = wave.vars[key]
        width = var.bitwidth or 1
        lines.append(var.full_name if width == 1 else f"{var.full_name}[{width - 1}:0]")
    Path(path).write_text("\n".join(lines) + "\n")


def table(rows, mhz):
    """The rows as a printable table; microseconds at `mhz`."""
    out = Table(title=f"commits, clocks (and microseconds at {mhz:g} MHz)")
    heads = list(rows[0]) if rows else ["entries"]
    for head in heads:
        out.add_column(head.replace("_", " "), justify="right")
    for row in rows:
        cells = [str(row["entries"]), str(row["txid"])]
        for key in heads[2:]:
            value = row[key]
            cells.append("-" if value is None else f"{value:,} ({value / mhz:,.2f} us)")
        out.add_row(*cells)
    return out


@click.command()
@click.argument("fst", type=click.Path())
@click.option("--json", "json_file", type=click.Path(), help="also write the rows there")
@click.option(
    "--mhz", type=click.FloatRange(min=1), default=100.0, show_default=True, help="clock for the microseconds"
)
def main(fst, json_file, mhz):
    """Print each commit's clocks, read from FST."""
    if not Path(fst).is_file():
        raise click.UsageError(f"no file {fst}")
    try:
        rows = commits(fst)
    except WaveError as e:
        raise click.UsageError(str(e)) from e
    if json_file:
        Path(json_file).write_text(json.dumps(rows, indent=1) + "\n")
    Console(width=160).print(table(rows, mhz))
    sys.exit(0 if rows else 1)


if __name__ == "__main__":
    command_line.run(main, "wave_report")
