/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_collect.h"

#include "ftl_age.h"
#include "ftl_blocks.h"
#include "ftl_dies.h"
#include "ftl_wear.h"

void ftl_collect_count(struct ftl *f) {
    for (uint32_t t = 0; t < FTL_TXIDS; t++)
        for (uint32_t i = 0; i < f->prepared.items[t]; i++) {
            uint32_t word = hal_tx_area(t)[2 * i + 1], block = FTL_WORD_VALUE(word) >> f->geometry.page_bits;
            if (word != FTL_WORD_NONE) hal_live_set(block, hal_live(block) + 1);
        }
    ftl_blocks_counted_data(f);
}

static bool has_ticket(const struct ftl_collect *c, uint32_t block) {
    for (uint32_t i = 0; i < c->tickets; i++)
        if (c->ticket[i].block == block) return true;
    return false;
}

static void take_ticket(struct ftl_collect *c, uint32_t block) {
    c->ticket[c->tickets].block = block;
    c->ticket[c->tickets].turn = c->turn + 1;
    c->ticket[c->tickets].head = hal_log_fence(&c->ticket[c->tickets].beyond);
    c->tickets++;
}

/* A note costs a page of the log: others bring the watermark, too, if there is time. */
static bool note_is_due(const struct ftl *f, struct ftl_collect *c) {
    return c->tickets >= FTL_TICKETS_NOTE || ++c->waits > FTL_NOTE_ROUNDS ||
           hal_alloc_left() < ftl_dies_used(&f->geometry) * f->geometry.pages / 4;
}

/* Whether the oldest ticket is ripe. Does what brings it on: a turn of the reads, a note. */
static bool ripe(const struct ftl *f, struct ftl_collect *c) {
    bool old = hal_reads_old();
    if (!old && c->turn < c->ticket[0].turn) {
        hal_reads_turn();
        c->turn++;
        return false;
    }
    uint64_t head = c->ticket[0].head;
    uint64_t durable = hal_log_durable_mark();
    if (durable < head) {
        uint64_t mark = hal_log_mark(); /* the note brings this one, not that of the log's head */
        /* what waited in the write buffer may have been complete only after the note: then another one */
        if (note_is_due(f, c) && (c->noted <= durable || ++c->vain > FTL_NOTE_ROUNDS) &&
            mark + c->ticket[0].beyond >= head && hal_log_note(false)) {
            c->noted = mark;
            c->vain = 0;
        }
        return false;
    }
    return c->turn > c->ticket[0].turn || (c->turn == c->ticket[0].turn && !old);
}

static void use_ticket(struct ftl *f, struct ftl_collect *c) {
    uint32_t block = c->ticket[0].block;
    c->waits = 0;
    if (hal_live(block) == 0 && !hal_fault()) { /* asked last */
        ftl_blocks_release(f, block);
        c->released++;
    }
    c->tickets--;
    for (uint32_t i = 0; i < c->tickets; i++) c->ticket[i] = c->ticket[i + 1];
}

static bool is_victim(const struct ftl_collect *c, uint32_t block) {
    for (uint32_t v = 0; v < FTL_VICTIMS; v++)
        if (c->victim[v].block == block + 1) return true;
    return false;
}

/* A victim's pages have found their places, or stay where they are. False: they are gone through again. */
static bool end_victim(struct ftl *f, struct ftl_supply *s, struct ftl_retire *r, struct ftl_collect *c, uint32_t v) {
    uint32_t block = c->victim[v].block - 1;
    if (!ftl_blocks_is_data(f, block) || ftl_blocks_is_bad(f, block)) return true;
    bool live = hal_live(block) != 0;
    c->starved = live && c->victim[v].starved;
    if (c->starved) return true;
    if (live && !c->victim[v].again && ftl_retire_collect(s, r, block, false, hal_log_head())) {
        c->victim[v].again = true;
        return false;
    }
    if (live) {
        ftl_blocks_set_aside(f, block);
        return true;
    }
    take_ticket(c, block);
    c->moved_blocks++;
    return true;
}

/* Whether a further victim may be chosen: one of the places is free. */
static bool end_victims(struct ftl *f, struct ftl_supply *s, struct ftl_retire *r, struct ftl_collect *c) {
    bool may = false;
    for (uint32_t v = 0; v < FTL_VICTIMS; v++) {
        uint32_t *block = &c->victim[v].block;
        c->victim[v].starved = c->victim[v].starved || r->starved;
        if (*block != 0 && !ftl_retire_has(f, r, *block - 1) && c->tickets < FTL_TICKETS && end_victim(f, s, r, c, v))
            *block = 0;
        may = may || *block == 0;
    }
    return may;
}

/* Whether a victim of that die has pages that are not on their way: pages of one die are read one after the other. */
static bool die_has_victim(const struct ftl *f, const struct ftl_retire *r, const struct ftl_collect *c, uint32_t die) {
    for (uint32_t v = 0; v < FTL_VICTIMS; v++) {
        uint32_t block = c->victim[v].block;
        if (block != 0 && ftl_die_of(&f->geometry, block - 1) == die && ftl_retire_waits(r, block - 1)) return true;
    }
    return false;
}

/* Takes note of a block that has dead pages, when it is a better victim than the best one so far: gain / cost is more.
 */
static void consider(const struct ftl *f, struct ftl_collect *c, uint32_t block, uint32_t live) {
    uint32_t pages = f->geometry.pages, gain = pages - live, cost = 1;
    if (hal_cost_benefit()) gain *= ftl_age_of(f, block) + 1, cost = pages + live;
    if (c->best != 0 && gain * c->cost <= c->gain * cost) return;
    c->best = block + 1;
    c->gain = gain;
    c->cost = cost;
}

/* Looks at the blocks of one word of the cursor; true: the search is over. */
static bool search(struct ftl *f, const struct ftl_retire *r, struct ftl_collect *c) {
    const struct ftl_geometry *g = &f->geometry;
    uint32_t bits = die_has_victim(f, r, c, c->die) ? 0 : ftl_blocks_data_word(f, c->die, c->word);
    for (uint32_t b = c->word * 32; bits != 0; bits >>= 1, b++) {
        uint32_t id = ftl_block_id(g, c->die, b);
        if (!(bits & 1u) || has_ticket(c, id) || is_victim(c, id) || ftl_retire_has(f, r, id)) continue;
        uint32_t live = hal_live(id);
        if (live == 0 && c->tickets < FTL_TICKETS) {
            take_ticket(c, id);
            if (c->best == id + 1) c->best = 0;
            if (c->cold == id + 1) c->cold = 0; /* the search may come by a block twice */
            c->words = 0;
            continue;
        }
        c->seen++;
        uint32_t erases = ftl_erases_of(f, id);
        if (ftl_wear_lags(f, erases) && (c->cold == 0 || erases < c->cold_erases)) {
            c->cold = id + 1;
            c->cold_erases = erases;
        }
        if (live < g->pages) consider(f, c, id, live);
    }
    c->words++;
    if (++c->die == g->dies) {
        c->die = 0;
        c->word = c->word + 1 == f->blocks.words ? 0 : c->word + 1;
    }
    return c->seen >= FTL_COLLECT_WINDOW || c->words >= g->dies * f->blocks.words;
}

/* The collector cannot go on by itself. No block is left, not even for a page that could not be programmed, and one
 * such page may be what holds up the watermark, or the note, which waits for the end of a group of pages; or none to
 * move to, and no ticket waits; or the log takes no more moves and notes. */
static bool stuck(const struct ftl *f, const struct ftl_supply *s, const struct ftl_retire *r,
                  const struct ftl_collect *c) {
    if (f->blocks.total == 0 &&
        (c->tickets == 0 || hal_log_mark() + c->ticket[0].beyond < c->ticket[0].head || c->vain > FTL_VAIN_ROUNDS))
        return true;
    return (c->starved && c->tickets == 0) ||
           (s->log_ended && s->no_checkpoint && (!ftl_moves_none(&r->moves) || c->tickets != 0));
}

void ftl_collect_step(struct ftl *f, struct ftl_supply *s, struct ftl_retire *r, struct ftl_collect *c) {
    if (f->quiet) return;
    s->hopeless = s->starving && s->no_checkpoint; /* which has been asked since */
    if (c->tickets != 0 && ripe(f, c)) use_ticket(f, c);
    bool may = end_victims(f, s, r, c), none = true;
    for (uint32_t v = 0; v < FTL_VICTIMS; v++) none = none && c->victim[v].block == 0;
    if (f->blocks.total > ftl_supply_kept_from_moves(f)) c->starved = false;
    if (stuck(f, s, r, c)) s->starving = true;
    else if (c->tickets != 0 || !none || !ftl_supply_low(f)) s->starving = false;
    if (!ftl_supply_low(f) || !may || !search(f, r, c)) return;
    bool cold = c->cold != 0 && c->released >= c->cold_from;
    if (cold) c->best = c->cold;
    bool worth = c->best != 0 && ftl_retire_collect(s, r, c->best - 1, cold, 0);
    if (worth) {
        if (cold) c->cold_from = c->released + FTL_WEAR_SHARE, c->levelled++;
        uint32_t v = 0;
        while (c->victim[v].block != 0) v++;
        c->victim[v].block = c->best;
        c->victim[v].again = c->victim[v].starved = false;
        c->words = 0;
    } else if (c->words >= f->geometry.dies * f->blocks.words) {
        if (c->tickets == 0 && none) s->starving = true;
        c->words = 0;
    }
    c->seen = c->best = c->cold = 0;
}
