# SPDX-License-Identifier: Apache-2.0
"""What the layout promises: parts of the firmware depend on each other one way."""

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_no_parts_of_the_firmware_include_each_other():
    """A part is NAME.c and NAME.h; a circle is named in the message."""
    uses = {}
    for path in (ROOT / "sw/firmware").glob("[!t]*/*.[ch]"):
        included = (Path(name).stem for name in re.findall(r'#include "(.*?)"', path.read_text()))
        uses.setdefault(path.stem, set()).update(name for name in included if name != path.stem)
    assert len(uses) > 30
    try:
        TopologicalSorter(uses).prepare()
    except CycleError as e:
        raise AssertionError(" -> ".join(e.args[1])) from None
