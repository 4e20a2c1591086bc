# SPDX-License-Identifier: Apache-2.0
"""`python3 tools/board_host.py COMMAND ...`: a PC drives the transactional SSD on a board, through the host port's CSRs
(soc/host_port.py).

Needs a running `litex_server` that reaches the board's bus and the board's build/<board>/csr.csv (--csr). `--help`
lists the commands; docs/boards.md shows a session.
Exit code 0: SUCCESS; 1: the drive's status is another one, or nobody answers, in one line; 2: wrong arguments, in one
line.

`HostLink` is the layer below: one command at a time over an object with `regs.<name>.read()` and `.write(value)`.
"""

import sys
from pathlib import Path

try:
    import click

    from opentxssd import BLOCK, MAX_BLOCKS, Opcode, Query, Status, TxState
except ImportError as e:
    sys.exit(f"board_host: {e}; source tools/env.sh first")

ROOT = Path(__file__).resolve().parent.parent

BEATS = BLOCK // 8
POLLS = 20_000  # without any progress: about 20 s at 115,200 baud


class LinkError(Exception):
    """Nobody answers, or something answers that this command did not ask for; one line of words."""


class StatusError(Exception):
    """The drive completed the command with another status than SUCCESS."""

    def __init__(self, opcode, status):
        super().__init__(f"{opcode.name}: {status.name}")
        self.status = status


class HostLink:
    """The host port of a board.

    A method returns when its command has completed; a status that is not SUCCESS is a StatusError.
    """

    def __init__(self, bus, polls=POLLS):
        self.bus, self.polls, self.tag = bus, polls, 0

    def get(self, name):
        return getattr(self.bus.regs, f"host_{name}").read()

    def put(self, name, value):
        getattr(self.bus.regs, f"host_{name}").write(value)

    def until(self, *names):
        """Polls these registers in turn; the name of the first that is not 0."""
        for _ in range(self.polls):
            for name in names:
                if self.get(name):
                    return name
        raise LinkError(f"the drive does not answer: {' and '.join(names)} stay 0")

    def run(self, opcode, lba=0, count=0, data=b"", txid=None, **flags):
        """One command.

        `data`: what a WRITE writes. Returns (result, {block: bytes}): result word, and what a READ delivered.
        """
        self.until("cmd_ready")
        tag, self.tag = self.tag, (self.tag + 1) % 32
        fields = dict(opcode=int(opcode), lba=lba, count=count, txid=txid or 0, hastx=int(txid is not None), tag=tag)
        for name in ("fua", "commit", "relaxed", "barrier", "orderless", "order", "priority", "stream", "arg"):
            fields[name] = int(flags.pop(name, 0))
        assert not flags, f"no field {', '.join(flags)}"
        for name, value in fields.items():
            self.put(f"cmd_{name}", value)
        self.put("cmd_go", 1)
        blocks = {}
        while True:
            event = self.until("wreq_valid", "rdata_valid", "cpl_valid")
            if event == "wreq_valid":
                block = self.head("wreq", tag)
                self.put("wdata_request", self.get("wreq_request"))
                self.put("wreq_pop", 1)
                if not block < len(data) // BLOCK:
                    raise LinkError(f"the drive asks for block {block} of a command with {len(data) // BLOCK}")
                self.send(data[block * BLOCK : (block + 1) * BLOCK])
            elif event == "rdata_valid":
                block = self.head("rdata", tag)
                blocks[block] = self.take(tag, block)
            else:
                status, result = Status(self.get("cpl_status")), self.get("cpl_result")
                if (got := self.get("cpl_tag")) != tag:
                    raise LinkError(f"the completion is of command {got}, not {tag}: reset the board")
                self.put("cpl_pop", 1)
                if status != Status.SUCCESS:
                    raise StatusError(opcode, status)
                return result, blocks

    def head(self, name, tag):
        """Block number at the head of a stream, which must belong to the command."""
        if (got := self.get(f"{name}_tag")) != tag:
            raise LinkError(
                f"{name} is of command {got}, not {tag}: an earlier client stopped half way, reset the board"
            )
        return self.get(f"{name}_block")

    def send(self, block):
        """4,096 bytes to the drive, as many beats at once as it says fit."""
        words = [int.from_bytes(block[i : i + 4], "little") for i in range(0, BLOCK, 4)]
        beat = 0
        while beat < BEATS:
            self.until("wdata_room")
            for _ in range(min(self.get("wdata_room"), BEATS - beat)):
                self.put("wdata_lo", words[2 * beat])
                self.put("wdata_hi", words[2 * beat + 1])
                beat += 1

    def take(self, tag, block):
        """The 512 beats of a block that has begun."""
        data = bytearray()
        for beat in range(BEATS):
            self.until("rdata_valid")
            place, last = (
                (self.get("rdata_tag"), self.get("rdata_block")) if beat in (0, BEATS - 1) else (tag, block),
                beat == BEATS - 1,
            )
            data += self.get("rdata_data_lo").to_bytes(4, "little") + self.get("rdata_data_hi").to_bytes(4, "little")
            if place != (tag, block) or last and not self.get("rdata_last"):
                raise LinkError(f"block {block} did not end at beat {BEATS}: reset the board")
            self.put("rdata_pop", 1)
        return bytes(data)

    def read(self, lba, count=1, **more):
        _, blocks = self.run(Opcode.READ, lba, count, **more)
        return b"".join(blocks[n] for n in range(count))

    def write(self, lba, data, **more):
        self.run(Opcode.WRITE, lba, len(data) // BLOCK, data, **more)


def report_text(bus):
    """What the firmware has said since the last time: the crossover UART's queue."""
    text = bytearray()
    while not bus.regs.uart_xover_rxempty.read():
        text.append(bus.regs.uart_xover_rxtx.read())
    return text.decode(errors="replace")


def connect(csr, port):
    from litex.tools.litex_client import RemoteClient

    class Client(RemoteClient):
        def receive_packet(self, socket, addr_size):
            packet = super().receive_packet(socket, addr_size)
            if packet == 0:  # LiteX would go on with zeroes
                raise LinkError("litex_server stopped answering")
            return packet

    bus = Client(port=port, csr_csv=str(csr))
    try:
        bus.open()
    except OSError as e:
        raise LinkError(f"no litex_server on port {port}") from e
    return bus


TXID = click.IntRange(0, 31)
LBA = click.IntRange(0, 2**32 - 1)
txid_option = click.option("--txid", type=TXID, help="in this transaction")


@click.group()
@click.option(
    "--csr",
    type=click.Path(exists=True, dir_okay=False),
    default=str(ROOT / "build/ecpix5/csr.csv"),
    help="register map of the board's build",
)
@click.option("--port", type=click.IntRange(1, 65535), default=1234, help="of litex_server")
@click.pass_context
def cli(context, csr, port):
    """Drives the transactional SSD on a board through its host port."""
    context.obj = context.obj or (lambda: connect(csr, port))  # later, so that wrong arguments are seen first


@cli.command()
@click.argument("lba", type=LBA)
@click.option("--count", type=click.IntRange(1, MAX_BLOCKS), default=1, help="blocks of 4,096 bytes")
@txid_option
@click.pass_obj
def read(bus, lba, count, txid):
    """Writes blocks to standard output."""
    sys.stdout.buffer.write(HostLink(bus()).read(lba, count, txid=txid))


@cli.command()
@click.argument("lba", type=LBA)
@click.argument("file", type=click.File("rb"))
@txid_option
@click.option("--fua", is_flag=True, help="return when durable")
@click.option("--commit", is_flag=True, help="commit --txid with this write")
@click.pass_obj
def write(bus, lba, file, txid, fua, commit):
    """Writes FILE, 1 to 32 blocks, as one command."""
    data = file.read()
    if len(data) % BLOCK or not 1 <= len(data) // BLOCK <= MAX_BLOCKS:
        raise click.UsageError(f"{file.name} has {len(data)} bytes, must be 1 to {MAX_BLOCKS} blocks of {BLOCK}")
    HostLink(bus()).write(lba, data, txid=txid, fua=fua, commit=commit)


@cli.command()
@click.argument("lba", type=LBA)
@click.argument("count", type=click.IntRange(1, MAX_BLOCKS))
@txid_option
@click.pass_obj
def trim(bus, lba, count, txid):
    """COUNT blocks read as zeroes afterwards."""
    HostLink(bus()).run(Opcode.TRIM, lba, count, txid=txid)


@cli.command()
@click.pass_obj
def flush(bus):
    """Returns when all completed writes are durable."""
    HostLink(bus()).run(Opcode.FLUSH)


@cli.command()
@click.pass_obj
def recover(bus):
    """Aborts every open transaction."""
    HostLink(bus()).run(Opcode.RECOVER)


def of_transaction(opcode, words):
    @cli.command(opcode.name.lower(), help=words)
    @click.argument("txid", type=TXID)
    @click.pass_obj
    def command(bus, txid):
        HostLink(bus()).run(opcode, txid=txid)


of_transaction(Opcode.BEGIN, "Opens transaction TXID.")
of_transaction(Opcode.ABORT, "Nothing of transaction TXID remains.")


@cli.command()
@click.argument("txid", type=TXID)
@click.option(
    "--relaxed",
    is_flag=True,
    help=(
        "return when visible; durable in commit order, at the latest with the next flush or commit that is not relaxed"
    ),
)
@click.pass_obj
def commit(bus, txid, relaxed):
    """Returns when transaction TXID is visible and durable."""
    HostLink(bus()).run(Opcode.COMMIT, txid=txid, relaxed=relaxed)


@cli.command()
@click.argument("what", type=click.Choice([q.name.lower() for q in Query]))
@txid_option
@click.pass_obj
def query(bus, what, txid):
    """Prints a state or counter; `tx` needs --txid."""
    if (what in ("tx", "tx_walk")) != (txid is not None):
        raise click.UsageError("--txid goes with 'query tx' and 'query tx_walk', and only with them")
    result, _ = HostLink(bus()).run(Opcode.QUERY, txid=txid, arg=Query[what.upper()])
    entries, before, state = result >> 16, result >> 8 & 31, TxState(result & 7).name if txid is not None else ""
    words = {
        "tx": f"{state}, {entries:,} entries",
        "tx_walk": f"{state}, {entries:,} entries wait, {before} transactions go before",
    }
    click.echo(words.get(what, f"{result:,}"))


@cli.command()
@click.pass_obj
def log(bus):
    """Prints what the firmware has said since the last time."""
    click.echo(report_text(bus()), nl=False)


def main(args, bus=None):
    """Exit code. `bus` instead of a connection to litex_server."""
    try:
        cli.main(args, prog_name="board_host.py", standalone_mode=False, obj=bus and (lambda: bus))
    except click.ClickException as e:
        print(f"board_host: {e.format_message()}".splitlines()[0], file=sys.stderr)
        return 2
    except (LinkError, StatusError, OSError) as e:
        print(f"board_host: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
