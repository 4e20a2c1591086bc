/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_marks.h"

#include "ftl_blocks.h"
#include "ftl_dies.h"
#include "ftl_root.h"

static uint32_t marked_page(const struct ftl_geometry *g, uint32_t n) { return n < 2 ? n : g->pages - 1; }

static bool is_mark(uint32_t byte) {
    uint32_t zeroes = ~byte & 0xffu;
    return (zeroes & (zeroes - 1u)) != 0;
}

static enum ftl_error take(struct ftl *f, uint32_t die, bool *bad) {
    struct hal_nand_done done;
    bool out = ftl_die_is_out(&f->geometry, die);
    ftl_io_get(&f->io, &done);
    *bad = out || is_mark(done.kind);
    return out || done.status == FTL_PAGE_OK ? FTL_OK : FTL_ERR_DIE;
}

static void start(struct ftl *f, uint32_t block_id, uint32_t n) {
    struct hal_nand_op o = {.op = HAL_READ_MARK,
                            .ppn = ftl_first_ppn(&f->geometry, block_id) + marked_page(&f->geometry, n)};
    ftl_io_put(&f->io, &o);
}

/* Operation `number` of all: dies change fastest, so that all of them work. */
static uint32_t block_of(const struct ftl_geometry *g, uint32_t number) {
    return ftl_block_id(g, number % g->dies, number / g->dies / 3);
}

enum ftl_error ftl_marks_read(struct ftl *f) {
    const struct ftl_geometry *g = &f->geometry;
    uint32_t all = g->dies * g->blocks * 3, put = 0;
    enum ftl_error error = FTL_OK;
    for (uint32_t got = 0; got < all; got++) {
        for (; put < all && ftl_io_room(&f->io); put++) start(f, block_of(g, put), put / g->dies % 3);
        bool bad;
        enum ftl_error now = take(f, got % g->dies, &bad);
        if (now != FTL_OK && error == FTL_OK) {
            ftl_dies_name(f, got % g->dies);
            error = now;
        }
        if (bad && !ftl_root_is_in(f, block_of(g, got))) (void)ftl_blocks_bad(f, block_of(g, got));
    }
    return error;
}
