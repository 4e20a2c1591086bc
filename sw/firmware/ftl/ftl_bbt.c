/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_bbt.h"

#include "ftl.h"
#include "ftl_blocks.h"

#define NONE FTL_TABLE_BLOCKS
#define CREDIBLE (1ull << 40) /* a sequence above this is noise */

/* A place where a version may be. The search goes from newer to older ones, in one version from the first block on. */
struct place {
    uint64_t version;
    uint32_t block, page;
};

static bool comes_after(const struct place *a, const struct place *b) {
    if (a->version != b->version) return a->version < b->version;
    return a->block != b->block ? a->block > b->block : a->page > b->page;
}

static void page_op(struct ftl *f, enum hal_op op, uint32_t ppn, uint32_t frame, struct hal_nand_done *done) {
    struct hal_nand_op o = {.op = op, .ppn = ppn, .frame = frame};
    ftl_io_one(&f->io, &o, done);
}

static uint32_t ppn_of(const struct ftl *f, uint32_t copy, uint32_t block, uint32_t page) {
    return ftl_first_ppn(&f->geometry, ftl_table_block(&f->geometry, copy, block)) + page;
}

/* The place that comes next after *place in the blocks of a copy; only first pages are asked. False: no further one. */
static bool next_place(struct ftl *f, uint32_t copy, struct place *place) {
    struct place best = {0};
    for (uint32_t b = 0; b < FTL_TABLE_BLOCKS; b++)
        for (uint32_t page = 0; page + f->blocks.frames <= f->geometry.pages; page += f->blocks.frames) {
            struct hal_nand_done d;
            page_op(f, HAL_READ_OOB, ppn_of(f, copy, b, page), 0, &d);
            if (d.status == FTL_PAGE_BLANK) break;
            struct place p = {.version = d.sequence, .block = b, .page = page};
            if (d.status != FTL_PAGE_OK || d.kind != FTL_KIND_BBT || d.lpn != 0 || d.sequence == 0 ||
                d.sequence >= CREDIBLE)
                continue;
            if (d.sequence > f->bbt.seen) f->bbt.seen = d.sequence;
            if (comes_after(&p, place) && (best.version == 0 || comes_after(&best, &p))) best = p;
        }
    *place = best;
    return best.version != 0;
}

/* Whether all pages of a version are whole; READ puts them into BAD. */
static bool whole(struct ftl *f, enum hal_op op, uint32_t copy, const struct place *p) {
    for (uint32_t part = 0; part < f->blocks.frames; part++) {
        struct hal_nand_done d;
        page_op(f, op, ppn_of(f, copy, p->block, p->page + part), ftl_blocks_bad_frame(f, part), &d);
        if (d.status != FTL_PAGE_OK || d.kind != FTL_KIND_BBT || d.lpn != part || d.sequence != p->version)
            return false;
    }
    return true;
}

bool ftl_bbt_load(struct ftl *f) {
    struct ftl_bbt *t = &f->bbt;
    struct place found[2];
    *t = (struct ftl_bbt){0};
    for (uint32_t c = 0; c < 2; c++) {
        struct place p = {.version = CREDIBLE};
        while (next_place(f, c, &p) && !whole(f, HAL_VERIFY, c, &p)) {}
        t->copy[c] = (struct ftl_bbt_copy){.version = p.version, .holder = p.version != 0 ? p.block : NONE, .at = NONE};
        found[c] = p;
    }
    while (t->copy[0].version != 0 || t->copy[1].version != 0) {
        uint32_t c = t->copy[1].version > t->copy[0].version ? 1 : 0;
        if (whole(f, HAL_READ, c, &found[c])) {
            t->version = t->copy[c].version;
            break;
        }
        t->copy[c].version = 0;
        t->copy[c].holder = NONE;
    }
    if (t->version == 0) ftl_blocks_none_bad(f);
    /* then the first of them was complete; one alone may fade and is written again */
    bool any = t->version != 0, twice = t->copy[0].version == t->copy[1].version;
    /* what could not be read now must never count again */
    if (!any || !twice || t->seen > t->version) t->version = t->seen + 1;
    return any;
}

bool ftl_bbt_mark(struct ftl *f, uint32_t block_id) {
    if (!ftl_blocks_bad(f, block_id)) return false;
    f->bbt.version++;
    return true;
}

static bool pending(const struct ftl_bbt *t, uint32_t c) {
    return !t->copy[c].lost && t->copy[c].version != t->version;
}

bool ftl_bbt_dirty(const struct ftl *f) { return pending(&f->bbt, 0) || pending(&f->bbt, 1); }

static bool usable(struct ftl *f, uint32_t copy, uint32_t block) {
    uint32_t id = ftl_table_block(&f->geometry, copy, block);
    return !ftl_blocks_is_bad(f, id) && !ftl_blocks_is_taken(f, id);
}

/* Erases the block that the copy goes on in. */
static void open_block(struct ftl *f, uint32_t copy) {
    struct ftl_bbt_copy *c = &f->bbt.copy[copy];
    uint32_t last = c->at != NONE ? c->at : c->holder != NONE ? c->holder : FTL_TABLE_BLOCKS - 1, to = NONE;
    for (uint32_t n = 1; n <= FTL_TABLE_BLOCKS && to == NONE; n++) {
        uint32_t b = (last + n) % FTL_TABLE_BLOCKS;
        if (b != c->holder && usable(f, copy, b)) to = b;
    }
    if (to == NONE && c->holder != NONE && usable(f, copy, c->holder) && f->bbt.copy[1 - copy].version >= c->version) {
        to = c->holder;
        c->version = 0;
        c->holder = NONE;
    }
    c->at = to;
    c->page = c->part = 0;
    c->lost = to == NONE;
    if (c->lost) return;
    struct hal_nand_done d;
    page_op(f, HAL_ERASE, ppn_of(f, copy, to, 0), 0, &d);
    if (d.status == FTL_PAGE_OK) return;
    (void)ftl_bbt_mark(f, ftl_table_block(&f->geometry, copy, to));
    c->at = NONE;
}

static void program_part(struct ftl *f, uint32_t copy) {
    struct ftl_bbt_copy *c = &f->bbt.copy[copy];
    struct hal_nand_op o = {.op = HAL_PROGRAM,
                            .ppn = ppn_of(f, copy, c->at, c->page + c->part),
                            .frame = ftl_blocks_bad_frame(f, c->part),
                            .kind = FTL_KIND_BBT};
    struct hal_nand_done d;
    o.lpn = c->part;
    o.sequence = c->writing = f->bbt.version;
    ftl_io_one(&f->io, &o, &d);
    if (d.status != FTL_PAGE_OK) {
        (void)ftl_bbt_mark(f, ftl_table_block(&f->geometry, copy, c->at));
        c->at = NONE;
        return;
    }
    if (++c->part < f->blocks.frames) return;
    c->version = c->writing;
    c->holder = c->at;
    c->page += c->part;
    c->part = 0;
}

void ftl_bbt_step(struct ftl *f) {
    struct ftl_bbt *t = &f->bbt;
    if (!ftl_bbt_dirty(f)) return;
    uint32_t copy = !pending(t, 0) || (pending(t, 1) && t->copy[1].version < t->copy[0].version) ? 1 : 0;
    struct ftl_bbt_copy *c = &t->copy[copy];
    if (c->part != 0 && c->writing != t->version) { /* a version that is out of date before it is whole */
        c->page += f->blocks.frames;
        c->part = 0;
    }
    if (c->at == NONE || !usable(f, copy, c->at) || c->page + f->blocks.frames > f->geometry.pages) open_block(f, copy);
    else program_part(f, copy);
}

void ftl_bbt_write(struct ftl *f) {
    f->bbt.copy[0].lost = f->bbt.copy[1].lost = false;
    while (ftl_bbt_dirty(f)) ftl_bbt_step(f);
}
