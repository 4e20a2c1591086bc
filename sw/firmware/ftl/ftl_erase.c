/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_erase.h"

#include "ftl_bbt.h"
#include "ftl_blocks.h"

bool ftl_erase_one(struct ftl *f, uint32_t id) {
    struct hal_nand_op o = {.op = HAL_ERASE, .ppn = ftl_first_ppn(&f->geometry, id)};
    struct hal_nand_done done;
    ftl_io_one(&f->io, &o, &done);
    return done.status == FTL_PAGE_OK;
}

/* The block that failed goes into the bad-block table; another one in its place. */
static enum ftl_error replace(struct ftl *f, uint32_t *id) {
    uint32_t channel = ftl_die_of(&f->geometry, *id) / f->geometry.ways;
    do {
        (void)ftl_bbt_mark(f, *id);
        *id = ftl_blocks_take_near(f, channel);
        if (*id == FTL_NO_BLOCK) return FTL_ERR_NO_BLOCK;
    } while (!ftl_erase_one(f, *id));
    return FTL_OK;
}

enum ftl_error ftl_erase(struct ftl *f, uint32_t *ids, uint32_t n) {
    uint64_t failed = 0;
    for (uint32_t put = 0, got = 0; got < n;) {
        if (put < n && ftl_io_room(&f->io)) {
            struct hal_nand_op o = {.op = HAL_ERASE, .ppn = ftl_first_ppn(&f->geometry, ids[put++])};
            ftl_io_put(&f->io, &o);
            continue;
        }
        struct hal_nand_done done;
        ftl_io_get(&f->io, &done);
        if (done.status != FTL_PAGE_OK) failed |= 1ull << got;
        got++;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!(failed >> i & 1u)) continue;
        enum ftl_error error = replace(f, &ids[i]);
        if (error != FTL_OK) return error;
    }
    return FTL_OK;
}
