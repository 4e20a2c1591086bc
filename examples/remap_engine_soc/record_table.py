# SPDX-License-Identifier: Apache-2.0
"""A table of records with transactions: keys are the engine's LPNs, a location says in which place of a memory the
record stands.

A PUT writes its record into a place that nobody uses and then tells the engine where it is. The place that it replaces
comes back on `released` when nobody can read it any more:
at once, after a commit's merge or after an abort. So there is no lock and no copy: a transaction of any size is visible
one clock after the engine has taken its COMMIT.

One command at a time: write `key`, `txid`, `value`, then `command`; while `busy` reads 1 it runs. Latency: that of the
engine's op and some clocks. Reset forgets all records, as it does the engine's transactions; then the host clears the
map.
"""

from enum import IntEnum

from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import CSRField, CSRStatus, CSRStorage
from migen import FSM, Array, If, Memory, Mux, NextState, NextValue, Signal, bits_for

from soc.remap_engine import Op, TxOp, TxState

PLACE = 1  # kind of a location that names a place
BITS = 64  # of a record


class Command(IntEnum):
    GET = 0
    PUT = 1
    DELETE = 2
    BEGIN = 3
    COMMIT = 4
    ABORT = 5


class Error(IntEnum):
    NONE = 0
    REFUSED = 1  # a key past the end, a txid in the wrong state, a transaction that is full
    NO_PLACE = 2  # all places are in use; a merge or abort may give some back


class RecordTable(LiteXModule):
    """`places`: records that there are room for, all versions counted."""

    def __init__(self, engine, places):
        config = engine.config
        self.key = CSRStorage(config.lpn_bits, description="Key of the record.")
        self.txid = CSRStorage(config.txid_bits, description="Transaction of the command.")
        self.value = CSRStorage(BITS, description="Record of a PUT.")
        ops = [(str(c.value), c.name, "") for c in Command]
        self.command = CSRStorage(
            fields=[
                CSRField("op", size=3, values=ops),
                CSRField("in_tx", size=1, description="GET, PUT, DELETE: in transaction `txid`."),
            ]
        )
        self.status = CSRStatus(
            fields=[
                CSRField("busy", description="The command runs; the rest is valid when it does not."),
                CSRField("found", description="GET: there is a record."),
                CSRField("own", description="GET: it is the transaction's own."),
                CSRField("error", size=2, values=[(str(e.value), e.name, "") for e in Error]),
            ]
        )
        self.result = CSRStatus(BITS, description="Record that a GET has found.")
        self.free = CSRStatus(bits_for(places), description="Places that nobody uses.")

        memory = Memory(BITS, places)
        write, read = memory.get_port(write_capable=True), memory.get_port()
        self.specials += memory, write, read

        # free places: at first those that were never used, then those that were given back
        place_bits = bits_for(places - 1)
        at = Signal(place_bits)  # of the record that a GET has found
        self.given = given = stream.SyncFIFO([("place", place_bits)], places)
        # `have`: `place` is of a PUT that was refused, and still free
        fresh, place, have = Signal(max=places + 1), Signal(place_bits), Signal()
        is_fresh = fresh != places
        released = engine.released
        self.comb += [
            self.free.status.eq(given.level + (places - fresh) + have),
            released.ready.eq(1),
            given.sink.valid.eq(released.valid),
            given.sink.place.eq(released.location),
        ]

        op, tx, rsp = engine.op, engine.tx, engine.rsp
        command, in_tx = self.command.fields.op, self.command.fields.in_tx
        busy, found, own, error = Signal(), Signal(), Signal(), Signal(2)
        state = Array(engine.state)[self.txid.storage]
        status = self.status.fields
        self.comb += [
            status.busy.eq(busy | self.command.re),
            status.found.eq(found),
            status.own.eq(own),
            status.error.eq(error),
            op.lpn.eq(self.key.storage),
            op.hasTx.eq(in_tx),
            op.txid.eq(self.txid.storage),
            op.blocks.eq(1),
            op.last.eq(1),
            op.op.eq(Op.LOOKUP),
            If(command == Command.PUT, op.op.eq(Mux(in_tx, Op.APPEND, Op.PLAIN)), op.location.eq(place | PLACE << 30)),
            If(command == Command.DELETE, op.op.eq(Op.TRIM)),
            tx.txid.eq(self.txid.storage),
            write.adr.eq(place),
            write.dat_w.eq(self.value.storage),
            read.adr.eq(at),
        ]

        self.fsm = fsm = FSM(reset_state="IDLE")
        end = [NextValue(busy, 0), NextState("IDLE")]
        fsm.act(
            "IDLE",  # waits for a command
            If(
                self.command.re,
                NextValue(busy, 1),
                NextValue(found, 0),
                NextValue(own, 0),
                NextValue(error, Error.NONE),
                NextState("START"),
            ),
        )
        fsm.act(
            "START",
            If((command == Command.GET) | (command == Command.DELETE), NextState("OP"))
            .Elif(command == Command.PUT, NextState("TAKE"))
            .Elif(
                (command > Command.ABORT) | (state != Mux(command == Command.BEGIN, TxState.FREE, TxState.OPEN)),
                NextValue(error, Error.REFUSED),
                *end,
            )
            .Else(NextState("TX")),
        )
        fsm.act(
            "TAKE",
            NextValue(have, 1),
            NextState("STORE"),
            If(
                ~have,
                If(is_fresh, NextValue(fresh, fresh + 1), NextValue(place, fresh)).Else(
                    given.source.ready.eq(1), NextValue(place, given.source.place)
                ),
                If(~is_fresh & ~given.source.valid, NextValue(have, 0), NextValue(error, Error.NO_PLACE), *end),
            ),
        )
        fsm.act("STORE", write.we.eq(1), NextState("OP"))
        fsm.act("OP", op.valid.eq(1), If(op.ready, NextState("ANSWER")))
        fsm.act(
            "ANSWER",  # waits for the engine
            rsp.ready.eq(1),
            If(
                rsp.valid,
                *end,
                If(rsp.error, NextValue(error, Error.REFUSED))
                .Elif(command == Command.PUT, NextValue(have, 0))
                .Elif(
                    (command == Command.GET) & (rsp.location[30:] == PLACE),
                    NextValue(own, rsp.own),
                    NextValue(at, rsp.location),
                    NextValue(busy, 1),
                    NextState("READ"),
                ),
            ),
        )
        fsm.act("READ", NextState("READ-DATA"))
        fsm.act("READ-DATA", NextValue(self.result.status, read.dat_r), NextValue(found, 1), *end)
        fsm.act(
            "TX",
            tx.valid.eq(1),
            If(command == Command.BEGIN, tx.op.eq(TxOp.BEGIN))
            .Elif(command == Command.COMMIT, tx.op.eq(TxOp.COMMITTING))
            .Else(tx.op.eq(TxOp.ABORT)),
            If(tx.ready, If(command == Command.COMMIT, NextState("COMMIT")).Else(*end)),
        )
        fsm.act("COMMIT", tx.valid.eq(1), tx.op.eq(TxOp.COMMIT), If(tx.ready, *end))
