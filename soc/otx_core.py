# SPDX-License-Identifier: Apache-2.0
"""The generated `otx_core` as a LiteX module: its firmware port as CSRs, everything else as attributes.

`host[name]` are the endpoints of the host port, `table` and `frame` the AXI4 masters for the two memories, `nand` the
pins. `firmware_go` queues the operation in the `firmware_*` registers (8 deep, `firmware_ready`: one more fits);
`firmware_done_pop` drops the head of the done queue (16 deep). A block written to `free_block` or `log_block` is taken
while its room bit is set; room bits read 0 while an earlier one is still on its way. Reset is the SoC's.
"""

from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import CSRStatus, CSRStorage
from migen import Cat, ClockSignal, Instance, Mux, ResetSignal, Signal

from soc import streams
from soc.write_only import CSRWriteOnly

# What a register means; `docs/reference/registers.md` is made from these (tools/registers.py).
MEANS = {
    "firmware_op": 'Operation of the NAND channel (docs/interfaces.md, "NAND channel").',
    "firmware_ppn": (
        "Page: {channel, way, block, page}; for ERASE any of the block, for what is no page's any of the die."
    ),
    "firmware_frame": "Frame that a PROGRAM writes or a READ fills.",
    "firmware_kind": "Page kind in the OOB of a PROGRAM; READ_ID: its address; SET and GET FEATURES: the feature.",
    "firmware_lpn": "LPN in the OOB of a PROGRAM; SET FEATURES: the four bytes.",
    "firmware_seq_lo": "Sequence in the OOB, bits 31:0.",
    "firmware_seq_hi": "Sequence in the OOB, bits 47:32.",
    "firmware_cookie": "Comes back with the result.",
    "firmware_done_valid": "The done queue has a result; the registers below are its head.",
    "firmware_done_cookie": "Cookie of the operation.",
    "firmware_done_status": 'Status of the operation (docs/interfaces.md, "NAND channel").',
    "firmware_done_kind": "Page kind read; STATUS: the byte.",
    "firmware_done_generation": "Generation in the OOB that was read.",
    "firmware_done_lpn": "LPN in the OOB that was read; GET FEATURES: the four bytes.",
    "firmware_done_seq_lo": "Sequence in the OOB that was read, bits 31:0.",
    "firmware_done_seq_hi": "Sequence in the OOB that was read, bits 47:32.",
    "free_block_room_hi": "The same of dies 32 to 63.",
    "log_block_lane": "Lane of the next log_block.",
    "bad_block_valid": "A program failed in a block: bad_block names it.",
    "move_lpn": "LPN of the page that firmware has copied.",
    "move_old": "Page that was copied.",
    "move_new": "Its copy.",
    "move_seq_lo": "Sequence of the copy, bits 31:0.",
    "move_seq_hi": "Sequence of the copy, bits 47:32.",
    "weak_page_valid": "weak_page names one.",
    "enable": "The mount has ended: commands are taken.",
    "full": "No more blocks will come for data.",
    "log_full": "Bit l: no more blocks will come for lane l.",
    "read_only": "Set before enable: no write is taken.",
    "generation": "Of this session, in every OOB that is programmed.",
    "drive_id": "Of this drive, in every log page.",
    "dropped": "Commands that the recovery could not bring back; QUERY DROPPED answers it.",
    "lost_log_pages": "Log pages that the recovery could not read; QUERY LOST_LOG_PAGES.",
    "doubtful": "Blocks whose newest version the recovery could not read; QUERY DOUBTFUL.",
    "cost_benefit": "Victims of collection: 0, fewest live pages; 1, most benefit for the cost.",
    "idle_dies": "Pages of data are those of dies that have the least to do; 0: dies in turn.",
    "nand_mode": "SDR timing mode of all channels, 0 to 5; 6: the part's own times.",
    "nand_capabilities": (
        "What may be used of the part: bit 0 cache program, 1 cache read, 2 several planes, 3 READ STATUS ENHANCED "
        "(78h), 6:4 read levels."
    ),
    "alloc_left": "Pages that the allocator will still give.",
    "log_left": "Log pages that still have a place.",
    "log_pages": "Log pages begun in this session.",
    "log_head_lo": "Index of the next log entry, behind the group that is open, bits 31:0.",
    "log_head_hi": "Index of the next log entry, behind the group that is open, bits 47:32.",
    "log_mark_lo": "Completeness watermark, bits 31:0: all entries below it are complete.",
    "log_mark_hi": "Completeness watermark, bits 47:32.",
    "log_durable_mark_lo": (
        "A watermark that stands in a durable log page, and before which nothing waited in the write buffer, bits 31:0."
    ),
    "log_durable_mark_hi": "As log_durable_mark_lo, bits 47:32.",
    "live_block": "A write asks for the live pages of this block.",
    "live_count": "Live pages of the block that was asked for; a write sets them (before enable).",
    "live_valid": "live_answer is that of the block that was asked for.",
    "live_answer": "Pages of the block that are in use or may come into use.",
    "live_word": "Which 32 pages of the block live_pages shows.",
    "live_pages": "Bit n: page 32 * live_word + n is one of those of live_answer, or it is not known.",
    "page_clocks": "Clocks that a block of a WRITE costs, in which no other WRITE leaves the queue. 0: no limit.",
    "class_turns": (
        "Weights of LOW, MEDIUM and HIGH less one, 4 bits each; 17:12: a class that so many commands of others have "
        "passed, and 3 more, is old."
    ),
    "buffer_limit": "So many frames may wait in the write buffer before the oldest are written; 0: none waits.",
    "host_timeout": (
        "A WRITE whose data does not come ends as ABORTED after so many times 256 clocks, and up to 257 more; 0: never."
    ),
    "persist_order": "Persist order (PersistOrder). Before enable.",
    "plp_rounds": "So many programs of each die are done when the power fails; 0: no PLP. Before enable.",
    "frames_kept": "Write frames that stay free, because there is no energy to save what would be in them.",
    "dumping": "The power fails: what is held goes to NAND, and no command is taken.",
    "live_scan": "A write asks which of the 32 blocks from this one on have live pages.",
    "live_mask_valid": "live_mask is the answer.",
    "live_mask": "Bit n: block n of those has live pages.",
    "map_frame": "Frame of the next map_op.",
    "map_page": "Page of the map of the next map_op.",
    "map_entries": "APPLY: bits 6:0 the first entry, 13:7 the one behind the last.",
    "map_op": "A write starts it (MapOpcode). Only before enable, and while bit 0 of map_state is 0.",
    "map_state": (
        "Bit 0: it is under way; of the last one, bit 1: a word that may not be there, or an error of a memory; bit 2: "
        "a word of the page is not NONE; bits 14:8: the entry at which APPLY has stopped."
    ),
    "map_changed_set": "A write: the map page of this number counts as changed. Before enable.",
    "map_changed_ask": (
        "A write asks which of the 32 map pages from 32 * bits 12:0 on may have changed since their bits were taken; "
        "bit 13: takes them."
    ),
    "map_changed_valid": "map_changed is the answer.",
    "map_changed": "Bit n: map page n of those may have changed.",
    "reads_turn": "A write: reads that begin from now on are new. Only while reads_old is 0.",
    "reads_old": "A read that began before the last turn is under way.",
    "tx_ask": "A write asks for the first log entry of this txid.",
    "tx_open": "The txid that was asked for is not FREE and has an entry.",
    "tx_first_lo": "Index of its first log entry, bits 31:0.",
    "tx_first_hi": "Index of its first log entry, bits 47:32.",
    "tx_prepared_entries": "Entries of the transaction that tx_prepared names.",
    "tx_prepared": (
        "A write before enable: this txid is PREPARED, in its first use, with tx_prepared_entries entries; its table "
        "and chains are in table memory."
    ),
    "lookup": "A write asks for the committed version of this LPN.",
    "lookup_valid": "lookup_word is the answer.",
    "lookup_word": "Its map word, of kind NONE, NAND or BUF.",
    "log_note": (
        "A write appends an entry that means nothing, and makes the log durable past it; 1: also in what is "
        "reserved of the log, and then one that waits does so, too; 0: only while log_noting is 0."
    ),
    "health_index": "Number of the next health_word.",
    "health_word": "A write: QUERY HEALTH + health_index answers it.",
    "log_noting": "A note is not appended yet.",
    "log_place_take": "A write captures where the log goes on.",
    "log_place_lane": "Lane whose place the registers log_place_block and log_place_row show.",
    "log_place_page": "The first log page that has no place yet.",
    "log_place_first_lo": "Index of its first entry, bits 31:0.",
    "log_place_first_hi": "Index of its first entry, bits 47:32.",
    "log_place_block": "Block of the lane's next page.",
    "log_place_row": "Page in that block.",
    "released": "NAND pages that fell out of use.",
    "commits": "COMMITs that completed.",
    "data_pages": "Pages that were sent to NAND for hosts.",
    "memory_errors": "Errors of table memory that the remap engine has met; 65,535: that or more.",
    "moving": "Bit 0: a page that was handed over has not found its place in log and map yet; bit 1: the log may have "
    "it.",
    "page_wanted": "A page that could not be programmed waits for another place, and no erased page is left.",
    "asked": "The last CHECKPOINT of the host: bits 7:0 how many there were, bit 8 its `arg`.",
    "log_dirty": "An entry below log_head is not durable, or not complete, or a frame waits in the write buffer.",
    "buffered": "A plain frame that the map names, or is about to, has no entry in the log yet.",
    "fault": "The log has stopped: writes are refused until the next power-up.",
    "busy": "A command, a NAND operation or a walk is under way.",
}
OP_QUEUE, DONE_QUEUE, BLOCK_QUEUE, MOVE_QUEUE = 8, 16, 2, 2
TABLE_IDS, TABLE_BITS = 6, 128
FRAME_IDS = 6


class OtxCore(LiteXModule):
    def __init__(self, g):
        self.host = {name: streams.endpoint(layout) for name, layout, _ in streams.HOST}
        self.table = streams.axi_port(TABLE_IDS, TABLE_BITS)
        self.frame = streams.axi_port(FRAME_IDS)
        self.nand = {name: Signal(width, name=f"core_nand_{name}") for name, width, _ in streams.nand_layout(g)}
        self.power_fail = Signal()  # docs/decisions/040-plp.md; a board without a capacitor leaves it low
        ports = {"i_clk": ClockSignal("sys"), "i_reset": ResetSignal("sys"), "i_power_fail": self.power_fail}
        for name, layout, taken in streams.HOST:
            ports |= streams.stream_ports(name, self.host[name], layout, taken)
        ports |= streams.axi_ports("table", self.table) | streams.axi_ports("frame", self.frame)
        ports |= {
            ("o_" if driven else "i_") + f"nand_{name}": self.nand[name] for name, _, driven in streams.nand_layout(g)
        }
        ports |= self.operations() | self.blocks(g) | self.failing() | self.weak(g) | self.reclaim() | self.state(g)
        self.specials += Instance("otx_core", **ports)

    def operations(self):
        """NAND operations of the firmware and their results."""
        for name, width, *_ in streams.registers(streams.FIRMWARE_OP):
            setattr(
                self,
                f"firmware_{name}",
                CSRWriteOnly(width, name=f"firmware_{name}", description=MEANS[f"firmware_{name}"]),
            )
        self.firmware_go = CSRWriteOnly(
            1, name="firmware_go", description="A write starts the operation in the firmware registers."
        )
        self.firmware_ready = CSRStatus(1, name="firmware_ready", description="One more operation fits.")
        ops = self.firmware_ops = stream.SyncFIFO(streams.FIRMWARE_OP, OP_QUEUE)
        done = self.firmware_dones = stream.SyncFIFO(streams.FLASH_DONE, DONE_QUEUE)
        self.comb += ops.sink.valid.eq(self.firmware_go.re)
        for field, _ in streams.FIRMWARE_OP:
            self.comb += getattr(ops.sink, field).eq(self.stored("firmware", field, streams.FIRMWARE_OP))
        self.comb += self.firmware_ready.status.eq(ops.sink.ready)
        head = done.source
        parts = [("valid", head.valid)]
        for name, width, field, first in streams.registers(streams.FLASH_DONE):
            value = getattr(head, field)
            parts.append((name, value[first : first + width] if width < len(value) else value))
        for name, value in parts:
            register = CSRStatus(len(value), name=f"firmware_done_{name}", description=MEANS[f"firmware_done_{name}"])
            setattr(self, f"firmware_done_{name}", register)
            self.comb += register.status.eq(value)
        self.firmware_done_pop = CSRWriteOnly(
            1, name="firmware_done_pop", description="A write drops the head of the done queue."
        )
        self.comb += head.ready.eq(self.firmware_done_pop.re)
        return (
            streams.stream_ports("firmware_op", ops.source, streams.FIRMWARE_OP, True)
            | streams.stream_ports("firmware_done", done.sink, streams.FLASH_DONE, False)
            | {"i_firmware_op_payload_priority": 0}  # firmware has a queue of its own
        )

    def stored(self, prefix, field, fields):
        """What the registers of a field hold."""
        parts = [
            getattr(self, f"{prefix}_{name}").storage for name, _, of, _ in streams.registers(fields) if of == field
        ]
        return Cat(*parts) if len(parts) > 1 else parts[0]

    def blocks(self, g):
        """Erased blocks on their way to the allocator and to the log."""
        self.free_block = CSRWriteOnly(24, name="free_block", description="A write hands over an erased data block.")
        self.free_block_room_lo = CSRStatus(
            32, name="free_block_room_lo", description="Bit d: one more block of die d fits."
        )
        self.free_block_room_hi = CSRStatus(32, name="free_block_room_hi", description=MEANS["free_block_room_hi"])
        self.log_block_lane = CSRWriteOnly(2, name="log_block_lane", description=MEANS["log_block_lane"])
        self.log_block = CSRWriteOnly(
            24, name="log_block", description="A write hands over an erased block for the log lane in log_block_lane."
        )
        self.log_block_room = CSRStatus(
            g.lanes, name="log_block_room", description="Bit l: one more block of lane l fits."
        )
        free = self.free_blocks = stream.SyncFIFO(streams.BLOCK, BLOCK_QUEUE)
        log = self.log_blocks = stream.SyncFIFO(streams.LOG_BLOCK, BLOCK_QUEUE)
        free_room, log_room, free_bits = Signal(g.dies), Signal(g.lanes), Signal(64)
        self.comb += [
            free.sink.valid.eq(self.free_block.re),
            free.sink.block.eq(self.free_block.storage),
            log.sink.valid.eq(self.log_block.re),
            log.sink.lane.eq(self.log_block_lane.storage),
            log.sink.block.eq(self.log_block.storage),
            free_bits.eq(Mux(free.source.valid, 0, free_room)),
            self.free_block_room_lo.status.eq(free_bits[:32]),
            self.free_block_room_hi.status.eq(free_bits[32:]),
            self.log_block_room.status.eq(Mux(log.source.valid, 0, log_room)),
        ]
        return (
            streams.stream_ports("free_block", free.source, streams.BLOCK, True, bare="block")
            | streams.stream_ports("log_block", log.source, streams.LOG_BLOCK, True)
            | {"o_free_block_room": free_room, "o_log_block_room": log_room}
        )

    def failing(self):
        """Blocks in which a program failed, and pages that the firmware copied out of them."""
        self.bad_block = CSRStatus(24, name="bad_block", description="The oldest block in which a program failed.")
        self.bad_block_valid = CSRStatus(1, name="bad_block_valid", description=MEANS["bad_block_valid"])
        self.bad_block_pop = CSRWriteOnly(1, name="bad_block_pop", description="A write takes it.")
        event = stream.Endpoint(streams.BLOCK)
        self.comb += [
            self.bad_block.status.eq(event.block),
            self.bad_block_valid.status.eq(event.valid),
            event.ready.eq(self.bad_block_pop.re),
        ]
        for name in ["lpn", "old", "new", "seq_lo", "seq_hi"]:
            setattr(
                self,
                f"move_{name}",
                CSRWriteOnly(16 if name == "seq_hi" else 32, name=f"move_{name}", description=MEANS[f"move_{name}"]),
            )
        self.move_go = CSRWriteOnly(
            1, name="move_go", description="A write hands over the copied page in the move registers."
        )
        self.move_ready = CSRStatus(1, name="move_ready", description="One more copied page fits.")
        moves = self.moves = stream.SyncFIFO(streams.PAGE_MOVE, MOVE_QUEUE)
        self.comb += [
            moves.sink.valid.eq(self.move_go.re),
            moves.sink.lpn.eq(self.move_lpn.storage),
            moves.sink.source.eq(self.move_old.storage),
            moves.sink.target.eq(self.move_new.storage),
            moves.sink.sequence.eq(Cat(self.move_seq_lo.storage, self.move_seq_hi.storage)),
            self.move_ready.status.eq(moves.sink.ready),
        ]
        return streams.stream_ports("bad_block", event, streams.BLOCK, False, bare="block") | streams.stream_ports(
            "move", moves.source, streams.PAGE_MOVE, True
        )

    def weak(self, g):
        """Pages that the host has read, or the firmware verified, with many corrected bits, for the firmware to write
        them again.
        """
        self.weak_page = CSRStatus(
            30, name="weak_page", description="The oldest page that was read or verified with many corrected bits."
        )
        self.weak_page_valid = CSRStatus(1, name="weak_page_valid", description=MEANS["weak_page_valid"])
        self.weak_page_pop = CSRWriteOnly(1, name="weak_page_pop", description="A write takes it.")
        many = (
            f"So many corrected bits in a chunk are many; 0: no page is reported, above {g.ecc_t}: only one that was "
            "read again at another read level."
        )
        self.refresh_at = CSRWriteOnly(g.corrected_bits, reset=g.refresh_at, name="refresh_at", description=many)
        self.corrected_reads = CSRStatus(
            16,
            name="corrected_reads",
            description="Pages read by the host, or verified, with corrected bits; 65,535: that or more.",
        )
        self.weak_reads = CSRStatus(16, name="weak_reads", description="Those of them with many, reported or not.")
        if g.read_retries:
            self.retried_reads = CSRStatus(
                16,
                name="retried_reads",
                description="Of those with many, pages that were whole only at another read level.",
            )
        page = stream.Endpoint(streams.PAGE)
        self.comb += [
            self.weak_page.status.eq(page.ppn),
            self.weak_page_valid.status.eq(page.valid),
            page.ready.eq(self.weak_page_pop.re),
        ]
        counts = {"o_corrected_reads": self.corrected_reads.status, "o_weak_reads": self.weak_reads.status}
        if g.read_retries:
            counts["o_retried_reads"] = self.retried_reads.status
        return (
            streams.stream_ports("weak_page", page, streams.PAGE, False, bare="ppn")
            | {"i_refresh_at": self.refresh_at.storage}
            | counts
        )

    def reclaim(self):
        """What garbage collection and checkpoints ask for."""
        ports = {}

        def storage(name, width):
            register = CSRWriteOnly(width, name=name, description=MEANS[name])
            setattr(self, name, register)
            return register

        def ask(name, width, port):
            """A register whose write is a beat of a flow."""
            register = storage(name, width)
            ports[f"i_{port}_valid"], ports[f"i_{port}_payload"] = register.re, register.storage

        def strobe(name, port):
            ports[f"i_{port}"] = storage(name, 1).re

        def status(name, width, port):
            register = CSRStatus(width, name=name, description=MEANS[name])
            setattr(self, name, register)
            ports[f"o_{port}"] = register.status

        def wide(name, port):
            value = Signal(48)
            for half, bits in [("lo", value[:32]), ("hi", value[32:])]:
                register = CSRStatus(len(bits), name=f"{name}_{half}", description=MEANS[f"{name}_{half}"])
                setattr(self, f"{name}_{half}", register)
                self.comb += register.status.eq(bits)
            ports[f"o_{port}"] = value

        ask("live_block", 24, "live_ask")
        ask("live_count", 16, "live_set")
        status("live_valid", 1, "live_count_valid")
        status("live_answer", 16, "live_count_payload")
        ports["i_live_word"] = storage("live_word", 4).storage
        status("live_pages", 32, "live_pages")
        ports["i_page_clocks"] = storage("page_clocks", 20).storage
        ports["i_class_turns"] = storage("class_turns", 18).storage
        ports["i_buffer_limit"] = storage("buffer_limit", 16).storage
        ports["i_host_timeout"] = storage("host_timeout", 20).storage
        ports["i_persist_order"] = storage("persist_order", 2).storage
        ports["i_plp_rounds"] = storage("plp_rounds", 16).storage
        status("frames_kept", 16, "frames_kept")
        status("dumping", 1, "dumping")
        ask("live_scan", 24, "live_scan")
        status("live_mask_valid", 1, "live_mask_valid")
        status("live_mask", 32, "live_mask_payload")
        task = "map_task_payload"
        ports[f"i_{task}_frame"] = storage("map_frame", 16).storage
        ports[f"i_{task}_page"] = storage("map_page", 18).storage
        entries = storage("map_entries", 14).storage
        ports[f"i_{task}_first"], ports[f"i_{task}_end"] = entries[:7], entries[7:]
        op = storage("map_op", 3)
        ports["i_map_task_valid"], ports[f"i_{task}_op"] = op.re, op.storage
        state = self.map_state = CSRStatus(15, name="map_state", description=MEANS["map_state"])
        for name, bits in [("busy", slice(0, 1)), ("bad", slice(1, 2)), ("any", slice(2, 3)), ("stop", slice(8, 15))]:
            ports[f"o_map_state_{name}"] = signal = Signal(bits.stop - bits.start)
            self.comb += state.status[bits].eq(signal)
        ask("map_changed_set", 18, "changed_set")
        asked = storage("map_changed_ask", 14)
        ports["i_changed_ask_valid"], ports["i_changed_ask_payload"] = asked.re, asked.storage[:13]
        ports["i_changed_take"] = asked.storage[13]
        status("map_changed_valid", 1, "changed_pages_valid")
        status("map_changed", 32, "changed_pages_payload")
        strobe("reads_turn", "reads_turn")
        status("reads_old", 1, "reads_old")
        ask("tx_ask", 5, "tx_ask")
        status("tx_open", 1, "tx_open")
        wide("tx_first", "tx_first")
        ports["i_prepared_payload_entries"] = storage("tx_prepared_entries", 16).storage
        txid = storage("tx_prepared", 5)
        ports["i_prepared_valid"], ports["i_prepared_payload_txid"] = txid.re, txid.storage
        ask("lookup", 32, "lookup")
        status("lookup_valid", 1, "found_valid")
        status("lookup_word", 32, "found_payload")
        note = storage("log_note", 1)
        ports["i_note"], ports["i_note_urgent"] = note.re, note.storage
        ports["i_health_payload_index"] = storage("health_index", 5).storage
        word = storage("health_word", 32)
        ports["i_health_valid"], ports["i_health_payload_word"] = word.re, word.storage
        status("log_noting", 1, "noting")
        strobe("log_place_take", "log_place_capture")
        ports["i_log_place_lane"] = storage("log_place_lane", 2).storage
        status("log_place_page", 32, "log_place_page")
        wide("log_place_first", "log_place_first")
        status("log_place_block", 24, "log_place_block")
        status("log_place_row", 16, "log_place_row")
        for name in ["log_head", "log_mark", "log_durable_mark"]:
            wide(name, name)
        return ports

    def state(self, g):
        """Control and state registers: one port each."""
        ports = {}
        nand = [("nand_mode", 3), ("nand_capabilities", 7 if g.read_retries else 4)]
        recovery = [(name, 32) for name in ["dropped", "lost_log_pages", "doubtful"]]  # what QUERY says of it
        controls = [
            ("enable", 1),
            ("full", 1),
            ("log_full", g.lanes),
            ("read_only", 1),
            ("generation", 32),
            ("drive_id", 32),
            *recovery,
            ("idle_dies", 1),
            *nand,
        ]
        # for firmware alone
        self.cost_benefit = CSRStorage(1, name="cost_benefit", description=MEANS["cost_benefit"])
        for name, width in controls:
            register = CSRWriteOnly(width, name=name, description=MEANS[name])
            setattr(self, name, register)
            ports[f"i_{name}"] = register.storage
        states = [
            (name, 32) for name in ["alloc_left", "log_left", "log_pages", "released", "commits", "data_pages"]
        ] + [
            ("memory_errors", 16),
            ("fault", 1),
            ("asked", 9),
            ("log_dirty", 1),
            ("buffered", 1),
            ("moving", 2),
            ("page_wanted", 1),
            ("busy", 1),
        ]
        for name, width in states:
            register = CSRStatus(width, name=name, description=MEANS[name])
            setattr(self, name, register)
            ports[f"o_{name}"] = register.status
        return ports
