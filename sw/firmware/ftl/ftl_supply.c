/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_supply.h"

#include "ftl_bbt.h"
#include "ftl_blocks.h"
#include "ftl_erases.h"
#include "ftl_map_blocks.h"

#define MOVES (FTL_MAX_DIES + FTL_MAX_LANES)

static struct ftl_queue *queue_of(struct ftl_supply *s, uint32_t number) {
    if (number == MOVES) return &s->moves;
    return number < FTL_MAX_DIES ? &s->die[number] : &s->lane[number - FTL_MAX_DIES];
}

static void collect(struct ftl *f, struct ftl_supply *s) {
    while (ftl_io_ready(&f->io)) {
        struct hal_nand_done done;
        uint32_t slot = f->io.got % HAL_NAND_DEPTH;
        struct ftl_queue *q = queue_of(s, s->erasing[slot].queue);
        ftl_io_get(&f->io, &done);
        q->coming--;
        if (done.status == FTL_PAGE_OK) {
            q->block[q->waiting++] = s->erasing[slot].block;
        } else {
            (void)ftl_bbt_mark(f, s->erasing[slot].block);
            if (s->erasing[slot].queue < FTL_MAX_DIES) s->owed++;
        }
    }
}

static void start_erase(struct ftl *f, struct ftl_supply *s, uint32_t number, uint32_t block) {
    uint32_t slot = f->io.put % HAL_NAND_DEPTH;
    struct hal_nand_op o = {.op = HAL_ERASE, .ppn = ftl_first_ppn(&f->geometry, block)};
    s->erasing[slot].block = block;
    s->erasing[slot].queue = (uint8_t)number;
    queue_of(s, number)->coming++;
    ftl_io_put(&f->io, &o);
}

/* Takes the oldest block out of a queue. */
static uint32_t pop(struct ftl_queue *q) {
    uint32_t block = q->block[0];
    q->waiting--;
    for (uint32_t i = 0; i < q->waiting; i++) q->block[i] = q->block[i + 1];
    return block;
}

/* Dies with an erase of this module that has not ended. */
static uint64_t erased_dies(const struct ftl *f, const struct ftl_supply *s) {
    uint64_t dies = 0;
    for (uint32_t n = f->io.got; n != f->io.put; n++)
        dies |= 1ull << ftl_die_of(&f->geometry, s->erasing[n % HAL_NAND_DEPTH].block);
    return dies;
}

/* Whether an erase of that die may begin: data and log find dies without one. */
static bool may_erase(const struct ftl *f, const struct ftl_supply *s, uint32_t die) {
    const struct ftl_geometry *g = &f->geometry;
    uint64_t before = erased_dies(f, s), with = before | 1ull << die, lanes = 0;
    if (!g->idle_dies || before == 0) return true;
    if (with != before && 2 * ftl_dies_count(with) > ftl_dies_used(g)) return false;
    struct hal_log_place at;
    hal_log_place(&at);
    for (uint32_t l = 0; l < g->lanes; l++) lanes |= 1ull << ftl_die_of(g, at.lane[l].block);
    return (lanes & ~with) != 0 || (lanes & ~(1ull << die)) == 0;
}

/* Where a lane's next block is from: the die of its channel with the most free blocks, so that dies wear alike; another
 * one if there is none. */
static uint32_t die_of_lane(const struct ftl *f, uint32_t lane) {
    const struct ftl_geometry *g = &f->geometry;
    uint32_t first = lane * g->ways % g->dies, die = first;
    for (uint32_t way = 1; way < g->ways; way++)
        if (f->blocks.free[first + way] > f->blocks.free[die]) die = first + way;
    for (uint32_t n = 0; n < g->dies && f->blocks.free[die] == 0; n++) die = die + 1 == g->dies ? 0 : die + 1;
    return die;
}

static bool wants(const struct ftl_queue *q) { return (uint32_t)q->waiting + q->coming < FTL_AHEAD; }

/* True: every lane has all it wants, or there is nothing for it. */
static bool supply_log(struct ftl *f, struct ftl_supply *s) {
    uint32_t room = hal_log_room(), reserve = ftl_supply_kept(f), ended = 0;
    bool content = true;
    for (uint32_t l = 0; l < f->geometry.lanes; l++) {
        struct ftl_queue *q = &s->lane[l];
        if (q->waiting != 0 && room >> l & 1u) {
            uint32_t block = pop(q);
            hal_log_block(l, block);
            s->urgent_notes = 0;
            ftl_holders_put(&f->log[l], block);
        }
        while (wants(q) && f->blocks.total > reserve && !s->hold && ftl_io_room(&f->io)) {
            uint32_t die = die_of_lane(f, l);
            if (!may_erase(f, s, die)) break;
            uint32_t block = ftl_blocks_take_held(f, die);
            if (block == FTL_NO_BLOCK) break;
            start_erase(f, s, FTL_MAX_DIES + l, block);
        }
        if (wants(q) && f->blocks.total > reserve) content = false;
        if (q->waiting == 0 && q->coming == 0 && f->blocks.total <= reserve) ended |= 1u << l;
    }
    s->log_ended = ended == (1u << f->geometry.lanes) - 1u;
    uint32_t full = s->no_checkpoint ? ended : 0;
    if (s->log_full != full) {
        s->log_full = full;
        hal_log_full(full);
    }
    return content;
}

bool ftl_supply_moves_block(struct ftl_supply *s, uint32_t *block) {
    if (s->moves.waiting == 0) return false;
    *block = pop(&s->moves) + 1;
    return true;
}

bool ftl_supply_moves_may(const struct ftl *f, const struct ftl_supply *s) {
    uint32_t open = s->moves_open;
    if (open == 0) return f->blocks.total > ftl_supply_kept_from_moves(f);
    return open <= f->health.spare && f->blocks.total > ftl_supply_kept(f) + FTL_LOG_LAST * f->geometry.lanes;
}

/* True: pages that move have a block, or there is none for them. */
static bool supply_moves(struct ftl *f, struct ftl_supply *s) {
    const struct ftl_geometry *g = &f->geometry;
    uint64_t dies = 0;
    if (!s->moves_want || s->moves.waiting + s->moves.coming != 0 || !ftl_supply_moves_may(f, s)) return true;
    for (uint32_t die = 0; die < g->dies; die++)
        if (f->blocks.free[die] != 0 && !ftl_dies_has(s->moves_dies, die) && may_erase(f, s, die)) dies |= 1ull << die;
    if (s->hold || !ftl_io_room(&f->io) || dies == 0) return s->moves_open != 0;
    start_erase(f, s, MOVES, ftl_blocks_take_any(f, dies, s->moves_cold));
    s->moves_cold = false;
    return true;
}

uint32_t ftl_supply_kept_from_moves(const struct ftl *f) {
    uint32_t most = ftl_map_blocks_most(f), has = f->map.n - f->map.pinned;
    return FTL_RESCUE_BLOCKS + ftl_checkpoint_blocks(&f->geometry) + (has < most ? most - has : 0);
}

uint32_t ftl_supply_kept(const struct ftl *f) { return ftl_supply_kept_from_moves(f) + FTL_COLLECT_BLOCKS; }

uint32_t ftl_supply_needed(const struct ftl_geometry *g) {
    uint32_t data = (g->lbas + g->pages - 1) / g->pages + 2 * ftl_dies_used(g),
             log = (FTL_LOG_RESERVE + g->lane_blocks - FTL_LANE_FIRST + FTL_AHEAD) * g->lanes;
    return data + log + 2 * ftl_blocks_mount_reserve(g) - FTL_MOUNT_SPARE + FTL_RESCUE_BLOCKS +
           ftl_checkpoint_blocks(g) + FTL_COLLECT_BLOCKS;
}

uint32_t ftl_supply_spare(struct ftl *f) {
    uint32_t good = ftl_blocks_good(f), needed = ftl_supply_needed(&f->geometry);
    return good > needed ? good - needed : 0;
}

static uint32_t data_reserve(const struct ftl *f) { return ftl_supply_kept(f) + FTL_LOG_RESERVE * f->geometry.lanes; }

bool ftl_supply_low(const struct ftl *f) { return f->blocks.total <= data_reserve(f) + ftl_dies_used(&f->geometry); }

uint32_t ftl_supply_ahead(const struct ftl *f, const struct ftl_supply *s) {
    uint32_t kept = data_reserve(f), n = f->blocks.total > kept ? f->blocks.total - kept : 0;
    for (uint32_t die = 0; die < f->geometry.dies; die++) n += (uint32_t)s->die[die].waiting + s->die[die].coming;
    return n;
}

bool ftl_supply_plenty(const struct ftl *f) {
    return f->blocks.total > data_reserve(f) + f->geometry.dies * f->geometry.blocks / FTL_PLENTY_SHARE;
}

/* Whether data may take one more block. */
static bool data_may(const struct ftl *f, const struct ftl_supply *s) {
    if (f->blocks.total > data_reserve(f)) return true;
    uint32_t event; /* that is taken first: data may be owed a block for it */
    if (s->dry && hal_page_wanted() && !hal_bad_block(&event)) return true;
    return s->owed != 0 && (s->dry || f->blocks.total > ftl_supply_kept(f) + FTL_LOG_LAST * f->geometry.lanes);
}

/* The die gets a block; the one that it has surely left is closed. */
static void give(struct ftl *f, struct ftl_supply *s, uint32_t die, uint32_t block) {
    uint32_t *old = &s->given[die][s->oldest[die]];
    hal_data_block(block);
    if (*old != 0) ftl_blocks_close(f, *old - 1);
    *old = block + 1;
    s->oldest[die] = (uint8_t)(s->oldest[die] + 1 == FTL_DIE_BLOCKS ? 0 : s->oldest[die] + 1);
}

static void supply_data(struct ftl *f, struct ftl_supply *s, bool may_take) {
    const struct ftl_geometry *g = &f->geometry;
    uint64_t room = hal_data_room();
    uint32_t die = s->next_die, next = die + 1 == g->dies ? 0 : die + 1;
    bool none = true, could = false, turn = may_take && !s->hold;
    for (uint32_t n = 0; n < g->dies; n++) {
        struct ftl_queue *q = &s->die[die];
        if (q->waiting != 0 && room >> die & 1u) give(f, s, die, pop(q));
        if (wants(q) && data_may(f, s) && f->blocks.free[die] != 0) {
            could = true;
            if (turn && (!ftl_io_room(&f->io) || !may_erase(f, s, die))) {
                turn = false; /* no other die goes first: it would be the same ones again and again */
                next = die;
            }
            if (turn) {
                if (f->blocks.total <= data_reserve(f) && s->owed != 0) s->owed--;
                start_erase(f, s, die, ftl_blocks_take(f, die));
            }
        }
        if (q->waiting != 0 || q->coming != 0) none = false;
        die = die + 1 == g->dies ? 0 : die + 1;
    }
    s->dry = none;
    s->next_die = next;
    bool full = none && !could && s->hopeless;
    /* a page that could not be programmed may wait behind another one: it gets a block when its turn comes. Not for
     * ever: both may wait for the end of a group that waits for a page */
    bool waits = full && hal_log_mark() < s->failed && !hal_page_wanted();
    s->turns = waits ? s->turns + 1 : 0;
    full = full && (!waits || s->turns > FTL_TURN_ROUNDS);
    if (waits && full) s->turns = FTL_TURN_ROUNDS + 1;
    if (s->full != full) {
        s->full = full;
        hal_full(s->full);
    }
}

void ftl_supply_failed(const struct ftl *f, struct ftl_supply *s, bool replace) {
    s->owed += replace;
    s->failed = hal_log_head();
    if (!s->full || !data_may(f, s)) return;
    s->full = false;
    hal_full(false);
}

void ftl_supply_step(struct ftl *f, struct ftl_supply *s) {
    collect(f, s);
    bool log = supply_log(f, s), moves = supply_moves(f, s);
    supply_data(f, s, log && moves);
}
