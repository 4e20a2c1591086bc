# SPDX-License-Identifier: Apache-2.0
"""otx-recover on images of drives of presets quick, quick4 (four lanes) and rich (the longer code, scrambled pages): it
agrees with firmware on where the log stops, gives what stands behind a gap, and never changes the image.
"""

import hashlib
import json
import random
import shutil
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from cocotb_tests.models.nand_page import Layout
from cocotb_tests.system.pages import data
from opentxssd import BLOCK, Drive, Opcode
from opentxssd.facts import Format, PageKind, pack, unpack
from opentxssd.recover.command import main
from opentxssd.recover.drive import Recovered
from opentxssd.recover.image import HEAD, Image, Place
from soc import geometry

ROOT = Path(__file__).resolve().parent.parent.parent
OLD, ALL = 4, 13  # blocks in the map, and with those in the log, a page for each
TX = (20, 21)  # of a transaction, with a page for each and one for its COMMIT
TRIMMED = 5  # last of all
BOOT = 3_000_000  # clocks
GAP = "read-only: a log page that was complete cannot be read, and what is behind it is left out"


def written(preset, path):
    drive = Drive(preset, image=path)
    drive.write(0, b"".join(map(data, range(OLD))))
    drive.flush()
    drive.power_cut(1)
    drive.power_on()
    for lba in range(OLD, ALL):
        drive.write(lba, data(lba), fua=1)
    for lba in TX:
        drive.write(lba, data(lba), txid=3)
        drive.flush()
    drive.commit(3)
    drive.write(30, data(30), txid=4)
    drive.flush()
    drive.trim(TRIMMED, 1)
    drive.flush()
    assert drive.idle()
    drive.power_cut(2)
    drive.close()
    return path


@pytest.fixture(scope="module", params=["quick", "quick4", "rich"])
def whole(request, tmp_path_factory):
    """(preset, an image with a whole log)"""
    return request.param, written(request.param, tmp_path_factory.mktemp("image") / "whole.nand")


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    return written("quick", tmp_path_factory.mktemp("image") / "whole.nand")


@pytest.fixture
def image(quick, tmp_path):
    """A copy to be changed."""
    return Path(shutil.copy(quick, tmp_path / "drive.nand"))


def recovered(path):
    image = Image(path)
    try:
        return Recovered(image)
    finally:
        image.close()


def log_places(path):
    """Both copies of each page of the log."""
    places = {page.number: page.places for page in recovered(path).log.before}
    assert all(len(both) == 2 for both in places.values())
    return places


def layout(preset):
    return Layout(geometry.preset(preset).ecc_t)


def change(path, place, function):
    """The stored bytes of a page become those that the function makes of them."""
    image = Image(path)
    at, cells = image.at(place), image.cells(place)
    image.close()
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(bytes(255 - byte for byte in function(cells)))


def change_all(path, places, function):
    for place in places:
        change(path, place, function)


def flipped(counts, preset="quick", seed=1):
    """So many wrong bits in each chunk."""

    def function(cells):
        cells, rng = bytearray(cells), random.Random(seed)
        for chunk, count in enumerate(counts):
            for bit in rng.sample(layout(preset).bits(chunk), count):
                cells[bit // 8] ^= 1 << bit % 8
        return bytes(cells)

    return function


def damaged(preset="quick"):
    return flipped([3 * layout(preset).t] * layout(preset).chunks, preset)


def powered(preset, path):
    """A drive on the image, as far as it comes up."""
    drive = Drive(preset, image=path, boot=False)
    while "otx: ready" not in drive.uart and "not ready" not in drive.uart:
        assert drive.clock < BOOT
        drive.boot_some(50_000)
    return drive


def read(drive, lba):
    return drive.command(Opcode.READ, lba, 1, check=False).data[:BLOCK]


def as_json(path, capsys):
    assert main([str(path), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_whole_log_has_nothing_behind_it_and_the_image_is_not_changed(whole, capsys):
    preset, path = whole
    before = hashlib.sha256(path.read_bytes()).digest(), path.stat().st_mtime_ns
    found = as_json(path, capsys)
    shape = geometry.preset(preset)
    assert main([str(path)]) == 0 and "pages: " in capsys.readouterr().out
    assert (hashlib.sha256(path.read_bytes()).digest(), path.stat().st_mtime_ns) == before
    assert found["geometry"] == {
        "channels": shape.channels,
        "ways": shape.ways,
        "blocks": shape.blocks_per_way,
        "pages": shape.pages_per_block,
        "spare_bytes": shape.spare_bytes,
        "lbas": shape.lbas,
        "lanes": shape.lanes,
        "ecc_t": shape.ecc_t,
        "scramble": shape.scramble,
    }
    (root,) = found["roots"]
    assert root["counts"] and root["sealed"] and root["copies"] == len(root["whole"]) == 2
    assert (root["generation"], root["sequence"], root["format"]) == (2, 2, Format.ROOT)
    log, pages = found["log"], ALL - OLD + len(TX) + 3
    assert (log["generation"], log["begin"], log["stops"], log["end"]) == (2, 0, pages, pages)
    assert log["gaps"] == log["strange"] == found["behind"] == found["blocks"] == []


def test_gaps_are_those_of_firmware_and_what_is_behind_is_what_was_written(whole, tmp_path, capsys):
    preset, source = whole
    places = log_places(source)
    window = (geometry.preset(preset).lanes + 1) // 2
    for at, both in places.items():
        path = Path(shutil.copy(source, tmp_path / "drive.nand"))
        change_all(path, both, damaged(preset))
        found = as_json(path, capsys)
        log, listed = found["log"], {b["lpn"]: b for b in found["blocks"]}
        assert log["stops"] == at and sorted(s["place"].items() for s in log["strange"]) == sorted(
            place._asdict().items() for place in both
        )
        assert log["gaps"] == ([{"first": at, "last": at, "entries": 1}] if at + window < len(places) else [])
        assert [p["page"] for p in found["behind"]] == list(range(at + 1, len(places)))
        assert all(p["promised"] == bool(log["gaps"]) for p in found["behind"])
        if preset == "rich" and at % 7 and at + window + 1 < len(places):
            continue  # its boot takes seconds
        drive = powered(preset, path)
        assert (GAP in drive.uart) == bool(log["gaps"]) and "1 log page was begun" in drive.uart
        plain = range(OLD, ALL)
        has = {lba for lba in plain if read(drive, lba) == data(lba)}
        behind = {lba for lba in plain if lba in listed and not listed[lba].get("trimmed")}
        assert has == {lba for lba in plain if lba - OLD < at}
        assert behind == {lba for lba in plain if lba - OLD > at} - {TRIMMED}
        assert all(listed[lba]["readable"] for lba in behind)
        drive.close()


def test_one_copy_of_a_log_page_that_cannot_be_read_changes_nothing(whole, tmp_path, capsys):
    preset, source = whole
    right, places = as_json(source, capsys), log_places(source)
    path = Path(shutil.copy(source, tmp_path / "drive.nand"))
    bad = [both[at % 2] for at, both in places.items()]  # one error in each page
    change_all(path, bad, damaged(preset))
    found = as_json(path, capsys)
    assert len(found["log"].pop("strange")) == len(places) and found["log"] == {
        k: v for k, v in right["log"].items() if k != "strange"
    }
    drive = powered(preset, path)
    assert "begun" not in drive.uart and "read-only" not in drive.uart and "left out" not in drive.uart
    assert {lba for lba in range(ALL) if read(drive, lba) == data(lba)} == {*range(ALL)} - {TRIMMED}
    drive.close()


def test_the_log_may_end_right_behind_a_gap(tmp_path, capsys):
    """Four lanes: of two missing pages the first one was complete, for the one two further on can be read."""
    path = written("quick4", tmp_path / "drive.nand")
    places = log_places(path)
    gap = len(places) - 3
    for number in (gap, gap + 1):
        change_all(path, places[number], damaged())
    found = as_json(path, capsys)
    log = found["log"]
    assert log["gaps"] == [{"first": gap, "last": gap, "entries": None}] and (log["stops"], log["end"]) == (
        gap,
        gap + 1,
    )
    assert [(p["page"], p["promised"]) for p in found["behind"]] == [(gap + 2, False)]
    assert main([str(path)]) == 0
    said = capsys.readouterr().out
    assert f"  page {gap}: a gap\n  page {gap + 1}: missing, where the log ends" in said
    drive = powered("quick4", path)
    assert GAP in drive.uart
    drive.close()


def test_the_log_behind_a_checkpoint_is_that_of_the_boot_report(tmp_path):
    path = tmp_path / "drive.nand"
    drive, begins = Drive("quick4", image=path), set()
    for n in range(4):
        rng = random.Random(n)
        for _ in range(40 + 120 * n):
            drive.write(rng.randrange(60), data(0), fua=1)
        drive.power_cut(n)
        log = recovered(shutil.copy(path, tmp_path / "copy.nand")).log
        drive.power_on()
        pages, entries = log.stops - log.begin, sum(page.header["count"] for page in log.before)
        assert f"mounted generation {log.generation + 1}: {pages} log pages, {entries} entries" in drive.uart
        assert not log.gaps
        begins.add(log.begin > 0)
    drive.close()
    assert begins == {False, True}


def test_a_transaction_counts_where_its_commit_is_behind_the_gap(image, capsys):
    places, first = log_places(image), ALL - OLD
    for at in range(first - 1, first + 3):  # before it, its first entry, its second one, its COMMIT
        path = Path(shutil.copy(image, image.with_name("copy.nand")))
        change_all(path, places[at], damaged())
        found = as_json(path, capsys)
        listed = {b["lpn"] for b in found["blocks"]} & {*TX, 30}
        assert listed == [set(TX), {TX[1]}, {TX[0]}, set()][at - first + 1]
        commits = [e for p in found["behind"] for e in p["entries"] if e["kind"] == "COMMIT"]
        assert [(e["txid"], e["entries_missing"]) for e in commits] == [[(3, 0)], [(3, 1)], [(3, 1)], []][
            at - first + 1
        ]
        for lpn in listed:
            out = image.with_name(f"{at}-{lpn}")
            assert main([str(path), "--extract", str(lpn), str(out)]) == 0
            assert out.read_bytes() == data(lpn)
        capsys.readouterr()


def test_extract_says_why_there_is_nothing(image, tmp_path, capsys):
    change_all(image, log_places(image)[0], damaged())
    out = tmp_path / "out"
    for lpn, words in (
        (TRIMMED, f"nothing to write for LPN {TRIMMED}: it is trimmed there and reads as zeroes"),
        (0, "nothing to write for LPN 0 behind the place where the log stops: the log has no version of it"),
        (30, "nothing to write for LPN 30 behind the place where the log stops: the log has no version of it"),
    ):
        assert main([str(image), "--extract", str(lpn), str(out)]) == 1
        said = capsys.readouterr()
        assert said.err.startswith(f"otx-recover: {words}") and said.err.count("\n") == 1 and not said.out
        assert not out.exists()


def test_a_version_that_reads_is_given_when_a_newer_one_does_not(image, tmp_path, capsys):
    drive = powered("quick", image)
    for n in range(3):
        drive.write(9, data(100 + n), fua=1)
    drive.power_cut(3)
    drive.close()
    change_all(image, log_places(image)[0], damaged())
    entries, out = [page["entries"][0] for page in as_json(image, capsys)["behind"]], tmp_path / "out"
    assert [e["good"] for e in entries] == [True, True] and {e["lpn"] for e in entries} == {9}
    for newer, words in ((1, f"sequence {entries[0]['sequence']}: written to {out}; 1 newer version"), (2, "no page")):
        change(image, Place(**entries[2 - newer]["place"]), damaged())
        (nine,) = as_json(image, capsys)["blocks"]
        assert (nine["newer"], nine["readable"]) == (newer, newer == 1)
        assert main([str(image), "--extract", "9", str(out)]) == (newer == 2)
        said = capsys.readouterr()
        assert words in said.out + said.err
        assert out.exists() == (newer == 1) and (newer == 2 or out.read_bytes() == data(101))
        out.unlink(missing_ok=True)
    assert main([str(image)]) == 0 and "which does not: cannot be read" in capsys.readouterr().out


def test_wrong_bits_that_are_corrected_change_nothing(whole, tmp_path, capsys):
    preset, source = whole
    path = Path(shutil.copy(source, tmp_path / "drive.nand"))
    right = as_json(path, capsys)
    code, found = layout(preset), recovered(path)
    for seed, place in enumerate([*sum(log_places(path).values(), []), *found.root.places]):
        change(path, place, flipped([(code.t - chunk) % (code.t + 1) for chunk in range(code.chunks)], preset, seed))
    assert as_json(path, capsys) == right | {"image": str(path)}


def test_a_blank_page_may_have_as_many_wrong_bits_as_are_corrected(image, capsys):
    last = max(sum(log_places(image).values(), []))
    after, flips = last._replace(page=last.page + 1), [0, 8, 0, 0, 0, 0, 0, 3]
    change(image, after, flipped(flips))
    assert recovered(image).log.strange == []
    change(image, after, flipped(flips))  # the same once more: blank
    change(image, after, flipped([9, *flips[1:]]))
    assert recovered(image).log.strange == [(after, "cannot be read")]


def header_of_another_drive(cells):
    header = unpack("LogHeader", cells[:64])
    words = pack("LogHeader", **header | {"drive_id": 0xABCD}) + cells[64:BLOCK]
    return Layout(8).stored(words, kind=PageKind.LOG, generation=header["generation"], lpn=header["number"], sequence=0)


def test_a_log_page_of_another_drive_is_said_and_not_taken(image, capsys):
    places = log_places(image)
    change_all(image, places[4], header_of_another_drive)
    found = as_json(image, capsys)["log"]
    assert found["gaps"] == [{"first": 4, "last": 4, "entries": 1}]
    words = "a log page of another drive, 0000abcd"
    assert sorted(found["strange"], key=str) == sorted(
        ({"place": place._asdict(), "words": words} for place in places[4]), key=str
    )


def test_a_root_that_stands_once_is_said(image, capsys):
    places = recovered(image).root.places
    change(image, places[0], damaged())
    (root,) = as_json(image, capsys)["roots"]
    assert root["counts"] and root["copies"] == 2 and root["whole"] == [places[1]._asdict()]
    assert main([str(image)]) == 0 and "1 of 2 copies whole" in capsys.readouterr().out


@pytest.mark.parametrize("sealed", range(2))
def test_of_two_roots_the_newer_one_counts_with_a_seal_only(image, sealed, capsys):
    """As a mount leaves them that was cut."""
    old = recovered(image).root
    source = Image(image)
    words = pack("Root", **old.fields | {"sequence": 3, "generation": 3, "anchors": 1 << 4})
    root, seal = source.places(10)[0], source.places(10)[3]  # anchor 4 of an only die
    source.close()
    change(image, root, lambda _: Layout(8).stored(words, kind=PageKind.ROOT, generation=3, lpn=0, sequence=3))
    if sealed:
        page = Layout(8).stored(bytes(BLOCK), kind=PageKind.SEAL, generation=3, lpn=3, sequence=3)
        change(image, seal, lambda _: page)
    roots = as_json(image, capsys)["roots"]
    assert [(r["sequence"], r["sealed"], r["counts"]) for r in roots] == [
        (3, bool(sealed), bool(sealed)),
        (2, True, not sealed),
    ]


# What cannot be understood


def said(words, capsys):
    code = main([str(word) for word in words])
    got = capsys.readouterr()
    assert got.err.startswith("otx-recover: ") and got.err.count("\n") == 1 and not got.out, got
    return code, got.err


def newer_format(cells):
    root = unpack("Root", cells[:BLOCK])
    words = pack("Root", **root | {"version_word": Format.ROOT + 1})
    return Layout(8).stored(words, kind=PageKind.ROOT, generation=root["generation"], lpn=0, sequence=2)


def other_geometry(cells):
    root = unpack("Root", cells[:BLOCK])
    words = pack("Root", **root | {"blocks": 60})
    return Layout(8).stored(words, kind=PageKind.ROOT, generation=root["generation"], lpn=0, sequence=2)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (damaged(), "no root that can be read"),
        (newer_format, f"the root has format {Format.ROOT + 1}, this program reads formats"),
        (other_geometry, "the root is of a drive of another geometry"),
    ],
    ids=["no root", "a newer format", "another geometry"],
)
def test_a_drive_whose_root_cannot_be_taken(image, function, words, capsys):
    for place in recovered(image).root.places:
        change(image, place, function)
    code, line = said([image], capsys)
    assert code == 3 and words in line


def test_a_file_that_is_no_image_that_can_be_understood(image, tmp_path, capsys):
    right = image.read_bytes()
    for content, words in (
        (right[:-1], f"image is cut short: {len(right) - 1} bytes, should be {len(right)}"),
        (right[:HEAD], f"image is cut short: {HEAD} bytes, should be {len(right)}"),
        (right[:50], "image is cut short: 50 bytes"),
        (right[:5], "image is cut short: 5 bytes"),
        (right + b"x", f"image is too long: {len(right) + 1} bytes, should be {len(right)}"),
        (right[:8] + b"\x63" + right[9:], f"image has version 99, this program reads version {Format.IMAGE}"),
        (right[:12] + bytes(4) + right[16:], "no geometry of a drive: 0 channels"),
        (b"x" * 9000, "not an image of a drive"),
        (b"", "not an image of a drive"),
    ):
        path = tmp_path / "wrong.nand"
        path.write_bytes(content)
        code, line = said([path], capsys)
        assert code == 3 and words in line
        assert path.read_bytes() == content


def test_wrong_arguments(image, tmp_path, capsys):
    before = image.read_bytes()
    for words, word in (
        ([], "IMAGE"),
        ([tmp_path / "none"], "No such file"),
        ([tmp_path], "not a regular file"),
        ([image, "--nope"], "--nope"),
        ([image, "more"], "more"),
        ([image, "--extract", "1"], "--extract"),
        ([image, "--extract", "x", tmp_path / "out"], "'x' is no LPN"),
        ([image, "--extract", "64", tmp_path / "out"], "the drive has 64 blocks"),
    ):
        code, line = said(words, capsys)
        assert code == 2 and word in line
    change_all(image, log_places(image)[0], damaged())
    before = image.read_bytes()
    code, line = said([image, "--extract", "9", image], capsys)
    assert code == 2 and "File exists" in line and image.read_bytes() == before
    assert not (tmp_path / "out").exists()


def test_an_image_that_a_drive_has_open_is_left_alone(image, capsys):
    drive = Drive("quick", image=image, boot=False)
    code, line = said([image], capsys)
    assert code == 2 and "in use" in line
    drive.close()


def test_it_is_a_command_of_the_package(image):
    project = tomllib.loads((ROOT / "sw/host/python/pyproject.toml").read_text())
    module, _, name = project["project"]["scripts"]["otx-recover"].partition(":")
    assert getattr(import_module(module), name) is main
    assert {"opentxssd", module.rpartition(".")[0]} <= set(project["tool"]["setuptools"]["packages"])
    run = subprocess.run(
        [sys.executable, "-m", "opentxssd.recover", image], capture_output=True, text=True, timeout=60, check=True
    )
    assert run.stdout.startswith("drive ") and not run.stderr
