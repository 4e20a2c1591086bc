# SPDX-License-Identifier: Apache-2.0
"""What a virtual machine with the drive needs from Debian: QEMU and the guest's programs are installed, the kernel is
fetched and unpacked below build/vm/kernel. Nothing else is downloaded. At once when it is all there.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
WORK = ROOT / "build" / "vm"
INSTALLED = "qemu-system-x86 busybox-static kmod cpio nvme-cli fio e2fsprogs f2fs-tools btrfs-progs ovmf".split()


class VmError(RuntimeError):
    """The machine cannot be made, or did not do what was asked of it."""


def run(*args, **kw):
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, **kw)
    if done.returncode:
        raise VmError(f"{args[0]} ended with {done.returncode}: {(done.stdout + done.stderr).strip()[-600:]}")
    return done.stdout


def installed(package):
    done = subprocess.run(["dpkg-query", "-W", "-f=${db:Status-Status}", package], capture_output=True, text=True)
    return done.stdout == "installed"


def install():
    """The packages of INSTALLED that are missing."""
    missing = [p for p in INSTALLED if not installed(p)]
    if not missing:
        return
    print(f"vm: installing {' '.join(missing)}", flush=True)
    root = [] if os.geteuid() == 0 else ["sudo"]
    get = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-y", "-q"]
    try:
        run(*get, "install", "--no-install-recommends", *missing)
    except VmError:
        run(*get, "update")
        run(*get, "install", "--no-install-recommends", *missing)


def kernel_package():
    """The newest plain kernel of Debian 12 that apt knows."""
    names = run("apt-cache", "search", "--names-only", r"^linux-image-6\.1\.0-[0-9]+-amd64$").split("\n")
    found = [m for m in (re.match(r"(linux-image-6\.1\.0-(\d+)-amd64) ", name) for name in names) if m]
    if not found:
        raise VmError("apt knows no linux-image-6.1.0-*-amd64; apt-get update, and Debian 12")
    return max(found, key=lambda m: int(m[2]))[1]


def kernel():
    """(image, folder of its modules) of a Debian kernel, fetched if there is none."""
    unpacked = WORK / "kernel"
    if not (unpacked / "whole").exists():
        name = kernel_package()
        print(f"vm: fetching {name}", flush=True)
        shutil.rmtree(unpacked, ignore_errors=True)
        unpacked.mkdir(parents=True)
        packages = unpacked / "packages"
        packages.mkdir()
        run("apt-get", "download", name, cwd=packages)
        (package,) = packages.glob("*.deb")
        run("dpkg-deb", "-x", package, unpacked)
        package.unlink()
        (release,) = (p.name for p in (unpacked / "lib/modules").iterdir())
        run("depmod", "-b", unpacked, release)
        (unpacked / "whole").touch()
    (image,) = (unpacked / "boot").glob("vmlinuz-*")
    return image, unpacked


def modules(names):
    """Files of these modules and of all that they need, in the order in which they are loaded."""
    image, unpacked = kernel()
    release = image.name.removeprefix("vmlinuz-")
    found = {}
    for name in names:
        for line in run("modprobe", "-d", unpacked, "-S", release, "--show-depends", name).splitlines():
            word = line.split()
            if word[0] == "insmod":
                found[Path(word[1])] = None
    return list(found)
