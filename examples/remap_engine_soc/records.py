# SPDX-License-Identifier: Apache-2.0
"""The record table as a program on a host sees it: over `litex.RemoteClient` of a board, or over a simulation's bus of
the same shape (`regs`, `write`).

`Records(bus, base, bytes)` clears the map, as the engine wants it after a reset. Then `begin(3)`, `put(17, 0x1234,
txid=3)`, which nobody else sees, and `commit(3)`: all do.
"""

from examples.remap_engine_soc.record_table import Command, Error

IN_TX = 1 << 3


class RecordError(Exception):
    """A command was refused; `error` says why."""

    def __init__(self, command, error):
        super().__init__(f"command {command}: {error.name}")
        self.error = error


class Records:
    def __init__(self, bus, map_base, map_bytes):
        self.regs = bus.regs
        bus.write(map_base, [0] * (map_bytes // 4))

    def run(self, command, key=0, txid=None, value=None):
        """Fields of `status` when the command has ended: (found, own)."""
        regs = self.regs
        regs.records_key.write(key)
        regs.records_txid.write(txid or 0)
        if value is not None:
            regs.records_value.write(value)
        regs.records_command.write(command | (IN_TX if txid is not None else 0))
        while (status := regs.records_status.read()) & 1:
            pass
        if error := Error(status >> 3 & 3):
            raise RecordError(command, error)
        return bool(status & 2), bool(status & 4)

    def get(self, key, txid=None):
        """The record that a reader sees, None when there is none. `txid`: the reader is inside this transaction."""
        found, _ = self.run(Command.GET, key, txid)
        return self.regs.records_result.read() if found else None

    def put(self, key, value, txid=None):
        self.run(Command.PUT, key, txid, value)

    def delete(self, key, txid=None):
        self.run(Command.DELETE, key, txid)

    def begin(self, txid):
        self.run(Command.BEGIN, txid=txid)

    def commit(self, txid):
        self.run(Command.COMMIT, txid=txid)

    def abort(self, txid):
        self.run(Command.ABORT, txid=txid)

    @property
    def free(self):
        """Places that nobody uses."""
        return self.regs.records_free.read()

    def settle(self):
        """Returns when nothing is left to be merged or taken back."""
        while self.regs.engine_walking.read():
            pass
