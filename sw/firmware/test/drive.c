/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "drive_hw.h"

struct drive drive;
struct drive_hw hw;

#define UNTAKEN 16u

/* The last one is the last of the drive: map pages and directories at the end have something. */
uint32_t drive_lpn(uint32_t i) { return i == DRIVE_LPNS - 1 ? sim.g.lbas - 1 : i * (sim.g.lbas / DRIVE_LPNS); }

uint32_t drive_number(uint32_t lpn) { return lpn == sim.g.lbas - 1 ? DRIVE_LPNS - 1 : lpn / (sim.g.lbas / DRIVE_LPNS); }

static uint32_t value_of(uint32_t lpn, uint32_t word) {
    if (word == FTL_WORD_NONE) return NOTHING;
    CHECK(FTL_WORD_KIND(word) == FTL_WORD_KIND_NAND);
    const struct sim_page *p = &sim_pages[FTL_WORD_VALUE(word)];
    CHECK(p->state == SIM_WHOLE && p->kind == FTL_KIND_DATA && p->lpn == lpn && p->fades == 0);
    return p->stamp;
}

uint32_t drive_base(uint32_t lpn) {
    uint32_t word = hal_map()[lpn];
    for (uint32_t n = 0; FTL_WORD_KIND(word) == FTL_WORD_KIND_VER; n++) {
        uint32_t txid = FTL_WORD_VALUE(word) >> OTX_TX_STRIDE_BITS, i = FTL_WORD_VALUE(word) & 0xffffu;
        CHECK(n < FTL_TXIDS && txid < FTL_TXIDS && sim.prepared >> txid & 1u && i < sim.entries[txid]);
        const uint32_t *entry = hal_tx_area(txid) + 4 * i;
        CHECK(entry[0] == lpn && entry[3] == 0);
        word = entry[2];
    }
    return word;
}

bool drive_restored(uint32_t txid, struct drive_tx *t) {
    *t = (struct drive_tx){.use = 1};
    if (!(sim.prepared >> txid & 1u)) return false;
    t->open = t->prepared = t->sure = true;
    t->n = sim.entries[txid];
    CHECK(t->n <= DRIVE_LPNS);
    for (uint32_t i = 0; i < t->n; i++) {
        const uint32_t *entry = hal_tx_area(txid) + 4 * i;
        uint32_t word = hal_map()[entry[0]], self = txid << OTX_TX_STRIDE_BITS | i;
        while (FTL_WORD_KIND(word) == FTL_WORD_KIND_VER && FTL_WORD_VALUE(word) != self)
            word = hal_tx_area(FTL_WORD_VALUE(word) >> OTX_TX_STRIDE_BITS)[4 * (FTL_WORD_VALUE(word) & 0xffffu) + 2];
        CHECK(FTL_WORD_KIND(word) == FTL_WORD_KIND_VER); /* its block's chain comes by it */
        t->lpn[i] = entry[0];
        t->value[i] = value_of(entry[0], entry[1]);
    }
    return true;
}

uint32_t drive_value(uint32_t lpn) { return value_of(lpn, drive_base(lpn)); }

void drive_supply(uint32_t steps) {
    while (steps-- > 0) {
        ftl_supply_step(&drive.ftl, &drive.supply);
        if (sim.no_collect) drive.supply.hopeless = true;
        else ftl_collect_step(&drive.ftl, &drive.supply, &drive.retire, &drive.collect);
        ftl_retire_step(&drive.ftl, &drive.supply, &drive.retire);
        ftl_pace_step(&drive.ftl, &drive.supply, &drive.retire, &drive.collect, &drive.pace);
        if (!sim.no_collect) ftl_checkpoint_step(&drive.ftl, &drive.supply, &drive.checkpoint);
        ftl_patrol_step(&drive.ftl, &drive.retire, &drive.patrol);
        ftl_wear_step(&drive.ftl);
        ftl_health_step(&drive.ftl, &drive.retire, &drive.collect, &drive.checkpoint);
        (void)fail_step();
        note_step();
        reads_step();
    }
    sim_learn(&drive.ftl);
}

static uint32_t pop(struct sim_fifo *fifo) {
    uint32_t block = fifo->block[0];
    fifo->n--;
    memmove(&fifo->block[0], &fifo->block[1], fifo->n * sizeof fifo->block[0]);
    return block;
}

/* Some of the pages that the firmware verifies have many corrected bits. */
static void verified(uint32_t ppn) {
    if (sim_random(8) == 0) drive_weak(ppn);
}

void drive_start(void) {
    struct ftl ftl = drive.ftl;
    CHECK(sim.enabled);
    memset(&drive, 0, sizeof drive);
    memset(&hw, 0, sizeof hw);
    hw.rescue_ppn = NO_PAGE;
    drive.ftl = ftl;
    drive.stamp = 1 + sim.generation * 100000;
    if (sim.generation % 2) drive.epoch = 0u - sim.generation % 16; /* soon past 2^32 */
    for (uint32_t l = 0; l < sim.g.lanes; l++) {
        CHECK(sim.lane[l].n >= 2);
        hw.lane[l].block = pop(&sim.lane[l]);
        hw.lane[l].next = pop(&sim.lane[l]);
    }
    for (uint32_t l = 0; l < sim.g.lbas; l++)
        if (drive_number(l) >= DRIVE_LPNS || drive_lpn(drive_number(l)) != l) CHECK(hal_map()[l] == FTL_WORD_NONE);
    for (uint32_t i = 0; i < DRIVE_LPNS; i++) drive.before[i] = drive_value(drive_lpn(i));
    for (uint32_t t = 0; t < FTL_TXIDS; t++)
        if (drive_restored(t, &drive.tx[t])) drive.restored |= 1u << t;
        else drive.tx[t].use = 0;
    map_start();
    for (uint32_t die = 0; die < sim.g.dies; die++)
        for (uint32_t b = 0; b < sim.g.blocks; b++)
            CHECK(sim_live[ftl_block_id(&sim.g, die, b)] == map_references(ftl_block_id(&sim.g, die, b)));
    sim.on_verify = verified;
    reads_start();
    ftl_retire_begin(&drive.ftl, &drive.retire);
    drive_supply(30);
}

uint64_t drive_sequence(void) { return hw.sequence++; }

bool drive_page(uint32_t *ppn) { return hw_page(ppn); }

bool hw_page(uint32_t *ppn) {
    for (uint32_t n = 0; n < sim.g.dies; n++) {
        uint32_t die = hw.die;
        hw.die = (die + 1) % sim.g.dies;
        if (hw.open[die].left == 0 && sim.data[die].n != 0) {
            hw.open[die].block = pop(&sim.data[die]);
            hw.open[die].left = sim.g.pages;
        }
        if (hw.open[die].left == 0) continue;
        *ppn = ftl_first_ppn(&sim.g, hw.open[die].block) + sim.g.pages - hw.open[die].left--;
        return true;
    }
    return false;
}

uint32_t drive_pages_left(void) {
    uint32_t left = 0;
    for (uint32_t d = 0; d < sim.g.dies; d++) left += hw.open[d].left + sim.data[d].n * sim.g.pages;
    return left;
}

void hw_advance(void) {
    while (hw.watermark < hw.head && hw.done[hw.watermark]) hw.watermark++;
    while (hw.flights != 0 && hw.flight[0].copy[0].done && hw.flight[0].copy[1].done) {
        hw.durable = hw.flight[0].end;
        if (hw.flight[0].mark > hw.durable_mark) hw.durable_mark = hw.flight[0].mark;
        hw.flights--;
        memmove(&hw.flight[0], &hw.flight[1], hw.flights * sizeof hw.flight[0]);
    }
    for (uint32_t t = 0; t < FTL_TXIDS; t++) {
        struct drive_tx *x = &drive.tx[t];
        if (hw.durable < x->index || hw.watermark < x->index) continue;
        if (x->prepared) x->sure = true;
        x->ending = false;
    }
    uint64_t relaxed_to = 0; /* index of the last RELAXED COMMIT */
    for (uint32_t i = 0; i < drive.items; i++) {
        struct drive_item *c = &drive.item[i];
        if (c->kind != ITEM_COMMIT) continue;
        if (c->relaxed) relaxed_to = c->index;
        if (c->taken) continue;
        bool done = c->visible || c->relaxed ||
                    (hw.durable >= c->index && hw.watermark >= relaxed_to && hw.watermark >= c->after);
        for (uint64_t x = 0; x < c->index && done && !c->visible && !c->relaxed; x++)
            done = hw.done[x] || !(hw.entry[x].flags & FTL_ENTRY_IN_TX) || hw.entry[x].serial != c->serial;
        if (!done) break; /* visible and acknowledged in order */
        if (!c->visible) map_visible(c->serial);
        c->visible = true;
        if (sim.takes_nothing) break; /* LogWaiters.scala: those behind it wait */
        c->taken = true;
        for (uint32_t k = 0; k <= i && !c->relaxed; k++)
            if (drive.item[k].kind == ITEM_COMMIT) drive.item[k].must = true;
    }
}

uint64_t drive_append(struct ftl_entry e) {
    CHECK(hw.head < DRIVE_LOG);
    hw.entry[hw.head] = e;
    hw.done[hw.head] = e.kind != FTL_MAP && e.kind != FTL_RELOCATE;
    hw.held[hw.head] = false;
    hw.head++;
    drive.used = drive.used || e.flags & FTL_ENTRY_ORDERED || e.kind == FTL_COMMIT;
    if (e.flags & FTL_ENTRY_ORDERED && e.kind == FTL_MAP) drive.pages = hw.head;
    hw_advance();
    return hw.head - 1;
}

static bool usable(uint32_t l) { return hw.lane[l].page < sim.g.pages || sim.lane[l].n != 0; }

static uint32_t lanes_usable(void) {
    uint32_t n = 0;
    for (uint32_t l = 0; l < sim.g.lanes; l++) n += usable(l);
    return n;
}

/* A lane has one copy under way. */
static bool can_take(uint32_t l) {
    for (uint32_t i = 0; i < 2 * hw.flights; i++) {
        const struct log_copy *c = &hw.flight[i / 2].copy[i % 2];
        if (!c->done && c->lane == l) return false;
    }
    return usable(l);
}

/* Where the next copy goes: any lane that can take one, but `other`; NO_LANE: there is none. */
static uint32_t next_lane(uint32_t other) {
    for (uint32_t n = 0; n < sim.g.lanes; n++) {
        uint32_t l = (hw.wish + n) % sim.g.lanes;
        if (l != other && can_take(l)) return l;
    }
    return NO_LANE;
}

void drive_group(uint32_t n) { hw.group_end = hw.head + n; }

bool drive_group_open(void) { return hw.head < hw.group_end; }

/* A page has a place only when those so many before it stand twice, and it gets two lanes when there are two. */
bool drive_can_close(void) {
    for (uint32_t i = 0; i < 2 * hw.flights; i++) /* a second copy goes before a new page */
        if (hw.flight[i / 2].copy[i % 2].lane == NO_LANE && !hw.flight[i / 2].copy[i % 2].done) return false;
    uint32_t l = next_lane(NO_LANE);
    return !drive_group_open() && hw.closed < hw.head && hw.flights < LOG_FLIGHT &&
           hw.flights < (sim.log_once ? sim.g.lanes : FTL_LOG_WINDOW(sim.g.lanes)) && l != NO_LANE &&
           (sim.log_once || lanes_usable() == 1 || next_lane(l) != NO_LANE) && !hw.stopped;
}

uint32_t drive_next_log_ppn(void) {
    uint32_t l = next_lane(NO_LANE);
    if (l == NO_LANE) l = hw.wish;
    return ftl_first_ppn(&sim.g, hw.lane[l].block) + hw.lane[l].page;
}

/* The copy goes to its lane's next place, or, for the first time, to that of any; when the other one, which is read
 * from the same frame, has ended or is placed with it. */
static void place(struct log_flight *p, uint32_t copy, bool both) {
    struct log_copy *c = &p->copy[copy], *other = &p->copy[1 - copy];
    if (!both && other->ppn != NO_PAGE && !other->done) return;
    if (c->leaves != NO_LANE && !other->done) return;
    if (c->lane == NO_LANE) c->lane = next_lane(both ? other->lane : c->leaves);
    if (c->lane == NO_LANE) c->lane = next_lane(NO_LANE);
    if (c->lane == NO_LANE) return;
    if (c->leaves != NO_LANE) {
        hw.left++;
        p->twin = false;
        p->words[FTL_LOG_LEFT_BLOCK] =
            hw.lane[c->leaves].page < sim.g.pages ? hw.lane[c->leaves].block : hw.lane[c->leaves].next;
        p->words[FTL_LOG_LEFT_LANE] |= (c->leaves + 1) << FTL_LOG_LEFT_LANE_SHIFT;
    }
    c->leaves = NO_LANE;
    uint32_t l = c->lane;
    if (hw.lane[l].page == sim.g.pages) {
        if (sim.lane[l].n == 0) return;
        hw.lane[l].block = hw.lane[l].next;
        hw.lane[l].next = pop(&sim.lane[l]);
        hw.lane[l].page = 0;
    }
    uint32_t row = hw.lane[l].page++;
    c->ppn = ftl_first_ppn(&sim.g, hw.lane[l].block) + row;
    p->words[copy == 0 ? FTL_LOG_BLOCK : FTL_LOG_SECOND_BLOCK] = hw.lane[l].block;
    p->words[copy == 0 ? FTL_LOG_NEXT : FTL_LOG_SECOND_NEXT] = hw.lane[l].next;
    uint32_t shift = copy == 0 ? FTL_LOG_PAGE_SHIFT : FTL_LOG_SECOND_PAGE_SHIFT;
    if (!sim.log_once) p->words[FTL_LOG_PAGE] = (p->words[FTL_LOG_PAGE] & ~(0xffffu << shift)) | row << shift;
}

void drive_close(void) {
    CHECK(drive_can_close());
    struct log_flight *p = &hw.flight[hw.flights++];
    memset(p, 0, sizeof *p);
    p->number = hw.pages++;
    for (uint32_t c = 0; c < 2; c++) p->copy[c] = (struct log_copy){.ppn = NO_PAGE, .lane = NO_LANE, .leaves = NO_LANE};
    p->first = hw.closed;
    uint32_t count = 0;
    while (hw.closed < hw.head && count + hw.entry[hw.closed].n <= FTL_LOG_ENTRIES) {
        do ftl_entry_pack(p->words + FTL_LOG_ENTRY + count++ * FTL_ENTRY_WORDS, &hw.entry[hw.closed++]);
        while (hw.closed < hw.head && hw.entry[hw.closed].i != 0);
    }
    p->end = hw.closed;
    p->mark = hw.watermark < hw.durable ? hw.watermark : hw.durable; /* LogPages.scala: rule mark-log */
    p->words[FTL_LOG_MAGIC] = FTL_LOG_MAGIC_LO;
    p->words[FTL_LOG_MAGIC + 1] = FTL_LOG_MAGIC_HI;
    p->words[FTL_LOG_DRIVE_ID] = sim.drive_id;
    p->words[FTL_LOG_GENERATION] = sim.generation;
    p->words[FTL_LOG_NUMBER] = p->number;
    p->words[FTL_LOG_COUNT] = count << FTL_LOG_COUNT_SHIFT;
    ftl_put48(p->words, FTL_LOG_FIRST, p->first);
    ftl_put48(p->words, FTL_LOG_WATERMARK, p->mark);
    bool both = lanes_usable() > 1 && !sim.log_once;
    p->copy[1].done = sim.log_once;
    place(p, 0, both);
    if (both) place(p, 1, true);
    p->twin = both;
    hw.wish = sim_random(sim.g.lanes);
}

/* The lane has no place and will get none. */
static bool is_over(uint32_t l) {
    return hw.lane[l].page == sim.g.pages && sim.lane[l].n == 0 && sim.log_full >> l & 1u;
}

/* The next page of the log, or one that failed, has no place and will get none. */
static bool no_place(void) {
    uint32_t over = 0;
    for (uint32_t l = 0; l < sim.g.lanes; l++) over += is_over(l);
    for (uint32_t i = 0; i < 2 * hw.flights; i++) {
        const struct log_copy *c = &hw.flight[i / 2].copy[i % 2];
        if (c->ppn == NO_PAGE && c->lane != NO_LANE && is_over(c->lane)) return true;
    }
    return over == sim.g.lanes;
}

static bool waits_for_place(void) {
    for (uint32_t i = 0; i < 2 * hw.flights; i++)
        if (!hw.flight[i / 2].copy[i % 2].done && hw.flight[i / 2].copy[i % 2].ppn == NO_PAGE) return true;
    return false;
}

/* Firmware runs and programs end while a group waits for its next page. */
static void amid_group(void) {
    if (!sim.split || sim_random(2)) return;
    for (uint32_t k = 1 + sim_random(12); k > 0; k--) {
        drive_supply(1);
        if (sim_random(2)) (void)drive_finish_one();
    }
}

static bool first_of_die(uint32_t data) {
    uint32_t die = ftl_die_of(&sim.g, hw.data[data].ppn >> sim.g.page_bits);
    for (uint32_t i = 0; i < data; i++)
        if (ftl_die_of(&sim.g, hw.data[i].ppn >> sim.g.page_bits) == die) return false;
    return true;
}

/* `at`: twice the flight, and which copy. */
static struct log_copy *copy_at(uint32_t at) { return &hw.flight[at / 2].copy[at % 2]; }

static bool first_log_of_die(uint32_t at) {
    struct log_copy *c = copy_at(at);
    if (c->done) return false;
    if (c->ppn == NO_PAGE && !hw.stopped) place(&hw.flight[at / 2], at % 2, false);
    if (c->ppn == NO_PAGE || hw.stopped) return false;
    uint32_t die = ftl_die_of(&sim.g, c->ppn >> sim.g.page_bits);
    for (uint32_t i = 0; i < at; i++)
        if (!copy_at(i)->done && copy_at(i)->ppn != NO_PAGE &&
            ftl_die_of(&sim.g, copy_at(i)->ppn >> sim.g.page_bits) == die)
            return false;
    return true;
}

static void finish_data(uint32_t i) {
    struct sim_page *p = sim_program(hw.data[i].ppn, FTL_KIND_DATA, hw.data[i].lpn, hw.data[i].sequence);
    sim.data_pages++;
    p->stamp = hw.data[i].value;
    bool ok = hw.entry[hw.data[i].index].kind != FTL_MAP || !sim_program_fails(hw.data[i].ppn, FTL_KIND_DATA);
    if (!ok) sim_spoil(p);
    if (hw.data[i].rescue) {
        fail_rescued(i, ok);
    } else if (ok) {
        hw.done[hw.data[i].index] = true;
        map_complete(hw.data[i].ppn);
    } else {
        fail_data(i);
    }
    hw.datas--;
    memmove(&hw.data[i], &hw.data[i + 1], (hw.datas - i) * sizeof hw.data[0]);
}

static void finish_log(uint32_t at) {
    struct log_flight *p = &hw.flight[at / 2];
    struct log_copy *c = copy_at(at);
    struct sim_page *page = sim_program(c->ppn, FTL_KIND_LOG, p->number, 0);
    sim.log_pages++;
    memcpy(page->words, p->words, sizeof p->words);
    c->done = !sim_program_fails(c->ppn, FTL_KIND_LOG);
    if (c->done) return;
    sim_spoil(page);
    fail_event(c->ppn);
    if ((c->ppn & (sim.g.pages - 1)) >= FTL_LOG_RETRY_PAGE) hw.lane[c->lane].page = sim.g.pages;
    c->ppn = NO_PAGE;
    if (++c->places == LOG_PLACES) {
        c->leaves = c->lane;
        c->lane = NO_LANE;
        c->places = 0;
        hw.stopped = !p->twin || p->copy[1 - at % 2].leaves != NO_LANE;
    }
    if (!hw.stopped) place(p, at % 2, false);
}

bool drive_finish_one(void) {
    uint32_t n = hw.datas + 2 * hw.flights, at = n ? sim_random(n) : 0;
    if (sim_random(4) == 0 && fail_step()) return true;
    for (uint32_t i = 0; i < n; i++, at = (at + 1) % n) {
        bool data = at < hw.datas;
        if (data ? !first_of_die(at) || hw.held[hw.data[at].index] : !first_log_of_die(at - hw.datas)) continue;
        if (data) finish_data(at);
        else finish_log(at - hw.datas);
        hw_advance();
        return true;
    }
    return fail_step();
}

void drive_finish_log(void) {
    for (uint32_t i = 0; i < 4 * hw.flights; i++) { /* a first copy that waits for the second is met again */
        uint32_t at = i / 4 * 2 + i % 2;
        for (uint32_t tries = 0; !copy_at(at)->done && !hw.stopped; tries++) {
            if (copy_at(at)->ppn == NO_PAGE) place(&hw.flight[at / 2], at % 2, false);
            if (copy_at(at)->ppn == NO_PAGE) break; /* it waits for a block */
            finish_log(at);
            CHECK(tries < 8);
        }
    }
    hw_advance();
}

void drive_finish_data(void) {
    for (uint32_t i = 0; i < hw.datas;) {
        if (hw.held[hw.data[i].index]) i++;
        else finish_data(i);
    }
    hw_advance();
}

void drive_hold(uint64_t index) { hw.held[index] = true; }

void drive_release(uint64_t index) { hw.held[index] = false; }

void drive_data_under_way(uint32_t ppn, uint32_t lpn, uint64_t sequence, uint64_t index, uint32_t value) {
    CHECK(hw.datas < DATA_FLIGHT);
    hw.data[hw.datas].ppn = ppn;
    hw.data[hw.datas].lpn = lpn;
    hw.data[hw.datas].sequence = sequence;
    hw.data[hw.datas].index = index;
    hw.data[hw.datas].rescue = false;
    hw.data[hw.datas++].value = value;
}

/* A plain write waits for a COMMIT of that block that is not visible yet (rule lpn-order). */
static bool committing(uint32_t lpn) {
    for (uint32_t i = 0; i < drive.items; i++)
        for (uint32_t k = 0; k < drive.item[i].n; k++)
            if (drive.item[i].kind == ITEM_COMMIT && !drive.item[i].visible && drive.item[i].lpn[k] == lpn) return true;
    return false;
}

bool log_is_short(void) {
    uint32_t places = 0;
    for (uint32_t l = 0; l < sim.g.lanes; l++)
        places += (sim.lane[l].n + 1) * sim.g.pages - hw.lane[l].page; /* the last block is named only */
    return places <= FTL_LOG_COPIES * LOG_KEPT;
}

static bool no_room(uint32_t pages) {
    drive_supply(8);
    bool log_full = hw.head + pages + 2 > DRIVE_LOG || hw.head - hw.watermark > 800 || hw.stopped;
    /* writes leave the last blocks to COMMIT and FLUSH */
    log_full = log_full || (log_is_short() && (pages != 0 || no_place()));
    bool rescue = hw.fails != 0 && hw.rescue_ppn == NO_PAGE; /* its page goes first */
    return log_full || drive_pages_left() < pages + rescue || hw.datas + pages > DATA_FLIGHT ||
           drive.items + 1 >= DRIVE_ITEMS;
}

static uint64_t map_entry(uint32_t lpn, uint32_t n, uint32_t i, uint32_t flags, uint32_t serial, uint32_t value) {
    uint32_t ppn = 0;
    CHECK(drive_page(&ppn));
    uint64_t sequence = drive_sequence(), index;
    index = drive_append((struct ftl_entry){.kind = FTL_MAP,
                                            .flags = flags,
                                            .n = n,
                                            .i = i,
                                            .lpn = lpn,
                                            .location = FTL_WORD_NAND(ppn),
                                            .serial = serial,
                                            .sequence = sequence,
                                            .epoch = drive.epoch});
    drive_data_under_way(ppn, lpn, sequence, index, value);
    return index;
}

uint64_t drive_part(struct drive_item *item, uint32_t lpn, uint32_t n, uint32_t i, uint32_t flags, uint32_t value) {
    item->lpn[i] = lpn;
    item->value[i] = value;
    uint64_t index = map_entry(lpn, n, i, flags, 0, value);
    map_plain(lpn, FTL_WORD_VALUE(hw.entry[index].location));
    return index;
}

bool drive_write(const uint32_t *lpns, uint32_t n, bool ordered) {
    if (no_room(n)) return false;
    for (uint32_t i = 0; i < n; i++)
        if (committing(lpns[i])) return false;
    struct drive_item *item = &drive.item[drive.items++];
    *item = (struct drive_item){.kind = ITEM_WRITE, .n = n, .ordered = ordered, .epoch = drive.epoch};
    uint32_t value = drive.stamp++;
    drive_group(n);
    for (uint32_t i = 0; i < n; i++) {
        if (i != 0) amid_group();
        (void)drive_part(item, lpns[i], n, i, ordered ? FTL_ENTRY_ORDERED : 0, value);
    }
    item->index = hw.head;
    return true;
}

bool drive_trim(uint32_t lpn) {
    if (no_room(1) || committing(lpn)) return false;
    struct drive_item *item = &drive.item[drive.items++];
    *item = (struct drive_item){.kind = ITEM_WRITE, .n = 1, .ordered = true, .lpn[0] = lpn, .epoch = drive.epoch};
    drive_append((struct ftl_entry){
        .kind = FTL_TRIM, .flags = FTL_ENTRY_ORDERED, .n = 1, .lpn = lpn, .arg = 1, .epoch = drive.epoch});
    map_plain(lpn, NO_PAGE);
    item->index = hw.head;
    return true;
}

void drive_barrier(void) {
    if (!drive.used) return;
    drive.used = false;
    drive.epoch++;
    drive.after = drive.pages;
}

static uint32_t serial_of(uint32_t txid) { return drive.tx[txid].use << 5 | txid; }

bool drive_open(uint32_t serial) {
    return drive.tx[serial % FTL_TXIDS].open && serial_of(serial % FTL_TXIDS) == serial;
}

static void tx_put(struct drive_tx *t, uint32_t lpn, uint32_t value) {
    uint32_t i = 0;
    while (i < t->n && t->lpn[i] != lpn) i++;
    if (i == t->n) t->n++;
    t->lpn[i] = lpn;
    t->value[i] = value;
}

static bool takes_writes(uint32_t txid) { return !drive.tx[txid].prepared && !drive.tx[txid].ending; }

static struct drive_tx *open_tx(uint32_t txid) {
    struct drive_tx *t = &drive.tx[txid];
    if (!t->open) *t = (struct drive_tx){.open = true, .use = t->use + 1};
    t->logged++;
    return t;
}

bool drive_tx_write(uint32_t txid, uint32_t lpn) {
    if (no_room(1) || !takes_writes(txid)) return false;
    tx_put(open_tx(txid), lpn, drive.stamp);
    uint64_t index = map_entry(lpn, 1, 0, FTL_ENTRY_IN_TX, serial_of(txid), drive.stamp++);
    map_in_tx(txid, lpn, FTL_WORD_VALUE(hw.entry[index].location));
    return true;
}

bool drive_tx_trim(uint32_t txid, uint32_t lpn) {
    if (no_room(1) || !takes_writes(txid)) return false;
    tx_put(open_tx(txid), lpn, NOTHING);
    drive_append((struct ftl_entry){.kind = FTL_TRIM,
                                    .flags = FTL_ENTRY_IN_TX,
                                    .n = 1,
                                    .lpn = lpn,
                                    .arg = 1,
                                    .serial = serial_of(txid),
                                    .epoch = drive.epoch});
    map_in_tx(txid, lpn, NO_PAGE);
    return true;
}

/* COMMITs whose completion waits: the host has a number of tags. */
static uint32_t untaken(void) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < drive.items; i++) n += drive.item[i].kind == ITEM_COMMIT && !drive.item[i].taken;
    return n;
}

static bool commit(uint32_t txid, bool relaxed) {
    struct drive_tx *t = &drive.tx[txid];
    if (!t->open || (t->prepared && !t->sure) || no_room(0) || (sim.takes_nothing && untaken() == UNTAKEN))
        return false;
    struct drive_item *item = &drive.item[drive.items++];
    *item = (struct drive_item){
        .kind = ITEM_COMMIT, .relaxed = relaxed, .ordered = true, .n = t->n, .serial = serial_of(txid)};
    item->epoch = drive.epoch;
    item->after = drive.after;
    memcpy(item->lpn, t->lpn, sizeof t->lpn);
    memcpy(item->value, t->value, sizeof t->value);
    item->index = hw.head + 1;
    item->prepared = t->prepared;
    map_commit(txid, serial_of(txid));
    drive_append((struct ftl_entry){.kind = FTL_COMMIT,
                                    .n = 1,
                                    .serial = serial_of(txid),
                                    .arg = t->prepared ? 0 : t->logged,
                                    .epoch = drive.epoch});
    t->open = t->prepared = false;
    return true;
}

bool drive_commit(uint32_t txid) { return commit(txid, false); }

bool drive_commit_relaxed(uint32_t txid) { return commit(txid, true); }

void drive_abort(uint32_t txid) {
    struct drive_tx *t = &drive.tx[txid];
    if (!t->open || (t->prepared && !t->sure)) return;
    drive_append((struct ftl_entry){.kind = FTL_ABORT, .n = 1, .serial = serial_of(txid)});
    map_abort(txid);
    t->ending = t->prepared; /* it waits until the record is durable */
    t->index = hw.head;
    t->open = t->prepared = false;
}

bool drive_prepare(uint32_t txid) {
    struct drive_tx *t = &drive.tx[txid];
    if (!t->open || t->prepared || no_room(0)) return false;
    drive_append((struct ftl_entry){
        .kind = FTL_PREPARE, .n = 1, .serial = serial_of(txid), .arg = t->logged, .epoch = drive.epoch});
    t->prepared = true;
    t->sure = false;
    t->index = hw.head;
    return true;
}

void drive_takes(bool completions) {
    sim.takes_nothing = !completions;
    hw_advance();
}

/* LogWaiters.scala: all before the last COMMIT is complete, and behind that all but pages of transactions. */
static bool flushed(uint64_t upto) {
    uint64_t index = upto;
    if (hw.durable < upto) return false;
    while (index > hw.watermark && hw.entry[index - 1].kind != FTL_COMMIT) {
        index--;
        if (!hw.done[index] && hw.entry[index].kind == FTL_MAP && !(hw.entry[index].flags & FTL_ENTRY_IN_TX))
            return false;
    }
    return hw.watermark >= index;
}

static void flush(bool all) {
    drive_takes(true);
    uint64_t upto = hw.head;
    uint32_t items = drive.items;
    for (uint32_t tries = 0; !hw.stopped && !(flushed(upto) && (!all || hw.watermark >= upto)); tries++) {
        CHECK(tries < 100000);
        drive_supply(2);
        if (no_place() && (hw.closed < upto || waits_for_place())) hw.stopped = true;
        if ((hw.closed < upto || fail_wants_close()) && drive_can_close()) drive_close();
        else drive_finish_one();
    }
    for (uint32_t i = 0; i < items && !hw.stopped; i++)
        if (drive.item[i].kind == ITEM_WRITE || drive.item[i].relaxed) drive.item[i].must = true;
}

void drive_flush(void) { flush(false); }

void drive_settle(void) { flush(true); }

static void tear(void) {
    for (uint32_t i = 0; i < 2 * hw.flights; i++) {
        uint32_t luck = sim_random(3);
        if (!first_log_of_die(i) || luck == 0) continue;
        uint32_t ppn = copy_at(i)->ppn; /* one that fails gets another place */
        if (luck == 1) finish_log(i);
        if (luck == 1) sim_may_fade(&sim_pages[ppn]);
        else sim_tear(ppn, FTL_KIND_LOG, hw.flight[i / 2].number, 0);
        copy_at(i)->done = true;
    }
    /* pages of a die that were under way: the next one begins only when there is place for it */
    uint32_t at_once = sim.g.cache_ops || sim.g.planes > 1 ? 2 : 1, busy[FTL_MAX_DIES] = {0};
    for (uint32_t i = 0; i < hw.datas; i++) {
        uint32_t die = ftl_die_of(&sim.g, hw.data[i].ppn >> sim.g.page_bits), luck = sim_random(3);
        if (busy[die] == at_once) continue;
        busy[die] = luck == 0 ? at_once : busy[die] + 1;
        if (luck == 1) {
            struct sim_page *p = sim_program(hw.data[i].ppn, FTL_KIND_DATA, hw.data[i].lpn, hw.data[i].sequence);
            p->stamp = hw.data[i].value;
            sim_may_fade(p);
        }
        if (luck == 2) sim_tear(hw.data[i].ppn, FTL_KIND_DATA, hw.data[i].lpn, hw.data[i].sequence);
    }
}

void drive_cut(void) {
    tear();
    sim_power_cut();
}

bool drive_supply_cut(uint32_t steps, uint32_t at) {
    sim.ops = 0;
    sim.cut_at = at;
    sim.on_cut = tear;
    if (setjmp(sim.cut)) {
        sim.cut_at = 0;
        return true;
    }
    drive_supply(steps);
    sim.cut_at = 0;
    sim.on_cut = NULL;
    return false;
}

void drive_tear_first(void) {
    sim_tear(hw.data[0].ppn, FTL_KIND_DATA, hw.data[0].lpn, hw.data[0].sequence);
    sim_pages[hw.data[0].ppn].state = SIM_TORN;
    sim_power_on();
}

struct drive_copies drive_log_page(uint32_t number) {
    struct drive_copies of = {.n = 0};
    for (struct sim_page *p = NULL; (p = sim_next(p, FTL_KIND_LOG)) != NULL;) {
        if (p->state != SIM_WHOLE || p->generation != drive.ftl.report.generation || p->lpn != number) continue;
        CHECK(of.n < 8);
        of.was[of.n] = *p;
        of.copy[of.n++] = p;
    }
    CHECK(of.n >= FTL_LOG_COPIES);
    return of;
}

void drive_log_spoil(struct drive_copies *of, enum sim_state state) {
    for (uint32_t i = 0; i < of->n; i++) of->copy[i]->state = state;
}

void drive_log_mend(const struct drive_copies *of) {
    for (uint32_t i = 0; i < of->n; i++) *of->copy[i] = of->was[i];
}

void drive_cut_dropping_all(void) { sim_power_on(); }
