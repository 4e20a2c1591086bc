# SPDX-License-Identifier: Apache-2.0
"""The remap engine alone, for a LiteX SoC of somebody else's: no NAND geometry, no drive.

    config = RemapConfig(lpns=256, txids=8, tx_entries=63, base=0x4000_0000)
    self.engine = RemapEngine(platform, config)
    self.bus.add_master("engine", self.engine.table)  # memory of config.bytes from config.base on

What the streams promise, and their latency: docs/interfaces/remap-engine.md, "In another SoC". The map must be zero
before the first op: whoever resets the engine clears `config.map_bytes` from `config.base` on.

`python soc/remap_engine.py OUTDIR lpns=256 txids=8 ...` only generates OUTDIR/otx_remap_engine.v. Wrong arguments: one
line, exit code 2.
"""

import fcntl
import hashlib
import subprocess
import sys
from dataclasses import dataclass, fields
from pathlib import Path

try:
    from litex.gen import LiteXModule
    from litex.soc.interconnect import axi, stream
    from litex.soc.interconnect.csr import CSRStatus, CSRStorage
    from migen import Array, Cat, ClockSignal, Constant, Instance, ResetSignal, Signal

    from opentxssd.facts import RemapOpcode as Op  # noqa: F401 (for users)
    from opentxssd.facts import TxOpcode as TxOp  # noqa: F401 (for users)
    from opentxssd.facts import TxState, layout
    from soc import facts, streams
except ImportError as e:
    sys.exit(f"remap_engine: {e}; source tools/env.sh first")

ROOT = Path(__file__).resolve().parent.parent
NAME = "otx_remap_engine"
TXID_BITS = dict(layout("TxOp"))["txid"]  # of the Verilog's ports, in every configuration
WORD_BYTES, ENTRY_BYTES = 4, 16


class RemapConfigError(ValueError):
    """A parameter is wrong; the text says which and what would be right."""


@dataclass(frozen=True)
class RemapConfig:
    """`RemapParam` of the Verilog, which checks it in words (`verilog`).

    Table memory is `bytes` from `base` on: first the map, then the tx tables.
    """

    lpns: int  # blocks, records, whatever has versions
    txids: int = 8  # transactions at once
    tx_entries: int = 63  # that one transaction may have; a power of two less one wastes no memory
    slots: int = 4  # ops at once
    base: int = 0x4000_0000
    address_bits: int = 32

    @property
    def entry_bits(self):
        return max(2, self.tx_entries.bit_length())

    @property
    def id_bits(self):
        return 2 + max(2, (self.slots - 1).bit_length())

    @property
    def lpn_bits(self):
        return (self.lpns - 1).bit_length()

    @property
    def txid_bits(self):
        return (self.txids - 1).bit_length()

    @property
    def map_bytes(self):
        return -(-self.lpns * WORD_BYTES // ENTRY_BYTES) * ENTRY_BYTES

    @property
    def tx_base(self):
        return self.base + self.map_bytes

    @property
    def bytes(self):
        return self.map_bytes + (self.txids << self.entry_bits) * ENTRY_BYTES

    def properties(self):
        """What `Generate` reads."""
        own = dict(
            lpns=self.lpns, txids=self.txids, slots=self.slots, txEntries=self.tx_entries, entryBits=self.entry_bits
        )
        own |= dict(mapBase=self.base, txBase=self.tx_base, addressBits=self.address_bits, idBits=self.id_bits)
        return "".join(f"{name}={value}\n" for name, value in own.items())

    def verilog(self, folder=None):
        """Path of otx_remap_engine.v in `folder`, or in one of its own below build/remap_engine, generated when it is
        not there. RemapConfigError: what is wrong, in words."""
        sources = [
            ROOT / "spinal/pom.xml",
            facts.TABLE,
            ROOT / "soc/facts.py",
            *sorted((ROOT / "spinal/src/main/scala").rglob("*.scala")),
        ]
        digest = hashlib.sha256(self.properties().encode() + b"".join(p.read_bytes() for p in sources)).hexdigest()
        folder = Path(
            folder or ROOT / "build/remap_engine" / hashlib.sha256(self.properties().encode()).hexdigest()[:12]
        ).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        path, mark, properties = folder / f"{NAME}.v", folder / f"{NAME}.sum", folder / "remap.properties"
        with open(folder / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (path.exists() and mark.exists() and mark.read_text() == digest):
                properties.write_text(self.properties())
                run = subprocess.run(
                    [ROOT / "tools/spinal.sh", properties, folder / "new", NAME], capture_output=True, text=True
                )
                if run.returncode:
                    raise RemapConfigError(run.stderr.strip().split("\n")[-1].removeprefix(f"{properties}: "))
                text = (folder / "new" / f"{NAME}.v").read_text()
                if not path.exists() or path.read_text() != text:
                    path.write_text(text)  # else it keeps its time stamp, so that nothing is built again for it
                mark.write_text(digest)
        return path


def op_layout(config):
    """Fields of `op`; `last` is a field of LiteX' own.

    A location is `kind << 30 | value`: kind 0 is none, 1 and 2 are the user's, 3 is the engine's own.
    """
    return [field for field in of_config("RemapOp", config) if field[0] != "last"]


RSP = layout("RemapRsp")
RELEASED = [("location", 32)]


def tx_layout(config):
    return of_config("TxOp", config)


def of_config(name, config):
    """A layout of soc/facts.toml with no more bits of LPN and txid than there are."""
    own = {"lpn": config.lpn_bits, "txid": config.txid_bits}
    return [(field, own.get(field, bits)) for field, bits in layout(name)]


class RemapEngine(LiteXModule):
    """`op`, `tx` in, `rsp`, `released` out; `table`, an AXI4 master of 128 bits. Shown in every clock: `state[t]` and
    `entries[t]` of each txid, `walking`, `memory_errors`, and of the txid in `of`: `older`, `reached`, `use`.

    `verilog`: a file for this configuration that is there already. `with_csr`: registers that show the same, of the
    txid that is written to one of them; `of` is that one then.
    """

    def __init__(self, platform, config, verilog=None, with_csr=True):
        self.config = config
        self.op, self.rsp = stream.Endpoint(op_layout(config)), stream.Endpoint(RSP)
        self.tx, self.released = stream.Endpoint(tx_layout(config)), stream.Endpoint(RELEASED)
        self.table = axi.AXIInterface(data_width=128, address_width=config.address_bits, id_width=config.id_bits)
        self.state, self.entries = (
            [Signal(3, name=f"state{t}") for t in range(config.txids)],
            [Signal(16, name=f"entries{t}") for t in range(config.txids)],
        )
        self.of, self.walking = Signal(config.txid_bits), Signal()
        self.memory_errors, self.reached, self.older, self.use = Signal(16), Signal(16), Signal(TXID_BITS), Signal(27)

        op, rsp, tx, released = self.op, self.rsp, self.tx, self.released
        ports = {"i_clk": ClockSignal("sys"), "i_reset": ResetSignal("sys")}
        ports |= dict(
            i_op_valid=op.valid,
            o_op_ready=op.ready,
            i_op_payload_op=op.op,
            i_op_payload_lpn=wide(op.lpn, 32),
            i_op_payload_hasTx=op.hasTx,
        )
        ports |= dict(
            i_op_payload_txid=wide(op.txid, TXID_BITS),
            i_op_payload_blocks=op.blocks,
            i_op_payload_tag=op.tag,
            i_op_payload_last=op.last,
        )
        ports |= word("i_op_payload_location", op.location) | word("i_op_payload_newLocation", op.newLocation)
        ports |= dict(o_rsp_valid=rsp.valid, i_rsp_ready=rsp.ready) | {
            f"o_rsp_payload_{f}": getattr(rsp, f) for f, _ in RSP if f != "location"
        }
        ports |= word("o_rsp_payload_location", rsp.location)
        ports |= dict(
            i_tx_valid=tx.valid, o_tx_ready=tx.ready, i_tx_payload_op=tx.op, i_tx_payload_txid=wide(tx.txid, TXID_BITS)
        )
        # nothing is brought back here
        ports |= dict(i_restored_valid=0, i_restored_payload_txid=0, i_restored_payload_entries=0)
        ports |= dict(o_released_valid=released.valid, i_released_ready=released.ready) | word(
            "o_released_payload", released.location
        )
        ports |= streams.axi_ports("table", self.table)
        ports |= {f"o_txState_{t}": s for t, s in enumerate(self.state)} | {
            f"o_txCount_{t}": s for t, s in enumerate(self.entries)
        }
        ports |= dict(
            i_useTxid=wide(self.of, TXID_BITS), o_useCount=self.use, o_older=self.older, o_reached=self.reached
        )
        ports |= dict(o_walking=self.walking, o_memoryErrors=self.memory_errors)
        self.specials += Instance(NAME, **ports)
        self.comb += [rsp.last.eq(1), released.last.eq(1)]
        if with_csr:
            self.add_csr()
        platform.add_source(str(verilog or config.verilog()))

    def add_csr(self):
        self._txid = CSRStorage(
            self.config.txid_bits, name="txid", description="The txid that the registers `tx_...` are about."
        )
        shown = [("tx_state", 3, ", ".join(f"{s:d} {s.name}" for s in TxState) + ".", Array(self.state)[self.of])]
        shown += [("tx_entries", 16, "Entries of its table.", Array(self.entries)[self.of])]
        shown += [("tx_older", TXID_BITS, "COMMITTED: transactions that are to be merged before it.", self.older)]
        shown += [("tx_reached", 16, "COMMITTED or ABORTED: entries that a walk has come to.", self.reached)]
        shown += [("tx_use", 27, "Times that it was begun.", self.use)]
        shown += [("walking", 1, "A merge or abort walk is pending or under way.", self.walking)]
        shown += [
            (
                "memory_errors",
                16,
                "Jobs that met a memory error or a broken chain; 65,535: that or more.",
                self.memory_errors,
            )
        ]
        self.comb += self.of.eq(self._txid.storage)
        for name, width, words, value in shown:
            register = CSRStatus(width, name=name, description=words)
            setattr(self, f"_{name}", register)
            self.comb += register.status.eq(value)


def wide(signal, width):
    """The signal with zeros above it."""
    return Cat(signal, Constant(0, width - len(signal))) if len(signal) < width else signal


def word(port, location):
    """Ports of a word: kind and value."""
    return {f"{port}_value": location[:30], f"{port}_kind": location[30:]}


def main(args):
    known = {f.name for f in fields(RemapConfig)}
    try:
        pairs = [a.split("=", 1) for a in args[1:]]
        if not args or any(len(p) != 2 or p[0] not in known for p in pairs) or "lpns" not in dict(pairs):
            raise RemapConfigError(
                "usage: remap_engine.py OUTDIR lpns=N [NAME=N ...]; names: "
                f"{', '.join(f.name for f in fields(RemapConfig))}"
            )
        config = RemapConfig(**{name: int(value, 0) for name, value in pairs})
        print(
            f"{config.verilog(args[0])}: table memory of {config.bytes:,} bytes from {config.base:#x} on, AXI ids of "
            f"{config.id_bits} bits"
        )
    except ValueError as e:
        print(f"remap_engine: {e}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
