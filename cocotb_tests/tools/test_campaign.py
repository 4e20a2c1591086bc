# SPDX-License-Identifier: Apache-2.0
"""tools/campaign.py on a scheduler and two workers of its own: every item runs once, results are kept and told, what
has one is not run again, wrong arguments are one line.
"""

import socket
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = [sys.executable, ROOT / "tools/campaign.py"]
CAMPAIGNS = """
[squares]
shows = "that items run"
command = '''echo started >>"{folder}/ran"; echo 'seen: {{"square": '$(({{item}} * {{item}}))'}}'
test {{item}} != 2 || exit 3; echo "1 passed, 0 failed"'''
items = 4
seconds = 0
again = "WAVES=1 square {{seed}}"

[names]
shows = "that a list is asked for, and a count of failures is believed"
command = "echo {{item}}; echo '3 passed, 1 failed'"
lists = "printf 'one\\\\ntwo words\\\\n'"
seconds = 0
again = "name {{item}}"
"""


def campaign(folder, *args):
    files = ["--list", folder / "campaigns.toml", "--results", folder / "results.sqlite"]
    return subprocess.run([*PROGRAM, *files, *args], capture_output=True, text=True, timeout=600)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("campaign")
    (path / "campaigns.toml").write_text(CAMPAIGNS.format(folder=path))
    return path


@pytest.fixture(scope="module")
def scheduler():
    """The address of a scheduler with two workers, all on this machine; they end with the test."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{s.getsockname()[1]}"
    worker = [
        "dask_worker",
        f"tcp://{address}",
        "--nthreads",
        "1",
        "--no-nanny",
        "--no-dashboard",
        "--host",
        "127.0.0.1",
    ]
    started = []
    for command in (["dask_scheduler", "--host", f"tcp://{address}", "--no-dashboard"], worker, worker):
        command = [sys.executable, "-m", f"distributed.cli.{command[0]}", *command[1:]]
        started.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT))
    yield f"tcp://{address}"
    for process in reversed(started):
        process.terminate()
    for process in started:
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def test_items_run_once_on_two_workers_and_are_told(folder, scheduler):
    from distributed import Client

    with Client(scheduler, timeout="120s", set_as_default=False) as client:
        client.wait_for_workers(2, timeout=300)
    first = campaign(folder, "squares", "--scheduler", scheduler, "--seed", "10")
    assert first.returncode == 1, first.stdout + first.stderr
    assert "4 items on 2 workers" in first.stdout and first.stdout.endswith("\n3 passed, 1 failed\n"), first.stdout
    assert "square 9" in first.stdout and "again: WAVES=1 square 12" in first.stdout
    rows = (
        sqlite3.connect(folder / "results.sqlite")
        .execute("SELECT item, seed, verdict, seen, found, log, worker FROM results ORDER BY item")
        .fetchall()
    )
    assert [r[:3] for r in rows] == [("0", 10, "passed"), ("1", 11, "passed"), ("2", 12, "failed"), ("3", 13, "passed")]
    assert (
        rows[3][3] == '{"square": 9, "passed": 1}'
        and "exit code 3" in rows[2][4]
        and '"square": 4' in (ROOT / rows[2][5]).read_text()
    )
    again = campaign(folder, "squares", "--seed", "10")
    assert again.returncode == 1 and "4 of them done before" in again.stdout and " workers" not in again.stdout
    assert (folder / "ran").read_text().count("started") == 4
    for row in rows:
        (ROOT / row[5]).unlink()


def test_items_by_name_and_a_count_of_failures(folder):
    done = campaign(folder, "names", "--items", "2", "--workers", "1")
    assert done.returncode == 1 and done.stdout.endswith("\n0 passed, 2 failed\n") and "two words" in done.stdout, (
        done.stdout + done.stderr
    )


def test_without_a_name_the_campaigns_are_listed(folder):
    done = campaign(folder)
    assert done.returncode == 0 and [line.split()[0] for line in done.stdout.splitlines()] == ["squares", "names"]


@pytest.mark.parametrize(
    "args",
    [
        ["circles"],
        ["squares", "--seed", "x"],
        ["squares", "--items", "0"],
        ["squares", "--scheduler", "here"],
        ["--colour"],
    ],
)
def test_wrong_arguments_are_one_line(folder, args):
    done = campaign(folder, *args)
    assert done.returncode == 2 and not done.stdout and done.stderr.count("\n") == 1, done.stderr
