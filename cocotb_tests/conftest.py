# SPDX-License-Identifier: Apache-2.0
"""What tools/test_all.py wants to know of the tests: which there were, and what each took of a processor.

Block tests that run without a simulator leave build/cocotb/test_python.xml, so that they are counted as cocotb's are.
With `OTX_TIMES=FILE` in the environment a line "seconds<TAB>test" is added to FILE for each test: processor time of
this process and of all that it started and waited for, fixtures included.
"""

import os
import resource
from xml.sax.saxutils import quoteattr

import pytest

from cocotb_tests.bench import runner

results = {}  # test -> whether it failed


def processor_seconds():
    """Of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    begin = processor_seconds()
    answer = yield
    if "OTX_TIMES" in os.environ:
        with open(os.environ["OTX_TIMES"], "a") as times:
            times.write(f"{processor_seconds() - begin:.2f}\t{item.nodeid}\n")
    return answer


def pytest_runtest_setup(item):
    item.runs_before = runner.runs


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if "system" not in item.path.parts and item.runs_before == runner.runs and (report.when == "call" or report.failed):
        results[item.nodeid] = report.failed
    return report


def pytest_sessionfinish():
    if results:
        path = runner.BUILD / "cocotb" / "test_python.xml"
        path.parent.mkdir(parents=True, exist_ok=True)
        cases = "".join(
            f"<testcase name={quoteattr(name)}>{'<failure/>' * failed}</testcase>\n" for name, failed in results.items()
        )
        path.write_text(f'<testsuites><testsuite name="python">\n{cases}</testsuite></testsuites>\n')
