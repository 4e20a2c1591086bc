# SPDX-License-Identifier: Apache-2.0
"""The simulated drive as an object: the whole controller, its firmware and its NAND, clock by clock.

    drive = Drive("tiny")                        # in memory; Drive("tiny", image="x.nand") on a file
    drive.write(5, b"..."); drive.flush(); drive.read(5)
    with `txid=` in write, read, trim; drive.begin(3), drive.commit(3), drive.abort(3), drive.prepare(3)
    drive.power_cut(seed=1); drive.power_on()    # the same NAND, a drive just switched on
    Drive("tiny", faults=Faults(seed=1, ber=10**6))  # NAND with faults of opentxssd.faults

What the commands mean and what a host may rely on is docs/contract.md; the encodings are in docs/interfaces.md, "Host
port".

Units. Addresses (`lba`) and lengths (`count`) are in blocks of 4,096 bytes. Time is in clocks of the drive: nothing
depends on wall time, so the same calls give the same clocks. Time passes only in `step`, `wait`, the commands of one
call, `boot`, `boot_some`, `idle` and `close`.

Order. Commands that touch the same block, one of them writing, or the same txid, keep the order in which they were
submitted. All others may complete in any order.

Errors. DriveError: the drive cannot be opened or does not answer. CommandError: a command ended with another status
than SUCCESS; the drive goes on. ValueError: the arguments make no sense, and nothing was asked of the drive.

Processes. One drive at a time in a process, and one thread that calls. os.fork() copies the drive; on an image file
only one side may go on. The end of the process, at any instant, is a power cut: on an image file all that is durable is
there when it is opened again.
"""

import ctypes
import os
from itertools import count

from opentxssd import faults as nand_faults
from opentxssd import health
from opentxssd.commands import (
    BLOCK,
    MAX_BLOCKS,
    TXIDS,
    CommandError,
    Completion,
    DriveError,
    Opcode,
    Query,
    Status,
    Torn,
    TxState,
)
from opentxssd.facts import HealthWord
from opentxssd.library import Cmd, Cpl, load, open_image

BOOT_CLOCKS, COMMAND_CLOCKS, CLOSE_CLOCKS = 50_000_000, 20_000_000, 50_000_000


class Drive:
    """A drive that is switched on.

    `preset`: which one (soc/geometry.py). `folder`: where its library is; without, as opentxssd.library.find says.
    `image`: the file of its NAND, made if missing; without one the NAND is in memory and blank. `trace`: the library
    that can record signals. `boot`: waits until the firmware has enabled the drive. `firmware`: the file of another
    firmware, also $OTX_FIRMWARE. `faults`, `part_faults`: Faults and PartFaults of opentxssd.faults, from the first
    operation on.

    DriveError: it is not built; the image is not one, is truncated, of another geometry or in use (it is then
    untouched); the drive does not boot.

    `lbas`: capacity in blocks. `commands`: most commands under way, 32 or 256. `tx_entries`: most entries of a
    transaction. `preset`: its name. `lib`: the C library,
    for what is not wrapped here.
    """

    def __init__(
        self,
        preset="tiny",
        image=None,
        trace=False,
        boot=True,
        firmware=None,
        folder=None,
        faults=None,
        part_faults=None,
    ):
        self.lib = load(preset, trace, folder)
        nand_faults.set_faults(self.lib, faults)
        nand_faults.set_part_faults(self.lib, part_faults)
        open_image(self.lib, image, firmware or os.environ.get("OTX_FIRMWARE"))
        self.preset, self.lbas, self.tx_entries = preset, self.lib.otx_lbas(), self.lib.otx_tx_entries()
        self.commands = self.lib.otx_commands()
        self.pending = {}  # tag -> (opcode, buffer, count)
        self.done = {}  # tag -> Completion, not yet asked for
        if boot:
            self.boot()

    def boot(self, clocks=BOOT_CLOCKS):
        """Lets clocks pass until the firmware has enabled the drive; DriveError, with what the firmware said, if it has
        not after so many.
        """
        if self.lib.otx_boot(clocks):
            raise DriveError(f"the drive is not ready after {clocks} clocks; its firmware said: {self.uart.strip()!r}")

    def boot_some(self, clocks):
        """Lets up to `clocks` of the boot pass, also over several calls; returns whether the drive is enabled."""
        return self.lib.otx_boot(clocks) == 0

    def under_way(self):
        """What a power cut now would tear: a Torn for each die, in their order."""
        return [Torn(what) for what in iter(map(self.lib.otx_nand_under_way, count()).__next__, -1)]

    @property
    def clock(self):
        """Clocks since power on."""
        return self.lib.otx_clock()

    @property
    def uart(self):
        """All that the firmware has said since power on."""
        return self.lib.otx_uart().decode(errors="replace")

    @property
    def busy(self):
        """Whether a command is under way, or the drive holds something that a FLUSH would still have to put on NAND."""
        return bool(self.lib.otx_busy())

    # The layer below: tags, completions in any order

    def submit(self, opcode, lba=0, count=0, data=None, txid=None, tag=None, **fields):
        """Hands one command over and returns its tag, at once: it enters the drive when clocks pass.

        Nothing is checked here: what the drive does not take completes with a status that says so. `data`: the blocks
        of a WRITE, copied; what is missing is zeroes. `txid`: of the transaction, None for none. `tag`: 0 to `commands`
        - 1; a free one is taken without. `fields`: fua, commit, relaxed, barrier, orderless, order, priority, stream,
        arg.
        DriveError: the tag, or all tags, are under way. Each command has exactly one completion, unless the power is
        cut.
        """
        if tag is None:
            tag = next((t for t in range(self.commands) if t not in self.pending and t not in self.done), None)
            if tag is None:
                raise DriveError(f"all {self.commands} tags are under way")
        cmd = Cmd(opcode=opcode, lba=lba, count=count, tag=tag, txid=txid or 0, has_tx=int(txid is not None), **fields)
        size = max(BLOCK * min(count, MAX_BLOCKS), BLOCK, len(data or b""))
        buffer = (
            ctypes.create_string_buffer(bytes(data), size) if data is not None else ctypes.create_string_buffer(size)
        )
        if self.lib.otx_submit(ctypes.byref(cmd), buffer):
            raise DriveError(f"tag {tag} is under way")
        self.pending[tag] = (opcode, buffer, count)
        return tag

    def stop_data(self, tag, beats=0, late=False):
        """The host stops in the middle of a WRITE that was submitted: after so many more beats of 8 bytes no more come.

        `late`: what the drive still wanted comes after the completion. Tests how the drive ends such a command: ABORTED
        after the setting `host_timeout_us`.
        """
        if tag not in self.pending:
            raise DriveError(f"tag {tag} is not under way")
        self.lib.otx_stop_data(tag, beats, int(late))

    def step(self, clocks):
        """Lets up to `clocks` pass, fewer if something completed; returns how many completions there are to poll."""
        return self.lib.otx_step(clocks)

    def poll(self):
        """The oldest Completion, or None.

        Completions come in the order in which the drive gave them. Its tag is free again. No time passes.
        """
        cpl = Cpl()
        if not self.lib.otx_poll(ctypes.byref(cpl)):
            return None
        opcode, buffer, count = self.pending.pop(cpl.tag)
        data = buffer.raw[: BLOCK * count] if opcode == Opcode.READ else None
        return Completion(cpl.tag, Status(cpl.status), cpl.result, cpl.blocks, cpl.clock, data)

    def wait(self, tag, clocks=COMMAND_CLOCKS):
        """Lets clocks pass until that tag has completed, and returns its Completion, whatever its status; those of
        other tags are kept for their own `wait`.

        DriveError if it has none after so many clocks.
        """
        end = self.clock + clocks
        while tag not in self.done:
            if not self.step(max(end - self.clock, 0)):
                raise DriveError(f"tag {tag} has no completion after {clocks} clocks")
            c = self.poll()
            self.done[c.tag] = c
        return self.done.pop(tag)

    # One command at a time

    def command(self, opcode, *args, check=True, **kw):
        """`submit` and `wait` with the same arguments: one command, and clocks until it has completed; its Completion.

        CommandError for a status other than SUCCESS, unless `check=False`. DriveError if nothing comes. So it is with
        all methods below that send a command; `txid` of each is 0 to 31, and a command without one is not of a
        transaction.
        """
        completion = self.wait(self.submit(opcode, *args, **kw))
        if check and completion.status != Status.SUCCESS:
            raise CommandError(opcode, completion)
        return completion

    def write(self, lba, data, txid=None, check=True, **flags):
        """Writes `data`, one to 32 whole blocks, as one: readers see all of it or nothing, also after a power cut. A
        txid that is not open is opened.

        It is in the device when this returns, and survives a power cut after the next `flush` (with a txid: after its
        `commit`) only. Flags: fua=1, it is durable at once; commit=1, it commits its txid; relaxed=1 beside commit;
        barrier=1, as `barrier` behind it; orderless=1 (without a txid), barriers do not concern it.
        ValueError if `data` is not whole blocks.
        """
        if len(data) % BLOCK:
            raise ValueError(f"{len(data)} bytes are not whole blocks of {BLOCK}")
        return self.command(Opcode.WRITE, lba, len(data) // BLOCK, data, txid=txid, check=check, **flags)

    def read(self, lba, count=1, txid=None):
        """The bytes of one to 32 blocks, zeroes where nothing was written; with a txid what that transaction has
        written first.

        CommandError with MEDIA_ERROR if one cannot be read; its `completion` has the others.
        """
        return self.command(Opcode.READ, lba, count, txid=txid).data

    def trim(self, lba, count=1, txid=None, check=True, **flags):
        """One to 32 blocks read as zeroes from now on. Durable as of a write. Flags: fua=1, barrier=1, orderless=1."""
        return self.command(Opcode.TRIM, lba, count, txid=txid, check=check, **flags)

    def write_zeroes(self, lba, count=1, txid=None, check=True, **flags):
        """As `trim`."""
        return self.command(Opcode.WRITE_ZEROES, lba, count, txid=txid, check=check, **flags)

    def flush(self, check=True):
        """All writes and relaxed commits that completed before it are durable when it returns.

        Of an open transaction nothing is.
        """
        return self.command(Opcode.FLUSH, check=check)

    def barrier(self, check=True):
        """No order-preserving write, trim or commit after it survives a power cut unless all before it do. It waits for
        nothing and makes nothing durable.
        """
        return self.command(Opcode.BARRIER, check=check)

    def rflush(self, lba=0, count=1, stream=None, check=True):
        """What completed before it in these blocks (1 to 65,535), or of this stream (`stream` of a write: 0 to 65,535),
        is durable when it returns; nothing else that waits in the write buffer is written.
        """
        if stream is not None:
            return self.command(Opcode.RFLUSH, stream=stream, arg=1, check=check)
        return self.command(Opcode.RFLUSH, lba, count, check=check)

    def begin(self, txid, check=True):
        """Opens a txid; CommandError with TX_BUSY if it is open. A write opens one, too."""
        return self.command(Opcode.BEGIN, txid=txid, check=check)

    def commit(self, txid, check=True, **flags):
        """All that the transaction has written becomes visible at one instant, and is durable when this returns.
        TX_INVALID if it is neither open nor prepared.

        Flags: relaxed=1: visible, and durable with the next durable commit or flush; relaxed commits survive a power
        cut in their order. barrier=1: as `barrier` behind it.
        """
        return self.command(Opcode.COMMIT, txid=txid, check=check, **flags)

    def prepare(self, txid, check=True):
        """The transaction is durable and not visible, and takes no more writes: it waits for its commit or abort, also
        over power cuts. TX_INVALID if it is not open, CAPACITY if too many entries are prepared.
        """
        return self.command(Opcode.PREPARE, txid=txid, check=check)

    def prepared(self):
        """The txids that are PREPARED: one QUERY each."""
        return [txid for txid in range(TXIDS) if self.tx(txid)[0] == TxState.PREPARED]

    def abort(self, txid, check=True):
        """Nothing of the transaction remains; of a prepared one that is durable. TX_INVALID if it is neither open nor
        prepared.
        """
        return self.command(Opcode.ABORT, txid=txid, check=check)

    def recover(self):
        """Aborts all open transactions, not those that are prepared."""
        return self.command(Opcode.RECOVER)

    def query(self, what, txid=None):
        """The number that the drive answers to a Query."""
        return self.command(Opcode.QUERY, txid=txid, arg=what).result

    def tx(self, txid):
        """(TxState, entries) of a transaction."""
        word = self.query(Query.TX, txid)
        return TxState(word & 7), word >> 16

    def tx_walk(self, txid):
        """(TxState, older transactions to be merged before it, entries that its walk has not reached) of a
        transaction."""
        word = self.query(Query.TX_WALK, txid)
        return TxState(word & 7), word >> 8 & 31, word >> 16

    def health(self):
        """What the drive says of itself: Health. 21 QUERYs; each number is as firmware last wrote it, within some
        thousand clocks."""
        return health.read(lambda word: self.query(Query.HEALTH + word))

    # Faults of the NAND, power, end

    def set_faults(self, faults):
        """From now on these Faults, also over power cuts; None: none.

        ValueError, and nothing changes, if there cannot be such faults.
        """
        nand_faults.set_faults(self.lib, faults)

    def set_part_faults(self, faults):
        """From now on this is wrong with the parts (PartFaults); None: nothing.

        A drive sees it when it is switched on.
        """
        nand_faults.set_part_faults(self.lib, faults)

    def modes(self):
        """The timing mode of each die, by die; -1 of one that has none."""
        return [self.lib.otx_nand_mode(die) for die in range(len(self.under_way()))]

    def faults_seen(self):
        """{kind of fault: how often it was met since the drive was opened}."""
        return nand_faults.seen(self.lib)

    def power_cut(self, seed=0, program=None, erase=None):
        """Power fails now, between two clocks. Then only `power_on` or the end of the process may follow.

        Commands under way have no completion and their tags are free; completions that were not polled are lost. What
        is under way on NAND is torn or complete, by `seed`:
        the same seed at the same clock leaves the same. What was durable is there again after `power_on`; a command
        that completed and was not flushed is there whole or not at all; a transaction that was not committed has left
        nothing.

        `program`, `erase`: every program and erase under way is left unfinished, in this way (Cut and CutErase). Faults
        must be set, or the process ends.
        """
        nand_faults.next_cut(self.lib, program, erase)
        self.lib.otx_power_cut(seed)
        self.pending, self.done = {}, {}

    def power_fail(self, clocks):
        """Power fails now, and the drive has energy for so many clocks, in which it saves what it holds (PLP); they
        pass.

        The clocks after which all was saved; None if that was too little, or the drive has no PLP. `power_cut` follows.
        Commands under way have no completion, as there.
        """
        saved = self.lib.otx_power_fail(clocks)
        self.pending, self.done = {}, {}
        return None if saved < 0 else saved

    def power_on(self, boot=True):
        """Power is back after `power_cut`: a drive just switched on, on the same NAND, in memory or on its file;
        `clock` and `uart` begin anew.

        `boot=False`: the caller lets it boot, with `boot` or `boot_some`. DriveError if it does not come back.
        """
        self.lib.otx_power_on()
        if boot:
            self.boot()

    def mounted(self):
        """What the drive says of its start, as an `up` event of a history (docs/reference/history.md) has it; three
        QUERYs, unless it has not come up.
        """
        said = self.uart.strip().splitlines()
        up = {
            "mode": "closed" if not self.lib.otx_enabled() else "read-only" if "read-only" in self.uart else "open",
            "said": said[-1] if said else "",
        }
        if up["mode"] != "closed":
            up |= {
                "dropped": self.query(Query.DROPPED),
                "log_pages": self.query(Query.LOST_LOG_PAGES),
                "doubtful": self.query(Query.DOUBTFUL),
            }
        return up

    def trace(self, path):
        """Records all signals into an FST file until `trace(None)`; needs trace=True at the start.

        DriveError if that was not so or the file cannot be written.
        """
        if self.lib.otx_trace(path and str(path).encode()):
            raise DriveError(f"cannot write {path}")

    def idle(self, clocks=CLOSE_CLOCKS):
        """FLUSH, then lets clocks pass until nothing is under way; returns whether that came about.

        (Without a flush the open log page stays open.)
        """
        end = self.clock + clocks
        self.flush(check=False)
        while self.busy and self.clock < end and not self.step(100):
            pass
        return not self.busy

    def checkpoint(self, off=False, clocks=CLOSE_CLOCKS):
        """CHECKPOINT, and clocks until it has ended; returns whether it could be done. The next start replays what came
        after it, and what transactions that stay open have before. `off`: the power goes off next; after a `flush` and
        with nothing open the next start replays nothing.

        CommandError on a drive that takes no writes. DriveError if it has not ended after so many clocks.
        """
        number, end = self.command(Opcode.CHECKPOINT, arg=int(off)).result, self.clock + clocks
        while (ended := self.query(Query.HEALTH + HealthWord.ASKED_CHECKPOINT)) & 0xFF != number:
            if self.clock > end:
                raise DriveError(f"no checkpoint after {clocks} clocks")
            self.step(2000)
        return ended == number

    def close(self, clocks=CLOSE_CLOCKS):
        """Orderly power-down: FLUSH, RECOVER and a checkpoint before the power goes off, at most so many clocks until
        nothing is under way, and the drive is closed; returns whether it had become idle. Nothing may follow.
        """
        return self.lib.otx_close(clocks) == 0
