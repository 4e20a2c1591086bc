/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_retire.h"

#include "ftl_bbt.h"
#include "ftl_blocks.h"

static void add_job(struct ftl_retire *r, uint32_t block, uint64_t head) {
    if (r->jobs == FTL_RETIRE_JOBS) return;
    r->job[r->jobs].block = block;
    r->job[r->jobs].head = head;
    r->job[r->jobs++].page = 0;
}

static void end_job(struct ftl_retire *r, uint32_t n) {
    r->jobs--;
    for (uint32_t i = n; i < r->jobs; i++) r->job[i] = r->job[i + 1];
}

void ftl_retire_begin(struct ftl *f, struct ftl_retire *r) {
    const struct ftl_geometry *g = &f->geometry;
    for (uint32_t word = 0; word < f->blocks.words; word++)
        for (uint32_t die = 0; die < g->dies; die++)
            for (uint32_t bits = ftl_blocks_left_word(f, die, word), block = 32 * word; bits != 0; bits >>= 1, block++)
                if (bits & 1u && block < g->blocks) add_job(r, ftl_block_id(g, die, block), hal_log_mark());
}

static void take_event(struct ftl *f, struct ftl_supply *s, struct ftl_retire *r) {
    uint32_t block;
    if (!hal_bad_block(&block)) return;
    if (ftl_block_exists(&f->geometry, block)) {
        bool first = ftl_bbt_mark(f, block);
        if (first) add_job(r, block, hal_log_head());
        ftl_supply_failed(f, s, first);
    }
    hal_bad_block_taken();
}

/* The next page of a job that is in use, from `page` on; none: as many as there are. */
static uint32_t next_page(const struct ftl *f, uint32_t block, uint32_t page) {
    while (page < f->geometry.pages) {
        uint32_t pages = hal_live_pages(block, page / 32) >> page % 32;
        for (; pages != 0; pages >>= 1, page++)
            if (pages & 1u) return page;
        page = page / 32 * 32 + 32;
    }
    return f->geometry.pages;
}

/* Begins with the next pages, one of each job in turn: jobs are on different dies, and each die gets its share of the
 * moves. False: none can go on. */
static bool jobs(struct ftl *f, struct ftl_retire *r, uint64_t mark) {
    uint32_t share = 1 + f->moves / ftl_dies_used(&f->geometry);
    for (uint32_t waits = 0; waits < r->jobs;) {
        if (r->turn >= r->jobs) r->turn = 0;
        uint32_t n = r->turn++, block = r->job[n].block;
        if (mark < r->job[n].head || ftl_moves_to(f, &r->moves, block) ||
            ftl_moves_reads(f, &r->moves, ftl_die_of(&f->geometry, block)) >= share) {
            waits++;
            continue;
        }
        uint32_t page = next_page(f, block, r->job[n].page);
        if (page == f->geometry.pages) end_job(r, n), r->turn = n;
        else if (!ftl_moves_begin(f, &r->moves, ftl_first_ppn(&f->geometry, block) + page, true)) return true;
        else r->job[n].page = page + 1;
        waits = 0;
    }
    return false;
}

/* Begins with the oldest page with many corrected bits. */
static void refresh(struct ftl *f, struct ftl_retire *r) {
    if (!ftl_supply_plenty(f) || ftl_moves_begin(f, &r->moves, r->refresh.page[0].ppn, false))
        ftl_refresh_drop(&r->refresh);
}

void ftl_retire_step(struct ftl *f, struct ftl_supply *s, struct ftl_retire *r) {
    take_event(f, s, r);
    ftl_refresh_take(f, &r->refresh);
    uint32_t failed = ftl_moves_step(f, s, &r->moves);
    if (failed != FTL_NO_BLOCK) add_job(r, failed, hal_log_head()); /* pages moved there before move again */
    if (r->moves.stopped) r->starved = true, r->jobs = 0;
    bool table = ftl_bbt_dirty(f);
    s->hold = table && !ftl_io_empty(&f->io);
    if (table && !s->hold) ftl_bbt_step(f);
    f->still = f->quiet && !table && ftl_moves_none(&r->moves);
    if (f->quiet) return;
    uint64_t mark = hal_log_mark(); /* asked once: it may rise at any time, and jobs go first */
    if (!jobs(f, r, mark) && !table && ftl_moves_none(&r->moves) && ftl_refresh_ready(&r->refresh, mark) &&
        ftl_io_empty(&f->io))
        refresh(f, r);
}

bool ftl_retire_collect(struct ftl_supply *s, struct ftl_retire *r, uint32_t block, bool cold, uint64_t head) {
    if (r->jobs == FTL_RETIRE_JOBS) return false;
    s->moves_cold = s->moves_cold || cold;
    r->starved = false;
    add_job(r, block, head);
    return true;
}

bool ftl_retire_waits(const struct ftl_retire *r, uint32_t block) {
    for (uint32_t i = 0; i < r->jobs; i++)
        if (r->job[i].block == block) return true;
    return false;
}

bool ftl_retire_has(const struct ftl *f, const struct ftl_retire *r, uint32_t block) {
    return ftl_retire_waits(r, block) || ftl_moves_from(f, &r->moves, block);
}

bool ftl_retire_idle(const struct ftl *f, const struct ftl_retire *r) {
    return !ftl_bbt_dirty(f) && r->jobs == 0 && r->refresh.pages == 0 && ftl_moves_none(&r->moves);
}
