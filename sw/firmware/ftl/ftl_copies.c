/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_copies.h"

#include "ftl_bbt.h"
#include "ftl_blocks.h"
#include "ftl_erase.h"

#define PROGRAM_TRIES 16u /* a die that always fails shall not take all its blocks into the table */

static uint32_t die_of(const struct ftl *f, uint32_t ppn) {
    return ftl_die_of(&f->geometry, ppn >> f->geometry.page_bits);
}

void ftl_copies_begun(const struct ftl *f, struct ftl_copies *c, const struct ftl_suspect *page) {
    uint32_t die = die_of(f, page->ppn), n = FTL_IN_FLIGHT(&f->geometry);
    struct ftl_suspect *last = c->last[die];
    for (uint32_t i = n - 1; i > 0; i--) last[i] = last[i - 1];
    last[0] = *page;
    last[0].copy = FTL_NO_PPN;
    if (c->count[die] < n) c->count[die]++;
}

static bool is_it(const struct ftl *f, const struct ftl_suspect *s, const struct hal_nand_done *d) {
    return d->status == FTL_PAGE_OK && d->kind == FTL_KIND_DATA && d->lpn == s->lpn && d->sequence == s->sequence &&
           d->generation == f->old_root.generation;
}

static enum ftl_error open_block(struct ftl *f, struct ftl_copies *c) {
    uint32_t id = ftl_blocks_take_near(f, 0);
    if (id == FTL_NO_BLOCK) return FTL_ERR_NO_BLOCK;
    enum ftl_error error = ftl_erase(f, &id, 1);
    c->next = ftl_first_ppn(&f->geometry, id);
    c->left = f->geometry.pages;
    return error;
}

/* Programs the words of the frame, in another block if that fails. */
static enum ftl_error program(struct ftl *f, struct ftl_copies *c, struct ftl_suspect *s) {
    for (;;) {
        struct hal_nand_op o = {.op = HAL_PROGRAM,
                                .frame = FTL_FRAME_MOVE(f),
                                .kind = FTL_KIND_DATA,
                                .lpn = s->lpn,
                                .sequence = s->sequence};
        struct hal_nand_done d;
        enum ftl_error error = c->left == 0 ? open_block(f, c) : FTL_OK;
        if (error != FTL_OK) return error;
        o.ppn = c->next++;
        c->left--;
        ftl_io_one(&f->io, &o, &d);
        if (d.status == FTL_PAGE_OK) {
            s->copy = o.ppn;
            return FTL_OK;
        }
        (void)ftl_bbt_mark(f, o.ppn >> f->geometry.page_bits);
        c->left = 0;
        if (++c->failed > PROGRAM_TRIES) return FTL_ERR_PROGRAM;
    }
}

enum ftl_error ftl_copies_make(struct ftl *f, struct ftl_copies *c) {
    for (uint32_t die = 0; die < f->geometry.dies; die++)
        for (uint32_t i = 0; i < c->count[die]; i++) {
            struct ftl_suspect *s = &c->last[die][i];
            struct hal_nand_op o = {.op = HAL_READ, .ppn = s->ppn, .frame = FTL_FRAME_MOVE(f)};
            struct hal_nand_done d;
            if (!s->whole) continue;
            ftl_io_one(&f->io, &o, &d);
            s->whole = is_it(f, s, &d);
            enum ftl_error error = s->whole ? program(f, c, s) : FTL_OK;
            if (error != FTL_OK) return error;
        }
    return FTL_OK;
}

uint32_t ftl_copies_place(const struct ftl *f, const struct ftl_copies *c, uint64_t index, uint32_t ppn) {
    uint32_t die = die_of(f, ppn);
    for (uint32_t i = 0; i < c->count[die]; i++)
        if (c->last[die][i].index == index && c->last[die][i].copy != FTL_NO_PPN) return c->last[die][i].copy;
    return ppn;
}
