# SPDX-License-Identifier: Apache-2.0
"""The C library otx-sched by ctypes, beside its golden model: whatever is put or got is checked."""

import ctypes
import fcntl
import subprocess
from pathlib import Path

from cocotb_tests.models.epoch_model import EpochModel

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS = ["TAKEN", "BLOCKED", "FULL", "WRONG"]


class Request(ctypes.Structure):
    _fields_ = [("lba", ctypes.c_uint32), ("count", ctypes.c_uint32)]
    _fields_ += [(name, ctypes.c_bool) for name in ("write", "ordered", "barrier")] + [("cookie", ctypes.c_void_p)]


class Entry(ctypes.Structure):
    _fields_ = [("request", Request), ("turn", ctypes.c_uint64), ("passed", ctypes.c_uint32)]


class Sched(ctypes.Structure):
    _fields_ = [("discipline", ctypes.c_void_p), ("entries", ctypes.POINTER(Entry))]
    _fields_ += [(name, ctypes.c_size_t) for name in ("count", "room", "ordered")]
    _fields_ += [("closed", ctypes.c_bool), ("block_all", ctypes.c_bool)]
    _fields_ += [("patience", ctypes.c_uint32), ("head", ctypes.c_uint32), ("turn", ctypes.c_uint64)]


class Dispatch(ctypes.Structure):
    _fields_ = [("lba", ctypes.c_uint32), ("count", ctypes.c_uint32)]
    _fields_ += [(name, ctypes.c_bool) for name in ("write", "ordered", "barrier")]
    _fields_ += [("parts", ctypes.c_uint32), ("cookies", ctypes.c_void_p * 32)]


def library():
    """Built by one process at a time: tests of several groups of `make test` begin with it."""
    out = ROOT / "build/sched_test"
    with (ROOT / "build/sched_test.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(["make", "-s", "-C", ROOT / "sw/host", f"OUT={out}", f"{out}/libotx_sched.so"], check=True)
    lib = ctypes.CDLL(str(out / "libotx_sched.so"))
    lib.otx_sched_get.restype = ctypes.c_bool
    return lib


LIB = library()


class Queue:
    """The C library, beside the model: whatever is put or got is checked."""

    def __init__(self, room=128, elevator=False, block_all=False, patience=0):
        self.model = EpochModel(room, elevator, block_all, patience)
        self.sched, self.room = Sched(), (Entry * room)()
        discipline = ctypes.c_char.in_dll(LIB, "otx_sched_elevator" if elevator else "otx_sched_fifo")
        LIB.otx_sched_init(
            ctypes.byref(self.sched), self.room, ctypes.c_size_t(room), ctypes.c_void_p(ctypes.addressof(discipline))
        )
        self.sched.block_all, self.sched.patience = block_all, patience

    def put(self, name, lba, count=1, write=True, ordered=False, barrier=False):
        want = self.model.put(name, lba, count, write, ordered, barrier)
        request = Request(lba, count, write, ordered, barrier, name)
        assert RESULTS[LIB.otx_sched_put(ctypes.byref(self.sched), ctypes.byref(request))] == want
        return want

    def take(self):
        """The Dispatch that leaves, and the names of its parts; None if there is none."""
        d = Dispatch()
        if not LIB.otx_sched_get(ctypes.byref(self.sched), ctypes.byref(d)):
            assert not self.model.queue
            return None
        names = [d.cookies[i] for i in range(d.parts)]
        self.model.get(names, d.lba, d.count, d.write, d.ordered, d.barrier)
        assert not self.model.elevator or self.model.merge_is_whole(d.lba, d.count, d.write)
        return d, names

    def get(self):
        """(names, barrier) of what leaves, or None."""
        left = self.take()
        return left and (left[1], left[0].barrier)

    def rest(self):
        left = []
        while (one := self.get()) is not None:
            left.append(one)
        return left
