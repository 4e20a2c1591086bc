# SPDX-License-Identifier: Apache-2.0
"""The remap engine alone in Python: libotx_engine.so of a preset by ctypes (sim/engine/otx_engine.h is the contract).
Any number of engines per process.

    engine = Engine("tiny", latency=(2, 60))
    engine.tx(TxOp.BEGIN, 3)
    engine.ops([op(Op.APPEND, lpn=5, txid=3, location=nand(77))])
    engine.settle()                              # all taken and answered
    engine.responses(), engine.releases(), engine.events()

Words are 32-bit numbers, kind in bits 31:30. A broken rule of the engine's ports raises EngineError.
"""

import ctypes
import struct
import subprocess
from collections import namedtuple
from pathlib import Path

from cocotb_tests.models.remap_model import BUF, NAND, Op, State, TxOp, word  # noqa: F401
from opentxssd.facts import layout

ROOT = Path(__file__).resolve().parent.parent.parent

EVENT_TX, EVENT_TAKEN, EVENT_VISIBLE, EVENT_OP, EVENT_FREE = range(5)
UNTIL_ANSWERED, UNTIL_WALKED, UNTIL_VISIBLE = 1, 2, 4
CHUNK = 4096
BEATS = ["op", "rsp", "tx", "released", "ar", "r", "aw", "b", "commit taken", "commit visible", "walking"]


class Config(ctypes.Structure):
    _fields_ = [
        (n, ctypes.c_uint32)
        for n in ["min_latency", "max_latency", "outstanding", "stall_percent", "adversary", "reserved"]
    ]
    _fields_ += [("seed", ctypes.c_uint64)]


class COp(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint8) for n in ["op", "has_tx", "txid", "last"]]
    _fields_ += [(n, ctypes.c_uint32) for n in ["lpn", "location", "new_location", "tag", "blocks"]]


class CRsp(ctypes.Structure):
    _fields_ = [("tag", ctypes.c_uint32), ("location", ctypes.c_uint32)]
    _fields_ += [(n, ctypes.c_uint8) for n in ["own", "committing", "hit", "error"]]
    _fields_ += [("reserved", ctypes.c_uint32), ("taken", ctypes.c_uint64), ("answered", ctypes.c_uint64)]


class CRelease(ctypes.Structure):
    _fields_ = [("location", ctypes.c_uint32), ("reserved", ctypes.c_uint32), ("clock", ctypes.c_uint64)]


class CEvent(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_uint8), ("op", ctypes.c_uint8), ("txid", ctypes.c_uint8), ("state", ctypes.c_uint8)]
    _fields_ += [("value", ctypes.c_uint32), ("clock", ctypes.c_uint64), ("offered", ctypes.c_uint64)]


# the same layouts, quicker to read
RSP, RELEASE, EVENT = struct.Struct("=IIBBBB4xQQ"), struct.Struct("=I4xQ"), struct.Struct("=BBBBIQQ")

Response = namedtuple("Response", [*(field for field, _ in layout("RemapRsp")), "taken", "answered"])
Release = namedtuple("Release", "location clock")
Event = namedtuple("Event", "kind op txid state value clock offered")


class EngineError(Exception):
    """The engine has broken a rule of its ports, or does not come to rest; the text says which."""


def op(kind, lpn, txid=None, location=0, new=0, last=True, tag=0, blocks=0):
    """One op; `txid` sets has_tx."""
    return (int(kind), int(txid is not None), txid or 0, int(last), lpn, location, new, tag, blocks)


def build(preset):
    """Brings libotx_engine.so of a preset up to date; CalledProcessError if that fails."""
    subprocess.run(["tools/engine_build.sh", preset], cwd=ROOT, check=True)


def load(preset):
    lib = ctypes.CDLL(str(ROOT / "build" / preset / "engine/libotx_engine.so"))
    lib.otx_engine_open.argtypes, lib.otx_engine_open.restype = [ctypes.POINTER(Config)], ctypes.c_void_p
    handle, u8, u32, u64, size = ctypes.c_void_p, ctypes.c_uint8, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_size_t
    for name, arguments, result in [
        ("close", [], None),
        ("ops", [ctypes.POINTER(COp), size], None),
        ("tx", [u8, u8], None),
        ("forget_ops", [], size),
        ("take_releases", [ctypes.c_int], None),
        ("step", [u64, u32], ctypes.c_int),
        ("rsps", [ctypes.POINTER(CRsp), size], size),
        ("releases", [ctypes.POINTER(CRelease), size], size),
        ("events", [ctypes.POINTER(CEvent), size], size),
        ("beats", [], u32),
        ("clock", [], u64),
        ("waiting", [], size),
        ("walking", [], ctypes.c_int),
        ("state", [u8], u32),
        ("count", [u8], u32),
        ("use", [u8], u32),
        ("memory_errors", [], u32),
        ("accesses", [], u64),
        ("get32", [u32], u32),
        ("put32", [u32, u32], None),
        ("error", [], ctypes.c_char_p),
    ]:
        function = getattr(lib, "otx_engine_" + name)
        function.argtypes, function.restype = [handle, *arguments], result
    return lib


class Engine:
    """`latency`: least and most clocks of table memory. `adversary`: it answers in any order AXI4 allows."""

    def __init__(self, preset="tiny", latency=(8, 8), outstanding=8, stall_percent=0, adversary=False, seed=1):
        self.lib = load(preset)
        config = Config(*latency, outstanding, stall_percent, int(adversary), 0, seed)
        self.handle = self.lib.otx_engine_open(ctypes.byref(config))
        if not self.handle:
            raise EngineError(f"no engine with latency {latency}, {outstanding} outstanding, {stall_percent} % stalls")
        self.lbas, self.tx_entries = self.lib.otx_engine_lbas(), self.lib.otx_engine_tx_entries()

    def close(self):
        if self.handle:
            self.lib.otx_engine_close(self.handle)
        self.handle = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _call(self, name, *args):
        return getattr(self.lib, "otx_engine_" + name)(self.handle, *args)

    # in

    def ops(self, ops):
        ops = list(ops)
        self._call("ops", (COp * len(ops))(*ops), len(ops))

    def tx(self, what, txid):
        self._call("tx", int(what), txid)

    def forget_ops(self):
        return self._call("forget_ops")

    # time

    def step(self, clocks, until=0):
        """Up to `clocks`; True if it ended because all of `until` held."""
        held = bool(self._call("step", clocks, until))
        error = self._call("error").decode()
        if error:
            raise EngineError(error)
        return held

    def settle(self, clocks=50_000_000, walked=False):
        """Until all is taken and answered, with `walked` also every walk over."""
        if not self.step(clocks, UNTIL_ANSWERED | (UNTIL_WALKED if walked else 0)):
            raise EngineError(f"not at rest after {clocks} clocks, {self._call('waiting')} requests wait")

    # out

    def _take(self, name, kind, unpack):
        buffer, out = (kind * CHUNK)(), []
        while n := self._call(name, buffer, CHUNK):
            out += unpack.iter_unpack(memoryview(buffer).cast("B")[: n * unpack.size])
        return out

    def responses(self):
        return [Response(*r) for r in self._take("rsps", CRsp, RSP)]

    def releases(self):
        return [Release(*r) for r in self._take("releases", CRelease, RELEASE)]

    def events(self):
        return [Event(*e) for e in self._take("events", CEvent, EVENT)]

    # state

    @property
    def clock(self):
        return self._call("clock")

    @property
    def beats(self):
        """Names of the beats and events of the last clock (BEATS)."""
        bits = self._call("beats")
        return {name for i, name in enumerate(BEATS) if bits >> i & 1}

    @property
    def walking(self):
        return bool(self._call("walking"))

    def state(self, txid):
        return State(self._call("state", txid))

    def count(self, txid):
        return self._call("count", txid)
