/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_dies.h"

#include "ftl_blocks.h"

void ftl_dies_name(struct ftl *f, uint32_t die) {
    f->report.die = die;
    f->report.channel = die / f->geometry.ways;
    f->report.way = die % f->geometry.ways;
}

void ftl_dies_leave(struct ftl *f, uint32_t die) { f->geometry.out |= 1ull << die; }

enum ftl_error ftl_dies_of_root(struct ftl *f) {
    struct ftl_geometry *g = &f->geometry;
    uint64_t lost = g->out & ~f->old_root.out;
    g->out = f->old_root.out;
    for (uint32_t die = 0; die < g->dies; die++)
        if (ftl_dies_has(lost, die)) {
            ftl_dies_name(f, die);
            return FTL_ERR_LOST;
        }
    return FTL_OK;
}

/* Whether the die has no good block. */
static bool is_shut(struct ftl *f, uint32_t die) {
    uint32_t block = 0;
    while (block < f->geometry.blocks && ftl_blocks_is_bad(f, ftl_block_id(&f->geometry, die, block))) block++;
    return block == f->geometry.blocks;
}

enum ftl_error ftl_dies_of_blank(struct ftl *f) {
    struct ftl_geometry *g = &f->geometry;
    for (uint32_t die = 0; die < g->dies && g->missing_dies != 0; die++) {
        bool shut = is_shut(f, die);
        if (!shut && !ftl_die_is_out(g, die)) continue;
        ftl_dies_name(f, die);
        if (!shut) return FTL_ERR_LOST;
        ftl_dies_leave(f, die);
    }
    return ftl_dies_count(g->out) > g->missing_dies ? FTL_ERR_DIE : FTL_OK;
}
