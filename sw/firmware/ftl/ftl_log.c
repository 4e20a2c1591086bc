/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_log.h"

#include "ftl_blocks.h"

#define RUN HAL_NAND_DEPTH
#define READS 3u /* of a page that could be read before */

/* Where a lane goes on, and a place in it. */
struct lane {
    uint32_t block, next, page; /* next: FTL_NO_BLOCK until a page of the block has named it */
};

/* A place that is read ahead, and which page of this log is there; NO_PAGE: none, or one that is further on. Whether it
 * was read into that page's frame: the first of its copies is. */
struct place {
    uint32_t ppn, number;
    bool read;
};
#define NO_PAGE 0xffffffffu

static uint32_t frame_of(const struct ftl *f, uint32_t k) { return FTL_FRAME_POOL + k % ftl_pool_frames(f); }

/* Of the page that is number k of those that count: where it was found, and where its other copy is, FTL_NO_PPN: none
 * is known. */
static uint32_t *ppn_place(const struct ftl *f, uint32_t k) {
    uint32_t half = f->geometry.tx_slots;
    return hal_tx_area(1 + k / half) + 2 * half + k % half * FTL_LOG_COPIES;
}

static bool step(const struct ftl *f, struct lane *lane, uint32_t *ppn) {
    if (lane->page == f->geometry.pages) {
        if (lane->next == FTL_NO_BLOCK) return false;
        *lane = (struct lane){.block = lane->next, .next = FTL_NO_BLOCK};
    }
    *ppn = ftl_first_ppn(&f->geometry, lane->block) + lane->page++;
    return true;
}

static bool is_log(const struct hal_nand_done *d) { return d->status == FTL_PAGE_OK && d->kind == FTL_KIND_LOG; }

static bool is_ours(const struct ftl *f, const struct hal_nand_done *d) {
    return is_log(d) && d->generation == f->old_root.generation;
}

/* Reads pages k ... k + n - 1 into their frames; returns how many from the first are whole and the right ones. */
static uint32_t read_run(struct ftl *f, uint32_t k, const uint32_t *ppns, uint32_t n) {
    uint32_t good = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct hal_nand_op o = {.op = HAL_READ, .ppn = ppns[i], .frame = frame_of(f, k + i)};
        ftl_io_put(&f->io, &o);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct hal_nand_done d;
        ftl_io_get(&f->io, &d);
        if (is_ours(f, &d) && d.lpn == k + i && good == i) good++;
    }
    return good;
}

/* Which pages are at these places: probes all OOBs, then reads each of pages k ... k + RUN - 1 that was found, once,
 * into its frame. */
static void read_places(struct ftl *f, uint32_t k, struct place *places, uint32_t n) {
    uint32_t found = 0; /* bit per page */
    for (uint32_t i = 0; i < n; i++) {
        struct hal_nand_op o = {.op = HAL_READ_OOB, .ppn = places[i].ppn, .frame = frame_of(f, k)};
        ftl_io_put(&f->io, &o);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct hal_nand_done d;
        ftl_io_get(&f->io, &d);
        bool near = is_ours(f, &d) && d.lpn - k < RUN, earlier = is_ours(f, &d) && d.lpn < k;
        places[i].number = near || earlier ? d.lpn : NO_PAGE;
        places[i].read = near && !(found >> (d.lpn - k) & 1u);
        if (near) found |= 1u << (d.lpn - k);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct hal_nand_op o = {.op = HAL_READ, .ppn = places[i].ppn, .frame = frame_of(f, places[i].number)};
        if (places[i].read) ftl_io_put(&f->io, &o);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct hal_nand_done d;
        if (!places[i].read) continue;
        ftl_io_get(&f->io, &d);
        places[i].read = is_ours(f, &d) && d.lpn == places[i].number;
    }
}

static bool is_header(const uint32_t *page) {
    return page[FTL_LOG_MAGIC] == FTL_LOG_MAGIC_LO && page[FTL_LOG_MAGIC + 1] == FTL_LOG_MAGIC_HI;
}

static bool header_is_ours(const struct ftl *f, uint32_t k, const uint32_t *page) {
    const struct ftl_root *r = &f->old_root;
    return is_header(page) && page[FTL_LOG_DRIVE_ID] == r->drive_id && page[FTL_LOG_GENERATION] == r->generation &&
           page[FTL_LOG_NUMBER] == k;
}

static bool twice(const struct ftl *f) { return f->old_root.version >= FTL_LOG_TWICE; }

/* Where a header says that a copy is, and what its lane's next block is. False: nowhere. */
static bool named(const struct ftl *f, const uint32_t *page, uint32_t copy, struct lane *lane) {
    const struct ftl_geometry *g = &f->geometry;
    lane->block = page[copy == 0 ? FTL_LOG_BLOCK : FTL_LOG_SECOND_BLOCK];
    lane->next = page[copy == 0 ? FTL_LOG_NEXT : FTL_LOG_SECOND_NEXT];
    lane->page = page[FTL_LOG_PAGE] >> (copy == 0 ? FTL_LOG_PAGE_SHIFT : FTL_LOG_SECOND_PAGE_SHIFT) & 0xffffu;
    return (copy == 0 || (twice(f) && lane->block != 0)) && ftl_block_exists(g, lane->block) &&
           ftl_block_exists(g, lane->next) && lane->page < g->pages;
}

/* Which copy the page at `ppn` is, by its header: FTL_LOG_COPIES if it is none. */
static uint32_t which_copy(const struct ftl *f, const uint32_t *page, uint32_t ppn, struct lane *at) {
    const struct ftl_geometry *g = &f->geometry;
    uint32_t copy = 0;
    while (copy < FTL_LOG_COPIES && !(named(f, page, copy, at) && at->block == ppn >> g->page_bits &&
                                      (at->page == (ppn & (g->pages - 1u)) || !twice(f))))
        copy++;
    return copy;
}

/* A copy is at `at`: the lane that it is in goes on after it, if it has not come further. */
static void pass_by(struct lane *lanes, uint32_t n, const struct lane *at) {
    for (uint32_t l = 0; l < n; l++) {
        bool here = lanes[l].block == at->block;
        if (!here && lanes[l].next != at->block) continue;
        if (!here) lanes[l] = (struct lane){.block = at->block};
        lanes[l].next = at->next;
        if (lanes[l].page <= at->page) lanes[l].page = at->page + 1;
    }
}

/* Takes page log->pages, found at `ppn`, which is in its frame, into the log; its lanes go on after its copies. */
static enum ftl_error accept(struct ftl *f, struct ftl_log *log, struct lane *lanes, uint32_t l, uint32_t ppn,
                             const uint32_t *page) {
    const struct ftl_geometry *g = &f->geometry;
    uint64_t mark = ftl_get48(page, FTL_LOG_WATERMARK);
    uint32_t count = ftl_log_count(page), k = log->pages - log->base;
    struct lane at, other;
    uint32_t copy = which_copy(f, page, ppn, &at);
    if (copy == FTL_LOG_COPIES) return FTL_ERR_LOG;
    if (count > FTL_LOG_ENTRIES || ftl_get48(page, FTL_LOG_FIRST) != log->entries || mark > log->entries + count)
        return FTL_ERR_LOG;
    if (k >= (FTL_TXIDS - 2) * g->tx_slots) return FTL_ERR_LOG;
    lanes[l] = (struct lane){.block = at.block, .next = at.next, .page = (ppn & (g->pages - 1u)) + 1u};
    ftl_blocks_busy(f, at.next);
    ppn_place(f, k)[0] = ppn;
    ppn_place(f, k)[1] = FTL_NO_PPN;
    if (named(f, page, 1 - copy, &other)) {
        pass_by(lanes, f->old_root.lanes, &other);
        ftl_blocks_busy(f, other.block);
        ftl_blocks_busy(f, other.next);
        ppn_place(f, k)[1] = ftl_first_ppn(g, other.block) + other.page;
    }
    log->pages++;
    log->entries += count;
    if (mark > log->watermark) log->watermark = mark;
    return FTL_OK;
}

/* A page that is in the log stands here, too. */
static void other_copy(const struct ftl *f, const struct ftl_log *log, uint32_t number, uint32_t ppn) {
    if (number < log->base || number >= log->pages) return;
    uint32_t *at = ppn_place(f, number - log->base);
    if (at[0] != ppn) at[1] = ppn;
}

/* Reads a page of this log, whichever it is, into the frame of page k. False: there is none; *begun: but something,
 * *foreign: a log page of another drive. */
static bool read_any(struct ftl *f, uint32_t k, uint32_t ppn, uint32_t *number, bool *begun, bool *foreign) {
    const uint32_t *page = hal_frame(frame_of(f, k));
    struct hal_nand_op o = {.op = HAL_READ_OOB, .ppn = ppn, .frame = frame_of(f, k)};
    struct hal_nand_done d;
    ftl_io_one(&f->io, &o, &d);
    *begun = d.status != FTL_PAGE_BLANK;
    *foreign = false;
    if (!is_log(&d)) return false;
    o.op = HAL_READ;
    ftl_io_one(&f->io, &o, &d);
    *number = d.lpn;
    *foreign = is_log(&d) && is_header(page) && page[FTL_LOG_DRIVE_ID] != f->old_root.drive_id;
    return is_ours(f, &d) && header_is_ours(f, d.lpn, page);
}

/* Looks further in a lane, from where it goes on, for page log->pages; its place in *ppn, its words in its frame. On
 * the way copies of pages before may name the block after the next one. Not found: *beyond is set when
 * a page `end` or later is there. Counts what cannot be read. */
static bool look_further(struct ftl *f, struct ftl_log *log, const struct lane *lane, uint32_t end, uint32_t *ppn,
                         bool *beyond) {
    const struct ftl_geometry *g = &f->geometry;
    const uint32_t *page = hal_frame(frame_of(f, log->pages));
    uint32_t unread = 0, foreign = 0;
    bool later = false, blank = false; /* the place before, in the same block, is blank */
    struct lane at = *lane;
    for (uint32_t n = 0; n <= 2 * FTL_LOG_PLACES && !later && step(f, &at, ppn); n++) {
        uint32_t number;
        bool begun, other, ours = read_any(f, log->pages, *ppn, &number, &begun, &other);
        if (ours && number == log->pages && number < log->limit) return true;
        struct lane here;
        if (ours && number >= end) later = true;
        unread += begun && !ours;
        foreign += other;
        if (ours && which_copy(f, page, *ppn, &here) != FTL_LOG_COPIES) {
            ftl_blocks_busy(f, at.next = here.next); /* and the page may be right behind it */
            if (twice(f) && number < log->pages) n--;
            if (number < log->pages) other_copy(f, log, number, *ppn);
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
static uint32_t find_next(struct ftl *f, struct ftl_log *log, const struct lane *lanes, uint32_t *ppn) {
    uint32_t n = f->old_root.lanes, end = log->pages + (twice(f) ? FTL_LOG_WINDOW(n) : n);
    bool beyond = false;
    log->unread = log->foreign = 0;
    for (uint32_t l = 0; l < n; l++)
        if (look_further(f, log, &lanes[l], end, ppn, &beyond)) return l;
    log->begun = log->unread;
    if (twice(f)) { /* one of two copies is missed by nobody */
        log->unread /= FTL_LOG_COPIES;
        log->foreign /= FTL_LOG_COPIES;
    }
    if ((beyond || log->pages == log->limit) && log->unread == 0) log->unread = 1;
    log->gap = beyond;
    return n;
}

/* The places of a lane that are still before it: those that it has not passed. */
static uint32_t first_ahead(const struct ftl *f, const struct place *places, uint32_t first, uint32_t end,
                            struct lane at) {
    uint32_t ppn;
    if (!step(f, &at, &ppn)) return end;
    while (first < end && places[first].ppn != ppn) first++;
    return first;
}

/* Takes the pages that follow one another at the next places of the lanes; *taken: how many. */
static enum ftl_error take_ahead(struct ftl *f, struct ftl_log *log, struct lane *lanes, uint32_t *taken) {
    uint32_t n = f->old_root.lanes, planned = 0, each = RUN / n, first[FTL_MAX_LANES], ends[FTL_MAX_LANES], ppn, l;
    struct place places[RUN];
    for (l = 0; l < n; l++) {
        struct lane at = lanes[l];
        first[l] = planned;
        for (uint32_t i = 0; i < each && step(f, &at, &places[planned].ppn); i++) planned++;
        ends[l] = planned;
    }
    if (planned == 0) return FTL_ERR_LOG;
    read_places(f, log->pages, places, planned);
    for (*taken = 0, l = 0; l < n && log->pages < log->limit;) {
        const struct place *p = &places[first[l]];
        const uint32_t *page = hal_frame(frame_of(f, log->pages));
        bool ahead = first[l] != ends[l], passed = ahead && p->number < log->pages;
        if (!passed && !(ahead && p->read && p->number == log->pages && header_is_ours(f, p->number, page))) {
            l++;
            continue;
        }
        if (passed) {
            other_copy(f, log, p->number, p->ppn);
            (void)step(f, &lanes[l], &ppn);
        } else {
            enum ftl_error error = accept(f, log, lanes, l, p->ppn, page);
            if (error != FTL_OK) return error;
            ++*taken;
        }
        for (l = 0; l < n; l++) first[l] = first_ahead(f, places, first[l], ends[l], lanes[l]);
        l = 0;
    }
    return FTL_OK;
}

enum ftl_error ftl_log_scan(struct ftl *f, struct ftl_log *log) {
    const struct ftl_root *r = &f->old_root;
    struct lane lanes[FTL_MAX_LANES];
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
        lanes[l] = (struct lane){.block = r->lane_block[l],
                                 .next = r->lane_next[l] != 0 ? r->lane_next[l] - 1 : FTL_NO_BLOCK,
                                 .page = r->lane_page[l]};
        ftl_blocks_busy(f, r->lane_block[l]);
        if (r->lane_next[l] != 0) ftl_blocks_busy(f, r->lane_next[l] - 1);
    }
    for (;;) {
        uint32_t taken, ppn = 0;
        enum ftl_error error = take_ahead(f, log, lanes, &taken);
        if (error != FTL_OK) return error;
        if (taken != 0 && log->pages < log->limit) continue;
        uint32_t l = find_next(f, log, lanes, &ppn);
        if (l == r->lanes) break;
        error = accept(f, log, lanes, l, ppn, hal_frame(frame_of(f, log->pages)));
        if (error != FTL_OK) return error;
    }
    if (log->watermark + FTL_WATERMARK_RING < log->entries) return FTL_ERR_LOG;
    if (log->pages - log->base + RUN <= ftl_pool_frames(f)) log->window_pages = log->pages - log->base;
    return FTL_OK;
}

bool ftl_log_has(const struct ftl_log *log, uint32_t k) { return k - log->window < log->window_pages; }

enum ftl_error ftl_log_page(struct ftl *f, struct ftl_log *log, uint32_t k, const uint32_t **page) {
    for (uint32_t tries = 0; !ftl_log_has(log, k); tries++) {
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
        log->window_pages = read_run(f, k, ppns, n);
    }
    *page = hal_frame(frame_of(f, k));
    return FTL_OK;
}
