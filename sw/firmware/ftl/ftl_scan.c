/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_scan.h"

/* One operation on every die, as many at a time as there is room for. True: every die answered, with `id` unless that is 0. */
static bool each_die(struct ftl *f, enum hal_op op, uint64_t id) {
    const struct ftl_geometry *g = &f->geometry;
    uint32_t started = 0;
    bool good = true;
    for (uint32_t die = 0; die < g->dies; die++) {
        while (started < g->dies && ftl_io_room(&f->io)) {
            struct hal_nand_op o = {.op = op, .ppn = ftl_first_ppn(g, ftl_block_id(g, started++, 0))};
            ftl_io_put(&f->io, &o);
        }
        struct hal_nand_done done;
        ftl_io_get(&f->io, &done);
        if (good && (done.status != FTL_PAGE_OK || (id != 0 && (done.sequence & 0xffffffffffull) != id))) {
            f->report.die = die;
            good = false;
        }
    }
    return good;
}

enum ftl_error ftl_scan(struct ftl *f) {
    if (!each_die(f, HAL_RESET, 0)) return FTL_ERR_DIE;
    if (!each_die(f, HAL_READ_ID, f->geometry.nand_id)) return FTL_ERR_DIE;
    return FTL_OK;
}
