/* SPDX-License-Identifier: Apache-2.0 */
#include "sim.h"

#include "ftl_blocks.h"

#include <stddef.h>
#include <string.h>

struct sim sim;
uint16_t sim_live[SIM_BLOCKS];
struct sim_page *sim_pages;
int *sim_last;
uint8_t *sim_touched;
struct sim_block *sim_blocks;
extern jmp_buf sim_failed;
extern char sim_message[256];

static uint32_t frames[SIM_FRAMES][FTL_PAGE_WORDS], map[8192], tx_area[FTL_TXIDS][1024];
static struct hal_nand_op queue[FTL_MAX_DIES][HAL_NAND_DEPTH];
static uint32_t queued[FTL_MAX_DIES], outstanding;
static uint64_t state = 1;

void sim_fail(const char *file, int line, const char *what) {
    snprintf(sim_message, sizeof sim_message, "%s:%d: %s", file, line, what);
    longjmp(sim_failed, 1);
}

void sim_seed(uint64_t seed) { state = seed * 0x9e3779b97f4a7c15ull + 1; }

uint32_t sim_random(uint32_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % below;
}

static uint32_t block_ids(void) {
    const struct ftl_geometry *g = &sim.g;
    return ftl_block_id(g, g->dies - 1, g->blocks - 1) + 1;
}

static size_t page_count(void) { return (size_t)block_ids() << sim.g.page_bits; }

void sim_put(struct sim_part *part, uint32_t at, uint32_t bytes, uint32_t value) {
    for (uint32_t i = 0; i < bytes; i++) part->page[at + i] = (uint8_t)(value >> 8 * i);
}

/* The CRC as ONFI's text has it: a shift register of 16 bits, the highest bit of each byte first. */
void sim_part_seal(struct sim_part *part) {
    uint32_t crc = 0x4f4e;
    for (uint32_t i = 0; i < 254 * 8; i++) {
        uint32_t top = crc >> 15 ^ (part->page[i / 8] >> (7 - i % 8) & 1u);
        crc = crc << 1 & 0xffffu;
        if (top) crc ^= 0x8005u;
    }
    sim_put(part, 254, 2, crc);
    for (uint32_t c = 1; c < 3; c++) memcpy(part->page + 256 * c, part->page, 256);
}

static struct sim_part part_of(const struct ftl_geometry *g) {
    struct sim_part part = {.id = 0x314e58544full, .onfi = true};
    memcpy(part.page, "ONFI", 4);
    memset(part.page + 32, ' ', 32);
    memcpy(part.page + 32, "MAKER", 5);
    memcpy(part.page + 44, "PART 1", 6);
    sim_put(&part, 8, 2, 4);
    sim_put(&part, 80, 4, FTL_PAGE_BYTES);
    sim_put(&part, 84, 2, 128);
    sim_put(&part, 92, 4, g->pages);
    sim_put(&part, 96, 4, g->blocks);
    sim_put(&part, 100, 1, 1);
    sim_put(&part, 129, 2, 0x3f);
    sim_part_seal(&part);
    return part;
}

/* All pages of a new drive. The words of a page are cleared when it is programmed. */
static void blank_pages(void) {
    static size_t room;
    if (page_count() > room) {
        free(sim_pages);
        room = page_count();
        sim_pages = malloc(room * sizeof *sim_pages);
    }
    for (size_t i = 0; i < page_count(); i++) memset(&sim_pages[i], 0, offsetof(struct sim_page, words));
}

uint32_t sim_directory_pages;

void sim_directories(uint32_t pages) {
    sim_directory_pages = pages;
    ftl_geometry_init(&sim.g);
}

void sim_new(uint32_t channels, uint32_t ways, uint32_t blocks, uint32_t pages, uint32_t lbas) {
    memset(&sim, 0, sizeof sim);
    sim.g = (struct ftl_geometry){.channels = channels,
                                  .ways = ways,
                                  .blocks = blocks,
                                  .pages = pages,
                                  .lbas = lbas,
                                  .frames = SIM_FRAMES,
                                  .firmware_frames = 16,
                                  .tx_slots = 64,
                                  .lane_blocks = FTL_LANE_FIRST + SIM_FIFO,
                                  .nand_id = 0x64a610d3ec,
                                  .nand_modes = 0x3f,
                                  .planes = 1,
                                  .idle_dies = 1,
                                  .checkpoint_pages = channels * ways * blocks * pages / 16,
                                  .spare_bytes = 128};
    sim_directories(FTL_PAGE_WORDS / FTL_MAP_COPIES);
    sim.part = part_of(&sim.g);
    blank_pages();
    free(sim_last);
    free(sim_touched);
    free(sim_blocks);
    sim_blocks = calloc(block_ids(), sizeof *sim_blocks);
    sim_last = malloc(block_ids() * sizeof *sim_last);
    sim_touched = calloc(block_ids(), 1);
    for (uint32_t b = 0; b < block_ids(); b++) sim_last[b] = -1;
    sim_power_on();
}

void sim_mark_bad(uint32_t block_id) {
    sim_blocks[block_id] = (struct sim_block){.mark = (uint8_t)(1 + sim_random(3)), .never = true};
    for (uint32_t i = 0; i < sim.g.pages; i++) {
        struct sim_page *p = &sim_pages[(block_id << sim.g.page_bits) + i];
        p->state = (enum sim_state)sim_random(4);
        *p = (struct sim_page){.state = p->state,
                               .kind = sim_random(FTL_KIND_BBT),
                               .generation = sim_random(4),
                               .lpn = sim_random(3),
                               .sequence = sim_random(9)};
    }
}

void sim_factory(uint32_t share) {
    for (uint32_t die = 0; die < sim.g.dies; die++)
        for (uint32_t b = die == 0 ? 1 : 0; b < sim.g.blocks; b++)
            if (sim_random(1000) < share) sim_mark_bad(ftl_block_id(&sim.g, die, b));
}

void sim_learn(struct ftl *f) {
    const struct ftl_bbt *t = &f->bbt;
    if (t->copy[0].version != t->version && t->copy[1].version != t->version) return;
    for (uint32_t die = 0; die < sim.g.dies; die++)
        for (uint32_t b = 0; b < sim.g.blocks; b++)
            if (ftl_blocks_is_bad(f, ftl_block_id(&sim.g, die, b)))
                sim_blocks[ftl_block_id(&sim.g, die, b)].never = true;
}

void sim_power_on(void) {
    sim.on_cut = NULL;
    sim.on_verify = NULL;
    sim.on_erase = NULL;
    memset(queued, 0, sizeof queued);
    outstanding = sim.bus_mode = 0;
    if (!sim.keeps_mode) memset(sim.mode, 0, sizeof sim.mode);
    sim.enabled = sim.full = sim.read_only = false;
    sim.log_full = sim.memory_errors = sim.asked = sim.data_pages = sim.log_pages = 0;
    memset(sim.health, 0xa5, sizeof sim.health);
    sim.prepared = 0;
    sim.generation = sim.drive_id = sim.dropped = sim.lost_log_pages = sim.doubtful = sim.ops = 0;
    memset(sim.data, 0, sizeof sim.data);
    memset(sim.lane, 0, sizeof sim.lane);
    memset(sim.count, 0, sizeof sim.count);
    memset(sim.programs, 0, sizeof sim.programs);
    if (sim_touched) memset(sim_touched, 0, block_ids());
    sim_map_power_on();
    memset(frames, 0xa5, sizeof frames);
    memset(map, 0xa5, sizeof map);
    memset(tx_area, 0xa5, sizeof tx_area);
}

static void begin_page(uint32_t ppn) {
    uint32_t block = ppn >> sim.g.page_bits, page = ppn & (sim.g.pages - 1);
    CHECK(ftl_block_exists(&sim.g, block));
    CHECK((int)page > sim_last[block]);
    CHECK(sim_pages[ppn].state == SIM_BLANK);
    sim_last[block] = (int)page;
}

struct sim_page *sim_program(uint32_t ppn, uint32_t kind, uint32_t lpn, uint64_t sequence) {
    struct sim_page *p = &sim_pages[ppn];
    begin_page(ppn);
    p->state = SIM_WHOLE;
    p->kind = kind;
    p->generation = sim.generation;
    p->lpn = lpn;
    p->sequence = sequence;
    p->fades = p->heals = 0;
    memset(p->words, 0, sizeof p->words);
    return p;
}

void sim_may_fade(struct sim_page *page) {
    page->fades = sim_random(2) || sim.stays ? 0 : 1 + sim_random(5);
    if (sim.fades_always) page->fades = sim.fades_always;
}

static uint32_t page_of(uint32_t ppn) { return ppn & (sim.g.pages - 1); }

bool sim_program_fails(uint32_t ppn, uint32_t kind) {
    struct sim_block *b = &sim_blocks[ppn >> sim.g.page_bits];
    bool fails = b->refuses != 0 || sim.fail_next[kind] != 0;
    if (b->refuses != 0) b->refuses--;
    else if (fails) sim.fail_next[kind]--;
    else fails = sim_random(1000) < sim.fail_programs;
    if (fails) sim.failed[kind]++;
    return fails;
}

void sim_spoil(struct sim_page *page) {
    if (sim.fail_reads_well || sim_random(4) == 0) return;
    page->state = sim_random(3) ? SIM_TORN : SIM_TORN_BLANK;
}

void sim_tear(uint32_t ppn, uint32_t kind, uint32_t lpn, uint64_t sequence) {
    struct sim_page *p = sim_program(ppn, kind, lpn, sequence);
    p->state = sim_random(3) ? SIM_TORN : SIM_TORN_BLANK;
    memset(p->words, (int)sim_random(256), sizeof p->words);
    if (sim_random(2)) return;
    p->kind = sim_random(7);
    p->sequence = (uint64_t)sim_random(0x7fffffff) << 17;
    p->lpn = sim_random(9);
}

static void erase(uint32_t block, bool whole) {
    for (uint32_t i = 0; i < sim.g.pages; i++) {
        struct sim_page *p = &sim_pages[(block << sim.g.page_bits) + i];
        uint32_t luck = whole ? 0 : sim_random(4);
        if (luck == 0) p->state = SIM_BLANK;
        /* an erase makes no cell look programmed that did not */
        if (luck == 1 && p->state != SIM_BLANK && p->state != SIM_TORN_BLANK) p->state = SIM_TORN;
        if (luck == 2) sim_may_fade(p);
    }
    sim_last[block] = whole ? -1 : (int)sim.g.pages;
}

/* Identification and timing modes; false: the die does not answer. */
static bool run_part(const struct hal_nand_op *o, struct hal_nand_done *d) {
    uint32_t die = ftl_die_of(&sim.g, o->ppn >> sim.g.page_bits);
    const struct sim_part *part = &sim.part;
    CHECK(!(sim.closed >> die & 1u) || (o->op != HAL_PROGRAM && o->op != HAL_ERASE));
    if (sim.dead >> die & 1u) {
        d->status = sim.dead_floats && (o->op == HAL_RESET || o->op == HAL_READ_ID) ? FTL_PAGE_OK : FTL_PAGE_TIMEOUT;
        d->sequence = 0xffffffffffull;
        return false;
    }
    CHECK(!part->onfi || sim.bus_mode <= sim.mode[die]);
    CHECK(part->onfi || sim.bus_mode == FTL_OWN_MODE || sim.bus_mode <= 2);
    if (o->op == HAL_RESET) {
        CHECK(sim.bus_mode == 0);
        if (!sim.keeps_mode) sim.mode[die] = 0;
    }
    if (o->op == HAL_READ_ID) {
        CHECK(o->kind == 0 || o->kind == 0x20);
        d->sequence = o->kind == 0 ? part->id : part->onfi ? FTL_ONFI | 0x5aull << 32 : 0;
        if (sim.odd_die == die + 1 && o->kind == 0) d->sequence ^= 1;
        if (sim.noisy_from != 0 && sim.bus_mode >= sim.noisy_from) d->sequence ^= 0x10;
    }
    if (o->op == HAL_PARAM) {
        struct sim_part own = *part;
        CHECK(part->onfi && o->frame < SIM_FRAMES - sim.g.firmware_frames);
        if (sim.odd_page == die + 1) {
            sim_put(&own, 96, 4, 2 * sim.g.blocks);
            sim_part_seal(&own);
        }
        memset(frames[o->frame], 0, sizeof frames[0]);
        memcpy(frames[o->frame], own.page, sizeof own.page);
    }
    if (o->op == HAL_SET_FEATURES || o->op == HAL_GET_FEATURES) {
        CHECK(part->onfi && part->page[8] & 4 &&
              (o->kind == HAL_FEATURE_TIMING_MODE || (o->kind == HAL_FEATURE_READ_RETRY && o->op == HAL_SET_FEATURES)));
        if (o->kind == HAL_FEATURE_READ_RETRY) {
            CHECK(part->page[64] == 0x2c && o->lpn < part->page[180]);
            sim.level[die] = o->lpn;
        } else if (o->op == HAL_SET_FEATURES) {
            CHECK(o->lpn < 6 && part->page[129] >> o->lpn & 1);
            if (!sim.ignores_mode) sim.mode[die] = o->lpn;
        }
        d->lpn = sim.mode[die];
    }
    return true;
}

void hal_nand_mode(uint32_t mode) {
    CHECK(outstanding == 0 && mode <= FTL_OWN_MODE);
    sim.bus_mode = mode;
}

void hal_nand_capabilities(uint32_t capabilities) {
    CHECK(outstanding == 0);
    sim.capabilities = capabilities;
}

static void run(const struct hal_nand_op *o, struct hal_nand_done *d) {
    struct sim_page *p = &sim_pages[o->ppn];
    memset(d, 0, sizeof *d);
    d->cookie = o->cookie;
    sim.count[o->op]++;
    if (!run_part(o, d)) return;
    if (o->op == HAL_READ_MARK) {
        uint8_t mark = sim_blocks[o->ppn >> sim.g.page_bits].mark;
        bool here = mark == 1   ? page_of(o->ppn) == 0
                    : mark == 2 ? page_of(o->ppn) == 1
                                : mark == 3 && page_of(o->ppn) == sim.g.pages - 1;
        d->kind = here             ? 0xffu & ~(0x11u << sim_random(4)) & ~sim_random(256)
                  : sim_random(20) ? 0xffu
                                   : 0xffu & ~(1u << sim_random(8));
    }
    if (o->op == HAL_PROGRAM || o->op == HAL_ERASE) {
        CHECK(!sim_blocks[o->ppn >> sim.g.page_bits].never);
        sim_touched[o->ppn >> sim.g.page_bits] = 1;
    }
    if (o->op == HAL_READ || o->op == HAL_READ_OOB || o->op == HAL_VERIFY) {
        CHECK(ftl_block_exists(&sim.g, o->ppn >> sim.g.page_bits));
        if (p->state == SIM_TORN && p->heals != 0 && --p->heals == 0) p->state = SIM_WHOLE;
        if (p->state == SIM_WHOLE && p->fades != 0 && --p->fades == 0) p->state = SIM_TORN;
        /* of a torn page its last chunk may be whole */
        bool spare_holds = p->state == SIM_TORN && o->op == HAL_READ_OOB && sim_random(2);
        d->status = p->state == SIM_WHOLE || spare_holds ? FTL_PAGE_OK
                    : p->state == SIM_TORN               ? FTL_PAGE_CRC
                                                         : FTL_PAGE_BLANK;
        d->kind = p->kind;
        d->generation = p->generation;
        d->lpn = p->lpn;
        d->sequence = p->sequence;
        if (o->op == HAL_VERIFY && d->status == FTL_PAGE_OK && sim.on_verify) sim.on_verify(o->ppn);
        if (o->op == HAL_READ) memcpy(frames[o->frame], p->words, sizeof p->words);
        if (o->op == HAL_READ && p->kind == FTL_KIND_DATA) frames[o->frame][0] = p->stamp;
        if (o->op == HAL_READ && d->status != FTL_PAGE_OK)
            memset(frames[o->frame], (int)sim_random(256), sizeof p->words);
    }
    if (o->op == HAL_PROGRAM) {
        CHECK(o->kind < SIM_KINDS && (sim.enabled || o->kind == FTL_KIND_BBT || o->kind == FTL_KIND_DATA ||
                                      o->kind == FTL_KIND_WEAR || o->frame < SIM_FRAMES - sim.g.firmware_frames));
        CHECK(!sim.enabled || (o->frame >= SIM_FRAMES - sim.g.firmware_frames && o->frame < SIM_FRAMES));
        sim.programs[o->kind]++;
        p = sim_program(o->ppn, o->kind, o->lpn, o->sequence);
        memcpy(p->words, frames[o->frame], sizeof p->words);
        if (o->kind == FTL_KIND_DATA) p->stamp = frames[o->frame][0];
        if (sim_program_fails(o->ppn, o->kind) || sim.count[HAL_PROGRAM] == sim.fail_program_at) {
            d->status = FTL_PAGE_FAIL;
            sim_spoil(p);
        }
    }
    if (o->op == HAL_ERASE) {
        if (sim.on_erase) sim.on_erase(o->ppn >> sim.g.page_bits);
        uint32_t block = o->ppn >> sim.g.page_bits;
        struct sim_block *b = &sim_blocks[block];
        CHECK(ftl_block_exists(&sim.g, block));
        b->worn = b->worn || sim_random(1000) < sim.fail_erases;
        bool fails = b->worn || sim.count[HAL_ERASE] == sim.fail_erase_at;
        sim.failed_erases += fails;
        if (sim.fail_blocks != 0 && sim_random(1000) < sim.fail_blocks) b->refuses = UINT8_MAX;
        b->erases++;
        erase(block, !fails);
        if (fails) d->status = FTL_PAGE_FAIL;
    }
}

/* With an erase of this die, too: at least half of the dies have none, or all but one, and one of those with a lane's
 * next page has none, unless there is only one such die. */
static void some_dies_are_not_erased(uint32_t die) {
    uint64_t erases = 1ull << die, lanes = 0;
    struct hal_log_place at;
    for (uint32_t d = 0; d < sim.g.dies; d++)
        for (uint32_t i = 0; i < queued[d]; i++)
            if (queue[d][i].op == HAL_ERASE) erases |= 1ull << d;
    CHECK(ftl_dies_count(erases) <= 1 || 2 * ftl_dies_count(erases) <= ftl_dies_used(&sim.g));
    hal_log_place(&at);
    for (uint32_t l = 0; l < sim.g.lanes; l++) lanes |= 1ull << ftl_die_of(&sim.g, at.lane[l].block);
    CHECK((lanes & ~erases) != 0 || ftl_dies_count(lanes) == 1);
}

bool hal_nand_start(const struct hal_nand_op *op) {
    uint32_t die = ftl_die_of(&sim.g, op->ppn >> sim.g.page_bits);
    CHECK(outstanding < HAL_NAND_DEPTH);
    if (op->op == HAL_ERASE && sim.enabled) some_dies_are_not_erased(die);
    if (sim_random(8) == 0) return false;
    queue[die][queued[die]++] = *op;
    outstanding++;
    return true;
}

bool hal_nand_done(struct hal_nand_done *done) {
    if (outstanding == 0 || sim_random(4) == 0) return false;
    uint32_t die = sim_random(sim.g.dies);
    while (queued[die] == 0) die = (die + 1) % sim.g.dies;
    if (sim.cut_at != 0 && ++sim.ops == sim.cut_at) {
        if (sim.on_cut) sim.on_cut();
        sim_power_cut();
        longjmp(sim.cut, 1);
    }
    run(&queue[die][0], done);
    queued[die]--;
    outstanding--;
    memmove(&queue[die][0], &queue[die][1], queued[die] * sizeof queue[die][0]);
    return true;
}

void sim_power_cut(void) {
    sim_cuts++;
    for (uint32_t die = 0; die < sim.g.dies; die++) {
        struct hal_nand_op *o = &queue[die][0];
        struct hal_nand_done ignored;
        uint32_t luck = sim_random(3);
        if (queued[die] == 0 || luck == 0 || (o->op != HAL_PROGRAM && o->op != HAL_ERASE)) continue;
        if (luck == 1) run(o, &ignored);
        if (luck == 1 && o->op == HAL_PROGRAM) sim_may_fade(&sim_pages[o->ppn]);
        if (luck == 1) continue;
        if (o->op == HAL_PROGRAM) sim_tear(o->ppn, o->kind, o->lpn, o->sequence);
        else erase(o->ppn >> sim.g.page_bits, false);
    }
    sim_power_on();
}

int sim_mount(struct ftl *f) {
    *f = (struct ftl){.geometry = sim.g};
    if (setjmp(sim.cut)) return -1;
    int error = (int)ftl_mount(f);
    if (error == FTL_OK) ftl_open(f);
    else if (f->report.readable) ftl_open_read_only();
    if (error == FTL_OK) sim_learn(f);
    sim.ops = sim.cut_at = 0;
    CHECK((error != FTL_OK && !sim.enabled) || ftl_io_empty(&f->io));
    return error;
}

uint32_t *hal_frame(uint32_t frame) {
    CHECK(!sim_map_uses(frame));
    return frames[frame];
}
uint32_t *hal_map(void) {
    CHECK(!sim_map_busy());
    return map;
}
uint32_t *hal_tx_area(uint32_t txid) {
    CHECK(txid < FTL_TXIDS && sim.g.tx_slots * 4 <= 1024);
    return tx_area[txid];
}

static void push(struct sim_fifo *fifo, uint32_t block) {
    CHECK(sim.enabled && fifo->n < SIM_FIFO && ftl_block_exists(&sim.g, block) && sim_last[block] == -1 &&
          !sim_blocks[block].never);
    CHECK(!(sim.closed >> ftl_die_of(&sim.g, block) & 1u));
    for (uint32_t p = 0; p < sim.g.pages; p++) CHECK(sim_pages[(block << sim.g.page_bits) + p].state == SIM_BLANK);
    fifo->block[fifo->n++] = block;
}

uint64_t hal_data_room(void) {
    uint64_t room = 0;
    for (uint32_t d = 0; d < sim.g.dies; d++) room |= (uint64_t)(sim.data[d].n < SIM_FIFO) << d;
    return room;
}
uint32_t hal_log_room(void) {
    uint32_t room = 0;
    for (uint32_t l = 0; l < sim.g.lanes; l++) room |= (uint32_t)(sim.lane[l].n < SIM_FIFO) << l;
    return room;
}
void hal_data_block(uint32_t block_id) { push(&sim.data[ftl_die_of(&sim.g, block_id)], block_id); }
void hal_log_block(uint32_t lane, uint32_t block_id) {
    CHECK(lane < sim.g.lanes);
    push(&sim.lane[lane], block_id);
}
void hal_generation(uint32_t generation) { sim.generation = generation; }
void hal_identity(uint32_t drive_id, const struct ftl_lost *lost) {
    sim.drive_id = drive_id;
    sim.dropped = lost->dropped;
    sim.lost_log_pages = lost->log_pages;
    sim.doubtful = lost->doubtful;
}
void hal_health(enum ftl_health_word index, uint32_t word) {
    CHECK(index < 32);
    sim.health[index] = word;
}
uint32_t hal_data_pages(void) { return sim.data_pages; }
uint32_t hal_log_pages(void) { return sim.log_pages; }
uint32_t hal_corrected_reads(void) { return 7; }
uint32_t hal_weak_reads(void) { return 5; }
void hal_tx_prepared(uint32_t txid, uint32_t entries) {
    CHECK(!sim.enabled && txid < FTL_TXIDS && !(sim.prepared >> txid & 1u) && entries <= sim.g.tx_slots);
    sim.prepared |= 1u << txid;
    sim.entries[txid] = entries;
}
void hal_enable(void) { sim.enabled = true; }
void hal_read_only(void) {
    CHECK(!sim.enabled);
    sim.read_only = true;
}
void hal_full(bool full) { sim.full = full; }
void hal_live_set(uint32_t block_id, uint32_t pages) {
    CHECK(!sim.enabled && block_id < SIM_BLOCKS && pages <= sim.g.pages);
    sim_live[block_id] = (uint16_t)pages;
}

void hal_log_full(uint32_t lanes) { sim.log_full = lanes; }
uint32_t hal_clocks(void) { return sim.clocks += sim.clocks_per_ask; }
bool hal_busy(void) { return sim.busy; }
uint32_t hal_memory_errors(void) { return sim.memory_errors; }
uint32_t hal_new_drive_id(void) { return 77; }
void hal_putc(char c) { sim_said(c); }

struct sim_page *sim_next(const struct sim_page *after, uint32_t kind) {
    for (size_t i = after ? (size_t)(after - sim_pages) + 1 : 0; i < page_count(); i++)
        if (sim_pages[i].state == SIM_WHOLE && sim_pages[i].kind == kind) return &sim_pages[i];
    return NULL;
}

struct sim_copy sim_save(void) {
    struct sim_copy copy = {.pages = malloc(page_count() * sizeof *sim_pages),
                            .last = malloc(block_ids() * sizeof *sim_last),
                            .blocks = malloc(block_ids() * sizeof *sim_blocks)};
    memcpy(copy.pages, sim_pages, page_count() * sizeof *sim_pages);
    memcpy(copy.last, sim_last, block_ids() * sizeof *sim_last);
    memcpy(copy.blocks, sim_blocks, block_ids() * sizeof *sim_blocks);
    return copy;
}
void sim_restore(const struct sim_copy *copy) {
    memcpy(sim_pages, copy->pages, page_count() * sizeof *sim_pages);
    memcpy(sim_last, copy->last, block_ids() * sizeof *sim_last);
    memcpy(sim_blocks, copy->blocks, block_ids() * sizeof *sim_blocks);
    sim_power_on();
}
void sim_forget(struct sim_copy *copy) {
    free(copy->pages);
    free(copy->last);
    free(copy->blocks);
}
