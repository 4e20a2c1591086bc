/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the scan of the log share: ftl_log.c (merge of the lanes, end of the log), ftl_log_ahead.c (pages
 * that are read before anybody knows that they are there). */
#ifndef FTL_LOG_SCAN_H
#define FTL_LOG_SCAN_H

#include "ftl_blocks.h"

struct ftl_log;

/* Where a lane goes on, and a place in it. */
struct ftl_lane {
    uint32_t block, next, page; /* next: FTL_NO_BLOCK until a page of the block has named it */
};

/* Goes to the next place; false: nobody has named the block where it is. */
static inline bool ftl_lane_step(const struct ftl *f, struct ftl_lane *lane, uint32_t *ppn) {
    if (lane->page == f->geometry.pages) {
        if (lane->next == FTL_NO_BLOCK) return false;
        *lane = (struct ftl_lane){.block = lane->next, .next = FTL_NO_BLOCK};
    }
    *ppn = ftl_first_ppn(&f->geometry, lane->block) + lane->page++;
    return true;
}

#define FTL_LOG_TURN 4u /* at least the pages after which the lanes come in the same order */
struct ftl_log_scan {
    struct ftl_lane lanes[FTL_MAX_LANES];
    /* the lanes of both copies of the last pages, by page number modulo FTL_LOG_TURN; of so many pages in a row they
     * are known */
    uint32_t pair[FTL_LOG_TURN][FTL_LOG_COPIES], known;
    enum ftl_error (*taken)(struct ftl *f, void *with); /* ftl_log_scan() */
    void *with;
};

/* The frame that read number `read` fills. */
static inline uint32_t ftl_log_frame_of(const struct ftl *f, uint32_t read) {
    return FTL_FRAME_POOL + (read & 0xffffu) % ftl_pool_frames(f);
}

static inline bool ftl_log_is(const struct hal_nand_done *d) {
    return d->status == FTL_PAGE_OK && d->kind == FTL_KIND_LOG;
}

static inline bool ftl_log_is_ours(const struct ftl *f, const struct hal_nand_done *d) {
    return ftl_log_is(d) && d->generation == f->old_root.generation;
}

static inline bool ftl_log_is_header(const uint32_t *page) {
    return page[FTL_LOG_MAGIC] == FTL_LOG_MAGIC_LO && page[FTL_LOG_MAGIC + 1] == FTL_LOG_MAGIC_HI;
}

static inline bool ftl_log_header_is_ours(const struct ftl *f, uint32_t k, const uint32_t *page) {
    const struct ftl_root *r = &f->old_root;
    return ftl_log_is_header(page) && page[FTL_LOG_DRIVE_ID] == r->drive_id &&
           page[FTL_LOG_GENERATION] == r->generation && page[FTL_LOG_NUMBER] == k;
}

/* Takes page log->pages, found at `ppn` of lane l by that read, into the log; its lanes go on after its copies. */
FTL_MUST_CHECK enum ftl_error ftl_log_accept(struct ftl *f, struct ftl_log *log, struct ftl_log_scan *s, uint32_t l,
                                             uint32_t ppn, uint32_t read);

/* A page that is in the log stands here, too. */
void ftl_log_other_copy(const struct ftl *f, const struct ftl_log *log, uint32_t number, uint32_t ppn);

/* Takes pages that stand at the next places of the lanes, up to the first that does not. Pages are read ahead, most of
 * them from one copy only, and are taken while others are on their way. Nothing is in flight afterwards. */
FTL_MUST_CHECK enum ftl_error ftl_log_ahead(struct ftl *f, struct ftl_log *log, struct ftl_log_scan *s);

#endif
