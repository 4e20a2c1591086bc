# SPDX-License-Identifier: Apache-2.0
"""soc/facts.toml: what is made of it says what it says, in each language; the pages have its tables; and what it has
stands nowhere else.
"""

import copy
import re
import subprocess

import pytest

from judge import format as history
from judge import statuses
from opentxssd import facts as python
from opentxssd import health
from soc import facts, geometry

TABLE = facts.load()
GROUPS, LAYOUTS, NUMBERS = TABLE["group"], TABLE["layout"], facts.numbers()
SOURCES = (".py", ".scala", ".sv", ".c", ".h", ".cpp", ".md")
# Who has names and numbers of its own: this file, and the judge, which is not told what the drive takes for right (its
# numbers are compared below).
FREE = {"cocotb_tests/tools/test_facts.py", "judge/statuses.py", "judge/format.py"}
LEAST = 3  # so many values of one group with their numbers in a file are a list of it


def values(group):
    return {name: number for name, (number, *_) in group["values"].items()}


# What is made of the table


def test_the_c_header_has_each_number_in_c_and_in_cpp(tmp_path):
    facts.write(tmp_path)
    want = {f"OTX_{name}": value for name, value in NUMBERS.items()}
    for group in GROUPS.values():
        if "c" in group:
            want |= {group["c"]["prefix"] + name: number for name, number in values(group).items()}
    want |= {"FTL_LOG_FIRST": 6, "FTL_LOG_COUNT": 5, "FTL_LOG_COUNT_SHIFT": 0, "FTL_LOG_UNITS": 16}
    want |= {"FTL_ROOT_DIRECTORY": 64, "FTL_ROOT_UNITS": 1024, "OTX_IMAGE_UNITS": 4096, "OTX_IMAGE_BLOCK_UNITS": 20}
    want |= {"FTL_ENTRY_SEQUENCE": 4, "FTL_ENTRY_I_SHIFT": 24, "FTL_OOB_CRC": 16, "HAL_OPS": 12}
    checks = "".join(f'static_assert({name} == {number}, "{name}");\n' for name, number in want.items())
    lists = "#define ONE(...) + 1\n" + "".join(
        f'static_assert(0 {g["c"]["list"]}(ONE) == {len(values(g))}, "");\n'
        for g in GROUPS.values()
        if "list" in g.get("c", {})
    )
    for compiler, suffix, words in (("gcc", "c", ["-std=c11", "-Wconversion"]), ("g++", "cpp", ["-std=c++20"])):
        path = tmp_path / f"check.{suffix}"
        path.write_text(f'#include <assert.h>\n#include "otx_facts.h"\n{checks}{lists}')
        subprocess.run(
            [compiler, *words, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", path], check=True
        )
        path.write_text('#include <assert.h>\n#include "otx_facts.h"\nstatic_assert(OTX_TXIDS == 31, "");\n')
        assert subprocess.run([compiler, *words, "-fsyntax-only", path], capture_output=True).returncode


def test_the_header_for_hosts_has_the_same_numbers_alone_and_beside_the_other(tmp_path):
    facts.write(tmp_path)
    prefix = {"Opcode": "OTX_OP_", "Status": "OTX_STATUS_", "Query": "OTX_QUERY_"}
    prefix |= {"TxState": "OTX_TX_", "HealthWord": "OTX_HEALTH_"}
    want = {p + name: number for group, p in prefix.items() for name, number in values(GROUPS[group]).items()}
    want |= {"OTX_BLOCK": 4096, "OTX_HEALTH_WIDE": sum(1 << word for word in health.WIDE)}
    lists = {"OTX_OPCODES": "Opcode", "OTX_STATUSES": "Status", "OTX_TX_STATES": "TxState"}
    lists |= {"OTX_HEALTH_WORDS": "HealthWord", "OTX_QUERIES": "Query"}
    checks = "".join(f'static_assert({name} == {number}, "{name}");\n' for name, number in want.items())
    checks += "#define ONE(...) + 1\n" + "".join(
        f'static_assert(0 {name}(ONE) == {len(values(GROUPS[group]))}, "");\n' for name, group in lists.items()
    )
    for before in ("", '#include "otx_facts.h"\n'):
        path = tmp_path / "check.c"
        path.write_text(f'{before}#include <assert.h>\n#include "otx_numbers.h"\n{checks}')
        subprocess.run(
            ["gcc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", path], check=True
        )
    assert "HAL_" not in facts.c_host_header(TABLE) and "FTL_" not in facts.c_host_header(TABLE)


def test_no_name_of_the_c_header_is_one_of_the_geometry(tmp_path):
    geometry.write(geometry.preset("rich"), tmp_path)
    own, other = (
        set(re.findall(r"\bOTX_[A-Z0-9_]+", text))
        for text in (facts.c_header(TABLE), (tmp_path / "otx_geometry.h").read_text())
    )
    assert not own & other


def test_the_package_and_the_scala_file_have_each_number():
    package, scala = facts.verilog(TABLE), facts.scala(TABLE)
    for group in GROUPS.values():
        body = re.search(rf"object {group.get('scala')} \{{(.*?)\n  \}}", scala, re.S)
        for name, number in values(group).items():
            assert "sv" not in group or f"{group['sv']}{facts.camel(name)} = {group['bits']}'d{number};" in package
            assert "scala" not in group or re.search(rf"val {name} = {number}\b", body[1])
            assert number < 1 << group["bits"], f"{name} does not fit"


def test_python_has_the_table_and_packs_records_as_they_are_laid_out():
    for name, group in GROUPS.items():
        assert {value.name: int(value) for value in getattr(python, name)} == values(group)
    raw = python.pack(
        "LogEntry",
        kind=6,
        flags=2,
        n=255,
        i=254,
        lpn=0x89ABCDEF,
        location=1,
        serial=2,
        sequence=2**48 - 2,
        epoch=3,
        arg=4,
    )
    assert raw.hex() == "0602fffeefcdab890100000002000000feffffffffff00000300000004000000"
    assert python.unpack("LogEntry", raw)["sequence"] == 2**48 - 2 and python.magic("LogHeader") == b"OTXLOG01"
    with pytest.raises(ValueError, match="n of LogEntry is 256"):
        python.pack("LogEntry", n=256)


def test_numbers_of_a_group_are_not_used_twice_and_every_language_is_one_that_there_is():
    for name, group in GROUPS.items():
        assert len(set(values(group).values())) == len(group["values"]), name
        assert set(group) <= {"about", "bits", "scala", "c", "sv", "columns", "values"}, name
    for name, layout in LAYOUTS.items():
        assert set(layout) <= {"about", "package", "scala", "c", "magic", "fields", "about_fields"}, name
        assert "package" in layout or set(layout["about_fields"]) == {
            field for field, *_ in layout["fields"] if field
        }, name


# Pages


def test_the_tables_of_the_pages_are_those_of_the_table():
    assert [str(path) for path, text, right in facts.pages(TABLE) if text != right] == []
    shown = {
        name
        for path in facts.DOCS.rglob("*.md")
        for names in re.findall(r"<!-- facts: ([\w ]+) -->", path.read_text())
        for name in names.split()
    }
    assert not {*GROUPS, *LAYOUTS} - shown - {"NandFeature"}, "each is on a page"


def test_a_page_that_is_behind_is_seen():
    other = copy.deepcopy(TABLE)
    other["group"]["Opcode"]["values"]["BARRIER"] = [0x90, "orders"]
    assert {path.name for path, text, right in facts.pages(other) if text != right} == {"host-port.md"}
    other = copy.deepcopy(TABLE)
    other["layout"]["FlashOp"]["fields"][0][1] = 5
    assert {path.name for path, text, right in facts.pages(other) if text != right} == {"flash-scheduler.md"}


# Nowhere else


BY_NUMBER = {}  # of each number the values that have it: group, name
for _group, _name, _number in ((g, n, v) for g, names in GROUPS.items() for n, v in values(names).items()):
    BY_NUMBER.setdefault(_number, []).append((_group, _name))


def snake(identifier):
    """OpReadOob, op_read_oob, READ_OOB: READ_OOB at its end."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", identifier).upper()


def means(identifier, name):
    word = snake(identifier)
    return word == name or word.endswith(f"_{name}")


def literal(text):
    """The number that a literal of any of the languages says, or None."""
    text = re.sub(r"^\d*'s?[dh]", lambda m: "0x" if "h" in m[0] else "", text.strip()).rstrip("uUlL")
    try:
        return int(text, 0)
    except ValueError:
        return None


def given(text):
    """(identifier, number) of what a text gives a number: `A = 1`, `A, B = 1, 2`, `A, B = range(2)`, `enum { a, b }`,
    `case 0x80: return "A"`.
    """
    names, number = r"\w+(?:\s*,\s*\w+)*", r"(?:\d*'s?[dh][0-9a-fA-F]+|0[xX][0-9a-fA-F]+|\d+)[uUlL]*\b"
    for left, right in re.findall(rf"({names})\s*=\s*({number}(?:\s*,\s*{number})*)", text):
        left = re.split(r"\s*,\s*", left)
        right = [literal(part) for part in right.split(",")]
        yield from zip(left, right, strict=False) if len(left) == len(right) else [(left[-1], right[0])]
    for left, count in re.findall(rf"({names})\s*=\s*range\((\d+)\)", text):
        left = re.split(r"\s*,\s*", left)
        yield from zip(left, range(int(count)), strict=False)
    for body in re.findall(r"enum(?:\s+class)?\s*\w*(?:\s*:\s*\w+)?\s*\{([^{}=]*)\}", text):
        yield from ((name.strip(), number) for number, name in enumerate(body.split(",")))
    for number_, name in re.findall(rf"case\s+({number})\s*:\s*return\s+\"(\w+)\"", text):
        yield name, literal(number_)


def lists(text):
    """Groups of which a text has a list of its own."""
    found = {}
    for identifier, number in set(given(text)):
        for group, name in BY_NUMBER.get(number, ()):
            if means(identifier, name):
                found.setdefault(group, set()).add(name)
    return {group: names for group, names in found.items() if len(names) >= min(LEAST, len(GROUPS[group]["values"]))}


def fields(text):
    """Layouts of which a text has the fields, one after the other, whatever it writes between them."""
    text = re.sub(r"\w+=", "=", text)  # arguments by name: who gives them has no list of his own
    words = " ".join(
        re.findall(r"[A-Za-z]\w*", re.sub(r"\b(val|UInt|Bits|Bool|bits|Word|logic|input|output|wire|reg)\b", " ", text))
    )
    streams = {
        name: [field for field, *_ in layout["fields"] if field]
        for name, layout in LAYOUTS.items()
        if "package" in layout
    }
    return {name for name, order in streams.items() if len(order) >= 4 and f" {' '.join(order)} " in f" {words} "}


def hand_written():
    """(path, text) of what is written by hand: without the tables that are made."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=facts.ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\n")
    for name in listed:
        if name.endswith(SOURCES) and name not in FREE and (facts.ROOT / name).is_file():
            yield name, facts.MARKED.sub("", (facts.ROOT / name).read_text(errors="replace"))


OLD = {
    "Opcode": [
        "FLUSH, WRITE, READ, ZEROES, TRIM, BEGIN = 0, 1, 2, 8, 9, 0x80",
        "enum Op : uint8_t { op_flush = 0x00, op_write = 0x01, op_read = 0x02, op_zero = 0x08 };",
        'case 0x80: return "BEGIN";\ncase 0x84: return "COMMIT";\ncase 0x88: return "ABORT";',
    ],
    "NandOp": [
        "localparam logic [3:0] OpRead = 4'd3, OpProgram = 4'd6, OpErase = 4'd7;",
        "RESET, READ_ID, PARAM, READ, READ_OOB = range(5)",
        "enum Op { reset, read_id, param, read, read_oob };",
        "enum hal_op {\n    HAL_RESET = 0,\n    HAL_READ_ID = 1,\n    HAL_PARAM = 2\n};",
    ],
    "PageStatus": ["localparam logic [2:0] Ok = 3'd0, Fail = 3'd1, BadCrc = 3'd2, Blank = 3'd3;"],
    "TxState": ["  val FREE = 0\n  val OPEN = 1\n  val PREPARED = 2\n"],
    "PageKind": ["enum ftl_page_kind { FTL_KIND_DATA = 1, FTL_KIND_LOG = 2u, FTL_KIND_MAP = 3 };"],
}
OLD_FIELDS = [
    'FLASH_OP = [("op", 4), ("ppn", 30), ("frame", 16), ("kind", 8), ("lpn", 32), ("sequence", 48), ("cookie", 16), ('
    '"priority", 2)]',
    'FLASH_OP = "op ppn frame kind lpn sequence cookie priority".split()',
    "".join(f"  val {field} = UInt({bits} bits)\n" for field, bits in python.layout("FlashOp")),
    "| FlashOp in | `op 4, ppn 30, frame 16, kind 8, lpn 32, sequence 48, cookie 16, priority 2` |",
]


@pytest.mark.parametrize("group", OLD)
def test_a_list_in_any_language_would_be_found(group):
    for text in OLD[group]:
        assert group in lists(text), text
        other = re.sub(r"(\d+'d)?\b(0x)?\d+u?\b", "elsewhere", text)  # the same with names in place of numbers
        assert group not in lists(other if other != text else text.replace("enum Op", "what")), text


def test_fields_of_a_stream_would_be_found():
    assert all(fields(text) == {"FlashOp"} for text in OLD_FIELDS)
    assert fields(OLD_FIELDS[0].replace("frame", "other")) == set()


def test_nobody_else_has_a_list_of_what_the_table_has():
    found = {name: lists(text) for name, text in hand_written()}
    assert {name: groups for name, groups in found.items() if groups} == {}


def test_nobody_else_has_the_fields_of_a_stream():
    found = {name: fields(text) for name, text in hand_written()}
    assert {name: names for name, names in found.items() if names} == {}


def test_each_size_and_count_is_used():
    """By somebody who is not the table: what is declared and not used goes."""
    texts = "\n".join(text for name, text in hand_written() if not name.startswith(("soc/facts", "docs/")))
    unused = [
        n for n in NUMBERS if not re.search(rf'Number\.{n}\b|OTX_{n}\b|NUMBERS?\["{n}"\]|facts import .*\b{n}\b', texts)
    ]
    assert unused == []


# The judge knows the contract alone: it does not read the table, but nobody may change one without the other


def test_the_judge_has_the_same_words_for_the_same_numbers():
    known = (
        statuses.INPUT
        | set(statuses.FAILED)
        | {"SUCCESS", "TX_BUSY", "TX_FULL", "TX_CONFLICT", "CAPACITY", "NOT_READY"}
    )
    assert known == {s.name for s in python.Status} - {"ABORTED"}, "ABORTED is the status of no command yet"
    assert statuses.MOST == python.MAX_BLOCKS and statuses.OF_A_TXID == (python.Query.TX, python.Query.TX_WALK)
    assert set(history.OPS) == {op.name for op in python.Opcode}
