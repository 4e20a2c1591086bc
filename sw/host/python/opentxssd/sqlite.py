# SPDX-License-Identifier: Apache-2.0
"""SQLite on a Drive of this process, by the VFS of sw/host/sqlite (`make -C sw/host sqlite`).

    port = DrivePort(Drive("sim"))
    db = Database(port)
    db.run("CREATE TABLE t(x)"); db.run("SELECT count(*) FROM t")    # [("0",)]

Each command waits for its completion; between commands no clock passes, so the same SQL takes the same clocks. Power
can fail in a command (`cut_at`); SQLite then gets errors, as from a drive that is gone, until the database is opened
again.
"""

import ctypes
from collections import Counter
from itertools import count
from pathlib import Path

from opentxssd.commands import DriveError, Opcode
from opentxssd.library import REPOSITORY

COMMIT, RELAXED, CLOSED = 1, 2, -2  # otx_port.h, otx.h
LIMIT = 100_000_000  # clocks of a command
READWRITE, CREATE, URI = 2, 4, 0x40  # sqlite3.h
OTX = b"otx"  # C keeps its address

Int, U32, Ptr, Text = ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_char_p
METHODS = {
    "read": ctypes.CFUNCTYPE(Int, Ptr, U32, U32, Ptr, Int),
    "write": ctypes.CFUNCTYPE(Int, Ptr, U32, U32, Ptr, Int, ctypes.c_uint),
    "begin": ctypes.CFUNCTYPE(Int, Ptr, Int),
    "commit": ctypes.CFUNCTYPE(Int, Ptr, Int, ctypes.c_uint),
    "abort": ctypes.CFUNCTYPE(Int, Ptr, Int),
    "flush": ctypes.CFUNCTYPE(Int, Ptr),
    "trim": ctypes.CFUNCTYPE(Int, Ptr, U32, U32),
    "words": ctypes.CFUNCTYPE(Ptr, Ptr, Int),
    "close": ctypes.CFUNCTYPE(None, Ptr),
}


class Methods(ctypes.Structure):
    """`struct otx_port_methods` of sw/host/sqlite/otx_port.h."""

    _fields_ = list(METHODS.items())


class Port(ctypes.Structure):
    """`struct otx_port`."""

    _fields_ = [
        ("methods", ctypes.POINTER(Methods)),
        ("context", Ptr),
        ("lbas", U32),
        ("tx_entries", U32),
        ("identity", ctypes.c_char * 64),
    ]


OPEN = ctypes.CFUNCTYPE(Int, Text, ctypes.POINTER(Port), Text, ctypes.c_size_t)


class SqliteError(Exception):
    """An error of SQLite; `code`: its number."""

    def __init__(self, code, words):
        super().__init__(f"{words} ({code})")
        self.code = code


def library(path=None):
    """SQLite with the VFS in it, which `make -C sw/host sqlite` builds."""
    path = Path(path or REPOSITORY / "build/host/libsqlite3_otx.so")
    if not path.is_file():
        raise DriveError(f"there is no {path}; run make -C sw/host sqlite")
    lib = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    lib.sqlite3_errmsg.restype = lib.sqlite3_column_text.restype = Text
    for name in ("errmsg", "column_text", "column_count", "step", "finalize", "extended_errcode", "close"):
        getattr(lib, f"sqlite3_{name}").argtypes = [Ptr] + ([Int] if name == "column_text" else [])
    lib.sqlite3_prepare_v2.argtypes = [Ptr, Text, Int, ctypes.POINTER(Ptr), ctypes.POINTER(Text)]
    lib.sqlite3_open_v2.argtypes = [Text, ctypes.POINTER(Ptr), Int, Text]
    lib.otx_sqlite_register.argtypes = [Text, OPEN, Int]
    return lib


class DrivePort:
    """A Drive as the VFS asks it, and that VFS, `name`.

    `cut_at`: power fails when the drive's clock has come so far and a command is under way, or when one comes later;
    `cut_seed` decides what is torn; `off`: it has. `fail`: a function of the number of a command and its Opcode that
    returns the status with which it is refused, or None. `counts`: commands, by name, and "blocks" of WRITEs.
    """

    numbers = count()
    kept = []  # what C calls must never go

    def __init__(self, drive, lib=None):
        self.lib, self.drive, self.name = lib or library(), drive, f"drive{next(self.numbers)}"
        self.cut_at, self.cut_seed, self.off, self.fail = None, 0, False, lambda number, opcode: None
        self.commands, self.counts, self.words = 0, Counter(), ctypes.create_string_buffer(b"refused", 100)
        self.methods = Methods(*(kind(getattr(self, f"_{name}")) for name, kind in METHODS.items()))
        self.open = OPEN(self._open)
        vfs = ctypes.create_string_buffer(self.name.encode())
        self.kept.append((self, vfs, self.methods, self.open))
        if self.lib.otx_sqlite_register(ctypes.cast(vfs, Text), self.open, 0):
            raise DriveError("SQLite does not take the VFS")

    def power_on(self):
        """The drive again, after a power cut; databases are to be opened again."""
        self.drive.power_on()
        self.cut_at, self.off = None, False

    def command(self, opcode, lba=0, blocks=0, data=None, txid=-1, into=None, **flags):
        """Status of a command, or CLOSED. A READ's data goes to the address `into`."""
        if self.off:
            return CLOSED
        self.commands += 1
        refused = self.fail(self.commands, opcode)
        if refused is not None:
            return int(refused)
        drive = self.drive
        self.counts[Opcode(opcode).name] += 1
        if opcode == Opcode.WRITE:
            self.counts["blocks"] += blocks
        tag, end = drive.submit(opcode, lba, blocks, data, None if txid < 0 else txid, **flags), drive.clock + LIMIT
        while drive.clock < end:
            if self.cut_at is not None and drive.clock >= self.cut_at:
                self.off = True
                drive.power_cut(self.cut_seed)
                return CLOSED
            if drive.step(min(end, self.cut_at or end) - drive.clock):
                done = drive.poll()
                assert done.tag == tag
                if into:
                    ctypes.memmove(into, done.data, len(done.data))
                return int(done.status)
        return CLOSED

    def _open(self, path, port, why, size):
        if self.off:
            return CLOSED
        port.contents.methods = ctypes.pointer(self.methods)
        port.contents.lbas, port.contents.tx_entries = self.drive.lbas, self.drive.tx_entries
        port.contents.identity = b""
        return 0

    def _read(self, _, lba, blocks, data, txid):
        return self.command(Opcode.READ, lba, blocks, txid=txid, into=data)

    def _write(self, _, lba, blocks, data, txid, flags):
        commit, relaxed = int(bool(flags & COMMIT)), int(bool(flags & RELAXED))
        return self.command(
            Opcode.WRITE, lba, blocks, ctypes.string_at(data, blocks * 4096), txid, commit=commit, relaxed=relaxed
        )

    def _begin(self, _, txid):
        return self.command(Opcode.BEGIN, txid=txid)

    def _commit(self, _, txid, flags):
        return self.command(Opcode.COMMIT, txid=txid, relaxed=int(bool(flags & RELAXED)))

    def _abort(self, _, txid):
        return self.command(Opcode.ABORT, txid=txid)

    def _flush(self, _):
        return self.command(Opcode.FLUSH)

    def _trim(self, _, lba, blocks):
        return self.command(Opcode.TRIM, lba, blocks)

    def _words(self, _, error):
        self.words.value = f"status {error}".encode()
        return ctypes.addressof(self.words)

    def _close(self, _):
        pass


class Database:
    """A connection to the database on a port's drive; `vfs` and `parameters`: of its URI (otx_sqlite.h). `port` None:
    the database `path` of SQLite's VFS `vfs`; "otx": of the drive that `path` leads to.
    """

    def __init__(self, port, vfs=None, path="drive", lib=None, **parameters):
        self.lib, self.handle = port.lib if port else lib or library(), Ptr()
        if vfs == "otx" and self.lib.otx_sqlite_register(OTX, ctypes.cast(None, OPEN), 0):
            raise DriveError("SQLite does not take the VFS")
        words = "".join(f"&{name}={value}" for name, value in parameters.items())
        uri = f"file:{path}?vfs={vfs or port.name}{words}".encode()
        self._checked(self.lib.sqlite3_open_v2(uri, ctypes.byref(self.handle), READWRITE | CREATE | URI, None))

    def _checked(self, code):
        if code:
            raise SqliteError(code, self.lib.sqlite3_errmsg(self.handle).decode())

    def run(self, sql):
        """Statements, one after the other; rows of the last one that has some, each a tuple of str or None."""
        rest, rows = Text(sql.encode()), []
        while rest.value:
            statement = Ptr()
            self._checked(
                self.lib.sqlite3_prepare_v2(self.handle, rest, -1, ctypes.byref(statement), ctypes.byref(rest))
            )
            if not statement:
                continue
            if self.lib.sqlite3_column_count(statement):
                rows = []
            while (code := self.lib.sqlite3_step(statement)) == 100:  # SQLITE_ROW
                cells = (
                    self.lib.sqlite3_column_text(statement, i) for i in range(self.lib.sqlite3_column_count(statement))
                )
                rows.append(tuple(cell and cell.decode() for cell in cells))
            words = self.lib.sqlite3_errmsg(self.handle).decode()
            self.lib.sqlite3_finalize(statement)
            if code != 101:  # SQLITE_DONE
                raise SqliteError(code, words)
        return rows

    def close(self):
        self._checked(self.lib.sqlite3_close(self.handle))
