# SPDX-License-Identifier: Apache-2.0
"""What the layout promises: parts of the firmware depend on each other one way, lists of faults name text that is there."""

import re
import tomllib
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from sw.firmware.test.mutants import faults

ROOT = Path(__file__).resolve().parent.parent.parent


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


def test_every_mutant_finds_its_text():
    """Once in its file, of both lists; whether a test kills it says `make mutants`."""
    listed = [(m["name"], m["file"], m["old"]) for m in tomllib.loads((ROOT / "tools/mutants.toml").read_text())["mutant"]]
    firmware = faults((ROOT / "sw/firmware/test/mutants.txt").read_text())
    listed += [(rule, f"sw/firmware/{file}", old) for file, old, _, rule in firmware]
    lost = [f"{name}: {count} times" for name, file, old in listed if (count := (ROOT / file).read_text().count(old)) != 1]
    assert len(listed) > 400 and not lost, lost
