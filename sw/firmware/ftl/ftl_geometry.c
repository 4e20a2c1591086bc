/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_geometry.h"

#include "ftl_format.h"

static uint32_t bits_for(uint32_t n) {
    uint32_t bits = 0;
    while ((1u << bits) < n) bits++;
    return bits;
}

void ftl_geometry_init(struct ftl_geometry *g) {
    g->dies = g->channels * g->ways;
    g->lanes = g->channels < FTL_MAX_LANES ? g->channels : FTL_MAX_LANES;
    g->way_bits = bits_for(g->ways);
    g->block_bits = bits_for(g->blocks);
    g->page_bits = bits_for(g->pages);
    g->map_pages = (g->lbas + FTL_PAGE_WORDS - 1) / FTL_PAGE_WORDS;
    g->directories = (g->map_pages + FTL_DIRECTORY_PAGES - 1) / FTL_DIRECTORY_PAGES;
}

uint32_t ftl_block_id(const struct ftl_geometry *g, uint32_t die, uint32_t block) {
    /* a division takes longer than a page's OOB */
    if (g->ways == 1u << g->way_bits) return die << g->block_bits | block;
    uint32_t channel = die / g->ways, way = die % g->ways;
    return ((channel << g->way_bits) | way) << g->block_bits | block;
}

uint32_t ftl_first_ppn(const struct ftl_geometry *g, uint32_t block_id) { return block_id << g->page_bits; }

uint32_t ftl_die_of(const struct ftl_geometry *g, uint32_t block_id) {
    uint32_t upper = block_id >> g->block_bits;
    return (upper >> g->way_bits) * g->ways + (upper & ((1u << g->way_bits) - 1u));
}

uint32_t ftl_block_of(const struct ftl_geometry *g, uint32_t block_id) {
    return block_id & ((1u << g->block_bits) - 1u);
}

bool ftl_block_exists(const struct ftl_geometry *g, uint32_t block_id) {
    uint32_t upper = block_id >> g->block_bits;
    return ftl_block_of(g, block_id) < g->blocks && (upper & ((1u << g->way_bits) - 1u)) < g->ways &&
           (upper >> g->way_bits) < g->channels;
}

uint32_t ftl_dies_count(uint64_t set) {
    uint32_t n = 0;
    for (; set != 0; set &= set - 1u) n++;
    return n;
}

uint32_t ftl_dies_used(const struct ftl_geometry *g) { return g->dies - ftl_dies_count(g->out); }

uint32_t ftl_dies_first(const struct ftl_geometry *g) {
    uint32_t die = 0;
    while (die < g->dies && ftl_die_is_out(g, die)) die++;
    return die;
}

uint32_t ftl_mount_slots(const struct ftl_geometry *g, uint32_t pages) {
    uint32_t few = (pages + FTL_SLOT_PAGES - 1) / FTL_SLOT_PAGES, dies = ftl_dies_used(g) < 2 ? 2 : ftl_dies_used(g);
    if (few < 2) few = 2;
    return few < dies ? few : dies;
}

uint32_t ftl_mount_blocks(const struct ftl_geometry *g, uint32_t pages) {
    uint32_t slots = ftl_mount_slots(g, pages), round = slots * g->pages;
    return pages <= slots ? pages : (pages + round - 1) / round * slots;
}
