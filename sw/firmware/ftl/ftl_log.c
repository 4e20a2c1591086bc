/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_log.h"

#define RUN HAL_NAND_DEPTH

/* Where a lane goes on, and a place in it. */
struct lane {
    uint32_t block, next, page; /* next: FTL_NO_BLOCK until a page of the block has named it */
};

static uint32_t frame_of(const struct ftl *f, uint32_t k) { return FTL_FRAME_POOL + k % ftl_pool_frames(f); }

static uint32_t *ppn_place(const struct ftl *f, uint32_t k) {
    uint32_t half = f->geometry.tx_slots * 2;
    return hal_tx_area(1 + k / half) + half + k % half;
}

static bool step(const struct ftl *f, struct lane *lane, uint32_t *ppn) {
    if (lane->page == f->geometry.pages) {
        if (lane->next == FTL_NO_BLOCK) return false;
        *lane = (struct lane){.block = lane->next, .next = FTL_NO_BLOCK};
    }
    *ppn = ftl_first_ppn(&f->geometry, lane->block) + lane->page++;
    return true;
}

/* Reads pages k ... k + n - 1 (OP: READ into their frames, or READ_OOB); returns how many from the first are LOG pages with the right OOB and status OK. */
static uint32_t read_run(struct ftl *f, enum hal_op op, uint32_t k, const uint32_t *ppns, uint32_t n) {
    uint32_t good = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct hal_nand_op o = {.op = op, .ppn = ppns[i], .frame = frame_of(f, k + i)};
        ftl_io_put(&f->io, &o);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct hal_nand_done d;
        ftl_io_get(&f->io, &d);
        bool ours = d.status == FTL_PAGE_OK && d.kind == FTL_KIND_LOG && d.generation == f->old_root.generation && d.lpn == k + i;
        if (ours && good == i) good++;
    }
    return good;
}

static bool header_is_ours(const struct ftl *f, uint32_t k, const uint32_t *page) {
    const struct ftl_root *r = &f->old_root;
    return page[FTL_LOG_MAGIC] == FTL_LOG_MAGIC_LO && page[FTL_LOG_MAGIC + 1] == FTL_LOG_MAGIC_HI && page[FTL_LOG_DRIVE_ID] == r->drive_id &&
           page[FTL_LOG_GENERATION] == r->generation && page[FTL_LOG_NUMBER] == k;
}

/* Takes page log->pages, which is in its frame, into the log; the lane goes on after it. */
static enum ftl_error accept(struct ftl *f, struct ftl_log *log, struct lane *lane, uint32_t ppn, const uint32_t *page) {
    const struct ftl_geometry *g = &f->geometry;
    uint64_t mark = ftl_get48(page, FTL_LOG_WATERMARK);
    uint32_t count = ftl_log_count(page), block = ppn >> g->page_bits;
    if (page[FTL_LOG_BLOCK] != block) return FTL_ERR_LOG;
    if (count > FTL_LOG_ENTRIES || ftl_get48(page, FTL_LOG_FIRST) != log->entries || mark > log->entries + count) return FTL_ERR_LOG;
    if (!ftl_block_exists(g, page[FTL_LOG_NEXT])) return FTL_ERR_LOG;
    if (log->pages >= (FTL_TXIDS - 1) * g->tx_slots * 2) return FTL_ERR_LOG;
    *lane = (struct lane){.block = block, .next = page[FTL_LOG_NEXT], .page = (ppn & (g->pages - 1u)) + 1u};
    ftl_blocks_busy(f, lane->next);
    *ppn_place(f, log->pages) = ppn;
    log->pages++;
    log->entries += count;
    if (mark > log->watermark) log->watermark = mark;
    return FTL_OK;
}

/* Looks for page log->pages, which cannot be read where its lane goes on, there and at the places after. On the way a better copy of the
 * page before it may name the block after the next one. True: *ppn; the page is in its frame. */
static bool look_further(struct ftl *f, const struct ftl_log *log, const struct lane *lane, uint32_t *ppn) {
    const struct ftl_geometry *g = &f->geometry;
    uint32_t k = log->pages, lanes = f->old_root.lanes;
    const uint32_t *page = hal_frame(frame_of(f, k));
    struct lane at = *lane;
    if (!step(f, &at, ppn)) return false;
    for (uint32_t n = 0; n <= FTL_LOG_PLACES; n++) {
        struct hal_nand_op o = {.op = HAL_READ, .ppn = *ppn, .frame = frame_of(f, k)};
        struct hal_nand_done d;
        ftl_io_one(&f->io, &o, &d);
        bool ours = d.status == FTL_PAGE_OK && d.kind == FTL_KIND_LOG && d.generation == f->old_root.generation;
        if (ours && d.lpn == k && header_is_ours(f, k, page)) return true;
        if (ours && k >= lanes && d.lpn == k - lanes && header_is_ours(f, k - lanes, page) && page[FTL_LOG_BLOCK] == at.block && ftl_block_exists(g, page[FTL_LOG_NEXT]))
            ftl_blocks_busy(f, at.next = page[FTL_LOG_NEXT]); /* and page k may be right behind it */
        else if (at.page > FTL_LOG_RETRY_PAGE) /* at.page is one past the place */
            at.page = g->pages;
        if (!step(f, &at, ppn)) return false;
    }
    return false;
}

enum ftl_error ftl_log_scan(struct ftl *f, struct ftl_log *log) {
    const struct ftl_root *r = &f->old_root;
    struct lane lanes[FTL_MAX_LANES], *lane;
    *log = (struct ftl_log){0};
    if (r->generation == 0) return FTL_OK; /* a drive that is formatted now has no log */
    for (uint32_t l = 0; l < r->lanes; l++) {
        lanes[l] = (struct lane){.block = r->lane_block[l], .next = FTL_NO_BLOCK};
        ftl_blocks_busy(f, r->lane_block[l]);
    }
    for (;;) {
        struct lane ahead[FTL_MAX_LANES];
        uint32_t ppns[RUN], planned = 0, first = log->pages, taken = 0, ppn;
        enum ftl_error error;
        for (uint32_t l = 0; l < r->lanes; l++) ahead[l] = lanes[l];
        while (planned < 4 * r->lanes && step(f, &ahead[(first + planned) % r->lanes], &ppns[planned])) planned++;
        if (planned == 0) return FTL_ERR_LOG;
        uint32_t read = read_run(f, HAL_READ, first, ppns, read_run(f, HAL_READ_OOB, first, ppns, planned));
        for (; taken < read; taken++) {
            const uint32_t *page = hal_frame(frame_of(f, log->pages));
            lane = &lanes[log->pages % r->lanes];
            struct lane here = *lane;
            if (!header_is_ours(f, log->pages, page)) break;
            if (!step(f, &here, &ppn) || ppn != ppns[taken]) return FTL_ERR_LOG; /* two pages of a block name different next ones */
            error = accept(f, log, lane, ppn, page);
            if (error != FTL_OK) return error;
        }
        if (taken == planned) continue;
        lane = &lanes[log->pages % r->lanes];
        if (!look_further(f, log, lane, &ppn)) break;
        error = accept(f, log, lane, ppn, hal_frame(frame_of(f, log->pages)));
        if (error != FTL_OK) return error;
    }
    if (log->watermark + FTL_WATERMARK_RING < log->entries) return FTL_ERR_LOG;
    if (log->pages + RUN <= ftl_pool_frames(f)) log->window_pages = log->pages;
    return FTL_OK;
}

bool ftl_log_has(const struct ftl_log *log, uint32_t k) { return k - log->window < log->window_pages; }

enum ftl_error ftl_log_page(struct ftl *f, struct ftl_log *log, uint32_t k, const uint32_t **page) {
    if (!ftl_log_has(log, k)) {
        uint32_t ppns[RUN], n = 0;
        for (; n < RUN && k + n < log->pages; n++) ppns[n] = *ppn_place(f, k + n);
        log->window = k;
        log->window_pages = read_run(f, HAL_READ, k, ppns, n);
        if (log->window_pages < n) return FTL_ERR_LOG;
    }
    *page = hal_frame(frame_of(f, k));
    return FTL_OK;
}
