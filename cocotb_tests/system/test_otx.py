# SPDX-License-Identifier: Apache-2.0
"""The command line `otx` against the served drive (preset quick), built with sanitizers; its man page and its guide."""

import json
import os
import re
import signal
import subprocess

import pytest

from cocotb_tests.system.served import HOST, ROOT, Otx, Served
from opentxssd import BLOCK, Query
from opentxssd.facts import HealthWord

MAN = ROOT / "sw/host/otx/otx.1"
GUIDE = ROOT / "docs/guides/use-the-command-line.md"


@pytest.fixture(scope="module")
def otx(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    served = Served(folder, folder / "drive.nand")
    yield Otx(served.commands)
    served.end(signal.SIGKILL)


def succeeds(result):
    assert result[0] == 0 and result[2] == "", result
    return result[1]


def block(letter):
    return letter.encode() * BLOCK


def test_data_goes_there_and_back_also_in_several_commands(otx, tmp_path):
    data = os.urandom(40 * BLOCK)
    (tmp_path / "in").write_bytes(data)
    for write in (lambda: otx("write", 3, "-i", tmp_path / "in"), lambda: otx("write", 3, "--input=-", data=data)):
        succeeds(otx("trim", 0, 64))
        succeeds(write())
        assert succeeds(otx("read", 3, 40)) == data
        assert (
            succeeds(otx("read", "0x3", 40, "-o", tmp_path / "out")) == b"" and (tmp_path / "out").read_bytes() == data
        )
    succeeds(otx("barrier"))
    succeeds(otx("write", 50, "--orderless", "--barrier", data=data[: 2 * BLOCK]))
    assert succeeds(otx("read", 50, 2)) == data[: 2 * BLOCK]
    succeeds(otx("trim", 50, 2, "--orderless"))
    for word in ("urgent", "high", "medium", "low"):
        succeeds(otx("write", 50, "--priority", word, "--fua", data=block(word[0])))
        assert succeeds(otx("read", 50, f"--priority={word}")) == block(word[0])
    succeeds(otx("trim", 50, "--priority", "low"))
    succeeds(otx("zero", 3, 39, "--fua"))
    assert succeeds(otx("read", 2, 42)) == bytes(40 * BLOCK) + data[-BLOCK:] + bytes(BLOCK)
    succeeds(otx("flush"))


def test_a_transaction_is_made_by_several_calls(otx):
    succeeds(otx("write", 1, data=block("a")))
    succeeds(otx("begin", "--txid", 7))
    succeeds(otx("write", 1, "--txid", 7, data=block("b")))
    assert succeeds(otx("read", 1)) == block("a") and succeeds(otx("read", 1, "--txid", 7)) == block("b")
    assert succeeds(otx("query", "tx", "--txid", 7)) == b"open, 1 entries\n"
    assert b"transaction  7          open\n" in succeeds(otx("info"))
    succeeds(otx("commit", "--txid", 7))
    assert succeeds(otx("read", 1)) == block("b")
    succeeds(otx("trim", 1, "--txid", 7))
    succeeds(otx("abort", "--txid", 7))
    succeeds(otx("zero", 1, "--txid", 7))
    succeeds(otx("prepare", "--txid", 7))
    succeeds(otx("recover"))
    assert succeeds(otx("query", "tx", "--txid", 7)) == b"prepared, 1 entries\n"
    succeeds(otx("commit", "--txid", 7, "--relaxed"))
    assert succeeds(otx("read", 1)) == bytes(BLOCK)
    # of a long write nothing is committed before its last command
    code, _, err = otx("write", 30, "--txid", 8, "--commit", data=block("x") * 40)
    assert code == 1 and "LBA_RANGE" in err and succeeds(otx("read", 30)) == bytes(BLOCK)
    succeeds(otx("abort", "--txid", 8))
    # of a long write only the last command commits, and it all belongs to the transaction
    succeeds(otx("write", 10, "--txid", 8, "--commit", data=block("c") * 40))
    assert succeeds(otx("read", 10, 40)) == block("c") * 40
    assert succeeds(otx("query", "tx", "--txid", 8)) in (b"free, 0 entries\n", b"committed, 40 entries\n")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["read", 64], "read: LBA_RANGE: block number past the end"),
        (["read", 60, 10], "read: LBA_RANGE: block number past the end"),
        (["trim", 0, 0], "trim: INVALID_FIELD: invalid field"),
        (["commit", "--txid", 20], "commit: TX_INVALID: transaction is not open"),
        (["query", 31], "query: INVALID_FIELD: invalid field"),
        (["query", "tx"], "query: INVALID_FIELD: invalid field"),
        (["zero", 0, "--commit"], "zero: INVALID_FIELD: invalid field"),
        (["trim", 0, "--orderless", "--txid", 3], "trim: INVALID_FIELD: invalid field"),
    ],
)
def test_what_the_drive_refuses_is_one_line_and_exit_code_1(otx, words, line):
    assert otx(*words) == (1, b"", f"otx: {line}\n")
    code, out, err = otx(*words, "--json", *(["-o", "/dev/null"] if words[0] == "read" else []))
    said = json.loads(out)
    assert code == 1 and err == f"otx: {line}\n"
    assert f"{said['command']}: {said['status']}: {said['words']}" == line and said["blocks"] == 0


def test_no_drive_is_one_line_and_exit_code_1(tmp_path):
    done = subprocess.run([HOST / "otx", "-s", tmp_path / "none", "info"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"otx: no drive on {tmp_path / 'none'}: No such file or directory\n"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ([], "no command; otx help lists them"),
        (["format"], "no command format; otx help lists them"),
        (["read"], "something is missing; usage: otx read LBA [COUNT] [options]"),
        (["read", 1, 2, 3], "3 is too much; usage: otx read LBA [COUNT] [options]"),
        (["read", "five"], "LBA is five, must be a number from 0 to 4294967295"),
        (["read", "-1"], "no option -1; otx help lists them"),
        (["read", "--", "-1"], "LBA is -1, must be a number from 0 to 4294967295"),
        (["read", 4294967296], "LBA is 4294967296, must be a number from 0 to 4294967295"),
        (["read", 1, "2x"], "COUNT is 2x, must be a number from 0 to 4294967295"),
        (["read", 1, "--fua"], "read takes no --fua"),
        (["read", 1, "--json"], "--json of a read needs --output FILE: standard output cannot have both"),
        (["flush", "--txid", 3], "flush takes no --txid"),
        (["begin"], "begin needs --txid"),
        (["begin", "--txid"], "--txid needs a value: N"),
        (["begin", "--txid", 32], "--txid is 32, must be a number from 0 to 31"),
        (["trim", 0, "--fua=yes"], "--fua takes no value"),
        (["trim", 0, "--order", "late"], "--order is late, must be simple, ordered or head"),
        (["trim", 0, "--priority", 2], "--priority is 2, must be urgent, high, medium or low"),
        (["trim", 0, "--stream", 65536], "--stream is 65536, must be a number from 0 to 65535"),
        (["trim", 0, "--tx", 1], "no option --tx; otx help lists them"),
        (["trim", 0, "-x"], "no option -x; otx help lists them"),
        (["write", 0, "-i", "/nowhere/data"], "/nowhere/data: No such file or directory"),
        (["write", 0], "no data to write"),
        (["rflush"], "rflush is of LBA and COUNT, or of --stream"),
        (["rflush", 1, "--stream", 1], "rflush is of LBA and COUNT, or of --stream"),
        (["query", "size"], "no query size; otx help query lists them"),
        (["help", "format"], "no command format; otx help lists them"),
    ],
)
def test_wrong_arguments_are_one_line_and_exit_code_2(otx, words, line):
    assert otx(*words) == (2, b"", f"otx: {line}\n")


def test_data_that_is_not_whole_blocks_is_refused(otx):
    succeeds(otx("trim", 0, 64))
    says = "bytes of data are not whole blocks of 4096 bytes"
    assert otx("write", 0, data=b"x" * 5000) == (2, b"", f"otx: 5000 {says}; 0 blocks are written\n")
    assert succeeds(otx("read", 0, 2)) == bytes(2 * BLOCK)


def test_json_of_every_command(otx):
    done = json.loads(succeeds(otx("write", 5, "--json", data=block("j") * 33)))
    assert (done["command"], done["status"], done["words"], done["blocks"]) == ("write", "SUCCESS", "success", 33)
    assert done["clock"] > 0 and done["us"] == pytest.approx(done["clock"] / 100, abs=0.001)
    later = json.loads(succeeds(otx("--json", "flush")))
    assert later["clock"] > done["clock"]
    info = json.loads(succeeds(otx("info", "--json")))
    assert (info["preset"], info["blocks"], info["block_bytes"], info["clock_ps"]) == ("quick", 64, BLOCK, 10000)
    succeeds(otx("begin", "--txid", 9))
    assert json.loads(succeeds(otx("info", "--json")))["transactions"] == {"9": "OPEN"}
    assert json.loads(succeeds(otx("query", "tx", "--txid", 9, "--json")))["state"] == "OPEN"
    succeeds(otx("abort", "--txid", 9))
    asked = json.loads(succeeds(otx("query", "capacity", "--json")))
    assert (asked["what"], asked["result"]) == (Query.CAPACITY, 64)
    assert succeeds(otx("query", int(Query.CAPACITY))) == succeeds(otx("query", "capacity")) == b"64\n"


def test_health_has_each_word_in_words_with_its_unit(otx):
    health = json.loads(succeeds(otx("health", "--json")))
    assert [*health] == [word.name.lower() for word in HealthWord] + ["write_amplification"]
    assert health["write_amplification"] == pytest.approx(health["nand_pages"] / health["host_pages"], abs=1e-4)
    rows = dict(re.findall(r"^(\D+?) {2,}(\d+) ", succeeds(otx("health")).decode(), re.M))
    assert set(rows) >= {word.name.lower().replace("_", " ") for word in HealthWord}
    text = succeeds(otx("health")).decode()
    assert re.search(r"^spare blocks +\d+ blocks +good blocks beyond", text, re.M)
    before = health["checkpoints"]
    succeeds(otx("checkpoint"))
    succeeds(otx("checkpoint", "--off"))
    assert json.loads(succeeds(otx("health", "--json")))["checkpoints"] == before + 2


def options(text):
    return set(re.findall(r"(?<![\w-])--([a-z]+)", text))


def test_the_man_page_has_the_commands_and_options_of_the_program(otx):
    page = MAN.read_text()
    listed = re.findall(r"^  (\w+) +\S", succeeds(otx("help")).decode().split("\noptions")[0], re.M)
    sections = re.split(r"^\.SH (.*)$", page, flags=re.M)
    body = dict(zip(sections[1::2], sections[2::2], strict=True))
    commands = {}
    for text in body["COMMANDS"].split(".TP\n")[1:]:
        text = re.sub(r"\\f[BIR]", "", text).replace("\\-", "-")
        name = re.match(r"\.B (\w+)", text)[1]
        commands[name] = commands.get(name, "") + text
    assert [*commands] == listed and len(listed) > 15
    of_each = {name: succeeds(otx("help", name)).decode() for name in listed}
    program = {name: options(text.partition("options:")[2]) - {"socket", "json"} for name, text in of_each.items()}
    assert program["zero"] == program["trim"] == program["write"] - {"input"}  # the page says so
    for name in set(listed) - {"trim", "zero"}:
        assert options(commands[name]) == program[name], name
    described = re.findall(r"^\.BR? .*?\\-\\-([a-z]+)", body["OPTIONS"], re.M)
    assert sorted(described) == sorted(set().union(*program.values(), {"socket", "json"}))
    queries = {query.name.lower() for query in Query}
    for text in (commands["query"], of_each["query"]):
        assert queries <= set(re.findall(r"\w+", text))


def test_the_man_page_has_no_error_of_its_language():
    done = subprocess.run(
        ["man", "--warnings", "-E", "UTF-8", "-l", MAN],
        capture_output=True,
        text=True,
        env=os.environ | {"LC_ALL": "C.UTF-8"},
    )
    assert done.returncode == 0 and done.stderr == "" and "SYNOPSIS" in done.stdout


def test_the_commands_of_the_guide_do_what_it_says(otx, tmp_path):
    blocks = re.findall(r"^```\n(.*?)^```$", GUIDE.read_text(), re.M | re.S)
    assert blocks.pop(0) == "make drive\n", "it is served: the fixture"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(blocks)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        env={k: v for k, v in os.environ.items() if k not in ("OTX_SOCKET", "MAKEFLAGS")},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "open, 1 entries" not in done.stdout and "oneopen, 2 entries\n one two" in done.stdout
    assert len(done.stderr.splitlines()) == 2
