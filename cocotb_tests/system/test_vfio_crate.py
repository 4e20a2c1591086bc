# SPDX-License-Identifier: Apache-2.0
"""The server of vfio-user against a client of others: rust-vmm's crate `vfio_user` (vfio_client/), twice on one drive.

Needs a cargo that takes the crate, which Debian 12 does not have, and crates.io or a cargo that has the crates of
vfio_client/Cargo.lock already.
"""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from cocotb_tests.system.vfio_drive import Served

HERE = Path(__file__).resolve().parent
TARGET = HERE.parents[1] / "build/vfio_client"
NEEDED = 82  # cargo 1.NEEDED


def cargo():
    """The cargo of this machine; without a good one the test is left out and says why."""
    found = shutil.which("cargo") or shutil.which("cargo", path=str(Path.home() / ".cargo/bin"))
    if not found:
        pytest.skip("there is no cargo")
    said = subprocess.run([found, "--version"], capture_output=True, text=True).stdout
    version = re.match(r"cargo 1\.(\d+)", said)
    if not version or int(version[1]) < NEEDED:
        pytest.skip(f"cargo 1.{NEEDED} or later is needed, not {said.strip() or found}")
    return found


@pytest.fixture(scope="module")
def program():
    build = [cargo(), "build", "-q", "--locked", "-j1", "--target-dir", TARGET]
    environment = os.environ | {"PATH": f"{Path(build[0]).parent}:{os.environ['PATH']}"}
    built = subprocess.run(build, cwd=HERE / "vfio_client", env=environment, capture_output=True, text=True)
    if built.returncode and re.search(r"failed to (download|fetch|get)|Could not resolve|network", built.stderr):
        pytest.skip(f"crates cannot be fetched: {built.stderr.strip().splitlines()[-1]}")
    assert built.returncode == 0, built.stderr
    return TARGET / "debug/vfio-client"


def test_a_client_of_others_drives_the_drive(program, tmp_path):
    server = Served(tmp_path)
    for _ in range(2):
        run = subprocess.run([program, server.path], capture_output=True, text=True, timeout=120)
        assert run.returncode == 0, run.stderr
        assert "identified: OpenTxSSD nvme\n" in run.stdout and run.stdout.endswith("memory given back\n")
    code, said = server.end(signal.SIGTERM)
    assert code == 0 and " 0 refused" in said and " 0 accesses beyond" in said
