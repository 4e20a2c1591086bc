# SPDX-License-Identifier: Apache-2.0
"""What the layout promises: parts of the firmware depend on each other one way, lists of faults name text that is
there, pages name files and sections that are there.
"""

import ast
import os
import re
import tomllib
from fnmatch import fnmatch
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from sw.firmware.test.mutants import faults
from tools.fault_text import count

ROOT = Path(__file__).resolve().parent.parent.parent

PROSE = 160  # characters of a line of a page, tables and code apart
SOURCE = r"\w\.(py|scala|sv|c|h|cpp|S|sh|toml|sby|md|txt|f|ld|xml|yml)$"
ELSEWHERE = ("build/", ".venv", "/", "drivers/mtd/")  # generated, of the machine, of Linux
GENERATED = ("csr.h", "otx_geometry.h", "sdram_phy.h")


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
    mutants = tomllib.loads((ROOT / "tools/mutants.toml").read_text())
    untested = [m["name"] for m in mutants["mutant"] if m["test"] not in mutants["test"]]
    assert not untested, f"no test of that name: {untested}"
    listed = [(m["name"], m["file"], m["old"]) for m in mutants["mutant"]]
    firmware = faults((ROOT / "sw/firmware/test/mutants.txt").read_text())
    listed += [(rule, f"sw/firmware/{file}", old) for file, old, _, rule in firmware]
    lost = [
        f"{name}: {times} times" for name, file, old in listed if (times := count((ROOT / file).read_text(), old)) != 1
    ]
    assert len(listed) > 400 and not lost, lost


def imports(text):
    """Modules that a Python text imports; of `from a import b` both a and a.b, for b may be one."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield from (module, *(f"{module}.{name.name}" for name in node.names))


def wrong_imports(path, text):
    """Of a file below cocotb_tests: what a test shares stands beside it or in bench/, and models know nothing of how
    blocks are driven.
    """
    for module in imports(text):
        if module.startswith("cocotb_tests") and module.split(".")[-1].startswith("test_"):
            yield f"{path} imports {module}"
        if (
            "/models/" in path
            and module.split(".")[0] in ("cocotb", "cocotb_tests")
            and not f"{module}.".startswith("cocotb_tests.models.")
        ):
            yield f"{path} imports {module}"
        if module.startswith("."):
            yield f"{path} imports from {module}"


def test_no_test_imports_from_a_test_and_no_model_from_a_bench():
    files = sorted((ROOT / "cocotb_tests").rglob("*.py"))
    assert len(files) > 100
    assert [wrong for f in files for wrong in wrong_imports(str(f.relative_to(ROOT)), f.read_text())] == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("cocotb_tests/nand/test_a.py", "from cocotb_tests.nand.test_b import page"),
        ("cocotb_tests/nand/test_a.py", "def f():\n    from cocotb_tests.nand import test_b as b"),
        ("cocotb_tests/bench/a.py", "import cocotb_tests.nand.test_b"),
        ("cocotb_tests/nand/test_a.py", "from .test_b import page"),
        ("cocotb_tests/models/a.py", "from cocotb_tests.bench.streams import Pin"),
        ("cocotb_tests/models/a.py", "from cocotb_tests import bench"),
        ("cocotb_tests/models/a.py", "from cocotb.triggers import FallingEdge"),
    ],
)
def test_a_wrong_import_is_seen(path, text):
    assert list(wrong_imports(path, text))


def repository():
    """Paths of all files, from the root; without what is generated or installed."""
    left_out = {"build", ".git", ".venv", "target", "__pycache__"}
    for folder, inner, names in os.walk(ROOT):
        inner[:] = [
            name
            for name in inner
            if name not in left_out and not name.startswith(".ruff") and not name.endswith(".egg-info")
        ]
        yield from ((Path(folder) / name).relative_to(ROOT) for name in names)


FILES = sorted(map(str, repository()))
PAGES = [name for name in FILES if name.endswith(".md")]
KNOWN = set(FILES) | {str(folder) for name in FILES for folder in Path(name).parents}


def lines(page):
    """(number, line, whether it is code) of each line of a page."""
    fenced = False
    for number, line in enumerate((ROOT / page).read_text().splitlines(), 1):
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        yield number, line, fenced or fence


def anchors(path):
    """What a link to a section of that page may name."""
    headings = [line.lstrip("#") for _, line, code in lines(path) if line.startswith("#") and not code]
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def is_there(name):
    """A path from the root, the end of one, or a pattern of such."""
    name = name.rstrip("/")
    if "*" in name:
        return any(fnmatch(path, name) or fnmatch(path, f"*/{name}") for path in KNOWN)
    return name in KNOWN or any(path.endswith(f"/{name}") for path in KNOWN)


def paths(text):
    """Words of a piece of code that are paths of this repository, or should be."""
    for word in re.findall(r"[\w./*-]+", text):
        word = word.rstrip(".")
        inside = "/" in word and word.split("/")[0] in KNOWN
        if (
            (inside or re.search(SOURCE, word))
            and not word.startswith(ELSEWHERE)
            and word not in GENERATED
            and "NAME" not in word
        ):
            yield word


@pytest.mark.parametrize("page", PAGES)
def test_links_of_a_page_lead_somewhere(page):
    for number, line, code in lines(page):
        for link in [] if code else re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
            if "://" in link:
                continue
            name, _, anchor = link.partition("#")
            target = (ROOT / page).parent / name if name else ROOT / page
            assert target.exists(), f"{page}:{number}: no {link}"
            assert not anchor or anchor in anchors(target), f"{page}:{number}: no section {link}"


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_files_that_are_there(page):
    lost = [
        f"{page}:{n}: {path}"
        for n, line, code in lines(page)
        for text in ([line] if code else re.findall(r"`([^`]+)`", line))
        for path in paths(text)
        if not is_there(path)
    ]
    assert not lost, lost


@pytest.mark.parametrize("page", PAGES)
def test_make_has_the_targets_that_a_page_names(page):
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.M))
    named = [
        (n, target)
        for n, line, code in lines(page)
        for target in re.findall(r"^make ([a-z][a-z-]*)" if code else r"`make ([a-z][a-z-]*)", line)
    ]
    lost = [f"{page}:{n}: make {target}" for n, target in named if target not in targets]
    assert not lost, lost


@pytest.mark.parametrize("page", PAGES)
def test_prose_of_a_page_is_in_lines_that_can_be_read(page):
    text = (ROOT / page).read_text()
    assert not re.search(r"^(<{7}|>{7}) ", text, re.M), f"{page}: a merge that is not finished"
    long = [
        f"{page}:{n}: {len(line)} characters"
        for n, line, code in lines(page)
        if not code and not line.startswith("|") and len(line) > PROSE
    ]
    assert not long, long


def test_every_decision_is_in_their_list():
    listed = (ROOT / "docs/decisions/README.md").read_text()
    assert [p.name for p in sorted((ROOT / "docs/decisions").glob("0*.md")) if f"({p.name})" not in listed] == []
