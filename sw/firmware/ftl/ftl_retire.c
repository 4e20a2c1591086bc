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

static void end_job(struct ftl_retire *r) {
    r->jobs--;
    for (uint32_t i = 0; i < r->jobs; i++) r->job[i] = r->job[i + 1];
}

void ftl_retire_begin(struct ftl *f, struct ftl_retire *r) {
    const struct ftl_geometry *g = &f->geometry;
    for (uint32_t block = 0; block < g->blocks; block++)
        for (uint32_t die = 0; die < g->dies; die++) {
            uint32_t id = ftl_block_id(g, die, block);
            if (ftl_blocks_unwanted(f, id) && ftl_blocks_is_taken(f, id)) add_job(r, id, hal_log_mark());
        }
}

static void take_event(struct ftl *f, struct ftl_supply *s, struct ftl_retire *r) {
    uint32_t block;
    if (!hal_bad_block(&block)) return;
    if (ftl_block_exists(&f->geometry, block) && ftl_bbt_mark(f, block)) {
        add_job(r, block, hal_log_head());
        ftl_supply_replace(f, s);
    }
    hal_bad_block_taken();
}

/* Whether the map names that page as what `lpn` holds; with `chains`, whether it may. */
static bool is_live(uint32_t lpn, uint32_t ppn, bool chains) {
    uint32_t word = hal_map()[lpn];
    return word == FTL_WORD_NAND(ppn) || (chains && FTL_WORD_KIND(word) == FTL_WORD_KIND_VER);
}

static bool is_data(const struct ftl *f, const struct hal_nand_done *d, uint32_t generation) {
    return d->status == FTL_PAGE_OK && d->kind == FTL_KIND_DATA && d->generation <= generation &&
           d->lpn < f->geometry.lbas;
}

/* An erased block to move pages to. False: there is none. */
static bool open_block(struct ftl *f, struct ftl_retire *r) {
    if (f->blocks.total <= ftl_supply_kept_from_moves(f)) return false;
    uint32_t block = ftl_blocks_take_any(f, r->cold);
    if (block == FTL_NO_BLOCK) return false;
    r->cold = false;
    struct hal_nand_op o = {.op = HAL_ERASE, .ppn = ftl_first_ppn(&f->geometry, block)};
    struct hal_nand_done d;
    ftl_io_one(&f->io, &o, &d);
    if (d.status == FTL_PAGE_OK) {
        r->to = o.ppn;
        r->left = f->geometry.pages;
    } else {
        (void)ftl_bbt_mark(f, block);
    }
    return true;
}

/* Copies the page into this module's block; the move waits then. False: the program failed. */
static bool copy(struct ftl *f, struct ftl_retire *r, uint32_t from, const struct hal_nand_done *page) {
    struct hal_nand_op o = {.op = HAL_PROGRAM,
                            .ppn = r->to,
                            .frame = FTL_FRAME_MOVE(f),
                            .kind = FTL_KIND_DATA,
                            .lpn = page->lpn,
                            .sequence = page->sequence};
    struct hal_nand_done d;
    ftl_io_one(&f->io, &o, &d);
    if (d.status != FTL_PAGE_OK) {
        uint32_t block = r->to >> f->geometry.page_bits;
        if (ftl_bbt_mark(f, block)) add_job(r, block, hal_log_head()); /* pages moved there before move again */
        r->left = 0;
        return false;
    }
    r->move.waits = true;
    r->moved++;
    r->source[r->sources++ % FTL_RETIRE_MOVES] = from >> f->geometry.page_bits;
    r->move.lpn = page->lpn;
    r->move.from = from;
    r->move.to = r->to++;
    r->move.sequence = page->sequence;
    if (--r->left == 0) r->full = (r->move.to >> f->geometry.page_bits) + 1;
    return true;
}

enum step { STEP_DONE, STEP_AGAIN, STEP_WAIT, STEP_NO_BLOCK };

/* One step to get the live page `ppn` into this module's block. DONE: it is copied, or it stays where it is. */
static enum step move_page(struct ftl *f, struct ftl_retire *r, uint32_t ppn, bool chains) {
    struct hal_nand_op o = {.op = HAL_READ_OOB, .ppn = ppn, .frame = FTL_FRAME_MOVE(f)};
    struct hal_nand_done d;
    ftl_io_one(&f->io, &o, &d);
    if (!is_data(f, &d, f->report.generation) || !is_live(d.lpn, ppn, chains)) return STEP_DONE;
    if (r->left == 0 && r->full != 0) return STEP_WAIT;
    if (r->left == 0) return open_block(f, r) ? STEP_AGAIN : STEP_NO_BLOCK;
    o.op = HAL_READ;
    ftl_io_one(&f->io, &o, &d);
    if (!is_data(f, &d, f->report.generation)) return STEP_DONE;
    return copy(f, r, ppn, &d) ? STEP_DONE : STEP_AGAIN;
}

/* Looks at one page of the oldest job. */
static void one_page(struct ftl *f, struct ftl_retire *r) {
    if (r->job[0].page == f->geometry.pages) {
        end_job(r);
        return;
    }
    enum step step = move_page(f, r, ftl_first_ppn(&f->geometry, r->job[0].block) + r->job[0].page, true);
    if (step == STEP_DONE) r->job[0].page++;
    if (step == STEP_NO_BLOCK) r->jobs = 0;
}

static bool done_with(enum step step) { return step == STEP_DONE || step == STEP_NO_BLOCK; }

/* Looks at the oldest page with many corrected bits. */
static void refresh(struct ftl *f, struct ftl_retire *r) {
    uint32_t ppn = r->refresh.page[0].ppn;
    bool moved = ppn == r->move.from; /* the map may name it still for some clocks */
    if (moved || !ftl_supply_plenty(f) || done_with(move_page(f, r, ppn, false))) ftl_refresh_drop(&r->refresh);
}

static bool job_ready(const struct ftl_retire *r) {
    return r->jobs != 0 && !r->move.waits && hal_log_mark() >= r->job[0].head;
}

void ftl_retire_step(struct ftl *f, struct ftl_supply *s, struct ftl_retire *r) {
    take_event(f, s, r);
    ftl_refresh_take(f, &r->refresh);
    if (r->move.waits && hal_relocate_room()) {
        hal_relocate(r->move.lpn, r->move.from, r->move.to, r->move.sequence);
        r->move.waits = false;
    }
    if (r->full != 0 && ftl_retire_settled(r)) { /* the hardware counts a copy when it has taken the old page's place */
        ftl_blocks_close(f, r->full - 1);
        r->full = 0;
    }
    /* asked once: the mark may rise at any time, and only what held the erases may go on */
    bool table = ftl_bbt_dirty(f), ready = job_ready(r);
    s->hold = (table || ready) && !ftl_io_empty(&f->io);
    if (s->hold) return;
    if (table) ftl_bbt_step(f);
    else if (ready) one_page(f, r);
    else if (!r->move.waits && ftl_refresh_ready(&r->refresh) && ftl_io_empty(&f->io)) refresh(f, r);
}

bool ftl_retire_collect(struct ftl_retire *r, uint32_t block, bool cold) {
    if (r->jobs == FTL_RETIRE_JOBS) return false;
    r->cold = r->cold || cold;
    add_job(r, block, 0);
    return true;
}

bool ftl_retire_has(const struct ftl_retire *r, uint32_t block) {
    for (uint32_t i = 0; i < r->jobs; i++)
        if (r->job[i].block == block) return true;
    return false;
}

bool ftl_retire_settled(const struct ftl_retire *r) { return !r->move.waits && !hal_moving(); }

bool ftl_retire_moves_from(const struct ftl_retire *r, uint32_t block) {
    bool any = false;
    for (uint32_t i = 0; i < FTL_RETIRE_MOVES && i < r->sources; i++) any = any || r->source[i] == block;
    return any && !ftl_retire_settled(r);
}

bool ftl_retire_idle(const struct ftl *f, const struct ftl_retire *r) {
    return !ftl_bbt_dirty(f) && r->jobs == 0 && r->refresh.pages == 0 && !r->move.waits;
}
