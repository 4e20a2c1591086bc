/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_log.h"

#include "ftl_log_scan.h"

#define RUN HAL_NAND_DEPTH
#define READS 3u /* of a page that could be read before */

/* Of the page that is number k of those that count: where it was found, and where its other copy is, FTL_NO_PPN: none
 * is known. */
static uint32_t *ppn_place(const struct ftl *f, uint32_t k) {
    uint32_t half = f->geometry.tx_slots;
    return hal_tx_area(1 + k / half) + 2 * half + k % half * FTL_LOG_COPIES;
}

static const uint32_t *words(const struct ftl *f, const struct ftl_log *log, uint32_t k) {
    return hal_frame(ftl_log_frame_of(f, log->read_of[k % FTL_LOG_HELD]));
}

/* Reads pages k ... k + n - 1; returns how many from the first are whole and the right ones. */
static uint32_t read_run(struct ftl *f, struct ftl_log *log, uint32_t k, const uint32_t *ppns, uint32_t n) {
    uint32_t good = 0;
    for (uint32_t i = 0; i < n; i++) {
        log->read_of[(k + i) % FTL_LOG_HELD] = (uint16_t)log->reads;
        struct hal_nand_op o = {.op = HAL_READ, .ppn = ppns[i], .frame = ftl_log_frame_of(f, log->reads++)};
        ftl_io_put(&f->io, &o);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct hal_nand_done d;
        ftl_io_get(&f->io, &d);
        if (ftl_log_is_ours(f, &d) && d.lpn == k + i && good == i) good++;
    }
    return good;
}

static bool twice(const struct ftl *f) { return f->old_root.version >= FTL_LOG_TWICE; }

/* Where a header says that a copy is, and what its lane's next block is. False: nowhere. */
static bool named(const struct ftl *f, const uint32_t *page, uint32_t copy, struct ftl_lane *lane) {
    const struct ftl_geometry *g = &f->geometry;
    lane->block = page[copy == 0 ? FTL_LOG_BLOCK : FTL_LOG_SECOND_BLOCK];
    lane->next = page[copy == 0 ? FTL_LOG_NEXT : FTL_LOG_SECOND_NEXT];
    lane->page = page[FTL_LOG_PAGE] >> (copy == 0 ? FTL_LOG_PAGE_SHIFT : FTL_LOG_SECOND_PAGE_SHIFT) & 0xffffu;
    return (copy == 0 || (twice(f) && lane->block != 0)) && ftl_block_exists(g, lane->block) &&
           ftl_block_exists(g, lane->next) && lane->page < g->pages;
}

/* Which copy the page at `ppn` is, by its header: FTL_LOG_COPIES if it is none. */
static uint32_t which_copy(const struct ftl *f, const uint32_t *page, uint32_t ppn, struct ftl_lane *at) {
    const struct ftl_geometry *g = &f->geometry;
    uint32_t copy = 0;
    while (copy < FTL_LOG_COPIES && !(named(f, page, copy, at) && at->block == ppn >> g->page_bits &&
                                      (at->page == (ppn & (g->pages - 1u)) || !twice(f))))
        copy++;
    return copy;
}

/* A copy is at `at`: the lane that it is in goes on after it, if it has not come further. Returns the lane; n: none. */
static uint32_t pass_by(struct ftl *f, struct ftl_lane *lanes, uint32_t n, const struct ftl_lane *at) {
    uint32_t in = n;
    bool known = false; /* the blocks are BUSY, because the lane has named them before */
    for (uint32_t l = 0; l < n; l++) {
        bool here = lanes[l].block == at->block;
        if (!here && lanes[l].next != at->block) continue;
        if (!here) lanes[l] = (struct ftl_lane){.block = at->block};
        known = lanes[l].next == at->next;
        lanes[l].next = at->next;
        if (lanes[l].page <= at->page) lanes[l].page = at->page + 1;
        in = l;
    }
    if (known) return in;
    ftl_blocks_busy(f, at->block);
    ftl_blocks_busy(f, at->next);
    return in;
}

/* A copy has left its lane, which goes on in another block than the pages before have named. */
static void goes_on(struct ftl *f, struct ftl_lane *lanes, uint32_t n, const uint32_t *page) {
    uint32_t lane = page[FTL_LOG_LEFT_LANE] >> FTL_LOG_LEFT_LANE_SHIFT, block = page[FTL_LOG_LEFT_BLOCK] & 0xffffffu;
    if (lane == 0 || lane > n || !ftl_block_exists(&f->geometry, block) || lanes[lane - 1].block == block) return;
    lanes[lane - 1] = (struct ftl_lane){.block = block, .next = FTL_NO_BLOCK};
    ftl_blocks_busy(f, block);
}

enum ftl_error ftl_log_accept(struct ftl *f, struct ftl_log *log, struct ftl_log_scan *s, uint32_t l, uint32_t ppn,
                              uint32_t read) {
    const struct ftl_geometry *g = &f->geometry;
    const uint32_t *page = hal_frame(ftl_log_frame_of(f, read));
    uint64_t mark = ftl_get48(page, FTL_LOG_WATERMARK);
    uint32_t count = ftl_log_count(page), k = log->pages - log->base, n = f->old_root.lanes,
             *pair = s->pair[log->pages % FTL_LOG_TURN];
    struct ftl_lane at, second;
    uint32_t copy = which_copy(f, page, ppn, &at);
    if (copy == FTL_LOG_COPIES) return FTL_ERR_LOG;
    if (count > FTL_LOG_ENTRIES || ftl_get48(page, FTL_LOG_FIRST) != log->entries || mark > log->entries + count)
        return FTL_ERR_LOG;
    if (k >= (FTL_TXIDS - 2) * g->tx_slots) return FTL_ERR_LOG;
    if (s->lanes[l].next != at.next) ftl_blocks_busy(f, at.next);
    s->lanes[l] = (struct ftl_lane){.block = at.block, .next = at.next, .page = (ppn & (g->pages - 1u)) + 1u};
    uint32_t *ppns = ppn_place(f, k), other = FTL_NO_PPN;
    pair[0] = l;
    pair[1] = n == 1 ? l : n;
    if (named(f, page, 1 - copy, &second)) {
        pair[1] = pass_by(f, s->lanes, n, &second);
        other = ftl_first_ppn(g, second.block) + second.page;
    }
    goes_on(f, s->lanes, n, page);
    ppns[0] = ppn;
    ppns[1] = other;
    s->known = pair[1] < n ? s->known + 1 : 0;
    log->read_of[log->pages % FTL_LOG_HELD] = (uint16_t)read;
    log->pages++;
    log->entries += count;
    if (mark > log->watermark) log->watermark = mark;
    log->window_pages = log->pages - log->base < FTL_LOG_HELD ? log->pages - log->base : FTL_LOG_HELD;
    log->window = log->pages - log->window_pages;
    return s->taken(f, s->with);
}

/* A page that is in the log stands here, too. */
void ftl_log_other_copy(const struct ftl *f, const struct ftl_log *log, uint32_t number, uint32_t ppn) {
    if (number < log->base || number >= log->pages) return;
    uint32_t *at = ppn_place(f, number - log->base);
    if (at[0] != ppn) at[1] = ppn;
}

/* Reads a page of this log, whichever it is, into a frame. False: there is none; *begun: but something,
 * *foreign: a log page of another drive. */
static bool read_any(struct ftl *f, uint32_t frame, uint32_t ppn, uint32_t *number, bool *begun, bool *foreign) {
    const uint32_t *page = hal_frame(frame);
    struct hal_nand_op o = {.op = HAL_READ_OOB, .ppn = ppn, .frame = frame};
    struct hal_nand_done d;
    ftl_io_one(&f->io, &o, &d);
    *begun = d.status != FTL_PAGE_BLANK;
    *foreign = false;
    if (!ftl_log_is(&d)) return false;
    o.op = HAL_READ;
    ftl_io_one(&f->io, &o, &d);
    *number = d.lpn;
    *foreign = ftl_log_is(&d) && ftl_log_is_header(page) && page[FTL_LOG_DRIVE_ID] != f->old_root.drive_id;
    return ftl_log_is_ours(f, &d) && ftl_log_header_is_ours(f, d.lpn, page);
}

/* Looks further in a lane, from where it goes on, for page log->pages; its place in *ppn, its words in the frame. On
 * the way copies of pages before may name the block after the next one. Not found: *beyond is set when
 * a page `end` or later is there. Counts what cannot be read. */
static bool look_further(struct ftl *f, struct ftl_log *log, const struct ftl_lane *lane, uint32_t end, uint32_t frame,
                         uint32_t *ppn, bool *beyond) {
    const struct ftl_geometry *g = &f->geometry;
    const uint32_t *page = hal_frame(frame);
    uint32_t unread = 0, foreign = 0;
    bool later = false, blank = false; /* the place before, in the same block, is blank */
    struct ftl_lane at = *lane;
    for (uint32_t n = 0; n <= 2 * FTL_LOG_PLACES && !later && ftl_lane_step(f, &at, ppn); n++) {
        uint32_t number;
        bool begun, other, ours = read_any(f, frame, *ppn, &number, &begun, &other);
        if (ours && number == log->pages && number < log->limit) return true;
        struct ftl_lane here;
        if (ours && number >= end) later = true;
        unread += begun && !ours;
        foreign += other;
        if (ours && which_copy(f, page, *ppn, &here) != FTL_LOG_COPIES) {
            ftl_blocks_busy(f, at.next = here.next); /* and the page may be right behind it */
            if (twice(f) && number < log->pages) n--;
            if (number < log->pages) ftl_log_other_copy(f, log, number, *ppn);
        }
        /* at.page is one past the place. Two blank places: the block was left; one may be a copy that went bad */
        if (!begun && at.page > FTL_LOG_RETRY_PAGE && (blank || !twice(f))) at.page = g->pages;
        blank = !begun && at.page > FTL_LOG_RETRY_PAGE && at.page < g->pages;
        if (n == FTL_LOG_PLACES && unread == 0) break; /* blank at all places that the page could have */
    }
    log->unread += unread;
    log->foreign += foreign;
    *beyond = *beyond || later;
    return false;
}

/* Looks for page log->pages at all places that it may have in any lane: the lane, or the number of lanes: the log ends,
 * or has a gap if there is a page that was begun when the missing one was complete. */
static uint32_t find_next(struct ftl *f, struct ftl_log *log, const struct ftl_lane *lanes, uint32_t frame,
                          uint32_t *ppn) {
    uint32_t n = f->old_root.lanes, end = log->pages + (twice(f) ? FTL_LOG_WINDOW(n) : n);
    bool beyond = false;
    log->unread = log->foreign = 0;
    for (uint32_t l = 0; l < n; l++)
        if (look_further(f, log, &lanes[l], end, frame, ppn, &beyond)) return l;
    log->begun = log->unread;
    if (twice(f)) { /* one of two copies is missed by nobody */
        log->unread /= FTL_LOG_COPIES;
        log->foreign /= FTL_LOG_COPIES;
    }
    if ((beyond || log->pages == log->limit) && log->unread == 0) log->unread = 1;
    log->gap = beyond;
    return n;
}

enum ftl_error ftl_log_scan(struct ftl *f, struct ftl_log *log, ftl_log_taken *taken, void *with) {
    const struct ftl_root *r = &f->old_root;
    struct ftl_log_scan s = {.taken = taken, .with = with};
    *log = (struct ftl_log){.limit = log->limit,
                            .faded = log->faded,
                            .again = log->again,
                            .base = r->log_page,
                            .pages = r->log_page,
                            .entries = r->log_first,
                            .watermark = r->map_first,
                            .window = r->log_page};
    if (r->generation == 0) return FTL_OK; /* a drive that is formatted now has no log */
    for (uint32_t l = 0; l < r->lanes; l++) {
        s.lanes[l] = (struct ftl_lane){.block = r->lane_block[l],
                                       .next = r->lane_next[l] != 0 ? r->lane_next[l] - 1 : FTL_NO_BLOCK,
                                       .page = r->lane_page[l]};
        ftl_blocks_busy(f, r->lane_block[l]);
        if (r->lane_next[l] != 0) ftl_blocks_busy(f, r->lane_next[l] - 1);
    }
    for (;;) {
        enum ftl_error error = ftl_log_ahead(f, log, &s);
        if (error != FTL_OK) return error;
        uint32_t ppn = 0, read = log->reads++, l = find_next(f, log, s.lanes, ftl_log_frame_of(f, read), &ppn);
        if (l == r->lanes) break;
        error = ftl_log_accept(f, log, &s, l, ppn, read);
        if (error != FTL_OK) return error;
    }
    return log->watermark + FTL_WATERMARK_RING < log->entries ? FTL_ERR_LOG : FTL_OK;
}

bool ftl_log_has(const struct ftl *f, const struct ftl_log *log, uint32_t k) {
    uint16_t since = (uint16_t)(log->reads - log->read_of[k % FTL_LOG_HELD]);
    return k - log->window < log->window_pages && since <= ftl_pool_frames(f);
}

enum ftl_error ftl_log_page(struct ftl *f, struct ftl_log *log, uint32_t k, const uint32_t **page) {
    for (uint32_t tries = 0; !ftl_log_has(f, log, k); tries++) {
        uint32_t ppns[RUN], n = 0, other = ppn_place(f, k - log->base)[1];
        if (tries == (other == FTL_NO_PPN ? READS : FTL_LOG_COPIES * READS)) {
            if (log->faded != k) log->again = 0; /* another copy may stand where no header names it */
            log->faded = k;
            if (++log->again >= (twice(f) ? FTL_LOG_COPIES : 1)) log->limit = k;
            return FTL_ERR_FADED;
        }
        for (; n < RUN && k + n < log->pages; n++) ppns[n] = ppn_place(f, k + n - log->base)[0];
        if (tries >= READS) ppns[0] = other;
        log->window = k;
        log->window_pages = read_run(f, log, k, ppns, n);
    }
    *page = words(f, log, k);
    return FTL_OK;
}
