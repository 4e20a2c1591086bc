# SPDX-License-Identifier: Apache-2.0
"""One item of a campaign, run where a Dask worker is: the command, its time, what it said. The workers are sent its
text, so it uses nothing but the standard library.

A worker has the project in the folder of the command line, or in the one that its environment names as OTX_ROOT; it
must be the same tree, and holds what `prepare` makes.
"""

import ctypes
import hashlib
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

KEPT = 2_000_000  # characters of output, the last ones
PR_SET_PDEATHSIG = 1


def tree_of(root):
    """The commit of a tree; with changes that are not committed, also what they are: results of another tree do not
    count.
    """

    def git(*args):
        return subprocess.run(["git", *args], cwd=root, capture_output=True, check=True).stdout

    commit, changes = git("rev-parse", "HEAD").decode().strip()[:12], git("diff", "HEAD")
    for name in filter(None, git("ls-files", "-o", "--exclude-standard", "-z").split(b"\0")):
        changes += name + (Path(root) / name.decode()).read_bytes()
    return commit + ("+" + hashlib.sha256(changes).hexdigest()[:8] if changes else "")


def judge(code, text):
    """(verdict, what was seen, what was found) of a command's exit code and output."""
    seen = {}
    for line in re.findall(r"^seen: (\{.*\})\s*$", text, re.M):
        seen |= json.loads(line)
    counted = re.findall(r"(\d+) passed(?:, (\d+) failed)?", text)
    if counted:
        seen |= {"passed": int(counted[-1][0])}
    bad = int(counted[-1][1] or 0) if counted else 0
    if code == 0 and not bad and not (counted and seen["passed"] == 0):
        return "passed", seen, ""
    said = (
        [line for line in text.splitlines() if re.search(r"FAILED|SURVIVED|WRONG|Error|error:|timeout|failed", line)]
        or text.splitlines()
        or ["nothing was said"]
    )
    return "failed", seen, f"exit code {code}: {said[0][:300]}" if code else said[0][:300]


def die_with_parent():
    """Called in the child: SIGTERM when the worker ends, however it ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def run_item(root, tree, command):
    """(worker, started, processor seconds, verdict, seen, found, output) of a command in this worker's tree."""
    root, started = os.environ.get("OTX_ROOT", root), time.time()
    who = f"{os.uname().nodename}:{os.getpid()}"
    try:
        mine = tree_of(root)
    except (OSError, subprocess.CalledProcessError) as e:
        mine = f"none ({e})"
    if mine != tree:
        return who, started, 0.0, "not run", {}, f"the tree of this worker is {mine}, not {tree}", ""
    script = f'trap "trap - TERM; kill -TERM 0" TERM\n( . tools/env.sh\n{command}\n) & wait $!'
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "OTX_TIMES")}
    run = subprocess.Popen(
        ["bash", "-c", script],
        cwd=root,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=die_with_parent,
    )
    text = run.stdout.read().decode(errors="replace")
    _, status, usage = os.wait4(run.pid, 0)
    run.returncode = os.waitstatus_to_exitcode(status)
    return who, started, usage.ru_utime + usage.ru_stime, *judge(run.returncode, text), text[-KEPT:]
