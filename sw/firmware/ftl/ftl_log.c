/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_log.h"

#include "ftl_blocks.h"

#define RUN HAL_NAND_DEPTH
#define READS 3u /* of a page that could be read before */

/* Where a lane goes on, and a place in it. */
struct lane {
    uint32_t block, next, page; /* next: FTL_NO_BLOCK until a page of the block has named it */
};

static uint32_t frame_of(const struct ftl *f, uint32_t k) { return FTL_FRAME_POOL + k % ftl_pool_frames(f); }

/* Of the page that is number k of those that count. */
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

/* Reads pages k ... k + n - 1 (OP: READ into their frames, or READ_OOB); returns how many from the first are LOG pages
 * with the right OOB and status OK. */
static uint32_t read_run(struct ftl *f, enum hal_op op, uint32_t k, const uint32_t *ppns, uint32_t n) {
    uint32_t good = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct hal_nand_op o = {.op = op, .ppn = ppns[i], .frame = frame_of(f, k + i)};
        ftl_io_put(&f->io, &o);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct hal_nand_done d;
        ftl_io_get(&f->io, &d);
        bool ours = d.status == FTL_PAGE_OK && d.kind == FTL_KIND_LOG && d.generation == f->old_root.generation &&
                    d.lpn == k + i;
        if (ours && good == i) good++;
    }
    return good;
}

static bool header_is_ours(const struct ftl *f, uint32_t k, const uint32_t *page) {
    const struct ftl_root *r = &f->old_root;
    return page[FTL_LOG_MAGIC] == FTL_LOG_MAGIC_LO && page[FTL_LOG_MAGIC + 1] == FTL_LOG_MAGIC_HI &&
           page[FTL_LOG_DRIVE_ID] == r->drive_id && page[FTL_LOG_GENERATION] == r->generation &&
           page[FTL_LOG_NUMBER] == k;
}

/* Takes page log->pages, which is in its frame, into the log; the lane goes on after it. */
static enum ftl_error accept(struct ftl *f, struct ftl_log *log, struct lane *lane, uint32_t ppn,
                             const uint32_t *page) {
    const struct ftl_geometry *g = &f->geometry;
    uint64_t mark = ftl_get48(page, FTL_LOG_WATERMARK);
    uint32_t count = ftl_log_count(page), block = ppn >> g->page_bits;
    if (page[FTL_LOG_BLOCK] != block) return FTL_ERR_LOG;
    if (count > FTL_LOG_ENTRIES || ftl_get48(page, FTL_LOG_FIRST) != log->entries || mark > log->entries + count)
        return FTL_ERR_LOG;
    if (!ftl_block_exists(g, page[FTL_LOG_NEXT])) return FTL_ERR_LOG;
    if (log->pages - log->base >= (FTL_TXIDS - 2) * g->tx_slots * 2) return FTL_ERR_LOG;
    *lane = (struct lane){.block = block, .next = page[FTL_LOG_NEXT], .page = (ppn & (g->pages - 1u)) + 1u};
    ftl_blocks_busy(f, lane->next);
    *ppn_place(f, log->pages - log->base) = ppn;
    log->pages++;
    log->entries += count;
    if (mark > log->watermark) log->watermark = mark;
    return FTL_OK;
}

/* Reads a page of this log, whichever it is, into the frame of page k. False: there is none; *begun: but something. */
static bool read_any(struct ftl *f, uint32_t k, uint32_t ppn, uint32_t *number, bool *begun) {
    struct hal_nand_op o = {.op = HAL_READ_OOB, .ppn = ppn, .frame = frame_of(f, k)};
    struct hal_nand_done d;
    ftl_io_one(&f->io, &o, &d);
    *begun = d.status != FTL_PAGE_BLANK;
    if (d.status != FTL_PAGE_OK || d.kind != FTL_KIND_LOG || d.generation != f->old_root.generation) return false;
    o.op = HAL_READ;
    ftl_io_one(&f->io, &o, &d);
    *number = d.lpn;
    return d.status == FTL_PAGE_OK && d.kind == FTL_KIND_LOG && d.generation == f->old_root.generation &&
           header_is_ours(f, d.lpn, hal_frame(frame_of(f, k)));
}

/* Looks further in a lane, from where it goes on, for page `wanted`; its place in *ppn, its words in the frame of page
 * log->pages. On the way a better copy of the page before it may name the block after the next one. Not found: *beyond
 * is set when a page `end` or later is there. Counts what cannot be read. */
static bool look_further(struct ftl *f, struct ftl_log *log, const struct lane *lane, uint32_t wanted, uint32_t end,
                         uint32_t *ppn, bool *beyond) {
    const struct ftl_geometry *g = &f->geometry;
    const uint32_t *page = hal_frame(frame_of(f, log->pages));
    uint32_t unread = 0;
    struct lane at = *lane;
    for (uint32_t n = 0; n <= 2 * FTL_LOG_PLACES && !*beyond && step(f, &at, ppn); n++) {
        uint32_t number;
        bool begun, ours = read_any(f, log->pages, *ppn, &number, &begun);
        if (ours && number == wanted && number < log->limit) return true;
        if (ours && number >= end) *beyond = true;
        unread += begun && !ours;
        if (ours && page[FTL_LOG_BLOCK] == at.block && ftl_block_exists(g, page[FTL_LOG_NEXT]))
            ftl_blocks_busy(f, at.next = page[FTL_LOG_NEXT]); /* and the page may be right behind it */
        else if (!begun && at.page > FTL_LOG_RETRY_PAGE) /* at.page is one past the place */ at.page = g->pages;
        if (n == FTL_LOG_PLACES && unread == 0) break; /* blank at all places that the page could have */
    }
    log->unread += unread;
    return false;
}

/* After the last page: whether there is a page that was begun when the missing one was complete, in any lane. */
static bool has_gap(struct ftl *f, struct ftl_log *log, const struct lane *lanes) {
    uint32_t n = f->old_root.lanes, end = log->pages + n, ppn;
    bool beyond = false;
    log->unread = 0;
    for (uint32_t j = 0; j < n && !beyond; j++)
        (void)look_further(f, log, &lanes[(log->pages + j) % n], FTL_NO_LIMIT, end, &ppn, &beyond);
    if ((beyond || log->pages == log->limit) && log->unread == 0) log->unread = 1;
    return beyond;
}

enum ftl_error ftl_log_scan(struct ftl *f, struct ftl_log *log) {
    const struct ftl_root *r = &f->old_root;
    struct lane lanes[FTL_MAX_LANES], *lane;
    *log = (struct ftl_log){.limit = log->limit,
                            .base = r->log_page,
                            .pages = r->log_page,
                            .entries = r->log_first,
                            .watermark = r->map_first,
                            .window = r->log_page};
    if (r->generation == 0) return FTL_OK; /* a drive that is formatted now has no log */
    for (uint32_t l = 0; l < r->lanes; l++) {
        lanes[l] = (struct lane){.block = r->lane_block[l],
                                 .next = r->lane_next[l] != 0 ? r->lane_next[l] - 1 : FTL_NO_BLOCK,
                                 .page = r->lane_page[l]};
        ftl_blocks_busy(f, r->lane_block[l]);
        if (r->lane_next[l] != 0) ftl_blocks_busy(f, r->lane_next[l] - 1);
    }
    for (;;) {
        struct lane ahead[FTL_MAX_LANES];
        uint32_t ppns[RUN], planned = 0, first = log->pages, taken = 0, ppn;
        enum ftl_error error;
        for (uint32_t l = 0; l < r->lanes; l++) ahead[l] = lanes[l];
        while (planned < 4 * r->lanes && step(f, &ahead[(first + planned) % r->lanes], &ppns[planned])) planned++;
        if (planned == 0) return FTL_ERR_LOG;
        uint32_t read = read_run(f, HAL_READ, first, ppns, read_run(f, HAL_READ_OOB, first, ppns, planned));
        for (; taken < read && log->pages < log->limit; taken++) {
            const uint32_t *page = hal_frame(frame_of(f, log->pages));
            lane = &lanes[log->pages % r->lanes];
            struct lane here = *lane;
            if (!header_is_ours(f, log->pages, page)) break;
            /* two pages of a block name different next ones */
            if (!step(f, &here, &ppn) || ppn != ppns[taken]) return FTL_ERR_LOG;
            error = accept(f, log, lane, ppn, page);
            if (error != FTL_OK) return error;
        }
        if (taken == planned) continue;
        lane = &lanes[log->pages % r->lanes];
        bool beyond = false;
        if (log->pages >= log->limit || !look_further(f, log, lane, log->pages, FTL_NO_LIMIT, &ppn, &beyond)) break;
        error = accept(f, log, lane, ppn, hal_frame(frame_of(f, log->pages)));
        if (error != FTL_OK) return error;
    }
    log->gap = has_gap(f, log, lanes);
    if (log->watermark + FTL_WATERMARK_RING < log->entries) return FTL_ERR_LOG;
    if (log->pages - log->base + RUN <= ftl_pool_frames(f)) log->window_pages = log->pages - log->base;
    return FTL_OK;
}

bool ftl_log_has(const struct ftl_log *log, uint32_t k) { return k - log->window < log->window_pages; }

enum ftl_error ftl_log_page(struct ftl *f, struct ftl_log *log, uint32_t k, const uint32_t **page) {
    for (uint32_t tries = 0; !ftl_log_has(log, k); tries++) {
        uint32_t ppns[RUN], n = 0;
        if (tries == READS) {
            log->limit = k;
            return FTL_ERR_FADED;
        }
        for (; n < RUN && k + n < log->pages; n++) ppns[n] = *ppn_place(f, k + n - log->base);
        log->window = k;
        log->window_pages = read_run(f, HAL_READ, k, ppns, n);
    }
    *page = hal_frame(frame_of(f, k));
    return FTL_OK;
}
