# SPDX-License-Identifier: Apache-2.0
"""Tests marked `forked` (`pytestmark = pytest.mark.forked` for a module) run in a child process. A fixture of the
module is set up once, in the parent, and each test has a copy of it that nobody else changes: of a drive that was
booted and written (sim/otx_sim.h: fork is fine), or of a library that holds one."""

import os
import sys
import traceback

import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "forked: runs in a child process, on a copy of what its fixtures have made")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if not pyfuncitem.get_closest_marker("forked"):
        return None
    sys.stdout.flush()
    sys.stderr.flush()
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        os.close(ours)
        why = b""
        try:
            pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames})
        except BaseException:
            why = traceback.format_exc().encode()
        sys.stdout.flush()
        sys.stderr.flush()
        with os.fdopen(theirs, "wb") as out:
            out.write(why)
        os._exit(bool(why))
    os.close(theirs)
    with os.fdopen(ours, "rb") as said:
        why = said.read().decode()
    _, status = os.waitpid(child, 0)
    if why or status:
        pytest.fail(why or f"the test ended its process: status {status}", pytrace=False)
    return True
