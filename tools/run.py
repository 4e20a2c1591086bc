# SPDX-License-Identifier: Apache-2.0
"""`make run`: the whole drive does its main job on real input and says in words how it went.

Exit code 0 only if all five parts hold.
"""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

try:
    from rich.console import Console

    from soc import geometry
    from tools import wave_commits
except ImportError as e:
    sys.exit(f"run: {e}; source tools/env.sh first")

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "run"
SOCKET = ROOT / "build" / "otx.sock"
IMAGE = WORK / "drive.nand"
DRIVE_URI = f"nbd+unix:///drive?socket={SOCKET}"
SOURCES = ["/usr/include", "/usr/share/perl", "/usr/lib/python3", "/usr/share/doc", "/usr/lib"]
WANTED_BLOCKS, MOST_FILES = (38 << 20) // 4096, 4_000  # of files, each a whole number of blocks
LARGEST_FILE = 128 << 10
FS_BYTES = 50 << 20
FILES_START = 20_000  # block, behind the file system image
CUT_AT_FILE, CUT_AT_BLOCK = 300, 2_048  # synced files, blocks of an image under way, when the power is cut
PAPER_US = 2474.0  # TxSSD, Fig. 13: the remap function in firmware
console = Console(width=150)


class Failed(Exception):
    """A part of the job does not hold; the text says which and why."""


def call(*args, **kw):
    """Runs a program quietly; its output is shown when it fails."""
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, **kw)
    if done.returncode:
        raise Failed(
            f"{Path(str(args[0])).name} ended with {done.returncode}: {(done.stdout + done.stderr).strip()[-600:]}"
        )
    return done.stdout


class Drive:
    """The served drive as a process."""

    def __init__(self):
        SOCKET.unlink(missing_ok=True)
        self.log = open(WORK / "drive.log", "a")  # noqa: SIM115
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "tools/drive.py"), "sim", str(IMAGE)],
            stdout=self.log,
            stderr=self.log,
            cwd=ROOT,
        )
        while True:
            if self.process.poll() is not None:
                raise Failed(f"the drive ended with {self.process.returncode}; see {self.log.name}")
            if (
                SOCKET.exists()
                and subprocess.run(["nbdinfo", "--size", DRIVE_URI], capture_output=True).returncode == 0
            ):
                return
            time.sleep(0.1)

    def cut(self):
        """Power fails: the process is killed, whatever it was doing."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def report(words):
    console.print(f"  [green]ok[/] {words}")


def collect_files():
    """A folder of hard copies of a few thousand real files of this machine that fill WANTED_BLOCKS.

    Returns (folder, files, bytes).
    """
    tree = WORK / "tree"
    count = size = blocks = 0
    for source in SOURCES:
        for folder, dirs, names in os.walk(source):
            dirs.sort()
            for name in sorted(names):
                path = Path(folder, name)
                if count >= MOST_FILES or blocks >= WANTED_BLOCKS:
                    return tree, count, size
                if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST_FILE:
                    continue
                copy = tree / path.relative_to("/")
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(path.read_bytes())
                count, size, blocks = count + 1, size + path.stat().st_size, blocks - -path.stat().st_size // 4096
    return tree, count, size


def part_1_serve():
    with console.status("building up the drive and waiting for its firmware"):
        drive = Drive()
    info = json.loads(call("nbdinfo", "--json", DRIVE_URI))["exports"][0]
    g = geometry.preset("sim")
    if (
        info["export-size"] != g.lbas * 4096
        or info["block_size_minimum"] != 4096
        or not info["can_fua"]
        or not info["can_flush"]
        or not info["can_trim"]
    ):
        raise Failed(f"nbdinfo shows {info}")
    report(
        f"served over NBD: {g.channels} channels x {g.ways} ways, {info['export-size'] >> 20} MiB, block size "
        f"{info['block_size_minimum']}, FLUSH, FUA, TRIM (nbdinfo)"
    )
    return drive


def part_2_file_system(drive):
    image, back = WORK / "fs.img", WORK / "back.img"
    with console.status("making an ext4 image of real files"):
        tree, count, size = collect_files()
        call("mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", "-d", tree, image, f"{FS_BYTES >> 10}k")
    started = time.monotonic()
    with console.status(f"copying {count} files ({size >> 20} MiB) on ext4 to the drive"):
        call("nbdcopy", "--flush", image, DRIVE_URI)
    copied = time.monotonic() - started
    drive.cut()
    with console.status("power is cut; starting again and reading back"):
        drive = Drive()
        started = time.monotonic()
        call(
            "nbdkit",
            "-U",
            "-",
            "--filter=offset",
            "nbd",
            f"socket={SOCKET}",
            "export=drive",
            f"range={FS_BYTES}",
            "--run",
            f'nbdcopy "$uri" {back}',
        )
        read = time.monotonic() - started
        call("cmp", image, back)
        check = call("e2fsck", "-fn", back)
    report(
        f"ext4 with {count} files, {size >> 20} MiB: copied on with nbdcopy, flushed, power cut, read back: every "
        "byte equal"
    )
    report(f"e2fsck: {check.strip().splitlines()[-1]}")
    image.rename(WORK / "fs-on-drive.img")
    blocks = FS_BYTES // 4096
    console.print(
        f"     {blocks} blocks: {blocks / copied:,.0f} 4 KiB writes and {blocks / read:,.0f} reads per second of this "
        "machine"
    )
    return drive


def cut_inside(drive, until, *command):
    """Runs nbd_files.py until it has printed a number of at least `until`, and cuts the power while it goes on; returns
    the last number printed by then.
    """
    client = subprocess.Popen(
        ["/usr/bin/python3", str(ROOT / "tools/nbd_files.py"), *map(str, command)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    last = 0
    for line in client.stdout:
        if not line.strip().isdigit():
            break
        last = int(line)
        if last >= until:
            break
    drive.cut()
    rest = [int(line) for line in client.stdout if line.strip().isdigit()]  # what it was told before it saw the cut
    client.kill()
    client.wait()
    if last < until:
        raise Failed(f"nbd_files.py {command[0]} ended after {last}")
    return rest[-1] if rest else last


def part_3_cut_inside(drive):
    """A cut inside the copy of a second file system in one transaction: the first one is there.

    A cut between files that are synced one by one: those are there.
    """
    second, back = WORK / "second.img", WORK / "back.img"
    with console.status("a second file system in one transaction; power is cut inside the copy"):
        call("mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", "-d", ROOT / "docs", second, f"{FS_BYTES >> 10}k")
        blocks = cut_inside(drive, CUT_AT_BLOCK, "copy", SOCKET, second)
        drive = Drive()
        call(
            "nbdkit",
            "-U",
            "-",
            "--filter=offset",
            "nbd",
            f"socket={SOCKET}",
            "export=drive",
            f"range={FS_BYTES}",
            "--run",
            f'nbdcopy "$uri" {back}',
        )
        call("cmp", WORK / "fs-on-drive.img", back)
        call("e2fsck", "-fn", back)
    report(
        f"power cut inside the copy of another file system (atomic, {blocks} of {FS_BYTES // 4096} blocks written): "
        "the first one is there, every byte, and clean (e2fsck)"
    )
    with console.status("files that are synced one by one; power is cut inside"):
        files = cut_inside(drive, CUT_AT_FILE, "write", SOCKET, FILES_START, WORK / "tree")
        drive = Drive()
        words = call(
            "/usr/bin/python3", ROOT / "tools/nbd_files.py", "check", SOCKET, FILES_START, WORK / "tree", files
        )
    report(f"power cut while files are written and synced one by one: all that were synced are whole ({words.strip()})")
    return drive


def part_4_transactions(drive):
    script = ["/usr/bin/python3", str(ROOT / "tools/nbd_transactions.py")]
    with console.status("three transactions over scattered blocks"):
        writer = subprocess.Popen(
            [*script, "write", str(SOCKET)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        line = writer.stdout.readline()
        drive.cut()
        writer.kill()
        writer.wait()
        if line.strip() != "cut now":
            raise Failed("the transactions could not be written")
        drive = Drive()
        words = call(*script, "check", SOCKET)
    report(
        "one transaction committed, one aborted, one cut in the middle: exactly the first is there, whole "
        f"({words.strip()})"
    )
    drive.stop()


def part_5_latency(recorded):
    """`recorded`: the future of wave_commits.record."""
    with console.status("recording commits of 1, 10, 100 and 1,000 entries"):
        rows, fst, gtkw = recorded.result()
    mhz, where = wave_commits.clock()
    console.print(wave_commits.table(rows, mhz))
    visible = [r["taken_to_visible"] for r in rows]
    if (
        [r["entries"] for r in rows] != [1, 10, 100, 1000]
        or len(set(visible)) != 1
        or visible[0] is None
        or visible[0] > 16
    ):
        raise Failed(f"commit-remap took {visible} clocks for {[r['entries'] for r in rows]} entries")
    us = visible[0] / mhz
    report(
        f"commit-remap: {visible[0]} clock(s) for 1, 10, 100 and 1,000 entries = {us:.3f} us at {mhz:g} MHz "
        f"({where}); TxSSD in firmware: {PAPER_US:,.0f} us"
    )
    console.print(f"     waveform: gtkwave {fst.relative_to(ROOT)} {gtkw.relative_to(ROOT)}")


def main():
    if len(sys.argv) > 1:
        print(f"run: takes no arguments, not {sys.argv[1]}", file=sys.stderr)
        return 2
    WORK.mkdir(parents=True, exist_ok=True)
    for old in (IMAGE, *(WORK / name for name in ("drive.log", "fs.img", "fs-on-drive.img", "second.img", "back.img"))):
        old.unlink(missing_ok=True)
    call("rm", "-rf", WORK / "tree")
    drive, second_core = None, ProcessPoolExecutor(1)
    # a drive of its own, beside parts 1 to 4
    recorded = second_core.submit(wave_commits.record, ROOT / "build" / "wave")
    try:
        parts = [("1 the drive", part_1_serve), ("2 a file system and a power cut", part_2_file_system)]
        for title, part in [
            *parts,
            ("3 power cuts inside", part_3_cut_inside),
            ("4 transactions", part_4_transactions),
        ]:
            console.print(f"[bold]{title}[/]")
            drive = part(drive) if drive else part()
        console.print("[bold]5 commit latency[/]")
        part_5_latency(recorded)
    except Failed as e:
        console.print(f"  [red]failed[/] {e}", markup=True)
        return 1
    finally:
        if drive and drive.process.poll() is None:
            drive.cut()
        second_core.shutdown()
    console.print("all five parts hold")
    return 0


if __name__ == "__main__":
    sys.exit(main())
