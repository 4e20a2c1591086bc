# SPDX-License-Identifier: Apache-2.0
"""The NAND model alone, its pins moved by this file through ctypes: commands, rules, image files, power cuts. Needs no simulator."""

import ctypes
import os
import signal
import subprocess
import sys

import pytest

from cocotb_tests.bench.nand_pins import FAIL_PROGRAM, K9F8G08, QUICK, Nand, library

PAGE, SPARE, PAGES, BLOCKS = 256, 32, 4, 8
SMALL = dict(ways=1, blocks=BLOCKS, pages=PAGES, page_bytes=PAGE, spare_bytes=SPARE)
FULL = PAGE + SPARE
WP, CE, CLE, ALE, RE, WE = 1 << 13, 1 << 12, 1 << 11, 1 << 10, 1 << 9, 1 << 8


class Bus:
    """Moves the pins of one die by the times in `t` (ns), which a test may make too short. One clock is 1 ns."""

    def __init__(self, nand, die=0, **short):
        self.nand, self.die, self.t, self.now = nand, die, K9F8G08 | short, 1_000_000
        self.access = K9F8G08["rea"]
        self.wake, self.pins = ctypes.c_longlong(0), WP | CE | RE | WE
        self.move()

    def move(self, on=0, off=0, dq=None):
        self.pins = (self.pins | on) & ~off
        if dq is not None:
            self.pins = self.pins & ~0xFF | dq
        self.answer = self.nand.c.otx_nand_pins(self.die, self.now * 1000, 1000, self.pins, ctypes.byref(self.wake))

    def wait(self, ns):
        self.now += ns

    def select(self):
        self.move(off=CE)
        self.wait(max(0, self.t["cs"] - self.t["wp"]))

    def release(self):
        self.wait(self.t["ch"])
        self.move(on=CE)
        self.wait(100)

    def write(self, byte, latch=0):
        t = self.t
        self.move(on=latch, off=(CLE | ALE) & ~latch, dq=byte)
        self.wait(max(0, max(t["ds"], t["cls"], t["als"]) - t["wp"]))
        self.move(off=WE)
        self.wait(t["wp"])
        self.move(on=WE)
        self.wait(max(t["wh"], t["wc"] - max(t["wp"], t["ds"], t["cls"], t["als"])))

    def command(self, byte, *addresses):
        self.write(byte, CLE)
        for a in addresses:
            self.write(a, ALE)
        if addresses:
            self.wait(self.t["adl"])
            self.move(off=CLE | ALE)

    def read(self, count=1):
        self.move(off=CLE | ALE)
        self.wait(self.t["whr"])
        got = []
        for _ in range(count):
            self.move(off=RE)
            self.wait(max(self.t["rp"], self.access))
            self.move()
            got.append(self.answer & 0xFF)
            self.move(on=RE)
            self.wait(max(self.t["reh"], self.t["rc"] - max(self.t["rp"], self.access)))
        self.wait(self.t["rhw"])
        return bytes(got)

    def ready(self):
        """Waits as the wake-up times tell; the clocks of busy."""
        self.wait(self.t["wb"] + 1)
        begin = self.now
        self.move()
        while not self.answer >> 9:
            self.now = -(-self.wake.value // 1000)
            self.move()
        self.wait(self.t["rr"])
        return self.now - begin

    def reset(self):
        self.select()
        self.command(0xFF)
        self.ready()
        return self

    def start_program(self, row, data):
        self.command(0x80, 0, 0, row & 255, row >> 8, 0)
        for byte in data:
            self.write(byte)
        self.command(0x10)

    def program(self, row, data):
        self.start_program(row, data)
        self.ready()
        self.command(0x70)
        return self.read()[0]

    def load(self, row, column=0):
        self.command(0x00, column & 255, column >> 8, row & 255, row >> 8, 0)
        self.command(0x30)
        return self.ready()

    def erase(self, row):
        self.command(0x60, row & 255, row >> 8, 0)
        self.command(0xD0)
        return self.ready()


@pytest.fixture
def nand():
    model = Nand(library())
    assert model.open(**SMALL) is None
    yield model
    model.close()


def pattern(seed):
    """Contents of a page; the first spare byte is FFh, else the block would be marked bad."""
    return bytes(255 if i == PAGE else (seed * 37 + i * 11) & 255 for i in range(FULL))


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


@pytest.mark.parametrize("name", ["wp", "wh", "wc", "rp", "reh", "rc", "cls", "cs", "ch", "als", "ds", "adl", "whr", "rhw", "rr"])
def test_time_that_is_too_short_for_the_part_is_named(nand, name):
    nand.times(**{name: 400})
    bus = Bus(nand).reset()
    bus.program(0, pattern(0))
    bus.load(0)
    bus.read(3)
    bus.command(0x70)
    bus.release()
    assert nand.broken() and all("t" + name.upper() in line for line in nand.broken()), nand.broken()[:3]


def broken_by(nand, action, *words):
    before = len(nand.broken())
    action()
    new = nand.broken()[before:]
    assert new and all(w in new[0] for w in words), new[:3]


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


def subset(torn, whole):
    """Every bit that is programmed in `torn` is programmed in `whole`."""
    return all(t | w == t for t, w in zip(torn, whole, strict=True))


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
        ("cut short", good[:-4096], SMALL),
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
