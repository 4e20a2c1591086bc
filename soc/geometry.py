# SPDX-License-Identifier: Apache-2.0
"""The geometry of a drive: every parameter in one place, checked in words.

`python3 soc/geometry.py PRESET OUTDIR` writes `geometry.properties` (SpinalHDL) and `otx_geometry.h` (firmware,
simulator), and what soc/facts.py does.
`python3 soc/geometry.py` lists the presets. Wrong arguments and wrong parameters: one line, exit code 2.
"""

import sys
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

try:
    from soc import facts
except ImportError:  # run as a script, without tools/env.sh
    import facts

NUMBERS = facts.numbers()
# of the spare bytes: fields, checksum and what the last chunk has beside them
PAGE_BYTES, FIELD_BYTES = NUMBERS["BLOCK"], NUMBERS["FIELD_BYTES"]
# wrong bits of a chunk that can be corrected: chunks of a page, parity bytes of each (rtl/ecc/otx_page_pkg.sv)
CODES = {8: (8, 13), 24: (4, 42)}
TXIDS, TX_STRIDE, TX_ENTRY_BYTES, LOG_FRAMES = (
    NUMBERS["TXIDS"],
    1 << NUMBERS["TX_STRIDE_BITS"],
    NUMBERS["TX_ENTRY_BYTES"],
    NUMBERS["LOG_FRAMES"],
)
WORK_FRAMES = 11  # FTL_WORK_FRAMES of ftl.h
UNCACHED = 0x8000_0000  # from here on the processor has no cache
# when the power fails: programs of the queue of a die (FlashQueueDepth of WayQueue.scala) and programs that may fail
PLP_QUEUE, PLP_FAILING = 8, 2
KEPT_BLOCKS = 12  # for roots and bad-block table: FTL_KEPT_BLOCKS of ftl_blocks.h


class GeometryError(ValueError):
    """A parameter is wrong; the text says which and what would be right."""


@dataclass(frozen=True)
class NandTiming:
    """Times of a part in nanoseconds, names as in ONFI 4.0 section 4.18 (see docs/boards.md for sources)."""

    t_wp: int = 12
    t_wh: int = 10
    t_wc: int = 25
    t_rp: int = 12
    t_reh: int = 10
    t_rc: int = 25
    t_rea: int = 20
    t_cls: int = 12
    t_clh: int = 5
    t_cs: int = 20
    t_ch: int = 5
    t_als: int = 12
    t_alh: int = 5
    t_ds: int = 12
    t_dh: int = 5
    t_adl: int = 100
    t_whr: int = 60
    t_rhw: int = 100
    t_wb: int = 100
    t_rr: int = 20
    t_io: int = 5  # of pads and board, there and back: not the part's
    t_r: int = 25_000
    t_prog: int = 200_000
    t_prog_max: int = 700_000
    t_bers: int = 1_500_000
    t_bers_max: int = 2_000_000
    t_rst: int = 5_000
    t_rst_max: int = 500_000
    t_susp: int = 0  # longest time to suspend a program or erase; 0: the part cannot


K9F8G08 = NandTiming()
# Bus times of ONFI 4.0 SDR mode 5 and a short array; tREA leaves 4 ns for pads and board, so a page takes 2 clocks a
# byte at 100 MHz. For simulation only.
MODE_5 = dict(
    t_wp=10,
    t_wh=7,
    t_wc=20,
    t_rp=10,
    t_reh=7,
    t_rc=20,
    t_rea=16,
    t_cls=10,
    t_cs=15,
    t_als=10,
    t_ds=7,
    t_adl=400,
    t_whr=80,
    t_io=4,
)
QUICK = replace(K9F8G08, **MODE_5, t_r=1_000, t_prog=10_000, t_bers=10_000)
SHORT = replace(QUICK, t_r=500, t_prog=5_000, t_bers=5_000, t_rst=1_000)
SUSPENDS = replace(QUICK, t_susp=1_000)


@dataclass(frozen=True)
class Geometry:
    """One drive. Capacities in 4 KiB pages, addresses in bytes as the RISC-V sees them."""

    preset: str
    channels: int
    ways: int
    blocks_per_way: int
    pages_per_block: int
    lbas: int
    write_frames: int = 128
    read_frames: int = 64
    firmware_frames: int = 24
    flash_priorities: int = 1  # 0: log pages first, then reads and all else in turn (to compare)
    cost_benefit: int = 0  # 1: victims of collection by benefit and cost instead of fewest pages (a register)
    # so much of the write frames may wait in the write buffer before the oldest are written (a register); 0: each is
    # written at once
    buffer_percent: int = 0
    # a WRITE whose host sends no data for so many microseconds is ABORTED (a register); 0: it waits for ever
    host_timeout_us: int = 100_000
    # turns of the priority classes of commands in a round, beside URGENT; a class is old, and goes before all, when so
    # many commands of others have gone before it (a register)
    high_weight: int = 8
    medium_weight: int = 4
    low_weight: int = 2
    class_patience: int = 32
    # microseconds for which a capacitor holds the drive up after power fails (PLP, a register); 0: there is none. What
    # one program of each die takes then, transfers of the pages too; 0: computed
    plp_us: int = 0
    plp_page_ns: int = 0
    persist_order: int = 0  # PersistOrder (a register)
    idle_dies: int = 1  # 0: data goes to the dies in turn, and all of them may be erased at once (to compare)
    scramble: int = 0  # 1: the data bytes of a page are stored XOR a key of its row
    ecc_t: int = 8  # wrong bits that are corrected: 8 in each 512 data bytes, or 24 in each 1,024
    spare_bytes: int = 128  # of a page of the simulated part
    # so many dies may be absent when the drive is formatted: it runs without them for good, with all of its capacity
    missing_dies: int = 0
    checkpoint_pages: int = 256  # a checkpoint is made when the log since the last one is so many pages long (1 MiB)
    patrol_us: int = 100_000  # an idle drive looks at a page for wrong bits every so many microseconds; 0: it does not
    cache_ops: int = 0  # 1: cache read and cache program of a part that lists them; the simulated ONFI part does
    # read retry levels that are tried (feature 89h) of a part that lists them, 0 to 7; 0: a page that cannot be read is
    # not read again
    read_retries: int = 0
    planes: int = 1  # of an ONFI part whose planes program and erase together, by the lowest bits of a block: 2 or 4
    tx_entries: int = 60_000
    commands: int = 32  # that a host may have under way, 32 or 256
    queue_slots: int = 32  # of them in the command queue, which choose among each other: 8, 16 or 32
    front_end: str = "port"  # what stands before the core: "port", its host port as it is, or "nvme"
    cpu_model: int = 0  # 1, in simulation only: the firmware is run by sim/cpu in a fraction of VexRiscv's clocks
    clock_mhz: int = 100
    table_latency: int = 8  # clocks of the simulated memories, request to first beat
    frame_latency: int = 8
    table_base: int = 0x8000_0000
    frame_base: int = 0xA000_0000
    nand_id: str = "ecd310a664"  # the part whose own times are `timing`; what the simulated one answers
    nand_onfi: int = 0  # 1: the simulated part is an ONFI one
    nand_modes: int = 0x3F  # bit m: SDR timing mode m may be used on this board; the simulated ONFI part has these
    timing: NandTiming = field(default=K9F8G08)

    def __post_init__(self):
        def need(ok, words):
            if not ok:
                raise GeometryError(f"preset {self.preset}: {words}")

        need(1 <= self.channels <= 8, f"channels is {self.channels}, must be 1 to 8")
        need(1 <= self.ways <= 8, f"ways is {self.ways}, must be 1 to 8")
        ppb = self.pages_per_block
        need(ppb >= 8 and ppb & (ppb - 1) == 0, f"pages_per_block is {ppb}, must be a power of two, 8 or more")
        need(
            self.lanes * ppb >= 16,
            f"the log's {self.lanes} lanes have {self.lanes * ppb} pages in a block each, must be 16 or more: what is "
            "kept of the log for the end must fit into the blocks ahead",
        )
        need(self.blocks_per_way >= 16, f"blocks_per_way is {self.blocks_per_way}, must be 16 or more")
        need(self.ppn_bits <= 30, f"a page number takes {self.ppn_bits} bits, at most 30 fit in a map word")
        need(self.lbas >= 64, f"lbas is {self.lbas}, must be 64 or more")
        need(self.lbas <= 1 << 28, f"lbas is {self.lbas}, at most 2^28 (1 TiB)")
        need(0 <= self.missing_dies < self.dies, f"missing_dies is {self.missing_dies}, must be 0 to {self.dies - 1}")
        pages = self.raw_pages - self.missing_dies * self.blocks_per_way * ppb
        spare, without = pages - self.lbas, f" without {self.missing_dies} of the dies" if self.missing_dies else ""
        need(
            spare >= pages // 16 + KEPT_BLOCKS * ppb,
            f"{self.lbas} blocks of capacity leave {spare} of {pages} pages spare{without}, "
            f"at least one sixteenth and {KEPT_BLOCKS} blocks ({pages // 16 + KEPT_BLOCKS * ppb}) are needed for log, "
            "map, roots and bad-block table",
        )
        most = NUMBERS["MAX_BLOCKS"]
        need(
            self.write_frames >= most,
            f"write_frames is {self.write_frames}, must be {most} or more: one WRITE has up to {most} blocks",
        )
        need(self.read_frames >= 1, f"read_frames is {self.read_frames}, must be 1 or more")
        sets = (
            4 * -(-self.dies * -(-self.blocks_per_way // 32) // 1024)
            + -(-self.dies * self.blocks_per_way // 1024)
            + WORK_FRAMES
        )
        need(
            self.firmware_frames >= sets,
            f"firmware_frames is {self.firmware_frames}, must be {sets} or more: four sets of blocks, erase counts "
            f"and {WORK_FRAMES} frames to work with",
        )
        need(8 <= self.checkpoint_pages <= 65536, f"checkpoint_pages is {self.checkpoint_pages}, must be 8 to 65536")
        need(self.flash_priorities in (0, 1), f"flash_priorities is {self.flash_priorities}, must be 0 or 1")
        need(0 <= self.buffer_percent <= 95, f"buffer_percent is {self.buffer_percent}, must be 0 to 95")
        need(
            0 <= self.host_timeout < 1 << 20,
            f"host_timeout_us is {self.host_timeout_us}, must be 0 to {((1 << 20) - 1) * 256 // self.clock_mhz}",
        )
        for name in ("high_weight", "medium_weight", "low_weight"):
            need(1 <= getattr(self, name) <= 16, f"{name} is {getattr(self, name)}, must be 1 to 16")
        need(3 <= self.class_patience <= 66, f"class_patience is {self.class_patience}, must be 3 to 66")
        need(0 <= self.persist_order <= 2, f"persist_order is {self.persist_order}, must be 0, 1 or 2")
        need(self.plp_us >= 0 and self.plp_page_ns >= 0, "plp_us and plp_page_ns must be 0 or more")
        need(not self.plp_us or self.flash_priorities, "plp_us needs flash_priorities 1")
        least = -(-(self.plp_base_ns + most * self.plp_round_ns) // 1000)
        need(
            not self.plp_us or self.plp_rounds >= most,
            f"plp_us is {self.plp_us}, must be 0 or {least} or more: one WRITE has up to {most} blocks, and all may go "
            "to one die",
        )
        need(self.cost_benefit in (0, 1), f"cost_benefit is {self.cost_benefit}, must be 0 or 1")
        need(self.idle_dies in (0, 1), f"idle_dies is {self.idle_dies}, must be 0 or 1")
        need(self.front_end in ("port", "nvme"), f"front_end is '{self.front_end}', must be 'port' or 'nvme'")
        need(self.cpu_model in (0, 1), f"cpu_model is {self.cpu_model}, must be 0 or 1")
        need(self.scramble in (0, 1), f"scramble is {self.scramble}, must be 0 or 1")
        need(self.ecc_t in CODES, f"ecc_t is {self.ecc_t}, must be 8 (wrong bits in 512 bytes) or 24 (in 1,024)")
        need(
            self.spare_bytes >= self.spare_used,
            f"spare_bytes is {self.spare_bytes}, must be {self.spare_used} or more, which ecc_t {self.ecc_t} uses",
        )
        need(self.cache_ops in (0, 1), f"cache_ops is {self.cache_ops}, must be 0 or 1")
        need(0 <= self.read_retries <= 7, f"read_retries is {self.read_retries}, must be 0 to 7")
        need(self.planes in (1, 2, 4), f"planes is {self.planes}, must be 1, 2 or 4")
        need(
            self.patrol_us == 0 or 10 <= self.patrol_us <= 5_000_000,
            f"patrol_us is {self.patrol_us}, must be 0 or 10 to 5000000",
        )
        need(self.frames <= 32_768, f"{self.frames} frames in all, at most 32768")
        need(self.commands in (32, 256), f"commands is {self.commands}, must be 32 or 256")
        need(self.queue_slots in (8, 16, 32), f"queue_slots is {self.queue_slots}, must be 8, 16 or 32")
        need(1 <= self.tx_entries <= 60_000, f"tx_entries is {self.tx_entries}, must be 1 to 60000")
        most = (TXIDS - 2) * 2 * self.tx_slots  # ftl_log.h; the last txid's area has positions of map pages (ftl_map.h)
        need(
            self.raw_pages <= most or self.tx_slots == TX_STRIDE,
            f"tx_entries is {self.tx_entries}, which leaves a mount room for {most} log pages; the {self.raw_pages} "
            "pages of the NAND may all be some",
        )
        need(
            len(self.nand_id) == 10 and all(c in "0123456789abcdef" for c in self.nand_id),
            f"nand_id is '{self.nand_id}', must be five bytes as ten digits 0 to f",
        )
        need(
            self.nand_modes & 1 and self.nand_modes < 64,
            f"nand_modes is {self.nand_modes}, must have bit 0 (every part starts in mode 0) and only bits 0 to 5",
        )
        need(
            0 <= self.timing.t_susp <= self.timing.t_prog_max,
            f"t_susp is {self.timing.t_susp} ns, must be 0 (cannot suspend) to t_prog_max ({self.timing.t_prog_max})",
        )
        need(20 <= self.clock_mhz <= 400, f"clock_mhz is {self.clock_mhz}, must be 20 to 400")
        need(
            min(self.table_base, self.frame_base) >= UNCACHED,
            f"table_base and frame_base must be {UNCACHED:#x} or more: the processor's data cache holds what is below",
        )
        need(
            self.table_base % 4096 == 0 and self.frame_base % 4096 == 0,
            "table_base and frame_base must be multiples of 4096",
        )

    @staticmethod
    def _bits(n):
        return (n - 1).bit_length()

    @property
    def dies(self):
        return self.channels * self.ways

    @property
    def lanes(self):
        return min(self.channels, NUMBERS["MAX_LANES"])

    @property
    def lane_blocks(self):
        """Blocks that a lane of the log holds in hardware: so many that its lanes together have a place for both copies
        of all pages that new writes leave alone, whatever they have used of their first two (LogReserve.scala)."""
        entries = 1 + self.write_frames // NUMBERS["LOG_ENTRIES"]  # pages with those of frames that wait
        left_alone = 50 + entries + max(self.pages_per_block, self.lanes * self.pages_per_block // 2)
        return max(6, 2 - -2 * left_alone // (self.lanes * self.pages_per_block))

    @property
    def page_bits(self):
        return self._bits(self.pages_per_block)

    @property
    def block_bits(self):
        return self._bits(self.blocks_per_way)

    @property
    def ppn_bits(self):
        return self._bits(self.channels) + self._bits(self.ways) + self.block_bits + self.page_bits

    @property
    def raw_pages(self):
        return self.dies * self.blocks_per_way * self.pages_per_block

    @property
    def frames(self):
        return self.write_frames + self.read_frames + LOG_FRAMES + self.firmware_frames

    @property
    def spare_used(self):
        """Spare bytes of a page that the drive needs: fields and parity."""
        chunks, parity = CODES[self.ecc_t]
        return FIELD_BYTES + chunks * parity

    @property
    def page_bytes(self):
        """On the bus, without spare bytes that are not used."""
        return PAGE_BYTES + self.spare_used

    @property
    def corrected_bits(self):
        """Width of a number of wrong bits of a chunk."""
        return self._bits(2 * self.ecc_t)

    @property
    def refresh_at(self):
        """So many corrected bits in a chunk are many: five eighths of what can be corrected."""
        return 5 * self.ecc_t // 8

    @property
    def host_timeout(self):
        """In 256 clocks, as the register has it."""
        return -(-self.host_timeout_us * self.clock_mhz // 256)

    @property
    def front_end_nvme(self):
        return int(self.front_end == "nvme")

    @property
    def plp_round_ns(self):
        """What one program of each die takes when the power fails."""
        byte = -(-self.timing.t_wc * self.clock_mhz // 1000) * 1000 // self.clock_mhz
        return self.plp_page_ns or self.timing.t_prog + self.ways * self.page_bytes * byte

    @property
    def plp_base_ns(self):
        """What saving takes beside the programs that `plp_rounds` counts, at most: an erase that is under way, a queue
        of programs at the one die that still has some, two copies of each log page, and two programs that fail.
        """
        log_pages = 3 + self.write_frames // NUMBERS["LOG_ENTRIES"]
        return self.timing.t_bers + (PLP_QUEUE + 2 * log_pages + 4 * PLP_FAILING) * self.plp_round_ns

    @property
    def plp_rounds(self):
        """So many programs of each die, one after the other, can be done when the power fails; 0: no PLP."""
        if not self.plp_us:
            return 0
        return min(0xFFFF, max(0, self.plp_us * 1000 - self.plp_base_ns) // self.plp_round_ns)

    @property
    def tx_slots(self):
        """Slots of a txid's work area that a mount uses: more than a transaction has entries, so that a list of it has
        room for one more once it is compacted.
        """
        return 1 << self.tx_entries.bit_length()

    @property
    def tx_base(self):
        """Byte address of the tx tables: behind the map, 4 KiB aligned."""
        return self.table_base + (self.lbas * 4 + 4095) // 4096 * 4096

    @property
    def table_bytes(self):
        return self.tx_base - self.table_base + TXIDS * TX_STRIDE * TX_ENTRY_BYTES

    @property
    def frame_bytes(self):
        return self.frames * PAGE_BYTES

    @property
    def clock_ps(self):
        return 1_000_000 // self.clock_mhz

    def derived(self):
        names = (
            "dies lanes lane_blocks page_bits block_bits ppn_bits raw_pages frames spare_used corrected_bits "
            "refresh_at host_timeout front_end_nvme plp_rounds tx_slots tx_base table_bytes frame_bytes clock_ps"
        ).split()
        return {n: getattr(self, n) for n in names}

    def flat(self):
        """All parameters, given and derived, as {name: int or str}; timings as t_*_ns."""
        own = {k: v for k, v in asdict(self).items() if k != "timing"}
        return own | self.derived() | {f"{k}_ns": v for k, v in asdict(self.timing).items()}


ONFI = dict(nand_id="4f54584e31", nand_onfi=1)  # "OTXN1": no part's ID, the parameter page says what it is

CAPABLE = dict(cache_ops=1, planes=2, read_retries=3)

LONGER = dict(ecc_t=24, spare_bytes=224)

UNWATCHED = dict(patrol_us=0)  # the clocks of a simulation depend on nothing but its commands

NEAR = dict(table_latency=1, frame_latency=1)

MODEL = dict(cpu_model=1)  # starts in a fraction of the clocks

FEW_FRAMES = dict(write_frames=40, read_frames=8, firmware_frames=16, checkpoint_pages=64)

# tiny to small: for tests. rich: all that a part can do, at once; wide: that, with all the dies there can be.
# quick, quick4: for campaigns of random traffic and power cuts, with whole pages in place of the NAND's bus
# (sim/traffic/page_channel.sv). spare: the same with little room beside its data, for bench/g1.py;
# buffered: with many frames, for bench/e5.py. nvme: the same behind the NVMe front end, for `make vm`.
# sim: the drive of `make run`. paper: the size of TxSSD's board. ecpix5, acorn: those of the boards.
PRESETS = {
    g.preset: g
    for g in [
        Geometry("tiny", 1, 1, 112, 16, 1024, **FEW_FRAMES, timing=QUICK, **ONFI, **UNWATCHED),
        Geometry("tiny24", 1, 1, 112, 16, 1024, **FEW_FRAMES, **LONGER, **CAPABLE, timing=QUICK, **ONFI, **UNWATCHED),
        Geometry("small", 2, 2, 26, 16, 256, **FEW_FRAMES, **MODEL, scramble=1, timing=SUSPENDS, **ONFI, **UNWATCHED),
        Geometry(
            "rich",
            2,
            2,
            28,
            16,
            256,
            **FEW_FRAMES,
            **MODEL,
            **LONGER,
            **CAPABLE,
            scramble=1,
            timing=SUSPENDS,
            **ONFI,
            **UNWATCHED,
        ),
        Geometry(
            "wide",
            8,
            8,
            16,
            8,
            2048,
            **FEW_FRAMES,
            **LONGER,
            **CAPABLE,
            scramble=1,
            timing=SUSPENDS,
            **ONFI,
            **UNWATCHED,
        ),
        Geometry(
            "quick", 1, 1, 80, 16, 64, **FEW_FRAMES, tx_entries=48, timing=SHORT, **ONFI, **UNWATCHED, **NEAR, **MODEL
        ),
        Geometry(
            "quick4",
            4,
            1,
            48,
            16,
            1088,
            **FEW_FRAMES,
            tx_entries=48,
            commands=256,
            timing=SHORT,
            **ONFI,
            **UNWATCHED,
            **NEAR,
            **MODEL,
        ),
        Geometry(
            "spare",
            4,
            1,
            128,
            16,
            6432,
            **{**FEW_FRAMES, "firmware_frames": 22},
            tx_entries=255,
            timing=SHORT,
            **ONFI,
            **UNWATCHED,
            **NEAR,
            **MODEL,
        ),
        Geometry(
            "buffered",
            8,
            1,
            96,
            32,
            20_000,
            **{**FEW_FRAMES, "write_frames": 896, "read_frames": 64, "firmware_frames": 22},
            tx_entries=512,
            timing=SHORT,
            **ONFI,
            **UNWATCHED,
            **NEAR,
            **MODEL,
        ),
        Geometry(
            "nvme",
            4,
            1,
            160,
            32,
            16_384,
            **{**FEW_FRAMES, "write_frames": 128, "read_frames": 32, "firmware_frames": 22},
            buffer_percent=60,
            tx_entries=511,
            front_end="nvme",
            timing=SHORT,
            **ONFI,
            **UNWATCHED,
            **NEAR,
            **MODEL,
        ),
        Geometry("sim", 4, 2, 192, 64, 65_536, write_frames=1024, buffer_percent=90, **UNWATCHED),
        Geometry(
            "paper",
            8,
            8,
            2560,
            64,
            8_388_608,
            write_frames=16_384,
            read_frames=256,
            firmware_frames=192,
            buffer_percent=90,
            **UNWATCHED,
        ),
        Geometry("ecpix5", 1, 2, 4096, 64, 393_216, queue_slots=8, clock_mhz=75, host_timeout_us=2_000_000),
        Geometry("acorn", 1, 2, 4096, 64, 393_216, front_end="nvme"),
    ]
}


def preset(name):
    """The preset of that name; GeometryError names the presets there are."""
    if name not in PRESETS:
        raise GeometryError(f"no preset '{name}'; there are: {', '.join(PRESETS)}")
    return PRESETS[name]


def camel(name):
    head, *rest = name.split("_")
    return head + "".join(w.capitalize() for w in rest)


def write(g, outdir):
    """Writes the generated forms, and those of soc/facts.toml; files keep their time stamp when nothing changed."""
    facts.write()
    out = Path(outdir)
    out.mkdir(parents=True, exist_ok=True)
    flat = g.flat()
    props = "".join(f"{camel(k)}={v}\n" for k, v in flat.items())
    lines = [
        "/* Generated by soc/geometry.py. SPDX-License-Identifier: Apache-2.0 */",
        "#ifndef OTX_GEOMETRY_H",
        "#define OTX_GEOMETRY_H",
    ]
    lines += [
        f'#define OTX_{k.upper()} "{v}"'
        if isinstance(v, str)
        else f"#define OTX_{k.upper()} {v}{'u' if v < 2**31 else 'ul'}"
        for k, v in flat.items()
    ]
    for name, text in (("geometry.properties", props), ("otx_geometry.h", "\n".join(lines + ["#endif", ""]))):
        path = out / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def main(args):
    if not args:
        for g in PRESETS.values():
            print(
                f"{g.preset}: {g.channels} channels x {g.ways} ways, {g.lbas * 4 // 1024} MiB of "
                f"{g.raw_pages * 4 // 1024} MiB raw, {g.clock_mhz} MHz"
            )
        return 0
    try:
        if len(args) != 2:
            raise GeometryError("usage: geometry.py PRESET OUTDIR")
        write(preset(args[0]), args[1])
    except GeometryError as e:
        print(f"geometry: {e}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
