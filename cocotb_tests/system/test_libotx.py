# SPDX-License-Identifier: Apache-2.0
"""libotx against the served drive (preset quick), and as a program of another project uses it. Against drives that
answer wrongly: `make -C sw/host test`."""

import os
import re
import signal
import subprocess

import pytest

from cocotb_tests.system.served import ROOT, Served

HOST = ROOT / "build/host"


def make(*words):
    subprocess.run(["make", "-s", "-C", ROOT / "sw/host", *words], check=True, capture_output=True)


@pytest.fixture
def served(tmp_path):
    make("all", "tests")
    s = Served(tmp_path, tmp_path / "drive.nand")
    yield s
    if s.process.poll() is None:
        s.end(signal.SIGKILL)


def test_the_library_against_the_drive_with_sanitizers(served):
    done = subprocess.run([HOST / "drive_test", served.commands], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "8 passed, 0 failed" in done.stdout, done.stdout + done.stderr


GUIDE = ROOT / "docs/guides/use-the-c-library.md"
(PROGRAM,) = re.findall(r"^```c\n(.*?)^```$", GUIDE.read_text(), re.M | re.S)


@pytest.mark.parametrize("static", [False, True])
def test_the_program_of_the_guide_is_built_with_what_make_install_leaves(served, tmp_path, static):
    make("install", f"DESTDIR={tmp_path}/root", "PREFIX=/opt")
    root, source = tmp_path / "root/opt", tmp_path / "program.c"
    source.write_text(PROGRAM)
    paths = os.environ | {
        "PKG_CONFIG_PATH": str(root / "lib/pkgconfig"),
        "PKG_CONFIG_SYSROOT_DIR": str(tmp_path / "root"),
        "LD_LIBRARY_PATH": str(root / "lib"),
        "OTX_SOCKET": str(served.commands),
    }
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "otx"], env=paths, capture_output=True, text=True, check=True
    ).stdout.split()
    if static:
        flags[flags.index("-lotx")] = "-l:libotx.a"
    for compiler in (["gcc", "-std=c11", "-pedantic"], ["g++", "-std=c++20"]):
        text = source.with_suffix(".c" if compiler[0] == "gcc" else ".cpp")
        text.write_text(PROGRAM)
        subprocess.run([*compiler, "-Wall", "-Werror", text, "-o", tmp_path / "program", *flags], check=True)
        done = subprocess.run([tmp_path / "program"], env=paths, capture_output=True, text=True)
        assert re.fullmatch(r"success after \d+ us\n", done.stdout), done.stdout + done.stderr


def test_the_scheduler_is_installed_too(tmp_path):
    make("install", f"DESTDIR={tmp_path}", "PREFIX=/opt")
    root, source = tmp_path / "opt", tmp_path / "program.c"
    source.write_text(
        "#include <otx_sched.h>\nint main(void) { struct otx_sched s; struct otx_sched_entry room[1]; "
        "otx_sched_init(&s, room, 1, &otx_sched_fifo); return (int)s.count; }\n"
    )
    paths = os.environ | {"PKG_CONFIG_PATH": str(root / "lib/pkgconfig"), "PKG_CONFIG_SYSROOT_DIR": str(tmp_path)}
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "otx_sched"], env=paths, capture_output=True, text=True, check=True
    ).stdout.split()
    subprocess.run(["gcc", "-std=c11", "-Wall", "-Werror", source, "-o", tmp_path / "program", *flags], check=True)
    subprocess.run([tmp_path / "program"], env=paths | {"LD_LIBRARY_PATH": str(root / "lib")}, check=True)
    assert {p.name for p in (root / "bin").iterdir()} == {"otx"} and (root / "share/man/man1/otx.1").is_file()


def test_only_names_of_the_header_are_exported():
    make("all")
    listed = subprocess.run(["nm", "-D", "--defined-only", HOST / "libotx.so"], capture_output=True, text=True).stdout
    header = (ROOT / "sw/host/lib/otx.h").read_text()
    names = [line.split()[-1] for line in listed.splitlines()]
    assert len(names) > 25 and [n for n in names if f"{n}(" not in header] == []
