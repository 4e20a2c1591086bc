/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_map_blocks.h"

#include <stddef.h>

#include "ftl_blocks.h"
#include "ftl_wear.h"

#define SPARE_SHARE 4u
#define FAILING 8u /* places of the list for blocks that fail while a map is written */

static struct ftl_map_block *find(struct ftl *f, uint32_t block_id) {
    struct ftl_map_blocks *m = &f->map;
    for (uint32_t left = m->n, i = m->last; left > 0; left--, i++) {
        if (i >= m->n) i = 0;
        if (m->at[i].id != block_id) continue;
        m->last = i;
        return &m->at[i];
    }
    return NULL;
}

static struct ftl_map_block *of_page(struct ftl *f, uint32_t ppn) { return find(f, ppn >> f->geometry.page_bits); }

void ftl_map_blocks_clear(struct ftl *f) {
    f->map.n = f->map.pinned = 0;
    for (uint32_t c = 0; c < FTL_MAP_COPIES; c++) f->map.left[c] = 0;
}

bool ftl_map_blocks_open(struct ftl *f, uint32_t block_id) {
    struct ftl_map_blocks *m = &f->map;
    if (m->n == FTL_MAP_BLOCKS) return false;
    m->at[m->n++] = (struct ftl_map_block){.id = block_id & 0xffffffu};
    return true;
}

bool ftl_map_blocks_named(struct ftl *f, uint32_t ppn) {
    struct ftl_map_block *b = of_page(f, ppn);
    if (b == NULL && !ftl_map_blocks_open(f, ppn >> f->geometry.page_bits)) return false;
    if (b == NULL) b = &f->map.at[f->map.n - 1];
    b->live++;
    return true;
}

void ftl_map_blocks_pin(struct ftl *f, uint32_t block_id) {
    struct ftl_map_block *b = find(f, block_id);
    if (b == NULL || b->pinned) return;
    b->pinned = true;
    f->map.pinned++;
}

static bool is_open(const struct ftl *f, const struct ftl_map_block *b) {
    const struct ftl_map_blocks *m = &f->map;
    for (uint32_t c = 0; c < FTL_MAP_COPIES; c++)
        if (m->left[c] != 0 && m->to[c] >> f->geometry.page_bits == b->id) return true;
    return false;
}

bool ftl_map_blocks_fit(const struct ftl_geometry *g) {
    return ftl_mount_map_blocks(g) + ftl_checkpoint_blocks(g) + FAILING <= FTL_MAP_BLOCKS;
}

uint32_t ftl_map_blocks_most(const struct ftl *f) {
    uint32_t next = ftl_checkpoint_blocks(&f->geometry), more = f->health.spare / SPARE_SHARE,
             most = ftl_mount_map_blocks(&f->geometry) + (more < next ? more : next),
             room = FTL_MAP_BLOCKS - FAILING - next;
    if (f->map.pinned != 0) return next;
    return most < room ? most : room;
}

/* Blocks that are opened for so many pages of each copy, and others of the first one. */
static uint32_t opened(const struct ftl *f, uint32_t pages, uint32_t beside) {
    const struct ftl_geometry *g = &f->geometry;
    uint32_t n = 0;
    if (!f->blocks.settled) return ftl_mount_blocks(g, FTL_MAP_COPIES * pages + beside);
    for (uint32_t c = 0; c < FTL_MAP_COPIES; c++) {
        uint32_t need = c == 0 ? pages + beside : pages, left = f->map.left[c];
        if (need > left) n += (need - left + g->pages - 1) / g->pages;
    }
    return n;
}

/* The emptiest block that may leave and does not yet. */
static struct ftl_map_block *emptiest(struct ftl *f) {
    struct ftl_map_block *best = NULL;
    for (uint32_t i = 0; i < f->map.n; i++) {
        struct ftl_map_block *b = &f->map.at[i];
        if (!b->leaves && !b->pinned && !is_open(f, b) && (best == NULL || b->live < best->live)) best = b;
    }
    return best;
}

bool ftl_map_blocks_begin(struct ftl *f, uint32_t pages, uint32_t beside, bool whole) {
    struct ftl_map_blocks *m = &f->map;
    uint32_t most = ftl_map_blocks_most(f), all = f->geometry.map_pages + f->geometry.directories,
             stay = m->n - m->pinned;
    m->leaving = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        struct ftl_map_block *b = &m->at[i];
        b->next = b->live;
        b->leaves = ftl_blocks_unwanted(f, b->id) || ftl_wear_lags(f, ftl_erases_of(f, b->id));
        if (!b->leaves) continue;
        for (uint32_t c = 0; c < FTL_MAP_COPIES && is_open(f, b); c++)
            if (m->to[c] >> f->geometry.page_bits == b->id) m->left[c] = 0;
        pages += b->live;
        m->leaving++;
        if (!b->pinned) stay--;
    }
    while (!whole && stay + opened(f, pages, beside) > most) {
        struct ftl_map_block *b = emptiest(f);
        if (b != NULL) b->leaves = true, pages += b->live, m->leaving++, stay--;
        whole = b == NULL || pages >= all;
    }
    if (!whole) return false;
    for (uint32_t i = 0; i < m->n; i++) m->at[i].next = 0;
    for (uint32_t c = 0; c < FTL_MAP_COPIES; c++) m->left[c] = 0;
    return true;
}

bool ftl_map_blocks_full(const struct ftl *f) {
    uint32_t stay = 0;
    for (uint32_t i = 0; i < f->map.n; i++) stay += !f->map.at[i].leaves && !f->map.at[i].pinned;
    return stay >= ftl_map_blocks_most(f);
}

bool ftl_map_blocks_leaves(struct ftl *f, uint32_t ppn) {
    const struct ftl_map_block *b = ppn == FTL_NO_PPN || f->map.leaving == 0 ? NULL : of_page(f, ppn);
    return b != NULL && b->leaves;
}

void ftl_map_blocks_put(struct ftl *f, uint32_t ppn) {
    struct ftl_map_block *b = of_page(f, ppn);
    if (b != NULL) b->next++;
}

void ftl_map_blocks_drop(struct ftl *f, uint32_t *ppn) {
    struct ftl_map_block *b = *ppn == FTL_NO_PPN ? NULL : of_page(f, *ppn);
    if (b != NULL && b->next != 0) b->next--;
    *ppn = FTL_NO_PPN;
}

void ftl_map_blocks_end(struct ftl *f, bool counts, bool unpin) {
    struct ftl_map_blocks *m = &f->map;
    uint32_t kept = 0;
    if (unpin) m->pinned = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        struct ftl_map_block b = m->at[i];
        if (counts) b.live = b.next;
        if (unpin) b.pinned = false;
        if (b.live == 0 && !b.pinned && !is_open(f, &b)) ftl_blocks_release(f, b.id);
        else m->at[kept++] = b;
    }
    m->n = kept;
}
