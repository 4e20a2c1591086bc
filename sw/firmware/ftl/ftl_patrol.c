/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_patrol.h"

/* The page of the next LPN that has one on NAND; false: none of so many has. */
static bool next_page(const struct ftl *f, struct ftl_patrol *p, uint32_t *ppn) {
    for (uint32_t n = 0; n < FTL_PATROL_LPNS; n++) {
        uint32_t word = hal_map()[p->lpn];
        p->lpn = p->lpn + 1 == f->geometry.lbas ? 0 : p->lpn + 1;
        *ppn = FTL_WORD_VALUE(word);
        if (word == FTL_WORD_NAND(*ppn)) return true;
    }
    return false;
}

void ftl_patrol_step(struct ftl *f, const struct ftl_retire *r, struct ftl_patrol *p) {
    struct hal_nand_op o = {.op = HAL_VERIFY};
    struct hal_nand_done ignored; /* a page that cannot be read any more stays where it is */
    uint32_t every = f->geometry.patrol_clocks, now;
    if (every == 0 || f->quiet || !ftl_io_empty(&f->io) || !ftl_retire_idle(f, r)) return;
    now = hal_clocks();
    if (now - p->last < every || hal_busy()) return;
    p->last = now;
    if (next_page(f, p, &o.ppn)) ftl_io_one(&f->io, &o, &ignored);
}
