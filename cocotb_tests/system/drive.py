# SPDX-License-Identifier: Apache-2.0
"""The simulated drive in Python: libotx.so of a preset by ctypes. One drive per process (see sim/otx_sim.h for the contract; os.fork() is fine).

    drive = Drive("tiny")                        # in memory; Drive("tiny", image="build/x.nand") on a file
    drive.write(5, b"..."); drive.flush(); drive.read(5)
    with `txid=` in write, read, trim; drive.begin(3), drive.commit(3), drive.abort(3)
    drive.power_cut(seed=1); drive.power_on()    # the same NAND, a drive just switched on
    Drive("tiny", faults=Faults(seed=1, ber=10**6))  # NAND with the faults of models/nand_faults.py; part_faults=PartFaults(...) of its parts

`submit` and `poll` are the layer below, with up to 32 commands under way. A status that is not SUCCESS raises CommandError unless `check=False`.
"""

import ctypes
import os
from collections import namedtuple
from enum import IntEnum
from itertools import count
from pathlib import Path

from cocotb_tests.models import nand_faults

ROOT = Path(__file__).resolve().parent.parent.parent
BLOCK, TAGS, MAX_BLOCKS = 4096, 32, 32
BOOT_CLOCKS, COMMAND_CLOCKS, CLOSE_CLOCKS = 50_000_000, 20_000_000, 50_000_000


class Opcode(IntEnum):
    FLUSH, WRITE, READ, WRITE_ZEROES, TRIM = 0x00, 0x01, 0x02, 0x08, 0x09
    BEGIN, COMMIT, ABORT, RECOVER, QUERY = 0x80, 0x84, 0x88, 0x94, 0x98


class Status(IntEnum):
    SUCCESS, INVALID_OPCODE, INVALID_FIELD, LBA_RANGE, TX_INVALID, TX_BUSY, TX_FULL, TX_CONFLICT = range(8)
    MEDIA_ERROR, WRITE_FAULT, CAPACITY, READ_ONLY, ABORTED, NOT_READY = range(8, 14)


class Query(IntEnum):
    TX, CAPACITY, PAGES_LEFT, DROPPED, RELEASED, COMMITS, TX_WALK, WAITING, MEMORY_ERRORS, LOST_LOG_PAGES, DOUBTFUL = range(11)


class Torn(IntEnum):
    """What a power cut now would tear on a die (otx_nand_under_way): a page of that kind, or a block."""

    NOTHING, DATA, LOG, MAP, DIRECTORY, ROOT, BBT, SEAL = range(8)
    BLOCK = 256


class TxState(IntEnum):
    FREE, OPEN, PREPARED, COMMITTING, COMMITTED, ABORTED = range(6)


class Cmd(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint8) for n in ["opcode", "tag", "txid", "has_tx", "fua", "commit", "relaxed", "barrier", "order"]]
    _fields_ += [("count", ctypes.c_uint16), ("stream", ctypes.c_uint16), ("lba", ctypes.c_uint32), ("arg", ctypes.c_uint32)]


class Cpl(ctypes.Structure):
    _fields_ = [("tag", ctypes.c_uint8), ("status", ctypes.c_uint8), ("result", ctypes.c_uint32), ("blocks", ctypes.c_uint32), ("clock", ctypes.c_uint64)]


Completion = namedtuple("Completion", "tag status result blocks clock data")


class DriveError(Exception):
    """The drive cannot be opened or does not answer; the text says why."""


class CommandError(Exception):
    """A command ended with another status than SUCCESS."""

    def __init__(self, opcode, completion):
        super().__init__(f"{opcode.name} ended with {completion.status.name}")
        self.status, self.completion = completion.status, completion


def load(preset, trace=False, folder=None):
    """The C library of a preset, with argument types; `folder` instead of build/<preset>."""
    lib = ctypes.CDLL(str(Path(folder or ROOT / "build" / preset) / ("libotx_trace.so" if trace else "libotx.so")))
    lib.otx_open.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
    lib.otx_boot.argtypes = lib.otx_close.argtypes = lib.otx_power_cut.argtypes = [ctypes.c_uint64]
    lib.otx_step.argtypes = [ctypes.c_uint64]
    lib.otx_submit.argtypes = [ctypes.POINTER(Cmd), ctypes.c_void_p]
    lib.otx_poll.argtypes = [ctypes.POINTER(Cpl)]
    lib.otx_trace.argtypes = [ctypes.c_char_p]
    lib.otx_clock.restype = ctypes.c_uint64
    lib.otx_lbas.restype = lib.otx_tx_entries.restype = lib.otx_clock_ps.restype = ctypes.c_uint32
    lib.otx_uart.restype = lib.otx_preset.restype = ctypes.c_char_p
    lib.otx_nand_under_way.argtypes = [ctypes.c_uint32]
    lib.otx_power_on.restype = lib.otx_power_cut.restype = None
    return lib


def open_image(lib, image, firmware=None):
    """Opens the drive; DriveError with the library's one line of words."""
    message = ctypes.create_string_buffer(400)
    if lib.otx_open(image and str(image).encode(), firmware and str(firmware).encode(), message, len(message)):
        raise DriveError(message.value.decode())


class Drive:
    def __init__(self, preset="tiny", image=None, trace=False, boot=True, firmware=None, folder=None, faults=None, part_faults=None):
        self.lib = load(preset, trace, folder)
        nand_faults.set_faults(self.lib, faults)
        nand_faults.set_part_faults(self.lib, part_faults)
        open_image(self.lib, image, firmware or os.environ.get("OTX_FIRMWARE"))
        self.preset, self.lbas, self.tx_entries = preset, self.lib.otx_lbas(), self.lib.otx_tx_entries()
        self.pending = {}  # tag -> (opcode, buffer)
        self.done = {}  # tag -> Completion, not yet asked for
        if boot:
            self.boot()

    def boot(self, clocks=BOOT_CLOCKS):
        if self.lib.otx_boot(clocks):
            raise DriveError(f"the drive is not ready after {clocks} clocks; its firmware said: {self.uart.strip()!r}")

    def boot_some(self, clocks):
        """Lets up to `clocks` of the boot pass, also over several calls; returns whether the drive is enabled."""
        return self.lib.otx_boot(clocks) == 0

    def under_way(self):
        """What a power cut now would tear, by die."""
        return [Torn(what) for what in iter(map(self.lib.otx_nand_under_way, count()).__next__, -1)]

    @property
    def clock(self):
        return self.lib.otx_clock()

    @property
    def uart(self):
        return self.lib.otx_uart().decode(errors="replace")

    @property
    def busy(self):
        return bool(self.lib.otx_busy())

    # The layer below: tags, completions in any order

    def submit(self, opcode, lba=0, count=0, data=None, txid=None, tag=None, **fields):
        """Hands one command over and returns its tag; `txid` sets has_tx. Takes a free tag unless one is given."""
        if tag is None:
            tag = next((t for t in range(TAGS) if t not in self.pending and t not in self.done), None)
            if tag is None:
                raise DriveError("all 32 tags are under way")
        cmd = Cmd(opcode=opcode, lba=lba, count=count, tag=tag, txid=txid or 0, has_tx=int(txid is not None), **fields)
        size = max(BLOCK * min(count, MAX_BLOCKS), BLOCK, len(data or b""))
        buffer = ctypes.create_string_buffer(bytes(data), size) if data is not None else ctypes.create_string_buffer(size)
        if self.lib.otx_submit(ctypes.byref(cmd), buffer):
            raise DriveError(f"tag {tag} is under way")
        self.pending[tag] = (opcode, buffer, count)
        return tag

    def step(self, clocks):
        """Lets up to `clocks` pass, fewer if something completed; returns how many completions there are to poll."""
        return self.lib.otx_step(clocks)

    def poll(self):
        """The oldest completion, or None. `data` is what a READ delivered (blocks it could not read are zero; `blocks` has a bit for each delivered)."""
        cpl = Cpl()
        if not self.lib.otx_poll(ctypes.byref(cpl)):
            return None
        opcode, buffer, count = self.pending.pop(cpl.tag)
        data = buffer.raw[: BLOCK * count] if opcode == Opcode.READ else None
        return Completion(cpl.tag, Status(cpl.status), cpl.result, cpl.blocks, cpl.clock, data)

    def wait(self, tag, clocks=COMMAND_CLOCKS):
        """The completion of that tag; others are kept for their own wait."""
        end = self.clock + clocks
        while tag not in self.done:
            if not self.step(max(end - self.clock, 0)):
                raise DriveError(f"tag {tag} has no completion after {clocks} clocks")
            c = self.poll()
            self.done[c.tag] = c
        return self.done.pop(tag)

    # One command at a time

    def command(self, opcode, *args, check=True, **kw):
        completion = self.wait(self.submit(opcode, *args, **kw))
        if check and completion.status != Status.SUCCESS:
            raise CommandError(opcode, completion)
        return completion

    def write(self, lba, data, txid=None, check=True, **flags):
        """`data`: one to 32 blocks. Flags: fua=1, commit=1, relaxed=1."""
        return self.command(Opcode.WRITE, lba, len(data) // BLOCK, data, txid=txid, check=check, **flags)

    def read(self, lba, count=1, txid=None):
        return self.command(Opcode.READ, lba, count, txid=txid).data

    def trim(self, lba, count=1, txid=None, check=True, **flags):
        return self.command(Opcode.TRIM, lba, count, txid=txid, check=check, **flags)

    def write_zeroes(self, lba, count=1, txid=None, check=True, **flags):
        return self.command(Opcode.WRITE_ZEROES, lba, count, txid=txid, check=check, **flags)

    def flush(self, check=True):
        return self.command(Opcode.FLUSH, check=check)

    def begin(self, txid, check=True):
        return self.command(Opcode.BEGIN, txid=txid, check=check)

    def commit(self, txid, check=True, **flags):
        """Flags: relaxed=1."""
        return self.command(Opcode.COMMIT, txid=txid, check=check, **flags)

    def abort(self, txid, check=True):
        return self.command(Opcode.ABORT, txid=txid, check=check)

    def recover(self):
        return self.command(Opcode.RECOVER)

    def query(self, what, txid=None):
        return self.command(Opcode.QUERY, txid=txid, arg=what).result

    def tx(self, txid):
        """(state, entries) of a transaction."""
        word = self.query(Query.TX, txid)
        return TxState(word & 7), word >> 16

    def tx_walk(self, txid):
        """(state, older transactions to be merged before it, entries that its walk has not reached) of a transaction."""
        word = self.query(Query.TX_WALK, txid)
        return TxState(word & 7), word >> 8 & 31, word >> 16

    # Faults of the NAND, power, end

    def set_faults(self, faults):
        """From now on these faults; None: none."""
        nand_faults.set_faults(self.lib, faults)

    def set_part_faults(self, faults):
        """From now on this is wrong with the parts (PartFaults of models/nand_faults.py); None: nothing."""
        nand_faults.set_part_faults(self.lib, faults)

    def modes(self):
        """The timing mode of each die, by die."""
        return [self.lib.otx_nand_mode(die) for die in range(len(self.under_way()))]

    def faults_seen(self):
        return nand_faults.seen(self.lib)

    def power_cut(self, seed=0, program=None, erase=None):
        """Power fails now; commands under way have no completion. Then `power_on` on the same NAND.

        `program`, `erase`: what it leaves of them (Cut and CutErase of models/nand_faults.py); faults must be on.
        """
        nand_faults.next_cut(self.lib, program, erase)
        self.lib.otx_power_cut(seed)
        self.pending, self.done = {}, {}

    def power_on(self, boot=True):
        self.lib.otx_power_on()
        if boot:
            self.boot()

    def mounted(self):
        """What the drive says of its start, as an `up` event of a history (docs/reference/history.md) has it."""
        said = self.uart.strip().splitlines()
        up = {"mode": "closed" if not self.lib.otx_enabled() else "read-only" if "read-only" in self.uart else "open", "said": said[-1] if said else ""}
        if up["mode"] != "closed":
            up |= {"dropped": self.query(Query.DROPPED), "log_pages": self.query(Query.LOST_LOG_PAGES), "doubtful": self.query(Query.DOUBTFUL)}
        return up

    def trace(self, path):
        """Records all signals into an FST file until `trace(None)`; needs trace=True at the start."""
        if self.lib.otx_trace(path and str(path).encode()):
            raise DriveError(f"cannot write {path}")

    def idle(self, clocks=CLOSE_CLOCKS):
        """FLUSH, then lets clocks pass until nothing is under way; returns whether that came about. (Without a flush the open log page stays open.)"""
        end = self.clock + clocks
        self.flush(check=False)
        while self.busy and self.clock < end and not self.step(100):
            pass
        return not self.busy

    def close(self, clocks=CLOSE_CLOCKS):
        return self.lib.otx_close(clocks) == 0
