# SPDX-License-Identifier: Apache-2.0
"""The guest's first file system: busybox, modules and guest/init, which mounts this machine's root read-only by 9p and
goes on there, so that what is installed here can be run there.
"""

import os
import shutil
import stat
from pathlib import Path

from opentxssd.facts import NvmeOpcode
from tools.vm.packages import modules, run

GUEST = Path(__file__).resolve().parent / "guest"
# crc32c_generic first: libcrc32c wants it without saying so
BEFORE = "virtio_pci 9pnet_virtio 9p crc32c_generic ext4 f2fs btrfs".split()
DRIVE = "nvme".split()


def make(files, place):
    """`place`/initramfs.gz, made anew: it holds the guest's scripts, and `files` ({name: text}) beside them."""
    tree = place / "initramfs"
    shutil.rmtree(tree, ignore_errors=True)
    for folder in ("bin", "modules", "h", "proc", "dev", "guest"):
        (tree / folder).mkdir(parents=True)
    shutil.copy("/bin/busybox", tree / "bin/busybox")
    (tree / "bin/sh").symlink_to("busybox")
    for kind, names in (("before", BEFORE), ("drive", DRIVE)):
        found = modules(names)
        for module in found:
            shutil.copy(module, tree / "modules" / module.name)
        (tree / "modules" / kind).write_text("".join(f"{module.name}\n" for module in found))
    for script in GUEST.iterdir():
        shutil.copy(script, tree / "guest" / script.name)
    opcodes = "".join(f"{opcode.name} = {opcode.value:#x}\n" for opcode in NvmeOpcode)
    for name, text in ({"nvme_opcodes.py": opcodes} | files).items():
        (tree / "guest" / name).write_text(text)
    init = tree / "init"
    shutil.copy(GUEST / "init", init)
    init.chmod(init.stat().st_mode | stat.S_IXUSR)
    archive = place / "initramfs.gz"
    run("sh", "-c", f"find . | cpio -o -H newc --quiet | gzip -1 >{archive}.new", cwd=tree)
    os.replace(f"{archive}.new", archive)
    return archive
