# SPDX-License-Identifier: Apache-2.0
"""`make campaign [C=name] [SEED=1] [ITEMS=n]`: what takes longer than `make test`, as items that stand alone, on Dask.

    campaign.py [NAME [--seed N] [--items N] [--scheduler tcp://HOST:PORT] [--workers N] [--list FILE] [--results FILE]]

Without a name: the campaigns of tools/campaigns.toml and how long an item of each takes. Items run on two processes of
this machine, or on the workers of a scheduler (campaign_item.py says what a worker needs). Each result goes into
build/campaign/results.sqlite as it comes, the output of the item into a log beside it; an item that has passed or
failed on this very tree with this seed is not run again. The last line is "N passed, M failed"; exit code 1 when one
failed, 2 for wrong arguments, in one line.
"""

import json
import os
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

try:
    import click

    from tools import campaign_item, command_line
    from tools.campaign_item import run_item, tree_of
except ImportError as e:
    sys.exit(f"campaign: {e}; source tools/env.sh first")

ROOT = Path(__file__).resolve().parent.parent
LIST, RESULTS = ROOT / "tools/campaigns.toml", ROOT / "build/campaign/results.sqlite"
COLUMNS = "campaign item seed tree started seconds verdict seen found log worker".split()


@dataclass(frozen=True)
class Campaign:
    """As in campaigns.toml."""

    name: str
    shows: str
    command: str
    again: str
    seconds: float
    prepare: str = ""
    items: int = 0
    list: tuple = field(default=())
    lists: str = ""

    def names(self, wanted):
        """Of the first `wanted` items, all of the campaign's without a number."""
        if self.items:
            return [str(n) for n in range(wanted or self.items)]
        names = self.list
        if self.lists:
            said = subprocess.run(
                ["bash", "-c", f". tools/env.sh && {self.lists}"], cwd=ROOT, capture_output=True, text=True
            )
            if said.returncode:
                raise click.UsageError(f"the items of {self.name} cannot be listed: {said.stderr.strip()[-200:]}")
            names = said.stdout.split("\n")
        return [n for n in names if n][: wanted or None]

    def fill(self, text, seed, number, name):
        """A command of an item; names of one word in `lists` stand alone, longer ones are its arguments."""
        return (
            text.replace("{seed}", str(seed + number))
            .replace("{base}", str(seed))
            .replace("{item}", " ".join(map(shlex.quote, name.split())))
        )


class Results:
    """The SQLite file; one row for each item, seed and tree."""

    def __init__(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.db = sqlite3.connect(path)
        self.db.execute(
            f"CREATE TABLE IF NOT EXISTS results ({', '.join(COLUMNS)}, PRIMARY KEY (campaign, item, seed, tree))"
        )
        self.db.row_factory = sqlite3.Row

    def get(self, campaign, item, seed, tree):
        return self.db.execute(
            "SELECT * FROM results WHERE campaign=? AND item=? AND seed=? AND tree=?", (campaign, item, seed, tree)
        ).fetchone()

    def put(self, **row):
        self.db.execute(f"INSERT OR REPLACE INTO results VALUES ({', '.join(f':{c}' for c in COLUMNS)})", row)
        self.db.commit()

    def each(self, campaign):
        """(items, mean processor seconds) of what was run to its end, None when nothing was."""
        n, mean = self.db.execute("SELECT count(*), avg(seconds) FROM results WHERE campaign=?", (campaign,)).fetchone()
        return (n, mean) if n else None


def campaigns(path):
    return {
        name: Campaign(name, **(c | {"list": tuple(c.get("list", ()))}))
        for name, c in tomllib.loads(path.read_text()).items()
    }


def overview(known, results):
    for c in known.values():
        measured = results.each(c.name)
        time_of = (
            f"{measured[1]:.0f} s an item (mean of {measured[0]})" if measured else f"about {c.seconds:.0f} s an item"
        )
        print(f"{c.name:20} {f'{c.items} items' if c.items else 'by name':12} {time_of:36} {c.shows}")


def workers(scheduler, processes):
    """A Dask client: of a scheduler, or of processes that end with this one."""
    import cloudpickle
    import dask
    from distributed import Client, LocalCluster

    dask.config.set(
        {
            "distributed.worker.daemon": False,
            "distributed.admin.tick.limit": "1h",
            "distributed.scheduler.allowed-failures": 0,
        }
    )
    # a worker is sent its text and needs none of this repository's modules
    cloudpickle.register_pickle_by_value(campaign_item)
    if scheduler:
        return Client(scheduler, timeout="20s", set_as_default=False), None
    cluster = LocalCluster(
        n_workers=processes,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        host="127.0.0.1",
        silence_logs=50,
    )
    return Client(cluster, set_as_default=False), cluster


def run(campaign, todo, seed, tree, results, scheduler, processes):
    """Runs the items that have no result yet; each is in `results` as soon as it has ended."""
    from distributed import as_completed

    logs = RESULTS.parent / "log" / campaign.name
    client, cluster = workers(scheduler, processes)
    print(f"{len(todo)} items on {len(client.scheduler_info(n_workers=-1)['workers'])} workers", flush=True)
    futures = {}
    try:
        for number, name in todo:
            futures[
                client.submit(
                    run_item,
                    str(ROOT),
                    tree,
                    campaign.fill(campaign.command, seed, number, name),
                    pure=False,
                    retries=0,
                )
            ] = number, name
        for done, future in enumerate(as_completed(futures, loop=client.loop), 1):
            number, name = futures[future]
            if future.status == "finished":
                worker, started, seconds, verdict, seen, found, text = future.result()
            else:
                worker, started, seconds, verdict, seen, found, text = (
                    "",
                    time.time(),
                    0.0,
                    "not run",
                    {},
                    f"{future.status}: {future.exception()}",
                    "",
                )
            log = logs / f"{re.sub(r'[^A-Za-z0-9]+', '_', name)}-{seed + number}-{tree}.log"
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text(text)
            when = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(started))
            row = dict(
                campaign=campaign.name,
                item=name,
                seed=seed + number,
                tree=tree,
                started=when,
                seconds=round(seconds, 1),
            )
            results.put(
                **row,
                verdict=verdict,
                seen=json.dumps(seen),
                found=found,
                log=os.path.relpath(log, ROOT),
                worker=worker,
            )
            print(
                f"{done} of {len(todo)}: {name}, seed {seed + number}: {verdict}, {seconds:.0f} s of a "
                f"processor{', ' + found if found else ''}",
                flush=True,
            )
    finally:
        client.cancel(list(futures))
        client.close()
        if cluster:
            cluster.close()


def table(campaign, chosen, seed, tree, results):
    """What became of the chosen items; (passed, failed)."""
    rows = [(number, name, results.get(campaign.name, name, seed + number, tree)) for number, name in chosen]
    width = max([4, *(len(name) for _, name, _ in rows)])
    print(f"{'item':{width}} {'seed':>6} {'verdict':8} {'seconds':>8}  seen; found")
    failed = 0
    for number, name, row in rows:
        bad = row is None or row["verdict"] != "passed"
        failed += bad
        seen = ", ".join(f"{k} {v}" for k, v in json.loads(row["seen"]).items()) if row else ""
        found = "; ".join(filter(None, [seen, row["found"] if row else ""]))
        print(
            f"{name:{width}} {seed + number:6} {row['verdict'] if row else 'not run':8} "
            f"{row['seconds'] if row else 0:8.1f}  {found}"
        )
        if bad and row:
            print(f"{'':{width}}        log: {row['log']}; again: {campaign.fill(campaign.again, seed, number, name)}")
    return len(rows) - failed, failed


@click.command()
@click.argument("name", required=False)
@click.option("--seed", type=click.IntRange(0), default=1)
@click.option("--items", type=click.IntRange(1))
@click.option("--scheduler", help="tcp://HOST:PORT of a Dask scheduler")
@click.option("--workers", "processes", type=click.IntRange(1, 256), default=2, help="processes without a scheduler")
@click.option(
    "--list", "path", type=click.Path(exists=True, dir_okay=False, path_type=Path), default=LIST, help="the campaigns"
)
@click.option("--results", "file", type=click.Path(dir_okay=False, path_type=Path), default=RESULTS)
def main(name, seed, items, scheduler, processes, path, file):
    known, results = campaigns(path), Results(file)
    if name is None:
        overview(known, results)
        return 0
    if name not in known:
        raise click.UsageError(f"no campaign {name}; there are: {', '.join(known)}")
    if scheduler and not re.fullmatch(r"(tcp|tls)://[^:/]+:\d+", scheduler):
        raise click.UsageError(f"a scheduler is tcp://HOST:PORT, not {scheduler}")
    campaign, tree = known[name], tree_of(ROOT)
    chosen = list(enumerate(campaign.names(items)))
    todo = [
        (n, item)
        for n, item in chosen
        if (row := results.get(name, item, seed + n, tree)) is None or row["verdict"] == "not run"
    ]
    print(
        f"{name}: {campaign.shows}; tree {tree}, {len(chosen)} items, {len(chosen) - len(todo)} of them done before",
        flush=True,
    )
    if (
        todo
        and campaign.prepare
        and subprocess.run(["bash", "-c", f"set -e; . tools/env.sh; {campaign.prepare}"], cwd=ROOT).returncode
    ):
        print("0 passed, 1 failed")
        return 1
    if todo:
        try:
            run(campaign, todo, seed, tree, results, scheduler, processes)
        except OSError as e:
            raise click.UsageError(f"no scheduler at {scheduler}: {e}" if scheduler else str(e)) from e
    passed, failed = table(campaign, chosen, seed, tree, results)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the workers end with it
    command_line.run(main, "campaign", "stopped; the same command goes on")
