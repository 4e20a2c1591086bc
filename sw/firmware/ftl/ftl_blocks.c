/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_blocks.h"

#include "ftl.h"

enum set { SET_BUSY = 0, SET_LIVE = 1 };

/* Word `word` of a die in a set: BUSY begins with the firmware's first frame, LIVE half way through its frames. */
static uint32_t *word_of(struct ftl *f, enum set set, uint32_t die, uint32_t word) {
    const struct ftl_geometry *g = &f->geometry;
    uint32_t at = die * f->blocks.words + word;
    uint32_t frame = g->frames - g->firmware_frames + (set == SET_LIVE ? g->firmware_frames / 2 : 0) + at / FTL_PAGE_WORDS;
    return hal_frame(frame) + at % FTL_PAGE_WORDS;
}

static bool put(struct ftl *f, enum set set, uint32_t block_id) {
    uint32_t block = ftl_block_of(&f->geometry, block_id);
    uint32_t *word = word_of(f, set, ftl_die_of(&f->geometry, block_id), block / 32), bit = 1u << block % 32, old = *word;
    *word = old | bit;
    return !(old & bit);
}

static void clear(struct ftl *f, enum set set) {
    const struct ftl_geometry *g = &f->geometry;
    for (uint32_t die = 0; die < g->dies; die++) {
        for (uint32_t w = 0; w < f->blocks.words; w++) *word_of(f, set, die, w) = 0;
        for (uint32_t b = g->blocks; b < f->blocks.words * 32; b++) *word_of(f, set, die, b / 32) |= 1u << b % 32;
    }
    for (uint32_t a = 0; a < 2; a++) put(f, set, ftl_anchor(g, a));
}

uint32_t ftl_anchor(const struct ftl_geometry *g, uint32_t which) {
    if (which == 0) return ftl_block_id(g, 0, 0);
    return g->dies > 1 ? ftl_block_id(g, g->dies - 1, 0) : ftl_block_id(g, 0, 1);
}

enum ftl_error ftl_blocks_init(struct ftl *f, uint32_t start) {
    struct ftl_blocks *b = &f->blocks;
    const struct ftl_geometry *g = &f->geometry;
    b->words = (g->blocks + 31) / 32;
    if (g->dies > FTL_MAX_DIES || g->dies * b->words > g->firmware_frames / 2 * FTL_PAGE_WORDS) return FTL_ERR_CONFIG;
    for (uint32_t die = 0; die < g->dies; die++) b->cursor[die] = start % b->words;
    b->last_busy = b->last_live = FTL_NO_BLOCK;
    b->settled = false;
    b->total = 0;
    clear(f, SET_BUSY);
    clear(f, SET_LIVE);
    return FTL_OK;
}

void ftl_blocks_busy(struct ftl *f, uint32_t block_id) {
    if (block_id == f->blocks.last_busy) return;
    f->blocks.last_busy = block_id;
    put(f, SET_BUSY, block_id);
}

void ftl_blocks_live(struct ftl *f, uint32_t block_id) {
    if (block_id == f->blocks.last_live) return;
    f->blocks.last_live = block_id;
    put(f, SET_LIVE, block_id);
}

void ftl_blocks_live_is_busy(struct ftl *f) {
    for (uint32_t die = 0; die < f->geometry.dies; die++)
        for (uint32_t w = 0; w < f->blocks.words; w++) *word_of(f, SET_LIVE, die, w) = *word_of(f, SET_BUSY, die, w);
}

void ftl_blocks_live_is_anchors(struct ftl *f) {
    f->blocks.last_live = FTL_NO_BLOCK;
    clear(f, SET_LIVE);
}

void ftl_blocks_settle(struct ftl *f) {
    struct ftl_blocks *b = &f->blocks;
    b->total = 0;
    for (uint32_t die = 0; die < f->geometry.dies; die++) {
        uint32_t n = 0;
        for (uint32_t w = 0; w < b->words; w++)
            for (uint32_t v = ~*word_of(f, SET_LIVE, die, w); v != 0; v &= v - 1u) n++;
        b->free[die] = n;
        b->total += n;
    }
    b->settled = true;
}

uint32_t ftl_blocks_take(struct ftl *f, uint32_t die) {
    struct ftl_blocks *b = &f->blocks;
    if (b->settled && b->free[die] == 0) return FTL_NO_BLOCK;
    for (uint32_t n = 0, w = b->cursor[die]; n < b->words; n++, w = w + 1 == b->words ? 0 : w + 1) {
        uint32_t taken = *word_of(f, SET_LIVE, die, w);
        if (!b->settled) taken |= *word_of(f, SET_BUSY, die, w);
        if (taken == 0xffffffffu) continue;
        uint32_t bit = 0;
        while (taken >> bit & 1u) bit++;
        uint32_t id = ftl_block_id(&f->geometry, die, w * 32 + bit);
        put(f, SET_LIVE, id);
        if (!b->settled) put(f, SET_BUSY, id);
        if (b->settled) b->free[die]--, b->total--;
        b->cursor[die] = w;
        return id;
    }
    return FTL_NO_BLOCK;
}

uint32_t ftl_blocks_take_near(struct ftl *f, uint32_t channel) {
    const struct ftl_geometry *g = &f->geometry;
    for (uint32_t n = 0; n < g->dies; n++) {
        uint32_t id = ftl_blocks_take(f, (channel * g->ways + n) % g->dies);
        if (id != FTL_NO_BLOCK) return id;
    }
    return FTL_NO_BLOCK;
}

uint32_t ftl_blocks_mount_reserve(const struct ftl_geometry *g) {
    uint32_t pages = g->map_pages + g->directories, round = g->dies * g->pages;
    uint32_t map_blocks = pages <= g->dies ? pages : (pages + round - 1) / round * g->dies;
    return map_blocks + 2 * g->lanes;
}
