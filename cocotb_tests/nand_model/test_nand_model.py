# SPDX-License-Identifier: Apache-2.0
"""The NAND model alone, its pins moved by this file through ctypes: commands, rules, image files, power cuts.

Needs no simulator.
"""

import os
import signal
import subprocess
import sys

import pytest

from cocotb_tests.bench.nand_bus import BLOCKS, FULL, PAGE, PAGES, SMALL, SPARE, WP, Bus, broken_by, pattern, subset
from cocotb_tests.bench.nand_pins import FAIL_PROGRAM, QUICK, Nand, library


@pytest.fixture
def nand():
    model = Nand(library())
    assert model.open(**SMALL) is None
    yield model
    model.close()


def test_every_command_works_and_breaks_no_rule(nand):
    bus = Bus(nand).reset()
    bus.command(0x90, 0x00)
    assert bus.read(5) == bytes.fromhex("ecd310a664")
    assert bus.program(5, pattern(1)) == 0xE0
    bus.load(5)
    assert bus.read(FULL) == pattern(1)
    bus.load(5, 200)
    assert bus.read(3) == pattern(1)[200:203]
    bus.command(0x05, 7, 0)
    bus.command(0xE0)
    assert bus.read(2) == pattern(1)[7:9]
    bus.command(0x70)
    assert bus.read() == b"\xe0"
    bus.command(0x00)
    assert bus.read() == pattern(1)[9:10]
    bus.command(0x80, 0, 0, 6, 0, 0)
    bus.write(1)
    bus.command(0x85, PAGE & 255, PAGE >> 8)
    bus.write(2)
    bus.command(0x10)
    bus.ready()
    assert nand.peek(0, 6) == b"\x01" + b"\xff" * (PAGE - 1) + b"\x02" + b"\xff" * (SPARE - 1)
    bus.erase(5)
    assert nand.peek(0, 5) == b"\xff" * FULL and nand.c.otx_nand_erases(0, 1) == 1
    bus.release()
    assert nand.broken() == []


def test_operations_take_their_times_on_ready_busy(nand):
    bus = Bus(nand).reset()

    def near(got, name):
        return QUICK[name] - 5 <= got <= QUICK[name] + 25

    assert near(bus.load(0), "r") and near(bus.erase(0), "bers")
    bus.start_program(0, pattern(0))
    assert near(bus.ready(), "prog")


@pytest.mark.parametrize(
    "name", ["wp", "wh", "wc", "rp", "reh", "rc", "cls", "cs", "ch", "als", "ds", "adl", "whr", "rhw", "rr"]
)
def test_time_that_is_too_short_for_the_part_is_named(nand, name):
    nand.times(**{name: 400})
    bus = Bus(nand).reset()
    bus.program(0, pattern(0))
    bus.load(0)
    bus.read(3)
    bus.command(0x70)
    bus.release()
    assert nand.broken() and all("t" + name.upper() in line for line in nand.broken()), nand.broken()[:3]


def test_rules_of_order_are_named(nand):
    bus = Bus(nand)
    bus.select()
    broken_by(nand, lambda: bus.command(0x70), "70h", "first reset")
    bus.command(0xFF)
    broken_by(nand, lambda: bus.command(0x60), "60h while busy")
    bus.ready()
    broken_by(nand, lambda: bus.command(0x31), "unknown command 31h")
    broken_by(nand, lambda: (bus.command(0x00, 0, 0, 0), bus.command(0x30)), "30h", "3")
    bus.ready()
    broken_by(nand, lambda: bus.command(0x90, 0, 0), "address cycle")
    broken_by(nand, lambda: (bus.command(0x60, 0), bus.release()), "CE# rose in the middle", "60h")
    bus.select()
    broken_by(nand, lambda: (bus.command(0x60, 0, 0, 0), bus.command(0x70)), "70h in the middle")
    broken_by(nand, lambda: bus.erase(BLOCKS * PAGES), "row 32 is out of range", "has 32")
    broken_by(nand, lambda: bus.program(20, pattern(1)[:-1]), "program of 287 bytes", "288")
    nand.c.otx_nand_set_unused(5)  # what the drive has no use for it must leave out, and nothing else
    for count in (FULL, FULL - 4, FULL - 6):
        broken_by(nand, lambda n=count: bus.program(24, pattern(1)[:n]), f"program of {count} bytes", "288")
    bus.erase(24)
    bus.program(24, pattern(1)[:-5])
    assert nand.peek(0, 24) == pattern(1)[:-5] + b"\xff" * 5
    nand.c.otx_nand_set_unused(0)
    broken_by(nand, lambda: bus.program(24, pattern(1) + b"x"), "past the end of the page of 288 bytes")
    broken_by(nand, lambda: (bus.load(0), bus.read(FULL + 1)), "data out past the end")
    broken_by(nand, lambda: bus.write(1), "data in without 80h")
    bus.command(0x00, 0, 0, 0, 0, 0)
    bus.command(0x30)
    bus.wait(150)
    broken_by(nand, lambda: bus.read(), "data out while busy")


def test_pages_are_programmed_once_and_upwards(nand):
    bus = Bus(nand).reset()
    bus.program(2, pattern(1))
    broken_by(nand, lambda: bus.program(2, pattern(1)), "page 2 of block 0", "programmed already")
    broken_by(nand, lambda: bus.program(1, pattern(1)), "page 1 of block 0 after page 2")
    bus.erase(0)
    before = len(nand.broken())
    bus.program(1, pattern(1))
    assert len(nand.broken()) == before


def test_write_protect_stops_program_and_erase(nand):
    bus = Bus(nand).reset()
    bus.move(off=WP)
    assert bus.program(0, pattern(1)) == 0x61 and nand.peek(0, 0) == b"\xff" * FULL


def test_nth_program_fails_and_bad_blocks_do(nand):
    bus = Bus(nand).reset()
    nand.fail(0, FAIL_PROGRAM, 2)
    assert [bus.program(r, pattern(r)) & 1 for r in range(3)] == [0, 1, 0]
    nand.c.otx_nand_mark_bad(0, 3)
    assert nand.peek(0, 3 * PAGES)[PAGE] == 0
    bus.erase(3 * PAGES)
    bus.command(0x70)
    assert bus.read()[0] & 1 and nand.peek(0, 3 * PAGES)[PAGE] == 0


def test_power_cut_leaves_program_and_erase_whole_or_torn(nand):
    whole = torn = 0
    for seed in range(24):
        assert nand.open(**SMALL, seed=seed) is None
        bus = Bus(nand).reset()
        bus.start_program(0, pattern(3))
        nand.power_cut(seed)
        got = nand.peek(0, 0)
        assert subset(got, pattern(3)) and nand.broken() == []
        whole += got == pattern(3)
        torn += got != pattern(3)
    assert whole and torn
    mixed = 0
    for seed in range(24):
        assert nand.open(**SMALL, seed=seed) is None
        bus = Bus(nand).reset()
        for row in range(3):
            bus.program(row, pattern(row))
        bus.command(0x60, 0, 0, 0)
        bus.command(0xD0)
        nand.power_cut(seed)
        pages = [nand.peek(0, row) for row in range(3)]
        assert all(subset(p, pattern(row)) for row, p in enumerate(pages))
        again = Bus(nand).reset()
        if nand.c.otx_nand_programs(0, 0) == 255:
            mixed += any(p != b"\xff" * FULL for p in pages)
            broken_by(nand, lambda bus=again: bus.program(3, pattern(0)), "erase was not finished")
        else:
            assert pages == [b"\xff" * FULL] * 3
    assert mixed


def test_after_power_comes_back_the_first_command_must_be_reset(nand):
    Bus(nand).reset()
    nand.power_cut(1)
    bus = Bus(nand)
    bus.select()
    broken_by(nand, lambda: bus.command(0x90, 0), "before the first reset")


CHILD = """
import os, signal, sys
from cocotb_tests.nand_model.test_nand_model import *
nand = Nand(library())
error = nand.open(**SMALL, path=sys.argv[1], seed=int(sys.argv[2]), fatal=True)
if error: sys.exit(error)
bus = Bus(nand).reset()
bus.program(0, pattern(1))
if sys.argv[3] == "kill":
    bus.start_program(1, pattern(2))
    os.kill(os.getpid(), signal.SIGKILL)
bus.program(0, pattern(1))
"""


def child(path, seed, what):
    return subprocess.run(
        [sys.executable, "-c", CHILD, path, str(seed), what],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_killed_process_leaves_a_torn_page_in_the_image(nand, tmp_path):
    torn = set()
    for seed in range(4):
        path = tmp_path / f"image{seed}"
        assert child(path, seed, "kill").returncode == -signal.SIGKILL
        assert nand.open(**SMALL, path=path) is None
        assert nand.peek(0, 0) == pattern(1) and nand.c.otx_nand_programs(0, 1) == 1
        assert subset(nand.peek(0, 1), pattern(2)) and nand.peek(0, 1) != pattern(2)
        torn.add(nand.peek(0, 1))
    assert len(torn) > 1


def test_broken_rule_ends_the_process_with_code_70_in_words(tmp_path):
    done = child(tmp_path / "image", 1, "again")
    assert (
        done.returncode == 70
        and "NAND rule broken: at" in done.stderr
        and "die 0: program of page 0 of block 0, which is programmed already" in done.stderr
    )


def test_image_is_sparse_and_keeps_its_cells(nand, tmp_path):
    path = tmp_path / "image"
    big = dict(ways=2, blocks=4096, pages=64, page_bytes=4096, spare_bytes=128)
    assert nand.open(**big, path=path) is None
    assert path.stat().st_size > 2 << 30 and path.stat().st_blocks * 512 < 1 << 20
    bus = Bus(nand, die=1).reset()
    bus.program(64, bytes(4224))
    nand.close()
    assert nand.open(**big, path=path) is None
    assert nand.peek(1, 64) == bytes(4224) and nand.peek(0, 64) == b"\xff" * 4224


def test_images_that_do_not_fit_are_refused_untouched(nand, tmp_path):
    path = tmp_path / "image"
    assert nand.open(**SMALL, path=path) is None
    nand.close()
    good = path.read_bytes()
    for words, content, geometry in [
        ("another geometry: 1 channels x 1 ways x 8 blocks", good, SMALL | {"ways": 2}),
        (f"image is cut short: {len(good) - 4096} bytes, should be {len(good)}", good[:-4096], SMALL),
        (f"image is cut short: 20 bytes, should be {len(good)}", good[:20], SMALL),
        ("image is cut short: 5 bytes", good[:5], SMALL),
        (f"image is too long: {len(good) + 1} bytes, should be {len(good)}", good + b"x", SMALL),
        ("not an image", b"", SMALL),
        ("not an image", b"x" * 9000, SMALL),
        ("version 1, this program reads version 2", good[:8] + b"\x01" + good[9:], SMALL),
    ]:
        path.write_bytes(content)
        line = nand.open(**geometry, path=path)
        assert line and words in line and "\n" not in line and str(path) in line
        assert path.read_bytes() == content
    path.write_bytes(good)
    assert nand.open(**SMALL, path=path) is None
    assert "in use" in child(path, 1, "again").stderr
    assert "No such file" in nand.open(**SMALL, path=tmp_path / "none" / "image")
