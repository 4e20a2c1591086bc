# SPDX-License-Identifier: Apache-2.0
"""A virtual machine whose only disk is the simulated drive: stock QEMU without KVM, and build/nvme/otx-pci as a PCI
device of it. One processor: with several threads QEMU drops a doorbell that comes while another access is under way.
"""

import signal
import socket
import subprocess
import threading
import time

from tools.vm import initramfs
from tools.vm.packages import ROOT, WORK, VmError, kernel

MEMORY = "512M"
UEFI = "/usr/share/ovmf/OVMF.fd"
BRIDGE = ROOT / "build/nvme/otx-pci"
# This machine may be busy: the kernel must not look for a timer that comes late.
ARGUMENTS = "console=ttyS0 panic=-1 quiet mitigations=off no_timer_check"


def linux(script, files, place):
    """What QEMU starts: the kernel, which runs that script."""
    image, _ = kernel()
    archive = initramfs.make({"repository": f"{ROOT}\n"} | (files or {}), place)
    return ["-kernel", image, "-initrd", archive, "-append", f"{ARGUMENTS} otx.run={script}"]


def qemu(starts, fd, sockets, console):
    """The command line of QEMU; host directories are seen read-only by 9p."""
    memory = f"memory-backend-memfd,id=mem,size={MEMORY},share=on"
    share = "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap"
    words = f"""qemu-system-x86_64 -M q35,memory-backend=mem -object {memory} -m {MEMORY} -accel tcg -smp 1 -cpu max
        -nodefaults -nic none -vga none -display none -serial {console} -serial file:{sockets}/report -no-reboot
        -qtest unix:{sockets}/qtest,server=on,wait=off -qtest-log /dev/null -virtfs {share}
        -device x-pci-proxy-dev,id=drive,fd={fd}""".split()
    return [*words, *starts]


class Machine:
    """Runs one script of tools/vm/guest from its boot to its end; without one there is no kernel, and UEFI's firmware
    looks for something to start.

    `image`: the drive's NAND, which stays; without one it is in memory. `files`: {name: text} beside the script.
    `console`: standard input and output are the guest's. Else each line that the guest writes to its console goes to
    `on_line` as it comes, and to console.log. `seed`: of what a power cut tears. `place`: a folder for its logs and
    sockets; machines side by side have one each.
    """

    def __init__(self, script, image="", files=None, console=False, on_line=None, seed=0, place=WORK):
        self.place = place
        place.mkdir(parents=True, exist_ok=True)
        self.on_line = on_line or (lambda line: None)
        self.report = place / "report"
        self.report.write_text("")
        (place / "qtest").unlink(missing_ok=True)
        ours, theirs = socket.socketpair()
        starts = linux(script, files, place) if script else ["-bios", UEFI]
        self.log = open(place / "bridge.log", "a")  # noqa: SIM115
        self.bridge = subprocess.Popen(
            [BRIDGE, str(ours.fileno()), place / "qtest", str(image), str(seed)],
            pass_fds=[ours.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self.log,
        )
        if not self.bridge.stdout.readline():
            raise VmError(self._last_words())
        command = qemu(starts, theirs.fileno(), place, "mon:stdio" if console else "stdio")
        self.qemu = subprocess.Popen(
            command,
            pass_fds=[theirs.fileno()],
            stdin=None if console else subprocess.DEVNULL,
            stdout=None if console else subprocess.PIPE,
            stderr=None if console else subprocess.STDOUT,
        )
        ours.close(), theirs.close()
        self.reader = None
        if not console:
            self.reader = threading.Thread(target=self._read, daemon=True)
            self.reader.start()

    def _read(self):
        with open(self.place / "console.log", "ab") as log:
            for line in self.qemu.stdout:
                log.write(line)
                log.flush()
                self.on_line(line.decode(errors="replace").rstrip("\r\n"))

    def _last_words(self):
        said = (self.place / "bridge.log").read_text(errors="replace").splitlines()
        return said[-1] if said else "the drive does not start"

    def wait(self, seconds=1e9):
        """The exit code of the guest's script; VmError if there is none, or it takes longer, or the drive ends."""
        end = time.time() + seconds
        while self.qemu.poll() is None:
            gone = self.bridge.poll() is not None and not self._ends(self.qemu, 5)
            if gone or time.time() > end:
                self._end(self.qemu)
                self._end(self.bridge)
                why = f"the drive has ended: {self._last_words()}" if gone else f"no end after {seconds} s"
                raise VmError(f"{why}; see {self.place}/console.log")
            time.sleep(0.05)
        if self.reader:
            self.reader.join()
        self._end(self.bridge)
        said = self.report.read_text().split()
        if said[:1] != ["exit"]:
            raise VmError(f"the guest ended without a word; see {self.place}/console.log and {self.place}/bridge.log")
        return int(said[1])

    def power_cut(self):
        """Power fails for the drive, at once, and then for its host."""
        self._end(self.bridge)
        self._end(self.qemu)
        if self.reader:
            self.reader.join()

    @staticmethod
    def _ends(process, seconds):
        """Whether it ends by itself within so many seconds."""
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _end(self, process):
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        if not self._ends(process, 20):
            process.kill()
            process.wait()
        if process is self.bridge:
            self.log.close()
